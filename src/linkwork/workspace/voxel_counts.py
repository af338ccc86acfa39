"""Counts, sums and maxima of samples by voxel, and the regions of directions.

Sums are of integers, and the other reductions (maximum, bitwise or) do not depend on the order of samples.  So the
result is the same, to the bit, for every division of the samples into chunks and every order of merging.

Directions are counted in 64 regions of the unit sphere with equal area (recursive zonal partition, Leopardi 2006): two
polar caps and collars between them, each collar divided by longitude into regions of the same area.  A region's
index counts from the north pole (z = 1) to the south pole, and by longitude in [0, 2π) within a collar.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.expr import atan2, floor, fmin, le, where

__all__ = [
    "FIELDS",
    "MAX_CELLS",
    "MAX_SAMPLES",
    "NUM_DIRECTIONS",
    "BoxTooLargeError",
    "ReusedArrays",
    "SparseCounts",
    "VoxelCounts",
    "bin_centers",
    "direction_bin",
    "sum_bits",
]


class ReusedArrays:
    """Arrays by name, in reused memory of a thread: an array overwrites the last array of its name.

    An allocation for each of many short computations is slow where freed memory goes back to the system at once, as in
    workers of Dask, whose parent process sets MALLOC_TRIM_THRESHOLD_.
    """

    def __init__(self) -> None:
        self._arrays: dict[str, np.ndarray] = {}

    def __call__(self, name: str, shape: int | tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
        """Return an uninitialised array; all arrays of one name have the same dtype."""
        size = math.prod(shape) if isinstance(shape, tuple) else shape
        array = self._arrays.get(name)
        if array is None or array.size < size:
            array = self._arrays[name] = np.empty(size, dtype)
        return array[:size].reshape(shape)


MAX_SAMPLES = 1 << 34
"""Limit of the samples of a map, with which sums have 23 bits for a value."""
MAX_CELLS = 1 << 22
"""Limit of the voxels of a box: 256 MiB in the memory of a worker."""

FIELDS: dict[str, tuple[Any, Any]] = {
    "reached": (np.add, np.int64),
    "collision_free": (np.add, np.int64),
    "manipulability_sum": (np.add, np.int64),
    "manipulability_max": (np.maximum, np.float64),
    "inverse_condition_sum": (np.add, np.int64),
    "inverse_condition_max": (np.maximum, np.float64),
    "limit_margin_max": (np.maximum, np.float64),
    "direction_bits": (np.bitwise_or, np.uint64),
}
"""Reduction and type of each array, by name; all begin at zero."""
_MAX_BITS = 40
_PADDING = 2  # [voxels] by which a box exceeds the samples when it grows


def sum_bits(samples: int) -> int:
    """Return b such that the sum of ``samples`` integers up to 2^(b + 4) is below 2^62; at most 40.

    A sum of values up to a bound counts units of 2^-b of that bound.
    """
    return min(_MAX_BITS, 58 - samples.bit_length())


@dataclass(frozen=True, slots=True)
class SparseCounts:
    """Counts, sums and maxima of the voxels that contain a sample, sorted lexicographically by voxel index."""

    cells: np.ndarray
    """(n, 3) int32 indices: a voxel extends from index · size to (index + 1) · size."""
    fields: dict[str, np.ndarray]
    """(n,) arrays by the names of `FIELDS`."""


class BoxTooLargeError(ValueError):
    """The samples extend over more voxels than `MAX_CELLS`; ``cells`` is their number."""

    def __init__(self, cells: int) -> None:
        super().__init__(f"the samples extend over {cells} voxels, more than the limit of {MAX_CELLS}")
        self.cells = cells


class VoxelCounts:
    """Dense arrays of counts over a box of voxels, which grows to contain all samples. Raises `BoxTooLargeError`."""

    def __init__(self) -> None:
        self._low = np.zeros(3, dtype=np.int64)
        self._shape = np.zeros(3, dtype=np.int64)
        self._fields = {name: np.zeros(0, dtype) for name, (_, dtype) in FIELDS.items()}

    def add(
        self,
        cells: np.ndarray,
        values: Mapping[str, np.ndarray],
        selected: np.ndarray | None,
        memory: ReusedArrays | None = None,
    ) -> None:
        """Add samples: the indices (3, n) of their voxels, and their values (n,) by the names of `FIELDS`.

        "reached" counts all samples; the other values count only for samples with True in ``selected`` (n,).
        ``memory`` holds arrays of the computation, and ``cells`` is overwritten.
        """
        memory = memory or ReusedArrays()
        index = self._index(cells)
        np.add.at(self._fields["reached"], index, 1)
        indices = None if selected is None else np.flatnonzero(selected)

        def chosen(array: np.ndarray, use: str) -> np.ndarray:
            if indices is None:
                return array
            result = memory(f"selected {use}", len(indices), array.dtype)
            np.take(array, indices, out=result, mode="clip")  # the default mode copies the result
            return result

        index = chosen(index, "indices")
        np.add.at(self._fields["collision_free"], index, 1)
        for name, value in values.items():
            FIELDS[name][0].at(self._fields[name], index, chosen(value, str(value.dtype)))

    def merge(self, other: SparseCounts) -> None:
        """Add the counts, sums and maxima in ``other``."""
        if not len(other.cells):
            return
        index = self._index(other.cells.T.astype(np.int64))
        for name, (reduction, _) in FIELDS.items():
            array = self._fields[name]
            array[index] = reduction(array[index], other.fields[name])  # the indices are distinct

    def sparse(self) -> SparseCounts:
        """Return the counts of the voxels that contain a sample."""
        index = np.flatnonzero(self._fields["reached"])
        cells = np.zeros((0, 3), dtype=np.int32)
        if index.size:
            cells = (np.stack(np.unravel_index(index, tuple(self._shape)), axis=-1) + self._low).astype(np.int32)
        return SparseCounts(cells, {name: array[index] for name, array in self._fields.items()})

    def _index(self, cells: np.ndarray) -> np.ndarray:
        """Enlarge the box to contain voxels ``cells`` (3, n), and return their indices (n,) in the flat arrays.

        The result overwrites ``cells``.
        """
        low, high = cells.min(axis=1), cells.max(axis=1)
        if (low < self._low).any() or (high >= self._low + self._shape).any():
            self._grow(low, high)
        cells -= self._low[:, np.newaxis]
        index: np.ndarray = cells[0]
        for size, row in zip(self._shape[1:], cells[1:], strict=True):
            index *= size
            index += row
        return index

    def _grow(self, low: np.ndarray, high: np.ndarray) -> None:
        begin, end = low - _PADDING, high + (1 + _PADDING)
        if self._shape.all():
            begin, end = np.minimum(begin, self._low), np.maximum(end, self._low + self._shape)
        shape = end - begin
        cells = float(np.prod(shape.astype(float)))
        if cells > MAX_CELLS:
            raise BoxTooLargeError(int(cells))
        old = tuple(slice(int(a), int(a + n)) for a, n in zip(self._low - begin, self._shape, strict=True))
        for name, array in self._fields.items():
            larger = np.zeros(tuple(shape), array.dtype)
            if array.size:
                larger[old] = array.reshape(tuple(self._shape))
            self._fields[name] = larger.ravel()
        self._low, self._shape = begin, shape


NUM_DIRECTIONS = 64
"""Number of regions: one bit each of a 64-bit integer."""


def _collar_sizes() -> list[int]:
    """Return the number of regions in each band of latitude, from the north cap to the south cap."""
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
    """Return the index of the region that contains a unit vector (3,) of any scalar type."""
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
