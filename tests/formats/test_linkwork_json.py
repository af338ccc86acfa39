"""Robots saved as JSON: reading restores them to the bit, and damaged files are errors."""

from __future__ import annotations

import gc
import json
import os
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from formats.saved_robots import everything
from linkwork import constraints, force_elements, joints, shapes
from linkwork.compiler.cache.function_content import content_digest
from linkwork.errors import Issue, ModelError, ModelWarning
from linkwork.formats import parse_robot, robot_text
from linkwork.formats.linkwork_json import robot_reader, shape_entries
from linkwork.formats.linkwork_json.robot_writer import _bounds
from linkwork.model.random_tree import random_tree
from linkwork.model.tree import Tree

FOLDER = Path(__file__).parent
SAVED = FOLDER / "saved" / "version_1.json"
ARM = robot_text(lw.load("double_pendulum").tree)


def restored(tree: Tree) -> Tree:
    """The tree after saving and loading, which is the same to the bit."""
    text = robot_text(tree)
    back = parse_robot(text)
    assert back == tree and hash(back) == hash(tree) and robot_text(back) == text
    assert content_digest(back) == content_digest(tree)  # as kernels are stored
    return back


def issues(document: Any) -> tuple[Issue, ...]:
    text = document if isinstance(document, str) else json.dumps(document)
    with pytest.raises(ModelError, match=r"\[[A-Z_]+\]") as caught:
        parse_robot(text)
    return caught.value.issues


@pytest.mark.slow(every=5)
def test_saved_bundled_and_random_robots_are_restored_bit_for_bit() -> None:
    for name in lw.robots.names():
        restored(lw.load(name).tree)
    restored(lw.load("humanoid", floating_base=True).tree)
    for seed in range(3):
        restored(random_tree(np.random.default_rng(seed), 2 * len(joints.ALL)))


def test_saved_robot_with_every_kind_of_content_is_restored_bit_for_bit() -> None:
    robot = everything()
    back = restored(robot.tree)
    shape = back.frames[-1].visuals[10].shape
    assert isinstance(shape, shapes.Polytope) and shape.overestimate == 0.125
    assert np.copysign(1.0, back.gravity.y) == -1.0
    drawn = {type(geometry.shape) for geometry in back.frames[-1].visuals}
    assert drawn == set(shape_entries.SHAPES.values())
    assert {type(body.joint) for body in back.bodies} == set(joints.ALL)


def test_saved_edited_robots_are_restored_bit_for_bit() -> None:
    arm = lw.load("arm7_gripper")
    joint = arm.joints[2].name
    for robot in (
        arm.with_locked_joints({joint: 0.3}),
        arm.with_root("hand"),
        arm.with_frame("f", "hand", (0.1, 0, 0)).with_point("p", "f", (0, 0, 1e-300)),
        arm.with_gravity((0, 0, 0)),
        lw.load("fourbar", inertia="ignore"),
        lw.load("humanoid", floating_base=True).with_root("left_foot"),
    ):
        restored(robot.tree)


def test_robots_saved_to_json_files_are_loaded_equal(tmp_path: Path) -> None:
    robot = everything()
    path = tmp_path / "robot.json"
    path.write_text("old")
    robot.save(path)
    loaded = lw.load(path)
    assert loaded == robot and loaded.tree.source == str(path)
    assert os.listdir(tmp_path) == ["robot.json"]
    assert lw.load(path, gravity=(0, 0, 1)) == robot.with_gravity((0, 0, 1))
    assert lw.load(path.rename(tmp_path / "robot")) == robot  # the content says what it is
    lw.load("double_pendulum").save(tmp_path / "pendulum.JSON")
    beside = tmp_path / "loops.json"
    closing = '{"version": 1, "points": [{"name": "p", "on": "tip", "xyz": [0, 0, 1]}]}'
    beside.write_text(closing)
    with_loops = lw.load("double_pendulum").with_loops_document(closing)
    assert lw.load(tmp_path / "pendulum.JSON", loops=beside) == with_loops


