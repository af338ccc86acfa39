"""Positions, velocities and accelerations of points and directions fixed to bodies."""

from linkwork.kinematics.algorithms.points.point_kinematics import ROWS as _POINTS

__all__ = ["ROWS"]

ROWS = (*_POINTS,)
