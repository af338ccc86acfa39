"""Physically consistent inertias: exact for exact forces, and optimal."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork import identify, parameters
from linkwork.identify import convex_inertia_fit as deformed
from oracles.comparison import assert_close
from oracles.example_robots import shipped
from oracles.trees import TREES, robot_of

from .cases import deformed_robot, motion, pendulum_motion


def test_log_cholesky_steps_and_inertia_divergences_equal_their_definitions() -> None:
    """Derivatives by differences, the divergence by its definition and expansion."""
    rng = np.random.default_rng(0)
    ten = shipped("arm7").inertial_parameters().reshape(-1, 10)
    U, eye = deformed.factors(ten), np.broadcast_to(np.eye(4), (7, 4, 4))
    L = deformed.stepped(eye, deformed.symmetric(0.2 * rng.normal(size=(7, 10))))
    P_0, P = parameters.pseudo_inertia(ten), parameters.pseudo_inertia(deformed.parameters_of_factors(U @ L))
    ratio = np.linalg.solve(P_0, P)
    expected = np.trace(ratio, axis1=1, axis2=2) - np.log(np.linalg.det(ratio)) - 4.0
    assert_close(deformed.divergences(L), expected, 1e-12)
    assert (np.triu(L) == L).all() and (np.triu(U) == U).all()
    for k in range(10):
        s = np.zeros((7, 10))
        s[:, k] = 1e-5
        ahead, behind = (deformed.stepped(L, deformed.symmetric(x)) for x in (s, -s))
        rates = (deformed.parameters_of_factors(U @ ahead) - deformed.parameters_of_factors(U @ behind)) / 2e-5
        assert_close(deformed.rates(U @ L)[:, :, k], rates, 1e-9)
        D = [deformed.divergences(x) for x in (ahead, L, behind)]
        assert_close((D[0] - D[2]) / 2e-5, deformed.gradients(L)[:, k], 1e-9)
        assert_close((D[0] - 2.0 * D[1] + D[2]) / 1e-10, np.ones(7), 1e-4)


def test_steps_of_an_inertia_fit_are_cut_for_positive_definite_inertias_and_all_parameters_alike() -> None:
    eye = np.eye(4)[None]
    problem = deformed.ConvexProblem(np.zeros((1, 12)), np.zeros(1), eye, 1.0)
    y, y_full = np.array([1.0, 4.0]), np.array([3.0, 0.0])
    for least, part in ((-1.8, 0.5), (-0.5, 1.0), (0.3, 1.0)):
        s = np.array([least, *[0.0] * 9])
        L, cut = problem._line_search(eye, y, s, y_full, 0.0, 1.0)
        assert_close(cut, y + part * (y_full - y), 1e-15)
        assert_close(L, deformed.stepped(eye, deformed.symmetric(part * s[None])), 1e-15)


@pytest.mark.slow(every=5)
def test_exact_forces_give_exact_base_parameters_for_any_spread_of_inertias() -> None:
    robot = shipped("arm7")
    truth = deformed_robot(robot, 0.3, 3)
    q, v, a = motion(robot, 60, 1)
    tau = truth.inverse_dynamics(q, v, a)
    base = identify.base_parameters(robot, q, v, a, tau, passive=False)
    for spread in (0.2, 5.0):
        fit = identify.inertias(robot, q, v, a, tau, passive=False, spread=spread)
        assert fit.success and fit.identifiable == (43, 43)
        assert_close(base.base.values(fit.values), base.values, 1e-8)
        assert_close(fit.robot.inertial_parameters(), fit.values, 1e-12)
        assert fit.robot.physical_consistency() == {}
        assert_close(
            fit.robot.inverse_dynamics(q, v, a), tau, 1e-8, core=1
        )  # 1e-7 of their size is their noise's least
        assert_close(fit.joint_forces(q, v, a), tau, 1e-8, core=1)


@pytest.mark.slow(every=9)
def test_physically_consistent_inertias_are_fitted_where_unconstrained_estimates_are_not_physical() -> None:
    """Little is measured, with much noise: the robot stays one, and is nearer to the truth than it was."""
    for name in ("mixed_star", "coupled_0", "spherical_chain"):
        robot = robot_of(TREES[name])
        true_robot = deformed_robot(robot, 0.3, 5)
        q, v, a = motion(robot, 40, 2)
        tau = true_robot.inverse_dynamics(q, v, a)
        tau = tau + 0.5 * np.sqrt(np.mean(tau**2)) * np.random.default_rng(3).normal(size=tau.shape)
        fit = identify.inertias(robot, q, v, a, tau, passive=False)
        assert fit.success, name
        extended = deformed.has_extent(robot.inertial_parameters().reshape(-1, 10))
        assert len(fit.unchanged) == (~extended).sum()
        ten = fit.robot.inertial_parameters().reshape(-1, 10)
        assert parameters.is_physical(ten[extended], definite=True, tolerance=1e-12).all(), name
        validation = motion(robot, 200, 9)
        truth = true_robot.inverse_dynamics(*validation)
        error, before = (np.sum((r.inverse_dynamics(*validation) - truth) ** 2) for r in (fit.robot, robot))
        assert error < before, name


def test_validation_errors_of_identified_robots_are_smaller_than_those_of_the_nominal_robot() -> None:
    robot = shipped("arm7")
    truth = deformed_robot(robot.with_payload("payload", "hand", 0.5, (0.0, 0.0, 0.05)), 0.2, 4)
    q, v, a = motion(robot, 400, 4)
    tau = truth.inverse_dynamics(q, v, a) + 0.02 * np.random.default_rng(5).normal(size=v.shape)
    fit = identify.inertias(robot, q, v, a, tau, passive=False)
    assert fit.held_out is not None and fit.held_out.samples == 100
    assert (fit.held_out.error < fit.held_out.nominal_error).all()
    assert_close(fit.held_out.error / 0.02, np.ones(7), 0.25)
    assert_close(fit.sigma / 0.02, np.ones(7), 0.1)
    assert (fit.r_squared[:6] > 0.95).all()
    lines = str(fit).splitlines()
    assert lines[0].startswith("70 parameters from 300 samples, converged after ")
    assert lines[1] == "the measurements determine 43 of 43 base parameters"
    assert repr(fit) == "<InertiaFit: 70 parameters of robot 'arm7' from 300 samples>"


def test_identified_inertias_of_welded_links_deform_with_their_body_and_sum_to_it() -> None:
    """A point mass in the hand stays one, where the body's deformation takes it; masses add up to the body's."""
    robot = shipped("arm7").with_payload("payload", "hand", 1.0, (0.0, 0.0, 0.1))
    truth = deformed_robot(robot, 0.2, 6)
    assert all((truth.link(x.name).mass > 0.0) == (x.mass > 0.0) for x in robot.links)
    assert truth.physical_consistency() == {}
    load = truth.link("payload")
    assert load.mass > 0.0 and np.abs(load.inertia).max() < 1e-12
    welded = [link for link in truth.links if link.body == "flange"]
    total = truth.inertial_parameters().reshape(-1, 10)[6, 0]
    assert sum(link.mass for link in welded) == pytest.approx(total, rel=1e-12) and len(welded) > 1
    old = {link.name: link.mass for link in robot.links}
    assert np.ptp([link.mass / old[link.name] for link in welded if link.mass]) < 1e-12


def test_physically_consistent_inertia_fits_are_optimal_in_log_cholesky_coordinates() -> None:
    """SciPy's nonlinear least squares over the θ of `linkwork.parameters`, from elsewhere, ends at the same robot."""
    optimize = pytest.importorskip("scipy.optimize")
    robot = lw.load("double_pendulum")
    truth = deformed_robot(robot, 0.3, 2)
    q, v, a = pendulum_motion(120)
    tau = truth.inverse_dynamics(q, v, a) + 0.3 * np.random.default_rng(6).normal(size=v.shape)
    fit = identify.inertias(robot, q, v, a, tau, passive=False, spread=0.4, held_out=0.0)
    Y = robot.inverse_dynamics_regressor(q, v, a) / fit.sigma[:, None]
    U_0 = deformed.factors(robot.inertial_parameters().reshape(-1, 10))

    def residuals(theta: np.ndarray) -> np.ndarray:
        pi = parameters.from_log_cholesky(theta.reshape(-1, 10))
        L = np.linalg.solve(U_0, deformed.factors(pi))
        d = np.log(np.diagonal(L, axis1=1, axis2=2))
        stretched = np.sign(d) * np.sqrt(np.maximum(np.expm1(2.0 * d) - 2.0 * d, 0.0))
        sheared = L[:, *np.triu_indices(4, 1)]
        expected = np.sqrt(2.0) / 0.4 * np.concatenate([stretched.ravel(), sheared.ravel()])
        return np.concatenate([(Y @ pi.ravel() - tau / fit.sigma).ravel(), expected])

    nominal = parameters.log_cholesky(robot.inertial_parameters().reshape(-1, 10)).ravel()
    start = nominal + 0.2 * np.random.default_rng(7).normal(size=nominal.shape)
    result = optimize.least_squares(residuals, start, xtol=1e-13, ftol=1e-13, gtol=1e-13, x_scale="jac")
    outcome = parameters.from_log_cholesky(result.x.reshape(-1, 10)).ravel()
    assert_close((outcome - fit.values) / fit.standard_deviations, np.zeros(20), 1e-3)


