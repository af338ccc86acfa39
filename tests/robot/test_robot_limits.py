"""Limits and passive forces of whole robots, joints that follow others included."""

import numpy as np
import pytest

import linkwork as lw
from oracles.example_robots import EXAMPLES, SHIPPED, shipped

ROBOTS = {example.name: example for example in (*SHIPPED, *EXAMPLES)}
some_robots = pytest.mark.parametrize("name", ["arm7", "humanoid", "panda", "talos", "pr2"])


def stacked(robot, side):
    return np.concatenate([getattr(joint, side) for joint in robot.joints])


# -- limits


@some_robots
def test_limits_of_a_robot_stack_the_limits_of_its_joints_in_order(name):
    robot = ROBOTS[name].robot()
    for result, side in ((robot.lower, "lower"), (robot.upper, "upper"), (robot.velocity_limits, "velocity"),
                        (robot.effort_limits, "effort")):  # fmt: skip
        assert np.array_equal(result, stacked(robot, side))
        assert result.dtype == float
    assert robot.lower.shape == (robot.nq,)
    lower, upper = robot.position_limits
    assert np.array_equal(lower, robot.lower) and np.array_equal(upper, robot.upper)
    assert robot.velocity_limits.shape == robot.effort_limits.shape == (robot.nv,)
    assert np.isfinite(robot.lower).any()
    q = robot.random_configuration(seed=0, size=20)
    assert np.all((robot.lower <= q) & (q <= robot.upper))
    robot.lower[0] = 100.0  # a copy
    assert robot.lower[0] != 100.0


def test_position_limits_disabled_on_a_joint_are_infinite():
    arm = shipped("arm7")
    off = arm.with_joint(arm.joint("elbow").with_position_limits_enabled(False))
    index = arm.joint("elbow").q_slice
    assert np.isinf(off.lower[index]).all() and np.isinf(off.upper[index]).all()
    assert np.array_equal(np.delete(off.lower, index), np.delete(arm.lower, index))
    assert np.array_equal(off.velocity_limits, arm.velocity_limits)


def coupled(ratio, offset=0.0, slow=None):
    arm = shipped("arm7")
    if slow is not None:
        arm = arm.with_joint(arm.joint("wrist_flex").with_velocity_limit(slow))
    return arm.with_couplings({"wrist_flex": ("elbow", ratio, offset)})


def test_limits_of_mimic_followers_apply_to_their_masters():
    """q_wrist = r q_elbow + d within its limits; |r| |v_elbow| and |τ| within its velocity and |r| times its effort."""
    arm = shipped("arm7")
    elbow, wrist = arm.joint("elbow"), arm.joint("wrist_flex")
    for ratio, offset, slow in ((1.0, 0.0, None), (-2.0, 0.3, 1.0), (0.5, 1.0, 0.1), (0.0, 0.5, 0.001)):
        robot = coupled(ratio, offset, slow)
        index = robot.joint("elbow").q_slice
        least, most = robot.lower[index][0], robot.upper[index][0]
        inside = np.linspace(least, most, 7)
        follower = ratio * inside + offset
        assert np.all((follower >= wrist.lower - 1e-12) & (follower <= wrist.upper + 1e-12))
        assert elbow.lower[0] <= least < most <= elbow.upper[0]
        for end, beyond in ((least, least - 1e-6), (most, most + 1e-6)):
            out = not elbow.lower[0] <= beyond <= elbow.upper[0]
            assert out or not wrist.lower[0] <= ratio * beyond + offset <= wrist.upper[0], end
        speed = robot.velocity_limits[index][0]
        limit = robot.joint("wrist_flex").velocity[0]
        assert speed == min(elbow.velocity[0], limit / abs(ratio) if ratio else np.inf)
        force = abs(ratio) * robot.joint("wrist_flex").effort[0] if ratio else np.inf
        assert robot.effort_limits[index][0] == min(elbow.effort[0], force)
        assert robot.lower.shape == robot.effort_limits.shape == (6,)
    with pytest.raises(ValueError, match="'wrist_flex' cannot be within its limits"):
        coupled(1.0, 100.0).lower  # noqa: B018


# -- damping and friction


