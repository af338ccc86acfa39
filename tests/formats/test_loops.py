"""Files of loops beside a robot's file: content, errors, and writing."""

import builtins
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from formats.written_robots import drawn_configuration, frame_poses
from linkwork import constraints, joints
from linkwork.errors import ModelError
from linkwork.formats import Budget, parse_loops, parse_sdf, parse_urdf, sdf_text, urdf_text
from linkwork.formats import loops_file as loops
from linkwork.formats.constructor_schema import KINDS, TYPES, in_words, is_plain
from linkwork.model.random_tree import random_pose, random_tree
from linkwork.model.tree_builder import build_tree
from linkwork.spatial import Pose

JSON = """{
  "version": 1,
  "frames": [
    {"name": "end", "on": "tip", "placement": {"xyz": [0, 0, -0.1], "rpy": [0.1, -0.2, 0.3]}},
    {"name": "peg", "on": "base", "placement": {"xyz": [0.5, 0, 0], "quaternion_wxyz": [0.6, 0, 0.8, 0]}},
    {"name": "hook", "on": "world"}
  ],
  "points": [{"name": "p", "on": "tip", "xyz": [0, 1e-1, 0]}],
  "directions": [{"name": "d", "on": "end", "vector": [0, 3, 4]}],
  "loops": [
    {"name": "pin", "type": "revolute", "axis": [0, 1, 0], "frame": "peg", "other": "end"},
    {"name": "strut", "type": "composite", "frame": "hook", "other": "tip",
     "joints": [{"type": "universal"}, {"type": "prismatic", "axis": [0, 0, 1]}, {"type": "spherical"}],
     "placements": [{"xyz": [0, 0, 1]}, {}, {"rpy": [0, 0, 1]}]}
  ]
}
"""
YAML = """
# the same
version: 1
frames:
  - {name: end, on: tip, placement: {xyz: [0, 0, -0.1], rpy: [0.1, -0.2, 0.3]}}
  - name: peg
    on: base
    placement: {xyz: [0.5, 0, 0], quaternion_wxyz: [0.6, 0, 0.8, 0]}
  - {name: hook, on: world}
points:
  - {name: p, on: tip, xyz: [0, 1e-1, 0]}
directions: [{name: d, on: end, vector: [0, 3, 4]}]
loops:
  - name: pin
    type: revolute
    axis: [0, 1, 0]
    frame: peg
    other: end
  - name: strut
    type: composite
    frame: hook
    other: tip
    joints: [{type: universal}, {type: prismatic, axis: [0, 0, 1]}, {type: spherical}]
    placements: [{xyz: [0, 0, 1]}, {}, {rpy: [0, 0, 1]}]
"""
PENDULUM = lw.load("double_pendulum")


def by_hand():
    robot = PENDULUM.with_frame("end", "tip", lw.pose((0, 0, -0.1), rpy=(0.1, -0.2, 0.3)))
    robot = robot.with_frame("peg", "base", lw.pose((0.5, 0, 0), quaternion_wxyz=(0.6, 0, 0.8, 0)))
    robot = robot.with_frame("hook", "world").with_point("p", "tip", (0, 0.1, 0)).with_direction("d", "end", (0, 3, 4))
    poses = [lw.pose((0, 0, 1)), lw.pose(), lw.pose(rpy=(0, 0, 1))]
    chain = (joints.Universal(), joints.Prismatic((0, 0, 1)), joints.Spherical())
    strut = joints.Composite(chain, tuple(lw.spatial.Pose.of(X.tolist()) for X in poses))
    return robot.with_constraints(
        constraints.LoopJoint("pin", joints.Revolute((0, 1, 0)), frame="end", relative_to="peg"),
        constraints.LoopJoint("strut", strut, frame="tip", relative_to="hook"),
    )


