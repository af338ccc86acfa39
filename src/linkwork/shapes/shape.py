"""What shapes have in common.

Where a shape sits on a link, and what it looks like.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork.shapes.mass_properties import Moments
from linkwork.spatial import Pose, Symmetric3, Vec3
from linkwork.spatial.arguments import LARGEST, given_numbers, given_pose

__all__ = ["Geometry", "MasslessShape", "Material", "Shape", "sizes"]


@public
class Shape(ABC):
    """A shape in a frame of its own: an immutable value."""

    __slots__ = ()

    @property
    @abstractmethod
    def origin_radius(self) -> float | None:
        """The radius [m] of the sphere about its origin that it fits into, or None where that is not known."""

    @property
    @abstractmethod
    def volume(self) -> float | None:
        """[m³], or None where it is not known."""

    @property
    def center(self) -> Vec3:
        """The centre of mass of a uniform body [m]; the origin unless a shape says otherwise."""
        return Vec3.zero()

    @abstractmethod
    def unit_inertia(self) -> Symmetric3 | None:
        """The rotational inertia about its centre, of a uniform body of 1 kg [m²]; None if not known."""

    @property
    def bounding_sphere(self) -> tuple[Vec3, float] | None:
        """Centre and radius [m] of a sphere that it fits into, the smallest one unless it says otherwise; or None."""
        return None if self.origin_radius is None else (Vec3.zero(), self.origin_radius)

    def support(self, directions: ArrayLike) -> np.ndarray:
        """For each direction (..., 3), of any length, a point of the shape that is farthest along it (..., 3) [m].

        A direction of length zero is the z axis.  Where several points are as far, one of them is given.  Raises
        ValueError for a shape of unknown or infinite size, and for what are no directions.

        >>> from linkwork import shapes
        >>> shapes.Box((2, 4, 6)).support((1, -1, 0.5)).tolist()
        [1.0, -2.0, 3.0]
        """
        given = np.asarray(directions, dtype=float)
        if given.shape[-1:] != (3,) or not np.isfinite(given).all():
            shown = f"an array of shape {given.shape}" if given.shape[-1:] != (3,) else "numbers that are not finite"
            raise ValueError(f"{type(self).__name__.lower()}: support: expected directions (..., 3), got {shown}")
        most = np.abs(given).max(axis=-1, keepdims=True)  # so that no length is lost to under- or overflow
        scaled = given / np.where(most > 0.0, most, 1.0)
        length = np.sqrt((scaled * scaled).sum(axis=-1, keepdims=True))
        units = np.where(length > 0.0, scaled / np.where(length > 0.0, length, 1.0), [0.0, 0.0, 1.0])
        return self._support(units)

    def _support(self, units: np.ndarray) -> np.ndarray:
        """`support` along directions of length 1."""
        raise ValueError(f"support: the farthest points of {self!r} are not known")

    def _grown(self, radius: float) -> Moments | None:
        """What all points within a radius of it weigh; None if not known."""
        return None

    def at(self, pose: Any, *, name: str = "", material: Material | None = None) -> Geometry:
        """The shape at a place on a link: a pose (4, 4) as `linkwork.pose` gives it, or three numbers [m].

        >>> from linkwork import shapes
        >>> shapes.Sphere(0.1).at((0, 0, 0.5)).origin.translation.z
        0.5
        """
        return Geometry(self, given_pose(pose, f"{type(self).__name__.lower()}: at"), name, material)


class MasslessShape(Shape):
    """A shape that does not say what a body of it weighs."""

    __slots__ = ()

    @property
    def volume(self) -> None:
        return None

    def unit_inertia(self) -> None:
        return None


def sizes(of: str, name: str, value: Any, *shape: int, zero: bool = False) -> Any:
    """A size, or sizes, above zero (or ``zero`` too): a float, or a tuple of so many.  Raises ValueError."""
    sign = "non-negative" if zero else "positive"
    expected = f"{of}: {name}: expected {f'{shape[0]} {sign} numbers' if shape else f'a {sign} number'} [m]"
    numbers = given_numbers(value, expected, shape)
    if not ((numbers >= 0.0) if zero else (numbers > 0.0)).all():
        raise ValueError(f"{expected}, got {value!r}")
    if (numbers > LARGEST).any():
        raise ValueError(f"{expected} and at most {LARGEST:g} m, got {value!r}")
    return tuple(numbers.tolist()) if shape else float(numbers)


@public
@dataclass(frozen=True, slots=True)
class Material:
    """Colour (red, green, blue and alpha, 1 if left out, in [0, 1]) and texture file of a visual shape, where given.

    Raises ValueError for a colour that is none.
    """

    name: str = ""
    rgba: tuple[float, float, float, float] | None = None
    texture: str | None = None

    def __post_init__(self) -> None:
        if self.rgba is None:
            return
        expected = "material: rgba: expected three or four numbers between 0 and 1"
        rgba = given_numbers(self.rgba, expected, (3,), (4,)).tolist()
        if min(rgba) < 0.0 or max(rgba) > 1.0:
            raise ValueError(f"{expected}, got {self.rgba!r}")
        object.__setattr__(self, "rgba", (*rgba, 1.0)[:4])


@dataclass(frozen=True, slots=True)
class Geometry:
    """A shape and its pose in the link's frame: see `Shape.at`."""

    shape: Shape
    origin: Pose
    name: str = ""
    material: Material | None = None
