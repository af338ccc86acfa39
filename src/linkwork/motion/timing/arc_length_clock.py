"""Time law s(t) of a motion along a path that was planned by arc length.

s is the path's own parameter, and σ its arc length.  The motion's arc length σ(t) consists of cubics.  s(t) is fitted
by polynomials of degree five.  Where q' = dq/ds vanishes at an end, the motion starts as on a straight line, σ ~ t³,
and s is a root of σ, which no polynomial in t approximates.  There s starts as t² (or t, if q' vanishes to higher
order) on a small part of the first segment.  The limits of jerk of this segment were narrowed, so that the deviation
stays within the limits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.motion.timing.arc_length_path import ArcLengthPath
from linkwork.motion.trajectory.piecewise_evaluation import shifted

__all__ = ["REST_JERK_SHARE", "TimeLaw", "fitted_time_law"]

REST_JERK_SHARE = 0.965  # of the limits of jerk, used on the segment at an end where q' vanishes
_INSIDE = 1e-9  # of a segment: one-sided values at its ends are taken so far inside
_RATIO = 1.25  # largest ratio of the times of successive polynomials near an end where q' vanishes
_HALVINGS = 6
_SHORTEST = 1e-4  # of the motion's duration: shorter polynomials are not halved
_ROUNDING_FACTOR = 8.0  # times the rounding error of a jerk: halving cannot reduce an error below this
_RAMP = 0.01  # of the first segment: s is a power of t for so long where q' vanishes
_PHASES = (0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0)  # of the first segment: the jerk of σ changes in between

_Pair = tuple[np.ndarray, np.ndarray]


class TimeLaw(NamedTuple):
    """s(t) as polynomials of degree five (n, 6), lowest coefficient first, between successive times t (n + 1,)."""

    t: np.ndarray
    coefficients: np.ndarray


def fitted_time_law(
    path: ArcLengthPath, t: np.ndarray, sigma: np.ndarray, jerk: np.ndarray, tolerance: float
) -> TimeLaw:
    """Return the position s(t) of a motion whose arc length σ(t) is known as cubics (n, 4) between times t (n + 1,).

    Polynomials of degree five are fitted. The error of the joints' jerks is at most ``tolerance`` of the limits
    ``jerk`` (nv,), up to rounding.
    """
    return _Fit(path).fitted(t, sigma, jerk, tolerance)


class _Fit:
    """Polynomial fit of s(t) to a motion along a path with known arc length σ(t); s is the path's own parameter."""

    def __init__(self, path: ArcLengthPath) -> None:
        self.path = path

    def fitted(self, t: np.ndarray, sigma_polynomials: np.ndarray, jerk: np.ndarray, tolerance: float) -> TimeLaw:
        ends = []
        for side in (0, 1):
            if self.path.rests[side]:
                h = float(t[1] - t[0] if side == 0 else t[-1] - t[-2])
                ends.append(self._end(side, h, 6.0 * float(sigma_polynomials[-side, 3]), float(t[-side])))
        b, e = t[:-1].copy(), t[1:].copy()
        k = np.arange(len(b))
        if self.path.rests[0]:
            b, e, k = b[1:], e[1:], k[1:]
        if self.path.rests[1]:
            b, e, k = b[:-1], e[:-1], k[:-1]
        done: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = [*ends]
        for to_end in range(_HALVINGS, -1, -1):
            steep = np.zeros(len(b), bool)
            if self.path.rests[0]:
                steep |= e > _RATIO * b
            if self.path.rests[1]:
                steep |= t[-1] - b > _RATIO * (t[-1] - e)
            c, error, rounding = self._fitted(t, sigma_polynomials, k, b, e, jerk)
            rough = (error > np.maximum(tolerance, _ROUNDING_FACTOR * rounding)) & (e - b > _SHORTEST * t[-1])
            bad = (steep | rough) & (to_end > 0)
            done.append((b[~bad], e[~bad], c[~bad]))
            m = 0.5 * (b + e)[bad]
            k = np.repeat(k[bad], 2)
            b, e = (np.stack(x, axis=1).ravel() for x in ((b[bad], m), (m, e[bad])))
            if not len(b):
                break
        b, e, c = (np.concatenate(x) for x in zip(*done, strict=True))
        order = np.argsort(b)
        return TimeLaw(np.append(b[order], t[-1]), c[order])

    def _fitted(
        self,
        t: np.ndarray,
        sigma_polynomials: np.ndarray,
        k: np.ndarray,
        b: np.ndarray,
        e: np.ndarray,
        jerk: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return quintics of s (m, 6) on intervals from b to e (m,), jerk errors (m,), and their rounding errors (m,).

        The quintics approximate s as a function of time. k (m,) are the indices of the cubics of the arc length σ(t)
        that contain the intervals.  Errors are the largest on each interval, relative to the limits of jerk.
        """
        inside = _INSIDE * (e - b)
        times = np.concatenate([b, b + inside, 0.5 * (b + e), e - inside, e])  # one evaluation of the path
        state = self._state(np.tile(sigma_polynomials[k], (5, 1)), times - np.tile(t[k], 5))
        begin, low, middle, high, end = zip(*(np.split(x, 5) for x in state), strict=True)
        first = begin[0], end[0]
        c = _quintics(e - b, first, (low[1], high[1]), (low[2], high[2]))
        h = 0.5 * (e - b)
        third = 6.0 * c[:, 3] + h * (24.0 * c[:, 4] + h * 60.0 * c[:, 5])
        edges = [6.0 * c[:, 3], 6.0 * c[:, 3] + (e - b) * (24.0 * c[:, 4] + (e - b) * 60.0 * c[:, 5])]
        error = np.zeros(len(b))
        for value, state in ((third, middle), (edges[0], low), (edges[1], high)):
            error = np.maximum(error, (np.abs((value - state[3])[:, None] * state[4]) / jerk).max(axis=-1, initial=0.0))
        most = (np.abs(middle[4]) / jerk).max(axis=-1, initial=0.0)
        rounded = np.maximum(np.spacing(np.abs(first[0])), np.spacing(self.path.length) * middle[1] / middle[5])
        return c, error, 60.0 * rounded / (e - b) ** 3 * most

    def _state(self, c: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return s, ṡ, s̈, s⃛, q' = dq/ds and σ̇ at times ``u`` since the beginnings of cubics of the arc length σ(t).

        ``c`` (n, 4) are the coefficients of the cubics, lowest power first.
        """
        sigma = c[:, 0] + u * (c[:, 1] + u * (c[:, 2] + u * c[:, 3]))
        w, a, j = c[:, 1] + u * (2.0 * c[:, 2] + 3.0 * u * c[:, 3]), 2.0 * c[:, 2] + 6.0 * u * c[:, 3], 6.0 * c[:, 3]
        return self._by_time(self.path.positions(sigma), w, a, j)

    def _by_time(self, s: np.ndarray, w: np.ndarray, a: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return s, ṡ, s̈, s⃛, q' = dq/ds and σ̇ at positions s, from time derivatives of the arc length σ.

        These are w = σ̇, a = σ̈ and j = σ⃛.
        """
        r = self.path.rates(s)
        speed = w / r.g
        rate = (a - r.g_first * speed**2) / r.g
        return s, speed, rate, (j - 3.0 * r.g_first * speed * rate - r.g_second * speed**3) / r.g, r.path.first, w

    # -- where q' vanishes at an end

    def _end(self, side: int, h: float, jerk: float, at: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return beginnings, ends and coefficients of polynomials s(t) near an end of the path where dq/ds vanishes.

        ``side`` is 0 for the first segment and 1 for the last. The segment has duration ``h``, and the path's end is at
        the motion's time ``at``. The arc length from that end is jerk t³/6.
        """
        count = int(np.ceil(-np.log(_RAMP) / np.log(_RATIO)))
        times = np.unique(np.concatenate([_RAMP ** (np.arange(count + 1) / count), _PHASES[1:]]))
        power = self._power(side, jerk * (_RAMP * h) ** 3 / 6.0)
        steps = power * int(np.ceil(3.0 / power))
        sigma, *rates = _ramped(times, steps)
        distance, *state = self._by_time_from(side, jerk * h**3 * sigma, jerk * h * h * rates[0], jerk * h * rates[1])
        times = h * times
        c = np.zeros((len(times), 6))
        c[1:] = _quintics(np.diff(times), (distance[:-1], distance[1:]), *((x[:-1], x[1:]) for x in state[:2]))
        first, k = times[0], steps // power + np.arange(3)
        matrix = np.array([first**k, k * first ** (k - 1), k * (k - 1) * first ** np.maximum(k - 2, 0)])
        c[0, k] = np.linalg.solve(matrix, [distance[0], state[0][0], state[1][0]])
        begins, ends = np.append(0.0, times[:-1]), times
        if side:
            c = shifted(c, ends - begins) * (-1.0) ** np.arange(6)
            c, begins, ends = -c[::-1], at - ends[::-1], at - begins[::-1]
            begins[1:] = ends[:-1]
            ends[-1] = at
        else:
            begins, ends = at + begins, at + ends
        c[:, 0] += self.path.end if side else self.path.begin
        return begins, ends, c

    def _power(self, side: int, sigma: float) -> int:
        """Return n for which the arc length from an end of the path grows as the n-th power of the distance in s.

        ``side`` is 0 for the path's beginning and 1 for its end. ``sigma`` is the arc length at which n is computed.
        """
        distance, r = self.path.distance_from_end(side, np.array([sigma]))
        return max(int(np.round(distance[0] * r.g[0] / sigma)), 1)

    def _by_time_from(self, side: int, sigma: np.ndarray, w: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the distance in s from an end of the path, and its first two time derivatives, at given arc lengths.

        ``side`` is 0 for the path's beginning and 1 for its end. ``sigma`` is the arc length; w and a are its first two
        time derivatives.
        """
        distance, r = self.path.distance_from_end(side, sigma)
        first = r.g_first if side == 0 else -r.g_first
        speed = w / r.g
        return distance, speed, (a - first * speed**2) / r.g


def _quintics(h: np.ndarray, positions: _Pair, speeds: _Pair, rates: _Pair) -> np.ndarray:
    """Return quintics (n, 6) on intervals of lengths h (n,), from positions, speeds and accelerations at both ends."""
    (p, p1), (v, v1), (a, a1) = positions, speeds, rates
    d, e, f = p1 - p - h * (v + 0.5 * h * a), (v1 - v - h * a) * h, (a1 - a) * h * h
    more = (10.0 * d - 4.0 * e + 0.5 * f) / h**3, (7.0 * e - 15.0 * d - f) / h**4, (6.0 * d - 3.0 * e + 0.5 * f) / h**5
    return np.stack([p, v, 0.5 * a, *more], axis=-1)


def _ramped(t: np.ndarray, power: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return an arc length σ(t) and its first two derivatives at times t in [0, 1]; at 0 the motion is at rest.

    At t = 1 the values are those of t³/6. At first σ grows as t^power; after that σ⃛ is constant on each of three
    phases.
    """
    result = np.array([_by_jerk(t, k, power) for k in range(len(_PHASES) - 1)])
    last = np.array([_by_jerk(np.array([1.0]), k, power)[:, 0] for k in range(len(_PHASES) - 1)])
    sizes = np.linalg.solve(last.T, [1.0 / 6.0, 0.5, 1.0])
    sigma, speed, rate = np.tensordot(sizes, result, 1)
    return sigma, speed, rate


def _by_jerk(t: np.ndarray, k: int, power: int) -> np.ndarray:
    """Return σ, σ̇ and σ̈ (3, n) at times t (n,), for an arc length σ with σ⃛ = 1 in phase k and σ⃛ = 0 otherwise.

    If k is 0, σ grows as t^power in a short interval at the beginning.
    """
    begin, end = _PHASES[k], _PHASES[k + 1]
    result = np.zeros((3, len(t)))
    state = np.zeros(3)
    if k == 0:
        begin = _RAMP
        u = np.minimum(t, begin) / begin
        n = float(power)
        shares = begin**3 / (n * (n - 1.0) * (n - 2.0)), begin**2 / ((n - 1.0) * (n - 2.0)), begin / (n - 2.0)
        result = np.array([share * u ** (n - m) for m, share in enumerate(shares)])
        state = np.array(shares)
    for low, high, jerk in ((begin, end, 1.0), (end, np.inf, 0.0)):
        u = np.clip(t - low, 0.0, high - low)
        begun = t > low
        moved = _integrated(state, u, jerk)
        result = np.where(begun, moved, result)
        if np.isfinite(high):
            state = _integrated(state, np.array([high - low]), jerk)[:, 0]
    return result


def _integrated(state: np.ndarray, u: np.ndarray, jerk: float) -> np.ndarray:
    p, v, a = state
    return np.array([p + u * (v + u * (a / 2.0 + u * jerk / 6.0)), v + u * (a + u * jerk / 2.0), a + u * jerk])