def codes(text, robot=PENDULUM, form="json"):
    with pytest.raises(ModelError, match=r"\[[A-Z_]+\]") as caught:
        robot.with_loops_document(text, form=form)
    assert all(issue.where.line for issue in caught.value.issues if issue.code not in ("DATA_EMPTY", "TOO_LARGE"))
    return caught.value.issues


def test_loops_files_in_json_and_yaml_equal_loops_built_in_python(tmp_path):
    robot = by_hand()
    assert PENDULUM.with_loops_document(JSON) == robot == PENDULUM.with_loops_document(YAML, form="yaml")
    for name, text in (("a.json", JSON), ("b.yaml", YAML), ("c.YML", YAML)):
        path = tmp_path / name
        path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
        assert lw.load("double_pendulum", loops=path) == robot
        assert lw.Robot.from_urdf(lw.robots.path("double_pendulum"), loops=str(path)) == robot
    text = lw.robots.path("double_pendulum").read_text(encoding="utf-8")
    assert lw.Robot.from_urdf_string(text, loops=tmp_path / "a.json") == robot
    assert pickle.loads(pickle.dumps(robot)) == robot


def test_written_loops_files_are_read_as_the_same_robot(tmp_path):
    robot = by_hand()
    text = robot.loops_document()
    assert PENDULUM.with_loops_document(text) == robot and json.loads(text)["version"] == 1
    assert PENDULUM.with_loops_document(text, form="yaml") == robot  # JSON is YAML
    robot.save_loops(tmp_path / "loops.json")
    assert lw.load("double_pendulum", loops=tmp_path / "loops.json") == robot
    (tmp_path / "loops.YAML").write_text(YAML)
    for path in (tmp_path / "loops.json", str(tmp_path / "loops.json")):
        assert PENDULUM.with_loops_document(path) == robot
    from_yaml = PENDULUM.with_loops_document(YAML, form="yaml")
    assert PENDULUM.with_loops_document(str(tmp_path / "loops.YAML")) == from_yaml
    assert PENDULUM.with_loops_document("version: 1", form="yaml") == PENDULUM
    with pytest.raises(FileNotFoundError, match=r"none\.json"):
        PENDULUM.with_loops_document("none.json")
    with pytest.raises(FileExistsError, match="the file exists already"):
        robot.save_loops(tmp_path / "loops.json")
    robot.save_loops(tmp_path / "loops.json", overwrite=True)
    assert PENDULUM.with_loops_document(PENDULUM.loops_document()) == PENDULUM


def test_every_joint_type_closes_a_loop_in_a_loops_file(drawn):
    rng = np.random.default_rng(0)
    for kind in drawn(joints.ALL):
        for _ in range(3):
            robot = PENDULUM.with_loop("loop", "base", "tip", kind.example(rng))
            assert PENDULUM.with_loops_document(robot.loops_document()) == robot, kind
    assert {in_words(kind) for kind in joints.ALL} | {"continuous"} == set(TYPES)
    text = (
        '{"version": 1, "loops": [{"name": "p", "type": "planar", "axis": [0, 1, 0], "frame": "base", "other": "tip"}]}'
    )
    (result,) = PENDULUM.with_loops_document(text).constraints
    assert result.joint == joints.Planar.across(joints.Revolute((0, 1, 0)).axis)


