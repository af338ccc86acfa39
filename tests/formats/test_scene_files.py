"""Scene files in YAML, JSON and MoveIt's text format: distances by coal, round trips, and errors with their lines."""

import json
import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

import linkwork as lw
from linkwork.errors import ModelError, ModelWarning
from linkwork.formats import scene_file
from linkwork.formats.linkwork_json.shape_entries import SHAPES
from linkwork.formats.scene_writing import _margin
from linkwork.geometry.fields import FIELDS
from linkwork.geometry.solids import SOLIDS

coal = pytest.importorskip("coal")

UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "in": 0.0254, "ft": 0.3048}


def rotation_of(pose: dict, angle: float) -> np.ndarray:
    """The rotation matrix of a pose of a document, by SciPy."""
    if "rpy" in pose:
        return Rotation.from_euler("xyz", angle * np.array(pose["rpy"])).as_matrix()
    if "quaternion_wxyz" in pose:
        w, *xyz = pose["quaternion_wxyz"]
        return Rotation.from_quat([*xyz, w]).as_matrix()
    if "quaternion_xyzw" in pose:
        return Rotation.from_quat(pose["quaternion_xyzw"]).as_matrix()
    return np.array(pose.get("rotation", np.eye(3)))


def drawn_entry(rng: np.random.Generator, k: int, scale: float, degrees: float) -> dict:
    """An entry of an obstacle with lengths in a unit of ``scale`` [m] and angles in one of ``degrees`` [rad]."""
    a, b, c = (rng.uniform(0.1, 0.6, 3) / scale).tolist()
    shape = [
        {"type": "box", "size": [a, b, c]},
        {"type": "sphere", "radius": a},
        {"type": "cylinder", "radius": a, "length": b},
        {"type": "capsule", "radius": a, "length": b},
        {"type": "ellipsoid", "radii": [a, b, c]},
        {"type": "cone", "radius": a, "length": b},
        {"type": "half_space"},
        {"type": "polytope", "vertices": (rng.normal(size=(9, 3)) / scale).tolist()},
    ][k % 8]
    turn = Rotation.random(random_state=int(rng.integers(2**31)))
    x, y, z, w = turn.as_quat().tolist()
    pose = [
        {"rpy": (turn.as_euler("xyz") / degrees).tolist()},
        {"quaternion_wxyz": [w, x, y, z]},
        {"quaternion_xyzw": [x, y, z, w]},
        {"rotation": turn.as_matrix().tolist()},
    ][rng.integers(4)]
    return {"name": f"obstacle {k}", "shape": shape, "pose": {"xyz": (rng.normal(size=3) / scale).tolist(), **pose}}


def coal_shape(shape: dict, scale: float):
    kind = {key: scale * np.array(value) for key, value in shape.items() if key != "type"}
    match shape["type"]:
        case "box":
            return coal.Box(*kind["size"])
        case "sphere":
            return coal.Sphere(float(kind["radius"]))
        case "cylinder":
            return coal.Cylinder(float(kind["radius"]), float(kind["length"]))
        case "capsule":
            return coal.Capsule(float(kind["radius"]), float(kind["length"]))
        case "cone":
            return coal.Cone(float(kind["radius"]), float(kind["length"]))
        case "ellipsoid":
            return coal.Ellipsoid(*kind["radii"])
        case "half_space":
            return coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    points = coal.StdVec_Vec3s()
    for vertex in kind["vertices"]:
        points.append(vertex)
    return coal.Convex.convexHull(points, False, "Qt")


