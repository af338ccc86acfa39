"""Derivatives of constrained forward dynamics: differences, dual numbers, Pinocchio and identities."""

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from helpers.cut_four_bar import four_bar
from helpers.mechanisms import differences, driven, moving_fourbars, standing
from linkwork.constraints import LoopJoint
from linkwork.mechanisms.algorithms import constraint_jacobian_derivative
from linkwork.model.random_tree import random_tree
from oracles.trees import robot_of

CASES = {
    "fourbars": moving_fourbars,
    "standing": standing,
    "doubled": lambda: standing(doubled=True),
    "driven": driven,
}


def state(robot, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=robot.nv) * 3.0


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("case", CASES)
def test_derivatives_of_constrained_dynamics_equal_finite_differences(case):
    robot, q, v = CASES[case]()
    tau, w = state(robot), np.arange(1.0, 7.0)
    frame = robot.bodies[-1]
    more = {"time": 0.4, "wrenches": {frame: w}, "gravity": (0.3, -0.2, -9.0), "passive": True}
    dynamics_result = robot.constrained_forward_dynamics_derivatives(q, v, tau, **more)
    assert [x.shape[0] for x in dynamics_result] == [robot.nv] * 3 + [len(robot.constraint_bias(q, v))] * 3 + [robot.nv]

    def forward(dq=0.0, dv=0.0, dtau=0.0, dw=0.0):
        acting = more | {"wrenches": {frame: w + dw}}
        return robot.constrained_forward_dynamics(robot.integrate(q, dq + 0 * v), v + dv, tau + dtau, **acting)

    for k, change in enumerate(("dq", "dv", "dtau")):
        step = 1e-6 if change != "dtau" else 1.0  # linear
        a, forces = differences(lambda x, change=change: forward(**{change: x}), robot.nv, step)
        size = max(1.0, np.abs(a).max())
        np.testing.assert_allclose(dynamics_result[k], a, rtol=0, atol=1e-7 * size)
        if case != "doubled":  # λ of least norm has a part that is not told
            np.testing.assert_allclose(
                dynamics_result[3 + k], forces, rtol=0, atol=1e-7 * max(1.0, np.abs(forces).max())
            )
    np.testing.assert_allclose(dynamics_result[6], differences(lambda x: forward(dw=x), 6, 1.0)[0], rtol=0, atol=1e-9)


def test_derivatives_of_loop_joint_functions_equal_those_of_general_constraints(monkeypatch):
    """Twists along the path, and directions of q and v, of loops in trees of all joint types."""
    trees = [lw.load(name).tree for name in ("jansen_leg", "stewart")]
    for seed in range(3):
        tree = random_tree(np.random.default_rng(seed), 7, types=lw.joints.ALL[1:], shape="chain")
        ends = tree.bodies[-1].name, tree.bodies[1].name
        loop = LoopJoint("loop", lw.joints.Revolute((0.48, 0.6, 0.64)), *ends)
        trees.append(replace(tree, constraints=(loop,)))
    for tree in trees:
        robot, rng = robot_of(tree), np.random.default_rng(1)
        q, (v, a) = robot.random_configuration(rng).tolist(), rng.normal(size=(2, tree.nv)).tolist()
        forces = rng.normal(size=sum(len(constraint.component_names) for constraint in tree.constraints)).tolist()
        jacobians = constraint_jacobian_derivative.constraint_derivatives(tree, q, v, a, forces)
        with monkeypatch.context() as patch:
            general = constraint_jacobian_derivative._by_directions
            patch.setattr(constraint_jacobian_derivative, "_of_fixed_wrenches", general)
            expected = constraint_jacobian_derivative.constraint_derivatives(tree, q, v, a, forces)
        for name in ("pulled_by_q", "by_q", "by_v"):
            x, y = (np.array(getattr(side, name), dtype=float) for side in (jacobians, expected))
            np.testing.assert_allclose(x, y, rtol=0.0, atol=1e-11 * max(1.0, np.abs(y).max()), err_msg=name)


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("case", ["fourbars", "doubled"])
def test_derivatives_of_constrained_dynamics_equal_dual_number_derivatives(case):
    robot, q, v = CASES[case]()
    tau = state(robot)
    by_q, by_v, by_tau, *by_state = robot.constrained_forward_dynamics_derivatives(q, v, tau)
    moved = robot.compile("constrained_forward_dynamics").jvp()
    for seed in range(3):
        dq, dv, dtau = np.random.default_rng(seed).normal(size=(3, robot.nv))
        a, forces = moved(q, v, tau, dq, dv, dtau)[-2:]
        size = np.abs(a).max()
        np.testing.assert_allclose(by_q @ dq + by_v @ dv + by_tau @ dtau, a, rtol=0, atol=1e-11 * size)
        pulled = robot.constraint_jacobian(q).T  # of forces, what they do to the robot
        derivative = sum(block @ x for block, x in zip(by_state, (dq, dv, dtau), strict=True))
        np.testing.assert_allclose(
            pulled @ derivative, pulled @ forces, rtol=0, atol=1e-10 * np.abs(pulled @ forces).max()
        )


