"""The dual active-set method as pivots of one symmetric tableau: what a step of the loop does.

Of the strictly convex program min ½ xᵀHx + gᵀx, l ≤ C x ≤ u, with rows scaled so that G = C H⁻¹ Cᵀ has ones on its
diagonal, rows W are held at a bound b.  The tableau is G swept by W:

    T_WW = −G_WW⁻¹,     T_IW = G_IW G_WW⁻¹,     T_II = G_II − G_IW G_WW⁻¹ G_WI,

beside it the column h of what is so where all W hold at once: the multipliers λ_W, and of others v_I = c_iᵀx.
A row p comes in, or goes, by one and the same operation, with d = T_pp and c the column of p:

    T_ij ← T_ij − c_i c_j / d,     T_ip ← ±c_i / d,     T_pp ← −1/d.

Multipliers are counted from where they were at the start, which keeps digits where that is near.  Those that are
reached always have the right signs.  If those of h have, the row that is violated most comes in; else the way to h ends
where the first becomes 0, and its row goes.  A row that depends on those held, T_pp = 0, can only come in for another:
along the ray (e_p, −c_W) of multipliers the dual function grows, up to where the first becomes 0.  Where none does, no
x satisfies the rows, and the ray proves it.

Sources: Goldfarb and Idnani, A numerically stable dual method for solving strictly convex quadratic programs,
Mathematical Programming 27, 1983; Arnström, Bemporad and Axehill, A dual active-set solver for embedded quadratic
programming using recursive LDLᵀ updates, IEEE Transactions on Automatic Control 67, 2022 (both directions at once);
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
EQUATION_WEIGHT = 1e9  # how much more a violated equation counts than an inequality
_LEFT_ALONE = 2.0
_TOGETHER, _BESIDE = 3, 4  # of many rows: pivots after which the tableau is written, and rows of it at a time
_UNROLLED = 12  # rows: of more, what is done row by row is a loop, which is compiled sooner


class NextChange(NamedTuple):
    """What is found by looking at all rows."""

    wished: Any = -1.0  # the first row to be held first, or −1
    left: Any = 1.0  # of the multiplier that is 0 first on the way to h, and how much it changes on all of it, which is
    change: Any = 0.0  # 0 if none is
    blocking: Any = 0.0  # and whose
    worst: Any = 0.0  # by how much a row is violated most
    violated: Any = 0.0  # and which


class ActiveSetState(NamedTuple):
    """What a pivot changes."""

    targets: Any  # h
    multipliers: Any  # as far as they have come
    sides: Any  # 1 held at the upper bound, −1 at the lower one, 0 not held
    marks: Any  # ±1 to be held first; 2 left alone
    leaving: Any  # a row that goes next, or −1
    waiting: Any  # a row that comes in then, or −1
    toward: Any  # and at which side
    going: Any
    changes: Any  # of the active set
    choice: NextChange
    tableau: Any  # the lower triangle, row by row


@dataclass(frozen=True, slots=True)
class ScaledBounds:
    """Of scaled rows: bounds, by how much they may be missed, and which are equations."""

    lower: Sequence[Any]
    upper: Sequence[Any]
    slack: Sequence[Any]
    weight: Sequence[Any]  # 1 of inequalities, and of equations how much more a violated one counts
    least: Any  # pivots of less are small
    floor: Any  # and of less nothing but rounding
    noise: Any  # of values, by the terms that they are sums of
    wishes: bool  # whether rows may be to be held first
    base: Sequence[Any] = ()  # multipliers at the start: those of the walk are what is added to them


def packed_index(i: int, j: int) -> int:
    """The place of an element in a lower triangle."""
    return i * (i + 1) // 2 + j if i >= j else j * (j + 1) // 2 + i


def over_rows(step: Any, carry: Any, columns: Sequence[Sequence[Any]]) -> tuple[Any, list[list[Any]]]:
    """What a step carries through all rows, and the columns that it gives; one that gives nothing has none.

    It takes what is carried and a row of the columns.  Of many rows it is a loop.
    """
    rows = len(columns[0])
    if rows <= _UNROLLED or not any(hasattr(x, "_precedence") for column in columns for x in column):
        given = []
        for row in zip(*columns, strict=True):
            carry, out = step(carry, row)
            given.append(out)
        return carry, [list(column) for column in zip(*given, strict=True)]
    inputs = tuple(object_array((rows,), column) for column in columns)

    def loop(inside: Any, row: Any) -> Any:
        inside, out = step(inside, row)
        return inside, tuple(out) or None

    carry, outputs = scan(loop, carry, inputs)
    return carry, [list(column) for column in outputs or ()]


def run_active_set(walk: ActiveSetState, bounds: ScaledBounds, max_iterations: int) -> tuple[ActiveSetState, Any]:
    """The walk to its end, and the loop's status."""
    if not bounds.lower:
        return walk._replace(going=OPTIMAL), 0.0
    walk = walk._replace(choice=_looking(bounds, (walk.targets, walk.multipliers, walk.sides, walk.marks)))
    many = len(bounds.lower) > _UNROLLED
    together = next(k for k in (_TOGETHER, 2, 1) if max_iterations % k == 0) if many else 1
    result = watching_while_loop(
        lambda s: lt(0.5, s.going),
        lambda s: _pivoted(s, bounds, together),
        walk,
        max_iterations // together,
        unwatched=len(walk.tableau),
    )
    return result.state, result.status