@pytest.mark.slow(every=9)
def test_distances_from_loaded_obstacles_equal_those_of_coal(tmp_path):
    rng = np.random.default_rng(64)
    for k, (unit, angle) in enumerate((u, a) for u in UNITS for a in ("rad", "deg")):
        scale, degrees = UNITS[unit], 1.0 if angle == "rad" else np.pi / 180.0
        entries = [drawn_entry(rng, j, scale, degrees) for j in range(8)]
        document = {"version": 1, "units": {"length": unit, "angle": angle}, "obstacles": entries}
        path = tmp_path / ("scene.json" if k % 2 else "scene.yaml")
        path.write_text(json.dumps(document, indent=1) if k % 2 else yaml.safe_dump(document))
        scene = lw.load_scene(path)
        assert scene.names == tuple(entry["name"] for entry in entries) and scene.issues == ()
        probe = lw.shapes.Sphere(0.05)
        for entry in entries:
            obstacle = scene[entry["name"]]
            X = np.array(obstacle.pose.elements()).reshape(4, 4)
            at = coal.Transform3s(rotation_of(entry["pose"], degrees), scale * np.array(entry["pose"]["xyz"]))
            for point in rng.normal(scale=3.0, size=(3, 3)):
                request, result = coal.DistanceRequest(), coal.DistanceResult()
                shape = coal_shape(entry["shape"], scale)
                expected = coal.distance(
                    shape, at, coal.Sphere(0.05), coal.Transform3s(np.eye(3), point), request, result
                )
                distance = lw.signed_distance(obstacle.shape, X, probe, lw.pose(point)).distance
                if expected > 0.0:
                    assert abs(distance - expected) < 1e-5, entry
                else:
                    assert distance < 1e-6


def shelf() -> lw.Scene:
    rng = np.random.default_rng(3)
    X = lw.pose((0.5, -0.25, 0.4), rpy=(0.1, 0.2, 0.3))
    scene = lw.Scene().with_box("a: table", (1.2, 0.8, 0.05), X).with_sphere('the "lamp"', 1e-7, (0.5, 0, 1.2))
    scene = scene.with_cylinder("can", 0.05, 0.2, (0.1, 1e-9, 3e5)).with_half_space("floor", X)
    return scene.with_shape("rock", lw.shapes.Polytope(rng.normal(size=(12, 3)).tolist()), X).with_shape(
        "cone", lw.shapes.Cone(0.1, 0.3), X
    )


def everything() -> lw.Scene:
    rng = np.random.default_rng(4)
    box = lw.shapes.Box((0.1, 0.2, 0.3))
    scene = shelf().with_capsule("pipe", 0.1, 0.5).with_ellipsoid("egg", (0.1, 0.2, 0.3))
    scene = scene.with_height_field("ground", rng.normal(size=(3, 4)), (0.1, 0.2)).with_point_cloud(
        "cloud", rng.normal(size=(7, 3)), 0.01
    )
    scene = scene.with_shape("pad", lw.shapes.Rounded(box, 0.02), (0, 0, 1)).with_compound("two", [box, box])
    scene = scene.with_color("pad", (0.1, 0.25, 0.7)).with_color("two[1]", (1.0, 0.0, 0.3, 0.5))
    return scene.with_distance_field("field", lw.shapes.DistanceField(rng.normal(size=(2, 3, 4)), 0.1))


@pytest.mark.parametrize("name", ["a.json", "a.yaml", "a.yml", "a.scene"])
def test_a_saved_scene_loads_as_an_equal_scene(name, tmp_path):
    path, scene = tmp_path / name, shelf() if name == "a.scene" else everything()
    scene.save(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if name == "a.scene" else "error", ModelWarning)
        loaded = lw.load_scene(path)
    if name == "a.scene":  # its rotations are quaternions
        for first, second in zip(scene.obstacles, loaded.obstacles, strict=True):
            assert first.name == second.name and first.shape == second.shape
            X, Y = (np.array(x.pose.elements()) for x in (first, second))
            assert np.abs(X - Y).max() < 1e-15 * max(1.0, np.abs(X).max())
        return
    assert loaded == scene and pickle.loads(pickle.dumps(loaded)) == scene
    if name != "a.json":
        assert lw.Scene.from_dict(yaml.safe_load(path.read_text())) == scene  # also for readers of YAML 1.1
    else:
        assert lw.Scene.from_json(path.read_text()) == scene
    assert lw.load_scene(path, trusted=False) == scene


