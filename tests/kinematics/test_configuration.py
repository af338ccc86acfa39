"""integrate, difference and normalize: configurations as points of a manifold."""

import numpy as np
import pytest

from linkwork.expr import jacobian, tangent
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph
from linkwork.robot.robot_table import ROBOT
from oracles.comparison import EPS, assert_close
from oracles.scalars import Direct, with_functions
from oracles.trees import TREES, every_moving_tree, every_tree, state


def within_half_a_turn(v, most=3.0):
    """Steps of which no joint can turn further than ``most`` [rad]."""
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    return v * np.minimum(1.0, most / np.maximum(length, EPS))


def quaternions(tree, q):
    """Of every joint that has one, by the names of its coordinates."""
    for body, place in zip(tree.bodies, tree.q_slices, strict=True):
        names = body.joint.q_names
        if "qw" in names:
            yield q[..., place][..., [names.index(n) for n in ("qw", "qx", "qy", "qz")]]


@with_functions
def test_a_step_and_its_difference(tree, f):
    q, v, _ = state(tree, size=20)
    v = within_half_a_turn(v)
    for scale in (1.0, 1e-4, 1e-8, 1e-12, 0.0):
        step = scale * v
        assert_close(f.difference(q, f.integrate(q, step)), step, 1e-12 * max(scale, 1e-2), f"{scale}", core=1)


@with_functions
def test_the_difference_leads_there(tree, f):
    q, _, _ = state(tree, size=20)
    p, _, _ = state(tree, seed=1, size=20)
    reached = f.integrate(q, f.difference(q, p))
    assert_close(f.forward_kinematics(reached), f.forward_kinematics(p), 1e-12, core=2)
    same = f.difference(reached, p)
    assert_close(same, np.zeros_like(same), 1e-12, core=1)


@with_functions
def test_to_where_one_is_and_back(tree, f):
    q, v, _ = state(tree)
    zero = np.zeros(tree.nv)
    assert_close(f.integrate(q, zero), q, 4 * EPS, core=1)
    assert np.max(np.abs(f.difference(q, q)), initial=0.0) <= 4 * EPS
    there = f.integrate(q, v)
    assert_close(f.forward_kinematics(f.integrate(there, -v)), f.forward_kinematics(q), 1e-13, core=2)


@with_functions
def test_steps_of_one_velocity_add(tree, f):
    q, v, _ = state(tree)
    twice = f.integrate(f.integrate(q, 0.5 * v), 0.5 * v)
    assert_close(f.forward_kinematics(twice), f.forward_kinematics(f.integrate(q, v)), 1e-13, core=2)


@with_functions
def test_quaternions_stay_unit(tree, f):
    q, v, _ = state(tree, size=50)
    for _ in range(3):
        q = f.integrate(q, v)
    for found in quaternions(tree, q):
        assert np.max(np.abs(np.linalg.norm(found, axis=-1) - 1.0)) <= 1e-15


@with_functions
def test_normalize(tree, f):
    q, _, _ = state(tree)
    assert_close(f.normalize(q), q, 2 * EPS, core=1)
    stretched = q.copy()
    for part in tree.q_slices:
        names = tree.bodies[tree.q_slices.index(part)].joint.q_names
        for k, name in enumerate(names):
            if name in ("qw", "qx", "qy", "qz"):
                stretched[:, part.start + k] *= 3.0
    assert_close(f.normalize(stretched), q, 4 * EPS, core=1)


@every_moving_tree
def test_the_rate_of_a_step_is_the_rate_of_the_configuration(tree):
    """∂/∂t integrate(q, t v) at t = 0 is q̇(q, v), and the pose moves by the twist."""
    graph = Graph()
    q, v = graph.inputs("q", (tree.nq,)), graph.inputs("v", (tree.nv,))
    at, rate, _ = state(tree)
    reached = ROBOT["integrate"].compute(tree, q, v)
    rates = tangent(reached, v, rate[0].tolist())
    found = np.array(evaluate(rates, dict(zip(q, at[0], strict=True)) | dict.fromkeys(v, 0.0)), dtype=float)
    q, v = tree.split_q(at[0].tolist()), tree.split_v(rate[0].tolist())
    expected = [x for i, body in tree.stacked() for x in body.joint.q_dot(q[i], v[i])]
    assert_close(found, expected, 1e-14)


