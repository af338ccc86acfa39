"""What goes through joints and bodies: wrenches, torques, impulses."""

from __future__ import annotations

from .base import RobotBase

__all__ = ["ForceMethods"]


class ForceMethods(RobotBase):
    """What goes through joints and bodies: wrenches, torques, impulses."""

    __slots__ = ()
