"""Jerk-limited motion between two stops of a path, optimised from the fastest motion without limits of jerk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.motion.algorithms.timing.jerk_interior_point import SmoothLimits, SmoothValues
from linkwork.motion.timing.averaged_motion import AveragedMotion
from linkwork.motion.timing.jerk_newton import SmoothProgram
from linkwork.motion.timing.limit_violations import LimitMargin
from linkwork.motion.timing.limits import PathConstraints, PathSamples
from linkwork.motion.timing.path_grid import apportioned

__all__ = [
    "MIN_SEGMENTS_PER_CURVE",
    "GridConstraints",
    "GridMotion",
    "JerkLimitedMotion",
    "JerkProblem",
    "halved",
    "initial_motion",
    "optimized",
    "regridded",
]

_SLACK = 1.01  # factor of the duration by which the initial motion is slower than the limits require
_MAX_CENTRINGS = 60  # centring steps at most within relaxed limits
_FIRST, _LAST = (1.0, 0.1, 0.01, 1e-3), 1e-4  # barrier parameters; away from limits rounding ends the iterations early
_GOOD_ENOUGH = 1.03  # times the initial duration: a result that is not longer ends the search
_MIDDLE = 0.1  # of the time of a segment: the barrier parameter while centring
_FINER = 8  # times as many segments in the grid from which the first one is chosen
_COMPARED = 400  # segments of motions that are compared
_OVERTIGHTENING = 1.3  # times a violation: by so much the limit is tightened
_WIDTHS = np.geomspace(0.003, 1.0, 12)  # of the duration: candidates for the averaging time at the start
MIN_SEGMENTS_PER_CURVE = 4  # segments between knots: enough to pass from any state to any other
_STEEPEST = 0.9375  # of the squared mean of the end speeds: at 1 the speed may fall to a quarter in between
_INSIDE = 1e-9  # of a segment: one-sided third derivatives of the path are taken so far inside


class JerkProblem(NamedTuple):
    """A path with the limits of a motion along it, as functions of the path position s.

    ``ends`` are the fractions of the jerk limits that the motion may use on the first and on the last segment.
    """

    samples: Callable[[np.ndarray], PathSamples]
    third: Callable[[np.ndarray], np.ndarray]
    constraints: Callable[[PathSamples, np.ndarray], PathConstraints]
    velocity: tuple[np.ndarray, np.ndarray]
    jerk: tuple[np.ndarray, np.ndarray]
    ends: tuple[float, float] = (1.0, 1.0)


class GridMotion(NamedTuple):
    """A motion between two stops, by its values at the ends of n segments: s, t, ṡ and s̈ (n + 1,).

    t begins at 0; s̈ is linear in time on each segment.
    """

    s: np.ndarray
    t: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray


class JerkLimitedMotion(NamedTuple):
    """A motion s(t) by polynomials of time.

    s, ṡ and s̈ (n + 1,) are the values at times t (n + 1,). ``coefficients`` (n, terms) are those of s on the
    intervals between, lowest power first. ``segments`` is the number of segments of the optimisation; a segment may
    correspond to several polynomials.
    """

    s: np.ndarray
    t: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray
    coefficients: np.ndarray
    segments: int

    @staticmethod
    def of(s: np.ndarray, t: np.ndarray, speed: np.ndarray, acceleration: np.ndarray) -> JerkLimitedMotion:
        """Create a motion whose s̈ is linear in time between grid points."""
        third = np.diff(acceleration) / (6.0 * np.diff(t))
        coefficients = np.stack([s[:-1], speed[:-1], 0.5 * acceleration[:-1], third], axis=-1)
        return JerkLimitedMotion(s, t, speed, acceleration, coefficients, len(coefficients))


class GridConstraints(NamedTuple):
    """Limits of x = ṡ² and u = s̈ at the n + 1 ends of segments, and of the jerk on the n segments.

    ``along`` are the path's derivatives, ``steps`` (n,) the segments' lengths in s, and ``caps`` (n + 1,) the upper
    limits of x.
    """

    along: SmoothValues
    limits: SmoothLimits
    steps: np.ndarray
    caps: np.ndarray

    def time_scaled(self, scale: float) -> GridConstraints:
        """Return the constraints on motions that satisfy the present constraints if slowed by the factor ``scale``."""
        a, two, three = self.along, scale**-2, scale**-3
        of_jerk = a.rates * three, a.bends * three, a.thirds * three
        along = SmoothValues(a.first * two, a.second * two, *of_jerk, a.at_rest)
        return self._replace(along=along, caps=self.caps * scale**2)

    def required_slowdown(self, x: np.ndarray, u: np.ndarray) -> float:
        """Return the factor of the duration with which a motion just reaches a limit at an end of a segment.

        The motion has x = ṡ² and u = s̈ at the ends of segments. A factor below 1 means that it could be faster.
        """
        a, inner = self.along, slice(1, -1)
        result = [float(np.sqrt((x[inner] / self.caps[inner]).max(initial=0.0)))]
        moved = a.first * u[:, None] + a.second * x[:, None]
        at_rest = np.zeros_like(moved) if a.at_rest is None else a.at_rest
        for value, limit in ((moved, self.limits.upper - at_rest), (-moved, at_rest - self.limits.lower)):
            result.append(float(np.sqrt(np.maximum(value / np.maximum(limit, 1e-300), 0.0).max(initial=0.0))))
        w, mean = np.sqrt(x), _means(x, u, self.steps)
        result.append(float((mean / np.sqrt(np.minimum(self.caps[1:], self.caps[:-1]))).max(initial=0.0)))
        j = np.diff(u) * mean / self.steps
        ends = ((w[:-1], u[:-1], 0), (w[1:], u[1:], 1))
        for speed, acceleration, k in ends:
            jerk = a.rates[:, k] * j[:, None] + 3.0 * a.bends[:, k] * (speed * acceleration)[:, None]
            jerk = jerk + a.thirds[:, k] * (speed**3)[:, None]
            ratio = np.maximum(jerk / self.limits.most_jerk, jerk / self.limits.least_jerk)
            result.append(float(np.cbrt(ratio.max(initial=0.0))))
        return max(result)

    def tightened(self, result: Sequence[LimitMargin], tolerance: float) -> GridConstraints:
        """Return the constraints tightened by the violations that ``result`` shows between the ends of segments."""
        lower, upper = self.limits.lower.copy(), self.limits.upper.copy()
        least, most, caps = self.limits.least_jerk, self.limits.most_jerk, self.caps
        at = 0
        for margin in result:
            extra = 0.25 * tolerance * np.maximum(margin.size, 1e-9)
            below, above = (np.where(by > 0.0, _OVERTIGHTENING * by + extra, 0.0) for by in margin.excess())
            if margin.power == 3:
                least, most = np.minimum(least + below, 0.5 * least), np.maximum(most - above, 0.5 * most)
            elif margin.power == 1:
                part = np.maximum(below, above) / np.maximum(margin.size, 1e-9)
                caps = caps * np.maximum(1.0 - _at_ends(part).max(axis=1), 0.5) ** 2
            else:
                columns = slice(at, at + below.shape[1])
                at_rest = 0.0 if self.along.at_rest is None else self.along.at_rest[:, columns]
                low, high = at_rest - lower[:, columns], upper[:, columns] - at_rest  # half of the range stays
                lower[:, columns] = at_rest - np.maximum(low - _at_ends(below), 0.5 * low)
                upper[:, columns] = at_rest + np.maximum(high - _at_ends(above), 0.5 * high)
                at += below.shape[1]
        return self._replace(limits=SmoothLimits(lower, upper, least, most), caps=caps)


def _at_ends(on_segments: np.ndarray) -> np.ndarray:
    """Return values (n + 1, m) at the ends of n segments: the greater of the values of the two adjacent segments.

    ``on_segments`` (n, m) are nonnegative values.
    """
    zero = np.zeros((1, on_segments.shape[1]))
    result: np.ndarray = np.maximum(np.concatenate([zero, on_segments]), np.concatenate([on_segments, zero]))
    return result


def initial_motion(
    path: JerkProblem,
    s: np.ndarray,
    x: np.ndarray,
    u: np.ndarray,
    points: int,
    resting: tuple[bool, bool],
    knots: np.ndarray,
) -> tuple[GridConstraints, GridMotion] | None:
    """Return the constraints on a grid, and an initial motion on it with continuous s̈; None if there is none.

    The motion is a moving average over time of the fastest motion without limits of jerk, which has ṡ² = x at s and s̈
    = u between. ``knots`` are inner positions where the path's derivatives jump. ``resting`` is True for an end
    (first, last) where the motion rests: s̈ is 0 there, and free at an end that moves.
    """
    clock = AveragedMotion.of(s, x, u, resting)

    def duration(k: int) -> float:
        t, position, speed, acceleration = clock.at(_WIDTHS[k] * clock.duration, max(_COMPARED, points), knots[:0])
        result = _constraints_on_grid(path, position).required_slowdown(speed * speed, acceleration) * (t[-1] - t[0])
        return float(result) if np.isfinite(result) else np.inf

    tried = {k: duration(k) for k in range(0, len(_WIDTHS), 3)}
    middle = min(tried, key=tried.__getitem__)
    tried |= {k: duration(k) for k in (middle - 1, middle + 1) if 0 <= k < len(_WIDTHS)}
    best = min(tried, key=tried.__getitem__)
    if not np.isfinite(tried[best]):
        return None
    t, position, speed, acceleration = clock.at(_WIDTHS[best] * clock.duration, _FINER * points, knots)
    return regridded(path, GridMotion(position, t - t[0], speed, acceleration), points, knots)


def regridded(
    path: JerkProblem, motion: GridMotion, points: int, knots: np.ndarray
) -> tuple[GridConstraints, GridMotion]:
    """Return the constraints and the motion on a new grid of about ``points`` segments.

    On all segments, the sum of three fractions is about equal: of the motion's time, of all changes of s̈, and of all
    changes of s⃛.
    """
    rising = np.diff(motion.t, prepend=-1.0) > 0.0  # knots may coincide up to rounding
    s, t, w, u = (x[rising] for x in motion)
    h = np.diff(t)
    j = np.diff(u) / h
    changes = np.abs(np.diff(u)), np.abs(np.diff(j, prepend=j[0])) + np.abs(np.diff(j, append=j[-1]))
    share = h / t[-1] + sum(x / max(x.sum(), 1e-300) for x in changes)
    weight = np.concatenate([[0.0], np.cumsum(share)])
    at = np.interp(knots, s, weight)  # knots are among s
    cuts = np.concatenate([[0.0], at, weight[-1:]])
    counts = apportioned(np.diff(cuts) / weight[-1], points, MIN_SEGMENTS_PER_CURVE)
    intervals = zip(cuts[:-1], cuts[1:], counts, strict=True)
    weights = np.concatenate([[0.0], *(b + (e - b) * np.arange(1, n + 1) / n for b, e, n in intervals)])
    times = np.interp(weights, weight, t)
    k = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(h) - 1)
    d = times - t[k]
    # in proportion to the length of the segment, which the polynomial of an optimized motion has approximately
    whole, covered = (y * (w[k] + y * (u[k] / 2.0 + y * j[k] / 6.0)) for y in (h[k], d))
    position = s[k] + np.diff(s)[k] * np.clip(np.where(whole > 0.0, covered / whole, d / h[k]), 0.0, 1.0)
    speed, acceleration = w[k] + d * (u[k] + d * j[k] / 2.0), u[k] + d * j[k]
    position[np.cumsum(counts)[:-1]] = knots
    for result, values in ((position, s), (speed, w), (acceleration, u)):
        result[0], result[-1] = values[0], values[-1]
    return _constraints_on_grid(path, position), GridMotion(position, times, np.maximum(speed, 0.0), acceleration)


def halved(
    path: JerkProblem, constraints: GridConstraints, motion: JerkLimitedMotion, chosen: np.ndarray
) -> tuple[GridConstraints, GridMotion] | None:
    """Return the constraints and the motion on a grid whose ``chosen`` segments (n,) are halved in time.

    The result is None if no segment can be halved.  Tightened limits stay tightened, except on halved segments.
    """
    h = 0.5 * np.diff(motion.t)
    (c, d), powers = (motion.coefficients, h), np.arange(motion.coefficients.shape[1])
    position = (c * d[:, None] ** powers).sum(axis=1)
    k = np.flatnonzero(chosen & (position > motion.s[:-1]) & (position < motion.s[1:]))
    if not len(k):
        return None
    speed, acceleration = c[:, 1] + d * (2.0 * c[:, 2] + 3.0 * d * c[:, 3]), 2.0 * c[:, 2] + 6.0 * d * c[:, 3]
    inside = position, motion.t[:-1] + h, np.maximum(speed, 0.0), acceleration
    arrays = motion.s, motion.t, motion.speed, motion.acceleration
    halved_motion = GridMotion(*(np.insert(x, k + 1, y[k]) for x, y in zip(arrays, inside, strict=True)))
    result = _constraints_on_grid(path, halved_motion.s)
    whole = np.ones(len(h), dtype=bool)
    whole[k] = False
    segments = np.flatnonzero(whole)
    ends = np.flatnonzero(np.append(whole, True) & np.insert(whole, 0, True))
    later = np.insert(np.cumsum(~whole), 0, 0)  # number of inserted points before
    for to, values, which in (
        (result.limits.lower, constraints.limits.lower, ends),
        (result.limits.upper, constraints.limits.upper, ends),
        (result.limits.least_jerk, constraints.limits.least_jerk, segments),
        (result.limits.most_jerk, constraints.limits.most_jerk, segments),
        (result.caps, constraints.caps, ends),
    ):
        to[which + later[which]] = values[which]
    return result, halved_motion


def optimized(constraints: GridConstraints, motion: GridMotion, resting: tuple[bool, bool]) -> GridMotion | None:
    """Return the fastest motion within the constraints, from an initial motion; None if the search fails."""
    x, u, whole = motion.speed**2, motion.acceleration, motion.t[-1]
    longer = _SLACK * constraints.required_slowdown(x, u)
    points = len(constraints.steps)
    if all(resting):
        x, u, whole = x / longer**2, u / longer**2, whole * longer
    else:
        for _ in range(_MAX_CENTRINGS):
            if longer <= 1.0:
                break
            x, u = _solve(constraints.time_scaled(longer), x, u, (_MIDDLE * whole / points,) * 2, resting)
            before, longer = longer, _SLACK * constraints.required_slowdown(x, u)
            if not longer < before:
                return None
    best = _grid_motion(motion.s, x, u) if all(resting) else None
    for first in _FIRST:
        squares, rates = _solve(constraints, x, u, (first * whole / points, _LAST * whole / points), resting)
        if not (np.isfinite(squares).all() and np.isfinite(rates).all() and squares.min() >= 0.0):
            continue
        part = _grid_motion(motion.s, squares, rates)
        if not (np.isfinite(part.t).all() and part.t[-1] > 0.0):
            continue
        if best is None or part.t[-1] < best.t[-1]:
            best = part
        if best.t[-1] < _GOOD_ENOUGH * motion.t[-1]:
            break
    return best


def _grid_motion(s: np.ndarray, x: np.ndarray, u: np.ndarray) -> GridMotion:
    steps = np.diff(s)
    return GridMotion(s, np.concatenate([[0.0], np.cumsum(steps / _means(x, u, steps))]), np.sqrt(x), u)


def _means(x: np.ndarray, u: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Return the mean speeds (n,) on segments of lengths ``steps`` (n,), on which s̈ = u is linear in time.

    x = ṡ² and u are at the ends of segments (n + 1,).
    """
    w = np.sqrt(x)
    half = 0.5 * (w[1:] + w[:-1])
    result: np.ndarray = 0.5 * (
        half + np.sqrt(np.maximum(half * half - np.diff(u) * steps / 3.0, 0.0625 * half * half))
    )
    return np.maximum(np.where((w[1:] == 0.0) | (w[:-1] == 0.0), (2.0 / 3.0) * half, result), 1e-300)