def test_loops_in_files_may_have_limits_damping_and_stiffness():
    more = '"limits": {"lower": -1, "upper": null, "velocity": 3}, "damping": 0.1, "stiffness": [5], "rest": -0.2'
    text = '{"version": 1, "loops": [' + LOOP.replace("}", ", " + more + "}") + "]}"
    robot = PENDULUM.with_loops_document(text)
    by_hand = PENDULUM.with_loop(
        "pin",
        "base",
        "tip",
        joints.Revolute((0, 1, 0)),
        lower=-1.0,
        velocity=3.0,
        damping=0.1,
        stiffness=5.0,
        rest=-0.2,
    )
    assert robot.joint("pin").joint == by_hand.joint("pin").joint
    for closed in (robot, by_hand):
        assert PENDULUM.with_loops_document(closed.loops_document()) == closed
    two = joints.Universal()
    whole = PENDULUM.with_loop("u", "base", "tip", two, lower=(-1, -2), effort=(3, np.inf), friction=(0.1, 0.2))
    assert PENDULUM.with_loops_document(whole.loops_document()) == whole
    ball = {"stiffness": (1.0, 2.0, 3.0), "rest": (0.5, -0.5, 0.5, 0.5), "lower": (-0.9, -0.8, -0.7, -0.6)}
    whole = PENDULUM.with_loop("b", "base", "tip", joints.Spherical(), **ball)  # of more coordinates than velocities
    assert PENDULUM.with_loops_document(whole.loops_document()) == whole
    for wrong, code in (
        ('"limits": {"lower": 1, "upper": 0}', "LIMIT_ORDER"),
        ('"limits": {"lower": [1, 2]}', "ARITY"),
        ('"limits": {"low": 1}', "UNKNOWN_KEY"),
        ('"limits": {"velocity": -1}', "NEGATIVE"),
        ('"limits": 3', "DATA_TYPE"),
        ('"damping": -1', "NEGATIVE"),
        ('"damping": null', "NUMBER"),
        ('"damping": "x"', "NUMBER"),
    ):
        issues = codes('{"version": 1, "loops": [' + LOOP.replace("}", ", " + wrong + "}") + "]}")
        assert issues[0].code == code, wrong


def test_keys_stated_twice_are_reported_at_the_position_of_the_second_key() -> None:
    for text, form, line, column, first in (
        ('{"version": 1,\n  "points":\n [],\n   "points":\n\n []}', "json", 4, 4, 3),
        ('{"version": 1, "points": [\n{"name": "p",\n "name":\n     "q"}]}', "json", 3, 2, 2),
        ("version: 1\npoints:\n  []\npoints:\n\n    []", "yaml", 4, 1, 3),
    ):
        issue = codes(text, form=form)[0]
        assert issue.code == "DUPLICATE_KEY" and issue.message.endswith(f"the first is on line {first}")
        assert (issue.where.line, issue.where.column) == (line, column)


def test_frames_in_a_loops_file_are_restored_bit_for_bit():
    """On links that other joints moved or welded: to the bit where they were put on, or on their body."""
    rng = np.random.default_rng(1)
    for seed in range(5):
        robot = lw.Robot(random_tree(np.random.default_rng(seed), 4))
        frame = robot.frames[int(rng.integers(len(robot.frames)))]
        marked = robot.with_frame("mark", frame, lw.pose(rng.normal(size=3), rpy=rng.normal(size=3)))
        said = json.loads(marked.loops_document())
        mark = {"version": 1, "frames": [frame for frame in said["frames"] if frame["name"] == "mark"]}
        back = robot.with_loops_document(json.dumps(mark))
        assert back.tree.frame("mark").placement == marked.tree.frame("mark").placement


