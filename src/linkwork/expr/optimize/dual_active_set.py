"""Dual active-set method for strictly convex quadratic programs, as pivots of one symmetric tableau.

The program is min ½ xᵀHx + gᵀx, l ≤ C x ≤ u, with rows scaled so that G = C H⁻¹ Cᵀ has ones on its diagonal.  The
active set W has the rows that are fixed at a bound b.  The tableau T is G swept by W:

    T_WW = −G_WW⁻¹,     T_IW = G_IW G_WW⁻¹,     T_II = G_II − G_IW G_WW⁻¹ G_WI.

A column h beside it has the values at the minimum with all of W active: the multipliers λ_W, and v_I = c_iᵀx of the
other rows.  One operation adds a row p to W or removes it, with d = T_pp and c the column of p:

    T_ij ← T_ij − c_i c_j / d,     T_ip ← ±c_i / d,     T_pp ← −1/d.

Multipliers are stored relative to their initial values, which saves digits if the solution is near.

The current multipliers always have valid signs.  If the multipliers in h have valid signs too, the row with the largest
violation enters. Otherwise the step to h ends where the first multiplier becomes 0, and its row leaves.  A row that
depends on W, T_pp = 0, can only replace another row.  Along the ray (e_p, −c_W) of multipliers the dual function grows
until the first multiplier becomes 0.  If none does, no x satisfies the rows, and the ray proves it.

Sources: Goldfarb and Idnani, A numerically stable dual method for solving strictly convex quadratic programs,
Mathematical Programming 27, 1983; Arnström, Bemporad and Axehill, A dual active-set solver for embedded quadratic
programming using recursive LDLᵀ updates, IEEE Transactions on Automatic Control 67, 2022 (both directions together);
Beale, On quadratic programming, 1959 and Goodnight, A tutorial on the sweep operator, 1979 (tableaus).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from linkwork.expr.arrays.symbol_array import object_array
from linkwork.expr.control import cond, scan, take
from linkwork.expr.control.loops import watching_while_loop
from linkwork.expr.scalar.functions import and_, eq, fabs, fmax, le, lt, not_, or_, where

__all__ = [
    "EQUATION_WEIGHT",
    "RUNNING",
    "ActiveSetState",
    "NextChange",
    "ScaledBounds",
    "packed_index",
    "run_active_set",
]

RUNNING, OPTIMAL, CONTRADICTION = 1.0, 0.0, -1.0
EQUATION_WEIGHT = 1e9  # of a violated equation, relative to an inequality
_IGNORED = 2.0  # mark of a dependent row without effect
_PIVOTS_PER_UPDATE, _ROWS_PER_UPDATE = 3, 4  # of the tableau of many rows
_UNROLLED = 12  # rows; more are a loop, which compiles faster


class NextChange(NamedTuple):
    """Candidates for the next change of the active set, collected in one pass over all rows."""

    warm_row: Any = -1.0  # first row of the warm start that is not active yet, or −1
    blocking_value: Any = 1.0  # size of the first multiplier that becomes 0 on the step to h
    blocking_change: Any = 0.0  # its decrease over the whole step; 0 if none becomes 0
    blocking_row: Any = 0.0
    max_violation: Any = 0.0
    violated_row: Any = 0.0  # row with the largest violation


class ActiveSetState(NamedTuple):
    """State of the dual active-set iteration: multipliers, active rows, the next change and the tableau."""

    targets: Any  # h
    multipliers: Any  # current values, relative to the initial ones
    sides: Any  # 1 active at the upper bound, −1 at the lower one, 0 inactive
    marks: Any  # ±1 warm start at that side; 2 ignored
    leaving: Any  # row that leaves next, or −1
    entering: Any  # row that enters after it, or −1
    entering_side: Any
    phase: Any  # RUNNING, OPTIMAL or CONTRADICTION
    changes: Any  # number of changes of the active set
    next_change: NextChange
    tableau: Any  # the lower triangle, row by row


@dataclass(frozen=True, slots=True)
class ScaledBounds:
    """Bounds of the rows of a quadratic program, scaled as the rows, with tolerances, weights and thresholds by row."""

    lower: Sequence[Any]
    upper: Sequence[Any]
    tolerance: Sequence[Any]  # allowed violation
    weight: Sequence[Any]  # of violations: 1 for inequalities, EQUATION_WEIGHT for equations
    small_pivot: Any  # below it, a pivot is small
    zero_pivot: Any  # below it, a pivot is a rounding error
    noise: Any  # rounding error of a sum, relative to its terms
    has_warm_start: bool
    base: Sequence[Any] = ()  # initial multipliers; those of the state are added to them


def packed_index(i: int, j: int) -> int:
    """Return the index of an element in a lower triangle that is stored row by row."""
    return i * (i + 1) // 2 + j if i >= j else j * (j + 1) // 2 + i


def scan_rows(step: Any, carry: Any, columns: Sequence[Sequence[Any]]) -> tuple[Any, list[list[Any]]]:
    """Apply ``step`` to each row of a table in order; return the last carry and the columns of outputs.

    ``columns`` are the columns of the table. ``step`` accepts the carry, a value that it updates, and a row as a list.
    It returns the new carry and a list of outputs, which may be empty. For many rows the code is a loop.
    """
    rows = len(columns[0])
    if rows <= _UNROLLED or not any(hasattr(x, "_precedence") for column in columns for x in column):
        outputs = []
        for row in zip(*columns, strict=True):
            carry, out = step(carry, row)
            outputs.append(out)
        return carry, [list(column) for column in zip(*outputs, strict=True)]
    inputs = tuple(object_array((rows,), column) for column in columns)

    def loop(inside: Any, row: Any) -> Any:
        inside, out = step(inside, row)
        return inside, tuple(out) or None

    carry, outputs = scan(loop, carry, inputs)
    return carry, [list(column) for column in outputs or ()]


def run_active_set(state: ActiveSetState, bounds: ScaledBounds, max_iterations: int) -> tuple[ActiveSetState, Any]:
    """Return the state at the end of the active-set iteration, and the status of its loop."""
    if not bounds.lower:
        return state._replace(phase=OPTIMAL), 0.0
    state = state._replace(
        next_change=_choose_next(bounds, (state.targets, state.multipliers, state.sides, state.marks))
    )
    many = len(bounds.lower) > _UNROLLED
    count = next(k for k in (_PIVOTS_PER_UPDATE, 2, 1) if max_iterations % k == 0) if many else 1
    result = watching_while_loop(
        lambda s: lt(0.5, s.phase),
        lambda s: _pivot(s, bounds, count),
        state,
        max_iterations // count,
        unwatched=len(state.tableau),
    )
    return result.state, result.status


def _entry(table: Sequence[Any], index: Any) -> Any:
    """Return an entry of a table, for a known or a traced index."""
    if isinstance(index, (int, float)):
        return table[int(index)]
    return take(object_array((len(table),), table), index)


class _Ray(NamedTuple):
    """Ray along which the multipliers change while a row enters that depends linearly on the active rows."""

    length: Any = math.inf  # at which the first multiplier is 0
    blocking_row: Any = 0.0
    tolerance: Any = 0.0  # sum over all rows
    terms: Any = 0.0  # sum of |c_i h_i|


def _choose_next(bounds: ScaledBounds, columns: Sequence[Any]) -> NextChange:
    """Return the candidates for the next change of the active set, from one pass over all rows.

    ``columns`` are the fields of `ActiveSetState` with an element for each row: targets, multipliers, sides and marks.
    """
    inputs = [*columns, bounds.base, bounds.lower, bounds.upper, bounds.tolerance, bounds.weight]
    indices = [float(i) for i in range(len(bounds.lower))]

    def include(result: NextChange, row: Sequence[Any]) -> tuple[NextChange, list[Any]]:
        return _update_choice(result, bounds.has_warm_start, *row), []

    result: NextChange = scan_rows(include, NextChange(), [indices, *inputs])[0]
    return result


class _Update(NamedTuple):
    """Change T − u uᵀ/d of the tableau T by a pivot, not yet written to it.

    The diagonal element of the pivot's row becomes −1/d.
    """

    row: Any  # pivot row, or −1
    d_inv: Any
    u: Sequence[Any]
    w: Sequence[Any]  # u/d

    def of(self, x: Any, i: Any, w: Any, u: Any) -> Any:
        """Return the diagonal element of row i of the tableau after this update.

        ``x`` is the element before the update, ``u`` the element of the pivot's column in row i, and ``w`` is u/d for
        the pivot d.
        """
        return where(eq(i, self.row), 0.0 - self.d_inv, x - w * u)


def _pivot(s: ActiveSetState, bounds: ScaledBounds, count: int) -> ActiveSetState:
    """Return the state after ``count`` pivots, whose updates are written to the tableau together.

    Most of the time is spent on reading and writing the tableau, which then happens only once.
    """
    updates: list[_Update] = []
    for _ in range(count):
        s, update = _one_pivot(s, bounds, updates)
        updates.append(update)
    k, T = len(bounds.lower), list(s.tableau)
    for start in range(0, k, _ROWS_PER_UPDATE):  # blocks of rows, column by column: a column is read once for a block
        for j in range(min(start + _ROWS_PER_UPDATE, k)):
            for i in range(max(start, j), min(start + _ROWS_PER_UPDATE, k)):
                x = T[packed_index(i, j)]
                for update in updates:
                    w, u = update.w[i], update.u[j]
                    x = update.of(x, float(i), w, u) if i == j else x - w * u
                T[packed_index(i, j)] = x
    return s._replace(tableau=object_array((len(T),), T))


def _one_pivot(s: ActiveSetState, bounds: ScaledBounds, updates: Sequence[_Update]) -> tuple[ActiveSetState, _Update]:
    """Return the state after one pivot, and the update of the tableau that it requires.

    ``updates`` are the updates by earlier pivots that are not yet written to the tableau.
    """
    k = len(bounds.lower)
    h, now, sides, marks, T = (list(x) for x in (*s[:4], s.tableau))
    before = [column for update in updates for column in (update.w, update.u)]
    live = lt(0.5, s.phase) if updates else True
    indices = [float(i) for i in range(k)]
    starts = [float(packed_index(i, 0)) for i in range(k)]
    base, tolerance, result = bounds.base, bounds.tolerance, s.next_change

    # row p that leaves or enters
    forced = and_(live, le(0.0, s.leaving))
    pending = and_(live, and_(not_(forced), le(0.0, s.entering)))
    warm = and_(live, and_(not_(or_(forced, pending)), le(0.0, result.warm_row)))
    free = and_(live, not_(or_(or_(forced, pending), warm)))
    drop = and_(free, lt(0.0, result.blocking_change))
    add = and_(free, and_(not_(drop), lt(0.0, result.max_violation)))
    done = and_(free, not_(or_(drop, add)))
    p = where(drop, result.blocking_row, result.violated_row)
    p = where(forced, s.leaving, where(pending, s.entering, where(warm, result.warm_row, p)))
    leaves, arrived = or_(forced, drop), or_(add, done)
    enters = and_(live, not_(or_(leaves, done)))
    d, value, start = _entry(T, p * (p + 3.0) * 0.5), _entry(h, p), _entry(base, p)
    at_p = [(_entry(update.w, p), _entry(update.u, p)) for update in updates]
    for update, (w, u) in zip(updates, at_p, strict=True):
        d = update.of(d, p, w, u)
    low, high = _entry(bounds.lower, p), _entry(bounds.upper, p)
    entry_side = where(
        pending, s.entering_side, where(warm, _entry(marks, p), where(lt(low - value, value - high), 1.0, -1.0))
    )
    side = where(leaves, _entry(sides, p), entry_side)
    bound = where(lt(0.0, side), high, low)
    above = p * (p + 1.0) * 0.5

    # column of p, and whether p depends on the active rows
    def reach(spread: Any, row: Sequence[Any]) -> tuple[Any, list[Any]]:
        i, first, active_side, *rows = row
        below = lt(p, i)
        c = _entry(T, where(below, p + first, above + i))
        for w, u, (w_p, u_p) in zip(rows[::2], rows[1::2], at_p, strict=True):
            c = c - where(below, w, w_p) * where(below, u_p, u)  # equal to the updated tableau to the last bit
        c = where(eq(i, p), d, c) if rows else c
        size = c * active_side
        return spread + size * size, [c]

    spread, (column,) = scan_rows(reach, 1.0, [indices, starts, sides, *before])

    def lengthen(ray: _Ray, row: Sequence[Any]) -> tuple[_Ray, list[Any]]:
        i, first, c, b, a, active_side, origin, allowed, weight, *rows = row
        x, diagonal = where(arrived, b, a) + origin, _entry(T, first + i)
        for update, w, u in zip(updates, rows[::2], rows[1::2], strict=True):
            diagonal = update.of(diagonal, i, w, u)
        return _extend_ray(ray, i, c, diagonal, x, b, active_side, entry_side, allowed, weight, bounds.zero_pivot), []

    def along_the_ray() -> _Ray:
        inputs = [indices, starts, column, h, now, sides, base, tolerance, bounds.weight]
        result: _Ray = scan_rows(lengthen, _Ray(), [*inputs, *before])[0]
        return result

    suspect = and_(enters, le(d, fmax(bounds.zero_pivot, bounds.small_pivot) * spread))
    ray = cond(suspect, along_the_ray, _Ray) if k > _UNROLLED else along_the_ray()
    excess = fabs(value - bound)
    singular = le(d, bounds.zero_pivot * spread)
    small = and_(le(d, bounds.small_pivot * spread), lt(ray.length * d, excess))
    dependent = and_(enters, or_(singular, small))
    along = and_(dependent, not_(warm))
    pivot = and_(live, not_(or_(done, dependent)))
    real = and_(along, lt(bounds.noise * ray.terms, excess))
    blocked = and_(real, lt(ray.length, math.inf))
    infeasible = and_(real, and_(not_(blocked), lt(ray.tolerance + _entry(tolerance, p), excess)))
    ignored = and_(along, and_(not_(blocked), not_(infeasible)))
    step = where(blocked, ray.length, where(infeasible, 1.0, 0.0)) * entry_side
    d_inv = where(pivot, 1.0 / where(eq(d, 0.0), 1.0, d), 0.0)
    f = where(pivot, where(leaves, value + start, value - bound) * d_inv, 0.0)
    # numbers, since rows read them faster than they evaluate conditions
    share = where(drop, result.blocking_value / where(drop, result.blocking_change, 1.0), where(arrived, 2.0, 0.0))
    factor = where(infeasible, 0.0, 1.0)
    # rows by index, −1 if none: of the pivot, with a multiplier that becomes 0, with a mark that changes
    pivot_row = where(pivot, p, -1.0)
    zeroed_row = where(leaves, pivot_row, where(blocked, ray.blocking_row, -1.0))
    marked_row = where(or_(ignored, warm), p, -1.0)
    new_mark = where(ignored, _IGNORED, 0.0)
    new_target, new_side = where(leaves, bound - f, f - start), where(leaves, 0.0, side)
    new_u = d - where(leaves, -1.0, 1.0)

    def change(result: NextChange, row: Sequence[Any]) -> tuple[NextChange, list[Any]]:
        i, c, a, b, active_side, mark, origin, *inputs = row
        on, free = eq(i, pivot_row), eq(active_side, 0.0)
        x = where(free, a, where(lt(1.5, share), b, a + share * (b - a)))
        x = x * factor - step * where(free, where(eq(i, p), -1.0, 0.0), c)
        x = where(eq(i, zeroed_row), 0.0 - origin, x)
        target = where(on, new_target, b - c * f)
        active_side = where(on, new_side, active_side)
        mark = where(eq(i, marked_row), new_mark, mark)
        u = where(on, new_u, c)
        result = _update_choice(result, bounds.has_warm_start, i, target, x, active_side, mark, origin, *inputs)
        return result, [target, x, active_side, mark, u, u * d_inv]

    inputs = [base, bounds.lower, bounds.upper, tolerance, bounds.weight]
    choice, changed = scan_rows(change, NextChange(), [indices, column, now, h, sides, marks, *inputs])
    targets, multipliers, next_sides, next_marks, u, w = changed
    following = ActiveSetState(
        object_array((k,), targets),
        object_array((k,), multipliers),
        object_array((k,), next_sides),
        object_array((k,), next_marks),
        where(blocked, ray.blocking_row, -1.0),
        where(blocked, p, where(forced, s.entering, -1.0)),
        where(blocked, entry_side, s.entering_side),
        where(done, OPTIMAL, where(infeasible, CONTRADICTION, s.phase)),
        s.changes + where(and_(pivot, not_(warm)), 1.0, 0.0),
        choice,
        s.tableau,
    )
    return following, _Update(pivot_row, d_inv, u, w)


def _update_choice(
    s: NextChange,
    has_warm_start: bool,
    i: Any,
    target: Any,
    now: Any,
    side: Any,
    mark: Any,
    base: Any,
    lower: Any,
    upper: Any,
    tolerance: Any,
    weight: Any,
) -> NextChange:
    """Return the candidates for the next change of the active set, with row i included.

    The row may be the next of the warm start, the first whose multiplier becomes 0, or the one with the largest
    violation.  ``now`` is its current multiplier, and ``target`` the multiplier, or c_iᵀx, at the minimum with the
    active rows.
    """
    warm_row = where(and_(lt(s.warm_row, 0.0), eq(fabs(mark), 1.0)), i, s.warm_row) if has_warm_start else s.warm_row
    wrong = and_(lt(weight, 2.0), lt(side * (base + target), 0.0))
    left, change = side * (base + now), side * (now - target)  # compared by products, since division is slow
    nearer = and_(wrong, lt(left * s.blocking_change, s.blocking_value * change))
    above, below = target - upper, lower - target
    miss = (where(lt(above, below), below, above) - tolerance) * weight
    more = and_(and_(eq(side, 0.0), lt(mark, 1.5)), lt(s.max_violation, miss))
    return NextChange(
        warm_row,
        where(nearer, left, s.blocking_value),
        where(nearer, change, s.blocking_change),
        where(nearer, i, s.blocking_row),
        where(more, miss, s.max_violation),
        where(more, i, s.violated_row),
    )


def _extend_ray(
    s: _Ray,
    i: Any,
    c: Any,
    diagonal: Any,
    multiplier: Any,
    target: Any,
    side: Any,
    entry_side: Any,
    tolerance: Any,
    weight: Any,
    floor: Any,
) -> _Ray:
    """Return the ray of multipliers with row i included, whose multiplier may be the first to become 0."""
    rate = side * c * entry_side
    # the entering row must have a nonzero pivot afterwards
    falls = and_(and_(lt(weight, 2.0), lt(0.0, rate)), lt(floor * fabs(diagonal), c * c))
    ratio = where(falls, fabs(multiplier) / where(falls, rate, 1.0), math.inf)
    nearer = lt(ratio, s.length)
    size = where(eq(side, 0.0), 0.0, fabs(c))
    return _Ray(
        where(nearer, ratio, s.length),
        where(nearer, i, s.blocking_row),
        s.tolerance + where(eq(size, 0.0), 0.0, size * tolerance),
        s.terms + size * fabs(target),
    )
