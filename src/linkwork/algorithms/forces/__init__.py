"""What goes through joints and bodies: wrenches, torques, impulses."""

from .impact import ROWS as _IMPACT
from .joint_wrenches import ROWS as _ACROSS
from .static_torque import ROWS as _STATIC

__all__ = ["ROWS"]

ROWS = (*_ACROSS, *_STATIC, *_IMPACT)
