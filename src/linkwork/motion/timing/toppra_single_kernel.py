"""Path timing by reachability (TOPP-RA) along cubics, as one kernel: path, segments, their limits, sweeps and clock.

It serves limits of velocity, acceleration, joint forces and speeds of frames.  Several paths are samples of a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import scan, take
from linkwork.expr.scalar.functions import and_, fabs, fmax, le, lt, not_, or_, sqrt, where
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.motion.algorithms.curves.curve_kinds import FAR, row
from linkwork.motion.algorithms.timing.path_discretization import Laid, laid, laid_anew
from linkwork.motion.algorithms.timing.segment_constraints import (
    NODES,
    PathLimits,
    PathValues,
    control_points,
    polynomial_at,
)
from linkwork.motion.algorithms.timing.toppra_sweeps import fastest_resting
from linkwork.motion.timing.limits import MotionAsked
from linkwork.motion.timing.segment_grid import first_of, segments_of
from linkwork.motion.trajectory.trajectory import Trajectory

__all__ = ["KernelMotion", "fits_single_kernel", "motions_by_single_kernel"]


class KernelMotion(NamedTuple):
    """s, ṡ and t at the ends of segments (n + 1,), s̈ on them, and the clock: s, ṡ and s̈/2 at their beginnings (n, 3);
    and the segment that cannot be passed, or −1.
    """

    s: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray
    t: np.ndarray
    clock: np.ndarray
    blocked: int


def fits_single_kernel(path: Trajectory, asked: MotionAsked) -> bool:
    """Whether it is such a path, and these are limits of such a kind."""
    if len(path.sections) > 1 or asked.jerk is not None or asked.stands:
        return False
    if asked.own and not (len(asked.own) == 1 and asked.own[0] is asked.torque):
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
    asked: MotionAsked,
    ends: Sequence[float],
    points: int,
    passes: int,
    tolerance: float | None,
) -> list[KernelMotion]:
    """Of paths of the same coordinates, each as it would be alone; one that is blocked in any pass is so."""
    law = KernelLimits(
        asked.robot if asked.own or asked.speed else None,
        asked.acceleration is not None,
        asked.torque is not None,
        tuple(asked.speed),
    )
    limits: dict[str, Any] = {"first": ends[0] ** 2, "last": ends[1] ** 2}
    limits |= {"slowest": asked.velocity[0], "highest": asked.velocity[1]}
    if asked.acceleration is not None:
        limits |= {"lower": asked.acceleration[0], "upper": asked.acceleration[1]}
    if asked.torque is not None:
        limits |= {"least": asked.torque.lower, "most": asked.torque.upper}
    if asked.speed:
        limits["speeds"] = np.array([*asked.speed.values()], dtype=float)
    room = np.inf if tolerance is None else 0.5 * tolerance
    given = [_given(path) for path in paths]
    alike: dict[tuple[int, int, int], list[int]] = {}
    for k, (c, _, _, count) in enumerate(given):
        n = segments_of(points, count)
        alike.setdefault((n, first_of(n, count), len(c)), []).append(k)
    result: list[Any] = [None] * len(paths)
    for (n, coarse, pieces), members in alike.items():
        alone = len(members) == 1
        c, starts, end = (
            given[members[0]][:3] if alone else [np.array([given[k][i] for k in members]) for i in range(3)]
        )
        nv = paths[0].nv
        counts = [coarse] * (passes - 1) + [n]
        made = timing_kernel(counts[0], pieces, nv, law)(c, starts, end, *limits.values())
        for before, count in pairwise(counts):
            s, w, u, t, _, firsts, stopped, _ = made
            kernel = timing_kernel(count, pieces, nv, law, before)
            made = kernel(c, starts, end, s, firsts, w, u, t, stopped, *limits.values())
        for k, s, w, u, t, clock, _, blocked, over in (
            [(*members, *made)] if alone else zip(members, *made, strict=True)
        ):
            result[k] = KernelMotion(s, w, u, t, clock, int(blocked) if over <= room else 0)
    return result


def _given(path: Trajectory) -> tuple[np.ndarray, np.ndarray, float, int]:
    """Coefficients (pieces, nv, 4), where pieces begin, as many as a power of 2, where the last ends; how many."""
    section = path.sections[0]
    c, count = section.arrays["coefficients"], len(section.arrays["starts"])
    padded = section.padded()[0]
    if c.shape[-1] == 4:
        return padded["coefficients"], padded["starts"], section.end, count
    own = np.zeros((*padded["coefficients"].shape[:2], 4))
    own[:count, :, : c.shape[-1]] = c
    return own, padded["starts"], section.end, count


_KERNELS: LazyCache[Kernel] = LazyCache(64)
_MANY = 64
_NEAR: dict[tuple[Any, ...], tuple[Any, Kernel]] = {}  # by the very robot: what is equal to it takes long to find
_CORNER, _SMALL = 1e-7, 1e-12  # of the path's rate: a jump of it is a corner
_MOST = 1e30
_AT_END = 1.0  # of a segment: where what polynomials through `NODES` leave is largest


class KernelLimits(NamedTuple):
    """What limits motions: accelerations or not, joint forces of a robot, and speeds of its frames."""

    robot: Any = None
    acceleration: bool = True
    torque: bool = False
    frames: tuple[str, ...] = ()

    @property
    def is_curved(self) -> bool:
        """Whether there is more than polynomials of low degree."""
        return self.torque or bool(self.frames)


def timing_kernel(n: int, pieces: int, nv: int, law: KernelLimits, before: int | None = None) -> Kernel:
    """For so many segments and pieces of the path: those of a motion with so many ``before``, made anew, or others."""
    near = (n, pieces, nv, before, id(law.robot), *law[1:])
    of, kernel = _NEAR.get(near, (None, None))
    if kernel is None or (of is not None and of() is not law.robot):
        kernel = _KERNELS.get((n, pieces, nv, law, before), lambda: _made(n, pieces, nv, law, before))
        if len(_NEAR) >= _MANY:
            _NEAR.clear()
        _NEAR[near] = None if law.robot is None else ref(law.robot), kernel
    return kernel


def _made(n: int, pieces: int, nv: int, law: KernelLimits, before: int | None) -> Kernel:
    def traced(**g: Any) -> Any:
        c, starts, end = g["coefficients"], g["starts"], g["end"]
        stops = _stops(c, starts, end)

        def swept(on: Laid) -> Any:
            steps = _differences(on.s)
            places, begins = on.pieces()
            caps = _caps(places, begins, stops)
            along = lambda one: _along(c, starts, g, law, *one)  # noqa: E731
            rows = (on.s[:-1], places, steps)
            result, more = fastest_resting(along, rows, steps, caps, g["first"], g["last"])
            over = _left(more, result, g, law) if law.is_curved else 0.0 * result.blocked
            blocked = where(lt(over, 0.0), 0.0, result.blocked)
            return _timed(steps, result), result.u, blocked, over

        fine: Any = True
        if before is None:
            on = laid(starts, end, n)
        else:
            on, fine = laid_anew(Laid(g["s"], g["firsts"]), starts, end, g["w"], g["u"], g["t"], n)
        (w, t), u, blocked, over = swept(on)
        blocked = blocked if before is None else where(and_(fine, le(g["stopped"], -1.0)), blocked, 0.0)
        clock = scan(lambda state, x: (state, array([x[0], x[1], 0.5 * x[2]])), (), (on.s[:-1], w[:-1], u))[1]
        return on.s, w, u, t, clock, on.firsts, blocked, over

    shapes: dict[str, Any] = {"coefficients": (pieces, nv, 4), "starts": pieces, "end": ()}
    if before is not None:
        shapes |= {"s": before + 1, "firsts": pieces, "w": before + 1, "u": before, "t": before + 1}
        shapes["stopped"] = ()
    shapes |= {"first": (), "last": (), "slowest": nv, "highest": nv}
    if law.acceleration:
        shapes |= {"lower": nv, "upper": nv}
    if law.torque:
        shapes |= {"least": nv, "most": nv}
    if law.frames:
        shapes |= {"speeds": len(law.frames)}
    return compile(traced, name="time_optimal", **shapes)


def _differences(s: Any) -> Any:
    return scan(lambda state, x: (state, x[1] - x[0]), (), (s[:-1], s[1:]))[1]


def _stops(c: Any, starts: Any, end: Any) -> Any:
    """At the beginning of which pieces the path's direction jumps (pieces,): 1, or 0."""
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


