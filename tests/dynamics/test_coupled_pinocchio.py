"""Grippers of real robots with coupled joints, against Pinocchio's mimic joints."""

import functools

import numpy as np
import pytest

from oracles.comparison import assert_close
from oracles.example_robots import EXAMPLES, SHIPPED

pytest.importorskip("pinocchio")

from oracles.pinocchio_model import Pinocchio

BY_NAME = {example.name: example for example in (*EXAMPLES, *SHIPPED)}
every_gripper = pytest.mark.parametrize("name", ["panda", "pr2", "tiago_pro", "baxter", "arm7_gripper"])


@functools.cache
def both(name):
    example = BY_NAME[name]
    robot = example.load(mimic="coupled")
    assert robot.nv < example.robot().nv
    return robot, Pinocchio(example, robot)


def state(robot):
    rng = np.random.default_rng(0)
    return robot.neutral() + rng.uniform(-1.0, 1.0, size=(3, robot.nq)), *rng.normal(size=(2, 3, robot.nv))


@pytest.mark.costly
@every_gripper
def test_dynamics_of_grippers_with_couplings_equal_pinocchios(name):
    robot, pin = both(name)
    q, v, a = state(robot)
    assert_close(robot.mass_matrix(q), pin.mass_matrix(q), 1e-13, core=2)
    assert_close(robot.inverse_dynamics(q, v, a), pin.inverse_dynamics(q, v, a), 1e-12, core=1)
    assert_close(robot.bias_force(q, v), pin.bias_force(q, v), 1e-12, core=1)
    assert_close(robot.gravity_force(q), pin.gravity_force(q), 1e-12, core=1)


@pytest.mark.slow
@every_gripper
def test_kinematics_of_grippers_with_couplings_equal_pinocchios(name):
    robot, pin = both(name)
    q, v, a = state(robot)
    assert_close(robot.forward_kinematics(q), pin.forward_kinematics(q), 1e-14, core=2)
    for frame in (b.name for b in robot.tree.bodies if b.coupling is not None):
        world = pin.VIEWS[2]
        assert_close(robot.twist(q, v, frame), pin.twist(q, v, frame, world), 1e-13, core=1)
        assert_close(robot.acceleration(q, v, a, frame), pin.acceleration(q, v, a, frame, world), 1e-12, core=1)
        assert_close(robot.jacobian(q, frame), pin.jacobian(q, frame, world), 1e-13, core=2)
