"""Momentum of the whole robot: sums over masses, exact rates, conservation, and the zero-moment point."""

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.joints import Composite, Floating, Prismatic, Spherical
from linkwork.model.body import WORLD, Limits
from linkwork.model.random_tree import random_pose, random_tree
from linkwork.model.simplify import simplify_tree
from linkwork.robot.robot_table import ROBOT
from linkwork.spatial import Vec3
from oracles.comparison import assert_close
from oracles.rates import rate_of
from oracles.scalars import Direct
from oracles.textbook import Textbook
from oracles.trees import TREES, every_tree, robot_of, state


def times(matrix, v):
    return np.einsum("nij,nj->ni", matrix, v)


def about(point, h):
    """Momentum about another point than the origin."""
    return np.concatenate([h[:, :3] - np.cross(point, h[:, 3:]), h[:, 3:]], axis=-1)


@every_tree
def test_momentum_and_locked_inertia_equal_the_textbooks(tree):
    q, v, a = state(tree)
    f, book = Direct(tree), Textbook(tree, q, v, a)
    h, c = f.momentum(q, v), book.center_of_mass()[0]
    assert_close(h, book.momentum(), 1e-12, core=1)
    assert_close(Direct(simplify_tree(tree)).momentum(q, v), h, 1e-12, core=1)
    assert_close(f.centroidal_momentum(q, v), about(c, h), 1e-12, core=1)
    locked = f.locked_inertia(q)
    assert_close(locked[:, :3, :3], book.rotational_inertia(c), 1e-12, core=2)
    assert_close(locked[:, 3:, 3:], np.broadcast_to(tree.mass * np.eye(3), (len(q), 3, 3)), 1e-14, core=2)
    assert not np.any(locked[:, :3, 3:]) and not np.any(locked[:, 3:, :3])


@every_tree
def test_centroidal_momentum_matrix_and_its_rate_equal_derivatives_of_momentum(tree):
    q, v, a = state(tree)
    f = Direct(tree)
    A, rate = f.centroidal_momentum_matrix(q), f.centroidal_momentum_matrix_rate(q, v)
    assert_close(times(A, v), f.centroidal_momentum(q, v), 1e-12, core=1)
    assert_close(A[:, 3:], tree.mass * f.center_of_mass_jacobian(q), 1e-12, core=2)
    assert_close(rate, rate_of(tree, "centroidal_momentum_matrix", q, v), 1e-12, core=2)
    changed = rate_of(tree, "centroidal_momentum", q, v, a)
    assert_close(times(A, a) + times(rate, v), changed, 1e-11, core=1)
    book = Textbook(tree, q, v, a)
    c, c_dot, c_ddot = book.center_of_mass()
    assert_close(changed[:, 3:], tree.mass * c_ddot, 1e-11, core=1)
    # d/dt (k₀ − c × p), and ċ × p is zero
    assert_close(changed[:, :3], book.angular_momentum_rate() - np.cross(c, tree.mass * c_ddot), 1e-11, core=1)
    assert_close(tree.mass * c_dot, f.momentum(q, v)[:, 3:], 1e-12, core=1)


def floating_tree(seed):
    """A random tree that hangs on one floating body."""
    tree = random_tree(np.random.default_rng(seed), 7)
    free, zeros = Floating(), (0.0,) * 6
    root = replace(tree.bodies[0], parent=WORLD, joint=free, limits=Limits.none(free), damping=zeros, friction=zeros)
    bodies = [replace(body, parent=max(body.parent, 0)) for body in tree.bodies[1:]]
    return replace(tree, bodies=(root, *bodies))


FLOATING = [floating_tree(seed) for seed in range(3)]


@pytest.mark.parametrize("tree", FLOATING, ids=["0", "1", "2"])
def test_external_wrenches_and_weight_equal_the_rate_of_momentum(tree):
    q, v, tau = state(tree)
    tau[:, :6] = 0.0
    f = Direct(tree)
    frames = [frame.name for frame in tree.frames if frame.body != WORLD]
    acting = {frames[0]: np.random.default_rng(1).normal(size=(4, 6)), frames[-1]: np.ones((4, 6))}
    wrenches = [(name, "world", [*w.T]) for name, w in acting.items()]
    a = np.array(ROBOT["forward_dynamics"].compute(tree, [*q.T], [*v.T], [*tau.T], wrenches=wrenches)).T
    rate = times(f.centroidal_momentum_matrix(q), a) + times(f.centroidal_momentum_matrix_rate(q, v), v)
    c, weight = f.center_of_mass(q), tree.mass * np.array([*tree.gravity])
    expected = np.concatenate([np.zeros((4, 3)), np.broadcast_to(weight, (4, 3))], axis=-1)
    for name, w in acting.items():
        arm = f.pose(q, name)[:, :3, 3] - c
        expected += np.concatenate([w[:, :3] + np.cross(arm, w[:, 3:]), w[:, 3:]], axis=-1)
    scale = max(1.0, float(np.max(np.abs(a))) / 100.0)  # accelerations of single bodies add up to little
    assert_close(rate, expected, 1e-10 * scale, core=1)


