"""Contact points: on both surfaces, as deep as the signed distance, and spanning the shared area."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import linkwork as lw
from linkwork.geometry import (
    BoxCore,
    ConeCore,
    CylinderCore,
    EllipsoidCore,
    HalfSpaceCore,
    PointCore,
    PolytopeCore,
    SegmentCore,
    Solid,
    signed_distance,
)
from linkwork.geometry.contacts import Touching, contacts
from linkwork.geometry.contacts.face_clipping import box_box
from linkwork.geometry.cores import SignedDistance
from linkwork.model.random_tree import random_pose
from linkwork.spatial import Pose, Rotation, Vec3

Z = Vec3(0.0, 0.0, 1.0)
FLOOR = Solid(HalfSpaceCore(Vec3(0.0, 0.0, 0.0), Z))


def _there(result: Touching) -> list:
    return [p for p in result.points if p.exists]


def _array(points: list) -> np.ndarray:
    return np.array([[*map(float, p)] for p in points]).reshape(-1, 3)


def _box(rng: np.random.Generator, tilt: float, height: float, half: tuple[float, float, float]) -> BoxCore:
    """A box that is turned anyhow about z, tilted a little, and near the origin."""
    axis = Vec3(*(rng.normal(size=2).tolist()), 0.0)
    axis = axis * (1.0 / math.sqrt(axis.dot(axis)))
    R = Rotation.about(axis, tilt) @ Rotation.about(Z, float(rng.uniform(-3.0, 3.0)))
    x, y = rng.uniform(-0.15, 0.15, 2).tolist()
    return BoxCore(Pose(R, Vec3(x, y, height)), Vec3(*half))


def _on_surface(box: BoxCore, p: Vec3) -> float:
    """Return the distance of a point from the surface of a box."""
    r, h = np.abs([*box.pose.inv().point(p)]), np.array([*box.half])
    return float(max(abs(np.max(r - h)), 0.0))


def _shared(a: BoxCore, b: BoxCore) -> float:
    """The area that a box's bottom has in common with the top of one below, with axes z: by cutting the polygon."""
    R, h = b.pose.rotation, b.half
    polygon = [
        np.array([*(b.pose.translation + R @ Vec3(h.x * s, h.y * t, -h.z))])[:2]
        for s, t in ((1, 1), (-1, 1), (-1, -1), (1, -1))
    ]
    for k, side in ((0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)):
        limit, cut = [a.half.x, a.half.y][k], []
        for p, q in zip(polygon, polygon[1:] + polygon[:1], strict=True):
            u, v = side * p[k] - limit, side * q[k] - limit
            if u <= 0.0:
                cut.append(p)
            if (u < 0.0) != (v < 0.0):
                cut.append(p + (q - p) * u / (u - v))
        polygon = cut
    return float(ConvexHull(np.array(polygon)).volume) if len(polygon) > 2 else 0.0


def test_contact_points_on_a_half_space_have_the_depth_below_the_plane() -> None:
    rng = np.random.default_rng(0)
    vertices = tuple(Vec3(*v) for v in rng.normal(size=(14, 3)).tolist())
    for _ in range(8):
        X = random_pose(rng)
        cores = [
            PointCore(X.translation),
            SegmentCore(X.translation, X.rotation @ Vec3(0.0, 0.2, 0.3)),
            BoxCore(X, Vec3(0.3, 0.2, 0.1)),
            CylinderCore(X, 0.2, 0.3),
            ConeCore(X, 0.2, 0.3),
            EllipsoidCore(X, Vec3(0.3, 0.2, 0.1)),
            PolytopeCore(X, vertices),
        ]
        ground = Solid(HalfSpaceCore(random_pose(rng).translation, X.rotation @ Vec3(0.6, 0.0, 0.8)), 0.01)
        for core in cores:
            solid = Solid(core, 0.05)
            manifold = contacts(ground, solid, within=10.0)
            least = signed_distance(ground, solid)
            assert max(p.depth for p in _there(manifold)) == pytest.approx(-least.distance, abs=1e-14)
            for p in _there(manifold):
                assert _array([p.on_a - p.on_b]) == pytest.approx(_array([manifold.normal * p.depth]), abs=1e-14)
                assert signed_distance(Solid(PointCore(p.on_b)), ground).distance == pytest.approx(-p.depth, abs=1e-14)
                inner = signed_distance(Solid(PointCore(p.on_b)), solid).distance
                assert inner < 1e-9
                if p.depth > -least.distance - 1e-12:
                    assert abs(inner) < 1e-9  # the deepest is on its surface
            swapped = contacts(solid, ground, within=10.0)
            assert (
                _array([p.on_a for p in swapped.points]).tolist() == _array([p.on_b for p in manifold.points]).tolist()
            )
            assert [*swapped.normal] == [*(-manifold.normal)]


