"""Armature of every joint type: all methods converge to one motion, each at its order, and conserve energy."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints
from linkwork.simulation.algorithms import METHODS

TIME, H = 0.1, 4e-3
ORDERS = {name: method.order for name, method in METHODS.items() if not method.adaptive}


def carried_by(kind, tail, equal):
    """A body on a joint with armature, alone or with another body, off its centre of mass."""
    joint = kind.example(np.random.default_rng(2))
    rotors = np.full(joint.nv, 0.5) if equal else np.linspace(0.3, 1.0, joint.nv)
    parts = [
        lw.Joint.of(joint, name="j", parent="world", child="body"),
        lw.Link("body", mass=1.3, com=(0.1, -0.2, 0.1), inertia=(0.1, 0.2, 0.15)),
    ]
    if tail:
        parts.append(lw.Joint.of(joints.Revolute((0, 1, 0)), name="k", parent="body", child="tail"))
        parts.append(lw.Link("tail", mass=0.5, com=(0.2, 0.0, 0.1), inertia=(0.02, 0.03, 0.04)))
    return lw.Robot.build("carried", *parts).with_joint_dynamics(armature={"j": rotors})


@pytest.mark.slow(every=5)
def test_all_simulation_methods_converge_to_the_same_motion_with_armature(drawn):
    kinds = [kind for kind in joints.ALL if kind.example(np.random.default_rng(2)).nv > 1]
    cases = [(kind, tail, equal) for kind in kinds for tail in (True, False) for equal in (True, False)]
    for kind, tail, equal in drawn(cases):
        robot = carried_by(kind, tail, equal)
        q, v = robot.random_configuration(seed=1), np.random.default_rng(3).normal(size=robot.nv)

        def ended(method, h, robot=robot, q=q, v=v, **options):
            end = robot.simulate(q, v, duration=TIME, dt=h, method=method, **options)
            assert end.success
            return np.concatenate([robot.difference(q, end.q[-1]), end.v[-1]])

        limit = ended("rk4", 5e-4)
        for method, order in ORDERS.items():
            coarse, fine = (np.abs(ended(method, h) - limit).max() for h in (H, 0.5 * H))
            assert coarse < 0.1 and fine < 1.3 * coarse / 2**order + 1e-12, (kind, tail, equal, method, coarse, fine)
        options = {"joint_limit_mode": "held", "friction": "coulomb"}
        coarse, fine = (np.abs(ended("semi_implicit_euler", h, **options) - limit).max() for h in (H, 0.5 * H))
        assert coarse < 0.1 and fine < 0.65 * coarse, (kind, tail, equal, coarse, fine)


def test_simulated_free_body_with_armature_conserves_momentum_and_energy():
    free = lw.Robot.build(
        "free", lw.Joint.of(joints.Floating(), name="j", parent="world", child="body"), lw.Link("body", mass=1.0)
    ).with_gravity((0.0, 0.0, 0.0))
    free = free.with_joint_dynamics(armature=0.5 * np.ones(6))
    v = np.array([0.3, 0.2, 2.0, 1.0, 0.0, 0.0])
    for method in ("rk4", "variational", "semi_implicit_euler", "mujoco_euler"):
        run = free.simulate(free.neutral(), v, duration=1.0, method=method, record_every=100)
        assert np.allclose(free.pose(run.q, "body")[:, :3, 3], np.outer(run.t, (1.0, 0.0, 0.0)), atol=1e-9), method
        energy = free.kinetic_energy(run.q, run.v, passive=True)
        assert np.allclose(energy, energy[0], rtol=1e-9), method


def test_simulated_fast_rotor_with_unequal_armature_conserves_energy():
    top = carried_by(joints.Spherical, False, False).with_gravity((0.0, 0.0, 0.0))
    for options in ({}, {"joint_limit_mode": "held", "friction": "coulomb"}):
        run = top.simulate(top.neutral(), [30.0, 80.0, 20.0], duration=5.0, record_every=100, **options)
        energy = top.kinetic_energy(run.q, run.v, passive=True)
        assert run.success and np.abs(energy / energy[0] - 1.0).max() < 0.05, options
