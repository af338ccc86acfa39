"""Triangular factorizations over any scalar: LDLᵀ, LᵀDL, Cholesky and LU with partial pivoting.

LDLᵀ and LᵀDL factor a symmetric matrix into a unit triangle and a diagonal, without square roots and without pivoting.
LᵀDL eliminates the last row first.  For the mass matrix of a tree of bodies, parents before children, it preserves the
zeros between branches, so the cost is that of the branches.  Cholesky is L D Lᵀ with square roots computed last, so
that each pivot depends on one division and no square root.

LU exchanges rows by selections between numbers.  Large matrices are eliminated by loops over rows: a step subtracts a
multiple of the top row from one row, and compares the result with the best row so far, which becomes the next top row.

`Pivots` records the reciprocals of pivots, and which of them failed.

Source: Featherstone, Rigid Body Dynamics Algorithms, Springer 2008, section 6.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from linkwork._util.checked_arguments import public
from linkwork.errors import SingularMatrixError
from linkwork.expr.arrays.symbol_array import object_array
from linkwork.expr.control import scan
from linkwork.expr.linalg.array_conversion import Computed, run_on_arrays, square
from linkwork.expr.linalg.sparse_dot import Rows, is_zero, reciprocal, reciprocal_or_zero, select, subtract_dot
from linkwork.expr.scalar.functions import and_, eq, fabs, lt, sqrt, where
from linkwork.expr.scalar.symbol import Symbol

__all__ = ["Pivots", "SymmetricFactors", "cholesky", "ldl", "ltdl", "ltdl_factors", "lu", "lu_factors", "swap_if"]


@public
def ltdl(A: Any, *, status: bool = False) -> tuple[Any, ...]:
    """Return L and d of A = Lᵀ D L: a unit lower triangle, and the diagonal of D.

    A is symmetric; its lower triangle is read.  There is no pivoting, so A must be known to need none: positive
    definite or quasidefinite.  With ``status`` there is a third result: 0, or one more than the index of the first
    zero pivot.  Without ``status``, a zero pivot raises SingularMatrixError for floats.
    """
    return _factored("ltdl", A, status, last_first=True)


@public
def ldl(A: Any, *, status: bool = False) -> tuple[Any, ...]:
    """Return L and d of A = L D Lᵀ: a unit lower triangle, and the diagonal of D.

    Arguments and ``status`` are as for `ltdl`; the first row is eliminated first.
    """
    return _factored("ldl", A, status, last_first=False)


def _factored(caller: str, A: Any, status: bool, last_first: bool) -> tuple[Any, ...]:
    matrices = square(caller, A)
    n = matrices.shape[-1]
    order = range(n) if last_first else range(n - 1, -1, -1)

    def compute(rows: list[list[Any]], with_status: bool) -> Computed:
        pivots = Pivots(caller, with_status=with_status, order=order)
        lower, d, _ = ltdl_factors([[rows[max(i, j)][min(i, j)] for j in order] for i in order], pivots)
        if not last_first:  # LᵀDL of the matrix read from its end
            lower, d = [[lower[j][i] for j in order] for i in order], d[::-1]
        full = [lower[i][j] if j < i else 1.0 if i == j else 0.0 for i in range(n) for j in range(n)]
        return [full, d], pivots.status

    return run_on_arrays(caller, compute, [(matrices, 2)], [(n, n), (n,)], status)


def ltdl_factors(rows: Rows, pivots: Pivots) -> tuple[list[list[Any]], list[Any], list[Any]]:
    """Return L below its diagonal, the diagonal d of D, and its reciprocals, for A = Lᵀ D L.

    ``rows`` is A, of which only the lower triangle is read.
    """
    n = len(rows)
    lower: list[list[Any]] = [[0.0] * n for _ in range(n)]
    scaled: list[list[Any]] = [[0.0] * n for _ in range(n)]  # rows of D L
    inverse: list[Any] = [0.0] * n
    for i in range(n - 1, -1, -1):
        below = [lower[k][i] for k in range(i + 1, n)]
        for j in range(i + 1):
            scaled[i][j] = subtract_dot(rows[i][j], below, [scaled[k][j] for k in range(i + 1, n)])
        inverse[i] = pivots.inverse(scaled[i][i], i)
        for j in range(i):
            lower[i][j] = scaled[i][j] * inverse[i]
    return lower, [scaled[i][i] for i in range(n)], inverse


@public
def cholesky(A: Any, *, status: bool = False) -> Any:
    """Return L of A = L Lᵀ, a lower triangle, for a symmetric positive definite A.

    The lower triangle of A is read.  With ``status`` there is a second result: 0, or one more than the index of the
    first pivot that is not positive.  Without ``status``, such a pivot raises SingularMatrixError for floats.
    """
    matrices = square("cholesky", A)
    n = matrices.shape[-1]

    def compute(rows: list[list[Any]], with_status: bool) -> Computed:
        pivots = Pivots("cholesky", positive=True, with_status=with_status)
        scaled: list[list[Any]] = []  # rows of the triangle of L D Lᵀ, times D
        inverse: list[Any] = []
        for i in range(n):
            row: list[Any] = []
            unit: list[Any] = []
            for j in range(i):
                row.append(subtract_dot(rows[i][j], unit, scaled[j][:j]))
                unit.append(row[j] * inverse[j])
            row.append(subtract_dot(rows[i][i], unit, row))
            inverse.append(pivots.inverse(row[i], i))
            scaled.append(row)
        roots = [sqrt(row[-1]) for row in scaled]  # independent of each other, as rows are not divided by them
        factors = [root * x for root, x in zip(roots, inverse, strict=True)]
        lower = [[x * f for x, f in zip(row[:-1], factors, strict=False)] for row in scaled]
        return [[x for i in range(n) for x in [*lower[i], roots[i], *[0.0] * (n - 1 - i)]]], pivots.status

    result = run_on_arrays("cholesky", compute, [(matrices, 2)], [(n, n)], status, positive=True)
    return result if status else result[0]


_LOOPED, _UNROLLED = 16, 12  # for more rows than the first, all steps but the last 12 are loops


@public
def lu(A: Any, *, status: bool = False) -> tuple[Any, ...]:
    """Return L, U and p of A[p] = L U: a unit lower triangle, an upper triangle, and the order of A's rows.

    The indices p are floats, 0.0 to n - 1.  Each column uses the largest remaining element as pivot, so no element of
    L exceeds 1.  In the search, the pivot row is exchanged with every row that has a larger element, one after the
    other, so the order of the other rows may differ from LAPACK's.  With ``status`` there is a fourth result: 0, or
    one more than the index of the first column without a pivot.  Without ``status``, such a column raises
    SingularMatrixError for floats.
    """
    matrices = square("lu", A)
    n = matrices.shape[-1]

    def compute(rows: list[list[Any]], with_status: bool) -> Computed:
        pivots = Pivots("lu", positive=False, with_status=with_status)
        factors, exchanges = lu_factors(rows, pivots)
        index = iter(exchanges)
        order: list[Any] = [float(i) for i in range(n)]
        upper = [[0.0] * i + factors[i][i:] for i in range(n)]
        lower: list[list[Any]] = [[] for _ in range(n)]
        for k in range(n):
            for i in range(k + 1, n):
                swap = next(index)
                order[k], order[i] = swap_if(swap, order[k], order[i])
                for j in range(k):
                    lower[k][j], lower[i][j] = swap_if(swap, lower[k][j], lower[i][j])
            lower[k] += [1.0, *[0.0] * (n - 1 - k)]
            for i in range(k + 1, n):
                lower[i].append(factors[i][k])
            upper[k][k] = pivots.values[k]
        return [[x for row in lower for x in row], [x for row in upper for x in row], order], pivots.status

    return run_on_arrays("lu", compute, [(matrices, 2)], [(n, n), (n, n), (n,)], status)


def lu_factors(rows: Rows, pivots: Pivots) -> tuple[list[list[Any]], list[Any]]:
    """Return the LU factors of a matrix in one square matrix, and a truth value for each possible row exchange.

    The matrix has U on and above the diagonal, with reciprocals on the diagonal, and the multipliers of L below.  In
    step k, row k may be exchanged with each row i > k; then multiples of row k are subtracted from the rows below.
    Multipliers stay in place when rows are exchanged in later steps.  On symbols, the first steps of a large matrix are
    loops over rows.
    """
    n = len(rows)
    result = [list(row) for row in rows]
    exchanges: list[Any] = []
    looped = n - _UNROLLED if n > _LOOPED and all(x.__class__ is Symbol for row in rows for x in row) else 0
    if looped:
        exchanges += eliminate_in_loops(result, pivots, looped)
    for k in range(looped, n):
        top = result[k]
        for i in range(k + 1, n):
            row = result[i]
            swap = is_larger(row[k], top[k])
            exchanges.append(swap)
            if swap is not False:
                for j in range(k, n):
                    top[j], row[j] = swap_if(swap, top[j], row[j])
        top[k] = pivots.inverse(top[k], k)
        for i in range(k + 1, n):
            row = result[i]
            row[k] = factor = row[k] * top[k]
            if not is_zero(factor):
                for j in range(k + 1, n):
                    row[j] = subtract_dot(row[j], (factor,), (top[j],))
    return result, exchanges


def swap_if(swap: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Return (y, x) where the condition is true, else (x, y)."""
    return select(swap, y, x), select(swap, x, y)


