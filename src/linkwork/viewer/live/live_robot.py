"""Robot of a live page: configuration, drawing, joints with sliders, and inverse kinematics of a dragged frame.

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
from linkwork.viewer.document import Actor
from linkwork.viewer.joint_sliders import actuated_joints, is_plain, joint_sliders, slider_origin
from linkwork.viewer.live.actor_drawing import ActorDrawing

__all__ = ["JointCoordinate", "LiveRobot", "assembled", "at_limits", "closes_loops", "joint_coordinates", "slid"]

_SHORT = 1e-3  # [rad, m] distance from the value of a slider that is worth a note


class LiveRobot:
    """An actor of a live page whose robot is known, with its current configuration.

    Only the page's worker thread changes it.
    """

    def __init__(self, name: str, index: int, actor: Actor, drawing: ActorDrawing) -> None:
        self.actor, self.drawing, self.robot = actor, drawing, actor.robot
        self.name, self.index = name, index
        """Unique name, and index of the actor in the document."""
        self.q = np.array(actor.q[0], dtype=float)
        """Configurations (n, nq)."""
        self.poses = np.array(actor.poses[0], dtype=float)
        """Poses (n, nbodies, 4, 4) of the bodies that are drawn [m]."""
        self.coordinates: list[JointCoordinate] = joint_coordinates(self.robot, self.q[0]) if self.is_single else []
        self.note = ""
        """What became of the last motion of a slider, if it was not complete."""
        self._closes = self.is_single and closes_loops(self.robot)
        self.constraint_error = 0.0
        """Largest error of the constraints as drawn, such as the gap of a loop [m, rad]."""
        self._changed, self._drawn = True, self.q
        self.reached: list[tuple[JointCoordinate, str]] = []
        """Coordinates that are at a limit as drawn, each with "lower" or "upper"."""
        self._rng = np.random.default_rng(0)

    @property
    def is_single(self) -> bool:
        """True for a single robot, whose joints have sliders; False for several instances."""
        return len(self.q) == 1

    def set(self, q: np.ndarray) -> None:
        """Set the configurations (n, nq) of all instances; they are checked when they are drawn."""
        self.q, self._changed, self.note = q, True, ""

    def slide(self, coordinate: JointCoordinate, value: float) -> None:
        """Move a joint coordinate to ``value``, or as near to it as closed loops permit, with a note."""
        self.set(slid(self.robot, self.q[0], coordinate, value)[None])
        reached = coordinate.value(self.q[0])
        if abs(reached - value) > _SHORT:
            self.note = f"{coordinate.name} stops at {reached:.4g} {coordinate.unit}: the loops do not close beyond"

    def take(self, q: np.ndarray) -> None:
        """Set a configuration (nq,), and close its loops. Raises ValueError if no closed configuration is near it."""
        closed = assembled(self.robot, q)
        if closed is None:
            raise ValueError("the loops do not close near this configuration")
        self.set(closed[None])

    def take_random(self) -> None:
        """Set a random configuration within the limits, and close its loops."""
        self.take(np.asarray(self.robot.random_configuration(self._rng)))

    def drag(self, frame: str, X_target: np.ndarray, position_only: bool, jumps: bool) -> None:
        """Move a frame to a pose (4, 4), or as near to it as possible [m]."""
        to_world = self._offset
        if to_world is not None:
            X_target = np.linalg.inv(to_world) @ X_target
        self.set(dragged(self.robot, self.q[0], frame, X_target, position_only=position_only, jumps=jumps)[None])

    def pose(self, frame: str) -> np.ndarray:
        """Return the pose (4, 4) of a frame in the coordinates of the 3D scene [m]."""
        X = np.asarray(self.robot.pose(self.q[0], frame))
        return X if self._offset is None else self._offset @ X

    def in_picture(self, points: np.ndarray) -> np.ndarray:
        """Convert points (..., 3) in the robot's world frame to coordinates of the 3D scene [m]."""
        X = self._offset
        return points if X is None else points @ X[:3, :3].T + X[:3, 3]

    def in_picture_of_each(self, points: np.ndarray) -> np.ndarray:
        """Convert points (n, k, 3) in the world frame of each of n instances to coordinates of the 3D scene [m]."""
        X = self.actor.offsets
        return points if X is None else points @ X[:, :3, :3].mT + X[:, None, :3, 3]

    def draw(self) -> bool:
        """Move the drawing to the current configuration; return False if the configuration has not changed.

        Raises ValueError for an invalid configuration, and restores the previous one.
        """
        if not self._changed:
            return False
        self._changed = False
        try:
            poses = np.asarray(self.robot.forward_kinematics(self.q))
        except ValueError:
            self.q = self._drawn
            raise
        self._drawn = self.q
        offsets = self.actor.offsets
        self.poses = poses if offsets is None else offsets[:, None] @ poses
        self.drawing.move(self.poses)
        if self.is_single:
            if self._closes:
                self.constraint_error = float(np.abs(self.robot.constraint_error(self.q[0])).max(initial=0.0))
            self.reached = at_limits(self.coordinates, self.q[0])
            joints = {coordinate.joint for coordinate, _ in self.reached}
            children = {joint.name: joint.child for joint in self.robot.joints} if joints else {}
            bodies = self.robot.bodies
            self.drawing.mark({bodies.index(children[name]) for name in joints})
        return True

    def redraw(self) -> None:
        """Redraw the robot as soon as possible, even if its configuration has not changed."""
        self._changed = True

    @property
    def _offset(self) -> np.ndarray | None:
        return None if self.actor.offsets is None else self.actor.offsets[0]


