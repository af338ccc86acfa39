"""Coriolis matrix: its defining properties on trees of every joint type, by exact derivatives of the mass matrix."""

import numpy as np
import pytest

from linkwork import Joint, Link, Robot
from linkwork.joints import Revolute
from linkwork.joints.base.joint_type import JointType
from linkwork.model.simplify import simplify_tree
from oracles.comparison import assert_close
from oracles.rates import rate_of
from oracles.scalars import Direct
from oracles.trees import TREES, every_tree, robot_of, state


def transposed(matrix):
    return np.swapaxes(matrix, -1, -2)


def times(matrix, v):
    return np.einsum("nij,nj->ni", matrix, v)


@every_tree
def test_coriolis_matrix_times_velocity_is_the_bias_force_without_gravity(tree):
    q, v, _ = state(tree)
    f = Direct(tree)
    C = f.coriolis_matrix(q, v)
    assert_close(times(C, v), f.bias_force(q, v) - f.gravity_force(q), 1e-12, core=1)
    assert_close(Direct(simplify_tree(tree)).coriolis_matrix(q, v), C, 1e-12, core=2)
    assert_close(f.coriolis_matrix(q, -3.0 * v), -3.0 * C, 1e-13, core=2)


@every_tree
def test_rate_of_the_mass_matrix_is_the_coriolis_matrix_plus_its_transpose(tree):
    q, v, _ = state(tree)
    C = Direct(tree).coriolis_matrix(q, v)
    assert_close(C + transposed(C), rate_of(tree, "mass_matrix", q, v), 1e-12, core=2)


def test_finite_differences_of_the_mass_matrix_equal_the_coriolis_matrix_plus_its_transpose():
    for name in ("mixed_0", "coupled_chain", "rerooted_coupled", "floating_chain"):
        tree, h = TREES[name], 1e-5
        q, v, _ = state(tree)
        f = Direct(tree)
        ahead, behind = (f.mass_matrix(f.integrate(q, x * v)) for x in (h, -h))
        C = f.coriolis_matrix(q, v)
        assert_close(C + transposed(C), (ahead - behind) / (2.0 * h), 1e-8, name, core=2)


def of_coordinates(tree):
    """Return True if q̇ = v for all joints."""
    return tree.nq == tree.nv and all(type(body.joint).q_dot is JointType.q_dot for body in tree.bodies)


def test_coriolis_matrix_consists_of_christoffel_symbols():
    """C(q, v) w = C(q, w) v, and Ṁ = C + Cᵀ, where q̇ = v: only the Christoffel symbols of M have both."""
    trees = {name: tree for name, tree in TREES.items() if tree.nv and of_coordinates(tree)}
    assert {"revolute_chain", "spherical (Euler)_random", "coupled_chain", "prismatic_chain"} <= trees.keys()
    for name, tree in trees.items():
        q, v, w = state(tree)
        f = Direct(tree)
        assert_close(times(f.coriolis_matrix(q, v), w), times(f.coriolis_matrix(q, w), v), 1e-12, name, core=1)


def test_coriolis_matrix_of_a_double_pendulum_equals_the_textbooks():
    """C = m₂ l₁ c₂ sin q₂ [[−v₂, −(v₁ + v₂)], [v₁, 0]], as every text has it."""
    axis = Revolute((0.0, 1.0, 0.0))
    links = [
        Link("base"),
        Link("one", mass=2.0, com=(0.0, 0.0, -0.4), inertia=(0.1, 0.1, 0.02)),
        Link("two", mass=1.5, com=(0.0, 0.0, -0.25), inertia=(0.05, 0.06, 0.01)),
    ]
    joints = [
        Joint.of(axis, name="shoulder", parent="base", child="one"),
        Joint.of(axis, name="elbow", parent="one", child="two", placement=(0.0, 0.0, -0.8)),
    ]
    q, v = np.array([0.3, 0.7]), np.array([1.1, -0.4])
    k = 1.5 * 0.8 * 0.25 * np.sin(q[1])
    expected = k * np.array([[-v[1], -(v[0] + v[1])], [v[0], 0.0]])
    assert_close(Robot.build("double", links, joints).coriolis_matrix(q, v), expected, 1e-15)


def test_compiled_coriolis_matrices_equal_interpreted_matrices():
    for name in ("mixed_0", "coupled_0"):
        tree = TREES[name]
        q, v, _ = state(tree)
        assert_close(robot_of(tree).coriolis_matrix(q, v), Direct(tree).coriolis_matrix(q, v), 1e-13, name, core=2)


def test_coriolis_matrix_rejects_velocities_of_wrong_shape():
    robot = robot_of(TREES["mixed_0"])
    q, v, _ = state(robot.tree)
    with pytest.raises(ValueError, match="coriolis_matrix: v: expected an array of shape"):
        robot.coriolis_matrix(q, v[:, 1:])
