"""Base parameters from measured forces: exact, within their covariance, weighted, validated on held-out data."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork import identify
from oracles.comparison import assert_close
from oracles.example_robots import EXAMPLES, shipped
from oracles.trees import TREES, robot_of, state

from .cases import deformed_robot, motion, pendulum_motion


@pytest.mark.slow(every=5)
def test_identification_from_exact_forces_gives_exact_base_parameters() -> None:
    """All joint types and coupled joints, for any nominal inertias."""
    for name in ("revolute_chain", "planar_chain", "spherical_chain", "mixed_star", "coupled_0", "rerooted_coupled"):
        robot = robot_of(TREES[name])
        q, v, a = state(robot.tree, seed=3, size=60)
        truth = deformed_robot(robot, 0.1, 1)
        fit = identify.base_parameters(robot, q, v, a, truth.inverse_dynamics(q, v, a), passive=False, held_out=0.0)
        assert_close(fit.values, fit.base.values(truth.inertial_parameters()), 1e-8, name)
        assert fit.held_out is None and np.isfinite(fit.condition), name
        assert_close(fit.joint_forces(q, v, a), truth.inverse_dynamics(q, v, a), 1e-9, name, core=1)


@pytest.mark.slow(every=3)
def test_floating_base_is_identified_from_its_zero_force_and_wrenches_on_feet() -> None:
    """The base has no motors: its forces are zero.  The forces of the ground must be measured, or results are wrong."""
    robot = shipped("quadruped")
    rng = np.random.default_rng(2)
    q, v, _ = motion(robot, 150, 5)
    tau = np.concatenate([np.zeros((150, 6)), 5.0 * rng.normal(size=(150, robot.nv - 6))], axis=1)
    w = 20.0 * rng.normal(size=(150, 6))
    a = robot.forward_dynamics(q, v, tau, wrenches={"front_left_foot": w}, expressed_in="front_left_foot")
    acting = {"passive": False, "wrenches": {"front_left_foot": w}, "expressed_in": "front_left_foot"}
    fit = identify.base_parameters(robot, q, v, a, tau, **acting)
    assert_close(fit.values, fit.nominal, 1e-8)
    alone = identify.base_parameters(robot, q, v, a, tau, weights={"floating_base": np.ones(6)}, **acting)
    assert_close(alone.base.values(robot.inertial_parameters()), alone.nominal, 1e-12)
    assert len(alone.values) == len(fit.values) and np.isinf(alone.sigma[6:]).all()
    assert_close(alone.values, alone.nominal, 1e-7)  # the base's forces alone show everything [Ayusawa 2014]
    without = identify.base_parameters(robot, q, v, a, tau, passive=False)
    assert without.held_out is not None and without.held_out.error.max() > 1.0


def test_errors_of_identified_base_parameters_agree_with_the_stated_covariance() -> None:
    """Normalised errors of many fits have mean square 1, together (Mahalanobis) and scattered as their covariance."""
    robot = lw.load("double_pendulum")
    q, v, a = pendulum_motion(200)
    exact, noise = robot.inverse_dynamics(q, v, a), np.array([0.3, 0.03])
    rng = np.random.default_rng(4)
    single, together, values, covariances, sigmas = [], [], [], [], []
    for _ in range(150):
        fit = identify.base_parameters(robot, q, v, a, exact + noise * rng.normal(size=v.shape), held_out=0.0)
        error = fit.values - fit.nominal
        single.append(error / fit.standard_deviations)
        together.append(error @ np.linalg.solve(fit.covariance, error))
        values.append(fit.values)
        covariances.append(fit.covariance)
        sigmas.append(fit.sigma)
    assert 0.8 < np.mean(np.square(single)) < 1.25
    assert 0.85 < np.mean(together) / fit.base.rank < 1.2
    half = np.linalg.cholesky(np.mean(covariances, axis=0))
    scatter = np.linalg.solve(half, np.linalg.solve(half, np.cov(np.transpose(values))).T)
    spread = np.linalg.eigvalsh(scatter)
    assert spread.min() > 0.55 and spread.max() < 1.6  # six numbers of 150: (1 ± sqrt(6 / 150))²
    assert_close(np.mean(sigmas, axis=0) / noise, np.ones(2), 0.02)  # residuals' freedom is counted, not their number
    equal = identify.base_parameters(robot, q, v, a, exact + noise * rng.normal(size=v.shape), weights=[1.0, 1.0])
    assert (equal.standard_deviations[3:] > 3.0 * fit.standard_deviations[3:]).all()  # weights are worth it


def test_scaling_all_weights_of_measured_forces_does_not_change_the_identification() -> None:
    robot = lw.load("double_pendulum")
    q, v, a = pendulum_motion(200)
    tau = robot.inverse_dynamics(q, v, a) + [0.3, 0.03] * np.random.default_rng(5).normal(size=v.shape)
    first, second = (joint.name for joint in robot.joints)
    estimate = identify.base_parameters(robot, q, v, a, tau, weights=[1.0, 10.0])
    many = identify.base_parameters(robot, q, v, a, tau, weights={second: 1e3, first: 1e2})
    assert_close(estimate.values, many.values, 1e-12)
    assert_close(estimate.covariance, many.covariance, 1e-10)
    assert_close(estimate.sigma[0] / estimate.sigma[1], 10.0, 1e-12)
    only = identify.base_parameters(robot, q, v, a, tau, weights={second: 1.0})
    assert {*only.base.names} == {"lower_rod.h_x", "lower_rod.h_z", "lower_rod.J_yy"}
    assert np.isinf(only.sigma[0]) and only.sigma[1] == pytest.approx(0.03, rel=0.2)


@pytest.mark.slow(every=5)
def test_identified_base_parameters_equal_least_squares_on_pinocchios_regressor() -> None:
    """Panda, its fingers held by zero weights: the smallest of all solutions, and its covariance, by NumPy."""
    pin = pytest.importorskip("pinocchio")
    from oracles.pinocchio_model import Pinocchio

    example = next(example for example in EXAMPLES if example.name == "panda")
    robot, oracle = example.robot(), Pinocchio(example)
    q, v, a = motion(robot, 80, 7)
    tau = robot.inverse_dynamics(q, v, a) + 0.1 * np.random.default_rng(8).normal(size=v.shape)
    Y = oracle.each(lambda model, data, *x: pin.computeJointTorqueRegressor(model, data, *x).copy(), q, v, a)
    joints = [oracle._joint(robot.joint(body.joint_name)).id - 1 for body in robot.tree.bodies]
    columns = [10 * joint + k for joint in joints for k in (0, 1, 2, 3, 4, 5, 7, 6, 8, 9)]
    Y = Y[:, oracle._v][..., columns].reshape(-1, len(columns))
    smallest = np.linalg.lstsq(Y, tau.ravel(), rcond=1e-12)[0]
    fit = identify.base_parameters(robot, q, v, a, tau, weights=np.ones(robot.nv), passive=False, held_out=0.0)
    assert_close(fit.values, fit.base.values(smallest), 1e-8)
    residual = tau.ravel() - Y @ smallest
    variance = residual @ residual / (len(residual) - fit.base.rank)
    Y_b = fit.base.regressor(Y)
    expected = variance * np.linalg.inv(Y_b.T @ Y_b)
    scale = np.sqrt(np.diag(expected))
    assert_close(fit.covariance / np.outer(scale, scale), expected / np.outer(scale, scale), 1e-7)
    lengths = np.linalg.norm(Y_b, axis=0)
    assert fit.condition == pytest.approx(np.linalg.cond(Y_b / lengths), rel=1e-8)


def test_nearly_parallel_joint_axes_count_as_parallel_in_identification() -> None:
    """Kinova's file has 1.5708 for π/2: the tiny angle identifies no parameters."""
    robot = next(example for example in EXAMPLES if example.name == "kinova").robot()
    q, v, a = motion(robot, 80, 3)
    tau = robot.inverse_dynamics(q, v, a)
    fit = identify.base_parameters(robot, q, v, a, tau)
    assert fit.condition < 100.0 and len(fit.values) < robot.base_parameters().rank
    assert_close(fit.joint_forces(q, v, a), tau, 1e-7, core=1)
    assert identify.excitation(robot, q, v, a).condition < 100.0


