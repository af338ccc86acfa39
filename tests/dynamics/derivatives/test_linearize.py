"""The linear system against the steps themselves: exactly, on dual numbers, and by differences of flows."""

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
        found = ROBOT["forward_dynamics"].compute(self.tree, [*q], [*v], [*self.tau], passive=True)
        return np.array(found, dtype=object)

    def rate(self, q, phi, v):
        there, found = self.integrate(q, phi), []
        for i, body in self.tree.stacked():
            own = self.tree.v_slices[i]
            found += body.joint.difference_rate([*q[self.tree.q_slices[i]]], [*there[self.tree.q_slices[i]]], [*v[own]])
        return np.array(found, dtype=object)


def stepped(tree, step, at, u):
    """How (q⁺, v⁺) of a step varies as (q, v, τ) varies along u (3 nv), in tangent vectors: of one sample, exactly."""
    q, v, tau = at
    n = tree.nv
    q_dot = Direct(tree).velocity_to_configuration_derivative(q, u[:n])
    numbers, rates = np.concatenate([q, v, tau]), np.concatenate([q_dot, u[n:]])
    moving = seeded(numbers.tolist(), rates.tolist())
    given = [np.array(x, dtype=object) for x in (moving[: len(q)], moving[len(q) : len(q) + n], moving[len(q) + n :])]
    level = moving[0].level
    found = [[parts(x, level) for x in part] for part in step(Steps(tree, given[2]), given[0], given[1], H)]
    (there, rate), (_, faster) = (np.array(part, dtype=float).reshape(-1, 2).T for part in found)
    return np.concatenate([Direct(tree).configuration_derivative_to_velocity(there, rate), faster])


@every_moving_type
def test_a_step_varies_as_its_linear_system_says(tree):
    """Every integrator in turns, along random directions, to rounding and what solving makes of it."""
    turn = [*TREES.values()].index(tree)
    q, v, tau = (x[0] for x in state(tree, 3, 1))
    step = STEPS[turn % 3]
    u = np.random.default_rng(turn).normal(size=3 * tree.nv)
    A, B = Direct(tree).linearize(q, v, tau, dt=[H], integrator=step.__name__)
    bound = 1e-12 + 20.0 * EPS * float(np.linalg.cond(Direct(tree).mass_matrix(q)))
    expected = stepped(tree, step, (q, v, tau), u)
    assert_close(A @ u[: 2 * tree.nv] + B @ u[2 * tree.nv :], expected, bound, step.__name__)


@every_moving_type
def test_in_time_it_is_how_neighbouring_motions_drift_apart(tree):
    """By differences: the tangent vector from one motion to a neighbouring one, at two times."""
    f, n = Direct(tree), tree.nv
    q, v, tau = (x[0] for x in state(tree, 3, 1))
    u, apart, time = np.random.default_rng(n).normal(size=3 * n), 1e-5, 1e-3
    ends = [
        (f.integrate(q, s * apart * u[:n]), v + s * apart * u[n : 2 * n], tau + s * apart * u[2 * n :]) for s in (1, -1)
    ]
    drift = [
        [f.difference(f.integrate(q, t * v), f.integrate(there, t * moving)) for t in (time, -time)]
        for there, moving, _ in ends
    ]
    rates = [(later - before) / (2.0 * time) for later, before in drift]
    accelerations = [f.forward_dynamics(*end) for end in ends]
    expected = [(one - other) / (2.0 * apart) for one, other in (rates, accelerations)]
    A, B = f.linearize(q, v, tau, passive=False)
    found = A @ u[: 2 * n] + B @ u[2 * n :]
    assert_close(found[:n], expected[0], 1e-5)  # the square of the time, by the curvature of the manifold
    assert_close(found[n:], expected[1], 1e-6)


def test_a_floating_body_turns_what_lies_beside_it():
    """The block of A for δ̇ by δ is −V ×, of the twist in the body's own axes."""
    tree = TREES["floating_chain"]
    q, v, tau = (x[0] for x in state(tree, 0, 1))
    A, _ = Direct(tree).linearize(q, v, tau)
    w, x = (np.cross(np.eye(3), part) for part in (v[:3], v[3:6]))
    assert_close(A[:6, :6], -np.block([[w, np.zeros((3, 3))], [x, w]]), 1e-13)


@pytest.mark.slow(every=3)
def test_wrenches_gravity_and_springs_compiled():
    """A step of the whole robot, against differences of its own functions; a step for each sample."""
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
    for one, other in zip(rough, exact, strict=True):
        assert np.linalg.norm(one - other) <= 1e-3 * np.linalg.norm(other)


@every_moving_type
def test_the_configuration_that_a_velocity_leads_to(tree):
    q, v, _ = (x[0] for x in state(tree, 5, 1))
    f, n = Direct(tree), tree.nv
    u = np.random.default_rng(n).normal(size=2 * n)
    rates = np.concatenate([f.velocity_to_configuration_derivative(q, u[:n]), u[n:]])
    moving = seeded(np.concatenate([q, v]).tolist(), rates.tolist())
    there = [
        parts(x, moving[0].level)
        for x in scalars(ROBOT["integrate"].compute(tree, moving[: tree.nq], moving[tree.nq :]))
    ]
    value, rate = np.array(there, dtype=float).T
    by_q, by_v = f.integrate_derivatives(q, v)
    assert_close(by_q @ u[:n] + by_v @ u[n:], f.configuration_derivative_to_velocity(value, rate), 1e-12)
