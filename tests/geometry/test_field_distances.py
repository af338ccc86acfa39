"""Distances of fields on floats and arrays of points: compared with planes, all points and all triangles."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork import shapes
from linkwork.geometry import (
    BoxCore,
    ConeCore,
    CylinderCore,
    EllipsoidCore,
    PointCore,
    PolytopeCore,
    SegmentCore,
    Solid,
    fields,
)
from linkwork.geometry.fields.distance_grid import interpolated
from linkwork.geometry.fields.height_field import _deepest
from linkwork.geometry.fields.triangle_distance import triangle_distance
from linkwork.spatial import Pose, Vec3

from .test_fields import GROUND, check, core_values, poses, to_terrain


def trilinear(p):
    """A function that interpolation in cells reproduces: the distance from a plane, and products of coordinates."""
    x, y, z = p
    return -0.15 - 0.7 * x + 0.5 * y + 0.4 * z + 0.6 * x * y - 0.8 * y * z + 0.9 * x * z + 1.1 * x * y * z


def grid_of(function, low=(-0.4, 0.1, -0.3), spacing=(0.2, 0.3, 0.25), counts=(4, 3, 5)):
    indices = np.indices(counts).reshape(3, -1).T
    values = [function(low + index * np.array(spacing)) for index in indices]
    return shapes.DistanceField(np.reshape(values, counts), spacing, low)


def test_trilinear_functions_are_interpolated_exactly_in_the_grid_and_bounded_outside() -> None:
    field = grid_of(trilinear)
    low, high = np.array([-0.4, 0.1, -0.3]), np.array([0.2, 0.7, 0.7])
    padded = fields.voxel_arrays(field, (6, 3, 7))

    def at(p):
        d, slope = interpolated(fields.Voxels(**padded), Vec3(*map(float, p)))
        return float(d), np.array([*slope], dtype=float)

    def expected(p):
        c = np.clip(p, low, high)
        r, d = np.linalg.norm(p - c), trilinear(c)
        return d if r == 0.0 else np.hypot(r, d) if d > 0.0 else d + r

    signs = set()
    for p in np.random.default_rng(6).uniform(low - 0.3, high + 0.3, (40, 3)):
        d, slope = at(p)
        assert d == pytest.approx(expected(p), abs=1e-14)
        differences = [(expected(p + e) - expected(p - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
        assert slope == pytest.approx(differences, abs=1e-8)
        signs.add((bool(((p < low) | (p > high)).any()), d > 0.0))
    assert len(signs) == 4
    with pytest.raises(ValueError, match=r"capacity: expected at least \(4, 3, 5\), got \(4, 3, 4\)"):
        fields.voxel_arrays(field, (4, 3, 4))


def test_distances_of_solids_to_the_field_of_a_plane_are_those_of_the_balls_within() -> None:
    """Eight balls along a segment, three along each edge of a box: each as far from the plane as its centre is."""
    n = np.array([0.48, -0.6, 0.64])
    field = grid_of(lambda p: n @ p + 0.15, (-2.0,) * 3, (2.0,) * 3, (3, 3, 3))
    X = Pose.of(poses(np.random.default_rng(7), 1, 0.4)[0].tolist())
    along = np.abs(np.array([*X.rotation.inv_act(Vec3(*n))]))
    center = np.array([*X.translation])
    size = np.array([0.3, 0.2, 0.25])
    vertices = [Vec3(0.1, 0.2, 0.3), Vec3(-0.1, 0.0, 0.1), Vec3(0.2, -0.3, 0.0), Vec3(0.0, 0.1, -0.2)]
    middle, radius = np.array([0.05, -0.05, 0.05]), np.sqrt(0.05**2 + 0.25**2 + 0.25**2)
    boxes = {
        BoxCore(X, Vec3(*size)): (center, along @ size, size),
        EllipsoidCore(X, Vec3(*size)): (center, along @ size, size),
        CylinderCore(X, 0.3, 0.25): (center, along @ [0.3, 0.3, 0.25], [0.3, 0.3, 0.25]),
        ConeCore(X, 0.3, 0.25): (center, along @ [0.3, 0.3, 0.25], [0.3, 0.3, 0.25]),
        PolytopeCore(X, tuple(vertices)): (
            np.array([*X.point(Vec3(*middle))]),
            radius * np.abs(n).sum(),
            [radius] * 3,
        ),
    }
    expected = [(core, c, 2.0 / 3.0 * reach, np.linalg.norm(h) / 3.0) for core, (c, reach, h) in boxes.items()]
    half = np.array([0.2, 0.3, -0.1])
    expected.append((SegmentCore(Vec3(*center), Vec3(*half)), center, 7.0 / 8.0 * abs(n @ half), np.sqrt(0.14) / 8.0))
    expected.append((PointCore(Vec3(*center)), center, 0.0, 0.0))
    for core, middle, reach, ball in expected:
        result = fields.field_distance(
            shapes.DistanceField, fields.voxel_arrays(field), Pose.identity(), Solid(core, 0.05)
        )
        assert result.distance == pytest.approx(n @ middle + 0.15 - reach - ball - 0.05, abs=1e-14), core
        assert [*result.normal] == pytest.approx(n, abs=1e-14) and result.unique == 1.0
        check(core_values(result)[None].astype(float))
    level = fields.voxel_arrays(grid_of(lambda p: 0.4))
    result = fields.field_distance(shapes.DistanceField, level, Pose.identity(), Solid(PointCore(Vec3(0.0, 0.3, 0.1))))
    assert (result.distance, [*result.normal], result.unique) == (0.4, [0.0, 0.0, 1.0], 0.0)


def test_distances_of_point_clouds_to_planes_and_fields_are_those_of_the_nearest_point() -> None:
    rng = np.random.default_rng(8)
    X, X_b = (Pose.of(x.tolist()) for x in poses(rng, 2, 0.3))
    cloud = shapes.PointCloud(rng.uniform(-0.2, 0.2, (4, 3)), 0.03)
    placed = [X.point(Vec3(*p)) for p in cloud.points]
    n = [*(X_b.rotation @ Vec3(0.0, 0.0, 1.0))]
    away = np.array([[*(p - X_b.translation)] for p in placed])
    plane, plain_field = shapes.HalfSpace(), grid_of(trilinear, (-2.0,) * 3, (2.0,) * 3, (3, 3, 3))
    slope = lambda x, y: 0.1 + 0.2 * x - 0.3 * y  # noqa: E731
    ground = shapes.HeightField([[slope(x, y) for y in (-4.0, 4.0)] for x in (-4.0, 4.0)], 8.0, (-4.0, -4.0))
    local = np.array([[*X_b.inv().point(p)] for p in placed])
    expected = {
        plane: away @ n,
        plain_field: np.array([trilinear(p) for p in local]),
        ground: (local[:, 2] - slope(local[:, 0], local[:, 1])) / np.sqrt(1.13),
    }
    for shape, distances in expected.items():
        result, *_ = fields.distance_of_shapes(cloud, X, shape, X_b)
        assert result.distance == pytest.approx(distances.min() - 0.03, abs=1e-14) and result.unique == 1.0
        deepest = placed[distances.argmin()] + result.normal * 0.03
        assert [*result.on_a] == pytest.approx([*deepest], abs=1e-14)
        check(core_values(result)[None].astype(float))
        flipped, *_ = fields.distance_of_shapes(shape, X_b, cloud, X)
        assert np.array_equal(core_values(flipped), core_values(result.flipped()))
    level = shapes.PointCloud([[0.0, 0.1, 0.2], [0.3, 0.1, 0.2], [0.1, 0.1, 0.3]])
    assert fields.distance_of_shapes(level, Pose.identity(), plane, Pose.identity())[0].unique == 0.0


def test_distance_fields_of_point_clouds_and_terrain_have_the_distances_of_the_grid_points() -> None:
    cloud = shapes.PointCloud(np.random.default_rng(8).uniform(-0.2, 0.2, (9, 3)), 0.03)
    around = lw.distance_field([cloud], 0.2)
    points = np.indices(around.values.shape).reshape(3, -1).T * 0.2 + around.origin
    nearest = np.linalg.norm(points[:, None] - cloud.points, axis=-1).min(1) - 0.03
    assert np.abs(around.values.ravel() - nearest).max() < 1e-14
    around = lw.distance_field([GROUND], (0.3, 0.4, 0.2), margin=0.1)
    points = np.indices(around.values.shape).reshape(3, -1).T * around.spacing + around.origin
    distances = around.values.ravel()
    assert np.abs(distances - to_terrain(GROUND, points)).max() < 1e-13
    over = (points[:, 0] > -0.35) & (points[:, 0] < 0.45) & (points[:, 1] > -0.5) & (points[:, 1] < 0.4)
    assert (distances[over & (points[:, 2] < GROUND.heights.min())] < 0.0).sum() > 5
    assert (distances[over & (points[:, 2] > GROUND.heights.max())] > 0.0).sum() > 5
    with pytest.raises(ValueError, match="distance_field: shapes: expected at least one shape, got an empty list"):
        lw.distance_field([], 0.1)


def test_depth_of_a_solid_in_a_sloped_height_field_is_measured_at_its_lowest_point() -> None:
    X = Pose.of(poses(np.random.default_rng(9), 1, 0.2)[0].tolist())
    slope = lambda x, y: 0.1 + 0.2 * x - 0.3 * y  # noqa: E731
    ground = shapes.HeightField([[slope(x, y) for y in (-4.0, 4.0)] for x in (-4.0, 4.0)], 8.0, (-4.0, -4.0))
    arrays = fields.Ground(**fields.ground_arrays(ground))
    vertices = Vec3(0.1, 0.2, 0.3), Vec3(-0.1, 0.0, 0.1), Vec3(0.2, -0.3, 0.0), Vec3(0.0, 0.1, -0.2)
    lowest = min(map(X.point, vertices), key=lambda p: p.z - slope(p.x, p.y))
    assert [*_deepest(arrays, PolytopeCore(X, vertices))] == [*lowest]
    x, y, z = X.rotation.rows()[2]  # of a cylinder, along z: a point of the lower rim
    rim = np.hypot(x, y)
    low = Vec3(-0.2 * x / rim, -0.2 * y / rim, -0.1 * np.sign(z))
    assert [*_deepest(arrays, CylinderCore(X, 0.2, 0.1))] == pytest.approx([*X.point(low)], abs=1e-15)


def test_distance_of_a_triangle_to_a_point_is_that_to_its_face_edge_or_corner() -> None:
    corners = Vec3(0.1, 0.2, 0.3), Vec3(1.3, 0.4, 0.2), Vec3(0.2, 1.1, 0.6)
    a, b, c = (np.array([*v]) for v in corners)
    normal = np.cross(b - a, c - a) / np.linalg.norm(np.cross(b - a, c - a))
    outward = np.cross(b - a, normal) / np.linalg.norm(b - a)  # of the first edge
    for on, away in (
        (0.2 * a + 0.5 * b + 0.3 * c, 0.7 * normal),
        (0.4 * a + 0.6 * b, 0.5 * normal + 0.3 * outward),
        (b, 0.4 * (b - a) + 0.3 * (b - c)),
    ):
        result = triangle_distance(corners, PointCore(Vec3(*(on + away).tolist())))
        assert result.distance == pytest.approx(np.linalg.norm(away), rel=1e-14)
        assert [*result.on_a] == pytest.approx(on, abs=1e-14)
        assert [*result.normal] == pytest.approx(away / np.linalg.norm(away), abs=1e-14)
