"""A joint between its two links, asked in either direction: against matrices and their differences."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.facade import EVERY, SAMPLES, every_joint, motion, near, six, state, wrench
from linkwork.errors import UnknownNameError

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


def test_attached_links() -> None:
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
def test_rest_transform(joint) -> None:
    near(joint.rest_transform(), joint.link_transform(joint.zero_configuration()), 1e-15)
    near(joint.rest_transform(child="before") @ joint.rest_transform(), np.eye(4))
    rest = EVERY["prismatic"].rest_transform()
    moved = joint.with_rest_transform(rest)
    near(moved.stator_placement @ joint.transform(joint.zero_configuration()) @ moved.rotor_placement, rest)
    near(moved.rotor_placement, joint.rotor_placement, 0.0)
    if joint.name == "revolute":
        near(moved.rest_transform(), rest)


@pytest.mark.parametrize("name", ["revolute", "prismatic"])
def test_axis_from_either_link(name) -> None:
    """The same line; its direction is that of the child's motion relative to the parent, so it turns round."""
    joint = EVERY[name]
    for q in state(joint)[0]:
        one, other = joint.axes(q), joint.axes(q, child="before")
        X = joint.link_transform(q)
        near(other.direction[0], -X[:3, :3] @ one.direction[0])
        if name == "revolute":
            between = X[:3, :3] @ one.point[0] + X[:3, 3] - other.point[0]
            near(np.cross(between, other.direction[0]), np.zeros(3))
            assert abs(one.pitch - other.pitch) <= 1e-15 and abs(one.pitch) <= 1e-15
        else:
            assert np.isinf(one.pitch).all() and np.isinf(other.pitch).all()
    for link in ("after", "before"):
        near(joint.with_axis([0.0, 0.6, 0.8], child=link).axes(child=link).direction, [[0.0, 0.6, 0.8]])
    with pytest.raises(TypeError, match="a floating joint has no axis"):
        EVERY["floating"].with_axis([1, 0, 0])
    with pytest.raises(ValueError, match="expected link"):
        joint.with_axis([1, 0, 0], child="elbow")


@every_joint
def test_axes_of_every_degree_of_freedom(joint) -> None:
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


@every_joint
def test_transform_either_way(joint) -> None:
    """X_PB = placement X_FM rotor, and its inverse for the links swapped."""
    q = state(joint)[0]
    X = joint.link_transform(q)
    near(X, joint.stator_placement @ joint.transform(q) @ joint.rotor_placement)
    near(joint.link_transform(q, child="after", parent="before"), X, 0.0)
    for ends in ({"child": "before"}, {"parent": "after"}, {"child": "before", "parent": "after"}):
        near(joint.link_transform(q, **ends) @ X, np.broadcast_to(np.eye(4), X.shape))


@derivatives
def test_transform_derivative(joint, ends) -> None:
    """By each position coordinate: differences of the formula where q is free, and along q̇ always."""
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
def test_motion_subspace_of_either_link(joint) -> None:
    """In the child's frame; of the other link relative to this one it is the opposite motion."""
    q, v, _ = state(joint)
    one = np.einsum("nij,nj->ni", joint.link_motion_subspace(q), v)
    other = np.einsum("nij,nj->ni", joint.link_motion_subspace(q, child="before"), v)
    near(one, motion(np.linalg.inv(joint.rotor_placement), joint.twist(q, v)))
    near(other, -motion(joint.link_transform(q), one))


@few
def test_propagation_of_position(joint, ends) -> None:
    q, _, _, X, _, _ = link_motion(joint, ends)
    near(joint.link_pose(q, X, **ends), X @ joint.link_transform(q, **ends))


@few
def test_propagation_of_velocity(joint, ends) -> None:
    """V_B is X_AB's rate when X_AP moves with V_P and the joint with v."""
    q, v, _, _, V, _ = link_motion(joint, ends)
    back = np.linalg.inv(joint.link_transform(q, **ends))
    relative = np.einsum("nij,nj->ni", joint.link_motion_subspace(q, **ends), v)
    near(joint.link_velocity(q, v, V, **ends), motion(back, V) + relative)


