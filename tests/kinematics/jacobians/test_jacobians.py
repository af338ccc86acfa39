"""Jacobians and their rates on trees of every joint type, for moving frames and points anywhere.

INVARIANTS 10 (J v is the twist), 11 (J against differences) and 12 (J̇ v + J a is the acceleration; J̇ against
differences).  The reference of twists and accelerations differentiates poses: see `oracles.textbook`.
"""

import itertools

import numpy as np
import pytest

from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.joints import Revolute, Spherical
from linkwork.model.random_tree import random_tree
from linkwork.robot.robot_table import ROBOT
from oracles.comparison import assert_close
from oracles.scalars import Direct
from oracles.textbook import Textbook
from oracles.trees import TREES, every_moving_tree, every_tree, robot_of, state

STEP = 1e-6


def views(tree, seed=0):
    """Yield a frame B with observers, axes and points: the world, B itself, and other moving frames."""
    rng = np.random.default_rng(seed)
    names = ["world", *(frame.name for frame in tree.frames)]
    last, first = tree.frames[-1].name, tree.bodies[0].name
    cases = [(last, {}), (last, {"expressed_in": last, "point": "world"})]
    cases.append((last, {"relative_to": first, "expressed_in": first}))
    for _ in range(3):
        B, *more_frames = rng.choice(names, 4).tolist()
        cases.append((B, dict(zip(("relative_to", "expressed_in", "point"), more_frames, strict=True))))
    return cases


def of_book(view):
    return view.get("relative_to", "world"), view.get("expressed_in", "world"), view.get("point")


def along(tree, q, v):
    """The configurations a little after and a little before q at velocity v."""
    f = Direct(tree)
    return f.integrate(q, STEP * v), f.integrate(q, -STEP * v)


@every_tree
def test_jacobian_and_its_rate_give_the_twist_and_acceleration_of_frames(tree):
    q, v, a = state(tree, seed=3, size=2)
    f, book = Direct(tree), Textbook(tree, q, v, a)
    for B, view in views(tree):
        J, J_dot = f.jacobian(q, B, **view), f.jacobian_derivative(q, v, B, **view)
        assert_close(np.einsum("nij,nj->ni", J, v), book.twist(B, *of_book(view)), 1e-12, f"{B} {view}", core=1)
        bias = np.einsum("nij,nj->ni", J_dot, v)
        acceleration = bias + np.einsum("nij,nj->ni", J, a)
        assert_close(acceleration, book.acceleration(B, *of_book(view)), 1e-10, f"{B} {view}", core=1)
        assert_close(f.bias_acceleration(q, v, B, **view), bias, 1e-12, f"{B} {view}", core=1)


def jacobian_of_point(f, q, B, A, point):
    """Return the Jacobian in A's axes at a point fixed in B."""
    J = f.jacobian(q, B, relative_to=A, expressed_in=A)
    arm = f.pose(q, B, relative_to=A)[:, :3, :3] @ point
    return np.concatenate([J[:, :3], J[:, 3:] + np.cross(J[:, :3], arm, axis=1)], axis=1)


@every_moving_tree
def test_columns_of_the_jacobian_equal_finite_differences_of_poses(tree):
    """J's columns are rates of the pose along unit velocities, and J̇ is J's rate along v, of one point of B."""
    q, v, _ = state(tree, seed=4, size=2)
    f = Direct(tree)
    for B, view in views(tree, seed=1):
        A, E, P = of_book(view)
        R_EA = f.pose(q, A, relative_to=E)[:, :3, :3]
        point = f.pose(q, P or B, relative_to=B)[:, :, 3:]  # of B: a column with a fourth number 1
        J = f.jacobian(q, B, **view)
        after, before = (f.pose(x, B, relative_to=A) for x in along(tree, q[:, None], np.eye(tree.nv)))
        rate, X = (after - before) / (2.0 * STEP), f.pose(q, B, relative_to=A)
        R_EA, X = R_EA[:, None], X[:, None]
        W = R_EA @ rate[..., :3, :3] @ np.swapaxes(R_EA @ X[..., :3, :3], -1, -2)
        w = np.stack([W[..., 2, 1], W[..., 0, 2], W[..., 1, 0]], axis=-1)
        jacobian = np.concatenate([w, (R_EA @ (rate @ point[:, None])[..., :3, :])[..., 0]], axis=-1)
        assert_close(np.swapaxes(J, -1, -2), jacobian, 1e-8, f"J {B} {view}", core=1)

        after, before = (jacobian_of_point(f, x, B, A, point[:, :3]) for x in along(tree, q, v))
        expected = ((after - before) / (2.0 * STEP)).reshape(2, 2, 3, tree.nv)
        expected = (R_EA @ expected).reshape(2, 6, tree.nv)
        assert_close(f.jacobian_derivative(q, v, B, **view), expected, 1e-7, f"J̇ {B} {view}", core=2)


