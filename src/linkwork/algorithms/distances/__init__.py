"""Distances of a robot's shapes from each other and from a scene, over any scalar.

`objects.py`: the shapes in the world, and pairs; `walking.py`: going over pairs, written out or in loops;
`pairwise.py`: all distances and their gradients; `least.py`: what is least.
"""

from .least import (
    LeastDistance,
    SmoothMinimum,
    in_collision,
    link_clearances,
    minimum_distance,
    nearest_pair,
    smooth_minimum,
)
from .objects import PlacedShape, moving_shapes, placed_shapes, shape_pairs
from .pairwise import FAR, NUMBERS, Motions, PairDistances, pair_distances
from .walking import over_own_pairs, over_scene

__all__ = [
    "FAR",
    "NUMBERS",
    "LeastDistance",
    "Motions",
    "PairDistances",
    "PlacedShape",
    "SmoothMinimum",
    "in_collision",
    "link_clearances",
    "minimum_distance",
    "moving_shapes",
    "nearest_pair",
    "over_own_pairs",
    "over_scene",
    "pair_distances",
    "placed_shapes",
    "shape_pairs",
    "smooth_minimum",
]
