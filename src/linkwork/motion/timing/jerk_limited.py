"""A motion along a path within limits of jerk: part by part between the places where it rests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from linkwork.motion.timing.arc_length_timing import BEGINNING, Lengthwise, lengthwise
from linkwork.motion.timing.jerk_subproblem import (
    LEAST_OF_A_PIECE,
    PathAsked,
    SmoothMotion,
    SmoothPart,
    anew,
    beginning,
    halved,
    smoothed,
)
from linkwork.motion.timing.limit_violations import Numbers, Polynomials, Room, Third, longer, rooms
from linkwork.motion.timing.limits import MotionAsked, PathNumbers, never_zero
from linkwork.motion.timing.toppra import POINTS, TimingQuery
from linkwork.motion.trajectory.trajectory_segment import shifted

__all__ = ["SmoothMotion", "with_jerk"]

_COUNTS = (25, 50, 100, 200)  # segments of a part of few pieces
_OF_A_PIECE = 32  # segments, so that random cubics take some 0.5 % more than the least time
_GAINED = 0.01  # of the duration: what twice the segments gain at most when they are enough
_DOUBLINGS = 3
_ROUNDS = 10
_TOLERANCE = 1e-6  # of limits, where none is given: by how much they may be passed
_COARSE = 3e-3  # of a limit: where it is passed by more between points, segments are too long
_SLOWER = 1.01  # times more time for that: other segments may spare it
_ENDLESS = 1e100  # [s]
_NOWHERE = 1e-9  # [rad, m] of q: what comes to no more than that hardly moves
_AT_ONCE = 1e-8  # [s] is what that takes, or longer where it has to
_FIT = 1e-5  # of limits of jerk: what a motion by the path's length is off by its own parameter, with time to spare
_FINER = 4  # times as many segments at most, of which those are halved that are too long


def with_jerk(
    query: TimingQuery, fastest: tuple[np.ndarray, np.ndarray, np.ndarray], points: int | None
) -> SmoothMotion:
    """From the fastest motion without them, s, and ṡ² = x there and s̈ = u between.  Raises ValueError.

    With ``points`` there are about so many segments, besides those that halve others; else their number follows the
    path: it grows with the number of its pieces, and doubles while that gains more than a hundredth of the time.
    """
    s, x, u = fastest
    asked, ends, knots = query.asked, query.ends, query.path.knots
    assert asked.jerk is not None
    acceleration = None if asked.acceleration is None else never_zero(asked.acceleration)
    asked = replace(asked, jerk=never_zero(asked.jerk), velocity=never_zero(asked.velocity), acceleration=acceleration)
    query = query._replace(asked=asked, tolerance=_TOLERANCE if query.tolerance is None else query.tolerance)
    cuts = np.concatenate([[0], np.flatnonzero(np.isin(s[1:-1], query.stops)) + 1, [len(s) - 1]])
    shares = np.diff(cuts) / (len(s) - 1)
    result: list[SmoothMotion] = []
    for (b, e), share in zip(pairwise(cuts), shares, strict=True):
        resting = (bool(b > 0 or ends[0] == 0.0), bool(e < len(s) - 1 or ends[1] == 0.0))
        pieces = 1 + int(((knots > s[b]) & (knots < s[e])).sum())
        many = _segments_of_part(float(share), points, pieces)
        own = s[b : e + 1], x[b : e + 1], u[b:e]
        part, limit = None, np.inf
        others = [n for n in (2 * many, *reversed(_COUNTS)) if n != many and n >= LEAST_OF_A_PIECE * pieces]
        for count in (many, *others):
            following, slower = _part(query, own, count, points is None, resting)
            if following is not None and following.t[-1] < limit:
                part, limit = following, following.t[-1]
            if part is not None and slower <= _SLOWER:
                break
        if part is None:
            raise ValueError(
                f"{query.caller}: jerk: no motion within the limits was found between s = {s[b]:.6g} and {s[e]:.6g}"
                + ("" if all(resting) else ", with these speeds at its ends")
            )
        part.s[:], part.pieces[:, 0] = part.s + s[b], part.pieces[:, 0] + s[b]
        part.s[-1] = s[e]
        result.append(part)
    return _joined(result)


def _segments_of_part(share: float, points: int | None, pieces: int) -> int:
    """Return how many segments a part of a path begins with, which has a share of the fastest motion's segments."""
    wanted = share * (POINTS if points is None else points)
    few = next((n for n in _COUNTS if n >= wanted), _COUNTS[-1])
    if points is None:
        return max(few, _OF_A_PIECE * pieces)
    return max(few, int(np.ceil(wanted)), LEAST_OF_A_PIECE * pieces)


