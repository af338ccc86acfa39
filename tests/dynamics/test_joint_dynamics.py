"""Armature, friction and springs of joints: defaults, edits by joint and by robot, and refusals."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import linkwork as lw
from helpers.facade import EVERY, every_joint
from linkwork.errors import ModelError, UnknownNameError
from linkwork.model.body import Drive

HINGE = lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name="elbow")
FULL = HINGE.with_friction(0.5).with_static_friction(0.8).with_friction_velocity(0.1).with_armature(0.2)
FULL = FULL.with_gear_ratio(-100.0).with_stiffness(3.0, rest=0.4).with_damping(0.7)
ARM = lw.load("arm7_gripper", mimic="coupled")


def test_joint_dynamics_parameters_are_zero_by_default() -> None:
    joint = EVERY["ball"] if "ball" in EVERY else EVERY["spherical"]
    assert joint.armature.tolist() == joint.stiffness.tolist() == [0.0] * 3
    assert joint.gear_ratio.tolist() == [1.0] * 3
    assert joint.rest.tolist() == joint.type.zero()
    assert joint.static_friction.tolist() == joint.friction.tolist()
    assert joint.friction_velocity.tolist() == [0.01] * 3
    with pytest.raises(ValueError, match="read-only"):
        joint.armature[0] = 1.0


def test_joint_dynamics_parameters_can_be_set_at_creation_and_by_edits() -> None:
    said = {"friction": 0.5, "static_friction": 0.8, "friction_velocity": 0.1, "armature": 0.2, "gear_ratio": -100.0}
    said |= {"stiffness": 3.0, "rest": 0.4, "damping": 0.7}
    created = lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name="elbow", **said)  # type: ignore[arg-type]
    assert created == FULL != HINGE and hash(created) == hash(FULL)
    for key, value in said.items():
        assert getattr(created, key).tolist() == [value], key
    free = EVERY["floating"].with_armature(1.0).with_armature(2.0, dof="vz").with_stiffness([1, 2, 3, 4, 5, 6])
    assert free.armature.tolist() == [1.0] * 5 + [2.0]
    assert free.stiffness.tolist() == [1, 2, 3, 4, 5, 6]
    moved = free.with_stiffness(1.0, rest=[1, 0, 0, 0, 0.1, 0.2, 0.3])
    assert moved.rest.tolist() == [1, 0, 0, 0, 0.1, 0.2, 0.3]
    assert moved.with_stiffness(2.0).rest.tolist() == moved.rest.tolist()


def test_static_friction_equals_kinetic_friction_until_it_is_set() -> None:
    assert HINGE.with_friction(0.3).static_friction.tolist() == [0.3]
    assert FULL.with_friction(0.1).static_friction.tolist() == [0.8]
    with pytest.raises(
        ValueError, match=r"joint 'elbow': static_friction: expected at least the kinetic friction 0.9, got"
    ):
        FULL.with_friction(0.9)


@every_joint
def test_joints_with_dynamics_parameters_can_be_compared_copied_and_reversed(joint: lw.Joint) -> None:
    edited = joint.with_armature(0.3).with_stiffness(2.0)
    assert (edited == joint) == (joint.nv == 0)
    for again in (pickle.loads(pickle.dumps(edited)), copy.deepcopy(edited)):
        assert again == edited and hash(again) == hash(edited)
    there_and_back = edited.reversed().reversed()
    assert there_and_back.armature.tolist() == edited.armature.tolist()


def test_changing_the_joint_type_resets_the_joint_dynamics_parameters() -> None:
    assert FULL.with_axis((1, 0, 0)).stiffness.tolist() == [3.0]
    spherical = FULL.with_type(lw.joints.Spherical())
    assert spherical.stiffness.tolist() == spherical.armature.tolist() == [0.0] * 3
    assert spherical.rest.tolist() == [1.0, 0.0, 0.0, 0.0]
    sincos = FULL.with_type(lw.joints.UnboundedRevolute((0, 0, 1)))
    assert sincos.rest.tolist() == [0.0, 1.0]


def test_invalid_joint_dynamics_parameters_are_refused_by_joint() -> None:
    edits = {
        "armature": HINGE.with_armature,
        "stiffness": HINGE.with_stiffness,
        "static_friction": HINGE.with_static_friction,
        "friction_velocity": HINGE.with_friction_velocity,
    }
    for key, edit in edits.items():
        for value in (-1.0, np.nan, np.inf, "high", [1.0, 2.0], True, None):
            with pytest.raises(ValueError, match=f"joint 'elbow': {key}"):
                edit(value)  # type: ignore[operator]
        for value in (-1.0, np.nan, "high", [1.0, 2.0], True):
            with pytest.raises(ValueError, match=f"joint 'elbow': {key}"):
                lw.Joint.of(HINGE.type, name="elbow", **{key: value})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="joint 'elbow': gear_ratio: expected non-zero rotor revolutions"):
        HINGE.with_gear_ratio(0.0)
    with pytest.raises(ValueError, match=r'friction_velocity: expected a positive speed.*friction="coulomb"'):
        HINGE.with_friction_velocity(0.0)
    for rest_value in (np.nan, [1.0, 2.0], "far", [[0.0]]):
        with pytest.raises(ValueError, match="joint 'elbow': rest: expected"):
            HINGE.with_stiffness(1.0, rest=rest_value)
    with pytest.raises(ValueError, match="rest"):
        EVERY["spherical"].with_stiffness(1.0, rest=[2.0, 0.0, 0.0, 0.0])


# -- of a robot


def test_with_joint_dynamics_accepts_scalars_arrays_and_dicts() -> None:
    n = ARM.nv
    robot = ARM.with_joint_dynamics(
        armature=np.arange(n),
        damping=0.25,
        friction={"elbow": 0.5},
        static_friction={"elbow": [0.75]},
        friction_velocity=0.5,
        stiffness={"elbow": 3.0},
        rest=np.linspace(0.0, 0.1, ARM.nq),
    )
    assert robot.armature.tolist() == [*range(n)]
    assert robot.damping.tolist() == [0.25] * n and robot.joint("right_finger_slide").damping.tolist() == [0.25]
    assert robot.friction.tolist() == [*ARM.friction[:3], 0.5, *ARM.friction[4:]]
    assert robot.static_friction.tolist() == [*ARM.friction[:3], 0.75, *ARM.friction[4:]]
    assert robot.friction_velocity.tolist() == [0.5] * n
    assert robot.stiffness.tolist() == [0.0] * 3 + [3.0] + [0.0] * (n - 4)
    assert robot.rest_configuration.tolist() == np.linspace(0.0, 0.1, ARM.nq).tolist()
    assert robot.gear_ratio.tolist() == [1.0] * n
    assert ARM.with_joint_dynamics() == ARM
    same = {key: getattr(robot, key) for key in ("armature", "damping", "friction", "static_friction", "stiffness")}
    assert robot.with_joint_dynamics(**same, rest=robot.rest_configuration) == robot


def test_rotor_inertia_and_gear_ratio_set_the_armature() -> None:
    robot = ARM.with_joint_dynamics(rotor_inertia=1e-4, gear_ratio={"elbow": -50})
    assert robot.armature.tolist() == pytest.approx([1e-4] * 3 + [0.25] + [1e-4] * (ARM.nv - 4), rel=1e-15)
    assert robot.with_joint_dynamics(rotor_inertia={"elbow": 2e-4}).joint("elbow").armature.tolist() == [0.5]
    with pytest.raises(TypeError, match="joint 'elbow': expected armature or rotor_inertia, got both"):
        ARM.with_joint_dynamics(armature={"elbow": 1.0}, rotor_inertia={"elbow": 1.0})
    hinge = lw.joints.Revolute((0.0, 0.6, 0.8))
    assert lw.Joint.of(hinge, rotor_inertia=1e-4, gear_ratio=-50).armature.tolist() == [0.25]
    assert lw.Joint.of(hinge, armature=0.3, gear_ratio=50).armature.tolist() == [0.3]
    with pytest.raises(TypeError, match="expected armature or rotor_inertia, got both"):
        lw.Joint.of(hinge, armature=0.3, rotor_inertia=1e-4)
    for change in (lambda **options: lw.Joint.of(hinge, **options), ARM.with_joint_dynamics):
        with pytest.raises(ValueError, match="gear_ratio² · rotor_inertia: expected a finite number"):
            change(gear_ratio=1e200, rotor_inertia=1.0)


def test_with_joint_dynamics_does_not_apply_scalars_to_floating_joints() -> None:
    robot = lw.load("quadruped", floating_base=True).with_joint_dynamics(armature=0.5)
    assert robot.armature.tolist() == [0.0] * 6 + [0.5] * (robot.nv - 6)
    assert robot.with_joint_dynamics(armature={"floating_base": 0.1}).armature[:6].tolist() == [0.1] * 6


def test_joint_dynamics_of_mimic_followers_act_on_their_masters() -> None:
    """Armature and damping count by the square of the ratio, springs at their own rest position."""
    chain = lw.Robot.build(
        "two",
        lw.Link("base"),
        lw.Joint.of(HINGE.type, name="one", parent="base", child="a"),
        lw.Link("a", mass=1.0, com=(0.1, 0, 0)),
        lw.Joint.of(HINGE.type, name="two", parent="a", child="b"),
        lw.Link("b", mass=1.0, com=(0.1, 0, 0)),
    ).with_couplings({"two": ("one", -3.0, 0.5)})
    robot = chain.with_joint_dynamics(
        armature={"two": 0.1}, damping={"two": 2.0}, stiffness={"two": 5.0}, rest={"two": 0.2}
    )
    assert robot.armature.tolist() == [0.0]
    added = robot.mass_matrix([0.3], passive=True) - robot.mass_matrix([0.3])
    assert added.tolist() == [[pytest.approx(0.9, rel=1e-14)]]
    force = robot.passive_force([0.3], [0.7])
    assert force.tolist() == [pytest.approx(-9.0 * 2.0 * 0.7 + 3.0 * 5.0 * (-0.9 + 0.5 - 0.2), rel=1e-14)]


def test_robot_edits_preserve_joint_dynamics_parameters() -> None:
    robot = ARM.with_joint_dynamics(armature=0.1, stiffness=2.0, friction=0.2, static_friction=0.4)
    assert robot != ARM and pickle.loads(pickle.dumps(robot)) == robot
    assert hash(pickle.loads(pickle.dumps(robot))) == hash(robot)
    for joint in robot.joints:
        if joint.name not in robot.tree.fixed_joints:
            assert robot.with_joint(joint) == robot
    for edited in (
        robot.with_locked_joints(["elbow"]),
        robot.with_payload("payload", "tool", 1.0) if "tool" in robot.frames else robot,
        robot.with_gravity((0, 0, 0)),
        robot.with_couplings({"wrist_roll": ("wrist_flex", 2.0)}),
    ):
        for joint in edited.joints:
            if joint.nv and joint.name in ARM.tree.carried:
                assert joint.armature.tolist() == [0.1] and joint.static_friction.tolist() == [0.4]
    parts = [*(lw.Link(name) for name in ("world", "a")), FULL.with_links("world", "a")]
    assert lw.Robot.build("r", *parts).joint("elbow").rest.tolist() == [0.4]


def test_default_joint_dynamics_parameters_are_not_stored() -> None:
    """Robots with equal properties are then equal."""
    robot = ARM.with_joint_dynamics(armature=0.0, gear_ratio=1.0, stiffness=0.0, friction_velocity=0.01)
    robot = robot.with_joint_dynamics(static_friction=ARM.friction, rest=np.zeros(ARM.nq))
    assert robot == ARM and all(body.drive == Drive() for body in robot.tree.bodies)


def test_invalid_joint_dynamics_parameters_are_refused_by_robot() -> None:
    for key in ("armature", "damping", "friction", "static_friction", "stiffness", "friction_velocity"):
        for value, message in (
            (-1.0, f"joint '.*': {key}: expected .*non-negative"),
            ({"elbow": -1.0}, f"joint 'elbow': {key}: expected"),
            ({"elbow": np.inf}, f"joint 'elbow': {key}: expected"),
            ({"elbow": [1.0, 2.0]}, f"joint 'elbow': {key}: expected"),
            (np.nan, f"{key}: expected an array of shape"),
            (np.ones(ARM.nv + 1), f"{key}: expected an array of shape"),
            ("much", f"{key}: expected an array of shape"),
        ):
            with pytest.raises(ValueError, match=message):
                ARM.with_joint_dynamics(**{key: value})  # type: ignore[arg-type]
        with pytest.raises(UnknownNameError, match="did you mean 'elbow'"):
            ARM.with_joint_dynamics(**{key: {"elbwo": 1.0}})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="rest: expected an array of shape"):
        ARM.with_joint_dynamics(rest=0.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="joint 'elbow': static_friction: expected at least the kinetic friction"):
        ARM.with_joint_dynamics(friction={"elbow": 1.0}, static_friction={"elbow": 0.5})
    with pytest.raises(ModelError, match="armature: 1e\\+30 is beyond"):
        ARM.with_joint_dynamics(armature={"elbow": 1e30})
