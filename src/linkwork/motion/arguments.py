"""Times, numbers and arrays that people hand over to make trajectories, looked at.

All raise ValueError that says what was expected and what is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np

from linkwork.kernels.array_arguments import real_array
from linkwork.kernels.robot_base import RobotBase
from linkwork.motion.algorithms.curves import CurveSpace

__all__ = ["Outside", "bases", "finite_array", "finite_number", "increasing", "space_of", "times_within"]

Outside = Literal["refuse", "hold"]

_ROUNDING = 1e-9  # of a duration: so far outside a time is one of the ends


def finite_number(what: str, x: Any) -> float:
    """One number that is finite."""
    found = real_array(f"{what}: expected a number", x)
    if isinstance(x, bool) or found.ndim or not np.isfinite(found):
        raise ValueError(f"{what}: expected a finite number, got {x!r}")
    return float(found)


def increasing(who: str, times: Any) -> np.ndarray:
    """Times that increase, two at least."""
    expected = f"{who}: times: expected two times at least, increasing [s]"
    found = np.asarray(real_array(expected, times), dtype=float)
    if found.ndim != 1 or len(found) < 2:
        raise ValueError(f"{expected}; got shape {found.shape}")
    if not np.isfinite(found).all():
        raise ValueError(f"{expected}; got {found[~np.isfinite(found)][0]} at {np.flatnonzero(~np.isfinite(found))[0]}")
    if not (np.diff(found) > 0.0).all():
        k = int(np.flatnonzero(~(np.diff(found) > 0.0))[0])
        raise ValueError(f"{expected}; got {found[k]:.9g} at {k} and {found[k + 1]:.9g} after it")
    return found


def times_within(who: str, t: Any, first: float, last: float, outside: Outside = "refuse") -> np.ndarray:
    """Times (...), within rounding from the first to the last; of any, where what lies outside holds."""
    if not isinstance(outside, str) or outside not in ("refuse", "hold"):
        raise ValueError(f'{who}: outside: expected "refuse" or "hold", got {outside!r}')
    expected = f"{who}: t: expected a time or an array of times [s]"
    times = np.asarray(real_array(expected, t), dtype=np.float64)
    if not times.size:
        return times
    low, high = float(times.min()), float(times.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError(f"{expected}, got one that is not finite")
    if outside == "hold":
        return times
    room = _ROUNDING * (last - first)
    if low < first - room or high > last + room:
        bad = low if low < first - room else high
        raise ValueError(
            f'{who}: t = {bad:.9g} s is outside of [{first:.9g}, {last:.9g}] s; with outside="hold" it '
            f"stands still there"
        )
    return np.clip(times, first, last) if low < first or high > last else times


def finite_array(expected: str, given: Any, shape: Sequence[int | None]) -> np.ndarray:
    """Finite numbers of a shape, of which None may be any."""
    found = np.asarray(real_array(expected, given), dtype=float)
    if found.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, found.shape, strict=True)):
        raise ValueError(f"{expected}; got shape {found.shape}")
    if not np.isfinite(found).all():
        place = tuple(int(k) for k in np.argwhere(~np.isfinite(found))[0])
        raise ValueError(f"{expected} of finite numbers; got {found[place]} at {place}")
    return found


def space_of(who: str, robot: RobotBase | None, rows: Any, axis: int) -> CurveSpace:
    """A robot's space, or that of as many numbers as the rows have along an axis."""
    if robot is not None:
        return CurveSpace.of(robot.tree)
    shape = np.shape(rows)
    if len(shape) <= axis:
        raise ValueError(f"{who}: coefficients: expected an array of {axis + 2} dimensions, got shape {shape}")
    return CurveSpace(shape[axis], shape[axis])


def bases(who: str, space: CurveSpace, base: Any, shape: tuple[int, ...], robot: Any) -> np.ndarray:
    """Configurations that pieces are added to."""
    if base is None:
        raise ValueError(f"{who}: base: expected configurations of shape {shape}: the robot's are no plain numbers")
    found = finite_array(f"{who}: base: expected configurations of shape {shape}", base, shape)
    return found if robot is None else cast(np.ndarray, robot.normalize(found))
