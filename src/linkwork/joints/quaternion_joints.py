"""What joints that turn in every direction have in common, where a unit quaternion says how far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.joints.base.joint_type import JointType, Scalars
from linkwork.spatial import Quaternion, Vec3

__all__ = ["QuaternionJoint", "quaternion_names", "quaternion_numbers", "quaternion_of"]


class QuaternionJoint(JointType):
    """q (4,): unit quaternion of R_FM.  v (3,): angular velocity of M relative to F in M's coordinates [rad/s].

    The quaternion is (w, x, y, z), or (x, y, z, w) with ``scalar_last``.  q̇ ≠ v: ε̇ = ½ ε ⊗ (0, ω).  ``retract`` is
    the exponential of SO(3).  No configuration is singular; ε and −ε are the same rotation.
    """

    scalar_last: bool

    nq, nv = 4, 3
    q_units, v_units = ("1",) * 4, ("rad/s",) * 3
    v_names = ("wx", "wy", "wz")
    unit_length = ((0, 1, 2, 3),)

    def q_dot(self, q: Scalars, v: Scalars) -> list[Any]:
        rate = self._epsilon(q) @ Quaternion(0.0, *v)
        return [0.5 * x for x in quaternion_numbers(rate, self.scalar_last)]

    def v_of(self, q: Scalars, q_dot: Scalars) -> list[Any]:
        return [*((self._epsilon(q).conjugate() @ self._epsilon(q_dot)).vector * 2.0)]

    def retract(self, q: Scalars, phi: Scalars) -> list[Any]:
        turned = self._epsilon(q) @ Quaternion.exp(Vec3.of(phi))
        return quaternion_numbers(turned.normalized(), self.scalar_last)

    def local(self, q: Scalars, other: Scalars) -> list[Any]:
        return [*(self._epsilon(q).conjugate() @ self._epsilon(other)).log()]

    def zero(self) -> list[float]:
        return quaternion_numbers(Quaternion(1.0, 0.0, 0.0, 0.0), self.scalar_last)

    def normalize(self, q: Scalars) -> list[Any]:
        return quaternion_numbers(self._epsilon(q).normalized(), self.scalar_last)

    def random(
        self, rng: np.random.Generator, lower: Sequence[float], upper: Sequence[float], size: tuple[int, ...]
    ) -> np.ndarray:
        """Rotations drawn evenly from SO(3), whatever the bounds."""
        super().random(rng, lower, upper, ())  # they must be as many
        epsilon = rng.normal(size=(*size, 4))
        unit: np.ndarray = epsilon / np.linalg.norm(epsilon, axis=-1, keepdims=True)
        return unit

    def _epsilon(self, q: Scalars) -> Quaternion:
        return quaternion_of(q, self.scalar_last)


def quaternion_of(q: Scalars, scalar_last: bool) -> Quaternion:
    """The quaternion of four numbers."""
    return Quaternion(q[3], q[0], q[1], q[2]) if scalar_last else Quaternion(*q)


def quaternion_numbers(epsilon: Quaternion, scalar_last: bool) -> list[Any]:
    """A quaternion's four numbers."""
    w, x, y, z = epsilon.elements()
    return [x, y, z, w] if scalar_last else [w, x, y, z]


def quaternion_names(scalar_last: bool) -> tuple[str, ...]:
    return ("qx", "qy", "qz", "qw") if scalar_last else ("qw", "qx", "qy", "qz")
