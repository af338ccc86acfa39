"""A joint between its two links, evaluated in either direction: compared with matrices and their differences."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.facade import EVERY, SAMPLES, every_joint, motion, near, six, state, wrench
from linkwork.errors import UnknownNameError
from linkwork.spatial import Pose, Rotation, Vec3

# what `link_motion` gives of every type, the functions of a single quantity give of these too
_FEW = [(EVERY[name], ends) for name in ("revolute", "floating", "swivel") for ends in ({}, {"child": "before"})]
_DERIVATIVES = [*((joint, {}) for joint in EVERY.values()), *(pair for pair in _FEW if pair[1])]
derivatives = pytest.mark.parametrize(
    ("joint", "ends"), _DERIVATIVES, ids=[f"{j.name} {'back' * bool(e)}" for j, e in _DERIVATIVES]
)
few = pytest.mark.parametrize(("joint", "ends"), _FEW, ids=[f"{j.name} {'back' * bool(e)}" for j, e in _FEW])


def link_motion(joint, ends, seed=7):
    """A state, and a pose, twist and acceleration of the parent."""
    rng = np.random.default_rng(seed)
    q, v, a = state(joint)
    X = np.linalg.inv(EVERY["revolute"].link_transform(rng.normal(size=(SAMPLES, 1))))
    return q, v, a, X, rng.normal(size=(SAMPLES, 6)), rng.normal(size=(SAMPLES, 6))


def test_joint_connects_two_links() -> None:
    joint = EVERY["revolute"]
    assert joint.links == (joint.parent, joint.child) == ("before", "after")
    moved = joint.with_links("hip", "thigh")
    assert moved.links == ("hip", "thigh")
    assert joint.links == ("before", "after")
    for wrong in ({"child": "knee"}, {"parent": "knee"}):
        with pytest.raises(UnknownNameError, match="no link of joint 'revolute' named 'knee'"):
            joint.link_transform([0.1], **wrong)
    with pytest.raises(ValueError, match="expected two links"):
        joint.link_transform([0.1], child="after", parent="after")
    with pytest.raises(ValueError, match="two links"):
        joint.with_links("hip", "hip")


@every_joint
def test_rest_transform_of_a_joint_is_the_link_transform_at_zero(joint) -> None:
    near(joint.rest_transform(), joint.link_transform(joint.zero_configuration()), 1e-15)
    near(joint.rest_transform(child="before") @ joint.rest_transform(), np.eye(4))
    rest_pose = EVERY["prismatic"].rest_transform()
    moved = joint.with_rest_transform(rest_pose)
    near(moved.stator_placement @ joint.transform(joint.zero_configuration()) @ moved.rotor_placement, rest_pose)
    near(moved.rotor_placement, joint.rotor_placement, 0.0)
    if joint.name == "revolute":
        near(moved.rest_transform(), rest_pose)


@pytest.mark.parametrize("name", ["revolute", "prismatic"])
def test_joint_axis_from_either_link_is_the_same_line(name) -> None:
    """The same line; its direction is that of the child's motion relative to the parent, so it turns round."""
    joint = EVERY[name]
    for q in state(joint)[0]:
        axes_a, axes_b = joint.axes(q), joint.axes(q, child="before")
        X = joint.link_transform(q)
        near(axes_b.direction[0], -X[:3, :3] @ axes_a.direction[0])
        if name == "revolute":
            between = X[:3, :3] @ axes_a.point[0] + X[:3, 3] - axes_b.point[0]
            near(np.cross(between, axes_b.direction[0]), np.zeros(3))
            assert abs(axes_a.pitch - axes_b.pitch) <= 1e-15 and abs(axes_a.pitch) <= 1e-15
        else:
            assert np.isinf(axes_a.pitch).all() and np.isinf(axes_b.pitch).all()
    for link in ("after", "before"):
        near(joint.with_axis([0.0, 0.6, 0.8], child=link).axes(child=link).direction, [[0.0, 0.6, 0.8]])
    with pytest.raises(TypeError, match="a floating joint has no axis"):
        EVERY["floating"].with_axis([1, 0, 0])
    with pytest.raises(ValueError, match="expected link"):
        joint.with_axis([1, 0, 0], child="elbow")


