"""Primal-dual active set step of a quadratic program with equations, ranges and bounds.

The active set is carried from step to step.  Among all δ with J δ = −e, the step minimises ½ δᵀH δ + gᵀδ within bounds.
For a given active set it is a linear problem of the free coordinates,

    (J H⁻¹Jᵀ + ν 1) λ = e − J H⁻¹g,      δ = −H⁻¹(g + Jᵀλ),

in which active coordinates have a fixed δ.  The active set is predicted and then updated from the solution: a
coordinate that exceeds its bound is fixed at the bound, and a coordinate whose multiplier has the wrong sign is
released.  A row with a range is active at an end of its range.  ν shortens steps far from the solution, as in the
Levenberg–Marquardt method.

Sources: Hintermüller, Ito and Kunisch, The primal-dual active set strategy as a semismooth Newton method, SIAM J.
Optim. 13 (3), 2002; Nocedal and Wright, Numerical Optimization, 2nd ed., 2006, chapter 16.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import dot, mirrored
from linkwork.expr.scalar.functions import and_, lt, or_, where
from linkwork.ik.algorithms.joint_bounds import times
from linkwork.kinematics.algorithms.coordinates import LimitBox

__all__ = ["QuadraticPrograms", "QuadraticStep"]

Scalars = Sequence[Any]
Rows = Sequence[Scalars]

_REGULARISATION = 1e-12  # regularisation relative to the diagonal


class QuadraticStep(NamedTuple):
    """Step δ, multipliers λ, and the next active set: −1 at the lower bound, 1 at the upper one, else 0."""

    step: list[Any]
    multipliers: list[Any]
    bound_sides: list[Any]  # of the bounded velocities
    range_sides: list[Any]  # of the rows with ranges


@dataclass(frozen=True)
class QuadraticPrograms:
    """Quadratic programs with the same movable coordinates, bounds of coordinates and ranges of rows."""

    used: Sequence[int]  # indices of the movable velocities
    box: LimitBox
    ranges: dict[int, tuple[float, float]]  # row index to range
    rounds: int = 1

    def solve(
        self,
        H: Rows,
        g: Scalars,
        rows: Rows,
        errors: Scalars,
        damping: Any,
        q: Scalars,
        bound_sides: Scalars,
        range_sides: Scalars,
    ) -> QuadraticStep:
        """Return the step δ that minimises ½ δᵀ H δ + gᵀ δ subject to J δ = −e within bounds, and the next active set.

        H, g and J (``rows``) have a column for each movable coordinate, and e are the ``errors``. An error with a
        permitted range replaces its equation J δ = −e: it must be within its range after the step, and its value in
        ``errors`` is the full error, not only the part outside the range. ``bound_sides`` and ``range_sides`` are the
        predicted active set: the side of each active bound of a coordinate, and of each active end of a range.
        """
        bounded = [(index, k) for index, k in enumerate(self.used) if k in self.box.indices]
        distances = {
            index: (self.box.lower[n] - q[n], self.box.upper[n] - q[n])
            for index, k in bounded
            for n in (self.box.indices[k],)
        }
        for _ in range(self.rounds):
            step, multipliers = self._solve_active(H, g, rows, errors, damping, distances, bound_sides, range_sides)
            slopes = self._bound_gradients(H, g, rows, step, multipliers, [index for index, _ in bounded])
            bound_sides = [
                _next_side(flag, step[index], slope, *distances[index])
                for (index, _), flag, slope in zip(bounded, bound_sides, slopes, strict=True)
            ]
            range_sides = [
                _next_side(flag, errors[i] + dot(rows[i], step), -multipliers[i], low, high)
                for (i, (low, high)), flag in zip(self.ranges.items(), range_sides, strict=True)
            ]
        return QuadraticStep(step, multipliers, list(bound_sides), list(range_sides))

    def _solve_active(
        self,
        H: Rows,
        g: Scalars,
        rows: Rows,
        errors: Scalars,
        damping: Any,
        distances: dict[int, tuple[Any, Any]],
        bound_sides: Scalars,
        range_sides: Scalars,
    ) -> tuple[list[Any], list[Any]]:
        """Return the step δ and the multipliers λ of the quadratic program for given active bounds and ranges.

        ``distances`` are those from each bounded coordinate to its bounds, by index. ``bound_sides`` and
        ``range_sides`` are the active sides: 1 upper, −1 lower, else 0.
        """
        n = len(g)
        free: list[Any] = [1.0] * n
        fixed: list[Any] = [0.0] * n
        for (index, (low, high)), flag in zip(distances.items(), bound_sides, strict=True):
            at_low, at_high = lt(flag, -0.5), lt(0.5, flag)
            free[index] = where(or_(at_low, at_high), 0.0, 1.0)
            fixed[index] = where(at_low, low, where(at_high, high, 0.0))
        active: list[Any] = [1.0] * len(rows)
        residual = list(errors)
        for (i, (low, high)), flag in zip(self.ranges.items(), range_sides, strict=True):
            at_low, at_high = lt(flag, -0.5), lt(0.5, flag)
            active[i] = where(or_(at_low, at_high), 1.0, 0.0)
            residual[i] = where(at_low, errors[i] - low, where(at_high, errors[i] - high, 0.0))
        J = [
            [times(times(x, a), c) for x, a in zip(row, free, strict=True)] for row, c in zip(rows, active, strict=True)
        ]
        residual = [
            x + times(dot(row, fixed), c) if distances else x for x, row, c in zip(residual, rows, active, strict=True)
        ]
        matrix = [
            [H[i][j] if i == j else times(times(H[i][j], free[i]), free[j]) for j in range(i + 1)] for i in range(n)
        ]
        matrix = mirrored(matrix)
        gradient = [times(x + dot(row, fixed) if distances else x, a) for x, row, a in zip(g, H, free, strict=True)]
        inner = Semidefinite.of(matrix, None, _REGULARISATION)
        # by L⁻¹ alone: J H⁻¹Jᵀ = Y D⁻¹ Yᵀ with Y = J L⁻ᵀ
        Y = [inner.half(row) for row in J]
        y = inner.half(gradient)
        Z = [[times(a, d) for a, d in zip(row, inner.D_inv, strict=True)] for row in Y]
        S = [[dot(Z[i], Y[j]) if j <= i else 0.0 for j in range(len(Y))] for i in range(len(Y))]
        outer = Semidefinite.of(S, [damping] * len(Y), _REGULARISATION)
        multipliers = outer.once([e - dot(row, y) for e, row in zip(residual, Z, strict=True)])
        down = [a + dot(column, multipliers) for a, column in zip(y, zip(*Y, strict=True), strict=True)] if Y else y
        result = inner.rest(down)
        step = [times(-x, a) + h if distances else -x for x, a, h in zip(result, free, fixed, strict=True)]
        return step, multipliers

    def _bound_gradients(
        self, H: Rows, g: Scalars, rows: Rows, step: Scalars, multipliers: Scalars, indices: Sequence[int]
    ) -> list[Any]:
        """Return H δ + g + Jᵀλ for the coordinates ``indices``: the negative multipliers of their upper bounds.

        δ is ``step`` and J are the ``rows``. A negative value means that the objective falls if the coordinate
        increases.
        """
        return [g[p] + dot(H[p], step) + dot([row[p] for row in rows], multipliers) for p in indices]


def _next_side(flag: Any, step: Any, slope: Any, low: Any, high: Any) -> Any:
    """Return the next active bound of a coordinate: 1 upper, −1 lower, 0 none.

    ``flag`` is the present active bound, and ``slope`` the gradient at it. An active bound stays while its multiplier
    has the right sign. A bound (``low``, ``high``) that the ``step`` exceeds becomes active.
    """
    stays = or_(and_(lt(flag, -0.5), lt(0.0, slope)), and_(lt(0.5, flag), lt(slope, 0.0)))
    free = and_(lt(-0.5, flag), lt(flag, 0.5))
    beyond = where(lt(high, step), 1.0, where(lt(step, low), -1.0, 0.0))
    return where(stays, flag, where(free, beyond, 0.0))
