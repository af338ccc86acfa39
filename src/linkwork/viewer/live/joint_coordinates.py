"""Coordinates of joints that a slider changes: positions, angles, and rotation vectors of quaternions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.messages import escaped

__all__ = ["JointCoordinate", "at_limits", "joint_coordinates"]

_QUATERNION = ("1",) * 4
_FREE_LENGTH = 1.0  # [m] range of a slider of a length without limits, on both sides
_TOUCHING = 1e-4  # [rad, m] distance from a limit, relative to the range, below which a joint is at it


@dataclass(frozen=True)
class JointCoordinate:
    """A number that a slider changes: a coordinate of a joint, or a component of the rotation vector of a quaternion.

    A rotation vector is axis times angle [rad], at most π long.
    """

    name: str
    """Name as it is shown: printable."""
    joint: str
    unit: str
    """"rad", "m" or "1"."""
    lower: float
    upper: float
    limited: bool
    """True if ``lower`` and ``upper`` are limits of the joint; else they are the range of the slider."""
    index: int
    """Index in q of the coordinate, or of the quaternion's first component."""
    axis: int | None = None
    """Component of the rotation vector; None for a plain coordinate."""

    def value(self, q: np.ndarray) -> float:
        """Return the coordinate in a configuration (nq,)."""
        if self.axis is None:
            return float(q[self.index])
        return float(_rotation_vector(q[self.index : self.index + 4])[self.axis])

    def changed(self, q: np.ndarray, value: float) -> np.ndarray:
        """Return q (nq,) with another value of the coordinate."""
        result = q.copy()
        if self.axis is None:
            result[self.index] = value
            return result
        own = slice(self.index, self.index + 4)
        vector = _rotation_vector(q[own])
        vector[self.axis] = value
        result[own] = _quaternion(vector)
        return result


def joint_coordinates(robot: Any) -> list[JointCoordinate]:
    """Return the coordinates of all joints that are not coupled to others, in their order in q."""
    result: list[JointCoordinate] = []
    lower, upper = robot.lower, robot.upper
    for joint in robot.joints:
        if joint.coupling is not None:
            continue
        units = joint.type.q_units
        first = joint.q_slice.start
        turning = joint.nv == joint.nq - 1 and tuple(units[:4]) == _QUATERNION
        if turning:
            names = robot.v_names[joint.v_slice]
            result += [
                JointCoordinate(escaped(names[axis]), joint.name, "rad", -math.pi, math.pi, False, first, axis)
                for axis in range(3)
            ]
        for k in range(4 if turning else 0, joint.nq):
            low, high = float(lower[first + k]), float(upper[first + k])
            limited = math.isfinite(low) and math.isfinite(high) and high > low
            free = math.pi if units[k] == "rad" else _FREE_LENGTH
            if not limited:
                low = low if math.isfinite(low) else (high if math.isfinite(high) else 0.0) - free
                high = high if math.isfinite(high) and high > low else low + 2.0 * free
            result.append(
                JointCoordinate(escaped(robot.q_names[first + k]), joint.name, units[k], low, high, limited, first + k)
            )
    return result


def at_limits(coordinates: list[JointCoordinate], q: np.ndarray) -> list[tuple[JointCoordinate, str]]:
    """Return the coordinates that are at a limit or beyond it, each with "lower" or "upper"."""
    found = []
    for coordinate in coordinates:
        if coordinate.limited:
            value, near = coordinate.value(q), _TOUCHING * (coordinate.upper - coordinate.lower)
            if value <= coordinate.lower + near:
                found.append((coordinate, "lower"))
            elif value >= coordinate.upper - near:
                found.append((coordinate, "upper"))
    return found


def _rotation_vector(wxyz: np.ndarray) -> np.ndarray:
    w, xyz = float(wxyz[0]), np.array(wxyz[1:], dtype=float)
    if w < 0.0:
        w, xyz = -w, -xyz
    length = float(np.linalg.norm(xyz))
    return xyz * (2.0 * math.atan2(length, w) / length) if length > 1e-12 else 2.0 * xyz


def _quaternion(vector: np.ndarray) -> np.ndarray:
    angle = float(np.linalg.norm(vector))
    if angle < 1e-12:
        return np.array([1.0, *(0.5 * vector)]) / math.hypot(1.0, 0.5 * angle)
    return np.array([math.cos(0.5 * angle), *(math.sin(0.5 * angle) / angle * vector)])
