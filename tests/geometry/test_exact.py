"""Pairs of every kind of body compared with results of forty digits: apart, touching, and overlapping."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from linkwork.geometry import Solid, signed_distance

from .exact import Body, is_least_nearby, nearest
from .pairs import CORES, SEARCHED, compiled, rows

ROUNDED = {"point": 0.2, "segment": 0.1}


def body(kind, x):
    """Return the body of an array of sizes and pose."""
    if kind == "point":
        return Body(kind, np.eye(3), x, [], ROUNDED[kind])
    if kind == "segment":
        half = np.linalg.norm(x[3:])
        R = np.linalg.qr(np.column_stack([x[3:] / half, np.eye(3)[:, :2]]))[0][:, [1, 2, 0]]
        return Body(kind, R, x[:3], [half], ROUNDED[kind])
    sizes = x[12:].reshape(-1, 3) if kind == "hull" else x[12:]
    return Body(kind, x[:9].reshape(3, 3), x[9:12], sizes)


def on_floats(a, b, x, y):
    """Without a kernel."""
    core_a, core_b = (CORES[kind][1](row.tolist()) for kind, row in ((a, x), (b, y)))
    distances = signed_distance(Solid(core_a), Solid(core_b))
    return np.array([distances.distance, *distances.normal, *distances.on_a, *distances.on_b], dtype=float)


def check(a, b, x, y, outputs, where):
    radii = ROUNDED.get(a, 0.0), ROUNDED.get(b, 0.0)
    n = outputs[1:4]
    rounded = outputs[0] - sum(radii), n, outputs[4:7] + radii[0] * n, outputs[7:10] - radii[1] * n
    bodies = body(a, x), body(b, y)
    *exact, doubt, normal = nearest(*bodies, *(v.tolist() for v in rounded[1:]))
    size = max(np.abs(v[12:]).max(initial=1.0) for v in (x, y))
    assert doubt < 1e-30, (where, doubt)
    assert outputs[0] > 0.0 or is_least_nearby(*bodies, normal), where
    assert abs(rounded[0] - exact[0]) < 1e-12 * size, (where, rounded[0] - exact[0])
    assert np.abs(n - exact[1]).max() < 1e-10, (where, n - exact[1])
    assert max(np.abs(rounded[k] - exact[k]).max() for k in (2, 3)) < 1e-10 * size, where


@pytest.mark.slow(every=5)
def test_distances_of_separated_shapes_equal_forty_digit_results() -> None:
    rng = np.random.default_rng(0)
    for a, b in itertools.combinations_with_replacement(CORES, 2):
        x, y = rows(a, rng, 1)[0], rows(b, rng, 1)[0]
        position = slice(0, 3) if b in ROUNDED else slice(9, 12)
        y[position] += 4.0 * rng.normal(size=3)
        for gap in (None, 0.1, 1e-4):
            if gap is not None:
                y[position] -= (outputs[0] - gap) * outputs[1:4]  # noqa: F821
            outputs = on_floats(a, b, x, y)
            assert gap is None or abs(outputs[0] - gap) < 0.5 * gap
            check(a, b, x, y, outputs, (a, b, gap))
            if gap == 0.1:  # of the two the other way round
                back = on_floats(b, a, y, x)
                assert abs(back[0] - outputs[0]) < 1e-14 and np.abs(back[1:4] + outputs[1:4]).max() < 1e-10, (a, b)


@pytest.mark.slow(every=9)
def test_penetration_depths_equal_forty_digit_results() -> None:
    """Touching pairs are included if one body is smooth."""
    rng = np.random.default_rng(1)
    for a, b in SEARCHED:
        kernel = compiled(a, b)
        x, y = rows(a, rng, 4), rows(b, rng, 4)
        position = slice(9, 12)
        outputs = kernel(x, y)
        for gap in (0.0, -0.01, -0.05) if "ellipsoid" in (a, b) else (-0.01, -0.05):
            y[:, position] -= (outputs[:, :1] - gap) * outputs[:, 1:4]
            outputs = kernel(x, y)
            for k in range(len(x)):
                check(a, b, x[k], y[k], outputs[k], (a, b, gap, k))
