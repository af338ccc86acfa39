"""What a controller says in a step: forces, gains, and what became of its search."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.messages__printing import short_repr

__all__ = ["BRAKING", "FAILED", "LATE", "PLANNED", "SHORT", "Command"]

PLANNED, SHORT, LATE, FAILED, BRAKING = "planned", "short", "late", "failed", "braking"


@dataclass(frozen=True, eq=False)
class Command:
    """What a controller says in a step: joint forces, and gains for states that are measured before the next.

    ``torque`` (..., nv) are the forces in the state (``q``, ``v``) that it was asked for, ``K`` (..., m, 2nv) the gains
    of the forces that act, ``acting``: ``command(q, v)`` is what to do in another state, within ``effort`` (nv,), the
    largest forces.  ``status`` is of each environment

    - "planned": the forces of a new plan;
    - "short": of one with fewer iterations, since time was over;
    - "late": time was over before any: the last plan goes on, with its gains;
    - "failed": the search found no numbers, or a path that violates constraints too much: the last plan goes on;
    - "braking": there is no plan to go on with: the robot is slowed down against gravity.

    ``violation`` and ``cost`` (...) are those of the new plan, NaN where there is none, ``iterations`` how many were
    done, ``seconds`` what the step took.  `explain` says why a search failed.
    """

    robot: Any
    torque: np.ndarray
    K: np.ndarray
    q: np.ndarray
    v: np.ndarray
    acting: np.ndarray
    effort: np.ndarray
    status: Any
    violation: Any
    cost: Any
    iterations: int
    seconds: float
    _searched: Any = field(default=None, repr=False)  # what can tell of the search, and where it ended

    def __repr__(self) -> str:
        return short_repr(self)

    def __call__(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """The forces (..., nv) in a state near that of the command, within the largest."""
        x = np.concatenate([self.robot.difference(self.q, q), np.asarray(v, dtype=float) - self.v], axis=-1)
        tau = self.torque + np.zeros((*x.shape[:-1], 1))
        tau[..., self.acting] -= (self.K @ x[..., None])[..., 0]
        return np.asarray(np.clip(tau, -self.effort, self.effort))

    def explain(self, index: Any = ()) -> str:
        """What became of the search, and of an environment where it failed why: which feature is not finite, in which
        step, or which constraints are violated."""
        shape = np.shape(self.status)
        status = np.asarray(self.status)[index]
        if self._searched is None or status in (PLANNED, SHORT):
            return f"{status} after {self.iterations} iterations"
        planner, search, numbers = self._searched
        place = int(np.arange(int(np.prod(shape, dtype=int))).reshape(shape)[index])
        state = (x.reshape(-1, x.shape[-1]) for x in (self.q, self.v))
        return f"{status}: {planner.explained(search, *state, numbers, place)}"
