"""Robots with capsules and boxes in a scene of boxes, spheres and capsules: compared with coal, and on symbols."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.expr import adjoint
from linkwork.shapes import Box, Capsule, Cylinder, Geometry, Sphere

coal = pytest.importorskip("coal")


def rounded(geometry):
    """A cylinder's capsule of the same length; other shapes as they are."""
    shape = geometry.shape
    if isinstance(shape, Cylinder):
        return Geometry(Capsule(shape.radius, max(shape.length - 2.0 * shape.radius, 0.02)), geometry.origin)
    return geometry


def with_capsules(name):
    tree = lw.load(name).tree
    return lw.Robot(
        replace(tree, frames=tuple(replace(f, collisions=tuple(map(rounded, f.collisions))) for f in tree.frames))
    )


def peer(shape):
    if isinstance(shape, Box):
        return coal.Box(*shape.size)
    return coal.Sphere(shape.radius) if isinstance(shape, Sphere) else coal.Capsule(shape.radius, shape.length)


def placed(X):
    return coal.Transform3s(X[:3, :3], X[:3, 3])


@pytest.mark.slow(every=5)
def test_distances_of_robots_with_shapes_equal_coals() -> None:
    robot = with_capsules("arm7")
    tilted = lw.pose((0.4, 0.3, 0.5), rpy=(0.3, 0.4, 0.5))
    scene = lw.Scene().with_box("block", (0.3, 0.2, 0.4), tilted).with_box("floor", (2.0, 2.0, 0.1), (0, 0, -0.3))
    scene = scene.with_sphere("ball", 0.15, (-0.4, 0.2, 0.6)).with_capsule("pole", 0.05, 1.0, (0.3, -0.4, 0.5))
    q = robot.random_configuration(seed=4, size=60)
    distances = robot.distances(q, scene)
    shapes = {f.name: (f.collisions[0], robot.pose(q, f.name)) for f in robot.tree.frames if f.collisions}
    checked = 0
    for k, (a, b) in enumerate(distances.pairs):
        shape_a, X_a = shapes[a]
        own_a = X_a @ np.reshape(shape_a.origin.elements(), (4, 4))
        if b in shapes:
            shape_b, own_b = shapes[b][0].shape, shapes[b][1] @ np.reshape(shapes[b][0].origin.elements(), (4, 4))
        else:
            shape_b, own_b = scene[b].shape, np.broadcast_to(np.reshape(scene[b].pose.elements(), (4, 4)), (60, 4, 4))
        for i in range(0, 60, 3):
            request, result = coal.DistanceRequest(), coal.DistanceResult()
            request.gjk_tolerance = 1e-8
            d = coal.distance(peer(shape_a.shape), placed(own_a[i]), peer(shape_b), placed(own_b[i]), request, result)
            assert (d <= 0.0) == (distances.distance[i, k] <= 0.0) or abs(d) < 1e-6
            if d > 1e-6:
                assert abs(distances.distance[i, k] - d) < 2e-6, (a, b, i)
                checked += 1
    assert checked > 300
    touching = distances.normal * distances.distance[..., np.newaxis]
    assert np.abs(distances.point_b - distances.point_a - touching).max() < 1e-13
    assert np.array_equal(robot.in_collision(q, scene), distances.distance.min(-1) <= 0.0)
    assert np.abs(robot.minimum_distance(q, scene) - distances.distance.min(-1)).max() < 1e-14


@pytest.mark.slow(every=5)
def test_users_functions_of_robot_distances_can_be_differentiated() -> None:
    robot = with_capsules("double_pendulum")
    scene = lw.Scene().with_sphere("ball", 0.1, (0.6, 0.3, 0.0)).with_capsule("pole", 0.05, 1.0, (0.3, -0.6, 0.5))
    q, h = robot.random_configuration(seed=5, size=20), 1e-6
    cost = lw.compile(lambda q: (robot.distances(q, scene).distance ** 2).sum(), q=robot.configuration_space)
    gradient = lw.compile(lambda q: adjoint([(robot.distances(q, scene).distance ** 2).sum()], q, [1.0]), q=(2,))
    d = robot.distances(q, scene)
    assert np.abs(cost(q) - (d.distance**2).sum(-1)).max() < 1e-13
    exact = robot.distance_derivatives(q, scene)
    by_hand = 2.0 * (exact.distance[..., np.newaxis] * exact.gradient).sum(-2)
    assert np.abs(gradient(q) - by_hand).max() < 1e-12
    hessian = cost.hessian()(q)
    for k in range(2):
        step = h * np.eye(2)[k]
        rate = (gradient(q + step) - gradient(q - step)) / (2.0 * h)
        assert np.abs(hessian[..., k] - rate).max() < 1e-5
    least = lw.compile(lambda q: robot.minimum_distance(q, scene), q=(2,))
    assert np.array_equal(least(q), robot.minimum_distance(q, scene))
    smooth = lw.compile(lambda q: robot.smooth_minimum_distance(q, scene, sharpness=20.0), q=(2,))
    assert np.array_equal(smooth(q), robot.smooth_minimum_distance(q, scene, sharpness=20.0))
