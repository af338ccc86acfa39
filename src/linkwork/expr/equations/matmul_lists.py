"""Products of matrices that are lists of rows: of large ones, a row of the result in each step of a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linkwork.expr.control.loops import map_rows
from linkwork.expr.linalg.factorizations import METHODS
from linkwork.expr.linalg.sparse_dot import dot, mirrored, transposed
from linkwork.expr.linalg.triangular_factors import Pivots

__all__ = ["Matrix", "by_rows", "gram", "products", "shifted", "solved_columns", "squares", "symmetric_products"]

Matrix = list[list[Any]]

_SMALL = 300  # products of numbers that are written out


def products(left: Sequence[Sequence[Any]], right: Sequence[Sequence[Any]]) -> Matrix:
    """left · right."""
    columns = transposed(right)
    large = len(left) * len(columns) * len(right) > _SMALL
    return map_rows(lambda row: [dot(row, column) for column in columns], left, in_loops=large, alike=True)


def by_rows(function: Callable[[Sequence[Any]], list[Any]], rows: Sequence[Sequence[Any]], work: int) -> Matrix:
    """A function of each row that takes about so many products, of numbers that are all alike."""
    return map_rows(function, rows, in_loops=len(rows) * work > _SMALL, alike=True)


def gram(left: Sequence[Sequence[Any]], right: Sequence[Sequence[Any]] | None = None) -> Matrix:
    """left · rightᵀ, which is symmetric; ``right`` is ``left`` unless it is given."""
    right = left if right is None else right
    n = len(left)
    if n * n * len(right[0]) <= _SMALL:
        return mirrored([[dot(left[i], right[j]) for j in range(i + 1)] for i in range(n)])
    half = n // 2  # a quarter is above the diagonal, and left out
    first, second = transposed(right[:half]), transposed(right)
    return mirrored([*products(left[:half], first), *products(left[half:], second)])


def symmetric_products(factor: Sequence[Sequence[Any]], middle: Sequence[Sequence[Any]]) -> Matrix:
    """factorᵀ · middle · factor, of a symmetric middle."""
    return mirrored(products(transposed(factor), products(middle, factor)))


def shifted(A: Sequence[Sequence[Any]], by: Any) -> Matrix:
    """A + by · 1."""
    return [[x + by if i == j else x for j, x in enumerate(row)] for i, row in enumerate(A)]


def squares(A: Sequence[Sequence[Any]]) -> Any:
    """The sum of the squares of its elements."""
    flat = [x for row in A for x in row]
    return dot(flat, flat)


def solved_columns(A: Sequence[Sequence[Any]], right: Sequence[Sequence[Any]], assume: str = "gen") -> Matrix:
    """X of A X = right."""
    n, k = len(A), len(right[0])
    method = METHODS[assume]
    factors = method.factors([list(row) for row in A], Pivots("riccati", positive=method.positive, with_status=True))
    columns = transposed(right)
    return transposed(
        map_rows(lambda column: method.solved(factors, list(column)), columns, in_loops=n * n * k > _SMALL, alike=True)
    )
