"""Convex bodies without a closed form: polytopes against the facets of their Minkowski difference."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.geometry import BoxCore, PolytopeCore, Solid, signed_distance
from linkwork.spatial import Pose, Rotation, Vec3

CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)


def placed(x):
    return Pose(Rotation.from_quaternion(*x[3:7]), Vec3.of(x[:3]))


def numbers(found):
    return np.array([found.distance, *found.normal, *found.on_a, *found.on_b, found.unique], dtype=object)


def poses(rng, many, spread):
    turns = rng.normal(size=(many, 4))
    return np.hstack([rng.uniform(-spread, spread, (many, 3)), turns / np.linalg.norm(turns, axis=1)[:, None]])


def matrix(q):
    w, x, y, z = q
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])  # fmt: skip


def test_overlaps_of_polytopes_are_exact() -> None:
    spatial = pytest.importorskip("scipy.spatial")
    rng = np.random.default_rng(5)
    hull = rng.normal(size=(9, 3))
    half = np.array([0.5, 0.7, 0.3])
    kernel = lw.compile(
        lambda a, b: numbers(
            signed_distance(
                Solid(PolytopeCore(placed(a), [Vec3.of(map(float, v)) for v in hull])),
                Solid(BoxCore(placed(b), Vec3.of(map(float, half)))),
            )
        ),
        a=7,
        b=7,
    )
    a, b = poses(rng, 200, 1.2), poses(rng, 200, 1.2)
    found = kernel(a, b)
    assert np.abs(np.linalg.norm(found[:, 1:4], axis=1) - 1.0).max() < 1e-14
    several = 0
    for x, y, row in zip(a, b, found, strict=True):
        p, q = hull @ matrix(x[3:]).T + x[:3], (CORNERS * half) @ matrix(y[3:]).T + y[:3]
        difference = (p[:, None] - q[None]).reshape(-1, 3)
        least = (-spatial.ConvexHull(difference).equations[:, 3]).min()
        if least > 0.0:
            several += 1
            assert abs(row[0] + least) < 1e-13
        else:
            assert row[0] > 0.0
            assert abs((difference @ row[1:4]).max() + row[0]) < 1e-13  # both bounds meet
            assert abs(np.linalg.norm(row[7:10] - row[4:7]) - row[0]) < 1e-13
    assert 50 < several < 195
    assert kernel(a[7], b[7]).tolist() == found[7].tolist()
