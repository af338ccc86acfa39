"""Which joints have motors, and what these can exert."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork._util.validation import floats

__all__ = ["motor_limits", "motor_places", "read_finite"]

Array = np.ndarray[Any, Any]


def motor_places(who: str, robot: Any, actuated: Any) -> tuple[int, ...]:
    """The velocities that have motors."""
    tree = robot.tree
    if actuated is None:
        free = {i for i, body in tree.stacked() if body.parent < 0 and body.joint.nv == 6}
        chosen = [i for i, _ in tree.stacked() if i not in free]
    else:
        names = [actuated] if isinstance(actuated, str) else list(actuated)
        chosen = sorted({tree.joint_index(name) for name in names})
    found = tuple(k for i in chosen for k in range(tree.nv)[tree.v_slices[i]])
    if not found:
        raise ValueError(f"{who}: actuated: no joint has a motor")
    return found


def motor_limits(who: str, robot: Any, places: tuple[int, ...], given: Any) -> tuple[Array, Array]:
    """Least and most (m,) of the motors' forces."""
    if given is False:
        bounds: Any = (-math.inf, math.inf)
    elif given is None or given is True:
        effort = np.asarray(robot.effort_limits, dtype=float)[list(places)]
        bounds = (-effort, effort)
    else:
        bounds = given if isinstance(given, tuple) and len(given) == 2 else None
    try:
        if bounds is None:
            most = floats(given)
            bounds = (-most, most)
        low, high = (np.broadcast_to(floats(x), (len(places),)).copy() for x in bounds)
    except (TypeError, ValueError):
        low = high = np.array(math.nan)
    if not ((low <= high) & (low < math.inf) & (high > -math.inf)).all():
        raise ValueError(
            f"{who}: control_limits: expected a number, one for each of {len(places)} motors, or (least, most), "
            f"got {given!r}"
        )
    return low, high


def read_finite(who: str, what: str, given: Any, shape: tuple[int, ...]) -> Array:
    try:
        found = floats(given)
    except (TypeError, ValueError):
        found = np.array(math.nan)
    if found.shape[found.ndim - len(shape) :] != shape or found.ndim < len(shape) or not np.isfinite(found).all():
        raise ValueError(f"{who}: {what}: expected finite numbers (..., {', '.join(map(str, shape))}), got {given!r}")
    return found