@pytest.mark.light
@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("", "DATA_EMPTY", "is empty"),
        ("{", "DATA_SYNTAX", "the document ends"),
        ('{"version": 1,}', "DATA_SYNTAX", "no comma after the last"),
        ('{"version": 1} x', "DATA_SYNTAX", "ends before"),
        ("{'version': 1}", "DATA_SYNTAX", "quotes"),
        ('{"version": 01}', "DATA_SYNTAX", "expected a value"),
        ('{"version": 1 "loops": []}', "DATA_SYNTAX", "expected ','"),
        ('{"version": 1, // no\n "loops": []}', "DATA_SYNTAX", "expected a key"),
        ('{"version": "a\nb"}', "DATA_SYNTAX", "control character"),
        ('{"version": NaN}', "NOT_FINITE", "NaN"),
        ('{"version": 1, "points": [{"name": "p", "on": "tip", "xyz": [0, 0, 1e999]}]}', "NOT_FINITE", "1e999"),
        ('{"version": 1, "version": 1}', "DUPLICATE_KEY", "stated twice"),
        ('{"version": 2}', "VERSION", "expected version 1"),
        ('{"version": true}', "VERSION", "true"),
        ('{"loops": []}', "KEY_MISSING", "'version'"),
        ("[1]", "WRONG_FORMAT", "a list"),
        ('{"mujoco": 1}', "WRONG_FORMAT", "'mujoco'"),
        ('{"version": 1, "loop": []}', "UNKNOWN_KEY", "did you mean 'loops'"),
        ('{"version": 1, "loops": {}}', "DATA_TYPE", "expected a list"),
        ('{"version": 1, "loops": [1]}', "DATA_TYPE", "expected an object"),
        ('{"version": 1, "frames": [{"on": "tip"}]}', "KEY_MISSING", "'name'"),
        ('{"version": 1, "frames": [{"name": " ", "on": "tip"}]}', "BAD_NAME", "expected a name"),
        ('{"version": 1, "frames": [{"name": true, "on": "tip"}]}', "BAD_NAME", "quotes"),
        ('{"version": 1, "frames": [{"name": "f", "on": "tipp"}]}', "UNKNOWN_FRAME", "did you mean 'tip'"),
        ('{"version": 1, "frames": [{"name": "tip", "on": "tip"}]}', "MARK_INVALID", "already"),
        ('{"version": 1, "points": [{"name": "p", "on": "tip", "xyz": [0, 0]}]}', "ARITY", "expected 3"),
        ('{"version": 1, "points": [{"name": "p", "on": "tip", "xyz": [0, "1,5", 0]}]}', "NUMBER", "point"),
        ('{"version": 1, "points": [{"name": "p", "on": "tip", "xyz": [0, 1e30, 0]}]}', "MAGNITUDE", "1e+20"),
        ('{"version": 1, "directions": [{"name": "p", "on": "tip", "vector": [0, 0, 0]}]}', "MARK_INVALID", "zero"),
        ('{"version": 1, "constraints": [{"kind": "lop"}]}', "CONSTRAINT_KIND", "did you mean 'loop'"),
        ('{"version": 1, "constraints": [{"kind": "revolute"}]}', "CONSTRAINT_KIND", "under loops"),
        ('{"version": 1, "constraints": [{"kind": "holonomic"}]}', "CONSTRAINT_KIND", "a function"),
        (
            '{"version": 1, "constraints": [{"kind": "gear", "a": "shoulder", "b": "elbw", "ratio": 1}]}',
            "UNKNOWN_JOINT",
            "elbow",
        ),
        (
            '{"version": 1, "constraints": [{"kind": "gear", "a": "shoulder", "b": "elbow", "ratio": 0}]}',
            "CONSTRAINT",
            "0",
        ),
        (
            '{"version": 1, "constraints": [{"kind": "distance", "a": "tip", "b": "q", "length": 1}]}',
            "UNKNOWN_POINT",
            "q",
        ),
        ('{"version": 1, "constraints": [{"kind": "parallel", "a": "tip.x", "b": "q"}]}', "UNKNOWN_DIRECTION", "q"),
        (
            '{"version": 1, "constraints": [{"kind": "coupling", "joints": {"elbow": 1}, "function": "f"}]}',
            "UNKNOWN_KEY",
            "function",
        ),
        ('{"version": 1, "constraints": [{"kind": "rolling", "wheel": "tip"}]}', "KEY_MISSING", "'radius'"),
        ('{"version": 1, "constraints": [{"kind": "rolling", "wheel": "tip", "radius": 0}]}', "CONSTRAINT", "radius"),
        ('{"version": 1, "constraints": [{"kind": "rolling", "wheel": "x", "radius": 1}]}', "UNKNOWN_FRAME", "'x'"),
    ],
)
def test_errors_of_loops_files_state_line_and_element_path(text, code, said):
    issues = codes(text)
    assert issues[0].code == code, [str(issue) for issue in issues]
    assert said in str(issues[0])