class _Limits(NamedTuple):
    """Limits along a part of a path, with numbers of the path there."""

    query: TimingQuery
    numbers: Numbers
    third: Third

    @property
    def tolerance(self) -> float:
        """The part of limits that may be passed."""
        assert self.query.tolerance is not None
        return self.query.tolerance

    def rooms(self, motion: SmoothMotion) -> list[Room]:
        lengths = np.diff(motion.t)
        return rooms(self.query.asked, self.numbers, self.third, Polynomials(motion.pieces, lengths), all_of_it=True)

    def are_kept(self, result: Sequence[Room]) -> bool:
        return all(room.worst() <= self.tolerance for room in result)

    def slowed(self, motion: SmoothMotion) -> SmoothMotion | None:
        """In a little more time, so that all limits are kept."""
        for _ in range(_ROUNDS):
            by = longer(self.rooms(motion), 0.5 * self.tolerance)
            if not np.isfinite(by):
                return None
            if by <= 1.0:
                return motion
            motion = _slower(motion, by)
        return None


def _part(
    query: TimingQuery,
    fastest: tuple[np.ndarray, np.ndarray, np.ndarray],
    count: int,
    follows: bool,
    resting: tuple[bool, bool],
) -> tuple[SmoothMotion | None, float]:
    """Between two places of rest, or ends of the path: from 0 on, since places on a short part are close together.

    It is made of ``count`` segments, or of more where their number ``follows`` the path.  And in how many times the
    time of what was found, which other segments might spare.
    """
    s, x, u = fastest
    path, knots, begin = query.path, query.path.knots, float(s[0])

    def numbers(s: np.ndarray) -> PathNumbers:
        return PathNumbers(*path(np.clip(begin + s, knots[0], knots[-1])))

    def third(s: np.ndarray) -> np.ndarray:
        return path.jerk(np.clip(begin + s, knots[0], knots[-1]))

    inner = knots[(knots > s[0]) & (knots < s[-1])] - begin
    s = s - begin
    law = _Limits(query, numbers, third)
    if all(resting) and np.abs(numbers(0.5 * (s[1:] + s[:-1])).first).max(initial=0.0) * s[-1] < _NOWHERE:
        return law.slowed(_still(float(s[-1]))), 1.0
    ways: list[Lengthwise | None] = []
    for one in lengthwise(path, begin, begin + float(s[-1]), begin + inner, query.asked):
        if all(still or not rests for rests, still in zip(one.rests, resting, strict=True)):
            ways.append(one)
    if not any(way is not None and way.uneven for way in ways):
        ways.append(None)
    best: tuple[SmoothMotion | None, float] = None, np.inf
    for along in ways:
        motion, slower = _found(law, along, (s, x, u), count, follows, resting, inner)
        if motion is not None and along is not None:
            with np.errstate(all="ignore"):  # where g is next to nothing inside: then that is no way
                result = _by_own_parameter(along, motion, query.asked, _FIT if all(resting) else 0.25 * law.tolerance)
                if not (np.isfinite(result.pieces).all() and np.isfinite(result.t).all()):
                    motion = None
                elif all(resting):
                    motion = law.slowed(result)
                else:
                    motion = result if law.are_kept(law.rooms(result)) else None
            slower *= motion.t[-1] / result.t[-1] if motion is not None else 1.0
        if motion is not None and (best[0] is None or motion.t[-1] < best[0].t[-1]):
            best = motion, slower
        if motion is not None and slower <= _SLOWER:
            break
    return best


