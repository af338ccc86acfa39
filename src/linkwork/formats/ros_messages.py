"""Motions as messages of ROS: trajectory_msgs/JointTrajectory, and moveit_msgs/RobotTrajectory.

A JointTrajectory has joints with one degree of freedom.  The multi_dof_joint_trajectory of a RobotTrajectory also has
floating and planar joints, as transforms of the frame after the joint relative to the frame before it.  Their twists
and accelerations are those of the origin, in the coordinates of the frame before the joint.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from linkwork._util.messages import did_you_mean, listed, quoted
from linkwork.errors import Findings, Issue, ModelError, UnknownNameError
from linkwork.formats.constructor_reader import PlainReader
from linkwork.formats.data_values import Value
from linkwork.joints import JointType, Planar, UnboundedRevolute
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Pose, Quaternion, Rotation, Vec3

__all__ = ["MESSAGES", "MessageStates", "is_message", "read_message", "trajectory_message"]

MESSAGES = ("JointTrajectory", "RobotTrajectory")
_TIME_KEYS = {1: ("secs", "nsecs"), 2: ("sec", "nanosec")}
_NANO = 1_000_000_000
_MOST_SECONDS = 2**31 - 1
_UNIT = 1e-3  # largest deviation of a quaternion's length from 1
_POINT_KEYS = ("positions", "velocities", "accelerations", "effort", "time_from_start")
_MULTI_KEYS = ("transforms", "velocities", "accelerations", "time_from_start")


@dataclass(frozen=True, slots=True)
class _JointSlice:
    """A joint of a trajectory message, with the slices of its coordinates in q and v.

    ``kind`` is "angle" (one coordinate), "sine" (sine and cosine of an angle) or "pose" (floating or planar).
    """

    name: str
    joint: JointType
    in_q: slice
    in_v: slice
    kind: str


@dataclass(frozen=True, slots=True)
class MessageStates:
    """States of a message: times t (n,) [s], q (n, nq), and v and a (n, nv) if the message has them for all joints."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray | None
    a: np.ndarray | None


def _slices(tree: Tree, names: Sequence[str] | None = None) -> list[_JointSlice]:
    """Return all joints of a robot, or those with the given names in that order, with their slices of q and v.

    Raises TypeError for joints that no trajectory message can represent, UnknownNameError for unknown names.
    """
    result, refused = [], []
    stacked = {body.joint_name: (k, body) for k, body in tree.stacked()}
    for name in stacked if names is None else names:
        if name not in stacked:
            raise UnknownNameError(f"joint with coordinates of robot {tree.name!r}", name, stacked)
        k, body = stacked[name]
        joint = body.joint
        if joint.nv == 1 and joint.nq == 1:
            kind = "angle"
        elif isinstance(joint, UnboundedRevolute):
            kind = "sine"
        elif joint.is_floating or isinstance(joint, Planar):
            kind = "pose"
        else:
            refused.append(f"{quoted(body.joint_name)} ({joint.type_name()})")
            continue
        result.append(_JointSlice(body.joint_name, joint, tree.q_slices[k], tree.v_slices[k], kind))
    if refused:
        remedy = "save the trajectory as .npz or .csv"
        raise TypeError(f"messages of ROS have no coordinates of {', '.join(refused)}; {remedy}")
    return result


# -- writing


