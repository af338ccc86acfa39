"""Identities of signed distances in random and aligned placements: a sample of `benchmarks.distance_identities`.

Faces are flush, and heights, centers and axes are equal, to the bit, to rounding, or but for 1e-12 or 1e-9.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from benchmarks.distance_identities import FAMILIES, PLACEMENTS, pairs, violations

import linkwork as lw

CURVED = [kinds for kinds in FAMILIES if {"cylinder", "cone"} & {*kinds} and "half-space" not in kinds]
FLAT = [("box", "box"), ("box", "hull"), ("hull", "hull"), ("box", "octahedron"), ("wedge", "wedge")]


@pytest.mark.parametrize("kinds", [*CURVED, *FLAT])
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_points_normals_and_depths(kinds: tuple[str, str], placement: str) -> None:
    a, b = pairs(kinds, placement, 4000, seed=1)
    worst = violations(a, b, searched=40)
    for off in (worst.surface, worst.planes):
        assert off[~b.beside].max() < 1e-11
        assert off.max() < 1e-7 and np.mean(off > 1e-9) < 1e-3
    assert worst.between.max() < 1e-14
    assert worst.order.max() < 1e-11
    assert worst.search.max() < 2e-6
    assert worst.point.max() < 1e-9
    # of two depths that are exactly the same, one whose normal is no image of the other's may stay hidden
    assert np.mean(worst.slope > 1e-3) < 3e-3


def test_a_corner_flush_with_the_end_of_a_cylinder() -> None:
    can, octahedron = lw.shapes.Cylinder(0.2, 0.4), lw.shapes.Polytope(0.2 * np.vstack([np.eye(3), -np.eye(3)]))
    expected, way = np.hypot(0.4, 0.5) - 0.2, np.array([-0.4, 0.5]) / np.hypot(0.4, 0.5)
    for above in (0.0, 1e-12, -1e-12, 1e-9, -1e-9):
        X = lw.pose((-0.4, 0.7, 0.2 + above))
        one = lw.signed_distance(can, np.eye(4), octahedron, X)
        other = lw.signed_distance(octahedron, X, can, np.eye(4))
        for d, n, p, q in (
            (one.distance, one.normal, one.point_a, one.point_b),
            (other.distance, -other.normal, other.point_b, other.point_a),
        ):
            assert abs(d - expected) < 1e-15
            assert np.abs(q - (-0.4, 0.5, 0.2 + above)).max() < 1e-14 and np.abs(q - p - d * n).max() < 1e-14
            assert np.abs(n[:2] - way).max() < 1e-14 and abs(n[2]) < 1e-8
            assert abs(np.hypot(p[0], p[1]) - 0.2) < 1e-14 and p[2] < 0.2 + 1e-12
            assert abs(n[1] * q[0] - n[0] * q[1]) < 1e-14  # the gradient of a hinge about the cylinder's axis
        assert float(one.unique) == float(other.unique) == 1.0


def test_a_cube_at_the_height_of_a_cylinder_has_many_nearest_points() -> None:
    """By a face, by an edge, and as a hull that does not know that it is a box."""
    corners = np.array(list(itertools.product((-0.1, 0.1), repeat=3)))
    can = lw.shapes.Cylinder(0.2, 0.2)
    for cube in (lw.shapes.Box((0.2, 0.2, 0.2)), lw.shapes.Polytope(corners)):
        for yaw, distance in ((0.0, 0.3), (np.pi / 4.0, 0.4 - 0.1 * np.sqrt(2.0))):
            found = lw.signed_distance(can, np.eye(4), cube, lw.pose((0.6, 0.0, 0.0), rpy=(0.0, 0.0, yaw)))
            assert abs(found.distance - distance) < 1e-15 and float(found.unique) == 0.0
            assert np.abs(found.point_a[:2] - (0.2, 0.0)).max() < 1e-14 and abs(found.point_a[2]) <= 0.1 + 1e-14
            assert np.abs(found.point_b - found.point_a - (distance, 0.0, 0.0)).max() < 1e-14


def test_depths_beside_level_valleys() -> None:
    """A cylinder in a hull, and a rod next to a cone's axis: other directions part them with almost as little."""
    for kinds, some in ((("cylinder", "hull"), 18057), (("segment", "cone"), 642), (("cone", "cone"), 154)):
        a, b = (x.take(np.array([some])) for x in pairs(kinds, "aligned", 20000))
        worst = violations(a, b, searched=1)
        assert worst.order.max() < 1e-14 and worst.search.max() < 1e-9, kinds
