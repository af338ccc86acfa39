"""Least squares in a box, by block pivoting: the x of least ½ ‖A x + r‖² + ½ xᵀ D x + cᵀ x with lower ≤ x ≤ upper.

D is a positive diagonal.  Where it is known which numbers are at a bound, the others are a linear solve, by the smaller
of two matrices: with E = D⁻¹, zero where a number is at its bound b,

    y = A x + r:     (1 + A E Aᵀ) y = r + A b − A E c,     x = b − E (c + Aᵀ y),

or D + AᵀA.  Of numbers without bounds that many rows have, as a base's, it may be less work to keep them beside y as
unknowns: then what they join stays apart.  What is then beyond a bound goes to it, and what a bound holds that it need
not is freed, all at once, as long as that makes fewer of them; where it does not for some rounds, only the last one
changes, which is finite.  Most boxes hold nothing or little of x: then this takes one round or two, whatever the size.

Sources: Júdice and Pires, A block principal pivoting algorithm for large-scale strictly monotone linear complementarity
problems, Computers and Operations Research 21, 1994; Murty, Note on a Bard-type scheme for solving the complementarity
problem, Opsearch 11, 1974.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork.expr.control.loops import while_loop
from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import dot, is_zero, mirrored, transposed
from linkwork.expr.scalar.functions import and_, eq, fmax, fmin, lt, not_, or_, where

__all__ = ["Boxed", "boxed_least_squares"]

Scalars = Sequence[Any]
Rows = Sequence[Scalars]

MOST = 200  # rounds
_PATIENCE = 4.0  # rounds that make no fewer before they become careful
_ROUNDING = 1e-12  # how far beyond a bound is none


class Boxed(NamedTuple):
    """x within the box; 1 where it is at an upper bound, −1 at a lower one, else 0; whether it is the least; rounds."""

    x: list[Any]
    sides: list[Any]
    least: Any
    rounds: Any


class _State(NamedTuple):
    x: tuple[Any, ...]
    sides: tuple[Any, ...]
    going: Any
    fewest: Any  # numbers that were wrong
    patience: Any


def boxed_least_squares(
    A: Rows, r: Scalars, D: Scalars, c: Scalars, lower: Scalars, upper: Scalars, guess: Scalars | None = None
) -> Boxed:
    """x.  Bounds that are infinite floats are none; a lower bound is never above the upper one.

    ``guess`` are sides (n) to begin with: what comes out is the same, the sooner the better they are.
    """
    n = len(D)
    columns = transposed(A) if A else [[] for _ in range(n)]
    bounded = [k for k in range(n) if not (_none(lower[k], -math.inf) and _none(upper[k], math.inf))]
    solve = _by_rows(A, columns, r, D, c, bounded) if len(A) < n else _by_columns(columns, r, D, c)
    curvature = {k: D[k] + dot(columns[k], columns[k]) for k in bounded}

    def round_of(state: _State) -> _State:
        sides = dict(zip(bounded, state.sides, strict=True))
        held = {k: not_(eq(side, 0.0)) for k, side in sides.items()}
        places = {k: where(lt(0.0, side), upper[k], lower[k]) for k, side in sides.items()}
        x, slope = solve(held, places)
        following: list[Any] = []
        wrong: list[Any] = []
        for k, side in sides.items():
            above, below = lt(upper[k] + _ROUNDING, x[k]), lt(x[k], lower[k] - _ROUNDING)
            pulled = side * slope[k]  # uphill beyond the bound: below zero
            loose = and_(and_(held[k], lt(lower[k], upper[k])), lt(_ROUNDING * curvature[k], pulled))
            other = where(held[k], where(loose, 0.0, side), where(above, 1.0, where(below, -1.0, 0.0)))
            following.append(other)
            wrong.append(not_(eq(other, side)))
        count: Any = 0.0
        for one in wrong:
            count = count + where(one, 1.0, 0.0)
        fewer = lt(count, state.fewest)
        all_at_once = or_(fewer, lt(0.5, state.patience))
        chosen: list[Any] = []
        later: Any = False  # whether one after it is wrong
        for side, other, one in zip(reversed(state.sides), reversed(following), reversed(wrong), strict=True):
            changes = and_(one, or_(all_at_once, not_(later)))
            chosen.append(where(changes, other, side))
            later = or_(later, one)
        return _State(
            tuple(x),
            tuple(reversed(chosen)),
            where(lt(0.5, count), 1.0, 0.0),
            where(fewer, count, state.fewest),
            where(fewer, _PATIENCE, state.patience - 1.0),
        )

    if not bounded:
        return Boxed(solve({}, {})[0], [0.0] * n, 1.0, 1.0)
    sides = (0.0,) * len(bounded) if guess is None else tuple(guess[k] for k in bounded)
    start = _State((0.0,) * n, sides, 1.0, n + 1.0, _PATIENCE)
    result = while_loop(lambda state: lt(0.5, state.going), round_of, start, max_iterations=MOST)
    last: _State = result.state
    x, found_sides = list(last.x), [0.0] * n
    for k, side in zip(bounded, last.sides, strict=True):
        x[k] = fmin(fmax(x[k], lower[k]), upper[k])
        found_sides[k] = side
    return Boxed(x, found_sides, where(eq(result.status, 0.0), 1.0, 0.0), result.iterations)


def _none(x: Any, bound: float) -> bool:
    return x.__class__ is float and x == bound


def _by_rows(A: Rows, columns: Rows, r: Scalars, D: Scalars, c: Scalars, bounded: Sequence[int]) -> Any:
    """By a matrix of as many rows as A has, and one more for each number that is kept beside them."""
    m, beside = len(A), _beside(A, bounded)
    inverse = [0.0 if k in beside else 1.0 / d for k, d in enumerate(D)]

    def solve(held: dict[int, Any], places: dict[int, Any]) -> tuple[list[Any], list[Any]]:
        E = [where(held[k], 0.0, e) if k in held else e for k, e in enumerate(inverse)]
        b = [where(held[k], places[k], 0.0) if k in held else 0.0 for k in range(len(D))]
        scaled = [[x if is_zero(x) else 0.0 if is_zero(e) else x * e for x, e in zip(row, E, strict=True)] for row in A]
        S = [
            [dot(row, scaled[j]) + (1.0 if i == j else 0.0) if j <= i else 0.0 for j in range(m)]
            for i, row in enumerate(A)
        ]
        for place, k in enumerate(beside):
            S.append([x if is_zero(x) else -x for x in columns[k]] + [0.0] * place + [-D[k]])
        size = len(S)
        given = [a + dot(row, b) - dot(weighed, c) for a, row, weighed in zip(r, A, scaled, strict=True)]
        result = Semidefinite.of([row + [0.0] * (size - len(row)) for row in S], more=0.0).once(
            [*given, *(c[k] for k in beside)]
        )
        y = result[:m]
        pull = [a + dot(column, y) for a, column in zip(c, columns, strict=True)]
        x = [place if is_zero(e) else place - e * p for place, e, p in zip(b, E, pull, strict=True)]
        for k, value in zip(beside, result[m:], strict=True):
            x[k] = value
        return x, [p + d * a for p, d, a in zip(pull, D, b, strict=True)]

    return solve


def _beside(A: Rows, bounded: Sequence[int]) -> list[int]:
    """Which numbers are kept beside the rows' unknowns: those without bounds, if that takes fewer products."""
    n = len(A[0]) if A else 0
    some = [{k for k, x in enumerate(row) if not is_zero(x)} for row in A]
    free = [k for k in range(n) if k not in bounded and any(k in row for row in some)]
    apart = [row - set(free) for row in some]
    together = (
        _products(_joined(some)),
        _products(_joined(apart, [(i, k) for k in free for i in range(len(A)) if k in some[i]])),
    )
    costs = [sum(len(a & b) for i, a in enumerate(rows) for b in rows[: i + 1]) for rows in (some, apart)]
    return free if together[1] + costs[1] < together[0] + costs[0] else []


