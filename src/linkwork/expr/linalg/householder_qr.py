"""QR by Householder reflections, over any scalar.

Derivatives use only Q and R, since reflections skip columns that are zero already.  With A₁ and R₁ the first k columns
of A and R, M = Qᵀ dA₁ R₁⁻¹, and X the skew matrix with the elements of M below the diagonal,

    dR = Qᵀ dA − X R,    dQ = Q X + (1 − Q Qᵀ) dA₁ R₁⁻¹

In reverse, with N the elements of Y − Yᵀ below the diagonal and Y = Qᵀ Q̄ − R̄ Rᵀ: Ā is Q R̄, plus (Q N + (1 − Q Qᵀ)
Q̄) R₁⁻ᵀ in the first k columns.  If Q is square, no formula divides by the last element of R₁.

Source: Golub and Van Loan, Matrix Computations, 4th ed., 2013, section 5.2; signs are LAPACK's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from linkwork._util.checked_arguments import public
from linkwork.expr.autodiff.custom_derivative import CustomDerivative, apply_rule
from linkwork.expr.linalg.array_conversion import Computed, matrix, run_on_arrays
from linkwork.expr.linalg.factorizations import Triangular
from linkwork.expr.linalg.sparse_dot import (
    Rows,
    add_matrices,
    dot,
    flat,
    identity,
    is_zero,
    negated,
    product,
    rows_of,
    subtract_dot,
    transposed,
)
from linkwork.expr.linalg.triangular_factors import Pivots
from linkwork.expr.scalar.functions import copysign, eq, sqrt, where

__all__ = ["QRResult", "Reflections", "orthogonal_factors", "qr", "upper_factor"]

_UPPER = Triangular(lower=False)


class QRResult(NamedTuple):
    """Result of `qr`."""

    Q: Any
    R: Any


@public
def qr(A: Any) -> QRResult:
    """Return Q and R of A = Q R, as numpy.linalg.qr does.

    Q has k = min(m, n) orthonormal columns; R is upper triangular.  Where R has a zero on its diagonal, the column of Q
    is arbitrary but orthogonal to the other columns.  Sums of squares are not scaled: elements below 1e-150 or above
    1e150 are lost.  Derivatives omit the terms that would be divided by a zero on R's diagonal, except its last element
    if Q is square.
    """
    matrices = matrix("qr", "A", A)
    m, n = matrices.shape[-2:]
    k = min(m, n)

    def compute(rows: list[list[Any]], with_status: bool) -> Computed:
        q, r = orthogonal_factors(rows, n)
        return [flat(q), flat(r)], 0.0

    return QRResult(*run_on_arrays("qr", compute, [(matrices, 2)], [(m, k), (k, n)]))


def orthogonal_factors(rows: Rows, n: int) -> tuple[list[list[Any]], list[list[Any]]]:
    """Return the rows of Q and of R, for a matrix with n columns: see `qr`."""
    return _split(apply_rule(_Orthogonal(len(rows), n, True), flat(rows)), len(rows), n)


def upper_factor(rows: Rows, n: int) -> list[list[Any]]:
    """Return only the rows of R, for a matrix with n columns."""
    return rows_of(apply_rule(_Orthogonal(len(rows), n, False), flat(rows)), n, min(len(rows), n))


@dataclass(frozen=True, slots=True)
class _Orthogonal(CustomDerivative):
    """Derivative rule for the factors Q and R of an m × n matrix.

    The results are the elements of R, row by row; with ``with_q`` the elements of Q follow.
    """

    m: int
    n: int
    with_q: bool
    separable: ClassVar[bool] = False

    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        k = min(self.m, self.n)
        reflections = Reflections(rows_of(inputs, self.n, self.m), self.n)
        columns = reflections.orthonormal(k) if self.with_q else []
        return [*flat(reflections.upper(k)), *(column[i] for i in range(self.m) for column in columns)], ()

    def tangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], direction: Sequence[Any]
    ) -> Sequence[Any]:
        q, r, factors = self._factors(inputs, results)
        k, moved = len(r), rows_of(direction, self.n, self.m)
        pulled = product(transposed(q), moved)
        M = [_UPPER.solved_transposed(factors, row[:k]) for row in pulled]
        X = [[M[i][j] if j < i else 0.0 - M[j][i] if i < j else 0.0 for j in range(k)] for i in range(k)]
        columns = transposed(r)
        upper = [
            [subtract_dot(x, X[i], columns[j]) if i <= j else 0.0 for j, x in enumerate(row)]
            for i, row in enumerate(pulled)
        ]
        if not self.with_q:
            return flat(upper)
        dq = product(q, X)
        if k < self.m:
            outer = [_UPPER.solved_transposed(factors, row[:k]) for row in moved]
            dq = add_matrices(dq, outer, negated(product(q, M)))
        return flat([*upper, *dq])

    def cotangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], weights: Sequence[Any]
    ) -> Sequence[Any]:
        q, r, factors = self._factors(inputs, results)
        k = len(r)
        by_r = [[w if i <= j else 0.0 for j, w in enumerate(row)] for i, row in enumerate(rows_of(weights, self.n, k))]
        by_q = rows_of(weights[k * self.n :], k, self.m) if self.with_q else [[0.0] * k for _ in q]
        inside = product(transposed(q), by_q)
        Y = add_matrices(inside, negated(product(by_r, transposed(r))))
        first = product(q, [[Y[i][j] - Y[j][i] if j < i else 0.0 for j in range(k)] for i in range(k)])
        if k < self.m:
            first = add_matrices(first, by_q, negated(product(q, inside)))
        result = product(q, by_r)
        for row, row_of_first in zip(result, first, strict=True):
            row[:k] = [x + y for x, y in zip(row, _UPPER.solved(factors, row_of_first), strict=False)]
        return flat(result)

    def _factors(
        self, inputs: Sequence[Any], results: Sequence[Any]
    ) -> tuple[list[list[Any]], list[list[Any]], list[Any]]:
        """Return the rows of Q, the rows of R, and factors of R's leading square block for triangular solves.

        The factors have the reciprocals of R's diagonal, with 0 for the reciprocal of 0.
        """
        if not self.with_q:
            results = apply_rule(_Orthogonal(self.m, self.n, True), inputs)
        q, r = _split(results, self.m, self.n)
        return q, r, _UPPER.factors([row[: len(r)] for row in r], Pivots("qr", zero=True))


def _split(values: Sequence[Any], m: int, n: int) -> tuple[list[list[Any]], list[list[Any]]]:
    """Return the rows of Q and the rows of R, from a flat list of the elements of R followed by the elements of Q."""
    k = min(m, n)
    return rows_of(values[k * n :], k, m), rows_of(values, n, k)


class Reflections:
    """Householder reflections that reduce a matrix to an upper triangle R: A = Q R, where Q is their product."""

    def __init__(self, rows: Sequence[Sequence[Any]], n: int) -> None:
        self.m, self.n = len(rows), n
        self._columns = transposed(rows) if rows else [[] for _ in range(n)]
        self._steps: list[tuple[list[Any], Any]] = []  # elements below the 1 of each vector, and its factor
        for k in range(min(self.m, n)):
            column = self._columns[k]
            vector, factor, column[k] = _reflection(column[k], column[k + 1 :])
            column[k + 1 :] = [0.0] * (self.m - k - 1)
            self._steps.append((vector, factor))
            for later_column in self._columns[k + 1 :]:
                self._reflect(k, later_column)

    def upper(self, rows: int) -> list[list[Any]]:
        """Return the first ``rows`` rows of R."""
        return [[column[i] for column in self._columns] for i in range(rows)]

    def apply_transpose(self, column: Sequence[Any]) -> list[Any]:
        """Return Qᵀ times a column."""
        result = list(column)
        for k in range(len(self._steps)):
            self._reflect(k, result)
        return result

    def apply(self, column: Sequence[Any]) -> list[Any]:
        """Return Q · column, for a column that is padded with zeros if it is shorter than Q."""
        result = [*column, *[0.0] * (self.m - len(column))]
        for k in range(len(self._steps) - 1, -1, -1):
            self._reflect(k, result)
        return result

    def orthonormal(self, count: int) -> list[list[Any]]:
        """Return the first ``count`` columns of Q, each as a list."""
        return [self.apply(column[:count]) for column in identity(self.m)[:count]]

    def _reflect(self, k: int, column: list[Any]) -> None:
        vector, factor = self._steps[k]
        if is_zero(factor):
            return
        share = factor * (column[k] + dot(vector, column[k + 1 :]))
        column[k] = column[k] - share
        for i, x in enumerate(vector, k + 1):
            column[i] = subtract_dot(column[i], (x,), (share,))


def _reflection(top: Any, below: Sequence[Any]) -> tuple[list[Any], Any, Any]:
    """Return a Householder vector, its factor, and the first element of the reflected column; the others become 0.

    ``top`` is the column's first element, ``below`` are the others.  The first element of the vector is 1 and is not
    stored.  A column that is already zero below is unchanged.
    """
    square = dot(below, below)
    if is_zero(square):
        return [0.0] * len(below), 0.0, top
    flat = eq(square, 0.0)
    length = where(flat, 1.0, -copysign(sqrt(top * top + square), top))
    scale = where(flat, 0.0, 1.0 / where(flat, 1.0, top - length))
    return [x * scale for x in below], where(flat, 0.0, (length - top) / length), where(flat, top, length)
