"""Augmented Lagrangian method for paths, with damped Gauss–Newton steps on the manifold and a line search.

Each iteration solves (H + ν diag H) d = −g for all steps of the path and its parameters (`block_banded`), and moves
along d as far as the merit, the augmented Lagrangian, decreases sufficiently.  The damping ν grows if this is only a
small part of d.  Near an optimum H includes second derivatives of terms of single steps; if H is then not positive
definite, these derivatives are omitted for some iterations.  A search of second order includes the second derivatives
of all terms, multiplied by a factor.  This factor is halved while H is not positive definite, and grows again
afterwards.  After short steps, multipliers of constraints whose violation has decreased are updated, and penalties of
the other constraints grow.  The search ends when steps are shorter than a tolerance and no constraint is violated; then
the gradient of the Lagrangian vanishes.

Parameters stay within their bounds: a step that would violate a bound ends at the bound, and the steps of the other
parameters are adapted.

Sources: Nocedal and Wright, Numerical Optimization, 2nd ed., 2006, chapters 3, 10 and 17; Birgin and Martínez,
Practical Augmented Lagrangian Methods, 2014; Toussaint, A tutorial on Newton methods for constrained trajectory
optimization, in: Laumond et al., Geometric and Numerical Foundations of Movements, 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control.loops import while_loop
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.functions import and_, eq, fabs, fmax, fmin, le, lt, not_, or_, where
from linkwork.optimal.algorithms.block_banded import Eliminated, solve_border
from linkwork.optimal.algorithms.gauss_newton_system import SMALL, PathSweeps
from linkwork.optimal.algorithms.path_nlp import PathPoint
from linkwork.optimal.algorithms.path_steps import Duals

__all__ = [
    "RUNNING",
    "SOLVED",
    "STOPPED",
    "STUCK",
    "UNBOUNDED",
    "VIOLATED",
    "PathSearch",
    "Tolerances",
    "initial_search",
    "search",
]

RUNNING, SOLVED, VIOLATED, STUCK, STOPPED, UNBOUNDED = 0.0, 1.0, 2.0, 3.0, 4.0, 5.0  # STOPPED by the caller

_MIN_DAMPING, _MAX_DAMPING = 1e-12, 1e8
_FIRST_DAMPING = 1e-4  # after a first failed step
_REGULARIZATION = 1e-10  # added to every diagonal
_DAMPING_FLOOR = 1e-4  # relative to the damping, added to every diagonal, for directions without curvature
_ARMIJO = 1e-4  # required share of the decrease that the slope predicts
_ROUNDING = 1e-13  # of the merit
_NEGLIGIBLE_STEP = 1e-6  # relative to the step tolerance: accepted without comparison if no constraint is violated
_SHORT_STEP = 0.1  # in units of coordinates: steps after which multipliers are updated
_NO_STEP = 1e300  # length of a step that does not exist
_NEAR_OPTIMUM = 0.1  # in units of coordinates: steps after which second derivatives of terms of single steps are used
_NEAR_ENOUGH = 1.0  # the same, with those of all terms
_RETRY = 1.25  # factor of iterations until they are used again after H was not positive definite with them
_BEND_GROWTH, _MIN_BEND = 1.4, 0.05  # of the share of those of all terms, which halves while H is not positive definite
_CONVEX = 0.9  # share from which the merit counts as convex
_SMALL_SHARE = 0.2  # of a positive lower bound of a parameter
_SMALL_DAMPING = 1e-4  # damping without a noticeable effect
_MAX_STEP = 1.0  # in units of coordinates; relative for parameters
_DECREASED = 0.25  # ratio of violations that counts as a sufficient decrease
_SETTLED = 0.1  # predicted decrease, relative to a penalty's part of the merit, near its minimum
_CREEPING, _MODERATE_DAMPING = 1e-4, 0.1  # the same for short steps, also with moderate damping
_GROWTH = 10.0  # of penalties
_MAX_PENALTY = 1e10
_HIGH_PENALTY = 1e6  # above, multipliers are updated even if violations have not decreased
_NO_PROGRESS = 1e-5  # decrease relative to a penalty's part of the merit
_UNRESOLVED = 1e-11  # predicted decrease, relative to the merit, that rounding hides
_SHARE_GROWTH, _MIN_SHARE = 2.0, 0.005  # of step shares while the merit is not resolved
_SMALL_DECREASE, _PATIENCE = 1e-3, 5.0  # relative decrease of the merit, and how often in a row until the search ends
_NEARLY, _LONG_PATIENCE = 10.0, 50.0  # the latter where all violations are at most so many times their tolerances
_TRIALS = 8  # step lengths of a line search
_SLOWEST = 0.75  # rate at which steps shrink, in the estimate of the distance that remains
_ENDLESS, _ENDLESS_STEPS = 1e8, 200.0  # in units of coordinates: steps without curvature, and how many in a row


class Tolerances(NamedTuple):
    """Tolerances of a search: one for the length of the last step, and one for each constraint's violation."""

    step: Any  # [rad, m]
    violations: Any  # (constraints,)


