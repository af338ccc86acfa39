"""Signed distances of pairs of cores, a family a file; `PAIRS` says which function is of which pair."""

from .boxes import box_box, box_box_gap
from .half_space import half_space_convex
from .once import distance_once, signed_distance_once, within_called, within_once
from .point import point_box, point_point, point_segment
from .point_ellipsoid import point_ellipsoid
from .point_round import point_cone, point_cylinder
from .segment_box import segment_box
from .segments import segment_segment
from .table import PAIRS, signed_distance
from .varied import motion_response
from .within import WITHIN, within

__all__ = [
    "PAIRS",
    "WITHIN",
    "box_box",
    "box_box_gap",
    "distance_once",
    "half_space_convex",
    "motion_response",
    "point_box",
    "point_cone",
    "point_cylinder",
    "point_ellipsoid",
    "point_point",
    "point_segment",
    "segment_box",
    "segment_segment",
    "signed_distance",
    "signed_distance_once",
    "within",
    "within_called",
    "within_once",
]
