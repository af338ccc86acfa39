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

from ...expr.control.loops import while_loop
from ...expr.functions import and_, fmin, lt, not_, sqrt, where
from ...expr.linalg.sums import dot, is_zero
from ..configuration.manifold import integrate
from .box import LimitBox
from .levenberg import MOST, SearchFound, longest_steps
from .stack import Stack
from .steps import bounded_step, shortened

__all__ = ["projection"]

Scalars = Sequence[Any]

_DAMPING = 0.02  # c
_LARGE = 20.0  # ‖e‖² from which damping is by its size and no more by its square


def projection(stack: Stack, seed: Scalars, box: LimitBox, budget: Any, first: Any = 0.0) -> SearchFound:
    """Where steps from the seed lead, within a budget of them; ``first`` is not looked at."""
    weights, longest = stack.counted(), longest_steps(stack.tree)

    def more(state: tuple[Any, ...]) -> Any:
        _, done, taken = state
        return and_(lt(done, 0.5), lt(taken, budget))

    def stepped(state: tuple[Any, ...]) -> tuple[Any, ...]:
        q, _, taken = state
        at = stack.at(q)
        beyond = stack.beyond(at.errors)
        done = stack.done(beyond)
        errors = [x * w for x, w in zip(beyond, weights, strict=True)]
        resisting = stack.resisting(at.rows, beyond)
        rows = [[x if is_zero(x) else x * w for x in row] for row, w in zip(resisting, weights, strict=True)]
        cost = dot(errors, errors)
        damping = _DAMPING * fmin(cost, _LARGE * sqrt(cost))
        step = shortened(bounded_step(rows, errors, damping, box, q), longest)
        moved = box.within(integrate(stack.tree, q, step))
        q = tuple(where(and_(not_(done), lt(taken + 1.0, budget)), a, b) for a, b in zip(moved, q, strict=True))
        return q, where(done, 1.0, 0.0), taken + 1.0

    q, done, taken = while_loop(more, stepped, (tuple(box.within(seed)), 0.0, 0.0), at_most=MOST).state
    return SearchFound(list(q), done, taken, first - first)
