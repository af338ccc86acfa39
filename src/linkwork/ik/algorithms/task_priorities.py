"""Strict task priorities: each level is minimised without worsening the levels before it.

There is one stage for the hard errors of each level and one for its soft errors.  In each stage, errors of earlier
stages are constrained to the values reached there (or to their ranges where satisfied) as hard errors of
`augmented_lagrangian`, and the stage's own errors are minimised.  A stage that cannot satisfy its constraints leaves
the configuration unchanged.

Source: Escande, Mansard and Wieber, Hierarchical quadratic programming, Int. J. Robotics Research 33 (7), 2014 (for
velocities).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.expr.scalar.functions import fabs, fmax, fmin, le, lt, where
from linkwork.ik.algorithms.augmented_lagrangian import ResidualSpec, descend
from linkwork.ik.algorithms.levenberg_marquardt import SearchResult
from linkwork.ik.algorithms.levenberg_marquardt import search as search_hard
from linkwork.ik.algorithms.restarts import start_configuration
from linkwork.ik.algorithms.task_stack import Stack
from linkwork.ik.tasks.task import Task
from linkwork.kinematics.algorithms.coordinates import LimitBox

__all__ = ["PRESERVED", "search"]

Scalars = Sequence[Any]

_PATIENCE = 100  # iterations of a stage without progress before it ends
PRESERVED = 1e-7  # [m, rad] tolerance with which earlier stages are preserved


def search(stack: Stack, q_init: Scalars, box: LimitBox, budget: Any, first: Any = 0.0) -> SearchResult:
    """Search for a configuration at which no level can improve without worsening an earlier one."""
    stages = sorted({_stage(task) for task in stack.tasks})
    spec = ResidualSpec.of(stack)
    q, iterations, starts = start_configuration(stack.tree, q_init, box, first, stack.locked_dofs), 0.0, 0.0
    multipliers: list[Any] = [0.0] * len(spec.hard)
    succeeded: Any = 1.0
    for stage in stages:
        tasks_so_far = [k for k, task in enumerate(stack.tasks) if _stage(task) <= stage]
        substack = stack.some(tasks_so_far)
        if stage == stages[0] and all(substack.hard):
            result = search_hard(substack, q, box, budget, first)
            q, iterations, starts, succeeded = result.q, result.iterations, result.starts, result.done
            continue
        indices = [row for row, k in enumerate(stack.owners) if k in tasks_so_far]
        is_earlier = [_stage(stack.tasks[stack.owners[row]]) < stage for row in indices]
        errors = substack.at(q).errors
        bounds = [
            _preserved_range(spec, row, x) if h else _own_range(spec, row)
            for row, x, h in zip(indices, errors, is_earlier, strict=True)
        ]
        low, high, tolerances = zip(*bounds, strict=True)
        weights = [spec.weights[row] for row in indices]
        minimum = descend(
            substack, ResidualSpec(is_earlier, low, high, weights, tolerances), q, box, budget - iterations, _PATIENCE
        )
        q, iterations, succeeded = (
            minimum.q,
            iterations + minimum.iterations,
            succeeded * where(lt(0.5, minimum.done), 1.0, 0.0),
        )
        for row, multiplier in zip(indices, minimum.multipliers, strict=True):
            multipliers[row] = multiplier
    done = stack.done(stack.beyond(stack.at(q).errors))
    reached = 1.0 if done is True else where(done, 1.0, 0.0)
    return SearchResult(q, succeeded * reached, iterations, starts, reached, multipliers)


def _stage(task: Task) -> tuple[int, bool]:
    return task.level, not task.hard


def _own_range(spec: ResidualSpec, row: int) -> tuple[Any, Any, Any]:
    return spec.low[row], spec.high[row], spec.tolerances[row]


def _preserved_range(spec: ResidualSpec, row: int, x: Any) -> tuple[Any, Any, Any]:
    """Return the range that preserves an error x of an earlier stage, with its tolerance.

    It is the error's own range if that is satisfied, else its own range extended to x.
    """
    low, high, tolerance = _own_range(spec, row)
    if not spec.hard[row]:
        return fmin(low, x), fmax(high, x), PRESERVED
    done = le(fabs(x - fmin(fmax(x, low), high)), tolerance)
    return where(done, low, fmin(low, x)), where(done, high, fmax(high, x)), where(done, tolerance, PRESERVED)
