"""LDLᵀ and LᵀDL: a symmetric matrix as a unit lower triangle and a diagonal, without square roots and without pivoting.

LᵀDL eliminates the last row first.  In the mass matrix of a tree of bodies, parents before children, it leaves every
zero that a branch has with another zero, so that it costs what the branches cost.

Source: Featherstone, Rigid Body Dynamics Algorithms, Springer 2008, section 6.5.

Cholesky's factorization, over any scalar: L D Lᵀ first, whose pivots only wait for a division each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linkwork._util.checked_arguments import public
from linkwork.expr.linalg.array_conversion import Found, applied, square
from linkwork.expr.linalg.pivots import Pivots
from linkwork.expr.linalg.sparse_dot import Rows, is_zero, less
from linkwork.expr.scalar.functions import sqrt

__all__ = ["SymmetricFactors", "cholesky", "ldl", "ltdl", "ltdl_factors"]


@public
def ltdl(A: Any, *, status: bool = False) -> tuple[Any, ...]:
    """L and d of A = Lᵀ D L: a unit lower triangle, and the diagonal of D.

    A is symmetric: its lower triangle is read.  There is no pivoting, so this is for matrices of which it is known that
    none is needed: positive definite and quasidefinite ones.  With ``status`` also 0, or one more than the place of the
    first pivot that is zero.  Without, floats raise SingularMatrixError.
    """
    return _factored("ltdl", A, status, last_first=True)


@public
def ldl(A: Any, *, status: bool = False) -> tuple[Any, ...]:
    """L and d of A = L D Lᵀ: a unit lower triangle, and the diagonal of D.  As `ltdl`, from the first row on."""
    return _factored("ldl", A, status, last_first=False)


def _factored(caller: str, A: Any, status: bool, last_first: bool) -> tuple[Any, ...]:
    matrices = square(caller, A)
    n = matrices.shape[-1]
    order = range(n) if last_first else range(n - 1, -1, -1)

    def compute(rows: list[list[Any]], told: bool) -> Found:
        pivots = Pivots(caller, told=told, order=order)
        lower, d, _ = ltdl_factors([[rows[max(i, j)][min(i, j)] for j in order] for i in order], pivots)
        if not last_first:  # LᵀDL of the matrix read from its end
            lower, d = [[lower[j][i] for j in order] for i in order], d[::-1]
        full = [lower[i][j] if j < i else 1.0 if i == j else 0.0 for i in range(n) for j in range(n)]
        return [full, d], pivots.status

    return applied(caller, compute, [(matrices, 2)], [(n, n), (n,)], status)


def ltdl_factors(rows: Rows, pivots: Pivots) -> tuple[list[list[Any]], list[Any], list[Any]]:
    """L (what is below its diagonal), d and its reciprocals, of a matrix of which the lower triangle is read."""
    n = len(rows)
    lower: list[list[Any]] = [[0.0] * n for _ in range(n)]
    scaled: list[list[Any]] = [[0.0] * n for _ in range(n)]  # rows of D L
    inverse: list[Any] = [0.0] * n
    for i in range(n - 1, -1, -1):
        below = [lower[k][i] for k in range(i + 1, n)]
        for j in range(i + 1):
            scaled[i][j] = less(rows[i][j], below, [scaled[k][j] for k in range(i + 1, n)])
        inverse[i] = pivots.inverse(scaled[i][i], i)
        for j in range(i):
            lower[i][j] = scaled[i][j] * inverse[i]
    return lower, [scaled[i][i] for i in range(n)], inverse


@public
def cholesky(A: Any, *, status: bool = False) -> Any:
    """L of A = L Lᵀ, a lower triangle, where A is symmetric and positive definite: its lower triangle is read.

    With ``status`` also 0, or one more than the place of the first pivot that is not positive.  Without, floats raise
    SingularMatrixError.
    """
    matrices = square("cholesky", A)
    n = matrices.shape[-1]

    def compute(rows: list[list[Any]], told: bool) -> Found:
        pivots = Pivots("cholesky", positive=True, told=told)
        scaled: list[list[Any]] = []  # rows of the triangle of L D Lᵀ, times D
        inverse: list[Any] = []
        for i in range(n):
            row: list[Any] = []
            unit: list[Any] = []
            for j in range(i):
                row.append(less(rows[i][j], unit, scaled[j][:j]))
                unit.append(row[j] * inverse[j])
            row.append(less(rows[i][i], unit, row))
            inverse.append(pivots.inverse(row[i], i))
            scaled.append(row)
        roots = [sqrt(row[-1]) for row in scaled]  # none waits for another, as they would if rows were divided by them
        factors = [root * x for root, x in zip(roots, inverse, strict=True)]
        lower = [[x * f for x, f in zip(row[:-1], factors, strict=False)] for row in scaled]
        return [[x for i in range(n) for x in [*lower[i], roots[i], *[0.0] * (n - 1 - i)]]], pivots.status

    found = applied("cholesky", compute, [(matrices, 2)], [(n, n)], status, positive=True)
    return found if status else found[0]


class SymmetricFactors:
    """L D Lᵀ of a symmetric matrix, of which the lower triangle is read, column by column.

    ``inverse`` gives what stands for the reciprocal of a pivot, by its place and value: so what is no pivot can be left
    out, or be made one.
    """

    def __init__(self, rows: Rows, inverse: Callable[[int, Any], Any]) -> None:
        n = len(rows)
        self.lower: list[list[Any]] = [list(row[: i + 1]) for i, row in enumerate(rows)]
        self.inverse: list[Any] = []
        for k in range(n):
            self.inverse.append(inverse(k, self.lower[k][k]))
            column = [self.lower[i][k] for i in range(k + 1, n)]
            for i in range(k + 1, n):
                if is_zero(column[i - k - 1]):
                    continue
                share = self.lower[i][k] = column[i - k - 1] * self.inverse[k]
                for j in range(k + 1, i + 1):
                    if not is_zero(column[j - k - 1]):
                        self.lower[i][j] = self.lower[i][j] - share * column[j - k - 1]

    def solved(self, b: Sequence[Any]) -> list[Any]:
        """The solution with a right-hand side."""
        n, y = len(b), list(b)
        for i in range(n):
            y[i] = less(y[i], self.lower[i][:i], y[:i])
        y = [a if is_zero(a) else a * d for a, d in zip(y, self.inverse, strict=True)]
        for i in range(n - 1, -1, -1):
            y[i] = less(y[i], [self.lower[k][i] for k in range(i + 1, n)], y[i + 1 :])
        return y
