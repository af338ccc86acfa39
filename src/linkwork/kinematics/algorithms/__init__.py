"""Where a robot's bodies and frames are, and how they move."""

from linkwork.kinematics.algorithms.forward_kinematics import ROWS as _BODIES

__all__ = ["ROWS"]

ROWS = (*_BODIES,)
