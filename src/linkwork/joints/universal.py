"""Universal joint: rotation about an axis fixed in the body before it, then about one fixed in the body after it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork.expr.scalar.functions import and_, atan2, eq, sqrt, where
from linkwork.joints.axis import angle_about, check_orthogonal, random_axis, unit_axis
from linkwork.joints.base.checks import parameter_error
from linkwork.joints.base.joint_type import JointType, Scalars
from linkwork.spatial import Force, Inertia, Motion, Pose, Rotation, Subspace, Vec3

__all__ = ["Universal"]


@public_constructor
@dataclass(frozen=True)
class Universal(JointType):
    """Universal (Hooke) joint: rotations about an axis fixed in F, then about one fixed in M.

    q (2,): angles [rad] about the first axis, then the second, zero when F and M coincide.  v (2,): rates.  q̇ = v. X =
    R(a₁, q₁) R(a₂, q₂), so S = (R₂ᵀ a₁, a₂).  The axes must be perpendicular unless ``right_angle`` is False. [RBDA,
    section 4.4]
    """

    first: Vec3 = Vec3(1.0, 0.0, 0.0)  # unit; fixed in F
    second: Vec3 = Vec3(0.0, 1.0, 0.0)  # unit; fixed in M
    right_angle: bool = True  # if True, another angle between the axes is an error

    nq, nv = 2, 2
    q_units, v_units = ("rad", "rad"), ("rad/s", "rad/s")
    q_names, v_names = ("first", "second"), ("first_rate", "second_rate")

    if TYPE_CHECKING:  # any three numbers, or the name of a coordinate axis

        def __init__(
            self, first: Iterable[float] | str = ..., second: Iterable[float] | str = ..., right_angle: bool = True
        ) -> None: ...

    def __post_init__(self) -> None:
        first, second = unit_axis(self.first, "universal", "first"), unit_axis(self.second, "universal", "second")
        if self.right_angle:
            check_orthogonal(first, second, "universal", "first and second")
        elif abs(first.dot(second)) > 1.0 - 1e-9:
            got = f"{(*first,)} and {(*second,)}"
            raise parameter_error("universal", "first and second", "two axes that are not parallel", got)
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "second", second)

    @classmethod
    def example(cls, rng: np.random.Generator) -> Universal:
        first, second = random_axis(rng), random_axis(rng)
        return cls(first, first.cross(second)) if rng.random() < 0.5 else cls(first, second, right_angle=False)

    def X(self, q: Scalars) -> Pose:
        return Pose(Rotation.about(self.first, q[0]) @ Rotation.about(self.second, q[1]), Vec3.zero())

    def S(self, q: Scalars) -> Subspace:
        return Subspace((Motion(self._first_in_M(q), Vec3.zero()), Motion(self.second, Vec3.zero())))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        """Return the spatial acceleration at v̇ = 0: the angular part v₁ v₂ R₂ᵀa₁ × a₂, and no linear part.

        R₂ᵀa₁ is the first axis in M at q, where it rotates about the second axis a₂.
        """
        return Motion(self._first_in_M(q).cross(self.second) * (v[0] * v[1]), Vec3.zero())

    def constraint_wrench_subspace(self, q: Scalars) -> tuple[Force, ...]:
        """Return the moment perpendicular to both axes at q, and all forces."""
        return Force(self._normal(q), Vec3.zero()), *(Force(Vec3.zero(), e) for e in _AXES)

    def configuration_from_pose(self, X: Pose) -> list[Any]:
        """Return the angles whose rotation is nearest to the rotation R of X.

        In X the second axis a₂ points along u = R a₂ in F. q₁ rotates a₂ about the first axis as close to u as
        possible, and q₂ follows from the remaining rotation.
        """
        R, a1, a2 = X.rotation, self.first, self.second
        u = R @ a2
        s, c = a1.dot(a2.cross(u)), a2.dot(u) - a1.dot(a2) * a1.dot(u)
        along = and_(eq(s, 0.0), eq(c, 0.0))  # u is along the first axis: all angles are equally near
        first = atan2(s, where(along, 1.0, c))
        return [first, angle_about(a2, Rotation.about(a1, -first) @ R)]

    def velocity_from_twist(self, q: Scalars, V: Motion) -> list[Any]:
        first, c = self._first_in_M(q), self.first.dot(self.second)
        x, y = first.dot(V.angular), self.second.dot(V.angular)
        scale = 1.0 / (1.0 - c * c)
        return [(x - y * c) * scale, (y - x * c) * scale]

    def pose_residual(self, X: Pose) -> Motion:
        """Return the residual of X: (rotation perpendicular to both axes; position of X's origin).

        The rotation is the difference between the angle of the two axes in X and their angle in the joint.
        """
        q, R = self.configuration_from_pose(X), X.rotation
        first, first_in_F, n = self._first_in_M(q), R.inv_act(self.first), self._normal(q)
        off = atan2(n.dot(first_in_F.cross(first)), first_in_F.dot(first))
        return Motion(n * off, R.inv_act(X.translation))

    def _normal(self, q: Scalars) -> Vec3:
        """Return the unit vector perpendicular to both axes, in M."""
        n = self._first_in_M(q).cross(self.second)
        unit: Vec3 = n * (1.0 / sqrt(n.dot(n)))
        return unit

    def reduced_inertia(self, inertia: Inertia) -> Inertia:
        """Return a body's inertia with its mass set to zero: a point mass at the centre of rotation does not move."""
        return Inertia(0.0, inertia.moment, inertia.about)

    def _first_in_M(self, q: Scalars) -> Vec3:
        return Rotation.about(self.second, q[1]).inv_act(self.first)


_AXES = Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)
