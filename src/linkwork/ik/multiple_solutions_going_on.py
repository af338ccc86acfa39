"""Searches that go on: with all steps where few have not been enough, and until a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.ik.failure_analysis import proofs
from linkwork.ik.kernels import TOLD
from linkwork.ik.problem_protocol import AskedProblem
from linkwork.ik.result import IKResult

__all__ = ["from_answers", "go_on", "until"]

_CHUNK = 200  # steps between two looks at the clock
_WINDOWS = 8  # of starts, that are searched at once
_LEAST = 100  # steps of a window
_SHORTER = 4
_FEWEST = 3  # steps of a start
_ITERATIONS, _RESTARTS = TOLD.index("iterations"), TOLD.index("restarts")


def go_on(
    problem: AskedProblem,
    found: Any,
    seed: np.ndarray,
    tolerances: np.ndarray,
    given: dict[str, np.ndarray],
    steps: int,
) -> None:
    """Search with ``steps`` more for what was not found soon; put in place.

    Several windows of the sequence of starts are searched at once.  Each ends with the last steps from its best: where
    there is no answer the nearest is the least of several minima.  Where a bound says that there is none, windows are
    shorter.
    """
    failed, rows = _failed_states(found)
    targets = {name: rows(x, len(problem.shapes[name])) for name, x in given.items()}
    tolerances = rows(tolerances, 1)
    proved = np.array([proof is not None for proof in proofs(problem, targets, tolerances)], dtype=bool)
    for some, count in ((np.flatnonzero(~proved), steps), (np.flatnonzero(proved), steps // _SHORTER)):
        if len(some):
            _in_windows(problem, found, rows(seed, 1), tolerances, targets, failed, some, count)


def _failed_states(found: Any) -> tuple[np.ndarray, Callable[[np.ndarray, int], np.ndarray]]:
    """The flat indices of the states that are not solved, and the function that takes their rows of an array whose last
    ``rank`` axes are of one state.
    """
    shape = found.told.shape[:-1]
    failed = np.flatnonzero(found.told[..., 0].ravel() != 1.0)

    def rows(x: np.ndarray, rank: int) -> np.ndarray:
        own = x.shape[x.ndim - rank :]
        spread: np.ndarray = np.broadcast_to(x, (*shape, *own)).reshape(-1, *own)[failed]
        return spread

    return failed, rows


def _in_windows(
    problem: AskedProblem,
    found: Any,
    seed: np.ndarray,
    tolerances: np.ndarray,
    targets: dict[str, np.ndarray],
    failed: np.ndarray,
    some: np.ndarray,
    steps: int,
) -> None:
    """Search on for some of the failed states; put in place."""
    windows = min(max(steps // _LEAST, 1), _WINDOWS)
    each = max(steps // windows, 1)
    told = found.told.reshape(-1, found.told.shape[-1])
    starts = told[failed[some], _RESTARTS][:, None] + 1.0 + np.arange(windows) * (each // _FEWEST + 1.0)
    more = problem.kernel(
        seed[some][:, None],
        tolerances[some][:, None],
        problem.weights,
        *problem.ends,
        np.array(float(each)),
        starts,
        *(x[some][:, None] for x in targets.values()),
    )
    # of each state the window that is done, or is nearest
    scales = np.array(problem.scales)
    before = np.square(found.errors.reshape(len(told), -1)[failed[some]] * scales).sum(axis=-1)
    costs = np.square(more.errors * scales).sum(axis=-1) - 1e300 * (more.told[..., 0] == 1.0)
    best = np.argmin(costs, axis=1)
    which = np.arange(len(some))
    taken = ~(costs[which, best] >= before)
    sums = {k: told[failed[some], k] + more.told[..., k].sum(axis=1) for k in (_ITERATIONS, _RESTARTS)}
    for place, x in ((found.q, more.q), (found.errors, more.errors), (found.told, more.told)):
        place.reshape(-1, place.shape[-1])[failed[some][taken]] = x[which, best][taken]
    for k, x in sums.items():
        told[failed[some], k] = x + (windows if k == _RESTARTS else 0.0)


def from_answers(
    problem: AskedProblem,
    found: Any,
    seed: np.ndarray,
    near: np.ndarray,
    tolerances: np.ndarray,
    given: dict[str, np.ndarray],
    steps: np.ndarray,
) -> None:
    """Search for nearest configurations again from any answers, where the first search has met none; put in place."""
    failed, rows = _failed_states(found)
    left = rows(tolerances, 1)
    targets = [rows(x, len(problem.shapes[name])) for name, x in given.items()]
    first = np.array(0.0)
    some = problem.searching(rows(seed, 1), left, problem.weights, *problem.ends, steps, first, *targets)
    done = np.flatnonzero(some.told[:, 0] == 1.0)
    if not len(done):
        return
    more = problem.kernel(
        some.q[done],
        left[done],
        problem.weights,
        *problem.ends,
        steps,
        first,
        rows(near, 1)[done],
        *(x[done] for x in targets),
    )
    for place, x in ((found.q, more.q), (found.errors, more.errors), (found.told, more.told)):
        place.reshape(-1, place.shape[-1])[failed[done]] = x


def until(deadline: float, at_most: int, run: Callable[[np.ndarray, np.ndarray], IKResult]) -> IKResult:
    """One answer, or the best that there is after so many seconds; ``run`` takes how many steps, and which start.

    Of soft tasks that are not done, other starts may cost less: the search goes on.
    """
    end = time.perf_counter() + deadline
    best: IKResult | None = None
    first, steps = 0.0, 0
    while True:
        found = run(np.array(float(_CHUNK)), np.array(first))
        steps += int(found.iterations)
        first += float(found.restarts) + 1.0
        if best is None or _rank(found) < _rank(best):
            best = found
        if found.success and found.status == "solved":
            return best.after(steps, int(first) - 1)
        if time.perf_counter() >= end or steps >= at_most:
            return best.after(steps, int(first) - 1)


def _rank(found: IKResult) -> tuple[bool, bool, float, float]:
    """Less is better: hard tasks done, at a minimum of soft ones, how far from done, what soft ones cost."""
    far = 0.0 if found.feasible else float(found.cost)
    return not found.feasible, not found.success, far, float(found.soft_cost)
