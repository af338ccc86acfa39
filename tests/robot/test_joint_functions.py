"""Functions of a joint by itself, on arrays: compared with the contract on floats, and with their definitions."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.facade import EVERY, SAMPLES, every_joint, every_moving_joint, matrix, near, six, state
from linkwork.joints import JointType
from linkwork.kernels import function_kernels as kernels
from linkwork.kinematics.algorithms.joint_functions import TABLE as JOINT
from linkwork.model.function_spec import QUANTITIES
from linkwork.spatial import Force


def sample_by_sample(function: Any, *arrays: np.ndarray) -> np.ndarray:
    rows = [function(*(a.tolist() for a in row)) for row in zip(*arrays, strict=True)]
    return np.array([[float(x) for x in row] for row in rows])


def columns(parts: Any) -> list[Any]:
    return [x for row in zip(*(part.elements() for part in parts), strict=True) for x in row]


# -- the table, the methods, and what is compiled


def test_every_joint_function_is_a_method_with_the_stated_arguments() -> None:
    for name, row in JOINT.items():
        method = getattr(lw.Joint, name)
        parameters = list(inspect.signature(method).parameters)[1:]
        assert tuple(parameters[: len(row.inputs)]) == row.inputs, name
        text = inspect.getdoc(method)
        assert text and "->" in text, name
        assert all(key in QUANTITIES for key in row.inputs)
        assert ("child" in parameters or "on" in parameters) == row.needs_placement


def test_joint_coordinates_add_displacements_if_velocities_are_their_rates() -> None:
    """`velocity_is_rate` of each joint type, in addition to the contract on floats."""
    results = set()
    for joint in EVERY.values():
        q, v = joint.random_configuration(seed=0).tolist(), [0.3, -0.2, 0.1, 0.4, -0.1, 0.2][: joint.nv]
        moved = joint.type.integrate(q, v)
        is_sum = joint.nq == joint.nv and np.allclose(moved, np.add(q, v), rtol=0.0, atol=1e-12)
        assert joint.velocity_is_rate == is_sum, joint
        results.add(is_sum)
    assert results == {False, True}


def test_joints_with_equal_types_share_their_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = []
    compiled = kernels.compile_requests
    monkeypatch.setattr(kernels, "compile_requests", lambda *a: requests.append(a) or compiled(*a))
    for name in ("one", "other"):
        joint = lw.Joint.of(lw.joints.Revolute((0.25, 0.5, -1.0)), name=name)
        joint.transform([0.3])
        joint.transform([0.4])
    assert len(requests) == 1
    monkeypatch.setattr(kernels._of_joints, "capacity", 2)
    for k in range(5):
        lw.Joint.of(lw.joints.Revolute((1.0, k, 0.0))).transform([0.1])
    assert len(kernels._of_joints) <= 2


@every_joint
def test_joint_functions_of_batches_equal_those_of_single_samples(joint: lw.Joint) -> None:
    q, v, _ = state(joint)
    together = joint.twist(q[:, None], v[None, :])
    assert together.shape == (SAMPLES, SAMPLES, 6)
    for i in range(SAMPLES):
        assert np.array_equal(joint.twist(q[i], v[i]), together[i, i])
    out = np.empty((SAMPLES, 6))
    assert joint.twist(q, v, out=out) is out
    assert np.array_equal(out, np.einsum("iij->ij", together))
    assert joint.transform(np.zeros((0, joint.nq))).shape == (0, 4, 4)


@pytest.mark.parametrize("name", ["fixed", "revolute", "floating"])
def test_float32_joint_configurations_give_float32_results(name: str) -> None:
    joint = EVERY[name]
    q, v, _ = state(joint)
    result = joint.twist(q.astype(np.float32), v.astype(np.float32))
    assert result.dtype == np.float32
    near(result, joint.twist(q, v), 1e-6)


# -- kinematics


@pytest.mark.light
@every_joint
def test_joint_transform_is_the_pose_of_the_joint_type(joint: lw.Joint) -> None:
    q, _, _ = state(joint)
    near(joint.transform(q), sample_by_sample(lambda q: joint.type.X(q).elements(), q))


@every_joint
def test_joint_twist_is_the_subspace_times_velocity_and_the_rate_of_the_transform(joint: lw.Joint) -> None:
    """S v; and the transform's rate along the step that v gives."""
    q, v, _ = state(joint)
    V = joint.twist(q, v)
    near(V, np.einsum("nij,nj->ni", joint.motion_subspace(q), v))
    h = 1e-6
    X, ahead, behind = (joint.transform(joint.global_coordinates(q, s * h * v)) for s in (0.0, 1.0, -1.0))
    near(V, six(np.linalg.inv(X) @ (ahead - behind) / (2.0 * h)), within=1e-8)


