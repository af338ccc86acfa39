"""Tolerances of a pose's six rows, from one of its position and one of its orientation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork._util.validation import floats

__all__ = ["pose_tolerance"]


def pose_tolerance(caller: str, position: Any, orientation: Any) -> list[float]:
    """Return the tolerances of a pose's six rows (rotation x y z [rad], position x y z [m]).

    Each is a positive number, which bounds the length of what is left, or three, which bound its coordinates; infinite
    where it is free.  Raises ValueError.
    """
    result: list[float] = []
    for name, unit, value in (("orientation_tolerance", "rad", orientation), ("position_tolerance", "m", position)):
        try:
            numbers = floats(value)
        except (TypeError, ValueError):
            numbers = np.array([np.nan])
        if numbers.shape not in ((), (3,)) or not (numbers > 0.0).all():
            raise ValueError(f"{caller}: {name}: expected a positive number or three [{unit}], got {value!r}")
        result += [float(numbers) / math.sqrt(3.0)] * 3 if numbers.ndim == 0 else numbers.tolist()
    return result
