"""Hulls and fits: against SciPy's hulls, supports in many directions, and known shapes."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from linkwork import shapes
from linkwork.shapes import Box, Capsule, Cylinder, Ellipsoid, HalfSpace, Mesh, Polytope, Rounded, Sphere, convex_hull
from linkwork.shapes.hull_start import scaled_points

RNG = np.random.default_rng(3)
DIRECTIONS = RNG.normal(size=(600, 3))
DIRECTIONS /= np.linalg.norm(DIRECTIONS, axis=1, keepdims=True)
TURN = np.linalg.qr(RNG.normal(size=(3, 3)))[0]


def grid(count, turn):
    """Corners of a cube, and many points in it, in its sides and in its edges."""
    corners = [[x, y, z] for x in (-3, 3) for y in (-3, 3) for z in (-3, 3)]
    return np.concatenate([RNG.integers(-3, 4, (count, 3)), corners]) @ turn


def test_convex_hulls_equal_scipys() -> None:
    cases: list[np.ndarray] = [
        RNG.normal(size=(n, 3)) * 10.0**k + 10.0**k for n in (4, 9, 60, 2000) for k in (-9, 0, 9)
    ]
    cases += [DIRECTIONS[:100], Cylinder(1.0, 2.0).support(DIRECTIONS[:100])]
    for points in cases:
        hull, expected = Polytope(points), ConvexHull(points)
        assert hull.volume == pytest.approx(expected.volume, rel=1e-12)
        assert {tuple(points[k]) for k in expected.vertices} == set(hull.vertices)
        assert len(hull.triangles) == 2 * len(hull.vertices) - 4
        normals, offsets = hull.planes
        assert (points @ normals.T - offsets).max() <= 1e-13 * np.ptp(points)
    for points in (grid(400, np.eye(3)), grid(400, TURN), grid(3, TURN) + np.array([1e3, 0, 0])):
        cube = Polytope(points)
        assert len(cube.vertices) == 8 and len(cube.triangles) == 12 and len(cube.planes[0]) == 6
        assert cube.volume == pytest.approx(216.0, rel=1e-12)
    thin = Polytope(grid(100, np.eye(3)) * [1.0, 1.0, 1e-8])
    assert len(thin.vertices) == 8 and thin.volume == pytest.approx(2.16e-6)
    repeated = Polytope([*Box((1, 1, 1)).support(DIRECTIONS)] * 3)
    assert (
        repeated == Polytope(Box((1, 1, 1)).support(DIRECTIONS)) and hash(repeated) and "8 vertices" in repr(repeated)
    )


def test_convex_hulls_of_nearly_planar_points_are_closed_and_contain_all_points() -> None:
    around = np.linspace(0.0, 2.0 * np.pi, 90, endpoint=False)
    rings = [np.stack([np.cos(around), np.sin(around), np.full(90, z)], axis=1) for z in np.linspace(0.0, 1.0, 12)]
    tube = np.concatenate(rings)
    cases = [tube @ TURN, *(RNG.integers(-2, 3, (150, 3)) + 10.0**-k * RNG.normal(size=(150, 3)) for k in range(9, 17))]
    for points in cases:
        hull = Polytope(points)
        corners, triangles = np.array(hull.vertices), np.array(hull.triangles)
        edges = {(t[k], t[k - 2]) for t in hull.triangles for k in range(3)}
        assert len(edges) == 3 * len(triangles) and edges == {(b, a) for a, b in edges}
        assert len(triangles) == 2 * len(corners) - 4
        normals, offsets = hull.planes
        assert (points @ normals.T - offsets).max() <= 2e-13 * np.ptp(points)
    assert len(Polytope(cases[0]).vertices) == 180 and Polytope(tube).vertices == Polytope(tube[::-1]).vertices[::-1]


def test_copies_of_a_polytope_equal_it_before_and_after_its_vertices_are_computed() -> None:
    first, second = Polytope(grid(50, TURN)), Polytope(grid(70, TURN))
    bounds = first.bounding_sphere, first.origin_radius
    for copied in (pickle.loads(pickle.dumps(first)), copy.deepcopy(first), copy.copy(first)):
        assert copied == first and copied.triangles == first.triangles and hash(copied) == hash(first)
        assert (copied.bounding_sphere, copied.origin_radius) == bounds == (first.bounding_sphere, first.origin_radius)
    assert {*second.vertices} == {*first.vertices} and not hasattr(first, "corners")


def test_outer_hull_of_few_points_contains_them() -> None:
    points = Ellipsoid((0.5, 1.0, 2.0)).support(DIRECTIONS[:40]) @ TURN + [5.0, 0.0, 0.0]
    whole, outer = convex_hull(points), convex_hull(points, max_vertices=14)
    normals, offsets = outer.planes
    assert 8 <= len(outer.vertices) <= 14 and (points @ normals.T - offsets).max() <= 1e-12
    assert whole.volume < outer.volume < 1.2 * whole.volume
    farther = ((outer.support(DIRECTIONS) - whole.support(DIRECTIONS)) * DIRECTIONS).sum(axis=1).max()
    assert 0.8 * outer.overestimate < farther <= outer.overestimate


@pytest.mark.slow(every=5)
def test_outer_hulls_contain_all_points_and_state_their_overestimate() -> None:
    ball = Ellipsoid((0.5, 1.0, 2.0)).support(DIRECTIONS[:120]) @ TURN + [5.0, 0.0, 0.0]
    whole = convex_hull(ball)
    assert whole.overestimate == 0.0 and convex_hull(whole, max_vertices=120) == whole
    last = math.inf
    for most, volume in ((8, 1.8), (16, 1.25), (32, 1.1)):
        outer = convex_hull(ball, max_vertices=most)
        normals, offsets = outer.planes
        assert len(outer.vertices) <= most
        assert (ball @ normals.T - offsets).max() <= 1e-12
        assert whole.volume < outer.volume < volume * whole.volume
        farther = ((outer.support(DIRECTIONS) - whole.support(DIRECTIONS)) * DIRECTIONS).sum(axis=1)
        assert 0.8 * outer.overestimate < farther.max() <= outer.overestimate < last
        last = outer.overestimate
    many = Ellipsoid((0.5, 1.0, 2.0)).support(DIRECTIONS)
    outer = convex_hull(many, max_vertices=32)  # of 600 corners
    normals, offsets = outer.planes
    assert (many @ normals.T - offsets).max() <= 1e-12 and outer.volume < 1.13 * convex_hull(many).volume
    plate = Rounded(Box((0.1, 0.2, 0.01)), 0.003).support(DIRECTIONS[:200])
    assert convex_hull(plate, max_vertices=16).volume < 1.1 * convex_hull(plate).volume
    can = Cylinder(0.1, 1.0).support(DIRECTIONS[:100])
    assert convex_hull(can, max_vertices=32).volume < 1.05 * convex_hull(can).volume


@pytest.mark.slow(every=5)
def test_fitted_shapes_contain_their_body_and_are_tight() -> None:
    bodies = (Capsule(0.2, 1.0), Box((1.0, 2.0, 3.0)), Ellipsoid((0.2, 0.5, 1.0)), Cylinder(0.1, 1.0), Sphere(0.3))
    bodies += (
        Rounded(Polytope(RNG.normal(size=(12, 3))), 0.1),
        shapes.Cone(0.4, 0.3),
        Rounded(shapes.Cone(0.4, 1.0), 0.1),
    )
    for body in bodies:
        points = body.support(DIRECTIONS) @ TURN.T + [1.0, 2.0, 3.0]
        for fit in (shapes.bounding_sphere, shapes.bounding_capsule, shapes.bounding_box):
            for around, contained in ((body, body.support(DIRECTIONS)), (points[:40], points[:40])):
                fitted = fit(around)
                R, p = np.array(fitted.origin.rotation.rows()), np.array([*fitted.origin.translation])
                far = ((fitted.shape.support(DIRECTIONS @ R) @ R.T + p) * DIRECTIONS).sum(axis=1)
                farther = far - (contained @ DIRECTIONS.T).max(axis=0)
                assert farther.min() >= -1e-12, (fit, body)
                assert (
                    farther.max() <= fitted.overestimate + 1e-12 and fitted.overestimate <= 1.5 * farther.max() + 0.05
                ), (fit, body)
    capsule = shapes.bounding_capsule(Capsule(0.2, 1.0).support(DIRECTIONS) @ TURN.T)
    assert capsule.shape.volume < 1.001 * Capsule(0.2, 1.0).volume and capsule.overestimate < 0.02
    assert shapes.bounding_capsule(Capsule(0.2, 1.0)).shape == Capsule(0.2, 1.0)
    box = shapes.bounding_box(Box((1, 2, 3)).support(DIRECTIONS) @ TURN.T)
    assert np.allclose(sorted(box.shape.size), [1, 2, 3]) and box.overestimate < 1e-9
    for r, points in (
        (1.0, DIRECTIONS[:50]),
        (0.5 * math.sqrt(3.0), Box((1, 1, 1)).support(DIRECTIONS)),
        (2.0, [[0, 0, 0], [4, 0, 0]]),
    ):
        assert shapes.bounding_sphere(points).shape.radius == pytest.approx(r, rel=0.03 if r == 1.0 else 1e-12)
    square = [[0, 0, 1], [2, 0, 1], [0, 2, 1], [2, 2, 1]]  # flat
    assert shapes.bounding_sphere(square).overestimate == pytest.approx(math.sqrt(2.0), abs=1e-5)
    assert shapes.bounding_box(square).shape.volume < 1e-4
    assert shapes.bounding_capsule([[0, 0, 0], [0, 0, 1], [1e-3, 0, 0.5]]).shape.length > 0.9


def test_capsules_and_boxes_around_few_points_contain_them_and_are_tight() -> None:
    box = shapes.bounding_box(Box((1.0, 2.0, 3.0)).support(DIRECTIONS[:60]) @ TURN.T)
    assert np.allclose(sorted(box.shape.size), [1.0, 2.0, 3.0]) and box.overestimate < 1e-9
    assert np.allclose(sorted(shapes.bounding_box(Cylinder(0.1, 1.0)).shape.size), [0.2, 0.2, 1.0])
    true = Capsule(0.2, 1.0)
    for around, volume in ((true.support(DIRECTIONS[:60]) @ TURN.T, true.volume), (shapes.Cone(0.4, 0.3), 0.3)):
        fit = shapes.bounding_capsule(around)
        points = around.support(DIRECTIONS) if isinstance(around, shapes.Shape) else around
        local = (points - [*fit.origin.translation]) @ np.array(fit.origin.rotation.rows())
        local[:, 2] -= np.clip(local[:, 2], -0.5 * fit.shape.length, 0.5 * fit.shape.length)
        assert np.linalg.norm(local, axis=1).max() <= fit.shape.radius + 1e-12
        assert fit.shape.volume < 1.02 * volume


def test_degenerate_points_and_wrong_fits_of_hulls_are_refused() -> None:
    bad = {
        r"polytope: vertices: expected at least four points, got 3 points": lambda: Polytope(np.eye(3)),
        r"polytope: vertices: .* not in one plane, got 5 points": lambda: Polytope(
            [*np.eye(3), (0.5, 0.5, 0), (0, 0.5, 0.5)]
        ),
        r"not in one plane, got 20 points": lambda: Polytope(RNG.normal(size=(20, 3)) * [1.0, 1.0, 1e-12]),
        r"not in one plane, got 9 points": lambda: Polytope(np.ones((9, 3))),
        r"expected at least four points, got 0 points": lambda: Polytope([]),
        r"polytope: vertices: expected points \(n, 3\) \[m\], got .*nan": lambda: Polytope(
            [*np.eye(3), (math.nan, 0, 0)]
        ),
        r"polytope: vertices: expected points \(n, 3\) \[m\], got an array of shape \(4, 2\)": lambda: Polytope(
            np.eye(4)[:, :2]
        ),
        r"below 1e100 m, got 1e\+120": lambda: Polytope(np.eye(4)[:, :3] * 1e120),
        r"polytope: vertices: .* got 3": lambda: Polytope(3),
        r"convex_hull: max_vertices: expected None or an integer >= 8, got 3": lambda: convex_hull(DIRECTIONS, 3),
        r"convex_hull: max_vertices: .* got 16.0": lambda: convex_hull(DIRECTIONS, 16.0),
        r"convex_hull: .* it is round": lambda: convex_hull(Sphere(1.0)),
        r"convex_hull: .* got Cone.* it is round": lambda: convex_hull(shapes.Cone(0.3, 0.8)),
        r"convex_hull: .* got Rounded.* it is round": lambda: convex_hull(Rounded(Box((1.0, 0.4, 0.7)), 0.1)),
        r"not in one plane, got 4 points": lambda: Polytope(np.outer([0.0, 1.0, 3.0, 4.0], [0.3, -0.7, 1.1])),
        r"bounding_sphere: .* known size, got HalfSpace": lambda: shapes.bounding_sphere(HalfSpace()),
        r"bounding_box: .* known size, got Mesh": lambda: shapes.bounding_box(Mesh("a")),
        r"bounding_capsule: expected distinct points": lambda: shapes.bounding_capsule(np.ones((4, 3))),
        r"bounding_sphere: expected distinct points": lambda: shapes.bounding_sphere(np.ones((4, 3))),
        r"bounding_box: expected distinct points": lambda: shapes.bounding_box(np.ones((4, 3))),
        r"bounding_box: .* got an empty array": lambda: shapes.bounding_box([]),
    }
    for message, make in bad.items():
        with pytest.raises(ValueError, match=message):
            make()


def test_hulls_of_few_corners_and_spheres_of_round_shapes_are_exact() -> None:
    """A hull of as many corners as permitted is itself; the smallest sphere of a cylinder touches both rims."""
    box = Box((0.3, 0.7, 1.1))
    for points in (box, box.support(DIRECTIONS) @ TURN.T):
        hull = convex_hull(points, 8)
        assert len(hull.vertices) == 8 and hull.overestimate == 0.0
        assert hull.volume == pytest.approx(box.volume, rel=1e-12)
    fit = shapes.bounding_sphere(Cylinder(0.05, 0.24))
    assert fit.shape.radius == pytest.approx(math.hypot(0.05, 0.12), rel=1e-14)
    small = shapes.bounding_sphere([(0.1, 0.2, 0.3), (0.13, 0.24, 0.3)])
    assert small.shape.radius == pytest.approx(0.025, rel=1e-9) and [*small.origin.translation][2] == pytest.approx(0.3)


def test_thin_points_have_hulls_down_to_the_stated_thickness() -> None:
    """Relative to the extent: hulls are exact from 1e-10, and boxes of less than 5e-7 are thickened by 5e-7."""
    plate = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.35, 0.35) for z in (-0.5, 0.5)])
    extent = math.hypot(1.0, 0.7)
    thin = Polytope(plate * [1.0, 1.0, 4e-10 * extent] @ TURN.T)
    assert thin.volume == pytest.approx(0.7 * 4e-10 * extent, rel=1e-4)
    for scale in ([1.0, 1.0, 5e-11 * extent], [1.0, 5e-11 / 0.7, 1e-3 * 5e-11]):
        with pytest.raises(ValueError, match="not in one plane"):
            Polytope(plate * scale @ TURN.T)
    box = shapes.bounding_box(plate * [1.0, 1.0, 2e-6])
    assert min(box.shape.size) == pytest.approx(2e-6, rel=1e-6)
    box = shapes.bounding_box(plate * [1.0, 1.0, 2e-7])
    assert min(box.shape.size) == pytest.approx(2e-7 + 1e-6 * extent, rel=1e-3)
    with pytest.raises(ValueError, match=r"^too large$"):
        scaled_points(plate * 1e103)
    assert 0.5 < scaled_points(plate * 1e90)[1] < 2.0
