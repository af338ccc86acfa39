"""What a controller says in a step: forces, gains, and what became of its search."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._printing import short_repr
from ..._user import levels_up

__all__ = ["BRAKING", "FAILED", "LATE", "PLANNED", "SHORT", "Command", "warn_of_cuts"]

_CUT = 1e-3  # of a limit: plans that keep it within their tolerances ask for less above it
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


def warn_of_cuts(robot: Any, torque: np.ndarray, effort: np.ndarray, acting: np.ndarray) -> bool:
    """Warn where limits of effort (nv,) cut what plans ask of joints, torque (n, nv); return whether they do."""
    share = np.abs(torque[:, acting]) / np.maximum(effort[acting], 1e-300)
    if not share.max(initial=0.0) > 1.0 + _CUT:
        return False
    place = int(acting[share.max(axis=0).argmax()])
    warnings.warn(
        f"controller: the plan asks for {np.abs(torque[:, place]).max():.4g} at {robot.v_names[place]!r}, whose limit "
        f"of effort is {effort[place]:.4g}: the command is cut, and the plan does not know it; with "
        f"effort=robot.effort_limits, or add_limits(torques=True) of the problem, plans keep the limits",
        UserWarning,
        stacklevel=levels_up(),
    )
    return True
