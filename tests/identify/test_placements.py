"""Geometric calibration: placements from poses, exact, within their covariance; unidentifiable parameters are named."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import linkwork as lw
from linkwork import identify, joints
from linkwork.errors import Status, UnknownNameError
from linkwork.identify.kinematic_calibration import PlacementFit
from linkwork.model.random_tree import random_tree
from oracles.comparison import assert_close
from oracles.example_robots import shipped
from oracles.trees import TREES, robot_of


def moved(robot: lw.Robot, names: list[str], size: float, seed: int) -> lw.Robot:
    """The robot with offsets of a normal distribution."""
    rng = np.random.default_rng(seed)
    return robot.with_parameters({name: size * rng.normal(size=6) for name in names})


def with_noise(X: np.ndarray, rotation: float, position: float, rng: np.random.Generator) -> np.ndarray:
    """Poses as a tracker gives them."""
    turns = rotation * rng.normal(size=(len(X), 3))
    R = np.array([lw.pose(axis=w, angle=np.linalg.norm(w))[:3, :3] for w in turns])
    result = X.copy()
    result[:, :3, :3] = R @ X[:, :3, :3]
    result[:, :3, 3] += position * rng.normal(size=(len(X), 3))
    return result


@pytest.mark.slow(every=5)
def test_calibration_from_exact_poses_gives_a_robot_with_the_same_poses() -> None:
    """Large offsets and new configurations; the rank is 4 R + 2 P + 6."""
    robot = shipped("arm7")
    names = [*(f"placement:{joint.name}" for joint in robot.joints), "frame:hand"]
    truth = moved(robot, names, 1e-2, 1)
    q, elsewhere = (robot.random_configuration(seed=seed, size=100) for seed in (2, 3))
    X = truth.pose(q, "hand")
    fit = identify.placements(robot, q, X, "hand")
    assert fit.success and len(fit.values) == 4 * 7 + 6 and np.isfinite(fit.condition)
    assert_close(fit.robot.pose(elsewhere, "hand"), truth.pose(elsewhere, "hand"), 1e-12, core=2)
    assert (fit.held_out.error < 1e-12).all() and (fit.held_out.nominal_error > 1e-3).all()
    assert np.array_equal(fit.base, np.eye(4)) and not fit.zeros.any()
    assert "placement:shoulder_pan.d_z - placement:shoulder_lift.d_y" in fit.identifiable.expressions()
    assert "placement:shoulder_lift.d_y" in fit.unchanged and len(fit.unchanged) == 48 - 34
    positions = identify.placements(robot, q, X[:, :3, 3], "hand")
    assert positions.success and len(positions.values) == 4 * 7 + 3  # a hand on its axis shows them off it alone
    assert_close(
        positions.robot.pose(elsewhere, "hand")[:, :3, 3], truth.pose(elsewhere, "hand")[:, :3, 3], 1e-12, core=1
    )

    kinds = [joints.Revolute, joints.Prismatic]
    chain = robot_of(random_tree(np.random.default_rng(5), 4, types=kinds, shape="chain"))
    turning = sum(joint.type_name == "revolute" for joint in chain.joints)
    assert 0 < turning < 4
    end = chain.bodies[-1]
    truth = moved(chain, [f"placement:{joint.name}" for joint in chain.joints], 1e-2, 4)
    q = chain.random_configuration(seed=5, size=40)
    fit = identify.placements(chain, q, truth.pose(q, end), end)
    assert len(fit.values) == 4 * turning + 2 * (4 - turning) + 6 and fit.success
    assert_close(fit.robot.pose(q, end), truth.pose(q, end), 1e-12, core=2)


@pytest.mark.slow(every=9)
def test_calibrated_offsets_agree_with_the_stated_covariance() -> None:
    """Normalised errors of identifiable offsets have mean square 1; held-out errors equal the estimated noise."""
    robot = robot_of(TREES["revolute_chain"])
    end = robot.bodies[-1]
    rng = np.random.default_rng(6)
    q = robot.random_configuration(seed=7, size=80)
    names = [*(f"placement:{joint.name}" for joint in robot.joints), f"frame:{end}"]
    first = identify.placements(robot, q, robot.pose(q, end), end)
    truth = np.zeros(24)
    truth[first.identifiable.columns] = 0.02 * rng.normal(size=18)
    truth_robot = robot.with_parameters(dict(zip(names, truth.reshape(4, 6), strict=True)))
    X = truth_robot.pose(q, end)
    single, sigmas = [], []
    for _ in range(15):
        fit = identify.placements(robot, q, with_noise(X, 2e-3, 5e-4, rng), end, held_out=0.0)
        assert fit.success and fit.names == first.names and fit.held_out is None
        single.append((fit.values - truth[fit.identifiable.columns]) / fit.standard_deviations)
        sigmas.append(fit.sigma)
    assert 0.75 < np.mean(np.square(single)) < 1.35
    assert_close(np.mean(sigmas, axis=0) / ([2e-3] * 3 + [5e-4] * 3), np.ones(6), 0.12)
    fit = identify.placements(robot, q, with_noise(X, 2e-3, 5e-4, rng), end)
    assert_close(fit.held_out.error / ([2e-3] * 3 + [5e-4] * 3), np.ones(6), 0.8)
    lines = str(fit).splitlines()
    assert lines[0].startswith("18 offsets from 60 samples, condition number ") and "held-out (20)" in str(fit)
    assert repr(fit).startswith("<PlacementFit: 18 offsets of robot ")
    weighted = identify.placements(robot, q, X, end, weights=[1.0] * 3 + [4.0] * 3)
    assert_close(weighted.sigma[0] / weighted.sigma[3], 4.0, 1e-9)


@pytest.mark.slow(every=5)
def test_calibration_estimates_encoder_offsets_and_the_base() -> None:
    """Readings that are off, in a tracker's own frame; the zero of the first joint is the base's turn about it."""
    robot = shipped("arm7")
    truth = np.array([0.0, 0.01, -0.02, 0.015, 0.005, -0.01, 0.02])
    base = lw.pose((0.3, -0.2, 0.1), rpy=(0.02, -0.01, 0.4))
    q = robot.random_configuration(seed=8, size=60)
    X = base @ robot.pose(q + truth, "hand")
    names = ["base", *(f"zero:{joint.name}" for joint in robot.joints)]
    fit = identify.placements(robot, q, X, "hand", parameters=names)
    assert fit.unchanged == ("zero:shoulder_pan",) and fit.success and fit.robot == robot
    assert_close(fit.zeros, truth, 1e-10)
    assert_close(fit.base, base, 1e-10)
    assert_close(fit.base @ fit.robot.pose(fit.configuration(q), "hand"), X, 1e-10, core=2)
    positions = identify.placements(robot, q, X[:, :3, 3], "hand", parameters=[*names[:1], *names[2:7]])
    assert_close(positions.base @ [*fit.zeros[:3], 1.0], base @ [*truth[:3], 1.0], 1e-2)

    ball = robot_of(TREES["spherical_chain"])
    v = 0.02 * np.random.default_rng(9).normal(size=ball.nv)
    v[3:] = 0.0
    first, end = ball.joints[0].name, ball.bodies[-1]
    q = ball.random_configuration(seed=10, size=30)
    fit = identify.placements(ball, q, ball.pose(ball.integrate(q, v), end), end, parameters=[f"zero:{first}"])
    assert fit.names == tuple(f"zero:{first}.{k}" for k in range(3))
    assert_close(fit.zeros, v, 1e-10)


def test_calibration_accepts_measured_points_and_a_single_frame() -> None:
    """A measured point calibrates a tool's position; a robot with known joints has its tool as the only unknown."""
    robot = shipped("arm6").with_point("probe", "tool", (0.0, 0.0, 0.1))
    truth_robot = robot.with_parameters({"frame:tool": [0.0, 0.0, 0.0, 0.003, -0.002, 0.001]})
    q = robot.random_configuration(seed=11, size=40)
    fit = identify.placements(robot, q, truth_robot.point_position(q, "probe"), "probe", parameters=["frame:tool"])
    assert_close(fit.robot.point_position(q, "probe"), truth_robot.point_position(q, "probe"), 1e-10, core=1)
    assert len(fit.values) == 3 and len(fit.unchanged) == 3
    whole = identify.placements(robot, q, truth_robot.pose(q, "tool"), "tool", parameters=["frame:tool"])
    assert_close(whole.values, [0.0, 0.0, 0.0, 0.003, -0.002, 0.001], 1e-10)


