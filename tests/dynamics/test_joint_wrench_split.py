"""Placements of stator and rotor, and the split of a wrench across the joint into joint force and internal force."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from helpers.facade import EVERY, SAMPLES, every_joint, near, state, wrench

AXIS = np.array([2.0, -3.0, 6.0]) / 7.0


def wrenches() -> np.ndarray:
    return np.random.default_rng(11).normal(size=(SAMPLES, 6))


@pytest.mark.slow(every=3)
def test_placements_of_stator_and_rotor_compose_the_link_transform() -> None:
    """The placement of link frames is a convention; in URDF's the rotor is at the link's frame."""
    joint = EVERY["revolute"]
    q = state(joint)[0]
    X = joint.stator_placement @ joint.transform(q) @ joint.rotor_placement
    near(joint.link_transform(q), X)
    urdf = joint.with_placements(rotor=np.eye(4))
    near(urdf.link_transform(q), X @ np.linalg.inv(joint.rotor_placement))
    assert np.array_equal(joint.with_placements(np.eye(4)).stator_placement, np.eye(4))
    for body in lw.load("arm7").joints:
        assert np.array_equal(body.rotor_placement, np.eye(4))
    for wrong in (np.eye(3), 2.0 * np.eye(4), np.diag([1.0, 1.0, -1.0, 1.0]), "here"):
        with pytest.raises(ValueError, match="joint 'revolute': placement: expected a pose"):
            joint.with_placements(wrong)


def test_rotation_of_a_joint_leaves_its_axis_unchanged() -> None:
    """R e = e: the axis has the same coordinates in stator and rotor; and Ṙ = q̇ e × R."""
    joint = lw.Joint.of(lw.joints.Revolute(AXIS))
    q = np.array([[0.3], [-2.0]])
    R = joint.transform(q)[:, :3, :3]
    near(R @ AXIS, np.broadcast_to(AXIS, (2, 3)))
    rate = joint.link_transform_derivative(q)[:, 0, :3, :3]
    near(rate, np.cross(AXIS, R, axisb=1, axisc=1))


@pytest.mark.costly
@every_joint
def test_joint_force_is_the_projection_of_the_wrench_on_the_motion_subspace(joint) -> None:
    """S (SᵀS)⁻¹ Sᵀ w; for one unit column s it is (s · w) s."""
    q, w = state(joint)[0], wrenches()
    S, split = joint.motion_subspace(q), joint.split_wrench(q, w)
    for k in range(SAMPLES):
        near(split.joint_force[k], S[k] @ np.linalg.pinv(S[k]) @ w[k], 1e-11)
        if joint.nv == 1 and abs(np.linalg.norm(S[k]) - 1.0) < 1e-14:
            near(split.joint_force[k], (S[k, :, 0] @ w[k]) * S[k, :, 0])
    near(joint.torque(q, split.joint_force), joint.torque(q, w), 1e-11)


@every_joint
def test_internal_force_of_a_joint_does_no_work(joint) -> None:
    """It does no work on any motion of the joint, and the two forces add up to the wrench."""
    q, w = state(joint)[0], wrenches()
    split = joint.split_wrench(q, w)
    near(split.joint_force + split.internal_force, w)
    near(joint.torque(q, split.internal_force), np.zeros((SAMPLES, joint.nv)), 1e-11)


@pytest.mark.parametrize("name", ["fixed", "revolute", "floating", "swivel"])
def test_joint_wrenches_split_into_equal_components_in_the_world_frame(name) -> None:
    """Both forces are at the world's origin in its axes; s · w does not depend on the frame."""
    joint = EVERY[name]
    q, w = state(joint)[0], wrenches()
    X_WM = EVERY["floating"].transform(EVERY["floating"].random_configuration(seed=2, size=SAMPLES))
    local, world = joint.split_wrench(q, w), joint.split_wrench(q, w, world_pose=X_WM)
    near(world.joint_force, wrench(X_WM, local.joint_force), 1e-11)
    near(world.internal_force, wrench(X_WM, local.internal_force), 1e-11)


@every_joint
def test_reaction_wrench_on_the_parent_link_is_opposite(joint) -> None:
    """Newton's third law: the wrench on the parent link is opposite, and so is its torque."""
    q, w = state(joint)[0], wrenches()
    reaction = joint.reaction(q, w)
    near(reaction, -wrench(joint.transform(q), w))
    back = wrench(np.linalg.inv(joint.transform(q)), reaction)
    near(joint.torque(q, back), -joint.torque(q, w), 1e-12)


def test_joint_torque_without_internal_force_gives_the_accelerations_of_forward_dynamics() -> None:
    """The joint force τ s accelerates the child; the internal force does not."""
    robot = lw.load("double_pendulum")
    q, v, tau = robot.random_configuration(seed=0), np.array([0.5, -1.0]), np.array([2.0, -0.7])
    a = robot.forward_dynamics(q, v, tau)
    near(robot.inverse_dynamics(q, v, a), tau, 1e-11)
    joint = robot.joints[-1]
    w = tau[joint.v_slice] * joint.motion_subspace(q[joint.q_slice])[:, 0]
    near(joint.torque(q[joint.q_slice], w), tau[joint.v_slice])
    near(joint.split_wrench(q[joint.q_slice], w).internal_force, np.zeros(6))


@pytest.mark.costly
@every_joint
def test_link_velocities_are_sums_of_motion_subspaces_times_joint_velocities(joint) -> None:
    """v_i = v_λ(i) + S q̇: a robot's Jacobian stacks these terms for each joint."""
    q, v, _ = state(joint)
    V = np.random.default_rng(1).normal(size=(SAMPLES, 6))
    moving, fixed = (joint.link_motion(q, rate, v, np.eye(4), V, V).twist for rate in (v, 0.0 * v))
    near(moving - fixed, np.einsum("nij,nj->ni", joint.link_motion_subspace(q), v), 1e-12)