@pytest.mark.slow(every=3)
def test_derivative_of_acceleration_by_joint_forces_is_the_constrained_inverse_mass_matrix():
    for doubled in (False, True):
        robot, q, v = standing(doubled=doubled)
        _, _, by_tau, *_, forces_by_tau = robot.constrained_forward_dynamics_derivatives(q, v, state(robot))
        M_inv, G = np.linalg.inv(robot.mass_matrix(q)), robot.constraint_jacobian(q)
        pseudo_inverse = np.linalg.pinv(G @ M_inv @ G.T, rcond=1e-9)
        np.testing.assert_allclose(by_tau, M_inv - M_inv @ G.T @ pseudo_inverse @ G @ M_inv, rtol=0, atol=1e-10)
        np.testing.assert_allclose(G @ by_tau, 0.0, rtol=0, atol=1e-10)
        np.testing.assert_allclose(G.T @ forces_by_tau, -G.T @ pseudo_inverse @ G @ M_inv, rtol=0, atol=1e-10)
        np.testing.assert_array_equal(by_tau, by_tau.T)


@pytest.mark.slow(every=3)
def test_redundant_constraint_rows_do_not_change_derivatives_of_dynamics():
    (once, q, v), (twice, _, _) = standing(), standing(doubled=True)
    tau = state(once)
    pairs = zip(
        once.forward_dynamics_derivatives(q, v, tau), twice.forward_dynamics_derivatives(q, v, tau), strict=True
    )
    for pair, row in pairs:
        np.testing.assert_allclose(pair, row, rtol=0, atol=1e-10 * np.abs(pair).max())


@pytest.mark.slow(every=5)
def test_constrained_derivatives_of_a_robot_without_constraints_equal_those_of_forward_dynamics():
    robot = lw.load("arm6")
    q, v, tau = np.random.default_rng(0).normal(size=(3, 6))
    dynamics_result = robot.constrained_forward_dynamics_derivatives(q, v, tau)
    for derivative, forward_derivative in zip(
        dynamics_result, robot.forward_dynamics_derivatives(q, v, tau), strict=False
    ):
        np.testing.assert_allclose(
            derivative, forward_derivative, rtol=0, atol=1e-11 * np.abs(forward_derivative).max()
        )
    assert [x.shape for x in dynamics_result[3:]] == [(0, 6)] * 3


def test_derivatives_of_a_spherical_pendulum_equal_those_of_lagranges_equations():
    m, length, g = 2.0, 0.8, np.array([0.0, 0.0, -9.81])
    free = lw.Joint.of(lw.joints.Floating(), name="free", parent="world", child="bob")
    robot = lw.Robot.build("pendulum", lw.Link("bob", mass=m, inertia=(0.1, 0.2, 0.3)), free)
    robot = robot.with_constraints(lw.constraints.Distance("world", "bob", length))
    n = np.array([2.0, -1.0, -2.0]) / 3.0
    along = np.array([1.0, 2.0, 0.0])  # across n: m a = m g + n λ, n · a = −v²/l
    q, v = np.array([1.0, 0, 0, 0, *(length * n)]), np.array([0.0, 0, 0, *along])
    a, (force,) = robot.constrained_forward_dynamics(q, v, np.zeros(6))
    expected = -m * (along @ along / length + n @ g)
    np.testing.assert_allclose(force, expected, rtol=1e-14)
    np.testing.assert_allclose(a, [0, 0, 0, *(g + n * expected / m)], rtol=0, atol=1e-13)
    *_, by_q, by_v, by_tau = robot.constrained_forward_dynamics_derivatives(q, v, np.zeros(6))
    by_p = -m * g / length - 2.0 * n * expected / length  # of λ = −m (v² + p · g) l / p²
    np.testing.assert_allclose(by_q[0], [0, 0, 0, *by_p], rtol=0, atol=1e-12)
    np.testing.assert_allclose(by_v[0], [0, 0, 0, *(-2.0 * m * along / length)], rtol=0, atol=1e-12)
    np.testing.assert_allclose(by_tau[0], [0, 0, 0, *-n], rtol=0, atol=1e-13)
    after, (impulse,) = robot.constrained_impact(q, np.array([0, 0, 0, *(along + 3.0 * n)]), restitution=0.25)
    np.testing.assert_allclose(after, [0, 0, 0, *(along - 0.75 * n)], rtol=0, atol=1e-13)
    np.testing.assert_allclose(impulse, -3.75 * m, rtol=1e-14)


