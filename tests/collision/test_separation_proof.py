"""Bounds of single shapes that proofs of separation use: each contains its shape, and none is farther than it."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.collision import separation_proof
from linkwork.geometry import (
    BoxCore,
    ConeCore,
    CylinderCore,
    EllipsoidCore,
    PointCore,
    PolytopeCore,
    SegmentCore,
    Solid,
    signed_distance,
)
from linkwork.geometry.solids import anchor
from linkwork.geometry.support_points import support
from linkwork.model.random_tree import random_pose
from linkwork.spatial import Vec3


def solids(rng):
    X = random_pose(rng)
    hull = tuple(Vec3(*v) for v in rng.uniform(-0.2, 0.3, (6, 3)).tolist())
    return [
        Solid(PointCore(X.translation), 0.1),
        Solid(SegmentCore(X.translation, X.rotation @ Vec3(0.2, 0.3, -0.1)), 0.05),
        Solid(BoxCore(X, Vec3(0.1, 0.3, 0.2)), 0.05),
        Solid(CylinderCore(X, 0.2, 0.3)),
        Solid(ConeCore(X, 0.2, 0.3)),
        Solid(EllipsoidCore(X, Vec3(0.3, 0.1, 0.2))),
        Solid(PolytopeCore(X, hull)),
    ]


def to_segment(p, a, b):
    t = np.clip((p - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0)
    return np.linalg.norm(p - a - t * (b - a))


def test_shapes_are_within_a_radius_of_their_axis_and_attain_it() -> None:
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(300, 3)).tolist()
    for solid in solids(rng)[1:]:
        core = solid.core
        vertices = core.vertices if isinstance(core, PolytopeCore) else ()
        reach = {EllipsoidCore: 0.3, PolytopeCore: max((np.linalg.norm([*v]) for v in vertices), default=0.0)}
        points, radius = separation_proof._hull_points(solid, reach.get(type(core), np.nan))
        ends = [np.array([*p]) for p in (*points, *points)][:2]
        farthest = [np.array([*support(core, Vec3(*d))], dtype=float) for d in directions]
        if len(points) == 1:
            assert [*points[0]] == [*anchor(core)]
            distances = [np.linalg.norm(p - ends[0]) for p in farthest]
        else:
            distances = [to_segment(p, *ends) for p in farthest]
        assert max(distances) <= radius + 1e-12, core
        assert max(distances) >= 0.98 * radius, core


def test_distance_bounds_are_below_the_distance_and_those_of_boxes_are_exact_across_faces() -> None:
    rng = np.random.default_rng(1)
    least = {}
    for point in rng.uniform(-1.0, 1.0, (12, 3)).tolist():
        ball = Solid(PointCore(Vec3(*point)), 0.02)
        for solid in solids(np.random.default_rng(2)):
            bound, distance = separation_proof._distance_bound(ball, solid), signed_distance(ball, solid).distance
            assert bound <= max(distance, 0.0) + 1e-9, solid.core
            kind = type(solid.core)
            least[kind] = min(least.get(kind, np.inf), distance - bound)
    assert max(least.values()) < 0.08 and least[BoxCore] == least[SegmentCore] == least[PointCore] == 0.0
    X = random_pose(np.random.default_rng(4))
    box = Solid(BoxCore(X, Vec3(0.1, 0.3, 0.2)), 0.05)
    beside = Solid(BoxCore(X.__class__(X.rotation, X.point(Vec3(0.7, 0.1, 0.2))), Vec3(0.2, 0.1, 0.3)), 0.02)
    assert separation_proof._distance_bound(box, beside) == pytest.approx(0.4 - 0.07, abs=1e-14)
    flat = tuple(Vec3(x, y, z) for x in (-0.1, 0.3) for y in (-0.2, 0.1) for z in (0.0, 0.5))
    (around,) = separation_proof._containing(Solid(PolytopeCore(X, flat), 0.02))
    assert [*around.core.half] == pytest.approx([0.2, 0.15, 0.25]) and around.radius == 0.02
    assert [*around.core.pose.translation] == pytest.approx([*X.point(Vec3(0.1, -0.05, 0.25))])


def test_boxes_of_joint_angles_are_halved_until_the_proof_or_the_limit_ends() -> None:
    """One coordinate from −1 to 1: overlap at 0.3, or separation everywhere, with boxes of half width at most 0.1."""

    def evaluate(hit):
        def function(centers, halves):
            inside = (np.abs(centers - hit) <= halves).all(axis=1)
            small = halves[:, 0] <= 0.1
            return inside & small, ~small, np.ones_like(halves)

        return function

    lower, upper = np.array([-1.0]), np.array([1.0])
    proof = separation_proof.prove_on_boxes(lower, upper, evaluate(np.inf), 100)
    assert proof.verdict is True
    assert separation_proof.prove_on_boxes(lower, upper, evaluate(0.3), 100).verdict is False
    assert separation_proof.prove_on_boxes(lower, upper, evaluate(np.inf), 30).verdict is None  # 31 boxes are needed
    assert separation_proof.prove_on_boxes(lower, upper, evaluate(np.inf), 31).verdict is True


def test_halves_of_boxes_of_configurations_meet_in_the_middle_and_cover_them() -> None:
    centers, halves = np.array([[1.0, -2.0], [0.5, 0.25]]), np.array([[0.5, 1.0], [2.0, 1.0]])
    middles, widths = separation_proof._halved(centers, halves, np.array([[0.1, 0.2], [0.4, 0.3]]))
    assert middles.tolist() == [[1.0, -2.5], [-0.5, 0.25], [1.0, -1.5], [1.5, 0.25]]
    assert widths.tolist() == [[0.5, 0.5], [1.0, 1.0]] * 2
