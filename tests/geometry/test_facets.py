"""Polytopes whose faces are known when code is made: depths are those of the facets of their difference."""

from __future__ import annotations

import itertools

import numpy as np

import linkwork as lw
from linkwork import shapes

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


def corners(shape) -> np.ndarray:
    if isinstance(shape, shapes.Box):
        return CUBE
    if isinstance(shape, shapes.Capsule):
        return np.array([[0.0, 0.0, -shape.length / 2], [0.0, 0.0, shape.length / 2]])
    return np.array(shape.vertices)


def poses(count: int) -> np.ndarray:
    """In each other anyhow; along axes; and about one center."""
    rng = np.random.default_rng(5)
    X = np.tile(np.eye(4), (count, 1, 1))
    X[:, :3, :3] = rotations(rng, count)
    X[:, :3, 3] = 0.15 * rng.normal(size=(count, 3))
    quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    X[:12, :3, :3] = [np.linalg.matrix_power(quarter, k) for k in range(12)]
    X[:6, :3, 3] = np.round(X[:6, :3, 3], 1)
    X[12:16, :3, 3] = 0.0
    return X


def test_depths_are_those_of_facets() -> None:
    X, at = poses(60), lw.pose()
    for a, b in CASES:
        found = lw.signed_distance(a, at, b, X)
        round_ = getattr(b, "radius", 0.0)
        d, n, on_a, on_b = found.distance, found.normal, found.point_a, found.point_b
        there = [corners(b) @ x[:3, :3].T + x[:3, 3] for x in X]
        exact = np.array([signed_distance_of_hulls(corners(a), v) - round_ for v in there])
        assert (d < 0.0).sum() > 15 and np.abs(d - exact).max() < 1e-14, (a, b)
        assert np.abs((n * n).sum(1) - 1.0).max() < 1e-14
        assert np.abs(on_b - on_a - d[:, None] * n).max() < 1e-14
        kept = [(v @ m).min() - (corners(a) @ m).max() - round_ for v, m in zip(there, n, strict=True)]
        assert np.abs(kept - d).max() < 1e-14, (a, b)
        back = lw.signed_distance(b, X, a, at)
        assert np.abs(back.distance - d).max() < 1e-14
        alone = [lw.signed_distance(a, at, b, x).distance for x in X[:3]]
        assert np.array_equal(alone, d[:3])
