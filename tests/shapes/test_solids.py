"""Volumes, inertias and farthest points of shapes, against hulls of many points and identities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import linkwork as lw
from linkwork.geometry import SOLIDS, ConeCore, HalfSpaceCore, PolytopeCore, SegmentCore, solid
from linkwork.shapes import (
    Box,
    Capsule,
    Compound,
    Cone,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Mesh,
    PointCloud,
    Polytope,
    Rounded,
    Sphere,
)
from linkwork.shapes.mass_properties import of_triangles
from linkwork.spatial import Pose, Rotation, Vec3

RNG = np.random.default_rng(0)
WEDGE = Polytope(RNG.normal(size=(20, 3)) * [0.3, 0.5, 0.2] + [1.0, 2.0, -1.0])
SHAPES = (
    Sphere(0.7),
    Box((0.2, 0.5, 0.8)),
    Cylinder(0.3, 1.1),
    Capsule(0.3, 0.8),
    Cone(0.4, 0.9),
    Cone(0.9, 0.3),
    Ellipsoid((0.2, 0.5, 0.9)),
    WEDGE,
)
EVERY = (*SHAPES, *(Rounded(shape, 0.15) for shape in SHAPES), Rounded(Rounded(Cone(0.4, 0.9), 0.1), 0.2))
DIRECTIONS = RNG.normal(size=(8_000, 3))


def matrix(J):
    return np.array([[*J.x], [*J.y], [*J.z]])


def weighed(points):
    """Volume, centre and inertia of the hull of points, by SciPy's facets: independent of the package."""
    hull = ConvexHull(points)
    v = points[hull.simplices] - points.mean(axis=0)
    volumes = np.abs(np.linalg.det(v)) / 6.0
    center = (volumes[:, None] * v.sum(axis=1)).sum(axis=0) / (4.0 * volumes.sum())
    sums = v.sum(axis=1)
    second = np.einsum("t,tki,tkj->ij", volumes, v, v) + np.einsum("t,ti,tj->ij", volumes, sums, sums)
    second = second / (20.0 * volumes.sum()) - np.outer(center, center)
    return volumes.sum(), points.mean(axis=0) + center, np.trace(second) * np.eye(3) - second


@pytest.mark.slow(every=3)
def test_volumes_and_inertias_of_shapes_equal_those_of_hulls_of_support_points() -> None:
    for shape in EVERY:
        flat = isinstance(shape, Cylinder | Cone)  # many points in a plane take Qhull long
        volume, center, inertia = weighed(np.unique(shape.support(DIRECTIONS[: 1000 if flat else None]), axis=0))
        assert 0.995 * shape.volume <= volume <= shape.volume * (1.0 + 1e-12), shape
        assert np.allclose([*shape.center], center, atol=1e-3), shape
        assert np.abs(matrix(shape.unit_inertia()) - inertia).max() <= 1e-3 * np.trace(inertia), shape


def test_support_points_bound_the_shape_in_all_directions() -> None:
    few = DIRECTIONS[:500]
    for shape in EVERY:
        points = shape.support(few)
        along = points @ few.T
        assert (along <= np.diag(along) + 1e-12).all(), shape
        assert np.allclose(shape.support(few[7] * 1e-200), shape.support(few[7]), atol=1e-12)
        assert np.isfinite(shape.support([[0.0, 0.0, 0.0], [0.0, 0.0, -1.0]])).all()
        many = shape.support(DIRECTIONS)
        center, radius = shape.bounding_sphere
        far = np.linalg.norm(many - [*center], axis=1).max()
        assert far <= radius * (1.0 + 1e-12) and far >= 0.99 * radius, shape
        assert (
            0.99 * shape.origin_radius <= np.linalg.norm(many, axis=1).max() <= shape.origin_radius * (1.0 + 1e-12)
        ), shape
    assert Box((1, 2, 3)).support(np.zeros((2, 0, 3))).shape == (2, 0, 3)
    for wrong in ([1.0, 2.0], [[math.nan, 0.0, 0.0]]):
        with pytest.raises(ValueError, match=r"sphere: support: directions: expected \(\.\.\., 3\), got"):
            Sphere(1.0).support(wrong)
    for endless in (HalfSpace(), Mesh("a.stl"), Rounded(HalfSpace(), 0.1)):
        assert endless.volume is endless.origin_radius is endless.bounding_sphere is endless.unit_inertia() is None
        with pytest.raises(ValueError, match="farthest points of"):
            endless.support((0, 0, 1))


