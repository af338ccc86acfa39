"""Sums of products over any scalar, without structural zeros; matrices are lists of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

from linkwork.expr.scalar.functions import where

__all__ = [
    "Matrix",
    "add_matrices",
    "dot",
    "flat",
    "gather_elements",
    "identity",
    "is_zero",
    "lower_of",
    "mirrored",
    "mirrored_of",
    "negated",
    "product",
    "reciprocal",
    "reciprocal_or_zero",
    "rows_of",
    "select",
    "subtract_dot",
    "transposed",
]

Rows = Sequence[Sequence[Any]]
Matrix = list[list[Any]]


def flat(*matrices: Rows) -> list[Any]:
    """Return the elements of matrices, row by row, one matrix after the other."""
    return [x for rows in matrices for row in rows for x in row]


def is_zero(x: Any) -> bool:
    """Return True if a value is known to be zero at trace time."""
    return x.__class__ is float and x == 0.0


def subtract_dot(total: Any, left: Sequence[Any], right: Sequence[Any]) -> Any:
    """Return total − Σ left_k right_k; products with structural zeros are omitted."""
    for x, y in zip(left, right, strict=True):
        if (x.__class__ is float and x == 0.0) or (y.__class__ is float and y == 0.0):
            continue
        total = total - x * y
    return total


def dot(left: Sequence[Any], right: Sequence[Any]) -> Any:
    """Return the sum of products Σ left_k right_k; products with structural zeros are omitted."""
    total: Any = 0.0
    for x, y in zip(left, right, strict=True):
        if (x.__class__ is float and x == 0.0) or (y.__class__ is float and y == 0.0):
            continue
        total = x * y if total.__class__ is float and total == 0.0 else total + x * y
    return total


def product(left: Rows, right: Rows) -> list[list[Any]]:
    """Return the matrix product left · right; ``right`` must have at least one row."""
    columns = transposed(right)
    return [[dot(row, column) for column in columns] for row in left]


def transposed(rows: Rows) -> list[list[Any]]:
    """Return the transpose of a list of rows; a matrix without rows has a transpose without rows."""
    return [list(column) for column in zip(*rows, strict=True)]


def mirrored(lower: Rows) -> list[list[Any]]:
    """Return the symmetric matrix of a lower triangle; elements above the diagonal are not read."""
    n = len(lower)
    return [[lower[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]


def lower_of(matrix: Rows) -> list[Any]:
    """Return the lower triangle of a matrix as a list, row by row."""
    return [x for i, row in enumerate(matrix) for x in row[: i + 1]]


def mirrored_of(lower: Sequence[Any], n: int) -> list[list[Any]]:
    """Return the symmetric n × n matrix whose lower triangle is the list ``lower``, row by row."""
    return mirrored([lower[i * (i + 1) // 2 :][: i + 1] for i in range(n)])


def identity(n: int) -> list[list[float]]:
    """Return the identity matrix."""
    return [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]


def negated(rows: Rows) -> list[list[Any]]:
    """Return −M for a matrix M, a list of rows; structural zeros remain zeros."""
    return [[x if is_zero(x) else -x for x in row] for row in rows]


def add_matrices(*terms: Rows) -> list[list[Any]]:
    """Return the sum of matrices."""
    return [[reduce(add, elements) for elements in zip(*rows, strict=True)] for rows in zip(*terms, strict=True)]


def rows_of(values: Sequence[Any], columns: int, rows: int | None = None) -> list[list[Any]]:
    """Return the rows of a matrix stored at the start of a flat list; square unless ``rows`` is set."""
    return [list(values[i * columns : (i + 1) * columns]) for i in range(columns if rows is None else rows)]


def gather_elements(rows: Rows, indices: Sequence[tuple[int, int]], symmetric: bool) -> list[Any]:
    """Return the elements at these (row, column) indices.

    With ``symmetric``, the element across the diagonal is added to each element that is not on the diagonal.
    """
    return [rows[i][j] + rows[j][i] if symmetric and i != j else rows[i][j] for i, j in indices]


def reciprocal(x: Any) -> Any:
    """Return 1/x, infinite for zero, also for Python floats."""
    return math.copysign(math.inf, x) if is_zero(x) else 1.0 / x


def reciprocal_or_zero(x: Any, is_left_out: Any) -> Any:
    """Return 0 where ``is_left_out`` is true, even for x = 0, and 1/x elsewhere."""
    return where(is_left_out, 0.0, 1.0 / where(is_left_out, 1.0, x))


def select(condition: Any, x: Any, y: Any) -> Any:
    """Return ``x`` where the condition is true, else ``y``.

    A condition that is known at trace time adds no operation.
    """
    if condition.__class__ is bool:
        return x if condition else y
    return x if x is y else where(condition, x, y)
