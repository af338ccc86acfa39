"""Sequential quadratic programming (SQP) on the manifold: the nearest configuration, from several starts.

    min ½ ‖q ⊖ q₀‖²_W  +  ½ Σ (w e)² of soft errors     with  e = 0 of hard errors, or within ranges,  and limits.

From a start, damped least-squares steps are taken until the hard errors are nearly zero.  From there each step solves a
quadratic program of the linearised errors and limits (`sqp_step`).  Its matrix approximates the curvature of
½ ‖q ⊖ q₀‖² + λᵀe (BFGS with Powell's damping).  A step that neither reduces the errors nor the merit function, the
distance plus ρ ‖e‖, is halved.

When steps end, or cannot lead to a smaller distance than the best one, the next start follows.  The first start is the
initial guess; other starts cover the part of the limits that is not farther from q₀ than the best configuration.
Angles of starts and solutions are shifted to within half a revolution of q₀ where limits permit, since full
revolutions only add distance.  Everything is one loop.

Sources: Powell, A fast algorithm for nonlinearly constrained optimization calculations, Lecture Notes in Mathematics
630, 1978; Nocedal and Wright, Numerical Optimization, 2nd ed., 2006, chapter 18.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from linkwork._util.cached_properties import cached_property
from linkwork.expr.control.loops import while_loop
from linkwork.expr.linalg.sparse_dot import dot, identity, is_zero, mirrored, transposed
from linkwork.expr.scalar.functions import and_, fabs, floor, fmax, fmin, lt, not_, or_, sqrt, where
from linkwork.ik.algorithms.damped_least_squares import length_dofs, length_scale, longest_steps, shortened
from linkwork.ik.algorithms.levenberg_marquardt import MAX_ITERATIONS, SearchResult
from linkwork.ik.algorithms.sqp_step import QuadraticPrograms
from linkwork.ik.algorithms.task_stack import Stack
from linkwork.kinematics.algorithms.configuration_manifold import difference, integrate
from linkwork.kinematics.algorithms.coordinates import LimitBox, coordinate_indices, unit_steps
from linkwork.kinematics.algorithms.low_discrepancy import kronecker_rates

__all__ = ["nearest"]

Scalars = Sequence[Any]

STARTS = 24.0
_DAMPING = 0.1
_START_ITERATIONS, _BEST_START_ITERATIONS = 40.0, 200.0  # maximum iterations of a start, and of the best start
_SWITCH_ERROR = 1e-2  # ‖e‖² below which steps account for the objective
_CONVERGED_STEP, _NO_STEP = 1e-11, 1e-14  # maximum entry of a converged step, and of a vanishing one
_NEAR = 1e-4  # steps below this are accepted without a merit test
_MAX_CURVATURE = 1e3  # bound of the approximated curvature, relative to that of the distance
_MIN_STEP_SQUARED = 1e-18  # squared step below which H is not updated
_SLOW, _MAX_SLOW = 0.9, 4.0
_ROUNDING = 1e-10  # relative rounding error of the distance near convergence
_NO_NEARER = 1e-7  # minimum relative decrease of the distance worth further iterations
_START_RADIUS = 0.7  # radius of starts, relative to the best distance
_GIVE_UP = 1.3  # a start is abandoned beyond this multiple of the best distance
_INFINITE = 1e300


class _State(NamedTuple):
    q: tuple[Any, ...]
    step: tuple[Any, ...]  # step to try from q
    size: Any  # largest entry of the step
    error: Any  # ‖e‖² at q
    objective: Any  # distance and soft cost at q
    penalty: Any  # ρ
    uses_objective: Any  # 1 if the step accounts for the objective
    matrix: tuple[Any, ...]  # H, its lower triangle
    multipliers: tuple[Any, ...]  # λ of the step
    gradient: tuple[Any, ...]  # of ½‖q ⊖ q₀‖² + λᵀe at q
    bound_sides: tuple[Any, ...]
    range_sides: tuple[Any, ...]
    slow: Any
    start_iterations: Any
    starts: Any
    best: tuple[Any, ...]
    best_objective: Any  # objective at best
    best_error: Any  # ‖e‖² at best; 0 if done
    success: Any  # 1 if a feasible configuration is known
    is_best_start: Any  # 1 if best belongs to the current start
    iterations: Any
    finished: Any


def nearest(
    stack: Stack, q_init: Scalars, box: LimitBox, budget: Any, first: Any, near: Scalars, starts: float = STARTS
) -> SearchResult:
    """Return the configuration nearest to ``near`` that satisfies all hard tasks, over several starts."""
    return _Search(stack, q_init, box, near).run(budget, first, starts)


@dataclass(frozen=True)
class _Search:
    stack: Stack
    q_init: Scalars
    box: LimitBox
    near: Scalars

    @cached_property
    def used(self) -> list[int]:
        return [k for k in range(self.stack.tree.nv) if k not in self.stack.locked_dofs]

    @cached_property
    def centre(self) -> list[Any]:
        """Reference configuration q₀, to which the solution is to be nearest, with locked joints as in the guess."""
        tree, locked_dofs = self.stack.tree, self.stack.locked_dofs
        fixed = {
            n
            for i, _ in tree.stacked()
            if tree.v_slices[i].start in locked_dofs
            for n in range(tree.nq)[tree.q_slices[i]]
        }
        return [a if n in fixed else b for n, (a, b) in enumerate(zip(self.q_init, self.near, strict=True))]

    @cached_property
    def hard(self) -> list[int]:
        return [i for i, hard in enumerate(self.stack.hard) if hard]

    @cached_property
    def soft(self) -> list[int]:
        return [i for i, hard in enumerate(self.stack.hard) if not hard]

    @cached_property
    def units(self) -> list[str]:
        return [unit for _, body in self.stack.tree.stacked() for unit in body.joint.v_units]

    @cached_property
    def reach(self) -> list[float]:
        return unit_steps(self.stack.tree)

    @cached_property
    def length_coordinates(self) -> list[int]:
        return length_dofs(self.stack)

    @cached_property
    def weights(self) -> list[Any]:
        return self.stack.all_weights()

    @cached_property
    def programs(self) -> QuadraticPrograms:
        scales, ranges = self.stack.scales, {}
        for row, i in enumerate(self.hard):
            low, high = self.stack.ranges[i]
            if self.stack.ranged[i]:
                ranges[row] = (low * scales[i], high * scales[i])
        return QuadraticPrograms(self.used, self.box, ranges)

    def nearest_revolution(self, q: Scalars) -> list[Any]:
        """Shift angles of q by full revolutions to the values nearest to the reference configuration, within limits."""
        result, revolution = list(q), 2.0 * math.pi
        for k, n in coordinate_indices(self.stack.tree).items():
            if self.units[k] != "rad" or k in self.stack.locked_dofs:
                continue
            x = q[n] - revolution * floor((q[n] - self.near[n]) / revolution + 0.5)
            if k in self.box.indices:
                low, high = self.box.lower[n], self.box.upper[n]
                x = where(lt(high, x), x - revolution, where(lt(x, low), x + revolution, x))
                x = where(and_(lt(x, high), lt(low, x)), x, q[n])
            result[n] = x
        return result

    def start_configuration(self, index: Any, best_objective: Any) -> list[Any]:
        """Return the start configuration number ``index`` of a sequence around the reference configuration.

        No start is farther from the reference than the best solution so far; half its squared distance is
        ``best_objective``.
        """
        tree = self.stack.tree
        most = sqrt(2.0 * best_objective)
        fractions = [0.5 + index * step for step in kronecker_rates(tree.nv)]
        fractions = [x - floor(x) for x in fractions]
        reach = [
            0.0 if k in self.stack.locked_dofs else fmin(math.pi if unit.startswith("rad") else 2.0 * r, most)
            for k, (unit, r) in enumerate(zip(self.units, self.reach, strict=True))
        ]
        result = integrate(tree, self.centre, [r * (2.0 * x - 1.0) for r, x in zip(reach, fractions, strict=True)])
        for k, n in self.box.indices.items():
            low, high = self._sampling_range(n, reach[k], most)
            result[n] = low + (high - low) * fractions[k]
        displacement = difference(tree, self.centre, result)
        share = fmin(1.0, _START_RADIUS * most / fmax(sqrt(dot(displacement, displacement)), 1e-9))
        result = integrate(tree, self.centre, [x * share for x in displacement])
        result = [where(lt(index, 0.5), a, b) for a, b in zip(self.q_init, result, strict=True)]
        return self.box.within(result)

    def _sampling_range(self, n: int, reach: Any, most: Any) -> tuple[Any, Any]:
        """Return the range (low, high) from which start configurations draw coordinate n, which has limits.

        The range is the reference ± ``reach``; if limits cut off a part on one side, it is extended on the other side.
        It never extends more than ``most`` from the reference.
        """
        x, low, high = self.centre[n], self.box.lower[n], self.box.upper[n]
        down = fmin(reach + fmax(x + reach - high, 0.0), most)
        up = fmin(reach + fmax(low - (x - reach), 0.0), most)
        return fmax(low, x - down), fmin(high, x + up)

    def run(self, budget: Any, first: Any, starts: float) -> SearchResult:
        used, hard = self.used, self.hard
        n, m = len(used), len(hard)

        def more(state: _State) -> Any:
            return and_(lt(state.finished, 0.5), lt(state.iterations, budget))

        at = tuple(self.box.within(self.nearest_revolution(self.start_configuration(first, 0.5 * _INFINITE))))
        unit = tuple(x for i, row in enumerate(identity(n)) for x in row[: i + 1])
        zeros = (0.0,) * self.stack.tree.nv
        state = _State(
            at,
            zeros,
            0.0,
            _INFINITE,
            _INFINITE,
            0.0,
            0.0,
            unit,
            (0.0,) * m,
            (0.0,) * n,
            (0.0,) * sum(k in self.box.indices for k in used),
            (0.0,) * len(self.programs.ranges),
            0.0,
            0.0,
            first,
            at,
            _INFINITE,
            _INFINITE,
            0.0,
            0.0,
            0.0,
            0.0,
        )

        def iterate(state: _State) -> _State:
            return self.iterate(state, first + starts)

        last: _State = while_loop(more, iterate, state, max_iterations=MAX_ITERATIONS).state
        return SearchResult(list(last.best), last.success, last.iterations, last.starts - first)

    def iterate(self, state: _State, last: Any) -> _State:
        tree, used = self.stack.tree, self.used
        n = len(used)
        q = self.box.within(integrate(tree, state.q, state.step))
        at = self.stack.at(q)
        beyond = self.stack.beyond(at.errors)
        done = self.stack.done(beyond)
        weights = self.weights
        rows = [[_scaled(at.rows[i][k], weights[i]) for k in used] for i in self.hard]
        errors = [at.errors[i] * weights[i] for i in self.hard]
        violation = [beyond[i] * weights[i] for i in self.hard]
        cost = dot(violation, violation)
        d = difference(tree, q, self.centre)
        g = [-d[k] for k in used]
        objective = 0.5 * dot(g, g)
        for i in self.soft:
            e = weights[i] * beyond[i]
            objective = objective + 0.5 * e * e
            g = [
                x if is_zero(at.rows[i][k]) else x + weights[i] * e * at.rows[i][k]
                for x, k in zip(g, used, strict=True)
            ]
        # acceptance of the step
        uses_objective = lt(0.5, state.uses_objective)
        reduces_error = lt(cost, where(uses_objective, 0.25, 1.0) * state.error)
        reduces_merit = lt(objective - state.objective, state.penalty * (sqrt(state.error) - sqrt(cost)))
        accepted = or_(reduces_error, and_(uses_objective, or_(reduces_merit, lt(state.size, _NEAR))))
        # update of the curvature
        columns = transposed(rows) if rows else [[] for _ in used]
        gradient = [x + dot(column, state.multipliers) for x, column in zip(g, columns, strict=True)]
        updated = self._bfgs_update(state, gradient)
        H = [where(and_(accepted, uses_objective), a, b) for a, b in zip(updated, state.matrix, strict=True)]
        # next step
        near_feasible = lt(cost, _SWITCH_ERROR)
        scale = (
            dict.fromkeys(self.length_coordinates, length_scale(self.stack, beyond, weights))
            if self.length_coordinates
            else {}
        )
        diagonal = [1.0 / (scale[k] * scale[k]) if k in scale else 1.0 for k in used]
        full = mirrored(
            [
                [where(near_feasible, H[_triangle_index(i, j)], diagonal[i] if i == j else 0.0) for j in range(i + 1)]
                for i in range(n)
            ]
        )
        pull = [where(near_feasible, x, 0.0) for x in g]
        base = [0.0] * len(rows)  # offset of the multipliers, so that their damping vanishes at convergence
        if not self.programs.ranges:
            base = [where(and_(near_feasible, uses_objective), x, 0.0) for x in state.multipliers]
        gradient_at_base = [x + dot(column, base) for x, column in zip(pull, columns, strict=True)]
        damping = _DAMPING * cost
        if self.length_coordinates:  # damping of multipliers leaves errors proportional to the gradient
            scaled_gradient = [
                x * (1.0 / self.reach[k]) for x, k in zip(pull, used, strict=True) if k in self.length_coordinates
            ]
            damping = damping / fmax(1.0, dot(scaled_gradient, scaled_gradient))
        range_sides = self._range_sides(state.range_sides, beyond)
        next_ = self.programs.solve(full, gradient_at_base, rows, errors, damping, q, state.bound_sides, range_sides)
        step = [0.0] * tree.nv
        for k, x in zip(used, next_.step, strict=True):
            step[k] = x
        step = shortened(step, longest_steps(self.reach, scale))
        step = [where(accepted, a, 0.5 * b) for a, b in zip(step, state.step, strict=True)]
        size: Any = 0.0
        for x in step:
            size = size if is_zero(x) else fmax(size, fabs(x))
        multipliers = [a if is_zero(b) else a + b for a, b in zip(next_.multipliers, base, strict=True)]
        # best configuration
        known = where(
            and_(lt(0.5, state.is_best_start), accepted),
            (1.0 + _ROUNDING) * state.best_objective,
            state.best_objective,
        )
        merit = objective + 2.0 * sqrt(
            dot(multipliers, multipliers) * cost
        )  # the remaining error may change the distance by as much
        improves = or_(
            and_(done, or_(lt(state.success, 0.5), lt(merit, known))),
            and_(lt(state.success, 0.5), lt(cost, state.best_error)),
        )
        best = tuple(where(improves, a, b) for a, b in zip(q, state.best, strict=True))
        best_objective = where(improves, merit, state.best_objective)
        best_error = where(improves, cost, state.best_error)
        success = where(done, 1.0, state.success)
        # first-order change of the objective by the step, twice the actual reduction
        predicted_reduction = -(dot(pull, next_.step)) - dot(multipliers, errors)
        slow = where(and_(lt(_SLOW * state.error, cost), not_(near_feasible)), state.slow + 1.0, 0.0)
        start_iterations = state.start_iterations + 1.0
        no_nearer = and_(
            and_(and_(near_feasible, accepted), lt(0.5, success)),
            lt(
                best_objective * (1.0 - _NO_NEARER),
                objective - where(lt(0.0, predicted_reduction), 1.5, 0.25) * predicted_reduction,
            ),
        )
        no_nearer = or_(no_nearer, and_(lt(0.5, success), lt(_GIVE_UP * best_objective, objective)))
        is_best_start = where(improves, 1.0, state.is_best_start)
        no_nearer = and_(no_nearer, lt(is_best_start, 0.5))
        ended = or_(
            or_(
                lt(where(lt(0.5, is_best_start), _BEST_START_ITERATIONS, _START_ITERATIONS), start_iterations),
                lt(size, where(done, _CONVERGED_STEP, _NO_STEP)),
            ),
            or_(lt(_MAX_SLOW - 0.5, slow), no_nearer),
        )
        # next start
        wrapped = self.nearest_revolution(q)
        d = difference(tree, wrapped, self.centre)
        nearer = 0.5 * dot(d, d)
        use_wrapped = and_(
            and_(ended, lt(start_iterations, _START_ITERATIONS)), lt(nearer, fmin(objective, best_objective))
        )
        index = where(and_(ended, not_(use_wrapped)), state.starts + 1.0, state.starts)
        fresh = self.nearest_revolution(
            self.start_configuration(index, where(lt(0.5, success), best_objective, _INFINITE))
        )
        fresh = [where(use_wrapped, a, b) for a, b in zip(wrapped, fresh, strict=True)]
        finished = and_(ended, and_(lt(last - 0.5, index), lt(0.5, success)))
        unit = [x for i, row in enumerate(identity(n)) for x in row[: i + 1]]

        def select(new: Scalars, mine: Scalars, before: Scalars) -> tuple[Any, ...]:
            return tuple(where(ended, a, where(accepted, b, c)) for a, b, c in zip(new, mine, before, strict=True))

        lagrangian = [x + dot(column, multipliers) for x, column in zip(g, columns, strict=True)]
        zeros = [0.0] * max(n, len(rows), len(step))
        return _State(
            select(fresh, q, state.q),
            tuple(where(ended, 0.0, x) for x in step),
            size,
            where(ended, _INFINITE, where(accepted, cost, state.error)),
            where(ended, _INFINITE, where(accepted, objective, state.objective)),
            where(
                ended,
                0.0,
                where(accepted, fmax(2.0 * sqrt(dot(multipliers, multipliers)), 0.5 * state.penalty), state.penalty),
            ),
            where(ended, 0.0, where(accepted, where(near_feasible, 1.0, 0.0), state.uses_objective)),
            tuple(where(ended, a, b) for a, b in zip(unit, H, strict=True)),
            select(zeros[: len(rows)], multipliers, state.multipliers),
            select(zeros[:n], lagrangian, state.gradient),
            select(zeros[: len(state.bound_sides)], next_.bound_sides, state.bound_sides),
            select(zeros[: len(state.range_sides)], next_.range_sides, state.range_sides),
            where(ended, 0.0, slow),
            where(and_(ended, not_(use_wrapped)), 0.0, start_iterations),
            index,
            best,
            best_objective,
            best_error,
            success,
            where(and_(ended, not_(use_wrapped)), 0.0, is_best_start),
            state.iterations + 1.0,
            where(finished, 1.0, 0.0),
        )

    def _range_sides(self, flags: Scalars, beyond: Scalars) -> list[Any]:
        """Return the active ends of ranges: ``flags``, and ends that errors exceed by more than their tolerance.

        A flag is 1 at the upper end, −1 at the lower, else 0. Without this addition, the first step of a search could
        be zero.
        """
        result = []
        for flag, row in zip(flags, self.programs.ranges, strict=True):
            x, tolerance = beyond[self.hard[row]], self.stack.tolerances[self.hard[row]]
            result.append(where(lt(tolerance, x), 1.0, where(lt(x, -tolerance), -1.0, flag)))
        return result

    def _bfgs_update(self, state: _State, gradient: Scalars) -> list[Any]:
        """Return the approximated Hessian H after a damped BFGS update."""
        n = len(gradient)
        H = [[state.matrix[_triangle_index(i, j)] for j in range(n)] for i in range(n)]
        s = [state.step[k] for k in self.used]
        y = [a - b for a, b in zip(gradient, state.gradient, strict=True)]
        Hs = [dot(row, s) for row in H]
        sHs, sy = dot(s, Hs), dot(s, y)
        share = where(lt(sy, 0.2 * sHs), 0.8 * sHs / fmax(sHs - sy, 1e-300), 1.0)
        r = [share * a + (1.0 - share) * b for a, b in zip(y, Hs, strict=True)]
        sr = share * sy + (1.0 - share) * sHs
        is_safe = and_(lt(_MIN_STEP_SQUARED, sHs), lt(dot(r, r), _MAX_CURVATURE * sr))
        a, b = where(is_safe, 1.0 / fmax(sr, 1e-300), 0.0), where(is_safe, 1.0 / fmax(sHs, 1e-300), 0.0)
        return [H[i][j] + (a * r[i]) * r[j] - (b * Hs[i]) * Hs[j] for i in range(n) for j in range(i + 1)]


def _triangle_index(i: int, j: int) -> int:
    return max(i, j) * (max(i, j) + 1) // 2 + min(i, j)


def _scaled(x: Any, w: Any) -> Any:
    return x if is_zero(x) else x * w
