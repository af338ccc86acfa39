"""Robots with polytopes: boxes as hulls have the distances of boxes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import linkwork as lw
from linkwork.shapes import Box, Polytope

SIZE = (0.12, 0.08, 0.2)
LINKS = ("base", "upper_arm_proximal", "forearm_proximal", "wrist", "flange")


def hull(size, more=0):
    """A box by its vertices, and points on its edges."""
    corners = [tuple(0.5 * s * x for s, x in zip(size, signs, strict=True)) for signs in product((-1, 1), repeat=3)]
    return Polytope(np.array(corners + [(0.5 * size[0], 0.5 * size[1], 0.01 * k) for k in range(more)]))


def robots():
    """The same boxes on links of an arm: as they are, and every second one as a hull, of two sizes."""
    arm = lw.load("arm7")
    for frame in arm.tree.frames:
        if frame.collisions:
            arm = arm.with_collisions(frame.name)
    plain = hulls = arm
    for k, link in enumerate(LINKS):
        plain = plain.with_collisions(link, Box(SIZE))
        hulls = hulls.with_collisions(link, hull(SIZE, 4 * (k == 3)) if k % 2 else Box(SIZE))
    return plain, hulls


@pytest.mark.slow(every=9)
def test_convex_hulls_of_box_corners_have_the_distances_of_boxes() -> None:
    plain, hulls = robots()
    scene = lw.Scene().with_box("crate", (0.3, 0.2, 0.4), lw.pose((0.5, 0.1, 0.4), rpy=(0.3, 0.2, 0.1)))
    q = plain.random_configuration(seed=3, size=200)
    expected, distances = plain.distances(q, scene), hulls.distances(q, scene)
    assert distances.pairs == expected.pairs and {("base", "wrist"), ("upper_arm_proximal", "flange")} < {
        *distances.pairs
    }
    assert np.abs(distances.distance - expected.distance).max() < 1e-12 and (expected.distance < 0.0).any()
    clear = (expected.unique > 0.5) & (np.abs(expected.distance) > 1e-6)
    assert clear.mean() > 0.7 and np.abs(distances.normal - expected.normal)[clear].max() < 1e-7
    assert (
        np.abs(distances.point_b - distances.point_a - distances.normal * distances.distance[..., np.newaxis]).max()
        < 1e-12
    )
    corners = 0.5 * np.array([*product((-1.0, 1.0), repeat=3)]) * SIZE
    for k, (a, b) in enumerate(distances.pairs):
        for link, points, sign in ((a, distances.point_a, 1.0), (b, distances.point_b, -1.0)):
            if link in LINKS:
                X, n = plain.pose(q, link), sign * distances.normal[:, k]
                reached = np.einsum("nij,cj,ni->nc", X[:, :3, :3], corners, n).max(1) + (X[:, :3, 3] * n).sum(1)
                assert np.abs((points[:, k] * n).sum(1) - reached).max() < 1e-12  # on the side that faces the other
    assert np.array_equal(hulls.in_collision(q, scene), expected.distance.min(-1) <= 0.0)
    margin = float(np.median(expected.distance.min(-1)))
    assert np.array_equal(hulls.in_collision(q, scene, margin=margin), expected.distance.min(-1) <= margin)


@pytest.mark.slow(every=5)
def test_motions_of_convex_hulls_are_certified_like_motions_of_equal_boxes() -> None:
    """Vertices of a robot's hulls are constants in checks of configurations and of motions."""
    plain, hulls = robots()
    scene = lw.Scene().with_box("crate", (0.3, 0.2, 0.4), lw.pose((0.5, 0.1, 0.4), rpy=(0.3, 0.2, 0.1)))
    q = plain.random_configuration(seed=4, size=24)
    expected, check = (robot.is_motion_free(q, q + 0.1, scene) for robot in (plain, hulls))
    assert np.array_equal(check.status, expected.status) and len({*check.status.tolist()}) > 1
    assert np.abs(check.clearance - expected.clearance)[check.free].max() < 1e-9
    hit = plain.in_collision(q, scene)
    assert np.array_equal(hulls.in_collision(q, scene), hit) and [hulls.in_collision(x, scene) for x in q] == [*hit]
