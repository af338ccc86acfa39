"""Matrix products on lists of rows; large ones compute a row of the result in each step of a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linkwork.expr.control.loops import map_rows
from linkwork.expr.linalg.factorizations import METHODS
from linkwork.expr.linalg.sparse_dot import Matrix, dot, flat, mirrored, transposed
from linkwork.expr.linalg.triangular_factors import Pivots

__all__ = [
    "Matrix",
    "add_to_diagonal",
    "congruence",
    "gram",
    "map_matrix_rows",
    "matmul",
    "scaled",
    "solve_columns",
    "squared_norm",
    "symmetric_part",
]


_SMALL = 300  # multiplications up to which a product is unrolled


def matmul(left: Sequence[Sequence[Any]], right: Sequence[Sequence[Any]]) -> Matrix:
    """Return the matrix product left · right; matrices are lists of rows of scalars."""
    columns = transposed(right)
    large = len(left) * len(columns) * len(right) > _SMALL
    return map_rows(lambda row: [dot(row, column) for column in columns], left, in_loops=large, alike=True)


def map_matrix_rows(function: Callable[[Sequence[Any]], list[Any]], rows: Sequence[Sequence[Any]], work: int) -> Matrix:
    """Return the list of ``function(row)`` for the rows of a matrix.

    On symbols, the calls become a loop if the number of rows times ``work`` is large.  ``work`` is the number of
    products of one call.  All rows must be of one type of scalar.
    """
    return map_rows(function, rows, in_loops=len(rows) * work > _SMALL, alike=True)


def gram(left: Sequence[Sequence[Any]], right: Sequence[Sequence[Any]] | None = None) -> Matrix:
    """Return left · rightᵀ, which must be symmetric; ``right`` defaults to ``left``."""
    right = left if right is None else right
    n = len(left)
    if n * n * len(right[0]) <= _SMALL:
        return mirrored([[dot(left[i], right[j]) for j in range(i + 1)] for i in range(n)])
    half = n // 2  # omits the quarter above the diagonal
    first, second = transposed(right[:half]), transposed(right)
    return mirrored([*matmul(left[:half], first), *matmul(left[half:], second)])


def congruence(factor: Sequence[Sequence[Any]], middle: Sequence[Sequence[Any]]) -> Matrix:
    """Return factorᵀ · middle · factor for a symmetric matrix ``middle``; matrices are lists of rows."""
    return mirrored(matmul(transposed(factor), matmul(middle, factor)))


def add_to_diagonal(A: Sequence[Sequence[Any]], shift: Any) -> Matrix:
    """Return A + shift · 1, a square matrix A (list of rows) with ``shift`` added to its diagonal."""
    return [[x + shift if i == j else x for j, x in enumerate(row)] for i, row in enumerate(A)]


def scaled(factor: Any, A: Sequence[Sequence[Any]]) -> Matrix:
    """Return factor · A."""
    return [[factor * x for x in row] for row in A]


def symmetric_part(A: Sequence[Sequence[Any]]) -> Matrix:
    """Return (A + Aᵀ) / 2 for a square matrix A, a list of rows."""
    return [
        [0.5 * (a + b) for a, b in zip(row, column, strict=True)] for row, column in zip(A, transposed(A), strict=True)
    ]


def squared_norm(A: Sequence[Sequence[Any]]) -> Any:
    """Return the squared Frobenius norm of a matrix: the sum of its squared elements."""
    elements = flat(A)
    return dot(elements, elements)


def solve_columns(A: Sequence[Sequence[Any]], right: Sequence[Sequence[Any]], assume: str = "gen") -> Matrix:
    """Return the matrix X that solves A X = right; ``assume`` states the structure of A, such as "pos"."""
    n, k = len(A), len(right[0])
    method = METHODS[assume]
    factors = method.factors([list(row) for row in A], Pivots("riccati", positive=method.positive, with_status=True))
    columns = transposed(right)
    return transposed(
        map_rows(lambda column: method.solved(factors, list(column)), columns, in_loops=n * n * k > _SMALL, alike=True)
    )
