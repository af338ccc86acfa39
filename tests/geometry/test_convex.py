"""Convex bodies without a closed form: identities of signed distances, for each kind of body with another."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from linkwork.geometry import PolytopeCore, SegmentCore, Solid, signed_distance
from linkwork.geometry.pairs.convex.direction_branch_and_bound import _least
from linkwork.geometry.pairs.convex.minkowski_difference import Difference
from linkwork.geometry.pairs.convex.polytope_facets import nearest_facet
from linkwork.geometry.pairs.convex.polytope_sides import sides_of
from linkwork.model.random_tree import random_pose
from linkwork.spatial import Vec3

from .minkowski import signed_distance_of_hulls
from .pairs import SEARCHED, compiled, corners, extremes, heights, moved, off_surface, rotations, rows

SPREAD = 0.6
FLAT = ("segment", "box", "hull")
IDENTITY = np.eye(3).ravel()


def pairs(a, b, seed, many=60, spread=SPREAD):
    rng = np.random.default_rng(seed)
    return rng, rows(a, rng, many, spread), rows(b, rng, many, spread)


def shifted(b, y, shift):
    return moved(b, y, np.eye(3), shift)


@pytest.mark.costly
@pytest.mark.parametrize(("a", "b"), SEARCHED)
def test_distances_of_convex_shapes_satisfy_identities(a, b) -> None:
    kernel = compiled(a, b)
    rng, x, y = pairs(a, b, 0)
    outputs = kernel(x, y)
    d, n, on_a, on_b = outputs[:, 0], outputs[:, 1:4], outputs[:, 4:7], outputs[:, 7:10]
    assert np.isfinite(outputs).all() and (outputs[:, 10] == 1.0).all()
    assert 10 < (d < 0.0).sum() < 50
    assert np.abs(np.linalg.norm(n, axis=1) - 1.0).max() < 4e-15
    assert np.abs(on_b - on_a - d[:, None] * n).max() < 1e-14
    assert off_surface(a, x, on_a).max() < 1e-13 and off_surface(b, y, on_b).max() < 1e-13
    # planes across the normal leave the distance, and across no other direction do they leave more
    gap = lambda n: -heights(a, x, n) - heights(b, y, -n)  # noqa: E731
    assert np.abs(gap(n[:, None])[:, 0] - d).max() < 1e-13
    everywhere = rng.normal(size=(len(x), 1000, 3))
    for near in (None, 1e-1, 1e-3, 1e-5):
        directions = everywhere if near is None else n[:, None] + near * everywhere[:, :200]
        directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
        assert (gap(directions).max(axis=1) <= d + 1e-13).all(), near
    if a in FLAT and b in FLAT:
        exact = [signed_distance_of_hulls(corners(a, v), corners(b, w)) for v, w in zip(x, y, strict=True)]
        assert np.abs(d - exact).max() < 1e-14
    # the same bits alone and in any batch
    assert all(np.array_equal(kernel(x[k], y[k]), outputs[k]) for k in (0, 7, 59))
    assert all(np.array_equal(kernel(x[:k], y[:k]), outputs[:k]) for k in (1, 2, 3, 5, 9))
    assert np.array_equal(kernel(x[::-1], y[::-1]), outputs[::-1])
    # a motion of both, and of all sizes
    R, p = rotations(rng, 1)[0], rng.normal(size=3)
    far = kernel(moved(a, x, R, p), moved(b, y, R, p))
    assert np.abs(far[:, 0] - d).max() < 3e-14 and np.abs(far[:, 1:4] - n @ R.T).max() < 1e-9
    large = kernel(scaled(x, 1e3), scaled(y, 1e3))
    assert np.abs(large[:, 0] - 1e3 * d).max() < 3e-11 and np.abs(large[:, 1:4] - n).max() < 1e-9
    if a == b:
        back = kernel(y, x)
        assert np.abs(back[:, 0] - d).max() < 1e-14 and np.abs(back[:, 1:4] + n).max() < 1e-9


def scaled(x, factor):
    """About the origin."""
    x = x.copy()
    x[:, 9 if x.shape[1] > 6 else 0 :] *= factor
    return x


@pytest.mark.parametrize(("a", "b"), SEARCHED)
def test_moving_a_shape_changes_the_distance_by_at_most_the_displacement(a, b) -> None:
    """Bodies touch after moving by the distance; then the distance changes as the normal predicts."""
    kernel = compiled(a, b)
    rng, x, y = pairs(a, b, 1)
    outputs = kernel(x, y)
    d, n = outputs[:, 0], outputs[:, 1:4]
    for size in (1.0, 1e-3, 1e-9):
        displacement = size * rng.normal(size=(len(x), 3))
        moved_distance = kernel(x, shifted(b, y, displacement))[:, 0]
        assert (np.abs(moved_distance - d) <= np.linalg.norm(displacement, axis=1) + 3e-14).all(), size
    for gap in (0.3, 1e-2, 1e-4, 1e-9, 0.0, -1e-9):
        at = shifted(b, y, (gap - d)[:, None] * n)
        near = kernel(x, at)
        assert np.isfinite(near).all()
        error = np.abs(near[:, 0] - gap)  # deeper in, another face may be nearer
        assert error.max() < 1e-14 if gap >= 0.0 else (error.max() < 2e-9 and np.median(error) < 1e-14), gap
        assert np.abs(near[:, 7:10] - near[:, 4:7] - near[:, :1] * near[:, 1:4]).max() < 1e-14
        if gap > 1e-3 or b == "ellipsoid":
            assert np.abs(near[:, 1:4] - n).max() < 1e-7, gap
    # Of where B is, the distance is a convex function, whose slope is the normal: differences to both sides lie
    # between slopes here and there, of bodies that are apart, that overlap, and that hardly do.
    steps = ((None, 1e-5), (1e-3, 1e-5), (-1e-3, 1e-5), (0.0, 1e-3), (0.0, 1e-6))
    for gap, h in steps:
        at = y if gap is None else shifted(b, y, (gap - d)[:, None] * n)
        displacement = rng.normal(size=(len(x), 3))
        displacement /= np.linalg.norm(displacement, axis=1)[:, None]
        values = [kernel(x, shifted(b, at, s * h * displacement)) for s in (-1.0, 0.0, 1.0)]
        rises = [(after[:, 0] - before[:, 0]) / h for before, after in itertools.pairwise(values)]
        slopes = [(v[:, 1:4] * displacement).sum(1) for v in values]
        for k in (0, 1):
            assert (slopes[k] <= rises[k] + 3e-14 / h).all() and (rises[k] <= slopes[k + 1] + 3e-14 / h).all(), (gap, h)
        smooth = slopes[2] - slopes[0] < 1e-3
        assert smooth.sum() > 15 and (gap is not None or smooth.all()), (gap, h)


@pytest.mark.parametrize(("a", "b"), SEARCHED)
def test_distances_of_shapes_with_size_ratio_1000_are_accurate(a, b) -> None:
    kernel = compiled(a, b)
    for part in (1e-3, 1e3):
        _, x, y = pairs(a, b, 2, 40, 0.0)
        y[:, 12:] *= part
        displacement = np.random.default_rng(3).normal(size=(40, 3))
        at = shifted(b, y, displacement * (0.7 * max(part, 1.0)))
        outputs = kernel(x, at)
        size = max(part, 1.0)
        for gap in (None, 1e-9):
            at = at if gap is None else shifted(b, at, (gap - outputs[:, :1]) * outputs[:, 1:4])
            outputs = kernel(x, at)
            d, n = outputs[:, 0], outputs[:, 1:4]
            planes = -heights(a, x, n[:, None])[:, 0] - heights(b, at, -n[:, None])[:, 0]
            assert np.isfinite(outputs).all() and np.abs(planes - d).max() < 1e-14 * size, (part, gap)
            assert gap is None or np.abs(d - gap).max() < 3e-15 * size, (part, gap)
            off = np.maximum(off_surface(a, x, outputs[:, 4:7]), off_surface(b, at, outputs[:, 7:10]))
            sharp = gap is not None and (a, b) == ("cone", "hull")  # next to touching, points of a cone are known less
            assert off.max() < (1e-5 if sharp else 3e-13) * size, (part, gap)


@pytest.mark.parametrize(("a", "b"), SEARCHED)
def test_distance_of_convex_shapes_is_finite_at_every_finite_pose(a, b) -> None:
    """No NaN: far away, coincident, hardly apart, and with sizes of zero, next to zero, or very large."""
    kernel = compiled(a, b)
    rng, x, y = pairs(a, b, 4, 64)
    x, y = extremes(a, x, rng), extremes(b, y, rng)
    outputs = kernel(x, y)
    assert np.isfinite(outputs).all(), np.flatnonzero(~np.isfinite(outputs).all(1))


def test_unique_nearest_points_of_convex_shapes_are_reported_as_unique() -> None:
    """Apart and overlapping; faces on faces, lines on faces and concentric bodies have ties."""
    at = lambda p, sizes, R=IDENTITY: np.concatenate([R, p, np.ravel(sizes)])  # noqa: E731
    lying = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]).ravel()  # z along y
    askew = rotations(np.random.default_rng(5), 1)[0].ravel()
    cube, can = (1.0, 1.0, 1.0), (0.3, 0.5)
    box_can = compiled("box", "cylinder")
    slant = np.arctan2(0.3, 1.0)  # a cone's side, laid flat
    tipped = np.array([[np.sin(slant), 0.0, -np.cos(slant)], [0.0, 1.0, 0.0], [np.cos(slant), 0.0, np.sin(slant)]])
    down = np.array([[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]]) @ tipped
    block = (np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)] + 4 * [[-1, -1, -1]])).ravel()
    cone_hull, hull_hull = compiled("cone", "hull"), compiled("hull", "hull")
    low = 0.5 * np.sin(slant) + 1e-12
    for shift in (0.4, -0.1):  # apart, and in each other
        for expected, result in (
            (0.0, box_can(at((0, 0, 0), cube), at((0.2, 0.1, 1.5 + shift), can))),  # it stands
            (0.0, box_can(at((0, 0, 0), cube), at((0.2, 0.1, 1.3 + shift), can, lying))),  # it lies
            (1.0, box_can(at((0, 0, 0), cube), at((0.2, 0.1, 1.5 + shift), can, askew))),
            (0.0, hull_hull(at((0, 0, 0), block), at((0.1, 0.2, 2.0 + shift), block))),
            (1.0, hull_hull(at((0, 0, 0), block), at((0.1, 0.2, 2.4 + shift), block, askew))),
            (0.0, cone_hull(at((0.0, 0.0, 1.5 + shift), can), at((0, 0, 0), block))),  # on its base
            (0.0, cone_hull(at((0.0, 0.0, 1.0 + low + shift), can, down.ravel()), at((0, 0, 0), block))),  # on its side
            (1.0, cone_hull(at((0.1, 0.0, 1.4 + shift), can, askew), at((0, 0, 0), block))),
        ):
            assert result[10] == expected, (shift, expected, result)
    assert box_can(at((0, 0, 0), cube), at((0, 0, 0), can))[10] == 0.0  # as deep both ways
    crossed = compiled("segment", "cylinder")
    assert crossed(np.array([0.0, 0.0, 1.0, 0.0, 0.5, 0.0]), at((0, 0, 0), can, lying))[10] == 0.0  # along its side
    assert crossed(np.array([0.0, 0.0, 1.0, 0.5, 0.0, 0.0]), at((0, 0, 0), can, lying))[10] == 1.0  # across it


def test_concentric_shapes_have_the_known_penetration_depths() -> None:
    """A cylinder in the middle of an ellipsoid, then moved out along its axis; one without a radius is a segment."""
    kernel = compiled("cylinder", "ellipsoid")
    segment_row = np.tile(np.concatenate([IDENTITY, np.zeros(3), [0.5, 0.8]]), (12, 1))
    along = np.tile(np.concatenate([IDENTITY, np.zeros(3), [0.9, 0.5, 0.3]]), (12, 1))
    along[:, 11] = np.linspace(0.0, 2.2, 12)
    outputs = kernel(segment_row, along)
    assert np.isfinite(outputs).all() and np.abs(outputs[:, 0] - np.maximum(along[:, 11] - 1.1, -1.0)).max() < 1e-12
    _, x, y = pairs("segment", "cylinder", 6)
    thin = np.zeros((len(x), 14))
    half = np.linalg.norm(x[:, 3:], axis=1)
    for row, segment, length in zip(thin, x, half, strict=True):
        z = segment[3:] / length
        side = np.cross(z, np.eye(3)[np.abs(z).argmin()])
        side /= np.linalg.norm(side)
        row[:9] = np.column_stack([side, np.cross(z, side), z]).ravel()
    thin[:, 9:12], thin[:, 13] = x[:, :3], half
    ball = np.column_stack([y[:, :12], np.full((len(y), 3), 0.3)])
    line = compiled("segment", "cylinder")(x, np.column_stack([y[:, :12], np.zeros((len(y), 2))]))
    to_ball = kernel(thin, ball)
    apart = line[:, 0] > 0.3
    assert apart.sum() > 20 and np.abs(to_ball[:, 0] - line[:, 0] + 0.3)[apart].max() < 1e-14


@pytest.mark.light
@pytest.mark.parametrize("side", [-0.7, 0.7])
@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2]])
def test_bound_of_a_cell_of_directions_is_at_most_that_along_the_normal_of_its_points(side, order):
    """Along the normal inside of the cell the heights of the three points are equal: equality if it is the cut."""
    rng, count = np.random.default_rng(1), 0
    for _ in range(30):
        corners = [0.6, 0.4, 0.3] @ rotations(rng, 1)[0] + 0.4 * rng.normal(size=(3, 3))
        corners = corners[[0, 1, 2] if np.linalg.det(corners) > 0.0 else [0, 2, 1]]
        points = corners / (corners @ corners.mean(axis=0))[:, np.newaxis] + 0.02 * rng.normal(size=(3, 3))
        points = side * points[order]
        normal = np.cross(points[1] - points[0], points[2] - points[0])
        shares = np.linalg.solve(corners.T, normal / np.linalg.norm(normal))
        if shares.min() < 0.0 < shares.max():
            continue  # the normal is outside of the cell
        height = np.sign(shares[0]) * normal @ points[0] / np.linalg.norm(normal)
        cut = _least(*(tuple(Vec3(*x.tolist()) for x in rows) for rows in (corners, points)))
        assert cut.square <= height * abs(height) + 1e-12
        assert cut.side != 3.0 or cut.square == pytest.approx(height * abs(height), rel=1e-9)
        count += 1
    assert count >= 5


def test_segment_in_a_cuboid_is_as_deep_as_the_nearest_facet_of_their_difference() -> None:
    """The facets are those of the cuboid, which is listed by its corners, and its edges swept along the segment."""
    low, high = np.array([-0.5, -0.7, -0.3]), np.array([0.6, 0.4, 0.9])
    center, half = np.array([0.1, -0.05, 0.2]), np.array([0.05, 0.1, -0.07])
    X = random_pose(np.random.default_rng(4))
    vertices = [Vec3(*v) for v in itertools.product(*zip(low.tolist(), high.tolist(), strict=True))]
    cuboid = PolytopeCore(X, tuple(vertices))
    segment = SegmentCore(X.point(Vec3(*center.tolist())), X.rotation @ Vec3(*half.tolist()))
    normals = np.concatenate([np.eye(3), np.cross(np.eye(3), half)])
    normals = np.concatenate([normals, -normals]) / np.linalg.norm([*normals, *normals], axis=1)[:, None]
    depths = np.maximum(normals * low, normals * high).sum(axis=1) - normals @ center + np.abs(normals @ half)
    expected = normals[depths.argmin()]
    assert [*nearest_facet(sides_of(Difference.of(cuboid, segment))).n] == pytest.approx(expected, abs=1e-14)
    assert signed_distance(Solid(segment), Solid(cuboid)).distance == pytest.approx(-depths.min(), abs=1e-14)
    assert sides_of(Difference.of(segment, SegmentCore(Vec3(0.1, 0.2, 0.3), Vec3(0.3, 0.4, 0.5)))) is None
