"""Time scaling of trajectories: retiming, path lengths, and constant speed.

The length of an interval of time is the integral of the speed by Gauss's quadrature with eight points.  An interval is
halved until the sum of its halves agrees with its length.  The time scaling by length consists of cubics with
dt/ds = 1/speed at their ends; intervals are halved until the speed is accurate where its error is largest.  Where the
trajectory rests for a moment, time grows as a root of the length, with infinite slope; the last cubic before such a
moment is only 1e-9 of the whole length long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from linkwork.kernels.array_arguments import real_array
from linkwork.motion.algorithms.curves import TimeScaling
from linkwork.motion.trajectory.trajectory_segment import Section

__all__ = ["clock_by_length", "clocked", "cubic_hermite", "length_of", "lengths_of", "monotone_clock", "speed_of"]


def monotone_clock(new: np.ndarray, old: np.ndarray) -> TimeScaling:
    """Return the time scaling from new to old times: a monotone cubic between successive times.

    Source: Fritsch and Carlson, Monotone piecewise cubic interpolation, SIAM J. Numerical Analysis 17 (2), 1980, with
    the weighted harmonic means of Fritsch and Butland, 1984.
    """
    h, rate = np.diff(new), np.diff(old) / np.diff(new)
    slope = np.empty(len(new))
    slope[0], slope[-1] = rate[0], rate[-1]
    if len(h) > 1:
        w, x = 2.0 * h[1:] + h[:-1], h[1:] + 2.0 * h[:-1]
        slope[1:-1] = (w + x) / (w / rate[:-1] + x / rate[1:])
    return TimeScaling(new[:-1], cubic_hermite(h, old, slope))


def cubic_hermite(h: np.ndarray, values: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Return cubics (n, ..., 4), lowest first, on intervals of lengths h (n,), with values and slopes at their ends.

    ``values`` and ``slopes`` are (n + 1, ...).
    """
    result = np.empty((*slopes[1:].shape, 4))
    inverse = (1.0 / h).reshape(-1, *(1,) * (values.ndim - 1))
    rate, a, b = (values[1:] - values[:-1]) * inverse, slopes[:-1], slopes[1:]
    bend = (a + b - 2.0 * rate) * inverse
    result[..., 0], result[..., 1] = values[:-1], a
    result[..., 2], result[..., 3] = (rate - a) * inverse - bend, bend * inverse
    return result


def clocked(sections: Iterable[Section], clock: TimeScaling, new: np.ndarray, old: np.ndarray) -> list[Section]:
    """Return the sections of a trajectory with a further time scaling ``clock`` from ``new`` to ``old`` times.

    Both arrays of times contain the ends of all sections. Sections that shrink to zero duration are left out.
    """
    result: list[Section] = []
    for section in sections:
        first, last = (float(new[np.argmin(np.abs(old - end))]) for end in (section.start, section.end))
        if first == last < new[-1] or (first == last and result):  # left out
            continue
        result.append(section.timed(clock, first, last))
    return result


Speed = Callable[[np.ndarray, np.ndarray | None], np.ndarray]  # at times, in the segments that contain other times
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_MAX_HALVINGS = 22
_TOLERANCE = 1e-12  # of the whole length: permitted difference of two halves from their sum
_SPEED_TOLERANCE = 1e-8  # relative error of the speed on a cubic
_REST_SHARE = 1e-9  # of the greatest speed: slower is at rest
_REST_LENGTH = 1e-15  # of the whole length: shorter cells are at rest
_SHORT = 1e-9  # of the whole length: on shorter cells, near a rest, the speed need not be accurate
_REFERENCE_LENGTH = 1e-3  # of the whole length: on shorter cubics the speed tolerance is wider
_WORST = 0.5 - 3.0**0.5 / 6.0  # of a cubic's length: where the error of its slope is largest


def speed_of(caller: str, trajectory: Any, weights: Any, frame: str | None) -> Speed:
    """Return the function (t, inside) → speed of a trajectory at times t.

    ``inside`` are times within the segments to evaluate, which matters at jumps. The speed is √(Σ w_j v_j²), or with a
    ``frame`` the speed of the frame's origin in the world [m/s].
    """
    robot = trajectory.robot
    if frame is None:
        expected = f"{caller}: weights: expected an array of shape ({trajectory.nv},) of numbers >= 0"
        w = np.ones(trajectory.nv) if weights is None else np.asarray(real_array(expected, weights), dtype=float)
        if w.shape != (trajectory.nv,) or not (np.isfinite(w) & (w >= 0.0)).all():
            raise ValueError(f"{expected}, got {weights!r}")
        return lambda t, inside: np.sqrt((w * trajectory._beside(t, inside).v ** 2).sum(axis=-1))
    if weights is not None:
        raise ValueError(f"{caller}: expected weights (of joint space) or a frame, not both")
    if robot is None:
        raise ValueError(f"{caller}: frame: the trajectory has no robot, so it moves no frame")
    robot.tree.frame(frame)

    def speed(t: np.ndarray, inside: np.ndarray | None) -> np.ndarray:
        state = trajectory._beside(t, inside)
        result: np.ndarray = np.linalg.norm(robot.twist(state.q, state.v, frame, expressed_in=frame)[..., 3:], axis=-1)
        return result

    return speed


