"""Depths with many nearly optimal directions: no direction has a smaller depth."""

from __future__ import annotations

import numpy as np

import linkwork as lw
from linkwork.geometry import EllipsoidCore, SegmentCore, Solid, signed_distance
from linkwork.spatial import Pose, Rotation, Vec3

RADII = np.array([0.9, 0.5, 0.495])


def test_penetration_depth_of_a_segment_in_a_nearly_round_ellipsoid_is_minimal() -> None:
    rng = np.random.default_rng(8)
    ellipsoid = EllipsoidCore(Pose(Rotation.identity(), Vec3.zero()), Vec3.of(map(float, RADII)))

    def measured(c, half):
        outputs = signed_distance(Solid(ellipsoid), Solid(SegmentCore(Vec3.of(c), Vec3.of(half))))
        return np.array([outputs.distance, *outputs.normal, *outputs.on_a, *outputs.on_b], dtype=object)

    kernel = lw.compile(measured, c=3, half=3)
    half = [0.6, 0.0, 0.0] + 0.02 * rng.normal(size=(40, 3))
    c = 0.02 * rng.normal(size=(40, 3))
    outputs = kernel(c, half)
    d, n, on_a, on_b = outputs[:, 0], outputs[:, 1:4], outputs[:, 4:7], outputs[:, 7:10]
    assert (d < -0.1).all() and np.abs(on_b - on_a - d[:, None] * n).max() < 1e-14
    assert np.abs(((on_a / RADII) ** 2).sum(axis=1) - 1.0).max() < 1e-13
    u = rng.normal(size=(30000, 3))
    u /= np.linalg.norm(u, axis=1)[:, None]
    for k in range(40):
        directions = np.vstack([n[k], u])
        depth, *depths = np.linalg.norm(directions * RADII, axis=1) + abs(directions @ half[k]) - directions @ c[k]
        assert abs(depth + d[k]) < 1e-14 and min(depths) > -d[k] - 1e-14
