"""Motions along a path within limits of jerk, from the fastest within the others: as people ask for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.motion.algorithms.timing.jerk_interior_point import SmoothLimits, SmoothValues
from linkwork.motion.timing.jerk_newton import SmoothProgram
from linkwork.motion.timing.limit_violations import Room
from linkwork.motion.timing.limits import PathNumbers, PathRows
from linkwork.motion.timing.segment_grid import shared

__all__ = [
    "LEAST_OF_A_PIECE",
    "Laws",
    "PathAsked",
    "SmoothMotion",
    "SmoothPart",
    "anew",
    "beginning",
    "halved",
    "smoothed",
]

_ROOM = 1.01  # slower than limits ask for a motion to begin with is
_CENTRED = 60  # times at most that a motion is taken to the middle of limits that are too wide
_FIRST, _LAST = (1.0, 0.1, 0.01, 1e-3), 1e-4  # barriers: far from limits the way ends early where rounding spoils it
_NO_LONGER = 1.03  # times what a motion is made of: then it did not
_MIDDLE = 0.1  # of the time of a segment: the barriers' weight until then
_FINER = 8  # times more segments are looked at where they are laid first
_LOOKED_AT = 400  # segments of motions that are compared
_NEWTON = 8  # steps to a knot from as near
_MORE = 1.3  # of what limits are passed by they are made narrower
_WIDTHS = np.geomspace(0.003, 1.0, 12)  # of the time: how long accelerations are averaged, to begin with
LEAST_OF_A_PIECE = 4  # segments at least: so many can be run through from state to state
_STEEPEST = 0.9375  # of the square of the mean of the speeds at both ends: at 1 the speed falls to a quarter between
_INSIDE = 1e-9  # of a segment: so far from its ends are the path's third derivatives that belong to it


class PathAsked(NamedTuple):
    """A path, and what limits a motion along it: functions of places, and limits of jerk, a part of them on the first
    and the last segment.
    """

    numbers: Callable[[np.ndarray], PathNumbers]
    third: Callable[[np.ndarray], np.ndarray]
    rows: Callable[[PathNumbers], PathRows]
    velocity: tuple[np.ndarray, np.ndarray]
    jerk: tuple[np.ndarray, np.ndarray]
    ends: tuple[float, float] = (1.0, 1.0)


class SmoothPart(NamedTuple):
    """A motion between two places at which it may rest: at the ends of n segments (n + 1,), s, the times t since its
    beginning, ṡ, and s̈, which is linear in time between.
    """

    s: np.ndarray
    t: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray


class SmoothMotion(NamedTuple):
    """s, ṡ and s̈ at times t (n + 1,), and the polynomials (n, terms) that s is between; and of how many segments it was
    made, of which each may have become several polynomials.
    """

    s: np.ndarray
    t: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray
    pieces: np.ndarray
    segments: int

    @staticmethod
    def of(s: np.ndarray, t: np.ndarray, speed: np.ndarray, acceleration: np.ndarray) -> SmoothMotion:
        """One whose s̈ is linear in time between."""
        third = np.diff(acceleration) / (6.0 * np.diff(t))
        pieces = np.stack([s[:-1], speed[:-1], 0.5 * acceleration[:-1], third], axis=-1)
        return SmoothMotion(s, t, speed, acceleration, pieces, len(pieces))


class Laws(NamedTuple):
    """What limits x and u along a part: for kernels."""

    along: SmoothValues
    limits: SmoothLimits
    steps: np.ndarray
    caps: np.ndarray

    def slower(self, scale: float) -> Laws:
        """What the laws are for a motion in so many times less time."""
        a, two, three = self.along, scale**-2, scale**-3
        along = SmoothValues(a.first * two, a.second * two, a.rates * three, a.bends * three, a.thirds * three, a.rest)
        return self._replace(along=along, caps=self.caps * scale**2)

    def strain(self, x: np.ndarray, u: np.ndarray) -> float:
        """In how many times the time a motion would be at a limit, at the ends of segments."""
        a, inner = self.along, slice(1, -1)
        result = [float(np.sqrt((x[inner] / self.caps[inner]).max(initial=0.0)))]
        moved = a.first * u[:, None] + a.second * x[:, None]
        rest = np.zeros_like(moved) if a.rest is None else a.rest
        for value, limit in ((moved, self.limits.upper - rest), (-moved, rest - self.limits.lower)):
            result.append(float(np.sqrt(np.maximum(value / np.maximum(limit, 1e-300), 0.0).max(initial=0.0))))
        w, mean = np.sqrt(x), _means(x, u, self.steps)
        result.append(float((mean / np.sqrt(np.minimum(self.caps[1:], self.caps[:-1]))).max(initial=0.0)))
        j = np.diff(u) * mean / self.steps
        ends = ((w[:-1], u[:-1], 0), (w[1:], u[1:], 1))
        for speed, own, k in ends:
            jerk = a.rates[:, k] * j[:, None] + 3.0 * a.bends[:, k] * (speed * own)[:, None]
            jerk = jerk + a.thirds[:, k] * (speed**3)[:, None]
            ratio = np.maximum(jerk / self.limits.most_jerk, jerk / self.limits.least_jerk)
            result.append(float(np.cbrt(ratio.max(initial=0.0))))
        return max(result)

    def narrower(self, result: Sequence[Room], tolerance: float) -> Laws:
        """Where a motion passes limits between the ends of segments, these by so much."""
        lower, upper = self.limits.lower.copy(), self.limits.upper.copy()
        least, most, caps = self.limits.least_jerk, self.limits.most_jerk, self.caps
        at = 0
        for room in result:
            margin = 0.25 * tolerance * np.maximum(room.size, 1e-9)
            below, above = (np.where(by > 0.0, _MORE * by + margin, 0.0) for by in room.passed())
            if room.power == 3:
                least, most = np.minimum(least + below, 0.5 * least), np.maximum(most - above, 0.5 * most)
            elif room.power == 1:
                part = np.maximum(below, above) / np.maximum(room.size, 1e-9)
                caps = caps * np.maximum(1.0 - _at_ends(part).max(axis=1), 0.5) ** 2
            else:
                here = slice(at, at + below.shape[1])
                rest = 0.0 if self.along.rest is None else self.along.rest[:, here]
                low, high = rest - lower[:, here], upper[:, here] - rest  # half of the room is left
                lower[:, here] = rest - np.maximum(low - _at_ends(below), 0.5 * low)
                upper[:, here] = rest + np.maximum(high - _at_ends(above), 0.5 * high)
                at += below.shape[1]
        return self._replace(limits=SmoothLimits(lower, upper, least, most), caps=caps)


def _at_ends(of_segments: np.ndarray) -> np.ndarray:
    """At the ends of segments (n + 1, m) what is the greater on the two beside (n, m)."""
    none = np.zeros((1, of_segments.shape[1]))
    result: np.ndarray = np.maximum(np.concatenate([none, of_segments]), np.concatenate([of_segments, none]))
    return result


def beginning(
    path: PathAsked,
    s: np.ndarray,
    x: np.ndarray,
    u: np.ndarray,
    points: int,
    resting: tuple[bool, bool],
    knots: np.ndarray,
) -> tuple[Laws, SmoothPart] | None:
    """A grid along the part of a path that the fastest motion, with ṡ² = x at s and s̈ = u between, runs through, what
    holds there, and a motion without jumps of s̈.  ``knots`` are where the path's derivatives jump inside.

    ``resting`` says at which ends it rests: there s̈ is 0, and elsewhere as it may.
    """
    clock = _Averaged.of(s, x, u, resting)

    def duration(k: int) -> float:
        t, place, speed, acceleration = clock.at(_WIDTHS[k] * clock.duration, max(_LOOKED_AT, points), knots[:0])
        result = _laws(path, place).strain(speed * speed, acceleration) * (t[-1] - t[0])
        return float(result) if np.isfinite(result) else np.inf

    tried = {k: duration(k) for k in range(0, len(_WIDTHS), 3)}
    middle = min(tried, key=tried.__getitem__)
    tried |= {k: duration(k) for k in (middle - 1, middle + 1) if 0 <= k < len(_WIDTHS)}
    best = min(tried, key=tried.__getitem__)
    if not np.isfinite(tried[best]):
        return None
    t, place, speed, acceleration = clock.at(_WIDTHS[best] * clock.duration, _FINER * points, knots)
    return anew(path, SmoothPart(place, t - t[0], speed, acceleration), points, knots)


def anew(path: PathAsked, motion: SmoothPart, points: int, knots: np.ndarray) -> tuple[Laws, SmoothPart]:
    """So many segments of a motion, of about equal times and changes of s̈ and s⃛, and what holds there."""
    rising = np.diff(motion.t, prepend=-1.0) > 0.0  # knots may be as near as rounding
    s, t, w, u = (x[rising] for x in motion)
    h = np.diff(t)
    j = np.diff(u) / h
    changes = np.abs(np.diff(u)), np.abs(np.diff(j, prepend=j[0])) + np.abs(np.diff(j, append=j[-1]))
    share = h / t[-1] + sum(x / max(x.sum(), 1e-300) for x in changes)
    weight = np.concatenate([[0.0], np.cumsum(share)])
    at = np.interp(knots, s, weight)  # knots are among s
    cuts = np.concatenate([[0.0], at, weight[-1:]])
    counts = shared(np.diff(cuts) / weight[-1], points, LEAST_OF_A_PIECE)
    parts = zip(cuts[:-1], cuts[1:], counts, strict=True)
    wanted = np.concatenate([[0.0], *(b + (e - b) * np.arange(1, n + 1) / n for b, e, n in parts)])
    times = np.interp(wanted, weight, t)
    k = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(h) - 1)
    d = times - t[k]
    place = s[k] + d * (w[k] + d * (u[k] / 2.0 + d * j[k] / 6.0))
    speed, acceleration = w[k] + d * (u[k] + d * j[k] / 2.0), u[k] + d * j[k]
    place[np.cumsum(counts)[:-1]] = knots
    for result, given in ((place, s), (speed, w), (acceleration, u)):
        result[0], result[-1] = given[0], given[-1]
    return _laws(path, place), SmoothPart(place, times, np.maximum(speed, 0.0), acceleration)


def halved(path: PathAsked, laws: Laws, motion: SmoothMotion, chosen: np.ndarray) -> tuple[Laws, SmoothPart] | None:
    """Return the laws and a motion with the chosen ones of its segments (n,) halved by time; None where none can be.

    Limits that were made narrower stay so, but for those of segments that are halved.
    """
    h = 0.5 * np.diff(motion.t)
    (c, d), powers = (motion.pieces, h), np.arange(motion.pieces.shape[1])
    place = (c * d[:, None] ** powers).sum(axis=1)
    k = np.flatnonzero(chosen & (place > motion.s[:-1]) & (place < motion.s[1:]))
    if not len(k):
        return None
    speed, acceleration = c[:, 1] + d * (2.0 * c[:, 2] + 3.0 * d * c[:, 3]), 2.0 * c[:, 2] + 6.0 * d * c[:, 3]
    inside = place, motion.t[:-1] + h, np.maximum(speed, 0.0), acceleration
    given = motion.s, motion.t, motion.speed, motion.acceleration
    made = SmoothPart(*(np.insert(x, k + 1, y[k]) for x, y in zip(given, inside, strict=True)))
    result = _laws(path, made.s)
    whole = np.ones(len(h), dtype=bool)
    whole[k] = False
    segments = np.flatnonzero(whole)
    ends = np.flatnonzero(np.append(whole, True) & np.insert(whole, 0, True))
    later = np.insert(np.cumsum(~whole), 0, 0)  # how many more are before
    for to, own, which in (
        (result.limits.lower, laws.limits.lower, ends),
        (result.limits.upper, laws.limits.upper, ends),
        (result.limits.least_jerk, laws.limits.least_jerk, segments),
        (result.limits.most_jerk, laws.limits.most_jerk, segments),
        (result.caps, laws.caps, ends),
    ):
        to[which + later[which]] = own[which]
    return result, made


def smoothed(laws: Laws, motion: SmoothPart, resting: tuple[bool, bool]) -> SmoothPart | None:
    """The fastest motion within these laws, from another; None where there is none that was found."""
    x, u, whole = motion.speed**2, motion.acceleration, motion.t[-1]
    longer = _ROOM * laws.strain(x, u)
    points = len(laws.steps)
    if all(resting):
        x, u, whole = x / longer**2, u / longer**2, whole * longer
    else:
        for _ in range(_CENTRED):
            if longer <= 1.0:
                break
            x, u = _solved(laws.slower(longer), x, u, (_MIDDLE * whole / points,) * 2, resting)
            before, longer = longer, _ROOM * laws.strain(x, u)
            if not longer < before:
                return None
    best = _part(motion.s, x, u) if all(resting) else None
    for first in _FIRST:
        squares, rates = _solved(laws, x, u, (first * whole / points, _LAST * whole / points), resting)
        if not (np.isfinite(squares).all() and np.isfinite(rates).all() and squares.min() >= 0.0):
            continue
        part = _part(motion.s, squares, rates)
        if not (np.isfinite(part.t).all() and part.t[-1] > 0.0):
            continue
        if best is None or part.t[-1] < best.t[-1]:
            best = part
        if best.t[-1] < _NO_LONGER * motion.t[-1]:
            break
    return best


def _part(s: np.ndarray, x: np.ndarray, u: np.ndarray) -> SmoothPart:
    steps = np.diff(s)
    return SmoothPart(s, np.concatenate([[0.0], np.cumsum(steps / _means(x, u, steps))]), np.sqrt(x), u)


def _means(x: np.ndarray, u: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """The mean speeds of segments on which u is linear in time."""
    w = np.sqrt(x)
    half = 0.5 * (w[1:] + w[:-1])
    result: np.ndarray = 0.5 * (
        half + np.sqrt(np.maximum(half * half - np.diff(u) * steps / 3.0, 0.0625 * half * half))
    )
    return np.maximum(np.where((w[1:] == 0.0) | (w[:-1] == 0.0), (2.0 / 3.0) * half, result), 1e-300)


class _Averaged(NamedTuple):
    """s by time, of parabolas, averaged over a while: then s̈ has no jumps."""

    t: np.ndarray
    s: np.ndarray
    speed: np.ndarray
    sums: np.ndarray  # ∫ s dt
    resting: tuple[bool, bool]

    @property
    def duration(self) -> float:
        return float(self.t[-1])

    @staticmethod
    def of(s: np.ndarray, x: np.ndarray, u: np.ndarray, resting: tuple[bool, bool]) -> _Averaged:
        w = np.sqrt(x)
        h = 2.0 * np.diff(s) / (w[1:] + w[:-1])
        t = np.concatenate([[0.0], np.cumsum(h)])
        own = s[:-1] * h + w[:-1] * h * h / 2.0 + u * h**3 / 6.0
        return _Averaged(t, s, w, np.concatenate([[0.0], np.cumsum(own)]), resting)

    def at(self, width: float, points: int, knots: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Times, s, ṡ and s̈ at the ends of so many segments of about the same time, averaged over a width: knots
        inside are among them.
        """
        begin = -0.5 * width if self.resting[0] else 0.0
        end = self.t[-1] + (0.5 * width if self.resting[1] else 0.0)
        passed = self._passed(knots, width, begin, end) if len(knots) else knots
        cuts = np.concatenate([[begin], passed, [end]])
        counts = shared(np.diff(cuts) / (end - begin), points)
        parts = zip(cuts[:-1], cuts[1:], counts, strict=True)
        t = np.concatenate([[begin], *(b + (e - b) * np.arange(1, n + 1) / n for b, e, n in parts)])
        s, w, u = self._averaged(t, width)
        s[np.cumsum(counts)[:-1]] = knots
        s[0], s[-1] = self.s[0], self.s[-1]
        w[0], w[-1] = self.speed[0], self.speed[-1]
        for k, rests in ((0, self.resting[0]), (-1, self.resting[1])):
            if rests:
                w[k], u[k] = 0.0, 0.0
        return t, s, np.maximum(w, 0.0), u

    def _passed(self, knots: np.ndarray, width: float, begin: float, end: float) -> np.ndarray:
        """When knots are passed: Newton's method between times before and after."""
        times = np.linspace(begin, end, _LOOKED_AT + 1)
        after = np.clip(np.searchsorted(self._averaged(times, width)[0], knots), 1, _LOOKED_AT)
        low, high = times[after - 1], times[after]
        result = 0.5 * (low + high)
        for _ in range(_NEWTON):
            s, w, _ = self._averaged(result, width)
            before = s < knots
            low, high = np.where(before, result, low), np.where(before, high, result)
            following = result + (knots - s) / np.maximum(w, 1e-300)
            result = np.where((following > low) & (following < high), following, 0.5 * (low + high))
        return result

    def _gain(self, at: int) -> float:
        """s̈ at an end."""
        k = 0 if at == 0 else -2
        return float((self.speed[k + 1] - self.speed[k]) / (self.t[k + 1] - self.t[k]))

    def _averaged(self, t: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        (s0, w0, m0), (s1, w1, m1) = self._there(t - 0.5 * width), self._there(t + 0.5 * width)
        return (m1 - m0) / width, (s1 - s0) / width, (w1 - w0) / width

    def _there(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """s, ṡ and ∫ s dt; before and after it stands still where it rests, and goes on as it is where it does not."""
        before, after = t < 0.0, t > self.t[-1]
        inner = np.clip(t, 0.0, self.t[-1])
        k = np.clip(np.searchsorted(self.t, inner, side="right") - 1, 0, len(self.t) - 2)
        d, h = inner - self.t[k], np.maximum(self.t[k + 1] - self.t[k], 1e-300)
        u = (self.speed[k + 1] - self.speed[k]) / h
        s = self.s[k] + d * (self.speed[k] + 0.5 * u * d)
        w = self.speed[k] + u * d
        total = self.sums[k] + d * (self.s[k] + d * (self.speed[k] / 2.0 + u * d / 6.0))
        for out, at, rests, side, u in (
            (before, 0, self.resting[0], 0.0, self._gain(0)),
            (after, -1, self.resting[1], self.t[-1], self._gain(-1)),
        ):
            d = t - side
            speed, gain = (0.0, 0.0) if rests else (self.speed[at], u)
            s = np.where(out, self.s[at] + d * (speed + 0.5 * gain * d), s)
            w = np.where(out, speed + gain * d, w)
            more = d * (self.s[at] + d * (speed / 2.0 + gain * d / 6.0))
            total = np.where(out, self.sums[at] + more, total)
        return s, w, total


def _laws(path: PathAsked, s: np.ndarray) -> Laws:
    """Along a grid."""
    steps = np.diff(s)
    at = s[:-1, None] + steps[:, None] * np.array([_INSIDE, 1.0 - _INSIDE])
    here, both = path.numbers(s), path.numbers(at)
    rows = path.rows(here)
    many = len(s)
    limits = SmoothLimits(
        *(np.repeat(x[None], many, 0) for x in (rows.lower, rows.upper)),
        *(np.repeat(x[None], many - 1, 0) for x in path.jerk),
    )
    for jerk in (limits.least_jerk, limits.most_jerk):
        jerk[0] *= path.ends[0]
        jerk[-1] *= path.ends[1]
    along = SmoothValues(rows.first, rows.second, both.first, both.second, path.third(at), rows.rest)
    low, high = path.velocity
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.maximum(here.first / high, here.first / low)
        caps = rate.max(axis=-1) ** -2.0
        if rows.speeds is not None and rows.fastest is not None:
            speeds = np.linalg.norm(rows.speeds, axis=-1) / rows.fastest
            caps = np.minimum(caps, speeds.max(axis=-1) ** -2.0)
    caps = np.minimum(caps, 1e30)
    caps[[0, -1]] = 1e30  # speeds there are given
    return Laws(along, limits, steps, caps)


def _solved(
    laws: Laws, x: np.ndarray, u: np.ndarray, barrier: tuple[float, float], resting: tuple[bool, bool]
) -> tuple[np.ndarray, np.ndarray]:
    moving = 0.0 if resting[0] else 1.0, 0.0 if resting[1] else 1.0
    w = np.sqrt(x)
    dips = np.diff(u) * laws.steps / np.maximum(0.75 * (w[1:] + w[:-1]) ** 2, 1e-300)
    steepest = np.maximum(_STEEPEST, _ROOM * dips)
    return SmoothProgram(laws.along, laws.limits, laws.steps, laws.caps, steepest, moving).solved(x, u, *barrier)