class PathSearch(NamedTuple):
    """State of a search between two iterations: path, multipliers, penalties, damping, status and counters."""

    point: PathPoint
    duals: Duals
    violations: Any  # (constraints,): now
    before: Any  # (constraints,): scaled residuals at the last update of multipliers or penalties
    damping: Any
    status: Any
    iterations: Any
    cost: Any
    merit: Any
    length: Any  # of the last computed step
    stale: Any  # iterations with maximum penalties and hardly any decrease of the merit, or of endless steps
    bent: Any  # share of second derivatives in H; 0 far from an optimum
    usable: Any  # share of those of all terms to try near an optimum
    straight: Any  # iteration until which those of single steps are not used
    share: Any  # of a step that is taken while the merit is not resolved
    former: Any  # length of the last computed step; huge if it was not taken, or if the merit has changed since


class _Trial(NamedTuple):
    """State of the line search: the next fraction of the step to try, and the best accepted fraction."""

    share: Any  # to try next
    failed: Any  # the shortest rejected share
    count: Any
    going: Any
    accepted: Any  # 0 before a share is accepted
    merit: Any  # of the accepted share, like all that follows
    cost: Any
    violations: Any
    residuals: Any
    active: Any
    everywhere: Any
    alone: Any


def initial_search(point: PathPoint, duals: Duals, hard: int) -> PathSearch:
    """Return the state of a search before its first step; ``hard`` is the number of constraint terms."""
    far = array([1e300] * hard)
    scalars = 0.0, 0.0, 0.0, 1e300, 0.0, 0.0, 1.0, 0.0, 1.0, _NO_STEP
    return PathSearch(point, duals, far, far, _MIN_DAMPING, RUNNING, *scalars)


def search(
    sweeps: PathSweeps, start: PathSearch, tolerances: Tolerances, budget: Any, max_iterations: int
) -> PathSearch:
    """Return the state in which a search ends: with a final status, or after ``budget`` more iterations.

    ``max_iterations`` is the fixed limit of the compiled loop.
    """

    def running(state: PathSearch) -> Any:
        return and_(lt(state.status, 0.5), lt(state.iterations, budget))

    end: PathSearch = while_loop(
        running, lambda s: _iteration(sweeps, s, tolerances), start, max_iterations=max_iterations
    ).state
    return end