LOOP = '{"name": "pin", "type": "revolute", "axis": [0, 1, 0], "frame": "base", "other": "tip"}'


@pytest.mark.light
@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ('"revolute"', '"revolut"', "JOINT_TYPE", "did you mean 'revolute'"),
        ('"revolute"', "3", "JOINT_TYPE", "the number 3.0"),
        ('"type"', '"typ"', "UNKNOWN_KEY", "did you mean 'type'"),
        ('"axis": [0, 1, 0]', '"axis": [0, 0, 0]', "AXIS_ZERO", "zero"),
        ('"axis": [0, 1, 0]', '"axis": [0, 1]', "ARITY", "expected 3"),
        ('"axis": [0, 1, 0],', "", "KEY_MISSING", "'axis'"),
        ('"axis"', '"axes"', "UNKNOWN_KEY", "did you mean 'axis'"),
        ('"revolute"', '"helical", "pitch": "1"', "NUMBER", "without quotes"),
        (
            '"revolute", "axis": [0, 1, 0]',
            '"universal", "first": [1, 0, 0], "second": [1, 1, 0]',
            "PARAMETER",
            "right angle",
        ),
        ('"revolute", "axis": [0, 1, 0]', '"universal", "right_angle": 1', "DATA_TYPE", "true or false"),
        ('"revolute", "axis": [0, 1, 0]', '"composite", "joints": [{"type": "x"}]', "JOINT_TYPE", "'x'"),
        ('"revolute", "axis": [0, 1, 0]', '"composite", "joints": 1', "DATA_TYPE", "expected a list"),
        ('"revolute", "axis": [0, 1, 0]', '"reversed", "joint": 1', "DATA_TYPE", "expected an object"),
        ('"tip"', '"base"', "CONSTRAINT", "between frame 'base' and itself"),
        ('"tip"', '"world"', "CONSTRAINT", "fixed to the world"),
        ('"tip"', '"top"', "UNKNOWN_FRAME", "'top'"),
        ('"pin"', '"elbow"', "DUPLICATE_NAME", "name of a joint"),
        ("}", "}, " + LOOP, "DUPLICATE_NAME", "on line 1"),
    ],
)
def test_errors_of_a_loop_in_a_loops_file_state_its_index(old, new, code, said):
    text = '{"version": 1, "loops": [' + LOOP.replace(old, new) + "]}"
    assert len(PENDULUM.with_loops_document('{"version": 1, "loops": [' + LOOP + "]}").constraints) == 1
    issues = codes(text)
    issue = next((issue for issue in issues if issue.code == code), None)
    assert issue is not None and said in str(issue), [str(issue) for issue in issues]
    assert "loops[" in str(issue.where)


def test_invalid_poses_in_loops_files_are_errors():
    for placement, code in (
        ('{"rpy": [0, 0, 0], "rotation": []}', "DUPLICATE_ELEMENT"),
        ('{"quaternion_wxyz": [1, 1, 0, 0]}', "QUAT_NORM"),
        ('{"quaternion_wxyz": [1, 0, 0]}', "ARITY"),
        ('{"rotation": [[1, 0, 0], [0, 1, 0], [0, 0, -1]]}', "ROTATION"),
        ('{"rotation": 1}', "ROTATION"),
        ('{"xy": [1, 2]}', "UNKNOWN_KEY"),
        ("[1, 2, 3]", "DATA_TYPE"),
    ):
        text = f'{{"version": 1, "frames": [{{"name": "f", "on": "tip", "placement": {placement}}}]}}'
        assert codes(text)[0].code == code, placement


