"""Points and segments: compared with sampled points, and identities of signed distances."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import linkwork as lw
from linkwork.geometry import PointCore, SegmentCore, Solid, signed_distance
from linkwork.spatial import Vec3

from .pairs import compiled


def measured(a, b):
    distances = signed_distance(a, b)
    return np.array(
        [distances.distance, *distances.normal, *distances.on_a, *distances.on_b, distances.unique], dtype=object
    )


def test_distances_of_segments_are_exact_to_rounding() -> None:
    capsule = lambda x, radius: Solid(SegmentCore(Vec3.of(x[:3]), Vec3.of(x[3:])), radius)  # noqa: E731
    kernel = lw.compile(lambda a, b: measured(capsule(a, 0.1), capsule(b, 0.2)), a=6, b=6)
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 400, 6))
    b[:50, 3:] = a[:50, 3:] * rng.normal(size=(50, 1))  # parallel
    a[50:80, 3:] = 0.0
    b[70:90, 3:] = 0.0
    outputs = kernel(a, b)
    d, n, on_a, on_b = outputs[:, 0], outputs[:, 1:4], outputs[:, 4:7], outputs[:, 7:10]
    s = np.linspace(-1.0, 1.0, 61)
    along = lambda x: x[:, None, :3] + s[:, None] * x[:, None, 3:]  # noqa: E731
    least = np.linalg.norm(along(a)[:, :, None] - along(b)[:, None], axis=-1).min((1, 2)) - 0.3
    assert (d <= least + 1e-12).all() and (d >= least - 0.15).all()
    assert np.abs(np.linalg.norm(n, axis=1) - 1.0).max() < 1e-14
    assert np.abs(on_b - on_a - d[:, None] * n).max() < 1e-13
    assert np.array_equal(kernel(b, a)[:, 0], d) or np.abs(kernel(b, a)[:, 0] - d).max() < 1e-13
    (c, u), (e, w) = np.split(a[:50], 2, axis=1), np.split(b[:50], 2, axis=1)
    beside = np.abs(((e - c) * u).sum(1)) < (u * u).sum(1) + np.abs((u * w).sum(1))  # one lies along the other
    assert np.array_equal(outputs[:50, 10] == 0.0, beside) and beside.sum() == 44 and (outputs[100:, 10] == 1.0).all()


def test_distance_of_coincident_points_has_a_unit_normal() -> None:
    solid = Solid(PointCore(Vec3(1.0, 2.0, 3.0)), 0.5)
    distances = signed_distance(solid, Solid(SegmentCore(Vec3(1.0, 2.0, 3.0), Vec3(0.0, 0.0, 0.0)), 0.25))
    assert distances.distance == -0.75 and [*distances.normal] == [0.0, 0.0, 1.0] and distances.unique == 0.0


def test_normals_of_crossing_segments_are_perpendicular_to_both() -> None:
    """A motion of 0.3 along the normal adds 0.3 to the distance; parallel segments that overlap have a normal, too."""
    kernel = compiled("segment", "segment")
    rng = np.random.default_rng(1)
    for meets in ((0.3, -0.2), (1.0, 0.4), (-0.7, 1.0), (1.0, 1.0), (-1.0, 1.0)):
        for gap in (0.0, 1e-14, 1e-9):
            u, w, p = rng.normal(size=(3, 3))
            n = np.cross(u, w) / np.linalg.norm(np.cross(u, w))
            a, b = np.concatenate([p - meets[0] * u, u]), np.concatenate([p + gap * n - meets[1] * w, w])
            outputs = kernel(a, b)
            assert abs(outputs[0] - gap) < 2e-15 and np.isfinite(outputs).all()
            assert gap == 1e-14 or (outputs[10] == (gap > 0.0) and abs(outputs[1:4] @ n) > 1.0 - 1e-11), (meets, gap)
            further = kernel(a, np.concatenate([b[:3] + 0.3 * outputs[1:4], w]))
            assert abs(further[0] - outputs[0] - 0.3) < 2e-15
    along = kernel(np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0]), np.array([0.5, 1.0, 1.5, 2.0, 4.0, 6.0]))
    assert abs(along[0]) < 1e-15 and abs(along[1:4] @ [1.0, 2.0, 3.0]) < 1e-15 and along[10] == 0.0


def test_distances_of_nearly_parallel_segments_of_different_lengths_are_accurate() -> None:
    """The distance of lines through points at ±0.5 of both is known, or that of the ends."""
    kernel = compiled("segment", "segment")
    rng = np.random.default_rng(2)
    for sine in (1e-2, 1e-5, 1e-8, 1e-11, 1e-14, 1e-16, 0.0):
        for scale in (1e-3, 1.0, 1e3):
            R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
            for height in (0.0, 1e-9, 0.1):
                u, w = R @ [1.0, 0.0, 0.0], scale * (R @ [np.sqrt(1.0 - sine**2), sine, 0.0])
                outputs = kernel(np.concatenate([-0.4 * u, u]), np.concatenate([-0.2 * w + height * R[:, 2], w]))
                assert abs(outputs[0] - height) < 1e-15 * max(scale, 1.0), (sine, scale, height)
                assert outputs[10] == (sine > 1e-13 and height > 0.0), (sine, scale, height)
    end = kernel(np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0]), np.array([3.0, 1.0, 0.0, 2.0, 0.0, 0.0]))
    assert end[0] == 1.0 and end[10] == 1.0  # parallel, and next to each other in one point


def exact_distance(a, b):
    """Return the distance of two segments in fractions: the minimum inside and at the four ends."""
    c, u, e, w = ([Fraction(float(x)) for x in part] for part in (*np.split(np.array(a), 2), *np.split(np.array(b), 2)))
    dot = lambda x, y: sum(p * q for p, q in zip(x, y, strict=True))  # noqa: E731
    clamp = lambda x: max(Fraction(-1), min(Fraction(1), x))  # noqa: E731
    r = [y - x for x, y in zip(c, e, strict=True)]
    uu, ww, uw, ur, wr = dot(u, u), dot(w, w), dot(u, w), dot(u, r), dot(w, r)
    positions = [(s, clamp((uw * s - wr) / ww)) for s in (-1, 1)] + [(clamp((uw * t + ur) / uu), t) for t in (-1, 1)]
    if area := uu * ww - uw * uw:
        s, t = (ur * ww - uw * wr) / area, (uw * ur - uu * wr) / area
        positions += [(s, t)] if max(abs(s), abs(t)) <= 1 else []
    offsets = ([x + t * y - s * z for x, y, z in zip(r, w, u, strict=True)] for s, t in positions)
    return np.sqrt(float(min(dot(offset, offset) for offset in offsets)))


def test_segment_distances_equal_those_in_rational_arithmetic() -> None:
    """Almost parallel, of lengths that differ by 1e6, and almost meeting: to rounding, relative to their size."""
    rng = np.random.default_rng(3)
    n = 200
    a, b = rng.normal(size=(2, n, 6))
    a[:, 3:] *= 10.0 ** rng.uniform(-3.0, 3.0, size=(n, 1))
    along = a[:150, 3:] * 10.0 ** rng.uniform(-3.0, 3.0, size=(150, 1))
    sine = np.abs(along).max(1)[:, None] * 10.0 ** -rng.uniform(1.0, 18.0, size=(150, 1))
    b[:150, 3:] = along + sine * rng.normal(size=(150, 3))
    (s, t), gap = rng.uniform(-1.2, 1.2, size=(2, n, 1)), 10.0 ** -rng.uniform(0.0, 14.0, size=(n, 1))
    meets = a[:, :3] + s * a[:, 3:] - t * b[:, 3:] + gap * rng.normal(size=(n, 3))
    b[::2, :3] = meets[::2]
    outputs = compiled("segment", "segment")(a, b)
    exact = np.array([exact_distance(x, y) for x, y in zip(a, b, strict=True)])
    size = np.maximum(np.abs(a).max(1), np.abs(b).max(1))
    assert (np.abs(outputs[:, 0] - exact) < 1e-15 * size).all()
    assert (np.abs(outputs[:, 7:10] - outputs[:, 4:7] - outputs[:, :1] * outputs[:, 1:4]).max(1) < 1e-13 * size).all()
