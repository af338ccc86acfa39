"""A chain of revolute joints between two frames, as the screws that its joints turn about, on floats.

The pose of B in A is a product of exponentials, X_AB(q) = exp(S₁ θ₁) ... exp(S_n θ_n) X_AB(0), with S_k = (ω; −ω × p)
the axis of joint k in A while all joints are at zero.  The way back has the same axes in opposite order and direction.

Source: Brockett, Robotic manipulators and the product of exponentials formula, 1984.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.joints import JointType
from linkwork.kinematics.algorithms.jacobians.joint_path import poses_in
from linkwork.kinematics.algorithms.relative_kinematics import ancestors, fork
from linkwork.model.body import Frame
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Pose, Rotation, Vec3

__all__ = ["ArmChain", "JointAxis", "arm_chain", "turns_only", "without"]

_TRIED = (0.7, -2.1, 3.0)  # angles at which a joint has to be the rotation that its axis says [rad]
_EXACT = 1e-12


@dataclass(frozen=True)
class JointAxis:
    """Where a joint turns: a unit vector and the point of its axis that is nearest to the origin."""

    direction: Vec3
    point: Vec3

    @staticmethod
    def of(S: Motion) -> JointAxis:
        """The axis of a rotation (ω; v) with ω of unit length."""
        return JointAxis(S.angular, S.angular.cross(S.linear))

    def turn(self, angle: object) -> Pose:
        """The rotation about the axis."""
        R = Rotation.about(self.direction, angle)
        return Pose(R, self.point - R @ self.point)


@dataclass(frozen=True)
class ArmChain:
    """The joints from A to B: the bodies that they carry, their axes in A, and X_AB, all at zero."""

    bodies: tuple[int, ...]
    axes: tuple[JointAxis, ...]
    zero: Pose

    def reversed(self) -> ArmChain:
        """The joints from B to A."""
        back = self.zero.inv().formed()
        screws = [back @ Motion(-axis.direction, -axis.point.cross(axis.direction)) for axis in self.axes]
        return ArmChain(self.bodies[::-1], tuple(JointAxis.of(S) for S in screws[::-1]), back)


def turns_only(joint: JointType) -> bool:
    """Whether a joint turns about one axis, by its one number, and does nothing else: as its functions have it."""
    if joint.nv != 1:
        return False
    zero = joint.zero()
    (S,) = joint.S(zero).columns
    if abs(math.hypot(*S.angular) - 1.0) > _EXACT or abs(S.angular.dot(S.linear)) > _EXACT:
        return False
    start, axis = joint.X(zero), JointAxis.of(S)
    for angle in _TRIED:
        found, wanted = joint.X(joint.retract(zero, [angle])), start @ axis.turn(angle)
        if any(abs(x - y) > _EXACT for x, y in zip(found.elements(), wanted.elements(), strict=True)):
            return False
    return True


def arm_chain(tree: Tree, A: Frame, B: Frame) -> ArmChain | None:
    """The chain from A to B; None where a joint in it does not only turn, or shares its number with another."""
    _, to_B, to_A = fork(tree, B.body, A.body)
    ways = [*((i, -1.0) for i in reversed(to_A)), *((i, 1.0) for i in to_B)]
    ways = [(i, sign) for i, sign in ways if tree.bodies[i].joint.nv]
    masters = {tree.joint_index(body.coupling.joint) for body in tree.bodies if body.coupling is not None}
    bodies = tuple(i for i, _ in ways)
    for i in bodies:
        if tree.bodies[i].coupling is not None or i in masters or not turns_only(tree.bodies[i].joint):
            return None
    q = [body.joint.zero() for body in tree.bodies]
    X = poses_in(tree, q, A, [*ancestors(tree, A.body), *ancestors(tree, B.body)])
    screws = [X[i] @ tree.bodies[i].S(q[i]).columns[0] * sign for i, sign in ways]
    return ArmChain(bodies, tuple(map(JointAxis.of, screws)), X[B.body] @ B.placement)


def without(chain: ArmChain, held: int) -> ArmChain:
    """The chain without a joint at one of its ends."""
    kept: Sequence[int] = [k for k in range(len(chain.bodies)) if k != held]
    return ArmChain(tuple(chain.bodies[k] for k in kept), tuple(chain.axes[k] for k in kept), chain.zero)
