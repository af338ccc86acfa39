"""Levenberg–Marquardt search with bounds on the configuration manifold, with restarts, for hard tasks.

From a start, each step minimises ‖W(e + J δ)‖² + μ ‖δ‖² within limits (`damped_least_squares`), with μ = c ‖W e‖².
The last steps then converge at a quadratic rate, singular or not.  A step that does not reduce ‖W e‖ is halved.  When
steps no longer reduce the errors, or are too many, the search continues at the next start of a sequence that covers
the limits; it returns the best configuration.  With wide tolerances the first start aims at the target, and the others
at the nearest point within tolerance: e is then the excess over the tolerance.  For a robot with a free base and many
errors, only the base moves in the first steps of a start, unless loops tie it to the limbs.  A new start keeps the
base of the best configuration.

The last iterations of the search refine the best configuration.  Where ‖W e‖ does not vanish, the Gauss–Newton matrix
lacks the curvature of the errors; damping is increased as far as needed, and a fraction of the previous step is added.
There, costs that differ by rounding count as equal, since a cost determines q only to the square root of rounding
errors.  The whole search is one loop, so the next sample of a batch begins when a sample has ended.

Sources: Fan and Yuan, On the quadratic convergence of the Levenberg-Marquardt method without nonsingularity assumption,
Computing 74, 2005; Beeson and Ames, TRAC-IK, Humanoids 2015 (the protocol by which constants of `search` were chosen).

`projection` takes steps of minimum length within limits,

    q ← q ⊕ δ,   δ = −Jᵀ (J Jᵀ + μ 1)⁻¹ e,   μ = c ‖e‖² near a solution,

without other starts and without checking the gain of a step.  Near a solution it converges at a quadratic rate,
singular or not, and to first order to the nearest one (Fan and Yuan 2005).  If it does not converge, no solution is
near.

`damped` repeats the textbook form of the damped Newton step of inverse kinematics.  The minimum of
‖q − q₀‖² + μ ‖φ(q) − y‖², with φ linearised about q₀, is

    q = q₀ + Jᵀ (J Jᵀ + 1/μ)⁻¹ (y − φ(q₀)).

This is the first step of an optimisation that starts at q₀.  Repetition from each new q has no guarantee of
convergence.  q is clipped to the position limits; the method does not compare configurations and has no restarts.  It
is the reference for other solvers.

Sources: Wampler, Manipulator inverse kinematic solutions based on vector formulations and damped least-squares methods,
IEEE Trans. SMC 16 (1), 1986; Nakamura and Hanafusa, Inverse kinematic solutions with singularity robustness for robot
manipulator control, ASME J. Dyn. Syst. Meas. Control 108, 1986.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from linkwork.expr.control.loops import while_loop
from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import dot, is_zero, product, transposed
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, le, lt, not_, or_, sqrt, where
from linkwork.ik.algorithms.damped_least_squares import (
    MIN_SPARSE_ROWS,
    bounded_step,
    length_dofs,
    length_scale,
    longest_steps,
    shortened,
)
from linkwork.ik.algorithms.joint_bounds import is_single_value, nearest
from linkwork.ik.algorithms.restarts import start_configuration
from linkwork.ik.algorithms.task_stack import Stack, Stacked
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.kinematics.algorithms.coordinates import LimitBox, unit_steps

__all__ = [
    "MAX_ITERATIONS",
    "ResidualSpec",
    "SearchResult",
    "damped",
    "newton_step",
    "projection",
    "reachable",
    "search",
]

Scalars = Sequence[Any]

MAX_ITERATIONS = 20_000  # maximum iterations of all starts; each call has its own budget
_NO_STEP = by_type(1e-9)  # [rad, characteristic lengths] steps below this count as zero
_COST_ROUNDING = by_type(1e-15)  # relative rounding error of ‖W e‖²
_SLOW = 0.9  # an iteration is slow if it leaves more than this share of ‖W e‖²
_LARGE = 20.0  # ‖W e‖ above which damping grows linearly instead of quadratically
_REFINEMENT_ITERATIONS = 120.0  # final iterations from the best configuration of a failed search
_MOMENTUM = 0.9  # share of a step that is added to the next one in the final iterations
_SOFTER, _STIFFER = 0.7, 5.0  # factors of the additional damping after a successful and a failed step
_INFINITE_COST = by_type(1e300)


class _SearchConstants(NamedTuple):
    """Constants of the search that depend on the type of robot."""

    damping: float  # c
    max_iterations: float  # maximum iterations of a start
    max_slow: float  # consecutive slow iterations that end a start
    bound_rounds: int  # rounds of a bounded step


_LIMBS = _SearchConstants(0.02, 40.0, 6.0, 1)
_ARM = _SearchConstants(0.1, 25.0, 3.0, 2)
_BASE_STEPS = 4.5  # first iterations of a start, in which only the base moves


class _State(NamedTuple):
    q: tuple[Any, ...]  # best configuration of the current start
    step: tuple[Any, ...]  # step to try from q
    cost: Any  # ‖W e‖² at q
    slow: Any  # consecutive slow iterations
    start_iterations: Any  # iterations of the current start
    starts: Any  # index of the current start; 0 is the initial guess
    best: tuple[Any, ...]  # best configuration of all starts
    best_cost: Any  # ‖W e‖² at best
    refinement_damping: Any  # additional damping of the final iterations; 0 before
    done: Any  # 1 if all tasks are done at q, 2 if the final iterations failed
    iterations: Any  # iterations of all starts


class SearchResult(NamedTuple):
    """Result of a search: configuration, success, iterations, and index of the last start.

    Solvers of soft tasks add a flag that the hard tasks are satisfied, and the multiplier of each error.
    """

    q: list[Any]
    done: Any
    iterations: Any
    starts: Any
    reached: Any = None
    multipliers: list[Any] | None = None


def search(stack: Stack, q_init: Scalars, box: LimitBox, budget: Any, first: Any = 0.0) -> SearchResult:
    """Search for a configuration that satisfies all tasks, within an iteration budget.

    Returns the best configuration if the search fails.  ``first`` is the index of the first start: 0 is the initial
    guess, k > 0 is point k of `sequence_point`.
    """
    tree = stack.tree
    weights, longest = stack.all_weights(), unit_steps(tree)
    length_coordinates = length_dofs(stack)
    free = [i for i, body in tree.stacked() if body.joint.nv == 6]
    base = [n for i in free for n in range(tree.nq)[tree.q_slices[i]]]
    limbs = set(range(tree.nv)) - {k for i in free for k in range(tree.nv)[tree.v_slices[i]]}
    has_limbs = bool(free) and len(stack.units) >= MIN_SPARSE_ROWS  # a free base with limbs that have many errors
    constants = _LIMBS if has_limbs else _ARM

    def continues(state: _State) -> Any:
        return and_(lt(state.done, 0.5), lt(state.iterations, budget))

    def iterate(state: _State) -> _State:
        q = box.within(integrate(tree, state.q, state.step))
        at = stack.at(q)
        beyond = stack.beyond(at.errors)
        done = stack.done(beyond)
        last = lt(0.0, state.refinement_damping)
        errors, rows = stack.weighted(at.rows, beyond, weights)
        cost = left = dot(errors, errors)
        if stack.wide:  # the first start aims at the target, the others at what is permitted
            outer = stack.beyond_tolerances(at.rows, beyond)
            outer_errors, outer_rows = stack.weighted(outer.rows, outer.errors, weights)
            left, direct = dot(outer_errors, outer_errors), and_(lt(state.starts, 0.5), not_(last))
            errors = [where(direct, x, y) for x, y in zip(errors, outer_errors, strict=True)]
            rows = [
                [where(direct, x, y) if x is not y else x for x, y in zip(*pair, strict=True)]
                for pair in zip(rows, outer_rows, strict=True)
            ]
            cost = where(direct, cost, left)
        early = and_(lt(state.start_iterations, _BASE_STEPS), not_(last))
        is_tied = any(not is_zero(rows[i][k]) for i in stack.robot_equations for k in range(tree.nv) if k not in limbs)
        base_first = has_limbs and not is_tied  # the base alone cannot move in loops with the limbs
        if base_first:
            moving = where(early, 0.0, 1.0)
            rows = [[x * moving if k in limbs and not is_zero(x) else x for k, x in enumerate(row)] for row in rows]
        better = lt(cost, state.cost * where(last, 1.0 + _COST_ROUNDING, 1.0))
        refinement_damping = state.refinement_damping * where(better, _SOFTER, _STIFFER)
        slow = where(lt(_SLOW * state.cost, cost), state.slow + 1.0, 0.0)
        slow = where(early, 0.0, slow) if base_first else slow
        damping = constants.damping * fmin(cost, _LARGE * sqrt(cost)) + refinement_damping
        scale = dict.fromkeys(length_coordinates, length_scale(stack, beyond, weights)) if length_coordinates else {}
        step = bounded_step(rows, errors, damping, box, q, constants.bound_rounds, scale)
        step = shortened(step, longest_steps(longest, scale))
        momentum, back = where(last, _MOMENTUM, 0.0), where(last, 0.0, 0.5)
        step = [where(better, a + momentum * b, back * b) for a, b in zip(step, state.step, strict=True)]
        size: Any = 0.0
        for x, unit in zip(step, longest, strict=True):
            size = size if is_zero(x) else fmax(size, fabs(x) * (1.0 / unit))
        start_iterations = state.start_iterations + 1.0
        stalled = and_(lt(size, _NO_STEP), or_(better, not_(last)))
        fresh: Any = False  # True if the next step starts from q again, with the limbs
        if base_first:  # the limbs follow where the base has arrived
            is_first = and_(not_(or_(early, last)), lt(state.start_iterations, _BASE_STEPS + 1.0))
            fresh = and_(is_first, not_(better))
            step = [where(fresh, 0.0, x) for x in step]
            start_iterations = where(and_(early, stalled), fmax(start_iterations, _BASE_STEPS), start_iterations)
            stalled = and_(stalled, not_(or_(early, fresh)))
        ended = or_(or_(lt(constants.max_iterations, start_iterations), stalled), lt(constants.max_slow - 0.5, slow))
        closing = and_(lt(budget - room - 1.5, state.iterations), not_(last))
        again = and_(or_(ended, closing), not_(or_(done, last)))
        number = where(and_(again, not_(closing)), state.starts + 1.0, state.starts)
        best = or_(or_(done, lt(left, state.best_cost)), and_(last, better))
        best_q = [where(best, a, b) for a, b in zip(q, state.best, strict=True)]
        best_cost = where(best, left, state.best_cost)
        start = start_configuration(tree, q_init, box, point(number), stack.locked_dofs | stack.idle_dofs)
        for n in base if has_limbs else ():  # keep the base at its best pose
            start[n] = best_q[n]
        restart_q = [where(closing, a, b) for a, b in zip(best_q, start, strict=True)]
        return _State(
            tuple(where(again, a, where(better, b, c)) for a, b, c in zip(restart_q, q, state.q, strict=True)),
            tuple(where(again, 0.0, x) for x in step),
            where(or_(or_(again, fresh), and_(last, not_(better))), _INFINITE_COST, where(better, cost, state.cost)),
            where(again, 0.0, slow),
            where(again, 0.0, start_iterations),
            number,
            tuple(best_q),
            best_cost,
            where(closing, sqrt(best_cost) + _NO_STEP, refinement_damping),
            where(done, 1.0, where(and_(last, stalled), 2.0, 0.0)),
            state.iterations + 1.0,
        )

    def point(number: Any) -> Any:
        """Return the index of the configuration at which start ``number`` begins; index 0 is the initial guess.

        With wide tolerances, starts 0 and 1 both begin at the initial guess.
        """
        return fmax(number - 1.0, 0.0) if stack.wide else number

    at = tuple(start_configuration(tree, q_init, box, point(first), stack.locked_dofs | stack.idle_dofs))
    zeros = (0.0,) * tree.nv
    room = fmin(_REFINEMENT_ITERATIONS, 0.25 * budget)
    last: _State = while_loop(
        continues,
        iterate,
        _State(at, zeros, _INFINITE_COST, 0.0, 0.0, first, at, _INFINITE_COST, 0.0, 0.0, 0.0),
        max_iterations=MAX_ITERATIONS,
    ).state
    return SearchResult(
        list(last.best), where(lt(last.done, 1.5), last.done, 0.0), last.iterations, last.starts - first
    )


_PROJECTION_DAMPING = 0.02  # c
_LARGE_COST = 20.0  # ‖e‖² above which damping is proportional to ‖e‖ instead of ‖e‖²


def projection(stack: Stack, q_init: Scalars, box: LimitBox, budget: Any, first: Any = 0.0) -> SearchResult:
    """Step from the initial guess to the nearest configuration that satisfies the hard tasks; no restarts.

    ``budget`` is the maximum number of iterations; ``first`` is ignored.
    """
    weights, longest, length_coordinates = stack.all_weights(), unit_steps(stack.tree), length_dofs(stack)

    def step(at: Stacked, beyond: Scalars, q: Scalars) -> list[Any]:
        errors, rows = stack.weighted(at.rows, beyond, weights)
        cost = dot(errors, errors)
        damping = _PROJECTION_DAMPING * fmin(cost, _LARGE_COST * sqrt(cost))
        scale = dict.fromkeys(length_coordinates, length_scale(stack, beyond, weights)) if length_coordinates else {}
        return shortened(bounded_step(rows, errors, damping, box, q, scale=scale), longest_steps(longest, scale))

    return iterate_steps(stack, q_init, box, budget, first, step)


MU = 1e6  # for errors in [rad, half characteristic lengths]
_REGULAR = 1e-14  # regularisation relative to the diagonal of J Jᵀ, for μ → ∞


def newton_step(J: Sequence[Scalars], open_: Scalars, mu: float) -> list[Any]:
    """Return the damped Newton step Jᵀ (J Jᵀ + 1/μ)⁻¹ r for a residual r = ``open_``; μ may be infinite."""
    multipliers = Semidefinite.of(product(J, transposed(J)), [1.0 / mu] * len(J), _REGULAR).once(open_)
    return [dot(column, multipliers) for column in transposed(J)]


def damped(
    stack: Stack, q_init: Scalars, box: LimitBox, budget: Any, first: Any = 0.0, *, mu: float = MU
) -> SearchResult:
    """Repeat the damped Newton step until all tasks are satisfied, for at most ``budget`` iterations.

    ``first`` is ignored; the parameter ``mu`` is the inverse of the damping.
    """
    weights = stack.all_weights()

    def step(at: Stacked, beyond: Scalars, _: Scalars) -> list[Any]:
        J = [[x * w for x in row] for row, w in zip(at.rows, weights, strict=True)]
        return newton_step(J, [-x * w for x, w in zip(beyond, weights, strict=True)], mu)

    return iterate_steps(stack, q_init, box, budget, first, step)


def iterate_steps(
    stack: Stack,
    q_init: Scalars,
    box: LimitBox,
    budget: Any,
    first: Any,
    step: Callable[[Stacked, Scalars, Scalars], list[Any]],
) -> SearchResult:
    """Iterate q ← q ⊕ step(at, beyond, q), clipped to the limits, until all tasks are satisfied.

    There are at most ``budget`` iterations. ``at`` are the errors and their Jacobian at q, and ``beyond`` the errors
    outside their permitted ranges.
    """

    def continues(state: tuple[Any, ...]) -> Any:
        _, done, iterations = state
        return and_(lt(done, 0.5), lt(iterations, budget))

    def iterate(state: tuple[Any, ...]) -> tuple[Any, ...]:
        q, _, iterations = state
        at = stack.at(q)
        beyond = stack.beyond(at.errors)
        done = stack.done(beyond)
        next_q = box.within(integrate(stack.tree, q, step(at, beyond, q)))
        q = tuple(where(and_(not_(done), lt(iterations + 1.0, budget)), a, b) for a, b in zip(next_q, q, strict=True))
        return q, where(done, 1.0, 0.0), iterations + 1.0

    q, done, iterations = while_loop(
        continues, iterate, (tuple(box.within(q_init)), 0.0, 0.0), max_iterations=MAX_ITERATIONS
    ).state
    return SearchResult(list(q), done, iterations, first - first)


_DAMPING = 1e-12  # of the step that would remove errors, by unit steps
_REMOVED = 0.01  # share of their tolerance below which errors count as removed


@dataclass(frozen=True)
class ResidualSpec:
    """Specification of every error: hard (within a range and tolerance) or soft (minimised), with its weight."""

    hard: Sequence[bool]
    low: Scalars
    high: Scalars
    weights: Scalars  # of soft errors; scales of hard errors, 0 if free
    tolerances: Scalars  # of hard errors

    @staticmethod
    def of(stack: Stack) -> ResidualSpec:
        ranges = stack.ranges
        return ResidualSpec(
            stack.hard, [low for low, _ in ranges], [high for _, high in ranges], stack.all_weights(), stack.tolerances
        )

    def beyond(self, errors: Scalars) -> list[Any]:
        """Return the signed distance of each error from its range: 0 within it."""
        return [x - nearest(x, a, b) for x, a, b in zip(errors, self.low, self.high, strict=True)]

    def satisfied(self, beyond: Scalars) -> Any:
        """Return a condition: all hard errors are within tolerance."""
        result: Any = True
        for x, tolerance, hard in zip(beyond, self.tolerances, self.hard, strict=True):
            if hard:
                result = and_(result, le(fabs(x), tolerance))
        return result


def reachable(stack: Stack, spec: ResidualSpec, q: Scalars, box: LimitBox) -> ResidualSpec:
    """Return the specification of the errors, in which ranges of hard errors are extended if they cannot be satisfied.

    If no step within limits reduces the hard errors at q, each range is extended to its error at q.
    """
    at = stack.at(q, exact=True)
    hard = [k for k, is_hard in enumerate(spec.hard) if is_hard]
    beyond, longest = spec.beyond(at.errors), unit_steps(stack.tree)
    errors = [beyond[k] * spec.weights[k] for k in hard]
    rows = [[x * spec.weights[k] for x in at.rows[k]] for k in hard]
    scale = {k: unit for k, unit in enumerate(longest) if unit != 1.0}
    step = bounded_step(rows, errors, _DAMPING, box, q, scale=scale)
    stuck: Any = False
    for k, x, row in zip(hard, errors, rows, strict=True):
        left = fabs(x + dot(row, step))
        stuck = or_(stuck, lt(_REMOVED * fabs(spec.weights[k]) * spec.tolerances[k], left))
    low, high = [*spec.low], [*spec.high]
    for k in hard:
        if is_single_value(low[k], high[k]):
            low[k] = high[k] = where(stuck, at.errors[k], low[k])
        else:
            low[k] = where(stuck, fmin(low[k], at.errors[k]), low[k])
            high[k] = where(stuck, fmax(high[k], at.errors[k]), high[k])
    return replace(spec, low=low, high=high)