@every_joint
def test_axes_of_all_degrees_of_freedom_span_the_motion_subspace(joint) -> None:
    """Direction, point and pitch give the columns of the motion subspace up to their length."""
    q = state(joint)[0]
    S = np.swapaxes(joint.link_motion_subspace(q), -1, -2)
    axes = joint.axes(q)
    turns = np.isfinite(axes.pitch)
    pitch = np.where(turns, axes.pitch, 0.0)[..., None]
    linear = np.where(turns[..., None], np.cross(axes.point, axes.direction) + pitch * axes.direction, axes.direction)
    screws = np.concatenate([np.where(turns[..., None], axes.direction, 0.0), linear], axis=-1)
    size = np.linalg.norm(np.where(turns[..., None], S[..., :3], S[..., 3:]), axis=-1, keepdims=True)
    near(screws * size, S)


@dataclass(frozen=True)
class Parallelogram(lw.joints.JointType):
    """q (1,): the cranks' angle [rad].  Two equal cranks: what they carry moves on a circle and does not turn."""

    length: float
    nq, nv = 1, 1
    q_units, v_units = ("rad",), ("rad/s",)

    @classmethod
    def example(cls, rng: np.random.Generator) -> Parallelogram:
        return cls(0.3)

    def X(self, q: Any) -> Pose:
        rotation, back = (Rotation.about(Vec3(0.6, 0.0, 0.8), angle) for angle in (q[0], -q[0]))
        return Pose(rotation, Vec3.zero()) @ Pose(back, Vec3(self.length, 0.0, 0.0))


@pytest.mark.parametrize("length", [1e-3, 0.3, 50.0])
def test_joint_motion_that_rotates_by_rounding_only_is_a_translation(length: float) -> None:
    """At every scale; and a hinge far from its link is still one."""
    joint = lw.Joint.of(Parallelogram(length))
    q = np.linspace(-3.0, 3.0, 41)[:, None]
    for result in (joint.axes(q), joint.axes(q.astype(np.float32))):
        assert np.all(np.isinf(result.pitch)) and np.max(np.abs(result.point)) <= 1e-9 * length
        assert np.max(np.abs(np.linalg.norm(result.direction, axis=-1) - 1.0)) <= 1e-15
    far = lw.Joint.of(lw.joints.Revolute((0, 0, 1)), rotor=[1e6 * length, 0.0, 0.0])
    axes = far.axes(np.array([0.3], dtype=np.float32))
    assert axes.pitch.tolist() == [0.0] and abs(axes.point[0, 0] + 1e6 * length) <= 1e-3 * length


def test_welded_links_count_as_links_of_the_joint() -> None:
    """A welded link is another name of the same body; other links are refused."""
    robot = lw.Robot.from_urdf_string(WELDED)
    joint = robot.joint("hinge")
    for child in ("arm", "sleeve"):
        near(joint.link_transform([0.3], child=child), joint.link_transform([0.3]))
        near(joint.link_transform([0.3], parent=child, child="base"), np.linalg.inv(joint.link_transform([0.3])))
        near(joint.reversed().link_transform([0.3], child=child), joint.link_transform([0.3]))
    assert joint.link_torque([0.3], np.ones(6), on="sleeve") == joint.link_torque([0.3], np.ones(6))
    message = r"joint 'hinge': link 'tool0' is welded to 'arm' at another pose: use 'arm', and add robot.pose"
    with pytest.raises(ValueError, match=message):
        joint.link_transform([0.3], child="tool0")
    pose = robot.pose({}, "tool0", relative_to="arm")
    near(joint.link_transform([0.3]) @ pose, robot.pose({"hinge": 0.3}, "tool0", relative_to="base"))
    with pytest.raises(UnknownNameError, match="did you mean 'sleeve'"):
        joint.link_transform([0.3], child="sleve")
    with pytest.raises(ValueError, match="expected two links, got 'arm' as child and as parent"):
        joint.link_transform([0.3], child="sleeve", parent="arm")
    again = pickle.loads(pickle.dumps(joint))
    assert again == joint and again.link_transform([0.3], child="sleeve").shape == (4, 4)
    with pytest.raises(UnknownNameError, match="no link of joint 'hinge' named 'sleeve'"):
        joint.with_links("base", "other").link_transform([0.3], child="sleeve")


