"""Checks of the fields of tasks: names, targets, weights, tolerances and ranges; default values of arguments."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal, Self

import numpy as np

from linkwork._util.messages import refuse_motion
from linkwork._util.validation import floats, number, scalar_or_tuple

__all__ = [
    "DAMPING",
    "JUMP",
    "STEPS",
    "TOLERANCE",
    "WIDE",
    "WIDE_LENGTH",
    "Axes",
    "PoseTolerance",
    "frozen",
    "named",
    "pose_tolerance",
    "ranges_of",
    "read_values",
]

Axes = Literal["frame", "target", "reference"] | str

DAMPING = 0.1  # of steps at singularities
JUMP = 0.5  # [rad, m] largest joint motion between two poses of a path
STEPS = 6000  # iterations of all starts: 1 in 700 humanoid problems needs more than half of them
TOLERANCE = 1e-6  # [m, rad]
WIDE = 1e-3  # [rad] larger tolerances widen the set of solutions; up to it they are the accuracy of a search
WIDE_LENGTH = 5e-3  # [characteristic lengths] the same for tolerances of lengths


def named(task: Any, *fields: str, of: str = "frame") -> None:
    """Raise TypeError if one of the task's ``fields`` is not a string: a name of a frame or other object.

    ``of`` is the kind of object in the message.
    """
    for field in fields:
        value = getattr(task, field)
        if not isinstance(value, str):
            raise TypeError(f"{type(task).__name__}: {field}: expected the name of a {of}, got {value!r}")


def frozen(name: str, target: Any) -> Any:
    """Return a target as nested tuples of floats, which are hashable.

    Raises ValueError for values that are not finite.
    """
    if target is None:
        return None
    try:
        result = np.array(target, dtype=float)
    except (TypeError, ValueError):
        result = np.array(math.nan)
    if not np.isfinite(result).all():
        expected = f"task {name!r}: target: expected finite numbers"
        refuse_motion(expected, target)
        raise ValueError(f"{expected}, got {target!r}")

    def nested(x: Any) -> Any:
        return tuple(map(nested, x)) if isinstance(x, list) else x

    return nested(result.tolist())


def ranges_of(caller: str, lower: Any, upper: Any) -> tuple[Any, Any]:
    """Return lower and upper bounds, each a number or a tuple with a number for each error.

    Raises ValueError for empty ranges and NaN.
    """
    low = scalar_or_tuple(caller, "lower", lower, each="per error")
    high = scalar_or_tuple(caller, "upper", upper, each="per error")
    try:
        fine = (np.array(low) <= np.array(high)).all() and not (np.array(low) == np.inf).any()
    except ValueError:
        raise ValueError(
            f"{caller}: lower and upper: expected bounds of equal length, got {lower!r} and {upper!r}"
        ) from None
    if not fine or (np.array(high) == -np.inf).any():
        raise ValueError(f"{caller}: lower: expected lower <= upper and a nonempty range, got {lower!r} and {upper!r}")
    return low, high


def read_values(name: str, argument: str, unit: str, value: Any, below: float | None) -> float | tuple[float, ...]:
    """Return a field of a task as a float, or as a tuple with a float for each error.

    A weight is at least zero and below ``below``; a tolerance (``below`` None) is positive and may be infinite.
    Raises ValueError.
    """
    least = "> 0" if below is None else ">= 0"

    def read_one(x: Any) -> float:
        try:
            result = number(x)
        except (TypeError, ValueError):
            result = math.nan
        if not (result > 0.0 if below is None else 0.0 <= result < below):
            raise ValueError(
                f"task {name!r}: {argument}: expected a number {least} or one per error [{unit}], got {value!r}"
            )
        return result

    if isinstance(value, (int, float, str)) or not hasattr(value, "__len__") or getattr(value, "ndim", 1) == 0:
        return read_one(value)
    if isinstance(value, PoseTolerance):
        return value
    return tuple(read_one(x) for x in value)


class PoseTolerance(tuple[float, ...]):
    """Tolerances of the errors of a pose or position, some of which bound a norm.

    ``whole`` has "m" if a single tolerance bounds the norm of the position errors, and "rad" if one bounds the norm of
    the rotation errors.
    """

    whole: tuple[str, ...]

    def __new__(cls, values: Iterable[float], whole: tuple[str, ...]) -> Self:
        result = super().__new__(cls, values)
        result.whole = whole
        return result

    def __getnewargs__(self) -> tuple[tuple[float, ...], tuple[str, ...]]:
        return tuple(self), self.whole


def pose_tolerance(caller: str, position: Any, orientation: Any) -> PoseTolerance:
    """Return the tolerances of a pose's six errors (rotation x y z [rad], position x y z [m]).

    ``orientation`` and ``position`` are each a positive number, which bounds the norm of the error, or three, which
    bound its coordinates; infinite for a free coordinate.  Raises ValueError.
    """
    result: list[float] = []
    whole: list[str] = []
    for name, unit, value in (("orientation_tolerance", "rad", orientation), ("position_tolerance", "m", position)):
        try:
            tolerances = floats(value)
        except (TypeError, ValueError):
            tolerances = np.array([np.nan])
        if tolerances.shape not in ((), (3,)) or not (tolerances > 0.0).all():
            raise ValueError(f"{caller}: {name}: expected a positive number or three [{unit}], got {value!r}")
        result += [float(tolerances) / math.sqrt(3.0)] * 3 if tolerances.ndim == 0 else tolerances.tolist()
        whole += [unit] if tolerances.ndim == 0 else []
    return PoseTolerance(result, tuple(whole))
