"""A point and an ellipsoid, Σ (x_i/r_i)² = 1.

The nearest point is x_i = r_i² p_i/(t + r_i²), and the signed distance t ‖p_i/(t + r_i²)‖, where t > −min r² solves

    S(t) = Σ (r_i p_i/(t + r_i²))² = 1.

1/√S is concave and almost straight, so Halley's method on it is there after three or four steps, from wherever one of
the terms alone is 1, which is on the left.  With τ = t + min r² nothing cancels.  For a point inside, on a plane of
symmetry, τ vanishes as its coordinate does: that is kept above zero by nothing that counts.

Sources: Eberly, Distance from a Point to an Ellipse, an Ellipsoid, or a Hyperellipsoid, 2013 (the equation and where it
begins); Moré, Sorensen, Computing a Trust Region Step, 1983 (1/√S in the place of S); Gander, On Halley's Iteration
Method, 1985.
"""

from __future__ import annotations

from typing import Any

from linkwork.expr.control import while_loop
from linkwork.expr.scalar.functions import and_, copysign, fabs, fmax, fmin, le, lt, sqrt, where
from linkwork.geometry.cores import EllipsoidCore, PointCore
from linkwork.geometry.distance import SignedDistance
from linkwork.spatial import Vec3

__all__ = ["point_ellipsoid"]

_THIN = 1e-15  # radii are no smaller than that part of the largest one
_ASIDE = 1e-20  # nor is the point nearer to a plane of symmetry; both in units of the largest radius
_LEVEL = 1e-14
_STILL = 1e-6  # a relative step
_TINY = 1e-30  # [m]


def point_ellipsoid(a: PointCore, b: EllipsoidCore) -> SignedDistance:
    """To the ellipsoid's surface, also from inside; radii may be zero."""
    p = b.pose.inv().point(a.point)
    largest = fmax(fmax(fmax(b.radii.x, b.radii.y), b.radii.z), _TINY)
    scale = 1.0 / largest  # from here on, in units of the largest radius
    radii = [fmax(r * scale, _THIN) for r in b.radii]
    r_min = fmin(fmin(radii[0], radii[1]), radii[2])
    above = [(r - r_min) * (r + r_min) for r in radii]
    at = [fmax(fabs(x) * scale, _ASIDE) for x in p]
    scaled = [x * r for x, r in zip(at, radii, strict=True)]
    start = fmax(fmax(*(x - y for x, y in zip(scaled[:2], above[:2], strict=True))), scaled[2] - above[2])

    def step(state: tuple[Any, Any]) -> tuple[Any, Any]:
        tau, _ = state
        inverses = [1.0 / (tau + y) for y in above]
        # S and, times τ and τ², its next two derivatives without their factors: so all are near 1
        S, slope, bend = 0.0, 0.0, 0.0
        for x, inverse in zip(scaled, inverses, strict=True):
            square, part = (x * inverse) * (x * inverse), tau * inverse
            S, slope, bend = S + square, slope + square * part, bend + square * part * part
        off, least = sqrt(S) - 1.0, slope * slope
        way = tau * (S * off * slope / fmax(least + 1.5 * off * (least - S * bend), 0.25 * least))
        after = fmax(tau + way, start)
        return after, after - tau

    # steps are of third order: after one of 1e-6 nothing is left to do
    first = step(step((start, start)))
    tau, _ = while_loop(lambda state: lt(_STILL * state[0], fabs(state[1])), step, first, at_most=80).state
    inverses = [1.0 / (tau + y) for y in above]
    gradient = Vec3(*(copysign(x * y, at_p) for x, y, at_p in zip(at, inverses, p, strict=True)))
    length = sqrt(gradient.dot(gradient))
    t = tau - r_min * r_min
    several: Any = 0.0
    for x, r, y in zip(at, radii, inverses, strict=True):
        here = and_(le(x, fmax(_LEVEL * r, 2.0 * _ASIDE)), and_(lt(t, 0.0), lt(1e-7, r * x * y)))
        several = several + where(here, 1.0, 0.0)
    distance = t * length * largest
    n = b.pose.rotation @ (gradient * (-1.0 / length))
    return SignedDistance(distance, n, a.point, a.point + n * distance, where(lt(0.0, several), 0.0, 1.0))
