"""Mechanisms with equations from textbooks."""

import math

import numpy as np
import pytest

from linkwork import Robot
from linkwork.joints import Floating
from oracles.comparison import assert_close, solving_bound

ROUNDING = 1e-15  # a few operations on numbers of order one


def robot(*joints):
    """A chain, from the world: (type, axis, xyz, mass, centre, moments of inertia about the centre)."""
    links, parent = ['<link name="base"/>'], "base"
    for k, (kind, axis, xyz, mass, center, moments) in enumerate(joints):
        ixx, iyy, izz = moments
        limit = '<limit lower="-10" upper="10" effort="100" velocity="100"/>' if kind == "prismatic" else ""
        links.append(
            f'<link name="link{k}"><inertial><origin xyz="{center}"/><mass value="{mass!r}"/>'
            f'<inertia ixx="{ixx!r}" iyy="{iyy!r}" izz="{izz!r}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="joint{k}" type="{kind}"><parent link="{parent}"/><child link="link{k}"/>'
            f'<origin xyz="{xyz}"/><axis xyz="{axis}"/>{limit}</joint>'
        )
        parent = f"link{k}"
    return Robot.from_urdf_string(f'<robot name="r">{"".join(links)}</robot>')


def samples(n, size=50):
    rng = np.random.default_rng(0)
    return [rng.uniform(-3.0, 3.0, (size, n)) for _ in range(3)]


def check(r, M, h, q, v, a):
    """All of dynamics from M(q) and h(q, v)."""
    tau = np.einsum("nij,nj->ni", M, a) + h
    assert_close(r.mass_matrix(q), M, ROUNDING, core=2)
    assert_close(r.bias_force(q, v), h, 4 * ROUNDING, core=1)
    assert_close(r.inverse_dynamics(q, v, a), tau, 4 * ROUNDING, core=1)
    assert_close(r.forward_dynamics(q, v, tau), a, solving_bound(M, (tau, h), a), core=1)


def test_dynamics_of_a_pendulum_equal_the_textbooks():
    """(I + m l²) θ̈ + m g l sin θ = τ."""
    m, l, I, g = 1.3, 0.7, 0.05, 9.81
    r = robot(("continuous", "0 1 0", "0 0 0", m, f"0 0 {-l}", (I, I, I)))
    q, v, a = samples(1)
    M = np.full((len(q), 1, 1), I + m * l * l)
    check(r, M, m * g * l * np.sin(q), q, v, a)


def test_dynamics_of_a_double_pendulum_equal_the_textbooks():
    """Spong, Hutchinson and Vidyasagar, Robot Modeling and Control, section 7.3, with angles from the vertical."""
    m1, m2, l1, c1, c2, I1, I2, g = 1.3, 0.8, 0.7, 0.3, 0.4, 0.05, 0.02, 9.81
    r = robot(
        ("continuous", "0 1 0", "0 0 0", m1, f"0 0 {-c1}", (I1, I1, I1)),
        ("continuous", "0 1 0", f"0 0 {-l1}", m2, f"0 0 {-c2}", (I2, I2, I2)),
    )
    q, v, a = samples(2)
    q1, q2, v1, v2 = *q.T, *v.T
    cosine, b = np.cos(q2), m2 * l1 * c2 * np.sin(q2)
    M12 = I2 + m2 * (c2**2 + l1 * c2 * cosine)
    M11 = I1 + I2 + m1 * c1**2 + m2 * (l1**2 + c2**2 + 2.0 * l1 * c2 * cosine)
    M22 = np.full_like(M11, I2 + m2 * c2**2)
    g2 = m2 * c2 * g * np.sin(q1 + q2)
    h1 = -b * (2.0 * v1 * v2 + v2**2) + (m1 * c1 + m2 * l1) * g * np.sin(q1) + g2
    M = np.moveaxis(np.array([[M11, M12], [M12, M22]]), -1, 0)
    check(r, M, np.stack([h1, b * v1**2 + g2], axis=-1), q, v, a)