@pytest.mark.slow(every=5)
def test_derivatives_of_constrained_dynamics_predict_motions_that_constraints_permit():
    robot, rng = lw.load("differential_drive"), np.random.default_rng(0)  # rows of rolling that depend on each other
    q, *_ = robot.project_configuration(robot.random_configuration(seed=0))
    v, tau = robot.project_velocity(q, rng.normal(size=robot.nv)), rng.normal(size=robot.nv)
    towards, faster = robot.project_velocity(q, rng.normal(size=robot.nv)), rng.normal(size=robot.nv)
    by_q, by_v, _, forces_by_q, forces_by_v, _ = robot.constrained_forward_dynamics_derivatives(q, v, tau)
    step, result = 1e-5, []
    for h in (step, -step):
        moved, *_ = robot.project_configuration(robot.integrate(q, h * towards))
        speed = robot.project_velocity(moved, v + h * faster)
        result.append((moved, speed, *robot.constrained_forward_dynamics(moved, speed, tau)))
    (moved, speed, a, forces), (back, slower, before, less) = result
    dq, dv = robot.difference(back, moved) / (2 * step), (speed - slower) / (2 * step)
    expected = (a - before) / (2 * step)
    np.testing.assert_allclose(by_q @ dq + by_v @ dv, expected, rtol=0, atol=1e-7 * np.abs(expected).max())
    pulled = robot.constraint_jacobian(q).T
    derivative = pulled @ (forces_by_q @ dq + forces_by_v @ dv)
    np.testing.assert_allclose(
        derivative, pulled @ (forces - less) / (2 * step), rtol=0, atol=1e-6 * np.abs(derivative).max()
    )


@pytest.mark.slow(every=3)
def test_linearize_returns_the_constrained_linear_system():
    robot, q, v = moving_fourbars()
    n, tau = robot.nv, state(robot)
    by_q, by_v, by_tau = robot.forward_dynamics_derivatives(q, v, tau)
    A, B = robot.linearize(q, v, tau)
    zero, identity = np.zeros((n, n)), np.eye(n)
    np.testing.assert_allclose(A, np.block([[zero, identity], [by_q, by_v]]), rtol=0, atol=1e-12)
    np.testing.assert_allclose(B, np.vstack([zero, by_tau]), rtol=0, atol=1e-12)

    def stepped(x):
        moved, speed = q + x[:n], v + x[n:]
        faster = speed + 0.01 * robot.forward_dynamics(moved, speed, tau)
        return [np.concatenate([moved + 0.01 * faster, faster])]

    A, _ = robot.linearize(q, v, tau, dt=0.01)
    np.testing.assert_allclose(A, differences(stepped, 2 * n)[0], rtol=0, atol=1e-7)


