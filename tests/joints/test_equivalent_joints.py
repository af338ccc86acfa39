"""Joint types against chains of simpler ones, textbook rotations, and their own reversal."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from helpers.joints import EVERY
from helpers.rigid import motion_matrix
from helpers.scalars import assert_near
from linkwork.joints import (
    ALL,
    Composite,
    Cylindrical,
    Ellipsoid,
    Floating,
    FloatingEuler,
    FloatingMRP,
    Helical,
    JointType,
    Planar,
    Prismatic,
    Reversed,
    Revolute,
    Spherical,
    SphericalEuler,
    SphericalMRP,
    Translational,
    UnboundedRevolute,
    Universal,
)
from linkwork.joints.euler_angle_joints import ORDERS
from linkwork.spatial import Pose, Quaternion, Rotation, Vec3

every_joint = pytest.mark.parametrize("joint", EVERY.values(), ids=EVERY.keys())
X_AXIS, Y_AXIS, Z_AXIS = Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)
A, B = Vec3(2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0), Vec3(0.6, 0.0, -0.8)
HINGES = {"x": Revolute(X_AXIS), "y": Revolute(Y_AXIS), "z": Revolute(Z_AXIS)}


def chain(*joints: JointType) -> Composite:
    return Composite(joints)


def matrix(X: Any) -> np.ndarray:
    return np.array(X.elements(), dtype=float).reshape(4, 4)


def subspace(joint: JointType, q: Any) -> np.ndarray:
    return np.array([column.elements() for column in joint.S(q).columns], dtype=float).reshape(-1, 6).T


def draw(joint: JointType, seed: int, n: int = 5) -> list[list[float]]:
    free = np.full(joint.nq, np.inf)
    return joint.random(np.random.default_rng(seed), -free, free, (n,)).tolist()


Same = tuple[
    JointType, JointType, Callable[[list[float]], list[float]], Callable[[list[float], list[float]], list[float]]
]


def plain(q: list[float]) -> list[float]:
    return q


def same_rates(q: list[float], v: list[float]) -> list[float]:
    return v


def rates_of(joint: JointType) -> Callable[[list[float], list[float]], list[float]]:
    return lambda q, v: [float(x) for x in joint.q_dot(q, v)]


PLANAR = Planar(A, A.cross(B))
SAME: dict[str, Same] = {
    "cylindrical": (Cylindrical(A), chain(Revolute(A), Prismatic(A)), plain, same_rates),
    "cylindrical, sliding first": (
        Cylindrical(A),
        chain(Prismatic(A), Revolute(A)),
        lambda q: [q[1], q[0]],
        lambda q, v: [v[1], v[0]],
    ),
    "helical": (Helical(A, -0.3), Cylindrical(A), lambda q: [q[0], -0.3 * q[0]], lambda q, v: [v[0], -0.3 * v[0]]),
    "universal": (Universal(A, A.cross(B)), chain(Revolute(A), Revolute(A.cross(B))), plain, same_rates),
    "universal, skew": (Universal(A, B, right_angle=False), chain(Revolute(A), Revolute(B)), plain, same_rates),
    "translational": (Translational(), chain(*map(Prismatic, (X_AXIS, Y_AXIS, Z_AXIS))), plain, same_rates),
    "planar": (
        PLANAR,
        chain(Prismatic(PLANAR.x_axis), Prismatic(PLANAR.y_axis), Revolute(PLANAR.normal)),
        plain,
        rates_of(PLANAR),
    ),
    "unbounded revolute": (
        UnboundedRevolute(A),
        Revolute(A),
        lambda q: [math.atan2(q[0], q[1])],
        same_rates,
    ),
    "floating": (
        Floating(),
        chain(Translational(), Spherical()),
        lambda q: [*q[4:], *q[:4]],
        lambda q, v: [*(float(x) for x in Floating().q_dot(q, v)[4:]), *v[:3]],
    ),
    "floating (Euler)": (
        FloatingEuler("zxz"),
        chain(Translational(), SphericalEuler("zxz")),
        lambda q: [*q[3:], *q[:3]],
        lambda q, v: [*v[3:], *v[:3]],
    ),
    "floating (MRP)": (
        FloatingMRP(),
        chain(Translational(), SphericalMRP()),
        lambda q: [*q[3:], *q[:3]],
        lambda q, v: [*(float(x) for x in FloatingMRP().q_dot(q, v)[3:]), *v[:3]],
    ),
    **{
        f"Euler {order}": (SphericalEuler(order), chain(*(HINGES[a] for a in order)), plain, same_rates)
        for order in ORDERS
    },
}


@pytest.mark.parametrize("name", SAME)
def test_joint_types_equal_chains_of_simpler_joints(name: str) -> None:
    joint, chain_of_joints, configuration, velocity = SAME[name]
    rng = np.random.default_rng(3)
    for q in draw(joint, 4):
        v = rng.normal(size=joint.nv).tolist()
        p, w = configuration(q), velocity(q, v)
        assert_near(matrix(joint.X(q)).ravel(), matrix(chain_of_joints.X(p)).ravel(), times=8.0)
        twist = np.array(chain_of_joints.twist(p, w).elements(), dtype=float)
        assert_near(np.array(joint.twist(q, v).elements(), dtype=float), twist, times=16.0)
        # the same acceleration while v̇ = 0: the other's rates change as the one's q̇ does
        h = 1e-6
        ahead, behind = ([a + s * h * b for a, b in zip(q, joint.q_dot(q, v), strict=True)] for s in (1.0, -1.0))
        change = (np.array(velocity(ahead, v)) - np.array(velocity(behind, v))) / (2.0 * h)
        acceleration = np.array(chain_of_joints.acceleration(p, w, change.tolist()).elements(), dtype=float)
        assert np.max(np.abs(np.array(joint.bias(q, v).elements(), dtype=float) - acceleration)) <= 1e-8 * (
            1.0 + np.dot(v, v)
        )


@pytest.mark.parametrize("order", ORDERS)
def test_euler_angles_are_rotations_about_successive_moving_axes(order: str) -> None:
    """R = R_i(α) R_j(β) R_k(γ), with the elementary rotations written out."""

    def about(axis: str, angle: float) -> np.ndarray:
        c, s = math.cos(angle), math.sin(angle)
        return np.array(
            {
                "x": [[1, 0, 0], [0, c, -s], [0, s, c]],
                "y": [[c, 0, s], [0, 1, 0], [-s, 0, c]],
                "z": [[c, -s, 0], [s, c, 0], [0, 0, 1]],
            }[axis]
        )

    joint = SphericalEuler(order)
    assert len(ORDERS) == len(set(ORDERS)) == 12
    for q in draw(joint, 1):
        expected = about(order[0], q[0]) @ about(order[1], q[1]) @ about(order[2], q[2])
        assert_near(matrix(joint.X(q))[:3, :3], expected, times=4.0)
        canonical_angles = joint.canonical(q)
        low, high = (0.0, math.pi) if order[0] == order[2] else (-math.pi / 2.0, math.pi / 2.0)
        assert (
            low <= canonical_angles[1] <= high
            and abs(canonical_angles[0]) <= math.pi
            and abs(canonical_angles[2]) <= math.pi
        )
        assert_near(joint.canonical(canonical_angles), canonical_angles, times=4.0)
        singular = np.linalg.svd(subspace(joint, q)[:3], compute_uv=False)
        assert abs(np.prod(singular) - joint.regularity(q)) <= 1e-14  # |det S| is |cos β| or |sin β|


def test_principal_euler_angles_of_angles_beyond_the_pole_are_those_from_the_other_side() -> None:
    pi = math.pi
    for order, angles, expected in (
        ("xyz", [0.3, 2.0, -0.4], [0.3 - pi, pi - 2.0, pi - 0.4]),
        ("xyz", [0.3, 1.5, -0.4], [0.3, 1.5, -0.4]),
        ("zxz", [0.3, -2.0, -0.4], [0.3 - pi, 2.0, pi - 0.4]),
    ):
        joint = SphericalEuler(order)
        assert_near(joint.canonical(angles), expected, times=8.0)
        assert_near(matrix(joint.X(joint.canonical(angles))), matrix(joint.X(angles)), times=8.0)


def test_modified_rodrigues_parameters_are_the_tangent_of_a_quarter_of_the_angle() -> None:
    joint, rng = SphericalMRP(), np.random.default_rng(0)
    for angle in (0.0, 1e-12, 0.3, 2.0, math.pi - 1e-8, math.pi + 0.1, 5.0, 6.2):
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        q = (math.tan(angle / 4.0) * axis).tolist()
        expected = Rotation.about(Vec3.of(axis.tolist()), angle)
        assert_near(np.array(joint.X(q).rotation.rows(), dtype=float), np.array(expected.rows()), times=8.0)
        preferred = np.array(joint.canonical(q))
        assert np.linalg.norm(preferred) <= 1.0 + 1e-15
        short = math.tan((angle if angle <= math.pi else angle - 2.0 * math.pi) / 4.0) * axis
        assert_near(preferred, short, times=16.0)
        assert joint.regularity(q) == 1.0  # near a whole turn too


def test_motion_of_an_mrp_joint_through_full_turns_avoids_the_singularity() -> None:
    """Steps of the MRP switch to the shadow set."""
    for joint in (SphericalMRP(), FloatingMRP()):
        q, switched = joint.zero(), 0
        for _ in range(100):
            after = joint.integrate(q, [0.3, 0.1, -0.2, *[0.0] * (joint.nv - 3)])
            switched += math.dist(q[:3], after[:3]) > 1.0
            q = after
            assert np.linalg.norm(q[:3]) <= 1.0 and joint.regularity(q) >= 0.5
        assert switched >= 5


def test_origin_of_an_ellipsoid_joint_moves_on_the_ellipsoids_surface() -> None:
    """The origin is on the surface in the direction of M's z axis; a sphere's normal is M's z axis."""
    joint = Ellipsoid(0.1, 0.2, 0.4)
    for q in draw(joint, 0, 20):
        X = matrix(joint.X(q))
        assert abs(np.sum((X[:3, 3] / [0.1, 0.2, 0.4]) ** 2) - 1.0) <= 1e-14
        assert_near(X[:3, 3], np.array([0.1, 0.2, 0.4]) * X[:3, 2], times=2.0)
        normal = X[:3, 3] / np.square([0.1, 0.2, 0.4])
        twist = subspace(joint, q)
        assert np.max(np.abs((X[:3, :3] @ twist[3:]).T @ normal)) <= 1e-13  # it slides along the surface
    ball = Ellipsoid(0.3, 0.3, 0.3)
    lever = Composite((Spherical(), Revolute(Z_AXIS)), (Pose.identity(), Pose(Rotation.identity(), Z_AXIS * 0.3)))
    for q in draw(ball, 1):
        assert_near(matrix(ball.X(q)).ravel(), matrix(lever.X([*q, 0.0])).ravel(), times=4.0)
        assert_near(subspace(ball, q), subspace(lever, [*q, 0.0])[:, :3], times=4.0)


