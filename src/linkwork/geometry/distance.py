"""What lies between two bodies: the signed distance, the direction, and where it is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkwork.spatial import Vec3

__all__ = ["SignedDistance"]


@dataclass(frozen=True, slots=True)
class SignedDistance:
    """The signed distance of bodies A and B, over any scalar, in the coordinates that they were given in.

    Apart, ``distance`` is the least between their points; where they overlap, it is less than zero by the least
    translation that parts them.  ``normal`` is of length 1 and points from A to B: moving B by d · normal changes the
    distance by d, to first order.  ``on_a`` and ``on_b`` lie on the surfaces, and on_b − on_a = distance · normal.
    ``unique`` is 1 where these are the only such points and the only such normal, and 0 where others are as good: then
    the distance may have a kink, and one of them is given.
    """

    distance: Any  # [m]
    normal: Vec3
    on_a: Vec3  # [m]
    on_b: Vec3
    unique: Any

    def flipped(self) -> SignedDistance:
        """The same of B and A."""
        return SignedDistance(self.distance, -self.normal, self.on_b, self.on_a, self.unique)

    def rounded(self, a: Any, b: Any) -> SignedDistance:
        """That of the bodies grown by radii a and b [m].

        It holds for overlaps too: to part grown bodies takes their radii more, in every direction.
        """
        n = self.normal
        return SignedDistance(self.distance - a - b, n, self.on_a + n * a, self.on_b - n * b, self.unique)
