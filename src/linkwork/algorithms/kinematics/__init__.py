"""Where a robot's bodies and frames are, and how they move."""

from .forward_kinematics import ROWS as _BODIES
from .frame_kinematics import ROWS as _FRAMES

__all__ = ["ROWS"]

ROWS = (*_BODIES, *_FRAMES)
