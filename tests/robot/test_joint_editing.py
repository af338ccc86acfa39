"""Edits of limits, damping, friction and dynamics of a joint, and a robot with the edited joint."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import linkwork as lw
from helpers.facade import EVERY, every_joint, near
from linkwork.errors import UnknownNameError

HINGE = lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name="elbow")
FREE = EVERY["floating"]


def test_position_limits_of_a_joint_can_be_edited_by_degree_of_freedom() -> None:
    joint = HINGE.with_position_limits(-1.0, 2.0)
    assert (joint.lower.tolist(), joint.upper.tolist()) == ([-1.0], [2.0])
    assert HINGE.upper.tolist() == [np.inf]  # the old one stays
    bounded = FREE.with_position_limits(-0.5, 0.5, dof="z").with_position_limits(-3.0, 1.0, dof=4)
    assert bounded.upper.tolist()[4:] == [1.0, np.inf, 0.5]
    q = bounded.random_configuration(seed=0, size=100)
    assert np.all(np.abs(q[:, 6]) <= 0.5) and np.all(q[:, 4] <= 1.0)
    for lower, upper in ((1.0, -1.0), (np.inf, np.inf), ([0.0, 1.0], 2.0), ("low", 1.0), (np.nan, 1.0)):
        with pytest.raises(ValueError, match=r"joint 'elbow': (lower|upper)"):
            HINGE.with_position_limits(lower, upper)
    for dof in (1, -1, "knee", 0.5):
        with pytest.raises(ValueError, match="expected a degree of freedom from 0 to 0"):
            HINGE.with_position_limits(0.0, 1.0, dof=dof)


def test_position_limits_of_a_joint_can_be_switched_on_and_off() -> None:
    joint = HINGE.with_position_limits(-1.0, 2.0)
    assert joint.has_position_limits
    off = joint.with_position_limits_enabled(False)
    assert not off.has_position_limits
    assert off.upper.tolist() == [2.0]  # kept
    assert off.position_bounds.upper.tolist() == [np.inf]
    assert np.ptp(off.random_configuration(seed=0, size=200)) > 4.0
    assert off.with_position_limits_enabled(True) == joint != off
    assert not HINGE.has_position_limits


def test_velocity_and_effort_limits_of_a_joint_can_be_edited_by_degree_of_freedom() -> None:
    assert HINGE.with_velocity_limit(3.0).velocity_bounds.upper.tolist() == [3.0]
    assert FREE.with_effort_limit(5.0, dof="vz").effort.tolist() == [np.inf] * 5 + [5.0]
    edits = HINGE.with_velocity_limit, HINGE.with_effort_limit, HINGE.with_acceleration_limit, HINGE.with_jerk_limit
    for edit in (*edits, HINGE.with_damping, HINGE.with_friction):
        with pytest.raises(ValueError, match="non-negative, got -1"):
            edit(-1.0)


def test_acceleration_and_jerk_limits_of_a_joint_are_those_of_the_robot_and_of_its_motions() -> None:
    joint = FREE.with_acceleration_limit([1.0] * 6).with_acceleration_limit(2.0, dof="vy").with_jerk_limit(7.0, dof=0)
    assert joint.acceleration.tolist() == [1.0] * 4 + [2.0, 1.0] and joint.jerk.tolist() == [7.0] + [np.inf] * 5
    bare = joint.with_type(lw.joints.Revolute((0.6, 0.0, 0.8)))  # of another size
    assert bare.acceleration.tolist() == bare.jerk.tolist() == [np.inf]
    arm = lw.load("arm7")
    for name in ("elbow", "wrist_flex"):
        arm = arm.with_joint(arm.joint(name).with_acceleration_limit(3.0).with_jerk_limit(40.0))
    limited = [name in ("elbow", "wrist_flex") for name in arm.v_names]
    assert np.array_equal(arm.acceleration_limits, np.where(limited, 3.0, np.inf))
    assert np.array_equal(arm.jerk_limits, np.where(limited, 40.0, np.inf))
    path = arm.spline([0.0, 1.0], [np.zeros(7), -0.2 * np.ones(7)], boundary="clamped")
    extremes = lw.motion.time_optimal(path, jerk=np.inf).trajectory.extremes(2)
    assert 2.7 < np.abs([extremes.lower[limited], extremes.upper[limited]]).max() <= 3.0 + 1e-6


def test_damping_of_a_joint_can_be_edited_by_degree_of_freedom() -> None:
    """N·m·s/rad of a rotation, N·s/m of a translation."""
    joint = FREE.with_damping(0.5).with_damping(2.0, dof=5)
    assert joint.damping.tolist() == [0.5] * 5 + [2.0]
    assert joint.passive_torque(np.arange(6.0)).tolist() == [0.0, -0.5, -1.0, -1.5, -2.0, -10.0]


def test_static_friction_of_a_joint_can_be_edited_by_degree_of_freedom() -> None:
    """N·m of a rotation, N of a translation."""
    joint = FREE.with_friction(0.25, dof=0)
    assert joint.friction.tolist() == [0.25] + [0.0] * 5
    assert joint.passive_torque([[-3.0, 1, 1, 1, 1, 1], [0.0] * 6])[:, 0].tolist() == [0.25, 0.0]
    with pytest.raises(ValueError, match="joint 'floating': passive_torque: v: expected an array of shape"):
        joint.passive_torque([1.0])


def test_dynamics_type_of_a_joint_can_be_edited() -> None:
    joint = HINGE.with_damping(2.0)
    assert joint.dynamics == "urdf"
    frictionless = joint.with_dynamics("none")
    assert frictionless.damping.tolist() == [2.0]
    assert frictionless.passive_torque([3.0]).tolist() == [0.0]
    assert frictionless.with_dynamics("urdf").passive_torque([3.0]).tolist() == [-6.0]
    with pytest.raises(ValueError, match="expected 'none' or 'urdf', got 'coulomb'"):
        joint.with_dynamics("coulomb")


def test_edited_joint_replaces_the_robots_joint() -> None:
    robot = lw.load("arm6")
    old = robot.joints[2]
    new = old.with_position_limits(-0.1, 0.1).with_damping(3.0).with_dynamics("none").with_effort_limit(9.0)
    edited = robot.with_joint(new)
    assert edited.joint(old.name) == new
    assert robot.joint(old.name) == old
    assert edited != robot
    q = edited.random_configuration(seed=0, size=100)
    assert np.all(np.abs(q[:, old.q_slice]) <= 0.1)
    off = edited.with_joint(new.with_position_limits_enabled(False))
    assert np.ptp(off.random_configuration(seed=0, size=100)[:, old.q_slice]) > 1.0
    moved = robot.with_joint(old.with_rest_transform(np.eye(4)))
    near(moved.pose(moved.neutral(), old.child, relative_to=old.parent), np.eye(4))
    slid = robot.with_joint(old.with_type(lw.joints.Prismatic((0, 0, 1))))
    assert slid.joint(old.name).type_name == "prismatic"
    freed = robot.with_joint(robot.joints[-1].with_type(lw.joints.Floating()))
    assert (freed.nq, freed.nv) == (robot.nq + 6, robot.nv + 5)
    with pytest.raises(UnknownNameError, match="no joint named 'floating'"):
        robot.with_joint(FREE)
    with pytest.raises(ValueError, match="connects"):
        robot.with_joint(old.with_links("here", "there"))
    with pytest.raises(TypeError, match="expected a joint type"):
        old.with_type("prismatic")


@pytest.mark.light
@every_joint
def test_joints_without_a_robot_are_compared_by_value(joint) -> None:
    again = lw.Joint.of(
        joint.type,
        name=joint.name,
        parent="before",
        child="after",
        placement=joint.stator_placement,
        rotor=joint.rotor_placement,
    )
    for clone in (again, copy.copy(joint), copy.deepcopy(joint), pickle.loads(pickle.dumps(joint))):
        assert clone == joint
        assert hash(clone) == hash(joint)
        assert not clone.lower.flags.writeable
    assert joint.with_links("a", "b") != joint


def test_negative_zeros_of_a_rest_position_are_zeros():
    joint = lw.load("arm6").joint("elbow").with_stiffness(3.0, rest=-0.0)
    assert not np.signbit(joint.rest).any()
