"""Steps of a quadratic program with equations and bounds, whose active set is carried from step to step.

Of all δ with  J δ = −e  the one of least  ½ δᵀH δ + gᵀδ  within bounds.  With coordinates at their bounds known it is a
linear problem of the others,

    (J H⁻¹Jᵀ + ν 1) λ = e − J H⁻¹g,      δ = −H⁻¹(g + Jᵀλ),

in which what is at its bound has a given δ.  Which ones are is guessed, and guessed again by the answer: a coordinate
that goes beyond its bound is put there, one that is pressed off its bound is let go.  A row that has a range counts
where it is at an end of that.  ν shortens steps of far from where equations hold, as Levenberg and Marquardt have it.

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

__all__ = ["QuadraticStep", "Quadratics"]

Scalars = Sequence[Any]
Rows = Sequence[Scalars]

_LEAST = 1e-12  # part of the diagonal that keeps what is singular regular


class QuadraticStep(NamedTuple):
    """δ, λ by row, and what is at its bound next: −1 at the lower one, 1 at the upper one, else 0."""

    step: list[Any]
    multipliers: list[Any]
    bound: list[Any]  # of the velocities that have bounds
    ends: list[Any]  # of the rows that have ranges


@dataclass(frozen=True)
class Quadratics:
    """Programs of one shape: which velocities move at all, which have bounds, which rows have ranges."""

    used: Sequence[int]  # velocities
    box: LimitBox
    ranges: dict[int, tuple[float, float]]  # by row
    rounds: int = 1

    def solved(
        self,
        H: Rows,
        g: Scalars,
        rows: Rows,
        errors: Scalars,
        damping: Any,
        q: Scalars,
        bound: Scalars,
        ends: Scalars,
    ) -> QuadraticStep:
        """H, g and J by used velocities alone; errors of rows with ranges as they are."""
        bounded = [(place, k) for place, k in enumerate(self.used) if k in self.box.numbers]
        rooms = {
            place: (self.box.lower[n] - q[n], self.box.upper[n] - q[n])
            for place, k in bounded
            for n in (self.box.numbers[k],)
        }
        for _ in range(self.rounds):
            step, forces = self._at(H, g, rows, errors, damping, rooms, bound, ends)
            slopes = self._slopes(H, g, rows, step, forces, [place for place, _ in bounded])
            bound = [
                _next(flag, step[place], slope, *rooms[place])
                for (place, _), flag, slope in zip(bounded, bound, slopes, strict=True)
            ]
            ends = [
                _next(flag, errors[i] + dot(rows[i], step), -forces[i], low, high)
                for (i, (low, high)), flag in zip(self.ranges.items(), ends, strict=True)
            ]
        return QuadraticStep(step, forces, list(bound), list(ends))

    def _at(
        self,
        H: Rows,
        g: Scalars,
        rows: Rows,
        errors: Scalars,
        damping: Any,
        rooms: dict[int, tuple[Any, Any]],
        bound: Scalars,
        ends: Scalars,
    ) -> tuple[list[Any], list[Any]]:
        """δ and λ with these at their bounds."""
        n = len(g)
        free: list[Any] = [1.0] * n
        held: list[Any] = [0.0] * n
        for (place, (low, high)), flag in zip(rooms.items(), bound, strict=True):
            at_low, at_high = lt(flag, -0.5), lt(0.5, flag)
            free[place] = where(or_(at_low, at_high), 0.0, 1.0)
            held[place] = where(at_low, low, where(at_high, high, 0.0))
        counts: list[Any] = [1.0] * len(rows)
        open_ = list(errors)
        for (i, (low, high)), flag in zip(self.ranges.items(), ends, strict=True):
            at_low, at_high = lt(flag, -0.5), lt(0.5, flag)
            counts[i] = where(or_(at_low, at_high), 1.0, 0.0)
            open_[i] = where(at_low, errors[i] - low, where(at_high, errors[i] - high, 0.0))
        J = [
            [times(times(x, a), c) for x, a in zip(row, free, strict=True)] for row, c in zip(rows, counts, strict=True)
        ]
        open_ = [x + times(dot(row, held), c) if rooms else x for x, row, c in zip(open_, rows, counts, strict=True)]
        matrix = [
            [H[i][j] if i == j else times(times(H[i][j], free[i]), free[j]) for j in range(i + 1)] for i in range(n)
        ]
        matrix = mirrored(matrix)
        pull = [times(x + dot(row, held) if rooms else x, a) for x, row, a in zip(g, H, free, strict=True)]
        inner = Semidefinite.of(matrix, None, _LEAST)
        # by L⁻¹ alone: J H⁻¹Jᵀ = Y D⁻¹ Yᵀ with Y = J L⁻ᵀ
        Y = [inner.half(row) for row in J]
        y = inner.half(pull)
        Z = [[times(a, d) for a, d in zip(row, inner.D_inv, strict=True)] for row in Y]
        S = [[dot(Z[i], Y[j]) if j <= i else 0.0 for j in range(len(Y))] for i in range(len(Y))]
        outer = Semidefinite.of(S, [damping] * len(Y), _LEAST)
        forces = outer.once([e - dot(row, y) for e, row in zip(open_, Z, strict=True)])
        down = [a + dot(column, forces) for a, column in zip(y, zip(*Y, strict=True), strict=True)] if Y else y
        result = inner.rest(down)
        step = [times(-x, a) + h if rooms else -x for x, a, h in zip(result, free, held, strict=True)]
        return step, forces

    def _slopes(
        self, H: Rows, g: Scalars, rows: Rows, step: Scalars, forces: Scalars, places: Sequence[int]
    ) -> list[Any]:
        """(H δ + g + Jᵀλ) where bounds are: negative of what presses upward."""
        return [g[p] + dot(H[p], step) + dot([row[p] for row in rows], forces) for p in places]


def _next(flag: Any, step: Any, slope: Any, low: Any, high: Any) -> Any:
    """What is at its bound next: kept while it is pressed there, and put there where it would go beyond."""
    kept = or_(and_(lt(flag, -0.5), lt(0.0, slope)), and_(lt(0.5, flag), lt(slope, 0.0)))
    free = and_(lt(-0.5, flag), lt(flag, 0.5))
    beyond = where(lt(high, step), 1.0, where(lt(step, low), -1.0, 0.0))
    return where(kept, flag, where(free, beyond, 0.0))
