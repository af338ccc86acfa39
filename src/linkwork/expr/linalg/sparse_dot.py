"""Sums of products over any scalar, without those that are structurally zero; matrices are lists of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

from linkwork.expr.scalar.functions import where

__all__ = [
    "add_matrices",
    "dot",
    "gather_elements",
    "identity",
    "is_zero",
    "mirrored",
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


def is_zero(x: Any) -> bool:
    """Whether a number is zero whatever the inputs are."""
    return x.__class__ is float and x == 0.0


def subtract_dot(total: Any, left: Sequence[Any], right: Sequence[Any]) -> Any:
    """The total less the sum of left·right."""
    for x, y in zip(left, right, strict=True):
        if (x.__class__ is float and x == 0.0) or (y.__class__ is float and y == 0.0):
            continue
        total = total - x * y
    return total


def dot(left: Sequence[Any], right: Sequence[Any]) -> Any:
    """The sum of left·right."""
    total: Any = 0.0
    for x, y in zip(left, right, strict=True):
        if (x.__class__ is float and x == 0.0) or (y.__class__ is float and y == 0.0):
            continue
        total = x * y if total.__class__ is float and total == 0.0 else total + x * y
    return total


def product(left: Rows, right: Rows) -> list[list[Any]]:
    """The matrix product; ``right`` has rows."""
    columns = transposed(right)
    return [[dot(row, column) for column in columns] for row in left]


def transposed(rows: Rows) -> list[list[Any]]:
    """The columns, as rows.  A matrix without rows has none either."""
    return [list(column) for column in zip(*rows, strict=True)]


def mirrored(lower: Rows) -> list[list[Any]]:
    """A symmetric matrix of its lower triangle: what is above the diagonal is not read, and need not be there."""
    n = len(lower)
    return [[lower[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]


def identity(n: int) -> list[list[float]]:
    """The matrix 1."""
    return [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]


def negated(rows: Rows) -> list[list[Any]]:
    """The matrix times −1; what is structurally zero stays so."""
    return [[x if is_zero(x) else -x for x in row] for row in rows]


def add_matrices(*terms: Rows) -> list[list[Any]]:
    """The sum of matrices."""
    return [[reduce(add, elements) for elements in zip(*rows, strict=True)] for rows in zip(*terms, strict=True)]


def rows_of(values: Sequence[Any], columns: int, rows: int | None = None) -> list[list[Any]]:
    """The rows of a matrix that is given element by element, the first of more values; square unless said."""
    return [list(values[i * columns : (i + 1) * columns]) for i in range(columns if rows is None else rows)]


def gather_elements(rows: Rows, places: Sequence[tuple[int, int]], symmetric: bool) -> list[Any]:
    """The elements at these places; of a symmetric matrix, an element stands for the one across the diagonal too."""
    return [rows[i][j] + rows[j][i] if symmetric and i != j else rows[i][j] for i, j in places]


def reciprocal(x: Any) -> Any:
    """1/x; infinite at zero for Python's floats too."""
    return math.copysign(math.inf, x) if is_zero(x) else 1.0 / x


def reciprocal_or_zero(x: Any, none: Any) -> Any:
    """1/x, and 0 where x counts as zero, whatever it is there."""
    return where(none, 0.0, 1.0 / where(none, 1.0, x))


def select(condition: Any, x: Any, y: Any) -> Any:
    """``x`` where the condition holds, else ``y``; what is known while a function is traced is no choice."""
    if condition.__class__ is bool:
        return x if condition else y
    return x if x is y else where(condition, x, y)
