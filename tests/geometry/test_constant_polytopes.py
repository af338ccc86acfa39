"""Polytopes with constant vertices: depths are those of the facets of their difference."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import linkwork as lw
from linkwork import shapes
from linkwork.geometry.solids import HullTable
from linkwork.spatial import Vec3

from .minkowski import signed_distance_of_hulls
from .pairs import rotations

CUBE = np.array(list(itertools.product((-0.3, 0.3), (-0.2, 0.2), (-0.25, 0.25))))
RNG = np.random.default_rng(11)
ROUND = RNG.normal(size=(12, 3)) * (0.3, 0.1, 0.5)
SMALL = RNG.normal(size=(9, 3)) * 0.2
NEEDLE = RNG.normal(size=(6, 3)) * (1.0, 0.05, 0.05)
CASES = (
    (shapes.Polytope(ROUND), shapes.Polytope(SMALL)),
    (shapes.Polytope(CUBE), shapes.Polytope(CUBE)),
    (shapes.Box((0.6, 0.4, 0.5)), shapes.Polytope(ROUND)),
    (shapes.Polytope(NEEDLE), shapes.Capsule(0.01, 0.7)),
)
FEW = (
    0.13,
    0.15,
    0.26,
    -0.0,
    -0.1,
    0.48,
    0.1,
    0.23,
    0.04,
    -0.11,
    0.01,
    -0.31,
    -0.36,
    0.03,
    -0.18,
    0.14,
    -0.08,
    -0.39,
    0.18,
    0.16,
    -0.26,
)
MORE = (
    0.31,
    -0.08,
    -0.26,
    -0.26,
    0.02,
    0.25,
    0.01,
    -0.16,
    0.08,
    0.07,
    0.1,
    -0.13,
    -0.09,
    -0.05,
    -0.03,
    0.18,
    -0.11,
    -0.31,
    0.04,
    -0.17,
    0.03,
    0.19,
    0.18,
    0.09,
    0.03,
    0.02,
    -0.26,
    0.17,
    -0.03,
    0.43,
)
POSE = (
    (0.3788752479470092, -0.04107638872469721, -0.9245357087654482, 0.26),
    (0.4581301440544382, 0.8763408526187668, 0.14880685851153652, 0.11),
    (0.8040959629308879, -0.4799369128549609, 0.35084218970571035, 0.28),
)


def test_cubes_with_tied_nearest_points_are_reported_as_not_unique() -> None:
    """Cubes on faces, along edges, and about one center have many points or normals; askew they have one."""
    a = shapes.Polytope(CUBE)
    X = np.tile(np.eye(4), (4, 1, 1))
    X[:3, :3, 3] = (0.55, 0.1, 0.02), (0.1, 0.35, 0.1), (0.0, 0.0, 0.0)
    X[3, :3, :3] = rotations(np.random.default_rng(2), 1)[0]
    X[3, :3, 3] = (0.3, 0.1, 0.2)
    distances = lw.signed_distance(a, lw.pose(), a, X)
    assert distances.unique.tolist() == [0.0, 0.0, 0.0, 1.0]
    assert np.abs(distances.distance[:3] - (-0.05, -0.05, -0.4)).max() < 1e-15


def test_depth_of_a_hull_pair_with_a_negative_bound_on_an_arc_is_exact_for_small_and_large_hulls() -> None:
    """The minimum lies on an arc with a bound below zero."""
    for size in (1.0, 100.0):
        a, b = size * np.reshape(FEW, (-1, 3)), size * np.reshape(MORE, (-1, 3))
        X = np.eye(4)
        X[:3] = POSE
        X[:3, 3] *= size
        distances = lw.signed_distance(shapes.Polytope(a), lw.pose(), shapes.Polytope(b), X)
        assert abs(distances.distance - signed_distance_of_hulls(a, b @ X[:3, :3].T + X[:3, 3])) < 1e-15 * size


def corners(shape) -> np.ndarray:
    if isinstance(shape, shapes.Box):
        return CUBE
    if isinstance(shape, shapes.Capsule):
        return np.array([[0.0, 0.0, -shape.length / 2], [0.0, 0.0, shape.length / 2]])
    return np.array(shape.vertices)


def poses(count: int) -> np.ndarray:
    """Return overlapping poses: random ones, along axes, and about one center."""
    rng = np.random.default_rng(5)
    X = np.tile(np.eye(4), (count, 1, 1))
    X[:, :3, :3] = rotations(rng, count)
    X[:, :3, 3] = 0.15 * rng.normal(size=(count, 3))
    quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    X[:12, :3, :3] = [np.linalg.matrix_power(quarter, k) for k in range(12)]
    X[:6, :3, 3] = np.round(X[:6, :3, 3], 1)
    X[12:16, :3, 3] = 0.0
    return X


@pytest.mark.slow(every=5)
def test_penetration_depths_of_constant_polytopes_equal_those_from_facets() -> None:
    X, at = poses(60), lw.pose()
    for a, b in CASES:
        distances = lw.signed_distance(a, at, b, X)
        round_ = getattr(b, "radius", 0.0)
        d, n, on_a, on_b = distances.distance, distances.normal, distances.point_a, distances.point_b
        corner_sets = [corners(b) @ x[:3, :3].T + x[:3, 3] for x in X]
        exact = np.array([signed_distance_of_hulls(corners(a), v) - round_ for v in corner_sets])
        assert (d < 0.0).sum() > 15 and np.abs(d - exact).max() < 1e-14, (a, b)
        assert np.abs((n * n).sum(1) - 1.0).max() < 1e-14
        assert np.abs(on_b - on_a - d[:, None] * n).max() < 1e-14
        gaps = [(v @ m).min() - (corners(a) @ m).max() - round_ for v, m in zip(corner_sets, n, strict=True)]
        assert np.abs(gaps - d).max() < 1e-14, (a, b)
        if not round_:
            outside = [
                max((hull.equations @ [*p, 1.0]).max() for hull, p in ((ConvexHull(corners(a)), p), (ConvexHull(v), q)))
                for v, p, q in zip(corner_sets, on_a, on_b, strict=True)
            ]
            assert np.abs(np.array(outside)[d < 0.0]).max() < 1e-14, (a, b)  # each lies on its body
        assert (distances.unique[16:] == 1.0).all()
        back = lw.signed_distance(b, X, a, at)
        assert np.abs(back.distance - d).max() < 1e-14
        alone = [lw.signed_distance(a, at, b, x).distance for x in X[:3]]
        assert np.array_equal(alone, d[:3])
        single = lw.signed_distance(a, at.astype(np.float32), b, X.astype(np.float32)).distance
        assert np.abs(single - d).max() < 1e-6, (a, b)


def test_a_hull_table_has_the_vertices_of_each_hull_and_their_mean():
    rng = np.random.default_rng(0)
    hulls = rng.normal(size=(3, 5, 3)) + 10.0
    table = HullTable([[Vec3(*point) for point in hull] for hull in hulls])
    assert np.allclose(table.rows, np.concatenate([hulls, hulls.mean(axis=1, keepdims=True)], axis=1).reshape(3, 18))
