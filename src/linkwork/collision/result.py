"""Results of distance queries: arrays with a name each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from linkwork._util.result import Made
from linkwork.errors import UnknownNameError

__all__ = ["DistanceDerivatives", "DistanceHessian", "DistanceResult", "RobotDistances"]


class DistanceResult(Made):
    """The signed distance of two bodies A and B, one or a batch; arrays (...) and (..., 3).

    Where they overlap it is less than zero, by the least translation that parts them.  ``normal`` points from A to B,
    is of length 1, and point_b − point_a = distance · normal.  ``unique`` is 1 where these are the only such points
    and normal, and 0 where others are as good.
    """

    __slots__ = ("_numbers",)

    _numbers: Any

    @classmethod
    def _make(cls, numbers: Any) -> Self:
        made = object.__new__(cls)
        made._numbers = numbers
        return made

    @property
    def distance(self) -> Any:
        """[m]"""
        return self._numbers[..., 0]

    @property
    def normal(self) -> Any:
        """From A to B, in the world's axes."""
        return self._numbers[..., 1:4]

    @property
    def point_a(self) -> Any:
        """On A's surface [m]."""
        return self._numbers[..., 4:7]

    @property
    def point_b(self) -> Any:
        """On B's surface [m]."""
        return self._numbers[..., 7:10]

    @property
    def unique(self) -> Any:
        """1 where points and normal are the only ones, else 0."""
        return self._numbers[..., 10]

    def __repr__(self) -> str:
        shape = np.shape(self._numbers)[:-1]
        if shape:
            return f"<{type(self).__name__} of shape {shape}>"
        return f"<{type(self).__name__}: {self._numbers[0]} m>"


class RobotDistances(DistanceResult):
    """Distances of pairs of a robot's shapes, and of its shapes and a scene's obstacles: arrays (..., pairs).

    ``pairs`` are the names, of shapes and obstacles, in the order of the arrays' last dimension; `DistanceResult` says
    what the arrays are, and ``of(a, b)`` gives those of one pair.
    """

    __slots__ = ("pairs",)

    pairs: tuple[tuple[str, str], ...]

    @classmethod
    def _make(cls, numbers: Any, pairs: Sequence[tuple[str, str]] = ()) -> Self:
        made = super()._make(numbers)
        made.pairs = tuple(pairs)
        return made

    def of(self, a: str, b: str) -> DistanceResult:
        """The distance of one pair, from a to b.  Raises UnknownNameError where it is not among `pairs`."""
        if (a, b) in self.pairs:
            return DistanceResult._make(self._numbers[..., self.pairs.index((a, b)), :])
        if (b, a) in self.pairs:
            x = self._numbers[..., self.pairs.index((b, a)), :]
            parts = (x[..., :1], -x[..., 1:4], x[..., 7:10], x[..., 4:7], x[..., 10:])
            return DistanceResult._make(np.concatenate(parts, axis=-1))
        raise UnknownNameError("pair", f"{a}, {b}", [f"{x}, {y}" for x, y in self.pairs])

    def __repr__(self) -> str:
        return f"<RobotDistances: {len(self.pairs)} pairs, shape {np.shape(self._numbers)[:-1]}>"


class DistanceDerivatives(NamedTuple):
    """Distances of pairs (..., pairs) [m], their gradients by velocities (..., pairs, nv) [1, m], and the names."""

    distance: Any
    gradient: Any
    pairs: tuple[tuple[str, str], ...]


class DistanceHessian(NamedTuple):
    """Distances of pairs (..., pairs) [m], their gradients (..., pairs, nv) [1, m] and Hessians (..., pairs, nv, nv)
    [1/m, 1, m] by velocities, whether the latter exist (..., pairs), 1 or 0, and the names.
    """

    distance: Any
    gradient: Any
    hessian: Any
    exists: Any
    pairs: tuple[tuple[str, str], ...]
