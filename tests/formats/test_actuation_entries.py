"""Actuators and named configurations in loops files: reading, writing, and errors with lines."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork import Actuator, joints
from linkwork.errors import ModelError
from linkwork.formats.actuation_entries import ACTUATOR_KINDS
from linkwork.formats.constructor_schema import arguments

PENDULUM = lw.load("double_pendulum")
TEXT = """{
  "version": 1,
  "actuators": [
    {"name": "motor", "kind": "motor", "joint": "shoulder", "gear": 50, "control_range": [-1, 1]},
    {"name": "servo", "kind": "position", "joint": "elbow", "stiffness": 80, "damping": 4, "force_range": [null, 30]},
    {"name": "drive", "kind": "velocity", "joint": "elbow", "damping": 2, "gear": [-3]},
    {"name": "tendon", "kind": "affine", "joints": {"shoulder": 1, "elbow": [-0.5]}, "gain": [2, 0.1, 0.2],
     "bias": [1, 0, -3], "offset": 0.25, "control_range": [0, null]},
    {"name": "thruster", "kind": "affine", "frame": "tip", "wrench": [0, 0, 0, 0, 0, 1], "relative_to": "base"}
  ],
  "named_configurations": [
    {"name": "home", "q": {}},
    {"name": "bent", "q": {"elbow": 1.2}, "v": {"shoulder": [-0.5]}, "controls": {"servo": 1.2, "motor": 0}}
  ]
}
"""


def by_hand():
    robot = PENDULUM.with_actuators(
        Actuator.motor("motor", "shoulder", gear=50.0, control_range=(-1.0, 1.0)),
        Actuator.position("servo", "elbow", stiffness=80.0, damping=4.0, force_range=(-math.inf, 30.0)),
        Actuator.velocity("drive", "elbow", damping=2.0, gear=-3.0),
        Actuator(
            "tendon",
            (("shoulder", (1.0,)), ("elbow", (-0.5,))),
            gain=(2.0, 0.1, 0.2),
            bias=(1.0, 0.0, -3.0),
            offset=0.25,
            control_range=(0.0, math.inf),
        ),
        Actuator("thruster", frame="tip", wrench=(0, 0, 0, 0, 0, 1), relative_to="base"),
    )
    robot = robot.with_named_configuration("home", {})
    return robot.with_named_configuration(
        "bent", {"elbow": 1.2}, v={"shoulder": -0.5}, controls={"servo": 1.2, "motor": 0.0}
    )


def test_actuators_and_configurations_of_a_loops_file_equal_those_built_in_python(tmp_path):
    robot = by_hand()
    assert PENDULUM.with_loops_document(TEXT) == robot == PENDULUM.with_loops_document(TEXT, form="yaml")
    written = robot.loops_document()
    assert PENDULUM.with_loops_document(written) == robot == PENDULUM.with_loops_document(written, form="yaml")
    kinds = [entry["kind"] for entry in json.loads(written)["actuators"]]
    assert kinds == ["motor", "position", "velocity", "affine", "affine"]
    robot.save_loops(tmp_path / "arm.json")
    loaded = lw.load("double_pendulum", loops=tmp_path / "arm.json")
    assert loaded == robot and loaded.named_configurations["bent"].q.tolist() == [0.0, 1.2]
    assert [a.name for a in loaded.actuators] == [a.name for a in robot.actuators]


def test_loops_files_store_actuators_of_joints_with_several_coordinates():
    robot = lw.load("double_pendulum", floating_base=True)
    base = robot.joints[0]
    gear, q = [1, 0, 0, 0, 0, 2], [0.6, 0.0, 0.8, 0.0, 0.1, 0.2, 0.3]
    built = robot.with_actuators(Actuator.motor("jet", base.name, gear=gear))
    built = built.with_named_configuration("high", {base.name: q}, v={base.name: [0.0] * 5 + [1.0]})
    assert robot.with_loops_document(built.loops_document()) == built
    entry = json.loads(built.loops_document())
    assert entry["actuators"][0]["gear"] == gear and entry["named_configurations"][0]["q"] == {base.name: q}


def test_actuators_are_written_to_loops_files_as_the_kind_that_restores_them():
    """Signs, gains and offsets with which the usual kinds would be another actuator."""
    joint = (("elbow", (1.0,)),)
    for gain in ((1.0, 0.0, 0.0), (2.0, 0.0, 0.0), (-2.0, 0.0, 0.0), (0.0, 0.0, 0.0), (1.0, 0.5, 0.0)):
        for bias in (
            (0.0, 0.0, 0.0),
            (0.0, -2.0, -1.0),
            (0.0, 2.0, 1.0),
            (0.0, 0.0, -2.0),
            (0.0, 0.0, 2.0),
            (1.0, 0, 0),
        ):
            for offset in (0.0, 0.5):
                robot = PENDULUM.with_actuators(Actuator("a", joint, gain=gain, bias=bias, offset=offset))
                assert PENDULUM.with_loops_document(robot.loops_document()) == robot, (gain, bias, offset)


finite = st.floats(-1e6, 1e6)
triple = st.tuples(finite, finite, finite)
range_of = st.tuples(finite | st.just(-math.inf), finite | st.just(math.inf)).filter(lambda pair: pair[0] <= pair[1])


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    st.dictionaries(st.sampled_from(["shoulder", "elbow"]), finite, min_size=1),
    triple,
    triple,
    range_of,
    range_of,
    finite,
    st.dictionaries(st.sampled_from(["shoulder", "elbow"]), finite),
    st.none() | finite,
)
def test_random_actuators_and_configurations_are_equal_after_writing_and_reading_a_loops_file(
    gears, gain, bias, control_range, force_range, offset, q, control
):
    tendon = Actuator("t", tuple((k, (x,)) for k, x in gears.items()), None, (), None, gain, bias)
    ranged = Actuator("r", frame="tip", wrench=(1, *gain, 0, 0), control_range=control_range, force_range=force_range)
    moved = Actuator("m", (("elbow", (2.0,)),), offset=offset)
    controls = None if control is None else {"r": control}
    robot = PENDULUM.with_actuators(tendon, ranged, moved).with_named_configuration("s", q, controls=controls)
    assert PENDULUM.with_loops_document(robot.loops_document()) == robot


def test_configurations_in_loops_files_restore_sine_and_cosine_coordinates():
    text = lw.robots.path("double_pendulum").read_text().replace('type="revolute"', 'type="continuous"')
    robot = lw.Robot.from_urdf_string(text, continuous="sincos")
    assert isinstance(robot.joint("elbow").type, joints.UnboundedRevolute)
    stated = robot.with_named_configuration("s", robot.integrate(robot.neutral(), [0.3, -0.4]))
    assert robot.with_loops_document(stated.loops_document()) == stated


MOTOR = '{"name": "m", "kind": "motor", "joint": "elbow"}'
HOME = '{"name": "home", "q": {"elbow": 1}}'


@pytest.mark.parametrize(
    ("entry", "code", "words"),
    [
        (MOTOR.replace('"motor"', '"moter"'), "ACTUATOR", "did you mean 'motor'"),
        (MOTOR.replace('"kind": "motor", ', ""), "KEY_MISSING", "'kind'"),
        (MOTOR.replace('"name": "m", ', ""), "KEY_MISSING", "'name'"),
        (MOTOR.replace('"m"', "1"), "BAD_NAME", "quotes"),
        (MOTOR.replace(', "joint": "elbow"', ""), "KEY_MISSING", "'joint'"),
        (MOTOR.replace("elbow", "elbw"), "UNKNOWN_JOINT", "did you mean 'elbow'"),
        (MOTOR.replace("}", ', "stiffness": 3}'), "UNKNOWN_KEY", "stiffness"),
        (MOTOR.replace("}", ', "gear": "2"}'), "NUMBER", "gear: expected a number"),
        (MOTOR.replace("}", ', "gear": [1, 2]}'), "ACTUATOR", "expected 1 gears"),
        (MOTOR.replace("}", ', "gear": []}'), "ACTUATOR", "gear of joint 'elbow'"),
        (MOTOR.replace("}", ', "control_range": [1]}'), "ARITY", "[lower, upper]"),
        (MOTOR.replace("}", ', "control_range": 1}'), "ARITY", "[lower, upper]"),
        (MOTOR.replace("}", ', "force_range": [2, 1]}'), "ACTUATOR", "lower <= upper"),
        (MOTOR.replace("motor", "position"), "KEY_MISSING", "'stiffness'"),
        (MOTOR.replace("motor", "position").replace("}", ', "stiffness": -1}'), "ACTUATOR", "stiffness"),
        ('{"name": "a", "kind": "affine"}', "ACTUATOR", "expected either joints or a frame"),
        ('{"name": "a", "kind": "affine", "joints": ["elbow"]}', "DATA_TYPE", "expected an object"),
        ('{"name": "a", "kind": "affine", "joints": {"elbow": 1}, "gain": [1]}', "ARITY", "expected 3 values"),
        ('{"name": "a", "kind": "affine", "frame": "tip", "wrench": [1, 0]}', "ACTUATOR", "wrench"),
        ('{"name": "a", "kind": "affine", "frame": "top", "wrench": [1, 0, 0, 0, 0, 0]}', "UNKNOWN_FRAME", "top"),
        (MOTOR + ", " + MOTOR, "DUPLICATE_NAME", "on line 1"),
        ("1", "DATA_TYPE", "expected an object"),
    ],
)
def test_invalid_actuators_in_loops_files_are_errors_with_a_line(entry, code, words):
    assert PENDULUM.with_loops_document('{"version": 1, "actuators": [' + MOTOR + "]}").actuators["m"].kind == "motor"
    check('{"version": 1,\n "actuators": [\n' + entry + "]}", code, words, "actuators")


@pytest.mark.parametrize(
    ("entry", "code", "words"),
    [
        (HOME.replace(', "q": {"elbow": 1}', ""), "KEY_MISSING", "'q'"),
        (HOME.replace('"home"', '""'), "BAD_NAME", "expected a name"),
        (HOME.replace('"q"', '"p"'), "UNKNOWN_KEY", "unknown key 'p'"),
        (HOME.replace('{"elbow": 1}', "[0, 1]"), "DATA_TYPE", "expected an object"),
        (HOME.replace("1", "true"), "NUMBER", "expected a number"),
        (HOME.replace("1", "[1, 2]"), "CONFIGURATION", "expected 1 finite number"),
        (HOME.replace("elbow", "elbw"), "UNKNOWN_JOINT", "did you mean 'elbow'"),
        (HOME.replace("1}", '1}, "controls": {"m": 1}'), "UNKNOWN_ACTUATOR", "'m'"),
        (HOME.replace("1}", '1}, "controls": [1]'), "DATA_TYPE", "expected an object"),
        (HOME.replace("1}", '1}, "v": 3'), "DATA_TYPE", "expected an object"),
        (HOME + ", " + HOME, "DUPLICATE_NAME", "on line 1"),
    ],
)
def test_invalid_configurations_in_loops_files_are_errors_with_a_line(entry, code, words):
    check('{"version": 1,\n "named_configurations": [\n' + entry + "]}", code, words, "named_configurations")


def check(text, code, words, key):
    with pytest.raises(ModelError, match=code) as caught:
        PENDULUM.with_loops_document(text)
    issue = caught.value.issues[0]
    assert issue.code == code and words.replace("line 1", "line 3") in str(issue), str(issue)
    assert issue.where.line == 3 and f"{key}[" in str(issue.where)


def test_schema_of_loops_files_lists_the_arguments_of_all_actuator_kinds():
    schema = json.loads((Path(__file__).parents[2] / "docs" / "loops.schema.json").read_text(encoding="utf-8"))
    entry = schema["$defs"]["actuator"]
    assert entry["properties"]["kind"]["enum"] == [*ACTUATOR_KINDS]
    usual, affine = entry["oneOf"]
    for kind, constructor in ACTUATOR_KINDS.items():
        allowed = set(entry["properties"]) - {"kind"}
        refused = (affine if kind == "affine" else usual)["properties"]
        left = allowed - {key for key, value in refused.items() if value is False}
        named = {argument.name for argument in arguments(constructor)}
        assert named <= left, kind
        if kind in ("affine", "position"):
            assert named == left, kind