@few
def test_propagation_of_acceleration(joint, ends) -> None:
    """The rate of V_B's components, while V_P changes at the rate A_P, v at a and q at q̇(v)."""
    q, v, a, _, V, A = link_motion(joint, ends)
    found = joint.link_acceleration(q, v, a, V, A, **ends)
    h = 1e-6
    ahead, behind = (
        joint.link_velocity(joint.global_coordinates(q, s * h * v), v + s * h * a, V + s * h * A, **ends)
        for s in (1.0, -1.0)
    )
    near(found, (ahead - behind) / (2.0 * h), 1e-7)


@few
def test_propagation_of_velocity_with_acceleration(joint, ends) -> None:
    q, v, a, _, V, A = link_motion(joint, ends)
    found = joint.link_velocity_acceleration(q, v, a, V, A, **ends)
    near(found.twist, joint.link_velocity(q, v, V, **ends))
    near(found.acceleration, joint.link_acceleration(q, v, a, V, A, **ends))


@every_joint
def test_propagation_of_position_velocity_and_acceleration(joint) -> None:
    """The pose by matrices, the twist with the joint's own, the acceleration as the rate of the twist's components."""
    q, v, a, X, V, A = link_motion(joint, {})
    found = joint.link_motion(q, v, a, X, V, A)
    X_PB, relative = joint.link_transform(q), motion(np.linalg.inv(joint.rotor_placement), joint.twist(q, v))
    near(found.pose, X @ X_PB)
    near(found.twist, motion(np.linalg.inv(X_PB), V) + relative)
    h = 1e-6
    ahead, behind = (
        joint.link_motion(joint.global_coordinates(q, s * h * v), v + s * h * a, a, X, V + s * h * A, A).twist
        for s in (1.0, -1.0)
    )
    near(found.acceleration, (ahead - behind) / (2.0 * h), 1e-7)


@few
def test_propagation_of_bias_acceleration(joint, ends) -> None:
    q, v, a, _, V, A = link_motion(joint, ends)
    near(joint.link_bias_acceleration(q, v, V, A, **ends), joint.link_acceleration(q, v, 0.0 * a, V, A, **ends))


@every_joint
def test_propagation_there_and_back(joint) -> None:
    """From the parent to the child and back again, nothing has changed."""
    q, v, a, X, V, A = link_motion(joint, {})
    there = joint.link_motion(q, v, a, X, V, A)
    back = joint.link_motion(q, v, a, *there, child="before", parent="after")
    for found, start in zip(back, (X, V, A), strict=True):
        near(found, start, 1e-12)


@every_joint
def test_torque_whichever_link_applies_the_wrench(joint) -> None:
    """By the parent on the child, and the reaction, by the child on the parent."""
    q = state(joint)[0]
    w = np.random.default_rng(1).normal(size=(SAMPLES, 6))
    tau = joint.link_torque(q, w)
    near(tau, joint.torque(q, wrench(joint.rotor_placement, w)))
    reaction = -wrench(joint.link_transform(q), w)
    near(joint.link_torque(q, reaction, on="before", applied_by="after"), tau)
    near(joint.link_torque(q, w, on="after", applied_by="before"), tau, 0.0)


@every_joint
def test_reversed(joint) -> None:
    """The joint of the opposite direction: the links change roles, q, v and τ keep their signs."""
    q, v, a, X, V, A = link_motion(joint, {})
    other = joint.reversed()
    assert other.links == joint.links[::-1]
    expected = joint.link_motion(q, v, a, X, V, A, child="before", parent="after")
    for one, two in zip(other.link_motion(q, v, a, X, V, A), expected, strict=True):
        near(one, two, 1e-12)
    if joint.name in ("revolute", "floating"):
        near(other.link_torque(q, V), joint.link_torque(q, V, on="before"), 1e-12)
        near(other.rest_transform(), np.linalg.inv(joint.rest_transform()), 1e-12)
    assert other.reversed().type == joint.type
    near(other.reversed().stator_placement, joint.stator_placement)
