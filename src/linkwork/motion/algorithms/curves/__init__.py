"""Curves of configurations over any scalar: kinds of curves, their arrays and their evaluation."""

from linkwork.motion.algorithms.curves.curve_kinds import KINDS, Arrays, Clock, CurveKind, curve_motion, motion_of
from linkwork.motion.algorithms.curves.curve_space import CurveSpace

__all__ = ["KINDS", "Arrays", "Clock", "CurveKind", "CurveSpace", "curve_motion", "motion_of"]
