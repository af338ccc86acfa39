"""Splines and profiles of mechanisms: loops stay closed, velocities are rates, limits hold for all joints."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from helpers.linkages import five_bar, freudenstein, hexapod, linkage, spatial_slider_crank

LIMITS = {"velocity": 1.0, "acceleration": 3.0, "jerk": 30.0}


def mechanism(name):
    """Return a mechanism, and an assembled configuration away from singular ones."""
    if name == "five-bar":
        robot = five_bar()
        near = {"left_hip": -1.9, "right_hip": -1.2, "left_knee": 0.9, "right_knee": -0.9}
        return robot, robot.assemble(prefer=near).q
    if name == "slider-crank":
        robot = spatial_slider_crank()
        return robot, robot.assemble(hold={"crank": -0.8}, prefer={"slide": 1.2}).q
    if name == "hexapod":
        robot = hexapod(lw.joints.Universal())
        return robot, robot.assemble(hold={"carried": [1, 0, 0, 0, 0, 0, 0.8]}).q
    robot = lw.load(name)
    return robot, robot.assemble().q


def moved(robot, q, seed, size=0.3):
    """Return a configuration at the end of a free motion from q."""
    G = robot.constraint_jacobian(q)
    free = np.linalg.svd(G)[2][np.linalg.matrix_rank(G, 1e-9) :]
    step = free.T @ np.random.default_rng(seed).normal(size=len(free))
    return robot.project(robot.integrate(q, step * size / np.abs(step).max()))


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("name", ["fourbar", "delta", "five-bar", "slider-crank", "hexapod"])
def test_motions_of_mechanisms_satisfy_loop_constraints_and_limits(name):
    robot, q = mechanism(name)
    ends = [moved(robot, q, seed) for seed in range(20)]
    a, b = [x for x in ends if ((x >= robot.lower) & (x <= robot.upper)).all()][:2]
    curves = [robot.spline([0.0, 1.0, 2.0], [a, q, b], kind) for kind in ("cubic", "linear", "hermite")]
    curves += [robot.profile(a, b, **LIMITS), robot.profile(a, b, kind="minimum_jerk", duration=2.0)]
    for curve in curves:
        for t, point in ((curve.start_time, a), (curve.end_time, b)):
            assert np.abs(robot.difference(curve(t).q, point)).max() < 1e-8
        t = np.linspace(curve.start_time, curve.end_time, 600)
        q_t, v, _ = curve(t)
        assert np.abs(robot.constraint_error(q_t)).max() < 1e-9
        assert np.abs(np.einsum("nij,nj->ni", robot.constraint_jacobian(q_t), v)).max() < 1e-6
    for order, most in enumerate(LIMITS.values(), start=1):
        lower, upper = curves[3].extremes(order)
        assert max(upper.max(), -lower.min()) <= most * (1.0 + 1e-6)


@pytest.mark.slow(every=5)
def test_rocker_of_a_moving_four_bar_follows_freudensteins_equation():
    """Over a full turn of the crank, by splines and profiles."""
    robot = linkage()
    crank = np.linspace(0.4, 0.4 + 2.0 * np.pi, 5)
    q = robot.drive_mechanism({"crank": crank}, robot.assemble(hold={"crank": 0.4}).q).q
    by_crank = robot.profile(q[0], q[2], independent="crank", **LIMITS)
    np.testing.assert_allclose(by_crank(by_crank.duration / 2).q[0], 0.5 * (q[0, 0] + q[2, 0]), atol=1e-9)
    for curve in (robot.spline(np.arange(5.0), q), robot.profile(q[0], q[2], **LIMITS), by_crank):
        at = curve(np.linspace(curve.start_time, curve.end_time, 300)).q
        gap = at[:, 2:] + freudenstein(-at[:, 0])  # an angle about y is the negative of one from x toward z
        assert np.abs(np.angle(np.exp(1j * gap))).min(axis=-1).max() < 1e-8


@pytest.mark.slow(every=5)
def test_limit_of_a_dependent_joint_slows_the_motion_of_a_mechanism():
    robot = linkage(velocity=0.2)  # of the rocker
    q = robot.drive_mechanism({"crank": [0.6, 1.6]}, robot.assemble(hold={"crank": 0.6}).q).q
    curve = robot.profile(*q, acceleration=50.0, jerk=1e4)
    speed = np.abs(curve(np.linspace(0.0, curve.duration, 2000)).v[:, 2]).max()
    assert 0.199 < speed <= 0.2 * (1.0 + 1e-6)
    pin = robot.loops["pin"]
    fast = robot.without_constraints().with_loop("pin", pin.frame, pin.other, pin.type, velocity=0.1)
    curve = fast.profile(*q, acceleration=50.0, jerk=1e4)
    at, v, _ = curve(np.linspace(0.0, curve.duration, 2000))
    assert 0.099 < np.abs(fast.loop_velocity(at, v)).max() <= 0.1 * (1.0 + 1e-5)
    with pytest.raises(ValueError, match=r"needs .* times the duration"):
        fast.profile(*q, acceleration=50.0, jerk=1e4, duration=curve.duration / 2)


@pytest.mark.slow(every=3)
def test_motions_that_a_mechanism_cannot_perform_are_refused():
    robot = linkage()
    q = robot.drive_mechanism({"crank": [0.6, 1.6]}, robot.assemble(hold={"crank": 0.6}).q).q
    other_branch = robot.branches({"crank": 1.6}).q
    flipped = other_branch[np.argmax(np.abs(other_branch - q[1]).max(axis=-1))]
    with pytest.raises(ValueError, match=r"spline: q\[1\]: expected a configuration that satisfies the constraints"):
        robot.spline([0.0, 1.0], [q[0], q[1] + [0.0, 0.01, 0.0]])
    with pytest.raises(ValueError, match=r"profile: q1: .* on the assembly branch of q0"):
        robot.profile(q[0], flipped, **LIMITS)
    with pytest.raises(ValueError, match="profile: v0: expected velocities that satisfy the constraints"):
        robot.profile(*q, v0=[0.1, 0.0, 0.0], **LIMITS)
    with pytest.raises(ValueError, match=r"profile: independent: 'knee', 'rocker'.* degree"):
        robot.profile(*q, independent=["knee", "rocker"], **LIMITS)
    drive = lw.load("differential_drive")
    with pytest.raises(ValueError, match=r"spline: robot: '.* rolls' of 'differential_drive' constrains velocities"):
        drive.spline([0.0, 1.0], [drive.neutral()] * 2)
    with pytest.raises(ValueError, match="profile: independent: expected None for 'arm6'"):
        lw.load("arm6").profile(np.zeros(6), np.ones(6), independent="axis1", **LIMITS)
    with pytest.raises(TypeError, match="got symbols"):
        lw.compile(lambda x: robot.spline([0.0, 1.0], [x, q[1]])(0.5).q, x=(3,))(q[0])