def test_rounded_shapes_have_exact_volumes_and_inertias() -> None:
    x, y, z, r = 0.2, 0.5, 0.8, 0.15  # Steiner's formula
    rounded = x * y * z + 2.0 * (x * y + y * z + x * z) * r + math.pi * (x + y + z) * r * r + 4.0 / 3.0 * math.pi * r**3
    assert Rounded(Box((x, y, z)), r).volume == pytest.approx(rounded, rel=1e-14)
    pairs = [
        (Rounded(Sphere(0.5), 0.2), Sphere(0.7)),
        (Rounded(Capsule(0.5, 1.5), 0.2), Capsule(0.7, 1.5)),
        (Rounded(Ellipsoid((0.5, 0.5, 0.5)), 0.2), Sphere(0.7)),
        (Rounded(Box((x, y, z)), 0.0), Box((x, y, z))),
        (Rounded(Polytope(Box((x, y, z)).support(DIRECTIONS[:99])), r), Rounded(Box((x, y, z)), r)),
        (Rounded(Cone(0.4, 0.9), 0.0), Cone(0.4, 0.9)),
        (Rounded(Cylinder(0.3, 1.1), 0.0), Cylinder(0.3, 1.1)),
        (Rounded(Ellipsoid((0.2, 0.5, 0.9)), 0.0), Ellipsoid((0.2, 0.5, 0.9))),
        (Capsule(0.3, 0.0), Sphere(0.3)),
        (Rounded(Rounded(WEDGE, 0.1), 0.05), Rounded(WEDGE, 0.15)),
    ]
    # A cylinder shrinks to its disc's rounding, a torus's hull; a cone as flat as a disc does too.
    pairs.append((Rounded(Cylinder(0.3, 1e-13), r), Rounded(Cone(0.3, 1e-13), r)))
    # A segment that is grown is a capsule.
    pairs.append((Rounded(Cylinder(1e-9, 1.0), 0.2), Capsule(0.2, 1.0)))
    for rounded_shape, expected in pairs:
        assert rounded_shape.volume == pytest.approx(
            expected.volume, rel=2e-8 if expected == Capsule(0.2, 1.0) else 1e-11
        )
        assert np.allclose([*rounded_shape.center], [*expected.center], atol=1e-12), rounded_shape
        assert np.allclose(
            matrix(rounded_shape.unit_inertia()), matrix(expected.unit_inertia()), rtol=2e-8, atol=1e-11
        ), rounded_shape
    thin = Ellipsoid((0.05, 0.5, 1.0))  # by Steiner's formula, at a radius where its terms can be told apart
    v = [Rounded(thin, r).volume for r in (0.0, 0.5, 1.0, 2.0)]
    terms = np.linalg.solve([[r, r * r, r**3] for r in (0.5, 1.0, 2.0)], np.array(v[1:]) - v[0])
    assert v[0] == pytest.approx(thin.volume, rel=1e-12)
    assert terms[2] == pytest.approx(4.0 / 3.0 * math.pi, rel=1e-11)


def test_link_has_the_mass_and_centre_of_mass_of_its_shapes() -> None:
    cone = lw.Link("cone", Cone(0.1, 0.4).at((0, 0, 0.2)), mass=2.0)
    assert np.allclose(cone.com, [0.0, 0.0, 0.1])
    both = lw.Link("both", Cone(0.1, 0.4), Cone(0.1, 0.4).at(np.diag([1.0, -1.0, -1.0, 1.0])), density=1000.0)
    assert both.com[2] == pytest.approx(0.0, abs=1e-15)
    wedge = lw.Link("wedge", WEDGE, density=500.0)
    assert np.allclose(wedge.com, [*WEDGE.center]) and wedge.mass == pytest.approx(500.0 * WEDGE.volume)
    with pytest.raises(ValueError, match="the volume of HalfSpace"):
        lw.Link("floor", HalfSpace(), density=1.0)


