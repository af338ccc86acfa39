"""Checks of arguments that need a robot: configurations, and values by joint."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.control.linear_quadratic.arguments import read_effort_limits
from linkwork.errors import UnknownNameError
from linkwork.kernels.robot_arguments import by_joint, read_configuration, read_limits
from linkwork.optimal.arguments import read_velocity


def test_values_by_joint_may_be_a_scalar_an_array_or_a_dict() -> None:
    arm = lw.load("arm6")
    assert by_joint("f", "gain", arm.tree, 2.0, default=0.0).tolist() == [2.0] * arm.nv
    array = np.arange(1.0, arm.nv + 1.0)
    values = by_joint("f", "gain", arm.tree, array, default=0.0)
    assert np.array_equal(values, array)
    values[0] = 9.0
    assert array[0] == 1.0  # a copy
    second = arm.v_names[1]
    assert by_joint("f", "gain", arm.tree, {second: 3}, default=0.5).tolist() == [0.5, 3.0, *[0.5] * (arm.nv - 2)]
    defaults = np.linspace(1.0, 2.0, arm.nv)
    assert by_joint("f", "gain", arm.tree, {second: 3}, default=defaults)[[0, 1]].tolist() == [1.0, 3.0]


def test_values_of_joints_with_several_velocities_may_be_a_scalar_or_an_array() -> None:
    base = lw.load("quadruped", floating_base=True)
    (joint,) = (joint for joint in base.joints if joint.nv == 6)
    weights = by_joint("f", "weights", base.tree, {joint.name: range(1, 7)}, default=1.0, above=0.0)
    assert weights[:6].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] and set(weights[6:]) == {1.0}
    with pytest.raises(ValueError, match=r"^f: weights\['.*'\]: expected a number, or an array of shape \(6,\)"):
        by_joint("f", "weights", base.tree, {joint.name: [1.0, 2.0]}, default=1.0)


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        ([1.0], ValueError, r"^f: gain: expected a number, or an array of shape \(6,\), got shape \(1,\)"),
        (-1.0, ValueError, r"^f: gain: expected numbers >= 0 \[N·m\], got -1"),
        ({"elbow": np.nan}, ValueError, r"^f: gain\['elbow'\]: expected an array of finite numbers \[N·m\], got nan"),
        ("high", TypeError, r"^f: gain: expected an array of finite numbers"),
        ({"elbwo": 1.0}, UnknownNameError, r"^f: gain: .*elbow"),
    ],
)
def test_wrong_values_by_joint_are_refused_with_their_names(value: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        by_joint("f", "gain", lw.load("arm6").tree, value, default=0.0, least=0.0, unit="N·m")
    with pytest.raises(ValueError, match=r"^f: gain: expected numbers > 0, got 0"):
        by_joint("f", "gain", lw.load("arm6").tree, 0.0, default=1.0, above=0.0)


def test_configurations_are_checked_under_the_name_of_the_callers_argument() -> None:
    arm = lw.load("arm6")
    q = arm.neutral()
    assert np.array_equal(read_configuration(arm, "f", "start", q), q)
    assert np.array_equal(read_configuration(arm, "f", "start", {}), q)
    for wrong in (q[:-1], np.full(arm.nq, np.inf), "home"):
        with pytest.raises(ValueError, match=r"^f: start"):
            read_configuration(arm, "f", "start", wrong)


def test_states_of_simulations_may_be_dicts_by_joint() -> None:
    arm = lw.load("double_pendulum")
    first, second = arm.v_names
    q, v, tau = np.array([0.3, 0.0]), np.array([0.0, -0.2]), np.array([0.0, 0.1])
    by_name = arm.simulate({first: 0.3}, {second: -0.2}, duration=0.02, dt=0.01)
    assert np.array_equal(by_name.q, arm.simulate(q, v, duration=0.02, dt=0.01).q)
    simulator = lw.Simulator(arm, dt=0.01)
    simulator.reset({first: 0.3}, {second: -0.2})
    stepped = simulator.step({second: 0.1})
    simulator.reset(q, v)
    assert np.array_equal(stepped.q, simulator.step(tau).q)
    assert np.array_equal(arm.spline([0.0, 1.0], {first: [0.1, 0.3]})(1.0).q, q)
    assert np.array_equal(read_velocity(arm, {second: -0.2}), v)
    for call, message in (
        (lambda: arm.simulate({"elbw": 0.1}, duration=0.1), "simulate: q: no joint named 'elbw'"),
        (lambda: simulator.reset({first: "up"}), rf"Simulator.reset: q\['{first}'\]: expected a number or an array"),
        (lambda: arm.simulate(q, duration=0.1, constants={"target_q": {first: 0.1}}), r"\['target_q'\]:.*got a dict"),
        (lambda: lw.motion.profile({first: 0.0}, {first: 1.0}), "profile: q0: .*; got a dict"),
        (lambda: lw.motion.spline([0.0, 1.0], {first: [0.0, 1.0]}), "spline: q: .*; got a dict"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_limits_of_joints_left_out_in_a_dict_stay_the_robots_limits() -> None:
    arm = lw.load("arm6")
    expected = arm.effort_limits.copy()
    expected[2] = 7.0
    law = lw.control.PD(arm, kp=1.0, kd=1.0, effort_limits={"elbow": 7.0})
    assert np.array_equal(law.effort_limits, expected)
    with pytest.raises(ValueError, match="PD: effort_limits: 'elbow' is not an actuator"):
        lw.control.PD(arm, kp=1.0, kd=1.0, actuators="wrist_1", effort_limits={"elbow": 7.0})
    with pytest.raises(ValueError, match=r"PD: effort_limits\['elbow'\]: expected numbers > 0"):
        lw.control.PD(arm, kp=1.0, kd=1.0, effort_limits={"elbow": 0.0})
    with pytest.raises(ValueError, match=r"PD: target_q: expected an array of shape .6,., got a dict"):
        law(0.0, np.zeros(6), np.zeros(6), target_q={"elbow": 1.0})
    assert np.array_equal(read_effort_limits("MPC", arm, {"elbow": 7.0}), expected)
    lower, upper = arm.lower.copy(), arm.upper.copy()
    lower[2], upper[2] = 0.1, 0.5
    limits = read_limits("f", arm, {"elbow": (0.1, 0.5)})
    assert np.array_equal(limits[0], lower) and np.array_equal(limits[1], upper)
    with pytest.raises(UnknownNameError, match=r"inverse_kinematics: position_limits: no coordinate of q named 'elbw'"):
        arm.inverse_kinematics(np.eye(4), "tool", position_limits={"elbw": (0.1, 0.5)})