def test_damping_and_a_payload_can_be_identified_together() -> None:
    """Other parameters are known; of a batch of four motions, one is held out to check the estimate."""
    robot = shipped("arm7")
    loaded = robot.with_payload("payload", "hand", 1.5, (0.02, -0.01, 0.1), (2e-3, 3e-3, 1e-3))
    q, v, a = (x.reshape(4, 40, 7) for x in motion(robot, 160, 9))
    tau = loaded.inverse_dynamics(q, v, a, passive=True)
    fit = identify.base_parameters(robot, q, v, a, tau, bodies=["flange"], passive=["damping"], held_out=[3])
    assert fit.samples == 120 and fit.held_out is not None and fit.held_out.samples == 40
    expected = loaded.inertial_parameters(passive=True)[[*range(60, 70), *range(77, 84)]]
    assert_close(fit.values_of(loaded), fit.base.values(expected), 1e-12)
    assert_close(fit.values, fit.base.values(expected), 1e-8)  # dry friction is the robot's, and acts
    assert "flange.m" in fit.base.names and "shoulder_pan.damping" in fit.base.names
    assert (fit.held_out.error < 1e-8).all() and fit.held_out.nominal_error.max() > 1.0
    assert (fit.held_out.relative[:6] < 1e-8).all()
    with pytest.raises(lw.errors.UnknownNameError, match="it is welded to body 'flange'"):
        identify.base_parameters(robot, q, v, a, tau, bodies=["hand"])


