"""LU with partial pivoting, over any scalar: rows change places by choices between numbers."""

from __future__ import annotations

from typing import Any

from linkwork._util.checked_arguments import public
from linkwork.expr.linalg.array_conversion import Found, applied, square
from linkwork.expr.linalg.lu_pivoting_exchanges import eliminated, exchanged, larger
from linkwork.expr.linalg.pivots import Pivots
from linkwork.expr.linalg.sparse_dot import Rows, is_zero, less
from linkwork.expr.scalar.symbol import Symbol

__all__ = ["lu", "lu_factors"]

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