WELDED = """
<robot name="welded">
  <link name="base"/>
  <link name="arm"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="sleeve"/><link name="tool0"/>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <origin xyz="0.1 0 0.2" rpy="0.3 0 0"/></joint>
  <joint name="same" type="fixed"><parent link="arm"/><child link="sleeve"/></joint>
  <joint name="flange" type="fixed"><parent link="arm"/><child link="tool0"/><origin xyz="0 0 0.5"/></joint>
</robot>"""


@every_joint
def test_link_transform_of_a_joint_is_inverted_for_swapped_links(joint) -> None:
    """X_PB = placement X_FM rotor, and its inverse for the links swapped."""
    q = state(joint)[0]
    X = joint.link_transform(q)
    near(X, joint.stator_placement @ joint.transform(q) @ joint.rotor_placement)
    near(joint.link_transform(q, child="after", parent="before"), X, 0.0)
    for ends in ({"child": "before"}, {"parent": "after"}, {"child": "before", "parent": "after"}):
        near(joint.link_transform(q, **ends) @ X, np.broadcast_to(np.eye(4), X.shape))


@pytest.mark.costly
@derivatives
def test_derivative_of_a_joints_transform_equals_finite_differences(joint, ends) -> None:
    """Derivatives by each position coordinate, where q is free, and along q̇ always."""
    q, v, _ = state(joint)
    dX = joint.link_transform_derivative(q, **ends)
    assert dX.shape == (SAMPLES, joint.nq, 4, 4)
    q_dot = joint.velocity_to_configuration_derivative(q, v)
    X, V = joint.link_transform(q, **ends), np.einsum("nij,nj->ni", joint.link_motion_subspace(q, **ends), v)
    rate = np.einsum("nkij,nk->nij", dX, q_dot)
    near(six(np.linalg.inv(X) @ rate), V, 1e-12)
    if joint.nq == joint.nv:
        h = 1e-6
        for k in range(joint.nq):
            step = h * np.eye(joint.nq)[k]
            near(
                dX[:, k],
                (joint.link_transform(q + step, **ends) - joint.link_transform(q - step, **ends)) / (2 * h),
                1e-8,
            )


@every_joint
def test_motion_subspaces_of_a_joint_from_both_links_are_opposite(joint) -> None:
    """The other link's relative motion, in the child's frame, is the opposite."""
    q, v, _ = state(joint)
    relative = np.einsum("nij,nj->ni", joint.link_motion_subspace(q), v)
    opposite = np.einsum("nij,nj->ni", joint.link_motion_subspace(q, child="before"), v)
    near(relative, motion(np.linalg.inv(joint.rotor_placement), joint.twist(q, v)))
    near(opposite, -motion(joint.link_transform(q), relative))


@few
def test_link_pose_propagates_positions_over_a_joint(joint, ends) -> None:
    q, _, _, X, _, _ = link_motion(joint, ends)
    near(joint.link_pose(q, X, **ends), X @ joint.link_transform(q, **ends))


@pytest.mark.costly
@few
def test_link_velocity_propagates_velocities_over_a_joint(joint, ends) -> None:
    """V_B is X_AB's rate when X_AP moves with V_P and the joint with v."""
    q, v, _, _, V, _ = link_motion(joint, ends)
    back = np.linalg.inv(joint.link_transform(q, **ends))
    relative = np.einsum("nij,nj->ni", joint.link_motion_subspace(q, **ends), v)
    near(joint.link_velocity(q, v, V, **ends), motion(back, V) + relative)