def test_all_errors_of_a_loops_file_are_reported_together():
    bad = LOOP.replace('"revolute"', '"revolut"')
    text = '{\n"version": 1,\n"x": 1,\n"loops": [\n' + ",\n".join([bad] * 30) + "]}"
    issues = codes(text)
    assert len(issues) == 20 and [issue.where.line for issue in issues[:3]] == [3, 5, 6]
    assert issues[1].where.element == "loops[pin]/type" and issues[0].where.column == 6
    missing = [LOOP.replace('"tip"', '"top"').replace("pin", f"pin{i}") for i in range(3)]
    issues = codes('{"version": 1, "loops": [\n' + ",\n".join(missing) + "]}")
    assert [(issue.code, issue.where.line) for issue in issues] == [("UNKNOWN_FRAME", 2 + i) for i in range(3)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("version: [1", "DATA_SYNTAX"),
        ("version: 1\n\tloops: []", "DATA_SYNTAX"),
        ("version: 1\nversion: 1", "DUPLICATE_KEY"),
        ("version: 1\nloops: &a [*a]", "DATA_ALIAS"),
        ("version: 1\nloops: !!python/object:os.system []", "DATA_ALIAS"),
        ("version: 1\n---\nversion: 1", "DATA_SYNTAX"),
        ("version: .nan", "NOT_FINITE"),
        ("? [1]\n: 2", "DATA_SYNTAX"),
        ("# nothing", "DATA_EMPTY"),
        ("version: 1\nloops:\n- {name: on, type: revolute, axis: [0, 1, 0], frame: yes, other: base}", "UNKNOWN_FRAME"),
        ("a: \x01", "DATA_SYNTAX"),
    ],
)
def test_invalid_yaml_in_loops_files_gives_an_error(text, code):
    assert codes(text, form="yaml")[0].code == code


def test_loops_files_beyond_the_size_budget_are_refused():
    for text in (3, None, ["version: 1"]):
        with pytest.raises(TypeError, match=r"loops: expected a string, got"):
            parse_loops(text)
    small = Budget(max_bytes=100, max_elements=10, max_depth=4)
    for text, code in (
        (" " * 101, "TOO_LARGE"),
        ("[" + "1," * 45 + "1]", "TOO_LARGE"),
        ("[" * 30 + "]" * 30, "DATA_DEPTH"),
    ):
        for form in ("json", "yaml"):
            with pytest.raises(ModelError, match=rf"\[{code}\]\n.*linkwork\.formats\.Budget\(max_"):
                parse_loops(text, form=form, budget=small)
    for form in ("json", "yaml"):
        with pytest.raises(ModelError, match="DATA_DEPTH"):
            parse_loops("[" * 100_000, form=form)
        for data in (b"\xff\xfe1", b'{"a": "\0"}', b"\xed\xa0\x80"):
            with pytest.raises(ModelError, match="DATA_ENCODING"):
                parse_loops(data, form=form)


def test_paths_that_are_not_loops_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no.json"):
        lw.load("double_pendulum", loops=tmp_path / "no.json")
    for path, code in ((JSON, "NOT_A_PATH"), (tmp_path / "a.txt", "WRONG_FORMAT"), ("a\0.json", "NOT_A_FILE")):
        with pytest.raises(ModelError, match=code):
            lw.load("double_pendulum", loops=path)
    (tmp_path / "d.json").mkdir()
    with pytest.raises(ModelError, match="NOT_A_FILE"):
        lw.load("double_pendulum", loops=tmp_path / "d.json")
    with pytest.raises(TypeError, match="loops"):
        lw.load("double_pendulum", loops=3)
    with pytest.raises(ValueError, match="form"):
        PENDULUM.with_loops_document(JSON, form="xml")
    (tmp_path / "a.json").write_text('{"version": 2}', encoding="utf-8")
    with pytest.raises(ModelError, match=r"expected version 1 of loops files, got the number 2.0") as caught:
        lw.load("double_pendulum", loops=tmp_path / "a.json")
    assert caught.value.file == str(tmp_path / "a.json") and caught.value.line == 1