def test_load_options_that_do_not_apply_to_saved_robots_are_errors(tmp_path: Path) -> None:
    lw.load("humanoid", floating_base=True).save(tmp_path / "humanoid.json")
    for options in (
        {"floating_base": True},
        {"floating_base": False},
        {"mimic": "coupled"},
        {"multi_root": True},
        {"continuous": "sincos"},
        {"inertia": "ignore"},
    ):
        with pytest.raises(TypeError, match=f"load: {next(iter(options))}: "):
            lw.load(tmp_path / "humanoid.json", **options)  # type: ignore[arg-type]
    lw.load("fourbar").save(tmp_path / "fourbar.json")
    assert lw.load(tmp_path / "fourbar.json", floating_base=False) == lw.load("fourbar")


class Ring(shapes.Sphere):
    """A user's shape."""


class Turn(joints.Revolute):
    """A user's joint type."""


class Train(constraints.Gear):
    """A user's constraint."""


class Band(force_elements.SpringDamper):
    """A user's force element."""


def test_content_that_a_saved_robot_cannot_represent_is_refused_before_writing(tmp_path: Path) -> None:
    robot = lw.load("double_pendulum")
    hinge = robot.tree.bodies[0]
    turned = replace(robot.tree, bodies=(replace(hinge, joint=Turn((0, 1, 0))), *robot.tree.bodies[1:]))
    constrained_robot = robot.with_constraints(constraints.Holonomic("held", lambda state: state.point("tip")[:1]))
    path = tmp_path / "robot.json"
    path.write_text("old")
    (tmp_path / "folder.json").mkdir()
    for bad, said in (
        (lw.Robot(turned), "joint 'shoulder': joint type Turn is not one of linkwork.joints"),
        (
            robot.with_collisions("lower_rod", Ring(0.1)),
            "link 'lower_rod': its shape Ring is not one of linkwork.shapes",
        ),
        (constrained_robot, "constraint 'held'"),
        (
            robot.with_constraints(Train("shoulder", "elbow", ratio=2.0)),
            "its kind Train is not one of linkwork.constraints, so it cannot be written",
        ),
        (
            robot.with_force_elements(Band("upper_rod", "tip", stiffness=3.0, name="band")),
            "force element 'band': its kind Band is not one of linkwork.force_elements",
        ),
    ):
        with pytest.raises(TypeError, match=said):
            bad.save(path)
    far = replace(robot.tree, bodies=(replace(hinge, damping=(1e30,)), *robot.tree.bodies[1:]))
    with pytest.raises(ValueError, match=r"cannot be written to a file that can be read.*MAGNITUDE"):
        lw.Robot(far).save(path)
    with pytest.raises(ValueError, match=r"save: path: expected a file named \.json.*use robot.to_"):
        robot.save(tmp_path / "robot.urdf")
    with pytest.raises(
        ValueError, match=r"to_urdf: path: expected a file named \.urdf.*use robot.to_mjcf\('arm.xml'\)"
    ):
        robot.to_urdf("arm.xml")
    with pytest.raises(ValueError, match="save: path: expected the path of a regular file"):
        robot.save(tmp_path / "folder.json")
    with pytest.raises(TypeError, match="save: path: expected the path of a file"):
        robot.save(3)  # type: ignore[arg-type]
    assert path.read_text() == "old" and sorted(os.listdir(tmp_path)) == ["folder.json", "robot.json"]


def test_bounds_without_a_limit_are_written_as_null_on_their_own_side_only() -> None:
    inf = float("inf")
    assert _bounds((-inf, 0.5), -inf, "joint 'j'") == [None, 0.5] and _bounds((inf,), inf, "joint 'j'") is None
    for value, side in ((inf, -inf), (-inf, inf)):
        with pytest.raises(TypeError, match=r"joint 'j': the bounds \(.*inf,\) cannot be written to a file"):
            _bounds((value,), side, "joint 'j'")


def test_saved_robots_of_version_1_are_read() -> None:
    robot = lw.load(SAVED)
    assert json.loads(robot_text(robot.tree)) == json.loads(SAVED.read_text(encoding="utf-8"))
    assert {type(body.joint) for body in robot.tree.bodies} >= set(joints.ALL)
    assert [c.name for c in robot.constraints] == [
        "pin",
        "tool1 rolls",
        "weld(tool3, tool5)",
        robot.constraints[3].name,
    ]
    assert robot.named_configurations["home"].controls is not None
    assert robot == pickle.loads(pickle.dumps(robot))


