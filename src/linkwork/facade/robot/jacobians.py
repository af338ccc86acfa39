"""Matrices that map velocities to motions, and how they change."""

from __future__ import annotations

from .base import RobotBase

__all__ = ["JacobianMethods"]


class JacobianMethods(RobotBase):
    """Matrices that map velocities to motions, and how they change."""

    __slots__ = ()
