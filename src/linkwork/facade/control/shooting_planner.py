"""Iterative LQR as what plans for a controller: forces are carried, and paths are what they make of the state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..optimal.asked import ByStep
from ..optimal.motors import motor_places
from ..optimal.prepared import prepared
from ..optimal.solving import TOLD
from .planners import Search, later_rows

__all__ = ["ShootingPlanner"]

_STATUS, _COST = TOLD.index("status"), TOLD.index("cost")


class ShootingPlanner:
    """Iterative LQR of `Problem.solve`, by forward dynamics, from given states; limits of motors hold exactly."""

    def __init__(
        self, problem: Any, actuators: Iterable[str] | None = None, effort: Any = None, passive: bool = False
    ) -> None:
        """Of motors of joints by name, with forces up to ``effort``, a number or (nv,): None are the robot's."""
        self._problem, self._own = problem, prepared(problem, True)
        self.robot, self.steps = problem.robot, self._own.program.steps
        self.step = float(np.ravel(self._own.constants["step"])[0])
        self._asked = (None if actuators is None else tuple(actuators), effort, passive)
        self._motors = list(motor_places("controller", self.robot, self._asked[0]))
        most = None if effort is None else np.broadcast_to(np.asarray(effort, dtype=float), self.robot.nv)[self._motors]
        self._options = {
            "actuated": self._asked[0],
            "control_limits": None if most is None else (-most, most),
            "passive": passive,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._problem, *self._asked)

    def numbers(self, reference: Mapping[str, Any] | None, lead: tuple[int, ...]) -> dict[str, Any]:
        self._own.given_targets(reference)  # looks at them
        found: dict[str, Any] = {}
        for name, given in (reference or {}).items():
            x = np.asarray(given.values if isinstance(given, ByStep) else given, dtype=float)
            own = len(self._own.targets[name][2]) + isinstance(given, ByStep)
            if x.ndim > own:
                x = np.broadcast_to(x, (*lead, *x.shape[x.ndim - own :])).reshape(-1, *x.shape[x.ndim - own :])
            found[name] = ByStep(x) if isinstance(given, ByStep) else x
        return found

    def begun(self, q: np.ndarray) -> Search:
        told = np.zeros((len(q), 4))  # status, cost, violation, iterations
        return {
            "q": np.repeat(q[:, None], self.steps, axis=1),
            "u": np.full((len(q), self.steps, len(self._motors)), np.nan),  # what holds the robot
            "told": told,
        }

    def moved(self, search: Search, share: float) -> Search:
        return {**search, "u": later_rows(search["u"], share), "q": later_rows(search["q"], share)}

    def started(self, search: Search) -> Search:
        return {**search, "told": np.zeros_like(search["told"])}

    def iterated(self, search: Search, q: np.ndarray, v: np.ndarray, numbers: Any, upto: int) -> Search:
        done = int(search["told"][:, 3].max())
        u = search["u"]
        known = np.isfinite(u).all(axis=-1, keepdims=True)
        if not known.all():
            still = np.zeros_like(v)
            holding = self.robot.inverse_dynamics(q, still, still, passive=self._options["passive"])
            u = np.where(known, u, holding[:, None, self._motors])
        found = self._problem.solve(
            q, velocity=v, solver="ilqr", targets=numbers, controls=u, at_most=max(upto - done, 1), **self._options
        )
        status, cost = found.state["told"][:, _STATUS], found.state["told"][:, _COST]
        first, hard = len(TOLD), len(self._own.program.hard)
        violated = found.state["told"][:, first : first + hard].max(axis=1, initial=0.0)
        told = np.stack([status, cost, violated, np.full(len(q), float(upto))], axis=1)
        return {"q": found.q, "u": found.controls, "told": told}

    def ended(self, search: Search) -> bool:
        return bool((search["told"][:, 0] > 0.5).all())

    def path(self, search: Search) -> np.ndarray:
        return search["q"]

    def judged(self, search: Search) -> tuple[np.ndarray, np.ndarray]:
        return search["told"][:, 1], search["told"][:, 2]
