"""Splines through points of a manifold, of any kind: sections of their times and points."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.motion.algorithms.curves import KINDS, CurveSpace, motion_of
from linkwork.motion.algorithms.curves.curve_kinds import polynomial
from linkwork.motion.algorithms.hermite_interpolation import (
    correction,
    cubic_between,
    inner_point,
    mean_slope,
    straight_between,
)
from linkwork.motion.splines.anderson_acceleration import settled, settled_on_symbols
from linkwork.motion.splines.euclidean_spline import plain_cubics
from linkwork.motion.trajectory.map_segments import Rows, between_points, each, of_pieces, one_sign, rows_of
from linkwork.motion.trajectory.trajectory_construction import through_states
from linkwork.motion.trajectory.trajectory_segment import Section

__all__ = ["cubic", "estimated", "hermite", "quintic", "squad", "straight"]

_KERNELS: LazyCache[Kernel] = LazyCache(64)
_UNKNOWN = {  # the velocities that equations of a cubic are for
    "natural": slice(None),
    "clamped": slice(1, -1),
    "launched": slice(1, None),
    "periodic": slice(0, -1),
}


def straight(space: CurveSpace, t: np.ndarray, q: Rows) -> Section:
    """At constant velocity from point to point."""
    q = one_sign(space, q)
    pieces = each(lambda h, a, b: straight_between(space, h, a, b), np.diff(t), q[:-1], q[1:])
    return between_points(space, t, q, pieces)


def hermite(space: CurveSpace, t: np.ndarray, q: Rows, v: Rows | None) -> Section:
    """Cubics with given velocities, or those of parabolas through neighbours."""
    q = one_sign(space, q)
    if v is None:
        v = estimated(space, t, q)[0]
    return between_points(space, t, q, _cubics(space, t, q, v))


def quintic(space: CurveSpace, t: np.ndarray, q: Rows, v: Rows | None, a: Rows | None) -> Section:
    """Of degree five with given velocities and accelerations, or those of parabolas through neighbours."""
    q = one_sign(space, q)
    if v is None or a is None:
        found = estimated(space, t, q)
        v, a = found[0] if v is None else v, found[1] if a is None else a
    return through_states(space, t, q, v, a)


def cubic(space: CurveSpace, t: np.ndarray, q: Rows, boundary: str, ends: Rows | None, caller: str) -> Section:
    """Cubics whose accelerations have no jump: natural, clamped (with velocities of the ends), launched (with that
    of the first end), or periodic."""
    if space.is_plain and not any(x.dtype == object for x in (t, q, *(() if ends is None else (ends,)))):
        return of_pieces(space, t, plain_cubics(t, q, boundary, ends))
    q, h = one_sign(space, q), np.diff(t).tolist()
    v = [np.zeros(space.nv) for _ in t]
    if boundary == "clamped" and ends is not None:
        v[0], v[-1] = ends[0], ends[1]
    if boundary == "launched" and ends is not None:
        v[0] = ends
    start = rows_of(v)

    def corrected(v: Rows) -> Rows:
        return rows_of(correction(h, _jumps(space, t, q, v, boundary), boundary))

    if space.is_plain:
        return between_points(space, t, q, _cubics(space, t, q, start + corrected(start)))
    if any(x.dtype == object for x in (t, q, start)):
        unknown = _UNKNOWN[boundary]

        def completed(v: Rows) -> Rows:
            first = unknown.indices(len(t))[0]
            return _joined(start[:first], v, v[:1] if boundary == "periodic" else start[first + len(v) :])

        if len(start[unknown]):  # what is given has no equation, or the derivative's would be singular
            of_unknown = lambda v: corrected(completed(v))[unknown]  # noqa: E731
            start = completed(settled_on_symbols(start[unknown], of_unknown, space.parts))
        return between_points(space, t, q, _cubics(space, t, q, start))
    slopes = each(lambda h, a, b: [x / h for x in space.difference(a, b)], np.diff(t), q[:-1], q[1:])
    scale = max(float(np.abs(slopes).max()), float(np.abs(start).max()), 1e-6)
    return between_points(space, t, q, _cubics(space, t, q, settled(start, corrected, space.parts, scale, caller)))


def squad(space: CurveSpace, t: np.ndarray, q: Rows) -> Section:
    """Spherical quadrangles: two geodesics, and what lies between."""
    q, h = one_sign(space, q), np.diff(t)
    inner = q
    if len(t) > 2:
        middle = each(lambda a, b, *points: inner_point(space, a, b, *points), h[:-1], h[1:], q[:-2], q[1:-1], q[2:])
        inner = _joined(q[:1], middle, q[-1:])
    to = lambda a, b: space.difference(a, b)  # noqa: E731
    arrays = {
        "starts": t[:-1],
        "rates": 1.0 / h,
        "base": q[:-1],
        "steps": each(to, q[:-1], q[1:]),
        "inner": inner[:-1],
        "inner_steps": each(to, inner[:-1], inner[1:]),
    }
    return Section(space, KINDS["squad"], arrays, t[0], t[-1])


def estimated(space: CurveSpace, t: np.ndarray, q: Rows) -> tuple[Rows, Rows]:
    """Velocities and accelerations (n, nv) of parabolas through neighbours; at the ends a natural cubic's."""
    h = np.diff(t)
    if len(t) == 2:
        v = each(lambda h, a, b: [x / h for x in space.difference(a, b)], h, q[:-1], q[1:])
        return _joined(v, v), np.zeros((2, space.nv))

    def inside(h0: Any, h1: Any, before: Any, at: Any, after: Any) -> list[list[Any]]:
        both = zip(space.difference(at, before), space.difference(at, after), strict=True)
        return [[*mean_slope(h0, h1, x, y)] for x, y in both]

    def first(h: Any, at: Any, on: Any, v: Any) -> list[Any]:
        w, _ = space.local_rates(at, on, v, [0.0] * space.nv)
        return [1.5 * x / h - 0.5 * y for x, y in zip(space.difference(at, on), w, strict=True)]

    found = each(inside, h[:-1], h[1:], q[:-2], q[1:-1], q[2:])
    v, a = found[..., 0], found[..., 1]
    begin = each(first, h[:1], q[:1], q[1:2], v[:1])
    end = each(first, -h[-1:], q[-1:], q[-2:-1], v[-1:])
    return _joined(begin, v, end), _joined(0.0 * a[:1], a, 0.0 * a[:1])