def is_larger(candidate: Any, best: Any) -> Any:
    """Return the condition that |candidate| exceeds |best|; it is False for a structural zero."""
    if is_zero(candidate):
        return False
    return True if is_zero(best) else lt(fabs(best), fabs(candidate))


def eliminate_in_loops(result: list[list[Any]], pivots: Pivots, steps: int) -> list[Any]:
    """Run the first ``steps`` steps of LU with partial pivoting on symbols, as loops over rows.

    The rows of ``result`` are changed.  Return a truth value for each possible row exchange.
    """
    n = len(result)
    remaining: Any = object_array((n, n), [x for row in result for x in row])
    top, remaining, exchanges = _find_pivot_row(remaining[0], remaining[1:])
    for k in range(steps):
        inverse = pivots.inverse(top[0], k)
        result[k][k:] = [inverse, *top[1:].tolist()]
        factors = [row[0] * inverse for row in remaining]
        below = top[1:]
        if k < steps - 1:
            best, next_factors = remaining[0][1:] - factors[0] * below, object_array((n - k - 2,), factors[1:])
            top, (remaining, swaps) = scan(_next_best(below), best, (remaining[1:], next_factors))
            exchanges += _conditions(swaps)
        else:
            _, remaining = scan(_subtract_multiples(below), 0.0, (remaining, object_array((n - k - 1,), factors)))
        for row, factor in zip(result[k + 1 :], factors, strict=True):
            row[k] = factor
    for row, left in zip(result[steps:], remaining, strict=True):
        row[steps:] = left.tolist()
    return exchanges


