"""A motion along a path within limits of jerk: part by part between the places where it rests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..section import shifted
from ..trajectory import Trajectory
from .asked import MotionAsked, never_zero
from .bounds import Numbers, Polynomials, Room, Third, longer, rooms
from .lengthwise import BEGINNING, Lengthwise, lengthwise
from .limits import PathNumbers
from .smoothing import Laws, PathAsked, SmoothPart, anew, beginning, smoothed

__all__ = ["SmoothMotion", "with_jerk"]

_COUNTS = (25, 50, 100, 200)  # segments of a part
_ROUNDS = 10
_COARSE = 1.01  # times more time for limits between points say that segments are too long there
_ENDLESS = 1e100  # [s]
_NOWHERE = 1e-9  # [rad, m] of q: what comes to no more than that hardly moves
_AT_ONCE = 1e-8  # [s] is what that takes, or longer where it has to
_FIT = 1e-5  # of limits of jerk: what a motion by the path's length is off by its own parameter, with time to spare
_FINER = 3  # times that they are made anew for that


class SmoothMotion(NamedTuple):
    """s, ṡ and s̈ at times t (n + 1,), and the polynomials (n, terms) that s is between."""

    s: np.ndarray
    t: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray
    pieces: np.ndarray


def with_jerk(
    who: str,
    path: Trajectory,
    asked: MotionAsked,
    fastest: tuple[np.ndarray, np.ndarray, np.ndarray],
    stops: np.ndarray,
    points: int,
    passes: int,
    ends: Sequence[float],
    tolerance: float,
) -> SmoothMotion:
    """From the fastest motion without them, s, and ṡ² = x there and s̈ = u between.  Raises ValueError."""
    s, x, u = fastest
    first, last = float(s[0]), float(s[-1])
    cuts = np.concatenate([[0], np.flatnonzero(np.isin(s[1:-1], stops)) + 1, [len(s) - 1]])
    shares = np.diff(cuts) / (len(s) - 1)
    found: list[SmoothMotion] = []
    for (b, e), share in zip(pairwise(cuts), shares, strict=True):
        resting = (bool(b > 0 or ends[0] == 0.0), bool(e < len(s) - 1 or ends[1] == 0.0))
        many = next((n for n in _COUNTS if n >= share * points), _COUNTS[-1])
        own = s[b : e + 1], x[b : e + 1], u[b:e]
        part, limit = None, np.inf
        for count in (many, *(n for n in reversed(_COUNTS) if n != many)):
            following, slower = _part(who, path, asked, tolerance, (first, last), own, count, passes, resting)
            if following is not None and following.t[-1] < limit:
                part, limit = following, following.t[-1]
            if part is not None and slower <= _COARSE:
                break
        if part is None:
            raise ValueError(
                f"{who}: jerk: no motion within the limits was found between s = {s[b]:.6g} and {s[e]:.6g}"
                + ("" if all(resting) else ", with these speeds at its ends")
            )
        part.s[:], part.pieces[:, 0] = part.s + s[b], part.pieces[:, 0] + s[b]
        part.s[-1] = s[e]
        found.append(part)
    return _joined(found)


def _part(
    who: str,
    path: Trajectory,
    asked: MotionAsked,
    tolerance: float,
    ends: tuple[float, float],
    fastest: tuple[np.ndarray, np.ndarray, np.ndarray],
    points: int,
    passes: int,
    resting: tuple[bool, bool],
) -> tuple[SmoothMotion | None, float]:
    """Between two places of rest, or ends of the path: from 0 on, since places on a short part are close together.

    And in how many times the time of what was found, which other segments might spare.
    """
    s, x, u = fastest
    assert asked.jerk is not None
    begin = float(s[0])

    def numbers(s: np.ndarray) -> PathNumbers:
        return PathNumbers(*path(np.clip(begin + s, *ends)))

    def third(s: np.ndarray) -> np.ndarray:
        return path.jerk(np.clip(begin + s, *ends))

    knots = path.knots
    inner = knots[(knots > s[0]) & (knots < s[-1])] - begin
    s = s - begin
    velocity, jerk = never_zero(asked.velocity), never_zero(asked.jerk)
    acceleration = None if asked.acceleration is None else never_zero(asked.acceleration)
    asked = replace(asked, jerk=jerk, velocity=velocity, acceleration=acceleration)
    if all(resting) and np.abs(numbers(0.5 * (s[1:] + s[:-1])).first).max(initial=0.0) * s[-1] < _NOWHERE:
        return _kept(asked, numbers, third, _still(float(s[-1])), tolerance), 1.0
    ways: list[Lengthwise | None] = []
    for one in lengthwise(path, begin, begin + float(s[-1]), begin + inner, asked):
        if all(still or not rests for rests, still in zip(one.rests, resting, strict=True)):
            ways.append(one)
    if not any(way is not None and way.uneven for way in ways):
        ways.append(None)
    best: tuple[SmoothMotion | None, float] = None, np.inf
    for along in ways:
        motion, slower = _found(who, asked, numbers, third, along, (s, x, u), points, passes, resting, inner, tolerance)
        if motion is not None and along is not None:
            with np.errstate(all="ignore"):  # where g is next to nothing inside: then that is no way
                found = _by_own_parameter(along, motion, asked, _FIT if all(resting) else 0.25 * tolerance)
                finite = bool(np.isfinite(found.pieces).all() and np.isfinite(found.t).all())
                kept = _kept(asked, numbers, third, found, tolerance, slowed=all(resting)) if finite else None
            slower *= kept.t[-1] / found.t[-1] if kept is not None else 1.0
            motion = kept
        if motion is not None and (best[0] is None or motion.t[-1] < best[0].t[-1]):
            best = motion, slower
        if motion is not None and slower <= _COARSE:
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
    return SmoothMotion(s, t, speed, acceleration, c)


def _found(
    who: str,
    asked: MotionAsked,
    numbers: Numbers,
    third: Third,
    along: Lengthwise | None,
    fastest: tuple[np.ndarray, np.ndarray, np.ndarray],
    points: int,
    passes: int,
    resting: tuple[bool, bool],
    inner: np.ndarray,
    tolerance: float,
) -> tuple[SmoothMotion | None, float]:
    """By the path's length where that is given, and by its own parameter otherwise."""
    s, x, u = fastest
    assert asked.jerk is not None
    starts = 1.0, 1.0
    if along is not None:
        numbers, third, inner = along.numbers, along.third, along.inner
        s, x, u = along.run_by(s, x, resting)
        starts = BEGINNING if along.rests[0] else 1.0, BEGINNING if along.rests[1] else 1.0
    law = PathAsked(numbers, third, lambda x: asked.rows(who, x), asked.velocity, asked.jerk, starts)
    begun = beginning(law, s, x, u, points, resting, inner)
    if begun is None:
        return None, np.inf
    laws, made = begun
    ready = smoothed(laws, made, resting)
    for _ in range(passes - 1):
        if ready is None:
            break
        shorter = anew(law, ready, points, inner)
        if not (shorter[0].steps > 0.0).all():
            break
        following = smoothed(*shorter, resting)
        if following is None:
            break
        (laws, made), ready = shorter, following
    best: tuple[float, SmoothMotion] | None = None  # of those that more time makes keep all limits
    motion, found, finer = None, list[Room](), 0
    before: tuple[Laws, SmoothPart] | None = None  # where segments made anew lead to nothing
    for _ in range(_ROUNDS):
        following, ready = ready if ready is not None else smoothed(laws, made, resting), None
        exact = None if following is None or not 0.0 < following.t[-1] < _ENDLESS else _exact(following)
        if following is None or exact is None or not np.isfinite(exact.pieces).all():
            if before is None:
                break
            (laws, made), before, finer = before, None, _FINER
            continue
        made, motion = following, exact
        found = _rooms(asked, numbers, third, motion)
        by = longer(found, 0.5 * tolerance)
        if by <= 1.0:
            best = min(best, (motion.t[-1], motion), key=_duration) if best else (motion.t[-1], motion)
            break
        if best is not None and all(resting) and motion.t[-1] > best[0]:
            break
        if np.isfinite(by) and (best is None or by * motion.t[-1] < best[0]):
            best = by * motion.t[-1], motion
        laws = laws.narrower(found, tolerance)
        if by > _COARSE and finer < _FINER:
            before, finer, points = (laws, made), finer + 1, _COUNTS[-1]
            laws, made = anew(law, following, points, inner)
            if not (laws.steps > 0.0).all():
                (laws, made), before, finer = before, None, _FINER
    if best is None or not all(resting):
        kept = motion is not None and all(room.worst() <= tolerance for room in found)
        return motion if kept else None, 1.0
    return _kept(asked, numbers, third, best[1], tolerance), best[0] / best[1].t[-1]