def _cubics(space: CurveSpace, t: np.ndarray, q: Rows, v: Rows) -> Rows:
    return each(lambda h, *states: cubic_between(space, h, *states), np.diff(t), q[:-1], q[1:], v[:-1], v[1:])


def _jumps(space: CurveSpace, t: np.ndarray, q: Rows, v: Rows, boundary: str) -> list[Any]:
    """a on the way out less a on the way in, at each point; at the ends, where there is but one of them, that."""
    if space.is_plain or any(x.dtype == object for x in (t, q, v)):
        out, into = each(
            lambda h, *of: _accelerations(space, h, *of), np.diff(t), q[:-1], q[1:], v[:-1], v[1:]
        ).swapaxes(0, 1)
    else:
        out, into = _KERNELS.get(space, lambda: _kernel(space))(np.diff(t), q[:-1], q[1:], v[:-1], v[1:])
    found = [a - b for a, b in zip(out[1:], into[:-1], strict=True)]
    if boundary == "periodic":
        return [out[0] - into[-1], *found]
    return [out[0], *found, -into[-1]]


def _accelerations(space: CurveSpace, h: Any, q0: Any, q1: Any, v0: Any, v1: Any) -> list[list[Any]]:
    """Where the cubic begins, and where it ends."""
    c = cubic_between(space, h, q0, q1, v0, v1)
    if space.is_plain:
        return [[2.0 * x[2] for x in c], [2.0 * x[2] + 6.0 * x[3] * h for x in c]]
    return [
        motion_of(space, lambda now, _: space.integrate(q0, [polynomial(x, now) for x in c]), u)[2]
        for u in (0.0 * h, h)
    ]


def _kernel(space: CurveSpace) -> Kernel:
    """The same of a space, compiled: it runs some ten times a spline."""

    def cubic_accelerations(h: Any, q0: Any, q1: Any, v0: Any, v1: Any) -> Any:
        return tuple(array(x) for x in _accelerations(space, h, [*q0], [*q1], [*v0], [*v1]))

    sizes: dict[str, Any] = {"q0": (space.nq,), "q1": (space.nq,), "v0": (space.nv,), "v1": (space.nv,)}
    return compile(cubic_accelerations, h=(), **sizes)


def _joined(*parts: Rows) -> Rows:
    return rows_of([row for part in parts for row in part])
