"""Signed distance of two bodies, with its normal and witness points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkwork.spatial import Vec3

__all__ = ["SignedDistance"]


@dataclass(frozen=True, slots=True)
class SignedDistance:
    """Signed distance of bodies A and B, over any scalar, in the bodies' coordinates.

    For separate bodies, ``distance`` is the minimum between their points.  For overlapping bodies it is minus the
    length of the shortest translation that separates them.  ``normal`` has length 1 and points from A to B: moving B by
    d · normal changes the distance by d, to first order.  The witness points ``on_a`` and ``on_b`` are on the surfaces:
    on_b − on_a = distance · normal.  ``unique`` is 1 if the points and the normal are unique.  If it is 0, they are one
    of several choices, and the distance may have a kink.
    """

    distance: Any  # [m]
    normal: Vec3
    on_a: Vec3  # [m]
    on_b: Vec3
    unique: Any

    def flipped(self) -> SignedDistance:
        """Return the signed distance with A and B swapped."""
        return SignedDistance(self.distance, -self.normal, self.on_b, self.on_a, self.unique)

    def rounded(self, a: Any, b: Any) -> SignedDistance:
        """Return the signed distance of the bodies grown by radii a and b [m].

        It holds for overlaps too: separating the grown bodies takes a + b more in every direction.
        """
        n = self.normal
        return SignedDistance(self.distance - a - b, n, self.on_a + n * a, self.on_b - n * b, self.unique)
