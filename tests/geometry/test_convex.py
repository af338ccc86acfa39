"""Convex bodies without a closed form: polytopes against the facets of their Minkowski difference."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.geometry import (
    BoxCore,
    ConeCore,
    CylinderCore,
    EllipsoidCore,
    PolytopeCore,
    Solid,
    signed_distance,
)
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


def solids(kind, x):
    if kind == "cylinder":
        return Solid(CylinderCore(placed(x), 0.5, 0.8))
    if kind == "cone":
        return Solid(ConeCore(placed(x), 0.6, 0.7))
    if kind == "ellipsoid":
        return Solid(EllipsoidCore(placed(x), Vec3(0.9, 0.5, 0.3)))
    return Solid(BoxCore(placed(x), Vec3(0.5, 0.7, 0.3)))


def farthest(kind, n):
    """The farthest points of a body along directions (..., 3), and how far outside of it a point is."""
    across = np.linalg.norm(n[..., :2], axis=-1)
    if kind == "cylinder":
        return 0.5 * across + 0.8 * abs(n[..., 2])
    if kind == "cone":
        return np.maximum(0.6 * across - 0.7 * n[..., 2], 0.7 * n[..., 2])
    if kind == "ellipsoid":
        return np.linalg.norm(n * [0.9, 0.5, 0.3], axis=-1)
    return abs(n) @ [0.5, 0.7, 0.3]


def outside(kind, p):
    across = np.hypot(p[:, 0], p[:, 1])
    if kind == "cylinder":
        return np.maximum(across - 0.5, abs(p[:, 2]) - 0.8)
    if kind == "cone":
        return np.maximum(-0.7 - p[:, 2], (1.4 * across + 0.6 * (p[:, 2] - 0.7)) / np.hypot(0.6, 1.4))
    if kind == "ellipsoid":
        scaled = np.linalg.norm(p / [0.9, 0.5, 0.3], axis=1)
        return (scaled - 1.0) * scaled / np.linalg.norm(p / np.square([0.9, 0.5, 0.3]), axis=1)
    return (abs(p) - [0.5, 0.7, 0.3]).max(axis=1)


@pytest.mark.parametrize(("first", "second"), [("cylinder", "box"), ("ellipsoid", "cone")])
def test_curved_bodies_obey_both_bounds(first, second) -> None:
    """g(n) = −h(n) is what planes across n keep: no direction keeps more, and the points lie that far apart."""
    rng = np.random.default_rng(11)
    kernel = lw.compile(lambda a, b: numbers(signed_distance(solids(first, a), solids(second, b))), a=7, b=7)
    a, b = poses(rng, 150, 1.1), poses(rng, 150, 1.1)
    found = kernel(a, b)
    assert np.isfinite(found).all()
    d, n, on_a, on_b = found[:, 0], found[:, 1:4], found[:, 4:7], found[:, 7:10]
    A, B = (np.array([matrix(q) for q in x[:, 3:]]) for x in (a, b))

    def kept(n):  # (samples, directions, 3)
        here = farthest(first, np.einsum("kji,kdj->kdi", A, n)) + farthest(second, -np.einsum("kji,kdj->kdi", B, n))
        return np.einsum("kj,kdj->kd", b[:, :3] - a[:, :3], n) - here

    assert np.abs(kept(n[:, None])[:, 0] - d).max() < 1e-13
    assert np.abs(outside(first, np.einsum("kji,kj->ki", A, on_a - a[:, :3]))).max() < 1e-12
    assert np.abs(outside(second, np.einsum("kji,kj->ki", B, on_b - b[:, :3]))).max() < 1e-12
    assert np.abs(on_b - on_a - d[:, None] * n).max() < 1e-14
    everywhere = rng.normal(size=(150, 2000, 3))
    for near in (None, 1e-1, 1e-3, 1e-5):
        others = everywhere if near is None else n[:, None] + near * everywhere[:, :200]
        others /= np.linalg.norm(others, axis=-1, keepdims=True)
        assert (kept(others).max(axis=1) <= d + 1e-14).all()
    assert 20 < (d < 0.0).sum() < 130


def test_bodies_that_touch_or_share_a_center() -> None:
    """Moved along the normal to gaps of 0, 1e-9 and −1e-9; in one another, along their axes and without a length."""
    rng = np.random.default_rng(4)

    def measured(a, b, size):
        bodies = (
            Solid(CylinderCore(placed(a), 0.5 * size, 0.8)),
            Solid(EllipsoidCore(placed(b), Vec3(0.9, 0.5, 0.3))),
        )
        return numbers(signed_distance(*bodies))

    kernel = lw.compile(measured, a=7, b=7, size=())
    a, b = poses(rng, 60, 1.0), poses(rng, 60, 1.0)
    found = kernel(a, b, 1.0)
    for gap in (0.0, 1e-9, -1e-9):
        moved = b.copy()
        moved[:, :3] -= found[:, 1:4] * (found[:, :1] - gap)
        near = kernel(a, moved, 1.0)
        assert np.abs(near[:, 0] - gap).max() < 1e-14
        assert np.abs(near[:, 1:4] - found[:, 1:4]).max() < 1e-13
    same = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (12, 1))
    along = same.copy()
    along[:, 2] = np.linspace(0.0, 2.2, 12)
    found = kernel(same, along, 1.0)
    assert np.isfinite(found).all() and np.abs(found[:, 0] - np.maximum(along[:, 2] - 1.1, -1.0)).max() < 1e-12
    flat = kernel(a, b, 0.0)  # a cylinder without radius is a segment
    assert np.isfinite(flat).all() and np.abs(np.linalg.norm(flat[:, 1:4], axis=1) - 1.0).max() < 1e-14
    turned = kernel(a, b, 1.0)  # the same bits alone
    assert kernel(a[3], b[3], 1.0).tolist() == turned[3].tolist()
