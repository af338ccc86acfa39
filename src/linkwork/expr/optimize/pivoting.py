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

from ..arrays import filled
from ..control import take, while_loop
from ..functions import and_, eq, fabs, fmax, le, lt, not_, or_, where

__all__ = ["GOING", "ScaledBounds", "Walk", "triangle", "walked"]

GOING, OPTIMAL, CONTRADICTION = 1.0, 0.0, -1.0
_FIRST = 1e9  # how much more a violated equation counts than an inequality
_LEFT_ALONE = 2.0


class Walk(NamedTuple):
    """What a pivot changes."""

    tableau: Any  # the lower triangle, row by row
    targets: Any  # h
    multipliers: Any  # as far as they have come
    sides: Any  # 1 held at the upper bound, −1 at the lower one, 0 not held
    marks: Any  # ±1 to be held first; 2 left alone
    leaving: Any  # a row that goes next, or −1
    waiting: Any  # a row that comes in then, or −1
    toward: Any  # and at which side
    going: Any
    changes: Any  # of the active set


@dataclass(frozen=True, slots=True)
class ScaledBounds:
    """Of scaled rows: bounds, by how much they may be missed, and which are equations."""

    lower: Sequence[Any]
    upper: Sequence[Any]
    slack: Sequence[Any]
    equal: Sequence[Any]
    least: Any  # pivots of less are small
    floor: Any  # and of less nothing but rounding
    noise: Any  # of values, by the terms that they are sums of
    base: Sequence[Any] = ()  # multipliers at the start: those of the walk are what is added to them


def triangle(i: int, j: int) -> int:
    """The place of an element in a lower triangle."""
    return i * (i + 1) // 2 + j if i >= j else j * (j + 1) // 2 + i


def walked(walk: Walk, bounds: ScaledBounds, at_most: int) -> tuple[Walk, Any]:
    """The walk to its end, and the loop's status."""
    if not bounds.lower:
        return walk._replace(going=OPTIMAL), 0.0
    found = while_loop(lambda s: lt(0.5, s.going), lambda s: _pivoted(s, bounds), walk, at_most=at_most)
    return found.state, found.status


def _entry(table: Sequence[Any], index: Any) -> Any:
    """An entry of a table, whose index may be known."""
    if isinstance(index, (int, float)):
        return table[int(index)]
    return take(filled((len(table),), table), index)


def _pivoted(s: Walk, bounds: ScaledBounds) -> Walk:
    k = len(bounds.lower)
    T, h, old, sides, marks = (list(x) for x in s[:5])
    held = [not_(eq(side, 0.0)) for side in sides]
    # which row, and whether it goes (leaves) or comes in
    wished: Any = -1.0
    for i in range(k - 1, -1, -1):
        wished = where(eq(fabs(marks[i]), 1.0), float(i), wished)
    base = bounds.base
    share, blocking = _first_to_vanish(s, bounds, h, old)
    worst, violated, upward = _most_violated(bounds, h, held, marks)
    forced = le(0.0, s.leaving)
    pending = and_(not_(forced), le(0.0, s.waiting))
    warm = and_(not_(or_(forced, pending)), le(0.0, wished))
    free = not_(or_(or_(forced, pending), warm))
    drop = and_(free, lt(share, math.inf))
    add = and_(free, and_(not_(drop), lt(0.0, worst)))
    done = and_(free, not_(or_(drop, add)))
    p = where(forced, s.leaving, where(pending, s.waiting, where(warm, wished, where(drop, blocking, violated))))
    goes = or_(forced, drop)
    here = [eq(p, float(i)) for i in range(k)]
    column = _column(T, p, k)
    d = _entry(T, p * (p + 3.0) * 0.5)
    toward = where(pending, s.toward, where(warm, _entry(marks, p), upward))
    side = where(goes, _entry(sides, p), toward)
    bound = where(lt(0.0, side), _entry(bounds.upper, p), _entry(bounds.lower, p))
    spread: Any = 1.0
    noise: Any = 0.0
    for x, c, b in zip(held, column, h, strict=True):
        spread = spread + where(x, c * c, 0.0)
        noise = noise + where(x, fabs(c * b), 0.0)
    comes = not_(or_(goes, done))
    # multipliers on their way to the targets
    arrived = or_(add, done)
    reached = [
        where(x, where(arrived, b, where(drop, a + share * (b - a), a)), a)
        for x, a, b in zip(held, old, h, strict=True)
    ]
    # or along a ray, where the row depends on those held, or all but does and a multiplier vanishes on the way
    length, first, size = _along_ray(T, bounds, reached, sides, column, toward)
    excess = fabs(_entry(h, p) - bound)
    nothing = le(d, bounds.floor * spread)
    dependent = and_(comes, or_(nothing, and_(le(d, bounds.least * spread), lt(length * d, excess))))
    ray = and_(dependent, not_(warm))
    pivot = not_(or_(done, dependent))
    real = and_(ray, lt(bounds.noise * noise, excess))
    blocked = and_(real, lt(length, math.inf))
    hopeless = and_(real, and_(not_(blocked), lt(size + _entry(bounds.slack, p), excess)))
    alone = and_(ray, and_(not_(blocked), not_(hopeless)))
    far = where(blocked, length, where(hopeless, 1.0, 0.0)) * toward
    multipliers = [
        where(x, a - far * c, where(and_(me, real), a + far, a))
        for x, a, c, me in zip(held, [where(hopeless, 0.0, x) for x in reached], column, here, strict=True)
    ]
    # the pivot
    d_inv = where(pivot, 1.0 / where(eq(d, 0.0), 1.0, d), 0.0)
    gap = _entry(h, p)
    start = _entry(base, p)
    f = where(goes, gap + start, gap - bound) * d_inv
    sign = where(goes, -1.0, 1.0)
    u = [where(me, c - sign, c) for me, c in zip(here, column, strict=True)]
    w = [x * d_inv for x in u]
    on = [and_(me, pivot) for me in here]
    tableau = []
    for i in range(k):
        tableau += [T[triangle(i, j)] - w[i] * u[j] for j in range(i)]
        tableau.append(where(on[i], -d_inv, T[triangle(i, i)] - w[i] * u[i]))
    targets = [where(me, where(goes, bound - f, f - start), x - c * f) for me, x, c in zip(on, h, column, strict=True)]
    next_sides = [where(me, where(goes, 0.0, side), x) for me, x in zip(on, sides, strict=True)]
    gone = [and_(me, goes) for me in on]
    last = [
        where(or_(me, and_(eq(first, float(i)), blocked)), -b, x)
        for i, (me, b, x) in enumerate(zip(gone, base, multipliers, strict=True))
    ]
    return Walk(
        filled((len(T),), tableau),
        filled((k,), targets),
        filled((k,), last),
        filled((k,), next_sides),
        filled(
            (k,),
            [
                where(and_(me, alone), _LEFT_ALONE, where(and_(me, warm), 0.0, m))
                for me, m in zip(here, marks, strict=True)
            ],
        ),
        where(blocked, first, -1.0),
        where(blocked, p, where(forced, s.waiting, -1.0)),
        where(blocked, toward, s.toward),
        where(done, OPTIMAL, where(hopeless, CONTRADICTION, GOING)),
        s.changes + where(and_(pivot, not_(warm)), 1.0, 0.0),
    )


