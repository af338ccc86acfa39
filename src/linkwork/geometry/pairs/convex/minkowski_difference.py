"""The Minkowski difference A − B of two convex cores, whose distance from 0 is the distance of A and B.

A − B = {a − b}.  If A and B overlap, their depth is the least distance from 0 to the surface of A − B: the minimum of
h(n) over unit vectors n, where h(n) = max n · (A − B) = h_A(n) + h_B(−n) is the support function.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from linkwork.expr.scalar.functions import lt, sqrt, where
from linkwork.geometry.cores import PointCore, PolytopeCore, SegmentCore, SignedDistance
from linkwork.geometry.solids import ListedVertices
from linkwork.geometry.support_points import support
from linkwork.geometry.unit_vectors import TINY, choose
from linkwork.spatial import Pose, Vec3

__all__ = ["Best", "Difference", "Moved", "safe_square", "unit_of"]


def safe_square(v: Vec3) -> Any:
    """Return v · v, or 1 if that is 0: a safe denominator."""
    square = v.dot(v)
    return where(lt(TINY, square), square, 1.0)


def unit_of(v: Vec3) -> Vec3:
    """Return v divided by its length, or 0 for 0."""
    unit: Vec3 = v * (1.0 / sqrt(safe_square(v)))
    return unit


@dataclass(frozen=True, slots=True)
class Difference:
    """Minkowski difference A − B of two cores, in the coordinates of the pose X of one of them."""

    a: Any
    b: Any
    X: Pose

    @staticmethod
    def of(a: Any, b: Any) -> Difference:
        """Return the difference of two bounded cores."""
        X = a.pose if hasattr(a, "pose") else b.pose if hasattr(b, "pose") else Pose.identity()
        base = a if hasattr(a, "pose") else b
        return Difference(_in_coordinates(a, X, is_base=a is base), _in_coordinates(b, X, is_base=b is base), X)

    def support(self, n: Vec3) -> tuple[Vec3, Vec3]:
        """Return the support point of A − B along n, and A's support point from which it is computed."""
        on_a = support(self.a, n)
        return on_a - support(self.b, -n), on_a

    def gap(self, n: Vec3) -> Any:
        """Return g(n) = −h(n), the signed gap between the supporting planes of A and B orthogonal to n, from A to B."""
        return -n.dot(self.support(n)[0])

    def between(self) -> Vec3:
        """Return the vector from the center of A to that of B."""
        between: Vec3 = _center(self.b) - _center(self.a)
        return between

    def in_original_coordinates(self, result: SignedDistance) -> SignedDistance:
        """Return a result in the coordinates that the cores were given in."""
        X = self.X
        normal, on_a = X.rotation @ result.normal, X.point(result.on_a)
        return SignedDistance(result.distance, normal, on_a, on_a + normal * result.distance, result.unique)

    def sides(self) -> list[Vec3]:
        """Return ± the axes of the poses of both cores, except polytopes."""
        axes = []
        for core in (self.a, self.b):
            if hasattr(core, "pose") and not isinstance(core, PolytopeCore):
                axes += [core.pose.rotation @ Vec3.of(e) for e in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))]
        return [n for axis in axes or [Vec3(0.0, 0.0, 1.0)] for n in (axis, -axis)]


@dataclass(frozen=True, slots=True)
class Moved:
    """Minkowski difference A − B after a translation of B by the vector ``by``."""

    difference: Difference
    by: Vec3

    def support(self, n: Vec3) -> tuple[Vec3, Vec3]:
        """Return the support point of A − B along n, and A's support point from which it is computed."""
        p, on_a = self.difference.support(n)
        return p - self.by, on_a

    def between(self) -> Vec3:
        """Return the vector from the center of A to that of B."""
        return self.difference.between() + self.by


def _in_coordinates(core: Any, X: Pose, *, is_base: bool) -> Any:
    """Return a core in the coordinates of X; ``is_base``: X is its pose."""
    if isinstance(core, PointCore):
        return PointCore(X.inv().point(core.point))
    if isinstance(core, SegmentCore):
        return SegmentCore(X.inv().point(core.center), X.rotation.inv_act(core.half))
    return replace(core, pose=Pose.identity() if is_base else X.inv() @ core.pose)


def _center(core: Any) -> Any:
    if isinstance(core, PointCore):
        return core.point
    if isinstance(core, SegmentCore):
        return core.center
    if hasattr(core, "vertices"):
        if isinstance(core.vertices, ListedVertices):
            return core.pose.point(core.vertices.mean)
        total = core.vertices[0]
        for v in core.vertices[1:]:
            total = total + v
        return core.pose.point(total * (1.0 / len(core.vertices)))
    return core.pose.translation


class Best(NamedTuple):
    """Least overlap h [m] so far of all directions tried, and its direction n."""

    h: Any
    n: Vec3

    def better(self, h: Any, n: Vec3) -> Best:
        """Return the pair (h, n) with the lesser h: this one, or the one with these values."""
        less = lt(h, self.h)
        return Best(where(less, h, self.h), choose(less, n, self.n))
