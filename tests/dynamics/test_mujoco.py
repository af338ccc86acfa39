"""Dynamics of real robots, against MuJoCo to 1e-10.

MuJoCo rewrites each inertia by its principal axes, found by an iteration that stops at 1e-12: hence not 1e-12 here.
"""

import numpy as np
import pytest

pytest.importorskip("mujoco")

from oracles.comparison import assert_close
from oracles.example_robots import EXAMPLES, SHIPPED
from oracles.mujoco_model import MuJoCo

# MuJoCo refuses the inertias of some others (no body has them), which Pinocchio and linkwork compute with
ACCEPTED = ("panda", "ur5", "tiago_pro", "baxter", "kinova", "xarm7", "talos", "g1", "solo12", "go2")
ROBOTS = [*(example for example in EXAMPLES if example.name in ACCEPTED), *SHIPPED]
SAMPLES = 20


@pytest.mark.slow
@pytest.mark.parametrize("example", ROBOTS, ids=str)
def test_dynamics_and_kinematics_of_robots_equal_mujocos(example):
    robot = example.robot()
    rng = np.random.default_rng(9)
    v, a = rng.normal(size=(2, SAMPLES, robot.nv))
    q = robot.random_configuration(rng, size=SAMPLES)
    expected = MuJoCo(example).everything(q, v, a, example.frames)
    results = {
        "forward_kinematics": robot.forward_kinematics(q),
        "inverse_dynamics": robot.inverse_dynamics(q, v, a),
        "bias_force": robot.bias_force(q, v),
        "gravity_force": robot.gravity_force(q),
        "mass_matrix": robot.mass_matrix(q),
        "pose": np.stack([robot.pose(q, frame) for frame in example.frames], axis=1),
        "twist": np.stack([robot.twist(q, v, frame) for frame in example.frames], axis=1),
        "acceleration": np.stack([robot.acceleration(q, v, a, frame) for frame in example.frames], axis=1),
        "jacobian": np.stack([robot.jacobian(q, frame) for frame in example.frames], axis=1),
    }
    assert results.keys() == expected.keys()
    for name, value in results.items():
        core = {"inverse_dynamics": 1, "bias_force": 1, "gravity_force": 1, "twist": 1, "acceleration": 1}.get(name, 2)
        assert_close(value, expected[name], 1e-10, name, core=core)


def test_at_least_two_robots_compared_with_mujoco_have_a_floating_base():
    assert sum(example.floating for example in ROBOTS) >= 2
    assert len(ROBOTS) >= 5
