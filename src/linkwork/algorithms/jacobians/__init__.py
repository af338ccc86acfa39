"""Matrices that map velocities to motions of frames and points, and how they change."""

from ..row import Row

__all__ = ["ROWS"]

ROWS: tuple[Row, ...] = ()