@every_moving_tree
@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-8, 1e-4, 1.0, np.pi - 1e-8], ids=str)
def test_derivatives_of_steps_are_finite_and_inverse(tree, angle):
    """Difference undoes the step, so ∂difference/∂step is 1: at the identity, and up to half a turn."""
    graph = Graph()
    q, v = graph.inputs("q", (tree.nq,)), graph.inputs("v", (tree.nv,))
    rows = jacobian(ROBOT["difference"].compute(tree, q, ROBOT["integrate"].compute(tree, q, v)), v)
    at, step, _ = state(tree, size=1)
    step = step / np.linalg.norm(step) * angle
    values = evaluate([x for row in rows for x in row], dict(zip([*q, *v], [*at[0], *step[0]], strict=True)))
    found = np.array(values, dtype=float).reshape(tree.nv, tree.nv)
    assert_close(found, np.eye(tree.nv), 1e-12)


@every_tree
def test_half_a_turn(tree):
    """Turns of π and a little less: either way round is right, and nothing is NaN."""
    f = Direct(tree)
    q, v, _ = state(tree)
    for size in (np.pi - 1e-8, np.pi, np.pi + 1e-8):
        step = v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), EPS) * size
        found = f.difference(q, f.integrate(q, step))
        assert np.all(np.isfinite(found))
        again = f.forward_kinematics(f.integrate(q, found))
        assert_close(again, f.forward_kinematics(f.integrate(q, step)), 1e-12, core=2)


def test_a_quaternion_and_its_negative_are_one_rotation():
    tree = TREES["floating_chain"]
    f, (q, v, a) = Direct(tree), state(tree)
    other = q.copy()
    for place in tree.q_slices:
        other[:, place.start : place.start + 4] *= -1.0
    assert_close(f.forward_kinematics(other), f.forward_kinematics(q), 1e-15, core=2)
    assert_close(f.inverse_dynamics(other, v, a), f.inverse_dynamics(q, v, a), 1e-15, core=1)
    difference = f.difference(q, other)
    assert_close(difference, np.zeros_like(difference), 1e-15, core=1)


def test_rotations_go_the_short_way_round():
    """At most half a turn, whichever of the two quaternions of a rotation is given."""
    tree = TREES["floating_random"]
    f, q, p = Direct(tree), state(tree, size=200)[0], state(tree, seed=1, size=200)[0]
    step, other = f.difference(q, p), p.copy()
    for place, rates in zip(tree.q_slices, tree.v_slices, strict=True):
        other[:, place.start : place.start + 4] *= -1.0
        turn = np.linalg.norm(step[:, rates.start : rates.start + 3], axis=-1)
        assert np.max(turn) <= np.pi
        assert np.max(turn) > 3.0
    assert_close(f.difference(q, other), step, 1e-13, core=1)


@with_functions
def test_rates_are_those_of_steps(tree, f):
    """q̇ is the derivative of moving along v, and v comes back from it, joints that follow others or not."""
    q, v, _ = state(tree)
    rate = f.velocity_to_configuration_derivative(q, v)
    h = 1e-5
    moved = (f.integrate(q, h * v) - f.integrate(q, -h * v)) / (2.0 * h)
    assert np.max(np.abs(rate - moved), initial=0.0) <= 1e-7 * max(1.0, np.max(np.abs(rate), initial=0.0))
    assert_close(f.configuration_derivative_to_velocity(q, rate), v, 1e-11, core=1)
