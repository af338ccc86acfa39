"""Floating robots: the centre of mass falls, and only weight changes the angular momentum."""

from dataclasses import replace

import numpy as np
import pytest

from linkwork.joints import Floating
from linkwork.model.body import WORLD, Limits
from linkwork.model.random_tree import random_tree
from linkwork.model.tree import Tree
from oracles.comparison import assert_close
from oracles.textbook import Textbook
from oracles.trees import robot_of, state


def floating_tree(seed: int) -> Tree:
    """A random tree that hangs on one floating body."""
    tree = random_tree(np.random.default_rng(seed), 7)
    free, zeros = Floating(), (0.0,) * 6
    root = replace(tree.bodies[0], parent=WORLD, joint=free, limits=Limits.none(free), damping=zeros, friction=zeros)
    bodies = [replace(body, parent=max(body.parent, 0)) for body in tree.bodies[1:]]
    return replace(tree, bodies=(root, *bodies))


every_floating_tree = pytest.mark.parametrize("tree", [floating_tree(seed) for seed in range(3)], ids=["0", "1", "2"])


@pytest.mark.costly
@every_floating_tree
@pytest.mark.parametrize("muscles", [0.0, 10.0], ids=["limp", "with joint forces"])
def test_centre_of_mass_of_a_floating_robot_accelerates_with_gravity(tree, muscles):
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


@pytest.mark.costly
@every_floating_tree
def test_base_force_of_a_robot_at_rest_balances_its_weight(tree):
    """At rest, the base of a robot needs a force that carries its weight, no more."""
    q, _, _ = state(tree)
    tau = robot_of(tree).gravity_force(q)
    rotor = np.reshape(np.array(tree.bodies[0].rotor.elements(), dtype=float), (4, 4))
    X = robot_of(tree).pose(q, tree.bodies[0].name) @ np.linalg.inv(rotor)  # the wrench is in the rotor's axes
    mass = sum(frame.inertia.mass for frame in tree.frames)
    force = np.einsum("nij,nj->ni", X[:, :3, :3], tau[:, 3:6])  # in the world's axes
    assert_close(force, np.broadcast_to(-mass * np.array([*tree.gravity]), force.shape), 1e-13, core=1)
