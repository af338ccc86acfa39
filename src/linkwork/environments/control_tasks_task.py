"""What is to be done: a robot, how it begins, what is seen, what is paid for, and when it has failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.validation import integer, names
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.scalar.functions import fmax, fmin
from linkwork.kernels.robot_base import RobotBase
from linkwork.simulation.contacts.contact_set import ContactSet

__all__ = ["ControlTask"]


def _nothing(rng: np.random.Generator) -> np.ndarray:
    return np.zeros(0)


def _never(q: Any, v: Any, goal: Any) -> Any:
    return 0.0


@public
@dataclass(frozen=True)
class ControlTask:
    """A task of a robot, for one environment; all functions but ``start`` and ``goal`` are of symbols.

    ``start(rng)`` gives q (nq,) and v (nv,) at the beginning, ``goal(rng)`` numbers (k,) that stay the same until the
    end.  An action (m,), between −1 and 1, moves the ``joints`` of one degree of freedom with the ``efforts`` (m,)
    [N m, N].  ``observe(q, v, goal)`` gives what is seen, ``reward(q, v, action, goal)`` what the state after an action
    is worth, and ``failed(q, v, goal)`` is not 0 where all is over.  An action is held for ``every`` steps of ``step``
    [s], and after ``horizon`` actions an environment ends.  ``contacts`` are those of `Robot.simulate`.

    Raises ValueError and UnknownNameError for joints and efforts that do not go with the robot.
    """

    robot: RobotBase
    start: Callable[[np.random.Generator], tuple[Any, Any]]
    observe: Callable[[Any, Any, Any], Any]
    reward: Callable[[Any, Any, Any, Any], Any]
    joints: tuple[str, ...]
    efforts: tuple[float, ...]
    failed: Callable[[Any, Any, Any], Any] = _never
    goal: Callable[[np.random.Generator], Any] = _nothing
    step: float = 2e-3
    every: int = 10
    horizon: int = 500
    contacts: Any = None

    def __post_init__(self) -> None:
        robot: Any = self.robot
        object.__setattr__(self, "joints", names("ControlTask", "joints", self.joints, what="names of joints"))
        for name in self.joints:
            if robot.joint(name).nv != 1:
                raise ValueError(
                    f"ControlTask: joints: {name!r} has {robot.joint(name).nv} degrees of freedom, not one"
                )
        if len(self.efforts) != len(self.joints):
            raise ValueError(
                f"ControlTask: efforts: expected one for each of {len(self.joints)} joints, got {len(self.efforts)}"
            )
        for name in ("every", "horizon"):
            object.__setattr__(self, name, integer("ControlTask", name, getattr(self, name), least=1))
        ContactSet.of(self.contacts, "convex", "ControlTask")

    def forces(self, action: Any) -> Any:
        """τ (nv) of an action (m), which is held within −1 and 1."""
        robot: Any = self.robot
        tau: list[Any] = [0.0] * robot.nv
        for name, effort, u in zip(self.joints, self.efforts, [*action], strict=True):
            tau[robot.joint(name).v_slice.start] = effort * fmin(fmax(u, -1.0), 1.0)
        return array(tau)
