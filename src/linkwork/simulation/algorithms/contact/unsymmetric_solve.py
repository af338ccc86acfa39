"""Equations next to symmetric ones that are positive definite: elimination from the last to the first, without pivots.

H = U L with ones on U's diagonal, which keeps the zeros that Lᵀ D L keeps: those of bodies that do not hang together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.expr.linalg.sparse_dot import is_zero

__all__ = ["UpperLower"]

Scalars = Sequence[Any]


class UpperLower:
    """Factors of H (n × n)."""

    def __init__(self, H: Sequence[Scalars]) -> None:
        n = len(H)
        rows = [list(row) for row in H]
        self.inverse: list[Any] = [0.0] * n
        for k in range(n - 1, -1, -1):
            self.inverse[k] = 1.0 / rows[k][k]
            for i in range(k):
                if is_zero(rows[i][k]):
                    continue
                share = rows[i][k] = rows[i][k] * self.inverse[k]
                for j in range(k):
                    if not is_zero(rows[k][j]):
                        rows[i][j] = rows[i][j] - share * rows[k][j]
        self.rows = rows

    def solved(self, b: Scalars) -> list[Any]:
        """H⁻¹ b."""
        n, x = len(b), list(b)
        for i in range(n - 1, -1, -1):
            x[i] = _less(x[i], self.rows[i][i + 1 :], x[i + 1 :])
        for i in range(n):
            x[i] = _less(x[i], self.rows[i][:i], x[:i]) * self.inverse[i]
        return x

    def solved_transposed(self, b: Scalars) -> list[Any]:
        """H⁻ᵀ b."""
        n, x = len(b), list(b)
        for i in range(n - 1, -1, -1):
            x[i] = _less(x[i], [self.rows[k][i] for k in range(i + 1, n)], x[i + 1 :]) * self.inverse[i]
        for i in range(n):
            x[i] = _less(x[i], [self.rows[k][i] for k in range(i)], x[:i])
        return x


def _less(x: Any, row: Scalars, others: Scalars) -> Any:
    for a, b in zip(row, others, strict=True):
        if not is_zero(a) and not is_zero(b):
            x = x - a * b
    return x
