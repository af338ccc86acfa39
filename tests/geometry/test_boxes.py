"""Points, segments and boxes against boxes: compared with the facets of their Minkowski difference."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.geometry import BoxCore, SegmentCore, Solid, signed_distance
from linkwork.geometry.pairs import box_box_gap
from linkwork.spatial import Pose, Vec3

from .minkowski import signed_distance_of_hulls
from .pairs import compiled, corners, off_surface, placed, rotations, rows


def sizes_of(kind, x):
    return np.array([np.abs(corners(kind, row)).max() for row in x])


def many(kind, rng):
    """Rows of a kind, and of boxes: random ones first, then aligned ones, almost parallel ones, and of far sizes."""
    x, y = rows(kind, rng, 40), rows("box", rng, 40)
    y[:20, :9] = np.eye(3).ravel()
    quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    if kind == "box":
        x[:20, :9] = [(np.eye(3), quarter)[k % 2].ravel() for k in range(20)]
        x[20:26, :9] = y[20:26, :9]  # parallel, turned
        x[26:32, :9] = [(axes.reshape(3, 3) @ quarter).ravel() for axes in y[26:32, :9]]
        tilt = np.array([[1.0, -1e-9, 0.0], [1e-9, 1.0, 0.0], [0.0, 0.0, 1.0]])
        x[32:34, :9] = [(axes.reshape(3, 3) @ tilt).ravel() for axes in y[32:34, :9]]  # almost
    elif kind == "segment":
        x[:20, 3:] *= np.eye(3)[np.arange(20) % 3]
    sizes = x[:, 12:] if kind == "box" else x[:, 3:]
    sizes[::4] *= 1e3
    sizes[1::4] *= rng.uniform(2.0, 100.0, size=(10, 1))
    y[1::4, 12:] = rng.uniform(1.0, 100.0, size=(10, 3))
    y[2::4, 12:] *= 1e-3
    known, boxes = rows(kind, rng, 150), rows("box", rng, 150)
    return np.vstack([known, x]), np.vstack([boxes, y])


@pytest.mark.slow(every=3)
def test_distances_of_boxes_equal_those_computed_from_minkowski_difference_facets() -> None:
    for kind in ("point", "segment", "box"):
        kernel = compiled(kind, "box")
        rng = np.random.default_rng(0)
        x, y = many(kind, rng)
        outputs = kernel(x, y)
        size = np.maximum(sizes_of(kind, x), sizes_of("box", y))
        exact = [signed_distance_of_hulls(corners(kind, a), corners("box", b)) for a, b in zip(x, y, strict=True)]
        assert np.abs(outputs[:, 0] - exact).max() < 1.0 and (np.abs(outputs[:, 0] - exact) < 1e-14 * size).all(), kind
        d, n, on_a, on_b = outputs[:, 0], outputs[:, 1:4], outputs[:, 4:7], outputs[:, 7:10]
        assert np.abs(np.linalg.norm(n, axis=1) - 1.0).max() < 1e-14, kind
        assert (np.abs(on_b - on_a - d[:, None] * n).max(1) < 1e-14 * size).all(), kind
        assert (off_surface(kind, x, on_a) < 3e-14 * size).all(), kind
        assert (off_surface("box", y, on_b) < 3e-14 * size).all(), kind
        assert (outputs[:150, 10] == 1.0).all() or kind == "point", kind
        assert (d < 0.0).sum() > 20, kind


def test_separation_bounds_of_boxes_have_the_sign_of_distances() -> None:
    rng = np.random.default_rng(1)
    x, y = many("box", rng)
    box = lambda x: BoxCore(placed(x), Vec3.of(x[12:]))  # noqa: E731
    gap = lw.compile(lambda x, y: box_box_gap(box(x), box(y)), x=15, y=15)(x, y)
    distance = compiled("box", "box")(x, y)[:, 0]
    assert ((gap > 0.0) == (distance > 0.0)).all()
    assert (gap <= distance + 1e-13)[gap > 0.0].all()


def test_nearly_touching_boxes_have_distances_and_normals_exact_to_rounding() -> None:
    """Gaps of 1e-9 and less, on faces, edges and corners."""
    kernel = compiled("box", "box")
    rng = np.random.default_rng(2)
    R = rotations(rng, 1)[0]
    half = np.sqrt(0.5)
    edge_up = np.array([[half, -half, 0.0], [half, half, 0.0], [0.0, 0.0, 1.0]])  # an edge along z, out along x
    edge_over = np.array([[half, 0.0, half], [0.0, 1.0, 0.0], [-half, 0.0, half]])  # one along y
    face, up, over = (np.eye(3), 1.0), (edge_up, np.sqrt(2.0)), (edge_over, np.sqrt(2.0))
    for (turned_a, reach), (turned_b, reach_b) in ((face, face), (face, up), (up, over)):
        for gap in (1e-3, 1e-9, 1e-12, 0.0, -1e-12, -1e-9, -1e-3):
            a = np.concatenate([(R @ turned_a).ravel(), np.zeros(3), np.ones(3)])
            b = np.concatenate([(R @ turned_b).ravel(), R @ [reach + reach_b + gap, 0.1, 0.2], np.ones(3)])
            d, *n = kernel(a, b)[:4]
            assert abs(d - gap) < 4e-15
            assert np.abs(n - R[:, 0]).max() < 1e-13, (gap, n)


def test_boxes_of_size_zero_have_distances() -> None:
    rng = np.random.default_rng(3)
    box_box, segment_box = compiled("box", "box"), compiled("segment", "box")
    x, y = rows("box", rng, 64), rows("box", rng, 64)
    x[:, 12:] *= np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)]).repeat(8, axis=0)
    y[::2, 12:] *= np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)]).repeat(4, axis=0)
    result = box_box(x, y)
    assert np.isfinite(result).all()
    line = np.hstack([x[:, 9:12], x[:, 2:9:3] * x[:, 14:15]])  # a box of one length is a segment
    thin = (x[:, 12] == 0.0) & (x[:, 13] == 0.0)
    as_segment = segment_box(line, y)
    assert np.isfinite(as_segment).all() and thin.sum() == 16
    assert np.abs(as_segment - result)[thin, 0].max() < 1e-14
    same = np.concatenate([np.eye(3).ravel(), np.zeros(6)])
    for distance in (box_box(same, same), segment_box(np.zeros(6), same), compiled("point", "box")(np.zeros(3), same)):
        assert np.isfinite(distance).all() and distance[0] == 0.0 and abs(np.linalg.norm(distance[1:4]) - 1.0) < 1e-15


def test_boxes_with_tied_nearest_features_are_reported_as_not_unique() -> None:
    X = lambda *p: Pose.of([[1.0, 0.0, 0.0, p[0]], [0.0, 1.0, 0.0, p[1]], [0.0, 0.0, 1.0, p[2]], [0.0, 0.0, 0.0, 1.0]])  # noqa: E731
    turned = Pose.of([[0.6, -0.8, 0.0, 0.0], [0.8, 0.6, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    half = Vec3(1.0, 1.0, 1.0)
    unique = lambda a, b: signed_distance_of(a, b).unique  # noqa: E731
    cube = BoxCore(X(0.0, 0.0, 0.0), half)
    assert unique(cube, BoxCore(X(3.0, 4.0, 5.0), half)) == 1.0  # corner to corner
    assert unique(cube, BoxCore(X(3.0, 4.0, 0.5), half)) == 0.0  # parallel edges
    assert unique(cube, BoxCore(X(3.0, 0.0, 0.5), half)) == 0.0  # parallel faces
    assert unique(cube, BoxCore(X(1.8, 0.1, 0.5), half)) == 0.0  # and in each other
    assert unique(BoxCore(turned, half), BoxCore(X(3.5, 0.0, 0.1), half)) == 0.0  # an edge along a face
    assert unique(cube, BoxCore(X(0.0, 0.0, 0.0), half)) == 0.0
    along, askew = Vec3(0.0, 0.0, 1.0), Vec3(0.2, 0.3, 1.0)
    assert unique(SegmentCore(Vec3(3.0, 0.0, 0.0), along), cube) == 0.0
    assert unique(SegmentCore(Vec3(3.0, 3.0, 0.0), along), cube) == 0.0
    assert unique(SegmentCore(Vec3(3.0, 0.0, 0.0), askew), cube) == 1.0
    assert unique(SegmentCore(Vec3(0.0, 0.0, 0.0), askew), cube) == 0.0
    assert unique(SegmentCore(Vec3(0.1, 0.4, 0.2), askew), cube) == 1.0


def signed_distance_of(a, b):
    return signed_distance(Solid(a), Solid(b))
