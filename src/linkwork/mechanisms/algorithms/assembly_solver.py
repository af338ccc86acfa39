"""Assembly: sequential quadratic programming for a configuration that satisfies the constraints near a goal.

Each step is the solution of a quadratic program without the curvature of the constraints.  Among all δ that remove the
error to first order it is the one closest to the goal p:

    min ½ ‖δ + d‖²_W  with  φ + G δ = 0,      d = q ⊖ p,
    δ = −W⁻¹Gᵀ Λ_ν⁻¹ φ  −  (1 − W⁻¹Gᵀ Λ⁺ G) d,      Λ = G W⁻¹ Gᵀ,

without the columns of fixed joints.  Λ_ν = Λ + ν ‖φ‖² 1 shortens steps for large errors and preserves quadratic
convergence.  A step is halved if it neither reduces the error nor, for small errors, the distance to the goal.
Coordinates that would exceed their limits are fixed, and the step is computed again for the others.

Sources: Fan and Yuan, On the quadratic convergence of the Levenberg-Marquardt method without nonsingularity assumption,
Computing 74, 2005; Nocedal and Wright, Numerical Optimization, 2nd ed., 2006, chapters 16 and 18.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from linkwork.expr.control.loops import watching_while_loop, while_loop
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, lt, or_, sqrt, where
from linkwork.kinematics.algorithms.configuration_manifold import difference, integrate
from linkwork.kinematics.algorithms.coordinates import LimitBox, unit_steps
from linkwork.mechanisms.algorithms.assembly_derivative import with_assembly_derivative
from linkwork.mechanisms.algorithms.constraint_rows import AllRates, constraint_error, error_scales, rates_of
from linkwork.mechanisms.algorithms.weighted_projection import DiagonalMetric, largest, of_errors
from linkwork.model.function_spec import FunctionSpec, Option, Output
from linkwork.model.limited_coordinates import position_limits as limits_of
from linkwork.model.tree import Tree

__all__ = ["ROWS", "assemble_configuration", "assembly_derivatives", "fixed_velocities"]

Scalars = Sequence[Any]

MAX_ITERATIONS = 100
_MAX_STEP = 1.0  # largest component of a step [rad, characteristic lengths]
_GOAL_ITERATIONS = 70.0  # iterations after which the goal is ignored
_LAST_STEP = 1e-8  # size of the last step: the error after it is rounding
_NEARLY_CLOSED = 1e-2  # ‖φ‖² below which the goal counts
_CLOSED = 1e-26  # ‖φ‖² that counts as zero
_SHORT, _NEGLIGIBLE = 1e-3, 1e-6  # step sizes with a sure decrease of the error, and without effect
_LIMIT_TOL = 1e-6  # [rad, characteristic lengths] distance at which a coordinate counts as at its limit
_DAMPING = 1.0  # initial ν
_LIMIT_ROUNDS = 3  # rounds to find the coordinates that would exceed their limits


class _State(NamedTuple):
    q: tuple[Any, ...]  # the best configuration so far
    delta: tuple[Any, ...]  # the next step to try
    size: Any  # size of that step
    open: Any  # ‖φ‖² at q
    far: Any  # ½ ‖d‖²_W at q
    price: Any  # penalty ρ of the merit function
    pull: tuple[Any, ...]  # the step to the goal at q, without curvature
    damping: Any  # ν
    slope: Any  # ‖Gᵀφ‖² / (‖G‖² ‖φ‖²) at q
    tried: Any  # number of steps


class _LimitedStep(NamedTuple):
    """Step of the configuration within position limits, and flags of the limited coordinates that are fixed in it."""

    stopped: tuple[Any, ...]  # 1 or 0
    step: tuple[Any, ...]
    pull: tuple[Any, ...]
    price: Any
    new: Any  # 1 if the last round fixed further coordinates


def assemble_configuration(
    tree: Tree,
    q: Scalars,
    q1: Scalars,
    weights: Scalars,
    time: Scalars | None = None,
    hold: str | Sequence[str] = (),
    position_limits: bool = True,
) -> tuple[list[Any], list[Any], Any, Any, Any]:
    """Return the configuration q that satisfies the constraints near the goal q1, by steps from the start q.

    The other results are the constraint errors φ, the number of iterations, the status of the iteration, and the slope
    of the error |φ|, which is 0 in a local minimum of it. The joints named in ``hold`` keep their values in q.
    ``weights`` (nv) weight the components of the distance to q1.
    """
    if not any(constraint.holonomic for constraint in tree.constraints):
        return list(q), [], 0.0, 0.0, 0.0
    problem = _Problem.of(tree, q1, weights, 0.0 if time is None else time[0], hold, position_limits)

    def more(state: _State) -> Any:
        return lt(_LAST_STEP, state.size)

    start = problem.box.within(q)
    zero_step = (0.0,) * tree.nv
    first = _State(tuple(start), zero_step, math.inf, math.inf, 0.0, 0.0, zero_step, _DAMPING, 0.0, 0.0)
    result = while_loop(more, problem.stepped, first, max_iterations=MAX_ITERATIONS)
    last: _State = result.state
    done = lt(last.size, 2.0 * _LAST_STEP)
    at = problem.moved(last.q, [where(done, x, 0.0) for x in last.delta])
    reference = _fixed_values(tree, q, q1, hold)
    at, diagnostics = with_assembly_derivative(
        tree, at, [result.iterations, result.status, last.slope], reference, problem.linear
    )
    return at, constraint_error(tree, at, time), *diagnostics


@dataclass(frozen=True)
class _Problem:
    """Assembly problem: robot, goal, weights, limits and fixed coordinates, with the steps of its solver."""

    tree: Tree
    goal: Scalars
    weights: Scalars
    inverse: Scalars  # inverse weights; 0 for fixed joints
    scales: Scalars  # factors of errors, free of units
    reach: Scalars  # largest steps by component
    box: LimitBox
    time: Any

    @staticmethod
    def of(
        tree: Tree, goal: Scalars, weights: Scalars, time: Any, hold: str | Sequence[str], position_limits: bool
    ) -> _Problem:
        fixed = set(fixed_velocities(tree, hold))
        inverse = [0.0 if k in fixed else 1.0 / w for k, w in enumerate(weights)]
        lower, upper = limits_of(tree)
        both = zip(lower, upper, strict=True)
        bounded = [n for n, ends in enumerate(both) if position_limits and any(map(math.isfinite, ends))]
        box = LimitBox.of(tree, lower, upper, bounded, fixed)
        return _Problem(
            tree, goal, weights, inverse, error_scales(tree), unit_steps(tree, _MAX_STEP, _MAX_STEP), box, time
        )

    def error(self, q: Scalars) -> list[Any]:
        """Return the constraint errors φ at q: angles, and lengths divided by the characteristic length."""
        return [x * s for x, s in zip(constraint_error(self.tree, q, [self.time]), self.scales, strict=True)]

    def rates(self, q: Scalars) -> AllRates:
        """Return the rates of `error` at a configuration."""
        rates = of_errors(self.tree, rates_of(self.tree, q, [0.0] * self.tree.nv, self.time))
        rows = [[x * s for x in row] for row, s in zip(rates.rows, self.scales, strict=True)]
        return replace(
            rates, rows=rows, sizes=[[x * s * s for x in row] for row, s in zip(rates.sizes, self.scales, strict=True)]
        )

    def linear(self, q: Scalars) -> tuple[Scalars, list[list[Any]], DiagonalMetric]:
        """Return the errors φ, their Jacobian G, and an object for least-norm steps, at a configuration."""
        rates = self.rates(q)
        return self.error(q), rates.rows, DiagonalMetric(rates, self.inverse)

    def moved(self, q: Scalars, delta: Scalars) -> list[Any]:
        return self.box.within(integrate(self.tree, q, delta))

    def stepped(self, state: _State) -> _State:
        """Return the solver's next state: the step is accepted and a new one computed, or it is halved."""
        at = self.moved(state.q, state.delta)
        error = self.error(at)
        d = [0.0 if is_zero(w) else -x for x, w in zip(difference(self.tree, at, self.goal), self.inverse, strict=True)]
        open_, far = dot(error, error), 0.5 * dot(self.weights, [x * x for x in d])
        better = lt(far - state.far, state.price * (sqrt(state.open) - sqrt(open_)))
        close = lt(fmax(open_, state.open), _NEARLY_CLOSED)
        closer = lt(open_, where(and_(close, lt(_SHORT, state.size)), 0.25, 1.0) * state.open)
        is_accepted = or_(or_(closer, and_(close, better)), lt(open_, _CLOSED))
        accepted = or_(
            is_accepted, and_(close, lt(state.size, _NEGLIGIBLE))
        )  # the step has no effect: continue without the goal
        more = where(
            lt(state.open, _NEARLY_CLOSED), 1.0, 4.0
        )  # nearly closed: the part to the goal may have been too long
        damping = where(accepted, 0.25, more) * state.damping
        goal_counts = and_(and_(lt(open_, _NEARLY_CLOSED), lt(state.tried, _GOAL_ITERATIONS)), is_accepted)
        d = [0.0 if is_zero(x) else where(goal_counts, x, 0.0) for x in d]
        step, pull, price, slope = self._step(at, error, d, self.rates(at), damping * open_, open_, goal_counts, state)
        size = largest([x if r == _MAX_STEP else x * (_MAX_STEP / r) for x, r in zip(step, self.reach, strict=True)])
        return _State(
            tuple(where(accepted, a, b) for a, b in zip(at, state.q, strict=True)),
            tuple(where(accepted, a, 0.5 * b) for a, b in zip(step, state.delta, strict=True)),
            where(accepted, size, 0.5 * state.size),
            where(accepted, open_, state.open),
            where(accepted, far, state.far),
            where(accepted, fmax(price, 0.5 * state.price), state.price),
            tuple(where(accepted, a, b) for a, b in zip(pull, state.pull, strict=True)),
            damping,
            where(accepted, slope, state.slope),
            state.tried + 1.0,
        )

    def _step(
        self,
        q: Scalars,
        error: Scalars,
        d: Scalars,
        rates: AllRates,
        more: Any,
        open_: Any,
        goal_counts: Any,
        state: _State,
    ) -> tuple[list[Any], list[Any], Any, Any]:
        """Return the next step δ, its part toward the goal, the penalty ρ, and the slope of the error.

        ρ is the factor of the error in the merit function.
        """
        nearest = DiagonalMetric(rates, self.inverse, more)
        slopes = list(nearest.pulled(error))
        if self.box.indices:
            result = self._within_limits(q, error, d, nearest, goal_counts, state)
            for k, stopped in zip(self.box.indices, result.stopped, strict=True):
                slopes[k] = where(lt(0.0, stopped), 0.0, slopes[k])
            step, pull, price = list(result.step), list(result.pull), result.price
        else:
            closing, pull, price = self._parts(nearest, error, d)
            step = self._combined(closing, pull, self._stretch(state, pull))
        size = sum((dot(self.inverse, [x * x for x in row]) for row in rates.rows), 0.0)
        return step, pull, price, dot(self.weights, [x * x for x in slopes]) / fmax(open_ * size, 1e-300)

    def _within_limits(
        self, q: Scalars, error: Scalars, d: Scalars, nearest: DiagonalMetric, goal_counts: Any, state: _State
    ) -> _LimitedStep:
        """Return the next step such that no coordinate exceeds its limits.

        Far from the constraints, all coordinates that would exceed their limits are fixed, in several rounds.  Near
        the constraints, only coordinates at their limits are fixed, and others shorten the step.
        """

        def again(before: _LimitedStep) -> _LimitedStep:
            inverse = list(nearest.inverse)
            for k, stopped in zip(self.box.indices, before.stopped, strict=True):
                inverse[k] = where(lt(0.0, stopped), 0.0, inverse[k])
            closing, pull, price = self._parts(replace(nearest, inverse=inverse), error, d)
            step = self._combined(closing, pull, self._stretch(state, pull))
            flags, new = [], 0.0
            for k, stopped in zip(self.box.indices, before.stopped, strict=True):
                room = self.box.room(q, k, step[k])
                beyond = lt(room, where(goal_counts, fmin(fabs(step[k]), _LIMIT_TOL * self.reach[k]), fabs(step[k])))
                new = where(and_(beyond, lt(stopped, 0.5)), 1.0, new)
                flags.append(where(beyond, 1.0, stopped))
            return _LimitedStep(tuple(flags), tuple(step), tuple(pull), price, new)

        zero_step, no_flags = (0.0,) * len(self.inverse), (0.0,) * len(self.box.indices)
        first = _LimitedStep(no_flags, zero_step, zero_step, 0.0, 1.0)
        result: _LimitedStep = watching_while_loop(
            lambda s: lt(0.0, s.new), again, first, 1 + _LIMIT_ROUNDS, within=error
        ).state
        part: Any = 1.0
        for k in self.box.indices:
            x = result.step[k]
            room = self.box.room(q, k, x)
            part = fmin(part, where(lt(room, fabs(x)), room / fmax(fabs(x), 1e-300), 1.0))
        part = where(goal_counts, fmax(part, 0.0), 1.0)
        return result._replace(step=tuple(x * part for x in result.step))

    def _parts(self, nearest: DiagonalMetric, error: Scalars, d: Scalars) -> tuple[list[Any], list[Any], Any]:
        """Return the step that removes the error, the step toward the goal, and the penalty ρ.

        The step toward the goal does not change the constraints' errors to first order: it is in the null space of
        their Jacobian.
        """
        factors = nearest.factors
        closing_forces = factors.once([-x for x in error])
        closing = nearest.pulled(closing_forces)
        multipliers = factors.solved([dot(row, d) for row in nearest.rates.rows], steps=2)
        along = nearest.pulled(multipliers)
        to_goal = [0.0 if is_zero(w) else x - y for x, y, w in zip(along, d, nearest.inverse, strict=True)]
        to_goal = [
            where(lt(0.0, w), x, 0.0) if k in self.box.indices else x
            for k, (x, w) in enumerate(zip(to_goal, nearest.inverse, strict=True))
        ]
        multipliers = [a + b for a, b in zip(multipliers, closing_forces, strict=True)]
        return closing, to_goal, 2.0 * sqrt(dot(multipliers, multipliers))

    def _stretch(self, state: _State, pull: Scalars) -> Any:
        """Return a factor for the step toward the goal: the Barzilai–Borwein step length from the last step."""
        moved = dot(self.weights, [x * x for x in state.delta])
        less = dot(self.weights, [x * (a - b) for x, a, b in zip(state.delta, state.pull, pull, strict=True)])
        return where(lt(0.0, less), fmin(fmax(moved / fmax(less, 1e-300), 0.1), 10.0), 1.0)

    def _combined(self, closing: Scalars, pull: Scalars, stretch: Any) -> list[Any]:
        pull = self._shortened([0.0 if is_zero(x) else x * stretch for x in pull])
        return [a + b for a, b in zip(self._shortened(closing), pull, strict=True)]

    def _shortened(self, step: Scalars) -> list[Any]:
        size = largest([x * (1.0 / r) for x, r in zip(step, self.reach, strict=True)])
        scale = 1.0 / fmax(size, 1.0)
        return [0.0 if is_zero(x) else x * scale for x in step]


