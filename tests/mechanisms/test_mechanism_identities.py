"""Identities of mechanisms: random ones of all joint types, closed by joints of all types."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest

from linkwork.constraints import LoopJoint
from linkwork.dynamics.algorithms.momentum.energy_and_power import kinetic_energy, potential_energy
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.joints import ALL, Reversed
from linkwork.kinematics.algorithms.configuration_manifold import integrate, velocity_to_configuration_derivative
from linkwork.kinematics.algorithms.forward_kinematics import acceleration
from linkwork.model.tree_attachments import with_constraints, without_constraints
from mechanisms.mechanisms import KINDS, Mechanism, mechanism, mechanisms, ring

MECHANISMS = [*KINDS, *mechanisms()]
every_mechanism = pytest.mark.parametrize("name", MECHANISMS)


@functools.cache
def moving_mechanism(name: str) -> Mechanism:
    return mechanism(KINDS[name], MECHANISMS.index(name)) if name in KINDS else mechanisms()[name]


@functools.cache
def moving(name: str) -> tuple[Mechanism, np.ndarray, np.ndarray]:
    """The mechanism, a velocity that it allows, and joint forces."""
    m = moving_mechanism(name)
    return m, m.feasible(1), np.random.default_rng(2).normal(size=m.tree.nv)


def scale(*arrays: np.ndarray) -> float:
    return max(1.0, *(float(np.max(np.abs(x), initial=0.0)) for x in arrays))


@every_mechanism
def test_constraint_jacobian_times_velocity_is_the_rate_of_the_constraint_error(name: str) -> None:
    """φ = 0 at assembly; G v is the error's rate, by differences, for any velocity; 0 for permitted ones."""
    m, v, _ = moving(name)
    assert np.max(np.abs(m.error), initial=0.0) < 1e-12
    assert np.max(np.abs(m.G @ v), initial=0.0) < 1e-12
    h = 1e-6
    for z in np.random.default_rng(3).normal(size=(2, m.tree.nv)):
        ahead, behind = (m.error_at(integrate(m.tree, m.q, (s * h * z).tolist())) for s in (1.0, -1.0))
        assert np.max(np.abs((ahead - behind) / (2.0 * h) - m.G @ z), initial=0.0) < 1e-7 * scale(m.G @ z)


@every_mechanism
def test_constrained_accelerations_keep_the_constraint_error_zero_to_second_order(name: str) -> None:
    """Along q(t) with velocity v and acceleration a the error has no term in t², which requires the bias γ."""
    m, v, tau = moving(name)
    a, _ = m.accelerations(v, tau)
    h = 1e-3 / np.sqrt(scale(a))
    errors = [m.error_at(integrate(m.tree, m.q, (s * h * v + 0.5 * h * h * a).tolist())) for s in (1.0, -1.0)]
    assert np.max(np.abs(sum(errors)) / h**2, initial=0.0) < 1e-3 * scale(m.gamma(v))
    assert np.max(np.abs(m.G @ a + m.gamma(v)), initial=0.0) < 1e-10 * scale(a, m.gamma(v))


@every_mechanism
def test_constrained_accelerations_of_mechanisms_equal_a_dense_solution(name: str) -> None:
    m, v, tau = moving(name)
    a, forces = m.accelerations(v, tau)
    expected, cond = m.dense(v, tau)
    assert np.max(np.abs(a - expected)) < 1e-15 * cond * scale(expected) + 1e-12 * scale(expected)
    left = m.M @ a + m.h(v) - tau - m.G.T @ forces
    assert np.max(np.abs(left)) < 1e-10 * scale(m.M @ a, m.G.T @ forces)


@every_mechanism
def test_constraint_forces_of_mechanisms_do_no_work(name: str) -> None:
    """The rate of kinetic and potential energy, by dual numbers along the motion, is vᵀτ: constraints do no work."""
    m, v, tau = moving(name)
    a, forces = m.accelerations(v, tau)
    rate = [*velocity_to_configuration_derivative(m.tree, m.q, v.tolist()), *a.tolist()]
    state = seeded([*m.q, *v.tolist()], [float(x) for x in rate])
    q, rates = state[: m.tree.nq], state[m.tree.nq :]
    _, power = parts(kinetic_energy(m.tree, q, rates) + potential_energy(m.tree, q), state[0].level)
    size = scale(np.abs(v) * np.abs(m.M @ a), v * tau, m.h(v) * v)
    assert abs(float(power) - float(v @ tau)) < 1e-10 * size
    assert abs(float(v @ (m.G.T @ forces))) < 1e-11 * scale(forces) * scale(v)


@every_mechanism
def test_duplicated_constraints_do_not_change_accelerations(name: str) -> None:
    m, v, tau = moving(name)
    again = [replace(c, name=f"{c.name} again") for c in m.tree.constraints]
    twice = replace(m, tree=with_constraints(m.tree, again))
    a, _ = m.accelerations(v, tau)
    b, _ = twice.accelerations(v, tau)
    _, cond = m.dense(v, tau)
    assert np.max(np.abs(a - b)) < (1e-12 + 1e-15 * cond) * scale(a)


@every_mechanism
def test_reversed_loop_joint_gives_the_same_accelerations(name: str) -> None:
    m, v, tau = moving(name)
    tree, loops = m.tree, m.tree.constraints
    for turned in (lambda joint: joint.reversed(), Reversed):
        reversed_loops = [LoopJoint(c.name, turned(c.joint), c.relative_to, c.frame) for c in loops]
        back = replace(m, tree=with_constraints(without_constraints(tree, [c.name for c in loops]), reversed_loops))
        assert np.max(np.abs(back.error), initial=0.0) < 1e-12
        a, b = (x.accelerations(v, tau)[0] for x in (m, back))
        _, cond = m.dense(v, tau)
        assert np.max(np.abs(a - b)) < (1e-12 + 1e-15 * cond) * scale(a)


@pytest.mark.parametrize("number", range(len(ALL)), ids=lambda k: ALL[k].type_name())
def test_loop_opened_at_another_joint_gives_the_same_accelerations(number: int) -> None:
    """A ring opened at a joint of each type, or at the joint before it, in the same state under the same forces."""
    both, rates, _ = ring((ALL[1 + (number + 7) % (len(ALL) - 1)], ALL[number]), number)
    accelerations = []
    for m, v in zip(both, rates, strict=True):
        assert np.max(np.abs(m.error), initial=0.0) < 1e-12
        assert np.max(np.abs(m.G @ v), initial=0.0) < 1e-10 * scale(v)
        tau = np.zeros(m.tree.nv)
        tau[:5] = 1.0, -2.0, 0.5, 0.3, 3.0
        a, _ = m.accelerations(v, tau)
        _, cond = m.dense(v, tau)
        acceleration_ = [acceleration(m.tree, m.q, v.tolist(), a.tolist(), f"b{k}").elements() for k in range(3)]
        accelerations.append((np.array(acceleration_, dtype=float), cond))
    (a, acceleration_a), (b, acceleration_b) = accelerations
    assert np.max(np.abs(a - b)) < (1e-12 + 1e-15 * max(acceleration_a, acceleration_b)) * scale(a, rates[0] ** 2)
