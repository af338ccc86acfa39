"""Points of real robots, against Pinocchio's frames at these points."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pinocchio")

import pinocchio as pin

from oracles.comparison import assert_close
from oracles.example_robots import EXAMPLES, SHIPPED
from oracles.pinocchio_model import ALIGNED, LOCAL, Pinocchio

SAMPLES = 4


@pytest.mark.slow
def test_points_of_every_robot_equal_pinocchios(drawn):
    for example in drawn((*EXAMPLES, *SHIPPED)):
        check(example)


def test_points_of_an_arm_equal_pinocchios():
    check(next(example for example in SHIPPED if example.name == "arm7"))


def check(example):
    """Compare two points in each of the example's frames, and the frames' axes as directions."""
    robot, oracle = example.robot(), Pinocchio(example)
    rng = np.random.default_rng(3)
    q, (v, a) = robot.random_configuration(rng, size=SAMPLES), rng.normal(size=(2, SAMPLES, robot.nv))
    frames = [name for name in example.frames for _ in range(2)]
    points = rng.normal(scale=0.2, size=(len(frames), 3))
    for k, (name, point) in enumerate(zip(frames, points, strict=True)):
        frame = oracle.model.frames[oracle.frame(name)]
        offset = frame.placement * pin.SE3(np.eye(3), point)
        oracle.model.addFrame(pin.Frame(f"marker{k}", frame.parentJoint, offset, pin.FrameType.BODY))
    oracle.data = oracle.model.createData()
    names = [f"marker{k}" for k in range(len(frames))]
    f = {name: getattr(robot, f"point_{name}") for name in ("position", "velocity", "acceleration", "jacobian")}
    expected = np.stack([oracle.pose(q, name)[:, :3, 3] for name in names], axis=1)
    assert_close(f["position"](q, frames, positions=points), expected, 1e-12, f"{example}: position", core=2)
    expected = np.stack([oracle.twist(q, v, name, ALIGNED)[:, 3:] for name in names], axis=1)
    assert_close(f["velocity"](q, v, frames, positions=points), expected, 1e-12, f"{example}: velocity", core=2)
    expected = np.stack([oracle.acceleration(q, v, a, name, ALIGNED)[:, 3:] for name in names], axis=1)
    acceleration = f["acceleration"](q, v, a, frames, positions=points)
    assert_close(acceleration, expected, 1e-12, f"{example}: acceleration", core=2)
    expected = np.stack([oracle.jacobian(q, name, ALIGNED)[:, 3:] for name in names], axis=1)
    assert_close(f["jacobian"](q, frames, positions=points), expected, 1e-12, f"{example}: jacobian", core=3)
    local_jacobian = oracle.jacobian(q, names[0], LOCAL)[:, 3:]
    acceleration = f["jacobian"](q, frames[0], positions=points[0], expressed_in=frames[0])
    assert_close(acceleration, local_jacobian, 1e-12, f"{example}: jacobian in the frame's axes", core=2)
    w = oracle.twist(q, v, frames[0], ALIGNED)[:, :3]
    u = oracle.pose(q, frames[0])[:, :3, 2]
    acceleration = robot.direction_velocity(q, v, f"{frames[0]}.z")
    assert_close(acceleration, np.cross(w, u), 1e-12, f"{example}: direction", core=1)
