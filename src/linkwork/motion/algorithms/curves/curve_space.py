"""Spaces of curves: a robot's configuration manifold, joint by joint, or plain coordinates.

A robot is a plain space if v = q̇ for all joints; the same code evaluates curves of all such robots.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.scalar.functions import where
from linkwork.joints.base.checks import call_joint
from linkwork.joints.base.from_transform import unit_vectors
from linkwork.joints.base.joint_type import JointType
from linkwork.joints.base.plain_coordinates import is_plain
from linkwork.joints.base.pose_inversion import least_squares
from linkwork.joints.straight_motion import straight_motion_joint
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Vec3

__all__ = ["CurveSpace", "JointSlice"]

Scalars = Sequence[Any]


@dataclass(frozen=True, slots=True)
class JointSlice:
    """A joint with the indices at which its coordinates begin in q and v."""

    name: str
    joint: JointType
    q: int
    v: int

    @property
    def in_q(self) -> slice:
        """Slice of q with the joint's coordinates."""
        return slice(self.q, self.q + self.joint.nq)

    @property
    def in_v(self) -> slice:
        """Slice of v with the joint's coordinates."""
        return slice(self.v, self.v + self.joint.nv)

    @property
    def is_plain(self) -> bool:
        """True if the joint's v is the time derivative of its q, so that configurations may be added."""
        return is_plain(self.joint)

    @property
    def has_twist(self) -> bool:
        """True if the joint's v (6) is its twist in the axes of the child frame, as for a floating joint."""
        if self.joint.nv != 6 or self.is_plain:
            return False
        columns = [[*column.elements()] for column in self.joint.S(self.joint.zero()).columns]
        return columns == unit_vectors(6) and self.joint.has_fixed_subspaces

    @property
    def goes_straight(self) -> bool:
        """True for planar and floating joints whose rotation and translation can be interpolated separately.

        The origin of such a joint then moves on a straight line, instead of an arc or a screw motion.
        """
        return not self.is_plain and (self.has_twist or straight_motion_joint(self.joint) is not self.joint)

    def integrate(self, q: Scalars, phi: Scalars, apart: bool) -> list[Any]:
        """Return the joint's configuration q ⊕ φ, reached from q by moving along the tangent vector φ.

        ``apart`` separates rotation and translation of floating and planar joints. The joint then rotates about the
        origin of its frame, and the origin moves straight by R φ_v. R is the rotation at q, and φ_v is the linear part
        of φ.
        """
        if not (apart and self.goes_straight):
            return self._moved(q, phi)
        if not self.has_twist:
            straight = straight_motion_joint(self.joint)
            return straight.integrate(q, straight.velocity_from_rate(q, self.joint.q_dot(q, phi)))
        shift = self.joint.X(q).rotation @ Vec3.of(phi[3:6])
        turned = self._moved(q, [*phi[:3], 0.0, 0.0, 0.0])
        return self._moved(turned, [0.0, 0.0, 0.0, *self.joint.X(turned).rotation.inv_act(shift)])

    def _moved(self, q: Scalars, phi: Scalars) -> list[Any]:
        result: list[Any] = call_joint(self.name, self.joint, "integrate", q, phi)
        return result

    def carried(self, q: Scalars, phi: Scalars, other: Scalars) -> list[Any]:
        """Return the tangent vector at ``other`` that shifts the joint's origin by the same vector as φ does at q.

        The joint is a planar or floating joint whose rotation and translation are separate. If the joint's v is its
        twist, the rotation vector of φ is unchanged.
        """
        if not self.has_twist:
            straight = straight_motion_joint(self.joint)
            rates = straight.velocity_from_rate(q, self.joint.q_dot(q, phi))
            return self.joint.velocity_from_rate(other, straight.q_dot(other, rates))
        shift = self.joint.X(q).rotation @ Vec3.of(phi[3:6])
        return [*phi[:3], *self.joint.X(other).rotation.inv_act(shift)]

    def difference(self, q: Scalars, other: Scalars, apart: bool) -> list[Any]:
        """Return the joint's tangent vector from q to ``other``, the inverse of `integrate`."""
        if apart and self.goes_straight and not self.has_twist:
            straight = straight_motion_joint(self.joint)
            return self.joint.velocity_from_rate(q, straight.q_dot(q, straight.difference(q, other)))
        result: list[Any] = call_joint(self.name, self.joint, "difference", q, other)
        if not (apart and self.has_twist):
            return result
        X = self.joint.X(q)
        return [*result[:3], *X.rotation.inv_act(self.joint.X(other).translation - X.translation)]


