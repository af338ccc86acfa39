"""Collision query within a distance: consistent with the distance, and right at contact."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.geometry import EllipsoidCore, HalfSpaceCore, PolytopeCore, SignedDistance, Solid, signed_distance
from linkwork.geometry.pairs import WITHIN, separation_once, signed_distance_once, within
from linkwork.geometry.pairs.pair_dispatch import has_own
from linkwork.spatial import Pose, Rotation, Vec3

from .pairs import CORES, rows

CLOSED = [("point", "segment"), ("segment", "box"), ("box", "box"), ("box", "point"), ("cylinder", "point")]


def check(kernel, x, y, distances) -> None:
    """A kernel's answers about rows, for radii and distances, beside the signed distances of grown solids."""
    yes = 0
    for r in (0.0, 0.05):
        gaps = distances - 1.5 * r
        for d in (0.0, 0.2):
            outputs = kernel(x, y, r, d) > 0.5
            clear = np.abs(gaps - d) > 1e-8
            assert np.array_equal(outputs[clear], gaps[clear] <= d)
            yes += int(outputs.sum())
        open_ = gaps > 1e-3  # just beyond what they are apart, and just within
        for step, said in ((1e-7, True), (-1e-7, False)):
            assert ((kernel(x[open_], y[open_], r, gaps[open_] + step) > 0.5) == said).all()
    assert yes > 10


def grown(core, r=0.0, share=1.0):
    """A core with a share of a radius."""
    return Solid(core, share * r)


@pytest.mark.costly
@pytest.mark.parametrize(("a", "b"), CLOSED)
def test_collision_queries_agree_with_the_sign_of_the_distance(a: str, b: str) -> None:
    rng = np.random.default_rng(3)
    x, y = rows(a, rng, 2000, 0.5), rows(b, rng, 2000, 0.5)
    (na, core_a), (nb, core_b) = CORES[a], CORES[b]

    def function(x, y, r, d):
        return lw.expr.where(within(grown(core_a(x), r), grown(core_b(y), r, 0.5), d), 1.0, 0.0)

    measured = lw.compile(lambda x, y: signed_distance(grown(core_a(x)), grown(core_b(y))).distance, x=na, y=nb)
    check(lw.compile(function, x=na, y=nb, r=(), d=()), x, y, measured(x, y))


def hull(x):
    """A box by its vertices."""
    box = CORES["box"][1](x)
    signs = [(i, j, k) for i in (-1.0, 1.0) for j in (-1.0, 1.0) for k in (-1.0, 1.0)]
    return PolytopeCore(box.pose, [Vec3(i * box.half.x, j * box.half.y, k * box.half.z) for i, j, k in signs])


def test_collision_queries_by_search_agree_with_equal_shapes_that_have_closed_forms() -> None:
    rng, (n, box), (m, cylinder) = np.random.default_rng(3), CORES["box"], CORES["cylinder"]
    x, y, z, c = (rows(kind, rng, 1000, 0.5) for kind in ("box", "box", "cylinder", "point"))

    def hulls(x, y, r, d):
        return lw.expr.where(within(grown(hull(x), r), grown(box(y), r, 0.5), d), 1.0, 0.0)

    def balls(x, y, r, d):
        ball = EllipsoidCore(Pose(Rotation.identity(), Vec3.of(y)), Vec3(0.2, 0.2, 0.2))
        return lw.expr.where(within(grown(cylinder(x), r), grown(ball, r, 0.5), d), 1.0, 0.0)

    boxes = lw.compile(lambda x, y: signed_distance(grown(box(x)), grown(box(y))).distance, x=n, y=n)
    check(lw.compile(hulls, x=n, y=n, r=(), d=()), x, y, boxes(x, y))
    point = CORES["point"][1]
    apart = lw.compile(lambda x, y: signed_distance(grown(cylinder(x)), grown(point(y))).distance - 0.2, x=m, y=3)
    check(lw.compile(balls, x=m, y=3, r=(), d=()), z, c, apart(z, c))


def test_collision_queries_separate_parallel_and_degenerate_shapes() -> None:
    eye = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    cases = {
        ("segment", "segment"): [
            ([0, 0, 0, 1, 0, 0], [0, 0.5, 0, 1, 0, 0], 0.5),
            ([0, 0, 0, 0, 0, 0], [0, 0, 3, 0, 0, 0], 3.0),
            ([0, 0, 0, 1, 0, 0], [3, 0, 0, 1, 0, 0], 1.0),
        ],
        ("segment", "box"): [
            ([0, 0, 2, 1, 0, 0], [*eye, 0, 0, 0, 1, 1, 1], 1.0),
            ([0, 0, 0, 0, 0, 0], [*eye, 0, 0, 0, 1, 1, 0], 0.0),
        ],
        ("box", "box"): [([*eye, 0, 0, 0, 1, 1, 1], [*eye, 0, 2.5, 0, 1, 1, 1], 0.5)],
        ("box", "cylinder"): [
            ([*eye, 0, 0, 0, 1, 1, 1], [*eye, 0, 0, 2.5, 1, 1], 0.5),
            ([*eye, 0, 0, 0, 1, 1, 1], [*eye, 0, 0, 0, 0.5, 0.5], 0.0),
        ],
    }
    for (a, b), kinds_ in cases.items():
        for x, y, gap in kinds_:
            solid_a, solid_b = Solid(CORES[a][1]([*map(float, x)])), Solid(CORES[b][1]([*map(float, y)]))
            assert within(solid_a, solid_b, gap + 1e-9) and within(solid_b, solid_a, gap + 1e-9), (a, b, x, y)
            assert gap == 0.0 or not within(solid_a, solid_b, gap - 1e-9), (a, b, x, y)
    plane, ball = (
        Solid(HalfSpaceCore(Vec3.zero(), Vec3(0.0, 0.0, 1.0))),
        Solid(CORES["point"][1]([0.0, 0.0, 1.0]), 0.25),
    )
    assert within(plane, ball, 0.75 + 1e-12) and not within(ball, plane, 0.74)
    assert all(has_own(*kinds) for kinds in WITHIN)
    with pytest.raises(TypeError, match="is not supported"):
        within(plane, plane, 0.0)


@pytest.mark.slow(every=3)
@pytest.mark.parametrize(("a", "b"), [("box", "hull"), ("hull", "hull"), ("box", "cylinder")])
def test_separation_bounds_equal_distances_of_separated_shapes(a: str, b: str) -> None:
    """The same bits and normals unless the bodies almost touch, and no positive value for overlaps."""
    rng, ((na, core_a), (nb, core_b)) = np.random.default_rng(4), (CORES[a], CORES[b])
    x, y = rows(a, rng, 500, 0.5), rows(b, rng, 500, 0.5)

    def values(result: SignedDistance) -> tuple:
        return result.distance, lw.expr.array([*result.normal]), lw.expr.array([*result.on_a, *result.on_b])

    def measured(x, y):
        first, second = grown(core_a(x), 0.02), grown(core_b(y), 0.02)
        return (*values(signed_distance_once(first, second)), *values(separation_once(first, second)))

    distance, normal, points, separation, other_normal, other_points = lw.compile(measured, x=na, y=nb)(x, y)
    apart = distance > 1e-3
    assert 50 < apart.sum() < 450 and (separation[distance <= 0.0] <= 0.0).all()
    assert np.array_equal(separation[apart], distance[apart])
    assert np.array_equal(other_normal[apart], normal[apart]) and np.array_equal(other_points[apart], points[apart])