@every_moving_tree
def test_rates_of_jacobians_equal_dual_number_derivatives(tree):
    """Axes are those of A and the point is fixed to B, so J̇ and H v are derivatives element by element."""
    q, v, _ = (x[0].tolist() for x in state(tree, seed=10, size=1))
    names = ["world", *(frame.name for frame in tree.frames)]
    f = Direct(tree, "floats")
    for B, A in np.random.default_rng(3).choice(names, (3, 2)).tolist():
        moving = seeded(q, ROBOT["velocity_to_configuration_derivative"].compute(tree, q, v))
        rates = ROBOT["jacobian"].compute(tree, moving, B, relative_to=A, expressed_in=A)
        expected = np.array([[parts(x, moving[0].level)[1] for x in row] for row in rates], dtype=float)
        rate = f.jacobian_derivative(q, v, B, relative_to=A, expressed_in=A)
        assert_close(rate, expected, 1e-12, f"{B} {A}")
        H = f.jacobian_hessian(q, B, relative_to=A, expressed_in=A)
        assert_close(H @ np.array(v), expected, 1e-12, f"{B} {A}")


@pytest.mark.costly
@every_moving_tree
def test_rate_of_a_jacobian_is_its_hessian_times_velocity(tree):
    """J̇ = Σ H v, at any velocity and at the unit velocities."""
    q, v, _ = state(tree, seed=5, size=2)
    f = Direct(tree)
    for B, view in views(tree, seed=2):
        H = f.jacobian_hessian(q, B, **view)
        J_dot = f.jacobian_derivative(q, v, B, **view)
        assert_close(np.einsum("nijk,nk->nij", H, v), J_dot, 1e-13, f"{B} {view}", core=2)
        slopes = f.jacobian_derivative(q[:, None], np.eye(tree.nv), B, **view)
        assert_close(np.moveaxis(H, -1, 1), slopes, 1e-13, f"{B} {view}", core=2)


def test_kinematic_hessians_equal_finite_differences_of_jacobians():
    for name in ("mixed_0", "floating_chain", "spherical_random", "coupled_0", "rerooted_coupled"):
        tree = TREES[name]
        q, _, _ = state(tree, seed=6, size=2)
        f, B = Direct(tree), tree.frames[-1].name
        H = f.jacobian_hessian(q, B)
        after, before = (f.jacobian(x, B) for x in along(tree, q[:, None], np.eye(tree.nv)))
        assert_close(np.moveaxis(H, -1, 1), (after - before) / (2.0 * STEP), 1e-8, name, core=2)


def test_kinematic_hessian_of_a_chain_of_hinges_is_symmetric_in_its_linear_rows():
    tree = random_tree(np.random.default_rng(1), 6, types=[Revolute], shape="chain")
    q, _, _ = state(tree)
    linear = Direct(tree).jacobian_hessian(q, "tool5")[:, 3:]
    assert_close(linear, np.swapaxes(linear, -1, -2), 1e-14, core=3)


@every_tree
def test_position_angular_and_configuration_jacobians_agree_with_the_jacobian(tree):
    q, v, _ = state(tree, seed=7, size=2)
    f = Direct(tree)
    q_dot = f.velocity_to_configuration_derivative(q, v)
    for B, view in views(tree, seed=3):
        J = f.jacobian(q, B, **view)
        axes = {key: value for key, value in view.items() if key != "point"}
        assert_close(f.position_jacobian(q, B, **view), J[:, 3:], 1e-13, f"{B} {view}", core=2)
        assert_close(f.angular_jacobian(q, B, **axes), J[:, :3], 1e-13, f"{B} {view}", core=2)
        twist = np.einsum("nij,nj->ni", f.configuration_jacobian(q, B, **view), q_dot)
        assert_close(twist, np.einsum("nij,nj->ni", J, v), 1e-12, f"{B} {view}", core=1)
        J = np.stack([f.jacobian(q, body.name, **view) for body in tree.bodies], axis=1)
        assert_close(f.jacobians(q, **view), J, 1e-13, f"{view}", core=3)


