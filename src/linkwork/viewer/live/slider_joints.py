"""Joints that sliders of a live page move: their coordinates, and motions in which loops stay closed.

A mechanism stays on the same assembly branch while a slider moves one of its joints.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.messages import escaped
from linkwork.model import Body
from linkwork.viewer.joint_sliders import actuated_joints, is_plain, joint_sliders, slider_origin

__all__ = ["JointCoordinate", "assembled", "at_limits", "closes_loops", "joint_coordinates", "slid"]

_TOUCHING = 1e-4  # [rad, m] distance from a limit, relative to the range, below which a joint is at it
_FIXED_RANGE = 2.0  # [rad, m] range of a slider whose limits are equal


@dataclass(frozen=True)
class JointCoordinate:
    """A number that a slider changes: a coordinate of a joint, or a component of its motion along v from ``origin``."""

    name: str
    """Name as it is shown: printable."""
    body: Body
    part: slice
    """Place of the joint's coordinates in q."""
    index: int
    """Index among the sliders of the joint."""
    unit: str
    """"rad" or "m"."""
    lower: float
    upper: float
    limited: bool
    """True if ``lower`` and ``upper`` are limits of the joint; else they are the range of the slider."""
    origin: tuple[float, ...] | None = None
    """Coordinates of the joint from which it moves along v; None for a plain coordinate."""

    @property
    def joint(self) -> str:
        """Name of the joint."""
        return self.body.joint_name

    def value(self, q: np.ndarray) -> float:
        """Return the coordinate in a configuration (nq,)."""
        return float(self._sliders(q)[self.index])

    def changed(self, q: np.ndarray, value: float) -> np.ndarray:
        """Return q (nq,) with another value of the coordinate."""
        result, sliders = q.copy(), self._sliders(q)
        sliders[self.index] = value
        moved = sliders if self.origin is None else self.body.call_joint("integrate", self.origin, sliders)
        result[self.part] = moved
        return result

    def _sliders(self, q: np.ndarray) -> list[Any]:
        part = q[self.part].tolist()
        return part if self.origin is None else list(self.body.call_joint("difference", self.origin, part))


def joint_coordinates(robot: Any, q: np.ndarray) -> list[JointCoordinate]:
    """Return the coordinates of all uncoupled joints, in their order in q.

    q (nq,) is the configuration that is shown first.
    """
    result: list[JointCoordinate] = []
    tree = robot.tree
    for i, body in tree.stacked():
        part, origin = tree.q_slices[i], None
        shown = q[part].tolist()
        if not is_plain(body.joint):
            origin = tuple(b if a is None else a for a, b in zip(slider_origin(body), shown, strict=True))
        for k, slider in enumerate(joint_sliders(body, shown)):
            limited = math.isfinite(slider.lower) and math.isfinite(slider.upper) and slider.upper > slider.lower
            high = slider.high if slider.high > slider.low else slider.low + _FIXED_RANGE
            name = escaped(slider.name)
            result.append(JointCoordinate(name, body, part, k, slider.unit, slider.low, high, limited, origin))
    return result


def at_limits(coordinates: list[JointCoordinate], q: np.ndarray) -> list[tuple[JointCoordinate, str]]:
    """Return the coordinates that are at a limit or beyond it, each with "lower" or "upper"."""
    result = []
    for coordinate in coordinates:
        if coordinate.limited:
            value, near = coordinate.value(q), _TOUCHING * (coordinate.upper - coordinate.lower)
            if value <= coordinate.lower + near:
                result.append((coordinate, "lower"))
            elif value >= coordinate.upper - near:
                result.append((coordinate, "upper"))
    return result


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
