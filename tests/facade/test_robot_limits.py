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
def test_limits_are_the_joints_in_their_order(name):
    robot = ROBOTS[name].robot()
    for found, side in ((robot.lower, "lower"), (robot.upper, "upper"), (robot.velocity_limits, "velocity"),
                        (robot.effort_limits, "effort")):  # fmt: skip
        assert np.array_equal(found, stacked(robot, side))
        assert found.dtype == float
    assert robot.lower.shape == (robot.nq,)
    assert robot.velocity_limits.shape == robot.effort_limits.shape == (robot.nv,)
    assert np.isfinite(robot.lower).any()
    q = robot.random_configuration(seed=0, size=20)
    assert np.all((robot.lower <= q) & (q <= robot.upper))
    robot.lower[0] = 100.0  # a copy
    assert robot.lower[0] != 100.0


def test_limits_that_are_switched_off_do_not_count():
    arm = shipped("arm7")
    off = arm.with_joint(arm.joint("elbow").with_position_limits_enabled(False))
    place = arm.joint("elbow").q_slice
    assert np.isinf(off.lower[place]).all() and np.isinf(off.upper[place]).all()
    assert np.array_equal(np.delete(off.lower, place), np.delete(arm.lower, place))
    assert np.array_equal(off.velocity_limits, arm.velocity_limits)


def coupled(ratio, offset=0.0, slow=None):
    arm = shipped("arm7")
    if slow is not None:
        arm = arm.with_joint(arm.joint("wrist_flex").with_velocity_limit(slow))
    return arm.coupled({"wrist_flex": ("elbow", ratio, offset)})


def test_limits_of_followers_count_for_their_masters():
    """q_wrist = r q_elbow + d within its limits, and |r| |v_elbow| no faster than the wrist may be."""
    arm = shipped("arm7")
    elbow, wrist = arm.joint("elbow"), arm.joint("wrist_flex")
    for ratio, offset, slow in ((1.0, 0.0, None), (-2.0, 0.3, 1.0), (0.5, 1.0, 0.1), (0.0, 0.5, 0.001)):
        robot = coupled(ratio, offset, slow)
        place = robot.joint("elbow").q_slice
        least, most = robot.lower[place][0], robot.upper[place][0]
        inside = np.linspace(least, most, 7)
        follower = ratio * inside + offset
        assert np.all((follower >= wrist.lower - 1e-12) & (follower <= wrist.upper + 1e-12))
        assert elbow.lower[0] <= least < most <= elbow.upper[0]
        for end, beyond in ((least, least - 1e-6), (most, most + 1e-6)):
            out = not elbow.lower[0] <= beyond <= elbow.upper[0]
            assert out or not wrist.lower[0] <= ratio * beyond + offset <= wrist.upper[0], end
        speed = robot.velocity_limits[place][0]
        own = robot.joint("wrist_flex").velocity[0]
        assert speed == min(elbow.velocity[0], own / abs(ratio) if ratio else np.inf)
        assert robot.effort_limits[place][0] == elbow.effort[0]
        assert robot.lower.shape == robot.effort_limits.shape == (6,)
    with pytest.raises(ValueError, match="'wrist_flex' is never within its limits"):
        coupled(1.0, 100.0).lower  # noqa: B018


def test_limits_of_robots_that_do_not_move():
    rock = lw.Robot.from_urdf_string('<robot name="rock"><link name="rock"/></robot>')
    for found in (rock.lower, rock.upper, rock.velocity_limits, rock.effort_limits):
        assert found.shape == (0,)