def _iteration(sweeps: PathSweeps, state: PathSearch, tolerances: Tolerances) -> PathSearch:
    point, duals = state.point, state.duals
    factors, merit, active = sweeps.equations(
        point, duals, state.damping, _REGULARIZATION + _DAMPING_FLOOR * state.damping, state.bent
    )
    border, border_positive = _bounded(sweeps, factors, point.p)
    direction = sweeps.direction(factors, border)
    positive = factors.positive if border_positive is None else and_(factors.positive, border_positive)
    displacement, change = sweeps.lengths(point, direction)
    far = fmax(displacement, _relative(sweeps, border, point.p))
    length = where(positive, fmax(far, change), _NO_STEP)
    slope = -(factors.drop + dot(factors.border_side, border))  # g d
    undamped = lt(state.damping, _SMALL_DAMPING)
    # Gauss–Newton steps oscillate if the neglected curvature is more than twice H: if the merit does not resolve it,
    # growing steps show it.  A step after a change of the merit is longer without an oscillation
    unresolved = and_(and_(positive, undamped), le(-slope, _UNRESOLVED * fabs(merit)))
    longer = length / state.former
    eased = where(
        lt(1.0, longer), fmax(state.share / (1.0 + longer), _MIN_SHARE), fmin(_SHARE_GROWTH * state.share, 1.0)
    )
    eased = where(unresolved, eased, state.share)
    whole = where(unresolved, eased, 1.0)
    first = where(lt(_MAX_STEP, far), _MAX_STEP / fmax(far, _MAX_STEP), whole)  # changes of forces are not limited
    negligible = and_(undamped, le(length, _NEGLIGIBLE_STEP * tolerances.step))  # merits differ only by rounding

    def searching(trial: _Trial) -> Any:
        return and_(lt(0.5, trial.going), lt(trial.count, float(_TRIALS) - 0.5))

    def tried(trial: _Trial) -> _Trial:
        share = trial.share
        moved = sweeps.moved(point, direction, border, share)
        at = sweeps.shares(moved, duals)
        change = at.merit - merit
        enough = le(change, _ARMIJO * share * slope + _ROUNDING * fabs(merit))
        satisfied = reduce(and_, map(le, at.violations, tolerances.violations), negligible)
        # a shortened step is lengthened again while that lowers the merit: penalties have kinks, and a parabola through
        # a steep one ends far before the minimum
        accepted = lt(0.0, trial.accepted)
        better = where(accepted, where(lt(at.merit, trial.merit), 1.0, 0.0), where(or_(enough, satisfied), 1.0, 0.0))
        is_accepted = and_(lt(0.5, better), positive)
        failed = where(is_accepted, trial.failed, share)
        # the minimum of the parabola through both merits and the slope
        bend = change - share * slope
        best = where(lt(0.0, bend), -0.5 * slope * share * share / where(lt(0.0, bend), bend, 1.0), 0.5 * share)
        shorter = fmin(fmax(best, 0.1 * share), 0.5 * share)
        longer = fmin(2.0 * share, 0.5 * (share + failed))
        on = where(is_accepted, where(lt(failed, 1.5 * first), 1.0, 0.0), where(accepted, 0.0, 1.0))
        return _Trial(
            where(is_accepted, longer, shorter),
            failed,
            where(positive, trial.count + 1.0, float(_TRIALS)),
            on,
            where(is_accepted, share, trial.accepted),
            where(is_accepted, at.merit, trial.merit),
            where(is_accepted, at.cost, trial.cost),
            _chosen(is_accepted, at.violations, trial.violations),
            _chosen(is_accepted, at.residuals, trial.residuals),
            where(is_accepted, at.active, trial.active),
            _chosen(is_accepted, at.everywhere, trial.everywhere),
            _chosen(is_accepted, at.alone, trial.alone),
        )

    empty = _Trial(
        first,
        2.0 * first,
        0.0,
        1.0,
        0.0,
        merit,
        state.cost,
        state.violations,
        state.before,
        active,
        duals.everywhere,
        duals.alone,
    )
    trial = while_loop(searching, tried, empty, max_iterations=_TRIALS).state
    taken = lt(0.0, trial.accepted)
    moved = sweeps.moved(point, direction, border, trial.accepted)
    violations = trial.violations
    # a step that newly active rows shorten needs no damping: the next one includes them
    curved = and_(lt(trial.accepted, 0.1 * first), eq(active, trial.active))
    damping = where(
        taken,
        where(lt(0.5 * first, trial.accepted), 0.1, where(curved, 10.0, 1.0)) * state.damping,
        where(lt(0.0, state.bent), state.damping, fmax(30.0 * state.damping, _FIRST_DAMPING)),
    )
    damping = fmax(damping, _MIN_DAMPING)
    # after short steps: new multipliers where violations have decreased, larger penalties elsewhere, but not while the
    # path leaves a saddle point of the merit
    short = and_(taken, lt(length * trial.accepted, _SHORT_STEP))
    saddle = and_(lt(0.0, state.bent), lt(state.bent, _CONVEX))  # only in a search of second order
    tiny = and_(le(length, 10.0 * tolerances.step), undamped)  # not shortened by damping
    arrived = le(0.5 * whole, trial.accepted)  # otherwise the decrease may be too large: the step continues
    grown: list[Any] = []
    renewed: list[Any] = []
    last: list[Any] = []
    within: Any = None
    nearly: Any = None
    all_capped: Any = None
    changed: Any = None  # the merit, by more than constraints that are satisfied change it
    columns = duals.penalties, violations, trial.residuals, state.before, tolerances.violations, sweeps.hard_scales
    for rho, now, left, before, tolerance, scale in zip(*columns, strict=True):
        done = and_(le(now, tolerance), le(left, scale * tolerance))
        fell = or_(done, le(left, _DECREASED * before))
        # a penalty need not grow while a step may still halve the violation
        share = rho * left * left
        settled = or_(and_(undamped, le(-slope, _SETTLED * share)), tiny)
        settled = or_(settled, and_(lt(state.damping, _MODERATE_DAMPING), le(-slope, _CREEPING * share)))
        settled = or_(settled, le(merit - trial.merit, _NO_PROGRESS * share))
        grow = and_(and_(short, not_(or_(fell, saddle))), settled)
        far_grown = and_(settled, le(_HIGH_PENALTY, rho))  # larger penalties would lose precision
        renewed.append(and_(short, or_(and_(fell, or_(arrived, tiny)), far_grown)))
        grown.append(where(grow, fmin(_GROWTH * rho, _MAX_PENALTY), rho))
        last.append(where(or_(renewed[-1], grow), left, before))
        other_merit = or_(grow, and_(renewed[-1], not_(done)))
        changed = other_merit if changed is None else or_(changed, other_merit)
        within = done if within is None else and_(within, done)
        near = le(now, _NEARLY * tolerance)
        nearly = near if nearly is None else and_(nearly, near)
        hopeless = or_(done, le(_MAX_PENALTY, rho))
        all_capped = hopeless if all_capped is None else and_(all_capped, hopeless)
    everywhere, alone = sweeps.with_new_multipliers(duals, trial.everywhere, trial.alone, renewed)
    # steps that shrink at this rate r lead r/(1 − r) times the last one further
    rate = where(lt(state.former, _NO_STEP), fmin(longer, _SLOWEST), _SLOWEST)
    converged = and_(taken, and_(le(length * fmax(rate / (1.0 - rate), 1.0), tolerances.step), undamped))
    status = where(converged if within is None else and_(converged, within), SOLVED, RUNNING)
    stale: Any = 0.0
    if all_capped is not None:
        little = lt(merit - trial.merit, _SMALL_DECREASE * fabs(merit))
        stale = where(and_(and_(all_capped, not_(within)), or_(not_(taken), little)), state.stale + 1.0, 0.0)
        status = where(lt(where(nearly, _LONG_PATIENCE, _PATIENCE) - 0.5, stale), VIOLATED, status)
    endless = and_(and_(taken, undamped), le(_ENDLESS, length))
    endless = endless if within is None else and_(endless, within)
    stale = where(endless, state.stale + 1.0, stale)
    status = where(and_(endless, lt(_ENDLESS_STEPS - 0.5, stale)), UNBOUNDED, status)
    ended = STUCK if within is None else where(within, STUCK, VIOLATED)
    iterations = state.iterations + 1.0
    stable = and_(taken, undamped)
    status = where(and_(not_(taken), lt(_MAX_DAMPING, damping)), ended, status)
    return PathSearch(
        moved,
        Duals(everywhere, alone, array(grown)),
        violations,
        array(last),
        damping,
        status,
        iterations,
        trial.cost,
        trial.merit,
        length,
        stale,
        *_bend(sweeps.program.second_order, state, positive, stable, length, iterations),
        eased,
        where(taken if changed is None else and_(taken, not_(changed)), length, _NO_STEP),
    )