def test_reading_yaml_without_its_extra_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **more):
        if name == "yaml":
            raise ImportError(name)
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"linkwork\[yaml\]"):
        PENDULUM.with_loops_document(YAML, form="yaml")
    PENDULUM.with_loops_document(JSON)


def test_constraints_that_a_loops_file_cannot_represent_are_refused():
    robot = PENDULUM.with_constraints(constraints.Holonomic("h", lambda k: k.q("elbow") - 1.0))
    with pytest.raises(TypeError, match="'h'"):
        robot.loops_document()

    class OwnRevolute(joints.Revolute):
        pass

    with pytest.raises(TypeError, match="OwnRevolute"):
        PENDULUM.with_loop("own", "base", "tip", OwnRevolute((0, 1, 0))).loops_document()
    assert {word for word, kind in KINDS.items() if not is_plain(kind)} == {
        *("holonomic", "pfaffian", "point_on_curve", "point_on_surface", "prescribed")
    }


def test_every_constraint_kind_of_plain_data_is_written_to_loops_files():
    tilted = lw.spatial.Pose.of(lw.pose((0.1, 0, 0), rpy=(0.1, 0.2, 0.3)).tolist())
    robot = lw.load("arm7_gripper").with_point("p", "hand", (0, 0, 0.1)).with_direction("d", "hand", (0, 1, 1))
    robot = robot.with_frame("f", "forearm_distal", lw.pose((0, 0.1, 0), rpy=(0.3, 0, 0)))
    a, b, c, slide = robot.joints[0].name, robot.joints[1].name, robot.joints[2].name, "left_finger_slide"
    constraints_ = [
        constraints.LoopJoint("loop", joints.Revolute((0, 0, 1)), "hand", "world"),
        constraints.NoSlip("p", directions=("d", "world.x")),
        constraints.KnifeEdge("hand", across=(0, 0, 1), name="blade"),
        constraints.Distance("p", "world", 0.5),
        constraints.PointOnLine("p", "world.z", line_point=(0.3, 0.1, 0)),
        constraints.PointOnPlane("p", "world.x", offset=0.1),
        constraints.Parallel("d", "world.x"),
        constraints.Angle("d", "world.y", 1.0),
        constraints.Weld("hand", "f", pose=tilted),
        constraints.Ball("hand", "f", point=(0.1, 0, 0)),
        constraints.Gear(a, b, ratio=-3.2, offset=0.1),
        constraints.Rack(slide, a, radius=0.02),
        constraints.Screw(slide, b, pitch=0.001),
        constraints.Belt(a, c, 0.1, 0.2, crossed=True),
        constraints.Coupling({a: 1.0, b: 2.0, c: -1.0}, offset=0.3),
        constraints.PolynomialCoupling(slide, b, (0.1, 0.0, 0.2), b_reference=0.3, unit="m"),
        constraints.CurveCoupling(
            a, c, constraints.Curve([0, 1, 2 * np.pi], [0, 0.2, 0], ("345", "4567"), periodic=True)
        ),
        constraints.CenterOfMass(x=0.0, z=0.5),
        constraints.Rolling("hand", radius=0.1, axis=(1, 0, 0)),
        constraints.RollingContact("f", radius=0.1, axis=None),
        constraints.BallRolling("f", radius=0.3, contact=False),
    ]
    assert {type(c) for c in constraints_} == {kind for kind in constraints.ALL if is_plain(kind)}
    closed = robot.with_constraints(*constraints_)
    text = closed.loops_document()
    bare = lw.load("arm7_gripper")
    assert bare.with_loops_document(text) == closed == bare.with_loops_document(text, form="yaml")
    assert [c.name for c in bare.with_loops_document(text).constraints] == [c.name for c in closed.constraints]
    for i, constraint in enumerate(constraints_):
        alone = robot.with_constraints(constraint)
        assert bare.with_loops_document(alone.loops_document()) == alone, constraint
        assert pickle.loads(pickle.dumps(alone)) == alone, i
    mixed = robot.with_constraints(*constraints_[1:], constraints_[0])  # rows keep their order
    assert bare.with_loops_document(mixed.loops_document()) == mixed
    slipping = robot.with_constraints(constraints_[-3]).without_constraints("hand rolls: contact")
    back = bare.with_loops_document(slipping.loops_document())
    np.testing.assert_array_equal(
        back.constraint_jacobian(back.neutral()), slipping.constraint_jacobian(back.neutral())
    )
    said = f'{{"version": 1, "constraints": [{{"kind": "coupling", "joints": {{"{a}": 1, "{b}": 2}}}}]}}'
    (loaded_robot,) = lw.load("arm7").with_loops_document(said).constraints
    assert loaded_robot == constraints.Coupling({a: 1.0, b: 2.0})


