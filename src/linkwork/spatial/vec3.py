"""Vectors of three-dimensional space, over any scalar."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from linkwork._util.lazy_dataclass import dataclass

__all__ = ["Vec3"]


@dataclass(frozen=True, slots=True)
class Vec3:
    """Vector, by its coordinates in a frame.

    >>> Vec3(1.0, 0.0, 0.0).cross(Vec3(0.0, 1.0, 0.0))
    Vec3(x=0.0, y=0.0, z=1.0)
    """

    __array_ufunc__: ClassVar[None] = None

    x: Any
    y: Any
    z: Any

    @staticmethod
    def zero() -> Vec3:
        """Return the zero vector."""
        return _ZERO

    @staticmethod
    def of(elements: Any) -> Vec3:
        """Create from three coordinates ``elements``."""
        x, y, z = elements
        return Vec3(x, y, z)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.x, self.y, self.z))

    def __add__(self, other: Vec3) -> Vec3:
        return Vec3(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Vec3) -> Vec3:
        return Vec3(self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self) -> Vec3:
        return Vec3(-self.x, -self.y, -self.z)

    def __mul__(self, k: Any) -> Vec3:
        return Vec3(self.x * k, self.y * k, self.z * k)

    def dot(self, other: Vec3) -> Any:
        """Return a · b with ``other``, b."""
        return self.x * other.x + self.y * other.y + self.z * other.z

    def cross(self, other: Vec3) -> Vec3:
        """Return a × b with ``other``, b."""
        return Vec3(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )


_ZERO = Vec3(0.0, 0.0, 0.0)
