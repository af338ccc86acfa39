"""Where points and directions fixed to bodies are, and how they move."""

from linkwork.kinematics.algorithms.points.point_kinematics import ROWS as _POINTS

__all__ = ["ROWS"]

ROWS = (*_POINTS,)
