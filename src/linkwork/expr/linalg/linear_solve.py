"""Linear equations, determinants and inverses, differentiated with the existing factors.

`solve` and `solve_triangular`: x = A⁻¹ b, dx = A⁻¹ (db − dA x); in reverse, λ = A⁻ᵀ x̄, b̄ = λ and Ā = −λ xᵀ.

`det` and `slogdet`: d log|A| = tr(A⁻¹ dA).  The determinant of a matrix without a known structure is differentiated as
a polynomial, so its derivatives are valid at singular matrices.

`inv`: X = A⁻¹, dX = −X dA X, and in reverse Ā = −Xᵀ X̄ Xᵀ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any, ClassVar, NamedTuple

from linkwork._util.checked_arguments import public
from linkwork.expr.autodiff.custom_derivative import CustomDerivative, ImplicitDerivative, Solution, apply_rule
from linkwork.expr.control.closure_conversion import Residual
from linkwork.expr.linalg.array_conversion import Computed, right_side, run_on_arrays, square
from linkwork.expr.linalg.factorizations import Method, Triangular, method
from linkwork.expr.linalg.sparse_dot import (
    Rows,
    dot,
    gather_elements,
    identity,
    is_zero,
    negated,
    product,
    reciprocal_or_zero,
    rows_of,
    select,
    subtract_dot,
    transposed,
)
from linkwork.expr.linalg.triangular_factors import Pivots, swap_if
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.functions import eq, fabs, fmax, log, lt, sign, where
from linkwork.expr.scalar.symbol import Graph

__all__ = ["det", "inv", "slogdet", "solve", "solve_triangular"]


@public
def solve(A: Any, b: Any, *, assume: str = "gen", status: bool = False) -> Any:
    """Return the x of A x = b, where b has the shape (..., n), or (..., n, k) for k columns.

    b is one vector if it has one dimension, as in NumPy, or if it has one dimension less than A.

    ``assume`` states a property of A, and thereby the factorization.  "gen": none; LU with partial pivoting.  "pos":
    symmetric and positive definite; LᵀDL.  "sym": symmetric, and known to need no pivoting, such as a quasidefinite
    matrix; LᵀDL.  "lower" or "upper": triangular.  For "pos" and "sym" only the lower triangle of A is read.  No
    property is inferred from the elements.

    With ``status`` the result is (x, status).  The status is 0, or one more than the index of the first failed pivot;
    x is then invalid.  Without ``status``, a failed pivot raises SingularMatrixError for floats; in kernels x follows
    IEEE 754 and is infinite or NaN.
    """
    return _solved("solve", A, b, method("solve", assume), status)


@public
def solve_triangular(
    A: Any, b: Any, *, lower: bool = False, transposed: bool = False, unit_diagonal: bool = False, status: bool = False
) -> Any:
    """Return the x of A x = b, or of Aᵀ x = b with ``transposed``, for a triangular A.

    A is upper triangular, or lower triangular with ``lower``; only that triangle is read.  With ``unit_diagonal`` the
    diagonal is 1 and is not read.  b and ``status`` are as for `solve`.
    """
    matrices = square("solve_triangular", A)
    if transposed:
        matrices, lower = matrices.swapaxes(-1, -2), not lower
    return _solved("solve_triangular", matrices, b, Triangular(lower, unit_diagonal), status)


def _solved(caller: str, A: Any, b: Any, method: Method, status: bool) -> Any:
    matrices = square(caller, A)
    n = matrices.shape[-1]
    columns, vector = right_side(caller, matrices, b, n)
    k = columns.shape[-1]
    indices = method.reads(n)

    def compute(rows: list[list[Any]], right: list[list[Any]], with_status: bool) -> Computed:
        rule = Solve(caller, method, n, k, with_status)
        result = apply_rule(rule, [*(rows[i][j] for i, j in indices), *(x for row in right for x in row)])
        return [result[: n * k]], result[-1] if with_status else 0.0

    operands = [(matrices, 2), (columns, 2)]
    shape = (n,) if vector else (n, k)
    result = run_on_arrays(caller, compute, operands, [shape], status, positive=method.positive)
    return result if status else result[0]


@dataclass(frozen=True, slots=True)
class Solve(ImplicitDerivative):
    """Rule for the solution x of A x = b.

    The inputs are the elements of A that the method reads, then the elements of b, row by row.  The results are the
    elements of x, and with ``with_status`` the status.  The factors of A are the intermediate values, so derivatives
    use them again.
    """

    caller: str
    method: Method
    n: int
    k: int
    with_status: bool

    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        elements, right = self._split(inputs)
        rows = self.method.matrix(elements, self.n)
        pivots = Pivots(self.caller, positive=self.method.positive, with_status=self.with_status)
        factors = self.method.factors(rows, pivots)
        x = _flat([self.method.solved(factors, column) for column in transposed(right)], self.n)
        return [*x, pivots.status] if self.with_status else x, factors

    @property
    def size(self) -> int:
        return self.n * self.k

    def residual_jvp(self, at: Solution, direction: Sequence[Any]) -> Sequence[Any]:
        moved, right = self._split(direction)
        d = self.method.matrix(moved, self.n)
        columns = zip(transposed(right), transposed(self._columns(at.results)), strict=True)
        return _flat(
            [[subtract_dot(r, row, x) for r, row in zip(column, d, strict=True)] for column, x in columns], self.n
        )

    def residual_vjp(self, at: Solution, multipliers: Sequence[Any]) -> Sequence[Any]:
        x = self._columns(at.results)
        shares = [[-dot(row, solution) for solution in x] for row in self._columns(multipliers)]
        return [*gather_elements(shares, self.method.reads(self.n), self.method.symmetric), *multipliers]

    def solve_jacobian(self, at: Solution, right: Sequence[Any], transpose: bool) -> Sequence[Any]:
        solve = self.method.solved_transposed if transpose else self.method.solved
        return _flat([solve(at.extra, column) for column in transposed(self._columns(right))], self.n)

    def _split(self, values: Sequence[Any]) -> tuple[Sequence[Any], list[list[Any]]]:
        """Return the elements of A that are read, and the rows of b, from the rule's inputs or their derivatives."""
        count = len(values) - self.n * self.k
        return values[:count], self._columns(values[count:])

    def _columns(self, values: Sequence[Any]) -> list[list[Any]]:
        """Return the rows of b or x, from the flat list of their elements."""
        return [list(values[i * self.k : (i + 1) * self.k]) for i in range(self.n)]


