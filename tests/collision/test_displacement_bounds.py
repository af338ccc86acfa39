"""Motion bounds: no point moves faster than its bound, nor turns off faster; every joint type, dense samples."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints
from linkwork.collision.algorithms.displacement_bounds import (
    Enclosure,
    check_bounded,
    constant_twist,
    largest,
    motion_bounds,
)
from linkwork.kinematics.algorithms.configuration_manifold import difference, integrate
from linkwork.kinematics.algorithms.forward_kinematics import forward_kinematics
from linkwork.model.body import WORLD
from linkwork.model.random_tree import random_tree
from linkwork.model.tree import Tree
from linkwork.model.tree_edits import straight_tree
from linkwork.spatial import Vec3

_SAMPLES = 81


def _random_q(tree: Tree, rng: np.random.Generator, size: float) -> tuple[list[float], list[float]]:
    """A configuration, and another that a random velocity of some size leads to."""
    q0: list[float] = []
    for _, body in tree.stacked():
        free = [math.inf] * body.joint.nq
        q0 += body.joint.random(rng, [-x for x in free], free, ()).tolist()
    return q0, integrate(tree, q0, (size * rng.normal(size=tree.nv)).tolist())


def _paths(tree: Tree, q0: list[float], phi: list[float], body: int, points: np.ndarray) -> dict[int, np.ndarray]:
    """Return, by ancestor, positions of a body's points in the ancestor's frame (instant, point, 3)."""
    results: dict[int, list[np.ndarray]] = {}
    for t in np.linspace(0.0, 1.0, _SAMPLES).tolist():
        X = forward_kinematics(tree, integrate(tree, q0, [t * x for x in phi]))
        r = [X[body].point(Vec3(*p)) for p in points.tolist()]
        i = body
        while i != WORLD:
            i = tree.bodies[i].parent
            points_of_body = r if i == WORLD else [X[i].inv().point(p) for p in r]
            results.setdefault(i, []).append(np.array([[*p] for p in points_of_body]))
    return {i: np.array(path) for i, path in results.items()}


@pytest.mark.slow(every=5)
def test_speeds_and_accelerations_of_points_never_exceed_their_bounds() -> None:
    rng = np.random.default_rng(7)
    tight = []
    for seed in range(12):
        tree = straight_tree(random_tree(np.random.default_rng(seed), 3, types=joints.ALL[1:], shape="chain"))
        q0, q1 = _random_q(tree, rng, 0.4)
        phi = difference(tree, q0, q1)
        middle = integrate(tree, q0, [0.5 * x for x in phi])
        ends, radius = rng.uniform(-0.3, 0.3, (2, 3)), 0.1
        out = rng.normal(size=(40, 3))
        on = rng.uniform(size=(40, 1))
        points = on * ends[0] + (1.0 - on) * ends[1] + radius * out / np.linalg.norm(out, axis=1, keepdims=True)
        result = motion_bounds(tree, middle, phi, 2, [Vec3(*p) for p in ends.tolist()], radius)
        step = 1.0 / (_SAMPLES - 1)
        for ancestor, path in _paths(tree, q0, phi, 2, points).items():
            speed = np.linalg.norm(np.diff(path, axis=0), axis=-1).max() / step  # never more than the largest
            turn = np.linalg.norm(np.diff(path, 2, axis=0), axis=-1).max() / step**2
            bound = result[ancestor]
            assert speed <= bound.speed * (1.0 + 1e-9), (seed, ancestor)
            assert turn <= bound.acceleration * (1.0 + 1e-9) + 1e-9, (seed, ancestor)
            tight.append(speed / max(bound.speed, 1e-9))
    assert np.median(tight) > 0.3  # and bounds are no more than a few times what there is


@pytest.mark.parametrize("kind", joints.ALL)
def test_every_joint_type_has_bounds_of_speed_and_acceleration(kind: type[joints.JointType]) -> None:
    rng = np.random.default_rng(3)
    joint_tree = random_tree(rng, 1, types=[kind])
    trees = [joint_tree] * 3 + ([] if straight_tree(joint_tree) is joint_tree else [straight_tree(joint_tree)] * 3)
    for tree in trees:
        check_bounded(tree.bodies[0])
        q0, q1 = _random_q(tree, rng, 0.7)
        phi = difference(tree, q0, q1)
        middle = integrate(tree, q0, [0.5 * x for x in phi])
        p = rng.uniform(-0.3, 0.3, (1, 3))
        bound = motion_bounds(tree, middle, phi, 0, [Vec3(*p[0].tolist())])[WORLD]
        path = _paths(tree, q0, phi, 0, p)[WORLD]
        step = 1.0 / (_SAMPLES - 1)
        assert np.linalg.norm(np.diff(path, axis=0), axis=-1).max() <= bound.speed * step * (1.0 + 1e-9)
        turn = np.linalg.norm(np.diff(path, 2, axis=0), axis=-1).max() / step**2
        assert turn <= bound.acceleration * (1.0 + 1e-9) + 1e-9


@pytest.mark.parametrize(("size", "slide", "tight"), [(0.01, 1.0, 0.7), (0.4, 0.0, 0.5)])
def test_acceleration_bounds_of_a_slide_on_a_rotating_joint_include_the_coriolis_term(
    size: float, slide: float, tight: float
) -> None:
    """2 ω × v with a slow joint, and the rate of ω with a slide at rest: bounds are near the maximum."""
    rng = np.random.default_rng(5)
    for kind in (joints.Revolute, joints.Floating, joints.Universal):
        ratios = []
        for _ in range(8):
            first = lw.Joint.of(kind.example(rng), name="a", parent="world", child="arm")
            second = lw.Joint.of(joints.Prismatic.example(rng), name="b", parent="arm", child="tip")
            robot = lw.Robot.build("two", first, lw.Link("arm", mass=1.0), second, lw.Link("tip", mass=1.0))
            tree = straight_tree(robot.tree)
            phi = [*(size * rng.normal(size=tree.nv - 1)).tolist(), slide]
            q = [*robot.random_configuration(rng)[:-1], 0.1]
            middle = integrate(tree, q, [0.5 * x for x in phi])
            bound = motion_bounds(tree, middle, phi, 1, [Vec3(0.5, 0.3, 0.4)])[WORLD]
            d = 1e-3
            near = [integrate(tree, middle, [t * x for x in phi]) for t in (-d, 0.0, d)]
            points = [np.array([*forward_kinematics(tree, x)[1].point(Vec3(0.5, 0.3, 0.4))]) for x in near]
            turn = float(np.linalg.norm(points[0] - 2.0 * points[1] + points[2])) / d**2
            assert turn <= bound.acceleration * (1.0 + 1e-6) + 1e-8
            ratios.append(turn / bound.acceleration)
        assert max(ratios) > tight, (kind, ratios)


def test_displacement_bound_of_a_hinge_is_proportional_to_the_distance_from_its_axis() -> None:
    tree = random_tree(np.random.default_rng(0), 1, types=[joints.Revolute])
    body = tree.bodies[0]
    axis = body.joint.S([0.0]).columns[0].angular
    p = Vec3(0.3, -0.2, 0.5)
    lever = float(np.linalg.norm(np.cross([*axis], [*body.rotor.point(p)])))
    bound = motion_bounds(tree, [0.2], [0.5], 0, [p])[WORLD]
    assert bound.speed == pytest.approx(0.5 * lever, rel=1e-12)
    assert bound.acceleration == pytest.approx(0.25 * lever, rel=1e-12)


def test_ball_arithmetic_encloses_all_values_of_a_function() -> None:
    from linkwork.expr import cos, sin, sqrt

    rng = np.random.default_rng(1)
    function = lambda x, y: (x * y - 2.0 * sin(x + y)) * cos(y) / 4.0 + (1.0 - x) * x  # noqa: E731
    for _ in range(50):
        a, b, r, s = rng.uniform(-2.0, 2.0, 4)
        enclosure = function(Enclosure(a, abs(r)), Enclosure(b, abs(s)))
        x, y = rng.uniform(a - abs(r), a + abs(r), 100), rng.uniform(b - abs(s), b + abs(s), 100)
        assert np.all(np.abs(function(x, y) - enclosure.center) <= enclosure.radius * (1.0 + 1e-12))
        assert largest(enclosure) == abs(enclosure.center) + enclosure.radius
    with pytest.raises(TypeError, match="sqrt: not supported by ball"):
        sqrt(Enclosure(1.0, 0.1))


def test_joints_with_exponential_motion_have_a_constant_body_twist() -> None:
    rng = np.random.default_rng(0)
    for kind in (joints.Revolute, joints.Prismatic, joints.Helical, joints.Planar, joints.Floating, joints.Spherical):
        assert constant_twist(kind.example(rng))
        assert constant_twist(kind.example(rng).reversed())
    assert not constant_twist(joints.Universal.example(rng))