@pytest.mark.light
@every_joint
def test_joint_twist_is_the_subspace_times_the_velocity(joint: lw.Joint) -> None:
    q, v, _ = state(joint, 1)
    near(joint.twist(q, v), np.einsum("nij,nj->ni", joint.motion_subspace(q), v))


@every_joint
def test_spatial_acceleration_of_a_joint_is_the_rate_of_its_twist(joint: lw.Joint) -> None:
    """The rate of the twist while v changes at rate a."""
    q, v, a = state(joint)
    A = joint.spatial_acceleration(q, v, a)
    near(A, np.einsum("nij,nj->ni", joint.motion_subspace(q), a) + joint.bias_acceleration(q, v))
    h = 1e-6
    ahead, behind = (joint.twist(joint.global_coordinates(q, s * h * v), v + s * h * a) for s in (1.0, -1.0))
    near(A, (ahead - behind) / (2.0 * h), within=1e-7)


@pytest.mark.light
@every_joint
def test_bias_acceleration_of_a_joint_is_the_rate_of_its_subspace_times_velocity(joint: lw.Joint) -> None:
    q, v, _ = state(joint)
    near(joint.bias_acceleration(q, v), sample_by_sample(lambda q, v: joint.type.bias(q, v).elements(), q, v))
    near(joint.bias_acceleration(q, v), joint.spatial_acceleration(q, v, 0.0 * v))


@pytest.mark.light
@every_joint
def test_motion_subspace_of_a_joint_equals_that_of_its_type(joint: lw.Joint) -> None:
    q, _, _ = state(joint)
    S = joint.motion_subspace(q)
    assert S.shape == (SAMPLES, 6, joint.nv)
    near(S, sample_by_sample(lambda q: columns(joint.type.S(q).columns), q))


@every_joint
def test_joint_configuration_of_a_pose_inverts_the_transform(joint: lw.Joint) -> None:
    q, _, _ = state(joint)
    X = joint.transform(q)
    near(joint.transform(joint.configuration_of(X)), X, within=1e-12)


@every_joint
def test_joint_velocity_of_a_twist_inverts_the_twist_by_least_squares(joint: lw.Joint) -> None:
    """Motions of the joint have their velocities; other motions have those of least squares."""
    q, v, _ = state(joint)
    near(joint.velocity_of(q, joint.twist(q, v)), v, within=1e-12)
    any_twist = np.random.default_rng(3).normal(size=(SAMPLES, 6))
    least = [np.linalg.lstsq(S, V, rcond=None)[0] for S, V in zip(joint.motion_subspace(q), any_twist, strict=True)]
    near(joint.velocity_of(q, any_twist), np.array(least), within=1e-12)


@pytest.mark.costly
@every_joint
def test_pose_residual_of_a_joint_is_zero_at_poses_of_the_joint(joint: lw.Joint) -> None:
    """Zero at the joint's poses; measured by constraint wrenches half a turn away from them."""
    q, _, _ = state(joint)
    X = joint.transform(q)
    near(joint.pose_residual(X), np.zeros((SAMPLES, 6)), within=1e-12)
    away = X @ np.diag([1.0, -1.0, -1.0, 1.0])
    q, gap = joint.configuration_of(away), joint.pose_residual(away)
    gap_norm = np.linalg.norm(np.einsum("nik,ni->nk", joint.constraint_wrench_subspace(q), gap), axis=-1)
    missed = np.abs(joint.transform(q) - away).max(axis=(-2, -1))
    assert np.all(gap_norm >= 0.5 * missed - 1e-12)