def assembly_derivatives(
    tree: Tree, q: Scalars, time: Scalars | None = None, hold: str | Sequence[str] = ()
) -> list[list[Any]]:
    """Return the derivative K (nv × nv) of an assembled configuration by the values y of the fixed joints: δq = K δy.

    ``hold`` names the fixed joints. With the columns G_f of the constraint Jacobian that belong to the other joints,
    and the columns G_h of the fixed ones, the other joints move by δ_f = −G_f⁺ G_h δy, which has minimum norm if it is
    not unique. Columns of K for joints that are not fixed are zero.
    """
    fixed = fixed_velocities(tree, hold)
    K: list[list[Any]] = [[0.0] * tree.nv for _ in range(tree.nv)]
    for k in fixed:
        K[k][k] = 1.0
    if not fixed or not any(constraint.holonomic for constraint in tree.constraints):
        return K
    rates = of_errors(tree, rates_of(tree, q, [0.0] * tree.nv, 0.0 if time is None else time[0]))
    nearest = DiagonalMetric(rates, [0.0 if k in fixed else x * x for k, x in enumerate(unit_steps(tree))])
    for k in fixed:
        for row, x in zip(K, nearest.step([-row[k] for row in rates.rows]), strict=True):
            row[k] = x if row is not K[k] else 1.0
    return K