@few
def test_link_acceleration_propagates_accelerations_over_a_joint(joint, ends) -> None:
    """The rate of V_B's components, while V_P changes at the rate A_P, v at a and q at q̇(v)."""
    q, v, a, _, V, A = link_motion(joint, ends)
    result = joint.link_acceleration(q, v, a, V, A, **ends)
    h = 1e-6
    ahead, behind = (
        joint.link_velocity(joint.global_coordinates(q, s * h * v), v + s * h * a, V + s * h * A, **ends)
        for s in (1.0, -1.0)
    )
    near(result, (ahead - behind) / (2.0 * h), 1e-7)


@pytest.mark.costly
@few
def test_link_velocity_acceleration_equals_link_velocity_and_link_acceleration(joint, ends) -> None:
    q, v, a, _, V, A = link_motion(joint, ends)
    result = joint.link_velocity_acceleration(q, v, a, V, A, **ends)
    near(result.twist, joint.link_velocity(q, v, V, **ends))
    near(result.acceleration, joint.link_acceleration(q, v, a, V, A, **ends))


@every_joint
def test_link_motion_propagates_pose_velocity_and_acceleration_over_a_joint(joint) -> None:
    """The pose by matrices, the twist with the joint's own, the acceleration as the rate of the twist's components."""
    q, v, a, X, V, A = link_motion(joint, {})
    result = joint.link_motion(q, v, a, X, V, A)
    X_PB, relative = joint.link_transform(q), motion(np.linalg.inv(joint.rotor_placement), joint.twist(q, v))
    near(result.pose, X @ X_PB)
    near(result.twist, motion(np.linalg.inv(X_PB), V) + relative)
    h = 1e-6
    ahead, behind = (
        joint.link_motion(joint.global_coordinates(q, s * h * v), v + s * h * a, a, X, V + s * h * A, A).twist
        for s in (1.0, -1.0)
    )
    near(result.acceleration, (ahead - behind) / (2.0 * h), 1e-7)


@few
def test_link_bias_acceleration_propagates_bias_accelerations_over_a_joint(joint, ends) -> None:
    q, v, a, _, V, A = link_motion(joint, ends)
    near(joint.link_bias_acceleration(q, v, V, A, **ends), joint.link_acceleration(q, v, 0.0 * a, V, A, **ends))


@every_joint
def test_propagation_over_a_joint_to_the_child_and_back_is_the_identity(joint) -> None:
    """Parent to child and back again."""
    q, v, a, X, V, A = link_motion(joint, {})
    propagated = joint.link_motion(q, v, a, X, V, A)
    back = joint.link_motion(q, v, a, *propagated, child="before", parent="after")
    for second, start in zip(back, (X, V, A), strict=True):
        near(second, start, 1e-12)


@every_joint
def test_joint_torque_is_equal_for_wrench_and_reaction(joint) -> None:
    """Wrench of the parent on the child, and the reaction."""
    q = state(joint)[0]
    w = np.random.default_rng(1).normal(size=(SAMPLES, 6))
    tau = joint.link_torque(q, w)
    near(tau, joint.torque(q, wrench(joint.rotor_placement, w)))
    reaction = -wrench(joint.link_transform(q), w)
    near(joint.link_torque(q, reaction, on="before", applied_by="after"), tau)
    near(joint.link_torque(q, w, on="after", applied_by="before"), tau, 0.0)


@every_joint
def test_reversed_joint_swaps_links_and_keeps_q_v_and_torque(joint) -> None:
    """The joint of the opposite direction: the links change roles, q, v and τ keep their signs."""
    q, v, a, X, V, A = link_motion(joint, {})
    reversed_joint = joint.reversed()
    assert reversed_joint.links == joint.links[::-1]
    expected = joint.link_motion(q, v, a, X, V, A, child="before", parent="after")
    for value, two in zip(reversed_joint.link_motion(q, v, a, X, V, A), expected, strict=True):
        near(value, two, 1e-12)
    if joint.name in ("revolute", "floating"):
        near(reversed_joint.link_torque(q, V), joint.link_torque(q, V, on="before"), 1e-12)
        near(reversed_joint.rest_transform(), np.linalg.inv(joint.rest_transform()), 1e-12)
    assert reversed_joint.reversed().type == joint.type
    near(reversed_joint.reversed().stator_placement, joint.stator_placement)
