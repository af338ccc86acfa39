"""Checks of the arguments of trajectories: times, numbers, arrays, and limits of motions.

A limit is one number, an array with one for each coordinate, or a pair of a lower and an upper one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

import numpy as np

from linkwork._util import validation
from linkwork._util.validation import floats
from linkwork.kernels.array_arguments import real_array
from linkwork.kernels.robot_base import RobotBase
from linkwork.motion.algorithms.curves import CurveSpace

__all__ = [
    "Outside",
    "Places",
    "bases",
    "finite_array",
    "finite_number",
    "increasing",
    "places_of",
    "read_limit",
    "space_of",
    "times_within",
]


Outside = Literal["raise", "hold"]
_ROUNDING = 1e-9  # of a duration: so far outside a time is one of the ends


def finite_number(what: str, x: Any) -> float:
    """Return a finite number as float; ``what`` is "caller: argument"."""
    caller, _, argument = what.rpartition(": ")
    return float(validation.finite_number(caller, argument, x, symbols=False))


def increasing(caller: str, times: Any) -> np.ndarray:
    """Times that increase, two at least."""
    expected = f"{caller}: times: expected two times at least, increasing [s]"
    result = np.asarray(real_array(expected, times), dtype=float)
    if result.ndim != 1 or len(result) < 2:
        raise ValueError(f"{expected}; got shape {result.shape}")
    if not np.isfinite(result).all():
        raise ValueError(
            f"{expected}; got {result[~np.isfinite(result)][0]} at {np.flatnonzero(~np.isfinite(result))[0]}"
        )
    if not (np.diff(result) > 0.0).all():
        k = int(np.flatnonzero(~(np.diff(result) > 0.0))[0])
        raise ValueError(f"{expected}; got {result[k]:.9g} at {k} and {result[k + 1]:.9g} after it")
    return result


def times_within(caller: str, t: Any, first: float, last: float, outside: Outside = "raise") -> np.ndarray:
    """Times (...), within rounding from the first to the last; of any, where what lies outside holds."""
    if not isinstance(outside, str) or outside not in ("raise", "hold"):
        raise ValueError(f'{caller}: outside: expected "raise" or "hold", got {outside!r}')
    expected = f"{caller}: t: expected a time or an array of times [s]"
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
            f'{caller}: t = {bad:.9g} s is outside of [{first:.9g}, {last:.9g}] s; with outside="hold" it '
            f"stands still there"
        )
    return np.clip(times, first, last) if low < first or high > last else times


def finite_array(expected: str, value: Any, shape: Sequence[int | None]) -> np.ndarray:
    """Finite numbers of a shape, of which None may be any."""
    result = np.asarray(real_array(expected, value), dtype=float)
    if result.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, result.shape, strict=True)):
        raise ValueError(f"{expected}; got shape {result.shape}")
    if not np.isfinite(result).all():
        place = tuple(int(k) for k in np.argwhere(~np.isfinite(result))[0])
        raise ValueError(f"{expected} of finite numbers; got {result[place]} at {place}")
    return result


def space_of(caller: str, robot: RobotBase | None, rows: Any, axis: int) -> CurveSpace:
    """A robot's space, or that of as many numbers as the rows have along an axis."""
    if robot is not None:
        return CurveSpace.of(robot.tree)
    shape = np.shape(rows)
    if len(shape) <= axis:
        raise ValueError(f"{caller}: coefficients: expected an array of {axis + 2} dimensions, got shape {shape}")
    return CurveSpace(shape[axis], shape[axis])


def bases(caller: str, space: CurveSpace, base: Any, shape: tuple[int, ...], robot: Any) -> np.ndarray:
    """Configurations that pieces are added to."""
    if base is None:
        raise ValueError(f"{caller}: base: expected configurations of shape {shape}: the robot's are no plain numbers")
    result = finite_array(f"{caller}: base: expected configurations of shape {shape}", base, shape)
    return result if robot is None else cast(np.ndarray, robot.normalize(result))


Places = Callable[[Any], Any]
"""From a joint's name to the indices of its coordinates."""


def places_of(robot: Any) -> Places:
    """Of a robot's joints, in v."""
    return lambda joint: robot.tree.v_slices[robot.tree.joint_index(joint)]


def read_limit(
    caller: str, what: str, value: Any, names: Sequence[str], places: Places | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Magnitudes (n,) upwards and downwards.

    A number or an array (n,) holds both ways, a pair (lower, upper) of numbers or arrays each its own; a dict has one
    of these by joint, others being without limit.  Raises ValueError for what is none, is NaN, or lies on the wrong
    side of 0: resting has to be possible.
    """
    n = len(names)
    expected = f"{caller}: {what}: expected a positive number, an array of shape ({n},) or a pair (lower, upper)"
    if isinstance(value, Mapping) and places is not None:
        up, down = np.full(n, np.inf), np.full(n, np.inf)
        for joint, numbers in value.items():
            place = places(joint)
            own = names[place]
            up[place], down[place] = read_limit(f"{caller}: joint {joint!r}", what, numbers, own)
        return up, down
    try:
        pair = isinstance(value, tuple) and len(value) == 2
        lower, upper = value if pair else (None, value)
        up = np.broadcast_to(floats(upper), (n,)).copy()
        down = up.copy() if lower is None else -np.broadcast_to(floats(lower), (n,))
    except (TypeError, ValueError):
        raise ValueError(f"{expected}, got {value!r}") from None
    for numbers, sign, side in ((up, 1.0, "upper"), (down, -1.0, "lower")):
        bad = ~(numbers >= 0.0)
        if bad.any():
            k = int(np.argmax(bad))
            side = f"{side} limit" if pair else "limit"
            raise ValueError(
                f"{caller}: {what} of {names[k]}: expected a {side} that lets it rest, got {sign * numbers[k]:.6g}"
            )
    return up, down
