"""Motion of a mechanism whose joint is moved by a slider: loops stay closed, on the same assembly branch."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from linkwork.viewer.joint_sliders import actuated_joints
from linkwork.viewer.live.joint_coordinates import JointCoordinate

__all__ = ["assembled", "closes_loops", "slid"]

_STEP = 0.1  # [rad, m] of a coordinate between two assemblies
_JUMP = 1.0  # [rad, m] change of a joint in a step that counts as another branch
_HALVINGS = 12  # of the last step, before a turning point


def closes_loops(robot: Any) -> bool:
    """Return True if the robot has constraints on positions."""
    return any(constraint.holonomic for constraint in robot.constraints)


def slid(robot: Any, q: np.ndarray, coordinate: JointCoordinate, value: float) -> np.ndarray:
    """Return the configuration (nq,) in which a coordinate has a value, or is as near to it as the mechanism moves.

    ``q`` (nq,) is an assembled configuration.  The other joints follow in steps, those with an actuator as little as
    possible.  A step that does not assemble, as at a turning point, is halved.
    """
    if not closes_loops(robot):
        return coordinate.changed(q, value)
    motors = [name for name in actuated_joints(robot.tree) if name != coordinate.joint]
    begin = coordinate.value(q)
    count = max(1, math.ceil(abs(value - begin) / _STEP))
    done, step, halvings = 0.0, 1.0 / count, 0
    while done < 1.0 - 1e-12 and halvings <= _HALVINGS:
        ahead = min(done + step, 1.0)
        guess = coordinate.changed(q, begin + ahead * (value - begin))
        fixed, preferred = _values(robot, guess, [coordinate.joint]), _values(robot, guess, motors)
        result = robot.assemble(guess, hold=fixed, prefer=preferred, max_starts=1, check=False)
        if bool(result.success) and np.abs(robot.difference(q, result.q)).max() < _JUMP:
            q, done = np.asarray(result.q), ahead
        else:
            step, halvings = 0.5 * step, halvings + 1
    return q


def _values(robot: Any, q: np.ndarray, joints: Iterable[str]) -> dict[str, Any]:
    """Return the coordinates of joints in q (nq,): a number, or an array of a joint with several."""
    parts = {name: q[robot.joint(name).q_slice] for name in joints}
    return {name: part if len(part) > 1 else float(part[0]) for name, part in parts.items()}


def assembled(robot: Any, q: np.ndarray) -> np.ndarray | None:
    """Return the configuration near q (nq,) with closed loops; None if none is found."""
    if not closes_loops(robot):
        return q
    result = robot.assemble(q, check=False)
    return np.asarray(result.q) if bool(result.success) else None
