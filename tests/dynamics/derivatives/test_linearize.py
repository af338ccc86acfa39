"""Linear systems of steps: exact against dual numbers, and against differences of flows."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.robot.robot_table import ROBOT
from oracles.comparison import EPS, assert_close
from oracles.rates import scalars
from oracles.scalars import Direct
from oracles.trees import TREES, every_moving_type, state

H = 0.01


def euler(f, q, v, h):
    return f.integrate(q, h * v), v + h * f.a(q, v)


def semi_implicit_euler(f, q, v, h):
    faster = v + h * f.a(q, v)
    return f.integrate(q, h * faster), faster


def runge_kutta_4(f, q, v, h):
    rates, accelerations = [v], [f.a(q, v)]
    for share in (0.5, 0.5, 1.0):
        phi, w = share * h * rates[-1], v + share * h * accelerations[-1]
        rates.append(f.rate(q, phi, w))
        accelerations.append(f.a(f.integrate(q, phi), w))
    phi, change = (h / 6.0 * (k[0] + 2.0 * k[1] + 2.0 * k[2] + k[3]) for k in (rates, accelerations))
    return f.integrate(q, phi), v + change


STEPS = (euler, semi_implicit_euler, runge_kutta_4)


class Steps:
    """A tree's functions on arrays of numbers of any kind, (samples last), as steps need them."""

    def __init__(self, tree, tau):
        self.tree, self.tau = tree, tau

    def integrate(self, q, phi):
        return np.array(ROBOT["integrate"].compute(self.tree, [*q], [*phi]), dtype=object)

    def a(self, q, v):
        acceleration = ROBOT["forward_dynamics"].compute(self.tree, [*q], [*v], [*self.tau], passive=True)
        return np.array(acceleration, dtype=object)

    def rate(self, q, phi, v):
        moved, rates = self.integrate(q, phi), []
        for i, body in self.tree.stacked():
            local = self.tree.v_slices[i]
            rates += body.joint.difference_rate(
                [*q[self.tree.q_slices[i]]], [*moved[self.tree.q_slices[i]]], [*v[local]]
            )
        return np.array(rates, dtype=object)


def stepped(tree, step, at, u):
    """Return the exact change of (q⁺, v⁺) for a change u (3 nv) of (q, v, τ), in tangent vectors, for one sample."""
    q, v, tau = at
    n = tree.nv
    q_dot = Direct(tree).velocity_to_configuration_derivative(q, u[:n])
    state, rates = np.concatenate([q, v, tau]), np.concatenate([q_dot, u[n:]])
    moving = seeded(state.tolist(), rates.tolist())
    inputs = [np.array(x, dtype=object) for x in (moving[: len(q)], moving[len(q) : len(q) + n], moving[len(q) + n :])]
    level = moving[0].level
    results = [[parts(x, level) for x in part] for part in step(Steps(tree, inputs[2]), inputs[0], inputs[1], H)]
    (values, rate), (_, faster) = (np.array(part, dtype=float).reshape(-1, 2).T for part in results)
    return np.concatenate([Direct(tree).configuration_derivative_to_velocity(values, rate), faster])


@pytest.mark.slow(every=9)
@every_moving_type
def test_linearized_time_steps_equal_dual_number_derivatives(tree):
    """Every integrator in turns, along random directions."""
    turn = [*TREES.values()].index(tree)
    q, v, tau = (x[0] for x in state(tree, 3, 1))
    step = STEPS[turn % 3]
    u = np.random.default_rng(turn).normal(size=3 * tree.nv)
    A, B = Direct(tree).linearize(q, v, tau, dt=[H], integrator=step.__name__)
    bound = 1e-12 + 20.0 * EPS * float(np.linalg.cond(Direct(tree).mass_matrix(q)))
    expected = stepped(tree, step, (q, v, tau), u)
    assert_close(A @ u[: 2 * tree.nv] + B @ u[2 * tree.nv :], expected, bound, step.__name__)


