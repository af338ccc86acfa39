"""Linear equations: `solve` and `solve_triangular`, differentiated with the factors that are there.

Of x = A⁻¹ b, dx = A⁻¹ (db − dA x); in reverse, λ = A⁻ᵀ x̄, b̄ = λ and Ā = −λ xᵀ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork._util.checked_arguments import public
from linkwork.expr.autodiff.custom_derivative import Rule, ruled
from linkwork.expr.linalg.array_conversion import Found, applied, right_side, square
from linkwork.expr.linalg.factorizations import Method, Triangular, method
from linkwork.expr.linalg.pivots import Pivots
from linkwork.expr.linalg.sparse_dot import Rows, dot, gathered, less, transposed

__all__ = ["solve", "solve_triangular"]


@public
def solve(A: Any, b: Any, *, assume: str = "gen", status: bool = False) -> Any:
    """x of A x = b, where b has the shape (..., n), or (..., n, k) for k columns.

    As in NumPy, b is one vector where it has one dimension; it also is where it has one less than A.  ``assume`` says
    what A is: "gen" (any: LU with partial pivoting), "pos" (symmetric and positive definite: LᵀDL), "sym" (symmetric,
    and known to need no pivoting, such as a quasidefinite one: LᵀDL) - both read its lower triangle - "lower" or
    "upper" (triangular).  Nothing is guessed from the elements.  With ``status`` the result is x and 0, or one more
    than the place of the first pivot that failed, and x is then of no use.  Without, floats raise SingularMatrixError,
    and in kernels x is what IEEE 754 makes of it: infinite or no number.
    """
    return _solved("solve", A, b, method("solve", assume), status)


@public
def solve_triangular(
    A: Any, b: Any, *, lower: bool = False, transposed: bool = False, unit_diagonal: bool = False, status: bool = False
) -> Any:
    """x of A x = b, or of Aᵀ x = b, where A is triangular: what is on the other side of its diagonal is not read.

    With ``unit_diagonal`` the diagonal is not read either.  b and ``status`` are as for `solve`.
    """
    matrices = square("solve_triangular", A)
    if transposed:
        matrices, lower = matrices.swapaxes(-1, -2), not lower
    return _solved("solve_triangular", matrices, b, Triangular(lower, unit_diagonal), status)


def _solved(who: str, A: Any, b: Any, method: Method, status: bool) -> Any:
    matrices = square(who, A)
    n = matrices.shape[-1]
    columns, vector = right_side(who, matrices, b, n)
    k = columns.shape[-1]
    places = method.reads(n)

    def compute(rows: list[list[Any]], right: list[list[Any]], told: bool) -> Found:
        rule = Solve(who, method, n, k, told)
        found = ruled(rule, [*(rows[i][j] for i, j in places), *(x for row in right for x in row)])
        return [found[: n * k]], found[-1] if told else 0.0

    operands = [(matrices, 2), (columns, 2)]
    shape = (n,) if vector else (n, k)
    found = applied(who, compute, operands, [shape], status, positive=method.positive)
    return found if status else found[0]


@dataclass(frozen=True, slots=True)
class Solve(Rule):
    """x of A x = b by the elements that the method reads and those of b; with the factors for more."""

    who: str
    method: Method
    n: int
    k: int
    told: bool

    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        elements, right = self._split(inputs)
        rows = self.method.matrix(elements, self.n)
        pivots = Pivots(self.who, positive=self.method.positive, told=self.told)
        factors = self.method.factors(rows, pivots)
        x = _flat([self.method.solved(factors, column) for column in transposed(right)], self.n)
        return [*x, pivots.status] if self.told else x, factors

    def tangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], direction: Sequence[Any]
    ) -> Sequence[Any]:
        moved, right = self._split(direction)
        d = self.method.matrix(moved, self.n)
        x = transposed(self._columns(results))
        found = [
            self.method.solved(extra, [less(r, row, solution) for r, row in zip(column, d, strict=True)])
            for column, solution in zip(transposed(right), x, strict=True)
        ]
        return [*_flat(found, self.n), *[0.0] * self.told]

    def cotangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], weights: Sequence[Any]
    ) -> Sequence[Any]:
        columns = transposed(self._columns(weights))
        pulled = transposed([self.method.solved_transposed(extra, column) for column in columns]) or [[]] * self.n
        x = self._columns(results)
        shares = [[-dot(row, solution) for solution in x] for row in pulled]
        found = gathered(shares, self.method.reads(self.n), self.method.symmetric)
        return [*found, *(value for row in pulled for value in row)]

    def _split(self, values: Sequence[Any]) -> tuple[Sequence[Any], list[list[Any]]]:
        """Of the inputs or their changes: the matrix's elements that are read, and the rows of b."""
        count = len(values) - self.n * self.k
        return values[:count], self._columns(values[count:])

    def _columns(self, values: Sequence[Any]) -> list[list[Any]]:
        """The rows of b or x."""
        return [list(values[i * self.k : (i + 1) * self.k]) for i in range(self.n)]


def _flat(columns: Rows, n: int) -> list[Any]:
    """The elements of a matrix of n rows that is given by its columns, row by row."""
    return [column[i] for i in range(n) for column in columns]
