"""Impacts, inertias, unique forces, power, stabilisation, equilibria and parameters of mechanisms."""

import numpy as np
import pytest

import linkwork as lw
from helpers.fourbars import fourbars, parallel
from helpers.mechanisms import differences, driven, moving_fourbars, standing

CASES = {
    "fourbars": moving_fourbars,
    "standing": standing,
    "doubled": lambda: standing(doubled=True),
}


def parts(robot, q):
    """M⁻¹, G and Λ⁺."""
    M_inv, G = np.linalg.inv(robot.mass_matrix(q)), robot.constraint_jacobian(q)
    return M_inv, G, np.linalg.pinv(G @ M_inv @ G.T, rcond=1e-9)


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("case", CASES)
def test_impacts_project_velocities_onto_the_constraints(case):
    robot, q, v = CASES[case]()
    M_inv, G, dense_projector = parts(robot, q)
    M = robot.mass_matrix(q)
    for e in (0.0, 0.4, 1.0):
        after, impulses = robot.constrained_impact(q, v, restitution=e)
        size = np.abs(impulses).max()
        np.testing.assert_allclose(G @ after, -e * (G @ v), rtol=0, atol=1e-11 * size)
        np.testing.assert_allclose(M @ (after - v), G.T @ impulses, rtol=0, atol=1e-11 * size)
        np.testing.assert_allclose(impulses, -(1 + e) * dense_projector @ G @ v, rtol=0, atol=1e-6 * size)
        lost = robot.kinetic_energy(q, v) - robot.kinetic_energy(q, after)
        np.testing.assert_allclose(
            lost, 0.5 * (1 - e * e) * v @ G.T @ dense_projector @ G @ v, rtol=0, atol=1e-10 * size
        )
        assert lost > -1e-12
    frame, p = robot.bodies[-1], np.arange(1.0, 7.0)
    after, _ = robot.constrained_impact(q, v, impulses={frame: p})
    pushed = v + M_inv @ robot.jacobian(q, frame).T @ p
    np.testing.assert_allclose(
        after, pushed - M_inv @ G.T @ dense_projector @ G @ pushed, rtol=0, atol=1e-10 * np.abs(after).max()
    )
    np.testing.assert_array_equal(after, robot.impact(q, v, impulses={frame: p}))


def test_four_bar_that_hits_a_stop_behaves_as_an_inelastic_pendulum():
    robot = fourbars(1)
    q, v = parallel(robot, 0.9, rate=1.0)
    stopped = robot.with_frame("stop", "world", robot.pose(q, "tip1")).with_loop(
        "stop", "stop", "tip1", lw.joints.Spherical()
    )
    after, _ = stopped.constrained_impact(q, v)
    np.testing.assert_allclose(after, 0.0, rtol=0, atol=1e-12)
    after, _ = stopped.constrained_impact(q, v, restitution=1.0)
    np.testing.assert_allclose(after, -v, rtol=0, atol=1e-12)


@pytest.mark.slow(every=3)
@pytest.mark.parametrize("case", CASES)
def test_constrained_mass_matrices_equal_dense_algebra(case):
    robot, q, v = CASES[case]()
    M_inv, G, dense_projector = parts(robot, q)
    M, n = robot.mass_matrix(q), robot.nv
    size = np.abs(M_inv).max()
    np.testing.assert_allclose(robot.delassus_matrix(q), G @ M_inv @ G.T, rtol=0, atol=1e-11 * size)
    inverse = M_inv - M_inv @ G.T @ dense_projector @ G @ M_inv
    np.testing.assert_allclose(robot.constrained_mass_matrix_inverse(q), inverse, rtol=0, atol=1e-10 * size)
    dynamics_result = robot.constrained_mass_matrix(q)
    np.testing.assert_allclose(dynamics_result, M - G.T @ dense_projector @ G, rtol=0, atol=1e-10)
    P = np.eye(n) - M_inv @ G.T @ dense_projector @ G
    np.testing.assert_allclose(dynamics_result, P.T @ M @ P, rtol=0, atol=1e-10)
    np.testing.assert_allclose(robot.constrained_mass_matrix_inverse(q) @ dynamics_result, P, rtol=0, atol=1e-9)
    np.testing.assert_allclose(dynamics_result @ (P @ v), M @ (P @ v), rtol=0, atol=1e-10)


def test_constraint_forces_reported_as_determinate_are_unique():
    robot = fourbars(1)  # a plane's loop closed by a hinge in space: three rows do nothing
    q, _ = parallel(robot, 0.8)
    G = robot.constraint_jacobian(q)
    expected = np.abs(G).max(axis=1) > 1e-12
    assert expected.sum() == 2
    np.testing.assert_array_equal(robot.determinate_constraint_forces(q), expected)
    robot, q, _ = standing(doubled=True)  # the first foot's rows are told, the others' are shared
    G = robot.constraint_jacobian(q)
    null = np.linalg.svd(G.T)[2][np.linalg.matrix_rank(G) :]
    np.testing.assert_array_equal(robot.determinate_constraint_forces(q), np.abs(null).max(axis=0) < 1e-9)
    assert robot.determinate_constraint_forces(q).sum() == 3
    np.testing.assert_allclose(robot.constraint_force_indeterminacy(np.stack([q, q]))[1, 3:], 0.5, rtol=0, atol=1e-6)


