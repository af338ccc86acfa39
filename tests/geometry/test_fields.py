"""Height fields, point clouds, distance fields and compounds: compared with all triangles, points and parts."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest

import linkwork as lw
from linkwork import shapes
from linkwork.geometry import BoxCore, PointCore, SegmentCore, Solid, fields
from linkwork.geometry.fields.distance_grid import interpolated
from linkwork.spatial import Pose, Vec3

KINDS = {
    "points": (3, lambda a: Solid(PointCore(Vec3.of(a)), 0.1)),
    "segments": (6, lambda a: Solid(SegmentCore(Vec3.of(a[:3]), Vec3.of(a[3:])), 0.1)),
    "boxes": ((4, 4), lambda X: Solid(BoxCore(Pose.of(X), Vec3(0.1, 0.05, 0.08)), 0.02)),
}


def core_values(result):
    return np.array([result.distance, *result.normal, *result.on_a, *result.on_b, result.unique], dtype=object)


def kernel(field, kind, arrays):
    size, make = KINDS[kind]

    def function(x, **field_arrays):
        return core_values(field(field_arrays, make(x)))

    return lw.compile(function, x=size, **{name: array.shape for name, array in arrays.items()})


def check(outputs):
    """Assert the identities of every distance, without NaN."""
    assert np.isfinite(outputs).all()
    assert np.abs(np.linalg.norm(outputs[:, 1:4], axis=1) - 1.0).max() < 1e-12
    assert np.abs(outputs[:, 7:10] - outputs[:, 4:7] - outputs[:, :1] * outputs[:, 1:4]).max() < 1e-12
    return outputs[:, 0]


def poses(rng, n, size):
    Q, _ = np.linalg.qr(rng.normal(size=(n, 3, 3)))
    X = np.tile(np.eye(4), (n, 1, 1))
    X[:, :3, :3] = Q * np.linalg.det(Q)[:, None, None]
    X[:, :3, 3] = rng.uniform(-size, size, (n, 3))
    return X


def to_segments(p, a, b):
    """Return distances of points (n, 3) from a segment."""
    t = np.clip((p - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0)
    return np.linalg.norm(p - a - t[:, None] * (b - a), axis=1)


def to_triangles(p, triangles):
    """Return distances of points (n, 3) from the nearest triangle, by edges and planes."""
    least = np.full(len(p), np.inf)
    for a, b, c in triangles:
        for u, v in ((a, b), (b, c), (c, a)):
            least = np.minimum(least, to_segments(p, u, v))
        s, t, d = np.linalg.solve(np.column_stack([b - a, c - a, np.cross(b - a, c - a)]), (p - a).T)
        height = np.abs(d) * np.linalg.norm(np.cross(b - a, c - a))
        least = np.where((s >= 0.0) & (t >= 0.0) & (s + t <= 1.0), np.minimum(least, height), least)
    return least


def triangles_of(field):
    m, n = field.heights.shape
    x, y = (o + s * np.arange(k) for o, s, k in zip(field.origin, field.spacing, (m, n), strict=True))
    P = np.dstack([*np.meshgrid(x, y, indexing="ij"), field.heights])
    return [
        triangle
        for i in range(m - 1)
        for j in range(n - 1)
        for triangle in ((P[i, j], P[i + 1, j], P[i + 1, j + 1]), (P[i, j], P[i + 1, j + 1], P[i, j + 1]))
    ]


def height_under(field, p):
    """Return the heights of a field at points (n, 3) by barycentric coordinates; −inf beside the grid."""
    top = np.full(len(p), -np.inf)
    for a, b, c in triangles_of(field):
        s, t = np.linalg.solve(np.column_stack([b - a, c - a])[:2], (p - a)[:, :2].T)
        over = (s >= 0.0) & (t >= 0.0) & (s + t <= 1.0)
        top = np.where(over, a[2] + s * (b - a)[2] + t * (c - a)[2], top)
    return top


def to_terrain(field, p, bottom=-50.0):
    """Return signed distances of points (n, 3) from a height field, as a solid with walls down to z = ``bottom``."""
    m, n = field.heights.shape
    x, y = (o + s * np.arange(k) for o, s, k in zip(field.origin, field.spacing, (m, n), strict=True))
    P = np.dstack([*np.meshgrid(x, y, indexing="ij"), field.heights])
    walls = []
    for line in (P[0], P[-1], P[:, 0], P[:, -1]):
        for a, b in pairwise(line):
            low_a, low_b = (np.array([*v[:2], bottom]) for v in (a, b))
            walls += [(a, b, low_b), (a, low_b, low_a)]
    sign = np.where(p[:, 2] < height_under(field, p), -1.0, 1.0)
    return sign * to_triangles(p, [*triangles_of(field), *walls])


# -- clouds


@pytest.mark.slow(every=3)
def test_nearest_point_of_a_point_cloud_is_exact() -> None:
    rng = np.random.default_rng(0)
    cloud = shapes.PointCloud(rng.normal(size=(37, 3)), 0.05)
    arrays = fields.cloud_arrays(cloud, 128)
    field = lambda field_arrays, b: fields.field_distance(shapes.PointCloud, field_arrays, Pose.identity(), b, 0.05)  # noqa: E731
    points = kernel(field, "points", arrays)
    p = 1.5 * rng.normal(size=(400, 3))
    for points_of_cloud in (cloud.points, cloud.points[:1], rng.normal(size=(128, 3))):
        arrays = fields.cloud_arrays(shapes.PointCloud(points_of_cloud), 128)
        outputs = points(p, *arrays.values())
        away = np.linalg.norm(p[:, None] - points_of_cloud, axis=-1)
        assert np.abs(check(outputs) - away.min(1) + 0.15).max() < 1e-14
        assert np.array_equal(points(p[7], *arrays.values()), outputs[7])
        if len(points_of_cloud) == 37:
            assert np.abs(outputs[:, 4:7] - 0.05 * outputs[:, 1:4] - points_of_cloud[away.argmin(1)]).max() < 1e-14
    two = fields.cloud_arrays(shapes.PointCloud([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]), 128)
    assert points([[0.0, 0.0, 0.0], [0.0, 0.0, 0.1]], *two.values())[:, 10].tolist() == [0.0, 1.0]

    arrays = fields.cloud_arrays(cloud)
    X = poses(rng, 100, 1.5)
    outputs = kernel(field, "boxes", arrays)(X, *arrays.values())
    inside = np.einsum("nji,nkj->nki", X[:, :3, :3], cloud.points - X[:, None, :3, 3])
    gap = np.abs(inside) - [0.1, 0.05, 0.08]
    expected = np.linalg.norm(np.maximum(gap, 0.0), axis=-1) + np.minimum(gap.max(-1), 0.0)
    assert np.abs(check(outputs) - expected.min(1) + 0.07).max() < 1e-12


# -- ground


GROUND = shapes.HeightField(0.1 * np.random.default_rng(1).normal(size=(5, 7)), (0.2, 0.15), (-0.35, -0.5))


def on_ground(arrays, b):
    return fields.field_distance(shapes.HeightField, arrays, Pose.identity(), b)


def test_distances_of_points_to_height_fields_equal_those_to_triangles_and_walls() -> None:
    rng = np.random.default_rng(2)
    p = rng.uniform(-0.8, 0.8, (600, 3)) * [1.0, 1.0, 0.5]
    arrays = fields.ground_arrays(GROUND, (8, 8))
    points = kernel(on_ground, "points", arrays)
    result = points(p, *arrays.values())
    d = check(result) + 0.1
    assert np.abs(d - to_terrain(GROUND, p)).max() < 1e-13 and 50 < (d < 0.0).sum() < 300
    top = height_under(GROUND, p)
    assert ((d < 0.0) == (p[:, 2] < top)).all()
    moved = 0.03 * rng.normal(size=p.shape)  # across the edge, too: the distance of a solid is 1-Lipschitz
    after = points(p + moved, *arrays.values())[:, 0] + 0.1
    assert (np.abs(after - d) <= np.linalg.norm(moved, axis=1) + 1e-14).all()
    deep = p - [0.0, 0.0, 30.0]  # below the grid or beside it: only the walls are near
    outputs = points(deep, *arrays.values())
    beyond = np.abs(p[:, :2] - [0.05, -0.05]) - [0.4, 0.45]
    to_sides = np.linalg.norm(np.maximum(beyond, 0.0), axis=1) + np.minimum(beyond.max(axis=1), 0.0)
    assert np.abs(check(outputs) + 0.1 - to_sides).max() < 1e-13 and not outputs[:, 3].any()
    # continuous through the surface, with a normal that stays
    inside = np.isfinite(top)
    above, below = (points(np.column_stack([p[:, :2], top + e])[inside], *arrays.values()) for e in (1e-9, -1e-9))
    assert np.abs(above[:, 0] - below[:, 0]).max() < 3e-9
    assert (np.einsum("ni,ni->n", above[:, 1:4], below[:, 1:4])[above[:, 10] * below[:, 10] > 0] > 0.9).mean() > 0.95
    # other data of the same capacity
    flat = fields.ground_arrays(shapes.HeightField(np.full((3, 9), 0.25), 0.1), (8, 8))
    assert np.allclose(points([[0.05, 0.1, 0.45], [0.05, 0.1, 0.2]], *flat.values())[:, 0], [0.1, -0.15], atol=1e-15)


@pytest.mark.slow(every=5)
def test_distances_of_solids_to_height_fields_equal_those_to_triangles_and_walls() -> None:
    rng = np.random.default_rng(3)
    arrays = fields.ground_arrays(GROUND)
    a = rng.uniform(-0.7, 0.7, (160, 6)) * [1.0, 1.0, 1.0, 0.5, 0.5, 0.5]
    s = np.linspace(-1.0, 1.0, 201)
    along = a[:, None, :3] + s[:, None] * a[:, None, 3:]
    least = to_terrain(GROUND, along.reshape(-1, 3)).reshape(160, 201).min(1)
    d = check(kernel(on_ground, "segments", arrays)(a, *arrays.values())) + 0.1
    apart = d > 0.0
    assert 50 < apart.sum() < 130 and np.array_equal(apart, least > 0.0)
    gap = np.linalg.norm(a[:, 3:], axis=1) / 200.0
    assert (d <= least + 1e-13)[apart].all() and (d >= least - gap)[apart].all()
    points = kernel(on_ground, "points", arrays)
    ends = np.stack([points(a[:, :3] + e * a[:, 3:], *arrays.values())[:, 0] + 0.1 for e in (-1.0, 1.0)])
    assert (d <= np.maximum(0.0, ends.min(0)) + 1e-13).all() and (d >= np.minimum(0.0, ends.min(0)) - 1e-13)[
        ~apart
    ].all()

    X = poses(rng, 90, 0.6)
    half = np.array([0.1, 0.05, 0.08])
    u = np.linspace(-1.0, 1.0, 9)
    grid = np.stack(np.meshgrid(u, u, u, indexing="ij"), -1).reshape(-1, 3)
    spots = X[:, None, :3, 3] + np.einsum("nij,kj->nki", X[:, :3, :3], grid * half)
    least = points(spots, *arrays.values())[..., 0] + 0.1
    d = check(kernel(on_ground, "boxes", arrays)(X, *arrays.values())) + 0.02
    apart = d > 0.0
    assert 15 < apart.sum() < 80
    assert (d <= least.min(1) + 1e-12)[apart].all() and (d >= least.min(1) - np.linalg.norm(half) / 8.0)[apart].all()
    assert (d[~apart] <= 0.0).all() and (d[~apart] >= least.min(1)[~apart] - 0.1).all()


# -- distance fields


@pytest.mark.slow(every=3)
def test_interpolated_distance_fields_stay_within_their_error_bounds() -> None:
    rng = np.random.default_rng(4)
    box = shapes.Box((0.3, 0.2, 0.25))
    ball = shapes.Sphere(0.1)
    field = lw.distance_field([(box, (0.1, 0.0, 0.0)), (ball, (-0.2, 0.1, 0.1))], (0.08, 0.1, 0.09), margin=0.2)
    arrays = fields.voxel_arrays(field)

    def exact(p):
        gap = np.abs(p - [0.1, 0.0, 0.0]) - 0.5 * np.array(box.size)
        to_box = np.linalg.norm(np.maximum(gap, 0.0), axis=-1) + np.minimum(gap.max(-1), 0.0)
        return np.minimum(to_box, np.linalg.norm(p - [-0.2, 0.1, 0.1], axis=-1) - 0.1)

    low = np.array(field.origin)
    high = low + np.array(field.spacing) * (np.array(field.values.shape) - 1)
    indices = np.stack(np.meshgrid(*map(np.arange, field.values.shape), indexing="ij"), -1)
    assert np.abs(field.values - exact(low + indices * field.spacing)).max() < 1e-14
    function = lambda p, values, grid: (lambda d, g: (d, *g))(*interpolated(fields.Voxels(values, grid), Vec3.of(p)))  # noqa: E731
    at = lw.compile(function, p=3, **{name: array.shape for name, array in arrays.items()})
    p = rng.uniform(low, high, (2000, 3))
    d = at(p, *arrays.values())[0]
    worst = np.abs(d - exact(p)).max()
    assert field.error == pytest.approx(0.5 * np.linalg.norm(field.spacing)) and 0.1 * field.error < worst < field.error
    far = rng.uniform(low - 1.0, high + 1.0, (2000, 3))
    beyond = ((far < low) | (far > high)).any(1)
    assert (at(far, *arrays.values())[0] <= exact(far) + field.error)[beyond].all()
    for q in (p[:200], far[beyond][:200]):
        _, *gradient = at(q, *arrays.values())
        for axis, g in enumerate(gradient):
            step = 1e-7 * np.eye(3)[axis]
            differences = (at(q + step, *arrays.values())[0] - at(q - step, *arrays.values())[0]) / 2e-7
            assert np.quantile(np.abs(g - differences), 0.99) < 1e-6

    on = lambda field_arrays, b: fields.field_distance(shapes.DistanceField, field_arrays, Pose.identity(), b)  # noqa: E731
    outputs = kernel(on, "points", arrays)(p, *arrays.values())
    assert np.abs(check(outputs) - d + 0.1).max() < 1e-15
    a = np.column_stack([p[:200], 0.2 * rng.normal(size=(200, 3))])
    s = np.linspace(-1.0, 1.0, 65)
    least = at(a[:, None, :3] + s[:, None] * a[:, None, 3:], *arrays.values())[0].min(1) - 0.1
    d = check(kernel(on, "segments", arrays)(a, *arrays.values()))
    length = np.linalg.norm(a[:, 3:], axis=1)
    assert (d <= least + 0.1 * length).all() and (d >= least - length / 4.0).all()


# -- compounds


def test_distances_of_compound_shapes_are_minima_over_their_shapes() -> None:
    rng = np.random.default_rng(5)
    X = [Pose.of(x.tolist()) for x in poses(rng, 3, 0.5)]
    compound = shapes.Compound([(shapes.Sphere(0.2), X[0]), shapes.Capsule(0.1, 0.4).at((0.3, 0, 0))])
    whole = shapes.Compound([compound, shapes.Sphere(0.1)])
    assert len(whole.parts) == 3 and whole.origin_radius >= compound.origin_radius
    compound_b = shapes.Compound([shapes.Sphere(0.05), shapes.Sphere(0.02).at((0.0, 0.0, 0.5))])
    for _ in range(20):
        pose_a, pose_b = (Pose.of(x.tolist()) for x in poses(rng, 2, 0.7))
        result, part_a, part_b = fields.distance_of_shapes(whole, pose_a, compound_b, pose_b)
        each = np.array(
            [
                [
                    fields.distance_of_shapes(a.shape, pose_a @ a.origin, b.shape, pose_b @ b.origin)[0].distance
                    for b in compound_b.parts
                ]
                for a in whole.parts
            ]
        )
        assert abs(result.distance - each.min()) < 1e-15 and each[int(part_a), int(part_b)] == each.min()
        back, part_b, part_a = fields.distance_of_shapes(compound_b, pose_b, whole, pose_a)
        assert abs(back.distance - result.distance) < 1e-15 and each[int(part_a), int(part_b)] == each.min()
        check(core_values(result)[None].astype(float))
    ground, _, _ = fields.distance_of_shapes(
        GROUND, Pose.identity(), compound_b, Pose.of(poses(rng, 1, 0.1)[0].tolist())
    )
    assert np.isfinite(ground.distance)


# -- values


def test_invalid_fields_and_unsupported_pairs_are_refused() -> None:
    cloud, voxels = shapes.PointCloud([[0, 3, 4]], 0.5), shapes.DistanceField(np.ones((2, 3, 4)), 0.5)
    compound = shapes.Compound([shapes.Sphere(0.5).at((0, 0, 1))])
    for value in (GROUND, cloud, voxels, compound):
        again = pickle.loads(pickle.dumps(value))
        assert again == value and hash(again) == hash(value) and value.volume is None and value.unit_inertia() is None
        with pytest.raises(AttributeError, match="cannot assign to field"):
            setattr(value, type(value).__slots__[0], 3)
    assert cloud != shapes.PointCloud([[0, 3, 4]], 0.25) and (cloud.origin_radius, compound.origin_radius) == (5.5, 1.5)
    assert voxels.origin_radius == pytest.approx(np.linalg.norm([0.25, 0.5, 0.75])) and not cloud.points.flags.writeable
    corners = np.array([v for triangle in triangles_of(GROUND) for v in triangle])
    assert GROUND.origin_radius >= np.linalg.norm(corners, axis=1).max()
    bad = {
        r"height field: heights: expected numbers \(m, n\) \[m\], at least \(2, 2\), got an array of shape \(1, 3\)": (
            lambda: shapes.HeightField([[1.0, 2.0, 3.0]], 0.1)
        ),
        r"height field: heights: .*all finite, got nan at \(1, 0\)": lambda: shapes.HeightField(
            [[0, 0], [np.nan, 0]], 1
        ),
        r"height field: spacing: expected 2 positive numbers": lambda: shapes.HeightField(np.zeros((2, 2)), -0.1),
        r"height field: origin: expected two numbers": lambda: shapes.HeightField(np.zeros((2, 2)), 1, (0, 0, 0)),
        r"point cloud: points: expected .* at least one point, got an array of shape \(0, 3\)": (
            lambda: shapes.PointCloud(np.zeros((0, 3)))
        ),
        r"point cloud: points: .*shape \(4, 2\)": lambda: shapes.PointCloud(np.zeros((4, 2))),
        r"point cloud: radius": lambda: shapes.PointCloud(np.zeros((4, 3)), -1.0),
        r"point cloud: capacity: expected 4 · 2\^k points, at least 9, got 8": (
            lambda: fields.cloud_arrays(shapes.PointCloud(np.zeros((9, 3))), 8)
        ),
        r"height field: capacity: .* got \(3, 3\)": lambda: fields.ground_arrays(GROUND, (3, 3)),
        r"distance field: values: .*at least \(2, 2, 2\)": lambda: shapes.DistanceField(np.zeros((2, 2)), 0.1),
        r"distance field: spacing": lambda: shapes.DistanceField(np.zeros((2, 2, 2)), 0.0),
        r"distance_field: spacing: expected a grid of at most": lambda: lw.distance_field([shapes.Sphere(1.0)], 1e-3),
        r"distance_field: shapes: expected shapes of a known size": lambda: lw.distance_field(
            [shapes.HalfSpace()], 0.1
        ),
        r"rounded: shape: expected a convex shape, got PointCloud": lambda: shapes.Rounded(
            shapes.PointCloud([[0, 0, 0]]), 0.1
        ),
        r"compound: parts: expected at least one shape": lambda: shapes.Compound([]),
    }
    for message, call in bad.items():
        with pytest.raises(ValueError, match=message):
            call()
    for wrong in (3.0, [3.0], shapes.Sphere(1.0), "box"):
        with pytest.raises(TypeError, match="compound: parts: expected shapes"):
            shapes.Compound(wrong)
    with pytest.raises(TypeError, match="distance of a HeightField and a HeightField is not supported"):
        fields.distance_of_shapes(GROUND, Pose.identity(), GROUND, Pose.identity())
