"""Energies, the Lagrangian and the power balance, against the textbook and along exact motions."""

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from helpers.resisted import resisted
from linkwork.errors import UnknownNameError
from linkwork.model.body import WORLD
from linkwork.model.random_tree import random_pose
from linkwork.model.simplify import simplify_tree
from linkwork.robot.robot_table import ROBOT
from oracles.comparison import assert_close
from oracles.rates import rate_of
from oracles.scalars import Direct
from oracles.textbook import Textbook
from oracles.trees import TREES, every_moving_tree, every_tree, robot_of, state


@every_tree
def test_kinetic_and_potential_energies_equal_the_textbooks(tree):
    q, v, _ = state(tree)
    f, book = Direct(tree), Textbook(tree, q, v)
    T, U = f.kinetic_energy(q, v), f.potential_energy(q)
    assert_close(T, book.kinetic_energy(), 1e-12, core=0)
    assert_close(T, 0.5 * np.einsum("ni,nij,nj->n", v, f.mass_matrix(q), v), 1e-12, core=0)
    assert_close(U, book.potential_energy(), 1e-12, core=0)
    assert_close(f.lagrangian(q, v), T - U, 1e-13, core=0)
    assert_close(Direct(simplify_tree(tree)).kinetic_energy(q, v), T, 1e-12, core=0)
    assert np.all(T >= 0.0)


@every_moving_tree
def test_gravity_force_is_the_gradient_of_the_potential_energy(tree):
    """Springs included, for any velocity: dU/dt = vᵀ g."""
    stiff = resisted(tree)
    q, v, _ = state(stiff)
    f = Direct(stiff)
    for options in ({}, {"passive": True}):
        expected = np.sum(v * f.gravity_force(q, **options), axis=-1)
        assert_close(rate_of(stiff, "potential_energy", q, v, **options), expected, 1e-12, f"{options}", core=0)


@every_moving_tree
def test_kinetic_energy_includes_armature(tree):
    heavy = resisted(tree)
    q, v, _ = state(heavy)
    f = Direct(heavy)
    M = f.mass_matrix(q, passive=True)
    expected = 0.5 * np.einsum("ni,nij,nj->n", v, M, v)
    assert_close(f.kinetic_energy(q, v, passive=True), expected, 1e-12, core=0)
    assert np.all(f.kinetic_energy(q, v, passive=True) > f.kinetic_energy(q, v))


@pytest.mark.costly
@every_moving_tree
def test_rate_of_energy_equals_joint_and_wrench_power_less_dissipation(tree):
    """d/dt (T + U) = joints + wrenches − dissipated, along the motion of forward dynamics."""
    full = resisted(tree)
    q, v, tau = state(full)
    frames = [frame.name for frame in full.frames if frame.body != WORLD]
    forces = np.random.default_rng(4).normal(size=(2, 6, len(q)))
    wrenches = [(frames[0], "world", list(forces[0])), (frames[-1], frames[0], list(forces[1]))]
    for options in ({}, {"passive": True}, {"passive": True, "friction": "coulomb"}):
        a = _on_batch(full, "forward_dynamics", q, v, tau, wrenches=wrenches, **options).T
        energies = {key: value for key, value in options.items() if key == "passive"}
        rate = rate_of(full, "kinetic_energy", q, v, a, **energies) + rate_of(
            full, "potential_energy", q, v, **energies
        )
        joints, supplied, dissipated = _on_batch(full, "power", q, v, tau, wrenches=wrenches, **options)
        scale = np.maximum(1.0, np.linalg.norm(a, axis=-1))  # of the forces that cancel
        assert_close(rate / scale, (joints + supplied - dissipated) / scale, 1e-11, f"{options}", core=0)
        assert_close(joints, np.sum(v * tau, axis=-1), 1e-13, core=0)
        assert np.all(dissipated >= 0.0) and np.any(dissipated) == bool(options)


def _on_batch(tree, name, *arrays, **options):
    """The algorithm itself, which takes wrenches as (frame, expressed_in, scalars)."""
    result = ROBOT[name].compute(tree, *([*x.T] for x in arrays), **options)
    return np.array([np.broadcast_to(x, len(arrays[0])) for x in result])


