"""Robots with very many pairs of shapes: loops over tables equal unrolled code."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints
from linkwork.collision import algorithms as distances
from linkwork.collision.algorithms import pair_loops, path_bounds
from linkwork.collision.algorithms.displacement_bounds import motion_bounds
from linkwork.collision.algorithms.pair_loops import shared_ancestors
from linkwork.collision.algorithms.path_bounds import bound_between, path_sums
from linkwork.expr.arrays.symbol_array import array
from linkwork.joints import Revolute
from linkwork.kinematics.algorithms.configuration_manifold import difference, integrate
from linkwork.kinematics.algorithms.forward_kinematics import fork, forward_kinematics
from linkwork.model.body import WORLD
from linkwork.model.collision_pairs import collision_pairs
from linkwork.model.random_tree import random_tree
from linkwork.model.tree_edits import straight_tree
from linkwork.shapes import Capsule, HeightField, Polytope, Sphere

_SAMPLES = 61


def _bush(bodies: int) -> lw.Robot:
    """A tree with shapes of two kinds, one that is a field, and one that is fixed to the world."""
    rng = np.random.default_rng(4)
    robot = lw.Robot(random_tree(rng, bodies, types=[joints.Revolute, joints.Prismatic, joints.Universal]))
    shapes = (Sphere(0.42 / bodies), Capsule(0.28 / bodies, 0.1))  # so that some states collide
    for k in range(bodies - 1):
        robot = robot.with_collisions(f"body{k}", shapes[k % 2])
    robot = robot.with_collisions(f"body{bodies - 1}", HeightField(rng.uniform(0.0, 0.05, (2, 2)), 0.1))
    return robot.with_attached("post", "world", Sphere(0.1), [0.6, 0.2, 0.1])


def _answers(robot: lw.Robot, q0: np.ndarray, q1: np.ndarray, monkeypatch: Any, *, many: bool) -> list[np.ndarray]:
    tree = robot.tree
    field = len(tree.bodies) - 1
    pairs, q_names = distances.shape_pairs(tree, collision_pairs(tree)), robot.nq
    plain = [pair for pair in pairs if field not in pair]  # without the field, of which little is proved
    with monkeypatch.context() as changed:
        changed.setattr(pair_loops, "_MANY", 0 if many else math.inf)
        changed.setattr(path_bounds, "_MAX_BOUNDS", 0 if many else math.inf)

        def counted_calls(q0: Any, q1: Any) -> Any:
            q, more = [*q0], (pairs, (), {})
            nearest = distances.nearest_pair(tree, q, *more)
            certified = distances.certified_edge(tree, q, [*q1], plain, (), {}, 0.0, 1e-4)
            sampled = distances.sampled_edge(tree, q, [*q1], *more, 0.0, 0.05)
            return array(
                [
                    distances.in_collision(tree, q, *more, 0.02),
                    distances.minimum_distance(tree, q, *more),
                    nearest.values[0],
                    nearest.index,
                    sampled.status,
                    sampled.clearance,
                    certified.status,
                ]
            )

        kernel = lw.compile(counted_calls, name="asked", q0=(q_names,), q1=(q_names,))
        return list(np.moveaxis(kernel(q0, q1), -1, 0))


@pytest.mark.parametrize(
    "bodies", [pytest.param(n, marks=pytest.mark.slow(every=every)) for n, every in ((4, 9), (7, 12))]
)
def test_distances_computed_in_loops_over_pairs_equal_unrolled_distances(
    bodies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = _bush(bodies)
    rng = np.random.default_rng(1)
    q0 = rng.uniform(-1.0, 1.0, (120, robot.nq))
    q1 = q0 + 0.1 * rng.normal(size=q0.shape)
    *plain, status = _answers(robot, q0, q1, monkeypatch, many=False)
    *looped, distance = _answers(robot, q0, q1, monkeypatch, many=True)
    free = plain[4] == 0.0  # of what collides, the first pair that is found to is the last that is measured
    for unrolled, two in zip(plain[:5], looped[:5], strict=True):
        assert unrolled == pytest.approx(two, abs=1e-12)
    assert plain[5][free] == pytest.approx(looped[5][free], abs=1e-12)
    # bounds differ, so some may be undecided by one and not the other
    assert not (np.minimum(status, distance) == 0.0)[np.maximum(status, distance) == 1.0].any()
    assert {0.0, 1.0} <= set(status) and (status == distance).mean() > 0.95
    assert 0.1 < plain[0].mean() < 0.9 and 0.1 < free.mean() < 0.9


def _in_loops(monkeypatch: pytest.MonkeyPatch, many: bool) -> None:
    monkeypatch.setattr(pair_loops, "_MANY", 0 if many else math.inf)
    monkeypatch.setattr(path_bounds, "_MAX_BOUNDS", 0 if many else math.inf)


@pytest.mark.light
@pytest.mark.parametrize("many", [False, True])
def test_checks_on_floats_agree_with_the_distances_of_single_pairs(many: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without compilation: unrolled, and in loops over tables of shapes."""
    robot = _bush(5)
    tree = robot.tree
    pairs = [pair for pair in distances.shape_pairs(tree, collision_pairs(tree)) if 4 not in pair]
    more = np.linspace(0.0, 0.15, len(pairs)).tolist()
    margins = distances.PairMargins(more, {})
    outcomes = []
    for seed in (6, 18):
        rng = np.random.default_rng(seed)
        q = rng.uniform(-1.0, 1.0, robot.nq)
        q, q1 = q.tolist(), (q + 0.02 * rng.normal(size=robot.nq)).tolist()
        each = [float(distances.pair_distances(tree, q, [pair], (), {}).self_pairs[0][0]) for pair in pairs]
        _in_loops(monkeypatch, many)
        nearest = distances.nearest_pair(tree, q, pairs, (), {})
        assert (nearest.values[0], nearest.index) == (pytest.approx(min(each), abs=1e-12), np.argmin(each))
        assert distances.minimum_distance(tree, q, pairs, (), {}) == pytest.approx(min(each), abs=1e-12)
        beyond = min(d - x for d, x in zip(each, more, strict=True))
        for least, specific in ((min(each), None), (beyond, margins)):
            for margin in (least + 1e-9, least - 1e-9):
                collides = distances.in_collision(tree, q, pairs, (), {}, margin, margins=specific, depths=True)
                assert collides == (margin > least)
        certified = distances.certified_edge(tree, q, q1, pairs, (), {}, 0.0, 1e-4, margins=margins)
        sampled = distances.sampled_edge(tree, q, q1, pairs, (), {}, 0.0, 0.02, margins=margins)
        assert certified.status == sampled.status == (beyond <= 0.0)
        if not sampled.status:
            assert 0.0 < sampled.clearance <= beyond + 1e-12 and certified.clearance > 0.0
        outcomes.append(sampled.status)
    assert {*outcomes} == {0.0, 1.0}


