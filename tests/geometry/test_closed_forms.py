"""Identities of signed distances with a closed form; points compared with points of round surfaces."""

from __future__ import annotations

import numpy as np

import linkwork as lw
from linkwork.geometry import Solid, signed_distance

from .pairs import CORES, compiled, extremes, moved, off_surface, rotations, rows

PAIRS = [("point", kind) for kind in CORES if kind != "hull"] + [
    ("segment", "segment"),
    ("segment", "box"),
    ("box", "box"),
]
NEAR = 0.35


def test_closed_form_distances_are_consistent_with_normals_and_witness_points() -> None:
    rng = np.random.default_rng(0)
    R, p = rotations(rng, 1)[0], rng.normal(size=3)
    for a, b in PAIRS:
        kernel = compiled(a, b)
        x, y = rows(a, rng, 200, NEAR), rows(b, rng, 200, NEAR)
        outputs = kernel(x, y)
        d, n, on_a, on_b, unique = outputs[:, 0], outputs[:, 1:4], outputs[:, 4:7], outputs[:, 7:10], outputs[:, 10]
        assert np.isfinite(outputs).all() and (unique == 1.0).all(), (a, b)
        assert (d > 0.0).sum() >= 20 and ((d < 0.0).sum() >= 20 or b in ("point", "segment")), (a, b)
        assert np.abs(np.linalg.norm(n, axis=1) - 1.0).max() < 4e-15, (a, b)
        assert np.abs(on_b - on_a - d[:, None] * n).max() < 4e-15, (a, b)
        assert off_surface(a, x, on_a).max() < 2e-14 and off_surface(b, y, on_b).max() < 2e-14, (a, b)
        assert all(np.array_equal(kernel(x[k], y[k]), outputs[k]) for k in (0, 7, 199)), (a, b)  # alone, as in a batch
        # a motion of both
        far = kernel(moved(a, x, R, p), moved(b, y, R, p))
        assert np.abs(far[:, 0] - d).max() < 2e-14 and np.abs(far[:, 1:4] - n @ R.T).max() < 1e-11, (a, b)
        if a == b:
            back = kernel(y, x)
            assert np.abs(back[:, 0] - d).max() < 4e-15 and np.abs(back[:, 1:4] + n).max() < 1e-11
        # of one: by no more than that; along the normal, by just that, through touching and beyond
        for size in (1.0, 1e-3, 1e-9):
            displacement = size * rng.normal(size=(200, 3))
            moved_distance = kernel(x, moved(b, y, np.eye(3), displacement))[:, 0]
            assert (np.abs(moved_distance - d) <= np.linalg.norm(displacement, axis=1) + 2e-14).all(), (a, b)
        for gap in (1e-2, 1e-9, 0.0) if b in ("point", "segment") else (1e-2, 1e-9, 0.0, -1e-9):
            moved_distance = kernel(x, moved(b, y, np.eye(3), (gap - d)[:, None] * n))
            error = np.abs(moved_distance[:, 0] - gap)  # deeper in, another face may be nearer
            assert error.max() < 4e-15 if gap >= 0.0 else (error.max() < 2e-9 and np.median(error) < 4e-15), (a, b, gap)
            if abs(gap) > 1e-3 or b == "ellipsoid":
                assert np.abs(moved_distance[:, 1:4] - n).max() < 1e-6, (a, b, gap)


def test_distance_of_a_closed_form_pair_is_finite_at_every_finite_pose() -> None:
    """No NaN for sizes and positions of zero, next to zero, or very large, and for coincident bodies."""
    rng = np.random.default_rng(7)
    for a, b in PAIRS:
        x, y = extremes(a, rows(a, rng, 400, NEAR), rng), extremes(b, rows(b, rng, 400, NEAR), rng)
        outputs = compiled(a, b)(x, y)
        assert np.isfinite(outputs).all(), (a, b, np.flatnonzero(~np.isfinite(outputs).all(1)))
        assert np.abs(np.linalg.norm(outputs[:, 1:4], axis=1) - 1.0).max() < 1e-12, (a, b)


def surface(kind, s, rng, n=4000):
    """Points of the surface of a cylinder, a cone or an ellipsoid."""
    u, turn = rng.uniform(size=n), rng.uniform(0.0, 2.0 * np.pi, size=n)
    ring = np.stack([np.cos(turn), np.sin(turn)], 1)
    if kind == "ellipsoid":
        x = rng.normal(size=(n, 3))
        return x / np.linalg.norm(x, axis=1)[:, None] * s
    on_side, z = rng.uniform(size=n) < 0.6, rng.uniform(-1.0, 1.0, size=n)
    if kind == "cone":
        z = np.where(on_side, z, -1.0)
        rho = np.where(on_side, 0.5 * (1.0 - z), np.sqrt(u))
    else:
        z = np.where(on_side, z, np.sign(z))
        rho = np.where(on_side, 1.0, np.sqrt(u))
    return np.column_stack([s[0] * rho[:, None] * ring, s[1] * z])


