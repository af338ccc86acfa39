"""Pairs of ellipsoids: proved solutions are optimal for any start, and distances are compared with all directions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.expr.scalar.functions import lt, where
from linkwork.geometry import EllipsoidCore
from linkwork.geometry.pairs.convex import ellipsoid_ellipsoid as ellipsoids
from linkwork.geometry.pairs.convex.minkowski_difference import Difference
from linkwork.geometry.unit_vectors import choose
from linkwork.spatial import Vec3

from .pairs import compiled, heights, off_surface, placed, rows

PAIRS, STARTS = 60, 40


def drawn(seed: int, count: int, spread: float) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng, rows("ellipsoid", rng, count, spread), rows("ellipsoid", rng, count, spread)


def test_ellipsoid_distances_reported_as_optimal_are_optimal() -> None:
    """Starts in many directions: with two local minima only the deeper one is proved."""

    def settled(x: Any, y: Any, start: Any) -> Any:
        a, b = (EllipsoidCore(placed(v), Vec3.of(v[12:15])) for v in (x, y))
        difference, start = Difference.of(a, b), Vec3.of(start)
        pair = ellipsoids._Pair(difference)
        starts_ = ellipsoids._start(difference, pair)
        g, n, is_valid = ellipsoids._stationary(pair, choose(lt(0.0, start.dot(start)), start, starts_))
        proved = ellipsoids._is_best(pair, n, g, ellipsoids._TURNS)
        return g, where(is_valid, 1.0, 0.0), where(proved, 1.0, 0.0)

    kernel = lw.compile(settled, x=15, y=15, start=3)
    rng, x, y = drawn(0, PAIRS, 0.25)
    starts = rng.normal(size=(PAIRS, STARTS, 3))
    starts /= np.linalg.norm(starts, axis=-1, keepdims=True)
    starts[:, 0] = 0.0  # its own
    g, is_valid, proved = kernel(x[:, None], y[:, None], starts)
    is_valid, proved = is_valid == 1.0, (is_valid == 1.0) & (proved == 1.0)
    best = np.where(is_valid, g, -np.inf).max(axis=1)
    assert is_valid.mean() > 0.75 and (best < 0.0).sum() > 30
    worse = is_valid & (g < best[:, None] - 1e-9)
    assert worse.sum() > 200 and not (worse & proved).any()
    assert (best[:, None] - g)[proved].max() < 1e-14 and proved.any(axis=1).mean() > 0.9
    assert is_valid[:, 0].all() and proved[:, 0].mean() > 0.9


@pytest.mark.slow(every=5)
def test_no_direction_separates_ellipsoids_by_more_than_the_distance() -> None:
    kernel = compiled("ellipsoid", "ellipsoid")
    for seed, spread in ((1, 0.0), (2, 0.15), (3, 1.0)):
        rng, x, y = drawn(seed, PAIRS, spread)
        if seed == 1:
            y[::2, 13] = y[::2, 12] * (1.0 + 1e-9)  # almost round, about one center
        outputs = kernel(x, y)
        d, n, on_a, on_b = outputs[:, 0], outputs[:, 1:4], outputs[:, 4:7], outputs[:, 7:10]
        assert np.abs(on_b - on_a - d[:, None] * n).max() < 2e-15 and np.abs((n * n).sum(1) - 1.0).max() < 2e-15
        assert max(off_surface("ellipsoid", v, p).max() for v, p in ((x, on_a), (y, on_b))) < 1e-14
        gap = lambda u: -heights("ellipsoid", x, u) - heights("ellipsoid", y, -u)  # noqa: B023, E731
        assert np.abs(gap(n[:, None])[:, 0] - d).max() < 2e-15
        for near in (None, 1e-1, 1e-4):
            u = rng.normal(size=(PAIRS, 3000, 3))
            u = u if near is None else n[:, None] + near * u
            assert (gap(u / np.linalg.norm(u, axis=-1, keepdims=True)).max(axis=1) <= d + 3e-15).all(), near


def test_flat_and_thin_ellipsoids_have_distances() -> None:
    """Searched by the general method, with a radius of zero or next to zero."""
    kernel = compiled("ellipsoid", "ellipsoid")
    _, x, y = drawn(4, 40, 0.5)
    x[:20, 12], x[20:, 13] = 0.0, 1e-9
    outputs = kernel(x, y)
    d, n = outputs[:, 0], outputs[:, 1:4]
    margin = -heights("ellipsoid", x, n[:, None])[:, 0] - heights("ellipsoid", y, -n[:, None])[:, 0]
    assert np.isfinite(outputs).all() and np.abs(margin - d).max() < 1e-14
    length = np.linalg.norm(outputs[:, 7:10] - outputs[:, 4:7], axis=1)
    assert np.abs(length - np.abs(d)).max() < 1e-14 and 5 < (d > 0.0).sum() < 35