@pytest.mark.slow(every=5)
def test_covariance_of_physically_consistent_inertia_fits_is_calibrated() -> None:
    """Robots drawn with the stated `spread`, forces with noise: errors have the stated size and distribution."""
    robot = lw.load("double_pendulum")
    q, v, a = pendulum_motion(100)
    rng = np.random.default_rng(8)
    single = []
    for seed in range(60):
        truth = deformed_robot(robot, 0.03, seed)
        tau = truth.inverse_dynamics(q, v, a) + 0.2 * rng.normal(size=v.shape)
        fit = identify.inertias(robot, q, v, a, tau, passive=False, spread=0.03, held_out=0.0)
        single.append((fit.values - truth.inertial_parameters()) / fit.standard_deviations)
    squares = np.mean(np.square(single), axis=0)
    assert 0.8 < squares.mean() < 1.25 and squares.max() < 2.5


@pytest.mark.slow(every=5)
def test_identified_damping_friction_and_armature_are_not_negative() -> None:
    """Damping, dry friction and armature are within their deviations, and zero where they do not exist."""
    pytest.importorskip("scipy")
    robot = lw.load("double_pendulum")
    first, second = (joint.name for joint in robot.joints)
    truth = deformed_robot(robot, 0.2, 9)
    for joint in truth.joints:
        truth = truth.with_joint(joint.with_damping(0.3).with_friction(0.2).with_armature(0.05))
    q, v, a = (x + y for x, y in zip(pendulum_motion(300), _faster(pendulum_motion(300)), strict=True))
    noise = 0.05 * np.random.default_rng(10).normal(size=v.shape)
    tau = truth.inverse_dynamics(q, v, a, passive=True) + noise
    fit = identify.inertias(robot, q, v, a, tau, passive=True)
    assert fit.success and fit.names[20:22] == (f"{first}.armature", f"{second}.armature")
    expected = truth.inertial_parameters(passive=True)
    free = [k for k, name in enumerate(fit.names) if name not in fit.at_bound]
    errors = ((fit.values - expected) / np.where(fit.standard_deviations > 0.0, fit.standard_deviations, 1.0))[free]
    assert np.abs(errors[20:]).max() < 4.0
    assert (fit.values[20:] >= 0.0).all() and {*fit.at_bound} <= {f"{first}.stiffness", f"{second}.stiffness"}
    assert fit.at_bound and "at its bound" in str(fit)
    identified = fit.robot
    assert_close(identified.inertial_parameters(passive=True), fit.values, 1e-12)
    assert_close(identified.inverse_dynamics(q, v, a, passive=True), fit.joint_forces(q, v, a), 1e-11, core=1)
    with pytest.raises(ValueError, match=r"do not determine '.*damping'"):
        identify.inertias(robot, q, 0.0 * v, a, tau, passive=["damping"])
    alike = "do not determine '.*(armature|stiffness)', '.*(armature|stiffness)'"  # on one sine about the springs' rest
    with pytest.raises(ValueError, match=alike):
        identify.inertias(robot, *pendulum_motion(300), tau, passive=True)


