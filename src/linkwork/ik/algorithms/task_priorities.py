"""Strict priorities: what a level asks for is done as well as can be without anything of the levels before it.

A stage for the hard rows of each level, and one for its soft ones, after the other.  In each, rows of the stages before
are held at what has been reached there, or within their ranges where they are done, as hard ones of `augmented`; a
stage's own rows are minimised.  A stage that cannot keep what it should leaves the configuration as it was.

Source: Escande, Mansard and Wieber, Hierarchical quadratic programming, Int. J. Robotics Research 33 (7), 2014 (for
velocities).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.expr.scalar.functions import fabs, fmax, fmin, le, lt, where
from linkwork.ik.algorithms.augmented_lagrangian import RowRequest, descend
from linkwork.ik.algorithms.levenberg_marquardt import SearchFound
from linkwork.ik.algorithms.levenberg_marquardt import search as search_hard
from linkwork.ik.algorithms.restarts import begun
from linkwork.ik.algorithms.task_stack import Stack
from linkwork.ik.tasks.task import Task
from linkwork.kinematics.algorithms.coordinates import LimitBox

__all__ = ["KEPT", "search"]

Scalars = Sequence[Any]

_PATIENCE = 100  # steps of a stage that gain nothing
KEPT = 1e-7  # [m, rad]: how well what has been reached is kept


def search(stack: Stack, seed: Scalars, box: LimitBox, budget: Any, first: Any = 0.0) -> SearchFound:
    """A configuration at which no level can be done better without one before it being done worse, near it."""
    stages = sorted({_stage(task) for task in stack.tasks})
    asked = RowRequest.of(stack)
    q, taken, starts = begun(stack.tree, seed, box, first, stack.locked_dofs), 0.0, 0.0
    multipliers: list[Any] = [0.0] * len(asked.hard)
    settled: Any = 1.0
    for stage in stages:
        kept = [k for k, task in enumerate(stack.tasks) if _stage(task) <= stage]
        some = stack.some(kept)
        if stage == stages[0] and all(some.hard):
            result = search_hard(some, q, box, budget, first)
            q, taken, starts, settled = result.q, result.iterations, result.starts, result.done
            continue
        places = [row for row, k in enumerate(stack.owners) if k in kept]
        held = [_stage(stack.tasks[stack.owners[row]]) < stage for row in places]
        errors = some.at(q).errors
        own = [_held(asked, row, x) if h else _free(asked, row) for row, x, h in zip(places, errors, held, strict=True)]
        low, high, tolerances = zip(*own, strict=True)
        weights = [asked.weights[row] for row in places]
        least = descend(some, RowRequest(held, low, high, weights, tolerances), q, box, budget - taken, _PATIENCE)
        q, taken, settled = least.q, taken + least.iterations, settled * where(lt(0.5, least.done), 1.0, 0.0)
        for row, force in zip(places, least.forces, strict=True):
            multipliers[row] = force
    done = stack.done(stack.beyond(stack.at(q).errors))
    reached = 1.0 if done is True else where(done, 1.0, 0.0)
    return SearchFound(q, settled * reached, taken, starts, reached, multipliers)


def _stage(task: Task) -> tuple[int, bool]:
    return task.level, not task.hard


def _free(asked: RowRequest, row: int) -> tuple[Any, Any, Any]:
    return asked.low[row], asked.high[row], asked.tolerances[row]


def _held(asked: RowRequest, row: int, x: Any) -> tuple[Any, Any, Any]:
    """The range of a row from what it aims at to where it is, and how well that is kept."""
    low, high, tolerance = _free(asked, row)
    if not asked.hard[row]:
        return fmin(low, x), fmax(high, x), KEPT
    done = le(fabs(x - fmin(fmax(x, low), high)), tolerance)
    return where(done, low, fmin(low, x)), where(done, high, fmax(high, x)), where(done, tolerance, KEPT)
