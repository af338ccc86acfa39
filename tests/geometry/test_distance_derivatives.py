"""Second derivatives of distances, and first derivatives of normals and points: compared with differences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.expr.arrays.symbol_array import array, scalars
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.autodiff.graph_derivative import adjoint, jacobian
from linkwork.expr.scalar.functions import sqrt
from linkwork.geometry import (
    BoxCore,
    CylinderCore,
    EllipsoidCore,
    HalfSpaceCore,
    PointCore,
    PolytopeCore,
    SegmentCore,
    SignedDistance,
    Solid,
    signed_distance,
)
from linkwork.geometry.pairs import motion_response
from linkwork.spatial import Force, Motion, Pose, Rotation, Vec3, cross_star

from .pairs import CORES, rows


def motion(z: Any) -> Pose:
    """A pose near none: turned by z₁ to z₃, to first order, and shifted by the others."""
    x, y, w = (0.5 * c for c in z[:3])
    k = 1.0 / sqrt(1.0 + x * x + y * y + w * w)
    a, b, c, d = k, x * k, y * k, w * k
    R = Rotation(
        Vec3(a * a + b * b - c * c - d * d, 2.0 * (b * c - a * d), 2.0 * (b * d + a * c)),
        Vec3(2.0 * (b * c + a * d), a * a - b * b + c * c - d * d, 2.0 * (c * d - a * b)),
        Vec3(2.0 * (b * d - a * c), 2.0 * (c * d + a * b), a * a - b * b - c * c + d * d),
    )
    return Pose(R, Vec3.of(z[3:]))


def after(X: Pose, core: Any) -> Any:
    """A core that is moved."""
    if isinstance(core, PointCore):
        return PointCore(X.point(core.point))
    if isinstance(core, SegmentCore):
        return SegmentCore(X.point(core.center), X.rotation @ core.half)
    return replace(core, pose=X @ core.pose)


CLOSED = [
    *(("point", kind) for kind in CORES),
    ("segment", "segment"), ("segment", "box"), ("box", "box"),
    *(("half_space", kind) for kind in CORES),
]  # fmt: skip
CORES_AND_FLOOR = {**CORES, "half_space": (6, lambda x: HalfSpaceCore(Vec3.of(x[:3]), Vec3.of(x[3:])))}


def core_rows(kind: str, rng: np.random.Generator, n: int) -> np.ndarray:
    """Numbers of cores, a column each."""
    if kind != "half_space":
        return rows(kind, rng, n).T
    normal = rng.normal(size=(n, 3))
    return np.hstack([0.1 * rng.normal(size=(n, 3)), normal / np.linalg.norm(normal, axis=1)[:, None]]).T


def listed(result: SignedDistance, n: int) -> np.ndarray:
    """Numbers (11, n)."""
    return np.array(
        [np.broadcast_to(x, n) for x in (result.distance, *result.normal, *result.on_a, *result.on_b, result.unique)]
    )


@pytest.mark.slow(every=5)
def test_derivatives_of_the_distance_normals_wrench_equal_finite_differences() -> None:
    """∂(p × n; n) by a twist of one body, of all closed forms, apart and overlapping."""
    n, h = 60, 1e-5
    steps = np.vstack([np.zeros((1, 6)), h * np.eye(6), -h * np.eye(6)])
    z = [np.tile(column, n) for column in steps.T]
    for kind, kind_b in CLOSED:
        rng = np.random.default_rng(7)
        make_a, make_b = CORES_AND_FLOOR[kind][1], CORES[kind_b][1]
        x, y = core_rows(kind, rng, n), core_rows(kind_b, rng, n)
        a, b = (make(np.repeat(r, 13, axis=1)) for make, r in ((make_a, x), (make_b, y)))
        values = listed(signed_distance(Solid(a, 0.05), Solid(after(motion(z), b), 0.02)), 13 * n).reshape(11, n, 13)
        normal, point = (values[k : k + 3] for k in (1, 4))
        F = np.concatenate([np.cross(point, normal, axis=0), normal])
        d, first = values[0, :, 0], [Vec3.of(values[k : k + 3, :, 0]) for k in (1, 4, 7)]
        result = SignedDistance(d, *first, values[10, :, 0])
        K, exists = motion_response(Solid(make_a(x), 0.05), Solid(make_b(y), 0.02), result)
        K = np.array([[np.broadcast_to(e, n) for e in row] for row in K])
        differences = np.moveaxis((F[..., 1:7] - F[..., 7:]) / (2.0 * h), -1, 1)
        off = np.abs(K - differences).max((0, 1)) / (1.0 + np.abs(differences).max((0, 1)))
        valid = np.broadcast_to(exists, n) > 0.5
        assert np.isfinite(K).all() and valid.sum() >= n - 2, (kind, kind_b)
        assert np.median(off[valid]) < 1e-8 and off[valid].max() < 1e-4, (kind, kind_b, off.max())
        if kind_b == "box":  # the same of its vertices
            positions = [Vec3(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]
            half = make_b(y).half
            hull = PolytopeCore(make_b(y).pose, [Vec3(v.x * half.x, v.y * half.y, v.z * half.z) for v in positions])
            again, known = motion_response(Solid(make_a(x), 0.05), Solid(hull, 0.02), result)
            again = np.array([[np.broadcast_to(e, n) for e in row] for row in again])
            assert np.abs(again - K).max() <= 1e-9 * (1.0 + np.abs(K).max())
            assert np.array_equal(np.broadcast_to(known, n) > 0.5, valid)


def test_unit_contact_force_changes_equally_whichever_body_moves() -> None:
    """The bodies exchanged, A moves: both by the twist V, and B back, so −F varies by K V − V ×* F."""
    rng = np.random.default_rng(9)
    for kind, kind_b in (("segment", "box"), ("box", "box"), ("point", "ellipsoid"), ("half_space", "cone")):
        a, b = (CORES_AND_FLOOR[kind_][1](core_rows(kind_, rng, 1)[:, 0].tolist()) for kind_ in (kind, kind_b))
        solids = Solid(a, 0.1), Solid(b, 0.2)
        distances = signed_distance(*solids)
        K, exists = motion_response(*solids, distances)
        back, known = motion_response(*solids[::-1], distances.flipped())
        n, p = distances.normal, distances.on_a
        F = Force(p.cross(n), n)
        unit = [Motion.of(row) for row in np.eye(6).tolist()]
        crossed = np.array([cross_star(V, F).elements() for V in unit]).T
        assert exists == known == 1.0 and np.abs(np.array(back) - (np.array(K) - crossed)).max() < 1e-12, (kind, kind_b)


def test_dual_numbers_of_distances_equal_finite_differences() -> None:
    """Floats with derivatives, without a trace: rates of all results, by a shift of one body."""
    can = CylinderCore(Pose.identity(), 0.2, 0.3)
    egg = lambda x: Solid(EllipsoidCore(motion([0.3, 0.5, 0.1, *x]), Vec3(0.5, 0.3, 0.2)))  # noqa: E731
    x, displacement, h = [0.7, 0.4, 0.5], [0.3, -0.5, 0.8], 1e-6
    distances = signed_distance(Solid(can), egg(seeded(x, displacement)))
    level = distances.distance.level
    ahead, behind = (
        signed_distance(Solid(can), egg([a + s * b for a, b in zip(x, displacement, strict=True)])) for s in (h, -h)
    )
    for value, up, down in zip(listed_of(distances), listed_of(ahead), listed_of(behind), strict=True):
        assert abs(parts(value, level)[1] - (up - down) / (2.0 * h)) < 1e-8


def listed_of(result: SignedDistance) -> list[Any]:
    """Distance, normal and points."""
    return [result.distance, *result.normal, *result.on_a, *result.on_b]


def test_distance_derivatives_of_spheres_and_planes_equal_closed_forms() -> None:
    """Spheres: (1 − n nᵀ)/‖c‖ for any radii; a point on a plane: no change with shifts."""
    a, b = PointCore(Vec3(0.0, 0.0, 0.0)), PointCore(Vec3(0.3, -0.4, 1.2))
    solids = Solid(a, 0.2), Solid(b, 0.7)
    K, exists = motion_response(*solids, signed_distance(*solids))
    n = np.array([*b.point]) / 1.3
    assert exists == 1.0 and np.allclose(np.array(K)[3:, 3:], (np.eye(3) - np.outer(n, n)) / 1.3, atol=1e-15)
    floor = Solid(HalfSpaceCore(Vec3(0.0, 0.0, 0.5), Vec3(0.0, 0.0, 1.0)))
    K, exists = motion_response(floor, Solid(b), signed_distance(floor, Solid(b)))
    assert exists == 1.0 and np.allclose(np.array(K)[3:], 0.0, atol=1e-15)


def test_distance_derivatives_at_ties_of_nearest_features_are_reported_as_missing() -> None:
    """Faces on faces, parallel edges, spheres about one centre, and changes of the nearest feature."""
    cube = Pose.identity()
    boxes = [
        (BoxCore(cube, Vec3(1.0, 1.0, 1.0)), BoxCore(Pose(cube.rotation, Vec3(0.1, 0.2, z)), Vec3(0.5, 0.5, 0.5)))
        for z in (1.2, 2.0)
    ]
    edges = SegmentCore(Vec3(0.0, 0.0, 0.0), Vec3(1.0, 0.0, 0.0)), SegmentCore(Vec3(0.2, 0.0, 1.0), Vec3(1.0, 0.0, 0.0))
    points = PointCore(Vec3.zero()), PointCore(Vec3.zero())
    changing = PointCore(Vec3(0.0, 1.0, 2.0)), BoxCore(cube, Vec3(1.0, 1.0, 1.0))
    for a, b in (*boxes, edges, points, changing):
        distances = signed_distance(Solid(a, 0.1), Solid(b, 0.1))
        K, exists = motion_response(Solid(a, 0.1), Solid(b, 0.1), distances)
        assert exists == 0.0 and not np.any(np.array(K, dtype=float)), (a, b)


@pytest.mark.slow(every=9)
def test_derivatives_of_iteratively_computed_distances_in_user_functions_equal_finite_differences() -> None:
    """Forward, in reverse and twice."""
    can, egg = lw.shapes.Cylinder(0.2, 0.6), lw.shapes.Ellipsoid((0.5, 0.3, 0.2))
    weights = np.random.default_rng(3).normal(size=10)

    def query(z: Any) -> Any:
        X = array(motion([*z]).elements()).reshape(4, 4)
        query = lw.signed_distance(can, np.eye(4), egg, X)
        parts = query.distance, query.normal, query.point_a, query.point_b
        return query, [x for part in parts for x in scalars(part).ravel()]

    def traced(z: Any) -> Any:
        outputs, values = query(z)
        symbols = [*z]
        slope = adjoint([values[0]], symbols, [1.0])
        rows = [*jacobian(values, symbols), adjoint(values, symbols, weights.tolist()), *jacobian(slope, symbols)]
        return array(values), outputs.unique, array(slope), array(rows)

    kernel = lw.compile(traced, z=6)
    rng = np.random.default_rng(1)
    z = np.hstack([2.0 * rng.normal(size=(300, 3)), 0.5 * rng.normal(size=(300, 3))])
    values, unique, slope, rows = kernel(z)
    h = 1e-5
    ahead, behind = (kernel(z[:, None] + s * h * np.eye(6)) for s in (1.0, -1.0))
    J = np.swapaxes(ahead[0] - behind[0], 1, 2) / (2.0 * h)
    H = np.swapaxes(ahead[2] - behind[2], 1, 2) / (2.0 * h)
    valid = unique > 0.5
    assert valid.sum() > 290 and np.isfinite(rows).all() and (values[:, 0] < 0.0).sum() > 50
    off = np.abs(rows[:, :10] - J).max((1, 2)) / (1.0 + np.abs(J).max((1, 2)))
    assert np.median(off[valid]) < 1e-9 and np.quantile(off[valid], 0.99) < 1e-5
    assert np.abs(rows[:, 0] - slope).max() < 1e-13
    assert np.abs(rows[:, 10] - np.einsum("k,nki->ni", weights, rows[:, :10])).max() < 1e-11 * np.abs(rows).max()
    second = rows[:, 11:]
    off = np.abs(second - H).max((1, 2)) / (1.0 + np.abs(H).max((1, 2)))
    assert np.median(off[valid]) < 1e-9 and np.quantile(off[valid], 0.99) < 1e-5
    assert np.abs(second - np.swapaxes(second, 1, 2)).max() < 1e-11 * np.abs(second).max()
