"""As many segments as a path needs, and how far from the least time they leave a motion."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from linkwork.motion.timing.arguments import MotionAsked
from linkwork.motion.timing.segment_grid import again, grid, halved, segments_of
from linkwork.motion.timing.toppra import Blocked, Grid, times_of
from linkwork.motion.trajectory.trajectory import Trajectory

__all__ = ["POINTS", "gap_of_grid", "swept", "swept_finely"]

POINTS = 400  # segments at least, of a path whose grid follows it
_OF_A_PIECE = 32  # segments, so that random cubics take 0.2 % more than the least time
_GAINED = 0.01  # of the duration: what twice the segments gain at most when they are enough
_DOUBLINGS = 3
_HALVINGS, _LITTLE = 3, 1e-3  # of segments to estimate what they leave; of the duration: what is gained in the last

Swept = tuple[np.ndarray, np.ndarray, np.ndarray]


def swept(
    caller: str,
    path: Trajectory,
    asked: MotionAsked,
    knots: np.ndarray,
    stops: np.ndarray,
    ends: Sequence[float],
    points: int,
    passes: int,
    tolerance: float | None,
) -> Swept:
    """s, x and u of the fastest motion on about so many segments, within all limits but those of jerk.

    Raises Blocked.
    """
    s = grid(knots, points)
    for left in range(passes - 1, -1, -1):
        made = Grid(caller, path, asked, s, stops)
        x, u = made.swept(ends, tolerance if not left else None)
        if left:
            s = again(knots, s, times_of(s, x), x, u)
    return s, x, u


def swept_finely(
    caller: str,
    path: Trajectory,
    asked: MotionAsked,
    knots: np.ndarray,
    stops: np.ndarray,
    ends: Sequence[float],
    points: int,
    passes: int,
    tolerance: float | None,
) -> Swept:
    """The same on so many segments at least, and on as many as the path's pieces need.

    They are doubled while they are faster than half of them by more than a hundredth.  Raises Blocked.
    """
    many = segments_of(max(points, _OF_A_PIECE * (len(knots) - 1)), len(knots) - 1)
    try:
        s, x, u = swept(caller, path, asked, knots, stops, ends, many // 2, passes, None)
    except Blocked:  # shorter segments may be passed
        return swept(caller, path, asked, knots, stops, ends, many, passes, tolerance)
    for left in range(_DOUBLINGS, -1, -1):
        t = times_of(s, x)
        s = again(knots, s, t, x, u, many) if passes > 1 else grid(knots, many)
        made = Grid(caller, path, asked, s, stops)
        x, u = made.swept(ends, None)
        duration = times_of(s, x)[-1]
        if not left or t[-1] - duration <= _GAINED * duration:
            break
        many *= 2
    if tolerance is not None and not made.is_exact:
        x, u = made.swept(ends, tolerance)
    return s, x, u


def gap_of_grid(
    path: Trajectory, asked: MotionAsked, stops: np.ndarray, ends: Sequence[float], s: np.ndarray, duration: float
) -> float:
    """How much longer a motion on segments between places s is than the least time [s], an estimate: what halving them
    gains, again until that is little, and as much as the last again.  It is inf where there is none on the halved ones.
    """
    before, gain = duration, 0.0
    for _ in range(_HALVINGS):
        s = halved(s)
        try:
            x, _ = Grid("optimality_gap", path, asked, s, stops).swept(ends, None)
        except Blocked:
            return inf
        after = float(times_of(s, x)[-1])
        before, gain = after, before - after
        if gain <= _LITTLE * duration:
            break
    return max(duration - before + gain, 0.0)