@pytest.mark.light
@every_joint
def test_constraint_wrenches_do_no_work_on_the_joints_motion(joint: lw.Joint) -> None:
    q, _, _ = state(joint)
    S, T = joint.motion_subspace(q), joint.constraint_wrench_subspace(q)
    assert T.shape == (SAMPLES, 6, 6 - joint.nv)
    near(np.swapaxes(T, -1, -2) @ S, np.zeros((SAMPLES, 6 - joint.nv, joint.nv)), within=1e-12)
    for T_sample in T if joint.nv < 6 else ():  # NumPy before 2.2 has no rank of an empty matrix
        assert np.linalg.matrix_rank(T_sample) == 6 - joint.nv


# -- forces


@every_joint
def test_joint_torque_has_the_power_of_the_wrench(joint: lw.Joint) -> None:
    """τ·v = w·(S v); and wrenches of the constraint have no torque."""
    q, v, _ = state(joint)
    w = np.random.default_rng(5).normal(size=(SAMPLES, 6))
    tau = joint.torque(q, w)
    near(tau, sample_by_sample(lambda q, w: joint.type.torque(q, Force.of(w)), q, w))
    near(np.sum(tau * v, axis=-1), np.sum(w * joint.twist(q, v), axis=-1))
    T = joint.constraint_wrench_subspace(q)
    borne = np.einsum("nij,j->ni", T, np.linspace(-1.0, 1.0, 6 - joint.nv))
    near(joint.torque(q, borne), np.zeros((SAMPLES, joint.nv)), within=1e-12)


# -- the configuration


@every_joint
def test_velocity_to_configuration_derivative_is_the_rate_of_joint_coordinates(joint: lw.Joint) -> None:
    q, v, _ = state(joint)
    q_dot = joint.velocity_to_configuration_derivative(q, v)
    h = 1e-6
    ahead, behind = (joint.global_coordinates(q, s * h * v) for s in (1.0, -1.0))
    near(q_dot, (ahead - behind) / (2.0 * h), within=1e-8)


@every_joint
def test_velocity_to_configuration_derivative_jacobian_maps_velocities_to_rates(joint: lw.Joint) -> None:
    q, v, _ = state(joint)
    J = joint.velocity_to_configuration_derivative_jacobian(q)
    assert J.shape == (SAMPLES, joint.nq, joint.nv)
    near(np.einsum("nij,nj->ni", J, v), joint.velocity_to_configuration_derivative(q, v))


@every_joint
def test_configuration_derivative_to_velocity_inverts_the_map_from_velocities(joint: lw.Joint) -> None:
    q, v, _ = state(joint)
    near(joint.configuration_derivative_to_velocity(q, joint.velocity_to_configuration_derivative(q, v)), v, 1e-12)


@every_joint
def test_configuration_derivative_to_velocity_jacobian_maps_rates_to_velocities(joint: lw.Joint) -> None:
    q, _, _ = state(joint)
    q_dot = np.random.default_rng(3).normal(size=(SAMPLES, joint.nq))
    J = joint.configuration_derivative_to_velocity_jacobian(q)
    assert J.shape == (SAMPLES, joint.nv, joint.nq)
    near(np.einsum("nij,nj->ni", J, q_dot), joint.configuration_derivative_to_velocity(q, q_dot), 1e-12)


@every_joint
def test_configuration_derivative_to_velocity_adjoint_is_the_transpose(joint: lw.Joint) -> None:
    q, v, f_v = state(joint)
    f_q = joint.configuration_derivative_to_velocity_adjoint(q, f_v)
    assert f_q.shape == (SAMPLES, joint.nq)
    power = np.sum(f_q * joint.velocity_to_configuration_derivative(q, v), axis=-1)
    near(power, np.sum(f_v * v, axis=-1), 1e-12)


@every_joint
def test_local_coordinates_of_a_joint_invert_the_step_from_q0(joint: lw.Joint) -> None:
    """φ leads back to q; it is zero at q0; φ̇ is its rate while q moves."""
    q0, v, phi = state(joint)
    phi = 0.3 * phi
    q = joint.global_coordinates(q0, phi)
    result = joint.local_coordinates(q0, q, v)
    near(result.phi, phi, 1e-12)
    near(joint.local_coordinates(q0, q0, v).phi, 0.0 * phi, 1e-15)
    h = 1e-6
    ahead, behind = (joint.local_coordinates(q0, joint.global_coordinates(q, s * h * v), v).phi for s in (1.0, -1.0))
    near(result.phi_dot, (ahead - behind) / (2.0 * h), 1e-7)


