"""What a linear-quadratic regulator is asked for, over any scalar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from linkwork.expr.equations.linear_quadratic_bounded_root import TINY, BoundedRoot
from linkwork.expr.equations.matmul_lists import Matrix, by_rows, gram, shifted
from linkwork.expr.linalg.sparse_dot import added, mirrored, negated, rows_of
from linkwork.expr.scalar.functions import fmax, fmin, lt

__all__ = ["LinearQuadratic"]


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

    def costs(self, slack: float) -> Any:
        """Whether roots show that R is positive definite, and that no cost is less than −slack of the size of Q.

        Where it is false (of numbers that are not finite, too) a closer look is needed.
        """
        n, m = len(self.A), len(self.R)
        R_root = BoundedRoot.of(self.R, [TINY] * m)
        half = by_rows(R_root.solved, self.N, m * m)
        more = 0.5 * slack * reduce(fmax, (abs(x) for row in self.Q for x in row)) + TINY
        rest_root = BoundedRoot.of(shifted(added(self.Q, negated(gram(half))), more), [TINY] * n)
        pivots = (row[-1] for root in (R_root, rest_root) for row in root.rows)
        return lt(2.0 * TINY**0.5, reduce(fmin, pivots))
