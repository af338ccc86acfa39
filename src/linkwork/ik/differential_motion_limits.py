"""What a step of velocity is kept within, as people say it: positions, velocities, accelerations, speeds of a base."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.validation import floats
from linkwork.errors import UnknownNameError
from linkwork.ik.arguments import read_limits

__all__ = ["LimitArrays", "read_motion_limits"]

_KINDS = ("position", "velocity", "acceleration", "speed")


@dataclass(frozen=True)
class LimitArrays:
    """Bounds as arrays, infinite where there is none."""

    lower: np.ndarray  # (nq,)
    upper: np.ndarray
    velocity: np.ndarray  # (nv,)
    acceleration: np.ndarray  # (nv,)
    speeds: tuple[tuple[tuple[int, ...], float], ...]  # places in v, and the length that they may have


def read_motion_limits(who: str, robot: Any, limits: Any) -> LimitArrays:
    """Those of a robot (True), none (False), or a dict of what is said besides; see `Robot.velocity_for`.

    Raises ValueError, TypeError and UnknownNameError for what is none.
    """
    if limits is None or isinstance(limits, (bool, np.bool_)):
        limits = {"position": limits is not False and bool(limits is None or limits)}
        limits["velocity"] = limits["position"]
    if not isinstance(limits, Mapping):
        kinds = ", ".join(f"{kind}=" for kind in _KINDS)
        raise TypeError(f"{who}: limits: expected True, False or dict({kinds}), got {limits!r}")
    for kind in limits:
        if kind not in _KINDS:
            raise UnknownNameError("kind of limits", kind, _KINDS)
    position, velocity = limits.get("position", True), limits.get("velocity", True)
    lower, upper = read_limits(who, robot, None if position is True else position)
    fastest = np.full(robot.nv, np.inf) if velocity is False else np.array(robot.velocity_limits, dtype=float)
    if not isinstance(velocity, (bool, np.bool_)):
        fastest = np.minimum(fastest, _by_velocity(who, robot, "velocity", velocity))
    given = limits.get("acceleration", False)
    hardest = np.full(robot.nv, np.inf)
    if given is True:
        raise ValueError(f"{who}: limits: acceleration: robots say none: expected numbers [rad/s², m/s²], got True")
    if given is not False and given is not None:
        hardest = _by_velocity(who, robot, "acceleration", given)
        if not (hardest > 0.0).all():
            raise ValueError(f"{who}: limits: acceleration: expected positive numbers, got {given!r}")
    return LimitArrays(lower, upper, fastest, hardest, _speeds(who, robot, limits.get("speed", {})))


def _by_velocity(who: str, robot: Any, kind: str, given: Any) -> np.ndarray:
    """(nv,) numbers, of a number, an array, or a dict by joint."""
    expected = f"{who}: limits: {kind}: expected a number, an array of shape ({robot.nv},) or a dict by joint"
    found = np.full(robot.nv, np.inf)
    try:
        if isinstance(given, Mapping):
            tree = robot.tree
            for joint, numbers in given.items():
                place = tree.v_slices[tree.joint_index(joint)]
                found[place] = np.broadcast_to(floats(numbers), found[place].shape)
        else:
            found[:] = np.broadcast_to(floats(given), found.shape)
    except (TypeError, ValueError) as error:
        if isinstance(error, UnknownNameError):
            raise
        raise ValueError(f"{expected}, got {given!r}") from None
    if not (found >= 0.0).all():
        raise ValueError(f"{expected} that is not negative, got {given!r}")
    return found


def _speeds(who: str, robot: Any, given: Any) -> tuple[tuple[tuple[int, ...], float], ...]:
    """Lengths of velocities by joint: a number, or two for a base: of the angular and the linear velocity."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{who}: limits: speed: expected a dict by joint, got {given!r}")
    tree, found = robot.tree, []
    for joint, numbers in given.items():
        k = tree.joint_index(joint)
        places = tuple(range(tree.nv)[tree.v_slices[k]])
        units = tree.bodies[k].joint.v_units
        parts = [tuple(p for p, unit in zip(places, units, strict=True) if unit == one) for one in dict.fromkeys(units)]
        try:
            most = floats(numbers)
        except (TypeError, ValueError):
            most = np.array(np.nan)
        if most.shape == () and len(parts) == 1:
            most = most[None]
        if most.shape != (len(parts),) or not (most > 0.0).all():
            of = " and ".join(f"velocities in {one}" for one in dict.fromkeys(units))
            raise ValueError(
                f"{who}: limits: speed: joint {joint!r}: expected {len(parts)} positive number(s), of {of or 'none'}, "
                f"got {numbers!r}"
            )
        found += [(part, float(x)) for part, x in zip(parts, most, strict=True) if np.isfinite(x)]
    return tuple(found)