def test_configuration_jacobians_equal_finite_differences():
    """Along straight lines in coordinates, normalized to the manifold."""
    trees = [TREES[name] for name in ("mixed_0", "mixed_1", "floating_chain", "coupled_0")]
    trees.append(random_tree(np.random.default_rng(2), 4, types=[Spherical]))
    for tree in trees:
        q, _, _ = state(tree, seed=8, size=2)
        f, B = Direct(tree), tree.frames[-1].name
        line = np.random.default_rng(0).normal(size=q.shape)
        after, before = f.normalize(q + STEP * line), f.normalize(q - STEP * line)
        q_dot = (after - before) / (2.0 * STEP)
        rate, X = (f.pose(after, B) - f.pose(before, B)) / (2.0 * STEP), f.pose(q, B)
        W = rate[:, :3, :3] @ np.swapaxes(X[:, :3, :3], -1, -2)
        expected = np.stack([W[:, 2, 1], W[:, 0, 2], W[:, 1, 0], *rate[:, :3, 3].T], axis=-1)
        twist = np.einsum("nij,nj->ni", f.configuration_jacobian(q, B), q_dot)
        assert_close(twist, expected, 1e-8, tree.name, core=1)


def test_configuration_jacobians_of_hinges_equal_jacobians():
    tree = TREES["revolute_chain"]
    q, _, _ = state(tree)
    f = Direct(tree)
    assert_close(f.configuration_jacobian(q, "tool2"), f.jacobian(q, "tool2"), 1e-14, core=2)


def test_jacobians_of_two_frames_relative_to_each_other_are_opposite():
    """B relative to A, and A relative to B: J̇ differs by the observer and the point."""
    tree = TREES["mixed_1"]
    q, v, _ = state(tree, seed=9, size=2)
    f = Direct(tree)
    names = ("world", "body1", "tool4", "tool6")
    for A, B in itertools.permutations(names, 2):
        exchanged = f.jacobian_derivative(q, v, B, relative_to=A, expressed_in="body2", point="tool5")
        back = f.jacobian_derivative(q, v, A, relative_to=B, expressed_in="body2", point="tool5")
        J = f.jacobian(q, B, relative_to=A, expressed_in="body2", point="tool5")
        twist = f.twist(q, v, B, relative_to=A, expressed_in="body2", point="tool5")
        w, u = twist[:, :3, None], twist[:, 3:, None]
        correction = np.concatenate([np.cross(w, J[:, :3], axis=1), np.cross(w, J[:, 3:], axis=1)], axis=1)
        correction[:, 3:] += np.cross(J[:, :3], u, axis=1)  # the point of B at P leaves that of A behind
        assert_close(exchanged, correction - back, 1e-12, f"{A} {B}", core=2)


def test_kernel_of_all_jacobians_needs_fewer_operations_than_single_kernels():
    robot = robot_of(TREES["revolute_chain"])
    apart = sum(sum(robot.compile(("jacobian", body)).operations.values()) for body in robot.bodies)
    assert sum(robot.compile("jacobians").operations.values()) < 0.8 * apart


def test_unknown_frames_and_parts_of_jacobians_are_refused():
    robot = robot_of(TREES["revolute_chain"])
    q, v = np.zeros((2, robot.nv))
    with pytest.raises(KeyError, match="tool9"):
        robot.jacobian_derivative(q, v, "tool9")
    with pytest.raises(KeyError, match="nowhere"):
        robot.jacobians(q, point="nowhere")
    with pytest.raises(KeyError, match="nowhere"):
        robot.jacobian_hessian(q, "tool1", relative_to="nowhere")
    with pytest.raises(ValueError, match="one of all, position, angular"):
        robot.manipulability(q, "tool1", part="linear")
