"""Convex quadratic programs by proximal steps, each of which is a strictly convex one.

From x̄, a step goes to the x where ½ xᵀHx + gᵀx + ½ (x − x̄)ᵀE(x − x̄) is least within the bounds, with a small diagonal
E.  There Hx + g + Cᵀλ = −E (x − x̄), which is what is left; the next step starts from there, with the rows that are held.
Where H is known to be positive definite E is 0 and one step is all.  So what a step solves is regular, whatever H is,
and the steps are a refinement too, since each computes anew what is left.  Where the program is linear, they end after
finitely many.

Sources: Rockafellar, Monotone operators and the proximal point algorithm, SIAM Journal on Control and Optimization 14,
1976; Bemporad, A numerically stable solver for positive semidefinite quadratic programs based on nonnegative least
squares, IEEE Transactions on Automatic Control 63, 2018.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..arrays import filled
from ..control import while_loop
from ..functions import and_, eq, fabs, fmax, fmin, le, lt, not_, or_, sqrt, where
from ..linalg.sums import dot, is_zero
from .factored import Factored, factored, rounding
from .pivoting import CONTRADICTION, GOING, OPTIMAL, Bounds, Walk, triangle, walked

__all__ = [
    "INFEASIBLE",
    "NOT_A_NUMBER",
    "NOT_CONVEX",
    "OUT_OF_ITERATIONS",
    "SOLVED",
    "UNBOUNDED",
    "Given",
    "Solution",
    "solution",
]

SOLVED, OUT_OF_ITERATIONS, NOT_A_NUMBER, INFEASIBLE, UNBOUNDED, NOT_CONVEX = 0.0, 1.0, 2.0, 3.0, 4.0, 5.0

_PROXIMAL = 8.0  # of the root of the rounding: E by the diagonal of H
_LINEAR = 1e3  # how much more E is of a variable that H does not have
_PASSES = 60
_FLAT = 1e-3  # of E d: what H d is along a direction without curvature

Scalars = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Given:
    """A program: rows of A with their bounds, and which variables have bounds; and what is held first, of all rows."""

    H: list[list[Any]]
    g: list[Any]
    A: list[list[Any]]
    bounded: list[int]
    lower: list[Any]  # of the rows and of the variables that have bounds
    upper: list[Any]
    warm: list[Any]
    definite: bool
    tolerance: float
    at_most: int


class Solution(NamedTuple):
    """x, a multiplier for every row and every variable that has bounds, and which are held at which side."""

    x: list[Any]
    multipliers: list[Any]
    sides: list[Any]
    status: Any
    iterations: Any


class _Pass(NamedTuple):
    """Between proximal steps."""

    tableau: Any
    x: Any
    Hx: Any
    Cx: Any
    multipliers: Any
    sides: Any
    marks: Any
    left: Any  # how far from stationary
    status: Any
    going: Any
    changes: Any


@dataclass(frozen=True, slots=True)
class _Problem:
    given: Given
    E: list[Any]
    factors: Factored
    bounds: Bounds
    tolerance: Any

    def of_rows(self, x: Scalars) -> list[Any]:
        """C x, scaled."""
        found = [*self.factors.of_rows(self.given.A, x), *(x[j] for j in self.given.bounded)]
        return [0.0 if is_zero(v) else v * scale for v, scale in zip(found, self.factors.scales, strict=True)]

    def of_columns(self, multipliers: Scalars) -> list[Any]:
        """Cᵀλ of multipliers of scaled rows."""
        weights = [x * scale for x, scale in zip(multipliers, self.factors.scales, strict=True)]
        m = len(self.given.A)
        found = self.factors.of_columns(self.given.A, weights[:m])
        for j, weight in zip(self.given.bounded, weights[m:], strict=True):
            found[j] = found[j] + weight
        return found

    def step(self, s: _Pass, *, first: bool) -> tuple[Walk, list[Any], Any]:
        """The walk from x̄, the way from there, and the loop's status."""
        factors, bounds = self.factors, self.bounds
        k = len(bounds.lower)
        old = list(s.multipliers)
        r = [a + b for a, b in zip(s.Hx, self.given.g, strict=True)]
        if not first:
            r = [a + b for a, b in zip(r, self.of_columns(old), strict=True)]
        z = factors.forward(r)
        Yz = factors.of_rows(factors.Y, z)
        values = [a - b for a, b in zip(s.Cx, Yz, strict=True)]
        targets = values
        if not first:
            held = [not_(eq(side, 0.0)) for side in s.sides]
            gaps = [
                where(x, v - where(lt(0.0, side), above, below), 0.0)
                for x, v, side, below, above in zip(held, values, s.sides, bounds.lower, bounds.upper, strict=True)
            ]
            shifts = [dot([s.tableau[triangle(i, j)] for j in range(k)], gaps) for i in range(k)]
            targets = [
                where(x, multiplier, v) - q for x, multiplier, v, q in zip(held, old, values, shifts, strict=True)
            ]
        walk = Walk(
            s.tableau, filled((k,), targets), s.multipliers, s.sides, s.marks, -1.0, -1.0, 1.0, GOING, s.changes
        )
        end, status = walked(walk, bounds, self.given.at_most)
        moved = [a - b for a, b in zip(end.multipliers, old, strict=True)]
        whole = [a + b for a, b in zip(z, factors.of_columns(factors.Y, moved), strict=True)]
        return end, [-x for x in factors.backward(whole)], status

    def next(self, s: _Pass) -> _Pass:
        """A proximal step."""
        walk, way, ended = self.step(s, first=False)
        n, k = len(way), len(self.bounds.lower)
        x = [a + b for a, b in zip(s.x, way, strict=True)]
        Hx = self.factors.of_rows(self.given.H, x)
        Cx = self.of_rows(x)
        left: Any = 0.0
        size: Any = 0.0
        for e, d, a, b in zip(self.E, way, Hx, self.given.g, strict=True):
            left = fmax(left, fabs(e * d))
            size = fmax(size, fmax(fabs(a), fabs(b)))
        contradiction = eq(walk.going, CONTRADICTION)
        near = le(left, self.tolerance * size)
        still = and_(le(left, 1e3 * self.tolerance * size), le(0.5 * s.left, left))
        unbounded = self._unbounded(way, left, s, Hx, Cx)
        stop = or_(not_(eq(ended, 0.0)), or_(contradiction, or_(near, or_(still, unbounded))))
        status = where(contradiction, INFEASIBLE, where(unbounded, UNBOUNDED, ended))
        status = where(eq(ended, 0.0), status, ended)
        shown = [where(unbounded, d, a) for a, d in zip(x, way, strict=True)]
        return _Pass(
            walk.tableau,
            filled((n,), shown),
            filled((n,), Hx),
            filled((k,), Cx),
            walk.multipliers,
            walk.sides,
            filled((k,), [where(eq(mark, 2.0), 0.0, mark) for mark in walk.marks]),
            left,
            status,
            where(stop, 0.0, GOING),
            walk.changes,
        )

    def _unbounded(self, way: Scalars, left: Any, s: _Pass, Hx: Scalars, Cx: Scalars) -> Any:
        """Whether the objective falls for ever along the way."""
        size: Any = 0.0
        curved: Any = 0.0
        for d in way:
            size = fmax(size, fabs(d))
        for now, before in zip(Hx, s.Hx, strict=True):
            curved = fmax(curved, fabs(now - before))
        slope = dot(self.given.g, way)
        found = and_(lt(curved, _FLAT * left), lt(slope, 0.0))
        for now, before, lower, upper, scale, most in zip(
            Cx, s.Cx, self.bounds.lower, self.bounds.upper, self.factors.scales, self.factors.sizes, strict=True
        ):
            change = now - before
            little = 1e-8 * size * scale * most
            open_above = or_(le(change, little), eq(upper, math.inf))
            open_below = or_(le(-little, change), eq(lower, -math.inf))
            found = and_(found, and_(open_above, open_below))
        return found