def test_shapes_on_a_half_space_have_enough_contact_points() -> None:
    upright, lying = Rotation.identity(), Rotation.about(Vec3(1.0, 0.0, 0.0), math.pi / 2)
    sunk = 1e-3
    standing = contacts(FLOOR, Solid(CylinderCore(Pose(upright, Vec3(0.1, 0.2, 0.3 - sunk)), 0.2, 0.3)))
    rim = _array([p.on_b for p in _there(standing)])
    assert len(rim) == 6
    assert [p.depth for p in _there(standing)] == pytest.approx([sunk] * 6)
    assert np.linalg.norm(rim[:, :2] - [0.1, 0.2], axis=1) == pytest.approx([0.2] * 6)
    assert ConvexHull(rim[:, :2]).volume == pytest.approx(1.5 * math.sqrt(3.0) * 0.04)
    lain = contacts(FLOOR, Solid(CylinderCore(Pose(lying, Vec3(0.0, 0.0, 0.2 - sunk)), 0.2, 0.3)))
    assert sorted(round(float(p.on_b.y), 9) for p in _there(lain)) == [-0.3, 0.3]
    capsule = contacts(FLOOR, Solid(SegmentCore(Vec3(0.0, 0.0, 0.1 - sunk), Vec3(0.4, 0.0, 0.0)), 0.1))
    assert [p.depth for p in _there(capsule)] == pytest.approx([sunk, sunk])
    tilted = contacts(FLOOR, Solid(SegmentCore(Vec3(0.0, 0.0, 0.2 - sunk), Vec3(0.4, 0.0, 0.1)), 0.1))
    assert [p.depth for p in _there(tilted)] == pytest.approx([sunk])
    for face in (upright, lying, Rotation.about(Vec3(0.0, 1.0, 0.0), math.pi / 2)):
        half = Vec3(0.3, 0.2, 0.1)
        up = abs(np.array([*face.inv_act(Z)]))
        height = float(up @ [*half]) - sunk
        box = contacts(FLOOR, Solid(BoxCore(Pose(face, Vec3(0.0, 0.0, height)), half)))
        assert [p.depth for p in _there(box)] == pytest.approx([sunk] * 4)
        area = 4.0 * np.prod([h for h, u in zip([*half], up, strict=True) if u < 0.5])
        assert ConvexHull(_array([p.on_b for p in box.points])[:, :2]).volume == pytest.approx(area)
    assert not _there(contacts(FLOOR, Solid(PointCore(Vec3(0.0, 0.0, 0.2)), 0.1)))


def test_contact_points_of_cylinders_on_boxes_lie_on_the_surface_below() -> None:
    """Standing or lying, wholly or in part, and boxes on caps: points of the surfaces with the right depth."""
    table = BoxCore(Pose(Rotation.identity(), Vec3(0.0, 0.0, -0.1)), Vec3(0.5, 0.5, 0.1))
    upright, lying = Rotation.identity(), Rotation.about(Vec3(0.0, 1.0, 0.0), 0.5 * math.pi)
    sunk = 1e-3
    for core, area in (
        (CylinderCore(Pose(upright, Vec3(0.0, 0.0, 0.3 - sunk)), 0.2, 0.3), 0.06 * math.sqrt(3.0)),
        (CylinderCore(Pose(upright, Vec3(0.5, 0.5, 0.3 - sunk)), 0.2, 0.3), 0.04 * math.pi / 4.0),
        (CylinderCore(Pose(lying, Vec3(0.4, 0.0, 0.2 - sunk)), 0.2, 0.3), 0.0),
        (CylinderCore(Pose(upright, Vec3(0.0, 0.0, 0.3 - sunk)), 2.0, 0.3), 1.0),
    ):
        manifold = contacts(Solid(table), Solid(core))
        points = _array([p.on_a for p in _there(manifold)])
        assert [*manifold.normal] == pytest.approx([0.0, 0.0, 1.0])
        assert [p.depth for p in _there(manifold)] == pytest.approx([sunk] * len(points))
        assert _array([p.on_b for p in _there(manifold)]) == pytest.approx(points - [0.0, 0.0, sunk])
        assert points[:, :2].max() <= 0.5 + 1e-12
        if area:
            assert 0.8 * area < ConvexHull(points[:, :2]).volume < area * (1.0 + 1e-9)
        else:
            assert sorted(points[:, 0].tolist()) == pytest.approx([0.1, 0.5])
    leaning = CylinderCore(Pose(Rotation.about(Vec3(0.0, 1.0, 0.0), 0.3), Vec3(0.0, 0.0, 0.3)), 0.2, 0.3)
    least = signed_distance(Solid(table), Solid(leaning))
    manifold = contacts(Solid(table), Solid(leaning), 1.0)
    assert max(p.depth for p in _there(manifold)) == pytest.approx(-least.distance, abs=1e-9)