def _column(T: Sequence[Any], p: Any, k: int) -> list[Any]:
    """The column of a row that is computed, of a symmetric matrix."""
    start = p * (p + 1.0) * 0.5
    found = []
    for i in range(k):
        below = triangle(i, 0)
        found.append(_entry(T, where(lt(p, float(i)), p + float(below), start + float(i))))
    return found


def _first_to_vanish(s: Walk, bounds: ScaledBounds, targets: Sequence[Any], now: Sequence[Any]) -> tuple[Any, Any]:
    """How far the way to the targets goes until a multiplier is 0, and which: infinite where none has a wrong sign."""
    share: Any = math.inf
    which: Any = 0.0
    for i, (side, target, x, base, equal) in enumerate(
        zip(s.sides, targets, now, bounds.base, bounds.equal, strict=True)
    ):
        wrong = and_(not_(equal), lt(side * (base + target), 0.0))
        ratio = where(wrong, (base + x) / where(wrong, x - target, 1.0), math.inf)
        nearer = lt(ratio, share)
        share, which = where(nearer, ratio, share), where(nearer, float(i), which)
    return share, which


def _most_violated(
    bounds: ScaledBounds, values: Sequence[Any], held: Sequence[Any], marks: Sequence[Any]
) -> tuple[Any, Any, Any]:
    """By how much, which, and at which side."""
    worst: Any = 0.0
    which: Any = 0.0
    upward: Any = 1.0
    for i, v in enumerate(values):
        above, below = v - bounds.upper[i], bounds.lower[i] - v
        miss = fmax(above, below) - bounds.slack[i]
        known = bounds.equal[i]
        if known is not False:
            miss = where(known, _FIRST * miss, miss)
        out = or_(held[i], eq(marks[i], _LEFT_ALONE))
        more = and_(not_(out), lt(worst, miss))
        worst, which = where(more, miss, worst), where(more, float(i), which)
        upward = where(more, where(lt(below, above), 1.0, -1.0), upward)
    return worst, which, upward


def _along_ray(
    T: Sequence[Any],
    bounds: ScaledBounds,
    multipliers: Sequence[Any],
    sides: Sequence[Any],
    column: Sequence[Any],
    toward: Any,
) -> tuple[Any, Any, Any]:
    """How far the ray goes until a multiplier is 0, which, and the rounding of what violates."""
    length: Any = math.inf
    which: Any = 0.0
    size: Any = 0.0
    for i, (x, base, side, c, equal) in enumerate(
        zip(multipliers, bounds.base, sides, column, bounds.equal, strict=True)
    ):
        rate = side * c * toward
        after = lt(bounds.floor * fabs(T[triangle(i, i)]), c * c)  # the pivot that is left to the other row is one
        falls = and_(not_(equal), and_(lt(0.0, rate), after))
        ratio = where(falls, fabs(base + x) / where(falls, rate, 1.0), math.inf)
        nearer = lt(ratio, length)
        length, which = where(nearer, ratio, length), where(nearer, float(i), which)
        size = size + where(eq(side, 0.0), 0.0, fabs(c) * bounds.slack[i])
    return length, which, size
