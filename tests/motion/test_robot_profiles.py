"""Profiles of robots: limits of files, continuous joints, joints on manifolds."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw


def test_profiles_use_the_velocity_limits_of_the_robots_file():
    arm = lw.load("arm6")
    rng = np.random.default_rng(1)
    q0, q1 = (rng.uniform(0.5 * arm.lower, 0.5 * arm.upper) for _ in range(2))
    motion = arm.profile(q0, q1, acceleration=5.0, jerk=50.0)
    np.testing.assert_allclose(motion(motion.duration).q, q1, atol=1e-12)
    assert (motion.extremes(1).upper <= arm.velocity_limits * (1.0 + 1e-12)).all()
    joint = arm.joints[1].name
    slow = arm.profile(q0, q1, velocity={joint: 0.1}, acceleration=5.0, jerk=50.0)
    assert slow.duration > abs(q1 - q0)[1] / 0.1
    assert abs(slow.extremes(1).upper[1]) <= 0.1 * (1.0 + 1e-12)
    assert arm.profile({}, {joint: 0.2}, acceleration=5.0, jerk=50.0)(0.0).q.tolist() == [0.0] * 6
    with pytest.raises(ValueError, match="needs limits of acceleration"):
        arm.profile(q0, q1)
    with pytest.raises(ValueError, match=f"q1: {arm.q_names[0]} is .*, outside its limits"):
        arm.profile(q0, arm.upper + 0.1, acceleration=5.0, jerk=50.0)


def test_profiles_of_joints_on_manifolds_move_with_a_constant_direction_of_velocity():
    robot = lw.load("differential_drive").without_constraints()
    limits = {"velocity": 0.5, "acceleration": 2.0, "jerk": 20.0}
    rng = np.random.default_rng(2)
    q0 = robot.integrate(robot.neutral(), rng.uniform(-0.1, 0.1, robot.nv))
    apart = rng.uniform(-0.3, 0.3, robot.nv)
    apart[6:] = 6.0, -6.0, 0.1, 0.2  # wheels, which turn without end
    q1 = robot.integrate(q0, apart)
    motion = robot.profile(q0, q1, **limits)
    turned = np.round(robot.difference(motion(motion.duration).q, q1) / (2.0 * np.pi), 12)
    assert turned.tolist() == [0.0] * 6 + [1.0, -1.0, 0.0, 0.0]
    times = np.linspace(0.0, motion.duration, 60)
    state = motion(times)
    assert np.abs(state.v).max() <= 0.5 + 1e-12 and np.abs(state.a).max() <= 2.0 + 1e-9
    step = 1e-6
    inner = times[1:-1]
    moved = robot.difference(motion(inner - step).q, motion(inner + step).q) / (2.0 * step)
    np.testing.assert_allclose(moved, state.v[1:-1], atol=1e-7)
    across = np.zeros(robot.nv)
    across[:3] = [0.1, -0.2, 0.3]
    with pytest.raises(ValueError, match="along the straight line"):
        robot.profile(q0, q1, v0=across, **limits)