def test_contact_points_of_polytopes_preserve_most_of_the_support_area() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        angles = np.sort(rng.uniform(0.0, 2.0 * math.pi, 9))
        ring = np.stack([np.cos(angles), 0.7 * np.sin(angles), np.full(9, -0.2)], axis=1)
        vertices = tuple(Vec3(*v) for v in [*ring.tolist(), *(0.5 * ring + [0.0, 0.0, 0.6]).tolist()])
        R = Rotation.about(Z, float(rng.uniform(-3.0, 3.0)))
        manifold = contacts(FLOOR, Solid(PolytopeCore(Pose(R, Vec3(0.0, 0.0, 0.199)), vertices)))
        support = _array([p.on_b for p in _there(manifold)])
        assert all(p.depth == pytest.approx(1e-3) for p in _there(manifold))
        assert ConvexHull(support[:, :2]).volume > 0.9 * ConvexHull(ring[:, :2]).volume


def test_contact_points_of_boxes_on_boxes_lie_on_the_overlap_of_their_faces() -> None:
    rng = np.random.default_rng(2)
    lower = BoxCore(Pose(Rotation.identity(), Vec3(0.0, 0.0, -0.1)), Vec3(0.3, 0.2, 0.1))
    for k in range(60):
        tilt = (0.0, 1e-3, 1e-2)[k % 3]
        upper = _box(rng, tilt, 0.1 - 1e-3, (0.2, 0.25, 0.1))
        a, b = Solid(lower, 0.0), Solid(upper, 0.0)
        distances, least = contacts(a, b, within=1e-2), signed_distance(a, b)
        points = _there(distances)
        assert 1 <= len(points) <= 8
        assert max(p.depth for p in points) <= -least.distance + 1e-12
        for p in points:
            assert _array([p.on_a - p.on_b]) == pytest.approx(_array([distances.normal * p.depth]), abs=1e-12)
            assert max(_on_surface(lower, p.on_a), _on_surface(upper, p.on_b)) < 1e-9
        if tilt == 0.0:
            assert [p.depth for p in points] == pytest.approx([1e-3] * len(points), abs=1e-12)
            area = _shared(lower, upper)
            hull = ConvexHull(_array([p.on_a for p in points])[:, :2])
            assert hull.volume == pytest.approx(area) and len(hull.vertices) == len(points)
        swapped = contacts(b, a, within=1e-2)
        assert max(p.depth for p in _there(swapped)) == pytest.approx(max(p.depth for p in points), abs=1e-9)


def test_contact_points_of_aligned_boxes_span_the_whole_overlap_rectangle() -> None:
    lower = BoxCore(Pose(Rotation.identity(), Vec3(0.0, 0.0, -0.1)), Vec3(0.3, 0.2, 0.1))
    upper = BoxCore(Pose(Rotation.identity(), Vec3(0.25, 0.1, 0.099)), Vec3(0.1, 0.2, 0.1))
    manifold = _there(contacts(Solid(lower), Solid(upper)))
    assert ConvexHull(_array([p.on_a for p in manifold])[:, :2]).volume == pytest.approx(0.15 * 0.3)
    for half, at in ((Vec3(0.3, 0.2, 0.1), 0.0), (Vec3(0.1, 0.2, 0.1), 0.0), (Vec3(0.3, 0.2, 0.1), 0.4)):
        upper = BoxCore(Pose(Rotation.identity(), Vec3(at, 0.0, 0.099)), half)  # edges on edges: none counts twice
        assert len(_there(contacts(Solid(lower), Solid(upper)))) == 4


