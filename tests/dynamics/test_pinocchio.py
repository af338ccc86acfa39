"""Dynamics and kinematics of real robots, against Pinocchio.

Errors are relative to the size of what is compared, sample by sample, and at most 1e-12; forward dynamics solves with
the mass matrix, where each of the two libraries may lose cond(M) roundings.
"""

import functools

import numpy as np
import pytest

pytest.importorskip("pinocchio")

from oracles.comparison import assert_close, solving_bound
from oracles.example_robots import EXAMPLES, SHIPPED
from oracles.pinocchio_model import ALIGNED, LOCAL, WORLD, Pinocchio

every_robot = pytest.mark.parametrize("example", [*EXAMPLES, *SHIPPED], ids=str)
SAMPLES = 20

pinocchio = functools.cache(Pinocchio)


def view_of(frame):
    """The names that linkwork has for Pinocchio's reference frames."""
    return {LOCAL: {"expressed_in": frame}, WORLD: {"point": "world"}, ALIGNED: {}}


def state(robot):
    rng = np.random.default_rng(7)
    v, a = rng.normal(size=(2, SAMPLES, robot.nv))
    return robot.random_configuration(rng, size=SAMPLES), v, a


@pytest.mark.costly
@every_robot
def test_forward_kinematics_of_robots_equals_pinocchios(example):
    robot, oracle = example.robot(), pinocchio(example)
    q, _, _ = state(robot)
    expected = oracle.forward_kinematics(q)
    assert_close(robot.forward_kinematics(q), expected, 1e-12, "forward_kinematics", core=2)
    assert example.frames
    for frame in example.frames:
        assert_close(robot.pose(q, frame), oracle.pose(q, frame), 1e-12, "pose", core=2)


@pytest.mark.slow
@every_robot
def test_twists_accelerations_and_jacobians_of_robots_equal_pinocchios(example):
    robot, oracle = example.robot(), pinocchio(example)
    q, v, a = state(robot)
    for frame in example.frames:
        # the first frame in every view, the others in the one that people ask for
        views = view_of(frame) if frame == example.frames[0] else {ALIGNED: {}}
        for theirs, ours in views.items():
            expected = oracle.twist(q, v, frame, theirs)
            assert_close(robot.twist(q, v, frame, **ours), expected, 1e-12, "twist", core=1)
            expected = oracle.acceleration(q, v, a, frame, theirs)
            assert_close(robot.acceleration(q, v, a, frame, **ours), expected, 1e-12, "acceleration", core=1)
            expected = oracle.jacobian(q, frame, theirs)
            assert_close(robot.jacobian(q, frame, **ours), expected, 1e-12, "jacobian", core=2)


@pytest.mark.slow
@every_robot
def test_inverse_dynamics_and_mass_matrices_of_robots_equal_pinocchios(example):
    robot, oracle = example.robot(), pinocchio(example)
    q, v, a = state(robot)
    expected = oracle.inverse_dynamics(q, v, a)
    assert_close(robot.inverse_dynamics(q, v, a), expected, 1e-12, "inverse_dynamics", core=1)
    assert_close(robot.mass_matrix(q), oracle.mass_matrix(q), 1e-12, "mass_matrix", core=2)
    assert_close(robot.bias_force(q, v), oracle.bias_force(q, v), 1e-12, "bias_force", core=1)
    assert_close(robot.gravity_force(q), oracle.gravity_force(q), 1e-12, "gravity_force", core=1)


@pytest.mark.slow
@every_robot
def test_forward_dynamics_of_robots_equals_pinocchios(example):
    robot, oracle = example.robot(), pinocchio(example)
    q, v, a = state(robot)
    tau, h = robot.inverse_dynamics(q, v, a), robot.bias_force(q, v)
    bound = solving_bound(robot.mass_matrix(q), (tau, h), a)
    acceleration = robot.forward_dynamics(q, v, tau)
    assert_close(acceleration, a, bound, "forward_dynamics of inverse_dynamics", core=1)
    assert_close(acceleration, oracle.forward_dynamics(q, v, tau), bound, "forward_dynamics", core=1)


@every_robot
def test_integrate_and_difference_of_robots_equal_pinocchios(example):
    robot, oracle = example.robot(), pinocchio(example)
    q, v, _ = state(robot)
    p = robot.random_configuration(seed=8, size=SAMPLES)
    result, expected = oracle.q(robot.integrate(q, v)), oracle.integrate(q, v)
    if example.floating:  # a quaternion and its negative are one rotation
        result[:, 3:7] *= np.sign(np.sum(result[:, 3:7] * expected[:, 3:7], axis=-1, keepdims=True))
    assert_close(result, expected, 1e-12, "integrate", core=1)
    result, expected = robot.difference(q, p), oracle.difference(q, p)
    for ours, their_columns, _ in oracle.configurations:
        if their_columns.stop - their_columns.start == 2:  # whole turns of a continuous joint
            velocities = next(joint.v_slice for joint in robot.joints if joint.q_slice == ours)
            result[:, velocities] = (result[:, velocities] + np.pi) % (2.0 * np.pi) - np.pi
    assert_close(result, expected, 1e-12, "difference", core=1)


def test_robots_compared_with_pinocchio_cover_all_kinds_of_joints():
    """Fixed and floating bases; prismatic, revolute and continuous joints, and coupled joints."""
    joints = [joint for example in EXAMPLES for joint in example.robot().joints]
    assert {joint.type_name for joint in joints} >= {"revolute", "prismatic", "floating"}
    assert any(joint.mimic for joint in joints)
    assert any(joint.type_name == "revolute" and np.isinf(joint.upper) for joint in joints)
    assert {example.floating for example in EXAMPLES} == {True, False}
    assert len(EXAMPLES) >= 10
