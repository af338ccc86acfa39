"""Robots that nothing holds: their centre of mass falls, their angular momentum changes by their weight alone."""

from dataclasses import replace

import numpy as np
import pytest

from linkwork.joints import Floating, Prismatic, Revolute
from linkwork.model.body import WORLD, Limits
from linkwork.model.random_tree import random_pose, random_tree
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Pose, Vec3
from oracles.comparison import assert_close
from oracles.textbook import Textbook
from oracles.trees import robot_of, state


def floating_tree(seed: int) -> Tree:
    """A random tree that hangs on one floating body."""
    tree = random_tree(np.random.default_rng(seed), 7)
    free, none = Floating(), (0.0,) * 6
    root = replace(tree.bodies[0], parent=WORLD, joint=free, limits=Limits.none(free), damping=none, friction=none)
    others = [replace(body, parent=max(body.parent, 0)) for body in tree.bodies[1:]]
    return replace(tree, bodies=(root, *others))


every_floating_tree = pytest.mark.parametrize("tree", [floating_tree(seed) for seed in range(3)], ids=["0", "1", "2"])


@every_floating_tree
@pytest.mark.parametrize("muscles", [0.0, 10.0], ids=["limp", "with joint forces"])
def test_the_centre_of_mass_falls(tree, muscles):
    q, v, tau = state(tree)
    tau = muscles * tau
    tau[:, :6] = 0.0
    a = robot_of(tree).forward_dynamics(q, v, tau)
    book, mass = Textbook(tree, q, v, a), sum(frame.inertia.mass for frame in tree.frames)
    g = np.array([*tree.gravity])
    # accelerations of up to 1e3 m/s² of single bodies add up to g
    scale = max(1.0, np.max(np.abs(a)) / 100.0)
    assert_close(book.center_of_mass_acceleration(), np.broadcast_to(g, (len(q), 3)), 1e-12 * scale, core=1)
    center = sum((book.frame(f.name).X @ [*f.inertia.moment, f.inertia.mass])[:, :3] for f in tree.frames) / mass
    assert_close(book.angular_momentum_rate(), np.cross(center, mass * g), 1e-12 * scale, core=1)


@every_floating_tree
def test_the_base_wrench_is_what_the_outside_must_do(tree):
    """At rest, the base of a robot needs a force that carries its weight, no more."""
    q, _, _ = state(tree)
    tau = robot_of(tree).gravity_force(q)
    rotor = np.reshape(np.array(tree.bodies[0].rotor.elements(), dtype=float), (4, 4))
    X = robot_of(tree).pose(q, tree.bodies[0].name) @ np.linalg.inv(rotor)  # the wrench is in the rotor's axes
    mass = sum(frame.inertia.mass for frame in tree.frames)
    force = np.einsum("nij,nj->ni", X[:, :3, :3], tau[:, 3:6])  # in the world's axes
    assert_close(force, np.broadcast_to(-mass * np.array([*tree.gravity]), force.shape), 1e-13, core=1)


def one_body(joints, inertia):
    """One body with mass at the end of a chain of massless ones."""
    template = random_tree(np.random.default_rng(0), 1, types=[Revolute]).bodies[0]
    bodies = []
    for i, joint in enumerate(joints):
        zeros = (0.0,) * joint.nv
        bodies.append(
            replace(
                template,
                name=f"body{i}",
                joint_name=f"joint{i}",
                parent=i - 1,
                joint=joint,
                placement=Pose.identity(),
                rotor=Pose.identity(),
                inertia=inertia if i == len(joints) - 1 else Inertia.zero(),
                limits=Limits.none(joint),
                damping=zeros,
                friction=zeros,
            )
        )
    return Tree("one_body", tuple(bodies), ())


def test_six_simple_joints_move_as_one_floating_joint():
    x, y, z = Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)
    rng = np.random.default_rng(4)
    heavy = random_tree(rng, 1).bodies[0].inertia
    simple = [Prismatic(x), Prismatic(y), Prismatic(z), Revolute(z), Revolute(y), Revolute(x)]
    chain, free = one_body(simple, heavy), one_body([Floating()], heavy)
    chain, free = (replace(t, frames=(replace(frame_of(t), inertia=heavy),)) for t in (chain, free))
    q, v, _ = state(chain, size=5)
    X = robot_of(chain).pose(q, "tip")
    wide = np.concatenate([quaternion_of(X[:, :3, :3]), X[:, :3, 3]], axis=-1)
    V = robot_of(chain).twist(q, v, "tip", expressed_in="tip")
    assert_close(robot_of(free).pose(wide, "tip"), X, 1e-13, core=2)
    energies = [0.5 * np.einsum("ni,nij,nj->n", s, robot_of(t).mass_matrix(p), s)
                for t, p, s in ((chain, q, v), (free, wide, V))]  # fmt: skip
    assert_close(energies[0], energies[1], 1e-12, core=0)
    zero = np.zeros(6)
    falls = [robot_of(t).acceleration(p, s, robot_of(t).forward_dynamics(p, s, zero), "tip")
             for t, p, s in ((chain, q, v), (free, wide, V))]  # fmt: skip
    assert_close(falls[0], falls[1], 1e-10, core=1)  # the chain is near gimbal lock in some samples


def frame_of(tree):
    template = random_tree(np.random.default_rng(0), 1).frames[0]
    return replace(template, name="tip", body=len(tree.bodies) - 1, placement=Pose.identity())


def quaternion_of(R):
    """(w, x, y, z) of rotation matrices, by the eigenvector of Bar-Itzhack's matrix."""
    xx, yy, zz = R[:, 0, 0], R[:, 1, 1], R[:, 2, 2]
    a, b, c = R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]
    d, e, f = R[:, 0, 1] + R[:, 1, 0], R[:, 0, 2] + R[:, 2, 0], R[:, 1, 2] + R[:, 2, 1]
    rows = [[xx + yy + zz, a, b, c], [a, xx - yy - zz, d, e], [b, d, yy - xx - zz, f], [c, e, f, zz - xx - yy]]
    return np.linalg.eigh(np.moveaxis(np.array(rows), -1, 0))[1][:, :, -1]


def test_quaternion_of_is_right():
    X = np.array([np.reshape(random_pose(np.random.default_rng(s)).elements(), (4, 4)) for s in range(20)], dtype=float)
    free = one_body([Floating()], Inertia.zero())
    q = np.concatenate([quaternion_of(X[:, :3, :3]), X[:, :3, 3]], axis=-1)
    assert_close(
        robot_of(replace(free, frames=(replace(frame_of(free), inertia=Inertia.zero()),))).pose(q, "tip"),
        X,
        1e-14,
        core=2,
    )
