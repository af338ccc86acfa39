"""From a configuration to the nearest in which hard tasks are done: steps of least length within limits, nothing else.

    q ← q ⊕ δ,   δ = −Jᵀ (J Jᵀ + μ 1)⁻¹ e,   μ = c ‖e‖² near a solution,

with no other start and no look at what a step gained.  Near a configuration in which all is done it converges at a
quadratic rate, singular or not, and to first order to the nearest one; where it does not, nothing is near.

Source: Fan and Yuan, On the quadratic convergence of the Levenberg-Marquardt method without nonsingularity assumption,
Computing 74, 2005.

The damped Newton step of inverse kinematics, as the equation is written, and nothing but it, again and again.

Of ‖q − q₀‖² + μ ‖φ(q) − y‖², with φ taken to be linear about q₀, the least is at

    q = q₀ + Jᵀ (J Jᵀ + 1/μ)⁻¹ (y − φ(q₀)).

That is the first step of an optimisation that starts at q₀; with q₀ moved along it is a method, which ends where
J Jᵀ + 1/μ lets it.  It knows no limits but those that it is brought back to, compares no two configurations, and begins
nowhere else: the reference that others are measured against.

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
from linkwork.ik.algorithms.joint_bounds import LimitBox
from linkwork.ik.algorithms.levenberg_marquardt import MOST, SearchFound, longest_steps
from linkwork.ik.algorithms.target_distance_scaling import multiplied, sliding, stretch
from linkwork.ik.algorithms.task_stack import Stack, Stacked
from linkwork.kinematics.algorithms.configuration_manifold import integrate

__all__ = ["damped", "newton_step", "projection"]


Scalars = Sequence[Any]
_DAMPING = 0.02  # c
_LARGE = 20.0  # ‖e‖² from which damping is by its size and no more by its square


def projection(stack: Stack, q_init: Scalars, box: LimitBox, budget: Any, first: Any = 0.0) -> SearchFound:
    """Where steps from the seed lead, within a budget of them; ``first`` is not looked at."""
    weights, longest, slides = stack.counted(), longest_steps(stack.tree), sliding(stack)

    def step(at: Stacked, beyond: Scalars, q: Scalars) -> list[Any]:
        errors, rows = stack.weighed(at.rows, beyond, weights)
        cost = dot(errors, errors)
        damping = _DAMPING * fmin(cost, _LARGE * sqrt(cost))
        scale = dict.fromkeys(slides, stretch(stack, beyond, weights)) if slides else {}
        return shortened(bounded_step(rows, errors, damping, box, q, scale=scale), multiplied(longest, scale))

    return walked(stack, q_init, box, budget, first, step)


MU = 1e6  # of errors in radians and half characteristic lengths
_REGULAR = 1e-14  # part of the diagonal that keeps J Jᵀ regular for μ → ∞


def newton_step(J: Sequence[Scalars], open_: Scalars, mu: float) -> list[Any]:
    """Jᵀ (J Jᵀ + 1/μ)⁻¹ (y − φ), by the rows of J and what is open, y − φ; μ may be infinite."""
    forces = Semidefinite.of(product(J, transposed(J)), [1.0 / mu] * len(J), _REGULAR).once(open_)
    return [dot(column, forces) for column in transposed(J)]


def damped(
    stack: Stack, q_init: Scalars, box: LimitBox, budget: Any, first: Any = 0.0, *, mu: float = MU
) -> SearchFound:
    """Where so many steps from the seed lead, or fewer to where all tasks are done; ``first`` is not looked at."""
    weights = stack.counted()

    def step(at: Stacked, beyond: Scalars, _: Scalars) -> list[Any]:
        J = [[x * w for x in row] for row, w in zip(at.rows, weights, strict=True)]
        return newton_step(J, [-x * w for x, w in zip(beyond, weights, strict=True)], mu)

    return walked(stack, q_init, box, budget, first, step)


def walked(
    stack: Stack,
    q_init: Scalars,
    box: LimitBox,
    budget: Any,
    first: Any,
    step: Callable[[Stacked, Scalars, Scalars], list[Any]],
) -> SearchFound:
    """Where steps lead that are made of errors with their rows, what of them is out of their ranges, and q."""

    def more(state: tuple[Any, ...]) -> Any:
        _, done, taken = state
        return and_(lt(done, 0.5), lt(taken, budget))

    def stepped(state: tuple[Any, ...]) -> tuple[Any, ...]:
        q, _, taken = state
        at = stack.at(q)
        beyond = stack.beyond(at.errors)
        done = stack.done(beyond)
        moved = box.within(integrate(stack.tree, q, step(at, beyond, q)))
        q = tuple(where(and_(not_(done), lt(taken + 1.0, budget)), a, b) for a, b in zip(moved, q, strict=True))
        return q, where(done, 1.0, 0.0), taken + 1.0

    q, done, taken = while_loop(more, stepped, (tuple(box.within(q_init)), 0.0, 0.0), max_iterations=MOST).state
    return SearchFound(list(q), done, taken, first - first)
