"""Spheres around cores: through apex and rim of cones, about the boxes of polytopes, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.geometry import BoxCore, ConeCore, CylinderCore, HalfSpaceCore, PointCore, PolytopeCore, SegmentCore
from linkwork.geometry.cores import EXTENTS, bounding_sphere, core_in
from linkwork.geometry.support_points import support
from linkwork.geometry.surface_derivatives import surface
from linkwork.model.random_tree import random_pose
from linkwork.spatial import Vec3


def distances(points, sphere):
    return np.array([np.linalg.norm([*(p - sphere.center)]) for p in points], dtype=float)


@pytest.mark.light
@pytest.mark.parametrize("radius", [0.3, 0.799, 0.801, 2.0])
def test_sphere_of_a_cone_is_smallest(radius: float) -> None:
    """The length is 0.8: a slender cone touches the sphere at its apex and rim, a flat one with its rim alone."""
    X = random_pose(np.random.default_rng(0))
    sphere = bounding_sphere(ConeCore(X, radius, 0.4))
    rim = [X.point(Vec3(radius * np.cos(t), radius * np.sin(t), -0.4)) for t in (0.1, 1.3, 2.7, 4.0)]
    to_apex, *to_rim = distances([X.point(Vec3(0.0, 0.0, 0.4)), *rim], sphere)
    assert to_rim == pytest.approx([sphere.radius] * 4, abs=1e-15)
    if radius < 0.8:
        assert to_apex == pytest.approx(sphere.radius, abs=1e-15)
    else:
        assert to_apex < sphere.radius == radius


def test_sphere_of_a_polytope_is_centered_on_its_box_and_touches_a_vertex() -> None:
    X = random_pose(np.random.default_rng(1))
    v = np.random.default_rng(2).normal((0.3, -0.5, 0.8), size=(7, 3))
    sphere = bounding_sphere(PolytopeCore(X, tuple(Vec3(*p) for p in v.tolist())))
    middle = 0.5 * (v.min(0) + v.max(0))
    assert [*sphere.center] == pytest.approx([*X.point(Vec3(*middle.tolist()))], abs=1e-15)
    assert sphere.radius == pytest.approx(np.linalg.norm(v - middle, axis=1).max(), abs=1e-15)
    point = bounding_sphere(PolytopeCore(X, (Vec3(0.1, 0.2, 0.3),) * 4))
    assert point.radius == 0.0 and [*point.center] == pytest.approx([*X.point(Vec3(0.1, 0.2, 0.3))], abs=1e-15)


def test_unbounded_cores_are_refused_and_planes_are_transformed() -> None:
    plane = HalfSpaceCore(Vec3(0.1, 0.2, 0.3), Vec3(0.48, -0.6, 0.64))
    X = random_pose(np.random.default_rng(3))
    moved = core_in(X, plane)
    assert [*moved.normal] == [*(X.rotation @ plane.normal)] and [*moved.point] == [*X.point(plane.point)]
    with pytest.raises(TypeError, match="bounding_sphere: expected a bounded core, got a halfspace"):
        bounding_sphere(plane)
    with pytest.raises(TypeError, match="support: expected a bounded core, got a halfspace"):
        support(plane, Vec3(0.0, 0.0, 1.0))
    with pytest.raises(TypeError, match="surface: expected a convex core, got 3"):
        surface(3, plane.point, plane.normal)


def test_extents_bound_the_support_points_along_the_axes_of_the_world() -> None:
    """The extents of points, segments and boxes are exact."""
    X = random_pose(np.random.default_rng(3))
    cores = PointCore(Vec3(0.3, -0.1, 0.2)), SegmentCore(X.translation, Vec3(0.2, -0.5, 0.1))
    for core in (*cores, BoxCore(X, Vec3(0.2, 0.5, 0.1)), CylinderCore(X, 0.3, 0.4)):
        axes = np.eye(3).tolist()
        ends = [[support(core, Vec3(*(sign * x for x in axis))) for sign in (1.0, -1.0)] for axis in axes]
        half = [0.5 * (upper - lower).dot(Vec3(*axis)) for (upper, lower), axis in zip(ends, axes, strict=True)]
        extents = np.array([*EXTENTS[type(core)](core)], dtype=float)
        assert np.all(extents >= np.array(half, dtype=float) - 1e-14)
        assert isinstance(core, CylinderCore) or extents == pytest.approx(half, abs=1e-14)
