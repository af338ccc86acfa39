"""How much room a trajectory leaves to limits, from polynomials and not by samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork.kernels.array_arguments import real_array
from linkwork.motion.arguments_reading import places_of, read_limit

__all__ = ["margins_of", "read_positions"]

_ORDER = {"velocity": 1, "acceleration": 2, "jerk": 3}


def margins_of(who: str, trajectory: Any, given: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """By limit, the least room (nv,) that there is to it: below 0 where it is exceeded.

    ``lower`` and ``upper`` (nq,) are numbers for all or one for each, other limits what `read_limit` takes; those of q
    and ``velocity`` are the robot's where they are left out.  Where nothing is known there is −inf, but to no limit.
    """
    robot, space = trajectory.robot, trajectory.sections[0].space
    names = [f"coordinate {k}" for k in range(space.nv)] if robot is None else list(robot.v_names)
    found = {}
    for name, value in given.items():
        if value is None and robot is not None:
            own = {"lower": "lower", "upper": "upper", "velocity": "velocity_limits"}.get(name)
            value = None if own is None else getattr(robot, own)
        if value is None:
            continue
        order = _ORDER.get(name, 0)
        if order:
            up, down = read_limit(who, name, value, names, None if robot is None else places_of(robot))
        else:
            limit = read_positions(who, name, value, space.nq)
            limit = limit if space.is_plain else _by_velocity(space, limit, -np.inf if name == "lower" else np.inf)
            none = np.full(space.nv, np.inf)
            up, down = (none, -limit) if name == "lower" else (limit, none)
        if np.isinf([up, down]).all():
            found[name] = np.full(space.nv, np.inf)
            continue
        low, high = trajectory.extremes(order)
        with np.errstate(invalid="ignore"):
            rooms = [np.where(np.isinf(x), np.inf, x - y) for x, y in ((up, high), (down, -low))]
        found[name] = np.minimum(*rooms)
    return found


def read_positions(who: str, name: str, value: Any, size: int) -> np.ndarray:
    """A limit (n,) of each coordinate.  Raises ValueError."""
    expected = f"{who}: {name}: expected a number for all, or {size}"
    found = np.asarray(real_array(expected, value), dtype=float)
    if found.shape not in ((), (size,)) or np.isnan(found).any():
        raise ValueError(f"{expected}, got {value!r}")
    return np.broadcast_to(found, (size,))


def _by_velocity(space: Any, limit: np.ndarray, none: float) -> np.ndarray:
    """Limits of q where q are plain numbers, by the places of their velocities."""
    found = np.full(space.nv, none)
    for place in space.joints:
        if place.is_plain:
            found[place.in_v] = limit[place.in_q]
    return found
