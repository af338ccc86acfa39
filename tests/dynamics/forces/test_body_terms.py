"""Inverse dynamics as a sum over bodies, and the terms of each body, against the textbook and each other."""

import numpy as np
import pytest

import linkwork as lw
from oracles.acted_on import ActedOn
from oracles.comparison import EPS, assert_close
from oracles.textbook import Textbook
from oracles.trees import every_moving_tree, state


@every_moving_tree
def test_newton_euler_terms_projected_by_jacobians_sum_to_inverse_dynamics(tree):
    q, v, a = state(tree)
    f = ActedOn(tree)
    gravity = np.random.default_rng(0).normal(size=(4, 3))
    rounding = 10.0 * EPS * max(tree.nv, len(tree.bodies))  # of what is summed
    book = Textbook(tree, q, v, a).inverse_dynamics()
    assert_close(f.inverse_dynamics(q, v, a, method="jacobian_sum"), book, rounding, core=1)
    options = {"passive": True, "gravity": gravity}
    expected = f.inverse_dynamics(q, v, a, **options)
    assert_close(f.inverse_dynamics(q, v, a, method="jacobian_sum", **options), expected, rounding, core=1)
    M, c, g = f.newton_euler_terms(q, v, gravity=gravity)
    total, mass = np.zeros_like(a), np.zeros((4, tree.nv, tree.nv))
    for i, body in enumerate(tree.bodies):
        J = f.jacobian(q, body.name)
        total += np.einsum("nij,ni->nj", J, np.einsum("nij,njk,nk->ni", M[:, i], J, a) + c[:, i] + g[:, i])
        mass += np.einsum("nij,nik,nkl->njl", J, M[:, i], J)
    assert_close(total, f.inverse_dynamics(q, v, a, gravity=gravity), rounding, core=1)
    assert_close(mass, f.mass_matrix(q), rounding, core=2)


@every_moving_tree
def test_newton_euler_terms_at_the_centre_of_mass_are_the_equations_of_a_rigid_body(tree):
    """Moved to the centre of mass they are the Newton-Euler equations of a body:
    M = diag(Ī, m 1), c = M J̇ v + (ω × Ī ω; 0) and g = (0; −m g)."""
    q, v, _ = state(tree)
    f = ActedOn(tree)
    M, c, g = f.newton_euler_terms(q, v)
    for i, body in enumerate(tree.bodies):
        m = body.inertia.mass
        if not m:
            continue
        center = np.array([*body.inertia.moment]) / m
        X = f.pose(q, body.name)
        R = X[:, :3, :3]
        shift = np.zeros((4, 6, 6))  # what takes a twist at the origin to one at the centre
        shift[:, range(6), range(6)] = 1.0
        r = np.einsum("nij,j->ni", R, center)
        for k in range(3):
            shift[:, 3:, k] = np.cross(np.eye(3)[k], r)
        back = np.linalg.inv(shift)
        at_center = np.einsum("nji,njk,nkl->nil", back, M[:, i], back)
        about = body.inertia.shifted(body.inertia.moment * (-1.0 / m)).about
        xx, xy, xz, yy, yz, zz = about.elements()
        J = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ np.swapaxes(R, -1, -2)
        expected = np.zeros((4, 6, 6))
        expected[:, :3, :3], expected[:, range(3, 6), range(3, 6)] = J, m
        assert_close(at_center, expected, 1e-13, body.name, core=2)
        w = f.twist(q, v, body.name)[:, :3]
        bias = f.acceleration(q, v, np.zeros_like(v), body.name)
        a_center = bias[:, 3:] + np.cross(bias[:, :3], r) + np.cross(w, np.cross(w, r))
        gyroscopic = np.cross(w, np.einsum("nij,nj->ni", J, w))
        moments = np.einsum("nij,nj->ni", J, bias[:, :3]) + gyroscopic
        expected = np.einsum("nji,nj->ni", shift, np.concatenate([moments, m * a_center], axis=-1))
        assert_close(c[:, i], expected, 1e-12, body.name, core=1)
        weight = np.broadcast_to([0.0, 0.0, 0.0, *(-m * x for x in tree.gravity)], (4, 6))
        assert_close(g[:, i], np.einsum("nji,nj->ni", shift, weight), 1e-13, body.name, core=1)
        assert np.array_equal(M[:, i], np.swapaxes(M[:, i], -1, -2))


def test_compiled_newton_euler_terms_equal_interpreted_terms():
    robot = lw.load("arm7")
    rng = np.random.default_rng(0)
    q, (v, a) = robot.random_configuration(rng, size=5), rng.normal(size=(2, 5, 7))
    terms = robot.newton_euler_terms(q, v)
    assert terms._fields == ("M", "c", "g")
    assert [x.shape for x in terms] == [(5, 7, 6, 6), (5, 7, 6), (5, 7, 6)]
    for x, expected in zip(terms, ActedOn(robot.tree).newton_euler_terms(q, v), strict=True):
        assert_close(x, expected, 1e-14)
    by_sum = robot.inverse_dynamics(q, v, a, method="jacobian_sum", wrenches={"tool": v[:, :6]})
    assert_close(by_sum, robot.inverse_dynamics(q, v, a, wrenches={"tool": v[:, :6]}), 1e-13, core=1)
    with pytest.raises(ValueError, match="method: expected one of newton_euler, jacobian_sum, got 'lagrange'"):
        robot.inverse_dynamics(q, v, a, method="lagrange")