def trajectory_message(
    tree: Tree,
    t: np.ndarray,
    q: np.ndarray,
    v: np.ndarray | None,
    a: np.ndarray | None,
    *,
    message: str | None = None,
    ros_version: int = 2,
    names: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Convert states at times t (n,) [s] to a trajectory message, with all joints or those in ``names``.

    ``message`` is one of `MESSAGES`, by default the first that can represent all joints. Times are rounded to 1 ns,
    and must then increase. Raises TypeError for joints that the message does not have, ValueError for times.
    """
    joints = _slices(tree, names)
    several = [joint for joint in joints if joint.kind == "pose"]
    if message is None:
        message = MESSAGES[bool(several)]
    if message == "JointTrajectory" and several:
        names = listed([joint.name for joint in several])
        raise TypeError(
            f"a JointTrajectory has no joints with several degrees of freedom ({names}): RobotTrajectory has"
        )
    nanoseconds = [round(float(x) * _NANO) for x in t]
    if any(first >= second for first, second in pairwise(nanoseconds)):
        raise ValueError("times of a message must differ by at least 1 ns")
    if nanoseconds[-1] >= _MOST_SECONDS * _NANO:
        raise ValueError(f"times of a message are below {_MOST_SECONDS} s")
    stamps = [_time(x, ros_version) for x in nanoseconds]
    header = {"stamp": _time(0, ros_version), "frame_id": ""}
    plain = [joint for joint in joints if joint.kind != "pose"]
    points = []
    rates = [("velocities", v), ("accelerations", a)]
    positions = [_positions(joint, q[:, joint.in_q]) for joint in plain]
    for k, stamp in enumerate(stamps):
        point: dict[str, Any] = {"positions": [float(x[k]) for x in positions]}
        for key, values in rates:
            point[key] = [] if values is None else [float(values[k, joint.in_v][0]) for joint in plain]
        points.append(point | {"effort": [], "time_from_start": stamp})
    joint_trajectory = {"header": header, "joint_names": [joint.name for joint in plain], "points": points}
    if message == "JointTrajectory":
        return joint_trajectory
    if not plain:
        joint_trajectory["points"] = []
    frames = []
    for k, stamp in enumerate(stamps if several else []):
        states = [
            _pose_state(joint, q[k], None if v is None else v[k], None if a is None else a[k]) for joint in several
        ]
        transforms, velocities, accelerations = ([state[i] for state in states] for i in range(3))
        frames.append(
            {
                "transforms": transforms,
                "velocities": [] if v is None else velocities,
                "accelerations": [] if a is None else accelerations,
                "time_from_start": stamp,
            }
        )
    multi = {"header": header | {"frame_id": "world"}, "joint_names": [x.name for x in several], "points": frames}
    return {"joint_trajectory": joint_trajectory, "multi_dof_joint_trajectory": multi}


def _time(nanoseconds: int, ros_version: int) -> dict[str, int]:
    return dict(zip(_TIME_KEYS[ros_version], divmod(nanoseconds, _NANO), strict=True))


def _positions(joint: _JointSlice, q: np.ndarray) -> np.ndarray:
    """Return the angle or length of a joint (n,) from its coordinates (n, nq)."""
    return q[:, 0] if joint.kind == "angle" else np.unwrap(np.arctan2(q[:, 0], q[:, 1]))


def _pose_state(joint: _JointSlice, q: np.ndarray, v: np.ndarray | None, a: np.ndarray | None) -> tuple[Any, Any, Any]:
    """Return the transform, the twist and the acceleration of a joint as messages."""
    X = joint.joint.X(q[joint.in_q].tolist())
    turn = Quaternion.of(X.rotation)
    rotation = {**_xyz(turn.vector), "w": float(turn.w)}
    transform = {"translation": _xyz(X.translation), "rotation": rotation}
    if v is None:
        return transform, None, None
    rates = v[joint.in_v].tolist()
    twist = joint.joint.twist(q[joint.in_q].tolist(), rates)
    velocity = {"linear": _xyz(X.rotation @ twist.linear), "angular": _xyz(X.rotation @ twist.angular)}
    if a is None:
        return transform, velocity, None
    A = joint.joint.acceleration(q[joint.in_q].tolist(), rates, a[joint.in_v].tolist())
    linear = A.linear + twist.angular.cross(twist.linear)
    return transform, velocity, {"linear": _xyz(X.rotation @ linear), "angular": _xyz(X.rotation @ A.angular)}


def _xyz(vector: Vec3) -> dict[str, float]:
    return {axis: float(x) + 0.0 for axis, x in zip("xyz", vector, strict=True)}


# -- reading


def is_message(root: Value) -> bool:
    """Return True if a document has the keys of a trajectory message, at its top level or under "trajectory"."""
    keys = {"joint_names", "points", "joint_trajectory", "multi_dof_joint_trajectory", "trajectory"}
    return isinstance(root.content, dict) and bool(keys & {*root.content})


def read_message(root: Value, tree: Tree, file: str | None) -> MessageStates:
    """Return the states in a trajectory message as q, v and accelerations of a robot.

    Raises ModelError with all errors, TypeError for joint types that messages cannot represent.
    """
    return _MessageReader(file, Findings(), tree).read(root)


class _MessageReader(PlainReader):
    """Reader of the values of a trajectory message."""

    def __init__(self, file: str | None, findings: Findings, tree: Tree) -> None:
        super().__init__(file, findings)
        self.tree, self.joints = tree, {joint.name: joint for joint in _slices(tree)}
        self.columns: dict[str, list[Any]] = {}  # states by joint

    def read(self, root: Value) -> MessageStates:
        if isinstance(root.content, dict) and "trajectory" in root.content:
            root = root.content["trajectory"]
        parts = [("joint_trajectory", root, False)]
        if isinstance(root.content, dict) and "points" not in root.content:
            keys = ("joint_trajectory", "multi_dof_joint_trajectory")
            parts = [(key, root.content[key], key != keys[0]) for key in keys if key in root.content]
        read = [x for name, part, multi in parts if (x := self._part(part, name, multi)) is not None]
        self.findings.raise_errors()
        if not read:
            self.stop(root, "expected points of a trajectory, got none")
        times = read[0][0]
        if any(len(t) != len(times) or not np.array_equal(t, times) for t, _ in read):
            self.stop(root, "expected equal times of joint_trajectory and multi_dof_joint_trajectory")
        missing = [name for name in self.joints if name not in self.columns]
        if missing:
            got = f"the message has {listed([*self.columns])}"
            self.stop(root, f"no values of {listed(missing)}; {got}")
        has_v, has_a = (all(part[key] for _, part in read) for key in ("v", "a"))
        return self._states(np.array(times), has_v, has_a and has_v)

    def stop(self, value: Value, message: str) -> None:
        raise ModelError(Issue("MESSAGE", message, self.where(value)))

    def _part(self, value: Value, name: str, multi: bool) -> tuple[list[float], dict[str, bool]] | None:
        """Return the times of one part of a message, and a dict that tells which time derivatives the part has.

        The parts are joint_trajectory and multi_dof_joint_trajectory (``multi``). None for a part without joints.
        """
        if not self.is_object(value, name):
            return None
        names, points = self.required(value, "joint_names"), self.required(value, "points")
        if names is None or points is None:
            return None
        joints = [*self._joints(names, multi)]
        if not isinstance(points.content, list):
            self.error(points, "DATA_TYPE", f"points: expected a list, got {points.kind}")
            return None
        if not joints or not points.content:
            return None
        self.findings.raise_errors()
        has = {"v": True, "a": True}
        times: list[float] = []
        keys = _MULTI_KEYS if multi else _POINT_KEYS
        for point in points.items:
            if not self.is_object(point, "points"):
                continue
            self.known(point, keys)
            time = self.required(point, "time_from_start")
            times.append(0.0 if time is None else self._seconds(time))
            if len(times) > 1 and times[-1] <= times[-2]:
                self.error(
                    point, "TIME_ORDER", f"expected times that increase, got {times[-1]:.9g} after {times[-2]:.9g}"
                )
            rows = {}
            for key, short in ((keys[0], "q"), ("velocities", "v"), ("accelerations", "a")):
                rows[short] = self._row(point, key, joints, multi and short == "q", multi)
            for short in has:
                has[short] &= rows[short] is not None
            if rows["q"] is None:
                self.error(point, "KEY_MISSING", f"the key {quoted(keys[0])} is missing")
                continue
            for j, joint in enumerate(joints):
                state = tuple(None if (row := rows[short]) is None else row[j] for short in "qva")
                self.columns.setdefault(joint.name, []).append(state)
            self.findings.raise_errors()
        return times, has

    def _joints(self, names: Value, multi: bool) -> Iterator[_JointSlice]:
        stated_names = set()
        for item in names.items if isinstance(names.content, list) else []:
            name = item.content if isinstance(item.content, str) else ""
            joint = self.joints.get(name)
            if name in stated_names:
                self.error(item, "DUPLICATE_NAME", f"joint {quoted(name)} is listed twice")
                continue
            stated_names.add(name)
            if joint is None:
                known = [*self.joints]
                message = (
                    f"robot {self.tree.name!r} has no joint {quoted(str(item.content))}: its joints are {listed(known)}"
                )
                self.error(item, "UNKNOWN_JOINT", message, did_you_mean(name, known) or None)
            elif (joint.kind == "pose") != multi:
                message = f"joint {quoted(name)} is a {joint.joint.type_name()} joint, which belongs to the other part"
                self.error(item, "JOINT_TYPE", message)
            else:
                yield joint

    def _seconds(self, value: Value) -> float:
        """Return a duration [s], stated as a ROS 1 or ROS 2 duration or as a number of seconds."""
        if isinstance(value.content, float):
            return value.content
        if not self.is_object(value, "time_from_start"):
            return 0.0
        for seconds, nanoseconds in _TIME_KEYS.values():
            if seconds in value.content or nanoseconds in value.content:
                self.known(value, (seconds, nanoseconds))
                parts = [
                    self.number(value.content[key]) if key in value.content else 0.0 for key in (seconds, nanoseconds)
                ]
                return (int(parts[0]) * _NANO + int(parts[1])) / _NANO
        self.known(value, [key for keys in _TIME_KEYS.values() for key in keys])
        return 0.0

    def _row(self, point: Value, key: str, joints: list[_JointSlice], poses: bool, multi: bool) -> list[Any] | None:
        """Return the values under ``key`` of a trajectory point, one for each joint.

        None if the list is missing or empty.
        """
        value = point.content.get(key)
        if value is None or value.content is None or value.content == []:
            return None
        if not multi:
            return [*self.number_list(value, len(joints))]
        if not isinstance(value.content, list) or len(value.content) != len(joints):
            self.error(value, "ARITY", f"{key}: expected a list of {len(joints)}, got {value.kind}")
            return None
        return [self._transform(item) if poses else self._twist(item) for item in value.items]

    def _transform(self, value: Value) -> Pose:
        parts = {}
        for key, names in (("translation", "xyz"), ("rotation", "xyzw")):
            parts[key] = self._components(value, key, names)
        norm = float(np.linalg.norm(parts["rotation"]))
        if abs(norm - 1.0) > _UNIT:
            self.error(value, "QUAT_NORM", f"rotation: expected a unit quaternion (x, y, z, w), its norm is {norm:.9g}")
            return Pose.identity()
        x, y, z, w = (part / norm for part in parts["rotation"])
        return Pose(Rotation.from_quaternion(w, x, y, z), Vec3.of(parts["translation"]))

    def _twist(self, value: Value) -> Motion:
        linear, angular = (Vec3.of(self._components(value, key, "xyz")) for key in ("linear", "angular"))
        return Motion(angular, linear)

    def _components(self, value: Value, key: str, names: str) -> list[float]:
        inner = self.required(value, key) if self.is_object(value, str(value.step)) else None
        if inner is None or not self.is_object(inner, key):
            return [0.0] * len(names)
        self.known(inner, [*names])
        parts: Mapping[str, Value] = inner.content
        return [self.number(parts[name]) if name in parts else 0.0 for name in names]

    def _states(self, t: np.ndarray, has_v: bool, has_a: bool) -> MessageStates:
        n = len(t)
        q, v, a = (np.zeros((n, k)) for k in (self.tree.nq, self.tree.nv, self.tree.nv))
        for name, joint in self.joints.items():
            for k, (position, rate, second) in enumerate(self.columns[name]):
                if joint.kind == "pose":
                    states = self._coordinates(
                        joint.joint, position, rate if has_v else None, second if has_a else None
                    )
                else:
                    coordinates = [position] if joint.kind == "angle" else [np.sin(position), np.cos(position)]
                    states = coordinates, [rate if has_v else 0.0], [second if has_a else 0.0]
                q[k, joint.in_q], v[k, joint.in_v], a[k, joint.in_v] = states
            if joint.kind == "pose":
                for j, unit in enumerate(joint.joint.q_units):
                    if unit == "rad":
                        column = joint.in_q.start + j
                        q[:, column] = np.unwrap(q[:, column])
        return MessageStates(t, q, v if has_v else None, a if has_a else None)

    def _coordinates(self, joint: JointType, X: Pose, V: Motion | None, A: Motion | None) -> tuple[Any, Any, Any]:
        q = [float(x) for x in joint.configuration_from_pose(X)]
        if V is None:
            return q, [0.0] * joint.nv, [0.0] * joint.nv
        back = X.rotation.T
        twist = Motion(back @ V.angular, back @ V.linear)
        v = [float(x) for x in joint.velocity_from_twist(q, twist)]
        if A is None:
            return q, v, [0.0] * joint.nv
        spatial = Motion(back @ A.angular, back @ A.linear - twist.angular.cross(twist.linear))
        return q, v, [float(x) for x in joint.velocity_from_twist(q, spatial - joint.bias(q, v))]
