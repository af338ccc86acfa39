"""What a linear-quadratic regulator is asked for, over any scalar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..linalg.sums import mirrored, rows_of

__all__ = ["LinearQuadratic"]

Matrix = list[list[Any]]


@dataclass(frozen=True, slots=True)
class LinearQuadratic:
    """A (n, n) and B (n, m) of a system, and Q, R, N of its cost xᵀQ x + 2 xᵀN u + uᵀR u, as lists of rows."""

    A: Matrix
    B: Matrix
    Q: Matrix
    R: Matrix
    N: Matrix

    @staticmethod
    def of(A: Any, B: Any, Q: Any, R: Any, N: Any) -> LinearQuadratic:
        """Of matrices; of Q and R the lower triangles are read."""
        A, B, Q, R, N = ([list(row) for row in M] for M in (A, B, Q, R, N))
        return LinearQuadratic(A, B, mirrored(Q), mirrored(R), N)

    @staticmethod
    def of_values(values: Sequence[Any], n: int, m: int) -> LinearQuadratic:
        """The one with these ``values``."""
        found, place = [], 0
        for rows, columns in ((n, n), (n, m), (n, n), (m, m), (n, m)):
            found.append(rows_of(values[place:], columns, rows))
            place += rows * columns
        return LinearQuadratic(*found)

    def values(self) -> list[Any]:
        """All elements."""
        return [x for M in (self.A, self.B, self.Q, self.R, self.N) for row in M for x in row]
