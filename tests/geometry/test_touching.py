"""Bodies with touching cores, in placements with known normals; `test_identities` has all pairs in random ones."""

from __future__ import annotations

import numpy as np

import linkwork as lw


def placed(W: np.ndarray, points: np.ndarray) -> np.ndarray:
    X = np.tile(np.eye(4), (len(W), 1, 1))
    X[:, :3, 3] = np.einsum("kij,kj->ki", W[:, :3, :3], points) + W[:, :3, 3]
    return X


def test_spheres_centered_on_a_surface_have_the_normal_of_the_face() -> None:
    """On an axis, an edge or a corner the normal is one of many."""
    rng = np.random.default_rng(0)
    W = np.array([lw.pose(rng.uniform(-1.0, 1.0, 3), rpy=rng.uniform(-3.0, 3.0, 3)) for _ in range(100)])
    t = rng.uniform(0.1, 0.9, 100)
    cone, capsule, box, can = (
        lw.shapes.Cone(0.2, 0.4), lw.shapes.Capsule(0.05, 0.6), lw.shapes.Box((0.2, 0.2, 0.2)),
        lw.shapes.Cylinder(0.1, 0.2),
    )  # fmt: skip
    zero, unit_scales = np.zeros(100), np.ones(100)
    slope = np.array([2.0, 0.0, 1.0]) / np.sqrt(5.0)
    for shape, points, normal, unique in (
        (cone, (0.2 * t, zero, 0.2 - 0.4 * t), slope, 1.0),
        (cone, (zero, zero, 0.2 * unit_scales), None, 0.0),
        (cone, (0.2 * unit_scales, zero, -0.2 * unit_scales), None, 0.0),
        (capsule, (zero, zero, 0.6 * t - 0.3), None, 0.0),
        (box, (0.1 * unit_scales, 0.2 * t - 0.1, 0.05 * unit_scales), np.array([1.0, 0.0, 0.0]), 1.0),
        (box, (0.1 * unit_scales, 0.1 * unit_scales, 0.05 * unit_scales), None, 0.0),
        (box, (0.1 * unit_scales, 0.1 * unit_scales, 0.1 * unit_scales), None, 0.0),
        (can, (0.1 * unit_scales, zero, 0.15 * t - 0.07), np.array([1.0, 0.0, 0.0]), 1.0),
        (can, (0.1 * unit_scales, zero, 0.1 * unit_scales), None, 0.0),
    ):
        distances = lw.signed_distance(lw.shapes.Sphere(0.2), placed(W, np.stack(points, axis=1)), shape, W)
        rounding = 0.05 if shape is capsule else 0.0
        assert np.abs(distances.distance + 0.2 + rounding).max() < 1e-15 and (distances.unique == unique).all(), shape
        if normal is not None:
            assert np.abs(distances.normal + W[:, :3, :3] @ normal).max() < 1e-14, shape
        if shape is capsule:
            assert np.abs(np.einsum("ki,ki->k", distances.normal, W[:, :3, 2])).max() < 1e-15


def test_capsules_with_an_axis_in_a_face_or_through_another_axis_have_the_known_normals() -> None:
    rng = np.random.default_rng(2)
    W = np.array([lw.pose(rng.uniform(-1.0, 1.0, 3), rpy=rng.uniform(-3.0, 3.0, 3)) for _ in range(100)])
    capsule, box = lw.shapes.Capsule(0.05, 0.1), lw.shapes.Box((0.2, 0.2, 0.2))
    poses = np.array([lw.pose((0.1, 0.0, 0.0), rpy=(x, 0.0, 0.0)) for x in rng.uniform(-3.0, 3.0, 100)])
    distances = lw.signed_distance(capsule, W @ poses, box, W)
    assert np.abs(distances.normal + W[:, :3, 0]).max() < 1e-14 and np.abs(distances.distance + 0.05).max() < 1e-15
    distances = lw.signed_distance(capsule, W @ lw.pose((0.0, 0.01, 0.02), rpy=(1.0, 0.0, 0.0)), capsule, W)
    assert np.abs(np.abs(np.einsum("ki,ki->k", distances.normal, W[:, :3, 0])) - 1.0).max() < 1e-14
    assert (distances.unique == 0.0).all() and np.abs(distances.distance + 0.1).max() < 1e-15


def test_spheres_centered_on_a_planar_height_field_have_its_normal() -> None:
    """A rounding error above and below it."""
    rng, x = np.random.default_rng(4), np.linspace(-1.0, 1.0, 11)
    ground = lw.shapes.HeightField(0.3 * x[:, None] + 0.1 * x, 0.2)
    up = np.array([-0.3, -0.1, 1.0]) / np.sqrt(1.1)
    at = rng.uniform(-0.7, 0.7, (100, 3))
    at[:, 2] = at[:, :2] @ [0.3, 0.1]
    for W in (np.eye(4), lw.pose((0.3, -0.2, 0.1), rpy=(0.4, 1.1, -0.7))):
        for gap in (0.0, 1e-16, 1e-12, -1e-12, 1e-9, -1e-9):
            X = np.tile(np.eye(4), (100, 1, 1))
            X[:, :3, 3] = (at + gap * up) @ W[:3, :3].T + W[:3, 3]
            distances = lw.signed_distance(ground, W, lw.shapes.Sphere(0.05), X)
            assert np.abs(distances.normal - W[:3, :3] @ up).max() < 1e-14, gap
            assert np.abs(distances.distance - gap + 0.05).max() < 1e-15, gap


def test_distance_gradients_are_finite_if_the_cores_of_rounded_shapes_touch() -> None:
    """The gradient by B's position is the normal."""
    cone, capsule, box = lw.shapes.Cone(0.2, 0.4), lw.shapes.Capsule(0.2, 0.4), lw.shapes.Box((0.2, 0.2, 0.2))
    for a, b, p in (
        (cone, lw.shapes.Sphere(0.2), (0.1, 0.0, 0.0)),
        (cone, lw.shapes.Sphere(0.2), (0.0, 0.0, 0.2)),
        (capsule, lw.shapes.Sphere(0.2), (0.0, 0.0, 0.1)),
        (capsule, lw.shapes.Capsule(0.1, 0.3), (0.0, 0.0, 0.1)),
        (box, lw.shapes.Capsule(0.1, 0.1), (0.1, 0.0, 0.0)),
        (box, box, (0.2, 0.1, 0.0)),
    ):

        def distance(p: object, a: object = a, b: object = b) -> object:
            X = lw.expr.array(
                [[1.0, 0.0, 0.0, p[0]], [0.0, 1.0, 0.0, p[1]], [0.0, 0.0, 1.0, p[2]], [0.0, 0.0, 0.0, 1.0]]
            )
            return lw.signed_distance(a, lw.pose(), b, X).distance

        gradient = lw.compile(distance, p=3).jacobian("p")
        for moved in (0.0, 1e-17, 1e-12):
            at = np.add(p, moved)
            normal = lw.signed_distance(a, lw.pose(), b, lw.pose(at)).normal
            assert np.abs(gradient(at) - normal).max() < 1e-14, (a, b, moved)
            assert np.isfinite(gradient.jacobian("p")(at)).all(), (a, b, moved)
