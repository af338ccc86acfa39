"""The robot as a whole: its centre of mass, its energies, its momentum."""

from __future__ import annotations

from .base import RobotBase

__all__ = ["MomentumMethods"]


class MomentumMethods(RobotBase):
    """The robot as a whole: its centre of mass, its energies, its momentum."""

    __slots__ = ()
