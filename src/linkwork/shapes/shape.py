"""Base class of shapes, and a shape's pose, name and material on a link."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.lazy_dataclass import dataclass
from linkwork._util.validation import instance
from linkwork.shapes.mass_properties import Moments
from linkwork.spatial import Pose, Symmetric3, Vec3
from linkwork.spatial.arguments import LARGEST, checked_array, checked_pose

__all__ = ["Geometry", "MasslessShape", "Material", "Shape", "sizes"]


@public
class Shape(ABC):
    """Base class of shapes in their own frame; shapes are immutable."""

    __slots__ = ()

    @property
    @abstractmethod
    def origin_radius(self) -> float | None:
        """Radius [m] of a sphere about the origin that contains the shape; None if unknown or infinite."""

    @property
    @abstractmethod
    def volume(self) -> float | None:
        """Volume [m³], or None if it is not known."""

    @property
    def center(self) -> Vec3:
        """Centre of mass of a body of uniform density [m]; the origin by default."""
        return Vec3.zero()

    @abstractmethod
    def unit_inertia(self) -> Symmetric3 | None:
        """Return the rotational inertia of a uniform body of 1 kg about its centre of mass [m²], or None."""

    @property
    def bounding_sphere(self) -> tuple[Vec3, float] | None:
        """Centre and radius [m] of a sphere that contains the shape, or None.

        It is the smallest sphere for the shapes of this package, and the sphere about the origin by default.
        """
        return None if self.origin_radius is None else (Vec3.zero(), self.origin_radius)

    def support(self, directions: ArrayLike) -> np.ndarray:
        """Return a farthest point (..., 3) [m] of the shape along each direction (..., 3), of any length.

        A direction of length zero is replaced by the z axis.  If several points are equally far, the result is one of
        them.  Raises ValueError for a shape of unknown or infinite size, and for invalid directions.

        >>> from linkwork import shapes
        >>> shapes.Box((2, 4, 6)).support((1, -1, 0.5)).tolist()
        [1.0, -2.0, 3.0]
        """
        array = np.asarray(directions, dtype=float)
        if array.shape[-1:] != (3,) or not np.isfinite(array).all():
            shown = f"an array of shape {array.shape}" if array.shape[-1:] != (3,) else "values that are not finite"
            raise ValueError(f"{type(self).__name__.lower()}: support: directions: expected (..., 3), got {shown}")
        largest = np.abs(array).max(axis=-1, keepdims=True)  # avoids underflow and overflow of the length
        scaled = array / np.where(largest > 0.0, largest, 1.0)
        length = np.sqrt((scaled * scaled).sum(axis=-1, keepdims=True))
        units = np.where(length > 0.0, scaled / np.where(length > 0.0, length, 1.0), [0.0, 0.0, 1.0])
        return self._support(units)

    def _support(self, units: np.ndarray) -> np.ndarray:
        """Return the support points (..., 3) along unit vectors (..., 3)."""
        raise ValueError(f"support: the farthest points of {self!r} are not known")

    def _grown(self, radius: float) -> Moments | None:
        """Return the mass properties of all points within ``radius`` of the shape; None if unknown."""
        return None

    def at(self, pose: Any, *, name: str = "", material: Material | None = None) -> Geometry:
        """Place the shape on a link, at a pose (4, 4) or a position (3,) [m] in the link's frame.

        ``name`` is the name of the placed shape, and ``material`` its appearance.

        >>> from linkwork import shapes
        >>> shapes.Sphere(0.1).at((0, 0, 0.5)).origin.translation.z
        0.5
        """
        caller = f"{type(self).__name__.lower()}: at"
        if material is not None:
            instance(caller, "material", material, Material)
        return Geometry(self, checked_pose(pose, f"{caller}: pose"), name, material)


class MasslessShape(Shape):
    """Base class of shapes without mass properties."""

    __slots__ = ()

    @property
    def volume(self) -> None:
        return None

    def unit_inertia(self) -> None:
        return None


def sizes(of: str, name: str, value: Any, *shape: int, zero: bool = False) -> Any:
    """Return a positive (with ``zero``: non-negative) size as float, or several as a tuple.  Raises ValueError."""
    sign = "non-negative" if zero else "positive"
    expected = f"{of}: {name}: expected {f'{shape[0]} {sign} numbers' if shape else f'a {sign} number'} [m]"
    array = checked_array(value, expected, shape)
    if not ((array >= 0.0) if zero else (array > 0.0)).all():
        raise ValueError(f"{expected}, got {value!r}")
    if (array > LARGEST).any():
        raise ValueError(f"{expected} and at most {LARGEST:g} m, got {value!r}")
    return tuple(array.tolist()) if shape else float(array)


@public
@dataclass(frozen=True, slots=True)
class Material:
    """Colour and texture file of a visual shape; each may be None.

    ``rgba`` are red, green, blue and alpha in [0, 1]; alpha is 1 by default. ``name`` is the material's name in the
    robot's file. Raises ValueError for an invalid colour.
    """

    name: str = ""
    rgba: tuple[float, float, float, float] | None = None
    texture: str | None = None

    def __post_init__(self) -> None:
        if self.rgba is not None:
            object.__setattr__(self, "rgba", checked_color(self.rgba, "material: rgba"))


def checked_color(value: Any, caller: str) -> tuple[float, float, float, float]:
    """Return red, green, blue and alpha in [0, 1]; alpha is 1 by default.  Raises ValueError."""
    expected = f"{caller}: expected three or four numbers between 0 and 1"
    rgba = checked_array(value, expected, (3,), (4,)).tolist()
    if min(rgba) < 0.0 or max(rgba) > 1.0:
        raise ValueError(f"{expected}, got {value!r}")
    red, green, blue, alpha = (*rgba, 1.0)[:4]
    return red, green, blue, alpha


@dataclass(frozen=True, slots=True)
class Geometry:
    """Shape with its pose in the link's frame: see `Shape.at`.

    ``friction`` is the coefficient of Coulomb friction of its surface, or None if it is not known.

    ``shape``, its pose ``origin``, ``name`` and ``material`` are as in `Shape.at`.
    """

    shape: Shape
    origin: Pose
    name: str = ""
    material: Material | None = None
    friction: float | None = None
