"""TOPP-RA along cubics as one kernel: path, segments, limits, sweeps and time scaling.

It serves limits of velocity, acceleration, joint forces and frame speeds.  Several paths are samples of a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from linkwork._util.bounded_cache import BoundedCache
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import scan, take
from linkwork.expr.control.stored_scans import scan_stored
from linkwork.expr.scalar.functions import and_, fabs, fmax, le, lt, not_, or_, sqrt, where
from linkwork.kernels.compiler_api import Kernel, batch_call, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.motion.algorithms.curves.curve_kinds import FAR, row
from linkwork.motion.algorithms.timing.path_discretization import SegmentGrid, initial_segments, redistributed_segments
from linkwork.motion.algorithms.timing.segment_constraints import (
    NODES,
    PathLimits,
    PathValues,
    control_points,
    polynomial_at,
)
from linkwork.motion.algorithms.timing.toppra_sweeps import fastest_resting
from linkwork.motion.timing.limits import LimitSet
from linkwork.motion.timing.segment_grid import coarse_count, segment_count
from linkwork.motion.trajectory.trajectory import Trajectory

__all__ = ["KernelMotion", "fits_single_kernel", "motions_by_single_kernel"]


class KernelMotion(NamedTuple):
    """A motion on n segments of a path, as the kernel returns it.

    s, ṡ and t (n + 1,) are at the ends of segments, and s̈ (n,) is constant on each. ``clock`` (n, 3) is the
    polynomial s, ṡ, s̈/2 at the beginning of each segment. ``firsts`` (curves,) are the indices of the first segments of
    the curves. ``blocked`` is the index of an infeasible segment, or −1.
    """

    s: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray
    t: np.ndarray
    clock: np.ndarray
    firsts: np.ndarray
    blocked: int

    def curves(self) -> np.ndarray:
        """Return the index of the curve of each segment (n,), read-only."""
        result = np.zeros(len(self.acceleration))
        for k, first in enumerate(self.firsts.tolist()):
            result[int(first) :] = k
        result.setflags(write=False)
        return result


def fits_single_kernel(path: Trajectory, limit_set: LimitSet) -> bool:
    """Return True if the single kernel can time this path within these limits."""
    if len(path.sections) > 1 or limit_set.jerk is not None or limit_set.has_zero_limit:
        return False
    if limit_set.custom and not (len(limit_set.custom) == 1 and limit_set.custom[0] is limit_set.torque):
        return False
    if limit_set.resistance is not None or limit_set.loops:
        return False
    if limit_set.forces is not None and limit_set.forces.motors is not None:
        return False
    section = path.sections[0]
    c = section.arrays.get("coefficients")
    return (
        section.kind.name == "polynomial"
        and section.space.is_plain
        and section.clock is None
        and not section.is_symbolic
        and c is not None
        and c.shape[-1] <= 4
        and bool(section.arrays["starts"][0] == section.start)
        and bool(section.end > section.arrays["starts"][-1])
    )


def motions_by_single_kernel(
    paths: Sequence[Trajectory],
    limit_set: LimitSet,
    ends: Sequence[float],
    points: Sequence[int],
    passes: int,
    tolerance: float | None,
) -> list[KernelMotion]:
    """Return the motions along paths that have the same coordinates, each as if it were computed alone.

    Each path has at least its number of ``points``.
    A motion that is infeasible in any pass counts as infeasible.
    """
    kinds = LimitKinds(
        limit_set.robot if limit_set.custom or limit_set.speed else None,
        limit_set.acceleration is not None,
        limit_set.torque is not None,
        tuple(limit_set.speed),
        limit_set.forces is not None and limit_set.forces.passive,
    )
    limits: dict[str, Any] = {"first": ends[0] ** 2, "last": ends[1] ** 2}
    limits |= {"slowest": limit_set.velocity[0], "highest": limit_set.velocity[1]}
    if limit_set.acceleration is not None:
        limits |= {"lower": limit_set.acceleration[0], "upper": limit_set.acceleration[1]}
    if limit_set.torque is not None:
        limits |= {"least": limit_set.torque.lower, "most": limit_set.torque.upper}
    if limit_set.speed:
        limits["speeds"] = np.array([*limit_set.speed.values()], dtype=float)
    room = np.inf if tolerance is None else 0.5 * tolerance
    cubics = [_padded_cubics(path) for path in paths]
    groups: dict[tuple[int, int, int], list[int]] = {}
    for k, (c, _, _, count) in enumerate(cubics):
        n = segment_count(points[k], count)
        groups.setdefault((n, coarse_count(n, count), len(c)), []).append(k)
    result: list[Any] = [None] * len(paths)
    for (n, coarse, curves), members in groups.items():
        alone = len(members) == 1
        c, starts, end = (
            cubics[members[0]][:3] if alone else [np.array([cubics[k][i] for k in members]) for i in range(3)]
        )
        nv = paths[0].nv
        path, bounds = ([np.asarray(x, dtype=float) for x in some] for some in ((c, starts, end), limits.values()))
        # a call with padded curves is not one of the single call, whose code would be compiled in vain
        is_single = alone and cubics[members[0]][3] == curves
        before: int | None = None
        known: tuple[Any, ...] = ()
        for count in [coarse] * (passes - 1) + [n]:
            kernel = timing_kernel(count, curves, nv, kinds, before)
            outputs = (kernel if is_single else batch_call(kernel))(*path, *known, *bounds)
            s, w, u, t, _, firsts, stopped, _ = outputs
            before, known = count, (s, firsts, w, u, t, np.asarray(stopped))
        for k, s, w, u, t, clock, firsts, blocked, over in (
            [(*members, *outputs)] if alone else zip(members, *outputs, strict=True)
        ):
            count = cubics[k][3]
            result[k] = KernelMotion(s, w, u, t, clock, firsts[:count], int(blocked) if over <= room else 0)
    return result


def _padded_cubics(path: Trajectory) -> tuple[np.ndarray, np.ndarray, float, int]:
    """Return the coefficients (curves, nv, 4), the curves' beginnings, the path's end, and the true number of curves.

    The arrays are padded with further curves to a power of 2.
    """
    section = path.sections[0]
    c, count = section.arrays["coefficients"], len(section.arrays["starts"])
    padded = section.padded()[0]
    if c.shape[-1] == 4:
        return padded["coefficients"], padded["starts"], section.end, count
    own = np.zeros((*padded["coefficients"].shape[:2], 4))
    own[:count, :, : c.shape[-1]] = c
    return own, padded["starts"], section.end, count


_KERNELS: LazyCache[Kernel] = LazyCache(64)
_RECENT: BoundedCache[Any, tuple[Any, Kernel]] = BoundedCache(64)  # by the robot's id: comparing robots takes long
_CORNER, _SMALL = 1e-7, 1e-12  # of the path's rate: a larger jump of it is a corner
_MOST = 1e30
_AT_END = 1.0  # of a segment: where the interpolation error through `NODES` is largest


class LimitKinds(NamedTuple):
    """Kinds of limits for which a kernel is built: accelerations, joint torques, and speeds of the robot's frames."""

    robot: Any = None
    acceleration: bool = True
    torque: bool = False
    frames: tuple[str, ...] = ()
    passive: bool = False  # True if torques include armature and springs

    @property
    def is_curved(self) -> bool:
        """Return True if some limited quantities are not polynomials of low degree."""
        return self.torque or bool(self.frames)


