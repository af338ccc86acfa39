"""How much room a trajectory leaves to limits, from polynomials and not by samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...bridge.arguments import real_array

__all__ = ["margins_of", "read_bounds"]

_ORDER = {"velocity": 1, "acceleration": 2, "jerk": 3}


def margins_of(who: str, trajectory: Any, given: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """By limit, the least room (nv,) that there is to it: below 0 where it is exceeded.

    Limits are numbers for all or one for each; of ``lower`` and ``upper`` (nq,), ``velocity``, those of the robot where
    they are left out.  For a coordinate that is no polynomial there is −inf, but to no limit.
    """
    robot, space = trajectory.robot, trajectory.sections[0].space
    found = {}
    for name, value in given.items():
        size = space.nq if name in ("lower", "upper") else space.nv
        if value is None and robot is not None:
            own = {"lower": "lower", "upper": "upper", "velocity": "velocity_limits"}.get(name)
            value = None if own is None else getattr(robot, own)
        if value is None:
            continue
        limit = _read(who, name, value, size)
        if size == space.nq and not space.is_plain:
            limit = _by_velocity(space, limit, -np.inf if name == "lower" else np.inf)
        low, high = trajectory.extremes(_ORDER.get(name, 0))
        with np.errstate(invalid="ignore"):
            room = {"lower": low - limit, "upper": limit - high}.get(name, limit - np.maximum(-low, high))
        found[name] = np.where(np.isinf(limit), np.inf, room)
    return found


def _read(who: str, name: str, value: Any, size: int) -> np.ndarray:
    expected = f"{who}: {name}: expected a number for all, or {size}"
    found = np.asarray(real_array(expected, value), dtype=float)
    if found.shape not in ((), (size,)) or np.isnan(found).any():
        raise ValueError(f"{expected}, got {value!r}")
    if name in _ORDER and (found < 0.0).any():
        raise ValueError(f"{expected}, none below 0, got {value!r}")
    return np.broadcast_to(found, (size,))


def _by_velocity(space: Any, limit: np.ndarray, none: float) -> np.ndarray:
    """Limits of q where q are plain numbers, by the places of their velocities."""
    found = np.full(space.nv, none)
    for place in space.joints:
        if place.is_plain:
            found[place.in_v] = limit[place.in_q]
    return found


def read_bounds(who: str, name: str, value: Any, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds (n,): of a pair, or of magnitudes.  Raises ValueError."""
    pair = isinstance(value, tuple) and len(value) == 2
    expected = f"{who}: {name}: expected a number for all, or {size}, or a pair (lower, upper)"
    sides = value if pair else (value, value)
    low, high = (np.asarray(real_array(expected, side), dtype=float) for side in sides)
    if not pair:
        low = -low
    if any(x.shape not in ((), (size,)) or np.isnan(x).any() for x in (low, high)) or not (low <= high).all():
        raise ValueError(f"{expected}, got {value!r}")
    return np.broadcast_to(low, (size,)), np.broadcast_to(high, (size,))
