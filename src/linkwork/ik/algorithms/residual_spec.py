"""Specification of the errors of a problem with hard and soft tasks, and the hard errors that a descent can reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, le, lt, or_, where
from linkwork.ik.algorithms.damped_least_squares import bounded_step
from linkwork.ik.algorithms.joint_bounds import is_single_value, nearest
from linkwork.ik.algorithms.task_stack import Stack
from linkwork.kinematics.algorithms.coordinates import LimitBox, unit_steps

__all__ = ["ResidualSpec", "reachable"]

Scalars = Sequence[Any]

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
        """Return whether all hard errors are within tolerance."""
        result: Any = True
        for x, tolerance, hard in zip(beyond, self.tolerances, self.hard, strict=True):
            if hard:
                result = and_(result, le(fabs(x), tolerance))
        return result


def reachable(stack: Stack, spec: ResidualSpec, q: Scalars, box: LimitBox) -> ResidualSpec:
    """Return the specification with ranges of hard errors that can be reached from q.

    If no step within limits removes the hard errors at q, each range includes its error at q.
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