def _by_own_parameter(along: Lengthwise, motion: SmoothMotion, asked: MotionAsked, part: float) -> SmoothMotion:
    """What a motion by the path's length is by its own parameter, from 0 on."""
    assert asked.jerk is not None
    most = np.minimum(np.abs(asked.jerk[0]), np.abs(asked.jerk[1]))
    t, c = along.clock(motion.t, motion.pieces, most, part)
    c[:, 0] -= along.begin
    h = t[-1] - t[-2]
    last = [float((shifted(c[-1], h) * x)[k]) for k, x in enumerate((1.0, 1.0, 2.0))]
    s, speed, acceleration = (np.append(x * c[:, k], last[k]) for k, x in enumerate((1.0, 1.0, 2.0)))
    return SmoothMotion(s, t, speed, acceleration, c, motion.segments)


def _found(
    law: _Limits,
    along: Lengthwise | None,
    fastest: tuple[np.ndarray, np.ndarray, np.ndarray],
    points: int,
    follows: bool,
    resting: tuple[bool, bool],
    inner: np.ndarray,
) -> tuple[SmoothMotion | None, float]:
    """By the path's length where that is given, and by its own parameter otherwise."""
    s, x, u = fastest
    asked, passes, tolerance = law.query.asked, law.query.passes, law.tolerance
    assert asked.jerk is not None
    starts = 1.0, 1.0
    if along is not None:
        inner, law = along.inner, law._replace(numbers=along.numbers, third=along.third)
        s, x, u = along.run_by(s, x, resting)
        starts = BEGINNING if along.rests[0] else 1.0, BEGINNING if along.rests[1] else 1.0
    caller = law.query.caller
    path = PathAsked(law.numbers, law.third, lambda x: asked.rows(caller, x), asked.velocity, asked.jerk, starts)
    first = max(points // 2, LEAST_OF_A_PIECE * (len(inner) + 1)) if passes > 1 and follows else points
    begun = beginning(path, s, x, u, first, resting, inner)
    if begun is None:
        return None, np.inf
    laws, made = begun
    ready = smoothed(laws, made, resting)
    for k in range(passes - 1 + (_DOUBLINGS if follows else 0)):
        if ready is None:
            break
        shorter = anew(path, ready, points, inner)
        if not (shorter[0].steps > 0.0).all():
            break
        following = smoothed(*shorter, resting)
        if following is None:
            break
        gain = ready.t[-1] - following.t[-1]
        (laws, made), ready = shorter, following
        if k >= passes - 2:
            if not follows or gain <= _GAINED * following.t[-1]:
                break
            points *= 2
    best: tuple[float, SmoothMotion] | None = None  # of those that more time makes keep all limits
    motion, result, most = None, list[Room](), _FINER * max(points, _COUNTS[-1])
    rounds = 0
    while rounds < _ROUNDS:
        following, ready = ready if ready is not None else smoothed(laws, made, resting), None
        exact = None if following is None or not 0.0 < following.t[-1] < _ENDLESS else _exact(following, inner)
        if following is None or exact is None or not np.isfinite(exact.pieces).all():
            break
        made, motion = following, exact
        result = law.rooms(motion)
        by = longer(result, 0.5 * tolerance)
        if by <= 1.0:
            best = min(best, (motion.t[-1], motion), key=_duration) if best else (motion.t[-1], motion)
            break
        if best is not None and all(resting) and motion.t[-1] > best[0]:
            break
        if np.isfinite(by) and (best is None or by * motion.t[-1] < best[0]):
            best = by * motion.t[-1], motion
        laws = laws.narrower(result, tolerance)
        coarse = np.max([room.shares() for room in result], axis=0) > _COARSE
        halves = halved(path, laws, motion, coarse) if coarse.any() and len(coarse) < most else None
        if halves is None:
            rounds += 1
        else:
            laws, made = halves
    if best is None or not all(resting):
        return motion if motion is not None and law.are_kept(result) else None, 1.0
    return law.slowed(best[1]), best[0] / best[1].t[-1]


def _duration(result: tuple[float, SmoothMotion]) -> float:
    return result[0]


def _exact(part: SmoothPart, knots: np.ndarray) -> SmoothMotion:
    """Return a motion with the same times and very nearly the same s̈, whose s and ṡ are those of the part at its ends
    and at the path's knots inside: there derivatives of the path jump, so none lies within a segment.
    """
    cuts = [0, *np.searchsorted(part.s, knots).tolist(), len(part.s) - 1]
    s, t, w, u = part.s.copy(), part.t, part.speed.copy(), part.acceleration.copy()
    for b, e in pairwise(cuts):
        here = slice(b, e + 1)
        s[here], w[here], u[here] = _run_through(s[here], t[here], w[here], u[here])
    return SmoothMotion.of(s, t, w, u)


def _run_through(s: np.ndarray, t: np.ndarray, w: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return s, ṡ and s̈ of a motion whose s̈ is linear in time between, with s and ṡ at both ends as they are."""
    h = np.diff(t)
    tau = (t - t[0]) / (t[-1] - t[0])
    bumps = np.stack([np.sin(np.pi * tau), np.sin(2.0 * np.pi * tau)])
    bumps[:, [0, -1]] = 0.0

    def run(u: np.ndarray, speed: float) -> tuple[np.ndarray, np.ndarray]:
        w = speed + np.concatenate([[0.0], np.cumsum(0.5 * (u[1:] + u[:-1]) * h)])
        return np.concatenate([[0.0], np.cumsum(w[:-1] * h + (2.0 * u[:-1] + u[1:]) * h * h / 6.0)]), w

    effects = np.array([[y[-1] for y in run(bump, 0.0)] for bump in bumps]).T
    for _ in range(2):
        gone, speeds = run(u, w[0])
        u = u + np.linalg.solve(effects, np.array([s[-1] - s[0] - gone[-1], w[-1] - speeds[-1]])) @ bumps
    gone, speeds = run(u, w[0])
    places, speeds = np.clip(s[0] + gone, s[0], s[-1]), np.maximum(speeds, 0.0)
    places[-1], speeds[-1] = s[-1], w[-1]
    return places, speeds, u


def _still(length: float) -> SmoothMotion:
    """From rest to rest along a part on which hardly anything moves, s⃛ being ± the same."""
    t = _AT_ONCE * np.arange(5.0) / 4.0
    u = length * 8.0 / _AT_ONCE**2 * np.array([0.0, 1.0, 0.0, -1.0, 0.0])
    speed = length / _AT_ONCE * np.array([0.0, 1.0, 2.0, 1.0, 0.0])
    s = length * np.array([0.0, 1.0, 6.0, 11.0, 12.0]) / 12.0
    return SmoothMotion.of(s, t, speed, u)


def _slower(motion: SmoothMotion, by: float) -> SmoothMotion:
    powers = by ** -np.arange(float(motion.pieces.shape[1]))
    return motion._replace(
        t=motion.t * by,
        speed=motion.speed / by,
        acceleration=motion.acceleration / by**2,
        pieces=motion.pieces * powers,
    )


def _joined(parts: Sequence[SmoothMotion]) -> SmoothMotion:
    terms = max(part.pieces.shape[1] for part in parts)
    first, *others = parts
    begins = np.cumsum([0.0, *(part.t[-1] for part in parts[:-1])])
    pieces = [np.pad(x.pieces, ((0, 0), (0, terms - x.pieces.shape[1]))) for x in parts]
    return SmoothMotion(
        np.concatenate([first.s, *(part.s[1:] for part in others)]),
        np.concatenate([first.t, *(begin + part.t[1:] for begin, part in zip(begins[1:], others, strict=True))]),
        np.concatenate([first.speed, *(part.speed[1:] for part in others)]),
        np.concatenate([first.acceleration, *(part.acceleration[1:] for part in others)]),
        np.concatenate(pieces),
        sum(part.segments for part in parts),
    )