def _caps(pieces: Any, begins: Any, stops: Any) -> Any:
    def one(state: Any, x: Any) -> tuple[Any, Any]:
        piece, begins = x
        return state, where(lt(0.5, begins * take(stops, piece)), 0.0, _MOST)

    result = scan(one, (), (pieces, begins))[1]
    return np.concatenate([result, array([0.0 * stops[0] + _MOST])])


def _timed(steps: Any, result: Any) -> tuple[Any, Any]:
    """ṡ at the ends of segments, and when they are passed."""

    def one(state: tuple[Any, Any], x: Any) -> tuple[tuple[Any, Any], Any]:
        t, w = state
        after = sqrt(x[1])
        t = t + 2.0 * x[0] / (w + after)
        return (t, after), (after, t)

    w0 = sqrt(result.x[0])
    _, (w, t) = scan(one, (0.0 * w0, w0), (steps, result.x[1:]))
    return np.concatenate([array([w0]), w]), np.concatenate([array([0.0 * w0]), t])


def _along(c: Any, starts: Any, g: Any, law: KernelLimits, s: Any, piece: Any, step: Any) -> tuple[Any, Any]:
    """The parts of a segment's limits, and what polynomials leave of what is none."""
    own, begin = row(c, piece), s - take(starts, piece)
    first, second = [], []
    for node in NODES[3]:
        d = begin + node * step
        first.append([p + d * (2.0 * q + d * (3.0 * r)) for _, p, q, r in own])
        second.append([2.0 * q + 6.0 * r * d for _, p, q, r in own])
    if law.acceleration:
        plain = PathValues(first, first, second), PathLimits(g["slowest"], g["highest"], g["lower"], g["upper"])
    else:
        plain = PathValues(first, None, None), PathLimits(g["slowest"], g["highest"], (), ())
    if not law.is_curved:
        return [plain], ()
    nodes = NODES[5]

    def at(state: Any, node: Any) -> tuple[Any, Any]:
        d = begin + node * step
        q = array([p0 + d * (p1 + d * (p2 + d * p3)) for p0, p1, p2, p3 in own])
        rate = array([p + d * (2.0 * b + d * (3.0 * e)) for _, p, b, e in own])
        bend = array([2.0 * b + 6.0 * e * d for _, p, b, e in own])
        still, result = np.zeros(len(own)), []
        if law.torque:
            c = law.robot.inverse_dynamics(q, still, still)
            a, b = (law.robot.inverse_dynamics(q, *x) for x in ((still, rate), (rate, bend)))
            result += [array([x - z for x, z in zip(y, c, strict=True)]) for y in (a, b)] + [c]
        if law.frames:
            result.append(array([law.robot.twist(q, rate, frame)[3:] for frame in law.frames]))
        return state, tuple(result)

    places = [*nodes, _AT_END]
    result = scan(at, (), np.array(places))[1]
    known = [x[: len(nodes)] for x in result]
    values: list[Any] = known[:3] if law.torque else [None] * 3
    limits = PathLimits((), (), g.get("least", ()), g.get("most", ()), g.get("speeds"))
    curved = PathValues(None, values[0], values[1], values[2], known[-1] if law.frames else None), limits
    if law.torque:  # of A u + B x, x being x_i + 2 Δ t u
        shifted = [
            [x + (2.0 * t * step) * y for x, y in zip(*row, strict=True)]
            for t, *row in zip(places, *result[:2], strict=True)
        ]
        result = (shifted, *result[1:])
    left = [_beyond(x, len(nodes)) for x in result]
    rests = 0.0 * step + 1.0
    if law.torque:
        for j in range(len(own)):
            for x in control_points([y[j] for y in values[2]]):
                rests = where(and_(le(g["least"][j], x), le(x, g["most"][j])), rests, -1.0)
    return [plain, curved], (*left, rests)