Step = Callable[[Any, Any], tuple[Any, Any]]


def _subtract_multiples(of: Any) -> Step:
    """Return a loop step that subtracts a multiple of the pivot row ``of`` from one of the rows below it."""
    return lambda state, inputs: (state, inputs[0][1:] - inputs[1] * of)


def _next_best(of: Any) -> Step:
    """Return a loop step that subtracts a multiple of the pivot row ``of`` and searches the next pivot row.

    The result of each row is compared with the best row so far.
    """
    return lambda best, inputs: _compare_rows(best, inputs[0][1:] - inputs[1] * of)


def _find_pivot_row(best: Any, rows: Any) -> tuple[Any, Any, list[Any]]:
    """Return the row with the largest first element in magnitude, the other rows, and whether each was exchanged."""
    top, (other_rows, swaps) = scan(_compare_rows, best, rows)
    return top, other_rows, _conditions(swaps)


def _compare_rows(best: Any, row: Any) -> tuple[Any, tuple[Any, Any]]:
    """Compare the first elements of two rows; return the row with the larger magnitude, and a pair for the loop.

    The first result is the best row so far. The pair is the other row, and 1.0 if the rows were exchanged, else 0.0.
    """
    swap = is_larger(row[0], best[0])
    pairs = [swap_if(swap, x, y) for x, y in zip(best.tolist(), row.tolist(), strict=True)]
    size = (len(pairs),)
    return object_array(size, [x for x, _ in pairs]), (object_array(size, [y for _, y in pairs]), where(swap, 1.0, 0.0))


def _conditions(swaps: Any) -> list[Any]:
    """Return truth values for the numbers 0 or 1 that a loop returned."""
    return [lt(0.5, x) for x in swaps.tolist()]


class Pivots:
    """Reciprocals of a factorization's pivots, with a check of each pivot.

    A pivot fails if its reciprocal is zero, infinite or NaN, or if it must be positive and is not. A pivot that is
    known at trace time is checked then: if it fails, an error is raised, unless ``with_status``. With ``zero``, no
    pivot fails, and the reciprocal of zero is zero.
    """

    def __init__(
        self,
        caller: str,
        *,
        positive: bool = False,
        with_status: bool = False,
        zero: bool = False,
        order: Sequence[int] | None = None,
    ) -> None:
        self.caller, self.positive, self.with_status, self._zero = caller, positive, with_status, zero
        self._order = order  # indices in the original matrix if a permuted one is factored
        self.values: list[Any] = []
        self._fine: list[tuple[int, Any]] = []

    def inverse(self, pivot: Any, index: int) -> Any:
        """Return the reciprocal of a pivot; ``index`` is its index on the diagonal, for the status."""
        if self._zero:
            self.values.append(pivot)
            return reciprocal_or_zero(pivot, eq(pivot, 0.0))
        inverse = reciprocal(pivot)
        self.values.append(pivot)
        index = index if self._order is None else self._order[index]
        known = inverse.__class__ is float
        if self.with_status or known:
            size = inverse if self.positive else fabs(inverse)
            is_regular = and_(lt(0.0, size), lt(size, math.inf))
            if not self.with_status and not is_regular:
                raise SingularMatrixError(self.caller, index, positive=self.positive)
            self._fine.append((index, is_regular))
        return inverse

    @property
    def status(self) -> Any:
        """Status: 0 if all pivots are valid, otherwise one more than the index of the first failed one."""
        result: Any = 0.0
        for index, is_regular in reversed(self._fine):
            result = where(is_regular, result, index + 1.0)
        return result


class SymmetricFactors:
    """Factors L D Lᵀ of a symmetric matrix, computed column by column from its lower triangle.

    ``inverse`` returns the reciprocal of a pivot for its index and value, so that invalid pivots can be skipped or
    replaced.
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
        """Return the x of L D Lᵀ x = b."""
        n, y = len(b), list(b)
        for i in range(n):
            y[i] = subtract_dot(y[i], self.lower[i][:i], y[:i])
        y = [a if is_zero(a) else a * d for a, d in zip(y, self.inverse, strict=True)]
        for i in range(n - 1, -1, -1):
            y[i] = subtract_dot(y[i], [self.lower[k][i] for k in range(i + 1, n)], y[i + 1 :])
        return y