def _kept(
    asked: MotionAsked, numbers: Numbers, third: Third, motion: SmoothMotion, tolerance: float, *, slowed: bool = True
) -> SmoothMotion | None:
    """In a little more time, so that all limits are kept; where it may not be slowed, only if they are."""
    if not slowed:
        kept = all(room.worst() <= tolerance for room in _rooms(asked, numbers, third, motion))
        return motion if kept else None
    for _ in range(_ROUNDS):
        by = longer(_rooms(asked, numbers, third, motion), 0.5 * tolerance)
        if not np.isfinite(by):
            return None
        if by <= 1.0:
            return motion
        motion = _slower(motion, by)
    return None


def _duration(found: tuple[float, SmoothMotion]) -> float:
    return found[0]


def _rooms(asked: MotionAsked, numbers: Numbers, third: Third, motion: SmoothMotion) -> list[Room]:
    return rooms(asked, numbers, third, Polynomials(motion.pieces, np.diff(motion.t)), all_of_it=True)


def _exact(part: SmoothPart) -> SmoothMotion:
    """With the same times and very nearly the same s̈, so that s and ṡ are where they have to be."""
    h = np.diff(part.t)
    tau = part.t / part.t[-1]
    bumps = np.stack([np.sin(np.pi * tau), np.sin(2.0 * np.pi * tau)])
    bumps[:, [0, -1]] = 0.0

    def run(u: np.ndarray, speed: float) -> tuple[np.ndarray, np.ndarray]:
        w = speed + np.concatenate([[0.0], np.cumsum(0.5 * (u[1:] + u[:-1]) * h)])
        s = np.concatenate([[0.0], np.cumsum(w[:-1] * h + (2.0 * u[:-1] + u[1:]) * h * h / 6.0)])
        return s, w

    u = part.acceleration.copy()
    effects = np.array([[y[-1] for y in run(bump, 0.0)] for bump in bumps]).T
    for _ in range(2):
        s, w = run(u, part.speed[0])
        wanted = np.array([part.s[-1] - part.s[0] - s[-1], part.speed[-1] - w[-1]])
        u += np.linalg.solve(effects, wanted) @ bumps
    s, w = run(u, part.speed[0])
    s, w = np.clip(part.s[0] + s, part.s[0], part.s[-1]), np.maximum(w, 0.0)
    s[-1], w[-1] = part.s[-1], part.speed[-1]
    return SmoothMotion(s, part.t, w, u, np.stack([s[:-1], w[:-1], 0.5 * u[:-1], np.diff(u) / (6.0 * h)], axis=-1))


