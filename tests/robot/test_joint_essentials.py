"""Kinematics and dynamics as sums over Jacobians, as textbooks write them, compared with the recursions."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import linkwork as lw
from helpers.facade import near

ARM = lw.load("arm6")
TOOL = ARM.frames[-1]


@pytest.fixture(scope="module")
def at() -> SimpleNamespace:
    rng = np.random.default_rng(0)
    q = ARM.random_configuration(rng)
    v, a = rng.normal(size=(2, ARM.nv))
    return SimpleNamespace(q=q, v=v, a=a)


def split(joint: lw.Joint, q: np.ndarray) -> np.ndarray:
    """A joint's axis in the world, by its stator's pose."""
    return ARM.pose(q, joint.child)[:3, :3] @ joint.axes(q[joint.q_slice]).direction[0]


def test_forward_kinematics_is_the_product_of_relative_transforms(at) -> None:
    X = np.eye(4)
    for joint in ARM.joints:
        X = X @ joint.link_transform(at.q[joint.q_slice])
        near(ARM.pose(at.q, joint.child), X)


def test_jacobian_maps_joint_velocities_to_the_twist(at) -> None:
    near(ARM.jacobian(at.q, TOOL) @ at.v, ARM.twist(at.q, at.v, TOOL))


def test_jacobian_column_of_a_hinge_is_its_axis_and_the_cross_product(at) -> None:
    """The axis a in the world, and a × (p − p_joint)."""
    J, p = ARM.jacobian(at.q, TOOL), ARM.pose(at.q, TOOL)[:3, 3]
    for joint in ARM.joints:
        assert joint.type_name == "revolute"
        a = split(joint, at.q)
        column = J[:, joint.v_slice.start]
        near(column[:3], a)
        near(column[3:], np.cross(a, p - ARM.pose(at.q, joint.child)[:3, 3]))


def test_jacobian_column_of_a_slide_is_its_axis(at) -> None:
    """No rotation, and the axis itself."""
    gripper = lw.load("arm7_gripper")
    q = gripper.random_configuration(seed=0)
    slides = [joint for joint in gripper.joints if joint.type_name == "prismatic"]
    assert slides
    for joint in slides:
        J = gripper.jacobian(q, joint.child)
        a = gripper.pose(q, joint.child)[:3, :3] @ joint.axes().direction[0]
        if joint.v_slice.stop > joint.v_slice.start and joint.mimic is None:
            near(J[:, joint.v_slice.start], np.concatenate([np.zeros(3), a]))


def test_joint_forces_are_the_transposed_jacobian_times_the_wrench(at) -> None:
    """u = Jᵀ F: the power of joint forces is that of the wrench on the body."""
    F = np.random.default_rng(4).normal(size=6)
    u = ARM.jacobian(at.q, TOOL).T @ F
    near(np.array([u @ at.v]), [F @ ARM.twist(at.q, at.v, TOOL)])


@pytest.mark.slow
def test_motion_of_a_child_follows_from_its_parent_and_the_relative_motion(at) -> None:
    """p + P, v + V + ω×P, ω + W, v̇ + V̇ + 2 ω×V + (ω×ω× + ω̇×) P, ω̇ + Ẇ + ω×W: capitals are relative, in the world."""
    for joint in ARM.joints[1:]:
        q, v, a = at.q, at.v, at.a
        names = joint.child, joint.parent
        (X, Y), (T, U), (A, B) = (
            [ARM.pose(q, name) for name in names],
            [ARM.twist(q, v, name) for name in names],
            [ARM.acceleration(q, v, a, name) for name in names],
        )
        R, frame = Y[:3, :3], {"relative_to": joint.parent, "expressed_in": joint.parent}
        P = R @ ARM.pose(q, joint.child, relative_to=joint.parent)[:3, 3]
        W, V = np.split(ARM.twist(q, v, joint.child, **frame), 2)
        dW, dV = np.split(ARM.acceleration(q, v, a, joint.child, **frame), 2)
        W, V, dW, dV = R @ W, R @ V, R @ dW, R @ dV
        w, dw = U[:3], B[:3]
        near(X[:3, 3], Y[:3, 3] + P)
        near(T, np.concatenate([w + W, U[3:] + V + np.cross(w, P)]))
        linear = B[3:] + dV + 2 * np.cross(w, V) + np.cross(w, np.cross(w, P)) + np.cross(dw, P)
        near(A, np.concatenate([dw + dW + np.cross(w, W), linear]), 1e-12)


@pytest.mark.slow(every=3)
def test_propagate_motion_from_joint_to_joint_gives_the_motion_of_every_link(at) -> None:
    """The same by `propagate_motion`, from joint to joint."""

    def in_world(B: str, A: str) -> tuple[np.ndarray, ...]:
        view = {"relative_to": A, "expressed_in": A}
        pose = ARM.pose(at.q, B, relative_to=A)
        return pose, ARM.twist(at.q, at.v, B, **view), ARM.acceleration(at.q, at.v, at.a, B, **view)

    for joint in ARM.joints[1:]:
        result = lw.propagate_motion(in_world(joint.parent, "world"), in_world(joint.child, joint.parent))
        for part, expected in zip(result, in_world(joint.child, "world"), strict=True):
            near(part, expected, 1e-12)


def test_coriolis_acceleration_is_twice_omega_cross_v() -> None:
    """A walker on a turntable, outward: 2 ω V across the direction, of which ω × V once gives the half."""
    turntable = lw.pose(), (0, 0, 3.0, 0, 0, 0), np.zeros(6)
    walker = lw.pose((0.5, 0, 0)), (0, 0, 0, 2.0, 0, 0), np.zeros(6)
    near(lw.propagate_motion(turntable, walker).acceleration[3:], np.array([-0.5 * 3.0**2, 2 * 3.0 * 2.0, 0.0]))

    def position_at(t: float) -> np.ndarray:
        return (0.5 + 2.0 * t) * np.array([np.cos(3.0 * t), np.sin(3.0 * t), 0.0])

    h = 1e-4
    near((position_at(h) - 2 * position_at(0.0) + position_at(-h)) / h**2, np.array([-4.5, 12.0, 0.0]), 1e-6)


def test_velocity_of_a_rolling_car_is_along_its_heading_and_perpendicular_to_its_normal() -> None:
    """Heading (cos φ, sin φ) and normal (−sin φ, cos φ)."""
    planar = lw.Joint.of(lw.joints.Planar(), name="ground", parent="world", child="car")
    car = lw.Robot.build("car", lw.Link("car", mass=1.0), planar)
    for phi in (0.3, 2.0, -1.2):
        q = {"ground": [0.4, 0.5, phi]}
        velocity = car.point_velocity(q, {"ground": [2.0, 0.0, 0.7]}, "car")
        near(velocity, 2.0 * np.array([np.cos(phi), np.sin(phi), 0.0]))
        normal = np.array([-np.sin(phi), np.cos(phi), 0.0])
        near(car.direction_vector(q, "car.y"), normal)
        assert abs(velocity @ normal) < 1e-15 < abs(velocity @ [np.sin(phi), np.cos(phi), 0.0])


def bodies(at: SimpleNamespace):
    """Return for every body: J at its center of mass, J̇ v, mass, rotational inertia in the world, ω."""
    for i, body in enumerate(ARM.tree.bodies):
        X = ARM.pose(at.q, body.name)
        c = np.array([*body.inertia.moment]) / body.inertia.mass
        arm = X[:3, :3] @ c
        J, T = ARM.jacobian(at.q, body.name), ARM.twist(at.q, at.v, body.name)
        A = ARM.acceleration(at.q, at.v, 0.0 * at.v, body.name)
        w, dw = T[:3], A[:3]
        at_centre = np.vstack([J[:3], J[3:] + np.cross(J[:3], arm, axisa=0, axisc=0)])
        bias = np.concatenate([dw, A[3:] + np.cross(dw, arm) + np.cross(w, np.cross(w, arm))])
        xx, xy, xz, yy, yz, zz = body.inertia.about.elements()
        about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        m = body.inertia.mass
        about = about - m * (c @ c * np.eye(3) - np.outer(c, c))
        assert ARM.bodies[i] == body.name
        yield at_centre, bias, m, X[:3, :3] @ about @ X[:3, :3].T, w


def test_mass_matrix_is_a_sum_over_bodies(at) -> None:
    """M = Σ Jᵀ diag(I, m) J."""
    M = sum(J[:3].T @ inertia @ J[:3] + m * J[3:].T @ J[3:] for J, _, m, inertia, _ in bodies(at))
    near(ARM.mass_matrix(at.q), M, 1e-12)


def test_inverse_dynamics_is_a_sum_over_bodies_of_newton_euler_equations(at) -> None:
    """u = Σ Jᵀ (m (v̇ − g); I ω̇ + ω × I ω), each body's Newton and Euler equations."""
    u = np.zeros(ARM.nv)
    for J, bias, m, inertia, w in bodies(at):
        A = J @ at.a + bias
        F = np.concatenate([inertia @ A[:3] + np.cross(w, inertia @ w), m * (A[3:] - ARM.gravity)])
        u += J.T @ F
    near(ARM.inverse_dynamics(at.q, at.v, at.a), u, 1e-12)
    near(u, ARM.mass_matrix(at.q) @ at.a + ARM.bias_force(at.q, at.v), 1e-12)


def test_forward_dynamics_solves_equations_of_the_mass_matrix(at) -> None:
    """a = M⁻¹ (u − F): the inverse is of the difference."""
    u = np.linspace(-3.0, 3.0, ARM.nv)
    a = np.linalg.solve(ARM.mass_matrix(at.q), u - ARM.bias_force(at.q, at.v))
    near(ARM.forward_dynamics(at.q, at.v, u), a, 1e-9)
