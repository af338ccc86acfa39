"""Arrays with equal values and different memory layouts: strided, reversed, unaligned, other byte order, overlapping.

Arrays have samples in the first dimension.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["LAYOUTS", "laid_out", "overlapping"]

GAP = 0.125  # what stands between the numbers of a strided array


def _spread(a: np.ndarray, axis: int) -> np.ndarray:
    shape = list(a.shape)
    shape[axis] *= 3
    view = np.full(shape, GAP, a.dtype)[(*[slice(None)] * axis, slice(1, None, 3))]
    view[...] = a
    return view


def _backwards(a: np.ndarray, axis: int) -> np.ndarray:
    return np.flip(np.flip(a, axis).copy(), axis)


def _unaligned(a: np.ndarray) -> np.ndarray:
    array: np.ndarray = np.ndarray(a.shape, a.dtype, np.zeros(a.nbytes + 24, np.uint8), 3)
    array[...] = a
    return array


def _half_aligned(a: np.ndarray) -> np.ndarray:
    """Return a copy at an address aligned only to the size of an element."""
    raw = np.zeros(a.nbytes + 128, np.uint8)
    array: np.ndarray = np.ndarray(a.shape, a.dtype, raw, -raw.ctypes.data % 64 + a.itemsize)
    array[...] = a
    return array


def _padded(a: np.ndarray) -> np.ndarray:
    """Samples contiguous, with room between them."""
    size = a[0].size if len(a) else 0
    wide = np.full((len(a), size + 3), GAP, a.dtype)
    wide[:, :size] = a.reshape(len(a), size)
    return np.lib.stride_tricks.as_strided(wide, a.shape, (wide.strides[0], *a.strides[1:]))


LAYOUTS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "contiguous": lambda a, axis: a.copy(),
    "strided": _spread,
    "reversed": _backwards,
    "transposed": lambda a, axis: np.moveaxis(np.moveaxis(a, axis, 0).copy(), 0, axis),
    "fortran": lambda a, axis: np.asfortranarray(a),
    "unaligned": lambda a, axis: _unaligned(a),
    "half aligned": lambda a, axis: _half_aligned(a),
    "other byte order": lambda a, axis: a.astype(a.dtype.newbyteorder()),
    "padded": lambda a, axis: _padded(np.ascontiguousarray(a)),
}


def laid_out(rng: np.random.Generator, a: np.ndarray) -> tuple[str, np.ndarray]:
    """The array in one of the ways, and which."""
    name = str(rng.choice([*LAYOUTS]))
    return name, LAYOUTS[name](a, int(rng.integers(a.ndim)))


def overlapping(rng: np.random.Generator, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the array and an overlapping one of equal type and shape; in a third of the cases at the same address."""
    offset = 0 if rng.random() < 0.3 else int(rng.integers(a.size + 3))
    memory = np.zeros(a.size + offset, a.dtype)
    first, second = memory[: a.size].reshape(a.shape), memory[offset:].reshape(a.shape)
    if rng.random() < 0.5:
        first, second = second, first
    if rng.random() < 0.3 and a.ndim:
        second = np.flip(second, int(rng.integers(a.ndim)))
    first[...] = a
    return first, second