@every_moving_tree
def test_dissipated_power_is_that_of_damping_and_friction(tree):
    full = resisted(tree)
    q, v, tau = state(full)
    slack = replace(full, bodies=tuple(replace(b, drive=replace(b.drive, stiffness=())) for b in full.bodies))
    for friction in ("smooth", "coulomb"):
        dissipated = Direct(full).power(q, v, tau, passive=True, friction=friction)[2]
        force = Direct(slack).passive_force(q, v, friction=friction)
        assert_close(dissipated, -np.sum(v * force, axis=-1), 1e-13, friction, core=0)


def test_power_of_wrenches_is_wrench_times_twist():
    robot = robot_of(resisted(TREES["coupled_0"]))
    q, v, tau = state(robot.tree)
    w = np.random.default_rng(1).normal(size=(4, 6))
    for frame, axes in (("tool2", "world"), ("body1", "tool2")):
        power = robot.power(q, v, tau, wrenches={frame: w}, expressed_in=axes, passive=True)
        twist = robot.twist(q, v, frame, expressed_in=axes)
        assert_close(power.wrenches, np.sum(w * twist, axis=-1), 1e-13, core=0)
        again = robot.power(q, v, tau, passive=True)
        assert_close(power.dissipated, again.dissipated, 1e-15, core=0)
        assert not np.any(again.wrenches) and not np.any(robot.power(q, v, tau).dissipated)


def test_potential_energy_accepts_gravity_as_an_argument():
    robot = lw.load("arm7")
    q, v = robot.random_configuration(seed=1, size=3), np.ones(7)
    g = np.array([1.0, -2.0, 3.0])
    U = robot.potential_energy(q, gravity=g)
    assert_close(U, -robot.mass * robot.center_of_mass(q) @ g, 1e-13, core=0)
    assert_close(robot.lagrangian(q, v, gravity=g), robot.kinetic_energy(q, v) - U, 1e-13, core=0)
    assert not np.any(robot.potential_energy(q, gravity=np.zeros(3)))


@every_tree
def test_rotating_the_world_with_gravity_does_not_change_energies(tree):
    X_0 = random_pose(np.random.default_rng(8))
    turned = replace(
        tree,
        bodies=tuple(replace(b, placement=X_0 @ b.placement) if b.parent == WORLD else b for b in tree.bodies),
        frames=tuple(replace(f, placement=X_0 @ f.placement) if f.body == WORLD else f for f in tree.frames),
        gravity=X_0.rotation @ tree.gravity,
    )
    q, v, _ = state(tree)
    rotated, original = Direct(turned), Direct(tree)
    assert_close(rotated.kinetic_energy(q, v), original.kinetic_energy(q, v), 1e-12, core=0)
    shift = -tree.mass * tree.gravity.dot(X_0.rotation.inv_act(X_0.translation))
    assert_close(rotated.potential_energy(q), original.potential_energy(q) + shift, 1e-12, core=0)


def test_energies_have_the_shape_of_the_batch():
    robot = lw.load("double_pendulum")
    q, v = np.array([0.1, 0.2]), np.array([1.0, 2.0])
    for energy_value in (robot.kinetic_energy(q, v), robot.potential_energy(q), robot.lagrangian(q, v)):
        assert np.shape(energy_value) == ()
    assert [np.shape(x) for x in robot.power(q, v, v)] == [()] * 3
    assert robot.kinetic_energy(np.zeros((4, 1, 2)), np.zeros((3, 2))).shape == (4, 3)


def test_power_rejects_unknown_frames_laws_of_friction_and_wrong_shapes():
    robot = lw.load("arm7")
    q = np.zeros(7)
    with pytest.raises(UnknownNameError, match="no frame named 'nowhere'"):
        robot.power(q, q, q, wrenches={"nowhere": np.zeros(6)})
    with pytest.raises(ValueError, match="is fixed to the world"):
        robot.power(q, q, q, wrenches={"world": np.zeros(6)})
    with pytest.raises(ValueError, match=r"friction: expected one of .* or a FrictionLaw, got 'wet'"):
        robot.power(q, q, q, passive=True, friction="wet")
    with pytest.raises(ValueError, match="kinetic_energy: v: expected an array of shape"):
        robot.kinetic_energy(q, np.zeros(6))
    with pytest.raises(ValueError, match="gravity"):
        robot.potential_energy(q, gravity=np.zeros(2))