def _still(length: float) -> SmoothMotion:
    """From rest to rest along a part on which hardly anything moves, s⃛ being ± the same."""
    t = _AT_ONCE * np.arange(5.0) / 4.0
    u = length * 8.0 / _AT_ONCE**2 * np.array([0.0, 1.0, 0.0, -1.0, 0.0])
    speed = length / _AT_ONCE * np.array([0.0, 1.0, 2.0, 1.0, 0.0])
    s = length * np.array([0.0, 1.0, 6.0, 11.0, 12.0]) / 12.0
    h = np.diff(t)
    return SmoothMotion(s, t, speed, u, np.stack([s[:-1], speed[:-1], 0.5 * u[:-1], np.diff(u) / (6.0 * h)], axis=-1))


def _slower(motion: SmoothMotion, by: float) -> SmoothMotion:
    powers = by ** -np.arange(float(motion.pieces.shape[1]))
    return SmoothMotion(motion.s, motion.t * by, motion.speed / by, motion.acceleration / by**2, motion.pieces * powers)


def _joined(parts: Sequence[SmoothMotion]) -> SmoothMotion:
    terms = max(part.pieces.shape[1] for part in parts)
    parts = [x._replace(pieces=np.pad(x.pieces, ((0, 0), (0, terms - x.pieces.shape[1])))) for x in parts]
    found = parts[0]
    for part in parts[1:]:
        found = SmoothMotion(
            np.concatenate([found.s, part.s[1:]]),
            np.concatenate([found.t, found.t[-1] + part.t[1:]]),
            np.concatenate([found.speed, part.speed[1:]]),
            np.concatenate([found.acceleration, part.acceleration[1:]]),
            np.concatenate([found.pieces, part.pieces]),
        )
    return found
