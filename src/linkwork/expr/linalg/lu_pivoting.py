"""LU with partial pivoting, over any scalar: rows change places by choices between numbers.

Rows that change places by choices between numbers; and elimination with it as loops over rows.

A loop's step takes a multiple of the top row off one row, and compares what is left with the best so far, which becomes
the next top row: each row is taken up once a step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linkwork._util.checked_arguments import public
from linkwork.expr.arrays.symbol_array import filled
from linkwork.expr.control import scan
from linkwork.expr.linalg.array_conversion import Found, applied, square
from linkwork.expr.linalg.pivots import Pivots
from linkwork.expr.linalg.sparse_dot import Rows, chosen, is_zero, less
from linkwork.expr.scalar.functions import fabs, lt, where
from linkwork.expr.scalar.symbol import Symbol

__all__ = ["exchanged", "lu", "lu_factors"]


_LOOPED, _UNROLLED = 16, 12  # rows: of more than the first, all steps but the last so many are loops


@public
def lu(A: Any, *, status: bool = False) -> tuple[Any, ...]:
    """L, U and p of A[p] = L U: a unit lower triangle, an upper one, and the order of A's rows.

    The places p are numbers, 0.0 to n - 1.  In each column the largest of the rows that are left comes up, so that no
    element of L is larger than 1; it changes places with every larger one on the way, so the order of the others may
    differ from LAPACK's.  With ``status`` also 0, or one more than the first column without a pivot.  Without, floats
    raise SingularMatrixError.
    """
    matrices = square("lu", A)
    n = matrices.shape[-1]

    def compute(rows: list[list[Any]], told: bool) -> Found:
        pivots = Pivots("lu", positive=False, told=told)
        factors, exchanges = lu_factors(rows, pivots)
        place = iter(exchanges)
        order: list[Any] = [float(i) for i in range(n)]
        upper = [[0.0] * i + factors[i][i:] for i in range(n)]
        lower: list[list[Any]] = [[] for _ in range(n)]
        for k in range(n):
            for i in range(k + 1, n):
                swap = next(place)
                order[k], order[i] = exchanged(swap, order[k], order[i])
                for j in range(k):
                    lower[k][j], lower[i][j] = exchanged(swap, lower[k][j], lower[i][j])
            lower[k] += [1.0, *[0.0] * (n - 1 - k)]
            for i in range(k + 1, n):
                lower[i].append(factors[i][k])
            upper[k][k] = pivots.seen[k]
        return [[x for row in lower for x in row], [x for row in upper for x in row], order], pivots.status

    return applied("lu", compute, [(matrices, 2)], [(n, n), (n, n), (n,)], status)


def lu_factors(rows: Rows, pivots: Pivots) -> tuple[list[list[Any]], list[Any]]:
    """U with the reciprocals of its diagonal, below them the multipliers of each step, and which rows changed places.

    In step k, row k changes places with row i or not, for i from k + 1 on; then its multiples are taken off the rows
    below.  Multipliers stay where they are when rows change places in later steps.  On symbols, the first steps of a
    large matrix are loops over rows.
    """
    n = len(rows)
    found = [list(row) for row in rows]
    exchanges: list[Any] = []
    looped = n - _UNROLLED if n > _LOOPED and all(x.__class__ is Symbol for row in rows for x in row) else 0
    if looped:
        exchanges += eliminated(found, pivots, looped)
    for k in range(looped, n):
        top = found[k]
        for i in range(k + 1, n):
            row = found[i]
            swap = larger(row[k], top[k])
            exchanges.append(swap)
            if swap is not False:
                for j in range(k, n):
                    top[j], row[j] = exchanged(swap, top[j], row[j])
        top[k] = pivots.inverse(top[k], k)
        for i in range(k + 1, n):
            row = found[i]
            row[k] = factor = row[k] * top[k]
            if not is_zero(factor):
                for j in range(k + 1, n):
                    row[j] = less(row[j], (factor,), (top[j],))
    return found, exchanges


def exchanged(swap: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """The two in the other order where the condition holds."""
    return chosen(swap, y, x), chosen(swap, x, y)


def larger(candidate: Any, best: Any) -> Any:
    """Whether a number is larger than the best so far; what is zero whatever the inputs are never is."""
    if is_zero(candidate):
        return False
    return True if is_zero(best) else lt(fabs(best), fabs(candidate))


def eliminated(found: list[list[Any]], pivots: Pivots, steps: int) -> list[Any]:
    """Do the first steps of LU with partial pivoting on symbols, in place; which rows changed places."""
    n = len(found)
    rest: Any = filled((n, n), [x for row in found for x in row])
    top, rest, exchanges = _searched(rest[0], rest[1:])
    for k in range(steps):
        inverse = pivots.inverse(top[0], k)
        found[k][k:] = [inverse, *top[1:].tolist()]
        factors = [row[0] * inverse for row in rest]
        below = top[1:]
        if k < steps - 1:
            best, others = rest[0][1:] - factors[0] * below, filled((n - k - 2,), factors[1:])
            top, (rest, swaps) = scan(_next_best(below), best, (rest[1:], others))
            exchanges += _conditions(swaps)
        else:
            _, rest = scan(_less_multiples(below), 0.0, (rest, filled((n - k - 1,), factors)))
        for row, factor in zip(found[k + 1 :], factors, strict=True):
            row[k] = factor
    for row, left in zip(found[steps:], rest, strict=True):
        row[steps:] = left.tolist()
    return exchanges


Step = Callable[[Any, Any], tuple[Any, Any]]


def _less_multiples(of: Any) -> Step:
    """The step that takes a row's multiple off each."""
    return lambda none, inputs: (none, inputs[0][1:] - inputs[1] * of)


def _next_best(of: Any) -> Step:
    """The same, and the step compares what is left with the best so far."""
    return lambda best, inputs: _compared(best, inputs[0][1:] - inputs[1] * of)


def _searched(best: Any, rows: Any) -> tuple[Any, Any, list[Any]]:
    """The row with the largest first element, the others, and which changed places."""
    top, (others, swaps) = scan(_compared, best, rows)
    return top, others, _conditions(swaps)


def _compared(best: Any, row: Any) -> tuple[Any, tuple[Any, Any]]:
    """The better of two rows; the other one, and 1 where they changed places."""
    swap = larger(row[0], best[0])
    pairs = [exchanged(swap, x, y) for x, y in zip(best.tolist(), row.tolist(), strict=True)]
    size = (len(pairs),)
    return filled(size, [x for x, _ in pairs]), (filled(size, [y for _, y in pairs]), where(swap, 1.0, 0.0))


def _conditions(swaps: Any) -> list[Any]:
    """Truth values of the numbers that loops give."""
    return [lt(0.5, x) for x in swaps.tolist()]
