"""Clocks that run through trajectories at other times.

How long the way of a trajectory is, in joint space or of a frame, and the clock that runs it at one speed.

The length of a piece is Gauss's sum of the speed at eight points, halved until both halves together give the same.
The clock by length is made of cubics with dt/ds = 1/speed at their ends, halved until the speed is right where they
are off most.  Where the trajectory stands still for a moment time goes with a root of the length, which has no slope:
there the last cubic is as short as 1e-9 of the whole length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from linkwork.kernels.array_arguments import real_array
from linkwork.motion.algorithms.curves import Clock
from linkwork.motion.trajectory.trajectory_segment import Section

__all__ = ["clock_by_length", "clocked", "cubic_pieces", "length_of", "lengths_of", "monotone_clock", "speed_of"]


def monotone_clock(new: np.ndarray, old: np.ndarray) -> Clock:
    """The clock that takes new times to old: a cubic that increases, between each two.

    Source: Fritsch and Carlson, Monotone piecewise cubic interpolation, SIAM J. Numerical Analysis 17 (2), 1980, with
    the weighted harmonic means of Fritsch and Butland, 1984.
    """
    h, rate = np.diff(new), np.diff(old) / np.diff(new)
    slope = np.empty(len(new))
    slope[0], slope[-1] = rate[0], rate[-1]
    if len(h) > 1:
        w, x = 2.0 * h[1:] + h[:-1], h[1:] + 2.0 * h[:-1]
        slope[1:-1] = (w + x) / (w / rate[:-1] + x / rate[1:])
    return Clock(new[:-1], cubic_pieces(h, old, slope))


def cubic_pieces(h: np.ndarray, values: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Cubics (n, ..., 4), lowest first, over lengths h (n,), with values and slopes (n + 1, ...) at their ends."""
    result = np.empty((*slopes[1:].shape, 4))
    each = (1.0 / h).reshape(-1, *(1,) * (values.ndim - 1))
    rate, a, b = (values[1:] - values[:-1]) * each, slopes[:-1], slopes[1:]
    bend = (a + b - 2.0 * rate) * each
    result[..., 0], result[..., 1] = values[:-1], a
    result[..., 2], result[..., 3] = (rate - a) * each - bend, bend * each
    return result


def clocked(sections: Iterable[Section], clock: Clock, new: np.ndarray, old: np.ndarray) -> list[Section]:
    """Sections with a clock that gives their times by others: ``new`` ones for ``old`` ones, their ends among them."""
    result: list[Section] = []
    for section in sections:
        first, last = (float(new[np.argmin(np.abs(old - end))]) for end in (section.start, section.end))
        if first == last < new[-1] or (first == last and result):  # it is left out
            continue
        result.append(section.timed(clock, first, last))
    return result


Speed = Callable[[np.ndarray], np.ndarray]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_MOST = 22  # halvings
_SAME = 1e-12  # of the whole length, by which halves may differ from what they are of
_EVEN = 1e-8  # part by which the speed on a cubic may be off
_STILL = 1e-9  # of the greatest speed: what is less is none
_NOTHING = 1e-15  # of the whole length, on which it stands still
_SHORT = 1e-9  # of it: so near to where it stands still the speed need not be right
_LENGTHS = 1e-3  # of it, as long as cubics are that the speed is even on: on shorter ones it is less so
_WORST = 0.5 - 3.0**0.5 / 6.0  # of a cubic's length: where its slope is off most


def speed_of(caller: str, trajectory: Any, weights: Any, frame: str | None) -> Speed:
    """The speed at times: √(Σ w_j v_j²), or that of a frame's origin in the world [m/s]."""
    robot = trajectory.robot
    if frame is None:
        expected = f"{caller}: weights: expected {trajectory.nv} numbers, none below 0"
        w = np.ones(trajectory.nv) if weights is None else np.asarray(real_array(expected, weights), dtype=float)
        if w.shape != (trajectory.nv,) or not (np.isfinite(w) & (w >= 0.0)).all():
            raise ValueError(f"{expected}, got {weights!r}")
        return lambda t: np.sqrt((w * trajectory(t).v ** 2).sum(axis=-1))
    if weights is not None:
        raise ValueError(f"{caller}: expected weights, of joint space, or a frame, not both")
    if robot is None:
        raise ValueError(f"{caller}: frame: the trajectory is of plain numbers, which move no frame")
    robot.tree.frame(frame)

    def speed(t: np.ndarray) -> np.ndarray:
        state = trajectory(t)
        result: np.ndarray = np.linalg.norm(robot.twist(state.q, state.v, frame, expressed_in=frame)[..., 3:], axis=-1)
        return result

    return speed