@some_robots
def test_passive_torque_of_a_robot_is_the_sum_of_its_joints_torques(name):
    robot = ROBOTS[name].robot()
    v = np.random.default_rng(0).normal(size=(4, 3, robot.nv))
    v[0] = 0.0
    result = robot.passive_torque(v)
    parts = [joint.passive_torque(v[..., joint.v_slice]) for joint in robot.joints]
    assert np.array_equal(result, np.concatenate(parts, axis=-1))
    assert not result[0].any() and result[1:].any()
    assert np.array_equal(result[1, 2], robot.passive_torque(v[1, 2]))


def test_passive_torque_of_mimic_followers_acts_on_their_masters():
    """Coupled by v_free = G v, the robot feels Gᵀ τ(G v)."""
    arm = shipped("arm7")
    robot = arm.with_couplings({"wrist_flex": ("elbow", -2.0, 0.3), "wrist_roll": ("elbow", 0.5, 0.0)})
    G = np.zeros((arm.nv, robot.nv))
    for joint in arm.joints:
        joint_ = robot.joint(joint.name)
        G[joint.v_slice, joint_.v_slice] = 1.0 if joint_.coupling is None else joint_.coupling.ratio
    v = np.random.default_rng(1).normal(size=(10, robot.nv))
    expected = arm.passive_torque(v @ G.T) @ G
    assert np.allclose(robot.passive_torque(v), expected, rtol=1e-14, atol=1e-14)
    elbow = arm.joint("elbow").with_dynamics("none")
    assert arm.with_joint(elbow).passive_torque({"elbow": 1.0}).any() == np.False_


def test_passive_torque_accepts_velocities_by_joint_name():
    arm = shipped("arm7")
    by_name = arm.passive_torque({"elbow": [1.0, -2.0]})
    assert by_name.shape == (2, 7)
    assert np.count_nonzero(by_name) == 2
    with pytest.raises(ValueError, match=r"passive_torque: v: expected an array of shape \(\.\.\., 7\)"):
        arm.passive_torque(np.zeros(6))
    with pytest.raises(ValueError, match=r"passive_torque: v\[1\] is NaN \(joint 'shoulder_lift'\)"):
        arm.passive_torque([0, np.nan, 0, 0, 0, 0, 0])
    with pytest.raises(lw.errors.UnknownNameError, match="v: no joint named 'elbw'; did you mean 'elbow'"):
        arm.passive_torque({"elbw": 1.0})


# -- rates


@pytest.mark.costly
@pytest.mark.parametrize("name", ["arm7", "humanoid", "talos"])
def test_configuration_rates_of_example_robots_and_velocities_invert_each_other(name):
    """q̇ is the derivative of moving along v, and v comes back from it."""
    robot = ROBOTS[name].robot()
    rng = np.random.default_rng(2)
    q, v = robot.random_configuration(rng, size=(2, 3)), rng.normal(size=(2, 3, robot.nv))
    rate = robot.velocity_to_configuration_derivative(q, v)
    assert rate.shape == (2, 3, robot.nq)
    h = 1e-5
    moved = (robot.integrate(q, h * v) - robot.integrate(q, -h * v)) / (2.0 * h)
    assert np.allclose(rate, moved, rtol=0, atol=1e-8)
    assert np.allclose(robot.configuration_derivative_to_velocity(q, rate), v, rtol=0, atol=1e-13)
    for joint in robot.joints:
        own_rate = joint.velocity_to_configuration_derivative(q[..., joint.q_slice], v[..., joint.v_slice])
        assert np.allclose(rate[..., joint.q_slice], own_rate, rtol=1e-14, atol=1e-14)


def test_rates_passed_by_joint_name_are_zero_for_omitted_joints():
    """Joints that are left out of a rate do not move: zeros, and no unit quaternion."""
    legs = shipped("quadruped")
    q = legs.random_configuration(seed=0)
    v = legs.configuration_derivative_to_velocity(q, {"front_left_knee": 2.0})
    expected = np.zeros(legs.nv)
    expected[legs.joint("front_left_knee").v_slice] = 2.0
    assert np.array_equal(v, expected)
    turning = legs.configuration_derivative_to_velocity(q, {"floating_base": [0, 0, 0, 0, 1.0, 0, 0]})
    R = legs.pose(q, "trunk")[:3, :3]
    assert np.allclose(turning[:6], [0, 0, 0, *R[0]], atol=1e-15)


def test_robots_without_joints_have_empty_limits():
    rock = lw.Robot.from_urdf_string('<robot name="rock"><link name="rock"/></robot>')
    for result in (rock.lower, rock.upper, rock.velocity_limits, rock.effort_limits):
        assert result.shape == (0,)