@every_joint
def test_reversed_joint_has_the_inverse_transform(joint: JointType) -> None:
    """The transform is inverted; q, v and τ keep their values."""
    back = joint.reversed()
    assert (back.nq, back.nv, back.q_units, back.v_units) == (joint.nq, joint.nv, joint.q_units, joint.v_units)
    assert back.reversed() == joint and back.zero() == joint.zero()
    rng = np.random.default_rng(1)
    for configuration, target in itertools.pairwise(draw(joint, 2)):
        v, phi = rng.normal(size=(2, joint.nv)).tolist()
        X = matrix(joint.X(configuration))
        assert_near(matrix(back.X(configuration)), np.linalg.inv(X), times=8.0)
        assert_near(subspace(back, configuration), -motion_matrix(X) @ subspace(joint, configuration), times=16.0)
        expected = -motion_matrix(X) @ np.array(joint.bias(configuration, v).elements(), dtype=float)
        bias = np.array(back.bias(configuration, v).elements(), dtype=float)
        assert_near(bias, expected, times=32.0, scale=1.0 + np.dot(v, v))
        assert_near(back.q_dot(configuration, v), joint.q_dot(configuration, v), times=4.0)
        assert_near(back.integrate(configuration, phi), joint.integrate(configuration, phi), times=4.0)
        assert_near(back.difference(configuration, target), joint.difference(configuration, target), times=4.0)