@pytest.mark.slow(every=3)
def test_every_velocity_of_a_joint_has_its_own_identified_damping() -> None:
    """Each number of a joint has its own damping."""
    pytest.importorskip("scipy")
    robot = robot_of(TREES["planar_chain"])
    truth = deformed_robot(robot, 0.1, 2)
    for joint in truth.joints:
        truth = truth.with_joint(joint.with_damping([0.3, 0.2, 0.1]))
    q, v, a = motion(robot, 80, 3)
    tau = truth.inverse_dynamics(q, v, a, passive=True)
    fit = identify.inertias(robot, q, v, a, tau, passive=["damping"])
    expected = truth.inertial_parameters(passive=True)
    assert_close(fit.values[30:], np.tile([0.3, 0.2, 0.1], 3), 1e-6)
    assert_close(fit.robot.inverse_dynamics(q, v, a, passive=True), tau, 1e-6, core=1)
    assert_close(fit.robot.inertial_parameters(passive=True)[39:48], expected[39:48], 1e-6)


@pytest.mark.slow(every=5)
def test_identified_parameters_shared_by_follower_and_master_change_only_the_masters() -> None:
    """Forces show their sum: the master's is estimated, the follower's stays; no matter which of them is first."""
    pytest.importorskip("scipy")
    robot = lw.load("arm7_gripper", mimic="coupled")
    robot = robot.with_locked_joints(robot.v_names[:6])
    follower = next(joint for joint in robot.joints if joint.mimic is not None)
    robot = robot.with_joint(follower.with_damping(0.5).with_friction(0.0).with_dynamics("urdf"))
    master = robot.joint(follower.mimic.joint)
    truth = robot.with_joint(master.with_damping(3.0).with_armature(0.2))
    q, v, a = motion(robot, 60, 3)
    kinds = ["armature", "damping"]
    fit = identify.inertias(robot, q, v, a, truth.inverse_dynamics(q, v, a, passive=True), passive=kinds)
    shared = tuple(f"{follower.name}.{kind}" for kind in kinds)
    assert fit.unchanged == shared and not {*shared} & {*fit.names} and fit.success
    assert f"not distinguishable from other joints by forces: {', '.join(shared)}" in str(fit)
    result = fit.robot.joint(master.name), fit.robot.joint(follower.name)
    assert_close(result[0].damping, [3.0], 1e-6)
    assert_close(result[1].damping, [0.5], 1e-15)
    assert (fit.held_out.error < 1e-6).all()
    for name in ("coupled_0", "rerooted_coupled"):
        coupled = robot_of(TREES[name])
        q, v, a = motion(coupled, 80, 3)
        fit = identify.inertias(coupled, q, v, a, coupled.inverse_dynamics(q, v, a), passive=["damping"])
        followers = {body.joint_name for body in coupled.tree.bodies if body.coupling is not None}
        assert (
            fit.unchanged
            and {name.partition(".")[0] for name in fit.unchanged if name.endswith("damping")} <= followers
        )