def test_json_files_without_a_saved_robot_are_errors_with_a_hint(tmp_path: Path) -> None:
    for text, code, hint in (
        ('{"version": 1, "loops": []}', "WRONG_FORMAT", "loops="),
        ('{"name": "r"}', "WRONG_FORMAT", "Robot.save"),
        ("[1, 2]", "WRONG_FORMAT", "Robot.save"),
        ('{"linkwork": 2, "robots": []}', "VERSION", "later version"),
        ('{"linkwork": true}', "VERSION", None),
        ('{"linkwork": "1"}', "VERSION", None),
        ('{"linkwork": 0.5}', "VERSION", None),
    ):
        (issue,) = issues(text)
        assert issue.code == code and (hint is None) == (issue.hint is None) and (hint or "") in (issue.hint or "")
    (tmp_path / "a.json").write_text('<robot name="r"/>')
    with pytest.raises(ModelError, match=r"the suffix \.json is that of a robot file of linkwork"):
        lw.load(tmp_path / "a.json")


GONE = object()
REVERSED = object()
PLACED = "bodies[upper_rod]/placement"
BALL = {"shape": {"type": "sphere", "radius": 0.1}}
EDITS: list[tuple[str, Any, str, str]] = [
    ("name", GONE, "KEY_MISSING", ""),
    ("colour", 1, "UNKNOWN_KEY", "colour"),
    ("gravity", [0, 0], "ARITY", "gravity"),
    ("bodies", {}, "DATA_TYPE", "bodies"),
    ("bodies", REVERSED, "UNKNOWN_BODY", "bodies[lower_rod]/parent"),
    ("bodies 0 parent", "nowhere", "UNKNOWN_BODY", "bodies[upper_rod]/parent"),
    ("bodies 1 name", "upper_rod", "DUPLICATE_NAME", "bodies[upper_rod]"),
    ("bodies 1 joint name", "shoulder", "DUPLICATE_NAME", "bodies[lower_rod]"),
    ("bodies 0 joint type", "revolut", "JOINT_TYPE", "bodies[upper_rod]/joint/type"),
    ("bodies 0 joint axis", [0, 0, 0], "AXIS_ZERO", "bodies[upper_rod]/joint/axis"),
    ("bodies 0 damping", [1, 2], "ARITY", "bodies[upper_rod]/damping"),
    ("bodies 0 damping", -1, "NEGATIVE", "bodies[upper_rod]"),
    ("bodies 0 limits", {"lower": 2, "upper": 1}, "LIMIT_ORDER", "bodies[upper_rod]"),
    ("bodies 0 limits", {"lowr": 2}, "UNKNOWN_KEY", "bodies[upper_rod]/limits/lowr"),
    ("bodies 0 gear_ratio", 0, "ZERO_VALUE", "bodies[upper_rod]"),
    ("bodies 0 coupling", {"joint": "elbw"}, "UNKNOWN_JOINT", "bodies[upper_rod]/coupling/joint"),
    ("bodies 0 coupling", {"joint": "shoulder"}, "ROBOT", ""),
    ("bodies 0 mimic", {"joint": "shoulder"}, "MIMIC_SELF", "bodies[upper_rod]"),
    ("bodies 0 dynamics", "mujoco", "DATA_TYPE", "bodies[upper_rod]/dynamics"),
    ("bodies 0 links", ["a"], "ARITY", "bodies[upper_rod]/links"),
    ("bodies 0 links", ["a", "upper_rod"], "UNKNOWN_LINK", "bodies[upper_rod]/links[0]"),
    ("bodies 0 inertia", {"mass": 1, "moment": [0, 0, 0], "about": [0] * 6}, "ROBOT", ""),
    ("bodies 0 placement", {"rotation": [[1, 0, 0]] * 3}, "ROTATION", "bodies[upper_rod]/placement/rotation"),
    ("frames 1 inertia mass", -1, "MASS_NEGATIVE", "frames[upper_rod]"),
    ("frames 1 inertia about", [-1, 0, 0, 1, 0, 1], "INERTIA_NOT_PSD", "frames[upper_rod]"),
    ("frames 1 inertia about", GONE, "KEY_MISSING", "frames[upper_rod]/inertia"),
    ("frames 1 on", "uper", "UNKNOWN_BODY", "frames[upper_rod]/on"),
    ("frames 1 name", "tip", "DUPLICATE_NAME", "frames[tip]"),
    ("frames 1 name", "world", "BAD_NAME", "frames[world]"),
    ("frames 3 welded_to", "hand", "UNKNOWN_FRAME", "frames[tip]/welded_to"),
    ("frames 1 visuals", [{"shape": {"type": "bx"}}], "SHAPE_TYPE", "frames[upper_rod]/visuals[0]/shape/type"),
    ("frames 1 visuals", [{"shape": {"type": "sphere", "radius": 0}}], "SHAPE", "frames[upper_rod]/visuals[0]/shape"),
    ("frames 1 visuals", [{}], "KEY_MISSING", "frames[upper_rod]/visuals[0]"),
    ("stacking", ["elbow"], "STACKING", "stacking"),
    ("points", [{"name": "tip", "on": "tip", "xyz": [0, 0, 0]}], "DUPLICATE_NAME", "points[tip]"),
    ("points", [{"name": "p", "on": "hand", "xyz": [0, 0, 0]}], "UNKNOWN_FRAME", "points[p]/on"),
    ("directions", [{"name": "d", "on": "tip", "vector": [0, 0, 2]}], "AXIS_NORM", "directions[d]"),
    ("constraints", [{"kind": "parallel"}], "KEY_MISSING", "constraints[0]"),
    ("disabled_collisions", [{"links": ["tip", "hand"]}], "UNKNOWN_LINK", "disabled_collisions[0]/links[1]"),
    ("enabled_collisions", [["tip"]], "ARITY", "enabled_collisions[0]"),
    ("actuators", [{"name": "m", "kind": "motor", "joint": "elbw"}], "UNKNOWN_JOINT", "actuators[m]"),
    ("bodies 0 limits", {"lower": []}, "ARITY", "bodies[upper_rod]/limits/lower"),
    ("bodies 0 placement", {"quaternion_wxyz": [0, 0.6, 0.8, 3e-3]}, "QUAT_NORM", f"{PLACED}/quaternion_wxyz"),
    ("bodies 0 placement", {"rotation": [[1, 0, 0], [0, 0, 1], [0, 1, 0]]}, "ROTATION", f"{PLACED}/rotation"),
    ("bodies 0 damping", 1.000001e20, "MAGNITUDE", "bodies[upper_rod]/damping"),
    ("directions", [{"name": "d", "on": "tip", "vector": [0, 0, 1.000000005]}], "AXIS_NORM", "directions[d]"),
    ("frames 1 visuals", [3], "DATA_TYPE", "frames[upper_rod]/visuals[0]"),
    ("frames 1 visuals", [BALL | {"material": 3}], "DATA_TYPE", "frames[upper_rod]/visuals[0]/material"),
    ("disabled_collisions", [{"reason": "User"}], "KEY_MISSING", "disabled_collisions[0]"),
    ("force_elements", [{"kind": "spring_damper", "name": "s", "a": "tip"}], "KEY_MISSING", "force_elements[s]"),
]
ACCEPTED: list[tuple[str, Any]] = [
    ("bodies 0 limits", {"lower": 0.25, "upper": 0.25}),
    ("bodies 0 placement", {"quaternion_wxyz": [0, 0.6, 0.8, 1e-3]}),
    ("bodies 0 damping", 1e20),
    ("bodies 0 damping", [0.3]),
    ("directions", [{"name": "d", "on": "tip", "vector": [0, 0, 1.0000000005]}]),
    ("frames 1 visuals", [BALL | {"material": {"rgba": [0.1, 0.2, 0.3, 1]}}]),
    ("frames 1 visuals", [BALL | {"material": None}]),
]


