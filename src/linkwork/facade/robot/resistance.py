"""What is in the joints: armature, damping, dry friction, springs."""

from __future__ import annotations

from .base import RobotBase

__all__ = ["ResistanceMethods"]


class ResistanceMethods(RobotBase):
    """What is in the joints: armature, damping, dry friction, springs."""

    __slots__ = ()