@pytest.mark.slow(every=9)
def test_derivatives_of_a_humanoid_on_both_feet_equal_pinocchios():
    pin = pytest.importorskip("pinocchio")
    from benchmarks.peers.pinocchio_peer import PinocchioModel

    free = lw.load("humanoid", floating_base=True)
    q = free.neutral()
    robot, peer = free, PinocchioModel(free)
    models = pin.StdVec_RigidConstraintModel()
    pin.forwardKinematics(peer.model, peer.data, peer.q(q))
    for name in ("left_ankle_roll_link", "right_ankle_roll_link"):
        robot = robot.with_frame(f"under {name}", "world", free.pose(q, name))
        robot = robot.with_loop(f"stands on {name}", f"under {name}", name, lw.joints.Fixed())
        carrying = next(joint.name for joint in free.joints if joint.child == name)
        j = peer.model.getJointId(carrying)
        placed = peer.data.oMi[j], pin.ReferenceFrame.LOCAL
        contact_model = pin.RigidConstraintModel(
            pin.ContactType.CONTACT_6D, peer.model, j, pin.SE3.Identity(), 0, *placed
        )
        models.append(contact_model)
    datas = pin.StdVec_RigidConstraintData()
    for model in models:
        datas.append(model.createData())
    data, settings = peer.model.createData(), pin.ProximalSettings(1e-14, 1e-14, 10)
    pin.initConstraintDynamics(peer.model, data, models, datas)
    v, tau = np.random.default_rng(0).normal(size=(2, robot.nv))
    pin.constraintDynamics(peer.model, data, peer.q(q), peer.v(v), peer.v(tau), models, datas, settings)
    pin.computeConstraintDynamicsDerivatives(peer.model, data, models, datas, settings)
    a, _ = robot.constrained_forward_dynamics(q, v, tau)
    np.testing.assert_allclose(a, peer.ours(data.ddq), rtol=0, atol=1e-13 * np.abs(a).max())
    dynamics_result = robot.constrained_forward_dynamics_derivatives(q, v, tau)
    for ours, theirs in zip(dynamics_result, (data.ddq_dq, data.ddq_dv, data.ddq_dtau), strict=False):
        expected = peer.ours(peer.ours(theirs).T).T
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-12 * np.abs(ours).max())


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("name", ["differential_drive", "bicycle"])
def test_derivatives_of_rolling_wheels_by_velocity_are_exact(name):
    """Dependent rows contradict each other at velocities that roll nowhere: no rounding is magnified.

    Accelerations are quadratic in v, so differences over unit steps are exact; the least-squares solution is by SVD.
    """
    robot = lw.load(name)
    rng = np.random.default_rng(0)
    q = robot.project(robot.integrate(robot.neutral(), 0.2 * rng.normal(size=robot.nv)))
    v, tau = robot.project_velocity(q, rng.normal(size=robot.nv)), rng.normal(size=robot.nv)
    M, G = robot.mass_matrix(q), robot.constraint_jacobian(q)
    root = np.linalg.inv(np.linalg.cholesky(M))
    _, sizes, motions = np.linalg.svd(G @ root.T)
    free = root.T @ motions[int(np.sum(sizes > 1e-9 * sizes[0])) :].T  # velocities that roll

    def acceleration(v):
        y, gamma = tau - robot.bias_force(q, v), robot.constraint_bias(q, v)
        least = -root.T @ np.linalg.pinv(G @ root.T, rcond=1e-9) @ gamma
        return least + free @ free.T @ (y - M @ least)

    _, by_v, *_ = robot.constrained_forward_dynamics_derivatives(q, v, tau)
    known = np.array([(acceleration(v + x) - acceleration(v - x)) / 2.0 for x in free.T]).T
    assert np.abs(by_v @ free - known).max() < 1e-12 * max(1.0, np.abs(by_v).max())


@pytest.mark.slow(every=5)
def test_gradient_of_potential_energy_includes_springs_in_loop_joints():
    """Against differences along every velocity, of mechanisms that are open, where no equilibrium holds the springs."""
    rng, step = np.random.default_rng(5), 1e-5
    body = {"mass": 1.2, "com": (0.1, 0.2, 0.3), "inertia": (0.02, 0.03, 0.04)}
    free = lw.Joint.of(lw.joints.Floating(), name="free", parent="world", child="body")
    floats = lw.Robot.build("body", lw.Link("body", **body), free)
    composite = lw.joints.Composite((lw.joints.Universal((0, 0.6, 0.8), (1, 0, 0)), lw.joints.Prismatic((0.6, 0, 0.8))))
    balls = [
        floats.with_loop("tie", "world", "body", joint, stiffness=3.0) for joint in (lw.joints.Spherical(), composite)
    ]
    for robot in (four_bar("C", stiffness=2.0, rest=0.3), *balls):
        q = robot.integrate(robot.neutral(), 0.3 * rng.normal(size=robot.nv))
        sides = [robot.integrate(q, h * np.eye(robot.nv)) for h in (-step, step)]
        low, high = (robot.potential_energy(x, passive=True) for x in sides)
        gradient = robot.potential_energy_derivatives(q, passive=True)
        np.testing.assert_allclose(gradient, (high - low) / (2.0 * step), rtol=0, atol=1e-7, err_msg=robot.name)
        assert np.abs(gradient - robot.potential_energy_derivatives(q)).max() > 0.1
