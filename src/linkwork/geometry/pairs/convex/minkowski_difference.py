"""The Minkowski difference A − B of two convex cores: what their distance is a property of.

A − B = {a − b}.  The distance of A and B is that of A − B from 0, and where they overlap, the depth is the least
distance from 0 to its surface: min over unit n of h(n), h(n) = max n · (A − B) = h_A(n) + h_B(−n).

The least h so far, and its direction: what searches of overlaps carry.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from linkwork.expr.scalar.functions import lt, sqrt, where
from linkwork.geometry.cores import PointCore, PolytopeCore, SegmentCore
from linkwork.geometry.distance import SignedDistance
from linkwork.geometry.support_points import support
from linkwork.geometry.unit_vectors import choose
from linkwork.spatial import Pose, Vec3

__all__ = ["Best", "Difference", "Moved", "length_of", "unit_of"]


def length_of(v: Vec3) -> Any:
    """Its square, and where that is 0, 1: for denominators."""
    square = v.dot(v)
    return where(lt(1e-300, square), square, 1.0)


def unit_of(v: Vec3) -> Vec3:
    """v over its length."""
    unit: Vec3 = v * (1.0 / sqrt(length_of(v)))
    return unit


@dataclass(frozen=True, slots=True)
class Difference:
    """A − B in the axes and about the origin of one of the two, whose pose is X."""

    a: Any
    b: Any
    X: Pose

    @staticmethod
    def of(a: Any, b: Any) -> Difference:
        """Of two cores that are bounded."""
        X = a.pose if hasattr(a, "pose") else b.pose if hasattr(b, "pose") else Pose.identity()
        own = a if hasattr(a, "pose") else b
        return Difference(_seen(a, X, own=a is own), _seen(b, X, own=b is own), X)

    def support(self, n: Vec3) -> tuple[Vec3, Vec3]:
        """The point of A − B that is farthest along n, and the point of A that it comes from."""
        on_a = support(self.a, n)
        return on_a - support(self.b, -n), on_a

    def kept(self, n: Vec3) -> Any:
        """g(n) = −h(n): the distance that planes across n, which points from A to B, keep between the two."""
        return -n.dot(self.support(n)[0])

    def between(self) -> Vec3:
        """From the center of A to that of B."""
        between: Vec3 = _center(self.b) - _center(self.a)
        return between

    def seen_outside(self, result: SignedDistance) -> SignedDistance:
        """A result in the coordinates that the cores were given in."""
        X = self.X
        normal, on_a = X.rotation @ result.normal, X.point(result.on_a)
        return SignedDistance(result.distance, normal, on_a, on_a + normal * result.distance, result.unique)

    def sides(self) -> list[Vec3]:
        """The axes of both bodies that have any, both ways."""
        axes = []
        for core in (self.a, self.b):
            if hasattr(core, "pose") and not isinstance(core, PolytopeCore):
                axes += [core.pose.rotation @ Vec3.of(e) for e in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))]
        return [way for axis in axes or [Vec3(0.0, 0.0, 1.0)] for way in (axis, -axis)]


@dataclass(frozen=True, slots=True)
class Moved:
    """A − B where B is moved."""

    difference: Difference
    by: Vec3

    def support(self, n: Vec3) -> tuple[Vec3, Vec3]:
        """The point that is farthest along n, and the point of A that it comes from."""
        p, on_a = self.difference.support(n)
        return p - self.by, on_a

    def between(self) -> Vec3:
        """From the center of A to that of B."""
        return self.difference.between() + self.by


def _seen(core: Any, X: Pose, *, own: bool) -> Any:
    """A core in coordinates of X."""
    if isinstance(core, PointCore):
        return PointCore(X.inv().point(core.point))
    if isinstance(core, SegmentCore):
        return SegmentCore(X.inv().point(core.center), X.rotation.inv_act(core.half))
    return replace(core, pose=Pose.identity() if own else X.inv() @ core.pose)


def _center(core: Any) -> Any:
    if isinstance(core, PointCore):
        return core.point
    if isinstance(core, SegmentCore):
        return core.center
    if hasattr(core, "vertices"):
        many = 1.0 / len(core.vertices)
        total = core.vertices[0]
        for v in core.vertices[1:]:
            total = total + v
        return core.pose.point(total * many)
    return core.pose.translation


class Best(NamedTuple):
    """h and n."""

    h: Any
    n: Vec3

    def better(self, h: Any, n: Vec3) -> Best:
        """The lesser of it and another."""
        less = lt(h, self.h)
        return Best(where(less, h, self.h), choose(less, n, self.n))