def _constraints_on_grid(path: JerkProblem, s: np.ndarray) -> GridConstraints:
    """Return the constraints of a motion on the grid with segment ends s (n + 1,)."""
    steps = np.diff(s)
    at = s[:-1, None] + steps[:, None] * np.array([_INSIDE, 1.0 - _INSIDE])
    count = len(s)
    together = np.concatenate([s, at.ravel()])  # one evaluation of the path
    samples, third = path.samples(together), path.third(together)
    at_ends = PathSamples(*(x[:count] for x in (samples.q, samples.first, samples.second)))
    first, second, third = (x[count:].reshape(count - 1, 2, -1) for x in (samples.first, samples.second, third))
    rows = path.constraints(at_ends, s)
    limits = SmoothLimits(
        *(np.broadcast_to(x, rows.first.shape).copy() for x in (rows.lower, rows.upper)),
        *(np.repeat(x[None], count - 1, 0) for x in path.jerk),
    )
    for jerk in (limits.least_jerk, limits.most_jerk):
        jerk[0] *= path.ends[0]
        jerk[-1] *= path.ends[1]
    along = SmoothValues(rows.first, rows.second, first, second, third, rows.at_rest)
    low, high = path.velocity
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.maximum(at_ends.first / high, at_ends.first / low)
        caps = rate.max(axis=-1) ** -2.0
        if rows.speeds is not None and rows.fastest is not None:
            speeds = np.linalg.norm(rows.speeds, axis=-1) / rows.fastest
            caps = np.minimum(caps, speeds.max(axis=-1) ** -2.0)
    caps = np.minimum(caps, 1e30)
    caps[[0, -1]] = 1e30  # end speeds are fixed
    return GridConstraints(along, limits, steps, caps)


def _solve(
    constraints: GridConstraints, x: np.ndarray, u: np.ndarray, barrier: tuple[float, float], resting: tuple[bool, bool]
) -> tuple[np.ndarray, np.ndarray]:
    moving = 0.0 if resting[0] else 1.0, 0.0 if resting[1] else 1.0
    w = np.sqrt(x)
    dips = np.diff(u) * constraints.steps / np.maximum(0.75 * (w[1:] + w[:-1]) ** 2, 1e-300)
    steepest = np.maximum(_STEEPEST, _SLACK * dips)
    return SmoothProgram(
        constraints.along, constraints.limits, constraints.steps, constraints.caps, steepest, moving
    ).solve(x, u, *barrier)
