"""Rates of Jacobians and kinematic Hessians of real robots, against Pinocchio.

Adaptations.  LOCAL_WORLD_ALIGNED is a frame as it is.  In WORLD, Pinocchio differentiates the Jacobian at the world's
origin, a point that stays; `at="world"` asks of the point of the body that passes there: the linear parts differ by
ω × the velocity of that point, of the twist for J̇ and of the unit twists for H.  Pinocchio hands its Hessians over with
their elements in the order of columns first.
"""

import numpy as np
import pytest

pytest.importorskip("pinocchio")

import pinocchio as pin

from oracles.comparison import assert_close
from oracles.example_robots import EXAMPLES
from oracles.pinocchio_model import ALIGNED, WORLD, Pinocchio
from oracles.scalars import Direct

SAMPLES = 3


def of_a_point_that_stays(rate, J, velocity):
    """Return J's rate for a point that is fixed in the world."""
    fixed_rate = rate.copy()
    fixed_rate[:, 3:] -= np.cross(J[:, :3], velocity, axis=1)
    return fixed_rate


def derivative(oracle, q, v, frame, view):
    def rate_of_sample(model, data, q, v):
        pin.computeJointJacobiansTimeVariation(model, data, q, v)
        pin.updateFramePlacements(model, data)
        rate = pin.getFrameJacobianTimeVariation(model, data, oracle.frame(frame), view)
        return oracle.ours(oracle.swapped(rate))

    return oracle.each(rate_of_sample, q, v)


def hessian(oracle, q, joint, view):
    def rate_of_sample(model, data, q):
        pin.computeJointKinematicHessians(model, data, q)
        hessian_of_joint = pin.getJointKinematicHessian(model, data, model.getJointId(joint), view)
        hessian_of_joint = oracle.ours(oracle.swapped(hessian_of_joint.ravel().reshape(hessian_of_joint.shape[::-1]).T))
        return np.swapaxes(oracle.ours(np.swapaxes(hessian_of_joint, 1, 2)), 1, 2)

    return oracle.each(rate_of_sample, q)


def test_rates_of_jacobians_equal_pinocchios(drawn):
    for example in drawn(EXAMPLES):
        robot, oracle = example.robot(), Pinocchio(example)
        rng = np.random.default_rng(3)
        q, v = robot.random_configuration(rng, size=SAMPLES), rng.normal(size=(SAMPLES, robot.nv))
        f = Direct(robot.tree)
        for frame in example.frames:
            expected = derivative(oracle, q, v, frame, ALIGNED)
            assert_close(f.jacobian_derivative(q, v, frame), expected, 1e-12, f"{example} {frame}", core=2)
            velocity = f.twist(q, v, frame, point="world")[:, 3:, None]
            J, rate = f.jacobian(q, frame, point="world"), f.jacobian_derivative(q, v, frame, point="world")
            expected = derivative(oracle, q, v, frame, WORLD)
            assert_close(of_a_point_that_stays(rate, J, velocity), expected, 1e-12, f"{example} {frame}", core=2)


def test_kinematic_hessians_equal_pinocchios(drawn):
    for example in drawn(EXAMPLES):
        robot, oracle = example.robot(), Pinocchio(example)
        q = robot.random_configuration(np.random.default_rng(4), size=SAMPLES)
        f, body = Direct(robot.tree), robot.tree.bodies[-1]
        actual, expected = f.jacobian_hessian(q, body.name), hessian(oracle, q, body.joint_name, ALIGNED)
        assert_close(actual, expected, 1e-12, str(example), core=3)
        J, H = f.jacobian(q, body.name, point="world"), f.jacobian_hessian(q, body.name, point="world")
        actual = of_a_point_that_stays(H, J[:, :, :, None], J[:, 3:, None, :])
        assert_close(actual, hessian(oracle, q, body.joint_name, WORLD), 1e-12, str(example), core=3)
