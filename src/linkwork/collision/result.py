"""Results of distance queries: named arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self, overload

import numpy as np

from linkwork._util.foreign_names import WithForeignNames, add_foreign_names
from linkwork._util.result import ReturnedValue
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import is_traced

__all__ = ["DistanceDerivatives", "DistanceHessian", "DistanceResult", "RobotDistances"]


class DistanceResult(ReturnedValue, metaclass=WithForeignNames):
    """Signed distance of two bodies A and B, single or a batch: arrays (...) and (..., 3).

    For overlapping bodies the distance is minus the length of the shortest translation that separates them.
    ``normal`` has length 1 and points from A to B: point_b − point_a = distance · normal.  ``unique`` is 1 where the
    points and the normal are unique, and 0 where there are others at the same distance.
    """

    __slots__ = ("_values",)

    _values: Any

    @classmethod
    def _make(cls, values: Any) -> Self:
        result = object.__new__(cls)
        result._values = values
        return result

    @property
    def distance(self) -> Any:
        """Signed distance (...) [m]."""
        return self._values[..., 0]

    @property
    def normal(self) -> Any:
        """Unit normal (..., 3) from A to B, in the world's axes."""
        return self._values[..., 1:4]

    @property
    def point_a(self) -> Any:
        """Witness point (..., 3) on A's surface [m]."""
        return self._values[..., 4:7]

    @property
    def point_b(self) -> Any:
        """Witness point (..., 3) on B's surface [m]."""
        return self._values[..., 7:10]

    @property
    def unique(self) -> Any:
        """Flags (...): 1 if witness points and normal are unique, 0 if further points have the same distance."""
        return self._values[..., 10]

    def __repr__(self) -> str:
        shape = np.shape(self._values)[:-1]
        if shape:
            return f"<{type(self).__name__} of shape {shape}>"
        return f"<{type(self).__name__}: {self._values[0]} m>"


add_foreign_names(DistanceResult, "collision.DistanceResult")


class RobotDistances(DistanceResult):
    """Signed distances between a robot's shapes, and from them to a scene's obstacles: arrays (..., pairs).

    ``pairs`` are the names of the shapes and obstacles, in the order of the arrays' pair dimension.  It has the arrays
    of `DistanceResult`; ``of(a, b)`` returns the arrays of one pair, and ``of(a)`` those of all pairs with a shape.
    """

    __slots__ = ("pairs",)

    pairs: tuple[tuple[str, str], ...]

    @classmethod
    def _make(cls, values: Any, pairs: Sequence[tuple[str, str]] = ()) -> Self:
        result = super()._make(values)
        result.pairs = tuple(pairs)
        return result

    @overload
    def of(self, a: str, b: str) -> DistanceResult: ...

    @overload
    def of(self, a: str) -> RobotDistances: ...

    def of(self, a: str, b: str | None = None) -> DistanceResult:
        """Return the distance of one pair, from a to b, or without b the distances (..., n) of all pairs with a.

        Raises UnknownNameError for a pair that is not in `pairs`, and for a name that is in no pair.
        """
        if b is None:
            indices = [k for k, pair in enumerate(self.pairs) if a in pair]
            if not indices:
                raise UnknownNameError("shape or obstacle", a, {name: None for pair in self.pairs for name in pair})
            return RobotDistances._make(self._values[..., indices, :], [self.pairs[k] for k in indices])
        if (a, b) in self.pairs:
            return DistanceResult._make(self._values[..., self.pairs.index((a, b)), :])
        if (b, a) in self.pairs:
            x = self._values[..., self.pairs.index((b, a)), :]
            parts = (x[..., :1], -x[..., 1:4], x[..., 7:10], x[..., 4:7], x[..., 10:])
            return DistanceResult._make(np.concatenate(parts, axis=-1))
        raise UnknownNameError("pair", f"{a}, {b}", [f"{x}, {y}" for x, y in self.pairs])

    def __repr__(self) -> str:
        shape = np.shape(self._values)[:-1]
        if is_traced(self._values) or not self._values.size:
            return f"<RobotDistances: {len(self.pairs)} pairs, shape {shape}>"
        nearest = np.unravel_index(np.argmin(self.distance), shape)
        a, b = self.pairs[nearest[-1]]
        text = f"{a!r} and {b!r}, {self._values[nearest][0]:.6g} m"
        if shape == (1,):
            return f"<RobotDistances: {text}>"
        at = f" at {tuple(map(int, nearest[:-1]))}" if len(shape) > 1 else ""
        return f"<RobotDistances: {len(self.pairs)} pairs, shape {shape}; the nearest: {text}{at}>"


add_foreign_names(RobotDistances, "collision.RobotDistances")


class DistanceDerivatives(NamedTuple):
    """Signed distances of pairs with gradients in the tangent space.

    ``distance`` (..., pairs) [m], ``gradient`` (..., pairs, nv) [1, m]; ``pairs`` are the names.
    """

    distance: Any
    gradient: Any
    pairs: tuple[tuple[str, str], ...]


class DistanceHessian(NamedTuple):
    """Signed distances of pairs with gradients and Hessians in the tangent space.

    ``distance`` (..., pairs) [m], ``gradient`` (..., pairs, nv) [1, m], ``hessian`` (..., pairs, nv, nv) [1/m, 1, m].
    ``exists`` (..., pairs) is 1 where the Hessian exists, else 0.  ``pairs`` are the names.
    """

    distance: Any
    gradient: Any
    hessian: Any
    exists: Any
    pairs: tuple[tuple[str, str], ...]