@pytest.mark.slow(every=5)
def test_energy_of_mechanisms_changes_by_the_power_of_joints_wrenches_and_constraints():
    for robot, q, v in (moving_fourbars(), driven()):
        time, tau, w = 0.7, np.linspace(1.0, 2.0, robot.nv), np.arange(1.0, 7.0)
        frame, options = robot.bodies[-1], {"time": 0.7}
        v = robot.project_velocity(q, v, **options)
        a, forces = robot.constrained_forward_dynamics(q, v, tau, wrenches={frame: w}, **options)

        def energy(t, q=q, v=v, a=a, robot=robot):
            moved_q, rate = robot.integrate(q, t * v), v + t * a
            return [robot.kinetic_energy(moved_q, rate) + robot.potential_energy(moved_q)]

        rate = float(differences(lambda x: energy(x[0]), 1, 1e-5)[0][0])
        joints, outside, _ = robot.power(q, v, tau, wrenches={frame: w})
        power = robot.constraint_power(q, v, tau, wrenches={frame: w}, **options)
        np.testing.assert_allclose(rate, joints + outside + power, rtol=0, atol=1e-6 * max(1.0, abs(power)))
        np.testing.assert_allclose(power, forces @ robot.constraint_jacobian(q, **options) @ v, rtol=0, atol=1e-10)
        if not any(constraint.time_dependent for constraint in robot.constraints):
            assert abs(power) < 1e-11 * np.abs(forces).max()
        else:
            assert abs(power) > 1e-3 and time


def test_stabilised_constraint_errors_decay_with_the_stated_time_constant():
    robot, q, v = moving_fourbars()
    G, T = robot.constraint_jacobian(q), 0.05
    tau = np.zeros(robot.nv)
    a, _ = robot.constrained_forward_dynamics(q, v, tau, stabilization=T)
    expected = robot.constraint_bias(q, v) + 2 / T * (G @ v) + robot.constraint_error(q) / T**2
    np.testing.assert_allclose(G @ a, -expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    at_first, h = np.abs(robot.constraint_error(q)).max(), 1e-3
    v = robot.project_velocity(q, 0.0 * v)
    for _ in range(400):
        a, _ = robot.constrained_forward_dynamics(q, v, tau, stabilization=T)
        v = v + h * a
        q = robot.integrate(q, h * v)
    assert np.abs(robot.constraint_error(q)).max() < 0.02 * at_first
    plain, timed = (robot.compile(("constrained_forward_dynamics", more)) for more in ({}, {"stabilization": True}))
    assert sum(plain.operations.values()) < sum(timed.operations.values())


@pytest.mark.slow(every=5)
def test_equilibria_of_mechanisms_are_computed_or_fail_with_a_reason():
    robot = fourbars(1)
    q, _ = parallel(robot, -1.2)
    equilibrium_result = robot.equilibrium(q)
    hanging, _ = parallel(robot, -np.pi / 2)
    assert (
        equilibrium_result.success
        and equilibrium_result.stable
        and equilibrium_result.status == "solved"
        and "stable" in str(equilibrium_result)
    )
    np.testing.assert_allclose(equilibrium_result.q, hanging, rtol=0, atol=1e-11)
    np.testing.assert_allclose(equilibrium_result.stiffness, [2 * 9.81 / (2 / 3 + 1)], rtol=1e-9)
    upright = robot.equilibrium(parallel(robot, 1.5)[0], descend=False)
    assert upright.success and not upright.stable and upright.stability == "unstable"
    assert robot.equilibrium(upright.q).iterations == 0  # it is one, and stays what it is
    down = robot.equilibrium(parallel(robot, 1.5)[0])
    assert down.stable and np.abs(robot.difference(hanging, down.q)).max() < 1e-10
    tau = np.array([4.0, 0.0, 0.0])  # (1/2 + 1/2 + 1) · 9.81 cos θ balances it
    pushed = robot.equilibrium(q, tau=-tau)
    np.testing.assert_allclose(np.abs(np.cos(pushed.q)), 4.0 / (2 * 9.81), rtol=0, atol=1e-10)
    assert np.abs(robot.forward_dynamics(pushed.q, np.zeros(3), -tau)).max() < 1e-9
    unbalanced = robot.equilibrium(q, tau=[1e3, 0.0, 0.0])
    assert not unbalanced.success and unbalanced.status == "not_found"
    few = robot.equilibrium(q, max_iterations=1)
    assert not few.success and few.status == "max_iterations"
    with pytest.raises(ValueError, match="q_init"):
        robot.equilibrium(np.zeros(4))


@pytest.mark.slow(every=5)
def test_derivatives_of_constrained_dynamics_by_robot_parameters_equal_finite_differences():
    robot, q, v = moving_fourbars()
    tau, names = np.linspace(1.0, 2.0, 5), ["inertia:rod1", "frame:tip1"]
    moved = np.array([0.0, -0.2, 0.0, 0.05, 0.0, 0.02])  # in the plane
    rng = np.random.default_rng(0)
    for function, arrays in (
        ("constrained_forward_dynamics", (q, v, tau)),
        ("constrained_inverse_dynamics", (q, v, tau)),
        ("constrained_impact", (q, v)),
    ):
        kernel = robot.compile(function, parameters=names)
        at = [np.array([1.2, 0.5, 0.01, 0.02, 0.1, 0.4, 0.4, 0.0, 0.0, 0.0]), moved]
        along = [rng.normal(size=10) * 0.01, np.array([0.0, 0.1, 0.0, 0.1, 0.0, -0.2])]
        derived = kernel.jvp()(*arrays, *at, *(np.zeros_like(x) for x in arrays), *along)
        step = 1e-5
        ahead, back = (kernel(*arrays, *(x + s * dx for x, dx in zip(at, along, strict=True))) for s in (step, -step))
        for d, forward, reverse in zip(derived[-len(ahead) :], ahead, back, strict=True):
            size = max(1.0, np.abs(forward).max())
            np.testing.assert_allclose(d, (forward - reverse) / (2 * step), rtol=0, atol=1e-7 * size)
            assert function.endswith("inverse_dynamics") or np.abs(d).max() > 1e-3
