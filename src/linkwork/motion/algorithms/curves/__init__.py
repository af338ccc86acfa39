"""Curves of configurations over any scalar: kinds of curves, their arrays and their evaluation."""

from linkwork.motion.algorithms.curves.curve_kinds import KINDS, Arrays, CurveKind, TimeScaling, curve_motion, motion_of
from linkwork.motion.algorithms.curves.curve_space import CurveSpace

__all__ = ["KINDS", "Arrays", "CurveKind", "CurveSpace", "TimeScaling", "curve_motion", "motion_of"]