def timing_kernel(n: int, curves: int, nv: int, kinds: LimitKinds, before: int | None = None) -> Kernel:
    """Return the kernel that times a path of a number of cubic ``curves`` on n segments.

    With ``before`` its inputs include a motion on that many segments, from which the grid is redistributed.
    """
    key = (n, curves, nv, before, id(kinds.robot), *kinds[1:])
    of, kernel = _RECENT.get(key) or (None, None)
    if kernel is None or (of is not None and of() is not kinds.robot):
        kernel = _KERNELS.get((n, curves, nv, kinds, before), lambda: _build_kernel(n, curves, nv, kinds, before))
        _RECENT.keep(key, (None if kinds.robot is None else ref(kinds.robot), kernel))
    return kernel


def _build_kernel(n: int, curves: int, nv: int, kinds: LimitKinds, before: int | None) -> Kernel:
    def traced(**g: Any) -> Any:
        c, starts, end = g["coefficients"], g["starts"], g["end"]
        stops = _stops(c, starts, end)

        def swept(on: SegmentGrid) -> Any:
            steps = _differences(on.s)
            places, begins = on.curves()
            caps = _caps(places, begins, stops)
            along = lambda one: _along(c, starts, g, kinds, *one)  # noqa: E731
            rows = (on.s[:-1], places, steps)
            result, segments = fastest_resting(along, rows, steps, caps, g["first"], g["last"])
            over = _largest_excess(segments, result, g, kinds) if kinds.is_curved else 0.0 * result.blocked
            blocked = where(lt(over, 0.0), 0.0, result.blocked)
            return _timed(steps, result), result.u, blocked, over

        fine: Any = True
        if before is None:
            on = initial_segments(starts, end, n)
        else:
            on, fine = redistributed_segments(SegmentGrid(g["s"], g["firsts"]), starts, end, g["w"], g["u"], g["t"], n)
        (w, t), u, blocked, over = swept(on)
        blocked = blocked if before is None else where(and_(fine, le(g["stopped"], -1.0)), blocked, 0.0)
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
    """Return 1 for curves at whose beginning the path's direction jumps, and 0 for others (curves,)."""
    if len(c) == 1:
        return np.zeros(1) + 0.0 * end

    def one(state: Any, x: Any) -> tuple[Any, Any]:
        before, after, start, stop = x
        h = where(lt(stop, FAR), stop - start, 0.0)
        most = apart = 0.0 * end
        for (_, p, q, r), (_, other, *_) in zip(before, after, strict=True):
            rate = p + h * (2.0 * q + h * 3.0 * r)
            most, apart = fmax(most, fmax(fabs(rate), fabs(other))), fmax(apart, fabs(other - rate))
        jump = and_(lt(stop, FAR), lt(_CORNER * most + _SMALL, apart))
        return state, where(jump, 1.0, 0.0)

    result = scan(one, (), (c[:-1], c[1:], starts[:-1], starts[1:]))[1]
    return np.concatenate([array([0.0 * end]), result])


