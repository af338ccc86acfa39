"""The inputs and outputs of programs and kernels: named arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork._util.lazy_dataclass import dataclass
from linkwork._util.validation import floats, shown

__all__ = ["Port"]


@dataclass(frozen=True, slots=True)
class Port:
    """A named input or output array of float64."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def array(self, caller: str, x: Any) -> np.ndarray:
        """Return x as an array of shape (..., *shape).

        Raises TypeError for a value that is not numeric, and ValueError for a wrong shape.
        """
        expected = f"{caller}: {self.name}: expected an array of shape ({', '.join(['...', *map(str, self.shape)])})"
        try:
            result = floats(x)
        except (TypeError, ValueError):
            raise TypeError(f"{expected}, got {shown(x)}") from None
        if result.ndim < len(self.shape) or result.shape[result.ndim - len(self.shape) :] != self.shape:
            raise ValueError(f"{expected}, got shape {result.shape}")
        return result

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.shape))})"
