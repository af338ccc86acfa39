"""Rates of Jacobians of real robots on fixed bases, against MuJoCo to 1e-10."""

import numpy as np
import pytest

pytest.importorskip("mujoco")

import mujoco

from oracles.comparison import assert_close
from oracles.example_robots import EXAMPLES
from oracles.mujoco_model import MuJoCo

FIXED = ("panda", "ur5", "tiago_pro", "baxter", "kinova", "xarm7")


def test_rates_of_jacobians_equal_mujocos(drawn):
    for example in drawn(example for example in EXAMPLES if example.name in FIXED):
        robot, oracle = example.robot(), MuJoCo(example)
        rng = np.random.default_rng(4)
        q, v, a = robot.random_configuration(rng), *rng.normal(size=(2, robot.nv))
        T = oracle._put(q, v, a)  # the velocities there, of ours: a permutation, so that it has no rate
        for frame in example.frames:
            body = oracle.model.body(frame).id
            linear, angular = np.zeros((2, 3, oracle.model.nv))
            mujoco.mj_jacDot(oracle.model, oracle.data, linear, angular, oracle.data.body(body).xpos, body)
            expected = np.concatenate([angular, linear]) @ T
            rate = robot.jacobian_derivative(q, v, frame)
            assert_close(rate, expected, 1e-10, f"{example}: {frame}", core=2)
