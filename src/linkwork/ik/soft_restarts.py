"""Restarts of soft tasks: descents from several starts; the result with the lowest cost is returned.

A descent ends in a local minimum of ½ Σ (w e)².  If soft tasks have a remaining cost there, further descents begin at
the sequence of starts, several at a time, until the cost is zero or the maximum number of starts is reached.  If there
are more residual components than velocities, a cost of zero is not expected.  Then, unless the user sets a number of
starts, fewer starts are used, and the search ends when the lowest cost has been reached `_AGREE` times.  Among equal
costs the first result is returned, whose start is nearest to the initial guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwork.ik.arguments import flat_states
from linkwork.ik.kernels import DIAGNOSTICS, ProblemView

__all__ = ["FEW_STARTS", "STARTS", "SoftResiduals", "restart_soft_tasks"]

STARTS = 48  # default maximum number of starts
FEW_STARTS = 9  # the same with more residual components than velocities: the initial guess and one call
_CHUNK = 8  # descents of one state per kernel call
_AGREE = 3  # descents that must end at the lowest cost
_SAME = 1e-6  # relative tolerance of equal costs

_DONE, _ITERATIONS, _RESTARTS, _REACHED = (DIAGNOSTICS.index(x) for x in ("done", "iterations", "restarts", "reached"))


class SoftResiduals:
    """Residual components of the soft tasks: their cost, and a test that they are within tolerance."""

    def __init__(self, problem: ProblemView) -> None:
        tasks = problem.tasks
        hard = np.array([task.hard for task in tasks for _ in task.component_names], dtype=bool)
        ranged = np.array([pair != (0.0, 0.0) for task in tasks for pair in task.ranges], dtype=bool)
        levels = np.array([task.level for task in tasks for _ in task.component_names], dtype=int)
        self.weights = np.where(hard, 0.0, problem.weights)
        self.counted = self.weights > 0.0
        self.ignored = ~self.counted
        self.tolerances = np.asarray(problem.tolerances)
        self.levels = [np.where(self.counted & (levels == level), self.weights, 0.0) for level in np.unique(levels)]
        rows = int((~ranged & (self.counted | (hard & np.isfinite(self.tolerances)))).sum())
        self.too_many = rows > problem.robot.nv - len(problem.locked_dofs)

    @property
    def any(self) -> bool:
        """True if a soft task has a nonzero weight."""
        return bool(self.counted.any())

    def done(self, errors: np.ndarray, tolerances: np.ndarray) -> np.ndarray:
        """Return True where all soft errors (..., rows) are within ``tolerances`` (..., rows); shape (...)."""
        satisfied = np.abs(errors) <= tolerances
        result: np.ndarray = (satisfied | self.ignored).all(axis=-1)
        return result

    def costs(self, errors: np.ndarray) -> np.ndarray:
        """Return ½ Σ (w e)² for each priority level (..., levels)."""
        scaled = [0.5 * np.square(np.where(w > 0.0, errors * w, 0.0)).sum(axis=-1) for w in self.levels]
        return np.stack(scaled, axis=-1)

    def negligible_costs(self) -> np.ndarray:
        """Return the cost of each level at which all errors equal their tolerances; lower costs count as zero."""
        small = np.where(np.isfinite(self.tolerances), self.tolerances, 0.0)
        return self.costs(small)


def restart_soft_tasks(
    problem: ProblemView,
    soft: SoftResiduals,
    result: Any,
    q_init: np.ndarray,
    tolerances: np.ndarray,
    targets: Mapping[str, np.ndarray],
    steps: np.ndarray,
    starts: int,
) -> None:
    """Repeat the search from up to ``starts`` start configurations for states whose soft tasks are unsatisfied.

    The best configurations are stored in ``result``. ``steps`` is the number of iterations of a search.
    """
    diagnostics = result.diagnostics.reshape(-1, result.diagnostics.shape[-1])
    arrays = [getattr(result, x).reshape(len(diagnostics), -1) for x in ("q", "errors", "multipliers")]
    shape = result.diagnostics.shape[:-1]

    initial_q, tolerance = flat_states(q_init, 1, shape), flat_states(tolerances, 1, shape)
    satisfied = soft.done(arrays[1], tolerance) & (diagnostics[:, _DONE] == 1.0)
    open_ = np.flatnonzero((diagnostics[:, _REACHED] == 1.0) & ~satisfied)
    ranks = {name: len(problem.shapes[name]) for name in targets}
    target_arrays = [flat_states(x, ranks[name], shape) for name, x in targets.items()]
    times_reached = np.ones(len(diagnostics), dtype=int)
    start = 1
    while len(open_) and start < starts:
        count = min(_CHUNK, starts - start)
        more = problem.kernel(
            initial_q[open_][:, None],
            tolerance[open_][:, None],
            problem.weights,
            *problem.finite_bounds,
            steps,
            np.arange(start, start + count, dtype=float),
            *(x[open_][:, None] for x in target_arrays),
        )
        diagnostics[open_, _ITERATIONS] += more.diagnostics[..., _ITERATIONS].sum(axis=1)
        diagnostics[open_, _RESTARTS] += (more.diagnostics[..., _RESTARTS] + 1.0).sum(axis=1)
        for j in range(count):
            candidates = [getattr(more, x)[:, j] for x in ("q", "errors", "multipliers")]
            better, same = _compare(soft, diagnostics[open_], arrays[1][open_], more.diagnostics[:, j], candidates[1])
            times_reached[open_] = np.where(better, 1, times_reached[open_] + same)
            for best, candidate in zip(arrays, candidates, strict=True):
                best[open_[better]] = candidate[better]
            updated = diagnostics[open_[better]]
            updated[:, 3:] = more.diagnostics[better, j, 3:]
            updated[:, _DONE] = more.diagnostics[better, j, _DONE]
            diagnostics[open_[better]] = updated
        start += count
        ended = soft.done(arrays[1][open_], tolerance[open_]) & (diagnostics[open_, _DONE] == 1.0)
        if soft.too_many:
            ended |= times_reached[open_] >= _AGREE
        open_ = open_[~ended]


def _compare(
    soft: SoftResiduals,
    diagnostics: np.ndarray,
    errors: np.ndarray,
    other_diagnostics: np.ndarray,
    other_errors: np.ndarray,
) -> Sequence[np.ndarray]:
    """Return two masks of states: where the second result is better, and where it has the same cost and status.

    A result has ``errors`` and ``diagnostics`` of the kernel. Costs are compared level by level, up to a small
    tolerance. A result that has converged is better than one that has not, unless a level before the last has a higher
    cost.
    """
    ranks = [2.0 * (x[:, _REACHED] == 1.0) + (x[:, _DONE] == 1.0) for x in (diagnostics, other_diagnostics)]
    costs, other_costs, negligible = soft.costs(errors), soft.costs(other_errors), soft.negligible_costs()
    lower, equal = np.zeros(len(diagnostics), dtype=bool), np.ones(len(diagnostics), dtype=bool)
    ahead, tied = lower, equal
    for level in range(costs.shape[1]):
        ahead, tied = lower.copy(), equal.copy()  # by the levels before
        near = _SAME * costs[:, level] + negligible[level]
        lower |= equal & (other_costs[:, level] < costs[:, level] - near)
        equal &= np.abs(other_costs[:, level] - costs[:, level]) <= near
    same, both_reached = ranks[1] == ranks[0], (ranks[0] >= 2.0) & (ranks[1] >= 2.0)
    better = np.where(both_reached & ~tied, ahead, (ranks[1] > ranks[0]) | (same & lower))
    return better, same & equal
