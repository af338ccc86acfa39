"""Strict task priorities: each level is minimised without worsening the levels before it.

There is one stage for the hard errors of each level and one for its soft errors.  In each stage, the stage's own
errors are minimised by `augmented_lagrangian`.  Errors of earlier stages are hard errors, constrained to the values
that they have reached (or to their ranges if satisfied).  Where errors of an earlier soft stage remain, their values
are those of a minimum, so such constraints are singular.  The cost of that stage then counts with a large weight
instead.  A stage that cannot satisfy its constraints leaves the configuration unchanged.

The last configuration is checked for all stages together, since a later stage may lead away from a saddle point of an
earlier one, and a stage may end without a minimum.  With the gradient g of the cost f of a stage, the Hessian H of the
costs of earlier stages, and the mean curvature μ of f, the step δ within limits minimises gᵀδ + ½ δᵀ(κ H + μ 1) δ for a
large κ.  If δ lowers f by more than a small fraction of f, the search did not succeed.

Source: Escande, Mansard and Wieber, Hierarchical quadratic programming, Int. J. Robotics Research 33 (7), 2014 (for
velocities).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from linkwork.expr.linalg.sparse_dot import dot, mirrored_of, transposed
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, le, lt, or_, where
from linkwork.ik.algorithms.augmented_lagrangian import SECOND_ORDER, descend
from linkwork.ik.algorithms.damped_least_squares import newton_step
from linkwork.ik.algorithms.joint_bounds import is_single_value
from linkwork.ik.algorithms.levenberg_marquardt import ResidualSpec, SearchResult
from linkwork.ik.algorithms.levenberg_marquardt import search as search_hard
from linkwork.ik.algorithms.restarts import start_configuration
from linkwork.ik.algorithms.task_stack import Stack, Stacked
from linkwork.ik.tasks.task import Task
from linkwork.kinematics.algorithms.coordinates import LimitBox, characteristic_length, unit_steps

__all__ = ["PRESERVED", "search"]

Scalars = Sequence[Any]

_PATIENCE = 100  # iterations of a stage without progress before it ends
PRESERVED = 1e-7  # [rad, 2.5 characteristic lengths] tolerance with which earlier stages are preserved
_HEAVY = 300.0  # weight of a stage with remaining errors relative to the next soft stage
_UNBOUNDED = 1e30  # end of the range of an error that is not constrained
_NEGLIGIBLE = 0.01  # errors below this share of their tolerance count as zero
_SHARE = 1e-4  # share of a stage's cost by which a step may still lower it at the end
_STIFFNESS = 1e9  # κ, relative to the mean curvature of an earlier stage
_LEAST_CURVATURE = 1e-12  # [1/rad²] of a stage whose errors do not move


def search(stack: Stack, q_init: Scalars, box: LimitBox, budget: Any, first: Any = 0.0) -> SearchResult:
    """Search for a configuration at which no priority level can improve without worsening an earlier level.

    ``budget`` is the maximum number of iterations, and ``first`` the index of the first start configuration.
    """
    stages = sorted({_stage(task) for task in stack.tasks})
    spec = ResidualSpec.of(stack)
    fixed_dofs = stack.locked_dofs | stack.idle_dofs
    q, iterations, starts = start_configuration(stack.tree, q_init, box, first, fixed_dofs), 0.0, 0.0
    multipliers, preserved = [0.0] * len(spec.hard), _preserved(stack)
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
        left = {each_stage: _has_errors(stack, spec, each_stage, indices, errors) for each_stage in stages}
        bounds = []
        for row, x, h in zip(indices, errors, is_earlier, strict=True):
            low, high, tolerance = _preserved_range(spec, row, x, preserved[row]) if h else _own_range(spec, row)
            if h and not spec.hard[row]:
                is_open = left[_stage(stack.tasks[stack.owners[row]])]
                low, high = where(is_open, -_UNBOUNDED, low), where(is_open, _UNBOUNDED, high)
            bounds.append((low, high, tolerance))
        weights = [spec.weights[row] for row in indices]
        again = [k for k in tasks_so_far if not stack.tasks[k].hard and _stage(stack.tasks[k]) < stage]
        for row in [row for k in again for row, owner in enumerate(stack.owners) if owner == k]:
            before = _stage(stack.tasks[stack.owners[row]])
            bounds.append(_own_range(spec, row))
            factor = _HEAVY ** sum(before <= each_stage < stage and each_stage[1] for each_stage in stages)
            weights.append(where(left[before], factor * spec.weights[row], 0.0))
        substack = replace(
            substack,
            tasks=(*substack.tasks, *(stack.tasks[k] for k in again)),
            targets=(*substack.targets, *(stack.targets[k] for k in again)),
        )
        is_earlier += [False] * (len(bounds) - len(is_earlier))
        low, high, tolerances = zip(*bounds, strict=True)
        minimum = descend(
            substack, ResidualSpec(is_earlier, low, high, weights, tolerances), q, box, budget - iterations, _PATIENCE
        )
        q, iterations = minimum.q, iterations + minimum.iterations
        for row, multiplier in zip(indices, minimum.multipliers, strict=False):
            multipliers[row] = multiplier
    at = stack.at(q, exact=True)
    done = stack.done(stack.beyond(at.errors))
    reached = 1.0 if done is True else where(done, 1.0, 0.0)
    succeeded = succeeded * _is_stationary(stack, spec, at, q, box, stages)
    return SearchResult(q, succeeded * reached, iterations, starts, reached, multipliers)


def _has_errors(stack: Stack, spec: ResidualSpec, stage: tuple[int, bool], rows: Sequence[int], errors: Scalars) -> Any:
    """Return True if an error of a priority stage exceeds its permitted range by more than its tolerance.

    A stage (level, soft) has the hard or the soft errors of one priority level; ``rows`` are their indices.
    """
    result: Any = False
    for row, x in zip(rows, errors, strict=True):
        if _stage(stack.tasks[stack.owners[row]]) == stage:
            near = fmin(fmax(x, spec.low[row]), spec.high[row])
            result = or_(result, lt(spec.tolerances[row], fabs(x - near)))
    return result


def _is_stationary(
    stack: Stack, spec: ResidualSpec, at: Stacked, q: Scalars, box: LimitBox, stages: Sequence[tuple[int, bool]]
) -> Any:
    """Return 1 if no small step lowers a stage's cost without raising an earlier stage's cost, else 0.

    A stage (level, soft) has the hard or the soft errors of one priority level.
    """
    nv, result, beyond = stack.tree.nv, 1.0, spec.beyond(at.errors)
    preserved, units = _preserved(stack), unit_steps(stack.tree)
    scale = {k: unit for k, unit in enumerate(units) if unit != 1.0}
    earlier = [[0.0] * nv for _ in range(nv)]
    for stage in stages:
        rows = [row for row, k in enumerate(stack.owners) if _stage(stack.tasks[k]) == stage]
        pulls = [
            spec.weights[row] * spec.weights[row] * beyond[row] if row in rows else 0.0 for row in range(len(beyond))
        ]
        active = [_is_active(spec, row, at.errors[row], preserved[row]) * spec.weights[row] for row in rows]
        columns = transposed([[x * w for x in at.rows[row]] for row, w in zip(rows, active, strict=True)])
        squares = (x * x * dot(column, column) for x, column in zip(units, columns, strict=True))
        curvature = sum(squares, _LEAST_CURVATURE) * (1.0 / max(nv, 1))
        if stage[1]:
            g = [dot(column, pulls) for column in transposed(at.rows)]
            stiff = [[x * curvature for x in row] for row in earlier]
            step = newton_step(stiff, g, curvature, box, q, scale=scale)
            damped = (curvature * (x / (unit * unit)) for x, unit in zip(step, units, strict=True))
            bent_cost = sum(x * (y + dot(row, step)) for x, y, row in zip(step, damped, stiff, strict=True))
            decrease = -(dot(step, g) + 0.5 * bent_cost)
            cost = 0.5 * sum(pulls[row] * beyond[row] for row in rows)
            lowest = 0.5 * sum((spec.weights[row] * _NEGLIGIBLE * spec.tolerances[row]) ** 2 for row in rows)
            result = result * where(le(decrease, _SHARE * cost + lowest), 1.0, 0.0)
        if stage == stages[-1]:
            break
        stiffness = _STIFFNESS / curvature
        bent = stack.second_derivatives(q, pulls) if stage[1] and nv <= SECOND_ORDER else [0.0] * (nv * (nv + 1) // 2)
        curved = mirrored_of(bent, nv)
        earlier = [
            [old + stiffness * (dot(a, b) + x) for old, b, x in zip(row, columns, second, strict=True)]
            for row, a, second in zip(earlier, columns, curved, strict=True)
        ]
    return result


def _preserved(stack: Stack) -> list[float]:
    """Return, for each error, the tolerance within which later priority levels must keep its value."""
    length = 2.5 * characteristic_length(stack.tree)
    return [PRESERVED * length if unit == "m" else PRESERVED for unit in stack.units]


def _is_active(spec: ResidualSpec, row: int, x: Any, preserved: float) -> Any:
    """Return 1 if the error x is at an end of its permitted range or must be zero, 0 if it is inside its range.

    ``preserved`` is the tolerance of this comparison, and ``row`` the index of the error.
    """
    low, high = spec.low[row], spec.high[row]
    if is_single_value(low, high):
        return 1.0
    return where(and_(lt(low + preserved, x), lt(x, high - preserved)), 0.0, 1.0)


def _stage(task: Task) -> tuple[int, bool]:
    return task.level, not task.hard


def _own_range(spec: ResidualSpec, row: int) -> tuple[Any, Any, Any]:
    return spec.low[row], spec.high[row], spec.tolerances[row]


def _preserved_range(spec: ResidualSpec, row: int, x: Any, preserved: float) -> tuple[Any, Any, Any]:
    """Return (low, high, tolerance) of an error that later priority levels must not worsen.

    The range is the error's permitted range if its value x is within it, else the range extended to x.
    """
    low, high, tolerance = _own_range(spec, row)
    if not spec.hard[row]:
        return fmin(low, x), fmax(high, x), preserved
    done = le(fabs(x - fmin(fmax(x, low), high)), tolerance)
    return where(done, low, fmin(low, x)), where(done, high, fmax(high, x)), where(done, tolerance, preserved)