CELL = """
$schema: ../docs/scene.schema.json
version: 1
units: {length: mm, angle: deg}
obstacles:
  - {name: table, shape: {type: box, size: [500, 1000, 40]}, pose: {xyz: [700, 0, -180], rpy: [0, 0, 90]},
     color: [0.6, 0.4, 0.2]}
  - {name: cup, shape: {type: cylinder, radius: 30, length: 80}, pose: [0, 0, 60],
     attached_to: hand, touching: [flange], color: [0, 0.5, 1, 0.8]}
touching:
  - [cup, table]
margin: {scene: 20, pairs: [[cup, table, 0]]}
"""


@pytest.mark.slow(every=5)
def test_objects_on_frames_pairs_and_margins_of_a_file_equal_those_set_in_python(tmp_path):
    arm = lw.load("arm7")
    (tmp_path / "cell.yaml").write_text(CELL)
    setup = lw.load_scene(tmp_path / "cell.yaml", arm)
    table = lw.Scene().with_box("table", (0.5, 1.0, 0.04), lw.pose((0.7, 0, -0.18), rpy=(0, 0, np.pi / 2)))
    cup = lw.shapes.Cylinder(0.03, 0.08)
    carrying = arm.with_attached("cup", "hand", cup, (0, 0, 0.06), touching=["flange"])
    q = arm.random_configuration(seed=1, size=20)
    expected, result = carrying.distances(q, table), setup.robot.distances(q, setup.scene)
    assert result.pairs == expected.pairs
    assert np.abs(result.distance - expected.distance).max() < 1e-14
    assert setup.scene["table"].color == (0.6, 0.4, 0.2, 1.0) and setup.attached[0].color == (0.0, 0.5, 1.0, 0.8)
    drawn = lw.viewer.scene_document(setup.robot, scene=setup.scene)
    assert next(part.color for part in drawn.actors[0].parts if part.link == "cup") == (0.0, 0.5, 1.0, 0.8)
    assert setup.touching == (("cup", "table"),) and setup.margin == {"scene": 0.02, ("cup", "table"): 0.0}
    start, goal = np.zeros(7), np.array([0.6, 0.3, 0, -1.2, 0, 0.6, 0])
    plan = setup.robot.plan(start, goal, setup.scene, touching=setup.touching, margin=setup.margin)
    assert plan.success and carrying.minimum_distance(plan.path, table, pairs=[("wrist", "table")]).min() > 0.02
    for name in ("again.yaml", "again.json"):
        setup.save(tmp_path / name)
        again = lw.load_scene(tmp_path / name, arm)
        assert (again.robot, again.scene, again.touching, again.margin) == setup_values(setup)
        assert again.attached == setup.attached
    with pytest.raises(ModelError, match="objects on frames, which need a robot"):
        lw.load_scene(tmp_path / "cell.yaml")
    with pytest.raises(ValueError, match=r"'cup' on a frame; save the scene as \.yaml"):
        setup.save(tmp_path / "again.scene")
    with pytest.raises(ModelError, match="has no frame named 'hand'") as caught:
        lw.load_scene(tmp_path / "cell.yaml", lw.load("quadruped"))
    assert caught.value.line == 8
    (tmp_path / "cell.yaml").write_text(CELL.replace("[cup, table]", "[cop, table]"))
    with pytest.raises(ModelError, match=r"no link or obstacle named 'cop'.*\n.*did you mean 'cup'"):
        lw.load_scene(tmp_path / "cell.yaml", arm)


def setup_values(setup):
    return setup.robot, setup.scene, setup.touching, setup.margin


