"""Partition of the unit sphere into 64 regions of equal area (recursive zonal partition, Leopardi 2006).

Two polar caps and collars between them, each collar divided by longitude into regions of the same area.  A region's
index counts from the north pole (z = 1) to the south pole, and by longitude in [0, 2π) within a collar.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.expr import atan2, floor, fmin, le, where

__all__ = ["NUM_DIRECTIONS", "bin_centers", "direction_bin"]

NUM_DIRECTIONS = 64
"""Number of regions: one bit each of a 64-bit integer."""


def _collar_sizes() -> list[int]:
    """Return the number of regions of each collar, polar caps included, from north to south."""
    area = 4.0 * math.pi / NUM_DIRECTIONS
    cap = 2.0 * math.asin(math.sqrt(1.0 / NUM_DIRECTIONS))  # colatitude of the edge of a polar cap
    collars = max(1, round((math.pi - 2.0 * cap) / math.sqrt(area)))
    height = (math.pi - 2.0 * cap) / collars
    sizes, carry = [1], 0.0
    for k in range(collars):
        zone = 2.0 * math.pi * (math.cos(cap + k * height) - math.cos(cap + (k + 1) * height))
        ideal = zone / area + carry
        sizes.append(round(ideal))
        carry = ideal - sizes[-1]
    return [*sizes, 1]


_SIZES = _collar_sizes()
_ENDS = np.cumsum(_SIZES)
_EDGES = [1.0 - 2.0 * int(end) / NUM_DIRECTIONS for end in _ENDS[:-1]]  # z of the edges between collars


def direction_bin(direction: Sequence[Any]) -> Any:
    """Return the index of the region, over any scalar, that contains a direction (3,) of unit length."""
    x, y, z = direction
    size: Any = float(_SIZES[0])
    begin: Any = 0.0
    for edge, before, after in zip(_EDGES, _SIZES, _SIZES[1:], strict=False):
        below = le(z, edge)
        size = size + where(below, float(after - before), 0.0)
        begin = begin + where(below, float(before), 0.0)
    turn = atan2(y, x) * (0.5 / math.pi)
    turn = turn - floor(turn)
    return begin + fmin(floor(turn * size), size - 1.0)


def bin_centers() -> np.ndarray:
    """Return the direction at the middle of each region, (64, 3); those of the polar caps are ±z."""
    result = []
    edges = [1.0, *_EDGES, -1.0]
    for size, top, bottom in zip(_SIZES, edges, edges[1:], strict=False):
        z = top if size == 1 and top == 1.0 else bottom if size == 1 else 0.5 * (top + bottom)
        radius = math.sqrt(max(0.0, 1.0 - z * z))
        for k in range(size):
            angle = 2.0 * math.pi * (k + 0.5) / size
            result.append((radius * math.cos(angle), radius * math.sin(angle), z))
    return np.array(result)