def _flat(columns: Rows, n: int) -> list[Any]:
    """Return the elements of a matrix, row by row, from its columns of n elements each."""
    return [column[i] for i in range(n) for column in columns]


@public
def det(A: Any, *, assume: str = "gen") -> Any:
    """Return the determinant of a square matrix A; ``assume`` is as for `solve`.

    For up to three rows the determinant is expanded; for more rows it is the product of the pivots.  At a singular
    matrix the derivatives up to the third are valid; with ``assume`` "pos" and "sym" they are NaN there.
    """
    matrices, factorization = square("det", A), method("det", assume)
    n = matrices.shape[-1]

    def compute(rows: list[list[Any]], with_status: bool) -> Computed:
        if n <= 3 and assume == "gen":
            return [[_written_out(rows)]], 0.0
        if isinstance(factorization, Triangular):
            return [[math.prod((rows[i][i] for i in range(n)), start=1.0)]], 0.0
        return [apply_rule(Determinant(factorization, n, False), [rows[i][j] for i, j in factorization.reads(n)])], 0.0

    return run_on_arrays("det", compute, [(matrices, 2)], [()])[0]


class SlogdetResult(NamedTuple):
    """Result of `slogdet`."""

    sign: Any
    logabsdet: Any


@public
def slogdet(A: Any, *, assume: str = "gen") -> SlogdetResult:
    """Return the sign of the determinant and the logarithm of its absolute value, as numpy.linalg.slogdet.

    For a singular matrix A the results are 0 and -inf, and their derivatives are NaN.  ``assume`` is as for `solve`.
    """
    matrices, factorization = square("slogdet", A), method("slogdet", assume)
    n = matrices.shape[-1]

    def compute(rows: list[list[Any]], with_status: bool) -> Computed:
        result = apply_rule(Determinant(factorization, n, True), [rows[i][j] for i, j in factorization.reads(n)])
        return [result[:1], result[1:]], 0.0

    return SlogdetResult(*run_on_arrays("slogdet", compute, [(matrices, 2)], [(), ()]))


@dataclass(frozen=True, slots=True)
class Determinant(CustomDerivative):
    """Rule for the determinant or, with ``logarithm``, its sign and the logarithm of its absolute value."""

    method: Method
    n: int
    logarithm: bool

    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        pivots = Pivots("det", zero=True)
        factors = self.method.factors(self.method.matrix(inputs, self.n), pivots)
        whole: Any = 1.0
        size: Any = 0.0
        for pivot in pivots.values:
            whole = whole * (sign(pivot) if self.logarithm else pivot)
            if self.logarithm:
                size = size + log(fabs(pivot))
        for exchange in self.method.exchanges(factors, self.n):
            whole = select(exchange, -whole, whole)
        return [whole, size] if self.logarithm else [whole], factors

    def tangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], direction: Sequence[Any]
    ) -> Sequence[Any]:
        if self._is_polynomial:
            return [dot(_polynomial(self.n).vjp.run([*inputs, 1.0]), direction)]
        moved = self.method.matrix(direction, self.n)
        trace = dot(
            [x for column in self._inverse_columns(extra) for x in column], [x for row in moved for x in row]
        )  # columns of A⁻¹ times rows of dA
        scale = self._scale(results)
        return [0.0, scale * trace] if self.logarithm else [scale * trace]

    def cotangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], weights: Sequence[Any]
    ) -> Sequence[Any]:
        if self._is_polynomial:
            return [weights[0] * x for x in _polynomial(self.n).vjp.run([*inputs, 1.0])]
        weight = weights[-1] * self._scale(results)
        pulled = [[weight * x for x in column] for column in self._inverse_columns(extra)]
        return gather_elements(pulled, self.method.reads(self.n), self.method.symmetric)

    @property
    def _is_polynomial(self) -> bool:
        return not self.logarithm and not self.method.symmetric

    def _inverse_columns(self, factors: Sequence[Any]) -> list[list[Any]]:
        return [self.method.solved(factors, column) for column in identity(self.n)]

    def _scale(self, results: Sequence[Any]) -> Any:
        """Return the factor of tr(A⁻¹ dA) in the derivative: 1 for the logarithm, else the determinant.

        The factor is NaN for a singular matrix.
        """
        return where(eq(results[0], 0.0), math.nan, 1.0 if self.logarithm else results[0])