def test_contacts_of_box_edges_are_one_point_or_the_ends_of_a_segment() -> None:
    quarter = math.pi / 4
    lower = BoxCore(Pose(Rotation.about(Vec3(1.0, 0.0, 0.0), quarter), Vec3.zero()), Vec3(0.5, 0.1, 0.1))
    R = Rotation.about(Z, 1.2) @ Rotation.about(Vec3(1.0, 0.0, 0.0), quarter)
    away = 0.2 * math.sqrt(2.0)
    crossing = contacts(Solid(lower), Solid(BoxCore(Pose(R, Vec3(0.05, 0.02, away - 1e-3)), Vec3(0.5, 0.1, 0.1))))
    (point,) = _there(crossing)
    assert point.depth == pytest.approx(1e-3, abs=1e-9)
    assert _array([point.on_a])[0, :2] == pytest.approx([0.05 - 0.02 / math.tan(1.2), 0.0], abs=1e-9)
    flat = BoxCore(Pose(Rotation.identity(), Vec3(0.0, 0.0, -0.1)), Vec3(0.3, 0.3, 0.1))
    on_edge = BoxCore(lower.pose, Vec3(0.2, 0.1, 0.1))
    on_edge = BoxCore(Pose(on_edge.pose.rotation, Vec3(0.05, 0.0, 0.5 * away - 1e-3)), on_edge.half)
    along = _there(contacts(Solid(flat), Solid(on_edge)))
    assert sorted(round(float(p.on_b.x), 6) for p in along) == [-0.15, 0.25]
    assert [p.depth for p in along] == pytest.approx([1e-3] * 2, abs=1e-9)


@pytest.mark.slow(every=5)
def test_contact_points_of_shapes_without_known_faces_lie_on_their_outline(drawn: Any) -> None:
    """Cubes as hulls touch like boxes, on boxes and hulls; cones and prisms stand on their bases."""
    rng, half = np.random.default_rng(4), Vec3(0.2, 0.25, 0.1)
    corners = lambda h: tuple(Vec3(h.x * i, h.y * j, h.z * k) for i in (1, -1) for j in (1, -1) for k in (1, -1))  # noqa: E731
    lower = BoxCore(Pose(Rotation.identity(), Vec3(0.0, 0.0, -0.1)), Vec3(0.3, 0.2, 0.1))
    under = PolytopeCore(lower.pose, corners(lower.half))
    ring = [(0.15 * math.cos(a), 0.15 * math.sin(a)) for a in np.arange(12) * math.pi / 6.0]
    for upper in drawn([_box(rng, (0.0, 2e-3)[k % 2], 0.1 - 1e-3, (0.2, 0.25, 0.1)) for k in range(12)]):
        hull = PolytopeCore(upper.pose, corners(half))
        boxes = contacts(Solid(lower), Solid(upper), within=1e-2)
        area = ConvexHull(_array([p.on_a for p in _there(boxes)])[:, :2]).volume
        deepest = max(p.depth for p in _there(boxes))
        for a, b in ((lower, hull), (under, hull), (under, upper), (hull, lower)):
            manifold = contacts(Solid(a), Solid(b), within=1e-2)
            points, down = _there(manifold), a is hull
            assert 4 <= len(points) <= 9 and [*manifold.normal] == pytest.approx(
                [0.0, 0.0, -1.0 if down else 1.0], abs=1e-2
            )
            assert max(p.depth for p in points) == pytest.approx(deepest, abs=1e-6)
            outline_area = ConvexHull(_array([p.on_b if down else p.on_a for p in points])[:, :2]).volume
            assert 0.85 * area < outline_area < area * (1.0 + 1e-6)
            for p in points:
                assert _array([p.on_a - p.on_b]) == pytest.approx(_array([manifold.normal * p.depth]), abs=1e-12)
                on_a, on_b = (p.on_b, p.on_a) if down else (p.on_a, p.on_b)
                assert max(_on_surface(lower, on_a), _on_surface(upper, on_b)) < 1e-6
    prism = tuple(Vec3(x, y, z) for x, y in ring for z in (-0.1, 0.1))
    for core in (
        ConeCore(Pose(Rotation.about(Z, 0.4), Vec3(0.02, 0.03, 0.099)), 0.15, 0.1),
        PolytopeCore(Pose(Rotation.about(Z, 0.4), Vec3(0.02, 0.03, 0.099)), prism),
    ):
        for table in (FLOOR, Solid(lower), Solid(under)):
            points = _there(contacts(table, Solid(core)))
            assert [p.depth for p in points] == pytest.approx([1e-3] * len(points))
            assert ConvexHull(_array([p.on_b for p in points])[:, :2]).volume > 2.5 * 0.15**2


