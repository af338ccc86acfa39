"""Scenes as values and as text, and the distance of two shapes."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnknownNameError
from linkwork.shapes import Sphere


def kitchen():
    X = lw.pose((0.5, 0, 0.4), rpy=(0.1, 0.2, 0.3))
    scene = lw.Scene().with_box("table", (1.2, 0.8, 0.05), X).with_sphere("lamp", 0.1, (0.5, 0, 1.2))
    return scene.with_cylinder("can", 0.05, 0.2, (0.1, 0.2, 0.3))


def test_scenes_with_equal_obstacles_compare_equal() -> None:
    scene = kitchen()
    assert scene.names == ("table", "lamp", "can") and "lamp" in scene and len(scene) == 3
    assert pickle.loads(pickle.dumps(scene)) == scene != scene.without("lamp")
    assert scene.with_pose("lamp", (0, 0, 1))["lamp"].pose.translation.z == 1.0
    assert scene.only(["can", "table"]).names == ("table", "can")
    assert sum(capacity for _, capacity in scene.capacities) == 12 and len({*scene.row_indices}) == 3


def test_scene_written_to_json_or_a_dict_is_read_as_an_equal_scene() -> None:
    scene = kitchen()
    assert lw.Scene.from_dict(scene.to_dict()) == scene == lw.Scene.from_json(scene.to_json())
    assert lw.Scene.from_json(lw.Scene().to_json()) == lw.Scene()
    obstacle = {"name": "x", "shape": {"type": "sphere", "radius": 0.1}}
    for obstacles, said in (
        ([obstacle, obstacle], "two obstacles are named 'x'"),
        ([{**obstacle, "colour": 1}], "unknown key 'colour'"),
        ([{**obstacle, "shape": {"type": "spere", "radius": 1.0}}], "did you mean 'sphere'"),
        ([{**obstacle, "shape": {"type": "sphere"}}], "'radius' is missing"),
        ([{**obstacle, "shape": {"type": "sphere", "radius": -1.0}}], "positive number"),
        ([{**obstacle, "pose": [0, 0]}], "expected a pose, a matrix of shape|pose: expected"),
        ([{"shape": obstacle["shape"]}], "'name' is missing"),
        ("x", "expected a list"),
        ([3], "expected an object"),
    ):
        with pytest.raises(ValueError, match=said):
            lw.Scene.from_dict({"version": 1, "obstacles": obstacles})
    for text, said in (
        ("{", "JSON"),
        ('{"version": 1, "version": 1, "obstacles": []}', "key 'version' is stated twice"),
        ('{"version": 2, "obstacles": []}', "version: expected 1"),
        (
            json.dumps({"version": 1, "obstacles": [{**obstacle, "pose": [float("nan"), 0, 0]}]}),
            "expected a finite number, got 'NaN'",
        ),
        ("[" * 100000, "deep|JSON"),
        ("scene.json", r"^Scene.from_json: text: expected a JSON document, got 'scene.json'; linkwork.load_scene"),
    ):
        with pytest.raises(ValueError, match=said):
            lw.Scene.from_json(text)


def test_moved_scenes_have_each_obstacle_at_the_product_of_both_poses() -> None:
    """Poses of obstacles are arrays for NumPy, and a scene seen from a base stands as the base moved in the scene."""
    scene, X = kitchen(), lw.pose((0.3, -0.7, 0.9), rpy=(0.4, -0.6, 1.1))
    moved = scene.moved(X)
    for name in scene.names:
        Y = np.array(scene[name].pose.matrix())
        assert np.abs(moved[name].pose.matrix() - X @ Y).max() < 1e-15
        assert (np.asarray(scene[name].pose) == Y).all() and (X @ scene[name].pose == X @ Y).all()
        assert (scene[name].pose @ X == Y @ X).all() and np.asarray(scene[name].pose, dtype=np.float32).dtype == "f4"
    with pytest.raises(ValueError, match="copy=None or True"):
        np.asarray(scene["lamp"].pose, copy=False)
    base = np.linalg.inv(X)
    robot = lw.load("arm7")
    q = robot.random_configuration(seed=3, size=4)
    expected = robot.with_base(base).distances(q, scene).distance
    assert np.abs(robot.distances(q, moved).distance - expected).max() < 1e-13


def test_invalid_obstacles_are_refused() -> None:
    scene = kitchen()
    with pytest.raises(ValueError, match="moved: pose"):
        scene.moved(np.ones((4, 4)))
    with pytest.raises(ValueError, match=r"'table'.*within"):
        scene.moved((0.0, 0.0, -2e20))
    with pytest.raises(ValueError, match="already"):
        scene.with_sphere("lamp", 0.1)
    with pytest.raises(UnknownNameError, match="lamp"):
        scene.without("lmap")
    with pytest.raises(TypeError, match="convex"):
        scene.with_shape("mesh", lw.shapes.Mesh("a.stl"))
    with pytest.raises(ValueError, match="pose"):
        scene.with_sphere("ball", 0.1, np.ones((4, 4)))
    with pytest.raises(ValueError, match="name"):
        scene.with_sphere(" ", 0.1)
    with pytest.raises(ValueError, match="positive number"):
        scene.with_sphere("ball", -0.1)


def test_signed_distance_of_two_shapes_accepts_batches_of_poses() -> None:
    a, b, rng = Sphere(0.1), Sphere(0.2), np.random.default_rng(0)
    X = np.broadcast_to(np.eye(4), (50, 4, 4)).copy()
    X[:, :3, 3] = rng.normal(size=(50, 3))
    distances = lw.signed_distance(a, np.eye(4), b, X)
    assert np.abs(distances.distance - np.linalg.norm(X[:, :3, 3], axis=-1) + 0.3).max() < 1e-15
    assert np.abs(distances.point_b - distances.point_a - distances.normal * distances.distance[:, None]).max() < 1e-15
    alone = [lw.signed_distance(a, np.eye(4), b, x).distance for x in X]
    assert np.array_equal(alone, distances.distance)
    traced = lw.compile(lambda x: lw.signed_distance(a, np.eye(4), b, x).distance, x=(4, 4))
    assert np.array_equal(traced(X), distances.distance)
    far, nowhere = np.eye(4), np.eye(4)
    far[0, 3], nowhere[2, 3] = 1e200, np.nan  # of a pair whose kernel is known
    endless = X.copy()
    endless[7, 1, 3] = np.inf
    mirrored = np.diag([1.0, 1.0, -1.0, 1.0])
    for wrong, said in (
        (np.full((4, 4), np.nan), "of finite numbers, got nan"),
        (nowhere, r"X_a: expected poses \(..., 4, 4\) of finite numbers, got nan"),
        (endless, "got inf"),
        (far, r"positions within 1e\+20 m of the origin, got 1e\+200"),
        (np.eye(3), r"shape \(3, 3\)"),
        (2.0 * np.eye(4), "a rotation, a position and the last row 0 0 0 1"),
        (mirrored, "a rotation, a position and the last row 0 0 0 1"),
        ("x", "expected poses"),
        (X[:3], "do not broadcast together"),
    ):
        with pytest.raises(ValueError, match=said):
            lw.signed_distance(a, wrong, b, X)
    with pytest.raises(TypeError, match="convex"):
        lw.signed_distance(lw.shapes.Mesh("a.stl"), X, b, X)
