"""Distances of a robot's shapes from each other and from a scene, over any scalar.

`shape_placement.py`: shapes in the world frame, and pairs; `pair_loops.py`: loops over pairs, unrolled or not;
`pairwise_distances.py`: all distances and their gradients; `distance_hessian.py`: second derivatives;
`closest_pair.py`: minimum and smooth minimum; `collision_check.py`: collision or not; `displacement_bounds.py` and
`path_bounds.py`: bounds on the motion of bodies and shapes along a segment; `motion_check.py`: collision checks of
segments.
"""

from linkwork.collision.algorithms.closest_pair import (
    NearestPair,
    SmoothMinimum,
    link_clearances,
    minimum_distance,
    nearest_pair,
    smooth_minimum,
    smooth_minimum_distance,
)
from linkwork.collision.algorithms.collision_check import PairMargins, in_collision
from linkwork.collision.algorithms.displacement_bounds import MotionBound, check_bounded, motion_bounds
from linkwork.collision.algorithms.distance_hessian import PairHessians, pair_hessians
from linkwork.collision.algorithms.motion_check import (
    COLLIDING,
    FREE,
    UNDECIDED,
    EdgeResult,
    certified_edge,
    sampled_edge,
)
from linkwork.collision.algorithms.pair_loops import over_own_pairs, over_scene
from linkwork.collision.algorithms.pairwise_distances import FAR, PAIR_SIZE, Motions, PairDistances, pair_distances
from linkwork.collision.algorithms.shape_placement import PlacedShape, moving_shapes, placed_shapes, shape_pairs

__all__ = [
    "COLLIDING",
    "FAR",
    "FREE",
    "PAIR_SIZE",
    "UNDECIDED",
    "EdgeResult",
    "MotionBound",
    "Motions",
    "NearestPair",
    "PairDistances",
    "PairHessians",
    "PairMargins",
    "PlacedShape",
    "SmoothMinimum",
    "certified_edge",
    "check_bounded",
    "in_collision",
    "link_clearances",
    "minimum_distance",
    "motion_bounds",
    "moving_shapes",
    "nearest_pair",
    "over_own_pairs",
    "over_scene",
    "pair_distances",
    "pair_hessians",
    "placed_shapes",
    "sampled_edge",
    "shape_pairs",
    "smooth_minimum",
    "smooth_minimum_distance",
]
