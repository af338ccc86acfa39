"""Signed distances of pairs of cores, a family a file; `PAIRS` says which function is of which pair."""

from .half_space import half_space_convex
from .point import point_point, point_segment
from .segments import segment_segment
from .table import PAIRS, signed_distance

__all__ = ["PAIRS", "half_space_convex", "point_point", "point_segment", "segment_segment", "signed_distance"]