def test_capsule_lying_on_a_box_has_two_contact_points() -> None:
    box = Solid(BoxCore(Pose(Rotation.identity(), Vec3(0.0, 0.0, -0.1)), Vec3(0.3, 0.2, 0.1)))
    lying = Solid(SegmentCore(Vec3(0.1, 0.0, 0.049), Vec3(0.4, 0.0, 0.0)), 0.05)
    for manifold in (contacts(lying, box), contacts(box, lying).flipped()):
        assert sorted(float(p.on_a.x) for p in _there(manifold)) == pytest.approx([-0.3, 0.3])
        assert [p.depth for p in _there(manifold)] == pytest.approx([1e-3, 1e-3])
    leaning = Solid(SegmentCore(Vec3(0.0, 0.0, 0.149), Vec3(0.1, 0.0, 0.1)), 0.05)
    (point,) = _there(contacts(leaning, box))
    assert [*point.on_a] == pytest.approx([-0.1, 0.0, -1e-3])
    rng = np.random.default_rng(3)
    for _ in range(40):  # anywhere: as deep as the bodies are, and never deeper
        X = random_pose(rng)
        capsule = Solid(SegmentCore(X.translation, X.rotation @ Vec3(0.0, 0.0, 0.2)), 0.1)
        manifold, least = contacts(capsule, box, within=1.0), signed_distance(capsule, box)
        deepest = max(p.depth for p in _there(manifold))
        assert deepest <= -least.distance + 1e-9


@pytest.mark.slow(every=3)
def test_contact_points_move_continuously_as_shapes_slide(drawn: Any) -> None:
    """Contacts move as far as the bodies, times a factor for slanted faces, also if faces share eight corners."""
    lower = Solid(BoxCore(Pose(Rotation.identity(), Vec3(0.0, 0.0, -0.1)), Vec3(0.3, 0.2, 0.1)))
    half, lifted = Vec3(0.1, 0.2, 0.1), Rotation.about(Vec3(1.0, 0.0, 0.0), 1e-3)
    turn = lambda angle: Rotation.about(Z, angle)  # noqa: E731
    lain = turn(0.3) @ Rotation.about(Vec3(0.0, 1.0, 0.0), 0.5 * math.pi)
    slides = (
        (lower, lambda t: BoxCore(Pose(turn(0.0), Vec3(t - 0.2, 0.05, 0.099)), half), 0.0),
        (lower, lambda t: BoxCore(Pose(lifted, Vec3(t - 0.2, 0.05, 0.099)), half), 0.0),
        (lower, lambda t: BoxCore(Pose(turn(4.0 * t), Vec3(0.05, 0.03, 0.099)), Vec3(0.1, 0.15, 0.1)), 0.0),
        (lower, lambda t: BoxCore(Pose(turn(0.6 + 0.2 * t), Vec3(t - 0.2, 0.03, 0.099)), Vec3(0.25, 0.25, 0.1)), 0.0),
        (lower, lambda t: BoxCore(Pose(turn(0.5 + t), Vec3(0.01, 0.02, 0.099)), Vec3(0.23, 0.23, 0.1)), 0.0),
        (lower, lambda t: SegmentCore(Vec3(t - 0.2, 0.03, 0.049), Vec3(0.4, 0.1, 0.0)), 0.05),
        (lower, lambda t: SegmentCore(Vec3(0.0, 0.03, 0.049), Vec3(0.4, 0.1, 1e-3 * (t - 0.2))), 0.05),
        (lower, lambda t: CylinderCore(Pose(lain, Vec3(0.05 + 0.5 * t, 0.03, 0.099)), 0.1, 0.2), 0.0),
        (FLOOR, lambda t: BoxCore(Pose(turn(t), Vec3(t, 0.03, 0.099)), half), 0.0),
        (FLOOR, lambda t: CylinderCore(Pose(turn(t), Vec3(t, 0.03, 0.099)), 0.1, 0.1), 0.0),
    )
    step = 4e-3
    for body, make, radius in drawn(slides):
        last = None
        for k in range(101):
            now = _array([p.on_a for p in _there(contacts(body, Solid(make(k * step), radius)))])
            if last is not None:
                apart = np.linalg.norm(now[:, None] - last[None], axis=2)
                assert max(apart.min(0).max(), apart.min(1).max()) < 3.0 * step
            last = now


