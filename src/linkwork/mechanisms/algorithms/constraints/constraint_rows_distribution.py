"""The velocities that constraints allow: a smooth basis of the distribution that their rows leave.

G v + σ ṫ = 0 for the velocities u = (v; ṫ) of configurations and time.  Rows are eliminated in an order of pivots that
is chosen in one state and kept around it: what is left is a basis with a one at each free velocity, smooth wherever no
pivot vanishes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.mechanisms.algorithms.constraints.constraint_rows import rates_of
from linkwork.model.tree import Tree

__all__ = ["allowed", "rows_in_time"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]


def rows_in_time(tree: Tree, q: Scalars, time: Any) -> tuple[Matrix, Matrix]:
    """(G σ), nc × (nv + 1), and the squares of G's numbers as they would be without cancellation."""
    rates = rates_of(tree, q, [0.0] * tree.nv, time)
    return [[*row, drift] for row, drift in zip(rates.rows, rates.drift, strict=True)], rates.sizes


def allowed(rows: Matrix, pivots: Sequence[tuple[int, int]], free: Sequence[int]) -> Matrix:
    """Vectors that rows take to zero, one for each free column, by elimination with pivots (row, column) in order."""
    rows = [list(row) for row in rows]
    for i, j in pivots:
        pivot = rows[i][j]
        rows[i] = [x if is_zero(x) else x / pivot for x in rows[i]]
        rows[i][j] = 1.0
        for other, _ in pivots:
            factor = rows[other][j]
            if other != i and not is_zero(factor):
                rows[other] = [a if is_zero(b) else a - factor * b for a, b in zip(rows[other], rows[i], strict=True)]
                rows[other][j] = 0.0
    found = []
    for column in free:
        u: list[Any] = [0.0] * len(rows[0])
        u[column] = 1.0
        for i, j in pivots:
            u[j] = 0.0 if is_zero(rows[i][column]) else -rows[i][column]
        found.append(u)
    return found
