"""From a configuration to the nearest in which hard tasks are done: steps of least length within limits, nothing else.

    q ← q ⊕ δ,   δ = −Jᵀ (J Jᵀ + μ 1)⁻¹ e,   μ = c ‖e‖² near a solution,

with no other start and no look at what a step gained.  Near a configuration in which all is done it converges at a
quadratic rate, singular or not, and to first order to the nearest one; where it does not, nothing is near.

Source: Fan and Yuan, On the quadratic convergence of the Levenberg-Marquardt method without nonsingularity assumption,
Computing 74, 2005.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.functions import fmin, sqrt
from linkwork.ik.algorithms.damped_least_squares import bounded_step, shortened
from linkwork.ik.algorithms.joint_bounds import LimitBox
from linkwork.ik.algorithms.levenberg_marquardt import SearchFound, longest_steps
from linkwork.ik.algorithms.newton_projection_damped import walked
from linkwork.ik.algorithms.target_distance_scaling import multiplied, sliding, stretch
from linkwork.ik.algorithms.task_stack import Stack, Stacked

__all__ = ["projection"]

Scalars = Sequence[Any]

_DAMPING = 0.02  # c
_LARGE = 20.0  # ‖e‖² from which damping is by its size and no more by its square


def projection(stack: Stack, seed: Scalars, box: LimitBox, budget: Any, first: Any = 0.0) -> SearchFound:
    """Where steps from the seed lead, within a budget of them; ``first`` is not looked at."""
    weights, longest, slides = stack.counted(), longest_steps(stack.tree), sliding(stack)

    def step(at: Stacked, beyond: Scalars, q: Scalars) -> list[Any]:
        errors, rows = stack.weighed(at.rows, beyond, weights)
        cost = dot(errors, errors)
        damping = _DAMPING * fmin(cost, _LARGE * sqrt(cost))
        scale = dict.fromkeys(slides, stretch(stack, beyond, weights)) if slides else {}
        return shortened(bounded_step(rows, errors, damping, box, q, scale=scale), multiplied(longest, scale))

    return walked(stack, seed, box, budget, first, step)