@every_moving_type
def test_continuous_linear_system_equals_finite_differences_of_motions(tree):
    """Tangent vectors from one motion to a neighbouring one, at two times."""
    f, n = Direct(tree), tree.nv
    q, v, tau = (x[0] for x in state(tree, 3, 1))
    u, apart, time = np.random.default_rng(n).normal(size=3 * n), 1e-5, 1e-3
    ends = [
        (f.integrate(q, s * apart * u[:n]), v + s * apart * u[n : 2 * n], tau + s * apart * u[2 * n :]) for s in (1, -1)
    ]
    drift = [
        [f.difference(f.integrate(q, t * v), f.integrate(displaced, t * moving)) for t in (time, -time)]
        for displaced, moving, _ in ends
    ]
    rates = [(later - before) / (2.0 * time) for later, before in drift]
    accelerations = [f.forward_dynamics(*end) for end in ends]
    expected = [(ahead - behind) / (2.0 * apart) for ahead, behind in (rates, accelerations)]
    A, B = f.linearize(q, v, tau, passive=False)
    change = A @ u[: 2 * n] + B @ u[2 * n :]
    assert_close(change[:n], expected[0], 1e-5)  # the square of the time, by the curvature of the manifold
    assert_close(change[n:], expected[1], 1e-6)


def test_linearized_rate_of_a_floating_bodys_displacement_is_minus_its_twist_cross_product():
    """The block of A for δ̇ by δ is −V ×, of the twist in the body's own axes."""
    tree = TREES["floating_chain"]
    q, v, tau = (x[0] for x in state(tree, 0, 1))
    A, _ = Direct(tree).linearize(q, v, tau)
    w, x = (np.cross(np.eye(3), part) for part in (v[:3], v[3:6]))
    assert_close(A[:6, :6], -np.block([[w, np.zeros((3, 3))], [x, w]]), 1e-13)


@pytest.mark.slow(every=5)
def test_linear_systems_with_wrenches_gravity_and_springs_equal_finite_differences():
    """A step of the whole robot is compared with its own functions; each sample has its own step length."""
    robot = lw.load("arm7")
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng)
    v, tau = rng.normal(size=(2, robot.nv))
    more = {"wrenches": {"hand": rng.normal(size=6)}, "gravity": [0.1, 0.2, -3.0], "passive": True}
    A, B = robot.linearize(q, v, tau, dt=[H, 2.0 * H], **more)
    assert A.shape == (2, 14, 14)
    assert B.shape == (2, 14, 7)

    def next_state(x, u):
        v = x[7:] + 2.0 * H * robot.forward_dynamics(x[:7], x[7:], u, **more)
        return np.concatenate([robot.integrate(x[:7], 2.0 * H * v), v])

    x, e = np.concatenate([q, v]), 1e-6
    by_x = np.array([(next_state(x + d, tau) - next_state(x - d, tau)) / (2 * e) for d in e * np.eye(14)]).T
    by_u = np.array([(next_state(x, tau + d) - next_state(x, tau - d)) / (2 * e) for d in e * np.eye(7)]).T
    assert_close(A[1], by_x, 1e-7)
    assert_close(B[1], by_u, 1e-7)
    with pytest.raises(ValueError, match="expected a time step"):
        robot.linearize(q, v, tau, integrator="euler")
    rough = robot.linearize(*(x.astype(np.float32) for x in (q, v, tau)), dt=np.float32(H))
    exact = robot.linearize(q, v, tau, dt=H)
    for single, double in zip(rough, exact, strict=True):
        assert np.linalg.norm(single - double) <= 1e-3 * np.linalg.norm(double)


@every_moving_type
def test_derivatives_of_integrate_equal_dual_number_derivatives(tree):
    q, v, _ = (x[0] for x in state(tree, 5, 1))
    f, n = Direct(tree), tree.nv
    u = np.random.default_rng(n).normal(size=2 * n)
    rates = np.concatenate([f.velocity_to_configuration_derivative(q, u[:n]), u[n:]])
    moving = seeded(np.concatenate([q, v]).tolist(), rates.tolist())
    moved = [
        parts(x, moving[0].level)
        for x in scalars(ROBOT["integrate"].compute(tree, moving[: tree.nq], moving[tree.nq :]))
    ]
    value, rate = np.array(moved, dtype=float).T
    by_q, by_v = f.integrate_derivatives(q, v)
    assert_close(by_q @ u[:n] + by_v @ u[n:], f.configuration_derivative_to_velocity(value, rate), 1e-12)
