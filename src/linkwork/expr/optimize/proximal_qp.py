"""Convex quadratic programs by proximal steps, each of which is a strictly convex one.

From x̄, a step goes to the x where ½ xᵀHx + gᵀx + ½ (x − x̄)ᵀE(x − x̄) is least within the bounds, with a small diagonal
E.  There Hx + g + Cᵀλ = −E (x − x̄), which is what is left; the next step starts there, with the rows that are held.
Where H is positive definite E is 0, and one step is all but for rounding.  So what a step solves is regular, whatever H
is, and steps are a refinement too, since each computes anew what is left.  Of a linear program, finitely many lead to
the solution.

Sources: Rockafellar, Monotone operators and the proximal point algorithm, SIAM Journal on Control and Optimization 14,
1976; Bemporad, A numerically stable solver for positive semidefinite quadratic programs based on nonnegative least
squares, IEEE Transactions on Automatic Control 63, 2018.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from linkwork.expr.arrays.symbol_array import object_array
from linkwork.expr.control.loops import map_rows, watching_while_loop
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.optimize.dual_active_set import (
    CONTRADICTION,
    EQUATION_WEIGHT,
    OPTIMAL,
    RUNNING,
    ActiveSetState,
    NextChange,
    ScaledBounds,
    packed_index,
    run_active_set,
)
from linkwork.expr.optimize.row_scaling import Factored, factored, rounding
from linkwork.expr.scalar.functions import (
    and_,
    eq,
    exp,
    fabs,
    fmax,
    fmin,
    le,
    log,
    lt,
    not_,
    or_,
    where,
)

__all__ = [
    "INFEASIBLE",
    "NOT_A_NUMBER",
    "NOT_CONVEX",
    "OUT_OF_ITERATIONS",
    "SOLVED",
    "UNBOUNDED",
    "ConvexProgram",
    "Outcome",
    "solution",
]

SOLVED, OUT_OF_ITERATIONS, NOT_A_NUMBER, INFEASIBLE, UNBOUNDED, NOT_CONVEX = 0.0, 1.0, 2.0, 3.0, 4.0, 5.0

_PASSES = 60
_PROVEN = 1e-6  # what Cᵀλ of a certificate is at most, relative to its largest term
_FLAT = 1e-6  # of E d: what H d is along a direction without curvature

Scalars = Sequence[Any]


@dataclass(frozen=True, slots=True)
class ConvexProgram:
    """A program: rows of A with their bounds, and which variables have bounds; and what is held first, of all rows."""

    H: list[list[Any]]
    g: list[Any]
    A: list[list[Any]]
    bounded: list[int]
    lower: list[Any]  # of the rows and of the variables that have bounds
    upper: list[Any]
    warm: list[Any]
    tolerance: float
    max_iterations: int


class Outcome(NamedTuple):
    """x, a multiplier for every row and every variable that has bounds, and which are held at which side."""

    x: list[Any]
    multipliers: list[Any]
    sides: list[Any]
    status: Any
    iterations: Any


class _Pass(NamedTuple):
    """Between proximal steps."""

    x: Any
    Hx: Any
    Cx: Any  # scaled
    residual: Any  # H x + g + Cᵀλ
    multipliers: Any  # of scaled rows
    sides: Any
    marks: Any
    left: Any  # the largest of the residual, relative
    status: Any
    going: Any
    changes: Any
    tableau: Any


@dataclass(frozen=True, slots=True)
class _Problem:
    given: ConvexProgram
    factors: Factored
    bounds: ScaledBounds
    tolerance: Any
    gram: list[Any]

    def of_rows(self, x: Scalars) -> list[Any]:
        """C x, scaled."""
        result = [*self.factors.of_rows(self.given.A, x), *(x[j] for j in self.given.bounded)]
        return [0.0 if is_zero(v) else v * scale for v, scale in zip(result, self.factors.scales, strict=True)]

    def of_columns(self, multipliers: Scalars) -> list[Any]:
        """Cᵀλ of multipliers of scaled rows."""
        weights = [x * scale for x, scale in zip(multipliers, self.factors.scales, strict=True)]
        m = len(self.given.A)
        result = self.factors.of_columns(self.given.A, weights[:m])
        for j, weight in zip(self.given.bounded, weights[m:], strict=True):
            result[j] = result[j] + weight
        return result

    def next(self, s: _Pass) -> _Pass:
        """A proximal step."""
        factors, bounds = self.factors, self.bounds
        k = len(bounds.lower)
        old = list(s.multipliers)
        z = factors.forward(s.residual)
        values = [a - b for a, b in zip(s.Cx, factors.of_rows(factors.Y, z), strict=True)]
        held = [not_(eq(side, 0.0)) for side in s.sides]
        gaps = [
            where(x, v - where(lt(0.0, side), above, below), 0.0)
            for x, v, side, below, above in zip(held, values, s.sides, bounds.lower, bounds.upper, strict=True)
        ]
        shifts = [dot([s.tableau[packed_index(i, j)] for j in range(k)], gaps) for i in range(k)]
        targets = [where(x, 0.0, v) - q for x, v, q in zip(held, values, shifts, strict=True)]
        zeros = object_array((k,), [0.0] * k)
        start = [
            object_array((k,), targets),
            zeros,
            s.sides,
            s.marks,
            -1.0,
            -1.0,
            1.0,
            RUNNING,
            s.changes,
            NextChange(),
            s.tableau,
        ]
        walk, ended = run_active_set(ActiveSetState(*start), replace(bounds, base=old), self.given.max_iterations)
        contradiction = eq(walk.going, CONTRADICTION)
        multipliers = [where(contradiction, b, a + b) for a, b in zip(old, walk.multipliers, strict=True)]
        whole = [a + b for a, b in zip(z, factors.of_columns(factors.Y, walk.multipliers), strict=True)]
        way = [-x for x in factors.backward(whole)]
        x = [a + b for a, b in zip(s.x, way, strict=True)]
        Hx, Cx = factors.of_rows(self.given.H, x), self.of_rows(x)
        pulled = self.of_columns(multipliers)
        residual = [a + b + c for a, b, c in zip(Hx, self.given.g, pulled, strict=True)]
        left = _largest(residual) / fmax(_largest([*Hx, *self.given.g, *pulled]), 1e-300)
        kept: Any = True
        for v, below, above, slack, side in zip(Cx, bounds.lower, bounds.upper, bounds.slack, walk.sides, strict=True):
            low, high = where(lt(0.0, side), above, below), where(lt(side, 0.0), below, above)
            kept = and_(kept, and_(le(v - high, slack), le(low - v, slack)))
        near = le(left, self.tolerance)
        still = and_(le(left, 10.0 * self.tolerance), le(0.5 * s.left, left))
        solved = and_(kept, or_(near, still))
        unbounded = and_(not_(solved), self._unbounded(way, s, Hx, Cx))
        cut = not_(eq(ended, 0.0))
        proven = le(
            _largest(pulled),
            _PROVEN * _largest([a * b * c for a, b, c in zip(multipliers, factors.scales, factors.sizes, strict=True)]),
        )
        status = where(unbounded, UNBOUNDED, SOLVED)
        status = where(contradiction, where(proven, INFEASIBLE, OUT_OF_ITERATIONS), status)
        status = where(cut, ended, status)
        stop = or_(or_(cut, contradiction), or_(solved, unbounded))
        marks = [where(eq(mark, 2.0), 0.0, mark) for mark in walk.marks]
        return _Pass(
            object_array((len(x),), [where(unbounded, d, a) for a, d in zip(x, way, strict=True)]),
            object_array((len(x),), Hx),
            object_array((k,), Cx),
            object_array((len(x),), residual),
            object_array((k,), multipliers),
            walk.sides,
            object_array((k,), marks),
            left,
            status,
            where(stop, OPTIMAL, RUNNING),
            walk.changes,
            walk.tableau,
        )

    def _unbounded(self, way: Scalars, s: _Pass, Hx: Scalars, Cx: Scalars) -> Any:
        """Whether the objective falls for ever along the way."""
        size: Any = 0.0
        curved: Any = 0.0
        left: Any = 0.0
        for d, e in zip(way, self.factors.E, strict=True):
            size, left = fmax(size, fabs(d)), fmax(left, fabs(e * d))
        for now, before in zip(Hx, s.Hx, strict=True):
            curved = fmax(curved, fabs(now - before))
        slope = dot(self.given.g, way)
        result = and_(lt(curved, _FLAT * left), lt(slope, 0.0))
        for now, before, lower, upper, scale, most in zip(
            Cx, s.Cx, self.bounds.lower, self.bounds.upper, self.factors.scales, self.factors.sizes, strict=True
        ):
            change = now - before
            little = 1e-8 * size * scale * most
            open_above = or_(le(change, little), eq(upper, math.inf))
            open_below = or_(le(-little, change), eq(lower, -math.inf))
            result = and_(result, and_(open_above, open_below))
        return result


def solution(given: ConvexProgram) -> tuple[Outcome, list[Any], Factored]:
    """The solution of a program, or what is so instead; the last tableau and the factors."""
    n, k = len(given.g), len(given.lower)
    problem, valid = _prepared(given)
    zeros = object_array((k,), [0.0] * k)
    warm = [_side(*each) for each in zip(given.warm, given.lower, given.upper, strict=True)]
    start = _Pass(
        object_array((n,), [0.0] * n),
        object_array((n,), [0.0] * n),
        zeros,
        object_array((n,), given.g),
        zeros,
        zeros,
        object_array((k,), warm),
        math.inf,
        0.0,
        RUNNING,
        0.0,
        object_array((k * (k + 1) // 2,), problem.gram),
    )
    result = watching_while_loop(lambda s: lt(0.5, s.going), problem.next, start, _PASSES, unwatched=len(start.tableau))
    end = result.state
    x, multipliers, sides, changes = list(end.x), list(end.multipliers), list(end.sides), end.changes
    status = where(eq(result.status, 0.0), end.status, result.status)
    status = where(problem.factors.convex, status, NOT_CONVEX)
    crossing: Any = False
    for lower, upper, slack in zip(problem.bounds.lower, problem.bounds.upper, problem.bounds.slack, strict=True):
        crossing = or_(crossing, lt(slack, lower - upper))
    total: Any = 0.0
    for value in (*x, *given.g):
        total = total + fabs(value)
    status = where(crossing, INFEASIBLE, status)
    status = where(and_(valid, lt(total, math.inf)), status, NOT_A_NUMBER)
    multipliers = [
        where(crossing, 0.0, a * scale) for a, scale in zip(multipliers, problem.factors.scales, strict=True)
    ]
    m = len(given.A)
    fine = or_(eq(status, SOLVED), eq(status, OUT_OF_ITERATIONS))
    x = [where(eq(status, NOT_A_NUMBER), math.nan, value) for value in x]
    for place, j in enumerate(given.bounded, start=m):
        x[j] = where(fine, fmin(fmax(x[j], given.lower[place]), given.upper[place]), x[j])
    return Outcome(x, multipliers, sides, status, changes), list(end.tableau), problem.factors


def _side(wish: Any, lower: Any, upper: Any) -> Any:
    """Which bound is to be held first: 1, −1, or 0 where that one is infinite."""
    if is_zero(wish):
        return 0.0
    high = and_(lt(0.0, wish), lt(upper, math.inf))
    return where(high, 1.0, where(and_(lt(wish, 0.0), lt(-math.inf, lower)), -1.0, 0.0))


def _largest(numbers: Scalars) -> Any:
    result: Any = 0.0
    for x in numbers:
        result = fmax(result, fabs(x))
    return result


def _prepared(value: ConvexProgram) -> tuple[_Problem, Any]:
    """The program without units, and whether its bounds are numbers."""
    numbers = [*value.g, *(x for row in value.H for x in row), *(x for row in value.A for x in row), *value.upper]
    unit = rounding(next((x for x in numbers if hasattr(x, "_precedence")), 1.0))
    tolerance = fmax(value.tolerance, 16.0 * unit)
    factors = factored(value.H, value.g, value.A, value.bounded, unit)
    gram = [x for row in factors.gram() for x in row]

    def scaled(row: Scalars) -> list[Any]:
        a, b, scale, size = row
        low, high = a * scale, b * scale
        slack = tolerance * (scale * size + fmin(fabs(low), fabs(high)))
        return [low, high, slack, where(eq(a, b), EQUATION_WEIGHT, 1.0)]

    # of a loop's results, which stand side by side, a pivot needs no copies
    rows = list(zip(value.lower, value.upper, factors.scales, factors.sizes, strict=True))
    result = map_rows(scaled, rows, in_loops=factors.in_loops, alike=True)
    lower, upper, slack, weight = ([row[j] for row in result] for j in range(4))
    valid: Any = True
    for a, b in zip(value.lower, value.upper, strict=True):
        valid = and_(valid, and_(eq(a, a), eq(b, b)))
    least = exp(0.75 * log(unit))
    wishes = not all(map(is_zero, value.warm))
    bounds = ScaledBounds(lower, upper, slack, weight, least, 64.0 * unit, 100.0 * unit, wishes)
    return _Problem(value, factors, bounds, tolerance, gram), valid