@dataclass(frozen=True, slots=True)
class CurveSpace:
    """Configuration space of the curves: configurations q have nq coordinates, tangent vectors nv.

    ``apart`` separates rotation and translation of floating and planar joints: their origins move on straight lines,
    not on arcs or screws.
    """

    nq: int
    nv: int
    joints: tuple[JointSlice, ...] = ()  # empty for plain coordinates
    apart: bool = False

    @staticmethod
    def of(tree: Tree, apart: bool = False) -> CurveSpace:
        """Return the configuration space of a robot's curves; ``apart`` separates rotation and translation.

        ``apart`` applies to floating and planar joints, and is ignored for robots without such joints. If v = q̇ for
        all joints, the space has plain coordinates.
        """
        joints = []
        q = v = 0
        for _, body in tree.stacked():
            joints.append(JointSlice(body.joint_name, body.joint, q, v))
            q, v = q + body.joint.nq, v + body.joint.nv
        plain = all(joint_slice.is_plain for joint_slice in joints)
        return CurveSpace(
            q, v, () if plain else tuple(joints), apart and any(joint_slice.goes_straight for joint_slice in joints)
        )

    @property
    def is_plain(self) -> bool:
        """True if v is the time derivative of q for all joints, so that configurations may be added."""
        return not self.joints

    @property
    def parts(self) -> list[slice]:
        """Slices of v, one for each joint; a single slice of all of v for plain coordinates."""
        return [joint_slice.in_v for joint_slice in self.joints] or [slice(0, self.nv)]

    def integrate(self, q: Scalars, phi: Scalars) -> list[Any]:
        """Return the configuration q ⊕ φ (nq), reached from q by moving along the tangent vector φ (nv)."""
        if self.is_plain:
            return [a + b for a, b in zip(q, phi, strict=True)]
        return self._each(
            lambda joint_slice: joint_slice.integrate(q[joint_slice.in_q], phi[joint_slice.in_v], self.apart)
        )

    def cumulative(self, q: Scalars, steps: Sequence[Scalars], weights: Sequence[Any]) -> list[Any]:
        """Return the configuration q ⊕ w_1 φ_1 ⊕ w_2 φ_2 ..., where φ_j (nv) are the ``steps`` and w_j the ``weights``.

        Step φ_j leads from one control configuration to the next. With ``apart``, rotations do not move the origin of a
        floating or planar joint. The origin is then at p + Σ w_j d_j, with its position p at q and its displacements
        d_j between control configurations.
        """
        result = control = [*q]
        for phi, weight in zip(steps, weights, strict=True):
            moved = [*phi]
            if control is not result:
                for joint_slice in self.joints:
                    if joint_slice.goes_straight:
                        at = joint_slice.in_q
                        moved[joint_slice.in_v] = joint_slice.carried(control[at], phi[joint_slice.in_v], result[at])
            before, result = result, self.integrate(result, [weight * x for x in moved])
            control = self.integrate(before if control is before else control, phi) if self.apart else result
        return result

    def difference(self, q: Scalars, other: Scalars) -> list[Any]:
        """Return the tangent vector (nv) from q to ``other``, the inverse of `integrate`."""
        if self.is_plain:
            return [b - a for a, b in zip(q, other, strict=True)]
        return self._each(
            lambda joint_slice: joint_slice.difference(q[joint_slice.in_q], other[joint_slice.in_q], self.apart)
        )

    def velocity_from_rate(self, q: Scalars, q_dot: Scalars) -> list[Any]:
        """Return the velocity v (nv) at which the configuration q changes at rate q̇."""
        if self.is_plain:
            return list(q_dot)
        return self._each(
            lambda joint_slice: call_joint(
                joint_slice.name, joint_slice.joint, "velocity_from_rate", q[joint_slice.in_q], q_dot[joint_slice.in_q]
            )
        )

    def q_dot(self, q: Scalars, v: Scalars) -> list[Any]:
        """Return the rate q̇ (nq) of the configuration q at velocity v."""
        if self.is_plain:
            return list(v)
        return self._each(
            lambda joint_slice: call_joint(
                joint_slice.name, joint_slice.joint, "q_dot", q[joint_slice.in_q], v[joint_slice.in_v]
            )
        )

    def in_fixed_axes(self, q: Scalars, v: Scalars) -> list[Any]:
        """Return each joint's twist (6) in its fixed frame, the frame in which the joint moves its child.

        For joints with v = q̇, the result has v instead of a twist. All values are one flat list.
        """
        result: list[Any] = []
        for joint_slice in self.joints:
            joint_v = v[joint_slice.in_v]
            if joint_slice.is_plain:
                result += joint_v
            else:
                joint_q = q[joint_slice.in_q]
                result += (joint_slice.joint.X(joint_q) @ joint_slice.joint.twist(joint_q, joint_v)).elements()
        return result

    def from_fixed_axes(self, q: Scalars, twists: Scalars) -> list[Any]:
        """Return v (nv) from each joint's twist in its fixed frame, the frame in which the joint moves its child.

        This is the inverse of `in_fixed_axes`. Twists are projected on the joints' directions of motion.
        """
        result: list[Any] = []
        start = 0
        for joint_slice in self.joints:
            joint = joint_slice.joint
            size = joint.nv if joint_slice.is_plain else 6
            twist, start = twists[start : start + size], start + size
            if not joint_slice.is_plain:
                joint_q = q[joint_slice.in_q]
                twist = joint.velocity_from_twist(joint_q, joint.X(joint_q).inv() @ Motion.of([*twist]))
            result += twist
        return result

    def step_rates(self, q: Scalars, phi: Scalars, v: Scalars, w: Scalars) -> list[Any]:
        """Return the rate φ̇ (nv) for which q ⊕ φ moves at velocity w, while q moves at velocity v.

        The rate is valid for any tangent vector φ, also beyond half a revolution.
        """
        end = self.integrate(q, phi)
        moving = seeded(q, self.q_dot(q, v))
        level = moving[0].level
        carried = self.velocity_from_rate(end, [parts(x, level)[1] for x in self.integrate(moving, phi)])
        remaining = [a - b for a, b in zip(w, carried, strict=True)]
        result: list[Any] = []
        for joint_slice in self.joints:
            columns = []
            for unit in unit_vectors(joint_slice.joint.nv):
                changing = seeded(phi[joint_slice.in_v], unit)
                joint_end = joint_slice.integrate(q[joint_slice.in_q], changing, self.apart)
                rates = [parts(x, changing[0].level)[1] for x in joint_end]
                columns.append(
                    call_joint(joint_slice.name, joint_slice.joint, "velocity_from_rate", end[joint_slice.in_q], rates)
                )
            result += least_squares(columns, remaining[joint_slice.in_v])
        return result

    def local_rates(self, q: Scalars, other: Scalars, v: Scalars, a: Scalars) -> tuple[list[Any], list[Any]]:
        """Return φ̇ and φ̈ of the difference φ = other ⊖ q, where ``other`` moves with v and a and q is fixed."""
        if self.is_plain:
            return list(v), list(a)

        def rate(x: Scalars, v: Scalars) -> list[Any]:
            moving = seeded(x, self.q_dot(x, v))
            return [parts(y, moving[0].level)[1] for y in self.difference(q, moving)]

        changing = seeded([*other, *v], [*self.q_dot(other, v), *a])
        result = rate(changing[: self.nq], changing[self.nq :])
        both = [parts(x, changing[0].level) for x in result]
        return [x for x, _ in both], [y for _, y in both]

    def nearer_sign(self, q: Scalars, other: Scalars) -> list[Any]:
        """Return the configuration ``other`` with each unit quaternion ε replaced by −ε where that is nearer to q."""
        result = list(other)
        for joint_slice in self.joints:
            if joint_slice.joint.nq == joint_slice.joint.nv:
                continue
            for unit in joint_slice.joint.unit_length:
                if len(unit) == 4:
                    at = [joint_slice.q + k for k in unit]
                    flip = where(sum((q[k] * other[k] for k in at), 0.0) < 0.0, -1.0, 1.0)
                    for k in at:
                        result[k] = result[k] * flip
        return result

    def _each(self, computed: Callable[[JointSlice], Sequence[Any]]) -> list[Any]:
        return [x for joint_slice in self.joints for x in computed(joint_slice)]
