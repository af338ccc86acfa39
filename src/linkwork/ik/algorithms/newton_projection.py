"""Projection onto the hard tasks by damped Newton steps, and the plain damped least-squares method.

`projection` takes steps of minimum length within limits,

    q ← q ⊕ δ,   δ = −Jᵀ (J Jᵀ + μ 1)⁻¹ e,   μ = c ‖e‖² near a solution,

without other starts and without checking the gain of a step.  Near a solution it converges at a quadratic rate,
singular or not, and to first order to the nearest one.  If it does not converge, no solution is near.

Source: Fan and Yuan, On the quadratic convergence of the Levenberg-Marquardt method without nonsingularity assumption,
Computing 74, 2005.

`damped` repeats the damped Newton step of inverse kinematics as the equation is written.  The minimum of
‖q − q₀‖² + μ ‖φ(q) − y‖², with φ linearised about q₀, is

    q = q₀ + Jᵀ (J Jᵀ + 1/μ)⁻¹ (y − φ(q₀)).

This is the first step of an optimisation that starts at q₀.  Repeated from each new q, it is a method that ends where
J Jᵀ + 1/μ lets it.  Its only limits are those to which q is clipped; it compares no configurations and has no restarts.
It serves as the reference for other solvers.

Sources: Wampler, Manipulator inverse kinematic solutions based on vector formulations and damped least-squares methods,
IEEE Trans. SMC 16 (1), 1986; Nakamura and Hanafusa, Inverse kinematic solutions with singularity robustness for robot
manipulator control, ASME J. Dyn. Syst. Meas. Control 108, 1986.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linkwork.expr.control.loops import while_loop
from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import dot, product, transposed
from linkwork.expr.scalar.functions import and_, fmin, lt, not_, sqrt, where
from linkwork.ik.algorithms.damped_least_squares import bounded_step, shortened
from linkwork.ik.algorithms.levenberg_marquardt import MAX_ITERATIONS, SearchResult
from linkwork.ik.algorithms.target_distance_scaling import length_dofs, length_scale, longest_steps
from linkwork.ik.algorithms.task_stack import Stack, Stacked
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.kinematics.algorithms.coordinates import LimitBox, unit_steps

__all__ = ["damped", "newton_step", "projection"]


Scalars = Sequence[Any]
_DAMPING = 0.02  # c
_LARGE = 20.0  # ‖e‖² above which damping is proportional to ‖e‖ instead of ‖e‖²


def projection(stack: Stack, q_init: Scalars, box: LimitBox, budget: Any, first: Any = 0.0) -> SearchResult:
    """Step from the initial guess towards the hard tasks within an iteration budget; ``first`` is ignored."""
    weights, longest, length_coordinates = stack.all_weights(), unit_steps(stack.tree), length_dofs(stack)

    def step(at: Stacked, beyond: Scalars, q: Scalars) -> list[Any]:
        errors, rows = stack.weighted(at.rows, beyond, weights)
        cost = dot(errors, errors)
        damping = _DAMPING * fmin(cost, _LARGE * sqrt(cost))
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
    """Repeat the damped Newton step until all tasks are done or the budget is spent; ``first`` is ignored."""
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
    """Iterate q ← q ⊕ step(at, beyond, q), clipped to the limits, until all tasks are done or the budget is spent.

    ``at`` are the errors and their Jacobian at q, and ``beyond`` the violations of the errors' ranges.
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
