"""Ways to factor a square matrix and to solve with the factors, over any scalar.

A method says which of the matrix's elements it reads, and makes a flat list of numbers and truth values of them, with
which it solves A x = b and Aᵀ x = b.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork._util.messages import nearest
from linkwork.expr.linalg.sparse_dot import Rows, rows_of, subtract_dot, transposed
from linkwork.expr.linalg.triangular_factors import Pivots, ltdl_factors, lu_factors, swap_if

__all__ = ["METHODS", "Method", "Triangular", "method"]


class Method(ABC):
    """A factorization.  Methods are immutable values: equal if they do the same."""

    __slots__ = ()

    symmetric = False  # what is read stands for the elements on the other side of the diagonal too
    positive = False  # whether pivots have to be

    @abstractmethod
    def reads(self, n: int) -> list[tuple[int, int]]:
        """The places of the elements that count, of a matrix of n rows."""

    @abstractmethod
    def factors(self, rows: Rows, pivots: Pivots) -> list[Any]:
        """What to solve with; the first n² of it are numbers."""

    @abstractmethod
    def solved(self, factors: Sequence[Any], column: Sequence[Any]) -> list[Any]:
        """A⁻¹ times a column."""

    @abstractmethod
    def solved_transposed(self, factors: Sequence[Any], column: Sequence[Any]) -> list[Any]:
        """A⁻ᵀ times a column."""

    def exchanges(self, factors: Sequence[Any], n: int) -> Sequence[Any]:
        """Truth values, of which each changes the determinant's sign."""
        return factors[n * n :]

    def matrix(self, elements: Sequence[Any], n: int) -> list[list[Any]]:
        """The rows of the matrix that has these elements where it is read."""
        rows = [[0.0] * n for _ in range(n)]
        for (i, j), x in zip(self.reads(n), elements, strict=True):
            rows[i][j] = x
            if self.symmetric:
                rows[j][i] = x
        return rows


@dataclass(frozen=True, slots=True)
class General(Method):
    """A = Pᵀ L U: LU with partial pivoting."""

    def reads(self, n: int) -> list[tuple[int, int]]:
        return [(i, j) for i in range(n) for j in range(n)]

    def factors(self, rows: Rows, pivots: Pivots) -> list[Any]:
        factors, exchanges = lu_factors(rows, pivots)
        return [*(x for row in factors for x in row), *exchanges]

    def solved(self, factors: Sequence[Any], column: Sequence[Any]) -> list[Any]:
        n, x = len(column), list(column)
        rows = rows_of(factors, n)
        exchanges = iter(factors[n * n :])
        for k in range(n):
            for i in range(k + 1, n):
                x[k], x[i] = swap_if(next(exchanges), x[k], x[i])
            for i in range(k + 1, n):
                x[i] = subtract_dot(x[i], rows[i][k : k + 1], x[k : k + 1])
        return _backward(rows, x)

    def solved_transposed(self, factors: Sequence[Any], column: Sequence[Any]) -> list[Any]:
        n = len(column)
        columns = transposed(rows_of(factors, n))
        x = _forward(columns, column)
        exchanges = list(factors[n * n :])
        for k in range(n - 1, -1, -1):
            x[k] = subtract_dot(x[k], columns[k][k + 1 :], x[k + 1 :])
            for i in range(n - 1, k, -1):
                x[k], x[i] = swap_if(exchanges.pop(), x[k], x[i])
        return x


@dataclass(frozen=True, slots=True)
class Symmetric(Method):
    """A = Lᵀ D L, of a matrix of which the lower triangle is read."""

    positive: bool = False

    symmetric = True

    def reads(self, n: int) -> list[tuple[int, int]]:
        return [(i, j) for i in range(n) for j in range(i + 1)]

    def factors(self, rows: Rows, pivots: Pivots) -> list[Any]:
        lower, _, inverse = ltdl_factors(rows, pivots)
        n = len(rows)
        return [lower[i][j] if j < i else inverse[i] if i == j else 0.0 for i in range(n) for j in range(n)]

    def solved(self, factors: Sequence[Any], column: Sequence[Any]) -> list[Any]:
        n, x = len(column), list(column)
        rows = rows_of(factors, n)
        columns = transposed(rows)
        for i in range(n - 1, -1, -1):
            x[i] = subtract_dot(x[i], columns[i][i + 1 :], x[i + 1 :])
        for i in range(n):
            x[i] = subtract_dot(x[i] * rows[i][i], rows[i][:i], x[:i])
        return x

    solved_transposed = solved


@dataclass(frozen=True, slots=True)
class Triangular(Method):
    """A is triangular already; with ``unit`` its diagonal is ones, whatever stands there."""

    lower: bool
    unit: bool = False

    def reads(self, n: int) -> list[tuple[int, int]]:
        places = [(i, j) for i in range(n) for j in range(i + 1 - self.unit)]
        return places if self.lower else [(j, i) for i, j in places]

    def factors(self, rows: Rows, pivots: Pivots) -> list[Any]:
        n = len(rows)
        result = [[0.0] * n for _ in range(n)]
        for i, j in self.reads(n):
            result[i][j] = pivots.inverse(rows[i][i], i) if i == j else rows[i][j]
        if self.unit:
            for i in range(n):
                result[i][i] = 1.0
        return [x for row in result for x in row]

    def solved(self, factors: Sequence[Any], column: Sequence[Any]) -> list[Any]:
        rows = rows_of(factors, len(column))
        return _forward(rows, column) if self.lower else _backward(rows, column)

    def solved_transposed(self, factors: Sequence[Any], column: Sequence[Any]) -> list[Any]:
        columns = transposed(rows_of(factors, len(column)))
        return _backward(columns, column) if self.lower else _forward(columns, column)


METHODS: dict[str, Method] = {
    "gen": General(),
    "sym": Symmetric(),
    "pos": Symmetric(positive=True),
    "lower": Triangular(lower=True),
    "upper": Triangular(lower=False),
}
"""By what is assumed of the matrix."""


def method(caller: str, assume: str) -> Method:
    """The way to factor a matrix of which this is assumed.  Raises ValueError where there is none."""
    result = METHODS.get(assume) if isinstance(assume, str) else None
    if result is None:
        hint = nearest(str(assume), list(METHODS))
        raise ValueError(f"{caller}: assume: expected what is known of the matrix, got {assume!r}; {hint}")
    return result


def _forward(rows: Rows, column: Sequence[Any]) -> list[Any]:
    """The solution with a lower triangle, whose diagonal's reciprocals stand on the diagonal."""
    x: list[Any] = []
    for i, row in enumerate(rows):
        x.append(subtract_dot(column[i], row[:i], x) * row[i])
    return x


def _backward(rows: Rows, column: Sequence[Any]) -> list[Any]:
    """The solution with an upper triangle, whose diagonal's reciprocals stand on the diagonal."""
    x = list(column)
    for i in range(len(x) - 1, -1, -1):
        x[i] = subtract_dot(x[i], rows[i][i + 1 :], x[i + 1 :]) * rows[i][i]
    return x