def length_of(knots: np.ndarray, speed: Speed) -> float:
    """Return the path length of the whole trajectory."""
    return float(lengths_of(speed, knots)[1][-1])


def clock_by_length(
    caller: str, knots: np.ndarray, speed: Speed, target: float, start: float
) -> tuple[TimeScaling, np.ndarray]:
    """Return the time scaling with which a trajectory has the constant speed ``target``, and new times of its knots.

    Times of rest are left out. Raises ValueError for a trajectory of zero length.
    """
    t, s = lengths_of(speed, knots)
    if not s[-1] > 0.0:
        raise ValueError(f"{caller}: the trajectory has no length: it rests all the time")
    for left in range(_MAX_HALVINGS, -1, -1):
        h = np.diff(s)
        moves = h > _REST_LENGTH * s[-1]
        first, last = (x[moves] for x in _rates(speed, t))
        c = _cells(h[moves], t[:-1][moves], t[1:][moves], first, last)
        uneven = np.isinf(first) & np.isinf(last)
        even = _SPEED_TOLERANCE * np.maximum(1.0, _REFERENCE_LENGTH * s[-1] / h[moves])
        for part in (_WORST, 1.0 - _WORST):
            u = part * h[moves]
            times_ = c[:, 0] + u * (c[:, 1] + u * (c[:, 2] + u * c[:, 3]))
            speeds = speed(np.clip(times_, t[:-1][moves], t[1:][moves]), None)
            uneven |= ~(np.abs(speeds * (c[:, 1] + u * (2.0 * c[:, 2] + 3.0 * u * c[:, 3])) - 1.0) <= even)
        uneven &= h[moves] > _SHORT * s[-1]
        if not uneven.any() or not left:
            break
        parts = np.flatnonzero(moves)[uneven]
        t = np.sort(np.concatenate([t, 0.5 * (t[parts] + t[parts + 1])]))
        t, s = lengths_of(speed, t, halved=False)
    scale = target ** np.arange(4)
    new = start + s / target
    return TimeScaling(new[:-1][moves], c * scale), new[np.searchsorted(t, knots)]


def _rates(speed: Speed, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return dt/ds, the reciprocal of the speed, at both ends of each interval of t; infinite at rest."""
    rates = speed(np.stack([t[:-1], t[1:]]), np.tile(0.5 * (t[:-1] + t[1:]), (2, 1)))
    with np.errstate(divide="ignore"):
        first, last = np.where(rates > _REST_SHARE * rates.max(), 1.0 / rates, np.inf)
    return first, last


def _cells(h: np.ndarray, begin: np.ndarray, end: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Return cubics (n, 4) of time by path length on intervals of lengths h, with slopes ``first`` and ``last``.

    The cubics run from time ``begin`` to ``end``.  For an infinite slope at one end they are parabolas.
    """
    mean = (end - begin) / h
    a = np.where(np.isfinite(first), first, np.where(np.isfinite(last), np.maximum(2.0 * mean - last, mean), mean))
    b = np.where(np.isfinite(last), last, np.where(np.isfinite(first), np.maximum(2.0 * mean - first, mean), mean))
    a, b = np.minimum(a, 3.0 * mean), np.minimum(b, 3.0 * mean)  # keeps time increasing
    return np.stack([begin, a, (3.0 * mean - 2.0 * a - b) / h, (a + b - 2.0 * mean) / h**2], axis=-1)


def lengths_of(speed: Speed, times: np.ndarray, halved: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return times that include ``times``, and the path length up to each time.

    If ``halved``, intervals are halved until their lengths are accurate.
    """
    ends = np.array([*pairwise(times)])
    result = _sums(speed, ends)
    whole = max(float(result.sum()), 1e-300)
    done: list[tuple[np.ndarray, np.ndarray]] = []
    for _ in range(_MAX_HALVINGS if halved else 0):
        middle = ends.mean(axis=1)
        parts = np.stack([ends[:, 0], middle, middle, ends[:, 1]], axis=1).reshape(-1, 2)
        finer = _sums(speed, parts)
        is_accurate = np.abs(finer.reshape(-1, 2).sum(axis=1) - result) <= _TOLERANCE * whole
        done.append((ends[is_accurate], finer.reshape(-1, 2).sum(axis=1)[is_accurate]))
        unfinished = np.repeat(~is_accurate, 2)
        ends, result = parts[unfinished], finer[unfinished]
        if not len(ends):
            break
    done.append((ends, result))
    ends, result = np.concatenate([x for x, _ in done]), np.concatenate([y for _, y in done])
    order = np.argsort(ends[:, 0])
    return np.append(ends[order, 0], times[-1]), np.append(0.0, np.cumsum(result[order]))


def _sums(speed: Speed, ends: np.ndarray) -> np.ndarray:
    """Return the path lengths (n,) of intervals ``ends`` (n, 2) of time, by Gauss's quadrature."""
    half = 0.5 * (ends[:, 1] - ends[:, 0])
    at = ends.mean(axis=1)[:, None] + half[:, None] * _NODES
    result: np.ndarray = half * (speed(at, None) @ _WEIGHTS)
    return result