def inside(kind, s, x, y, z):
    """Return True if a point is inside."""
    rho = np.hypot(x, y)
    if kind == "cylinder":
        return np.maximum(rho - s[0], abs(z) - s[1]) < 0.0
    if kind == "cone":
        return (abs(z) < s[1]) & (rho < s[0] * (s[1] - z) / (2.0 * s[1]))
    return (x / s[0]) ** 2 + (y / s[1]) ** 2 + (z / s[2]) ** 2 < 1.0


def test_no_surface_point_is_nearer_than_the_closed_form_distance() -> None:
    """Sampled points; a point is inside if a support plane confirms it."""
    rng = np.random.default_rng(1)
    for kind in ("cylinder", "cone", "ellipsoid"):
        kernel = compiled("point", kind)
        for s in (rng.uniform(0.1, 1.0, size=3), np.array([1.0, 0.05, 0.3]), np.array([0.05, 1.0, 0.05])):
            s = s[: CORES[kind][0] - 12]
            points = np.vstack([rng.uniform(-1.3, 1.3, size=(60, 3)), 0.1 * rng.normal(size=(20, 3)), np.zeros((1, 3))])
            points[60:70, :2] = 0.0  # on the axis
            y = np.concatenate([np.eye(3).ravel(), np.zeros(3), s])
            outputs = kernel(points, y)
            away = np.linalg.norm(points[:, None] - surface(kind, s, rng), axis=2).min(1)
            least = np.abs(outputs[:, 0])
            assert np.isfinite(outputs).all() and (least <= away + 1e-15).all() and (away < least + 0.2).all(), (
                kind,
                s,
            )
            assert off_surface(kind, np.tile(y, (81, 1)), outputs[:, 7:10]).max() < 1e-15, (kind, s)
            assert np.array_equal(outputs[:, 0] < 0.0, inside(kind, s, *points.T)), (kind, s)


def test_distances_of_ellipsoids_of_every_shape_are_exact_to_rounding() -> None:
    """A surface point that is moved by d along its normal has distance d."""
    kernel = compiled("point", "ellipsoid")
    rng = np.random.default_rng(2)
    radii = 10.0 ** rng.uniform(-3.0, 1.0, size=(400, 3))
    radii[:20], radii[20:40, :2], radii[40:50, 2] = 0.7, 0.5, radii[40:50, 1]
    x = rng.normal(size=(400, 3))
    x[50:60, 0] = 0.0
    x[60:70, :2] = 0.0
    x = x / np.linalg.norm(x, axis=1)[:, None] * radii
    n = x / radii**2
    n /= np.linalg.norm(n, axis=1)[:, None]
    focal = (radii.min(1) ** 2) / radii.max(1)  # no curvature is tighter than that
    for part in (100.0, 1.0, 1e-3, 1e-9, 0.0, -1e-9, -1e-3, -0.5, -0.9):
        d = part * (focal if part < 0.0 else radii.max(1))
        outputs = kernel(x + d[:, None] * n, np.column_stack([np.tile(np.eye(3).ravel(), (400, 1)), 0.0 * x, radii]))
        size = np.maximum(radii.max(1), np.abs(d))
        assert (np.abs(outputs[:, 0] - d) < 1e-15 * size).all(), part
        assert (np.abs(outputs[:, 1:4] + n).max(1) < 1e-12 * np.maximum(1.0, 1e-4 * radii.max(1) / focal)).all(), part


