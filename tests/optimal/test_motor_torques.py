"""Torques of optimal motions: motors also overcome armature, springs, damping and friction of joints."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwork as lw
from helpers.resisted import resisted
from linkwork.model.random_tree import random_tree
from linkwork.optimal.algorithms.jacobian_check import WindowSample
from linkwork.optimal.features import TorqueFeature, TorqueLimits


def test_torque_features_equal_inverse_dynamics_with_passive_forces_for_every_joint_type() -> None:
    tree = resisted(random_tree(np.random.default_rng(5), 18))
    robot = lw.Robot(tree)
    w = WindowSample.random(tree, np.random.default_rng(6), 2, {}, {}).window()
    motion = w.configuration(1), w.mean_velocity(), w.acceleration()
    expected = [robot.inverse_dynamics(*motion, passive=passive) for passive in (False, True)]
    assert np.abs(expected[1] - expected[0]).min() > 1e-3
    limits = TorqueLimits(upper=0.0).bind(robot, w).values(w, ())
    torques = TorqueFeature().bind(robot, w).values(w, ()), limits[1::2], w.torque()
    np.testing.assert_allclose(torques, [expected[1]] * 3, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(w.torque(passive=False), expected[0], rtol=1e-11, atol=1e-11)


@pytest.mark.slow(every=3)
def test_least_time_of_a_slide_with_friction_equals_the_closed_form() -> None:
    """It accelerates with (F − f)/m and decelerates with (F + f)/m, where m includes the armature."""
    mass, rotor, friction, force, distance = 2.0, 1.0, 3.0, 9.0, 1.5
    robot = lw.Robot.build(
        "slide",
        lw.Link("cart", mass=mass),
        lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="rail", parent="world", child="cart", effort=force),
    ).with_joint_dynamics(armature=rotor, friction=friction)
    problem = lw.TrajectoryProblem(robot, num_steps=50, duration=(0.2, 5.0)).add("duration", "cost")
    problem = problem.add_limits(torques=True).add("configuration", "equality", steps=-1, target=[distance])
    result = problem.add("velocity", "equality", steps=-1).solve([0.0])
    share = (mass + rotor) * (1.0 / (force - friction) + 1.0 / (force + friction))
    assert result.success and result.duration == pytest.approx(math.sqrt(2.0 * distance * share), rel=0.03)


@pytest.mark.slow(every=9)
def test_iterative_lqr_gains_of_long_steps_are_stable_with_friction_and_damping() -> None:
    """Damping and friction are stiff: an explicit step of 50 ms would multiply velocities by −100."""
    robot = lw.load("arm6")
    goal = np.array([0.3, -1.0, 1.2, -0.8, -1.0, 0.4])
    problem = lw.TrajectoryProblem(robot, num_steps=12, duration=0.6).add("acceleration", "least_squares", scale=0.05)
    controller = problem.add(lw.ik.PostureTask(target=goal), "least_squares", scale=10.0).controller()
    simulator = lw.Simulator(robot, dt=1e-3)
    state = simulator.reset(goal + 0.3)
    for _ in range(10):
        command = controller.step((state.q, state.v))
        assert controller.passive and command.status == "planned"
        for _ in range(5):
            state = simulator.step(command(state.q, state.v), count=10)
            assert np.abs(state.q - goal).max() < 0.31
