"""Profiles of a robot's configurations: joints whose configurations add up by their numbers, others along one line."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.kernels.array_arguments import real_array, stacked
from linkwork.model.function_spec import quantity_of
from linkwork.motion.algorithms.curves import CurveSpace
from linkwork.motion.arguments_reading import places_of
from linkwork.motion.profiles.arguments import AskedProfile, in_lines, read_limits, read_options, solved
from linkwork.motion.profiles.profile import refuse_symbols, trajectory_of
from linkwork.motion.profiles.profile_kinds_kernels import STATES
from linkwork.motion.splines.spline_turning import nearer_turns
from linkwork.motion.trajectory.trajectory import Trajectory

__all__ = ["robot_profile"]

_WHO = "profile"
_ROUNDING = 1e-9  # by which a configuration may be beyond its limits
_CURVED = (
    "a motion of a joint whose configurations are no plain numbers goes along the velocity that leads from q0 to q1, "
    "and so do velocities and accelerations at its ends"
)


def robot_profile(
    robot: Any,
    states: tuple[Any, ...],
    options: tuple[Any, Any, Any],
    given: dict[str, Any],
) -> Trajectory:
    """The trajectory from q0, v0, a0 to q1, v1, a1; see `Robot.profile`."""
    kind, synchronize, duration = read_options(_WHO, *options)
    if not robot.nv:
        raise ValueError(f"{_WHO}: robot: expected at least one degree of freedom, got {robot.name!r}, which has none")
    for name, x in zip(STATES, states, strict=True):
        refuse_symbols(_WHO, name, x)
    q0, q1 = (_configuration(robot, name, x) for name, x in zip(("q0", "q1"), states[:2], strict=True))
    rates = [_rates(robot, name, x) for name, x in zip(("v0", "v1", "a0", "a1"), states[2:], strict=True)]
    space = CurveSpace.of(robot.tree)
    way = np.asarray(robot.difference(q0, nearer_turns(robot, q0, q1)), dtype=float)
    names = list(robot.v_names)
    limits = read_limits(_WHO, kind, names, given, places_of(robot))
    if given["velocity"] is None:
        limits = limits._replace(velocity_up=robot.velocity_limits, velocity_down=robot.velocity_limits)
    if not kind.accelerations:
        rates[2:] = [np.zeros(robot.nv)] * 2
    plain = {place.v for place in space.joints if place.is_plain}
    along = (np.zeros(robot.nv), way, *rates)
    if space.is_plain:
        along = (q0, q0 + way, *rates)
    asked = AskedProfile(_WHO, names, kind, along, limits, synchronize, duration)
    if space.is_plain or synchronize == "phase":
        numbers = solved(asked)
    else:
        groups: list[np.ndarray] = []
        for place in space.joints:
            own = np.arange(robot.nv)[place.in_v]
            groups += [np.array([k]) for k in own] if place.v in plain else [own] if len(own) else []
        numbers = in_lines(asked, groups, _CURVED)
    return trajectory_of(numbers, robot, np.zeros(robot.nq) if space.is_plain else q0)


def _configuration(robot: Any, name: str, x: Any) -> np.ndarray:
    """A configuration (nq,) on its manifold and within limits."""
    if isinstance(x, dict):
        x = stacked(robot._subject, quantity_of("q"), x, real_array)
    expected = f"{_WHO}: {name}: expected a configuration of shape ({robot.nq},)"
    found = np.asarray(real_array(expected, x), dtype=float)
    if found.shape != (robot.nq,):
        raise ValueError(f"{expected}, got shape {found.shape}")
    if not np.isfinite(found).all():
        k = int(np.argmin(np.isfinite(found)))
        raise ValueError(f"{expected} of finite numbers, got {found[k]} for {robot.q_names[k]}")
    found = np.asarray(robot.normalize(found))
    lower, upper = robot.lower, robot.upper
    room = _ROUNDING * (1.0 + np.abs(found))
    bad = (found < lower - room) | (found > upper + room)
    if bad.any():
        k = int(np.argmax(bad))
        raise ValueError(
            f"{_WHO}: {name}: {robot.q_names[k]} is {found[k]:.6g}, outside of its limits [{lower[k]:.6g}, "
            f"{upper[k]:.6g}]"
        )
    return found


def _rates(robot: Any, name: str, x: Any) -> np.ndarray:
    """A velocity or acceleration (nv,)."""
    if x is None:
        return np.zeros(robot.nv)
    if isinstance(x, dict):
        x = stacked(robot._subject, quantity_of("v"), x, real_array)
    expected = f"{_WHO}: {name}: expected an array of shape ({robot.nv},)"
    found = np.asarray(real_array(expected, x), dtype=float)
    if found.shape not in ((robot.nv,), ()):
        raise ValueError(f"{expected}, got shape {found.shape}")
    if not np.isfinite(found).all():
        raise ValueError(f"{expected} of finite numbers, got one that is not finite")
    return np.broadcast_to(found, (robot.nv,)).copy()
