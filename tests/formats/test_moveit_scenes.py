"""MoveIt's text format of scenes: files of both versions, ignored lines, and bad files."""

import contextlib
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from helpers.examples import examples
from linkwork.errors import ModelError, ModelWarning

OLD = """kitchen (old)
* left wall
1
box
2.5 1.25 0.3
1.5 -1 0.25
0 0 4.16377e-05 1
0 0 1 0.3
* can
2
cylinder
0.02 0.1
0.45 0.5 0.35
0.5 0.5 0.5 0.5
0 0 0 0
sphere
0.05
0 0 1
0 0 0 1
1 0 0 1
.
"""
NEW = """(noname)+
* tool
0.5 0.25 1
0 0 0.6 0.8
2
cone
0.1 0.4
0 0 0.1
0 0 0 1
0 0 0 0
mesh
4 4
0 0 0
1 0 0
0 1 0
0 0 1
0 2 1
0 1 3
0 3 2
1 2 3
0.1 0 0
0.6 0 0 0.8
0.1 0.2 0.3 0.4
2
tool tip
0 0 0.3
0 0 0 1
grip
0 0 0
0 0 0 1
* floor
0 0 0
0 0 0 1
1
plane
0 0 2 1
0 0 0
0 0 0 1
0 0 0 0
0
.
"""


def written(tmp_path, text):
    path = tmp_path / "a.scene"
    path.write_text(text)
    return path


def matrix(x, y, z, w, position):
    """The pose of a quaternion, by Rodrigues' formula."""
    axis, s = np.array([x, y, z], dtype=float), np.hypot(np.linalg.norm([x, y, z]), w)
    axis, w = axis / s, w / s
    cross = np.cross(axis, np.eye(3)).T  # cross @ b is axis × b
    result = np.eye(4)
    result[:3, :3] = np.eye(3) + 2.0 * w * cross + 2.0 * cross @ cross
    result[:3, 3] = position
    return result


def poses(scene):
    return {x.name: np.array(x.pose.elements()).reshape(4, 4) for x in scene.obstacles}


def test_moveit_scene_files_without_object_poses_are_read(tmp_path):
    scene = lw.load_scene(written(tmp_path, OLD))
    assert scene.names == ("left wall", "can[0]", "can[1]")
    assert scene["left wall"].shape == lw.shapes.Box((2.5, 1.25, 0.3))
    assert scene["can[0]"].shape == lw.shapes.Cylinder(0.02, 0.1) and scene["can[1]"].shape == lw.shapes.Sphere(0.05)
    X = poses(scene)
    assert np.abs(X["left wall"] - matrix(0, 0, 4.16377e-05, 1, (1.5, -1, 0.25))).max() < 1e-15
    assert np.abs(X["can[0]"] - matrix(0.5, 0.5, 0.5, 0.5, (0.45, 0.5, 0.35))).max() < 1e-15
    assert [str(issue).partition(": ")[2] for issue in scene.issues] == [
        "line 1: the scene's name [IGNORED]",
    ]
    assert scene["left wall"].color == (0.0, 0.0, 1.0, 0.3) and scene["can[1]"].color == (1.0, 0.0, 0.0, 1.0)
    assert scene["can[0]"].color is None  # four zeros are MoveIt's default
    saved = scene.with_color("can", (0.2, 0.4, 0.6))
    saved.save(tmp_path / "again.scene")
    again = lw.load_scene(tmp_path / "again.scene")
    assert [x.color for x in again.obstacles] == [(0.0, 0.0, 1.0, 0.3), (0.2, 0.4, 0.6, 1.0), (0.2, 0.4, 0.6, 1.0)]
    bright = lw.load_scene(written(tmp_path, OLD.replace("1 0 0 1\n.", "255 0 0 255\n.")))
    assert bright["can[1]"].color is None and "line 20: colors outside of 0 to 1" in str(bright.issues[-1])
    assert lw.load_scene(written(tmp_path, OLD.replace("\n", "\r\n") + "more\n")) == scene
    assert lw.load_scene(written(tmp_path, "empty\n.\n")) == lw.Scene()


def test_moveit_scene_files_with_object_poses_and_subframes_are_read(tmp_path):
    with pytest.warns(ModelWarning, match="read as the half-space"):
        scene = lw.load_scene(written(tmp_path, NEW))
    assert scene.names == ("tool[0]", "tool[1]", "floor")
    X, tool = poses(scene), matrix(0, 0, 0.6, 0.8, (0.5, 0.25, 1))
    assert np.abs(X["tool[0]"] - tool @ matrix(0, 0, 0, 1, (0, 0, 0.1))).max() < 1e-15
    assert np.abs(X["tool[1]"] - tool @ matrix(0.6, 0, 0, 0.8, (0.1, 0, 0))).max() < 1e-15
    assert scene["tool[0]"].shape == lw.shapes.Cone(0.1, 0.4)
    assert abs(scene["tool[1]"].shape.volume - 1.0 / 6.0) < 1e-15
    ignored = [str(issue).partition(": ")[2] for issue in scene.issues if issue.code == "IGNORED"]
    assert "lines 25, 26, 27, 28, 29, 30: subframes of 'tool' [IGNORED]" in ignored
    probe = lw.shapes.Sphere(0.1)  # the plane is 2 z + 1 = 0
    for z in (-0.3, 0.7):
        separation = lw.signed_distance(scene["floor"].shape, X["floor"], probe, lw.pose((3.0, -2.0, z)))
        assert abs(separation.distance - (z + 0.5 - 0.1)) < 1e-15


