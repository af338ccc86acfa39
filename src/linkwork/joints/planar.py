"""Planar joint: motion in a plane."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.lazy_dataclass import dataclass
from linkwork.expr.scalar.functions import cos, sin
from linkwork.joints.axis import (
    angle_about,
    axis_residual,
    check_orthogonal,
    flat_inertia,
    random_axis,
    unit_axis,
)
from linkwork.joints.base.joint_type import JointType, Scalars
from linkwork.spatial import Inertia, Motion, Pose, Rotation, Subspace, Vec3
from linkwork.spatial.quaternion import translation_of_twist, twist_of_translation

__all__ = ["Planar"]


@public_constructor
@dataclass(frozen=True)
class Planar(JointType):
    """Planar joint: translation in a plane and rotation about its normal.

    q (3,): M's origin along the axes x and y of F [m], then M's angle about their normal n = x × y [rad].

    v (3,): the velocity of M's origin along the axes x and y of *M* [m/s], then the angular velocity [rad/s], so S is
    constant and q̇ ≠ v: (q̇₁, q̇₂) = R(q₃) (v₁, v₂), q̇₃ = v₃.  ``integrate`` is the exponential of SE(2). [RBDA, table
    4.1, with the translation before the rotation]

    x and y are ``x_axis`` and ``y_axis``, orthogonal vectors (3,).
    """

    x_axis: Vec3 = Vec3(1.0, 0.0, 0.0)  # unit; the same coordinates in F and M
    y_axis: Vec3 = Vec3(0.0, 1.0, 0.0)  # unit, at a right angle to x

    nq, nv = 3, 3
    q_units, v_units = ("m", "m", "rad"), ("m/s", "m/s", "rad/s")
    q_names, v_names = ("x", "y", "angle"), ("vx", "vy", "w")

    if TYPE_CHECKING:  # any three numbers, or the name of a coordinate axis

        def __init__(self, x_axis: Iterable[float] | str = ..., y_axis: Iterable[float] | str = ...) -> None: ...

    def __post_init__(self) -> None:
        x, y = unit_axis(self.x_axis, "planar", "x_axis"), unit_axis(self.y_axis, "planar", "y_axis")
        check_orthogonal(x, y, "planar", "x_axis and y_axis")
        if abs(x.dot(y)) > 4e-16:  # rounding, so that equal axes give an equal joint
            y = unit_axis(y - x * x.dot(y))
        object.__setattr__(self, "x_axis", x)
        object.__setattr__(self, "y_axis", y)

    @classmethod
    def example(cls, rng: np.random.Generator) -> Planar:
        x = random_axis(rng)
        return cls(x, x.cross(random_axis(rng)))

    @classmethod
    def across(cls, normal: Vec3) -> Planar:
        """Return the planar joint with a normal n.

        Its x axis is the first of the coordinate axes x and y that is not near n, made perpendicular to n.  The plane
        with normal z has the axes x and y, that with normal x has y and z, and that with normal y has x and −z.
        """
        n = unit_axis(normal, "planar", "normal")
        near = next(e for e in (Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0)) if abs(n.dot(e)) < 0.9)
        x = unit_axis(near - n * n.dot(near))
        return cls(x, n.cross(x))

    @property
    def normal(self) -> Vec3:
        """Unit normal n = x × y."""
        return unit_axis(self.x_axis.cross(self.y_axis))

    def X(self, q: Scalars) -> Pose:
        return Pose(Rotation.about(self.normal, q[2]), self.x_axis * q[0] + self.y_axis * q[1])

    def S(self, q: Scalars) -> Subspace:
        along = (Motion(Vec3.zero(), axis) for axis in (self.x_axis, self.y_axis))
        return Subspace((*along, Motion(self.normal, Vec3.zero())))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return Motion.zero()

    def configuration_from_pose(self, X: Pose) -> list[Any]:
        p = X.translation
        return [self.x_axis.dot(p), self.y_axis.dot(p), angle_about(self.normal, X.rotation)]

    def velocity_from_twist(self, q: Scalars, V: Motion) -> list[Any]:
        return [self.x_axis.dot(V.linear), self.y_axis.dot(V.linear), self.normal.dot(V.angular)]

    def pose_residual(self, X: Pose) -> Motion:
        """Return the rotation [rad] and the displacement [m] of X out of the plane.

        The rotation is the shortest rotation vector from the plane's normal to its direction in X.
        """
        n = self.normal
        height, turn = n.dot(X.translation), axis_residual(n, X, 0.0).angular
        return Motion(turn, X.rotation.inv_act(n * height))

    def q_dot(self, q: Scalars, v: Scalars) -> list[Any]:
        c, s = cos(q[2]), sin(q[2])
        return [c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]]

    def velocity_from_rate(self, q: Scalars, q_dot: Scalars) -> list[Any]:
        c, s = cos(q[2]), sin(q[2])
        return [c * q_dot[0] + s * q_dot[1], c * q_dot[1] - s * q_dot[0], q_dot[2]]

    def integrate(self, q: Scalars, phi: Scalars) -> list[Any]:
        moved = translation_of_twist(Vec3(0.0, 0.0, phi[2]), Vec3(phi[0], phi[1], 0.0))
        dx, dy, turn = self.q_dot(q, [moved.x, moved.y, phi[2]])
        return [q[0] + dx, q[1] + dy, q[2] + turn]

    def difference(self, q: Scalars, other: Scalars) -> list[Any]:
        """Return the tangent vector from q to ``other``; a difference of angles includes its full revolutions.

        Motion with a constant twist through full revolutions returns to the same position.  The linear part therefore
        grows without bound as the angle between q and ``other`` approaches full revolutions.
        """
        turn = other[2] - q[2]
        x, y, _ = self.velocity_from_rate(q, [other[0] - q[0], other[1] - q[1], 0.0])
        v = twist_of_translation(Vec3(0.0, 0.0, turn), Vec3(x, y, 0.0))
        return [v.x, v.y, turn]

    def deflection(self, q_rest: Scalars, q: Scalars) -> list[Any]:
        """Return the displacement (x, y, angle) from ``q_rest`` to ``q`` along M's axes at rest [m, rad]."""
        return self.velocity_from_rate(q_rest, [b - a for a, b in zip(q_rest, q, strict=True)])

    def commuting_translations(self) -> tuple[Vec3, ...]:
        return (self.normal,)

    def reduced_inertia(self, inertia: Inertia) -> Inertia:
        """Return a body's inertia without the spread of mass along the normal n: ∫(n·r)² dm = 0.

        The spread of mass along the normal has no effect on motions in the plane.
        """
        return Inertia(inertia.mass, inertia.moment, flat_inertia(inertia.about, self.normal))
