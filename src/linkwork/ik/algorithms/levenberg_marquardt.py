"""Bounded Levenberg–Marquardt on the manifold of configurations, with restarts: tasks that all have to be done.

From a start, steps of least ‖W(e + J δ)‖² + μ ‖δ‖² within limits (`steps`), with μ = c ‖W e‖², which lets the last of
them converge at a quadratic rate, singular or not.  A step that makes ‖W e‖ no smaller is halved.  Where steps no
longer help, or have become many, another start is taken, from a sequence that fills the limits; the best that was met
is kept.  Where a robot has a free base and many rows, the base alone makes the first steps of a start, and a new start
leaves it where it was best.  The last steps of all lead from the best to the nearest that there is: where ‖W e‖ stays,
and with it what the rows do not tell of its curvature, they are damped as much as that needs, and go on in the
direction of those before.  All of this is one loop, in which a sample of a batch that has ended makes room for the
next.

Sources: Fan and Yuan, On the quadratic convergence of the Levenberg-Marquardt method without nonsingularity assumption,
Computing 74, 2005; Beeson and Ames, TRAC-IK, Humanoids 2015 (the protocol by which constants here were chosen).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork.expr.control.loops import while_loop
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, lt, not_, or_, sqrt, where
from linkwork.ik.algorithms.damped_least_squares import MANY, bounded_step, shortened
from linkwork.ik.algorithms.restarts import begun
from linkwork.ik.algorithms.target_distance_scaling import multiplied, sliding, stretch
from linkwork.ik.algorithms.task_stack import Stack
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.kinematics.algorithms.coordinates import LimitBox, unit_steps

__all__ = ["MOST", "SearchFound", "search"]

Scalars = Sequence[Any]

MOST = 20_000  # steps of all starts; how many a call may take comes with it
_SHORTEST = 1e-9  # a step that is as good as none
_SLOW = 0.9  # ‖W e‖² that is left of what was counts as slow
_LARGE = 20.0  # ‖W e‖ from which damping is by its size and no more by its square
_LAST = 120.0  # steps from the best, where nothing was found
_SWING = 0.9  # of a step that goes on in the next one, of the last steps
_SOFTER, _STIFFER = 0.7, 5.0  # more damping, after a step that helped or did not
_FAR = 1e300


class _Way(NamedTuple):
    """Constants that depend on what a robot is."""

    damping: float  # c
    most: float  # steps from a start
    slowly: float  # so many slow steps, one after the other, are the end of a start
    rounds: int  # of a step within bounds


_LIMBS = _Way(0.02, 40.0, 6.0, 1)
_ARM = _Way(0.1, 25.0, 3.0, 2)
_BASE_STEPS = 4.5  # of a start, in which the base moves alone


class _State(NamedTuple):
    q: tuple[Any, ...]  # the best since the last start
    step: tuple[Any, ...]  # to try from there
    cost: Any  # ‖W e‖² at q
    slow: Any  # slow steps, one after the other
    tried: Any  # steps since the last start
    starts: Any  # the number of the last start: 0 is the seed
    best: tuple[Any, ...]  # of all starts
    least: Any  # ‖W e‖² there
    stiff: Any  # more damping, of the last steps, which are from the best; 0 before
    done: Any  # 1 where all is done at q, 2 where the last steps have ended without
    taken: Any  # steps of all starts


class SearchFound(NamedTuple):
    """Where a search ended: the configuration, whether all is done there, steps, and the number of the last start.

    Of solvers that know soft tasks, whether hard ones are done, and the multipliers by row.
    """

    q: list[Any]
    done: Any
    iterations: Any
    starts: Any
    reached: Any = None
    multipliers: list[Any] | None = None


def search(stack: Stack, seed: Scalars, box: LimitBox, budget: Any, first: Any = 0.0) -> SearchFound:
    """A configuration at which all tasks are done, or the best that was met within a budget of steps.

    ``first`` is the number of the first start: 0 is the seed, others are those of the sequence.
    """
    tree = stack.tree
    weights, longest = stack.counted(), unit_steps(tree)
    slides = sliding(stack)
    free = [i for i, body in tree.stacked() if body.joint.nv == 6]
    base = [n for i in free for n in range(tree.nq)[tree.q_slices[i]]]
    limbs = set(range(tree.nv)) - {k for i in free for k in range(tree.nv)[tree.v_slices[i]]}
    whole = bool(free) and len(stack.units) >= MANY  # a free base, and limbs that have to be somewhere
    way = _LIMBS if whole else _ARM

    def more(state: _State) -> Any:
        return and_(lt(state.done, 0.5), lt(state.taken, budget))

    def stepped(state: _State) -> _State:
        q = box.within(integrate(tree, state.q, state.step))
        at = stack.at(q)
        beyond = stack.beyond(at.errors)
        done = stack.done(beyond)
        errors, rows = stack.weighed(at.rows, beyond, weights)
        early = and_(lt(state.tried, _BASE_STEPS), not_(lt(0.0, state.stiff)))
        if whole:  # the base alone moves
            moving = where(early, 0.0, 1.0)
            rows = [[x * moving if k in limbs and not is_zero(x) else x for k, x in enumerate(row)] for row in rows]
        cost = dot(errors, errors)
        better, last = lt(cost, state.cost), lt(0.0, state.stiff)
        stiff = state.stiff * where(better, _SOFTER, _STIFFER)
        slow = where(lt(_SLOW * state.cost, cost), state.slow + 1.0, 0.0)
        slow = where(early, 0.0, slow) if whole else slow
        damping = way.damping * fmin(cost, _LARGE * sqrt(cost)) + stiff
        scale = dict.fromkeys(slides, stretch(stack, beyond, weights)) if slides else {}
        step = bounded_step(rows, errors, damping, box, q, way.rounds, scale)
        step = shortened(step, multiplied(longest, scale))
        swing, back = where(last, _SWING, 0.0), where(last, 0.0, 0.5)
        step = [where(better, a + swing * b, back * b) for a, b in zip(step, state.step, strict=True)]
        size: Any = 0.0
        for x in step:
            size = size if is_zero(x) else fmax(size, fabs(x))
        tried = state.tried + 1.0
        stalled = and_(lt(size, _SHORTEST), or_(better, not_(last)))
        ended = or_(or_(lt(way.most, tried), stalled), lt(way.slowly - 0.5, slow))
        closing = and_(lt(budget - room - 1.5, state.taken), not_(last))
        again = and_(or_(ended, closing), not_(or_(done, last)))
        number = where(and_(again, not_(closing)), state.starts + 1.0, state.starts)
        best = or_(done, lt(cost, state.least))
        kept = [where(best, a, b) for a, b in zip(q, state.best, strict=True)]
        least = where(best, cost, state.least)
        far = begun(tree, seed, box, number, stack.locked_dofs)
        for n in base if whole else ():  # where it is best
            far[n] = kept[n]
        other = [where(closing, a, b) for a, b in zip(kept, far, strict=True)]
        return _State(
            tuple(where(again, a, where(better, b, c)) for a, b, c in zip(other, q, state.q, strict=True)),
            tuple(where(again, 0.0, x) for x in step),
            where(or_(again, and_(last, not_(better))), _FAR, where(better, cost, state.cost)),
            where(again, 0.0, slow),
            where(again, 0.0, tried),
            number,
            tuple(kept),
            least,
            where(closing, sqrt(least) + _SHORTEST, stiff),
            where(done, 1.0, where(and_(last, stalled), 2.0, 0.0)),
            state.taken + 1.0,
        )

    at = tuple(begun(tree, seed, box, first, stack.locked_dofs))
    nothing = (0.0,) * tree.nv
    room = fmin(_LAST, 0.25 * budget)
    last: _State = while_loop(
        more, stepped, _State(at, nothing, _FAR, 0.0, 0.0, first, at, _FAR, 0.0, 0.0, 0.0), max_iterations=MOST
    ).state
    return SearchFound(list(last.best), where(lt(last.done, 1.5), last.done, 0.0), last.taken, last.starts - first)
