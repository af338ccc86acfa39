"""Paths among obstacles: what they move in, that they are free and the same for a seed, and why there is none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.facade.planning.samples import halton
from linkwork.facade.planning.space import PlanningSpace
from linkwork.facade.planning.trees import PlanningTree
from linkwork.model.random import random_tree

WALL = lw.Scene().with_box("wall", (0.1, 0.4, 0.4), (3.0, 0.0, 0.0))


def _bounded(robot: lw.Robot) -> lw.Robot:
    """Lengths within a metre of zero."""
    tree, bodies = robot.tree, []
    for body in robot.tree.bodies:
        low = [-1.0 if unit == "m" else -np.inf for unit in body.joint.q_units]
        limits = replace(body.limits, lower=tuple(low), upper=tuple(-x for x in low))
        bodies.append(replace(body, limits=limits))
    return lw.Robot(replace(tree, bodies=tuple(bodies)))


def test_every_joint_type_has_differences_samples_and_bounds() -> None:
    every = lw.Robot(random_tree(np.random.default_rng(0), 18)).with_collisions("body0", lw.shapes.Sphere(0.1))
    with pytest.raises(ValueError, match=r"is a length within \[-inf, inf\] m.*limits=\{"):
        PlanningSpace(every, WALL)
    robot = _bounded(every)
    space = PlanningSpace(robot, WALL)
    q = space.samples(3).take(64)
    assert np.array_equal(q, space.samples(3).take(64)) and not np.array_equal(q, space.samples(4).take(64))
    assert np.isfinite(q).all() and space.within(q).all() and np.allclose(q, robot.normalize(q))
    q0, q1 = q[:32], q[32:]
    phi = space.difference(q0, q1)
    assert space.turning.any() and np.abs(phi[:, space.turning]).max() <= np.pi
    assert np.abs(space.difference(space.integrate(q0, phi), q1)).max() < 1e-6
    assert np.allclose(space.between(q1, q0[:3]), space.length(space.difference(q0[:3, None], q1[None])) ** 2)
    way = space.counted(q)
    assert np.abs(robot.difference(way[:-1], way[1:])[:, space.turning]).max() <= np.pi + 1e-12


def test_points_of_halton_are_those_of_the_book() -> None:
    assert np.allclose(
        halton(1, 6, [2, 3]).T, [[1 / 2, 1 / 4, 3 / 4, 1 / 8, 5 / 8, 3 / 8], [1 / 3, 2 / 3, 1 / 9, 4 / 9, 7 / 9, 2 / 9]]
    )
    assert np.allclose(halton(4, 3, [2, 3]), halton(1, 6, [2, 3])[3:])


def test_trees_grow_and_lead_to_their_roots() -> None:
    tree = PlanningTree(np.zeros((1, 2)))
    for k in range(1, 200):
        assert tree.add(np.array([k, -k]), k // 2 if k > 1 else 0) == k
    assert [int(q[0]) for q in tree.way(100)] == [100, 50, 25, 12, 6, 3, 1, 0]
