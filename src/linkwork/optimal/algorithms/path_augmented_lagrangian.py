"""Optimal paths by an augmented Lagrangian, minimised by damped Gauss–Newton steps on the manifold.

Each iteration solves (H + ν diag H) d = −g for all steps of the path and its parameters at once (`banded`), and goes
along d as far as the merit, the augmented Lagrangian, falls enough.  ν grows where that is hardly any of the way.
Next to an optimum H has the second derivatives of what is asked at one step, too.  After steps that are short,
multipliers become what they come to there of constraints whose violation has fallen, and penalties grow of others.
Where no step is longer than a tolerance and nothing is violated, the gradient of the Lagrangian vanishes.

Parameters stay within bounds: a step that would leave them ends there, and the others make up for it.

Sources: Nocedal and Wright, Numerical Optimization, 2nd ed., 2006, chapters 3, 10 and 17; Birgin and Martínez,
Practical Augmented Lagrangian Methods, 2014; Toussaint, A tutorial on Newton methods for constrained trajectory
optimization, in: Laumond et al., Geometric and Numerical Foundations of Movements, 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control.loops import while_loop
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.functions import and_, eq, fabs, fmax, fmin, le, lt, not_, or_, where
from linkwork.optimal.algorithms.block_banded import Eliminated, border_solved
from linkwork.optimal.algorithms.gauss_newton_system import SMALL, PathSweeps
from linkwork.optimal.algorithms.path_nlp import PathPoint
from linkwork.optimal.algorithms.path_steps import Duals

__all__ = ["RUNNING", "SOLVED", "STOPPED", "STUCK", "VIOLATED", "PathSearch", "Tolerances", "begun", "search"]

RUNNING, SOLVED, VIOLATED, STUCK, STOPPED = 0.0, 1.0, 2.0, 3.0, 4.0  # stopped by who called

_LEAST_DAMPING, _MOST_DAMPING = 1e-12, 1e8
_RAISED = 1e-4  # damping where a step fails first
_LEAST = 1e-10  # on every diagonal
_FLOOR = 1e-4  # times the damping, on every diagonal: what costs bend nowhere is damped, too
_ENOUGH = 1e-4  # of what the merit's slope promises
_ROUNDING = 1e-13  # of the merit
_NOTHING = 1e-6  # of the longest step of an optimum: what is so short is taken where nothing is violated
_SHORT = 0.1  # steps after which multipliers are new [rad, m]
_NEVER = 1e300  # how long a step is that there is not
_NEAR = 0.1  # steps after which constraints bend
_LATER = 1.25  # times as many iterations: when they may do so again where H was not positive with that
_AT_EASE = 1e-4  # damping that hardly counts
_LONGEST = 1.0  # [rad, m], and of parameters what they are
_FELL = 0.25  # a violation that has fallen enough
_SETTLED = 0.1  # of a penalty's share of the merit: what a step promises where it is nearly as low as it may be
_CREEPS, _MILD = 1e-4, 0.1  # the same where steps creep: also with a damping that is mild
_GROWTH = 10.0  # of penalties that do not suffice
_MOST_PENALTY = 1e10
_STIFF = 1e6  # a penalty beyond which multipliers are renewed, too, where violations have not fallen
_FLAT = 1e-5  # of a penalty's share of the merit: a decrease that is no progress, whatever steps promise
_BLIND = 1e-11  # of the merit: where a step promises less, merits differ too little to say how long it should be
_EASED, _LEAST_SHARE = 2.0, 0.005  # by which factor shares of steps grow there, and how small they become
_LITTLE, _PATIENCE = 1e-3, 5.0  # by which share a merit hardly falls, and how often in a row until that is the end
_TRIALS = 8  # lengths of a step


class Tolerances(NamedTuple):
    """When a search ends: how long its steps may be, and by how much each constraint may be violated."""

    step: Any  # [rad, m]
    violations: Any  # (constraints,)


class PathSearch(NamedTuple):
    """The state of a search, all of it."""

    point: PathPoint
    duals: Duals
    violations: Any  # (constraints,): now
    before: Any  # (constraints,): residuals when multipliers or penalties were last new, scaled
    damping: Any
    status: Any
    iterations: Any
    cost: Any
    merit: Any
    length: Any  # of the last step that was asked for
    stale: Any  # iterations in which all penalties are as large as may be, and the merit hardly falls
    bent: Any  # how much of own second derivatives entries with a step of their own have in H
    straight: Any  # until which iteration none of them, since H was not positive with them
    share: Any  # of a step that is taken where merits are blind
    former: Any  # length of the last step that was asked for; endless where it was not taken


class _Trial(NamedTuple):
    """The line search: the share of the step to try next, and the best one that has been accepted."""

    share: Any  # to try next
    failed: Any  # the shortest that was refused
    count: Any
    going: Any
    accepted: Any  # 0 while there is none
    merit: Any  # of the accepted share, like all that follows
    cost: Any
    violations: Any
    residuals: Any
    active: Any
    everywhere: Any
    alone: Any


def begun(point: PathPoint, duals: Duals, hard: int) -> PathSearch:
    """A search before its first step."""
    far = array([1e300] * hard)
    numbers = 0.0, 0.0, 0.0, 1e300, 0.0, 0.0, 0.0, 1.0, _NEVER
    return PathSearch(point, duals, far, far, _LEAST_DAMPING, RUNNING, *numbers)


def search(
    sweeps: PathSweeps, start: PathSearch, tolerances: Tolerances, budget: Any, max_iterations: int
) -> PathSearch:
    """Iterations until it has ended, or has done as many as the budget says."""

    def going(state: PathSearch) -> Any:
        return and_(lt(state.status, 0.5), lt(state.iterations, budget))

    found: PathSearch = while_loop(
        going, lambda s: _iteration(sweeps, s, tolerances), start, max_iterations=max_iterations
    ).state
    return found


def _iteration(sweeps: PathSweeps, state: PathSearch, tolerances: Tolerances) -> PathSearch:
    point, duals = state.point, state.duals
    found, merit, active = sweeps.equations(point, duals, state.damping, _LEAST + _FLOOR * state.damping, state.bent)
    border, good = _bounded(sweeps, found, point.p)
    way = sweeps.direction(found, border)
    positive = found.positive if good is None else and_(found.positive, good)
    moved, changed = sweeps.lengths(point, way)
    far = fmax(moved, _relative(border, point.p))
    length = where(positive, fmax(far, changed), _NEVER)
    slope = -(found.drop + dot(found.rest, border))  # g d
    at_ease = lt(state.damping, _AT_EASE)
    # Gauss and Newton's steps oscillate where what they leave out bends more than twice as much as H: where merits do
    # not show it, steps that become longer do
    blind = and_(and_(positive, at_ease), le(-slope, _BLIND * fabs(merit)))
    longer = length / state.former
    eased = where(lt(1.0, longer), fmax(state.share / (1.0 + longer), _LEAST_SHARE), fmin(_EASED * state.share, 1.0))
    eased = where(blind, eased, state.share)
    whole = where(blind, eased, 1.0)
    first = where(lt(_LONGEST, far), _LONGEST / fmax(far, _LONGEST), whole)  # forces may change as they want
    nothing = and_(at_ease, le(length, _NOTHING * tolerances.step))  # there merits differ by rounding alone

    def searching(trial: _Trial) -> Any:
        return and_(lt(0.5, trial.going), lt(trial.count, float(_TRIALS) - 0.5))

    def tried(trial: _Trial) -> _Trial:
        share = trial.share
        there = sweeps.moved(point, way, border, share)
        at = sweeps.shares(there, duals)
        change = at.merit - merit
        enough = le(change, _ENOUGH * share * slope + _ROUNDING * fabs(merit))
        kept = nothing
        for now, tolerance in zip(at.violations, tolerances.violations, strict=True):
            kept = and_(kept, le(now, tolerance))
        # a step that had to be shortened is made longer again while that lowers the merit: penalties are kinked, and a
        # parabola through one that is steep ends far before the minimum
        some = lt(0.0, trial.accepted)
        better = where(some, where(lt(at.merit, trial.merit), 1.0, 0.0), where(or_(enough, kept), 1.0, 0.0))
        fine = and_(lt(0.5, better), positive)
        failed = where(fine, trial.failed, share)
        # the least of the parabola through both merits and the slope
        bend = change - share * slope
        best = where(lt(0.0, bend), -0.5 * slope * share * share / where(lt(0.0, bend), bend, 1.0), 0.5 * share)
        shorter = fmin(fmax(best, 0.1 * share), 0.5 * share)
        longer = fmin(2.0 * share, 0.5 * (share + failed))
        on = where(fine, where(lt(failed, 1.5 * first), 1.0, 0.0), where(some, 0.0, 1.0))
        return _Trial(
            where(fine, longer, shorter),
            failed,
            where(positive, trial.count + 1.0, float(_TRIALS)),
            on,
            where(fine, share, trial.accepted),
            where(fine, at.merit, trial.merit),
            where(fine, at.cost, trial.cost),
            _chosen(fine, at.violations, trial.violations),
            _chosen(fine, at.residuals, trial.residuals),
            where(fine, at.active, trial.active),
            _chosen(fine, at.everywhere, trial.everywhere),
            _chosen(fine, at.alone, trial.alone),
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
    there = sweeps.moved(point, way, border, trial.accepted)
    violations = trial.violations
    # a step that is shortened by rows that become active is no reason to damp it: the next one knows them
    curved = and_(lt(trial.accepted, 0.1 * first), eq(active, trial.active))
    damping = where(
        taken,
        where(lt(0.5 * first, trial.accepted), 0.1, where(curved, 10.0, 1.0)) * state.damping,
        where(lt(0.5, state.bent), state.damping, fmax(30.0 * state.damping, _RAISED)),
    )
    damping = fmax(damping, _LEAST_DAMPING)
    # where steps are short: new multipliers of what has been violated less, and larger penalties of what has not
    short = and_(taken, lt(length * trial.accepted, _SHORT))
    tiny = and_(le(length, 10.0 * tolerances.step), at_ease)  # damping makes steps short, too
    arrived = le(0.5 * whole, trial.accepted)  # else what fell may have fallen too far: the step goes on
    grown: list[Any] = []
    renewed: list[Any] = []
    last: list[Any] = []
    within: Any = None
    capped: Any = None
    columns = duals.penalties, violations, trial.residuals, state.before, tolerances.violations, sweeps.hard_scales
    for rho, now, left, before, tolerance, scale in zip(*columns, strict=True):
        done = and_(le(now, tolerance), le(left, scale * tolerance))
        fell = or_(done, le(left, _FELL * before))
        # as long as a step may still halve it, a penalty is not to blame
        share = rho * left * left
        settled = or_(and_(at_ease, le(-slope, _SETTLED * share)), tiny)
        settled = or_(settled, and_(lt(state.damping, _MILD), le(-slope, _CREEPS * share)))
        settled = or_(settled, le(merit - trial.merit, _FLAT * share))
        grow = and_(and_(short, not_(fell)), settled)
        far_grown = and_(settled, le(_STIFF, rho))  # larger penalties alone would leave too few digits
        renewed.append(and_(short, or_(and_(fell, or_(arrived, tiny)), far_grown)))
        grown.append(where(grow, fmin(_GROWTH * rho, _MOST_PENALTY), rho))
        last.append(where(or_(renewed[-1], grow), left, before))
        within = done if within is None else and_(within, done)
        hopeless = or_(done, le(_MOST_PENALTY, rho))
        capped = hopeless if capped is None else and_(capped, hopeless)
    kept, alone = sweeps.renewed(duals, trial.everywhere, trial.alone, renewed)
    still = and_(taken, and_(le(length, tolerances.step), at_ease))
    status = where(still if within is None else and_(still, within), SOLVED, RUNNING)
    stale: Any = 0.0
    if capped is not None:
        little = lt(merit - trial.merit, _LITTLE * fabs(merit))
        stale = where(and_(and_(capped, not_(within)), or_(not_(taken), little)), state.stale + 1.0, 0.0)
        status = where(lt(_PATIENCE - 0.5, stale), VIOLATED, status)
    ended = STUCK if within is None else where(within, STUCK, VIOLATED)
    iterations = state.iterations + 1.0
    failed = and_(lt(0.5, state.bent), not_(positive))
    straight = where(failed, _LATER * iterations + 2.0, state.straight)
    near = and_(and_(taken, at_ease), lt(length, _NEAR))
    status = where(and_(not_(taken), lt(_MOST_DAMPING, damping)), ended, status)
    return PathSearch(
        there,
        Duals(kept, alone, array(grown)),
        violations,
        array(last),
        damping,
        status,
        iterations,
        trial.cost,
        trial.merit,
        length,
        stale,
        where(and_(near, le(straight, iterations)), 1.0, 0.0),
        straight,
        eased,
        where(taken, length, _NEVER),
    )


def _chosen(condition: Any, new: Any, old: Any) -> Any:
    """By number the new where the condition holds."""
    flat = [where(condition, x, y) for x, y in zip(np.ravel(new), np.ravel(old), strict=True)]
    return array(flat).reshape(np.shape(old))


def _relative(border: Sequence[Any], p: Sequence[Any]) -> Any:
    """How far parameters go, of what they are."""
    found: Any = 0.0
    for step, x in zip(border, p, strict=True):
        found = fmax(found, fabs(step) / (fabs(x) + SMALL))
    return found


def _bounded(sweeps: PathSweeps, found: Eliminated, p: Any) -> tuple[list[Any], Any]:
    """The step of the parameters within their bounds, and whether their equations are positive.

    Where nothing bends the merit along them, their slope bounds how far they go.
    """
    low = [a - x for a, x in zip(sweeps.numbers.floor, p, strict=True)]
    high = [a - x for a, x in zip(sweeps.numbers.ceiling, p, strict=True)]
    count = len(low)
    A = [[found.border[max(i, j)][min(i, j)] for j in range(count)] for i in range(count)]
    for k in range(count):
        A[k][k] = A[k][k] + fabs(found.rest[k]) / (0.5 * fabs(p[k]) + 0.1) + _LEAST
    free: list[Any] = [1.0] * count
    step: list[Any] = [0.0] * count
    good: Any = None
    for _ in range(min(count, 2)):
        masked = [
            [A[i][j] * free[i] * free[j] + (1.0 - free[i] if i == j else 0.0) for j in range(i + 1)]
            for i in range(count)
        ]
        right = [a * (x - dot(row, step)) for a, x, row in zip(free, found.rest, A, strict=True)]
        more, fine = border_solved(masked, right)
        good = fine if good is None else and_(good, fine)
        step = [x + y for x, y in zip(step, more, strict=True)]
        out = [or_(lt(x, a), lt(b, x)) for x, a, b in zip(step, low, high, strict=True)]
        held = [fmin(fmax(x, a), b) for x, a, b in zip(step, low, high, strict=True)]
        free = [where(o, 0.0, x) for o, x in zip(out, free, strict=True)]
        step = [where(lt(f, 0.5), h, 0.0) if count > 1 else h for f, h in zip(free, held, strict=True)]
    if count > 1:
        masked = [
            [A[i][j] * free[i] * free[j] + (1.0 - free[i] if i == j else 0.0) for j in range(i + 1)]
            for i in range(count)
        ]
        right = [a * (x - dot(row, step)) for a, x, row in zip(free, found.rest, A, strict=True)]
        more, fine = border_solved(masked, right)
        step = [fmin(fmax(x + y, a), b) for x, y, a, b in zip(step, more, low, high, strict=True)]
    return step, good
