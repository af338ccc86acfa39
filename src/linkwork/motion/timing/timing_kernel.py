"""TOPP-RA along cubics as one kernel: path, segments, limits, sweeps and time scaling.

The kernel handles limits of velocity, acceleration, joint forces and frame speeds.  Several paths are a batch.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from linkwork._util.thread_safety import BoundedCache
from linkwork.dynamics.algorithms.passive_joint_forces import resisting_force
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import scan, take
from linkwork.expr.control.stored_scans import scan_stored, scan_storing
from linkwork.expr.scalar.functions import and_, fabs, fmax, le, lt, not_, or_, sqrt, where
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.motion.algorithms.curves.curve_kinds import FAR, row
from linkwork.motion.algorithms.timing.path_discretization import (
    SegmentGrid,
    initial_segments,
    redistributed_segments,
    squares_at,
)
from linkwork.motion.algorithms.timing.segment_constraints import (
    NODES,
    PathLimits,
    PathValues,
    control_points,
    polynomial_at,
)
from linkwork.motion.algorithms.timing.segment_resistance import (
    SegmentResistance,
    excess_with_resistance,
    fitting_share,
    segment_resistance,
    with_resistance,
)
from linkwork.motion.algorithms.timing.toppra_sweeps import fastest_resting

__all__ = ["LimitKinds", "timing_kernel"]

_KERNELS: LazyCache[Kernel] = LazyCache(64)
_RECENT: BoundedCache[Any, tuple[Any, Kernel]] = BoundedCache(64)  # by the robot's id: comparing robots takes long
_CORNER, _SMALL = 1e-7, 1e-12  # of the path's rate: a larger jump of it is a corner
_GREATEST = 1e30
_FIRST_SWEEPS, _SWEEPS = 3, 2  # with damping and friction: without a motion to begin with, and with one
_CHANGED = 5e-3  # of the duration: a larger change by the last of them means that they do not converge
_AT_END = 1.0  # of a segment: where the interpolation error through `NODES` is largest


class LimitKinds(NamedTuple):
    """Kinds of limits for which a timing kernel is built: accelerations, joint torques, and speeds of frames."""

    robot: Any = None
    acceleration: bool = True
    torque: bool = False
    frames: tuple[str, ...] = ()
    passive: bool = False  # True if torques include armature and springs
    resists: bool = False  # True if they include damping and friction

    @property
    def is_curved(self) -> bool:
        """True if any limited quantity is not a polynomial of low degree."""
        return self.torque or bool(self.frames)


def timing_kernel(n: int, curves: int, nv: int, kinds: LimitKinds, before: int | None = None) -> Kernel:
    """Return the kernel that times a path of cubics on n segments; ``curves`` is the number of cubics.

    With ``before`` the kernel has a further input, a motion on ``before`` segments. The grid is redistributed according
    to this motion.
    """
    key = (n, curves, nv, before, id(kinds.robot), *kinds[1:])
    key_objects, kernel = _RECENT.get(key) or (None, None)
    if kernel is None or (key_objects is not None and key_objects() is not kinds.robot):
        kernel = _KERNELS.get((n, curves, nv, kinds, before), lambda: _build_kernel(n, curves, nv, kinds, before))
        _RECENT.keep(key, (None if kinds.robot is None else ref(kinds.robot), kernel))
    return kernel


def _build_kernel(n: int, curves: int, nv: int, kinds: LimitKinds, before: int | None) -> Kernel:
    def traced(**g: Any) -> Any:
        c, starts, end = g["coefficients"], g["starts"], g["end"]
        stops = _stops(c, starts, end)

        def swept(on: SegmentGrid) -> Any:
            steps = _differences(on.s)
            curve_indices, begins = on.curves()
            caps = _caps(curve_indices, begins, stops)
            rows = (on.s[:-1], curve_indices, steps)
            if kinds.resists:
                x = 0.0 * on.s if before is None else squares_at(g["s"], g["w"], on.s)
                segment = lambda row: _segment(c, starts, kinds, *row)  # noqa: E731
                result, over = _with_resistance(segment, rows, caps, g, kinds, x, before is None)
                blocked = where(lt(over, 0.0), 0.0, result.blocked)
                return _timed(steps, result), result.u, blocked, over
            along = lambda row: _along(_segment(c, starts, kinds, *row), row[-1], g, kinds)  # noqa: E731
            result, segments = fastest_resting(along, rows, steps, caps, g["first"], g["last"])
            over = _largest_excess(segments, result, g, kinds) if kinds.is_curved else 0.0 * result.blocked
            blocked = where(lt(over, 0.0), 0.0, result.blocked)
            return _timed(steps, result), result.u, blocked, over

        is_valid: Any = True
        if before is None:
            on = initial_segments(starts, end, n)
        else:
            on, is_valid = redistributed_segments(
                SegmentGrid(g["s"], g["firsts"]), starts, end, g["w"], g["u"], g["t"], n
            )
        (w, t), u, blocked, over = swept(on)
        blocked = blocked if before is None else where(and_(is_valid, le(g["stopped"], -1.0)), blocked, 0.0)
        clock = scan(lambda state, x: (state, array([x[0], x[1], 0.5 * x[2]])), (), (on.s[:-1], w[:-1], u))[1]
        return on.s, w, u, t, clock, on.firsts, blocked, over

    shapes: dict[str, Any] = {"coefficients": (curves, nv, 4), "starts": curves, "end": ()}
    if before is not None:
        shapes |= {"s": before + 1, "firsts": curves, "w": before + 1, "u": before, "t": before + 1}
        shapes["stopped"] = ()
    shapes |= {"first": (), "last": (), "slowest": nv, "highest": nv}
    if kinds.acceleration:
        shapes |= {"lower": nv, "upper": nv}
    if kinds.torque:
        shapes |= {"least": nv, "most": nv}
    if kinds.frames:
        shapes |= {"speeds": len(kinds.frames)}
    return compile(traced, name="time_optimal", **shapes)


def _differences(s: Any) -> Any:
    return scan(lambda state, x: (state, x[1] - x[0]), (), (s[:-1], s[1:]))[1]


def _stops(c: Any, starts: Any, end: Any) -> Any:
    """Return an array (curves,): 1 for a cubic at whose beginning the path's direction jumps, else 0.

    ``c`` are the coefficients of the cubics, ``starts`` their beginnings, and ``end`` is the path's end.
    """
    if len(c) == 1:
        return np.zeros(1) + 0.0 * end

    def one(state: Any, x: Any) -> tuple[Any, Any]:
        before, after, start, stop = x
        h = where(lt(stop, FAR), stop - start, 0.0)
        most = apart = 0.0 * end
        for (_, p, q, r), (_, first, *_) in zip(before, after, strict=True):
            rate = p + h * (2.0 * q + h * 3.0 * r)
            most, apart = fmax(most, fmax(fabs(rate), fabs(first))), fmax(apart, fabs(first - rate))
        jump = and_(lt(stop, FAR), lt(_CORNER * most + _SMALL, apart))
        return state, where(jump, 1.0, 0.0)

    result = scan(one, (), (c[:-1], c[1:], starts[:-1], starts[1:]))[1]
    return np.concatenate([array([0.0 * end]), result])


def _caps(curves: Any, begins: Any, stops: Any) -> Any:
    def one(state: Any, x: Any) -> tuple[Any, Any]:
        curve, begins = x
        return state, where(lt(0.5, begins * take(stops, curve)), 0.0, _GREATEST)

    result = scan(one, (), (curves, begins))[1]
    return np.concatenate([result, array([0.0 * stops[0] + _GREATEST])])


def _timed(steps: Any, result: Any) -> tuple[Any, Any]:
    """Return ṡ and the times at the ends of segments with lengths ``steps``; ``result`` has x = ṡ² at these ends."""

    def one(state: tuple[Any, Any], x: Any) -> tuple[tuple[Any, Any], Any]:
        t, w = state
        after = sqrt(x[1])
        t = t + 2.0 * x[0] / (w + after)
        return (t, after), (after, t)

    w0 = sqrt(result.x[0])
    _, (w, t) = scan(one, (0.0 * w0, w0), (steps, result.x[1:]))
    return np.concatenate([array([w0]), w]), np.concatenate([array([0.0 * w0]), t])


class _Segment(NamedTuple):
    """A segment of a path: dq/ds and d²q/ds² at three nodes (3, nv), and values of other limited quantities.

    ``values`` are the quantities that are not polynomials of low degree, at five nodes: joint torques and frame speeds.
    ``errors`` are their interpolation errors.
    """

    first: Any
    second: Any
    values: tuple[Any, ...]
    errors: tuple[Any, ...]


def _segment(c: Any, starts: Any, kinds: LimitKinds, s: Any, curve: Any, step: Any) -> _Segment:
    """Return the derivatives and limited quantities on the segment of length ``step`` that begins at s.

    ``c`` and ``starts`` are the path's cubics, and ``curve`` is the index of the cubic that contains the segment.
    """
    cubics, begin = row(c, curve), s - take(starts, curve)
    first, second = [], []
    for node in NODES[3]:
        d = begin + node * step
        first.append([p + d * (2.0 * q + d * (3.0 * r)) for _, p, q, r in cubics])
        second.append([2.0 * q + 6.0 * r * d for _, p, q, r in cubics])
    if not kinds.is_curved:
        return _Segment(first, second, (), ())
    nodes = NODES[5]

    def at(state: Any, node: Any) -> tuple[Any, Any]:
        d = begin + node * step
        q = array([p0 + d * (p1 + d * (p2 + d * p3)) for p0, p1, p2, p3 in cubics])
        rate = array([p + d * (2.0 * b + d * (3.0 * e)) for _, p, b, e in cubics])
        bend = array([2.0 * b + 6.0 * e * d for _, p, b, e in cubics])
        at_rest, result = np.zeros(len(cubics)), []
        if kinds.torque:
            states = (at_rest, at_rest), (at_rest, rate), (rate, bend)
            c, a, b = (kinds.robot.inverse_dynamics(q, *x, passive=kinds.passive) for x in states)
            if kinds.resists:
                b = [x + y for x, y in zip(b, resisting_force(kinds.robot.tree, list(rate)), strict=True)]
            result += [array([x - z for x, z in zip(y, c, strict=True)]) for y in (a, b)] + [c]
        if kinds.frames:
            result.append(array([kinds.robot.twist(q, rate, frame)[3:] for frame in kinds.frames]))
        return state, tuple(result)

    parameters = [*nodes, _AT_END]
    result = scan(at, (), np.array(parameters))[1]
    known = tuple(x[: len(nodes)] for x in result)
    if kinds.torque:  # A u + B x with x = x_i + 2 Δ t u
        shifted = [
            [x + (2.0 * t * step) * y for x, y in zip(*row, strict=True)]
            for t, *row in zip(parameters, *result[:2], strict=True)
        ]
        result = shifted, *result[1:]
    return _Segment(first, second, known, tuple(_interpolation_errors(x, len(nodes)) for x in result))


def _constraints(of: _Segment, g: Any, kinds: LimitKinds) -> list[tuple[PathValues, PathLimits]]:
    """Return the constraints of a motion on a segment, without damping and friction; ``g`` has the limits by name."""
    if kinds.acceleration:
        plain = (
            PathValues(of.first, of.first, of.second),
            PathLimits(g["slowest"], g["highest"], g["lower"], g["upper"]),
        )
    else:
        plain = PathValues(of.first, None, None), PathLimits(g["slowest"], g["highest"], (), ())
    if not kinds.is_curved:
        return [plain]
    a, b, at_rest = of.values[:3] if kinds.torque else (None, None, None)
    limits = PathLimits((), (), g.get("least", ()), g.get("most", ()), g.get("speeds"))
    return [plain, (PathValues(None, a, b, at_rest, of.values[-1] if kinds.frames else None), limits)]


def _along(of: _Segment, step: Any, g: Any, kinds: LimitKinds) -> tuple[Any, Any]:
    """Return the constraints of a motion on a segment, and values for the check of interpolated limits.

    These values are the interpolation errors of the limited quantities, and 1 if rest is permitted, else −1. They are
    () if all quantities are polynomials of low degree. ``step`` is the segment's length, and ``g`` has the limits by
    name.
    """
    groups = _constraints(of, g, kinds)
    if not kinds.is_curved:
        return groups, ()
    may_rest = 0.0 * step + 1.0
    if kinds.torque:
        for j in range(len(g["least"])):
            for x in control_points([y[j] for y in of.values[2]]):
                may_rest = where(and_(le(g["least"][j], x), le(x, g["most"][j])), may_rest, -1.0)
    return groups, (*of.errors, may_rest)


def _with_resistance(segment: Any, rows: Any, caps: Any, g: Any, kinds: LimitKinds, x: Any, begins: bool) -> Any:
    """Return the fastest motion with damping and friction of joints, and its largest relative violation of limits.

    Newton's method: each sweep linearizes the resistance about the motion of the previous sweep, and the first sweep
    about ``x`` = ṡ². If this call ``begins`` the search, x may be 0; then there is no resistance. The violation is more
    than 1 if the last sweep changed the motion or, with limits of acceleration, does not permit rest.
    """
    tree, sizes = kinds.robot.tree, [fmax(_size(a), _size(b)) for a, b in zip(g["least"], g["most"], strict=True)]
    steps = rows[-1]
    _, (stored, _) = scan_storing(lambda state, y: (state, (tuple(segment(y)), ())), (), rows)

    def resisted(of: _Segment, x0: Any, x1: Any) -> SegmentResistance:
        return segment_resistance(tree, of.first, x0, x1, sizes)

    def along(stored_row: Any) -> tuple[Any, Any]:
        row, (x0, x1) = stored_row
        segment = _Segment(*row)
        *groups, (values, limits) = _constraints(segment, g, kinds)
        if begins:  # the motion without resistance may be much too fast
            share = fitting_share(tree, segment.first, values.at_rest, limits, x0, x1)
            x0, x1 = share * x0, share * x1
        *resisting, may_rest = with_resistance(values, limits, resisted(segment, x0, x1), x0, x1)
        return [*groups, tuple(resisting)], (may_rest,)

    for _ in range(_FIRST_SWEEPS if begins else _SWEEPS):
        before, ends = x, (x[:-1], x[1:])
        result, segments = fastest_resting(along, ends, steps, caps, g["first"], g["last"], stored)
        x = result.x

    def one(state: Any, y: Any) -> tuple[Any, Any]:
        ((*_, (may_rest,)), row), (step, x0, x1, u) = y
        segment = _Segment(*row)
        values, limits = _constraints(segment, g, kinds)[-1]
        excess = excess_with_resistance(values, limits, resisted(segment, x0, x1), step, x0, u)
        errors = _relative_errors(segment.errors, x0, x1, u, g, kinds, excess)
        # the other lower lines hold by the sweeps where rest satisfies all limits; those of torques are checked here
        return state, where(lt(may_rest, 0.0), errors + 1.0, errors) if kinds.acceleration else errors

    motion = steps, x[:-1], x[1:], result.u
    worst = _most(scan_stored(one, (), (segments, stored), motion)[1])

    def duration(state: Any, y: Any) -> tuple[Any, Any]:
        step, *x = y
        old, new = (2.0 * step / (sqrt(a) + sqrt(b)) for a, b in (x[:2], x[2:]))
        return state, (new, fabs(new - old))

    times, changes = scan(duration, (), (steps, before[:-1], before[1:], x[:-1], x[1:]))[1]
    settled = le(_sum(changes), _CHANGED * _sum(times))
    worst = where(settled, worst, worst + 1.0)
    return result, where(lt(worst, FAR), worst, -1.0)


def _sum(values: Any) -> Any:
    return scan(lambda total, x: (total + x, None), 0.0 * values[0], values)[0]


def _most(values: Any) -> Any:
    """Return the largest of positive values; `FAR` if any value is NaN."""
    return scan(lambda most, x: (where(lt(x, FAR), fmax(most, x), FAR), None), 0.0 * values[0], values)[0]


def _interpolation_errors(x: Any, nodes: int) -> Any:
    """Return the interpolation errors of quantities at the end of a segment.

    x has their values at the nodes and, last, at the end; the errors are the differences from the polynomials through
    the nodes.
    """
    flat = np.asarray(x, dtype=object).reshape(nodes + 1, -1)
    return array([flat[nodes, k] - polynomial_at(_AT_END, [*flat[:nodes, k]]) for k in range(flat.shape[1])])


def _largest_excess(segments: Any, result: Any, g: Any, kinds: LimitKinds) -> Any:
    """Return the largest violation of limits by interpolation errors of a motion, relative to the limits.

    The result is −1 if rest violates the limits.
    """

    def one(worst: Any, y: Any) -> tuple[Any, None]:
        (*_, (*errors, may_rest)), (x0, x1, u) = y
        worst = fmax(worst, _relative_errors(errors, x0, x1, u, g, kinds, None))
        return where(or_(lt(may_rest, 0.0), not_(lt(worst, FAR))), FAR, worst), None

    worst = scan_stored(one, 0.0 * result.blocked, segments, (result.x[:-1], result.x[1:], result.u))[0]
    return where(lt(worst, FAR), worst, -1.0)


def _relative_errors(errors: Any, x0: Any, x1: Any, u: Any, g: Any, kinds: LimitKinds, excess: Any) -> Any:
    """Return the largest violation of torque and speed limits by interpolation errors on a segment, as a fraction.

    The fraction is relative to the limits. The motion has ṡ² = x0 and x1 at the ends of the segment, and s̈ = u.
    ``errors`` are interpolation errors. ``excess`` are the violations (nv) of torque limits without these errors, or
    None.
    """
    worst, at = 0.0 * u, 0
    if kinds.torque:
        a, b, c = errors[:3]
        for j in range(len(a)):
            size = fmax(_size(g["least"][j]), _size(g["most"][j]))
            bound = fabs(a[j] * u + b[j] * x0 + c[j])
            worst = fmax(worst, (bound if excess is None else bound + excess[j]) / fmax(size, 1e-9))
        at = 3
    if kinds.frames:
        v = errors[at]
        for k in range(len(kinds.frames)):
            square = v[3 * k] * v[3 * k] + v[3 * k + 1] * v[3 * k + 1] + v[3 * k + 2] * v[3 * k + 2]
            worst = fmax(worst, sqrt(square * fmax(x0, x1)) / g["speeds"][k])
    return worst


def _size(limit: Any) -> Any:
    return where(lt(fabs(limit), _GREATEST), fabs(limit), 0.0)
