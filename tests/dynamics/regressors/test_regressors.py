"""Regressors times inertial parameters equal the functions, on random trees of every joint type."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import Robot
from linkwork.model.random_tree import random_inertia
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Pose, Rotation, Vec3
from linkwork.spatial.inertia_vector import unit_wrenches
from linkwork.spatial.rigid_motion import RigidMotion
from oracles.comparison import assert_close
from oracles.scalars import Direct
from oracles.textbook import Textbook
from oracles.trees import TREES, every_tree, few_trees, robot_of, state

LAWS = ("smooth", "coulomb")


def with_passive(law: str) -> dict[str, Any]:
    return {"passive": True, "friction": law}


@every_tree
def test_regressor_times_inertial_parameters_is_inverse_dynamics(tree: Tree) -> None:
    """Invariant 28, with couplings and passive joint forces."""
    robot, f, (q, v, a) = robot_of(tree), Direct(tree), state(tree)
    torque = f.inverse_dynamics_regressor(q, v, a) @ robot.inertial_parameters()
    assert_close(torque, f.inverse_dynamics(q, v, a), 1e-12, core=1)
    assert_close(torque, Textbook(tree, q, v, a).inverse_dynamics(), 1e-12, core=1)
    for law in LAWS:
        Y = f.inverse_dynamics_regressor(q, v, a, **with_passive(law))
        expected = f.inverse_dynamics(q, v, a, **with_passive(law))
        assert_close(Y @ robot.inertial_parameters(passive=True), expected, 1e-12, law, core=1)


@every_tree
def test_regressors_of_energies_and_momentum_times_parameters_are_energies_and_momentum(tree: Tree) -> None:
    robot, f, (q, v, _) = robot_of(tree), Direct(tree), state(tree)
    pi, everything, book = robot.inertial_parameters(), robot.inertial_parameters(passive=True), Textbook(tree, q, v)
    unit_batch = np.ones(len(q))
    assert_close(f.kinetic_energy_regressor(q, v) @ pi, book.kinetic_energy() * unit_batch, 1e-12, core=0)
    actual = f.kinetic_energy_regressor(q, v, passive=True) @ everything
    assert_close(actual, f.kinetic_energy(q, v, passive=True), 1e-12, core=0)
    on_ground = -tree.gravity.dot(tree.fixed_inertia.moment)
    actual = f.potential_energy_regressor(q) @ pi
    assert_close(actual + on_ground, book.potential_energy() * unit_batch, 1e-12, core=0)
    actual = f.potential_energy_regressor(q, passive=True) @ everything
    assert_close(actual + on_ground, f.potential_energy(q, passive=True), 1e-12, core=0)
    actual = f.momentum_regressor(q, v) @ pi
    assert_close(actual, momentum(book, len(q)), 1e-12, core=1)
    assert_close(actual, f.momentum(q, v), 1e-12, core=1)


def momentum(book: Textbook, samples: int) -> np.ndarray:
    """(angular about the world's origin; linear), of homogeneous matrices."""
    total = np.zeros((samples, 6))
    for frame, P in zip(book.tree.frames, book._masses(), strict=True):
        motion = book.frame(frame.name)
        moments = (motion.rate @ P @ np.swapaxes(motion.X, -1, -2))[..., :3, :3]
        turning = moments - np.swapaxes(moments, -1, -2)
        total[:, :3] += np.stack([turning[..., 2, 1], turning[..., 0, 2], turning[..., 1, 0]], axis=-1)
        total[:, 3:] += (motion.rate @ P)[..., :3, 3]
    return total


@every_tree
def test_spring_columns_of_regressors_are_spring_forces_and_energies(tree: Tree) -> None:
    """The gradient of the energy along the joints' velocities is the force, without gravity."""
    f, (q, _, _) = Direct(replace(tree, gravity=Vec3.zero())), state(tree, seed=2)
    zero = np.zeros((len(q), tree.nv))
    nj = sum(body.joint.nv for body in tree.bodies)
    row = f.potential_energy_regressor(q, passive=True)
    assert not np.any(row[:, : len(row.T) - nj])
    forces = f.inverse_dynamics_regressor(q, zero, zero, passive=True)[..., len(row.T) - nj :]
    step, robot = 1e-5, robot_of(tree)
    for k in range(tree.nv):
        along = np.eye(tree.nv)[k] * step
        after, before = (robot.integrate(q, x * np.ones((len(q), 1))) for x in (along, -along))
        rise = f.potential_energy_regressor(after, passive=True) - f.potential_energy_regressor(before, passive=True)
        assert_close(forces[:, k], rise[:, len(row.T) - nj :] / (2.0 * step), 1e-7, core=1)


@few_trees
def test_regressor_columns_of_a_link_give_the_effect_of_its_inertia(tree: Tree) -> None:
    """A robot with another inertia of a link is the reference."""
    robot, (q, v, a) = robot_of(tree), state(tree)
    for link in (tree.frames[0], tree.frames[-4]):
        new_inertia = random_inertia(np.random.default_rng(1), 0.5)
        changed = robot.with_inertia(link.name, inertia=new_inertia)
        change = changed.inertial_parameters() - robot.inertial_parameters()
        Y = Direct(tree).inverse_dynamics_regressor(q, v, a)
        expected = Direct(changed.tree).inverse_dynamics(q, v, a) - Direct(tree).inverse_dynamics(q, v, a)
        assert_close(Y @ change, expected, 1e-12, core=1)
        k, change_of_link = 10 * link.body, (link.placement @ new_inertia - link.placement @ link.inertia).parameters()
        assert_close(change[k : k + 10], change_of_link, 1e-12)
        assert not np.any(np.delete(change, range(k, k + 10)))


def test_regressor_columns_of_a_joint_give_the_effect_of_its_passive_parameters() -> None:
    """Followers are included."""
    tree = TREES["coupled_0"]
    q, v, a = state(tree)
    Y = Direct(tree).inverse_dynamics_regressor(q, v, a, passive=True)
    names = robot_of(tree).parameter_names(passive=True)
    followers = [body for body in tree.bodies if body.coupling is not None]
    assert followers
    for body in (followers[0], next(body for body in tree.bodies if body.joint.nv)):
        for property_name in ("armature", "damping", "friction", "stiffness"):
            more = [0.0] * body.joint.nv
            more[0] = 0.7
            if property_name in ("damping", "friction"):
                changed_body = replace(body, **{property_name: add(getattr(body, property_name), more)})
            else:
                changed_body = replace(
                    body, drive=replace(body.drive, **{property_name: add(getattr(body.drive, property_name), more)})
                )
            bodies = tuple(changed_body if b is body else b for b in tree.bodies)
            changed = replace(tree, bodies=bodies)
            name = body.joint_name if body.joint.nv == 1 else f"{body.joint_name}.{body.joint.v_names[0]}"
            column = Y[..., names.index(f"{name}.{property_name}")]
            torque = Direct(changed).inverse_dynamics(q, v, a, passive=True)
            expected = Direct(tree).inverse_dynamics(q, v, a, passive=True) + 0.7 * column
            assert_close(torque, expected, 1e-12, f"{body.joint_name} {property_name}", core=1)


def add(values: tuple[float, ...], increments: list[float]) -> tuple[float, ...]:
    return tuple(x + y for x, y in zip(values, increments, strict=True))


def test_damping_of_joints_without_dynamics_is_zero_in_the_inertial_parameters() -> None:
    tree = TREES["revolute_chain"]
    idle = replace(tree, bodies=tuple(replace(body, dynamics="none") for body in tree.bodies))
    q, v, a = state(tree)
    pi = Robot(idle).inertial_parameters(passive=True)
    names = Robot(idle).parameter_names(passive=True)
    assert all((x == 0.0) == name.endswith((".damping", ".friction")) for x, name in zip(pi, names, strict=True))
    torque = Direct(idle).inverse_dynamics_regressor(q, v, a, passive=True) @ pi
    assert_close(torque, Direct(idle).inverse_dynamics(q, v, a, passive=True), 1e-12, core=1)


def test_compiled_regressors_accept_options_and_gravity() -> None:
    tree = TREES["coupled_chain"]
    robot, (q, v, a) = robot_of(tree), state(tree)
    pi, g = robot.inertial_parameters(passive=True), np.array([3.0, -2.0, 5.0])
    Y = robot.inverse_dynamics_regressor(q, v, a, passive=True, friction="coulomb", gravity=g)
    assert_close(Y @ pi, robot.inverse_dynamics(q, v, a, gravity=g, **with_passive("coulomb")), 1e-12, core=1)
    row = robot.potential_energy_regressor(q, gravity=g)
    assert_close(row, Direct(replace(tree, gravity=Vec3(*g))).potential_energy_regressor(q), 1e-13, core=1)
    kernel = robot.compile(("inverse_dynamics_regressor", {"passive": True}))
    assert kernel(q, v, a).shape == (4, tree.nv, len(pi))


def test_parameter_names_and_values_of_inertial_parameters_have_equal_order() -> None:
    robot = lw.load("double_pendulum")
    names, pi = robot.parameter_names(passive=True), robot.inertial_parameters(passive=True)
    assert names[:12] == (*(f"upper_rod.{x}" for x in lw.parameters.NAMES), "lower_rod.m", "lower_rod.h_x")
    joints = [joint.name for joint in robot.joints]
    assert names[20:] == tuple(f"{j}.{x}" for x in ("armature", "damping", "friction", "stiffness") for j in joints)
    assert len(names) == len(pi) == 28 and names[:20] == robot.parameter_names()
    assert np.array_equal(pi[:20], robot.inertial_parameters())
    damping = [joint.damping[0] for joint in robot.joints]
    assert pi[[names.index(f"{joint}.damping") for joint in joints]].tolist() == damping
    free = lw.load("quadruped", floating_base=True).parameter_names(passive=True)
    assert {"floating_base.wx.armature", "floating_base.vz.stiffness"} <= {*free}
    bare = lw.load("arm7", inertia="ignore")
    with pytest.raises(ValueError, match="inertial_parameters: robot 'arm7' was loaded without inertias"):
        bare.inertial_parameters()
    q = bare.neutral()
    assert bare.inverse_dynamics_regressor(q, q, q).shape == (7, 70)  # which needs none


def test_newton_euler_terms_of_unit_wrenches_sum_to_the_wrench_of_a_body() -> None:
    rng = np.random.default_rng(0)
    R = Rotation.from_rpy(0.3, -1.2, 2.0)
    for _ in range(5):
        w, w_dot, a = (Vec3(*rng.normal(size=3).tolist()) for _ in range(3))
        motion = RigidMotion.of(w, w_dot, a)
        body: Inertia = Pose(R, w) @ random_inertia(rng)
        parts = [F * x for F, x in zip(unit_wrenches(motion), body.parameters(), strict=True)]
        total = np.sum([part.elements() for part in parts], axis=0)
        assert_close(total, motion.wrench(body).elements(), 1e-14)
        assert Inertia.of_parameters(body.parameters()) == body