@pytest.mark.parametrize("tree", FLOATING, ids=["0", "1", "2"])
def test_centre_of_mass_in_free_fall_accelerates_with_gravity_and_spin_is_conserved(tree):
    """Gravity is the only force, and the ground reaction is zero."""
    q, v, _ = state(tree)
    f = Direct(tree)
    a = f.forward_dynamics(q, v, np.zeros_like(v))
    scale = max(1.0, float(np.max(np.abs(a))) / 100.0)
    g = np.broadcast_to([*tree.gravity], (len(q), 3))
    assert_close(f.center_of_mass_acceleration(q, v, a), g, 1e-12 * scale, core=1)
    spin = times(f.centroidal_momentum_matrix(q), a) + times(f.centroidal_momentum_matrix_rate(q, v), v)
    assert_close(spin[:, :3], np.zeros_like(g), 1e-10 * scale, core=1)
    zero = np.zeros_like(v)
    a = f.forward_dynamics(q, zero, zero)
    assert np.array_equal(f.zero_moment_point(q, zero, a), np.full((len(q), 3), np.inf))


@pytest.mark.parametrize("tree", FLOATING, ids=["0", "1", "2"])
def test_momentum_of_a_rigid_motion_is_locked_inertia_times_twist(tree):
    q, v, _ = state(tree)
    v[:, 6:] = 0.0
    f, root = Direct(tree), tree.bodies[0].name
    twist = f.twist(q, v, root)
    c = f.center_of_mass(q) - f.pose(q, root)[:, :3, 3]
    twist[:, 3:] += np.cross(twist[:, :3], c)
    assert_close(f.centroidal_momentum(q, v), times(f.locked_inertia(q), twist), 1e-12, core=1)
    energy = 0.5 * np.sum(twist * times(f.locked_inertia(q), twist), axis=-1)
    assert_close(f.kinetic_energy(q, v), energy, 1e-12, core=0)


def test_centroidal_quantities_do_not_depend_on_the_position_of_the_base():
    """They are equal to the last bit, however far away the base is."""
    tree = FLOATING[0]
    q, v, _ = state(tree)
    far = q.copy()
    far[:, 4:7] += 1e6
    f = Direct(tree)
    for name in ("centroidal_momentum_matrix", "locked_inertia"):
        assert np.array_equal(getattr(f, name)(far), getattr(f, name)(q))
    for name in ("centroidal_momentum", "centroidal_momentum_matrix_rate", "center_of_mass_velocity"):
        assert np.array_equal(getattr(f, name)(far, v), getattr(f, name)(q, v))


# -- the zero-moment point


@every_tree
def test_ground_reaction_has_no_tipping_moment_about_the_zero_moment_point(tree):
    tilted = replace(tree, gravity=Vec3(3.0, -2.0, 5.0))
    q, v, a = state(tree)
    f, book, g = Direct(tilted), Textbook(tilted, q, v, a), np.array([3.0, -2.0, 5.0])
    c, _, c_ddot = book.center_of_mass()
    force = tree.mass * (c_ddot - g)
    moment = book.angular_momentum_rate() - np.cross(c, tree.mass * g)
    p = f.zero_moment_point(q, v, a)
    steep = np.abs(force @ g)[:, None]  # p is a moment over this
    left = (moment - np.cross(p, force)) * steep
    sizes = np.linalg.norm(moment, axis=-1) * np.linalg.norm(force, axis=-1) * np.linalg.norm(g)
    assert np.all(np.linalg.norm(np.cross(left, g), axis=-1) <= 1e-11 * np.maximum(1.0, sizes * np.linalg.norm(g)))
    assert np.all(np.abs(p @ g) <= 1e-13 * np.maximum(1.0, np.linalg.norm(p, axis=-1)) * 10.0)