@lru_cache(maxsize=16)
def _polynomial(n: int) -> Residual:
    """Return a function for the determinant of n × n matrices that is differentiated operation by operation.

    n − 3 rows are eliminated with complete pivoting, and the determinant of the last three is written out. A pivot is
    zero only if the rank is below n − 3, where derivatives up to the third are zero.
    """
    inputs = Graph().inputs("a", (n * n,))
    rows = rows_of(inputs, n)
    total: Any = 1.0
    while len(rows) > 3:
        sizes = [reduce(fmax, map(fabs, row)) for row in rows]
        for i in range(1, len(rows)):
            larger = lt(sizes[0], sizes[i])
            sizes[0], _ = swap_if(larger, sizes[0], sizes[i])
            exchanged = [swap_if(larger, x, y) for x, y in zip(rows[0], rows[i], strict=True)]
            rows[0], rows[i] = [x for x, _ in exchanged], [y for _, y in exchanged]
            total = where(larger, -total, total)
        for j in range(1, len(rows)):
            larger = lt(fabs(rows[0][0]), fabs(rows[0][j]))
            for row in rows:
                row[0], row[j] = swap_if(larger, row[0], row[j])
            total = where(larger, -total, total)
        pivot, *top = rows[0]
        inverse = reciprocal_or_zero(pivot, eq(pivot, 0.0))
        rows = [[x - row[0] * inverse * y for x, y in zip(row[1:], top, strict=True)] for row in rows[1:]]
        total = total * pivot
    return Residual(Region.of([total * _written_out(rows)], inputs), 0, 1)


def _written_out(rows: list[list[Any]]) -> Any:
    """Return the determinant of up to three rows, by Laplace expansion along the first row."""
    if not rows:
        return 1.0
    total: Any = 0.0
    for j, x in enumerate(rows[0]):
        if not is_zero(x):
            minor = x * _written_out([row[:j] + row[j + 1 :] for row in rows[1:]])
            total = total - minor if j % 2 else total + minor
    return total


@public
def inv(A: Any, *, assume: str = "gen", status: bool = False) -> Any:
    """Return the inverse of a square matrix A.  To multiply by it, `solve` is cheaper and more accurate.

    ``assume`` and ``status`` are as for `solve`.
    """
    matrices, factorization = square("inv", A), method("inv", assume)
    n = matrices.shape[-1]

    def compute(rows: list[list[Any]], with_status: bool) -> Computed:
        result = apply_rule(Inverse(factorization, n, with_status), [rows[i][j] for i, j in factorization.reads(n)])
        return [result[: n * n]], result[-1] if with_status else 0.0

    result = run_on_arrays("inv", compute, [(matrices, 2)], [(n, n)], status, positive=factorization.positive)
    return result if status else result[0]


@dataclass(frozen=True, slots=True)
class Inverse(CustomDerivative):
    """Derivative rule for the inverse of a matrix; its inputs are the matrix elements that the factorization reads."""

    method: Method
    n: int
    with_status: bool
    separable: ClassVar[bool] = False

    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        pivots = Pivots("inv", positive=self.method.positive, with_status=self.with_status)
        factors = self.method.factors(self.method.matrix(inputs, self.n), pivots)
        columns = [self.method.solved(factors, column) for column in identity(self.n)]
        if self.method.symmetric:  # compute one triangle, and copy it to the other
            columns = [[columns[min(i, j)][max(i, j)] for j in range(self.n)] for i in range(self.n)]
        flat = [column[i] for i in range(self.n) for column in columns]
        return [*flat, pivots.status] if self.with_status else flat, ()

    def tangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], direction: Sequence[Any]
    ) -> Sequence[Any]:
        inverse = rows_of(results, self.n)
        moved = product(product(inverse, self.method.matrix(direction, self.n)), inverse)
        return [*(x for row in negated(moved) for x in row), *[0.0] * self.with_status]

    def cotangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], weights: Sequence[Any]
    ) -> Sequence[Any]:
        turned = transposed(rows_of(results, self.n))
        pulled = negated(product(product(turned, rows_of(weights, self.n)), turned))
        return gather_elements(pulled, self.method.reads(self.n), self.method.symmetric)
