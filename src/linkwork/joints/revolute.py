"""Revolute joints: rotation about one axis, with the angle or with its sine and cosine as q."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.lazy_dataclass import dataclass
from linkwork.expr.scalar.functions import atan2, cos, sin, sqrt
from linkwork.joints.axis import angle_about, axis_residual, flat_inertia, random_axis, scaled_sin_cos_about, unit_axis
from linkwork.joints.base.joint_type import JointType, Scalars
from linkwork.spatial import Inertia, Motion, Pose, Rotation, Subspace, Vec3

__all__ = ["Revolute", "UnboundedRevolute"]


@public_constructor
@dataclass(frozen=True)
class Revolute(JointType):
    """Revolute joint: rotation about one axis.

    q (1,): angle [rad], zero when F and M coincide.  v (1,): rate [rad/s].  q̇ = v.  [RBDA, table 4.1]
    """

    axis: Vec3  # unit; the same coordinates in F and M

    nq, nv = 1, 1
    q_units, v_units = ("rad",), ("rad/s",)

    if TYPE_CHECKING:  # any three numbers, or the name of a coordinate axis

        def __init__(self, axis: Iterable[float] | str) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis, "revolute"))

    @classmethod
    def example(cls, rng: np.random.Generator) -> Revolute:
        return cls(random_axis(rng))

    def X(self, q: Scalars) -> Pose:
        return Pose(Rotation.about(self.axis, q[0]), Vec3.zero())

    def S(self, q: Scalars) -> Subspace:
        return Subspace((Motion(self.axis, Vec3.zero()),))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return Motion.zero()

    def configuration_from_pose(self, X: Pose) -> list[Any]:
        """Return the angle of the rotation about the axis that is nearest to X, in [−π, π]."""
        return [angle_about(self.axis, X.rotation)]

    def velocity_from_twist(self, q: Scalars, V: Motion) -> list[Any]:
        return [self.axis.dot(V.angular)]

    def pose_residual(self, X: Pose) -> Motion:
        return axis_residual(self.axis, X, 0.0)

    def commuting_translations(self) -> tuple[Vec3, ...]:
        return (self.axis,)

    def commuting_rotations(self) -> tuple[Vec3, ...]:
        return (self.axis,)

    def reduced_inertia(self, inertia: Inertia) -> Inertia:
        """Return a body's inertia without the masses on the joint's axis a, which do not move.

        The remaining inertia has ∫dm = 0, a·∫r dm = 0 and ∫(a·r)² dm = 0. These moments are m, a·h and aᵀΣa, with J =
        tr(Σ) 1 − Σ. The moment of inertia about the axis, aᵀJa = ∫|a × r|² dm, is unchanged.
        """
        a, h = self.axis, inertia.moment
        return Inertia(0.0, h - a * a.dot(h), flat_inertia(inertia.about, a))

    def reversed(self) -> Revolute:
        return Revolute(-self.axis)


@public_constructor
@dataclass(frozen=True)
class UnboundedRevolute(JointType):
    """Revolute joint without bounds, with the sine and cosine of the angle as q.

    q (2,): sine and cosine of the angle, in this order; angle 0 when F and M coincide.  v (1,): rate [rad/s].  q̇ ≠ v:
    ṡ = c v, ċ = −s v.  Unlike those of `Revolute`, configurations do not count revolutions.  [RBDA, table 4.1]

    ``axis`` (3,) is the direction about which M turns.
    """

    axis: Vec3  # unit; the same coordinates in F and M

    nq, nv = 2, 1
    q_units, v_units = ("1", "1"), ("rad/s",)
    q_names = ("sin", "cos")
    unit_length = ((0, 1),)

    if TYPE_CHECKING:  # any three numbers, or the name of a coordinate axis

        def __init__(self, axis: Iterable[float] | str) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis, "unbounded revolute"))

    @classmethod
    def example(cls, rng: np.random.Generator) -> UnboundedRevolute:
        return cls(random_axis(rng))

    def X(self, q: Scalars) -> Pose:
        s, c = q
        return Pose(Rotation.turning(self.axis, c, s), Vec3.zero())

    def S(self, q: Scalars) -> Subspace:
        return Subspace((Motion(self.axis, Vec3.zero()),))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return Motion.zero()

    def configuration_from_pose(self, X: Pose) -> list[Any]:
        return self.normalize(scaled_sin_cos_about(self.axis, X.rotation))

    def velocity_from_twist(self, q: Scalars, V: Motion) -> list[Any]:
        return [self.axis.dot(V.angular)]

    def pose_residual(self, X: Pose) -> Motion:
        return axis_residual(self.axis, X, 0.0)

    def q_dot(self, q: Scalars, v: Scalars) -> list[Any]:
        s, c = q
        return [c * v[0], -s * v[0]]

    def velocity_from_rate(self, q: Scalars, q_dot: Scalars) -> list[Any]:
        s, c = q
        return [c * q_dot[0] - s * q_dot[1]]

    def integrate(self, q: Scalars, phi: Scalars) -> list[Any]:
        (s, c), (ds, dc) = q, (sin(phi[0]), cos(phi[0]))
        return self.normalize([s * dc + c * ds, c * dc - s * ds])

    def difference(self, q: Scalars, other: Scalars) -> list[Any]:
        """Return the shortest rotation [rad] from q to ``other``."""
        (s, c), (s1, c1) = q, other
        return [atan2(s1 * c - c1 * s, c1 * c + s1 * s)]

    def zero(self) -> list[float]:
        return [0.0, 1.0]

    def normalize(self, q: Scalars) -> list[Any]:
        s, c = q
        scale = 1.0 / sqrt(s * s + c * c)
        return [s * scale, c * scale]

    def random(
        self, rng: np.random.Generator, lower: Sequence[float], upper: Sequence[float], size: tuple[int, ...]
    ) -> np.ndarray:
        """Draw angles uniformly from the circle, whatever the bounds.

        ``rng`` draws ``size`` of them; ``lower`` and ``upper`` bound nothing.
        """
        super().random(rng, lower, upper, ())  # checks the sizes of the bounds
        angle = rng.uniform(-np.pi, np.pi, size)
        return np.stack([np.sin(angle), np.cos(angle)], axis=-1)

    def commuting_translations(self) -> tuple[Vec3, ...]:
        return (self.axis,)

    def commuting_rotations(self) -> tuple[Vec3, ...]:
        return (self.axis,)

    def reduced_inertia(self, inertia: Inertia) -> Inertia:
        """Return the reduced inertia of a revolute joint about the same axis."""
        return Revolute(self.axis).reduced_inertia(inertia)

    def reversed(self) -> UnboundedRevolute:
        return UnboundedRevolute(-self.axis)