def edited(where: str, value: Any) -> Any:
    """The document of the arm with another value at a place."""
    document = json.loads(ARM)
    *path, last = [int(step) if step.isdigit() else step for step in where.split()]
    inside = document
    for step in path:
        inside = inside[step]
    if value is GONE:
        del inside[last]
    else:
        inside[last] = inside[last][::-1] if value is REVERSED else value
    return document


def test_wrong_edits_of_a_saved_robot_are_named_by_element() -> None:
    for where, value, code, element in EDITS:
        first = issues(edited(where, value))[0]
        assert (first.code, first.where.element or "") == (code, element), str(first)
        assert first.where.line == 1 and len(str(first)) < 1000


def test_values_of_a_saved_robot_at_their_limits_are_accepted() -> None:
    for where, value in ACCEPTED:
        assert parse_robot(json.dumps(edited(where, value))).name == "double_pendulum", where


def test_errors_of_saved_robots_have_lines_and_are_reported_together() -> None:
    text = ARM.replace('"revolute"', '"revolut"').replace('"mass"', '"mas"', 1)
    result = issues(text)
    lines = [text[:at].count("\n") + 1 for at in (text.index("revolut"), text.rindex("revolut"), text.index('"mas"'))]
    assert [issue.where.line for issue in result][:3] == lines


