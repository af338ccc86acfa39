"""Spatial force vectors (wrenches, momenta), over any scalar.

Source: Featherstone, Rigid Body Dynamics Algorithms (RBDA), Springer 2008, chapter 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.spatial.vec3 import Vec3

__all__ = ["Force"]


@dataclass(frozen=True, slots=True)
class Force:
    """A force vector (n; f): n is the moment about the frame's origin.  Moment first, as in every array."""

    moment: Vec3
    force: Vec3

    @staticmethod
    def zero() -> Force:
        """No moment and no force."""
        return _ZERO

    @staticmethod
    def of(elements: Sequence[Any]) -> Force:
        """From six coordinates: moment [N m], then force [N]."""
        return Force(Vec3.of(elements[0:3]), Vec3.of(elements[3:6]))

    def elements(self) -> tuple[Any, ...]:
        """The six coordinates in the order of every array: moment, then force."""
        return (*self.moment, *self.force)

    def __add__(self, other: Force) -> Force:
        return Force(self.moment + other.moment, self.force + other.force)

    def __sub__(self, other: Force) -> Force:
        return Force(self.moment - other.moment, self.force - other.force)

    def __neg__(self) -> Force:
        return Force(-self.moment, -self.force)

    def __mul__(self, k: Any) -> Force:
        return Force(self.moment * k, self.force * k)


_ZERO = Force(Vec3.zero(), Vec3.zero())
