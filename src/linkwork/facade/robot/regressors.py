"""What is linear in inertial parameters."""

from __future__ import annotations

from .base import RobotBase

__all__ = ["RegressorMethods"]


class RegressorMethods(RobotBase):
    """What is linear in inertial parameters."""

    __slots__ = ()
