"""Points and directions fixed to bodies, and frames of one's own."""

from __future__ import annotations

from .base import RobotBase

__all__ = ["PointMethods"]


class PointMethods(RobotBase):
    """Points and directions fixed to bodies, and frames of one's own."""

    __slots__ = ()
