"""Recursions of a chain of numbered joint types, 1 to 4, written in vectors, compared with a robot's kinematics.

1: prismatic, 2: translational, 3: revolute, 4: spherical by a quaternion with its scalar last.  Subscripts p are the
parent's; C is a body's rotation in the world, w its angular velocity, e the position of its joint, r of its centre.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from helpers.facade import near
from linkwork import joints
from linkwork.model.body import Body, Frame
from linkwork.model.random_tree import random_tree
from linkwork.model.tree import Tree
from linkwork.spatial import Pose, Rotation, Vec3

AXES = {k: np.array(a) / 7.0 for k, a in ((1, [2.0, 3.0, 6.0]), (3, [6.0, -2.0, 3.0]))}


def by_number(number: int) -> joints.JointType:
    """The joint types by their numbers: see docs/joints.md."""
    match number:
        case 1:
            return joints.Prismatic(Vec3.of(AXES[1]))
        case 2:
            return joints.Translational()
        case 3:
            return joints.Revolute(Vec3.of(AXES[3]))
        case _:
            return joints.Spherical(scalar_last=True)


def scalar_last(joint: joints.JointType, q: np.ndarray) -> np.ndarray:
    """(a b c d) of a quaternion, whichever way the joint has it."""
    return q[..., [joint.q_names.index(name) for name in ("qx", "qy", "qz", "qw")]]


VALUES = (4, 1, 3, 2, 4, 3, 1, 2)


def chain() -> Tree:
    """A branching robot of these types, its frames at the joints."""
    tree = random_tree(np.random.default_rng(3), len(VALUES), types=[joints.Revolute])
    bodies = []
    for number, body in zip(VALUES, tree.bodies, strict=True):
        joint = by_number(number)
        turned = body.placement.rotation if number in (3, 4) else Rotation.identity()
        limits = replace(
            body.limits,
            lower=(-np.inf,) * joint.nq,
            upper=(np.inf,) * joint.nq,
            velocity=(np.inf,) * joint.nv,
            effort=(np.inf,) * joint.nv,
        )
        position = Pose(turned, body.placement.translation)
        zero = (0.0,) * joint.nv
        changed = {"placement": position, "rotor": Pose.identity(), "damping": zero, "friction": zero}
        bodies.append(replace(body, joint=joint, limits=limits, **changed))
    centres = [Frame(f"centre{i}", i, Pose(Rotation.identity(), centre(body))) for i, body in enumerate(bodies)]
    return replace(tree, bodies=tuple(bodies), frames=(*tree.frames, *centres))


def centre(body: Body) -> Vec3:
    return body.inertia.moment * (1.0 / body.inertia.mass)


class Chain:
    """Every vector of the equations at one state; rows are bodies."""

    def __init__(self) -> None:
        self.tree = chain()
        self.robot = lw.Robot(self.tree)
        rng = np.random.default_rng(0)
        self.q = self.robot.random_configuration(rng)
        self.v, self.a = rng.normal(size=(2, self.robot.nv))
        self.names = self.robot.bodies
        X = self.robot.forward_kinematics(self.q)
        self.C, self.e = X[:, :3, :3], X[:, :3, 3]
        V = np.array([self.robot.twist(self.q, self.v, name) for name in self.names])
        A = np.array([self.robot.acceleration(self.q, self.v, self.a, name) for name in self.names])
        self.w, self.de, self.dw, self.dde = V[:, :3], V[:, 3:], A[:, :3], A[:, 3:]
        self.s = np.array([C @ np.array([*centre(b)]) for C, b in zip(self.C, self.tree.bodies, strict=True)])
        self.centres = [f"centre{i}" for i in range(len(self.names))]

    def rows(self):
        """(i, type's number, parent's C, e, w, ė, ω̇, ë; d; the joint's q, v, a) for every body."""
        zeros = np.zeros(3)
        for i, p, body in self.tree.outward():
            C_p, e_p = (self.C[p], self.e[p]) if p >= 0 else (np.eye(3), zeros)
            moving = (self.w[p], self.de[p], self.dw[p], self.dde[p]) if p >= 0 else (zeros,) * 4
            d = C_p @ np.array([*body.placement.translation])
            q, v = self.q[self.tree.q_slices[i]], self.v[self.tree.v_slices[i]]
            yield i, VALUES[i], (C_p, e_p, *moving), d, (q, v, self.a[self.tree.v_slices[i]])

    def constant(self, i: int) -> np.ndarray:
        """C̄: the rotation of body i in its parent at zero."""
        return np.array(self.tree.bodies[i].placement.elements()).reshape(4, 4)[:3, :3]


@pytest.fixture(scope="module")
def c() -> Chain:
    return Chain()


def relative(c: Chain, i: int, number: int, q: np.ndarray) -> np.ndarray:
    """C_i^ip(γ): equations 2a, 2b and 2c."""
    if number in (1, 2):
        return np.eye(3)
    if number == 3:
        g, t = AXES[3], q[0]
        return c.constant(i) @ equation_2b(g, t)
    return c.constant(i) @ equation_2c(*scalar_last(by_number(4), q))


def equation_2b(g: np.ndarray, t: float) -> np.ndarray:
    skew = np.array([[0.0, -g[2], g[1]], [g[2], 0.0, -g[0]], [-g[1], g[0], 0.0]])
    return (1.0 - np.cos(t)) * np.outer(g, g) + np.cos(t) * np.eye(3) + np.sin(t) * skew


def equation_2c(a: float, b: float, c: float, d: float) -> np.ndarray:
    return np.array(
        [
            [a * a - b * b - c * c + d * d, 2 * (a * b - c * d), 2 * (a * c + b * d)],
            [2 * (a * b + c * d), -a * a + b * b - c * c + d * d, 2 * (b * c - a * d)],
            [2 * (a * c - b * d), 2 * (b * c + a * d), -a * a - b * b + c * c + d * d],
        ]
    )


def test_numbered_joint_types_of_the_source_have_the_stated_sizes() -> None:
    sizes = {k: (by_number(k).nq, by_number(k).nv) for k in (1, 2, 3, 4)}
    assert sizes == {1: (1, 1), 2: (3, 3), 3: (1, 1), 4: (4, 3)}


@pytest.mark.slow
def test_parents_precede_their_children_in_the_test_chain(c) -> None:
    assert all(p < i for i, p, _ in c.tree.outward())


@pytest.mark.slow(every=3)
def test_forward_kinematics_satisfies_the_recursion_of_link_orientations(c) -> None:
    for i, number, (C_p, *_), _, (q, _, _) in c.rows():
        near(c.C[i], C_p @ relative(c, i, number, q))


def test_transform_of_a_translational_joint_contains_no_rotation() -> None:
    for number in (1, 2):
        joint = lw.Joint.of(by_number(number))
        assert np.array_equal(joint.transform(joint.random_configuration(seed=0))[:3, :3], np.eye(3))


def test_transform_of_a_rotational_joint_is_the_rotation_about_its_axis() -> None:
    joint = lw.Joint.of(by_number(3))
    for t in (0.0, 0.4, -3.0):
        near(joint.transform([t])[:3, :3], equation_2b(AXES[3], t))


def test_transform_of_a_spherical_joint_is_the_rotation_of_its_quaternion() -> None:
    joint = lw.Joint.of(by_number(4))
    for q in joint.random_configuration(seed=0, size=5):
        near(joint.transform(q)[:3, :3], equation_2c(*scalar_last(joint.type, q)))


def test_forward_kinematics_satisfies_the_recursion_of_joint_positions(c) -> None:
    for i, number, (C_p, e_p, *_), d, (q, _, _) in c.rows():
        near(c.e[i], e_p + d + slide(c, i, number, C_p, q))


def test_poses_of_links_satisfy_the_recursion_of_centers_of_mass(c) -> None:
    for i, name in enumerate(c.centres):
        near(c.robot.pose(c.q, name)[:3, 3], c.e[i] + c.s[i])


def test_rate_of_a_quaternion_is_half_its_matrix_times_the_angular_velocity() -> None:
    """ε̇ = ½ E Ω."""
    joint = lw.Joint.of(by_number(4))
    order = [joint.type.q_names.index(name) for name in ("qx", "qy", "qz", "qw")]
    for q in joint.random_configuration(seed=1, size=5):
        a, b, c, d = q[order]
        E = np.array([[d, -c, b], [c, d, -a], [-b, a, d], [-a, -b, -c]])
        near(joint.velocity_to_configuration_derivative_jacobian(q)[order], 0.5 * E)


def joint_rate(c: Chain, i: int, number: int, v: np.ndarray) -> np.ndarray:
    """Ω_i in the world (equation 7), of types 3 and 4; zero of the others."""
    return {3: lambda: c.C[i] @ AXES[3] * v[0], 4: lambda: c.C[i] @ v}.get(number, lambda: np.zeros(3))()


def test_twists_satisfy_the_recursion_of_angular_velocities(c) -> None:
    for i, number, (_, _, w_p, *_), _, (_, v, _) in c.rows():
        near(c.w[i], w_p + joint_rate(c, i, number, v))


def test_joint_twist_is_the_relative_angular_velocity_in_world_axes(c) -> None:
    for i, number, _, _, (q, v, _) in c.rows():
        if number == 4:
            joint = c.robot.joints[i]
            near(c.C[i] @ joint.twist(q, v)[:3], joint_rate(c, i, 4, v))


def slide(c: Chain, i: int, number: int, C_p: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The displacement, its rate or its second rate, in the world."""
    return {1: lambda: c.C[i] @ AXES[1] * x[0], 2: lambda: C_p @ x}.get(number, lambda: np.zeros(3))()


def test_twists_satisfy_the_recursion_of_joint_velocities(c) -> None:
    for i, number, (C_p, _, w_p, de_p, *_), d, (q, v, _) in c.rows():
        d = d + slide(c, i, number, C_p, q)
        near(c.de[i], de_p + np.cross(w_p, d) + slide(c, i, number, C_p, v))


@pytest.mark.slow
def test_twists_satisfy_the_recursion_of_velocities_of_centers_of_mass(c) -> None:
    result = np.array([c.robot.twist(c.q, c.v, name)[3:] for name in c.centres])
    near(result, c.de + np.cross(c.w, c.s))


def test_accelerations_satisfy_the_recursion_of_angular_accelerations(c) -> None:
    for i, number, (_, _, w_p, _, dw_p, _), _, (_, v, a) in c.rows():
        rate, second = joint_rate(c, i, number, v), joint_rate(c, i, number, a)
        near(c.dw[i], dw_p + second + np.cross(w_p, rate))


def test_accelerations_satisfy_the_recursion_of_joint_accelerations(c) -> None:
    for i, number, (C_p, _, w_p, _, dw_p, dde_p), d, (q, v, a) in c.rows():
        d = d + slide(c, i, number, C_p, q)
        rate, second = (slide(c, i, number, C_p, x) for x in (v, a))
        expected = dde_p + np.cross(dw_p, d) + second + 2 * np.cross(w_p, rate) + np.cross(w_p, np.cross(w_p, d))
        near(c.dde[i], expected, 1e-12)


def test_recursion_of_joint_accelerations_counts_the_displacement_once(c) -> None:
    """The d of equation (8) contains δ ĝ already: equation (11) with that d counts the displacement twice."""
    twice = 0.0
    for i, number, (C_p, e_p, w_p, _, dw_p, dde_p), d, (q, v, a) in c.rows():
        if number not in (1, 2):
            continue
        moved, rate, second = (slide(c, i, number, C_p, x) for x in (q, v, a))
        near(c.e[i], e_p + d + moved)  # the d of (3)

        def carried(arm, w_p=w_p, dw_p=dw_p):
            return np.cross(dw_p, arm) + np.cross(w_p, np.cross(w_p, arm))

        acceleration = dde_p + second + 2 * np.cross(w_p, rate)
        near(c.dde[i], acceleration + carried(d + moved), 1e-12)
        twice = max(twice, np.abs(acceleration + carried((d + moved) + moved) - c.dde[i]).max())
    assert twice > 0.1


@pytest.mark.slow
def test_accelerations_satisfy_the_recursion_of_accelerations_of_centers_of_mass(c) -> None:
    result = np.array([c.robot.acceleration(c.q, c.v, c.a, name)[3:] for name in c.centres])
    near(result, c.dde + np.cross(c.dw, c.s) + np.cross(c.w, np.cross(c.w, c.s)), 1e-12)


# -- examples: compositions that equal the built-in types


def test_ball_joints_and_slides_have_the_stated_coordinates() -> None:
    """One joint each: a quaternion, a displacement."""
    assert by_number(4).nv == 3
    near(lw.Joint.of(by_number(1)).transform([0.7])[:3, 3], 0.7 * AXES[1])


def test_universal_and_six_dof_joints_are_compositions_of_simpler_joints() -> None:
    x, y = Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0)
    universal = lw.Joint.of(joints.Universal(x, y))
    joint = lw.Joint.of(joints.Composite((joints.Revolute(x), joints.Revolute(y))))
    q, v = np.array([0.3, -1.1]), np.array([2.0, 0.5])
    near(joint.transform(q), universal.transform(q))
    near(joint.twist(q, v), universal.twist(q, v))
    near(joint.bias_acceleration(q, v), universal.bias_acceleration(q, v))
    free = lw.Joint.of(joints.Floating())
    six = lw.Joint.of(joints.Composite((joints.Translational(), joints.Spherical())))
    assert six.is_floating
    epsilon, p = [0.5, -0.5, 0.5, 0.5], [0.1, 0.2, -0.3]
    near(six.transform([*p, *epsilon]), free.transform([*epsilon, *p]))


# -- markers: points and directions on bodies


@pytest.mark.slow
def test_position_markers_move_as_the_recursions_of_their_body_state(c) -> None:
    """p = C p', its position, velocity and acceleration, for a marker on every body; in one kernel each."""
    rng = np.random.default_rng(3)
    bodies, marks = [*c.names], rng.normal(size=(len(c.names), 3))
    p = np.einsum("nij,nj->ni", c.C, marks)
    near(c.robot.point_position(c.q, bodies, positions=marks), c.e + p)
    near(c.robot.point_velocity(c.q, c.v, bodies, positions=marks), c.de + np.cross(c.w, p))
    expected = c.dde + np.cross(c.dw, p) + np.cross(c.w, np.cross(c.w, p))
    near(c.robot.point_acceleration(c.q, c.v, c.a, bodies, positions=marks), expected, 1e-12)


@pytest.mark.slow
def test_direction_markers_move_as_the_recursions_of_their_body_state(c) -> None:
    """u = C u', u̇ = ω × u and ü = ω̇ × u + ω × (ω × u)."""
    marks = np.random.default_rng(4).normal(size=(len(c.names), 3))
    marks /= np.linalg.norm(marks, axis=1, keepdims=True)
    bodies, u = [*c.names], np.einsum("nij,nj->ni", c.C, marks)
    near(c.robot.direction_vector(c.q, bodies, vectors=marks), u)
    near(c.robot.direction_velocity(c.q, c.v, bodies, vectors=marks), np.cross(c.w, u))
    expected = np.cross(c.dw, u) + np.cross(c.w, np.cross(c.w, u))
    near(c.robot.direction_acceleration(c.q, c.v, c.a, bodies, vectors=marks), expected, 1e-12)


def test_velocities_of_direction_markers_equal_finite_differences(c) -> None:
    h = 1e-4

    def u(t: float) -> np.ndarray:
        q = c.robot.integrate(c.q, t * c.v + 0.5 * t * t * c.a)
        return c.robot.direction_vector(q, f"{c.names[0]}.x")

    ahead, direction, behind = u(h), u(0.0), u(-h)
    near((ahead - behind) / (2 * h), np.cross(c.w[0], direction), 1e-7)
    near(
        (ahead - 2 * direction + behind) / h**2,
        np.cross(c.dw[0], direction) + np.cross(c.w[0], np.cross(c.w[0], direction)),
        1e-6,
    )