def test_damping_and_friction_not_identified_are_zero_in_the_fitted_robot() -> None:
    """Values without effect are zero after the fit; static friction is at least the kinetic friction."""
    pytest.importorskip("scipy")
    robot = lw.load("double_pendulum")
    q, v, a = motion(robot, 100, 3)
    silent = stuck = robot
    for joint in robot.joints:
        stuck = stuck.with_joint(joint.with_damping(0.4).with_friction(0.3).with_static_friction(0.5))
        silent = silent.with_joint(stuck.joint(joint.name).with_dynamics("none"))
    first, second = robot.joints
    truths = {
        "damping": robot.with_joint(first.with_damping(0.9)).with_joint(second.with_damping(0.2)),
        "friction": robot.with_joint(first.with_friction(0.9)).with_joint(second.with_friction(0.2)),
    }
    for kind, truth in truths.items():
        tau = truth.inverse_dynamics(q, v, a, passive=True)
        fit = identify.inertias(silent, q, v, a, tau, passive=[kind])
        assert_close(fit.robot.inverse_dynamics(q, v, a, passive=True), tau, 1e-6, core=1)
        for joint, true in zip(fit.robot.joints, truth.joints, strict=True):
            for name in ("damping", "friction", "static_friction"):
                assert_close(getattr(joint, name), getattr(true, name), 1e-6, name)
    tau = truth.inverse_dynamics(q, v, a, passive=True)
    fit = identify.inertias(stuck, q, v, a, tau, passive=["damping", "friction"])
    assert_close([x.friction[0] for x in fit.robot.joints], [0.9, 0.2], 1e-6)
    assert_close([x.static_friction[0] for x in fit.robot.joints], [0.9, 0.5], 1e-6)


def test_inertial_parameters_without_information_in_the_measurements_are_unchanged() -> None:
    """A single pose at rest determines only the effect of gravity; a body that is not selected is unchanged."""
    robot = shipped("arm7")
    truth = deformed_robot(robot, 0.2, 1)
    q = np.tile(motion(robot, 1)[0], (20, 1))
    zeros = np.zeros((20, 7))
    fit = identify.inertias(robot, q, zeros, zeros, truth.inverse_dynamics(q, zeros, zeros), passive=False)
    identifiable, count = fit.identifiable
    assert 0 < identifiable < 7 and count == 43 and fit.success
    assert f"the measurements determine {identifiable} of 43 base parameters; the others follow" in str(fit)
    assert fit.inertia_divergence["shoulder"] < 1e-12
    q, v, a = motion(robot, 50)
    fit = identify.inertias(robot, q, v, a, truth.inverse_dynamics(q, v, a), passive=False, bodies=["flange", "wrist"])
    assert [*fit.inertia_divergence] == ["wrist", "flange"]
    assert np.array_equal(fit.robot.inertial_parameters()[:50], robot.inertial_parameters()[:50])


def _faster(motion: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """The same twice as fast and half as far."""
    return tuple(0.5 * 2.0**k * np.concatenate([x[::2], x[::2]]) for k, x in enumerate(motion))