def test_planes_of_any_direction_in_moveit_scenes_are_half_spaces(tmp_path):
    rng = np.random.default_rng(6)
    for a, b, c, d in rng.normal(size=(10, 4)):
        text = NEW.replace("0 0 2 1", " ".join(str(float(x)) for x in (a, b, c, d)))
        with pytest.warns(ModelWarning, match="half-space"):
            scene = lw.load_scene(written(tmp_path, text))
        for point in rng.normal(size=(4, 3)):
            X = poses(scene)["floor"]
            separation = lw.signed_distance(scene["floor"].shape, X, lw.shapes.Sphere(0.1), lw.pose(point)).distance
            height = (np.dot([a, b, c], point) + d) / np.linalg.norm([a, b, c])
            assert abs(separation - (height - 0.1)) < 1e-14


BAD = {  # what is replaced: by what, the message, and the line of the error
    "2.5 1.25 0.3\n": ("2.5 1.25\n", "expected a color: .* 4 numbers, and the object ends", 9),
    "box\n": ("bxo\n", r"the type of a shape \(.*got 'bxo'", 4),
    "0 0 4.16377e-05 1\n": ("0 0 1 1\n", "expected a unit quaternion", 7),
    "0 4.16377e-05 1\n": ("0 0.1 1\n", "expected a unit quaternion .* its norm is 1.00498756", 7),
    "* can\n2\ncylinder\n": ("* can\n1000000000\ncylinder\n", "an integer, got '1000000000'", 10),
    "* can\n2\ncyl": ("* can\n999999999\ncyl", "the number of shapes, at most .*, got 999999999", 10),
    "cylinder\n0.02 0.1": ("cylinder\n0.02 -0.1", "cylinder: .*positive", 11),
    "* can\n2": ("* can\ntwo", "the number of shapes, an integer, got 'two'", 10),
    "* can\n2\n": ("* can\n3\n", "expected the type of a shape, and the object ends", 21),
    "* can\n2\ncylinder": ("* none\n* can\n2\ncylinder", "expected the number of shapes, and the object ends", 10),
    "* can\n": ("* none\n0\n* can\n", "object 'none' has no shapes", 10),
    "* can": ("*", "expected the name of an object", 9),
    "kitchen (old)\n": ("kitchen\nbox\n", r"expected an object, '\* name', got 'box'", 2),
    "0.45 0.5": ("0.45 nan", "expected a position: expected a finite number", 13),
    "0.05\n": ("1e30\n", "at most 1e[+]20", 17),
    "\n.\n": ("\n", "expected a line '.' at the end", 21),
    "* left wall": ("* can[0]", "exists already|two obstacles", 9),
}


@pytest.mark.parametrize("old", BAD)
def test_broken_moveit_scene_files_are_refused(old, tmp_path):
    new, message, line = BAD[old]
    with pytest.raises(ModelError, match=message) as caught:
        lw.load_scene(written(tmp_path, OLD.replace(old, new, 1)))
    assert caught.value.line == line


def test_broken_meshes_and_planes_in_moveit_scenes_are_refused(tmp_path):
    for old, new, message, line in (
        ("1 2 3\n", "1 2 4\n", "expected indices of vertices from 0 to 3, got 4", 20),
        ("4 4\n0", "4 0\n0", "expected at least one triangle of a mesh", 12),
        ("4 4\n0", "4 9\n0", "the object ends|an integer, got", None),
        ("0 0 2 1\n", "0 0 0 1\n", "expected a normal of a plane that is not zero", 36),
    ):
        with pytest.raises(ModelError, match=message) as caught:
            lw.load_scene(written(tmp_path, NEW.replace(old, new, 1)))
        assert line is None or caught.value.line == line
    text = OLD.replace("0 0 4.16377e-05 1\n", "0 0 0.03 1\n")  # its norm is 1.00045
    assert (
        np.abs(
            poses(lw.load_scene(written(tmp_path, text)))["left wall"][:3, :3]
            - matrix(0, 0, 0.03, 1, (0, 0, 0))[:3, :3]
        ).max()
        < 1e-15
    )


CHANGED = ("", "0", "-1", "1e400", "9999999999", "\n", "*", ".", "mesh", "é", "nan")


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_moveit_scene_files_with_random_changes_are_read_or_refused(tmp_path_factory, data):
    words = data.draw(st.sampled_from([OLD, NEW])).split(" ")
    for _ in range(data.draw(st.integers(1, 3))):
        k = data.draw(st.integers(0, len(words) - 1))
        words[k] = data.draw(
            st.sampled_from(["", "0", "-1", "1e400", "9999999999", "\n", "*", ".", "mesh", "é", "nan"])
        )
    path = written(tmp_path_factory.mktemp("changed"), " ".join(words))
    with warnings.catch_warnings(), contextlib.suppress(ModelError):
        warnings.simplefilter("ignore", ModelWarning)
        scene = lw.load_scene(path)
        assert all(np.isfinite(x.pose.elements()).all() for x in scene.obstacles)


def test_shapes_without_a_moveit_scene_format_are_refused_with_their_names(tmp_path):
    for scene, message in (
        (lw.Scene().with_capsule("pipe", 0.1, 0.3), "'pipe': a .scene file has .* no Capsule; save the scene as .yaml"),
        (lw.Scene().with_sphere("a\nb", 0.1), "no names with line breaks"),
    ):
        with pytest.raises(ValueError, match=message):
            scene.save(tmp_path / "a.scene")
        assert not (tmp_path / "a.scene").exists()
    with pytest.raises(ValueError, match=r"expected a file named \.yaml, \.yml, \.json or \.scene, got 'a.txt'"):
        lw.Scene().save(tmp_path / "a.txt")
