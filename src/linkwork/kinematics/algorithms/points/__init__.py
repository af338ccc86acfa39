"""Where points and directions fixed to bodies are, and how they move."""

from linkwork.kinematics.algorithms.points.point_kinematics import ROWS as _POINTS
from linkwork.kinematics.algorithms.points.point_kinematics_direction_kinematics import ROWS as _DIRECTIONS

__all__ = ["ROWS"]

ROWS = (*_POINTS, *_DIRECTIONS)
