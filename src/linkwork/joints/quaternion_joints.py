"""Spherical joint and floating joint (6-DoF, free-flyer) with a unit quaternion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.lazy_dataclass import dataclass
from linkwork.joints.base.joint_type import JointType, Scalars
from linkwork.spatial import Force, Inertia, Motion, Pose, Quaternion, Subspace, Vec3
from linkwork.spatial.quaternion import translation_of_twist, twist_of_translation

__all__ = [
    "ALL_FORCES",
    "ALL_MOTIONS",
    "ALL_ROTATIONS",
    "Floating",
    "QuaternionJoint",
    "Spherical",
    "quaternion_coordinates",
    "quaternion_names",
]


class QuaternionJoint(JointType):
    """Base of joints whose configuration is the unit quaternion of a rotation.

    q (4,): unit quaternion of R_FM, (w, x, y, z), or (x, y, z, w) with ``scalar_last``.
    v (3,): angular velocity of M relative to F in M's coordinates [rad/s].  q̇ ≠ v: ε̇ = ½ ε ⊗ (0, ω).  ``integrate``
    is the exponential of SO(3).  No configuration is singular; ε and −ε are the same rotation.
    """

    scalar_last: bool

    nq, nv = 4, 3
    q_units, v_units = ("1",) * 4, ("rad/s",) * 3
    v_names = ("wx", "wy", "wz")
    unit_length = ((0, 1, 2, 3),)

    def q_dot(self, q: Scalars, v: Scalars) -> list[Any]:
        rate = self._epsilon(q) @ Quaternion(0.0, *v)
        return [0.5 * x for x in quaternion_coordinates(rate, self.scalar_last)]

    def velocity_from_rate(self, q: Scalars, q_dot: Scalars) -> list[Any]:
        return [*((self._epsilon(q).conjugate() @ self._epsilon(q_dot)).vector * 2.0)]

    def integrate(self, q: Scalars, phi: Scalars) -> list[Any]:
        turned = self._epsilon(q) @ Quaternion.exp(Vec3.of(phi))
        return quaternion_coordinates(turned.normalized(), self.scalar_last)

    def difference(self, q: Scalars, other: Scalars) -> list[Any]:
        return [*(self._epsilon(q).conjugate() @ self._epsilon(other)).log()]

    def zero(self) -> list[float]:
        return quaternion_coordinates(Quaternion(1.0, 0.0, 0.0, 0.0), self.scalar_last)

    def normalize(self, q: Scalars) -> list[Any]:
        return quaternion_coordinates(self._epsilon(q).normalized(), self.scalar_last)

    def random(
        self, rng: np.random.Generator, lower: Sequence[float], upper: Sequence[float], size: tuple[int, ...]
    ) -> np.ndarray:
        """Draw rotations uniformly from SO(3), whatever the bounds.

        ``rng`` draws ``size`` of them; ``lower`` and ``upper`` bound nothing.
        """
        super().random(rng, lower, upper, ())  # checks the sizes of the bounds
        epsilon = rng.normal(size=(*size, 4))
        unit: np.ndarray = epsilon / np.linalg.norm(epsilon, axis=-1, keepdims=True)
        return unit

    def _epsilon(self, q: Scalars) -> Quaternion:
        return quaternion_of(q, self.scalar_last)


def quaternion_of(q: Scalars, scalar_last: bool) -> Quaternion:
    """Return the quaternion with these four coordinates."""
    return Quaternion(q[3], q[0], q[1], q[2]) if scalar_last else Quaternion(*q)


def quaternion_coordinates(epsilon: Quaternion, scalar_last: bool) -> list[Any]:
    """Return the four coordinates of a quaternion."""
    w, x, y, z = epsilon.elements()
    return [x, y, z, w] if scalar_last else [w, x, y, z]


def quaternion_names(scalar_last: bool) -> tuple[str, ...]:
    return ("qx", "qy", "qz", "qw") if scalar_last else ("qw", "qx", "qy", "qz")


@public_constructor
@dataclass(frozen=True)
class Floating(JointType):
    """Floating joint (6-DoF): all six motions, with a unit quaternion for the rotation.

    q (7,): unit quaternion (w, x, y, z) of R_FM, or (x, y, z, w) with ``scalar_last``; then M's origin in F [m].
    v (6,): twist of M relative to F in M's coordinates, (ω [rad/s]; v [m/s]), so S = 1.  q̇ ≠ v:
    ε̇ = ½ ε ⊗ (0, ω),  ṗ = R v.  ``integrate`` is the exponential of SE(3): a constant twist for unit time.
    """

    scalar_last: bool = False

    nq, nv = 7, 6
    q_units = ("1", "1", "1", "1", "m", "m", "m")
    v_units = ("rad/s", "rad/s", "rad/s", "m/s", "m/s", "m/s")
    v_names = ("wx", "wy", "wz", "vx", "vy", "vz")
    unit_length = ((0, 1, 2, 3),)

    def __post_init__(self) -> None:
        self._set_attributes(q_names=(*quaternion_names(self.scalar_last), "x", "y", "z"))

    @classmethod
    def example(cls, rng: np.random.Generator) -> Floating:
        return cls(scalar_last=bool(rng.random() < 0.5))

    def X(self, q: Scalars) -> Pose:
        return Pose(self._epsilon(q).rotation(), Vec3.of(q[4:7]))

    def S(self, q: Scalars) -> Subspace:
        return ALL_MOTIONS

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return Motion.zero()

    def configuration_from_pose(self, X: Pose) -> list[Any]:
        return [*self._coordinates(Quaternion.of(X.rotation)), *X.translation]

    def velocity_from_twist(self, q: Scalars, V: Motion) -> list[Any]:
        return [*V.elements()]

    def pose_residual(self, X: Pose) -> Motion:
        return Motion.zero()

    def q_dot(self, q: Scalars, v: Scalars) -> list[Any]:
        epsilon = self._epsilon(q)
        rate = epsilon @ Quaternion(0.0, *v[0:3])
        return [*(0.5 * x for x in self._coordinates(rate)), *(epsilon.rotation() @ Vec3.of(v[3:6]))]

    def velocity_from_rate(self, q: Scalars, q_dot: Scalars) -> list[Any]:
        epsilon = self._epsilon(q)
        omega = (epsilon.conjugate() @ self._epsilon(q_dot)).vector * 2.0
        return [*omega, *epsilon.rotation().inv_act(Vec3.of(q_dot[4:7]))]

    def integrate(self, q: Scalars, phi: Scalars) -> list[Any]:
        epsilon, p = self._epsilon(q), Vec3.of(q[4:7])
        turn, v = Vec3.of(phi[0:3]), Vec3.of(phi[3:6])
        turned = epsilon @ Quaternion.exp(turn)
        moved = p + epsilon.rotation() @ translation_of_twist(turn, v)
        return [*self._coordinates(turned.normalized()), *moved]

    def difference(self, q: Scalars, other: Scalars) -> list[Any]:
        epsilon, p = self._epsilon(q), Vec3.of(q[4:7])
        turn = (epsilon.conjugate() @ self._epsilon(other)).log()
        between = epsilon.rotation().inv_act(Vec3.of(other[4:7]) - p)
        return [*turn, *twist_of_translation(turn, between)]

    def deflection(self, q_rest: Scalars, q: Scalars) -> list[Any]:
        """Return the rotation vector from ``q_rest`` to ``q``, and the displacement in the axes of M at rest."""
        epsilon, moved = self._epsilon(q_rest), Vec3.of(q[4:7]) - Vec3.of(q_rest[4:7])
        turn = (epsilon.conjugate() @ self._epsilon(q)).log()
        return [*turn, *epsilon.rotation().inv_act(moved)]

    def zero(self) -> list[float]:
        return [*self._coordinates(Quaternion(1.0, 0.0, 0.0, 0.0)), 0.0, 0.0, 0.0]

    def normalize(self, q: Scalars) -> list[Any]:
        return [*self._coordinates(self._epsilon(q).normalized()), *q[4:7]]

    def random(
        self, rng: np.random.Generator, lower: Sequence[float], upper: Sequence[float], size: tuple[int, ...]
    ) -> np.ndarray:
        """Draw rotations uniformly from SO(3), and positions as `JointType.random` does.

        ``rng`` draws ``size`` of them; ``lower`` and ``upper`` bound the positions.
        """
        q = super().random(rng, lower, upper, size)
        epsilon = rng.normal(size=(*size, 4))
        q[..., 0:4] = epsilon / np.linalg.norm(epsilon, axis=-1, keepdims=True)
        return q

    def _epsilon(self, q: Scalars) -> Quaternion:
        return quaternion_of(q[0:4], self.scalar_last)

    def _coordinates(self, epsilon: Quaternion) -> list[Any]:
        return quaternion_coordinates(epsilon, self.scalar_last)


ALL_MOTIONS = Subspace(tuple(Motion.of([1.0 if i == k else 0.0 for i in range(6)]) for k in range(6)))


@public_constructor
@dataclass(frozen=True)
class Spherical(QuaternionJoint):
    """Spherical joint: all rotations about a point, with a unit quaternion.

    q (4,): unit quaternion (w, x, y, z) of R_FM, or (x, y, z, w) with ``scalar_last``.
    v (3,): angular velocity of M relative to F in M's coordinates [rad/s], so S = (1; 0).  q̇ ≠ v: ε̇ = ½ ε ⊗ (0, ω).
    No configuration is singular.  [RBDA, table 4.1]
    """

    scalar_last: bool = False

    def __post_init__(self) -> None:
        self._set_attributes(q_names=quaternion_names(self.scalar_last))

    @classmethod
    def example(cls, rng: np.random.Generator) -> Spherical:
        return cls(scalar_last=bool(rng.random() < 0.5))

    def X(self, q: Scalars) -> Pose:
        return Pose(self._epsilon(q).rotation(), Vec3.zero())

    def S(self, q: Scalars) -> Subspace:
        return ALL_ROTATIONS

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return Motion.zero()

    def constraint_wrench_subspace(self, q: Scalars) -> tuple[Force, ...]:
        return ALL_FORCES

    def configuration_from_pose(self, X: Pose) -> list[Any]:
        return quaternion_coordinates(Quaternion.of(X.rotation), self.scalar_last)

    def velocity_from_twist(self, q: Scalars, V: Motion) -> list[Any]:
        return [*V.angular]

    def pose_residual(self, X: Pose) -> Motion:
        return Motion(Vec3.zero(), X.rotation.inv_act(X.translation))

    def reduced_inertia(self, inertia: Inertia) -> Inertia:
        """Return a body's inertia with its mass set to zero: a point mass at the centre of rotation does not move."""
        return Inertia(0.0, inertia.moment, inertia.about)


_AXES = Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)
ALL_ROTATIONS = Subspace(tuple(Motion(axis, Vec3.zero()) for axis in _AXES))
ALL_FORCES = tuple(Force(Vec3.zero(), axis) for axis in _AXES)
