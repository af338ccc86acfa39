"""Dynamics of every joint type at the root, middle and end of a chain, against simpler mechanisms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from helpers.joints import EVERY
from linkwork import Robot
from linkwork.joints import (
    Composite,
    Cylindrical,
    FloatingEuler,
    JointType,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    SphericalEuler,
    SphericalMRP,
    Translational,
    UnboundedRevolute,
    Universal,
)
from linkwork.model.body import WORLD, Limits
from linkwork.model.random_tree import random_tree
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Pose, Vec3
from oracles.comparison import assert_close, solving_bound
from oracles.scalars import Direct
from oracles.trees import robot_of

X_AXIS, Y_AXIS, Z_AXIS = Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)
A = Vec3(2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0)
B = A.cross(Vec3(0.6, 0.0, -0.8))
PLANE = Planar(A, B)
HINGES = {"x": Revolute(X_AXIS), "y": Revolute(Y_AXIS), "z": Revolute(Z_AXIS)}
SLIDERS = tuple(map(Prismatic, (X_AXIS, Y_AXIS, Z_AXIS)))

# A joint, the simple ones of the same motion, and the joint's q and q̇ as theirs; all of them have q̇ = v.
CoordinateMap = Callable[[np.ndarray], np.ndarray]
SIMPLER: dict[str, tuple[JointType, tuple[JointType, ...], CoordinateMap]] = {
    "unbounded revolute": (UnboundedRevolute(A), (Revolute(A),), lambda q: np.arctan2(q[..., :1], q[..., 1:])),
    "cylindrical": (Cylindrical(A), (Revolute(A), Prismatic(A)), lambda q: q),
    "universal": (Universal(A, B), (Revolute(A), Revolute(B)), lambda q: q),
    "planar": (PLANE, (Prismatic(A), Prismatic(PLANE.y_axis), Revolute(PLANE.normal)), lambda q: q),
    "translational": (Translational(), SLIDERS, lambda q: q),
    "spherical (Euler xyz)": (SphericalEuler("xyz"), tuple(HINGES[a] for a in "xyz"), lambda q: q),
    "spherical (Euler zyz)": (SphericalEuler("zyz"), tuple(HINGES[a] for a in "zyz"), lambda q: q),
    "floating (Euler zyx)": (
        FloatingEuler("zyx"),
        (*SLIDERS, *(HINGES[a] for a in "zyx")),
        lambda q: q[..., [3, 4, 5, 0, 1, 2]],
    ),
    "composite": (Composite((HINGES["x"], SLIDERS[1])), (HINGES["x"], SLIDERS[1]), lambda q: q),
}
BODIES = {"root": 0, "middle": 1, "leaf": 2}


def with_joint(joint: JointType, index: int) -> Tree:
    """Build a chain of three bodies, one of which is on the joint and the others on hinges."""
    tree = random_tree(np.random.default_rng(17), 3, types=[Revolute], shape="chain")
    zeros = (0.0,) * joint.nv
    body = replace(tree.bodies[index], joint=joint, limits=Limits.none(joint), damping=zeros, friction=zeros)
    return replace(tree, bodies=(*tree.bodies[:index], body, *tree.bodies[index + 1 :]))


def taken_apart(tree: Tree, index: int, joints: tuple[JointType, ...]) -> Tree:
    """Build the tree with massless bodies between several joints instead of one."""
    body, n = tree.bodies[index], len(joints) - 1
    chain = [
        replace(
            body,
            name=f"{body.name}_{k}" if k < n else body.name,
            joint_name=f"{body.joint_name}_{k}",
            joint=joint,
            parent=body.parent if k == 0 else index + k - 1,
            placement=body.placement if k == 0 else Pose.identity(),
            rotor=body.rotor if k == n else Pose.identity(),
            inertia=body.inertia if k == n else Inertia.zero(),
            limits=Limits.none(joint),
            damping=(0.0,) * joint.nv,
            friction=(0.0,) * joint.nv,
        )
        for k, joint in enumerate(joints)
    ]
    after = [replace(b, parent=b.parent + n) for b in tree.bodies[index + 1 :]]
    frames = [replace(f, body=f.body + n if f.body != WORLD and f.body >= index else f.body) for f in tree.frames]
    return replace(tree, bodies=(*tree.bodies[:index], *chain, *after), frames=tuple(frames))


def rates(tree: Tree, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """q̇ of the tree, sample by sample."""
    rows = [
        [
            x
            for b, q_i, v_i in zip(tree.bodies, tree.split_q(a), tree.split_v(b_), strict=True)
            for x in b.joint.q_dot(q_i, v_i)
        ]
        for a, b_ in zip(q.tolist(), v.tolist(), strict=True)
    ]
    return np.array(rows, dtype=float)


@pytest.mark.slow
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("name", SIMPLER)
def test_dynamics_of_joint_types_equal_those_of_simpler_joints(name: str, body: int) -> None:
    joint, joints, coordinates = SIMPLER[name]
    tree = with_joint(joint, body)
    simpler_tree = taken_apart(tree, body, joints)
    robot, same = Robot(tree), Direct(simpler_tree)
    rng = np.random.default_rng(5)
    q = robot.random_configuration(rng, size=4)
    v, a = rng.normal(size=(2, 4, tree.nv))
    where, columns = tree.q_slices[body], tree.v_slices[body]

    def configuration(q: np.ndarray) -> np.ndarray:
        return np.concatenate([q[:, : where.start], coordinates(q[:, where]), q[:, where.stop :]], axis=1)

    def velocity(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if joint.nq != joint.nv:
            return v
        moved = coordinates(rates(tree, q, v)[:, where])
        return np.concatenate([v[:, : columns.start], moved, v[:, columns.stop :]], axis=1)

    p, w = configuration(q), velocity(q, v)
    W = np.stack([velocity(q, np.tile(unit, (4, 1))) for unit in np.eye(tree.nv)], axis=-1)  # v there = W v
    h = 1e-5
    step = h * rates(tree, q, v)
    w_dot = velocity(q, a) + (velocity(q + step, v) - velocity(q - step, v)) / (2.0 * h)
    assert_close(robot.pose(q, "tool2"), same.pose(p, "tool2"), 1e-13, core=2)
    assert_close(robot.twist(q, v, "tool2"), same.twist(p, w, "tool2"), 1e-13, core=1)
    assert_close(robot.gravity_force(q), np.einsum("nij,ni->nj", W, same.gravity_force(p)), 1e-13, core=1)
    M = np.einsum("nij,nik,nkl->njl", W, same.mass_matrix(p), W)
    assert_close(robot.mass_matrix(q), M, 1e-13, core=2)
    tau = np.einsum("nij,ni->nj", W, same.inverse_dynamics(p, w, w_dot))
    assert_close(robot.inverse_dynamics(q, v, a), tau, 1e-9, core=1)  # as good as the differences of W
    bound = solving_bound(M, (robot.inverse_dynamics(q, v, a), robot.bias_force(q, v)), a)
    assert_close(robot.forward_dynamics(q, v, robot.inverse_dynamics(q, v, a)), a, bound, core=1)


@pytest.mark.costly
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("joint", [SphericalMRP(), SphericalEuler("yzx"), Spherical(scalar_last=True)], ids=str)
def test_rotation_joints_in_all_coordinates_have_equal_dynamics(joint: JointType, body: int) -> None:
    """A quaternion, modified Rodrigues parameters and Euler angles of the same rotation at the same ω."""
    first, second = Robot(with_joint(Spherical(), body)), Robot(with_joint(joint, body))
    rng = np.random.default_rng(6)
    p = second.random_configuration(rng, size=4)
    w, w_dot = rng.normal(size=(2, 4, second.nv))
    where, velocity_columns = second.tree.q_slices[body], second.tree.v_slices[body]
    R = [np.array(joint.X(x).rotation.rows(), dtype=float) for x in p[:, where].tolist()]
    q = np.concatenate([p[:, : where.start], [quaternion(x) for x in R], p[:, where.stop :]], axis=1)
    v, a, columns = w.copy(), w_dot.copy(), np.tile(np.eye(second.nv), (4, 1, 1))
    for k, (x, y, z) in enumerate(
        zip(p[:, where].tolist(), w[:, velocity_columns].tolist(), w_dot[:, velocity_columns].tolist(), strict=True)
    ):
        v[k, velocity_columns] = joint.twist(x, y).elements()[:3]
        a[k, velocity_columns] = joint.acceleration(x, y, z).elements()[:3]
        columns[k, velocity_columns, velocity_columns] = np.array([c.elements()[:3] for c in joint.S(x).columns]).T
    assert_close(second.pose(p, "tool2"), first.pose(q, "tool2"), 1e-13, core=2)
    assert_close(second.mass_matrix(p), np.einsum("nij,nik,nkl->njl", columns, first.mass_matrix(q), columns), 1e-13)
    tau = np.einsum("nij,ni->nj", columns, first.inverse_dynamics(q, v, a))
    assert_close(second.inverse_dynamics(p, w, w_dot), tau, 1e-12, core=1)


def quaternion(R: np.ndarray) -> np.ndarray:
    """(w, x, y, z) of a rotation matrix: the eigenvector to the largest eigenvalue (Bar-Itzhack)."""
    K = np.zeros((4, 4))
    K[0, 0] = np.trace(R)
    K[0, 1:] = K[1:, 0] = [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]
    K[1:, 1:] = R + R.T - np.trace(R) * np.eye(3)
    return np.linalg.eigh(K)[1][:, -1]


# -- conservation


MOVING = {name: joint for name, joint in EVERY.items() if joint.nv and not name.endswith("-1")}


def energy(robot: Robot, q: np.ndarray, v: np.ndarray) -> float:
    """Kinetic energy, and the potential from the heights of what has mass.

    By kernels: the method's steps leave the manifolds a little.
    """
    total = 0.5 * v @ robot.compile("mass_matrix")(q) @ v
    for body in robot.tree.bodies:
        center = np.array([*body.inertia.moment, body.inertia.mass], dtype=float)
        total += 9.81 * (robot.compile(("pose", body.name))(q) @ center)[2]
    return float(total)


def simulated(robot: Robot, q: np.ndarray, v: np.ndarray, time: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Free motion, by Runge and Kutta's method of the fourth order in q and v, q̇ = q_dot(q, v)."""
    h, dynamics = time / steps, robot.compile("forward_dynamics")

    def rate(x: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        q, v = x
        return rates(robot.tree, q[None], v[None])[0], dynamics(q, v, np.zeros(robot.nv))

    def moved(x: tuple[np.ndarray, np.ndarray], k: tuple[np.ndarray, np.ndarray], s: float):
        return x[0] + s * k[0], x[1] + s * k[1]

    x = (q, v)
    for _ in range(steps):
        k1 = rate(x)
        k2 = rate(moved(x, k1, 0.5 * h))
        k3 = rate(moved(x, k2, 0.5 * h))
        k4 = rate(moved(x, k3, h))
        x = tuple(a + h / 6.0 * (b + 2.0 * c + 2.0 * d + e) for a, b, c, d, e in zip(x, k1, k2, k3, k4, strict=True))
    return x


@pytest.mark.costly
@pytest.mark.parametrize("name", MOVING)
def test_every_joint_type_conserves_energy_in_free_motion(name: str) -> None:
    joint = MOVING[name]
    robot = robot_of(with_joint(joint, 1))
    rng = np.random.default_rng(8)
    draws = [robot.random_configuration(rng) for _ in range(20)]
    where = robot.tree.q_slices[1]
    q = max(draws, key=lambda q: float(joint.regularity(q[where].tolist())))
    v = 0.3 * rng.normal(size=robot.nv)
    start = energy(robot, q, v)
    errors = [abs(energy(robot, *simulated(robot, q, v, 0.1, steps)) - start) for steps in (8, 16)]
    assert errors[0] <= 1e-3 * abs(start) and errors[1] <= errors[0] / 8.0 + 1e-12 * abs(start)