BOX = {"name": "a", "shape": {"type": "box", "size": [1, 1, 1]}}
WRONG = (
    ({"version": 2}, "VERSION", "expected 1"),
    ({"obstacle": []}, "UNKNOWN_KEY", "did you mean 'obstacles'"),
    ({"obstacles": {}}, "DATA_TYPE", "expected a list"),
    ({"obstacles": [3]}, "DATA_TYPE", "expected an object"),
    ({"obstacles": [BOX, BOX]}, "DUPLICATE_NAME", "two obstacles are named 'a'"),
    ({"obstacles": [{**BOX, "colour": 1}]}, "UNKNOWN_KEY", "unknown key 'colour'"),
    ({"obstacles": [{"name": "a"}]}, "KEY_MISSING", "'shape' is missing"),
    ({"obstacles": [{**BOX, "color": [255, 0, 0]}]}, "COLOR", "color: expected three or four numbers between 0 and 1"),
    ({"obstacles": [{**BOX, "color": "red"}]}, "COLOR", "color: expected three or four numbers"),
    ({"obstacles": [{"shape": BOX["shape"]}]}, "KEY_MISSING", "'name' is missing"),
    ({"obstacles": [{**BOX, "shape": {"type": "bx"}}]}, "SHAPE_TYPE", "did you mean 'box'"),
    ({"obstacles": [{**BOX, "shape": {"type": "box"}}]}, "KEY_MISSING", "'size' is missing"),
    ({"obstacles": [{**BOX, "shape": {"type": "box", "size": [1, 1]}}]}, "ARITY", "size"),
    ({"obstacles": [{**BOX, "shape": {"type": "sphere", "radius": 0}}]}, "SHAPE", "positive"),
    ({"obstacles": [{**BOX, "shape": {"type": "sphere", "radius": "1 m"}}]}, "NUMBER", "expected a number"),
    ({"obstacles": [{**BOX, "pose": [0, 0]}]}, "POSE", "pose"),
    ({"obstacles": [{**BOX, "pose": "here"}]}, "POSE", "expected an object"),
    ({"obstacles": [{**BOX, "pose": {"xyz": [0, 0, 0], "quaternion": [0, 0, 0, 1]}}]}, "UNKNOWN_KEY", "quaternion_"),
    ({"obstacles": [{**BOX, "pose": {"rpy": [0, 0, 0], "rotation": []}}]}, "DUPLICATE_ELEMENT", "stated twice"),
    ({"obstacles": [{**BOX, "pose": {"quaternion_xyzw": [0, 0, 0, 2]}}]}, "QUAT_NORM", "unit quaternion"),
    ({"obstacles": [{**BOX, "touching": ["hand"]}]}, "KEY_MISSING", "attached to a frame"),
    ({"units": {"length": "km"}, "obstacles": []}, "UNIT", "expected one of m, cm, mm"),
    ({"units": {"lengths": "mm"}, "obstacles": []}, "UNKNOWN_KEY", "did you mean 'length'"),
    ({"touching": [["a"]]}, "ARITY", "expected two names"),
    ({"touching": ["ab"]}, "DATA_TYPE", "expected a list"),
    ({"margin": {"scenes": 1}}, "UNKNOWN_KEY", "did you mean 'scene'"),
    ({"margin": {"pairs": [["a", "b"]]}}, "ARITY", "two names and a margin"),
    ({"margin": "1 cm"}, "NUMBER", "expected a number"),
    ({"obstacles": [{**BOX, "shape": {"type": "mesh", "file": "none.stl"}}]}, "MESH", "none.stl"),
    (
        {"obstacles": [{**BOX, "shape": {"type": "mesh", "file": "a.stl", "decompos": True}}]},
        "UNKNOWN_KEY",
        "decompose",
    ),
)