def test_compiled_contact_points_equal_those_on_floats() -> None:
    def touch(Xa: np.ndarray, Xb: np.ndarray, n: np.ndarray) -> tuple:
        a, b = BoxCore(Pose.of(Xa), Vec3(0.3, 0.2, 0.1)), BoxCore(Pose.of(Xb), Vec3(0.2, 0.25, 0.1))
        normal = Vec3.of(n)
        result = box_box(a, b, SignedDistance(0.0, normal, a.pose.translation, a.pose.translation, 1.0), 0.05)
        return (
            [p.depth for p in result.points],
            [lw.expr.where(p.exists, 1.0, 0.0) for p in result.points],
            [[*p.on_a] for p in result.points],
        )

    kernel = lw.compile(touch, Xa=(4, 4), Xb=(4, 4), n=(3,))
    rng = np.random.default_rng(4)
    poses = [(random_pose(rng), random_pose(rng)) for _ in range(100)]
    Xa, Xb = (np.array([X.elements() for X in side]).reshape(-1, 4, 4) for side in zip(*poses, strict=True))
    n = rng.normal(size=(100, 3))
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    depths, mask, on_a = kernel(Xa, Xb, n)
    assert all(np.isfinite(x).all() for x in (depths, mask, on_a))
    for k in range(100):
        single = touch(Xa[k], Xb[k], n[k])
        assert mask[k].tolist() == single[1]
        valid = mask[k] > 0.5  # equal triangles may come in another order: by rounding
        mine = np.column_stack([depths[k], on_a[k]])[valid]
        rows = np.column_stack([single[0], np.array(single[2], dtype=float)])[valid]
        assert mine[np.argsort(mine[:, 0])] == pytest.approx(rows[np.argsort(rows[:, 0])], abs=1e-9)
    assert mask.sum() > 100


def test_contact_points_are_available_for_public_shapes() -> None:
    box, floor, ball = lw.shapes.Box((0.4, 0.2, 0.1)), lw.shapes.HalfSpace(), lw.shapes.Sphere(0.1)
    X = np.stack(
        [lw.pose((0, 0, 0.049)), lw.pose((0, 0, 0.06)), lw.pose((1.0, 2.0, 0.149), rpy=(0.0, math.pi / 2, 0.1))]
    )
    manifold = lw.contact_points(floor, lw.pose(), box, X)
    assert manifold.mask.sum(-1).tolist() == [4, 0, 4] and manifold.depth.shape == (3, 4)
    assert manifold.depth[0] == pytest.approx([1e-3] * 4) and manifold.depth[2] == pytest.approx([0.051] * 4)
    assert manifold.point_a - manifold.point_b == pytest.approx(
        manifold.depth[..., np.newaxis] * manifold.normal[:, np.newaxis]
    )
    assert lw.contact_points(floor, lw.pose(), box, X, max_distance=0.02).mask.sum(-1).tolist() == [4, 4, 4]
    single = lw.contact_points(box, lw.pose(), ball, lw.pose((0.0, 0.0, 0.14)))
    assert single.depth == pytest.approx([0.01]) and repr(single).startswith("<ContactPoints: 1 of 1, depth [0.0")
    force = lw.compile(lambda X: lw.contact_points(floor, lw.pose(), box, X).depth, X=(4, 4))
    assert force(X[0]) == pytest.approx([1e-3] * 4)
    with pytest.raises(TypeError, match="contact_points: a: expected a convex shape"):
        lw.contact_points("box", lw.pose(), ball, lw.pose())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="contact_points: X_b: expected poses"):
        lw.contact_points(box, lw.pose(), ball, np.eye(3))
    with pytest.raises(ValueError, match="max_distance: expected a finite number"):
        lw.contact_points(box, lw.pose(), ball, lw.pose(), max_distance=float("inf"))
    with pytest.raises(TypeError, match="half"):
        lw.contact_points(floor, lw.pose(), floor, lw.pose())
