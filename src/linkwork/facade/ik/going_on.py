"""Searches that go on: with all steps where few have not been enough, and until a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .asked import AskedProblem
from .judging import proofs
from .result import IKResult

__all__ = ["go_on", "until"]

_CHUNK = 200  # steps between two looks at the clock


def go_on(
    problem: AskedProblem,
    found: Any,
    seed: np.ndarray,
    tolerances: np.ndarray,
    given: dict[str, np.ndarray],
    steps: np.ndarray,
    first: np.ndarray,
) -> None:
    """All steps for what was not found soon, unless a bound says that it is not there; put in place."""
    shape = found.told.shape[:-1]
    failed = np.flatnonzero(found.told[..., 0].ravel() != 1.0)

    def rows(x: np.ndarray, rank: int) -> np.ndarray:
        own = x.shape[x.ndim - rank :]
        spread: np.ndarray = np.broadcast_to(x, (*shape, *own)).reshape(-1, *own)[failed]
        return spread

    targets = {name: rows(x, len(problem.shapes[name])) for name, x in given.items()}
    tolerances = rows(tolerances, 1)
    proved = proofs(problem, targets, tolerances)
    some = np.array([k for k, proof in enumerate(proved) if proof is None], dtype=int)
    if not len(some):
        return
    more = problem.kernel(
        rows(seed, 1)[some],
        tolerances[some],
        problem.weights,
        *problem.ends,
        steps,
        first,
        *(x[some] for x in targets.values()),
    )
    for place, x in ((found.q, more.q), (found.errors, more.errors), (found.told, more.told)):
        place.reshape(-1, place.shape[-1])[failed[some]] = x


def until(deadline: float, at_most: int, run: Callable[[np.ndarray, np.ndarray], IKResult]) -> IKResult:
    """One answer, or the best that there is after so many seconds; ``run`` takes how many steps, and which start."""
    end = time.perf_counter() + deadline
    best: IKResult | None = None
    first, steps = 0.0, 0
    while True:
        found = run(np.array(float(_CHUNK)), np.array(first))
        steps += int(found.iterations)
        first += float(found.restarts) + 1.0
        if best is None or found.success or found.cost < best.cost:
            best = found
        if found.success or time.perf_counter() >= end or steps >= at_most:
            return best.after(steps, int(first) - 1)