def test_every_joint_type_can_be_reversed() -> None:
    assert {type(joint.reversed()) for joint in EVERY.values()} >= {Reversed, Revolute, Prismatic, Cylindrical}
    assert len({kind.type_name() for kind in ALL}) == len(ALL)


@pytest.mark.parametrize("kind", [Spherical, Floating])
def test_scalar_component_of_a_joints_quaternion_may_be_last(kind: Any) -> None:
    first, last = kind(), kind(scalar_last=True)
    assert last.q_names[:4] == ("qx", "qy", "qz", "qw") and first.q_names[:4] == ("qw", "qx", "qy", "qz")
    assert last.zero()[:4] == [0.0, 0.0, 0.0, 1.0]

    def rolled(q: Any) -> list[float]:
        return [*q[1:4], q[0], *q[4:]]

    rng = np.random.default_rng(0)
    for configuration, target in itertools.pairwise(draw(first, 2)):
        v = rng.normal(size=first.nv).tolist()
        assert matrix(last.X(rolled(configuration))).tolist() == matrix(first.X(configuration)).tolist()
        assert last.q_dot(rolled(configuration), v) == rolled(first.q_dot(configuration, v))
        assert last.velocity_from_rate(rolled(configuration), rolled(target)) == first.velocity_from_rate(
            configuration, target
        )
        assert last.integrate(rolled(configuration), v) == rolled(first.integrate(configuration, v))
        assert last.difference(rolled(configuration), rolled(target)) == first.difference(configuration, target)
        assert last.normalize(rolled([2.0 * x for x in configuration])) == rolled(
            first.normalize([2.0 * x for x in configuration])
        )


def test_coordinates_of_a_composite_joint_are_named_after_its_joints() -> None:
    joint = chain(Revolute(A), Spherical(scalar_last=True))
    assert (joint.nq, joint.nv) == (5, 4)
    assert joint.q_names == ("q1", "q2_qx", "q2_qy", "q2_qz", "q2_qw")
    assert joint.v_names == ("v1", "v2_wx", "v2_wy", "v2_wz")
    assert joint.q_units == ("rad", "1", "1", "1", "1") and joint.unit_length == ((1, 2, 3, 4),)
    assert joint.zero() == [0.0, 0.0, 0.0, 0.0, 1.0]
    nested = Composite((joint, Prismatic(A)))
    assert nested.nq == 6 and nested.parts == (joint, Prismatic(A))
    q = [0.3, *Quaternion(0.1, 0.2, 0.3, 0.4).normalized().elements(), -0.2]
    flat = chain(Revolute(A), Spherical(scalar_last=True), Prismatic(A))
    assert_near(matrix(nested.X(q)), matrix(flat.X(q)), times=2.0)
