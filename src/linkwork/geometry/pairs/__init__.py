"""Signed distances of pairs of cores, one family in each file; `PAIRS` maps a pair to its function."""

from linkwork.geometry.pairs.closed_form.box_box import box_box, box_box_gap
from linkwork.geometry.pairs.closed_form.point_and_segment_pairs import (
    half_space_convex,
    point_box,
    point_cone,
    point_cylinder,
    point_ellipsoid,
    point_point,
    point_segment,
    segment_box,
    segment_segment,
)
from linkwork.geometry.pairs.collision_query import (
    WITHIN,
    distance_once,
    separation_once,
    signed_distance_once,
    within,
    within_called,
    within_once,
)
from linkwork.geometry.pairs.distance_derivatives import motion_response
from linkwork.geometry.pairs.pair_dispatch import PAIRS, signed_distance

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
    "separation_once",
    "signed_distance",
    "signed_distance_once",
    "within",
    "within_called",
    "within_once",
]
