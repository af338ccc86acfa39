"""Time-optimal motion along a path within limits of jerk, planned separately between successive stops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from linkwork.motion.timing.arc_length_clock import REST_JERK_SHARE, fitted_time_law
from linkwork.motion.timing.arc_length_path import ArcLengthPath, LastResult, arc_length_paths
from linkwork.motion.timing.jerk_subproblem import (
    MIN_SEGMENTS_PER_CURVE,
    GridMotion,
    JerkLimitedMotion,
    JerkProblem,
    halved,
    initial_motion,
    optimized,
    regridded,
)
from linkwork.motion.timing.limit_violations import (
    LimitMargin,
    PathSampler,
    PathThirdDerivative,
    Polynomials,
    limit_margins,
    required_slowdown,
)
from linkwork.motion.timing.limits import LimitSet, PathConstraints, PathSamples, never_zero
from linkwork.motion.timing.toppra import MIN_SEGMENTS, TimingQuery
from linkwork.motion.trajectory.piecewise_evaluation import shifted
from linkwork.motion.trajectory.trajectory import state_and_jerk

__all__ = ["JerkLimitedMotion", "is_continuous", "jerk_limited_motion"]

_COUNTS = (25, 50, 100, 200)  # segments between stops, for few curves
_SEGMENTS_PER_CURVE = 32  # segments between knots: random cubics then take some 0.5 % more than the minimum time
_GAINED = 0.01  # of the duration: the grid is fine enough when doubling gains less
_DOUBLINGS = 3
_ROUNDS = 10
_TOLERANCE = 1e-6  # of limits: permitted violation, if no tolerance is passed
_COARSE = 3e-3  # of a limit: a larger violation between grid points means that segments are too long
_SLOWDOWN = 1.01  # times the duration for slowing down: beyond it other segments are tried
_MAX_DURATION = 1e100  # [s]
_SHORT = 1e-9  # [rad, m] of q: shorter parts are passed without planning
_SHORT_TIME = 1e-8  # [s] for such a part, or longer if limits require it
_FIT = 1e-5  # of limits of jerk: error of a motion converted from arc length to the path's parameter
_GAP = 1e-9  # of the length of s: where polynomials are further apart, the search has failed
_FINER = 4  # times as many segments at most, when those that are too long are halved


def jerk_limited_motion(
    query: TimingQuery, fastest: tuple[np.ndarray, np.ndarray, np.ndarray], points: int | None
) -> JerkLimitedMotion:
    """Return the motion within limits of jerk, from the fastest motion without them.  Raises ValueError.

    ``fastest`` has positions s, ṡ² = x at these positions, and s̈ = u between them. With ``points`` the motion has
    about that many segments, and more where segments that are too long are halved. Without ``points`` the number of
    segments grows with the number of curves between knots, and is doubled while that saves more than 1 % of the
    duration.
    """
    s, x, u = fastest
    limit_set, ends, knots = query.limit_set, query.ends, query.path.knots
    assert limit_set.jerk is not None
    acceleration = None if limit_set.acceleration is None else never_zero(limit_set.acceleration)
    limit_set = replace(
        limit_set, jerk=never_zero(limit_set.jerk), velocity=never_zero(limit_set.velocity), acceleration=acceleration
    )
    query = query._replace(limit_set=limit_set, tolerance=_TOLERANCE if query.tolerance is None else query.tolerance)
    cuts = np.concatenate([[0], np.flatnonzero(np.isin(s[1:-1], query.stops)) + 1, [len(s) - 1]])
    shares = np.diff(cuts) / (len(s) - 1)
    result: list[JerkLimitedMotion] = []
    for (b, e), share in zip(pairwise(cuts), shares, strict=True):
        resting = (bool(b > 0 or ends[0] == 0.0), bool(e < len(s) - 1 or ends[1] == 0.0))
        curves = 1 + int(((knots > s[b]) & (knots < s[e])).sum())
        count = _segments_of_part(float(share), points, curves)
        section = s[b : e + 1], x[b : e + 1], u[b:e]
        part, limit = None, np.inf
        counts = [n for n in (2 * count, *reversed(_COUNTS)) if n != count and n >= MIN_SEGMENTS_PER_CURVE * curves]
        for n in (count, *counts):
            following, slower = _between_stops(query, section, n, points is None, resting)
            if following is not None and following.t[-1] < limit:
                part, limit = following, following.t[-1]
            if part is not None and slower <= _SLOWDOWN:
                break
        if part is None:
            raise ValueError(
                f"{query.caller}: jerk: no motion found within the limits between s = {s[b]:.6g} and {s[e]:.6g}"
                + ("" if all(resting) else ", with these speeds at the ends")
            )
        part.s[:], part.coefficients[:, 0] = part.s + s[b], part.coefficients[:, 0] + s[b]
        part.s[-1] = s[e]
        result.append(part)
    return _concatenated(result)


def _segments_of_part(share: float, points: int | None, curves: int) -> int:
    """Return the initial number of segments on a part of the path between two stops.

    ``share`` is the fraction of the fastest motion's segments that lie on this part. ``points`` is the requested number
    of segments of the whole path, or None. ``curves`` is the number of polynomials of the part.
    """
    requested = share * (MIN_SEGMENTS if points is None else points)
    few = next((n for n in _COUNTS if n >= requested), _COUNTS[-1])
    if points is None:
        return max(few, _SEGMENTS_PER_CURVE * curves)
    return max(few, int(np.ceil(requested)), MIN_SEGMENTS_PER_CURVE * curves)


class _PathLimits(NamedTuple):
    """Limits of a motion along a part of a path, with functions for the path and its third derivative."""

    query: TimingQuery
    samples: PathSampler
    third: PathThirdDerivative

    @property
    def tolerance(self) -> float:
        """The permitted violation, as a fraction of the limits."""
        assert self.query.tolerance is not None
        return self.query.tolerance

    def limit_margins(self, motion: JerkLimitedMotion) -> list[LimitMargin]:
        lengths = np.diff(motion.t)
        return limit_margins(
            self.query.limit_set, self.samples, self.third, Polynomials(motion.coefficients, lengths), all_limits=True
        )

    def satisfies(self, result: Sequence[LimitMargin]) -> bool:
        return all(margin.worst_excess() <= self.tolerance for margin in result)

    def slowed(self, motion: JerkLimitedMotion, margins: list[LimitMargin] | None = None) -> JerkLimitedMotion | None:
        """Return the motion slowed until all limits hold; None if that does not succeed.

        ``margins`` are the motion's `LimitMargin` values, if they are known.
        """
        for _ in range(_ROUNDS):
            by = required_slowdown(self.limit_margins(motion) if margins is None else margins, 0.5 * self.tolerance)
            margins = None
            if not np.isfinite(by):
                return None
            if by <= 1.0:
                return motion
            motion = _slowed_by(motion, by)
        return None


def _between_stops(
    query: TimingQuery,
    fastest: tuple[np.ndarray, np.ndarray, np.ndarray],
    count: int,
    follows: bool,
    resting: tuple[bool, bool],
) -> tuple[JerkLimitedMotion | None, float]:
    """Return the motion between two stops or ends of the path, and an estimate of how far it is from optimal.

    The estimate is the fraction of the duration that a different grid may save. Positions are relative to the
    beginning, for precision on short parts. The motion has ``count`` segments; with ``follows`` the number may be
    doubled.
    """
    s, x, u = fastest
    path, knots, begin = query.path, query.path.knots, float(s[0])

    at = LastResult(lambda s: state_and_jerk(path, np.clip(begin + s, knots[0], knots[-1])))

    def samples(s: np.ndarray) -> PathSamples:
        return PathSamples(*at(s)[:3])

    def third(s: np.ndarray) -> np.ndarray:
        return at(s)[3]

    inner = knots[(knots > s[0]) & (knots < s[-1])] - begin
    s = s - begin
    limits = _PathLimits(query, samples, third)
    if all(resting) and np.abs(samples(0.5 * (s[1:] + s[:-1])).first).max(initial=0.0) * s[-1] < _SHORT:
        return limits.slowed(_short_motion(float(s[-1]))), 1.0
    parametrisations: list[ArcLengthPath | None] = []
    for arc_path in arc_length_paths(path, begin, begin + float(s[-1]), begin + inner, query.limit_set):
        if all(stops or not rests for rests, stops in zip(arc_path.rests, resting, strict=True)):
            parametrisations.append(arc_path)
    if not any(arc is not None and arc.uneven for arc in parametrisations):
        parametrisations.append(None)
    best: tuple[JerkLimitedMotion | None, float] = None, np.inf
    for arc in parametrisations:
        motion, slower = _search(limits, arc, (s, x, u), count, follows, resting, inner)
        if motion is not None and arc is not None:
            with np.errstate(all="ignore"):  # g may be almost zero inside; such a result is rejected
                result = _in_path_parameter(
                    arc, motion, query.limit_set, _FIT if all(resting) else 0.25 * limits.tolerance
                )
                if not (np.isfinite(result.coefficients).all() and np.isfinite(result.t).all()):
                    motion = None
                elif all(resting):
                    motion = limits.slowed(result)
                else:
                    motion = result if limits.satisfies(limits.limit_margins(result)) else None
            slower *= motion.t[-1] / result.t[-1] if motion is not None else 1.0
        if motion is not None and (best[0] is None or motion.t[-1] < best[0].t[-1]):
            best = motion, slower
        if motion is not None and slower <= _SLOWDOWN:
            break
    return best


def _in_path_parameter(
    arc: ArcLengthPath, motion: JerkLimitedMotion, limit_set: LimitSet, part: float
) -> JerkLimitedMotion:
    """Return a motion planned in arc length as s(t) in the path's own parameter; s is 0 at the beginning.

    The error of the joints' jerks is at most the fraction ``part`` of their limits.
    """
    assert limit_set.jerk is not None
    most = np.minimum(np.abs(limit_set.jerk[0]), np.abs(limit_set.jerk[1]))
    t, c = fitted_time_law(arc, motion.t, motion.coefficients, most, part)
    c[:, 0] -= arc.begin
    h = t[-1] - t[-2]
    last = [float((shifted(c[-1], h) * x)[k]) for k, x in enumerate((1.0, 1.0, 2.0))]
    s, speed, acceleration = (np.append(x * c[:, k], last[k]) for k, x in enumerate((1.0, 1.0, 2.0)))
    return JerkLimitedMotion(s, t, speed, acceleration, c, motion.segments)


def _search(
    limits: _PathLimits,
    arc: ArcLengthPath | None,
    fastest: tuple[np.ndarray, np.ndarray, np.ndarray],
    points: int,
    follows: bool,
    resting: tuple[bool, bool],
    inner: np.ndarray,
) -> tuple[JerkLimitedMotion | None, float]:
    """Return the fastest motion between two stops, or None, and the factor by which it was slowed to obey limits.

    ``fastest`` has positions s, ṡ² and s̈ of the fastest motion without limits of jerk. The position is the arc length
    if ``arc`` is an `ArcLengthPath`, and otherwise the path's own parameter. ``resting`` is True for an end (first,
    last) where the motion rests. ``inner`` are the positions of inner knots.
    """
    s, x, u = fastest
    limit_set, passes, tolerance = limits.query.limit_set, limits.query.passes, limits.tolerance
    assert limit_set.jerk is not None
    starts = 1.0, 1.0
    if arc is not None:
        inner, limits = arc.inner, limits._replace(samples=arc.samples, third=arc.third)
        s, x, u = arc.motion_by_length(s, x, resting)
        starts = REST_JERK_SHARE if arc.rests[0] else 1.0, REST_JERK_SHARE if arc.rests[1] else 1.0
    caller = limits.query.caller

    def constrained(samples: PathSamples, positions: np.ndarray) -> PathConstraints:
        result, model = limit_set.constraints(caller, samples), limit_set.resistance
        if model is None:
            return result
        limited, zero = slice(-len(model.indices), None), 0.0 if result.at_rest is None else result.at_rest
        room = (zero - result.lower)[..., limited], (result.upper - zero)[..., limited]
        speeds = np.sqrt(np.interp(positions, s, x))  # the motion is slower than without limits of jerk
        return limit_set.resisted(result, *model.slower(samples.q, samples.first, speeds, room))

    path = JerkProblem(
        limits.samples,
        limits.third,
        constrained,
        limit_set.velocity,
        limit_set.jerk,
        starts,
    )
    first = max(points // 2, MIN_SEGMENTS_PER_CURVE * (len(inner) + 1)) if passes > 1 and follows else points
    begun = initial_motion(path, s, x, u, first, resting, inner)
    if begun is None:
        return None, np.inf
    constraints, grid_motion = begun
    ready = optimized(constraints, grid_motion, resting)
    for k in range(passes - 1 + (_DOUBLINGS if follows else 0)):
        if ready is None:
            break
        shorter = regridded(path, ready, points, inner)
        if not (shorter[0].steps > 0.0).all():
            break
        following = optimized(*shorter, resting)
        if following is None:
            break
        gain = ready.t[-1] - following.t[-1]
        (constraints, grid_motion), ready = shorter, following
        if k >= passes - 2:
            if not follows or gain <= _GAINED * following.t[-1]:
                break
            points *= 2
    # its duration with all limits satisfied by slowing down, the motion, and its margins before
    best: tuple[float, JerkLimitedMotion, list[LimitMargin]] | None = None
    motion, result, most = None, list[LimitMargin](), _FINER * max(points, _COUNTS[-1])
    rounds = 0
    while rounds < _ROUNDS:
        following, ready = ready if ready is not None else optimized(constraints, grid_motion, resting), None
        exact = (
            None if following is None or not 0.0 < following.t[-1] < _MAX_DURATION else _through_knots(following, inner)
        )
        if following is None or exact is None or not is_continuous(exact):
            break
        grid_motion, motion = following, exact
        result = limits.limit_margins(motion)
        by = required_slowdown(result, 0.5 * tolerance)
        if by <= 1.0:
            candidate = motion.t[-1], motion, result
            best = min(best, candidate, key=_duration) if best else candidate
            break
        if best is not None and all(resting) and motion.t[-1] > best[0]:
            break
        if np.isfinite(by) and (best is None or by * motion.t[-1] < best[0]):
            best = by * motion.t[-1], motion, result
        constraints = constraints.tightened(result, tolerance)
        coarse = np.max([margin.relative_excess() for margin in result], axis=0) > _COARSE
        halves = halved(path, constraints, motion, coarse) if coarse.any() and len(coarse) < most else None
        if halves is None:
            rounds += 1
        else:
            constraints, grid_motion = halves
    if best is None or not all(resting):
        return motion if motion is not None and limits.satisfies(result) else None, 1.0
    return limits.slowed(*best[1:]), best[0] / best[1].t[-1]


def _duration(result: tuple[float, JerkLimitedMotion, list[LimitMargin]]) -> float:
    return result[0]


def _through_knots(part: GridMotion, knots: np.ndarray) -> JerkLimitedMotion:
    """Return the motion corrected so that s and ṡ are exact at its ends and at inner knots.

    The corrected motion has the same times and almost the same s̈. No knot may lie within a segment, because the path's
    derivatives jump at knots.
    """
    cuts = [0, *np.searchsorted(part.s, knots).tolist(), len(part.s) - 1]
    s, t, w, u = part.s.copy(), part.t, part.speed.copy(), part.acceleration.copy()
    for b, e in pairwise(cuts):
        between = slice(b, e + 1)
        s[between], w[between], u[between] = _consistent(s[between], t[between], w[between], u[between])
    return JerkLimitedMotion.of(s, t, w, u)


def _consistent(s: np.ndarray, t: np.ndarray, w: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return s, ṡ and s̈ at times t, corrected so that s and ṡ are exact integrals of s̈.

    s̈ is linear on each segment. w = ṡ and u = s̈ are the values to correct. s and ṡ at both ends do not change.
    """
    h = np.diff(t)
    tau = (t - t[0]) / (t[-1] - t[0])
    bumps = np.stack([np.sin(np.pi * tau), np.sin(2.0 * np.pi * tau)])
    bumps[:, [0, -1]] = 0.0

    def run(u: np.ndarray, speed: float) -> tuple[np.ndarray, np.ndarray]:
        w = speed + np.concatenate([[0.0], np.cumsum(0.5 * (u[1:] + u[:-1]) * h)])
        return np.concatenate([[0.0], np.cumsum(w[:-1] * h + (2.0 * u[:-1] + u[1:]) * h * h / 6.0)]), w

    effects = np.array([[y[-1] for y in run(bump, 0.0)] for bump in bumps]).T
    for _ in range(2):
        travelled, speeds = run(u, w[0])
        u = u + np.linalg.solve(effects, np.array([s[-1] - s[0] - travelled[-1], w[-1] - speeds[-1]])) @ bumps
    travelled, speeds = run(u, w[0])
    positions, speeds = np.clip(s[0] + travelled, s[0], s[-1]), np.maximum(speeds, 0.0)
    positions[-1], speeds[-1] = s[-1], w[-1]
    return positions, speeds, u