def length_of(knots: np.ndarray, speed: Speed) -> float:
    """The length of the whole way."""
    return float(lengths_of(speed, knots)[1][-1])


def clock_by_length(
    caller: str, knots: np.ndarray, speed: Speed, wanted: float, start: float
) -> tuple[Clock, np.ndarray]:
    """The clock that gives the time of the trajectory by a time at which the speed is as wanted, and when it is where
    a knot was.  Times at which it stands still are left out.

    Raises ValueError where the trajectory has no length.
    """
    t, s = lengths_of(speed, knots)
    if not s[-1] > 0.0:
        raise ValueError(f"{caller}: the trajectory has no length: it stands still all the time")
    for left in range(_MOST, -1, -1):
        h = np.diff(s)
        moves = h > _NOTHING * s[-1]
        first, last = (x[moves] for x in _rates(speed, t))
        c = _cells(h[moves], t[:-1][moves], t[1:][moves], first, last)
        off = np.isinf(first) & np.isinf(last)
        even = _EVEN * np.maximum(1.0, _LENGTHS * s[-1] / h[moves])
        for part in (_WORST, 1.0 - _WORST):
            u = part * h[moves]
            place = c[:, 0] + u * (c[:, 1] + u * (c[:, 2] + u * c[:, 3]))
            there = speed(np.clip(place, t[:-1][moves], t[1:][moves]))
            off |= ~(np.abs(there * (c[:, 1] + u * (2.0 * c[:, 2] + 3.0 * u * c[:, 3])) - 1.0) <= even)
        off &= h[moves] > _SHORT * s[-1]
        if not off.any() or not left:
            break
        parts = np.flatnonzero(moves)[off]
        t = np.sort(np.concatenate([t, 0.5 * (t[parts] + t[parts + 1])]))
        t, s = lengths_of(speed, t, halved=False)
    scale = wanted ** np.arange(4)
    new = start + s / wanted
    return Clock(new[:-1][moves], c * scale), new[np.searchsorted(t, knots)]


def _rates(speed: Speed, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """dt/ds at the beginning and the end of each cell; infinite where it stands still."""
    rates = speed(t)
    with np.errstate(divide="ignore"):
        result = np.where(rates > _STILL * rates.max(), 1.0 / rates, np.inf)
    return result[:-1], result[1:]


def _cells(h: np.ndarray, begin: np.ndarray, end: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Cubics (n, 4) of times over lengths h, with slopes at both ends; a parabola where one of them is infinite."""
    mean = (end - begin) / h
    a = np.where(np.isfinite(first), first, np.where(np.isfinite(last), np.maximum(2.0 * mean - last, mean), mean))
    b = np.where(np.isfinite(last), last, np.where(np.isfinite(first), np.maximum(2.0 * mean - first, mean), mean))
    a, b = np.minimum(a, 3.0 * mean), np.minimum(b, 3.0 * mean)  # so that time never runs back
    return np.stack([begin, a, (3.0 * mean - 2.0 * a - b) / h, (a + b - 2.0 * mean) / h**2], axis=-1)


def lengths_of(speed: Speed, times: np.ndarray, halved: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Times, those given among them, and the lengths up to them."""
    ends = np.array([*pairwise(times)])
    result = _sums(speed, ends)
    whole = max(float(result.sum()), 1e-300)
    done: list[tuple[np.ndarray, np.ndarray]] = []
    for _ in range(_MOST if halved else 0):
        middle = ends.mean(axis=1)
        parts = np.stack([ends[:, 0], middle, middle, ends[:, 1]], axis=1).reshape(-1, 2)
        finer = _sums(speed, parts)
        fine = np.abs(finer.reshape(-1, 2).sum(axis=1) - result) <= _SAME * whole
        done.append((ends[fine], finer.reshape(-1, 2).sum(axis=1)[fine]))
        again = np.repeat(~fine, 2)
        ends, result = parts[again], finer[again]
        if not len(ends):
            break
    done.append((ends, result))
    ends, result = np.concatenate([x for x, _ in done]), np.concatenate([y for _, y in done])
    order = np.argsort(ends[:, 0])
    return np.append(ends[order, 0], times[-1]), np.append(0.0, np.cumsum(result[order]))


def _sums(speed: Speed, ends: np.ndarray) -> np.ndarray:
    """Gauss's sums between ends (n, 2)."""
    half = 0.5 * (ends[:, 1] - ends[:, 0])
    at = ends.mean(axis=1)[:, None] + half[:, None] * _NODES
    result: np.ndarray = half * (speed(at) @ _WEIGHTS)
    return result
