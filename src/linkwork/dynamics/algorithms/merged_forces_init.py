"""What goes through joints and bodies: wrenches, torques, impulses."""

from linkwork.dynamics.algorithms.impact import ROWS as _IMPACT
from linkwork.dynamics.algorithms.joint_wrenches import ROWS as _ACROSS
from linkwork.dynamics.algorithms.joint_wrenches import ROWS as _STATIC

__all__ = ["ROWS"]

ROWS = (*_ACROSS, *_STATIC, *_IMPACT)