def fixed_velocities(tree: Tree, hold: str | Sequence[str]) -> list[int]:
    """Return the indices in v of the joints named in ``hold``.  Raises ValueError for a joint that follows another."""
    result: list[int] = []
    for name in (hold,) if isinstance(hold, str) else hold:
        index = tree.joint_index(name)
        coupling = tree.bodies[index].coupling
        if coupling is not None:
            raise ValueError(f"hold: joint {name!r} follows joint {coupling.joint!r}: name that joint")
        result += range(tree.nv)[tree.v_slices[index]]
    return result


def _fixed_values(tree: Tree, q: Scalars, solved: Scalars, hold: str | Sequence[str]) -> list[Any]:
    """Return the configuration ``solved`` with the values of the fixed joints in q."""
    result = list(solved)
    for name in (hold,) if isinstance(hold, str) else hold:
        part = tree.q_slices[tree.joint_index(name)]
        result[part] = q[part]
    return result


HOLD = Option("hold", (), names="joint", counted="nh")

ROWS = (
    FunctionSpec.of(
        assemble_configuration,
        "q q1 weights",
        (
            Output(("nq",), "rad, m, 1", "q", configuration=True),
            Output(("ne",), "m, rad", "error"),
            Output((), "1", "iterations"),
            Output((), "1", "status"),
            Output((), "1", "slope"),
        ),
        "A configuration that satisfies the constraints near a goal, with some joints fixed.",
        optional=("time",),
        options=(HOLD, Option("position_limits", True, (True, False))),
        needs_joint_limits=True,
    ),
    FunctionSpec.of(
        assembly_derivatives,
        "q",
        Output(("nv", "nv"), "1, m, 1/m"),
        "Derivative of an assembled configuration by the fixed joints.",
        optional=("time",),
        options=(HOLD,),
    ),
)
