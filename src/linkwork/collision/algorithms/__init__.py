"""Distances of a robot's shapes from each other and from a scene, over any scalar.

`shape_placement.py`: the shapes in the world, and pairs; `pair_loops.py`: going over pairs, written out or in loops
(`pair_loops.py`: of robots with very many; `path_bounds.py`: how their bodies move on a segment);
`pairwise_distances.py`: all distances and their gradients; `distance_hessian.py`: second derivatives;
`closest_pair.py`: what is least; `collision_check.py`: yes or no; `displacement_bounds.py`: how far shapes move on a
segment of configurations (`path_bounds.py`: of all shapes); `motion_check.py`: whether it is free.
"""

from linkwork.collision.algorithms.closest_pair import (
    LeastDistance,
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
    EdgeFound,
    certified_edge,
    sampled_edge,
)
from linkwork.collision.algorithms.pair_loops import over_own_pairs, over_scene
from linkwork.collision.algorithms.pairwise_distances import FAR, NUMBERS, Motions, PairDistances, pair_distances
from linkwork.collision.algorithms.shape_placement import PlacedShape, moving_shapes, placed_shapes, shape_pairs

__all__ = [
    "COLLIDING",
    "FAR",
    "FREE",
    "NUMBERS",
    "UNDECIDED",
    "EdgeFound",
    "LeastDistance",
    "MotionBound",
    "Motions",
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
