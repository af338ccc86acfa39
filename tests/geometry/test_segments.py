"""Points and segments: against points sampled along both, and by what every distance obeys."""

from __future__ import annotations

import numpy as np

import linkwork as lw
from linkwork.geometry import PointCore, SegmentCore, Solid, signed_distance
from linkwork.spatial import Vec3


def measured(a, b):
    found = signed_distance(a, b)
    return np.array([found.distance, *found.normal, *found.on_a, *found.on_b, found.unique], dtype=object)


def test_segments_are_measured_to_rounding() -> None:
    capsule = lambda x, radius: Solid(SegmentCore(Vec3.of(x[:3]), Vec3.of(x[3:])), radius)  # noqa: E731
    kernel = lw.compile(lambda a, b: measured(capsule(a, 0.1), capsule(b, 0.2)), a=6, b=6)
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 400, 6))
    b[:50, 3:] = a[:50, 3:] * rng.normal(size=(50, 1))  # parallel
    a[50:80, 3:] = 0.0
    b[70:90, 3:] = 0.0
    found = kernel(a, b)
    d, n, on_a, on_b = found[:, 0], found[:, 1:4], found[:, 4:7], found[:, 7:10]
    s = np.linspace(-1.0, 1.0, 201)
    along = lambda x: x[:, None, :3] + s[:, None] * x[:, None, 3:]  # noqa: E731
    least = np.linalg.norm(along(a)[:, :, None] - along(b)[:, None], axis=-1).min((1, 2)) - 0.3
    assert (d <= least + 1e-12).all() and (d >= least - 0.05).all()
    assert np.abs(np.linalg.norm(n, axis=1) - 1.0).max() < 1e-14
    assert np.abs(on_b - on_a - d[:, None] * n).max() < 1e-13
    assert np.array_equal(kernel(b, a)[:, 0], d) or np.abs(kernel(b, a)[:, 0] - d).max() < 1e-13
    assert (found[:50, 10] == 0.0).all() and (found[100:, 10] == 1.0).all()


def test_points_that_are_one_have_a_normal() -> None:
    here = Solid(PointCore(Vec3(1.0, 2.0, 3.0)), 0.5)
    found = signed_distance(here, Solid(SegmentCore(Vec3(1.0, 2.0, 3.0), Vec3(0.0, 0.0, 0.0)), 0.25))
    assert found.distance == -0.75 and [*found.normal] == [0.0, 0.0, 1.0] and found.unique == 0.0
