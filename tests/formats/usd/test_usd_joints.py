"""Joints of USD stages: frames, axes, limits in degrees, drives, generic joints, and attributes of simulators."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError, ModelWarning
from linkwork.joints import Composite, Cylindrical, Fixed, Prismatic, Reversed, Revolute, Spherical, Translational
from linkwork.spatial import Pose
from usd_texts import at, body, joint, load, stage

pytest.importorskip("pxr", reason="needs usd-core")
TURN = "(0.7071068, 0, 0, 0.7071068)"  # a quarter turn about z


def poses(robot: lw.Robot, q: dict[str, float | list[float]]) -> dict[str, np.ndarray]:
    """The poses of the frames of a robot, without compiled code."""
    X: list[Pose] = []
    for moving in robot.tree.bodies:
        values = q.get(moving.joint_name, moving.joint.zero())
        motion = moving.X([values] if isinstance(values, float) else values)
        X.append(motion if moving.parent < 0 else X[moving.parent] @ motion)
    return {
        frame.name: np.array(
            (frame.placement if frame.body < 0 else X[frame.body] @ frame.placement).elements()
        ).reshape(4, 4)
        for frame in robot.tree.frames
    }


def test_frames_of_a_usd_joint_are_read_on_both_bodies(tmp_path: Path) -> None:
    pivot = (
        f"point3f physics:localPos0 = (0, 0, 1);quatf physics:localRot0 = {TURN};point3f physics:localPos1 = (-1, 0, 0)"
    )
    text = stage(
        body("a"),
        body("b", at(0, 1, 1, orient=TURN)),
        joint("Fixed", "hold", "", "a"),
        joint("Revolute", "hinge", "a", "b", f'uniform token physics:axis = "Y"\n{pivot}'),
    )
    robot = load(tmp_path, text)
    assert robot.report.warnings == ()
    X = poses(robot, {"hinge": 0.0})["b"]
    np.testing.assert_allclose(X[:3, 3], (0, 1, 1), atol=1e-15)  # as the stage shows it
    np.testing.assert_allclose(X[:3, :3], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=0)  # an exact quarter turn
    X = poses(robot, {"hinge": 0.5 * math.pi})["b"]  # about the y axis of the joint: −x of the world
    np.testing.assert_allclose(X[:3, 3], (0, 0, 0), atol=1e-15)


@pytest.mark.parametrize("axis", "XYZ")
def test_usd_joint_axes_and_limits_are_read_in_radians(tmp_path: Path, axis: str) -> None:
    common = f'uniform token physics:axis = "{axis}"\nfloat physics:lowerLimit = -90\nfloat physics:upperLimit = 30'
    text = stage(
        *(body(name) for name in "abc"),
        joint("Revolute", "turn", "a", "b", common),
        joint("Prismatic", "move", "b", "c", common),
        length=0.01,
    )
    robot = load(tmp_path, text)
    unit = [float(axis == letter) for letter in "XYZ"]
    turn, move = robot.joint("turn"), robot.joint("move")
    assert (turn.type, move.type) == (Revolute(unit), Prismatic(unit))
    np.testing.assert_allclose([*turn.lower, *turn.upper], [-math.pi / 2, math.pi / 6], rtol=1e-15)
    np.testing.assert_allclose([*move.lower, *move.upper], [-0.9, 0.3], rtol=1e-15)
    assert robot.joints[0].name == "floating_base"


def test_infinite_usd_limits_are_unlimited_and_invalid_ones_are_refused(tmp_path: Path) -> None:
    values = "float physics:lowerLimit = -inf\nfloat physics:upperLimit = 3.4e38"
    robot = load(tmp_path, stage(body("a"), body("b"), joint("Revolute", "j", "a", "b", values)))
    assert robot.joint("j").lower == -math.inf and robot.joint("j").upper == math.inf
    with pytest.raises(ModelError, match="LIMIT_FINITE"):
        load(tmp_path, stage(body("a"), body("b"), joint("Revolute", "j", "a", "b", "float physics:lowerLimit = nan")))
    wrong = "float physics:lowerLimit = 10\nfloat physics:upperLimit = -10"
    with pytest.raises(ModelError, match="LIMIT_ORDER"):
        load(tmp_path, stage(body("a"), body("b"), joint("Revolute", "j", "a", "b", wrong)))


def generic(*free: str, limits: str = "") -> str:
    """A generic joint with all directions locked but some."""
    every = [kind + axis for kind in ("trans", "rot") for axis in "XYZ"]
    locked = [freedom for freedom in every if freedom not in free]
    values = "\n".join(
        f"float limit:{freedom}:physics:low = 1\nfloat limit:{freedom}:physics:high = -1" for freedom in locked
    )
    schemas = [f"PhysicsLimitAPI:{freedom}" for freedom in every if freedom in locked or freedom in limits]
    return joint("", "j", "a", "b", values + "\n" + limits, " ".join(schemas))


@pytest.mark.light
@pytest.mark.parametrize(
    ("free", "expected"),
    [
        ((), Fixed()),
        (("rotY",), Revolute((0, 1, 0))),
        (("transZ",), Prismatic((0, 0, 1))),
        (("rotX", "transX"), Cylindrical((1, 0, 0))),
        (("transX", "transY", "transZ"), Translational()),
        (("rotX", "rotY", "rotZ"), Spherical()),
        (("transX", "rotY"), Composite((Prismatic((1, 0, 0)), Revolute((0, 1, 0))))),
        (("transX", "transY", "rotZ"), Composite((Prismatic((1, 0, 0)), Prismatic((0, 1, 0)), Revolute((0, 0, 1))))),
        (("transX", "rotX", "rotY", "rotZ"), Composite((Prismatic((1, 0, 0)), Spherical()))),
    ],
)
def test_generic_usd_joints_become_the_joint_type_of_their_free_axes(
    tmp_path: Path, free: tuple[str, ...], expected: object
) -> None:
    robot = load(tmp_path, stage(body("a"), body("b"), generic(*free)))
    assert robot.joint("j").type == expected and not robot.report.repairs


def test_generic_usd_joints_without_a_matching_joint_type_are_left_out(tmp_path: Path) -> None:
    text = stage(body("a"), body("b"), generic("rotX", "rotY"))
    with pytest.warns(ModelWarning, match="turns about two axes"):
        robot = load(tmp_path, text)
    assert [single.name for single in robot.joints] == ["a_floating", "b_floating"]
    with pytest.raises(ModelError, match="UNSUPPORTED"):
        load(tmp_path, text, strict=True)
    free = load(tmp_path, stage(body("a"), body("b"), joint("", "j", "a", "b")))
    assert free.nv == 12 and [issue.code for issue in free.report.warnings] == ["IGNORED"]


def test_limits_of_a_generic_usd_joint_are_read(tmp_path: Path) -> None:
    limits = "\n".join(
        f"float limit:{joint_}:physics:low = -180\nfloat limit:{joint_}:physics:high = 90"
        for joint_ in ("transX", "rotY")
    )
    robot = load(tmp_path, stage(body("a"), body("b"), generic("transX", "rotY", limits=limits), length=0.1))
    joint_ = robot.joint("j")
    np.testing.assert_allclose(joint_.lower, [-18.0, -math.pi])
    np.testing.assert_allclose(joint_.upper, [9.0, 0.5 * math.pi])


def test_usd_joint_drives_become_servos_in_radians(tmp_path: Path) -> None:
    drive = """
    float drive:angular:physics:stiffness = 100
    float drive:angular:physics:damping = 10
    float drive:angular:physics:maxForce = 500
    float drive:angular:physics:targetPosition = 90
    float drive:angular:physics:targetVelocity = 180
    """
    text = stage(
        *(body(name) for name in "abcd"),
        joint("Revolute", "servo", "a", "b", drive, "PhysicsDriveAPI:angular"),
        joint("Prismatic", "speed", "b", "c", "float drive:linear:physics:damping = 6", "PhysicsDriveAPI:linear"),
        joint("Revolute", "motor", "c", "d", "float drive:angular:physics:maxForce = 3", "PhysicsDriveAPI:angular"),
        length=0.1,
        mass=2.0,
    )
    robot = load(tmp_path, text)
    degree, torque = math.pi / 180.0, 2.0 * 0.1**2
    servo, speed, motor = robot.actuators
    k, d = torque * 100.0 / degree, torque * 10.0 / degree
    np.testing.assert_allclose(servo.gain, (k, 0, 0))
    np.testing.assert_allclose(servo.bias, (d * math.pi, -k, -d))
    np.testing.assert_allclose(servo.force_range, (-500 * torque, 500 * torque))
    np.testing.assert_allclose(robot.joint("servo").effort, [500 * torque])
    # at the target and the target's velocity there is no force
    assert abs(servo.force(math.pi / 2, math.pi / 2, math.pi)) < 1e-12
    assert speed.kind == "velocity" and math.isclose(speed.gain[0], 2.0 * 6.0)
    assert motor.kind == "motor" and math.isclose(motor.force_range[1], 3.0 * torque)
    (state,) = robot.tree.named_configurations
    assert state.name == "initial" and dict(state.controls) == pytest.approx({"servo": math.pi / 2, "speed": 0.0})


def test_usd_drive_of_accelerations_is_left_out(tmp_path: Path) -> None:
    drive = 'float drive:angular:physics:stiffness = 1\nuniform token drive:angular:physics:type = "acceleration"'
    text = stage(body("a"), body("b"), joint("Revolute", "j", "a", "b", drive, "PhysicsDriveAPI:angular"))
    with pytest.warns(ModelWarning, match="states accelerations, not forces"):
        assert load(tmp_path, text).actuators == ()


@pytest.mark.parametrize(
    ("prefix", "names"),
    [
        ("newton", "armature damping friction velocityLimit"),
        ("physxJointAxis:angular", "armature viscousFrictionCoefficient dynamicFrictionEffort maxJointVelocity"),
    ],
)
def test_simulator_specific_attributes_of_usd_joints_are_read(tmp_path: Path, prefix: str, names: str) -> None:
    values = ";".join(f"float {prefix}:{name} = {k}" for k, name in enumerate(names.split(), start=3))
    text = stage(body("a"), body("b"), joint("Revolute", "j", "a", "b", values), length=0.5, mass=2.0)
    joint_, degree = load(tmp_path, text).joint("j"), math.pi / 180.0
    result = (*joint_.armature, *joint_.damping, *joint_.friction, *joint_.velocity)
    np.testing.assert_allclose(result, (1.5, 2.0 / degree, 2.5, 6.0 * degree))


def test_unsupported_simulator_specific_attributes_of_usd_joints_are_reported(tmp_path: Path) -> None:
    values = (
        "float physxJoint:jointFriction = 0.1;float mjc:stiffness = 3;float mjc:solref = 1;float newton:unknown = 1"
    )
    with pytest.warns(ModelWarning):
        robot = load(tmp_path, stage(body("a"), body("b"), joint("Revolute", "j", "a", "b", values)))
    text = "\n".join(f"{warning.code} {warning.message}" for warning in robot.report.warnings)
    assert "UNSUPPORTED physxJoint:jointFriction" in text and "UNSUPPORTED the attribute mjc:stiffness" in text
    assert "UNSUPPORTED the attribute newton:unknown" in text and "IGNORED attributes mjc" in text


def test_misspelt_usd_attributes_and_types_are_reported(tmp_path: Path) -> None:
    text = stage(
        body("a"),
        body("b"),
        joint("Revolute", "j", "a", "b", "float physics:lowerLimt = 3"),
        joint("Revolut", "k", "a", "b"),
    )
    with pytest.warns(ModelWarning):
        robot = load(tmp_path, text)
    assert [repair.code for repair in robot.report.repairs] == ["UNKNOWN_TAG"] * 2
    messages = " ".join(repair.message for repair in robot.report.repairs)
    assert "did you mean 'physics:lowerLimit'" in messages and "the unknown type PhysicsRevolutJoint" in messages


def test_usd_joint_from_child_to_parent_keeps_the_sign_of_its_coordinate(tmp_path: Path) -> None:
    def arm(first: str, second: str, kind: str = "Revolute") -> lw.Robot:
        pivot = {"a": "(0, 0, 1)", "b": "(0, 1, 0)"}
        values = f"point3f physics:localPos0 = {pivot[first]};point3f physics:localPos1 = {pivot[second]}"
        text = stage(
            body("a"), body("b", at(0, -1, 1)), joint("Fixed", "w", "", "a"), joint(kind, "j", first, second, values)
        )
        return load(tmp_path, text)

    forward, backward = arm("a", "b"), arm("b", "a")
    np.testing.assert_allclose(poses(forward, {"j": 0.4})["b"], poses(backward, {"j": -0.4})["b"], atol=1e-15)
    assert isinstance(arm("b", "a", "Spherical").joint("j").type, Reversed)


def test_mimic_joints_of_usd_are_read(tmp_path: Path) -> None:
    values = "rel newton:mimicJoint = </r/j>;float newton:mimicCoef0 = 90;float newton:mimicCoef1 = -2"
    text = stage(
        *(body(name) for name in "abc"), joint("Revolute", "j", "a", "b"), joint("Revolute", "k", "b", "c", values)
    )
    mimic = load(tmp_path, text).joint("k").mimic
    assert (mimic.joint, mimic.ratio) == ("j", -2.0) and math.isclose(mimic.offset, math.pi / 2)
    with pytest.raises(ModelError, match="joint 'k' mimics joint '/r/nowhere', which does not exist"):
        load(tmp_path, text.replace("</r/j>", "</r/nowhere>"))


@pytest.mark.parametrize("length", [1.0, 0.01])
def test_usd_mimic_coefficients_are_in_units_of_the_stage(tmp_path: Path, length: float) -> None:
    units = {"Revolute": math.pi / 180.0, "Prismatic": length}
    for master in units:
        for slave in units:
            values = "rel newton:mimicJoint = </r/j>;float newton:mimicCoef0 = 3;float newton:mimicCoef1 = -2"
            text = stage(
                *(body(name) for name in "abc"),
                joint(master, "j", "a", "b"),
                joint(slave, "k", "b", "c", values),
                length=length,
            )
            mimic, q = load(tmp_path, text).joint("k").mimic, 0.7
            expected = units[slave] * (3.0 - 2.0 * q / units[master])
            assert math.isclose(mimic.ratio * q + mimic.offset, expected, rel_tol=1e-14)


def test_several_usd_joints_between_two_bodies_are_read_in_series(tmp_path: Path) -> None:
    values = "point3f physics:localPos0 = (0, 0, 1)"
    text = stage(
        body("a"),
        body("b", at(0, 0, 1)),
        joint("Prismatic", "x", "a", "b", values + ';uniform token physics:axis = "X"'),
        joint("Revolute", "y", "a", "b", values + ';uniform token physics:axis = "Y"'),
        root="uniform bool newton:jointsAddMobility = 1",
    )
    robot = load(tmp_path, text)
    assert [single.name for single in robot.joints] == ["floating_base", "x", "y"]
    X = poses(robot, {"x": 0.5, "y": 0.3})["b"]
    np.testing.assert_allclose(X[:3, 3], (0.5, 0, 1), atol=1e-15)
    assert X[0, 2] == pytest.approx(math.sin(0.3))


@pytest.mark.parametrize(
    ("kind", "values", "text"),
    [
        ("Spherical", "float physics:coneAngle0Limit = 30;float physics:coneAngle1Limit = 30", "cone limit"),
        ("Distance", "float physics:maxDistance = 2", "PhysicsDistanceJoint are not supported"),
        ("Revolute", "float physics:breakForce = 2", "joints do not break"),
    ],
)
def test_unsupported_usd_joints_are_reported(tmp_path: Path, kind: str, values: str, text: str) -> None:
    whole = stage(body("a"), body("b"), joint(kind, "j", "a", "b", values))
    with pytest.warns(ModelWarning, match=text):
        robot = load(tmp_path, whole)
    assert robot.report.repairs[0].where.element == "/r/j"
    with pytest.raises(ModelError, match="UNSUPPORTED"):
        load(tmp_path, whole, strict=True)


def test_initial_states_of_usd_joints_are_reported(tmp_path: Path) -> None:
    for value, codes in ((0.0, []), (30.0, ["IGNORED"])):
        values = f"float state:angular:physics:velocity = {value}"
        text = stage(body("a"), body("b"), joint("Fixed", "w", "", "a"), joint("Revolute", "j", "a", "b", values))
        assert [issue.code for issue in load(tmp_path, text).report.warnings] == codes
