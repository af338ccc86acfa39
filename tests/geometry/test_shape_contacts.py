"""Contacts of shapes of any kind on floats: terrain, its peaks, and outlines of polytopes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from linkwork import shapes
from linkwork.geometry import (
    CylinderCore,
    HalfSpaceCore,
    PointCore,
    PolytopeCore,
    SegmentCore,
    Solid,
    signed_distance,
)
from linkwork.geometry.contacts import contacts
from linkwork.geometry.contacts.shape_contacts import points_below, touching_shapes
from linkwork.geometry.pairs.collision_query import within
from linkwork.geometry.solids import solid
from linkwork.model.random_tree import random_pose
from linkwork.spatial import Pose, Rotation, Vec3

SHAPES = (
    shapes.Sphere(0.2),
    shapes.Capsule(0.1, 0.3),
    shapes.Box((0.3, 0.4, 0.2)),
    shapes.Cylinder(0.2, 0.3),
    shapes.Cone(0.2, 0.3),
    shapes.Ellipsoid((0.2, 0.3, 0.15)),
    shapes.Polytope([(0.1, 0.2, 0.3), (-0.1, 0.0, 0.1), (0.2, -0.3, 0.0), (0.0, 0.1, -0.2)]),
)


def existing(result):
    return [(touching.normal, p) for touching in result for p in touching.points if p.exists]


def test_contacts_with_a_plane_height_field_equal_contacts_with_a_half_space() -> None:
    """The terrain is at a general pose; its grid points are level with their plane, so none of them is a contact."""
    rng = np.random.default_rng(0)
    height = lambda x, y: 0.1 + 0.2 * x - 0.3 * y  # noqa: E731
    ground = shapes.HeightField([[height(x, y) for y in (-3.0, 0.0, 3.0)] for x in (-3.0, 0.0, 3.0)], 3.0, (-3.0, -3.0))
    up = Vec3(*(np.array([-0.2, 0.3, 1.0]) / np.sqrt(1.13)).tolist())
    for shape in SHAPES:
        X, local = random_pose(rng), random_pose(rng)
        x, y, _ = local.translation * 0.3
        X_local = Pose(local.rotation, Vec3(x, y, float(height(x, y)) + 0.1))
        plane = Solid(HalfSpaceCore(X.point(Vec3(0.0, 0.0, 0.1)), X.rotation @ up))
        placed = solid(shape, X @ X_local)
        results = existing(touching_shapes(ground, X, shape, X @ X_local, 0.5))
        deepest = max(float(p.depth) for _, p in results)
        assert deepest == pytest.approx(-signed_distance(plane, placed).distance, abs=1e-13)
        assert len(results) == (8 if isinstance(shape, shapes.Box) else len(contacts(plane, placed, 10.0).points))
        for normal, p in results:
            assert [*normal] == pytest.approx([*plane.core.normal], abs=1e-13)
            assert [*(p.on_a - p.on_b)] == pytest.approx([*(normal * p.depth)], abs=1e-13)
            assert plane.core.normal.dot(p.on_a - plane.core.point) == pytest.approx(0.0, abs=1e-13)
        swapped = existing(touching_shapes(shape, X @ X_local, ground, X, 0.5))
        assert [[*p.on_b] for _, p in swapped] == [[*p.on_a] for _, p in results]
        assert [[*n] for n, _ in swapped] == [[*-n] for n, _ in results]


def test_peaks_touch_a_plate_from_below_in_each_quadrant_and_within_the_distance() -> None:
    heights = np.zeros((7, 9))
    peaks = {
        (2, 3): 0.30,
        (2, 5): 0.29,
        (4, 3): 0.28,
        (5, 6): 0.25,
        (4, 6): 0.27,
    }  # one in each quadrant, and one beside a higher one
    for (i, j), height in peaks.items():
        heights[i, j] = height
    ground = shapes.HeightField(heights, (0.2, 0.15), (-0.6, -0.6))
    plate, X = shapes.Box((1.4, 1.4, 0.1)), Pose(Rotation.identity(), Vec3(-0.02, 0.01, 0.315))  # its bottom at 0.265

    def touching(limit):
        results = existing(touching_shapes(ground, Pose.identity(), plate, X, limit))
        return {tuple(round(float(x), 9) for x in p.on_a): round(float(p.depth), 9) for n, p in results if n.z == 1.0}

    at = lambda i, j: (round(-0.6 + 0.2 * i, 9), round(-0.6 + 0.15 * j, 9), float(heights[i, j]))  # noqa: E731
    depths = {(2, 3): 0.035, (2, 5): 0.025, (4, 3): 0.015, (4, 6): 0.005}
    of_peaks = {point: depth for point, depth in touching(0.0).items() if point[2] > 0.0}
    expected = {at(*k): depth for k, depth in depths.items()}
    assert of_peaks == {k: pytest.approx(d, abs=1e-9) for k, d in expected.items()}
    lowered = Pose(Rotation.identity(), Vec3(-0.02, 0.01, 0.355))  # 5 to 35 mm above the peaks
    for limit, count in ((4.9e-3, 0), (5.1e-3, 1), (0.0351, 4)):
        results = existing(touching_shapes(ground, Pose.identity(), plate, lowered, limit))
        assert sum(float(p.on_a.z) > 0.2 for _, p in results) == count, limit
    flat = shapes.HeightField(np.zeros((7, 9)), (0.2, 0.15), (-0.6, -0.6))
    close = Pose(Rotation.identity(), Vec3(-0.02, 0.01, 0.055))
    results = existing(touching_shapes(flat, Pose.identity(), shapes.Box((0.5, 0.4, 0.1)), close, 0.02))
    assert len(results) == 8  # the corners of the box: level grid points are no peaks


def test_bodies_beside_and_behind_the_edge_of_terrain_touch_its_vertical_walls() -> None:
    """Terrain over |x| ≤ 0.5, |y| ≤ 0.4, whose surface is at z = 0.3 and in its last cell along y at 0.3 to 0.6."""
    heights = np.full((6, 5), 0.3)
    heights[:, -1] = 0.6
    ground = shapes.HeightField(heights, 0.2)

    def touching(shape, *position):
        results = touching_shapes(ground, Pose.identity(), shape, Pose(Rotation.identity(), Vec3(*position)), 0.05)
        return sorted(
            (tuple(round(float(x), 9) + 0.0 for x in (*n, *p.on_a)), round(float(p.depth), 9))
            for n, p in existing(results)
        )

    box = shapes.Box((0.2, 0.1, 0.2))  # its face x = 0.502, or 0.498, before the wall x = 0.5
    for x, depth in ((0.602, -0.002), (0.598, 0.002)):
        corners = [((1.0, 0.0, 0.0, 0.5, y, z), depth) for y in (-0.05, 0.05) for z in (-0.1, 0.1)]
        assert touching(box, x, 0.0, 0.0) == corners
    assert not touching(box, 0.66, 0.0, 0.0)  # farther than the range
    assert touching(shapes.Sphere(0.1), -0.59, 0.0, 0.1) == [((-1.0, 0.0, 0.0, -0.5, 0.0, 0.1), 0.01)]
    assert touching(shapes.Sphere(0.1), 0.3, 0.47, 0.55) == [((0.0, 1.0, 0.0, 0.3, 0.4, 0.55), 0.03)]
    assert touching(shapes.Sphere(0.1), 0.3, -0.47, 0.35) == []  # its centre is above the wall
    assert touching(shapes.Sphere(0.1), 0.48, 0.0, 0.0) == [((1.0, 0.0, 0.0, 0.5, 0.0, 0.0), 0.12)]
    at_surface = touching(shapes.Sphere(0.1), 0.499, 0.0, 0.285)  # below the surface by less than a tenth of a cell
    assert at_surface == [((0.0, 0.0, 1.0, 0.499, 0.0, 0.3), 0.115)]


def test_grid_points_below_a_shape_are_those_within_its_radius_up_to_a_maximum() -> None:
    ball = shapes.Sphere(0.3)
    assert points_below(ball, (0.1, 0.07)) == (3, 5)
    assert points_below(ball, (0.02, 0.0199)) == (15, 15)
    assert points_below(shapes.HalfSpace(), (0.1, 0.2)) == (15, 15)


def cuboid(pose, half):
    return PolytopeCore(
        pose, tuple(Vec3(*(s * h for s, h in zip(k, half, strict=True))) for k in product((-1.0, 1.0), repeat=3))
    )


def test_polytopes_touch_at_the_corners_of_the_overlap_of_their_faces() -> None:
    """Two cuboids by their vertices, turned together: the faces overlap in a rectangle of 0.3 m by 0.2 m."""
    X = random_pose(np.random.default_rng(1))
    a = Solid(cuboid(X, (0.3, 0.25, 0.1)))
    b = Solid(cuboid(X @ Pose(Rotation.identity(), Vec3(0.2, 0.3, 0.199)), (0.2, 0.25, 0.1)))
    expected = {(x, y) for x in (0.0, 0.3) for y in (0.05, 0.25)}
    for first, second, height in ((a, b, 0.1), (b, a, 0.099)):
        manifold = contacts(first, second)
        points = [p for p in manifold.points if p.exists]
        local_points = [[*X.inv().point(p.on_a)] for p in points]
        assert {tuple(round(v, 9) + 0.0 for v in p[:2]) for p in local_points} == expected and len(points) == 4
        assert [p[2] for p in local_points] == pytest.approx([height] * 4, abs=1e-12)
        assert [p.depth for p in points] == pytest.approx([1e-3] * 4, abs=1e-12)
    apart = Solid(cuboid(X @ Pose(Rotation.identity(), Vec3(0.2, 0.3, 0.201)), (0.2, 0.25, 0.1)))
    assert not any(p.exists for p in contacts(a, apart).points)
    assert sum(bool(p.exists) for p in contacts(a, apart, 0.0011).points) == 4
    tip = Rotation.about(Vec3(0.6, 0.8, 0.0), 0.7) @ Rotation.about(Vec3(0.0, 0.0, 1.0), 0.3)
    leaning = Solid(cuboid(X @ Pose(tip, Vec3(0.05, 0.02, 0.3)), (0.2, 0.15, 0.1)))
    nearest = signed_distance(a, leaning)
    (corner,) = [p for p in contacts(a, leaning, 0.05).points if p.exists]
    assert corner.depth == pytest.approx(-nearest.distance, abs=1e-12) and 0.0 < abs(nearest.distance) < 0.05
    assert [*corner.on_b] == pytest.approx([*nearest.on_b], abs=1e-12)


def test_segment_is_within_a_distance_of_a_cylinder_from_its_exact_distance_on() -> None:
    rng = np.random.default_rng(2)
    for _ in range(12):
        X = random_pose(rng)
        a = Solid(SegmentCore(Vec3(*rng.normal(size=3).tolist()), Vec3(*rng.normal(size=3).tolist())), 0.02)
        b = Solid(CylinderCore(X, 0.3, 0.4), 0.05)
        distance = float(signed_distance(a, b).distance)
        for limit in (1e-7, -1e-7) if distance > 1e-6 else ():
            assert bool(within(a, b, distance + limit)) == bool(within(b, a, distance + limit)) == (limit > 0.0)
    crossing = Solid(SegmentCore(X.translation, X.rotation @ Vec3(0.5, 0.6, 0.2)))
    assert within(crossing, b, 0.0) and within(Solid(PointCore(X.point(Vec3(0.29, 0.0, 0.39)))), b, 0.0)


def test_two_sampled_shapes_touch_at_one_point() -> None:
    """The point of a cloud in a distance field of a plane has the contact of the nearest of the cloud's points."""
    normal = np.array([0.36, -0.48, 0.8])
    indices = np.indices((4, 5, 3)).reshape(3, -1).T
    low, spacing = np.array([-0.8, -0.9, -0.7]), np.array([0.6, 0.5, 0.8])
    field = shapes.DistanceField(((low + indices * spacing) @ normal).reshape(4, 5, 3), spacing, low)
    points = np.array([[0.1, 0.2, 0.3], [-0.2, 0.1, -0.1], [0.3, -0.1, 0.2]])
    cloud = shapes.PointCloud(points, 0.05)
    X = random_pose(np.random.default_rng(5))
    for a, b, sign, exists in ((field, cloud, 1.0, True), (cloud, field, -1.0, False)):
        (touching,) = touching_shapes(a, X, b, X, -0.15 if exists else -0.25)
        (point,) = touching.points
        assert bool(point.exists) is exists
        assert point.depth == pytest.approx(0.05 - (points @ normal).min(), abs=1e-12)
        assert [*touching.normal] == pytest.approx([*(X.rotation @ Vec3(*(sign * normal).tolist()))], abs=1e-12)
