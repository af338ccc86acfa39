"""Identities of signed distances in random and aligned placements: a sample of `benchmarks.distance.identities`.

Faces are flush, and heights, centers and axes are equal, to the bit, to rounding, or but for 1e-12 or 1e-9.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.distance.identities import CHUNK, violations
from benchmarks.distance.placements import FAMILIES, PLACEMENTS, Bodies, about, core, families, kernel, measured, pairs

import linkwork as lw
from linkwork.geometry.pairs.convex.direction_branch_and_bound import rotational_symmetry, search_depth
from linkwork.geometry.pairs.convex.minkowski_difference import Difference
from linkwork.spatial import Pose

MOVED = (0.0, 1e-17, 1e-16, 1e-15, 1e-12, 1e-9)  # [m] of touching bodies
TURNED = (0.0, 1e-15, 1e-12, 1e-9, 1e-6)  # [rad]

BOTH_ORDERS = {
    ("point", "cone"),
    ("segment", "box"),
    ("segment", "cylinder"),
    ("box", "cylinder"),
    ("box", "wedge"),
    ("cone", "hull"),
    ("cone", "octahedron"),
    ("ellipsoid", "octahedron"),
    ("wedge", "octahedron"),
    ("half-space", "hull"),
}
"""One of each algorithm and of each rule of which body is first; pairs of one kind are the same in both orders."""

HARD = (
    (("ellipsoid", "octahedron"), "aligned", 0, 5061, False),
    (("ellipsoid", "hull"), "aligned", 1, 9463, False),
    (("ellipsoid", "wedge"), "random", 1, 8071, False),
    (("cone", "wedge"), "random", 1, 2027, False),
    (("cylinder", "wedge"), "aligned", 1, 7606, False),
    (("segment", "ellipsoid"), "aligned", 3, 1166, True),
    (("segment", "cylinder"), "aligned", 8, 1896, True),
    (("cone", "octahedron"), "aligned", 0, 1014, True),
    (("cone", "octahedron"), "aligned", 1, 9152, True),
    (("cylinder", "cylinder"), "aligned", 0, 65, True),
    (("cylinder", "cylinder"), "aligned", 8, 4884, True),
    (("box", "octahedron"), "aligned", 0, 6376, True),
    (("wedge", "octahedron"), "aligned", 0, 8001, True),
    (("wedge", "octahedron"), "aligned", 0, 1235, True),
    (("wedge", "wedge"), "aligned", 0, 9451, True),
)
"""Pairs in level valleys, beside faces, and with ties: family, placement, piece, index, and whether they are tied."""


@pytest.mark.costly
@pytest.mark.parametrize("kinds", FAMILIES)
def test_random_and_aligned_pairs_satisfy_identities_of_points_normals_and_depths(kinds: tuple[str, str]) -> None:
    both = kinds in BOTH_ORDERS or kinds[0] == kinds[1]
    for placement in PLACEMENTS:
        a, b = pairs(kinds, placement, 300, seed=1)
        worst, _ = violations(a, b, searched=10, both=both)
        for off in (worst.surface, worst.planes):
            assert off[~b.beside].max() < 1e-11, placement
            assert off.max() < 1e-8, placement
        assert worst.between.max() < 1e-14
        assert worst.order.max() < 1e-11
        assert worst.agree.max() < 0.5
        assert worst.search.max() < 2e-6
        assert worst.point.max() < 1e-9
        assert worst.slope[~b.beside].max() < 1e-3, placement
        assert np.mean(worst.slope > 1e-3) < 5e-3, placement
    for _, placement, chunk, index, tied in (x for x in HARD if x[0] == kinds):
        a, b = (x.take(np.array([index])) for x in pairs(kinds, placement, CHUNK, chunk=chunk))
        worst, _ = violations(a, b, searched=1, both=both)
        for off in (worst.surface, worst.planes, worst.order, worst.search):
            assert off.max() < 1e-9, (placement, index)
        assert worst.between.max() < 1e-14 and worst.agree.max() < 0.5, (placement, index)
        if tied:
            assert measured(a, b)[4][0] == 0.0, (placement, index)
    for placement in PLACEMENTS:
        a, b = touching(kinds, placement, 500)
        d, n, p, q, _ = measured(a, b)
        assert np.abs(d).max() < 2e-6 and np.abs(np.linalg.norm(n, axis=1) - 1.0).max() < 1e-14, placement
        assert np.abs(q - p - d[:, None] * n).max() < 1e-14, placement
        if kinds[0] != "half-space":  # whose normal is its own
            assert np.abs(a.height(n) + b.height(-n) + d).max() < 1e-9, placement
    kernel.cache_clear()


def touching(kinds: tuple[str, str], placement: str, count: int) -> tuple[Bodies, Bodies]:
    """Bodies moved along their normal until they touch, then moved and turned about the point by next to nothing."""
    a, b = pairs(kinds, placement, count, seed=1)
    rng = np.random.default_rng(3)
    d, n, p, _, _ = measured(a, b)
    X = b.X.copy()
    X[:, :3, 3] -= d[:, None] * n + p
    R = about(rng.normal(size=(count, 3)), rng.choice(TURNED, count, p=[0.4, 0.15, 0.15, 0.15, 0.15]))
    X[:, :3] = R @ X[:, :3]
    X[:, :3, 3] += p + rng.choice(MOVED, (count, 3), p=[0.5, 0.1, 0.1, 0.1, 0.1, 0.1]) * rng.normal(size=(count, 3))
    return a, replace(b, X=X)


def test_overlapping_hulls_without_ties_are_reported_as_unique() -> None:
    """A wedge and an octahedron that overlap at random have no two equally near facets."""
    a, b = pairs(("wedge", "octahedron"), "random", 2000, seed=1)
    d, *_, unique = measured(a, b)
    assert (d < 0.0).sum() > 500 and unique[d < 0.0].min() == 1.0


def test_identity_tests_cover_every_pair_of_shapes_with_a_formula() -> None:
    assert {("cone", "hull"), ("box", "cylinder"), ("half-space", "ellipsoid"), ("wedge", "wedge")} <= {*FAMILIES}

    class NewCore:
        pass

    with pytest.raises(LookupError, match="no placements are drawn of NewCore"):
        families((NewCore,))


@pytest.mark.slow(every=5)
def test_distance_of_a_corner_level_with_the_end_of_a_cylinder_has_the_exact_normal() -> None:
    can, octahedron = lw.shapes.Cylinder(0.2, 0.4), lw.shapes.Polytope(0.2 * np.vstack([np.eye(3), -np.eye(3)]))
    expected, normal = np.hypot(0.4, 0.5) - 0.2, np.array([-0.4, 0.5]) / np.hypot(0.4, 0.5)
    for above in (0.0, 1e-12, -1e-12, 1e-9, -1e-9):
        X = lw.pose((-0.4, 0.7, 0.2 + above))
        forward = lw.signed_distance(can, np.eye(4), octahedron, X)
        backward = lw.signed_distance(octahedron, X, can, np.eye(4))
        for d, n, p, q in (
            (forward.distance, forward.normal, forward.point_a, forward.point_b),
            (backward.distance, -backward.normal, backward.point_b, backward.point_a),
        ):
            assert abs(d - expected) < 1e-15
            assert np.abs(q - (-0.4, 0.5, 0.2 + above)).max() < 1e-14 and np.abs(q - p - d * n).max() < 1e-14
            assert np.abs(n[:2] - normal).max() < 1e-14 and abs(n[2]) < 1e-8
            assert abs(np.hypot(p[0], p[1]) - 0.2) < 1e-14 and p[2] < 0.2 + 1e-12
            assert abs(n[1] * q[0] - n[0] * q[1]) < 1e-14  # the gradient of a hinge about the cylinder's axis
        assert float(forward.unique) == float(backward.unique) == 1.0


@pytest.mark.slow(every=5)
def test_cube_beside_a_cylinder_is_reported_to_have_many_nearest_points() -> None:
    """Nearest points on a face, on an edge, and of a hull that is not recognised as a box."""
    corners = np.array(list(itertools.product((-0.1, 0.1), repeat=3)))
    can = lw.shapes.Cylinder(0.2, 0.2)
    for cube in (lw.shapes.Box((0.2, 0.2, 0.2)), lw.shapes.Polytope(corners)):
        for yaw, distance in ((0.0, 0.3), (np.pi / 4.0, 0.4 - 0.1 * np.sqrt(2.0))):
            distances = lw.signed_distance(can, np.eye(4), cube, lw.pose((0.6, 0.0, 0.0), rpy=(0.0, 0.0, yaw)))
            assert abs(distances.distance - distance) < 1e-15 and float(distances.unique) == 0.0
            assert np.abs(distances.point_a[:2] - (0.2, 0.0)).max() < 1e-14 and abs(distances.point_a[2]) <= 0.1 + 1e-14
            assert np.abs(distances.point_b - distances.point_a - (distance, 0.0, 0.0)).max() < 1e-14


@pytest.mark.slow(every=5)
def test_depth_searches_of_shapes_with_parallel_symmetry_axes_need_few_steps() -> None:
    """A rod in a cone about one axis is separated by a ring of equal directions: the depth is tied."""

    def searched(X: object, Y: object, x: object, y: object) -> tuple[object, object]:
        rod, cone = core("segment", Pose.of(X), x), core("cone", Pose.of(Y), y)
        difference = Difference.of(rod, cone)
        result = search_depth(difference, [], gap=1e-6, symmetry=rotational_symmetry(difference))
        return result.depth, result.steps

    function = lw.compile(searched, X=(4, 4), Y=(4, 4), x=1, y=2)
    for x, y, z, radius, half, length in (
        (0.0, 0.0, 0.0, 0.6, 0.15, 0.55),
        (0.0, 0.0, -0.4, 0.35, 0.35, 0.55),
        (1e-9, 0.0, 0.5, 0.2, 0.4, 0.6),
        (0.05, -0.02, 0.1, 0.3, 0.6, 0.35),
    ):
        W = lw.pose((0.3, -0.2, 0.1), rpy=(0.4, 1.1, -0.7))
        rod, cone = _body("segment", W, [length]), _body("cone", W @ lw.pose((x, y, z)), [radius, half])
        depth, steps = function(rod.X[0], cone.X[0], rod.sizes[0], cone.sizes[0])
        d, n, _, _, unique = (v[0] for v in measured(rod, cone))
        assert steps < 100
        assert abs(d + depth) < 2e-6 * depth
        assert violations(rod, cone, searched=1)[0].search.max() < 1e-9
        if x == 0.0 and abs(W[:3, 2] @ n) < 0.999:
            assert unique == 0.0


@pytest.mark.slow(every=5)
def test_overlaps_with_several_normals_of_least_depth_are_reported_as_not_unique() -> None:
    """Normals that are no images of each other by the symmetries of the bodies."""
    for kinds, sizes, R, p in (
        (("cylinder", "octahedron"), ([0.15, 0.4], []), [[-1, 0, 0], [0, 0, 1], [0, 1, 0]], (0, -0.2, 0)),
        (("cylinder", "octahedron"), ([0.45, 0.35], []), [[0, 1, 0], [1, 0, 0], [0, 0, -1]], (-0.2, 0, 0)),
        (("cylinder", "cone"), ([0.15, 0.6], [0.15, 0.5]), [[0, 0, 1], [1, 0, 0], [0, 1, 0]], (-0.5, 0, 0)),
    ):
        shape = 1 if kinds[1] == "octahedron" else 0
        a, b = _body(kinds[0], np.eye(4), sizes[0]), _body(kinds[1], lw.pose(p) @ _turned(R), sizes[1], shape)
        assert measured(a, b)[0][0] < -0.1 and measured(a, b)[4][0] == 0.0, kinds


@pytest.mark.slow(every=5)
def test_penetration_depths_with_nearly_equal_minima_are_exact() -> None:
    """A cylinder in a hull, a rod next to a cone's axis, and cones about one axis but for 1e-9: other directions part
    them with almost as little."""
    beside = lw.pose((0.0, -9.999999717180685e-10, 0.0))
    rod = lw.pose((-1e-9, -1e-12, 0.0)) @ _turned([[0, 1, 0], [1, 0, 0], [0, 0, -1]])
    can = lw.pose((0.35, 0.0, 0.45)) @ _turned([[0, 0, 1], [-1, 0, 0], [0, -1, 0]])
    for a, b in (
        (_body("cylinder", np.eye(4), [0.6, 0.3]), _body("hull", can, [0.1, 0.45, 0.6], 1)),
        (_body("segment", _turned([[0, 1, 0], [-1, 0, 0], [0, 0, 1]]), [0.55]), _body("cone", rod, [0.4, 0.5])),
        (_body("cone", np.eye(4), [0.55, 0.25]), _body("cone", beside @ lw.pose(rpy=(3e-10, 1e-9, 0)), [0.3, 0.6])),
    ):
        worst, _ = violations(a, b, searched=1)
        assert worst.order.max() < 1e-14 and worst.search.max() < 1e-9, a.kind


def _body(kind: str, X: np.ndarray, sizes: list[float], shape: int = 0) -> Bodies:
    return Bodies(kind, np.array([X]), np.array([sizes], float), np.array([shape]), np.array([False]))


def _turned(R: list[list[int]]) -> np.ndarray:
    X = np.eye(4)
    X[:3, :3] = R
    return X