def solution(given: Given) -> Solution:
    """The solution of a program, or what is so instead."""
    n, k = len(given.g), len(given.lower)
    problem, valid = _prepared(given)
    rows = problem.factors.gram()
    zeros = filled((k,), [0.0] * k)
    start = _Pass(
        filled((k * (k + 1) // 2,), [x for row in rows for x in row]),
        filled((n,), [0.0] * n),
        filled((n,), [0.0] * n),
        zeros,
        zeros,
        zeros,
        filled((k,), given.warm),
        math.inf,
        0.0,
        GOING,
        0.0,
    )
    if given.definite:
        walk, way, ended = problem.step(start, first=True)
        x, multipliers, sides, changes = way, list(walk.multipliers), list(walk.sides), walk.changes
        status = where(eq(walk.going, CONTRADICTION), INFEASIBLE, SOLVED)
        status = where(eq(ended, 0.0), status, ended)
    else:
        found = while_loop(lambda s: lt(0.5, s.going), problem.next, start, at_most=_PASSES)
        end = found.state
        x, multipliers, sides, changes = list(end.x), list(end.multipliers), list(end.sides), end.changes
        status = where(eq(found.status, 0.0), end.status, found.status)
    status = where(problem.factors.convex, status, NOT_CONVEX)
    crossing: Any = False
    for lower, upper, slack in zip(problem.bounds.lower, problem.bounds.upper, problem.bounds.slack, strict=True):
        crossing = or_(crossing, lt(slack, lower - upper))
    total: Any = 0.0
    for value in (*x, *given.g):
        total = total + fabs(value)
    status = where(crossing, INFEASIBLE, status)
    status = where(and_(valid, lt(total, math.inf)), status, NOT_A_NUMBER)
    multipliers = [a * scale for a, scale in zip(multipliers, problem.factors.scales, strict=True)]
    m = len(given.A)
    fine = or_(eq(status, SOLVED), eq(status, OUT_OF_ITERATIONS))
    for place, j in enumerate(given.bounded, start=m):
        x[j] = where(fine, fmin(fmax(x[j], given.lower[place]), given.upper[place]), x[j])
    return Solution(x, multipliers, sides, status, changes)


def _prepared(given: Given) -> tuple[_Problem, Any]:
    """The program without units, and whether its bounds are numbers."""
    n = len(given.g)
    unit = rounding(given.g[0] if not is_zero(given.g[0]) else given.H[0][0])
    tolerance = fmax(given.tolerance, 16.0 * unit)
    E: list[Any] = [0.0] * n
    if not given.definite:
        largest: Any = 0.0
        slope: Any = 0.0
        for i in range(n):
            largest = fmax(largest, given.H[i][i])
            slope = fmax(slope, fabs(given.g[i]))
        floor = where(lt(0.0, largest), largest, _LINEAR * where(lt(0.0, slope), slope, 1.0))
        part = _PROXIMAL * sqrt(unit)
        E = [part * where(lt(1e-12 * largest, given.H[i][i]), given.H[i][i], floor) for i in range(n)]
    units = [[1.0 if i == j else 0.0 for i in range(n)] for j in given.bounded]
    factors = factored(given.H, E, [*given.A, *units])
    lower = [x * scale for x, scale in zip(given.lower, factors.scales, strict=True)]
    upper = [x * scale for x, scale in zip(given.upper, factors.scales, strict=True)]
    slack = [
        tolerance * (scale * size + fmin(fabs(a), fabs(b)))
        for a, b, scale, size in zip(lower, upper, factors.scales, factors.sizes, strict=True)
    ]
    equal = [eq(a, b) for a, b in zip(given.lower, given.upper, strict=True)]
    valid: Any = True
    for a, b in zip(given.lower, given.upper, strict=True):
        valid = and_(valid, and_(eq(a, a), eq(b, b)))
    return _Problem(given, E, factors, Bounds(lower, upper, slack, equal, 1e3 * unit), tolerance), valid
