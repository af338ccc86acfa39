"""Unit axes: what the joints about or along an axis have in common."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..spatial import Vec3

__all__ = ["random_axis", "unit_axis"]


def unit_axis(axis: Any) -> Vec3:
    """The axis as a unit vector.  Raises ValueError where it is zero, not finite or not three numbers."""
    try:
        x, y, z = (float(a) for a in axis)
    except (TypeError, ValueError):
        raise ValueError(f"axis: expected three numbers, got {axis!r}") from None
    length, largest = math.hypot(x, y, z), max(abs(x), abs(y), abs(z))
    if not all(map(math.isfinite, (x, y, z))) or largest == 0.0:
        raise ValueError(f"axis: expected three finite numbers that are not all zero, got {(x, y, z)}")
    if abs(length - 1.0) < 4e-16:  # already as near to 1 as floats come
        return Vec3(x, y, z)
    if not 1e-150 < length < 1e150:  # its square is beyond the floats, or it is itself
        return unit_axis((x / largest, y / largest, z / largest))
    return Vec3(x / length, y / length, z / length)


def random_axis(rng: np.random.Generator) -> Vec3:
    """A direction drawn evenly from the sphere."""
    return unit_axis(rng.normal(size=3))