def _entry(table: Sequence[Any], index: Any) -> Any:
    """An entry of a table, whose index may be known."""
    if isinstance(index, (int, float)):
        return table[int(index)]
    return take(object_array((len(table),), table), index)


class _Ray(NamedTuple):
    """What is found of the ray along which multipliers change as a row comes in."""

    length: Any = math.inf  # until one is 0
    first: Any = 0.0  # which
    slack: Any = 0.0  # of all rows together
    terms: Any = 0.0  # the sum of |c_i h_i|


def _looking(bounds: ScaledBounds, columns: Sequence[Any]) -> NextChange:
    """What is to be done first, of targets, multipliers, sides and marks."""
    given = [*columns, bounds.base, bounds.lower, bounds.upper, bounds.slack, bounds.weight]
    places = [float(i) for i in range(len(bounds.lower))]

    def look(result: NextChange, row: Sequence[Any]) -> tuple[NextChange, list[Any]]:
        return _looked(result, bounds.wishes, *row), []

    result: NextChange = over_rows(look, NextChange(), [places, *given])[0]
    return result


class _Update(NamedTuple):
    """T − u uᵀ/d of a pivot, before it is done; where the row itself is, −1/d."""

    at: Any  # the row, or −1
    d_inv: Any
    u: Sequence[Any]
    w: Sequence[Any]  # u/d

    def of(self, x: Any, i: Any, w: Any, u: Any) -> Any:
        """An element of the diagonal."""
        return where(eq(i, self.at), 0.0 - self.d_inv, x - w * u)


def _pivoted(s: ActiveSetState, bounds: ScaledBounds, together: int) -> ActiveSetState:
    """Some pivots, after which the tableau is brought up to date at once: to read and write it takes longest."""
    updates: list[_Update] = []
    for _ in range(together):
        s, update = _one_pivot(s, bounds, updates)
        updates.append(update)
    k, T = len(bounds.lower), list(s.tableau)
    for start in range(0, k, _BESIDE):  # some rows, column by column: what a column has is read once for them
        for j in range(min(start + _BESIDE, k)):
            for i in range(max(start, j), min(start + _BESIDE, k)):
                x = T[packed_index(i, j)]
                for update in updates:
                    w, u = update.w[i], update.u[j]
                    x = update.of(x, float(i), w, u) if i == j else x - w * u
                T[packed_index(i, j)] = x
    return s._replace(tableau=object_array((len(T),), T))