def is_continuous(motion: JerkLimitedMotion) -> bool:
    """Return True if times increase, s does not decrease, and each polynomial ends where the next one begins."""
    h, c = np.diff(motion.t), motion.coefficients
    gaps = (c * h[:, None] ** np.arange(c.shape[1])).sum(axis=1) - motion.s[1:]
    return bool((h > 0.0).all() and (np.diff(motion.s) >= 0.0).all() and np.abs(gaps).max() <= _GAP * motion.s[-1])


def _short_motion(length: float) -> JerkLimitedMotion:
    """Return a motion from rest to rest along a very short part, with a jerk of constant magnitude."""
    t = _SHORT_TIME * np.arange(5.0) / 4.0
    u = length * 8.0 / _SHORT_TIME**2 * np.array([0.0, 1.0, 0.0, -1.0, 0.0])
    speed = length / _SHORT_TIME * np.array([0.0, 1.0, 2.0, 1.0, 0.0])
    s = length * np.array([0.0, 1.0, 6.0, 11.0, 12.0]) / 12.0
    return JerkLimitedMotion.of(s, t, speed, u)


def _slowed_by(motion: JerkLimitedMotion, by: float) -> JerkLimitedMotion:
    powers = by ** -np.arange(float(motion.coefficients.shape[1]))
    return motion._replace(
        t=motion.t * by,
        speed=motion.speed / by,
        acceleration=motion.acceleration / by**2,
        coefficients=motion.coefficients * powers,
    )


def _concatenated(parts: Sequence[JerkLimitedMotion]) -> JerkLimitedMotion:
    terms = max(part.coefficients.shape[1] for part in parts)
    first, *later = parts
    begins = np.cumsum([0.0, *(part.t[-1] for part in parts[:-1])])
    coefficients = [np.pad(x.coefficients, ((0, 0), (0, terms - x.coefficients.shape[1]))) for x in parts]
    return JerkLimitedMotion(
        np.concatenate([first.s, *(part.s[1:] for part in later)]),
        np.concatenate([first.t, *(begin + part.t[1:] for begin, part in zip(begins[1:], later, strict=True))]),
        np.concatenate([first.speed, *(part.speed[1:] for part in later)]),
        np.concatenate([first.acceleration, *(part.acceleration[1:] for part in later)]),
        np.concatenate(coefficients),
        sum(part.segments for part in parts),
    )