@pytest.mark.light
@pytest.mark.parametrize("many", [False, True])
def test_collision_checks_read_hulls_of_equal_size_from_a_table(many: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three boxes by their corners, in a row: each as far from the next as boxes are."""
    parts: list[Any] = []
    for k, half in enumerate((0.05, 0.06, 0.07)):
        corners = np.array([*product((-half, half), (-0.02, 0.02), (-0.03, 0.03))])
        parts.append(lw.Link(f"link{k}", mass=1.0, collisions=[Polytope(corners)]))
        parts.append(lw.Joint.of(joints.Prismatic((1, 0, 0)), name=f"joint{k}", parent="world", child=f"link{k}"))
    tree = lw.Robot.build("row", *parts).tree
    _in_loops(monkeypatch, many)
    for q, least in (([0.0, 0.2, 0.5], 0.09), ([0.5, 0.2, 0.0], 0.07), ([0.0, 0.5, 0.15], 0.03)):
        for margin in (least - 1e-6, least + 1e-6):
            assert distances.in_collision(tree, q, [(0, 1), (0, 2), (1, 2)], (), {}, margin) == (margin > least)


def test_displacement_bounds_summed_along_the_tree_bound_the_motion_of_every_point() -> None:
    rng = np.random.default_rng(7)
    for seed in range(12):
        tree = straight_tree(random_tree(np.random.default_rng(seed), 4, types=joints.ALL[1:], shape="chain"))
        q0: list[float] = []
        for _, body in tree.stacked():
            free = [math.inf] * body.joint.nq
            q0 += body.joint.random(rng, [-x for x in free], free, ()).tolist()
        phi = difference(tree, q0, integrate(tree, q0, (0.4 * rng.normal(size=tree.nv)).tolist()))
        sums = path_sums(tree, integrate(tree, q0, [0.5 * x for x in phi]), phi)
        p = rng.uniform(-0.3, 0.3, 3)
        point = lw.spatial.Vec3(*p.tolist())
        reach = sums[3].D + float(np.linalg.norm([*tree.bodies[3].rotor.point(point)]))
        times = np.linspace(0.0, 1.0, _SAMPLES).tolist()
        poses = [forward_kinematics(tree, integrate(tree, q0, [t * x for x in phi])) for t in times]
        for shared in (2, 1, 0, WORLD):
            path = np.array([[*(X[3] if shared == WORLD else X[shared].inv() @ X[3]).point(point)] for X in poses])
            bound = bound_between(reach, sums[3], sums[shared])
            speed = np.linalg.norm(np.diff(path, axis=0), axis=-1).max() * (_SAMPLES - 1)
            turn = np.linalg.norm(np.diff(path, 2, axis=0), axis=-1).max() * (_SAMPLES - 1) ** 2
            assert speed <= bound.speed * (1.0 + 1e-9), (seed, shared)
            assert turn <= bound.acceleration * (1.0 + 1e-9) + 1e-9, (seed, shared)


def test_displacement_bounds_of_a_straight_chain_are_attained() -> None:
    parts: list[Any] = []
    for k in range(6):
        parts.append(lw.Link(f"link{k}", mass=1.0))
        parent = f"link{k - 1}" if k else "world"
        position = [0.3, 0.0, 0.0]
        parts.append(
            lw.Joint.of(Revolute((0, 0, 1)), name=f"joint{k}", parent=parent, child=f"link{k}", placement=position)
        )
    tree = lw.Robot.build("chain", *parts).tree
    phi = [0.1, 0.2, -0.3, 0.1, 0.05, 0.2]
    sums = path_sums(tree, [0.0] * 6, phi)
    known = motion_bounds(tree, [0.0] * 6, phi, 5, [lw.spatial.Vec3(0.2, 0.0, 0.0)])
    for shared in (WORLD, 0, 3, 4):
        result = bound_between(sums[5].D + 0.2, sums[5], sums[shared])
        # s/2 of each joint inside is what a point may leave its lever by; along the links it cannot leave it
        assert result.speed <= known[shared].speed + 1e-12
        lever = sum(abs(phi[k]) * (0.2 + 0.3 * (5 - k)) for k in range(0 if shared == WORLD else shared + 1, 6))
        assert result.speed == pytest.approx(lever, rel=1e-12)


def test_common_ancestors_computed_for_all_bodies_equal_those_of_each_pair() -> None:
    tree = random_tree(np.random.default_rng(3), 14)
    for body in range(14):
        assert shared_ancestors(tree, body) == [fork(tree, body, ancestor)[0] for ancestor in range(14)]


@pytest.mark.slow(every=5)
def test_paths_of_a_robot_with_48_links_are_planned_by_kernels_with_loops() -> None:
    parts: list[Any] = []
    for k in range(48):
        parts.append(lw.Link(f"link{k}", mass=1.0, collisions=[Sphere(0.05)]))
        parent = f"link{k - 1}" if k else "world"
        axis = ((0, 0, 1), (0, 1, 0))[k % 2]
        parts.append(
            lw.Joint.of(Revolute(axis), name=f"joint{k}", parent=parent, child=f"link{k}", placement=[0.2, 0.0, 0.0])
        )
    robot = lw.Robot.build("chain", *parts)
    assert len(collision_pairs(robot.tree)) > 1000
    start, goal = np.zeros(48), np.zeros(48)
    goal[0::2] = 0.1
    plan = robot.plan(start, goal)
    assert plan.success and (plan.path[0] == start).all() and (plan.path[-1] == goal).all()
    assert robot.is_motion_free(plan.path[:-1], plan.path[1:], collision_check="sampled", resolution=0.01).free.all()
    curled = np.zeros(48)
    curled[0::2] = 0.3  # once around and into itself
    assert robot.plan(start, curled).status == "goal_in_collision"


def test_runs_of_pairs_have_one_shape_one_shared_body_and_consecutive_rows_and_indices() -> None:
    members = [(0, 4, 7), (1, 4, 8), (2, 4, 9), (3, 5, 10), (4, 5, 12), (6, 5, 13)]
    run = pair_loops._Run
    alone = [run(5, 10, 11, 3, 0), run(5, 12, 13, 4, 0), run(5, 13, 14, 6, 0)]
    assert pair_loops._runs(members, ()) == [run(4, 7, 10, 0, 0), *alone]
    shared = pair_loops._runs(members, (1, 1, 2, 0, 0, 9, 0))
    assert shared == [run(4, 7, 9, 0, 1), run(4, 9, 10, 2, 2), *alone]
