"""Proximal-point method for convex quadratic programs: each step solves a strictly convex program.

A step from x̄ goes to the minimizer of ½ xᵀHx + gᵀx + ½ (x − x̄)ᵀE(x − x̄) within the bounds, with a small diagonal E.
There Hx + g + Cᵀλ = −E (x − x̄), which is the residual.  The next step starts there, with the same active set.

If H is positive definite, E is 0 and one step is exact up to rounding.  So each step solves a regular problem for any
H, and also refines the solution, since it computes the residual again.  A linear program needs finitely many steps.

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
from linkwork.expr.optimize.row_scaling import ProgramFactors, factor_program
from linkwork.expr.scalar.float_limits import FloatLimits
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
from linkwork.expr.scalar.precision import float_limits_of

__all__ = [
    "INFEASIBLE",
    "NOT_A_NUMBER",
    "NOT_CONVEX",
    "OUT_OF_ITERATIONS",
    "SOLVED",
    "UNBOUNDED",
    "ConvexProgram",
    "Outcome",
    "solve_program",
]

SOLVED, OUT_OF_ITERATIONS, NOT_A_NUMBER, INFEASIBLE, UNBOUNDED, NOT_CONVEX = 0.0, 1.0, 2.0, 3.0, 4.0, 5.0

_MAX_STEPS = 60

Scalars = Sequence[Any]


@dataclass(frozen=True, slots=True)
class ConvexProgram:
    """Convex quadratic program: minimize ½ xᵀHx + gᵀx with bounds on the rows A x and on selected variables.

    ``bounded`` are the indices of these variables.  ``lower``, ``upper`` and ``warm`` have an element for each row of
    A, then one for each bounded variable.
    """

    H: list[list[Any]]
    g: list[Any]
    A: list[list[Any]]
    bounded: list[int]
    lower: list[Any]  # of the rows and the bounded variables
    upper: list[Any]
    warm: list[Any]  # sides of an active set near the solution
    tolerance: float
    max_iterations: int


class Outcome(NamedTuple):
    """Solution of a convex program: x, multipliers, active bounds, status and number of active-set changes.

    ``multipliers`` and ``sides`` have an element for each row of A, then one for each bounded variable.  A side is 1
    at an active upper bound, −1 at an active lower bound, else 0.
    """

    x: list[Any]
    multipliers: list[Any]
    sides: list[Any]
    status: Any
    iterations: Any


class _Pass(NamedTuple):
    """State of the proximal-point method for a quadratic program between two steps."""

    x: Any
    Hx: Any
    Cx: Any  # scaled
    residual: Any  # H x + g + Cᵀλ
    multipliers: Any  # of scaled rows
    sides: Any
    marks: Any
    error: Any  # largest element of the residual, relative to its terms
    status: Any
    running: Any
    changes: Any
    tableau: Any


@dataclass(frozen=True, slots=True)
class _Problem:
    """Convex program with its matrix factors, and with rows scaled to unit length."""

    program: ConvexProgram
    factors: ProgramFactors
    bounds: ScaledBounds
    limits: FloatLimits
    tolerance: Any
    gram: list[Any]

    def of_rows(self, x: Scalars) -> list[Any]:
        """Return C x, scaled by row, where C has the rows of A and the unit rows of bounded variables."""
        result = [*self.factors.of_rows(self.program.A, x), *(x[j] for j in self.program.bounded)]
        return [0.0 if is_zero(v) else v * scale for v, scale in zip(result, self.factors.scales, strict=True)]

    def of_columns(self, multipliers: Scalars) -> list[Any]:
        """Return Cᵀλ for the multipliers λ of scaled rows."""
        weights = [x * scale for x, scale in zip(multipliers, self.factors.scales, strict=True)]
        m = len(self.program.A)
        result = self.factors.of_columns(self.program.A, weights[:m])
        for j, weight in zip(self.program.bounded, weights[m:], strict=True):
            result[j] = result[j] + weight
        return result

    def next(self, s: _Pass) -> _Pass:
        """Return the state after a step of the proximal-point method."""
        factors, bounds = self.factors, self.bounds
        k = len(bounds.lower)
        old = list(s.multipliers)
        z = factors.forward(s.residual)
        values = [a - b for a, b in zip(s.Cx, factors.of_rows(factors.Y, z), strict=True)]
        active = [not_(eq(side, 0.0)) for side in s.sides]
        gaps = [
            where(x, v - where(lt(0.0, side), above, below), 0.0)
            for x, v, side, below, above in zip(active, values, s.sides, bounds.lower, bounds.upper, strict=True)
        ]
        corrections = [dot([s.tableau[packed_index(i, j)] for j in range(k)], gaps) for i in range(k)]
        targets = [where(x, 0.0, v) - q for x, v, q in zip(active, values, corrections, strict=True)]
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
        result, ended = run_active_set(ActiveSetState(*start), replace(bounds, base=old), self.program.max_iterations)
        contradiction = eq(result.phase, CONTRADICTION)
        multipliers = [where(contradiction, b, a + b) for a, b in zip(old, result.multipliers, strict=True)]
        change = [a + b for a, b in zip(z, factors.of_columns(factors.Y, result.multipliers), strict=True)]
        direction = [-x for x in factors.backward(change)]
        x = [a + b for a, b in zip(s.x, direction, strict=True)]
        Hx, Cx = factors.of_rows(self.program.H, x), self.of_rows(x)
        pulled = self.of_columns(multipliers)
        residual = [a + b + c for a, b, c in zip(Hx, self.program.g, pulled, strict=True)]
        error = _largest(residual) / fmax(_largest([*Hx, *self.program.g, *pulled]), self.limits.smallest_divisor)
        feasible: Any = True
        for v, below, above, slack, side in zip(
            Cx, bounds.lower, bounds.upper, bounds.tolerance, result.sides, strict=True
        ):
            low, high = where(lt(0.0, side), above, below), where(lt(side, 0.0), below, above)
            feasible = and_(feasible, and_(le(v - high, slack), le(low - v, slack)))
        accurate = le(error, self.tolerance)
        stalled = and_(le(error, 10.0 * self.tolerance), le(0.5 * s.error, error))
        solved = and_(feasible, or_(accurate, stalled))
        unbounded = and_(not_(solved), self._is_unbounded(direction, s, Hx, Cx))
        stopped = not_(eq(ended, 0.0))
        certified = le(
            _largest(pulled),
            self.limits.flat
            * _largest([a * b * c for a, b, c in zip(multipliers, factors.scales, factors.sizes, strict=True)]),
        )
        status = where(unbounded, UNBOUNDED, SOLVED)
        status = where(contradiction, where(certified, INFEASIBLE, OUT_OF_ITERATIONS), status)
        status = where(stopped, ended, status)
        stop = or_(or_(stopped, contradiction), or_(solved, unbounded))
        marks = [where(eq(mark, 2.0), 0.0, mark) for mark in result.marks]
        return _Pass(
            object_array((len(x),), [where(unbounded, d, a) for a, d in zip(x, direction, strict=True)]),
            object_array((len(x),), Hx),
            object_array((k,), Cx),
            object_array((len(x),), residual),
            object_array((k,), multipliers),
            result.sides,
            object_array((k,), marks),
            error,
            status,
            where(stop, OPTIMAL, RUNNING),
            result.changes,
            result.tableau,
        )

    def _is_unbounded(self, direction: Scalars, s: _Pass, Hx: Scalars, Cx: Scalars) -> Any:
        """Return True if the objective decreases without limit along ``direction`` and no bound is reached.

        ``s`` is the state before the step along the direction, ``Hx`` and ``Cx`` are the products after it.
        """
        size: Any = 0.0
        curvature: Any = 0.0
        proximal: Any = 0.0
        for d, e in zip(direction, self.factors.E, strict=True):
            size, proximal = fmax(size, fabs(d)), fmax(proximal, fabs(e * d))
        for now, before in zip(Hx, s.Hx, strict=True):
            curvature = fmax(curvature, fabs(now - before))
        slope = dot(self.program.g, direction)
        result = and_(lt(curvature, self.limits.flat * proximal), lt(slope, 0.0))
        for now, before, lower, upper, scale, coefficient in zip(
            Cx, s.Cx, self.bounds.lower, self.bounds.upper, self.factors.scales, self.factors.sizes, strict=True
        ):
            change = now - before
            negligible = self.limits.negligible * size * scale * coefficient
            open_above = or_(le(change, negligible), eq(upper, math.inf))
            open_below = or_(le(-negligible, change), eq(lower, -math.inf))
            result = and_(result, and_(open_above, open_below))
        return result


def solve_program(program: ConvexProgram) -> tuple[Outcome, list[Any], ProgramFactors]:
    """Solve a program; return the outcome, the last tableau and the factors."""
    n, k = len(program.g), len(program.lower)
    problem, valid = _scaled_problem(program)
    zeros = object_array((k,), [0.0] * k)
    warm = [_side(*each) for each in zip(program.warm, program.lower, program.upper, strict=True)]
    start = _Pass(
        object_array((n,), [0.0] * n),
        object_array((n,), [0.0] * n),
        zeros,
        object_array((n,), program.g),
        zeros,
        zeros,
        object_array((k,), warm),
        math.inf,
        0.0,
        RUNNING,
        0.0,
        object_array((k * (k + 1) // 2,), problem.gram),
    )
    result = watching_while_loop(
        lambda s: lt(0.5, s.running), problem.next, start, _MAX_STEPS, unwatched=len(start.tableau)
    )
    end = result.state
    x, multipliers, sides, changes = list(end.x), list(end.multipliers), list(end.sides), end.changes
    status = where(eq(result.status, 0.0), end.status, result.status)
    status = where(problem.factors.convex, status, NOT_CONVEX)
    crossed: Any = False
    for lower, upper, slack in zip(problem.bounds.lower, problem.bounds.upper, problem.bounds.tolerance, strict=True):
        crossed = or_(crossed, lt(slack, lower - upper))
    total: Any = 0.0
    for value in (*x, *program.g):
        total = total + fabs(value)
    status = where(crossed, INFEASIBLE, status)
    status = where(and_(valid, lt(total, math.inf)), status, NOT_A_NUMBER)
    multipliers = [where(crossed, 0.0, a * scale) for a, scale in zip(multipliers, problem.factors.scales, strict=True)]
    m = len(program.A)
    has_point = or_(eq(status, SOLVED), eq(status, OUT_OF_ITERATIONS))
    x = [where(eq(status, NOT_A_NUMBER), math.nan, value) for value in x]
    for i, j in enumerate(program.bounded, start=m):
        x[j] = where(has_point, fmin(fmax(x[j], program.lower[i]), program.upper[i]), x[j])
    return Outcome(x, multipliers, sides, status, changes), list(end.tableau), problem.factors


def _side(warm: Any, lower: Any, upper: Any) -> Any:
    """Return the bound at which a warm start makes a row active: 1 for the upper, −1 for the lower, 0 for neither.

    The sign of ``warm`` states the requested bound; an infinite bound is never active.
    """
    if is_zero(warm):
        return 0.0
    high = and_(lt(0.0, warm), lt(upper, math.inf))
    return where(high, 1.0, where(and_(lt(warm, 0.0), lt(-math.inf, lower)), -1.0, 0.0))


def _largest(values: Scalars) -> Any:
    result: Any = 0.0
    for x in values:
        result = fmax(result, fabs(x))
    return result


def _scaled_problem(program: ConvexProgram) -> tuple[_Problem, Any]:
    """Return a quadratic program with its rows scaled to unit length, and True if no bound is NaN."""
    data = [*program.g, *(x for row in program.H for x in row), *(x for row in program.A for x in row), *program.upper]
    limits = float_limits_of(data)
    unit = limits.epsilon
    tolerance = fmax(program.tolerance, 16.0 * unit)
    factors = factor_program(program.H, program.g, program.A, program.bounded, limits)
    gram = [x for row in factors.gram() for x in row]

    def scaled(row: Scalars) -> list[Any]:
        a, b, scale, size = row
        low, high = a * scale, b * scale
        slack = tolerance * (scale * size + fmin(fabs(low), fabs(high)))
        return [low, high, slack, where(eq(a, b), EQUATION_WEIGHT, 1.0)]

    # results of a loop are contiguous, so a pivot needs no copies
    rows = list(zip(program.lower, program.upper, factors.scales, factors.sizes, strict=True))
    result = map_rows(scaled, rows, in_loops=factors.in_loops, alike=True)
    lower, upper, slack, weight = ([row[j] for row in result] for j in range(4))
    valid: Any = True
    for a, b in zip(program.lower, program.upper, strict=True):
        valid = and_(valid, and_(eq(a, a), eq(b, b)))
    small_pivot = exp(0.75 * log(unit))
    has_warm_start = not all(map(is_zero, program.warm))
    bounds = ScaledBounds(lower, upper, slack, weight, small_pivot, 64.0 * unit, 100.0 * unit, has_warm_start)
    return _Problem(program, factors, bounds, limits, tolerance, gram), valid