def _joined(rows: Sequence[set[int]], more: Sequence[tuple[int, int]] = ()) -> dict[int, set[int]]:
    """Which unknowns a matrix joins: rows that share a number, and rows with numbers beside them."""
    near = {i: {j for j, other in enumerate(rows) if j != i and row & other} for i, row in enumerate(rows)}
    for i, k in more:
        near[i].add(-1 - k)
        near.setdefault(-1 - k, set()).add(i)
    return near


def _products(near: dict[int, set[int]]) -> int:
    """About how many products factors take, in the order of least degree."""
    near, result = {i: set(others) for i, others in near.items()}, 0
    while near:
        i = min(near, key=lambda row: (len(near[row]), row))
        others = near.pop(i)
        result += (len(others) + 1) * (len(others) + 6) // 2
        for j in others:
            near[j] = (near[j] | others) - {i, j}
    return result


def _by_columns(columns: Rows, r: Scalars, D: Scalars, c: Scalars) -> Any:
    """By a matrix of as many rows as x has."""
    n = len(D)
    H = [[dot(columns[i], columns[j]) + (D[i] if i == j else 0.0) for j in range(i + 1)] for i in range(n)]
    full = mirrored(H)
    g = [a + dot(column, r) for a, column in zip(c, columns, strict=True)]

    def solve(held: dict[int, Any], places: dict[int, Any]) -> tuple[list[Any], list[Any]]:
        b = [where(held[k], places[k], 0.0) if k in held else 0.0 for k in range(n)]
        pulls = [a + dot(row, b) for a, row in zip(g, full, strict=True)]
        S: list[list[Any]] = [[0.0] * n for _ in range(n)]
        for i in range(n):
            for j in range(i):
                if not is_zero(full[i][j]):
                    both = [held[k] for k in (i, j) if k in held]
                    gone = or_(*both) if len(both) == 2 else both[0] if both else None
                    S[i][j] = full[i][j] if gone is None else where(gone, 0.0, full[i][j])
            S[i][i] = full[i][i]
        step = Semidefinite.of(S, more=0.0).once(
            [where(held[k], 0.0, p) if k in held else p for k, p in enumerate(pulls)]
        )
        x = [a - d for a, d in zip(b, step, strict=True)]
        return x, [a + dot(row, x) for a, row in zip(g, full, strict=True)]

    return solve
