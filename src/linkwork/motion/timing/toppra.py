"""Path timing by reachability (TOPP-RA) on a grid of segments, which is refined until it is fine enough.

The two sweeps of `motion/algorithms/timing/toppra_sweeps.py` go along a path block by block, so that the same kernels
serve any number of segments.  Limits that the motion passes between points of the grid are narrowed, and the sweeps
repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

import numpy as np

from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.motion.algorithms.timing.segment_constraints import NODES, PathLimits, PathValues
from linkwork.motion.algorithms.timing.toppra_sweeps import Reachable, sweep_backward, sweep_forward
from linkwork.motion.timing.limit_violations import Polynomials, Room, longer, rooms
from linkwork.motion.timing.limits import MotionAsked, PathNumbers, PathRows, never_zero
from linkwork.motion.timing.segment_grid import again, grid, halved, segments_of
from linkwork.motion.trajectory.trajectory import Trajectory

__all__ = ["POINTS", "Blocked", "Grid", "TimingQuery", "gap_of_grid", "pieces_of", "swept", "swept_finely", "times_of"]

_PLACES = 3  # places of a segment that are looked at, of pieces of third degree; 5 of others
_ROUNDS = 8
_LONGEST = 100.0  # times the fastest motion's time: what takes longer is none
_MORE = 1.1  # of what limits are passed by they are made narrower

POINTS = 400  # segments at least, of a path whose grid follows it
_OF_A_PIECE = 32  # segments, so that random cubics take 0.2 % more than the least time
_GAINED = 0.01  # of the duration: what twice the segments gain at most when they are enough
_DOUBLINGS = 3
_HALVINGS, _LITTLE = 3, 1e-3  # of segments to estimate what they leave; of the duration: what is gained in the last


class Blocked(Exception):
    """No speed obeys all limits on a segment, which may be because they were made narrower."""

    def __init__(self, begin: float, end: float, *, at_start: bool, refined: bool, passed: str = "") -> None:
        super().__init__()
        self.begin, self.end, self.at_start, self.refined = begin, end, at_start, refined
        self.passed = passed

    def told(self, caller: str, speed: float) -> str:
        """As people are told."""
        if self.passed:
            return f"{caller}: no motion was found that obeys all limits between points of the grid: {self.passed}"
        if self.at_start and speed > 0.0:
            return f"{caller}: start_speed: no motion within the limits begins with {speed:g}"
        return f"{caller}: no speed along the path obeys all limits between s = {self.begin:.6g} and {self.end:.6g}"


class TimingQuery(NamedTuple):
    """A path to be timed within limits: the places where the motion rests, and ṡ at both ends of the path.

    ``tolerance`` is as `Grid.swept` has it.
    """

    caller: str
    path: Trajectory
    asked: MotionAsked
    stops: np.ndarray
    ends: Sequence[float]
    passes: int
    tolerance: float | None


class Grid:
    """Segments of a path, s their ends, and what has limits on them."""

    def __init__(self, query: TimingQuery, s: np.ndarray) -> None:
        caller, path, asked, stops, self.ends, *_ = query
        self.path, self.asked, self.s = path, asked, s
        self.cubic = is_of_third_degree(path)
        self.steps = np.diff(s)
        at = s[:-1, None] + self.steps[:, None] * np.array(NODES[_PLACES if self.cubic else 5])
        numbers = PathNumbers(*path(at))
        asked.standing(caller, numbers.first)
        self.rows = asked.rows(caller, numbers)
        self.rates = numbers.first
        self.velocity = never_zero(asked.velocity)
        self.caps = np.full(len(s), 1e30)
        self.caps[np.isin(s, stops)] = 0.0

    @property
    def is_exact(self) -> bool:
        """Whether all that has limits is polynomials of low degree: none is passed between the grid's points."""
        return self.cubic and not self.asked.own and self.rows.speeds is None

    def swept(self, tolerance: float | None) -> tuple[np.ndarray, np.ndarray]:
        """x at the ends of segments and u on them.  Raises Blocked.

        ``tolerance``: limits that are no polynomials of low degree are passed between the grid's points by no more than
        such a part of theirs, the motion taking a little more time where narrower limits do not come to that; None: it
        is not looked at.
        """
        if tolerance is None or self.is_exact:
            return self._solved(self.rows, self.velocity)
        narrower: dict[str, list[np.ndarray]] = {}
        rows, velocity = self._narrower([], narrower)
        x, u = self._solved(rows, velocity)
        for _ in range(_ROUNDS):
            result = self._rooms(x, u)
            if not any(room.worst() > 0.5 * tolerance for room in result):
                break
            for k, room in enumerate(result):
                least = 0.25 * tolerance * np.maximum(room.size, 1e-9)
                name = f"{k} {room.what}"
                have = narrower.setdefault(name, [np.zeros_like(room.least), np.zeros_like(room.least)])
                for side, by in enumerate(room.passed()):
                    have[side] += np.where(by > least, _MORE * by + least, 0.0)
            rows, velocity = self._narrower(result, narrower)
            x, u = self._solved(rows, velocity)
        else:
            if self.asked.jerk is None:  # of which this is the beginning alone, and what it comes to is looked at
                return self._kept(x, u, tolerance)
        return x, u

    def _kept(self, x: np.ndarray, u: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
        """In so much more time that all limits are kept, where it rests at both ends.  Raises Blocked."""
        whole = 1.0
        while True:
            result = self._rooms(x, u)
            worst = max(result, key=Room.worst)
            if worst.worst() <= tolerance:
                return x, u
            by = longer(result, 0.5 * tolerance)
            whole *= by
            if any(self.ends) or not whole <= _LONGEST:
                passed = f"{worst.what} is passed by {worst.worst():.3g} of its limit"
                raise Blocked(float(self.s[0]), float(self.s[-1]), at_start=False, refined=True, passed=passed)
            x, u = x / by**2, u / by**2

    def _rooms(self, x: np.ndarray, u: np.ndarray) -> list[Room]:
        def numbers(s: np.ndarray) -> PathNumbers:
            return PathNumbers(*self.path(np.clip(s, self.s[0], self.s[-1])))

        return rooms(self.asked, numbers, None, pieces_of(self.s, x, u), all_of_it=not self.cubic)

    def _narrower(self, result: list[Room], narrower: dict[str, list[np.ndarray]]) -> tuple[Any, Any]:
        """Rows and limits of velocity, segment by segment."""
        rows, many = self.rows, len(self.steps)
        velocity = tuple(np.broadcast_to(x, (many, len(x))).copy() for x in self.velocity)
        lower, upper = (np.broadcast_to(x, (many, len(x))).copy() for x in (rows.lower, rows.upper))
        fastest = None if rows.fastest is None else np.broadcast_to(rows.fastest, (many, len(rows.fastest)))
        at = 0 if self.asked.acceleration is None else len(self.velocity[0])
        for k, room in enumerate(result):
            below, above = narrower[f"{k} {room.what}"]
            if room.is_own:
                here = slice(at, at + below.shape[1])
                lower[:, here] += below
                upper[:, here] -= above
                at += below.shape[1]
            elif room.what == "velocity":
                velocity = (
                    np.minimum(velocity[0] + below, 0.5 * velocity[0]),
                    np.maximum(velocity[1] - above, 0.5 * velocity[1]),
                )
            elif room.what == "speed":
                assert fastest is not None
                fastest = np.maximum(fastest - above, 0.5 * fastest)
            else:
                lower[:, : below.shape[1]] += below
                upper[:, : below.shape[1]] -= above
        return replace(rows, lower=lower, upper=upper, fastest=fastest), velocity

    def _solved(self, rows: Any, velocity: Any) -> tuple[np.ndarray, np.ndarray]:
        ends = self.ends
        x, u, blocked = solved(self.rates, velocity, rows, self.steps, self.caps, ends[0] ** 2, ends[1] ** 2)
        if blocked >= 0:
            begin, end = float(self.s[blocked]), float(self.s[blocked + 1])
            raise Blocked(begin, end, at_start=blocked == 0, refined=rows.lower.ndim == 2)
        return x, u


def times_of(s: np.ndarray, x: np.ndarray) -> np.ndarray:
    """When the ends of segments are passed."""
    result: np.ndarray = np.concatenate([[0.0], np.cumsum(2.0 * np.diff(s) / (np.sqrt(x[1:]) + np.sqrt(x[:-1])))])
    return result


def pieces_of(s: np.ndarray, x: np.ndarray, u: np.ndarray) -> Polynomials:
    """A motion with ṡ² = x at s, and s̈ = u between."""
    return Polynomials(np.stack([s[:-1], np.sqrt(x[:-1]), 0.5 * u], axis=-1), np.diff(times_of(s, x)))


def is_of_third_degree(path: Trajectory) -> bool:
    """Whether it is made of polynomials of degree three, whose clocks run evenly."""
    return all(
        section.is_affine and section.kind.name == "polynomial" and section.arrays["coefficients"].shape[-1] <= 4
        for section in path.sections
    )


Swept = tuple[np.ndarray, np.ndarray, np.ndarray]


def swept(query: TimingQuery, points: int) -> Swept:
    """s, x and u of the fastest motion on about so many segments, within all limits but those of jerk.

    Raises Blocked.
    """
    knots = query.path.knots
    s = grid(knots, points)
    for left in range(query.passes - 1, -1, -1):
        made = Grid(query, s)
        x, u = made.swept(query.tolerance if not left else None)
        if left:
            s = again(knots, s, times_of(s, x), x, u)
    return s, x, u


def swept_finely(query: TimingQuery, points: int) -> Swept:
    """The same on so many segments at least, and on as many as the path's pieces need.

    They are doubled while they are faster than half of them by more than a hundredth.  Raises Blocked.
    """
    knots = query.path.knots
    many = segments_of(max(points, _OF_A_PIECE * (len(knots) - 1)), len(knots) - 1)
    try:
        s, x, u = swept(query._replace(tolerance=None), many // 2)
    except Blocked:  # shorter segments may be passed
        return swept(query, many)
    for left in range(_DOUBLINGS, -1, -1):
        t = times_of(s, x)
        s = again(knots, s, t, x, u, many) if query.passes > 1 else grid(knots, many)
        made = Grid(query, s)
        x, u = made.swept(None)
        duration = times_of(s, x)[-1]
        if not left or t[-1] - duration <= _GAINED * duration:
            break
        many *= 2
    if query.tolerance is not None and not made.is_exact:
        x, u = made.swept(query.tolerance)
    return s, x, u


def gap_of_grid(query: TimingQuery, s: np.ndarray, duration: float) -> float:
    """How much longer a motion on segments between places s is than the least time [s], an estimate: what halving them
    gains, again until that is little, and as much as the last again.  It is inf where there is none on the halved ones.
    """
    before, gain = duration, 0.0
    for _ in range(_HALVINGS):
        s = halved(s)
        try:
            x, _ = Grid(query._replace(caller="optimality_gap"), s).swept(None)
        except Blocked:
            return inf
        after = float(times_of(s, x)[-1])
        before, gain = after, before - after
        if gain <= _LITTLE * duration:
            break
    return max(duration - before + gain, 0.0)


_KERNELS: LazyCache[Kernel] = LazyCache(64)
_BLOCK = 64  # segments: what a kernel takes to compile grows with it
_ROUNDING = 1e-13


def solved(
    rates: np.ndarray,
    velocity: tuple[np.ndarray, np.ndarray],
    rows: PathRows,
    steps: np.ndarray,
    caps: np.ndarray,
    start: float,
    end: float,
) -> tuple[np.ndarray, np.ndarray, int]:
    """x at the ends of n segments, u on them, and the segment that cannot be passed, or −1.

    The segments are taken in blocks of the same length.  What can be reached is handed from block to block, backward,
    and the speed forward.  The last block is filled up with segments that are none.
    """
    many = len(steps)
    rest = 0.0 if rows.rest is None else rows.rest
    low, high = (x if x.ndim == 1 else x[:, None] for x in (rows.lower, rows.upper))  # of each segment
    may_rest = bool((low <= rest).all() and (rest <= high).all())
    given: dict[str, np.ndarray] = {"rates": rates, "second": rows.second}
    given |= {"slowest": velocity[0], "highest": velocity[1], "lower": rows.lower, "upper": rows.upper}
    if rows.first is not rates:
        given["first"] = rows.first
    if rows.rest is not None:
        given["rest"] = rows.rest
    if rows.speeds is not None and rows.fastest is not None:
        given |= {"speeds": rows.speeds, "speed_limits": rows.fastest}
    alike = {name: given.pop(name) for name in _LIMITS if name in given and given[name].ndim == 1}
    given |= {"steps": steps, "caps": caps[:-1], "numbers": np.arange(float(many))}
    blocks = _in_blocks(given)
    shapes = {name: np.shape(x) for name, x in (alike | blocks[0]).items()}
    backward = _KERNELS.get((may_rest, *shapes.items()), lambda: _backward(shapes, may_rest))

    at_end = min(end, float(caps[many]))
    reached: Any = (at_end, at_end, float(many - 1) if at_end < end else -1.0)
    lines, intervals = [], []
    for block in reversed(blocks):
        *reached, upper, lower_ends, upper_ends = backward(**alike, **block, following=np.array(reached, dtype=float))
        lines.append(upper)
        intervals.append((lower_ends, upper_ends))
    least, most, blocked = (float(x) for x in reached)
    if blocked < 0.0 and not (least * (1.0 - _ROUNDING) <= start <= most * (1.0 + _ROUNDING)):
        blocked = 0.0

    after = [np.append(np.concatenate([x[k] for x in intervals[::-1]])[1:], at_end) for k in (0, 1)]
    after = [np.where(np.arange(len(x)) < many - 1, x, at_end) for x in after]
    forward = _KERNELS.get(lines[0].shape, lambda: _forward(lines[0].shape))
    x, result = np.array(start), [np.array([start])]
    for k, (upper, block) in enumerate(zip(lines[::-1], blocks, strict=True)):
        ends = (y[k * _BLOCK : (k + 1) * _BLOCK] for y in after)
        reached_here, x = forward(upper, *ends, block["steps"], block["numbers"], x)
        result.append(reached_here)
    whole = np.concatenate(result)[: many + 1]
    return whole, 0.5 * np.diff(whole) / steps, int(blocked)


_LIMITS = "slowest", "highest", "lower", "upper", "speed_limits"


def _in_blocks(given: dict[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
    """Rows of segments, `_BLOCK` by `_BLOCK`; after the last one it is repeated, with the number −1."""
    many = len(given["steps"])
    count = -(-many // _BLOCK)
    more = count * _BLOCK - many
    if more:
        given = {name: np.concatenate([x, np.repeat(x[-1:], more, axis=0)]) for name, x in given.items()}
        given["numbers"][many:] = -1.0
    return [{name: x[k * _BLOCK : (k + 1) * _BLOCK] for name, x in given.items()} for k in range(count)]


def _backward(shapes: dict[str, tuple[int, ...]], may_rest: bool) -> Kernel:
    def traced(**x: Any) -> Any:
        along = PathValues(x["rates"], x.get("first", x["rates"]), x["second"], x.get("rest"), x.get("speeds"))
        limits = PathLimits(x["slowest"], x["highest"], x["lower"], x["upper"], x.get("speed_limits"))
        following = Reachable(*x["following"])
        reached, *lines = sweep_backward(
            along, limits, x["steps"], x["caps"], x["numbers"], following, may_rest=may_rest
        )
        return *reached, *lines

    return compile(traced, name="time_optimal_backward", **shapes, following=3)


def _forward(lines: tuple[int, ...]) -> Kernel:
    n = lines[0]
    return compile(sweep_forward, name="time_optimal_forward", upper=lines, low=n, high=n, steps=n, numbers=n, x=())
