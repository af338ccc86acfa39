"""Length of a ray until it meets a solid, over any scalar.

Half-spaces, balls, boxes, cylinders, capsules and ellipsoids are met where a line meets planes and quadrics.  Towards
any other solid the ray may advance by the distance to it: it is followed by spheres, which need nothing but the
distance from a point.  A `LinePart` is the interval of t in which a line o + t d is inside something convex.

Sources: Ericson, Real-Time Collision Detection, 2005, section 5.3; Hart, Sphere tracing, The Visual Computer 12, 1996.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from linkwork.expr.control import while_loop
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, le, lt, or_, sqrt, where
from linkwork.geometry.cores import (
    BoxCore,
    CylinderCore,
    EllipsoidCore,
    HalfSpaceCore,
    PointCore,
    SegmentCore,
    Solid,
)
from linkwork.geometry.pairs import distance_once
from linkwork.spatial import Pose, Vec3

__all__ = ["ALONG", "FAR", "LinePart", "ray_length", "slab"]


_NEAR = 1e-7  # [m]: where a ray ends that is followed
_AT_MOST = 5000  # spheres: of a ray that comes to a face at half a degree there are 2000


def ray_length(origin: Vec3, direction: Vec3, solids: Sequence[Solid], most: Any) -> Any:
    """How far [m] a ray goes from an ``origin`` in a ``direction`` of length 1: 0 inside a solid, ``most`` where there
    is nothing so far.
    """
    length: Any = most
    others = []
    for one in solids:
        meets = _MET.get(type(one.core))
        if meets is None or (type(one.core) not in _ROUNDED and not is_zero(one.radius)):
            others.append(one)
        else:
            length = fmin(length, meets(one, origin, direction))
    return _followed(origin, direction, others, length) if others else length


def _followed(origin: Vec3, direction: Vec3, solids: Sequence[Solid], most: Any) -> Any:
    """The same by spheres; ``most`` where a ray that only just passes something has not ended."""

    def room(t: Any) -> Any:
        point = Solid(PointCore(origin + direction * t), 0.0)
        least: Any = most
        for one in solids:
            least = fmin(least, distance_once(point, one))
        return least

    def onward(state: tuple[Any, Any]) -> tuple[Any, Any]:
        t = state[0] + state[1]
        return t, room(t)

    def going(state: tuple[Any, Any]) -> Any:
        t, free = state
        return and_(lt(_NEAR, free), lt(t, most))

    state = while_loop(going, onward, (0.0 * most, room(0.0)), max_iterations=_AT_MOST).state
    return where(going(state), most, fmin(fmax(state[0], 0.0), most))


def _half_space(one: Solid, o: Vec3, d: Vec3) -> Any:
    core = one.core
    assert isinstance(core, HalfSpaceCore)
    high, rate = core.normal.dot(o - core.point) - one.radius, core.normal.dot(d)
    comes = lt(rate, -ALONG)
    return where(le(high, 0.0), 0.0, where(comes, -high / where(comes, rate, -1.0), FAR))


def _point(one: Solid, o: Vec3, d: Vec3) -> Any:
    assert isinstance(one.core, PointCore)
    return _ball(o - one.core.point, d, one.radius).met


def _box(one: Solid, o: Vec3, d: Vec3) -> Any:
    core = one.core
    assert isinstance(core, BoxCore)
    p, w = _inside(core.pose, o, d)
    slabs = [slab(x, rate, -h, h) for x, rate, h in zip(p, w, core.half, strict=True)]
    return slabs[0].within(slabs[1]).within(slabs[2]).met


def _cylinder(one: Solid, o: Vec3, d: Vec3) -> Any:
    core = one.core
    assert isinstance(core, CylinderCore)
    p, w = _inside(core.pose, o, d)
    side = quadric(w.x * w.x + w.y * w.y, p.x * w.x + p.y * w.y, p.x * p.x + p.y * p.y - core.radius * core.radius)
    return side.within(slab(p.z, w.z, -core.half, core.half)).met


def _segment(one: Solid, o: Vec3, d: Vec3) -> Any:
    """The balls at its ends, and the tube between them: where r² − (r·a)² is least, a being the way from end to end."""
    core, radius = one.core, one.radius
    assert isinstance(core, SegmentCore)
    r, half = o - core.center, core.half
    square = half.dot(half)
    scale = 1.0 / where(lt(0.0, square), square, 1.0)
    x, rate = r.dot(half), d.dot(half)
    a, b = d.dot(d) - rate * rate * scale, r.dot(d) - x * rate * scale
    tube = quadric(a, b, r.dot(r) - x * x * scale - radius * radius)
    result = tube.within(slab(x, rate, -square, square)).met
    return fmin(result, fmin(_ball(r - half, d, radius).met, _ball(r + half, d, radius).met))


def _ellipsoid(one: Solid, o: Vec3, d: Vec3) -> Any:
    core = one.core
    assert isinstance(core, EllipsoidCore)
    p, w = _inside(core.pose, o, d)
    p, w = (Vec3(*(x / r for x, r in zip(v, core.radii, strict=True))) for v in (p, w))
    return quadric(w.dot(w), p.dot(w), p.dot(p) - 1.0).met


def _ball(r: Vec3, d: Vec3, radius: Any) -> LinePart:
    return quadric(d.dot(d), r.dot(d), r.dot(r) - radius * radius)


def _inside(pose: Pose, o: Vec3, d: Vec3) -> tuple[Vec3, Vec3]:
    """A line in the coordinates of a pose."""
    return pose.rotation.inv_act(o - pose.translation), pose.rotation.inv_act(d)


_MET: Mapping[type, Callable[[Any, Vec3, Vec3], Any]] = {
    HalfSpaceCore: _half_space,
    PointCore: _point,
    BoxCore: _box,
    CylinderCore: _cylinder,
    SegmentCore: _segment,
    EllipsoidCore: _ellipsoid,
}
"""By the type of the core: how far a ray goes to it."""
_ROUNDED = (HalfSpaceCore, PointCore, SegmentCore)  # which are so with any radius


FAR = 1e30  # [m]: where nothing is met
ALONG = 1e-300  # what is not divided by


class LinePart(NamedTuple):
    """Where it begins and ends, and whether there is such a part."""

    begin: Any
    end: Any
    there: Any

    def within(self, other: LinePart) -> LinePart:
        """What both have."""
        return LinePart(fmax(self.begin, other.begin), fmin(self.end, other.end), and_(self.there, other.there))

    @property
    def ahead(self) -> Any:
        """Whether some of it is where t is not negative."""
        return and_(self.there, and_(le(self.begin, self.end), le(0.0, self.end)))

    @property
    def met(self) -> Any:
        """How far a ray goes to it: 0 inside."""
        return where(self.ahead, fmax(self.begin, 0.0), FAR)


def slab(x: Any, rate: Any, low: Any, high: Any) -> LinePart:
    """Where low ≤ x + rate t ≤ high."""
    along = lt(ALONG, fabs(rate))
    scale = 1.0 / where(along, rate, 1.0)
    one, other = (low - x) * scale, (high - x) * scale
    begin, end = where(along, fmin(one, other), -FAR), where(along, fmax(one, other), FAR)
    return LinePart(begin, end, or_(along, and_(le(low, x), le(x, high))))


def quadric(a: Any, b: Any, c: Any) -> LinePart:
    """Where a t² + 2 b t + c ≤ 0, for a from 0: by the sum of two numbers of one sign."""
    inner = b * b - a * c
    crosses = and_(lt(ALONG, a), le(0.0, inner))
    root = sqrt(where(crosses, inner, 1.0))
    sum_ = where(lt(b, 0.0), root - b, -root - b)
    far, near = sum_ / where(crosses, a, 1.0), c / where(lt(ALONG, fabs(sum_)), sum_, 1.0)
    begin, end = where(crosses, fmin(far, near), -FAR), where(crosses, fmax(far, near), FAR)
    return LinePart(begin, end, or_(crosses, and_(le(a, ALONG), le(c, 0.0))))