def test_schema_of_loops_files_lists_all_fields_of_the_reader():
    schema = json.loads((Path(__file__).parents[2] / "docs" / "loops.schema.json").read_text(encoding="utf-8"))
    assert set(schema["$defs"]["joint"]["properties"]["type"]["enum"]) == set(TYPES)
    assert set(schema["$defs"]["kind"]["enum"]) == {"loop", *(word for word, kind in KINDS.items() if is_plain(kind))}
    assert set(schema["properties"]) == set(loops._KEYS)
    for key in ("frame", "point", "direction"):
        required = schema["$defs"][key]["required"]
        item = {name: ("tip" if name in ("name", "on") else [0, 0, 1]) for name in required}
        for left_out in required:
            text = json.dumps({"version": 1, f"{key}s": [{k: v for k, v in item.items() if k != left_out}]})
            assert codes(text)[0].code == "KEY_MISSING"


@pytest.mark.slow(every=5)
@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.integers(0, len(JSON)),
    st.integers(0, 12),
    st.sampled_from(["", "[", "}", '"', "1e9", "null", ":", "\\u0000", "\n", "ü"]),
)
def test_randomly_changed_loops_file_is_read_or_refused(at, length, put):
    for form, text in (("json", JSON), ("yaml", YAML)):
        broken = text[:at] + put + text[at + length :]
        try:
            robot = PENDULUM.with_loops_document(broken, form=form)
        except ModelError:
            continue
        assert PENDULUM.with_loops_document(robot.loops_document()) == robot


def test_frames_named_as_the_ends_of_a_loop_have_their_own_poses_after_reading():
    """Readers add the ends "pin_F" and "pin_M" of a loop "pin", under other names where the file has these."""
    rng = np.random.default_rng(0)
    at_zero = frame_poses(PENDULUM.tree, [0.0, 0.0])
    X = random_pose(rng)
    closing = Pose.of(np.linalg.inv(at_zero["tip"]) @ at_zero["base"]) @ X
    for F, M in (("pin_F", "pin_M"), ("pin_M", "pin_F"), ("first", "second")):
        robot = PENDULUM.with_frame(F, "base", X).with_frame(M, "tip", closing)
        for name in {"pin_F", "pin_M"} - {F, M}:
            robot = robot.with_frame(name, "tip", random_pose(rng))
        robot = robot.with_constraints(constraints.LoopJoint("pin", joints.Revolute((0, 1, 0)), M, F))
        q = drawn_configuration(robot.tree, rng)
        for again in (parse_urdf(urdf_text(robot.tree)[0]), parse_sdf(sdf_text(robot.tree)[0])):
            tree = build_tree(again)
            poses, (loop,) = frame_poses(tree, q), tree.constraints
            for name, pose in frame_poses(robot.tree, q).items():
                np.testing.assert_allclose(poses[name], pose, atol=1e-15)
            np.testing.assert_allclose(poses[loop.relative_to], poses[F], atol=1e-15)
            np.testing.assert_allclose(poses[loop.frame], poses[M], atol=1e-15)
