"""Identities of mechanisms in independent velocities: random ones of all joint types, closed by all types."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints
from linkwork.dynamics.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.dynamics.algorithms.mass_matrix import mass_matrix
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.mechanisms.algorithms.constraint_rows import constraint_bias
from linkwork.mechanisms.algorithms.reduced_dynamics import (
    reduced_forward_dynamics,
    reduced_inverse_dynamics,
    reduced_mass_matrix,
)
from linkwork.mechanisms.algorithms.velocity_embedding import (
    explicit_acceleration,
    explicit_jacobian,
    explicit_velocity,
)
from linkwork.mechanisms.mobility.length_scaling import Scales, chosen_rows, ranked
from linkwork.model.coordinate_names import names_of
from mechanisms.mechanisms import KINDS, Mechanism, mechanism, mechanisms

MECHANISMS = [*KINDS, *mechanisms()]


@pytest.mark.light
def test_scales_of_constraints_turn_angles_into_lengths_and_leave_lengths_unchanged() -> None:
    """Velocities of a joint type without units count as angles."""
    tree = lw.load("scissor_lift").tree  # a slider and five hinges
    scales = Scales.of(tree, 2.5)
    assert scales.rows.tolist() == [2.5, 2.5, 1.0, 1.0, 1.0, 2.5, 2.5, 1.0, 1.0, 1.0, 1.0]
    assert scales.velocities.tolist() == [1.0, 2.5, 2.5, 2.5, 2.5, 2.5]
    G = np.ones((11, 6))
    assert scales.rows_of(G)[[0, 2]][:, [0, 1]].tolist() == [[2.5, 1.0], [1.0, 1.0 / 2.5]]

    class Slider(joints.Prismatic):
        v_units = ()

    (body, *further) = tree.bodies
    without = dataclasses.replace(tree, bodies=(dataclasses.replace(body, joint=Slider(body.joint.axis)), *further))
    assert Scales.of(without, 2.5).velocities.tolist() == [2.5] * 6


@functools.cache
def reduced_mechanism(name: str) -> tuple[Mechanism, list[int], float]:
    """The mechanism, velocities that are independent, and the condition of the block that tells the others."""
    m = mechanism(KINDS[name], MECHANISMS.index(name)) if name in KINDS else mechanisms()[name]
    scales = Scales.of(m.tree, characteristic_length(m.tree))
    result = ranked(scales.rows_of(m.G))
    picked = chosen_rows(result.right, result.right.shape[1], range(m.tree.nv))
    dependent = [k for k in range(m.tree.nv) if k not in picked]
    return m, picked, float(np.linalg.cond(m.G[:, dependent])) if dependent else 1.0


@pytest.mark.parametrize("name", MECHANISMS)
def test_reduced_dynamics_of_random_mechanisms_equal_the_equations_with_multipliers(name: str) -> None:
    """INVARIANTS 56: accelerations to 1e-10 times the condition; G K = 0; the velocities that are allowed."""
    m, picked, condition = reduced_mechanism(name)
    names = [names_of(m.tree, "v")[k] for k in picked]
    q, v, tau = list(m.q), m.feasible(1), np.random.default_rng(2).normal(size=m.tree.nv)
    K = np.array(explicit_jacobian(m.tree, q, names)).reshape(m.tree.nv, len(picked))
    assert np.array_equal(K[picked], np.eye(len(picked)))
    size = max(1.0, np.abs(K).max(initial=0.0), condition)
    assert np.abs(m.G @ K).max(initial=0.0) < 1e-12 * size
    np.testing.assert_allclose(explicit_velocity(m.tree, q, list(v), names), v, rtol=0, atol=1e-12 * size)
    expected, _ = m.accelerations(v, tau)
    dynamics_result = reduced_forward_dynamics(m.tree, q, list(v), list(tau), names)
    M = np.array(mass_matrix(m.tree, q)).reshape(m.tree.nv, m.tree.nv)
    bound = 1e-10 * max(1.0, np.abs(expected).max(initial=0.0)) * max(1.0, np.linalg.cond(M) if len(M) else 1.0)
    joint_forces = np.zeros(m.tree.nv)
    joint_forces[picked] = dynamics_result
    a = explicit_acceleration(m.tree, q, list(v), list(joint_forces), names)
    np.testing.assert_allclose(a, expected, rtol=0, atol=bound)
    gamma = np.array(constraint_bias(m.tree, q, list(v)))
    assert np.abs(m.G @ a + gamma).max(initial=0.0) < 1e-11 * size * max(1.0, np.abs(gamma).max(initial=0.0))
    needed = reduced_inverse_dynamics(m.tree, q, list(v), a, names)
    forces = K.T @ inverse_dynamics(m.tree, q, list(v), a)
    scale = max(1.0, np.abs(K).max(initial=0.0) * np.abs(inverse_dynamics(m.tree, q, list(v), a)).max(initial=0.0))
    np.testing.assert_allclose(needed, forces, rtol=0, atol=1e-12 * scale)
    np.testing.assert_allclose(needed, K.T @ tau, rtol=0, atol=bound * max(1.0, np.abs(M).max(initial=0.0)) * size)
    H = np.array(reduced_mass_matrix(m.tree, q, names)).reshape(len(picked), len(picked))
    np.testing.assert_allclose(H, K.T @ M @ K, rtol=1e-12, atol=1e-12 * np.abs(H).max(initial=1.0))