def test_dynamics_of_a_cart_pole_equal_the_textbooks():
    """Tedrake, Underactuated Robotics, section 3.2: θ is zero where the pole hangs."""
    m_cart, m, l, I, g = 2.0, 0.5, 0.6, 0.01, 9.81
    r = robot(
        ("prismatic", "1 0 0", "0 0 0", m_cart, "0 0 0", (0.1, 0.1, 0.1)),
        ("continuous", "0 -1 0", "0 0 0", m, f"0 0 {-l}", (I, I, I)),
    )
    q, v, a = samples(2)
    cosine, sine = np.cos(q[:, 1]), np.sin(q[:, 1])
    unit_batch = np.ones(len(q))
    M = np.array([[(m_cart + m) * unit_batch, m * l * cosine], [m * l * cosine, (I + m * l * l) * unit_batch]])
    h = np.stack([-m * l * v[:, 1] ** 2 * sine, m * g * l * sine], axis=-1)
    check(r, np.moveaxis(M, -1, 0), h, q, v, a)


def test_free_rigid_body_satisfies_the_equations_of_newton_and_euler():
    """Euler: I ω̇ = −ω × I ω; Newton, for velocities in the body's own axes: v̇ = Rᵀ g − ω × v."""
    moments = (0.3, 0.4, 0.6)
    r = robot(("floating", "1 0 0", "0 0 0", 1.7, "0 0 0", moments))
    assert isinstance(r.joints[0].type, Floating)
    q = r.random_configuration(seed=0, size=50)
    v = np.random.default_rng(0).normal(size=(50, 6))
    I, w = np.array(moments), v[:, :3]
    R = r.pose(q, "link0")[:, :3, :3]
    expected = np.concatenate([-np.cross(w, I * w) / I, R[:, 2, :] * -9.81 - np.cross(w, v[:, 3:])], axis=-1)
    assert_close(r.forward_dynamics(q, v, np.zeros(6)), expected, 4 * ROUNDING, core=1)
    assert_close(r.mass_matrix(q), np.broadcast_to(np.diag([*moments, 1.7, 1.7, 1.7]), (50, 6, 6)), ROUNDING, core=2)


def test_kinematics_of_a_planar_arm_equal_the_textbooks():
    """The hand of two links: p = l₁ (cos, sin)(q₁) + l₂ (cos, sin)(q₁ + q₂), and its Jacobian."""
    l1, l2 = 0.5, 0.25  # exact in binary, so that even the sums of angles are the only roundings
    r = robot(
        ("continuous", "0 0 1", "0 0 0", 1.0, "0 0 0", (0.1, 0.1, 0.1)),
        ("continuous", "0 0 1", f"{l1} 0 0", 1.0, "0 0 0", (0.1, 0.1, 0.1)),
        ("fixed", "0 0 1", f"{l2} 0 0", 1.0, "0 0 0", (0.1, 0.1, 0.1)),
    )
    q, v, _ = samples(2)
    q12 = q.sum(axis=1)
    x, y = l1 * np.cos(q[:, 0]) + l2 * np.cos(q12), l1 * np.sin(q[:, 0]) + l2 * np.sin(q12)
    assert_close(r.pose(q, "link2")[:, :2, 3], np.stack([x, y], axis=-1), ROUNDING, core=1)
    J = np.array([[-y, -l2 * np.sin(q12)], [x, l2 * np.cos(q12)]])
    assert_close(r.jacobian(q, "link2")[:, 3:5], np.moveaxis(J, -1, 0), ROUNDING, core=2)
    assert_close(r.twist(q, v, "link2")[:, 2], v.sum(axis=1), ROUNDING, core=0)


@pytest.mark.parametrize("angle", [0.0, math.pi / 2, math.pi, -math.pi / 2])
def test_dynamics_of_a_balanced_wheel_do_not_depend_on_its_angle(angle):
    """A body balanced about its axis has a constant mass matrix and no gravity torque."""
    r = robot(("continuous", "0 1 0", "0 0 0.3", 2.0, "0 0 0", (0.1, 0.2, 0.1)))
    assert r.mass_matrix(np.array([angle]))[0, 0] == 0.2
    assert r.bias_force(np.array([angle]), np.array([5.0]))[0] == 0.0
