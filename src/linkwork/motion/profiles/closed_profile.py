"""Profiles of mechanisms: on the constraints, in the time that dependent joints need."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.model.limited_coordinates import loop_speed_values, loop_speeds
from linkwork.motion.closed_motion import closed_motion, refuse_open, refuse_velocities
from linkwork.motion.profiles.profile_kinds import ProfileLimits
from linkwork.motion.trajectory.trajectory import Trajectory

__all__ = ["closed_profile"]

_SAMPLES = 16  # times between knots at which speeds of loop joints are measured
_MARGIN = 1e-9  # relative


def closed_profile(
    caller: str,
    curve: Trajectory,
    ends: tuple[np.ndarray, np.ndarray],
    rates: tuple[np.ndarray, np.ndarray],
    limits: ProfileLimits | None,
    is_fixed: bool,
    independent: Any,
) -> Trajectory:
    """Return the profile of a mechanism whose independent coordinates move like those of a profile of its tree.

    ``ends`` are the configurations at both ends, and ``rates`` the velocities.  If other joints would exceed the
    ``limits``, the motion is slowed as a whole.  Raises ValueError for ends that do not satisfy the constraints, and
    for a motion that ``is_fixed`` in time, or moves at its ends, and would have to be slowed.
    """
    robot, times, names = curve.robot, (curve.start_time, curve.end_time), ("q0", "q1")
    refuse_open(caller, robot, np.array(ends), names, np.array(times))
    if not curve.duration > 0.0:
        return curve
    result = closed_motion(caller, curve, [*zip(times, names, ends, strict=True)], independent)
    for name, t, v in zip(("v0", "v1"), times, rates, strict=True):
        refuse_velocities(caller, robot, name, v[None], result(t).v[None])
    if limits is None:
        return result
    longer, which = _stretch(result, limits)
    if longer <= 1.0 + 1e-6:
        return result
    if is_fixed or any(v.any() for v in rates) or any(constraint.time_dependent for constraint in robot.constraints):
        raise ValueError(
            f"{caller}: {which!r}, which follows from other joints of {robot.name!r}, needs {longer:.6g} times the "
            f"duration of {result.duration:.6g} s to keep its limits; lower the limits of the other joints"
        )
    return result.retimed(longer * (1.0 + _MARGIN))


def _stretch(trajectory: Trajectory, limits: ProfileLimits) -> tuple[float, str]:
    """Return the factor of the duration with which all limits hold, and the name of the joint that needs it most."""
    robot, worst = trajectory.robot, (1.0, "")
    for order in (1, 2, 3):
        up, down = limits[2 * order - 2 : 2 * order]
        lower, upper = trajectory.extremes(order)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.nan_to_num(np.maximum(upper / up, -lower / down), nan=0.0)
        k = int(ratio.argmax())
        worst = max(worst, (float(ratio[k]) ** (1.0 / order), robot.v_names[k]))
    speeds = loop_speeds(robot.tree)
    if speeds:
        t = np.linspace(trajectory.knots[:-1], trajectory.knots[1:], _SAMPLES, axis=1).ravel()
        q, v, _ = trajectory(t)
        for k, coordinate in enumerate(speeds):
            fastest = float(np.abs(loop_speed_values(robot, speeds, q, v)[:, k]).max())
            worst = max(worst, (fastest * (1.0 + 1e-6) / coordinate.bound, coordinate.name))
    return worst