@pytest.mark.slow(every=5)
def test_calibration_with_a_tip_at_a_fixed_point_has_errors_within_its_covariance() -> None:
    """The measured positions do not vary at all: all errors are those of the readings, 1e-5 rad."""
    robot, point, rng = shipped("arm6"), np.array([0.5, 0.125, 0.375]), np.random.default_rng(0)
    offsets = np.array([0.0, 0.0, 0.002, 0.001, 0.0, 0.0])
    real = robot.with_parameters({"placement:elbow": offsets})
    start = real.random_configuration(seed=0, size=120)
    poses = np.array([lw.pose(point, quaternion_wxyz=w / np.linalg.norm(w)) for w in rng.normal(size=(120, 4))])
    result = real.inverse_kinematics(poses, "tool", q_init=start)
    q = result.q[result.success][:80]
    q = q + 1e-5 * rng.normal(size=q.shape)
    fit = identify.placements(robot, q, np.tile(point, (80, 1)), "tool", parameters=["placement:elbow"], held_out=0.0)
    assert len(q) == 80 and fit.success and (fit.sigma < 1e-5).all()
    assert (np.abs(fit.values - fit.identifiable.values(offsets)) < 4.0 * np.sqrt(np.diag(fit.covariance))).all()
    assert np.sqrt(np.diag(fit.covariance)).max() < 1e-5