def _one_pivot(s: ActiveSetState, bounds: ScaledBounds, updates: Sequence[_Update]) -> tuple[ActiveSetState, _Update]:
    """A pivot of the tableau as it is after updates that are still to be done, and its update."""
    k = len(bounds.lower)
    h, now, sides, marks, T = (list(x) for x in (*s[:4], s.tableau))
    before = [column for update in updates for column in (update.w, update.u)]
    live = lt(0.5, s.going) if updates else True
    places = [float(i) for i in range(k)]
    starts = [float(packed_index(i, 0)) for i in range(k)]
    base, slack, result = bounds.base, bounds.slack, s.choice

    # which row goes, or comes in
    forced = and_(live, le(0.0, s.leaving))
    pending = and_(live, and_(not_(forced), le(0.0, s.waiting)))
    warm = and_(live, and_(not_(or_(forced, pending)), le(0.0, result.wished)))
    free = and_(live, not_(or_(or_(forced, pending), warm)))
    drop = and_(free, lt(0.0, result.change))
    add = and_(free, and_(not_(drop), lt(0.0, result.worst)))
    done = and_(free, not_(or_(drop, add)))
    p = where(drop, result.blocking, result.violated)
    p = where(forced, s.leaving, where(pending, s.waiting, where(warm, result.wished, p)))
    goes, arrived = or_(forced, drop), or_(add, done)
    comes = and_(live, not_(or_(goes, done)))
    d, gap, start = _entry(T, p * (p + 3.0) * 0.5), _entry(h, p), _entry(base, p)
    there = [(_entry(update.w, p), _entry(update.u, p)) for update in updates]
    for update, (w, u) in zip(updates, there, strict=True):
        d = update.of(d, p, w, u)
    low, high = _entry(bounds.lower, p), _entry(bounds.upper, p)
    toward = where(pending, s.toward, where(warm, _entry(marks, p), where(lt(low - gap, gap - high), 1.0, -1.0)))
    side = where(goes, _entry(sides, p), toward)
    bound = where(lt(0.0, side), high, low)
    above = p * (p + 1.0) * 0.5

    # its column, and whether it depends on those held
    def reach(spread: Any, row: Sequence[Any]) -> tuple[Any, list[Any]]:
        i, first, held_at, *rows = row
        below = lt(p, i)
        c = _entry(T, where(below, p + first, above + i))
        for w, u, (w_there, u_there) in zip(rows[::2], rows[1::2], there, strict=True):
            c = c - where(below, w, w_there) * where(below, u_there, u)  # as the tableau will have it, to the last bit
        c = where(eq(i, p), d, c) if rows else c
        size = c * held_at
        return spread + size * size, [c]

    spread, (column,) = over_rows(reach, 1.0, [places, starts, sides, *before])

    def lengthen(ray: _Ray, row: Sequence[Any]) -> tuple[_Ray, list[Any]]:
        i, first, c, b, a, held_at, origin, free_play, weight, *rows = row
        x, diagonal = where(arrived, b, a) + origin, _entry(T, first + i)
        for update, w, u in zip(updates, rows[::2], rows[1::2], strict=True):
            diagonal = update.of(diagonal, i, w, u)
        return _lengthened(ray, i, c, diagonal, x, b, held_at, toward, free_play, weight, bounds.floor), []

    def along_the_ray() -> _Ray:
        given = [places, starts, column, h, now, sides, base, slack, bounds.weight]
        result: _Ray = over_rows(lengthen, _Ray(), [*given, *before])[0]
        return result

    suspect = and_(comes, le(d, fmax(bounds.floor, bounds.least) * spread))
    ray = cond(suspect, along_the_ray, _Ray) if k > _UNROLLED else along_the_ray()
    excess = fabs(gap - bound)
    nothing = le(d, bounds.floor * spread)
    small = and_(le(d, bounds.least * spread), lt(ray.length * d, excess))
    dependent = and_(comes, or_(nothing, small))
    along = and_(dependent, not_(warm))
    pivot = and_(live, not_(or_(done, dependent)))
    real = and_(along, lt(bounds.noise * ray.terms, excess))
    blocked = and_(real, lt(ray.length, math.inf))
    hopeless = and_(real, and_(not_(blocked), lt(ray.slack + _entry(slack, p), excess)))
    alone = and_(along, and_(not_(blocked), not_(hopeless)))
    far = where(blocked, ray.length, where(hopeless, 1.0, 0.0)) * toward
    d_inv = where(pivot, 1.0 / where(eq(d, 0.0), 1.0, d), 0.0)
    f = where(pivot, where(goes, gap + start, gap - bound) * d_inv, 0.0)
    # numbers, which a row looks at sooner than it finds truths again
    share = where(drop, result.left / where(drop, result.change, 1.0), where(arrived, 2.0, 0.0))
    kept = where(hopeless, 0.0, 1.0)
    # rows by their numbers, of which there may be none: that of the pivot, whose multiplier ends, whose mark changes
    at = where(pivot, p, -1.0)
    ended = where(goes, at, where(blocked, ray.first, -1.0))
    marked = where(or_(alone, warm), p, -1.0)
    mark_there = where(alone, _LEFT_ALONE, 0.0)
    target_there, side_there = where(goes, bound - f, f - start), where(goes, 0.0, side)
    u_there = d - where(goes, -1.0, 1.0)

    def change(result: NextChange, row: Sequence[Any]) -> tuple[NextChange, list[Any]]:
        i, c, a, b, held_at, mark, origin, *given = row
        on, free = eq(i, at), eq(held_at, 0.0)
        x = where(free, a, where(lt(1.5, share), b, a + share * (b - a)))
        x = x * kept - far * where(free, where(eq(i, p), -1.0, 0.0), c)
        x = where(eq(i, ended), 0.0 - origin, x)
        target = where(on, target_there, b - c * f)
        held_at = where(on, side_there, held_at)
        mark = where(eq(i, marked), mark_there, mark)
        u = where(on, u_there, c)
        result = _looked(result, bounds.wishes, i, target, x, held_at, mark, origin, *given)
        return result, [target, x, held_at, mark, u, u * d_inv]

    given = [base, bounds.lower, bounds.upper, slack, bounds.weight]
    choice, changed = over_rows(change, NextChange(), [places, column, now, h, sides, marks, *given])
    targets, multipliers, next_sides, next_marks, u, w = changed
    following = ActiveSetState(
        object_array((k,), targets),
        object_array((k,), multipliers),
        object_array((k,), next_sides),
        object_array((k,), next_marks),
        where(blocked, ray.first, -1.0),
        where(blocked, p, where(forced, s.waiting, -1.0)),
        where(blocked, toward, s.toward),
        where(done, OPTIMAL, where(hopeless, CONTRADICTION, s.going)),
        s.changes + where(and_(pivot, not_(warm)), 1.0, 0.0),
        choice,
        s.tableau,
    )
    return following, _Update(at, d_inv, u, w)


