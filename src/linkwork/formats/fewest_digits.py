"""Numbers of a file with the fewest digits from which a reader computes exactly the same values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from linkwork.model.value_check import mass_properties
from linkwork.spatial import Inertia, Rotation, Symmetric3, Vec3
from linkwork.spatial.rotation import cos_sin

__all__ = ["inertial_values", "rotation_error", "rpy_of"]

T = TypeVar("T")
_DIGITS = (6, 9, 12, 14, 15, 16)


def inertial_values(inertia: Inertia) -> tuple[float, Vec3, Symmetric3]:
    """Return the mass [kg], the centre of mass [m], and the rotational inertia about it [kg m²]."""
    mass, center, about = mass_properties(inertia)
    if mass == 0.0:
        return mass, center, about
    center = Vec3.of(_shortest([*center], lambda c: Vec3.of(c) * mass, inertia.moment))
    about = Inertia(mass, inertia.moment, inertia.about).shifted(-center).about
    elements = _shortest(
        [*about.elements()], lambda J: Inertia.at_center(mass, center, Symmetric3(*J)).about, inertia.about
    )
    return mass, center, Symmetric3(*elements)


def rpy_of(rotation: Rotation) -> tuple[float, float, float]:
    """Return URDF's angles (roll, pitch, yaw) [rad] of a rotation, to rounding also at pitch ±π/2.

    At ±π/2 the yaw is free; near it, the yaw whose angles give the rotation best is chosen.  Every yaw gives the other
    two by Ry(pitch)·Rx(roll) = Rz(−yaw)·R.
    """
    R = rotation.rows()
    yaws = (math.atan2(R[1][0], R[0][0]), math.atan2(-R[0][1], R[1][1]))
    candidates = [_with_yaw(R, yaw) for yaw in yaws]
    best = min(candidates, key=lambda angles: rotation_error(Rotation.from_rpy(*angles), rotation))
    roll, pitch, yaw = _shortest(best, lambda angles: Rotation.from_rpy(*angles), rotation)
    return roll, pitch, yaw


def _with_yaw(R: list[list[float]], yaw: float) -> list[float]:
    c, s = cos_sin(yaw)
    x = [c * a + s * b for a, b in zip(*R[:2], strict=True)]
    y = [c * b - s * a for a, b in zip(*R[:2], strict=True)]
    return [math.atan2(-y[2], y[1]), math.atan2(-R[2][0], x[0]), yaw]


def rotation_error(left: Rotation, right: Rotation) -> float:
    """Return the largest difference between elements of two rotations."""
    rows = zip(left.rows(), right.rows(), strict=True)
    return max(abs(float(x - y)) for row, second in rows for x, y in zip(row, second, strict=True))


def _shortest(values: list[float], value: Callable[[Sequence[float]], T], exact: T) -> list[float]:
    """Return the values rounded to as few digits as give exactly the same value; unchanged if none do."""
    for digits in _DIGITS:
        rounded = [float(f"{x:.{digits}g}") for x in values]
        if value(rounded) == exact:
            return rounded
    return values