def test_every_shape_can_be_converted_to_a_solid() -> None:
    X = Pose(Rotation.from_rpy(0.3, -0.2, 0.9), Vec3(1.0, 2.0, 3.0))
    assert {type(shape) for shape in (*EVERY, HalfSpace())} == set(SOLIDS)
    z = Vec3(X.rotation.x.z, X.rotation.y.z, X.rotation.z.z)
    capsule, cone = solid(Capsule(0.2, 3.0), X), solid(Cone(0.2, 3.0), X)
    assert capsule.core == SegmentCore(X.translation, z * 1.5) and capsule.radius == 0.2
    assert cone.core == ConeCore(X, 0.2, 1.5)
    assert solid(HalfSpace(), X).core == HalfSpaceCore(X.translation, z)
    grown = solid(Rounded(Rounded(WEDGE, 0.1), 0.2), X)
    assert isinstance(grown.core, PolytopeCore) and grown.radius == pytest.approx(0.3)
    assert np.array_equal([[*v] for v in grown.core.vertices], WEDGE.vertices)


def test_surfaces_without_volume_have_no_moments_and_compounds_of_unknown_parts_no_size() -> None:
    corners = RNG.normal(size=(3, 3))
    flat = of_triangles(corners, np.array([[0, 1, 2], [0, 2, 1]]))
    assert flat.volume == 0.0 and not flat.second.any()
    assert flat.center == pytest.approx(corners.mean(axis=0), abs=1e-15)
    offset = Pose(Rotation.identity(), Vec3(0.3, -0.4, 1.2))
    assert Compound([(Sphere(0.5), offset), Box((0.2, 0.5, 0.8))]).origin_radius == pytest.approx(1.8)
    assert Compound([(Mesh("a.stl"), offset), Sphere(0.5)]).origin_radius is None


def test_support_points_along_axes_and_for_very_short_directions_are_exact() -> None:
    for shape in (Sphere(0.7), Box((0.2, 0.5, 0.8)), Ellipsoid((0.2, 0.5, 0.9))):
        assert shape.support([1.0, 0.0, 0.0])[0] == pytest.approx(-shape.support([-1.0, 0.0, 0.0])[0], abs=1e-15)
        for direction in ([0.3, -0.7, 0.4], [1.0, 0.0, 0.0]):
            for size in (1e-300, 1e-8, 1e300):
                at = shape.support(np.array(direction) * size)
                assert at == pytest.approx(shape.support(direction), rel=1e-14)
    with pytest.raises(ValueError, match=r"point cloud: points: expected an array \(n, 3\) .* of shape \(5, 4\)"):
        PointCloud(np.zeros((5, 4)))


def test_invalid_solid_shapes_are_refused() -> None:
    bad = {
        r"capsule: radius: expected a positive number \[m\], got -1": lambda: Capsule(-1, 1),
        r"capsule: length: expected a non-negative number \[m\], got -1": lambda: Capsule(1, -1),
        r"cone: length: .* got 0": lambda: Cone(1, 0),
        r"ellipsoid: radii: expected 3 positive numbers": lambda: Ellipsoid((1, 1, 0)),
        r"rounded: radius: .* non-negative number \[m\], got -0.1": lambda: Rounded(Sphere(1), -0.1),
        r"rounded: radius: .* got nan": lambda: Rounded(Sphere(1), math.nan),
        r"rounded: shape: expected a convex shape, got Mesh": lambda: Rounded(Mesh("a"), 0.1),
        r"rounded: shape: expected a convex shape, got 3": lambda: Rounded(3, 0.1),  # type: ignore[arg-type]
    }
    for message, make in bad.items():
        with pytest.raises(ValueError, match=message):
            make()