def test_zero_moment_point_of_a_robot_at_rest_is_below_the_centre_of_mass():
    robot = lw.load("humanoid", floating_base=True)
    q = robot.random_configuration(seed=2, size=3)
    zero = np.zeros(robot.nv)
    below = robot.center_of_mass(q) * [1.0, 1.0, 0.0]
    assert_close(robot.zero_moment_point(q, zero, zero), below, 1e-13, core=1)
    up = np.array([0.0, 0.0, 9.81])
    assert_close(robot.zero_moment_point(q, zero, zero, gravity=up), below, 1e-13, core=1)


def test_zero_moment_point_without_gravity_is_infinite():
    robot = robot_of(TREES["mixed_0"])
    q, v, a = state(robot.tree)
    assert np.array_equal(robot.zero_moment_point(q, v, a, gravity=np.zeros(3)), np.full((4, 3), np.inf))
    weightless = replace(robot.tree, gravity=Vec3(0.0, 0.0, 0.0))
    assert np.array_equal(Direct(weightless).zero_moment_point(q, v, a), np.full((4, 3), np.inf))


# -- the same physics, said otherwise


@every_tree
def test_momentum_rotates_with_the_world(tree):
    X_0 = random_pose(np.random.default_rng(8))
    turned = replace(
        tree,
        bodies=tuple(replace(b, placement=X_0 @ b.placement) if b.parent == WORLD else b for b in tree.bodies),
        frames=tuple(replace(f, placement=X_0 @ f.placement) if f.body == WORLD else f for f in tree.frames),
    )
    q, v, _ = state(tree)
    R = np.reshape(np.array(X_0.elements(), dtype=float), (4, 4))[:3, :3]
    both = np.block([[R, np.zeros((3, 3))], [np.zeros((3, 3)), R]])
    rotated, original = Direct(turned), Direct(tree)
    assert_close(rotated.centroidal_momentum(q, v), original.centroidal_momentum(q, v) @ both.T, 1e-12, core=1)
    assert_close(rotated.locked_inertia(q), both @ original.locked_inertia(q) @ both.T, 1e-12, core=2)
    assert_close(rotated.center_of_mass_velocity(q, v), original.center_of_mass_velocity(q, v) @ R.T, 1e-12, core=1)


def test_floating_joint_has_the_momentum_of_three_slides_and_a_ball():
    free = random_tree(np.random.default_rng(1), 1, types=[Floating])
    body = replace(free.bodies[0], parent=WORLD)
    axes = (Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))
    parts = Composite((*map(Prismatic, axes), Spherical()))
    zeros = (0.0,) * 6
    composed = replace(
        free, bodies=(replace(body, joint=parts, limits=Limits.none(parts), damping=zeros, friction=zeros),)
    )
    free = replace(free, bodies=(body,))
    q, v, _ = state(free)
    R = Direct(replace(free, bodies=(replace(body, rotor=body.rotor.identity(), placement=body.rotor.identity()),)))
    turn = R.forward_kinematics(q)[:, 0, :3, :3]
    p = np.concatenate([q[:, 4:], q[:, :4]], axis=-1)
    w = np.concatenate([times(turn, v[:, 3:]), v[:, :3]], axis=-1)
    floating, composite = Direct(free), Direct(composed)
    for name in ("momentum", "centroidal_momentum", "kinetic_energy"):
        core = len(ROBOT[name].outputs[0].shape)
        assert_close(getattr(composite, name)(p, w), getattr(floating, name)(q, v), 1e-12, name, core=core)


@pytest.mark.slow(every=5)
def test_compiled_momentum_functions_equal_interpreted_functions():
    for name in ("mixed_0", "rerooted_coupled"):
        tree = TREES[name]
        q, v, a = state(tree)
        f, robot = Direct(tree), robot_of(tree)
        calls = {
            "momentum": (q, v),
            "centroidal_momentum": (q, v),
            "centroidal_momentum_matrix": (q,),
            "centroidal_momentum_matrix_rate": (q, v),
            "locked_inertia": (q,),
            "zero_moment_point": (q, v, a),
        }
        for key, arrays in calls.items():
            expected = getattr(f, key)(*arrays)
            assert_close(getattr(robot, key)(*arrays), expected, 1e-12, f"{name} {key}", core=expected.ndim - 1)