def _looked(
    s: NextChange,
    wishes: bool,
    i: Any,
    target: Any,
    now: Any,
    side: Any,
    mark: Any,
    base: Any,
    lower: Any,
    upper: Any,
    slack: Any,
    weight: Any,
) -> NextChange:
    """With another row: is it to be held first, does its multiplier vanish first, is it violated most."""
    wished = where(and_(lt(s.wished, 0.0), eq(fabs(mark), 1.0)), i, s.wished) if wishes else s.wished
    wrong = and_(lt(weight, 2.0), lt(side * (base + target), 0.0))
    left, change = side * (base + now), side * (now - target)  # to divide would take longest of all
    nearer = and_(wrong, lt(left * s.change, s.left * change))
    above, below = target - upper, lower - target
    miss = (where(lt(above, below), below, above) - slack) * weight
    more = and_(and_(eq(side, 0.0), lt(mark, 1.5)), lt(s.worst, miss))
    return NextChange(
        wished,
        where(nearer, left, s.left),
        where(nearer, change, s.change),
        where(nearer, i, s.blocking),
        where(more, miss, s.worst),
        where(more, i, s.violated),
    )


def _lengthened(
    s: _Ray,
    i: Any,
    c: Any,
    diagonal: Any,
    multiplier: Any,
    target: Any,
    side: Any,
    toward: Any,
    slack: Any,
    weight: Any,
    floor: Any,
) -> _Ray:
    """With another row: does its multiplier vanish first."""
    rate = side * c * toward
    # the pivot that would be left to the row that comes in has to be one
    falls = and_(and_(lt(weight, 2.0), lt(0.0, rate)), lt(floor * fabs(diagonal), c * c))
    ratio = where(falls, fabs(multiplier) / where(falls, rate, 1.0), math.inf)
    nearer = lt(ratio, s.length)
    size = where(eq(side, 0.0), 0.0, fabs(c))
    return _Ray(
        where(nearer, ratio, s.length),
        where(nearer, i, s.first),
        s.slack + where(eq(size, 0.0), 0.0, size * slack),
        s.terms + size * fabs(target),
    )
