"""Boxes, segments and cylinders at poses with parallel, nearly parallel, or coincident features."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import linkwork as lw
from linkwork.geometry import Solid
from linkwork.geometry.pairs.collision_query import within
from linkwork.geometry.pairs.convex.convex_pair import convex

from .pairs import CORES, compiled, heights, moved, off_surface, rotations, rows

PAIRS = (("segment", "cylinder"), ("box", "cylinder"), ("cylinder", "cylinder"))
MANY = 240


@cache
def searched(a, b):
    """The distance alone, by what knows support functions only."""
    (na, core_a), (nb, core_b) = CORES[a], CORES[b]
    return lw.compile(lambda x, y: convex(core_a(x), core_b(y)).distance, x=na, y=nb)


def turned(kind, x, R):
    """Return a core's array with rotated axes or direction."""
    x = x.copy()
    if kind == "segment":
        x[:, 3:] = R[:, :, 2] * np.linalg.norm(x[:, 3:], axis=1)[:, None]
    else:
        x[:, :9] = R.reshape(-1, 9)
    return x


def quarters(rng, n):
    """Rotations by quarter turns."""
    return np.rint(Rotation.create_group("O").as_matrix())[rng.integers(24, size=n)]


def cases(a, b):
    """Names and rows of pairs."""
    rng = np.random.default_rng(11)
    position = slice(0, 3) if a == "segment" else slice(9, 12)
    x, y = rows(a, rng, MANY, 0.4), rows(b, rng, MANY, 0.4)
    identity, quarter_turns = np.tile(np.eye(3), (MANY, 1, 1)), quarters(rng, MANY)
    yield "aligned", turned(a, x, identity), turned(b, y, quarter_turns)
    grid_x, grid_y = (np.rint(4.0 * v) / 4.0 for v in (turned(a, x, identity), turned(b, y, quarter_turns)))
    grid_y[:, 12:] += 0.25
    yield "on a grid", grid_x, grid_y
    R = rotations(rng, MANY)
    hardly = Rotation.from_rotvec(rng.normal(size=(MANY, 3)) * 10.0 ** rng.uniform(-16.0, -3.0, (MANY, 1))).as_matrix()
    x, y = turned(a, x, R), turned(b, y, R @ quarter_turns @ hardly)
    yield "nearly aligned", x, y
    thin = y.copy()
    thin[::2, 12] *= 1e-3
    thin[1::2, 13] *= 1e-3
    yield "thin", x, thin
    without_size = y.copy()
    without_size[::3, 12], without_size[1::3, 13], without_size[2::3, 12:] = 0.0, 0.0, 0.0
    yield "without a size", x, without_size
    x, y = x.copy(), y.copy()
    x[:, position], y[:, 9:12] = 0.0, 0.0
    yield "in one place", x, y


@pytest.mark.costly
@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_distances_of_cylinders_with_parallel_features_are_optimal(a, b) -> None:
    """Planes across the normal keep the distance, and points apart by it are on both: apart that is all there is to
    prove.  Of overlaps a search of all directions finds nothing less."""
    kernel = compiled(a, b)
    overlapping = 0
    for name, x, y in cases(a, b):
        outputs = kernel(x, y)
        d, n = outputs[:, 0], outputs[:, 1:4]
        assert np.isfinite(outputs).all() and np.abs(np.linalg.norm(n, axis=1) - 1.0).max() < 4e-15, name
        planes = -heights(a, x, n[:, None])[:, 0] - heights(b, y, -n[:, None])[:, 0]
        assert np.abs(planes - d).max() < 3e-14, name
        assert np.abs(outputs[:, 7:10] - outputs[:, 4:7] - d[:, None] * n).max() < 1e-14, name
        flat = y[:, 12:].min(axis=1) <= 0.0  # all of it is surface
        for kind, core, points in ((a, x, outputs[:, 4:7]), (b, y, outputs[:, 7:10])):
            off = off_surface(kind, core, points)
            assert off[~flat].max(initial=0.0) < 3e-13 and (kind == b or off.max() < 3e-13), (name, kind)
        assert (searched(a, b)(x, y)[d < 0.0] <= d[d < 0.0] + 1e-12).all(), name
        overlapping += int((d < 0.0).sum())
    assert overlapping > 100


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_tiny_gaps_of_cylinders_are_exact_to_rounding(a, b) -> None:
    """However small the gap, it is known to rounding."""
    kernel = compiled(a, b)
    rng = np.random.default_rng(12)
    x, y = rows(a, rng, 4000, 0.6), rows(b, rng, 4000, 0.6)
    outputs = kernel(x, y)
    x, y, outputs = (v[outputs[:, 0] > 0.0] for v in (x, y, outputs))
    for gap in (1e-1, 1e-3, 1e-6, 1e-9, 1e-12, 0.0):
        at = moved(b, y, np.eye(3), (gap - outputs[:, :1]) * outputs[:, 1:4])
        near = kernel(x, at)
        assert np.abs(near[:, 0] - gap).max() < 2e-14, gap
        assert off_surface(a, x, near[:, 4:7]).max() < 2e-14 and off_surface(b, at, near[:, 7:10]).max() < 2e-14, gap
        assert np.abs(near[:, 1:4] - outputs[:, 1:4]).max() < 3e-15 / gap + 1e-13 if gap else True


@pytest.mark.costly
@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_collision_queries_of_cylinders_agree_with_the_distance(a, b) -> None:
    (na, core_a), (nb, core_b) = CORES[a], CORES[b]

    def near(x, y, most):
        return lw.expr.where(within(Solid(core_a(x)), Solid(core_b(y)), most[0]), 1.0, 0.0)

    kernel = lw.compile(near, x=na, y=nb, most=1)
    rng = np.random.default_rng(13)
    for _, x, y in cases(a, b):
        d = compiled(a, b)(x, y)[:, 0]
        for most in (np.zeros(MANY), rng.uniform(0.0, 0.5, MANY), np.maximum(d - 1e-9, 0.0), np.maximum(d + 1e-9, 0.0)):
            outputs = kernel(x, y, most[:, None]).ravel()
            clear = np.abs(d - most) > 1e-12
            assert np.array_equal(outputs[clear] == 1.0, (d <= most)[clear])


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_witness_points_of_cylinders_in_float32_are_accurate(a, b) -> None:
    """Normals by cross products are used without a comparison with rounding errors."""
    rng = np.random.default_rng(14)
    x, y = rows(a, rng, 2000, 0.5), rows(b, rng, 2000, 0.5)
    outputs, single = compiled(a, b)(x, y), compiled(a, b)(x.astype(np.float32), y.astype(np.float32))
    assert single.dtype == np.float32 and np.isfinite(single).all()
    assert np.quantile(np.abs(single[:, 0] - outputs[:, 0]), 0.99) < 1e-5
    off = np.maximum(off_surface(a, x, single[:, 4:7]), off_surface(b, y, single[:, 7:10]))
    assert np.quantile(off, 0.99) < 1e-5