def test_flat_and_zero_size_ellipsoids_have_distances() -> None:
    kernel = compiled("point", "ellipsoid")
    disc = np.concatenate([np.eye(3).ravel(), np.zeros(3), [0.5, 0.5, 0.0]])
    for point, d in (((0.1, 0.2, 0.3), 0.3), ((0.9, 0.0, 0.3), 0.5), ((0.0, 0.9, 0.0), 0.4), ((0.0, 0.0, -2.0), 2.0)):
        outputs = kernel(np.array(point), disc)
        assert abs(outputs[0] - d) < 2e-15 and np.isfinite(outputs).all()
    for radii in ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.5, 0.5, 0.5), (0.3, 0.5, 0.5), (1.0, 0.8, 0.5)):
        outputs = kernel(np.zeros(3), np.concatenate([disc[:12], radii]))
        assert abs(outputs[0] + min(radii)) < 1e-15 and np.isfinite(outputs).all() and outputs[10] == 0.0 * min(radii)
        away = kernel(np.array([0.0, 3.0, 0.0]), np.concatenate([disc[:12], radii]))
        assert abs(away[0] - 3.0 + radii[1]) < 1e-15 and away[10] == 1.0
        single = kernel(np.zeros(3, np.float32), np.concatenate([disc[:12], radii]).astype(np.float32))
        assert np.isfinite(single).all() and abs(single[0] + min(radii)) < 1e-6
    # on a plane of symmetry, as far inside as two points are as near, and a bit farther out than that
    r, edge = np.array([1.0, 0.8, 0.5]), 1.0 - 0.25
    for part, flatness in ((0.5, 0.0), (0.999999, 0.0), (1.000001, 1.0), (1.2, 1.0)):
        outputs = kernel(np.array([part * edge, 0.0, 0.0]), np.concatenate([disc[:12], r]))
        x = min(part, 1.0) if part < 1.0 else 1.0
        exact = -np.hypot(x - part * edge, 0.5 * np.sqrt(1.0 - x * x)) if part < 1.0 else part * edge - 1.0
        assert abs(outputs[0] - exact) < 1e-15 and outputs[10] == flatness, part


def test_closed_form_distances_on_floats_and_arrays_equal_compiled_ones() -> None:
    rng = np.random.default_rng(3)
    for a, b in PAIRS:
        x, y = rows(a, rng, 3, NEAR), rows(b, rng, 3, NEAR)
        core_a, core_b = CORES[a][1], CORES[b][1]
        together = signed_distance(Solid(core_b(list(y.T)), 0.1), Solid(core_a(list(x.T)), 0.2))
        compiled_one = compiled(a, b)(x, y)[:, 0] - 0.3
        assert np.abs(together.distance - compiled_one).max() < 1e-14, (a, b)
        for k in range(3):
            single = signed_distance(Solid(core_a([*map(float, x[k])]), 0.2), Solid(core_b([*map(float, y[k])]), 0.1))
            assert abs(single.distance - compiled_one[k]) < 1e-14, (a, b)
            back = signed_distance(Solid(core_b([*map(float, y[k])]), 0.1), Solid(core_a([*map(float, x[k])]), 0.2))
            assert abs(back.distance - single.distance) < 4e-15, (a, b)


def test_float32_distances_are_finite_and_close_to_float64() -> None:
    rng = np.random.default_rng(4)
    for a, b in (("point", "ellipsoid"), ("segment", "segment"), ("segment", "box"), ("box", "box")):
        x, y = rows(a, rng, 100, NEAR), rows(b, rng, 100, NEAR)
        if a == b:
            y[:20, 3:-3] = x[:20, 3:-3]  # parallel
        if a == "box":  # crosswise, one over the other
            y[:20, :9] = x[:20, :9]
            y[:20, 9:12] += 0.9 * x[:20, 2:9:3]
            x[:20, 12:], y[:20, 12:] = (1.0, 0.1, 0.2), (0.1, 1.0, 0.2)
        x[20:30, :2] = y[20:30, 9:11] if b != "segment" else y[20:30, :2]
        outputs = compiled(a, b)(x.astype(np.float32), y.astype(np.float32))
        assert np.isfinite(outputs).all() and np.abs(outputs[:, 0] - compiled(a, b)(x, y)[:, 0]).max() < 1e-5, (a, b)


def test_gradient_of_a_distance_by_a_translation_is_the_normal() -> None:
    """Derivative by a shift of one body, also for iterated or branching distances."""
    rng = np.random.default_rng(5)
    for a, b in (("point", "ellipsoid"), ("segment", "box"), ("box", "box")):
        core_a, core_b = CORES[a][1], CORES[b][1]

        def measured(x, y, p, core_a=core_a, core_b=core_b):
            return signed_distance(Solid(core_a(x)), Solid(core_b([*y[:9], *p, *y[12:]]))).distance

        jacobian = lw.compile(measured, x=CORES[a][0], y=CORES[b][0], p=3).jacobian("p")
        x, y = rows(a, rng, 40, 0.7), rows(b, rng, 40, 0.7)
        if a == b:
            x[:5, :9] = y[:5, :9]  # parallel
        n = compiled(a, b)(x, y)[:, 1:4]
        assert np.abs(np.asarray(jacobian(x, y, y[:, 9:12])).reshape(40, 3) - n).max() < 1e-9, (a, b)