# -- inverse kinematics of a dragged frame


_STEPS = 30
_LENGTH = 0.3  # [m] error of position that counts as much as one of 1 rad
_SLACK = 1e-10  # decrease of the cost, relative, below which the approach ends


def dragged(
    robot: Any, q: np.ndarray, frame: str, X_target: np.ndarray, *, position_only: bool, jumps: bool
) -> np.ndarray:
    """Return the configuration (nq,) with a frame at ``X_target`` (4, 4) [m], or as near to it as possible.

    ``position_only`` leaves the orientation free.  ``jumps`` permits a solution far from q (nq,).
    """
    target = X_target[:3, 3] if position_only else X_target
    result = robot.inverse_kinematics(target, frame, q_init=q)
    if bool(result.success) and (jumps or int(result.restarts) == 0):
        return np.asarray(result.q)
    return _approach(robot, q, frame, X_target, position_only)


def pose_error(X: np.ndarray, X_target: np.ndarray) -> np.ndarray:
    """Return the rotation vector and the translation (6,) [rad, m] from X to X_target (4, 4), in world axes."""
    R = X_target[:3, :3] @ X[:3, :3].T
    vector = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine, cosine = float(np.linalg.norm(vector)), 0.5 * (float(np.trace(R)) - 1.0)
    if sine > 1e-9:
        vector *= np.arctan2(sine, cosine) / sine
    elif cosine < 0.0:  # half a turn: R + 1 = 2 n nᵀ
        column = (R + np.eye(3))[:, int(np.argmax(np.diag(R)))]
        vector = np.pi * column / np.linalg.norm(column)
    return np.concatenate([vector, X_target[:3, 3] - X[:3, 3]])


def _approach(robot: Any, q: np.ndarray, frame: str, X_target: np.ndarray, position_only: bool) -> np.ndarray:
    scale = np.full(6, 1.0 / _LENGTH)
    scale[:3] = 0.0 if position_only else 1.0
    lower, upper, indices = _bounds(robot)
    closed = closes_loops(robot)

    def error_of(configuration: np.ndarray) -> np.ndarray:
        weighted: np.ndarray = scale * pose_error(np.asarray(robot.pose(configuration, frame)), X_target)
        return weighted

    error, damping = error_of(q), 1e-3
    for _ in range(_STEPS):
        cost = float(error @ error)
        J = scale[:, None] * np.asarray(robot.jacobian(q, frame))
        if closed:
            J = J @ _free_motions(np.asarray(robot.constraint_jacobian(q)))
        step = _bounded_step(J, error, damping, q[indices], lower, upper)
        ahead: np.ndarray | None = np.asarray(robot.integrate(q, step))
        limited = np.isfinite(lower) | np.isfinite(upper)
        ahead[indices[limited]] = np.clip(ahead[indices[limited]], lower[limited], upper[limited])  # type: ignore[index]
        if closed:
            ahead = assembled(robot, np.asarray(ahead))
        new = None if ahead is None else error_of(ahead)
        if ahead is None or new is None or float(new @ new) >= cost:
            damping *= 8.0
            if damping > 1e6:
                break
            continue
        q, error, damping = ahead, new, max(damping / 4.0, 1e-9)
        if cost - float(error @ error) <= _SLACK * cost:
            break
    return q


