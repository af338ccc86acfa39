"""Curves of configurations: kinds in a table, their arrays, and what lies on them at a time, over any scalar."""

from .evaluation import Clock, curve_motion, motion_of
from .kind import Arrays, CurveKind
from .space import CurveSpace
from .table import KINDS

__all__ = ["KINDS", "Arrays", "Clock", "CurveKind", "CurveSpace", "curve_motion", "motion_of"]