@pytest.mark.light
@pytest.mark.parametrize(("change", "code", "message"), WRONG)
def test_errors_in_a_scene_file_are_refused_with_their_lines(change, code, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("scene.json").write_text(json.dumps({"version": 1, "obstacles": [BOX], **change}, indent=1))
    with pytest.raises(ModelError, match=message) as caught:
        lw.load_scene("scene.json")
    issue = next(x for x in caught.value.issues if x.code == code)
    assert issue.where.file == "scene.json" and issue.where.line


def test_unknown_names_in_a_scene_file_for_a_robot_have_their_lines_and_the_nearest_name(tmp_path):
    """All objects, pairs and margins are listed in one error; the unchanged file is read and saved again."""
    arm, file = lw.load("arm7"), tmp_path / "cell.yaml"
    file.write_text(CELL)
    setup = lw.load_scene(file, arm)
    assert setup.touching == (("cup", "table"),) and [x.name for x in setup.attached] == ["cup"]
    for name in ("again.yaml", "again.json"):
        setup.save(tmp_path / name)
        assert lw.load_scene(tmp_path / name, arm).attached == setup.attached
    with pytest.raises(ValueError, match=r"'cup' on a frame; save the scene as \.yaml"):
        setup.save(tmp_path / "again.scene")
    for old, new, code, message in (
        ("attached_to: hand", "attached_to: hnd", "UNKNOWN_FRAME", "no frame named 'hnd'.*did you mean 'hand'"),
        ("name: cup", "name: wrist", "ATTACHED", "with_attached: the robot already has a frame 'wrist'"),
        ("[cup, table]\n", "[cup, tabel]\n", "UNKNOWN_NAME", "named 'tabel'.*did you mean 'table'"),
        ("[[cup, table, 0]]", "[[cp, table, 0]]", "UNKNOWN_NAME", "named 'cp'.*did you mean 'cup'"),
    ):
        assert old in CELL
        file.write_text(CELL.replace(old, new))
        with pytest.raises(ModelError, match=f"(?s){message}") as caught:
            lw.load_scene(file, arm)
        issue = next(x for x in caught.value.issues if x.code == code)
        lines = CELL.replace(old, new).splitlines()
        part = new.strip("[]\n").split(",")[0].split(": ")[-1] if code == "UNKNOWN_NAME" else "name:"
        assert part in lines[issue.where.line - 1]


def test_files_without_a_scene_are_refused(tmp_path):
    for name, content, message in (
        ("robot.yaml", "cell: 1\nrobots: []", "expected a scene, got the keys cell, robots"),
        ("empty.json", "", "the file is empty"),
        ("list.json", "[]", "expected a scene, got a list"),
        ("a.xml", "<robot/>", "expected a scene file"),
        ("empty.scene", "", "the file is empty"),
        ("b.scene", "<robot/>\n", "expected a line '.' at the end"),
        ("deep.json", "[" * 1000, "deep"),
        ("data.yaml", "&a [*a]", "anchors"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(ModelError, match=message):
            lw.load_scene(tmp_path / name)
    with pytest.raises(FileNotFoundError, match=r"none\.yaml"):
        lw.load_scene(tmp_path / "none.yaml")
    with pytest.raises(TypeError, match="robot: expected a robot, got str"):
        lw.load_scene(tmp_path / "list.json", "arm7")  # type: ignore[call-overload]


def test_meshes_of_scene_files_are_convex_hulls_and_untrusted_files_name_no_path_outside(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    rng = np.random.default_rng(5)
    (tmp_path / "scenes" / "meshes").mkdir(parents=True)
    hull = trimesh.convex.convex_hull(rng.normal(size=(30, 3)))
    hull.export(tmp_path / "outside.stl")
    hull.export(tmp_path / "scenes" / "meshes" / "rock.stl")
    ring = trimesh.creation.annulus(0.5, 1.0, 0.2)
    ring.export(tmp_path / "scenes" / "meshes" / "ring.stl")
    path = tmp_path / "scenes" / "scene.yaml"

    def scene(file, more=""):
        path.write_text(f"version: 1\nobstacles:\n- name: a\n  shape: {{type: mesh, file: {file}{more}}}\n")
        return path

    loaded = lw.load_scene(scene("meshes/rock.stl", ", scale: [0.1, -0.2, 0.3]"))
    vertices = np.array(loaded["a"].shape.vertices)
    expected = np.float32(hull.vertices) * np.array([0.1, -0.2, 0.3])
    for direction in rng.normal(size=(20, 3)):
        assert abs((vertices @ direction).max() - (expected @ direction).max()) < 1e-7
    assert lw.load_scene(scene("meshes/rock.stl"), trusted=False)["a"].shape.volume == pytest.approx(hull.volume, 1e-6)
    with pytest.warns(ModelWarning, match="the mesh fills 75 % of its convex hull"):
        loaded = lw.load_scene(scene("meshes/ring.stl"))
    assert [issue.code for issue in loaded.issues] == ["MESH_HULL"]
    with pytest.raises(ModelError, match="MESH_HULL"):
        lw.load_scene(path, strict=True)
    assert lw.load_scene(scene("../outside.stl")).names == ("a",)
    with pytest.raises(ModelError, match="outside"):
        lw.load_scene(path, trusted=False)


def test_scene_schema_has_the_keys_of_the_reader():
    schema = json.loads((Path(__file__).parents[2] / "docs" / "scene.schema.json").read_text(encoding="utf-8"))
    assert set(schema["properties"]) == set(scene_file.KEYS)
    assert set(schema["$defs"]["obstacle"]["properties"]) == set(scene_file.ENTRY_KEYS)
    assert set(schema["$defs"]["mesh"]["properties"]) == set(scene_file.MESH_KEYS)
    for key, units in scene_file.UNITS.items():
        assert set(schema["properties"]["units"]["properties"][key]["enum"]) == set(units)
    known = {word for word, kind in SHAPES.items() if kind in (*SOLIDS, *FIELDS)} | {"compound"}
    assert set(schema["$defs"]["shape"]["properties"]["type"]["enum"]) == known


def test_decomposed_mesh_of_a_scene_file_has_free_hollows(tmp_path):
    """A ring is an obstacle without its hole; the convex hull of it fills the hole."""
    pytest.importorskip("coacd")
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.annulus(r_min=0.2, r_max=0.3, height=0.1).export(tmp_path / "ring.stl")
    ball = lw.Robot.build("ball", lw.Link("ball", lw.shapes.Sphere(0.05)), floating_base=True)
    q = np.repeat(ball.neutral()[None], 3, axis=0)
    q[:, 4:] = [(0.0, 0.0, 0.0), (0.25, 0.0, 0.0), (0.0, 0.0, 0.4)]
    distances = {}
    for decompose in (False, True):
        entry = {"name": "ring", "shape": {"type": "mesh", "file": "ring.stl", "decompose": decompose}}
        (tmp_path / "scene.json").write_text(json.dumps({"version": 1, "obstacles": [entry]}))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            scene = lw.load_scene(tmp_path / "scene.json")
        distances[decompose] = ball.minimum_distance(q, scene)
    assert (distances[False][:2] < 0.0).all()
    assert distances[True][0] == pytest.approx(0.15, abs=0.03) and distances[True][1] < 0.0
    assert distances[True][2] == pytest.approx(0.35, abs=0.2) and distances[True][2] > 0.3


def test_error_for_an_obstacle_with_its_type_as_a_key_shows_the_correct_form(tmp_path):
    file = tmp_path / "scene.yaml"
    for key, hint in (
        ("box", "shape: {type: box, size: ...}"),
        ("capsule", "shape: {type: capsule, radius: ..., length: ...}"),
    ):
        file.write_text(f"version: 1\nobstacles:\n  - name: wall\n    {key}: [0.6, 0.04, 0.5]\n")
        with pytest.raises(ModelError, match=re.escape(hint)) as raised:
            lw.load_scene(file)
        assert [issue.code for issue in raised.value.issues] == ["UNKNOWN_KEY"]


def test_margins_of_scenes_are_written_by_name_and_by_pair():
    assert _margin(0.02) == 0.02
    assert _margin({"scene": 0.1}) == {"scene": 0.1}
    assert _margin({"scene": 0.1, ("cup", "post"): 0.2}) == {"scene": 0.1, "pairs": [["cup", "post", 0.2]]}