@pytest.mark.slow(every=3)
def test_name_patterns_select_the_parameters_to_calibrate() -> None:
    """Patterns equal lists of names; a kind alone selects all moving joints."""
    robot = shipped("arm6")
    truth_robot = robot.with_parameters({"placement:elbow": [0.0, 0.0, 0.002, 0.001, 0.0, 0.0]})
    q = robot.random_configuration(seed=14, size=40)
    X = truth_robot.pose(q, "tool")
    moving = [joint.name for joint in robot.joints]
    wrists = [name for name in moving if name.startswith("wrist")]
    for parameters, named in (
        (["placement:*"], [f"placement:{name}" for name in [*moving, *robot.tree.fixed_joints]]),
        (["placement"], [f"placement:{name}" for name in moving]),
        (["zero:*"], [f"zero:{name}" for name in moving]),
        (["zero"], [f"zero:{name}" for name in moving]),
        (["frame:too?", "zero:wrist*"], ["frame:tool", *(f"zero:{name}" for name in wrists)]),
    ):
        fit, each = (identify.placements(robot, q, X, "tool", parameters=names) for names in (parameters, named))
        assert fit.names == each.names and fit.unchanged == each.unchanged and len(fit.values) > 1, parameters
        assert_close(fit.values, each.values, 1e-12)
    for parameters, problem in (
        (["frame"], "'frame' does not name a frame: write .* for one and \"frame:\\*\" for each"),
        (["placement:elbow", "placement:e*"], "'placement:elbow' is listed twice"),
        (["zero:*", "zero:elbow"], "'zero:elbow' is named twice"),
        (["placement:x*"], r"no joint named 'x\*'"),
        (["zero:x*"], r"no joint named 'x\*'"),
        (["zero:"], "no joint named ''"),
        (["base:"], "no offset named 'base:'"),
    ):
        with pytest.raises((ValueError, UnknownNameError), match=problem):
            identify.placements(robot, q, X, "tool", parameters=parameters)
    coupled = lw.load("arm7_gripper", mimic="coupled")
    q = coupled.random_configuration(seed=15, size=10)
    fit = identify.placements(coupled, q, coupled.pose(q, "hand"), "hand", parameters=["zero:*"])
    assert {*fit.identifiable.of} == {f"zero:{name}" for name in coupled.v_names}  # a follower's is its master's


def test_calibration_names_placements_that_the_measurements_do_not_determine() -> None:
    robot = shipped("arm6")
    q = robot.random_configuration(seed=12, size=60)
    q[:, 2] = 0.4
    with pytest.raises(
        ValueError, match=r"do not determine \d+ of \d+ offsets: .*'placement:.*; 'elbow' does not move in them"
    ):
        identify.placements(robot, q, robot.pose(q, "tool"), "tool")
    base = [f"placement:{robot.joints[0].name}"]
    repeated = np.tile(q[0], (10, 1))
    estimate = identify.placements(robot, repeated, robot.pose(repeated, "tool"), "tool", parameters=base)
    assert len(estimate.values) == 6  # one pose is enough for the base
    with pytest.raises(ValueError, match="more measured values than the 30 unknowns, got 4 samples of 6"):
        identify.placements(robot, q[:6], robot.pose(q[:6], "tool"), "tool")
    alone = [f"frame:{robot.bodies[0]}"]
    with pytest.raises(ValueError, match="depends on"):
        identify.placements(robot, q, robot.pose(q, "world"), "world", parameters=alone)


