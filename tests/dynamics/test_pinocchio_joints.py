"""Dynamics of Pinocchio's joint types, as the only joint of a robot and in the middle of a chain.

What is adapted: motions have the linear part first there; quaternions are (x, y, z, w); planar joints have
(x, y, cos, sin); an unbounded revolute joint has (cos, sin); a spherical joint of Euler angles has the order zyx.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from linkwork import Robot
from linkwork.joints import (
    Composite,
    Ellipsoid,
    Floating,
    Helical,
    JointType,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    SphericalEuler,
    Translational,
    UnboundedRevolute,
    Universal,
)
from linkwork.joints.axis import unit_axis
from linkwork.model.body import Limits
from linkwork.model.random_tree import random_tree
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Pose, Quaternion, Vec3
from oracles.comparison import assert_close

pin = pytest.importorskip("pinocchio")

A = Vec3(2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0)
B = unit_axis(A.cross(Vec3(0.6, 0.0, -0.8)))
X_AXIS, Y_AXIS, Z_AXIS = Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)
array = np.array


@dataclass(frozen=True)
class Pair:
    """A joint here and there; q there of q here, and where the numbers of v there stand here."""

    ours: JointType
    theirs: Callable[[], Any]
    q: Callable[[np.ndarray], np.ndarray]
    of_v: tuple[int, ...]


def composite() -> Any:
    joint = pin.JointModelComposite(pin.JointModelRX())
    joint.addJoint(pin.JointModelPY())
    return joint


def same(q: np.ndarray) -> np.ndarray:
    return q


PAIRS = {
    "unbounded revolute": Pair(UnboundedRevolute(Z_AXIS), lambda: pin.JointModelRUBZ(), lambda q: q[[1, 0]], (0,)),
    "unbounded revolute, y": Pair(UnboundedRevolute(Y_AXIS), lambda: pin.JointModelRUBY(), lambda q: q[[1, 0]], (0,)),
    "helical": Pair(Helical(A, 0.3), lambda: pin.JointModelHelicalUnaligned(array([*A]), 0.3), same, (0,)),
    "universal": Pair(Universal(A, B), lambda: pin.JointModelUniversal(array([*A]), array([*B])), same, (0, 1)),
    "planar": Pair(
        Planar(), lambda: pin.JointModelPlanar(), lambda q: array([q[0], q[1], np.cos(q[2]), np.sin(q[2])]), (0, 1, 2)
    ),
    "translational": Pair(Translational(), lambda: pin.JointModelTranslation(), same, (0, 1, 2)),
    "spherical": Pair(Spherical(), lambda: pin.JointModelSpherical(), lambda q: q[[1, 2, 3, 0]], (0, 1, 2)),
    "spherical, scalar last": Pair(Spherical(scalar_last=True), lambda: pin.JointModelSpherical(), same, (0, 1, 2)),
    "spherical (Euler)": Pair(SphericalEuler("zyx"), lambda: pin.JointModelSphericalZYX(), same, (0, 1, 2)),
    "floating": Pair(
        Floating(), lambda: pin.JointModelFreeFlyer(), lambda q: q[[4, 5, 6, 1, 2, 3, 0]], (3, 4, 5, 0, 1, 2)
    ),
    "composite": Pair(Composite((Revolute(X_AXIS), Prismatic(Y_AXIS))), composite, same, (0, 1)),
}


def tree_with(joint: JointType, index: int, bodies: int) -> Tree:
    tree = random_tree(np.random.default_rng(21), bodies, types=[Revolute], shape="chain")
    zeros = (0.0,) * joint.nv
    bodies_there = [replace(body, rotor=Pose.identity()) for body in tree.bodies]  # a body's frame is its joint's
    body = bodies_there[index]
    bodies_there[index] = replace(body, joint=joint, limits=Limits.none(joint), damping=zeros, friction=zeros)
    return replace(tree, bodies=tuple(bodies_there))


def spatial_inertia(inertia: Inertia) -> Any:
    mass = float(inertia.mass)
    center = array([*inertia.moment], dtype=float) / mass
    xx, xy, xz, yy, yz, zz = inertia.about.elements()
    about = array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=float)
    about -= mass * (center @ center * np.eye(3) - np.outer(center, center))
    return pin.Inertia(mass, center, about)


def model_of(tree: Tree, body_index: int, pair: Pair) -> Any:
    model = pin.Model()
    model.gravity.linear = array([*tree.gravity])
    for i, body in enumerate(tree.bodies):
        X = array(body.placement.elements(), dtype=float).reshape(4, 4)
        joint = pair.theirs() if i == body_index else pin.JointModelRevoluteUnaligned(array([*body.joint.axis]))
        index = model.addJoint(body.parent + 1, joint, pin.SE3(X[:3, :3], X[:3, 3]), body.joint_name)
        model.appendBodyToJoint(index, spatial_inertia(body.inertia), pin.SE3.Identity())
    return model


@pytest.mark.costly
@pytest.mark.parametrize(("body", "bodies"), [(0, 1), (0, 3), (1, 3), (2, 3)])
@pytest.mark.parametrize("name", PAIRS)
def test_dynamics_of_joint_types_equal_pinocchios(name: str, body: int, bodies: int) -> None:
    pair = PAIRS[name]
    tree = tree_with(pair.ours, body, bodies)
    robot, model = Robot(tree), model_of(tree, body, pair)
    data = model.createData()
    where, first_column = tree.q_slices[body], tree.v_slices[body].start
    of_v = [
        *range(first_column),
        *(first_column + k for k in pair.of_v),
        *range(first_column + len(pair.of_v), tree.nv),
    ]
    to_v = np.argsort(of_v)
    rng = np.random.default_rng(2)
    for q in robot.random_configuration(rng, size=4):
        v, a = rng.normal(size=(2, tree.nv))
        p = np.concatenate([q[: where.start], pair.q(q[where]), q[where.stop :]])
        tau = pin.rnea(model, data, p, v[of_v], a[of_v])[to_v]
        assert_close(robot.inverse_dynamics(q, v, a), tau, 1e-13)
        upper = np.triu(pin.crba(model, data, p))
        M = (upper + np.triu(upper, 1).T)[np.ix_(to_v, to_v)]
        assert_close(robot.mass_matrix(q), M, 1e-13)
        assert_close(robot.forward_dynamics(q, v, tau), pin.aba(model, data, p, v[of_v], tau[of_v])[to_v], 1e-10)
        pin.forwardKinematics(model, data, p)
        assert_close(robot.pose(q, tree.bodies[-1].name), data.oMi[bodies].homogeneous, 1e-13)


@pytest.mark.parametrize(("body", "bodies"), [(0, 1), (1, 3)])
def test_dynamics_of_the_ellipsoid_joint_equal_pinocchios(body: int, bodies: int) -> None:
    """Pinocchio has Euler angles xyz and their rates, linkwork a quaternion and ω."""
    angles = SphericalEuler("xyz")
    tree = tree_with(Ellipsoid(0.1, 0.2, 0.4), body, bodies)
    pair = Pair(tree.bodies[body].joint, lambda: pin.JointModelEllipsoid(0.1, 0.2, 0.4), same, (0, 1, 2))
    robot, model = Robot(tree), model_of(tree, body, pair)
    data, at = model.createData(), tree.v_slices[body]
    rng = np.random.default_rng(3)
    for p, w, w_dot in rng.normal(size=(4, 3, model.nv)):
        x, y, z = p[at].tolist(), w[at].tolist(), w_dot[at].tolist()
        turns = (Quaternion.exp(axis * angle) for axis, angle in zip((X_AXIS, Y_AXIS, Z_AXIS), x, strict=True))
        first, second, third = turns
        q = np.concatenate([p[: at.start], (first @ second @ third).elements(), p[at.stop :]])
        v, a = w.copy(), w_dot.copy()
        v[at], a[at] = angles.twist(x, y).elements()[:3], angles.acceleration(x, y, z).elements()[:3]
        columns = np.eye(model.nv)
        columns[at, at] = np.array([c.elements()[:3] for c in angles.S(x).columns]).T
        assert_close(columns.T @ robot.inverse_dynamics(q, v, a), pin.rnea(model, data, p, w, w_dot), 1e-13)
        pin.forwardKinematics(model, data, p)
        assert_close(robot.pose(q, tree.bodies[-1].name), data.oMi[bodies].homogeneous, 1e-13)
