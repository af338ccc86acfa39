"""Bounded least squares by block principal pivoting.

    min ½ ‖A x + r‖² + ½ xᵀ D x + cᵀ x   with   lower ≤ x ≤ upper

D is a positive diagonal.  If the active bounds are known, the other unknowns follow from a linear system, with the
smaller of two matrices: with E = D⁻¹, zero for unknowns at their bound b,

    y = A x + r:     (1 + A E Aᵀ) y = r + A b − A E c,     x = b − E (c + Aᵀ y),

or D + AᵀA.  Unknowns without bounds that occur in many rows, such as those of a base, may stay in the system next to y
if that is cheaper: their elimination would couple many rows.  Unknowns that violate a bound are set to this bound, and
active bounds with a multiplier of the wrong sign are released: all such changes are made together as long as their
number falls.  If it has not fallen for some rounds, only the last unknown is changed, which makes the method finite.
Most problems have few active bounds: then one or two rounds suffice for any size.

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
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, eq, fmax, fmin, lt, not_, or_, where

__all__ = ["BoundedSolution", "boxed_least_squares"]

Scalars = Sequence[Any]
Rows = Sequence[Scalars]

MOST = 200  # maximum rounds
_PATIENCE = 4.0  # rounds without progress before single changes
_ROUNDING = by_type(1e-12)  # tolerated violation of a bound


class BoundedSolution(NamedTuple):
    """Solution x, its active bounds (1 upper, −1 lower, else 0), convergence, and the number of rounds."""

    x: list[Any]
    sides: list[Any]
    least: Any
    rounds: Any


class _State(NamedTuple):
    x: tuple[Any, ...]
    sides: tuple[Any, ...]
    continues: Any
    min_changes: Any  # smallest number of wrong sides so far
    patience: Any


def boxed_least_squares(
    A: Rows, r: Scalars, D: Scalars, c: Scalars, lower: Scalars, upper: Scalars, guess: Scalars | None = None
) -> BoundedSolution:
    """Return the minimum of ½ ‖A x + r‖² + ½ xᵀ D x + cᵀ x with lower ≤ x ≤ upper; D (n) is a diagonal.

    Infinite float bounds count as absent, and no lower bound may exceed the upper one.  ``guess`` (n) are initial
    active bounds (1 upper, −1 lower, else 0).  They do not change the result, only the number of rounds.
    """
    n = len(D)
    columns = transposed(A) if A else [[] for _ in range(n)]
    bounded = [k for k in range(n) if not (_is_absent(lower[k], -math.inf) and _is_absent(upper[k], math.inf))]
    solve = _by_rows(A, columns, r, D, c, bounded) if len(A) < n else _by_columns(columns, r, D, c)
    curvature = {k: D[k] + dot(columns[k], columns[k]) for k in bounded}

    def pivot(state: _State) -> _State:
        sides = dict(zip(bounded, state.sides, strict=True))
        is_fixed = {k: not_(eq(side, 0.0)) for k, side in sides.items()}
        bound_values = {k: where(lt(0.0, side), upper[k], lower[k]) for k, side in sides.items()}
        x, slope = solve(is_fixed, bound_values)
        next_sides: list[Any] = []
        needs_change: list[Any] = []
        for k, side in sides.items():
            above, below = lt(upper[k] + _ROUNDING, x[k]), lt(x[k], lower[k] - _ROUNDING)
            multiplier = side * slope[k]  # negative if the bound is active
            releasable = and_(and_(is_fixed[k], lt(lower[k], upper[k])), lt(_ROUNDING * curvature[k], multiplier))
            next_side = where(is_fixed[k], where(releasable, 0.0, side), where(above, 1.0, where(below, -1.0, 0.0)))
            next_sides.append(next_side)
            needs_change.append(not_(eq(next_side, side)))
        count: Any = 0.0
        for change in needs_change:
            count = count + where(change, 1.0, 0.0)
        fewer = lt(count, state.min_changes)
        change_all = or_(fewer, lt(0.5, state.patience))
        new_sides: list[Any] = []
        changed_after: Any = False  # True if a later one needs a change
        for side, next_side, change in zip(
            reversed(state.sides), reversed(next_sides), reversed(needs_change), strict=True
        ):
            changes = and_(change, or_(change_all, not_(changed_after)))
            new_sides.append(where(changes, next_side, side))
            changed_after = or_(changed_after, change)
        return _State(
            tuple(x),
            tuple(reversed(new_sides)),
            where(lt(0.5, count), 1.0, 0.0),
            where(fewer, count, state.min_changes),
            where(fewer, _PATIENCE, state.patience - 1.0),
        )

    if not bounded:
        return BoundedSolution(solve({}, {})[0], [0.0] * n, 1.0, 1.0)
    sides = (0.0,) * len(bounded) if guess is None else tuple(guess[k] for k in bounded)
    start = _State((0.0,) * n, sides, 1.0, n + 1.0, _PATIENCE)
    result = while_loop(lambda state: lt(0.5, state.continues), pivot, start, max_iterations=MOST)
    last: _State = result.state
    x, final_sides = list(last.x), [0.0] * n
    for k, side in zip(bounded, last.sides, strict=True):
        x[k] = fmin(fmax(x[k], lower[k]), upper[k])
        final_sides[k] = side
    return BoundedSolution(x, final_sides, where(eq(result.status, 0.0), 1.0, 0.0), result.iterations)


def _is_absent(x: Any, bound: float) -> bool:
    return x.__class__ is float and x == bound


def _by_rows(A: Rows, columns: Rows, r: Scalars, D: Scalars, c: Scalars, bounded: Sequence[int]) -> Any:
    """Return a function that solves the least-squares problem with given active bounds, by a system with A's rows.

    The unknowns of the system are y = A x + r, and those elements of x that `_uneliminated` returns.
    """
    m, uneliminated = len(A), _uneliminated(A, bounded)
    inverse = [0.0 if k in uneliminated else 1.0 / d for k, d in enumerate(D)]

    def solve(is_fixed: dict[int, Any], bound_values: dict[int, Any]) -> tuple[list[Any], list[Any]]:
        E = [where(is_fixed[k], 0.0, e) if k in is_fixed else e for k, e in enumerate(inverse)]
        b = [where(is_fixed[k], bound_values[k], 0.0) if k in is_fixed else 0.0 for k in range(len(D))]
        scaled = [[x if is_zero(x) else 0.0 if is_zero(e) else x * e for x, e in zip(row, E, strict=True)] for row in A]
        S = [
            [dot(row, scaled[j]) + (1.0 if i == j else 0.0) if j <= i else 0.0 for j in range(m)]
            for i, row in enumerate(A)
        ]
        for position, k in enumerate(uneliminated):
            S.append([x if is_zero(x) else -x for x in columns[k]] + [0.0] * position + [-D[k]])
        size = len(S)
        rhs = [a + dot(row, b) - dot(weighed, c) for a, row, weighed in zip(r, A, scaled, strict=True)]
        result = Semidefinite.of([row + [0.0] * (size - len(row)) for row in S], more=0.0).once(
            [*rhs, *(c[k] for k in uneliminated)]
        )
        y = result[:m]
        gradient = [a + dot(column, y) for a, column in zip(c, columns, strict=True)]
        x = [position if is_zero(e) else position - e * p for position, e, p in zip(b, E, gradient, strict=True)]
        for k, value in zip(uneliminated, result[m:], strict=True):
            x[k] = value
        return x, [p + d * a for p, d, a in zip(gradient, D, b, strict=True)]

    return solve


def _uneliminated(A: Rows, bounded: Sequence[int]) -> list[int]:
    """Return the indices of the elements of x that stay in the linear system for y = A x + r.

    They are all elements without bounds if the factorisation then needs fewer products, else none.
    """
    n = len(A[0]) if A else 0
    columns_of_rows = [{k for k, x in enumerate(row) if not is_zero(x)} for row in A]
    free = [k for k in range(n) if k not in bounded and any(k in row for row in columns_of_rows)]
    columns_without_free = [row - set(free) for row in columns_of_rows]
    products = (
        _products(_coupling_graph(columns_of_rows)),
        _products(
            _coupling_graph(
                columns_without_free, [(i, k) for k in free for i in range(len(A)) if k in columns_of_rows[i]]
            )
        ),
    )
    costs = [
        sum(len(a & b) for i, a in enumerate(rows) for b in rows[: i + 1])
        for rows in (columns_of_rows, columns_without_free)
    ]
    return free if products[1] + costs[1] < products[0] + costs[0] else []


def _coupling_graph(rows: Sequence[set[int]], more: Sequence[tuple[int, int]] = ()) -> dict[int, set[int]]:
    """Return the graph of nonzeros of the linear system for y = A x + r: for each node, the nodes coupled to it.

    Row i of A is node i; rows that share an element of x are coupled. ``rows`` are the columns in which each row is
    nonzero. ``more`` are pairs (row i, element k of x that stays in the system); element k is node −1 − k.
    """
    near = {i: {j for j, next_side in enumerate(rows) if j != i and row & next_side} for i, row in enumerate(rows)}
    for i, k in more:
        near[i].add(-1 - k)
        near.setdefault(-1 - k, set()).add(i)
    return near


def _products(near: dict[int, set[int]]) -> int:
    """Estimate the number of products of a factorisation in minimum-degree order, from the coupling graph ``near``."""
    near, result = {i: set(neighbours) for i, neighbours in near.items()}, 0
    while near:
        i = min(near, key=lambda row: (len(near[row]), row))
        neighbours = near.pop(i)
        result += (len(neighbours) + 1) * (len(neighbours) + 6) // 2
        for j in neighbours:
            near[j] = (near[j] | neighbours) - {i, j}
    return result


def _by_columns(columns: Rows, r: Scalars, D: Scalars, c: Scalars) -> Any:
    """Return a function that solves the least-squares problem with given active bounds, by the matrix D + AᵀA.

    D is a diagonal.
    """
    n = len(D)
    H = [[dot(columns[i], columns[j]) + (D[i] if i == j else 0.0) for j in range(i + 1)] for i in range(n)]
    full = mirrored(H)
    g = [a + dot(column, r) for a, column in zip(c, columns, strict=True)]

    def solve(is_fixed: dict[int, Any], bound_values: dict[int, Any]) -> tuple[list[Any], list[Any]]:
        b = [where(is_fixed[k], bound_values[k], 0.0) if k in is_fixed else 0.0 for k in range(n)]
        gradient_at_bounds = [a + dot(row, b) for a, row in zip(g, full, strict=True)]
        S: list[list[Any]] = [[0.0] * n for _ in range(n)]
        for i in range(n):
            for j in range(i):
                if not is_zero(full[i][j]):
                    both = [is_fixed[k] for k in (i, j) if k in is_fixed]
                    removed = or_(*both) if len(both) == 2 else both[0] if both else None
                    S[i][j] = full[i][j] if removed is None else where(removed, 0.0, full[i][j])
            S[i][i] = full[i][i]
        step = Semidefinite.of(S, more=0.0).once(
            [where(is_fixed[k], 0.0, p) if k in is_fixed else p for k, p in enumerate(gradient_at_bounds)]
        )
        x = [a - d for a, d in zip(b, step, strict=True)]
        return x, [a + dot(row, x) for a, row in zip(g, full, strict=True)]

    return solve
