"""Rows that change places by choices between numbers; and elimination with it as loops over rows.

A loop's step takes a multiple of the top row off one row, and compares what is left with the best so far, which becomes
the next top row: each row is taken up once a step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linkwork.expr.arrays.symbol_array import filled
from linkwork.expr.control import scan
from linkwork.expr.linalg.pivots import Pivots
from linkwork.expr.linalg.sparse_dot import chosen, is_zero
from linkwork.expr.scalar.functions import fabs, lt, where

__all__ = ["eliminated", "exchanged", "larger"]


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
