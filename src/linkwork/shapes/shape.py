"""What shapes have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from ..spatial import Symmetric3
from ..spatial.given import given_numbers, given_pose
from .geometry import Geometry, Material

__all__ = ["Shape", "sizes"]


class Shape(ABC):
    """A shape about its own origin: an immutable value."""

    __slots__ = ()

    @property
    @abstractmethod
    def reach(self) -> float | None:
        """The radius [m] of the sphere about its origin that it fits into, or None where that is not known."""

    @property
    @abstractmethod
    def volume(self) -> float | None:
        """[m³], or None where it is not known."""

    @abstractmethod
    def gyration(self) -> Symmetric3 | None:
        """The rotational inertia about its origin, its centre, of a uniform body of 1 kg [m²]; None if not known."""

    def at(self, pose: Any, *, name: str = "", material: Material | None = None) -> Geometry:
        """The shape at a place on a link: a pose (4, 4) as `linkwork.pose` gives it, or three numbers [m].

        >>> from linkwork import shapes
        >>> shapes.Sphere(0.1).at((0, 0, 0.5)).origin.translation.z
        0.5
        """
        return Geometry(self, given_pose(pose, f"{type(self).__name__.lower()}: at"), name, material)


def sizes(of: str, name: str, value: Any, *shape: int) -> Any:
    """A size, or sizes, above zero: a float, or a tuple of so many.  Raises ValueError."""
    expected = f"{of}: {name}: expected {f'{shape[0]} numbers' if shape else 'a number'} above zero [m]"
    numbers = given_numbers(value, expected, shape)
    if not (numbers > 0.0).all():
        raise ValueError(f"{expected}, got {value!r}")
    return tuple(numbers.tolist()) if shape else float(numbers)