def test_invalid_arguments_of_calibration_are_refused() -> None:
    fourbar = lw.load("fourbar")
    with pytest.raises(ValueError, match=r"robot 'fourbar' has constraints, .*without_constraints"):
        lw.identify.placements(fourbar, np.zeros((20, 3)), fourbar.pose(np.zeros((20, 3)), "coupler"), "coupler")
    robot = shipped("arm6")
    q = robot.random_configuration(seed=13, size=20)
    X = robot.pose(q, "tool")
    flipped, missing = X.copy(), X.copy()
    flipped[3, :3, :3] *= -1.0
    missing[4, 0, 0] = np.nan
    for arguments, problem in (
        ((q, X[:19], "tool"), r"one for each sample of q; got shapes \(19, 4, 4\) and, of q, \(20, 6\)"),
        ((q, X[:, 0], "tool"), "expected poses"),
        ((q, flipped, "tool"), r"poses\[3\] is not a valid pose"),
        ((q, missing, "tool"), "poses of sample 4 are not finite"),
        ((q[:, :5], X, "tool"), r"q: expected an array of shape \(..., 6\)"),
    ):
        with pytest.raises(ValueError, match=problem):
            identify.placements(robot, *arguments)
    for name, problem in (
        ("placement:elbo", "no joint named 'elbo'"),
        ("frame:elbo", "no frame named"),
        ("zero:elbo", "no joint named 'elbo'"),
        ("angle:elbow", "no offset named 'angle:elbow'"),
        (3, "no offset named 3"),
    ):
        with pytest.raises(UnknownNameError, match=problem):
            identify.placements(robot, q, X, "tool", parameters=[name])
    with pytest.raises(UnknownNameError, match="no frame named 'tol'"):
        identify.placements(robot, q, X, "tol")
    with pytest.raises(ValueError, match="'base' is named twice"):
        identify.placements(robot, q, X, "tool", parameters=["base", "base"])
    with pytest.raises(ValueError, match="to estimate, got none"):
        identify.placements(robot, q, X, "tool", parameters=[])
    for weights in ([1.0], "even", [None] * 6):
        with pytest.raises(ValueError, match="weights: expected 6 positive numbers"):
            identify.placements(robot, q, X, "tool", parameters=["base"], weights=weights)
    for at_most in (0, 1.5):
        with pytest.raises(ValueError, match="placements: max_iterations: expected an integer >= 1, got"):
            identify.placements(robot, q, X, "tool", parameters=["base"], max_iterations=at_most)
    with pytest.raises(TypeError, match="expected a list of names, got 'base'"):
        identify.placements(robot, q, X, "tool", parameters="base")
    with pytest.raises(TypeError, match="robot: expected a Robot"):
        identify.placements(q, q, X, "tool")
    coupled = robot_of(TREES["coupled_0"])
    follower = next(body for body in coupled.tree.bodies if body.coupling is not None)
    q = coupled.random_configuration(seed=1, size=10)
    X, zero = coupled.pose(q, follower.name), f"zero:{follower.joint_name}"
    with pytest.raises(ValueError, match="it follows joint"):
        identify.placements(coupled, q, X, follower.name, parameters=[zero])


def test_printed_calibrations_list_offsets_and_errors_before_and_after() -> None:
    names = ("placement:elbow.d_x", "zero:wrist")
    fit = PlacementFit._make(
        robot=SimpleNamespace(name="arm"),
        zeros=np.zeros(2),
        base=np.eye(4),
        sigma=np.ones(3),
        names=names,
        values=np.array([0.0123456, -0.25]),
        covariance=np.array([[4e-6, 1e-7], [1e-7, 9e-8]]),
        identifiable=SimpleNamespace(expressions=lambda: (names[0], "zero:wrist - placement:hand.phi_z")),
        condition=123.4,
        residual=np.array([1e-3, 2e-3, 3e-3]),
        initial_residual=np.array([0.1, 0.2, 0.3]),
        held_out=SimpleNamespace(samples=7, error=np.array([4e-3, 5e-3, 6e-3])),
        samples=40,
        iterations=5,
        status=Status.SOLVED,
    )
    assert fit.success and fit.standard_deviations == pytest.approx([2e-3, 3e-4])
    assert fit._sentence(()) == "2 offsets from 40 samples after 5 iterations"
    assert repr(fit) == "<PlacementFit: 2 offsets of robot 'arm' from 40 samples>"
    lines = [line.split() for line in str(fit).splitlines() if not line.startswith("-")]
    assert str(fit).startswith("2 offsets from 40 samples, condition number 123.4, converged after 5 iterations")
    assert lines[3] == ["placement:elbow.d_x", "0.012346", "0.002"]
    assert lines[4] == ["zero:wrist", "-0.250000", "0.0003", "zero:wrist", "-", "placement:hand.phi_z"]
    assert lines[6][-2:] == ["held-out", "(7)"]
    assert lines[7:] == [
        [f"d_{x}", f"{k / 10:g}", f"{k / 1e3:g}", f"{(k + 3) / 1e3:g}"] for k, x in enumerate("xyz", 1)
    ]
    late = fit._replaced(status=Status.MAX_ITERATIONS, held_out=None)
    assert not late.success and "NOT converged after 5 iterations" in str(late) and "held-out" not in str(late)