def _beyond(x: Any, nodes: int) -> Any:
    """By how much numbers at the end of a segment are not those of the polynomials through the others."""
    flat = np.asarray(x, dtype=object).reshape(nodes + 1, -1)
    return array([flat[nodes, k] - polynomial_at(_AT_END, [*flat[:nodes, k]]) for k in range(flat.shape[1])])


def _left(more: Any, result: Any, g: Any, law: KernelLimits) -> Any:
    """The largest part of limits by which a motion may pass them, since polynomials are not quite what they stand for;
    −1 where standing still is not within the limits.
    """
    *left, rests = more

    def one(worst: Any, y: Any) -> tuple[Any, None]:
        x0, x1, u, parts, rests = y
        at = 0
        if law.torque:
            a, b, c = parts[:3]
            for j in range(len(a)):
                size = fmax(_size(g["least"][j]), _size(g["most"][j]))
                bound = fabs(a[j] * u + b[j] * x0 + c[j])
                worst = fmax(worst, bound / fmax(size, 1e-9))
            at = 3
        if law.frames:
            v = parts[at]
            for k in range(len(law.frames)):
                square = v[3 * k] * v[3 * k] + v[3 * k + 1] * v[3 * k + 1] + v[3 * k + 2] * v[3 * k + 2]
                worst = fmax(worst, sqrt(square * fmax(x0, x1)) / g["speeds"][k])
        return where(or_(lt(rests, 0.0), not_(lt(worst, FAR))), FAR, worst), None

    worst = scan(one, 0.0 * result.blocked, (result.x[:-1], result.x[1:], result.u, tuple(left), rests))[0]
    return where(lt(worst, FAR), worst, -1.0)


def _size(limit: Any) -> Any:
    return where(lt(fabs(limit), _MOST), fabs(limit), 0.0)
