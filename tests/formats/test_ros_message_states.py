"""Trajectories as messages of ROS: states of bases are those of their frames, and are read again."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork._util.file_access import Budget
from linkwork.errors import Findings, ModelError
from linkwork.formats.json_and_yaml import parse_json
from linkwork.formats.ros_messages import is_message, read_message, trajectory_message

FLOATING = lw.load("double_pendulum", floating_base=True)
SLED = lw.Robot.build(
    "sled",
    lw.Link("base", mass=1.0),
    lw.Link("arm", mass=1.0),
    lw.Joint.of(lw.joints.Planar(), name="on", parent="world", child="base", placement=(0.1, 0.2, 0.3)),
    lw.Joint.of(lw.joints.UnboundedRevolute((0.48, -0.6, 0.64)), name="arm", parent="base", child="arm"),
)
EULER = lw.Robot.build(
    "drone",
    lw.Link("body", mass=1.0),
    lw.Joint.of(lw.joints.FloatingEuler(), name="free", parent="world", child="body", placement=(0.1, 0.2, 0.3)),
)
T = np.array([0.0, 0.25, 0.5, 1.0])


def states(robot: lw.Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    q = robot.random_configuration(seed=1, size=len(T))
    if robot is EULER:  # of two triples of angles for a rotation, that with the smaller ones is read
        q = rng.uniform(-1.2, 1.2, q.shape)
    return q, rng.normal(size=(len(T), robot.nv)), rng.normal(size=(len(T), robot.nv))


def read(robot: lw.Robot, message: Any) -> Any:
    root = parse_json(json.dumps(message), "m.json", Findings(), Budget())
    assert is_message(root)
    return read_message(root, robot.tree, "m.json")


@pytest.mark.light
@pytest.mark.parametrize("robot", [FLOATING, SLED, EULER], ids=["floating", "planar", "euler"])
def test_states_of_bases_in_messages_are_those_of_their_frames_and_are_read_again(robot: lw.Robot) -> None:
    q, v, a = states(robot)
    message = trajectory_message(robot.tree, T, q, v, a)
    points = message["multi_dof_joint_trajectory"]["points"]
    body = robot.tree.bodies[0]
    fixed = np.array([*body.placement.translation])
    h = 1e-5
    for k, point in enumerate(points):
        transform = point["transforms"][0]
        X = robot.pose(q[k], body.name)
        position = np.array([transform["translation"][x] for x in "xyz"])
        assert position == pytest.approx(X[:3, 3] - fixed, abs=1e-14)
        x, y, z, w = (transform["rotation"][name] for name in "xyzw")
        R = lw.spatial.Rotation.from_quaternion(w, x, y, z)
        assert np.array([[*row] for row in R.rows()]) == pytest.approx(X[:3, :3], abs=1e-14)
        ends = [robot.integrate(q[k], s * h * v[k] + 0.5 * h * h * a[k]) for s in (1.0, -1.0)]
        ahead, behind = (robot.pose(end, body.name) for end in ends)
        velocity, acceleration = (point[key][0] for key in ("velocities", "accelerations"))
        linear = np.array([velocity["linear"][x] for x in "xyz"])
        assert linear == pytest.approx((ahead - behind)[:3, 3] / (2.0 * h), abs=1e-8)
        spin = (ahead - behind)[:3, :3] @ X[:3, :3].T / (2.0 * h)
        angular = [velocity["angular"][x] for x in "xyz"]
        assert angular == pytest.approx([spin[2, 1], spin[0, 2], spin[1, 0]], abs=1e-8)
        at_rest = trajectory_message(robot.tree, T, q, 0.0 * v, a)["multi_dof_joint_trajectory"]["points"][k]
        moved = robot.pose(robot.integrate(q[k], 0.5 * h * h * a[k]), body.name)[:3, 3] - X[:3, 3]
        linear = np.array([at_rest["accelerations"][0]["linear"][x] for x in "xyz"])
        assert linear == pytest.approx(moved / (0.5 * h * h), abs=1e-4)
        part = "angular" if robot is EULER else "linear"  # which depends on velocities
        assert acceleration[part] != at_rest["accelerations"][0][part]
    for ros_version in (1, 2):
        message = trajectory_message(robot.tree, T, q, v, a, ros_version=ros_version)
        result = read(robot, {"trajectory": message})
        assert np.array_equal(result.t, T)
        assert np.abs(robot.difference(q, result.q)).max() < 1e-12
        assert result.v == pytest.approx(v, abs=1e-12) and result.a == pytest.approx(a, abs=1e-11)
    without = read(robot, trajectory_message(robot.tree, T, q, v, None))
    assert without.a is None and without.v == pytest.approx(v, abs=1e-12)
    assert read(robot, trajectory_message(robot.tree, T, q, None, None)).v is None


def test_damaged_messages_name_the_value_and_the_joint() -> None:
    q, v, a = states(FLOATING)
    message = trajectory_message(FLOATING.tree, T, q, v, a)
    base, first, second = (joint.name for joint in FLOATING.joints)

    def edited(*path: Any, value: Any) -> Any:
        result = copy.deepcopy(message)
        inner: Any = result
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        return result

    def unit(norm: float) -> dict[str, float]:
        return {"x": 0.48 * norm, "y": 0.6 * norm, "z": 0.0, "w": -0.64 * norm}

    plain, multi = "joint_trajectory", "multi_dof_joint_trajectory"
    rounded = read(FLOATING, edited(multi, "points", 0, "transforms", 0, "rotation", value=unit(1.0005)))
    assert np.linalg.norm(rounded.q[0, :4]) == pytest.approx(1.0, abs=1e-15)
    for document, text in (
        (edited(plain, "joint_names", value=[first, first]), rf"joint '{first}' is listed twice"),
        (edited(plain, "joint_names", value=[first, second, second]), rf"joint '{second}' is listed twice"),
        (edited(plain, "joint_names", value=[first, "elbw"]), "has no joint 'elbw'.*did you mean|has no joint 'elbw'"),
        (
            edited(plain, "joint_names", value=[first, base]),
            f"joint '{base}' is a floating joint, which belongs to the",
        ),
        (edited(plain, "points", value=[]), f"no values of '{first}', '{second}'"),
        (edited(plain, "points", value=3), "points: expected a list"),
        (
            edited(plain, "points", 1, "time_from_start", value={"sec": 0, "nanosec": 0}),
            "expected times that increase, got 0",
        ),
        (
            edited(plain, "points", 1, "time_from_start", value={"sec": 0, "nanosec": 3}),
            "expected equal times of joint_traj",
        ),
        (edited(plain, "points", 2, "positions", value=[]), "the key 'positions' is missing"),
        (edited(multi, "points", 2, "velocities", value=[1, 2]), "velocities: expected a list of 1"),
        (
            edited(multi, "points", 0, "transforms", 0, "rotation", "w", value=7.0),
            "rotation: expected a unit quaternion",
        ),
        (edited(multi, "points", 0, "transforms", 0, "rotation", "v", value=7.0), "'v'"),
        (edited(multi, "points", 0, "transforms", 0, "rotation", value=unit(1.005)), "expected a unit quaternion"),
        (edited(multi, "points", 0, "transforms", 0, "rotation", value=3), "rotation: expected an object"),
        (edited(multi, "points", 0, "transforms", 0, value=3), "expected an object"),
        (edited(plain, value=3), "joint_trajectory: expected an object"),
        (edited(plain, value={"points": message[plain]["points"]}), "the key 'joint_names' is missing"),
        (edited(plain, value={"joint_names": [first, second]}), "the key 'points' is missing"),
        (edited(plain, "points", 1, value=3), "expected an object"),
        (edited(plain, "points", 1, "time_from_start", value="soon"), "time_from_start: expected an object"),
        ({"joint_names": [], "points": []}, "expected points of a trajectory, got none"),
    ):
        with pytest.raises(ModelError, match=text):
            read(FLOATING, document)
    for times, text in (
        (T * 1e-9, "times of a message must differ by at least 1 ns"),
        (T * 2.2e9, "times of a message are below"),
        (T * (2**31 - 1), "times of a message are below 2147483647 s"),
    ):
        with pytest.raises(ValueError, match=text):
            trajectory_message(FLOATING.tree, times, q, v, a)
    last = trajectory_message(FLOATING.tree, T * (2**31 - 2), q, v, a)[plain]["points"][-1]
    assert last["time_from_start"] == {"sec": 2**31 - 2, "nanosec": 0}
    with pytest.raises(TypeError, match="a JointTrajectory has no joints with several degrees of freedom"):
        trajectory_message(FLOATING.tree, T, q, v, a, message="JointTrajectory")
    ball = FLOATING.with_joint(FLOATING.joint(first).with_type(lw.joints.Spherical()))
    with pytest.raises(TypeError, match=rf"messages of ROS have no coordinates of '{first}' \(spherical\); save"):
        trajectory_message(ball.tree, T, q, v, a)
