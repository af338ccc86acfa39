"""Restarts of soft problems: descents from several starts, of which the least cost is taken.

A descent ends in a local minimum of ½ Σ (w e)².  Where soft tasks are not done there, others begin at the starts of the
sequence, several at once, until the cost is zero or there have been as many as are asked for.  Where there are more
rows than velocities no cost of zero is to be expected: unless asked for, there are fewer starts, and they end when the
least cost has been met `_AGREE` times.  Of equal costs the first counts, which is nearest to the seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwork.ik.kernels import TOLD
from linkwork.ik.problem_protocol import ProblemView

__all__ = ["FEW_STARTS", "STARTS", "SoftRows", "search_on"]

STARTS = 48  # unless another number is asked for
FEW_STARTS = 9  # the same of problems with more rows than velocities: the seed, and one call more
_CHUNK = 8  # descents of a state that run in one call
_AGREE = 3  # descents that end at the least cost
_SAME = 1e-6  # relative: costs that are equal

_DONE, _ITERATIONS, _RESTARTS, _REACHED = (TOLD.index(x) for x in ("done", "iterations", "restarts", "reached"))


class SoftRows:
    """The rows of a problem's soft tasks: what they cost, and whether they are done."""

    def __init__(self, problem: ProblemView) -> None:
        tasks = problem.tasks
        hard = np.array([task.hard for task in tasks for _ in task.component_names], dtype=bool)
        ranged = np.array([pair != (0.0, 0.0) for task in tasks for pair in task.ranges], dtype=bool)
        levels = np.array([task.level for task in tasks for _ in task.component_names], dtype=int)
        self.weights = np.where(hard, 0.0, problem.weights)
        self.counted = self.weights > 0.0
        self.ignored = ~self.counted
        self.tolerances = np.asarray(problem.tolerances)
        self.levels = [np.where(self.counted & (levels == one), self.weights, 0.0) for one in np.unique(levels)]
        rows = int((~ranged & (self.counted | (hard & np.isfinite(self.tolerances)))).sum())
        self.too_many = rows > problem.robot.nv - len(problem.still)

    @property
    def any(self) -> bool:
        """True where a soft task counts."""
        return bool(self.counted.any())

    def done(self, errors: np.ndarray, tolerances: np.ndarray) -> np.ndarray:
        """True where all soft errors (..., rows) are within tolerances (..., rows): (...)."""
        fine = np.abs(errors) <= tolerances
        result: np.ndarray = (fine | self.ignored).all(axis=-1)
        return result

    def costs(self, errors: np.ndarray) -> np.ndarray:
        """½ Σ (w e)² by level (..., levels)."""
        scaled = [0.5 * np.square(np.where(w > 0.0, errors * w, 0.0)).sum(axis=-1) for w in self.levels]
        return np.stack(scaled, axis=-1)

    def least(self) -> np.ndarray:
        """Costs by level that count as none: those of errors at their tolerances."""
        small = np.where(np.isfinite(self.tolerances), self.tolerances, 0.0)
        return self.costs(small)


def search_on(
    problem: ProblemView,
    soft: SoftRows,
    result: Any,
    q_init: np.ndarray,
    tolerances: np.ndarray,
    given: Mapping[str, np.ndarray],
    steps: np.ndarray,
    starts: int,
) -> None:
    """Replace answers whose soft tasks are not done by those of the least cost of up to ``starts`` starts, in place."""
    told = result.told.reshape(-1, result.told.shape[-1])
    arrays = [getattr(result, x).reshape(len(told), -1) for x in ("q", "errors", "multipliers")]
    shape = result.told.shape[:-1]

    def rows(x: np.ndarray, rank: int) -> np.ndarray:
        own = x.shape[x.ndim - rank :]
        spread: np.ndarray = np.broadcast_to(x, (*shape, *own)).reshape(-1, *own)
        return spread

    seeds, left = rows(q_init, 1), rows(tolerances, 1)
    fine = soft.done(arrays[1], left) & (told[:, _DONE] == 1.0)
    open_ = np.flatnonzero((told[:, _REACHED] == 1.0) & ~fine)
    ranks = {name: len(problem.shapes[name]) for name in given}
    targets = [rows(x, ranks[name]) for name, x in given.items()]
    met = np.ones(len(told), dtype=int)
    number = 1
    while len(open_) and number < starts:
        count = min(_CHUNK, starts - number)
        more = problem.kernel(
            seeds[open_][:, None],
            left[open_][:, None],
            problem.weights,
            *problem.ends,
            steps,
            np.arange(number, number + count, dtype=float),
            *(x[open_][:, None] for x in targets),
        )
        told[open_, _ITERATIONS] += more.told[..., _ITERATIONS].sum(axis=1)
        told[open_, _RESTARTS] += (more.told[..., _RESTARTS] + 1.0).sum(axis=1)
        for j in range(count):
            others = [getattr(more, x)[:, j] for x in ("q", "errors", "multipliers")]
            better, same = _compared(soft, told[open_], arrays[1][open_], more.told[:, j], others[1])
            met[open_] = np.where(better, 1, met[open_] + same)
            for mine, other in zip(arrays, others, strict=True):
                mine[open_[better]] = other[better]
            kept = told[open_[better]]
            kept[:, 3:] = more.told[better, j, 3:]
            kept[:, _DONE] = more.told[better, j, _DONE]
            told[open_[better]] = kept
        number += count
        ended = soft.done(arrays[1][open_], left[open_]) & (told[open_, _DONE] == 1.0)
        if soft.too_many:
            ended |= met[open_] >= _AGREE
        open_ = open_[~ended]


def _compared(
    soft: SoftRows, told: np.ndarray, errors: np.ndarray, other_told: np.ndarray, other_errors: np.ndarray
) -> Sequence[np.ndarray]:
    """Whether another answer is better, and whether it is a minimum of the same cost."""
    ranks = [2.0 * (x[:, _REACHED] == 1.0) + (x[:, _DONE] == 1.0) for x in (told, other_told)]
    mine, other, none = soft.costs(errors), soft.costs(other_errors), soft.least()
    lower, equal = np.zeros(len(told), dtype=bool), np.ones(len(told), dtype=bool)
    for level in range(mine.shape[1]):
        near = _SAME * mine[:, level] + none[level]
        lower |= equal & (other[:, level] < mine[:, level] - near)
        equal &= np.abs(other[:, level] - mine[:, level]) <= near
    better = (ranks[1] > ranks[0]) | ((ranks[1] == ranks[0]) & lower)
    return better, (ranks[1] == ranks[0]) & equal
