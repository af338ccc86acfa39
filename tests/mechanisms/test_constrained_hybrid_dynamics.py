"""Hybrid dynamics of mechanisms, beside minimal coordinates and forward dynamics."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw

CASES = {
    "delta": ("shoulder_2",),
    "fourbar": ("crank_hinge", "rocker_hinge"),  # more joints than motions
    "double_wishbone": ("lower_hinge",),
}


@pytest.mark.slow(every=5)
def test_constrained_hybrid_dynamics_satisfies_the_equations_in_minimal_coordinates(drawn):
    """H u̇ + c = Kᵀτ; forward dynamics with the forces has the accelerations; redundant forces have least norm."""
    rng = np.random.default_rng(4)
    for name, joints in drawn(CASES.items()):
        robot = lw.load(name).with_joint_dynamics(damping=0.1, armature=0.02)
        q, v = robot.project(robot.assemble().q, rng.normal(size=robot.nv))
        tau = rng.normal(size=robot.nv)
        a = robot.constrained_forward_dynamics(q, v, 9.0 * rng.normal(size=robot.nv), passive=True).a
        accelerations = np.where(np.isin(robot.v_names, joints), a, 1e3)  # elements that are not read
        result, forces = robot.hybrid_dynamics(q, v, accelerations, tau, joints, passive=True)
        index = [k for k, n in enumerate(robot.v_names) if n in joints]
        free_joints = np.setdiff1d(np.arange(robot.nv), index)
        np.testing.assert_allclose(result[index], a[index], rtol=0, atol=1e-8 * abs(a).max())
        np.testing.assert_array_equal(forces[free_joints], tau[free_joints])
        again = robot.forward_dynamics(q, v, forces, passive=True)
        np.testing.assert_allclose(again, result, rtol=0, atol=1e-8 * (1.0 + abs(result).max()))
        K = np.linalg.svd(robot.constraint_jacobian(q))[2][-robot.mobility(q).dof :].T
        need = robot.inverse_dynamics(q, v, result, passive=True)
        np.testing.assert_allclose(K.T @ forces, K.T @ need, rtol=0, atol=1e-8 * (1.0 + abs(need).max()))
        if joints:
            least = np.linalg.lstsq(K[index].T, K.T @ need - K[free_joints].T @ tau[free_joints], rcond=1e-9)[0]
            np.testing.assert_allclose(forces[index], least, rtol=0, atol=1e-7 * (1.0 + abs(least).max()))


@pytest.mark.light
def test_constrained_hybrid_dynamics_without_prescribed_joints_equal_forward_dynamics_with_damping():
    robot = lw.load("fourbar").with_joint_dynamics(damping=0.3, armature=0.02)
    q, v = robot.project(robot.assemble().q, np.linspace(0.4, -1.1, robot.nv))
    tau, unread = np.linspace(-0.7, 0.9, robot.nv), np.full(robot.nv, 1e3)
    result = robot.hybrid_dynamics(q, v, unread, tau, [], passive=True)
    expected = robot.constrained_forward_dynamics(q, v, tau, passive=True).a
    np.testing.assert_allclose(result.a, expected, rtol=0, atol=1e-9 * abs(expected).max())
    assert np.array_equal(result.tau, tau)
    with pytest.raises(ValueError, match="friction"):
        robot.hybrid_dynamics(q, v, unread, tau, [], passive=True, friction="sticking")
