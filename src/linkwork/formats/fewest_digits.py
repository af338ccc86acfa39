"""Numbers of a file with the fewest digits from which a reader computes exactly the same values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from linkwork.joints import SphericalEuler
from linkwork.model.value_check import mass_properties
from linkwork.spatial import Inertia, Pose, Rotation, Symmetric3, Vec3

__all__ = ["inertial_numbers", "rpy_of"]

T = TypeVar("T")
_DIGITS = (6, 9, 12, 14, 15, 16)
_ANGLES = SphericalEuler("zyx")


def inertial_numbers(inertia: Inertia) -> tuple[float, Vec3, Symmetric3]:
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
    """Return URDF's angles (roll, pitch, yaw) [rad] of a rotation, to rounding also at pitch ±π/2."""
    yaw, pitch, roll = _ANGLES.configuration_from_pose(Pose(rotation, Vec3.zero()))
    angles = [float(roll), float(pitch), float(yaw)]
    roll, pitch, yaw = _shortest(angles, lambda rpy: Rotation.from_rpy(*rpy), rotation)
    return roll, pitch, yaw


def _shortest(numbers: list[float], value: Callable[[Sequence[float]], T], exact: T) -> list[float]:
    """Return the numbers rounded to as few digits as give exactly the same value; unchanged if none do."""
    for digits in _DIGITS:
        rounded = [float(f"{x:.{digits}g}") for x in numbers]
        if value(rounded) == exact:
            return rounded
    return numbers
