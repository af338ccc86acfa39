"""Dynamics on random trees of every joint type: against Lagrange's equations, and the functions against each other."""

from dataclasses import replace

import numpy as np
import pytest

from linkwork.spatial import Vec3
from oracles.comparison import EPS, assert_close, solving_bound
from oracles.scalars import Direct, with_functions
from oracles.textbook import Textbook
from oracles.trees import every_tree, state


def rounding(tree, factor=10.0):
    """What sums over a tree's degrees of freedom may lose."""
    return factor * EPS * max(1, tree.nv)


@with_functions
def test_inverse_dynamics_against_the_textbook(tree, f):
    q, v, a = state(tree)
    assert_close(f.inverse_dynamics(q, v, a), Textbook(tree, q, v, a).inverse_dynamics(), rounding(tree), core=1)


@with_functions
def test_mass_matrix_against_the_textbook(tree, f):
    q, _, _ = state(tree)
    assert_close(f.mass_matrix(q), Textbook(tree, q).mass_matrix(), rounding(tree), core=2)


@with_functions
def test_gravity_of_any_direction(tree, f):
    tilted = replace(tree, gravity=Vec3(3.0, -2.0, 5.0))
    q, _, _ = state(tree)
    g = type(f)(tilted).gravity_force(q)
    assert_close(g, Textbook(tilted, q).inverse_dynamics(), rounding(tree), core=1)
    weightless = replace(tree, gravity=Vec3(0.0, 0.0, 0.0))
    assert not np.any(type(f)(weightless).gravity_force(q))


@with_functions
def test_forward_dynamics_inverts_inverse_dynamics(tree, f):
    q, v, a = state(tree)
    tau = f.inverse_dynamics(q, v, a)
    bound = solving_bound(f.mass_matrix(q), (tau, f.bias_force(q, v)), a)
    assert_close(f.forward_dynamics(q, v, tau), a, bound, core=1)


@with_functions
def test_inverse_dynamics_inverts_forward_dynamics(tree, f):
    q, v, tau = state(tree)
    again = f.inverse_dynamics(q, v, f.forward_dynamics(q, v, tau))
    assert tree.nv == 0 or np.all(np.linalg.cond(f.mass_matrix(q)) < 1e5)
    assert_close(again, tau, 1e-12, core=1)


@pytest.mark.slow
@with_functions
def test_articulated_bodies_solve_the_mass_matrix(tree, f):
    q, v, tau = state(tree)
    M, h = f.mass_matrix(q), f.bias_force(q, v)
    expected = np.linalg.solve(M, (tau - h)[..., None])[..., 0]
    assert_close(f.forward_dynamics(q, v, tau), expected, solving_bound(M, (tau, h), expected), core=1)


@with_functions
def test_mass_matrix_columns_are_inverse_dynamics_of_unit_accelerations(tree, f):
    q, _, _ = state(tree)
    weightless = type(f)(replace(tree, gravity=Vec3(0.0, 0.0, 0.0)))
    columns = weightless.inverse_dynamics(q, np.zeros(tree.nv), np.eye(tree.nv)[:, None, :])
    assert_close(np.moveaxis(columns, 0, -1), f.mass_matrix(q), rounding(tree), core=2)


@with_functions
def test_mass_matrix_is_symmetric_and_positive_definite(tree, f):
    M = f.mass_matrix(state(tree)[0])
    assert np.array_equal(M, np.swapaxes(M, -1, -2))
    np.linalg.cholesky(M)


@with_functions
def test_bias_is_what_remains_without_acceleration(tree, f):
    q, v, a = state(tree)
    M, h = f.mass_matrix(q), f.bias_force(q, v)
    assert_close(h, f.inverse_dynamics(q, v, np.zeros_like(v)), rounding(tree), core=1)
    assert_close(f.bias_force(q, np.zeros_like(v)), f.gravity_force(q), rounding(tree), core=1)
    total = np.einsum("nij,nj->ni", M, a) + h
    assert_close(f.inverse_dynamics(q, v, a), total, rounding(tree), core=1)


@with_functions
def test_joint_forces_are_affine_in_acceleration_and_quadratic_in_velocity(tree, f):
    q, v, a = state(tree)
    _, w, b = state(tree, seed=1)
    tau = f.inverse_dynamics
    middle = tau(q, v, 0.25 * a + 0.75 * b)
    assert_close(middle, 0.25 * tau(q, v, a) + 0.75 * tau(q, v, b), 1e-12, core=1)
    # of a quadratic, third differences are zero
    third = tau(q, v + 3.0 * w, a) - 3.0 * tau(q, v + 2.0 * w, a) + 3.0 * tau(q, v + w, a)
    assert_close(third, tau(q, v, a), 1e-11, core=1)
    # and it has no linear part: turning every velocity round changes nothing
    assert_close(tau(q, -v, a), tau(q, v, a), rounding(tree), core=1)


@every_tree
def test_kinetic_energy_is_that_of_all_bodies(tree):
    q, v, _ = state(tree)
    energy = 0.5 * np.einsum("ni,nij,nj->n", v, Direct(tree).mass_matrix(q), v)
    assert_close(energy, Textbook(tree, q, v).kinetic_energy() * np.ones(len(q)), 1e-12, core=0)


@every_tree
def test_slow_and_fast_motion(tree):
    for scale in (1e-6, 1e3):
        q, v, a = state(tree, seed=3)
        v, a = v * scale, a * scale
        expected = Textbook(tree, q, v, a).inverse_dynamics()
        # the products of velocities at a joint partly cancel
        assert_close(Direct(tree).inverse_dynamics(q, v, a), expected, rounding(tree, 50.0), core=1)
