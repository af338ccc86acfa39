"""Augmented Lagrangian method for soft tasks subject to hard tasks and limits.

The steps are Gauss–Newton steps on the configuration manifold.  The problem is min ½ Σ (w e)² over soft errors, subject
to l ≤ c(q) ≤ u for every hard error, and q within limits.  Hard
tasks are satisfied first (`levenberg_marquardt`).  From there on,

    L(q) = ½ Σ (w e)² + ½ ρ Σ (y − clip(y, l, u))²,    y = c + λ/ρ,

is again half of a sum of squares ‖r‖², so its minimum is reached by the steps of `damped_least_squares`, within limits,
with a damping ν ‖r‖² that follows from the ratio of actual to predicted reduction.  After every step that is short
enough

    λ ← ρ (y − clip(y, l, u)),

and ρ grows if the violation of hard tasks has not decreased.  If hard errors at the start are within tolerance but no
step removes them, the range from l to u is extended to their values (`ResidualSpec`).  The Hessian H contains the
active rows.  After a failed step across the end of a nearby range, H contains that row until a step is accepted.  At
convergence, the gradient of ½ Σ (w e)² + λᵀ c vanishes except in coordinates at limits.  An inactive row has λ = 0; λ
> 0 pushes the error down from u.

Sources: Nocedal and Wright, Numerical Optimization, 2nd ed., 2006, chapters 10 and 17; Nielsen, Damping parameter in
Marquardt's method, IMM-REP-1999-05, 1999; Birgin and Martínez, Practical Augmented Lagrangian Methods, 2014.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

from linkwork.expr.control.loops import while_loop
from linkwork.expr.linalg.sparse_dot import dot, is_zero, mirrored_of, transposed
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, le, lt, not_, or_, sqrt, where
from linkwork.ik.algorithms.damped_least_squares import length_dofs, length_scale, longest_steps, newton_step, shortened
from linkwork.ik.algorithms.joint_bounds import is_infinite, is_single_value, nearest, scaled_bound
from linkwork.ik.algorithms.levenberg_marquardt import ResidualSpec, SearchResult, reachable
from linkwork.ik.algorithms.levenberg_marquardt import search as search_hard
from linkwork.ik.algorithms.restarts import start_configuration
from linkwork.ik.algorithms.task_stack import Stack
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.kinematics.algorithms.coordinates import LimitBox, characteristic_length, unit_steps

__all__ = ["SECOND_ORDER", "Minimum", "descend", "search"]

Scalars = Sequence[Any]
Rows = Sequence[Scalars]

_MAX_ITERATIONS = 400  # also the maximum number of iterations without progress
_STEP_TOL = 1e-7  # [rad, characteristic lengths] shorter steps end the descent
_SHORTEST = by_type(1e-11)
_INFINITE = by_type(1e300)
_DAMPING = 0.1
_MIN_DAMPING, _MOST_DAMPING = by_type(1e-9), 1e6  # ν
_SINGULAR = by_type(1e-9)  # minimum damping, relative to the mean curvature
_INITIAL_RHO = 50.0  # initial ρ, relative to the stiffness ratio of soft and hard errors
_MAX_PULL = 0.1  # [rad, half characteristic lengths] maximum initial violation of hard errors due to soft ones
_RHO_GROWTH, _MAX_RHO_GROWTH = 10.0, 300.0  # growth factor of ρ, and maximum ρ relative to the initial one
_INITIAL_UPDATE_STEP = 0.3  # maximum step length of the first multiplier update
SECOND_ORDER = 16  # second derivatives are used up to this number of velocities
_DIVERGED = 0.05  # [rad, half characteristic lengths] violation at which the descent restarts
_NEAR = 0.1  # relative to the violation: rows whose margin was smaller join the Hessian
_GAIN = 1e-6  # minimum relative decrease of the soft cost that counts as progress
_NOISE = by_type(1e-13)  # relative rounding error of a sum of squares
_TINY = by_type(1e-300)  # smaller numbers are not divisors
_LEAST_NORM = 1e-12  # of a Jacobian by unit steps, squared, relative to the weights
_ROUNDING = by_type(1e-14)  # [rad, characteristic lengths] rounding error of vanishing errors
_MIN_TOTAL_DAMPING = by_type(1e-200)  # damping without curvature


@dataclass(frozen=True)
class _Squares:
    """Augmented Lagrangian L as half of the sum of squared ``residuals``, with the residuals' Jacobian ``rows``.

    ``weights`` has the factor of each error. ``violation`` and ``margins`` tell how far hard errors, shifted by their
    multipliers, are beyond or within their ranges.
    """

    residuals: list[Any]
    rows: list[list[Any]]
    weights: list[Any]  # factor of each error
    violation: list[Any]  # c − clip(y, l, u) of each hard error, the increment of λ/ρ
    margins: list[Any]  # distance of y from the ends of its range, −1 if active

    @staticmethod
    def of(spec: ResidualSpec, errors: Scalars, rows: Rows, multipliers: Scalars, rho: Any) -> _Squares:
        root = sqrt(rho)
        residuals: list[Any] = []
        scaled: list[list[Any]] = []
        weights: list[Any] = []
        violation: list[Any] = []
        margins: list[Any] = []
        for k, hard in enumerate(spec.hard):
            shift: Any = 0.0
            room: Any = -1.0
            w, low, high, x = spec.weights[k], spec.low[k], spec.high[k], errors[k]
            if hard:
                shift = multipliers[len(violation)] / rho
                y = w * x + shift
                near = nearest(y, scaled_bound(low, w), scaled_bound(high, w))
                violation.append(w * x - near)
                residuals.append(root * (y - near))
                room = _range_margin(y, scaled_bound(low, w), scaled_bound(high, w))
                w = root * w
            else:
                near = nearest(x, low, high)
                y = x
                residuals.append(w * (x - near))
            if not is_single_value(low, high):
                counts = or_(lt(y, near), lt(near, y))
                if hard:  # a row that was active stays in H, so that no step leads far across
                    counts = or_(counts, lt(0.0, fabs(shift)))
                w, room = where(counts, w, 0.0), where(counts, -1.0, room)
            margins.append(room)
            weights.append(w)
            scaled.append([a if is_zero(a) else a * w for a in rows[k]])
        return _Squares(residuals, scaled, weights, violation, margins)


class Minimum(NamedTuple):
    """Configuration at which a minimisation ended, with its convergence, iterations and Lagrange multipliers."""

    q: list[Any]
    done: Any  # 1 at a minimum with satisfied hard errors, 2 if stalled
    iterations: Any
    multipliers: list[Any]  # λ of each unscaled error; 0 for soft ones


class _State(NamedTuple):
    q: tuple[Any, ...]
    gradient: tuple[Any, ...]  # g, the gradient of ½ ‖r‖² at q
    hessian: tuple[Any, ...]  # its Hessian there, the lower triangle
    length_scale: Any  # s at q of length coordinates: see `damped_least_squares`
    curvature: Any  # mean of the diagonal of RᵀR
    cost: Any  # ‖r‖² at q
    damping: Any  # ν
    margins: tuple[Any, ...]  # distance of hard errors from the ends of their ranges; −1 if in the Hessian
    multipliers: tuple[Any, ...]  # λ of hard rows
    rho: Any  # ρ
    max_update_step: Any
    violation: Any  # range violation of hard errors at the last update of multipliers
    best: tuple[Any, ...]
    best_cost: Any  # Σ (w e)² of soft errors at best
    estimated_multipliers: tuple[Any, ...]  # λ there
    idle_iterations: Any  # iterations since the soft cost decreased
    done: Any  # 1 at a minimum, 2 if stalled
    iterations: Any


def search(stack: Stack, q_init: Scalars, box: LimitBox, budget: Any, first: Any = 0.0) -> SearchResult:
    """Satisfy the hard tasks; then minimise the soft tasks from this solution, while the hard tasks stay satisfied.

    If the hard tasks cannot be satisfied, the best configuration of the search for them is returned.
    """
    spec = ResidualSpec.of(stack)
    if not any(spec.hard):
        begin = start_configuration(stack.tree, q_init, box, first, stack.locked_dofs | stack.idle_dofs)
        minimum = descend(stack, spec, begin, box, budget)
        return SearchResult(minimum.q, _is_minimum(minimum), minimum.iterations, 0.0, 1.0, minimum.multipliers)
    reached = search_hard(stack.only(hard=True), q_init, box, budget, first)
    if all(spec.hard):
        return reached._replace(reached=reached.done, multipliers=[0.0] * len(spec.hard))
    remaining_budget = where(lt(0.5, reached.done), budget, 0.0)
    minimum = descend(stack, spec, reached.q, box, remaining_budget)
    return SearchResult(
        minimum.q,
        _is_minimum(minimum),
        reached.iterations + minimum.iterations,
        reached.starts,
        reached.done,
        minimum.multipliers,
    )


def descend(
    stack: Stack, spec: ResidualSpec, q: Scalars, box: LimitBox, budget: Any, patience: float = _MAX_ITERATIONS
) -> Minimum:
    """Minimise the soft errors from q, subject to the hard errors; return q itself if it cannot be improved.

    The minimisation ends without convergence after ``patience`` iterations in which the soft cost does not decrease.
    """
    tree = stack.tree
    longest, length_coordinates = unit_steps(tree), length_dofs(stack)
    hard = [k for k, is_hard in enumerate(spec.hard) if is_hard]
    ranged = [k for k in hard if not is_single_value(spec.low[k], spec.high[k])]
    aims = reachable(stack, spec, q, box) if hard else spec

    def iterate(state: _State) -> _State:
        is_first = le(_INFINITE, state.cost)
        H = mirrored_of(state.hessian, tree.nv)
        most = where(
            is_first, 1.0, _DAMPING * state.damping * state.cost + _SINGULAR * state.curvature + _MIN_TOTAL_DAMPING
        )
        scale = dict.fromkeys(length_coordinates, state.length_scale)
        step = newton_step(H, state.gradient, most, box, state.q, scale=scale)
        step = shortened(step, longest_steps(longest, scale))
        predicted = -2.0 * dot(step, state.gradient) - dot(step, [dot(row, step) for row in H])
        length: Any = 0.0
        for x, unit in zip(step, longest, strict=True):
            length = length if is_zero(x) else fmax(length, fabs(x) * (1.0 / unit))

        # actual and predicted reduction
        q = box.within(integrate(tree, state.q, step))
        at = stack.at(q, exact=True)
        beyond = spec.beyond(at.errors)
        satisfied = spec.satisfied(beyond)
        soft_cost: Any = 0.0
        for x, w, is_hard in zip(beyond, spec.weights, spec.hard, strict=True):
            soft_cost = soft_cost if is_hard else soft_cost + (x * w) * (x * w)
        initial_rho = _stiffness(spec, beyond, [[x * y for x, y in zip(row, longest, strict=True)] for row in at.rows])
        rho = where(lt(state.rho, _MIN_TOTAL_DAMPING), initial_rho, state.rho)
        result = _Squares.of(aims, at.errors, at.rows, state.multipliers, rho)
        cost = dot(result.residuals, result.residuals)
        reduction = where(is_first, _INFINITE, state.cost - cost)
        better = le(1e-4 * predicted - _noise(state.cost, state.curvature), reduction)
        ratio = fmin(fmax(reduction / fmax(predicted, _TINY), -1.0), 1.0)
        damping = where(better, state.damping * fmax(1.0 / 3.0, 1.0 - (2.0 * ratio - 1.0) ** 3), 4.0 * state.damping)
        damping = where(is_first, 1.0, fmin(fmax(damping, _MIN_DAMPING), _MOST_DAMPING))

        # update of multipliers
        update = and_(and_(better, le(length, state.max_update_step)), not_(is_first))
        violation = reduce(fmax, map(fabs, result.violation), 0.0)
        root = sqrt(rho)
        estimated_multipliers = [root * result.residuals[k] for k in hard]
        multipliers = [where(update, a, b) for a, b in zip(estimated_multipliers, state.multipliers, strict=True)]
        increase_rho = and_(update, lt(0.3 * state.violation, violation))
        # restart from the best configuration if hard errors diverge
        diverged = and_(
            and_(increase_rho, lt(state.violation, violation)),
            and_(lt(_DIVERGED, violation), lt(state.best_cost, _INFINITE)),
        )
        multipliers = [where(diverged, 0.0, x) for x in multipliers]
        next_rho = where(increase_rho, fmin(_RHO_GROWTH * rho, fmax(rho, _MAX_RHO_GROWTH * initial_rho)), rho)
        now = _Squares.of(aims, at.errors, at.rows, multipliers, next_rho)
        columns = transposed(now.rows)
        gradient = [dot(column, now.residuals) for column in columns]
        lower = [dot(columns[i], columns[j]) for i in range(tree.nv) for j in range(i + 1)]
        curvature = sum(x * x * dot(column, column) for x, column in zip(longest, columns, strict=True))
        curvature = curvature * (1.0 / max(tree.nv, 1))
        if tree.nv <= SECOND_ORDER:
            multiplier_weights = [r * w for r, w in zip(now.residuals, now.weights, strict=True)]
            lower = [x + y for x, y in zip(lower, stack.second_derivatives(q, multiplier_weights), strict=True)]

        # after a failed step across the end of a range, add its row to H
        near = [
            where(and_(le(0.0, room), lt(room, _NEAR * fabs(result.residuals[k]) / root)), 1.0, 0.0)
            for k, room in zip(ranged, state.margins, strict=True)
        ]
        crossed_columns = transposed([[x * a for x in result.rows[k]] for k, a in zip(ranged, near, strict=True)])
        margins = [
            where(better, now.margins[k], where(lt(0.5, a), -1.0, room))
            for k, a, room in zip(ranged, near, state.margins, strict=True)
        ]
        index_pairs = [(i, j) for i in range(tree.nv) for j in range(i + 1)]
        stiffened = list(state.hessian)
        if crossed_columns:
            stiffened = [
                x + dot(crossed_columns[i], crossed_columns[j])
                for x, (i, j) in zip(stiffened, index_pairs, strict=True)
            ]

        keep = where(diverged, 0.0, 1.0)
        solved = and_(
            and_(and_(better, satisfied), not_(is_first)),
            le(length * (state.curvature + most), _STEP_TOL * state.curvature),
        )
        improved = and_(and_(better, satisfied), or_(solved, lt(soft_cost, state.best_cost)))
        improves_cost = and_(improved, lt(soft_cost, (1.0 - _GAIN) * state.best_cost))
        idle_iterations = where(improves_cost, 0.0, state.idle_iterations + 1.0)
        stalled = or_(and_(not_(better), lt(length, _SHORTEST)), lt(patience, idle_iterations))

        def select(new: Scalars, old: Scalars) -> tuple[Any, ...]:
            return tuple(where(better, a, b) for a, b in zip(new, old, strict=True))

        return _State(
            tuple(where(diverged, a, b) for a, b in zip(state.best, select(q, state.q), strict=True)),
            tuple(keep * x for x in select(gradient, state.gradient)),
            tuple(where(better, a, b) for a, b in zip(lower, stiffened, strict=True)),
            where(better, length_scale(stack, beyond, spec.weights), state.length_scale) if length_coordinates else 1.0,
            where(better, curvature, state.curvature),
            where(diverged, _INFINITE, where(better, dot(now.residuals, now.residuals), state.cost)),
            damping,
            tuple(margins),
            tuple(multipliers),
            next_rho,
            where(
                diverged,
                _INITIAL_UPDATE_STEP,
                where(update, fmax(0.3 * state.max_update_step, _STEP_TOL), state.max_update_step),
            ),
            where(diverged, _INFINITE, where(update, violation, state.violation)),
            tuple(where(improved, a, b) for a, b in zip(q, state.best, strict=True)),
            where(improved, soft_cost, state.best_cost),
            tuple(
                where(improved, a, b) for a, b in zip(estimated_multipliers, state.estimated_multipliers, strict=True)
            ),
            idle_iterations,
            where(solved, 1.0, where(stalled, 2.0, 0.0)),
            state.iterations + 1.0,
        )

    def continues(state: _State) -> Any:
        return and_(lt(state.done, 0.5), lt(state.iterations, budget))

    at, zero, no_multipliers = tuple(box.within(q)), (0.0,) * tree.nv, (0.0,) * len(hard)
    flat = (0.0,) * (tree.nv * (tree.nv + 1) // 2)
    initial = _State(
        at,
        zero,
        flat,
        characteristic_length(tree),
        0.0,
        _INFINITE,
        1.0,
        (-1.0,) * len(ranged),
        no_multipliers,
        0.0,
        _INITIAL_UPDATE_STEP,
        _INFINITE,
        at,
        _INFINITE,
        no_multipliers,
        0.0,
        0.0,
        0.0,
    )
    last: _State = while_loop(continues, iterate, initial, max_iterations=_MAX_ITERATIONS).state
    all_multipliers: list[Any] = [0.0] * len(spec.hard)
    for k, x in zip(hard, last.estimated_multipliers, strict=True):
        all_multipliers[k] = x * spec.weights[k]
    return Minimum(list(last.best), last.done, last.iterations, all_multipliers)


def _is_minimum(result: Minimum) -> Any:
    return where(and_(lt(0.5, result.done), lt(result.done, 1.5)), 1.0, 0.0)


def _noise(cost: Any, curvature: Any) -> Any:
    """Return the rounding error of a sum of squared residuals, ``cost``.

    It is the rounding error of the sum, plus the effect of the smallest errors that can be resolved.
    """
    smallest = by_type(_ROUNDING * _ROUNDING) * curvature
    return _NOISE * cost + 2.0 * sqrt(cost * smallest) + smallest


def _stiffness(spec: ResidualSpec, beyond: Scalars, rows: Rows) -> Any:
    """Return the initial penalty ρ of the hard errors, from the Jacobian for unit steps (``rows``).

    ρ is the greater of two values. One follows from the ratio of the squared Jacobians of soft and hard errors. The
    other bounds the violation of hard errors that the gradient of the soft cost causes. ``beyond`` are the errors
    outside their ranges.
    """
    squared_norms: dict[bool, Any] = {}
    for kind in (True, False):
        weights = sum((w * w for w, hard in zip(spec.weights, spec.hard, strict=True) if hard is kind), 0.0)
        squared_norms[kind] = _LEAST_NORM * where(lt(0.0, weights), weights, 1.0)  # without weights, any ρ > 0 will do
    for row, w, hard in zip(rows, spec.weights, spec.hard, strict=True):
        squared_norms[hard] = squared_norms[hard] + dot(row, row) * (w * w)
    multiplier_weights = [
        0.0 if hard else x * (w * w) for x, w, hard in zip(beyond, spec.weights, spec.hard, strict=True)
    ]
    soft_gradient = [dot(column, multiplier_weights) for column in transposed(rows)]
    return fmax(
        _INITIAL_RHO * squared_norms[False] / squared_norms[True],
        sqrt(dot(soft_gradient, soft_gradient) / squared_norms[True]) * (1.0 / _MAX_PULL),
    )


def _range_margin(x: Any, low: Any, high: Any) -> Any:
    """Return the distance of x from the nearer end of the range from ``low`` to ``high``; negative outside."""
    below = _INFINITE if is_infinite(low) else x - low
    return fmin(below, _INFINITE if is_infinite(high) else high - x)