@pytest.mark.light
@every_joint
def test_global_coordinates_of_a_joint_integrate_a_step_from_q0(joint: lw.Joint) -> None:
    q0, phi, _ = state(joint)
    near(joint.global_coordinates(q0, phi), sample_by_sample(joint.type.integrate, q0, phi))
    near(joint.transform(joint.global_coordinates(q0, 0.0 * phi)), joint.transform(q0))


@every_joint
def test_normalize_configuration_of_a_joint_equals_that_of_its_type(joint: lw.Joint) -> None:
    q, _, _ = state(joint)
    near(joint.normalize_configuration(q), q, 1e-15)
    near(joint.normalize_configuration(1.25 * q), sample_by_sample(joint.type.normalize, 1.25 * q))


@every_joint
def test_principal_value_of_a_joint_configuration_has_the_same_transform(joint: lw.Joint) -> None:
    q, _, _ = state(joint)
    principal = joint.principal_value(q)
    near(joint.transform(principal), joint.transform(q), 1e-12)
    near(joint.principal_value(principal), principal, 1e-14)


@pytest.mark.light
@every_joint
def test_random_configurations_of_a_joint_are_within_limits(joint: lw.Joint) -> None:
    assert joint.random_configuration(seed=0).shape == (joint.nq,)
    assert joint.random_configuration(seed=0, size=5).shape == (5, joint.nq)
    assert np.array_equal(
        joint.random_configuration(seed=0, size=(2, 3)), joint.random_configuration(seed=0, size=(2, 3))
    )
    off = joint.normalize_configuration(joint.random_configuration(seed=1, size=50)) - joint.random_configuration(
        seed=1, size=50
    )
    assert np.max(np.abs(off), initial=0.0) <= 1e-15


@every_joint
def test_zero_configuration_of_a_joint_is_that_of_its_type(joint: lw.Joint) -> None:
    zero = joint.zero_configuration()
    assert zero.tolist() == list(joint.type.zero())
    near(joint.transform(zero), matrix(joint.type.X(joint.type.zero())), 1e-15)


# -- how many, and which


@every_joint
def test_num_positions_of_a_joint_is_the_length_of_q(joint: lw.Joint) -> None:
    assert joint.num_positions == joint.nq == len(joint.type.q_units) == joint.zero_configuration().size


@every_joint
def test_num_velocities_of_a_joint_is_the_length_of_v(joint: lw.Joint) -> None:
    assert joint.num_velocities == joint.nv == len(joint.type.v_units)


@every_joint
def test_num_constraints_of_a_joint_is_six_minus_its_velocities(joint: lw.Joint) -> None:
    assert joint.num_constraints == 6 - joint.nv == joint.constraint_wrench_subspace(state(joint)[0]).shape[-1]


@every_joint
def test_is_floating_is_true_for_floating_joints_only(joint: lw.Joint) -> None:
    assert joint.is_floating == (joint.num_constraints == 0)


@pytest.mark.light
@every_moving_joint
def test_has_fixed_subspaces_is_true_for_joints_with_a_constant_motion_subspace_only(joint: lw.Joint) -> None:
    S = joint.motion_subspace(state(joint, n=8)[0])
    assert joint.has_fixed_subspaces == bool(np.ptp(S, axis=0).max() <= 1e-14)


def test_joint_bounds_have_lower_and_upper_values_for_each_coordinate() -> None:
    """`position_bounds`, `velocity_bounds`, `effort_bounds`: lower and upper, one for each number."""
    joint = lw.Joint.of(lw.joints.Floating(), lower=-2.0, velocity=[1, 2, 3, 4, 5, 6], effort=7.0)
    assert joint.position_bounds.lower.tolist() == [-2.0] * 7
    assert joint.position_bounds.upper.tolist() == [np.inf] * 7
    assert joint.velocity_bounds.lower.tolist() == [-1, -2, -3, -4, -5, -6]
    assert joint.velocity_bounds.upper.tolist() == [1, 2, 3, 4, 5, 6]
    assert joint.effort_bounds.lower.tolist() == [-7.0] * 6
    assert joint.effort_bounds.upper.tolist() == [7.0] * 6
    assert not joint.position_bounds.lower.flags.writeable


def test_joint_leads_from_its_parent_to_its_child_link() -> None:
    joint = EVERY["revolute"]
    assert joint.links == ("before", "after")
    assert isinstance(joint.type, JointType)