def _bend(
    second_order: bool, state: PathSearch, positive: Any, stable: Any, length: Any, iterations: Any
) -> tuple[Any, Any, Any]:
    """Return three values of the next state: the factor of second derivatives, the last usable factor, and a delay.

    They are ``bent``, ``usable`` and ``straight`` of `PathSearch`; second derivatives are omitted until iteration
    ``straight``. ``positive`` is true if the last matrix was positive definite. ``stable`` is true if the last step,
    which has size ``length``, was not noticeably damped.
    """
    failed = and_(lt(0.0, state.bent), not_(positive))
    if not second_order:
        straight = where(failed, _RETRY * iterations + 2.0, state.straight)
        near = and_(stable, lt(length, _NEAR_OPTIMUM))
        return where(and_(near, le(straight, iterations)), 1.0, 0.0), state.usable, straight
    usable = where(lt(0.0, state.bent), fmin(_BEND_GROWTH * state.bent, 1.0), state.usable)
    usable = where(failed, fmax(0.5 * state.bent, _MIN_BEND), usable)
    near = or_(and_(stable, lt(length, _NEAR_ENOUGH)), and_(failed, lt(_MIN_BEND, state.bent)))
    return where(near, usable, 0.0), usable, state.straight


def _chosen(condition: Any, new: Any, old: Any) -> Any:
    """Return the array ``new`` if the condition is true, else ``old``."""
    flat = [where(condition, x, y) for x, y in zip(np.ravel(new), np.ravel(old), strict=True)]
    return array(flat).reshape(np.shape(old))


