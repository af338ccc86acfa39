"""Support points and bounding spheres of cores: compared with sampled points, and identities of supports."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.geometry import (
    SUPPORTS,
    BoxCore,
    ConeCore,
    CylinderCore,
    EllipsoidCore,
    HalfSpaceCore,
    PointCore,
    PolytopeCore,
    SegmentCore,
    Solid,
    bounding_sphere,
    signed_distance,
    support,
)
from linkwork.spatial import Pose, Vec3

CORNERS = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [-1, -1, -1], [-1, -1, -1], [0.1, 0.1, 0.1]])
CORES = {  # from a pose and three sizes
    PointCore: lambda X, s: PointCore(X.translation),
    SegmentCore: lambda X, s: SegmentCore(X.translation, X.rotation @ Vec3(0.0, 0.0, s[0])),
    BoxCore: lambda X, s: BoxCore(X, Vec3.of(s)),
    CylinderCore: lambda X, s: CylinderCore(X, s[0], s[1]),
    ConeCore: lambda X, s: ConeCore(X, s[0], s[1]),
    EllipsoidCore: lambda X, s: EllipsoidCore(X, Vec3.of(s)),
    PolytopeCore: lambda X, s: PolytopeCore(X, [Vec3.of(c * s) for c in CORNERS]),
}


def sampled(kind, s, rng):
    """Points of a core in its own frame, n of them."""
    x, turn = rng.uniform(-1.0, 1.0, size=(400, 3)), rng.uniform(0.0, 2.0 * np.pi, size=400)
    ring = np.stack([np.cos(turn), np.sin(turn)], 1)
    match kind.__name__:
        case "PointCore":
            return 0.0 * x
        case "SegmentCore":
            return x * [0.0, 0.0, s[0]]
        case "BoxCore":
            return np.sign(x) * s
        case "CylinderCore":
            return np.column_stack([s[0] * ring, s[1] * np.sign(x[:, 0])])
        case "ConeCore":
            return np.column_stack([s[0] * ring * (x[:, :1] < 0.8), s[1] * np.where(x[:, 0] < 0.8, -1.0, 1.0)])
        case "EllipsoidCore":
            return x / np.linalg.norm(x, axis=1)[:, None] * s
        case _:
            return CORNERS * s


@pytest.mark.slow(every=3)
def test_support_points_of_shapes_are_the_farthest_points() -> None:
    rng = np.random.default_rng(0)
    assert set(CORES) == set(SUPPORTS)
    for kind, core in CORES.items():

        def answers(X, s, d, core=core):
            placed = core(Pose.of(X), s)
            ball = bounding_sphere(placed)
            plane = HalfSpaceCore(Vec3(0.3, 0.2, 0.1), Vec3.of(d))
            below = signed_distance(Solid(placed, 0.25), Solid(plane))
            plane_result = (*below.normal, *below.on_a, *below.on_b, below.unique)
            reach = (*support(placed, Vec3.of(d)), *ball.center, ball.radius)
            return np.array([*reach, below.distance, *plane_result], dtype=object)

        kernel = lw.compile(answers, X=(4, 4), s=3, d=3)
        for sizes in ((0.5, 0.7, 0.9), (0.7, 0.2, 0.0), (0.0, 0.0, 0.0)):
            s, d = np.array(sizes), rng.normal(size=(30, 3))
            d = np.vstack([d, np.eye(3), -np.eye(3)])
            d /= np.linalg.norm(d, axis=1)[:, None]
            X = lw.pose(rng.normal(size=3), rpy=rng.normal(size=3))
            outputs = kernel(X, s, d @ X[:3, :3].T)
            assert np.isfinite(outputs).all(), kind
            local = (outputs[:, :3] - X[:3, 3]) @ X[:3, :3]
            points = sampled(kind, s, rng)
            heights = np.einsum("nk,nk->n", local, d)
            assert (heights >= (points @ d.T).max(0) - 1e-14).all(), kind
            assert (heights <= (points @ d.T).max(0) + 0.2).all(), kind
            ball = np.linalg.norm(points @ X[:3, :3].T + X[:3, 3] - outputs[0, 3:6], axis=1)
            assert ball.max() <= outputs[0, 6] + 1e-14 and ball.max() >= 0.8 * outputs[0, 6], kind
            down = kernel(X, s, -d @ X[:3, :3].T)[:, :3]  # the half-space's own support is the other way
            deep = np.einsum("nk,nk->n", d @ X[:3, :3].T, down - [0.3, 0.2, 0.1]) - 0.25
            assert np.abs(outputs[:, 7] - deep).max() < 1e-14, kind
            segment = outputs[:, 14:17] - outputs[:, 11:14]
            assert np.abs(segment - outputs[:, 7:8] * outputs[:, 8:11]).max() < 1e-14, kind


def test_nearest_points_on_a_half_space_are_unique_unless_a_face_is_parallel_to_it() -> None:
    X = Pose.of(np.eye(4))
    plane = Solid(HalfSpaceCore(Vec3(0.0, 0.0, -2.0), Vec3(0.0, 0.0, 1.0)))
    tilted = Solid(HalfSpaceCore(Vec3(0.0, 0.0, -2.0), Vec3(0.6, 0.48, 0.64)))
    for kind, core in CORES.items():
        flat = signed_distance(plane, Solid(core(X, np.array([0.5, 0.6, 0.7])))).unique
        assert flat == (kind in (PointCore, SegmentCore, EllipsoidCore, PolytopeCore)), kind
        assert signed_distance(tilted, Solid(core(X, np.array([0.5, 0.6, 0.7])))).unique == 1.0, kind
    for unbounded in (lambda: signed_distance(plane, plane), lambda: bounding_sphere(plane.core)):
        with pytest.raises(TypeError, match=r"half-?space"):
            unbounded()