@pytest.mark.slow(every=3)
def test_identification_that_ignores_passive_forces_gives_a_warning() -> None:
    robot = shipped("arm7")  # its joints have damping and dry friction
    loaded = robot.with_payload("payload", "hand", 1.5, (0.02, -0.01, 0.1), (2e-3, 3e-3, 1e-3))
    q, v, a = motion(robot, 60, 9)
    tau = loaded.inverse_dynamics(q, v, a, passive=True)
    for fit in (identify.base_parameters, identify.inertias):
        caller = fit.__name__
        with pytest.warns(lw.errors.ModelWarning, match=f"^{caller}: passive: .*'arm7' have damping and friction, got"):
            fit(robot, q, v, a, tau, bodies=["flange"])
    biased = identify.base_parameters(robot, q, v, a, tau, passive=False, bodies=["flange"])
    assert biased.held_out is not None and biased.held_out.error.max() > 0.1
    known = identify.base_parameters(robot, q, v, a, tau, passive=[], bodies=["flange"])
    assert_close(known.values, known.values_of(loaded), 1e-8)
    assert all(name.startswith("flange.") for name in known.names)
    truth = deformed_robot(robot, 0.2, 1)
    tau_of_other = truth.inverse_dynamics(q, v, a, passive=True) + 0.02 * np.random.default_rng(0).normal(size=v.shape)
    inertial = identify.inertias(robot, q, v, a, tau_of_other, passive=[])
    assert inertial.success and inertial.held_out is not None and inertial.held_out.error.max() < 0.1
    estimate = identify.base_parameters(robot, q, v, a, tau, passive="damping", bodies=["flange"])
    assert_close(estimate.values, estimate.values_of(loaded), 1e-8)
    assert estimate.names == identify.base_parameters(robot, q, v, a, tau, passive=["damping"], bodies=["flange"]).names
    with pytest.raises(lw.errors.UnknownNameError, match="no kind of passive parameter named 'damp'"):
        identify.base_parameters(robot, q, v, a, tau, passive="damp")


def test_validation_samples_of_identification_are_the_last_ones_or_the_named_ones() -> None:
    robot = lw.load("double_pendulum")
    q, v, a = pendulum_motion(100)
    tau = robot.inverse_dynamics(q, v, a)
    tau[80:] += 1.0
    assert_close(identify.base_parameters(robot, q, v, a, tau, held_out=0.2).values, _nominal(robot), 1e-8)
    spoilt = identify.base_parameters(robot, q, v, a, tau, held_out=0.1)
    assert spoilt.samples == 90 and np.abs(spoilt.values - spoilt.nominal).max() > 1e-3
    mask = np.arange(100) >= 80
    for positions in (mask, np.arange(80, 100), range(-20, 0)):
        fit = identify.base_parameters(robot, q, v, a, tau, held_out=positions)
        assert fit.samples == 80 and fit.held_out.samples == 20
        assert_close(fit.held_out.error, np.ones(2), 1e-8)
        assert_close(fit.held_out.nominal_error, np.ones(2), 1e-8)


def test_identification_table_marks_base_parameters_not_distinct_from_zero() -> None:
    robot = lw.load("double_pendulum")
    q, v, a = pendulum_motion(100)
    tau = robot.inverse_dynamics(q, v, a) + np.random.default_rng(1).normal(size=v.shape)
    fit = identify.base_parameters(robot, q, v, a, tau)
    lines = str(fit).splitlines()
    assert repr(fit) == "<BaseParameterFit: 6 base parameters from 75 samples>"
    assert lines[0].startswith("6 base parameters from 75 samples, condition number ")
    marked = [line for line in lines if line.endswith("not distinct from zero")]
    assert len(marked) == 6 - fit.essential.sum() > 0
    assert any(line.startswith("upper_rod.h_x ") for line in lines) and "held-out rms (25)" in str(fit)


def _nominal(robot: lw.Robot) -> np.ndarray:
    return robot.base_parameters().values(robot.inertial_parameters())
