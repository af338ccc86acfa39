"""Where an array of derivatives may be other than zero."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = ["Pattern"]


class Pattern:
    """The places of an array that are not zero whatever the inputs: an immutable value.

    ``shape`` is the dense array's, ``indices`` (nnz, ndim) its places in row-major order, and ``nnz`` their number.
    """

    __slots__ = ("indices", "shape")

    shape: tuple[int, ...]
    indices: np.ndarray

    def __init__(self, shape: tuple[int, ...], places: Iterable[int]) -> None:
        """Of an array of this shape, the places counted in row-major order."""
        flat = np.fromiter(places, dtype=np.intp)
        indices = np.stack(np.unravel_index(flat, shape or (1,)), axis=-1) if flat.size else np.zeros((0, 1), np.intp)
        indices = indices[:, :0] if not shape else indices.reshape(flat.size, len(shape))
        indices.flags.writeable = False
        object.__setattr__(self, "shape", tuple(shape))
        object.__setattr__(self, "indices", indices)

    @property
    def nnz(self) -> int:
        """How many places there are."""
        return len(self.indices)

    def dense(self, values: Any) -> np.ndarray:
        """The array (..., *shape) that has these values (..., nnz) and zeros elsewhere."""
        given = np.asarray(values)
        if given.shape[-1:] != (self.nnz,):
            raise ValueError(f"expected values of shape (..., {self.nnz}), got {given.shape}")
        leading = given.shape[:-1]
        found = np.zeros((*leading, math.prod(self.shape)), given.dtype)
        found[..., self._flat()] = given
        return found.reshape((*leading, *self.shape))

    def _flat(self) -> np.ndarray:
        if not self.shape:
            return np.arange(self.nnz)
        return np.ravel_multi_index(tuple(self.indices.T), self.shape) if self.nnz else np.zeros(0, np.intp)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a pattern is not changed: {name}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pattern):
            return NotImplemented
        return self.shape == other.shape and np.array_equal(self.indices, other.indices)

    def __hash__(self) -> int:
        return hash((self.shape, self.indices.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Pattern, (self.shape, self._flat().tolist())

    def __repr__(self) -> str:
        return f"<Pattern {self.nnz} of {self.shape}>"
