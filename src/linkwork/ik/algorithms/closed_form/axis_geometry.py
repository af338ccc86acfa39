"""Geometry of a chain of revolute axes (Denavit–Hartenberg): lengths and twists of common normals.

    exp(S₁ θ₁) ... exp(S_n θ_n) = B Rz(θ'₁) A₁ Tz(d₂) Rz(θ'₂) A₂ ... A_{n−1} Rz(θ'_n) T,    A_k = Tx(a_k) Rx(α_k),

with θ'_k = θ_k + o_k, on floats.  z is along each axis, and x along the common normal to the next, from foot to foot.
a is 0 where neighbours intersect, and sin α is 0 where they are parallel.  Both are assumed within `TOLERANCE`, since
files round their numbers (1.5708 is off by 4e-6).  The Newton refinement of a solution on the robot's own kinematics
then squares the resulting error.  No family needs right angles, so an angle counts as a right angle only within
rounding.

Source: Denavit and Hartenberg, A kinematic notation for lower-pair mechanisms, ASME J. Applied Mechanics 22, 1955.

A chain of revolute joints between two frames is described by the screws of its joints, on floats.  The pose of B in A
is a product of exponentials, X_AB(q) = exp(S₁ θ₁) ... exp(S_n θ_n) X_AB(0), with S_k = (ω; −ω × p) the axis of joint k
in A when all joints are at zero.  The reversed chain has the same axes in opposite order and direction.

Source: Brockett, Robotic manipulators and the product of exponentials formula, 1984.

`ArmSolution` is a branch of an arm's inverse kinematics, in the angles of its geometry.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.ik.algorithms.closed_form.trigonometric_equations import UnitAngle
from linkwork.joints import JointType
from linkwork.kinematics.algorithms.forward_kinematics import ancestors, fork
from linkwork.kinematics.algorithms.joint_path import poses_in
from linkwork.model.body import Frame
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Pose, Rotation, Vec3

__all__ = [
    "TOLERANCE",
    "ArmChain",
    "ArmSolution",
    "AxisGeometry",
    "arm_chain",
    "axis_geometry",
    "turns_only",
    "without",
]


TOLERANCE = 1e-5  # [rad, arm's lengths]
_RIGHT = 1e-9  # [rad] tolerance of right angles


@dataclass(frozen=True)
class AxisGeometry:
    """Denavit–Hartenberg parameters of a chain of n revolute axes.

    ``a`` [m] and ``twist`` α (n − 1) are lengths and twist angles of the common normals between neighbouring axes.
    ``d`` [m] and ``zero`` [rad] (n) are offsets along and about each axis. ``base`` and ``tool`` are the poses before
    the first and after the last axis.
    """

    a: tuple[float, ...]  # [m]
    twist: tuple[UnitAngle, ...]  # α
    d: tuple[float, ...]  # [m] between the feet of consecutive normals; 0 for first and last
    zero: tuple[float, ...]  # o, θ' at θ = 0 [rad]; 0 for first and last
    base: Pose  # B
    tool: Pose  # T
    length: float  # of the arm, the sum of all lengths [m]

    def intersect(self, k: int) -> bool:
        """Return True if axes k and k + 1 intersect, counted from 0."""
        return is_zero(self.a[k]) and not self.parallel(k)

    def parallel(self, k: int) -> bool:
        """Return True if axes k and k + 1 are parallel."""
        return is_zero(self.twist[k].sin)

    def spherical(self, k: int) -> bool:
        """Return True if axes k, k + 1 and k + 2 intersect in one point and no neighbours are parallel."""
        return self.intersect(k) and self.intersect(k + 1) and is_zero(self.d[k + 1])


@dataclass(frozen=True)
class _Normal:
    """Common normal of two axes: its direction, feet on both, length and twist."""

    x: Vec3
    from_foot: Vec3
    to_foot: Vec3
    a: float
    twist: UnitAngle


def axis_geometry(axes: Sequence[JointAxis]) -> AxisGeometry | None:
    """Return the geometry of two or more axes; None if neighbouring axes coincide."""
    rough = _with_tolerance(axes, 0.0)
    return None if rough is None or is_zero(rough.length) else _with_tolerance(axes, TOLERANCE * rough.length)


def _with_tolerance(axes: Sequence[JointAxis], short: float) -> AxisGeometry | None:
    """Return the Denavit–Hartenberg parameters of axes, with lengths up to ``short`` [m] set to zero.

    The result is None if neighbouring axes coincide.
    """
    normals: list[_Normal] = []
    for joint, next_joint in pairwise(axes):
        start = normals[-1].to_foot if normals else joint.point
        normal = _normal(joint, next_joint, start, short)
        if normal is None:
            return None
        normals.append(normal)
    offsets, angles = [0.0], [0.0]
    for axis, before, after in zip(axes[1:-1], normals, normals[1:], strict=False):
        z, y = axis.direction, axis.direction.cross(before.x)
        offset = (after.from_foot - before.to_foot).dot(z)
        point = is_zero(before.a) and is_zero(after.a) and abs(offset) <= short  # three axes intersect in one point
        offsets.append(0.0 if point else offset)
        angles.append(math.atan2(after.x.dot(y), after.x.dot(before.x)))
    first, last = normals[0], normals[-1]
    return AxisGeometry(
        tuple(normal.a for normal in normals),
        tuple(normal.twist for normal in normals),
        (*offsets, 0.0),
        (*angles, 0.0),
        _frame(axes[0].direction, first.x, first.from_foot),
        _frame(axes[-1].direction, last.x, last.to_foot).inv().formed(),
        sum(abs(normal.a) for normal in normals) + sum(map(abs, offsets)),
    )


def _normal(first: JointAxis, second: JointAxis, start: Vec3, short: float) -> _Normal | None:
    """Return the common normal of two axes; if they are parallel, it passes through ``start`` on the first axis."""
    z, w = first.direction, second.direction
    normal, offset_vector = z.cross(w), second.point - first.point
    sin, cos = math.hypot(*normal), z.dot(w)
    if sin <= TOLERANCE:
        from_foot = first.point + z * (start - first.point).dot(z)
        to_foot = second.point + w * (from_foot - second.point).dot(w)
        x = to_foot - from_foot
        a = math.hypot(*x)
        if a <= short:
            return None
        return _Normal(x * (1.0 / a), from_foot, to_foot, a, UnitAngle(math.copysign(1.0, cos), 0.0))
    x = normal * (1.0 / sin)
    a = offset_vector.dot(x)
    from_foot = first.point + z * (offset_vector.cross(w).dot(x) / sin)
    to_foot = second.point + w * (offset_vector.cross(z).dot(x) / sin)
    twist = UnitAngle(0.0, 1.0) if abs(cos) <= _RIGHT else UnitAngle(cos, sin)
    return _Normal(x, from_foot, to_foot, 0.0 if abs(a) <= short else a, twist)


def _frame(z: Vec3, x: Vec3, origin: Vec3) -> Pose:
    """Return the pose of a frame with the axis z and the ``origin``; its x axis is x, made normal to z."""
    x = x - z * x.dot(z)
    x = x * (1.0 / math.hypot(*x))
    y = z.cross(x)
    return Pose(Rotation(Vec3(x.x, y.x, z.x), Vec3(x.y, y.y, z.y), Vec3(x.z, y.z, z.z)), origin)


_TEST_ANGLES = (0.7, -2.1, 3.0)  # [rad] angles at which a joint must be a rotation about its axis
_EXACT = 1e-12


@dataclass(frozen=True)
class JointAxis:
    """Axis of a revolute joint: a unit vector and the point of the axis nearest to the origin."""

    direction: Vec3
    point: Vec3

    @staticmethod
    def of(S: Motion) -> JointAxis:
        """Return the axis of a rotation (ω; v) with ω of unit length."""
        return JointAxis(S.angular, S.angular.cross(S.linear))

    def turn(self, angle: object) -> Pose:
        """Return the pose of a rotation about the axis."""
        R = Rotation.about(self.direction, angle)
        return Pose(R, self.point - R @ self.point)


@dataclass(frozen=True)
class ArmChain:
    """Chain of revolute joints from frame A to frame B.

    The chain has the joints' bodies, the joints' axes in coordinates of A, and the pose X_AB, all in the zero
    configuration.
    """

    bodies: tuple[int, ...]
    axes: tuple[JointAxis, ...]
    zero: Pose

    def reversed(self) -> ArmChain:
        """Return the chain of the same joints from its end frame B to its start frame A.

        The order of the joints is reversed, and the axes are in coordinates of B. Each axis has the opposite
        direction, so a joint has the same angle in both chains.
        """
        back = self.zero.inv().formed()
        screws = [back @ Motion(-axis.direction, -axis.point.cross(axis.direction)) for axis in self.axes]
        return ArmChain(self.bodies[::-1], tuple(JointAxis.of(S) for S in screws[::-1]), back)


def turns_only(joint: JointType) -> bool:
    """Return True if a joint with one coordinate is a pure rotation about a fixed axis.

    The joint's functions are evaluated at several angles, so any type of joint can pass.
    """
    if joint.nv != 1:
        return False
    zero = joint.zero()
    (S,) = joint.S(zero).columns
    if abs(math.hypot(*S.angular) - 1.0) > _EXACT or abs(S.angular.dot(S.linear)) > _EXACT:
        return False
    start, axis = joint.X(zero), JointAxis.of(S)
    for angle in _TEST_ANGLES:
        result, expected = joint.X(joint.integrate(zero, [angle])), start @ axis.turn(angle)
        if any(abs(x - y) > _EXACT for x, y in zip(result.elements(), expected.elements(), strict=True)):
            return False
    return True


def arm_chain(tree: Tree, A: Frame, B: Frame) -> ArmChain | None:
    """Return the chain from A to B; None if a joint in it is not purely revolute or is coupled."""
    _, to_B, to_A = fork(tree, B.body, A.body)
    path = [*((i, -1.0) for i in reversed(to_A)), *((i, 1.0) for i in to_B)]
    path = [(i, sign) for i, sign in path if tree.bodies[i].joint.nv]
    masters = {tree.joint_index(body.coupling.joint) for body in tree.bodies if body.coupling is not None}
    bodies = tuple(i for i, _ in path)
    for i in bodies:
        if tree.bodies[i].coupling is not None or i in masters or not turns_only(tree.bodies[i].joint):
            return None
    q = [body.joint.zero() for body in tree.bodies]
    X = poses_in(tree, q, A, [*ancestors(tree, A.body), *ancestors(tree, B.body)])
    screws = [X[i] @ tree.bodies[i].S(q[i]).columns[0] * sign for i, sign in path]
    return ArmChain(bodies, tuple(map(JointAxis.of, screws)), X[B.body] @ B.placement)


def without(chain: ArmChain, locked: int) -> ArmChain:
    """Return the chain without a joint at one of its ends."""
    remaining: Sequence[int] = [k for k in range(len(chain.bodies)) if k != locked]
    return ArmChain(tuple(chain.bodies[k] for k in remaining), tuple(chain.axes[k] for k in remaining), chain.zero)


class ArmSolution(NamedTuple):
    """Joint angles of one IK solution of an arm, and a condition: False if it coincides with an earlier solution."""

    angles: tuple[UnitAngle, ...]
    counts: Any
