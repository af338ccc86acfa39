"""Limits of joints with several velocities, of loops, and of ends in motion."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import LimitWarning
from linkwork.joints import Composite, Planar, Prismatic, Revolute, Universal

LIMITS = {"velocity": 1.0, "acceleration": 2.0, "jerk": 20.0}


def _of(joint, lower, upper, **more):
    hand = lw.Link("hand", mass=1.0, inertia=np.eye(3))
    return lw.Robot.build(
        "one", hand, lw.Joint.of(joint, name="only", parent="world", child="hand", lower=lower, upper=upper, **more)
    )


def test_profile_errors_name_the_joint_limit_that_is_exceeded():
    """A planar joint runs along an arc that leaves its box; a slider that starts fast exceeds its end."""
    cart = _of(Planar(), (-1.0, -0.1, -9.0), (1.0, 0.1, 9.0))
    with pytest.warns(
        LimitWarning, match=r"'only.y' reaches -?0\.\d+ between the ends, outside its limits \[-0.1, 0.1\]"
    ):
        arc = cart.profile([-0.9, 0.0, 0.0], [0.9, 0.0, 2.0], **LIMITS)
    assert np.abs(arc(np.linspace(0.0, arc.duration, 99)).q[:, 1]).max() > 0.2
    cart.profile([-0.9, 0.0, 0.0], [0.9, 0.0, 0.0], **LIMITS)  # along x: no warning
    rail = _of(Prismatic((1.0, 0.0, 0.0)), -0.5, 0.5)
    with pytest.warns(LimitWarning, match="'only' reaches"):
        rail.profile([0.4], [0.45], v0=[0.9], **LIMITS)
    rail.profile([0.4], [0.45], v0=[0.1], **LIMITS)


@pytest.mark.slow(every=3)
def test_joint_limits_without_a_proof_count_as_not_satisfied():
    """Curves of reversed and composite joints of hinges are polynomials; arcs and loops have no proof."""
    low, high = [-1.0] * 3, [1.0] * 3
    turned = Composite((Universal(), Prismatic((0.0, 0.0, 1.0))))
    for joint, proved in ((turned, True), (turned.reversed(), True), (Planar(), False), (Planar().reversed(), False)):
        robot = _of(joint, low, high, velocity=[5.0] * 3)
        for end, fits in ((0.5, True), (1.5, False)):
            curve = robot.spline([0.0, 1.0], [[0.0] * 3, [end] * 3], "cubic", boundary="clamped")
            assert curve.satisfies_limits() == (proved and fits), joint
            assert (curve.limit_margins()["upper"] == -np.inf).all() == (not proved)
    fourbar = lw.load("fourbar")
    pin = fourbar.loops["pin"]
    limited = fourbar.without_constraints().with_loop("pin", pin.frame, pin.other, pin.type, lower=-1.0, velocity=2.0)
    q = fourbar.drive_mechanism({"crank_hinge": np.linspace(0.0, 1.0, 5)}).q
    for robot, proved in ((fourbar, True), (limited, False)):
        assert robot.spline(np.linspace(0.0, 1.0, 5), q).satisfies_limits(velocity=9.0) == proved


@pytest.mark.costly
@pytest.mark.parametrize("seed", [1, 2, 4])
def test_timing_keeps_speed_limits_of_frames_between_grid_points(seed: int) -> None:
    robot, maximum = lw.load("double_pendulum"), 0.2  # [m/s]
    path = robot.spline(np.arange(3.0), 2.0 * np.random.default_rng(seed).normal(size=(3, 2)))
    limits = {"velocity": 30.0, "acceleration": 80.0, "speed": {robot.frames[-1]: maximum}}
    timed = lw.motion.time_optimal(path, robot=robot, **limits).trajectory
    q, v, _ = timed(np.linspace(timed.start_time, timed.end_time, 20_000))
    speed = np.linalg.norm(robot.twist(q, v, robot.frames[-1])[..., 3:], axis=-1)
    assert 0.999 * maximum < speed.max() < maximum * (1.0 + 1e-6) and np.median(speed) > 0.98 * maximum


@pytest.mark.slow(every=5)
def test_velocity_limits_of_loop_joints_slow_a_path():
    """The pin of a four-bar is at its speed limit wherever no other limit is active."""
    fourbar = lw.load("fourbar")
    pin = fourbar.loops["pin"]
    robot = fourbar.without_constraints().with_loop("pin", pin.frame, pin.other, pin.type, velocity=0.1)
    q = robot.drive_mechanism({"crank_hinge": np.linspace(0.1, 1.5, 30)}).q
    path = robot.spline(np.linspace(0.0, 1.0, 30), q)
    timed = lw.motion.time_optimal(path, acceleration=20.0)
    t = np.linspace(timed.trajectory.start_time, timed.trajectory.end_time, 500)
    q, v, _ = timed.trajectory(t)
    speed = np.abs(robot.loop_velocity(q, v)[:, 0])
    assert speed.max() < 0.1 * (1.0 + 1e-5) and np.median(speed) > 0.0999
    assert lw.motion.time_optimal(path, velocity=9.0, acceleration=20.0).duration < 0.7 * timed.duration


def test_position_limits_false_ignores_joint_limits_along_paths():
    arm = _of(Revolute((0.0, 0.0, 1.0)), -0.2, 0.2)
    curve = lw.motion.pose_spline([arm.pose([x], "hand") for x in np.linspace(0.0, 0.6, 8)])
    assert arm.track_cartesian_path(curve, "hand", q_init=[0.0], position_limits=False).success
    assert not arm.track_cartesian_path(curve, "hand", q_init=[0.0]).success
    goal = arm.pose([0.6], "hand")
    for limits, expected in ((False, 4.1), (None, 0.1)):
        step = arm.ik_problem(lw.ik.PoseTask("hand"), position_limits=limits).differential(0.1)
        assert np.isclose(step.velocity([0.19], hand=goal).v[0], expected)
