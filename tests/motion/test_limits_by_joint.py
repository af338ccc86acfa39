"""Limits of motions as dicts by joint: joints that a dict leaves out keep the robot's limits."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.motion import time_optimal
from linkwork.motion.algorithms.timing.segment_constraints import PathLimits, PathValues, _slowness

ARM = lw.load("arm6")
NAMES = [joint.name for joint in ARM.joints]
FIRST, SECOND = NAMES[:2]
ENDS = np.zeros(6), np.linspace(0.4, 1.2, 6)
PATH = ARM.spline([0.0, 1.0], ENDS, kind="linear")


def of_all(value, **values):
    return dict.fromkeys(NAMES, value) | values


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("velocity", [{FIRST: 0.9}, {}, {FIRST: (-0.5, 0.9)}, {SECOND: 10.0}])
def test_joints_omitted_in_a_dict_of_velocity_limits_have_the_robots_limits(velocity):
    limits = ARM.velocity_limits.copy()
    for name, value in velocity.items():
        limits[NAMES.index(name)] = np.max(value)
    fast = time_optimal(PATH, velocity=velocity, acceleration=50.0)
    top = fast.trajectory.extremes(1).upper
    assert (top <= limits * (1.0 + 1e-9)).all()
    assert np.isclose(top / limits, 1.0).any()
    motion = ARM.profile(*ENDS, kind="trapezoid", velocity=velocity, acceleration=50.0)
    assert (motion.extremes(1).upper <= limits * (1.0 + 1e-9)).all()
    margins = PATH.limit_margins(velocity=velocity)["velocity"]
    np.testing.assert_allclose(margins, PATH.limit_margins(velocity=limits)["velocity"])


def test_dicts_of_acceleration_or_jerk_limits_must_name_every_joint():
    partial = {FIRST: 3.0}
    expected = f"acceleration: expected a limit of every joint.*without '{SECOND}'.*inf stands for no limit"
    with pytest.raises(ValueError, match=f"time_optimal: {expected}"):
        time_optimal(PATH, acceleration=partial)
    with pytest.raises(ValueError, match=f"profile: {expected}"):
        ARM.profile(*ENDS, acceleration=partial, jerk=50.0)
    with pytest.raises(ValueError, match=f"Trajectory.satisfies_limits: {expected}"):
        PATH.satisfies_limits(acceleration=partial)
    with pytest.raises(ValueError, match="time_optimal: jerk: expected a limit of every joint"):
        time_optimal(PATH, acceleration=5.0, jerk=partial)
    only = time_optimal(PATH, velocity=np.inf, acceleration=of_all(np.inf, **partial))
    assert np.isclose(only.trajectory.extremes(2).upper[0], 3.0)
    same = time_optimal(PATH, acceleration=of_all(5.0)).duration
    assert same == pytest.approx(time_optimal(PATH, acceleration=5.0).duration)


@pytest.mark.slow(every=5)
def test_joints_omitted_in_a_dict_of_torque_limits_have_the_robots_effort_limits():
    limits = ARM.effort_limits.copy()
    limits[1] *= 0.9
    by_name = time_optimal(PATH, torque={SECOND: limits[1]}, num_points=50)
    assert by_name.duration == pytest.approx(time_optimal(PATH, torque=limits, num_points=50).duration)
    assert time_optimal(PATH, torque={}, num_points=50).duration == pytest.approx(
        time_optimal(PATH, torque=True, num_points=50).duration
    )


def test_position_limits_of_trajectories_may_be_dicts_by_joint_name():
    margins = PATH.limit_margins(lower={FIRST: -0.1}, upper={SECOND: 2.0})
    lower, upper = ARM.lower.copy(), ARM.upper.copy()
    lower[0], upper[1] = -0.1, 2.0
    exact = PATH.limit_margins(lower=lower, upper=upper)
    for name in ("lower", "upper"):
        np.testing.assert_array_equal(margins[name], exact[name])
    with pytest.raises(lw.errors.UnknownNameError, match="lower: no joint or coordinate of q named 'elbo'"):
        PATH.limit_margins(lower={"elbo": 0.0})


def test_trajectories_without_a_robot_refuse_limits_by_joint_name():
    plain = lw.motion.spline([0.0, 1.0], ENDS, kind="linear")
    for call in (
        lambda: time_optimal(plain, acceleration={FIRST: 3.0}),
        lambda: plain.satisfies_limits(lower={FIRST: 3.0}),
        lambda: lw.motion.profile(*ENDS, acceleration={FIRST: 3.0}, jerk=50.0),
        lambda: lw.motion.ProfileFunction(6, acceleration={FIRST: 3.0}, jerk=50.0),
    ):
        with pytest.raises(ValueError, match=r"shape \(6,\), got a dict by joint, but without a robot"):
            call()
    timed = time_optimal(plain, acceleration=of_all(5.0), robot=ARM)
    assert timed.duration == pytest.approx(time_optimal(PATH, velocity=np.inf, acceleration=5.0).duration)


@pytest.mark.light
@pytest.mark.parametrize("signs", [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)])
def test_limits_of_velocity_in_both_directions_bound_the_speed_on_a_path_segment(signs):
    """ẋ² is at most the smallest (limit / rate)², with the limit of the rate's direction."""
    slowest, fastest, rates = [-0.7, -1.3], [1.9, 0.4], np.multiply(signs, [0.6, 0.5])
    along = PathValues(rates=[rates] * 3, first=None, second=None)
    points = np.array(_slowness(along, PathLimits(slowest, fastest, [], []))).ravel()
    limits = np.where(rates > 0.0, fastest, slowest)
    np.testing.assert_allclose(points, ((rates / limits) ** 2).max(), rtol=1e-12)
