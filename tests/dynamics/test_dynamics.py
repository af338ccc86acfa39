"""Dynamics of random trees of every joint type, compiled and interpreted, against Lagrange's equations."""

from dataclasses import replace

import numpy as np
import pytest

from linkwork.spatial import Vec3
from oracles.comparison import EPS, assert_close, solving_bound
from oracles.scalars import Direct, with_functions
from oracles.textbook import Textbook
from oracles.trees import every_tree, state


def rounding(tree, factor=10.0):
    """Bound the rounding error of sums over a tree's degrees of freedom."""
    return factor * EPS * max(1, tree.nv)


@with_functions
def test_inverse_dynamics_equals_the_textbooks(tree, f):
    q, v, a = state(tree)
    assert_close(f.inverse_dynamics(q, v, a), Textbook(tree, q, v, a).inverse_dynamics(), rounding(tree), core=1)


@with_functions
def test_mass_matrices_equal_the_textbooks(tree, f):
    q, _, _ = state(tree)
    assert_close(f.mass_matrix(q), Textbook(tree, q).mass_matrix(), rounding(tree), core=2)


@with_functions
def test_gravity_forces_of_any_direction_equal_the_textbooks(tree, f):
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


@pytest.mark.costly
@with_functions
def test_bias_force_is_inverse_dynamics_without_acceleration(tree, f):
    q, v, a = state(tree)
    M, h = f.mass_matrix(q), f.bias_force(q, v)
    assert_close(h, f.inverse_dynamics(q, v, np.zeros_like(v)), rounding(tree), core=1)
    assert_close(f.bias_force(q, np.zeros_like(v)), f.gravity_force(q), rounding(tree), core=1)
    total = np.einsum("nij,nj->ni", M, a) + h
    assert_close(f.inverse_dynamics(q, v, a), total, rounding(tree), core=1)


@every_tree
def test_inverse_dynamics_of_slow_and_fast_motions_equals_the_textbooks(tree):
    for scale in (1e-6, 1e3):
        q, v, a = state(tree, seed=3)
        v, a = v * scale, a * scale
        expected = Textbook(tree, q, v, a).inverse_dynamics()
        # the products of velocities at a joint partly cancel
        assert_close(Direct(tree).inverse_dynamics(q, v, a), expected, rounding(tree, 50.0), core=1)
