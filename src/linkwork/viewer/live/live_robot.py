"""Robot of a live page: its configuration, the drawing that follows it, and what is computed from it."""

from __future__ import annotations

import numpy as np

from linkwork.viewer.document import Actor
from linkwork.viewer.live.actor_drawing import ActorDrawing
from linkwork.viewer.live.dragging import dragged
from linkwork.viewer.live.joint_coordinates import JointCoordinate, at_limits, joint_coordinates
from linkwork.viewer.live.slider_motion import assembled, closes_loops, slid

__all__ = ["LiveRobot"]

_SHORT = 1e-3  # [rad, m] distance from the value of a slider that is worth a note


class LiveRobot:
    """An actor whose robot is known, in its current configuration.

    Only the page's worker changes it.
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
        """True for one robot, whose joints have sliders; False for several."""
        return len(self.q) == 1

    def set(self, q: np.ndarray) -> None:
        """Set the configurations (n, nq), which are checked when they are drawn."""
        self.q, self._changed, self.note = q, True, ""

    def slide(self, coordinate: JointCoordinate, value: float) -> None:
        """Move a coordinate to a value, as far as closed loops permit."""
        self.set(slid(self.robot, self.q[0], coordinate, value)[None])
        reached = coordinate.value(self.q[0])
        if abs(reached - value) > _SHORT:
            self.note = f"{coordinate.name} stops at {reached:.4g} {coordinate.unit}: the loops do not close beyond"

    def take(self, q: np.ndarray) -> None:
        """Set a configuration (nq,), with its loops closed.  Raises ValueError if they do not close near it."""
        closed = assembled(self.robot, q)
        if closed is None:
            raise ValueError("the loops do not close near this configuration")
        self.set(closed[None])

    def take_random(self) -> None:
        """Set a random configuration within the limits, with its loops closed."""
        self.take(np.asarray(self.robot.random_configuration(self._rng)))

    def drag(self, frame: str, X_target: np.ndarray, position_only: bool, jumps: bool) -> None:
        """Move a frame to a pose (4, 4), or as near to it as possible [m]."""
        to_world = self._offset
        if to_world is not None:
            X_target = np.linalg.inv(to_world) @ X_target
        self.set(dragged(self.robot, self.q[0], frame, X_target, position_only=position_only, jumps=jumps)[None])

    def pose(self, frame: str) -> np.ndarray:
        """Return the pose (4, 4) of a frame in the picture [m]."""
        X = np.asarray(self.robot.pose(self.q[0], frame))
        return X if self._offset is None else self._offset @ X

    def in_picture(self, points: np.ndarray) -> np.ndarray:
        """Return the positions of points (..., 3) of the robot's world in the picture [m]."""
        X = self._offset
        return points if X is None else points @ X[:3, :3].T + X[:3, 3]

    def in_picture_of_each(self, points: np.ndarray) -> np.ndarray:
        """Return the positions of points (n, k, 3) of the worlds of n instances in the picture [m]."""
        X = self.actor.offsets
        return points if X is None else points @ X[:, :3, :3].mT + X[:, None, :3, 3]

    def draw(self) -> bool:
        """Move the drawing to the configuration; return False if it has not changed.

        Raises ValueError for an invalid configuration, and returns to the one before.
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
        """Redraw as soon as possible, even without a new configuration."""
        self._changed = True

    @property
    def _offset(self) -> np.ndarray | None:
        return None if self.actor.offsets is None else self.actor.offsets[0]
