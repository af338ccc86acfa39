"""Factorizations of square matrices, and solves with the factors, over any scalar.

A method defines which elements of the matrix it reads.  It computes factors as a flat list of numbers and truth values,
and solves A x = b and Aᵀ x = b with these factors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork._util.messages import did_you_mean
from linkwork.expr.linalg.sparse_dot import Rows, rows_of, subtract_dot, transposed
from linkwork.expr.linalg.triangular_factors import Pivots, ltdl_factors, lu_factors, swap_if

__all__ = ["METHODS", "Method", "Triangular", "method"]


class Method(ABC):
    """Method that factors a square matrix A and solves linear equations with the factors.

    Instances are immutable; two instances are equal if they represent the same method.
    """

    __slots__ = ()

    symmetric = False  # if True, the elements read determine those across the diagonal
    positive = False  # if True, pivots must be positive

    @abstractmethod
    def reads(self, n: int) -> list[tuple[int, int]]:
        """Return the (row, column) indices of the elements of an n × n matrix that the method reads."""

    @abstractmethod
    def factors(self, rows: Rows, pivots: Pivots) -> list[Any]:
        """Return the factors of a matrix as a flat list.

        The first n² elements are numbers, and all further ones truth values.
        """

    @abstractmethod
    def solved(self, factors: Sequence[Any], column: Sequence[Any]) -> list[Any]:
        """Return A⁻¹ · column, for the ``factors`` of A."""

    @abstractmethod
    def solved_transposed(self, factors: Sequence[Any], column: Sequence[Any]) -> list[Any]:
        """Return A⁻ᵀ · column, for the ``factors`` of A."""

    def exchanges(self, factors: Sequence[Any], n: int) -> Sequence[Any]:
        """Return a truth value for each possible row exchange; a true one changes the determinant's sign."""
        return factors[n * n :]

    def matrix(self, elements: Sequence[Any], n: int) -> list[list[Any]]:
        """Return the rows of an n × n matrix with these elements at the indices that `reads` returns, zeros elsewhere.

        If the method is for symmetric matrices, each element is also at its mirrored position.
        """
        rows = [[0.0] * n for _ in range(n)]
        for (i, j), x in zip(self.reads(n), elements, strict=True):
            rows[i][j] = x
            if self.symmetric:
                rows[j][i] = x
        return rows


@dataclass(frozen=True, slots=True)
class General(Method):
    """LU factorization with partial pivoting, A = Pᵀ L U, of any regular matrix."""

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
    """LᵀDL factorization, A = Lᵀ D L, of a symmetric matrix, of which the lower triangle is read."""

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
    """Substitution with a triangular matrix A; with ``unit`` the diagonal of A is 1 and is not read."""

    lower: bool
    unit: bool = False

    def reads(self, n: int) -> list[tuple[int, int]]:
        indices = [(i, j) for i in range(n) for j in range(i + 1 - self.unit)]
        return indices if self.lower else [(j, i) for i, j in indices]

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
"""By the assumption about the matrix."""


def method(caller: str, assume: str) -> Method:
    """Return the method for a property that ``assume`` states: "gen", "pos", "sym", "lower" or "upper".

    Raises ValueError for another word.
    """
    result = METHODS.get(assume) if isinstance(assume, str) else None
    if result is None:
        expected, hint = ", ".join(METHODS), did_you_mean(str(assume), METHODS)
        raise ValueError(f"{caller}: assume: expected one of {expected}, got {assume!r}{f'; {hint}' if hint else ''}")
    return result


def _forward(rows: Rows, column: Sequence[Any]) -> list[Any]:
    """Solve by forward substitution with a lower triangle whose diagonal is stored as reciprocals."""
    x: list[Any] = []
    for i, row in enumerate(rows):
        x.append(subtract_dot(column[i], row[:i], x) * row[i])
    return x


def _backward(rows: Rows, column: Sequence[Any]) -> list[Any]:
    """Solve by back substitution with an upper triangle whose diagonal is stored as reciprocals."""
    x = list(column)
    for i in range(len(x) - 1, -1, -1):
        x[i] = subtract_dot(x[i], rows[i][i + 1 :], x[i + 1 :]) * rows[i][i]
    return x