def _caps(curves: Any, begins: Any, stops: Any) -> Any:
    def one(state: Any, x: Any) -> tuple[Any, Any]:
        curve, begins = x
        return state, where(lt(0.5, begins * take(stops, curve)), 0.0, _MOST)

    result = scan(one, (), (curves, begins))[1]
    return np.concatenate([result, array([0.0 * stops[0] + _MOST])])


def _timed(steps: Any, result: Any) -> tuple[Any, Any]:
    """Return ṡ at the ends of segments, and the times there."""

    def one(state: tuple[Any, Any], x: Any) -> tuple[tuple[Any, Any], Any]:
        t, w = state
        after = sqrt(x[1])
        t = t + 2.0 * x[0] / (w + after)
        return (t, after), (after, t)

    w0 = sqrt(result.x[0])
    _, (w, t) = scan(one, (0.0 * w0, w0), (steps, result.x[1:]))
    return np.concatenate([array([w0]), w]), np.concatenate([array([0.0 * w0]), t])


def _along(c: Any, starts: Any, g: Any, kinds: LimitKinds, s: Any, curve: Any, step: Any) -> tuple[Any, Any]:
    """Return the constraints on one segment, and the interpolation errors of quantities that are not polynomials.

    The segment begins at s on a ``curve`` and has length ``step``.
    """
    own, begin = row(c, curve), s - take(starts, curve)
    first, second = [], []
    for node in NODES[3]:
        d = begin + node * step
        first.append([p + d * (2.0 * q + d * (3.0 * r)) for _, p, q, r in own])
        second.append([2.0 * q + 6.0 * r * d for _, p, q, r in own])
    if kinds.acceleration:
        plain = PathValues(first, first, second), PathLimits(g["slowest"], g["highest"], g["lower"], g["upper"])
    else:
        plain = PathValues(first, None, None), PathLimits(g["slowest"], g["highest"], (), ())
    if not kinds.is_curved:
        return [plain], ()
    nodes = NODES[5]

    def at(state: Any, node: Any) -> tuple[Any, Any]:
        d = begin + node * step
        q = array([p0 + d * (p1 + d * (p2 + d * p3)) for p0, p1, p2, p3 in own])
        rate = array([p + d * (2.0 * b + d * (3.0 * e)) for _, p, b, e in own])
        bend = array([2.0 * b + 6.0 * e * d for _, p, b, e in own])
        at_rest, result = np.zeros(len(own)), []
        if kinds.torque:
            states = (at_rest, at_rest), (at_rest, rate), (rate, bend)
            c, a, b = (kinds.robot.inverse_dynamics(q, *x, passive=kinds.passive) for x in states)
            result += [array([x - z for x, z in zip(y, c, strict=True)]) for y in (a, b)] + [c]
        if kinds.frames:
            result.append(array([kinds.robot.twist(q, rate, frame)[3:] for frame in kinds.frames]))
        return state, tuple(result)

    places = [*nodes, _AT_END]
    result = scan(at, (), np.array(places))[1]
    known = [x[: len(nodes)] for x in result]
    values: list[Any] = known[:3] if kinds.torque else [None] * 3
    limits = PathLimits((), (), g.get("least", ()), g.get("most", ()), g.get("speeds"))
    curved = PathValues(None, values[0], values[1], values[2], known[-1] if kinds.frames else None), limits
    if kinds.torque:  # A u + B x with x = x_i + 2 Δ t u
        shifted = [
            [x + (2.0 * t * step) * y for x, y in zip(*row, strict=True)]
            for t, *row in zip(places, *result[:2], strict=True)
        ]
        result = (shifted, *result[1:])
    left = [_interpolation_errors(x, len(nodes)) for x in result]
    may_rest = 0.0 * step + 1.0
    if kinds.torque:
        for j in range(len(own)):
            for x in control_points([y[j] for y in values[2]]):
                may_rest = where(and_(le(g["least"][j], x), le(x, g["most"][j])), may_rest, -1.0)
    return [plain, curved], (*left, may_rest)


