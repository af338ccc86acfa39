"""Shapes: sizes, inertias, values and refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from linkwork import shapes
from linkwork.shapes import Box, Cylinder, Material, Mesh, Sphere
from linkwork.spatial import Pose, Vec3

SOLIDS = (Box((0.2, 0.5, 0.8)), Cylinder(radius=0.3, length=1.1), Sphere(0.7))


def _inside(shape: shapes.Shape, points: np.ndarray) -> np.ndarray:
    x, y, z = points.T
    match shape:
        case Box(size):
            return (np.abs(points) <= 0.5 * np.array(size)).all(axis=1)
        case Cylinder(radius, length):
            return (np.hypot(x, y) <= radius) & (np.abs(z) <= 0.5 * length)
        case Sphere(radius):
            return np.linalg.norm(points, axis=1) <= radius
    raise AssertionError(shape)


def test_volume_reach_and_inertia_of_shapes_equal_those_of_inner_points() -> None:
    steps = np.linspace(-0.8, 0.8, 121)
    cell = (steps[1] - steps[0]) ** 3
    grid = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    for shape in SOLIDS:
        inside = grid[_inside(shape, grid)]
        assert shape.volume == pytest.approx(len(inside) * cell, rel=0.04)
        assert shape.origin_radius is not None
        assert 0.97 * shape.origin_radius < np.linalg.norm(inside, axis=1).max() <= shape.origin_radius
        second = inside.T @ inside / len(inside)
        gyration = shape.unit_inertia()
        assert gyration is not None
        expected = np.trace(second) * np.eye(3) - second
        inertia = np.array([list(row) for row in (gyration.x, gyration.y, gyration.z)])
        assert np.allclose(inertia, expected, rtol=0.05, atol=2e-3)


def test_size_of_a_mesh_without_its_file_raises_an_error() -> None:
    mesh = Mesh("arm.dae", (1, 1, -2))
    assert mesh.scale == (1.0, 1.0, -2.0)
    assert mesh.origin_radius is mesh.volume is mesh.unit_inertia() is None


def test_dimensions_of_shapes_become_floats_so_that_equal_shapes_compare_equal() -> None:
    assert Box(np.array([1, 2, 3])) == Box([1.0, 2.0, 3.0]) == Box((1, 2, 3))
    assert hash(Cylinder(1, np.float32(2))) == hash(Cylinder(1.0, 2.0))
    assert repr(Sphere(1)) == "Sphere(radius=1.0)"
    assert Material(rgba=(0, 0.5, 1)).rgba == (0.0, 0.5, 1.0, 1.0)


def test_shape_can_be_placed_by_a_vector_a_matrix_or_a_pose() -> None:
    ball = Sphere(0.1)
    assert ball.at((0, 0, 0)).origin is Pose.identity()
    assert ball.at((0, 0, 0.5)).origin.translation == Vec3(0.0, 0.0, 0.5)
    placed = ball.at(np.diag([-1.0, -1.0, 1.0, 1.0]), name="tip", material=Material("red", (1, 0, 0)))
    assert placed.shape is ball and placed.name == "tip" and placed.material == Material("red", (1.0, 0.0, 0.0, 1.0))
    assert placed.origin.rotation.x == Vec3(-1.0, 0.0, 0.0)
    assert ball.at(placed.origin).origin == placed.origin and ball.at(Pose.identity()).origin is Pose.identity()
    for wrong in ("up", (1, 2), np.eye(3), (0, 0, math.nan), 2.0 * np.eye(4), np.diag([1.0, 1.0, -1.0, 1.0])):
        with pytest.raises(ValueError, match=r"sphere: at: pose: expected a pose, a matrix of shape \(4, 4\)"):
            ball.at(wrong)


def test_invalid_dimensions_of_shapes_are_refused() -> None:
    bad = {
        r"box: size: expected 3 positive numbers \[m\], got \(1, 2, 0\)": lambda: Box((1, 2, 0)),
        r"box: size: .* got an array of shape \(2,\)": lambda: Box((1, 2)),  # type: ignore[arg-type]
        r"box: size: .* got \('1', '2', '3'\)": lambda: Box(("1", "2", "3")),  # type: ignore[arg-type]
        r"cylinder: radius: expected a positive number \[m\], got -0.1": lambda: Cylinder(-0.1, 1.0),
        r"cylinder: length: .* got inf": lambda: Cylinder(0.1, math.inf),
        r"sphere: radius: .* got nan": lambda: Sphere(math.nan),
        r"sphere: radius: expected a positive number \[m\] and at most 1e\+20 m, got 1e\+30": lambda: Sphere(1e30),
        r"box: size: .* at most 1e\+20 m, got \(1, 1e\+200, 1\)": lambda: Box((1, 1e200, 1)),
        r"box: size: .* positive numbers \[m\], got \(1, -1, 1\)": lambda: Box((1, -1, 1)),
        r"sphere: radius: .* got True": lambda: Sphere(True),
        r"mesh: uri: expected the name of a file, got ' '": lambda: Mesh(" "),
        r"mesh: scale: expected three non-zero numbers, got \(1, 0, 1\)": lambda: Mesh("a", (1, 0, 1)),
        r"material: rgba: .* between 0 and 1, got \(0, 0, 2\)": lambda: Material(rgba=(0, 0, 2)),  # type: ignore[arg-type]
        r"material: rgba: .* got an array of shape \(2,\)": lambda: Material(rgba=(0, 0)),  # type: ignore[arg-type]
    }
    for message, make in bad.items():
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(ValueError, match="got masked_array"):
        Box(np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False]))  # type: ignore[arg-type]