def test_suspicious_inertias_of_saved_robots_are_reported(tmp_path: Path) -> None:
    document = edited("frames 1 inertia", {"mass": 1, "moment": [0, 0, 0], "about": [1, 0, 0, 1, 0, 3]})
    (tmp_path / "robot.json").write_text(json.dumps(document))
    with pytest.warns(ModelWarning, match="INERTIA_TRIANGLE"):
        robot = lw.load(tmp_path / "robot.json")
    assert [issue.code for issue in robot.report.repairs] == ["INERTIA_TRIANGLE"]
    with pytest.raises(ModelError, match="INERTIA_TRIANGLE"):
        parse_robot(json.dumps(document), strict=True)


def test_denormal_mass_of_a_saved_robot_is_reported_as_suspicious() -> None:
    document = edited("frames 1 inertia", {"mass": 1e-320, "moment": [0, 0, 0], "about": [0] * 6})
    assert [issue.code for issue in parse_robot(json.dumps(document)).report.warnings] == ["MAGNITUDE"]


def test_named_configurations_of_saved_robots_outside_of_limits_are_reported() -> None:
    document = edited("bodies 0 limits", {"lower": -1, "upper": 1})
    states = [{"name": name, "q": {"shoulder": x}} for name, x in (("in", 1.0), ("rounded", 1.00001), ("out", -3))]
    document["named_configurations"] = states
    (warning,) = parse_robot(json.dumps(document)).report.warnings
    assert warning.code == "Q_OUT_OF_LIMITS" and "'out'" in warning.message and "-3" in warning.message
    with pytest.raises(ModelError, match="Q_OUT_OF_LIMITS"):
        parse_robot(json.dumps(document), strict=True)


def test_reading_saved_robots_leaves_no_reference_cycles() -> None:
    """Values of a document refer to each other; the collector of garbage has to find them."""
    parse_robot(ARM)
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(20):
        parse_robot(ARM)
    gc.collect(0)
    assert len(gc.get_objects()) - before < 1000


def test_schema_of_saved_robots_lists_all_fields_of_the_reader() -> None:
    schema = json.loads((FOLDER.parents[1] / "docs" / "robot.schema.json").read_text(encoding="utf-8"))
    kinds = schema["$defs"]
    assert set(schema["properties"]) == set(robot_reader._KEYS)
    assert set(kinds["body"]["properties"]) == set(robot_reader._BODY_KEYS)
    assert set(kinds["frame"]["properties"]) == set(robot_reader._FRAME_KEYS)
    assert set(kinds["inertia"]["properties"]) == set(robot_reader._INERTIA_KEYS)
    assert set(kinds["shape"]["properties"]["type"]["enum"]) == set(shape_entries.SHAPES)
    assert schema["properties"]["linkwork"]["const"] == robot_reader.VERSION