def _bounds(robot: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return lower and upper limits (nv,) of the coordinates along v, and the index in q of each.

    Coordinates without limits have ±inf.
    """
    low, high = np.full(robot.nv, -np.inf), np.full(robot.nv, np.inf)
    indices = np.zeros(robot.nv, dtype=int)
    lower, upper = robot.lower, robot.upper
    for joint in robot.joints:
        if joint.nq == joint.nv and joint.coupling is None:
            low[joint.v_slice], high[joint.v_slice] = lower[joint.q_slice], upper[joint.q_slice]
            indices[joint.v_slice] = range(joint.q_slice.start, joint.q_slice.stop)
    return low, high, indices


def _bounded_step(
    J: np.ndarray, error: np.ndarray, damping: float, at: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """Return the damped least-squares step (nv,) for a pose error; joints that reach a limit stop there.

    ``J`` is the Jacobian, and ``at`` (nv,) are the present coordinates.
    """
    step, free = np.zeros(len(at)), np.ones(len(at), dtype=bool)
    for _ in range(len(at)):
        columns = J[:, free]
        normal = columns.T @ columns + damping * np.eye(columns.shape[1])
        step[free] = np.linalg.solve(normal, columns.T @ (error - J[:, ~free] @ step[~free]))
        beyond = free & ((at + step > upper) | (at + step < lower))
        if not beyond.any():
            break
        step[beyond] = np.clip(at + step, lower, upper)[beyond] - at[beyond]
        free &= ~beyond
        if not free.any():
            break
    return step


def _free_motions(G: np.ndarray) -> np.ndarray:
    """Return the orthogonal projection (nv, nv) onto the velocities that satisfy the constraints G v = 0."""
    _, values, rows = np.linalg.svd(G)
    rank = int((values > 1e-9 * max(float(values.max(initial=0.0)), 1e-300)).sum())
    free = rows[rank:]
    result: np.ndarray = free.T @ free
    return result


_TOUCHING = 1e-4  # [rad, m] distance from a limit, relative to the range, below which a joint is at it
_FIXED_RANGE = 2.0  # [rad, m] range of a slider whose limits are equal


@dataclass(frozen=True)
class JointCoordinate:
    """A coordinate that a slider changes: one of q, or a component of a joint's motion along v from ``origin``."""

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
        """Return the value of the coordinate in a configuration q (nq,)."""
        return float(self._sliders(q)[self.index])

    def changed(self, q: np.ndarray, value: float) -> np.ndarray:
        """Return q (nq,) with the coordinate set to ``value``."""
        result, sliders = q.copy(), self._sliders(q)
        sliders[self.index] = value
        moved = sliders if self.origin is None else self.body.call_joint("integrate", self.origin, sliders)
        result[self.part] = moved
        return result

    def _sliders(self, q: np.ndarray) -> list[Any]:
        part = q[self.part].tolist()
        return part if self.origin is None else list(self.body.call_joint("difference", self.origin, part))


def joint_coordinates(robot: Any, q: np.ndarray) -> list[JointCoordinate]:
    """Return the coordinates of all joints that do not follow another joint, in their order in q.

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
    """Return the configuration (nq,) in which a coordinate has a value, or comes as near to it as the loops permit.

    ``q`` (nq,) is an assembled configuration. The other joints follow in steps, those with an actuator as little as
    possible. A step that does not assemble, as at a turning point, is halved.
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
    """Return the coordinates of joints in q (nq,) by joint name: a number, or an array for a joint with several."""
    parts = {name: q[robot.joint(name).q_slice] for name in joints}
    return {name: part if len(part) > 1 else float(part[0]) for name, part in parts.items()}


def assembled(robot: Any, q: np.ndarray) -> np.ndarray | None:
    """Return the configuration near q (nq,) with closed loops; None if none is found."""
    if not closes_loops(robot):
        return q
    result = robot.assemble(q, check=False)
    return np.asarray(result.q) if bool(result.success) else None
