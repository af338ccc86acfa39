"""Where points and directions fixed to bodies are, and how they move."""

from .direction_kinematics import ROWS as _DIRECTIONS
from .point_kinematics import ROWS as _POINTS

__all__ = ["ROWS"]

ROWS = (*_POINTS, *_DIRECTIONS)
