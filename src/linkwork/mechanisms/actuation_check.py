"""Whether actuators can do what inverse dynamics of a robot with constraints asks for; and if not, what they cannot."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, TypeVar

import numpy as np

from linkwork._util.argument_errors import ABOUT_ARGUMENTS
from linkwork._util.checked_arguments import is_ours, raise_named
from linkwork.errors import UnderactuatedError

__all__ = ["can_be_induced"]

F = TypeVar("F", bound=Callable[..., Any])

_LEFT = {8: 1e-7, 4: 1e-2}  # by bytes of a number: what may be left, as a part of all that acts
_NONE = 1e-9  # part of the largest singular value below which one is none
_TOLD = 0.1  # part of the largest from which on a coordinate of a motion is told


def can_be_induced(method: F) -> F:
    """The method, whose third result has to be zero: what no actuator exerts."""

    def looked_at(self: Any, q: Any, v: Any, a: Any, **more: Any) -> Any:
        try:
            found = method(self, q, v, a, **more)
        except ABOUT_ARGUMENTS as error:
            if not is_ours(sys._getframe(1)):
                raise_named(error, method, (self, q, v, a), more)
            raise
        missing = found[2]
        if isinstance(missing, np.ndarray) and missing.dtype.kind == "f" and missing.size:
            acting = np.maximum(np.abs(found[0]).max(axis=-1), np.abs(missing).max(axis=-1))
            pulled = np.abs(found[1]).max(axis=-1, initial=0.0)
            left = np.abs(missing).max(axis=-1) > _LEFT[missing.dtype.itemsize] * np.maximum(acting, pulled)
            if np.any(left):
                _refuse(method.__name__, self, q, missing, left, more)
        return found

    return update_wrapper(looked_at, method)  # type: ignore[return-value]


def _refuse(caller: str, robot: Any, q: Any, missing: np.ndarray, left: np.ndarray, given: dict[str, Any]) -> None:
    """Raise UnderactuatedError of the first state that actuators cannot do."""
    names, actuators = robot.v_names, given.get("actuators")
    where = tuple(int(k) for k in np.argwhere(left)[0])
    rest = missing[where]
    rows = np.broadcast_to(
        robot.constraint_jacobian(q, time=given.get("time")), (*missing.shape[:-1], *_rows(robot, names))
    )[where]
    if actuators is None:
        acting = [joint.name for joint in robot.joints if joint.nv < 6]
    else:
        acting = [actuators] if isinstance(actuators, str) else list(actuators)
    units = np.eye(len(names))[robot.v_index(acting)] if acting else np.zeros((0, len(names)))
    held = np.vstack([rows, units])
    _, values, motions = np.linalg.svd(held)
    rank = int(np.sum(values > _NONE * values[:1].max(initial=1e-300)))
    free = [motion for motion in motions[rank:] if abs(motion @ rest) > 1e-6 * np.linalg.norm(rest)]
    raise UnderactuatedError(
        tuple(acting), tuple(_said(motion, names) for motion in free), where, float(np.abs(rest).max()), caller
    )


def _rows(robot: Any, names: tuple[str, ...]) -> tuple[int, int]:
    return sum(len(constraint.component_names) for constraint in robot.constraints), len(names)


def _said(motion: np.ndarray, names: tuple[str, ...]) -> str:
    """A motion by what moves in it, the largest first."""
    motion = motion / motion[np.argmax(np.abs(motion))]
    order = [int(k) for k in np.argsort(-np.abs(motion), kind="stable") if abs(motion[k]) > _TOLD]
    return ", ".join(f"{names[k]} {motion[k]:.3g}" for k in order[:6]) + (", ..." if len(order) > 6 else "")
