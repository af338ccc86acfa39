"""Lengths of rays to solids on floats: ends lie on the surfaces, and nothing is hit before them."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.geometry import (
    BoxCore,
    ConeCore,
    CylinderCore,
    EllipsoidCore,
    HalfSpaceCore,
    PointCore,
    SegmentCore,
    Solid,
    signed_distance,
)
from linkwork.geometry.ray_casting import ray_length
from linkwork.model.random_tree import random_pose
from linkwork.spatial import Vec3

MOST = 5.0


def solids(rng):
    X = random_pose(rng)
    return [
        Solid(HalfSpaceCore(X.translation, X.rotation @ Vec3(0.48, -0.6, 0.64)), 0.1),
        Solid(PointCore(X.translation), 0.4),
        Solid(BoxCore(X, Vec3(0.3, 0.4, 0.2))),
        Solid(CylinderCore(X, 0.3, 0.4)),
        Solid(SegmentCore(X.translation, X.rotation @ Vec3(0.2, 0.3, -0.1)), 0.25),
        Solid(EllipsoidCore(X, Vec3(0.5, 0.3, 0.4))),
        Solid(ConeCore(X, 0.4, 0.3)),
        Solid(BoxCore(X, Vec3(0.3, 0.2, 0.2)), 0.1),
    ]


def test_rays_end_on_the_surface_of_the_first_solid_they_enter() -> None:
    rng = np.random.default_rng(4)
    outcomes = []
    for _ in range(2):
        for solid in solids(rng):
            core = solid.core
            pose = getattr(core, "pose", None)
            middle = pose.translation if pose else getattr(core, "center", None) or core.point
            clearance = lambda p, solid=solid: float(signed_distance(Solid(PointCore(p)), solid).distance)  # noqa: E731
            for start, aim in ((1.2, 0.1), (1.2, 0.6), (0.05, 0.3)):
                o = middle + Vec3(*(rng.normal(size=3) * start).tolist())
                d = middle + Vec3(*(rng.normal(size=3) * aim).tolist()) - o
                d = d * (1.0 / np.sqrt(d.dot(d)))
                t = float(ray_length(o, d, [solid], MOST))
                before = [clearance(o + d * s) for s in np.linspace(0.0, t - 1e-3 if t > 1e-3 else 0.0, 9).tolist()]
                if clearance(o) <= 0.0:
                    assert t == 0.0
                    outcomes.append("inside")
                elif t < MOST:
                    assert abs(clearance(o + d * t)) < 2e-7 and min(before) > 0.0, core
                    outcomes.append("hit")
                else:
                    assert t == MOST and min(before) > 0.0, core
                    assert min(clearance(o + d * s) for s in np.linspace(0.0, MOST, 60).tolist()) > -1e-3, core
                    outcomes.append("missed")
    assert min(outcomes.count(x) for x in ("inside", "hit", "missed")) >= 5


def test_rays_hit_the_nearest_of_several_solids_within_their_length() -> None:
    d = Vec3(0.48, -0.6, 0.64)
    o = Vec3(0.1, 0.2, 0.3)
    balls = [Solid(PointCore(o + d * t), 0.25) for t in (2.0, 1.0)]
    cone = Solid(ConeCore(random_pose(np.random.default_rng(5)), 1e-3, 1e-3))
    assert ray_length(o, d, balls, MOST) == pytest.approx(0.75, abs=1e-15)
    assert ray_length(o, d, balls[:1], 1.75 + 1e-9) == pytest.approx(1.75, abs=1e-15)
    assert ray_length(o, d, balls[:1], 1.75 - 1e-9) == 1.75 - 1e-9
    assert ray_length(o, d, [*balls, cone], MOST) == pytest.approx(0.75, abs=1e-15)
    assert ray_length(o, d * -1.0, balls, MOST) == MOST


@pytest.mark.parametrize("offset", [1e-9, -1e-9])
def test_rays_parallel_to_a_face_hit_a_box_or_cylinder_only_inside_their_slabs(offset: float) -> None:
    X = random_pose(np.random.default_rng(6))
    for core, height in ((BoxCore(X, Vec3(0.3, 0.4, 0.2)), 0.2), (CylinderCore(X, 0.3, 0.2), 0.2)):
        o, d = X.point(Vec3(-1.0, 0.0, height + offset)), X.rotation @ Vec3(1.0, 0.0, 0.0)
        expected = pytest.approx(0.7, abs=1e-12) if offset < 0.0 else MOST
        assert ray_length(o, d, [Solid(core)], MOST) == expected


def test_rays_close_to_a_plane_and_towards_both_ends_of_a_capsule_have_the_known_length() -> None:
    X = random_pose(np.random.default_rng(7))
    n, d = X.rotation @ Vec3(0.48, -0.6, 0.64), X.rotation @ Vec3(0.36, 0.48, -0.8)
    plane = Solid(HalfSpaceCore(X.translation, n), 0.1)
    for height in (1e-3, 0.05, 0.7):  # above the plane, which is 0.1 higher than its core
        expected = height / -n.dot(d)
        assert ray_length(X.translation + n * (0.1 + height), d, [plane], MOST) == pytest.approx(expected, abs=1e-13)
    axis = Vec3(0.48, -0.6, 0.64)
    capsule = Solid(SegmentCore(X.translation, axis * 0.4), 0.25)
    for sign in (1.0, -1.0):
        start = X.translation - axis * (sign * 1.5)
        assert ray_length(start, axis * sign, [capsule], MOST) == pytest.approx(0.85, abs=1e-13)