def _relative(sweeps: PathSweeps, border: Sequence[Any], p: Sequence[Any]) -> Any:
    """Return the largest relative change |dp| / (|p| + small) of the path's parameters p in a step.

    ``border`` is dp; ``small`` is defined by `_small`.
    """
    steps = zip(border, p, _small(sweeps), strict=True)
    return reduce(fmax, (fabs(step) / (fabs(x) + small) for step, x, small in steps), 0.0)


def _small(sweeps: PathSweeps) -> list[Any]:
    """Return a magnitude that is small for each parameter: a fraction of a positive lower bound, or `SMALL`."""
    return [where(lt(0.0, x), _SMALL_SHARE * x, SMALL) for x in sweeps.inputs.floor]


def _bounded(sweeps: PathSweeps, factors: Eliminated, p: Any) -> tuple[list[Any], Any]:
    """Return the step of the path's parameters within their bounds, and True if its equations are positive definite.

    A term |gradient| / (½ |p| + small) on the diagonal limits the step of a parameter p along which there is no
    curvature. The second result is None without parameters.
    """
    low = [a - x for a, x in zip(sweeps.inputs.floor, p, strict=True)]
    high = [a - x for a, x in zip(sweeps.inputs.ceiling, p, strict=True)]
    count = len(low)
    A = [[factors.border[max(i, j)][min(i, j)] for j in range(count)] for i in range(count)]
    for k, small in enumerate(_small(sweeps)):
        A[k][k] = A[k][k] + fabs(factors.border_side[k]) / (0.5 * fabs(p[k]) + small) + _REGULARIZATION

    def rest(free: list[Any], step: list[Any]) -> tuple[list[Any], Any]:
        """Return a further step of those parameters that are not at a bound, after the step ``step``.

        ``free`` has 1 for such a parameter, and 0 for a parameter at a bound. The second result is True if the matrix
        of the free parameters is positive definite.
        """
        masked = [
            [A[i][j] * free[i] * free[j] + (1.0 - free[i] if i == j else 0.0) for j in range(i + 1)]
            for i in range(count)
        ]
        return solve_border(
            masked, [a * (x - dot(row, step)) for a, x, row in zip(free, factors.border_side, A, strict=True)]
        )

    free: list[Any] = [1.0] * count
    step: list[Any] = [0.0] * count
    positive: Any = None
    for _ in range(min(count, 2)):
        more, is_positive = rest(free, step)
        positive = is_positive if positive is None else and_(positive, is_positive)
        step = [x + y for x, y in zip(step, more, strict=True)]
        out = [or_(lt(x, a), lt(b, x)) for x, a, b in zip(step, low, high, strict=True)]
        bounded = [fmin(fmax(x, a), b) for x, a, b in zip(step, low, high, strict=True)]
        free = [where(o, 0.0, x) for o, x in zip(out, free, strict=True)]
        step = [where(lt(f, 0.5), h, 0.0) if count > 1 else h for f, h in zip(free, bounded, strict=True)]
    if count > 1:
        more, _ = rest(free, step)
        step = [fmin(fmax(x + y, a), b) for x, y, a, b in zip(step, more, low, high, strict=True)]
    return step, positive