def _interpolation_errors(x: Any, nodes: int) -> Any:
    """Return the interpolation errors of quantities at the end of a segment.

    x has their values at the nodes and, last, at the end; the errors are the differences from the polynomials through
    the nodes.
    """
    flat = np.asarray(x, dtype=object).reshape(nodes + 1, -1)
    return array([flat[nodes, k] - polynomial_at(_AT_END, [*flat[:nodes, k]]) for k in range(flat.shape[1])])


def _largest_excess(segments: Any, result: Any, g: Any, kinds: LimitKinds) -> Any:
    """Return the largest relative amount by which a motion may exceed limits, because of interpolation errors.

    It is −1 if resting is not within the limits.
    """

    def one(worst: Any, y: Any) -> tuple[Any, None]:
        (*_, (*parts, may_rest)), (x0, x1, u) = y
        at = 0
        if kinds.torque:
            a, b, c = parts[:3]
            for j in range(len(a)):
                size = fmax(_size(g["least"][j]), _size(g["most"][j]))
                bound = fabs(a[j] * u + b[j] * x0 + c[j])
                worst = fmax(worst, bound / fmax(size, 1e-9))
            at = 3
        if kinds.frames:
            v = parts[at]
            for k in range(len(kinds.frames)):
                square = v[3 * k] * v[3 * k] + v[3 * k + 1] * v[3 * k + 1] + v[3 * k + 2] * v[3 * k + 2]
                worst = fmax(worst, sqrt(square * fmax(x0, x1)) / g["speeds"][k])
        return where(or_(lt(may_rest, 0.0), not_(lt(worst, FAR))), FAR, worst), None

    worst = scan_stored(one, 0.0 * result.blocked, segments, (result.x[:-1], result.x[1:], result.u))[0]
    return where(lt(worst, FAR), worst, -1.0)


def _size(limit: Any) -> Any:
    return where(lt(fabs(limit), _MOST), fabs(limit), 0.0)
