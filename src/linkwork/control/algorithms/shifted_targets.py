"""Targets of joints and of frames, shifted by a tangent vector x that moves, with their velocities.

For joints, q ⊕ x moves with the velocity v that belongs to the rate of ``integrate(q, x)``; for a single velocity and
for plain coordinates it is v + ẋ.  A pose turns by exp x, whose angular velocity is ω(x, ẋ) = 2 (ε̇ ⊗ ε*), with the
quaternion ε = exp(x/2).  Rates of velocities are their derivatives by time.  All derivatives are those of dual numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.kinematics.algorithms.joint_errors import has_plain_errors
from linkwork.model.body import Body
from linkwork.model.tree import Tree
from linkwork.spatial import Pose, Quaternion, Vec3

__all__ = ["shifted_motion", "shifted_pose"]

Scalars = Sequence[Any]


def shifted_motion(
    tree: Tree, q: Scalars, x: Scalars, motion: tuple[Scalars, Scalars], rates: tuple[Scalars, Scalars]
) -> tuple[list[Any], list[Any], list[Any]]:
    """Return configuration, velocity and acceleration of q ⊕ x.

    ``motion`` are velocity and acceleration (nv) at q, and ``rates`` are ẋ and ẍ (nv).
    """
    configuration: list[Any] = []
    velocity: list[Any] = []
    acceleration: list[Any] = []
    q = tree.split_q(q)
    vectors = [tree.split_v(list(each)) for each in (x, *motion, *rates)]
    for i, body in tree.stacked():
        q_i = list(q[i])
        phi, v, a, phi_dot, phi_ddot = (list(each[i]) for each in vectors)
        configuration += body.call_joint("integrate", q_i, phi)
        if has_plain_errors(body):
            velocity += [a + b for a, b in zip(v, phi_dot, strict=True)]
            acceleration += [a + b for a, b in zip(a, phi_ddot, strict=True)]
            continue
        velocity += _shifted_velocity(body, q_i, phi, v, phi_dot)
        start = [*q_i, *phi, *v, *phi_dot]
        moving = seeded(start, [*body.call_joint("q_dot", q_i, v), *phi_dot, *a, *phi_ddot])
        nq, nv = body.joint.nq, body.joint.nv
        ends = (nq, nq + nv, nq + 2 * nv)
        result = _shifted_velocity(
            body, moving[: ends[0]], moving[ends[0] : ends[1]], moving[ends[1] : ends[2]], moving[ends[2] :]
        )
        acceleration += [parts(y, moving[0].level)[1] for y in result]
    return configuration, velocity, acceleration


def _shifted_velocity(body: Body, q: Scalars, phi: Scalars, v: Scalars, phi_dot: Scalars) -> list[Any]:
    """Return the velocity of q ⊕ φ for one joint, where q moves with v, and φ with φ̇."""
    moving = seeded([*q, *phi], [*body.call_joint("q_dot", q, v), *phi_dot])
    level = moving[0].level
    both = [parts(y, level) for y in body.call_joint("integrate", moving[: len(q)], moving[len(q) :])]
    result: list[Any] = body.call_joint("velocity_from_rate", [y for y, _ in both], [y for _, y in both])
    return result


def shifted_pose(
    target: Any, x: list[Any], led: Sequence[list[Any]], rates: Sequence[list[Any]]
) -> tuple[Any, list[Any], list[Any]]:
    """Return the pose ``target`` rotated by the vector x[:3] and translated by x[3:], with its twist and acceleration.

    All are in the world.  ``led`` are the target's twist and acceleration, and ``rates`` are ẋ and ẍ.
    """
    X, phi = Pose.of_elements(target.ravel().tolist()), Vec3(*x[:3])
    turned = Quaternion.exp(phi).rotation()
    omega = _angular_velocity(x[:3], rates[0][:3])
    moving = seeded([*x[:3], *rates[0][:3]], [*rates[0][:3], *rates[1][:3]])
    alpha = Vec3(*(parts(y, moving[0].level)[1] for y in _angular_velocity(moving[:3], moving[3:])))
    omega_x, own_rate = turned @ Vec3(*led[0][:3]), turned @ Vec3(*led[1][:3])
    twist = [*(omega + omega_x), *(a + b for a, b in zip(led[0][3:], rates[0][3:], strict=True))]
    change = alpha + omega.cross(omega_x) + own_rate
    acceleration = [*change, *(a + b for a, b in zip(led[1][3:], rates[1][3:], strict=True))]
    pose = Pose(turned @ X.rotation, X.translation + Vec3(*x[3:]))
    return array(pose.elements()).reshape(4, 4), twist, acceleration


def _angular_velocity(phi: Sequence[Any], rate: Sequence[Any]) -> Vec3:
    """Return the angular velocity of the rotation exp φ, in the axes that it turns from."""
    moving = seeded(phi, rate)
    both = [parts(y, moving[0].level) for y in Quaternion.exp(Vec3(*moving)).elements()]
    epsilon, change = (Quaternion(*each) for each in zip(*both, strict=True))
    return (change @ epsilon.conjugate()).vector * 2.0
