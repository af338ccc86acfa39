"""The floating joint: every motion, with a quaternion for the rotation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork.joints.base.joint_type import JointType, Scalars
from linkwork.joints.quaternion_joints import quaternion_names, quaternion_numbers, quaternion_of
from linkwork.spatial import Motion, Pose, Quaternion, Subspace, Vec3
from linkwork.spatial.quaternion import translation_of_twist, twist_of_translation

__all__ = ["ANY_MOTION", "Floating"]


@public_constructor
@dataclass(frozen=True)
class Floating(JointType):
    """q (7,): unit quaternion (w, x, y, z) of R_FM, or (x, y, z, w) with ``scalar_last``; then M's origin in F [m].

    v (6,): twist of M relative to F in M's coordinates, (ω [rad/s]; v [m/s]), so S = 1.  q̇ ≠ v:
    ε̇ = ½ ε ⊗ (0, ω),  ṗ = R v.  ``retract`` is the exponential of SE(3): a twist held for unit time.
    """

    scalar_last: bool = False

    nq, nv = 7, 6
    q_units = ("1", "1", "1", "1", "m", "m", "m")
    v_units = ("rad/s", "rad/s", "rad/s", "m/s", "m/s", "m/s")
    v_names = ("wx", "wy", "wz", "vx", "vy", "vz")
    unit_length = ((0, 1, 2, 3),)

    def __post_init__(self) -> None:
        self._say(q_names=(*quaternion_names(self.scalar_last), "x", "y", "z"))

    @classmethod
    def example(cls, rng: np.random.Generator) -> Floating:
        return cls(scalar_last=bool(rng.random() < 0.5))

    def X(self, q: Scalars) -> Pose:
        return Pose(self._epsilon(q).rotation(), Vec3.of(q[4:7]))

    def S(self, q: Scalars) -> Subspace:
        return ANY_MOTION

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return Motion.zero()

    def q_of(self, X: Pose) -> list[Any]:
        return [*self._numbers(Quaternion.of(X.rotation)), *X.translation]

    def v_of_twist(self, q: Scalars, V: Motion) -> list[Any]:
        return [*V.elements()]

    def gap(self, X: Pose) -> Motion:
        return Motion.zero()

    def q_dot(self, q: Scalars, v: Scalars) -> list[Any]:
        epsilon = self._epsilon(q)
        rate = epsilon @ Quaternion(0.0, *v[0:3])
        return [*(0.5 * x for x in self._numbers(rate)), *(epsilon.rotation() @ Vec3.of(v[3:6]))]

    def v_of(self, q: Scalars, q_dot: Scalars) -> list[Any]:
        epsilon = self._epsilon(q)
        omega = (epsilon.conjugate() @ self._epsilon(q_dot)).vector * 2.0
        return [*omega, *epsilon.rotation().inv_act(Vec3.of(q_dot[4:7]))]

    def retract(self, q: Scalars, phi: Scalars) -> list[Any]:
        epsilon, p = self._epsilon(q), Vec3.of(q[4:7])
        turn, v = Vec3.of(phi[0:3]), Vec3.of(phi[3:6])
        turned = epsilon @ Quaternion.exp(turn)
        moved = p + epsilon.rotation() @ translation_of_twist(turn, v)
        return [*self._numbers(turned.normalized()), *moved]

    def local(self, q: Scalars, other: Scalars) -> list[Any]:
        epsilon, p = self._epsilon(q), Vec3.of(q[4:7])
        turn = (epsilon.conjugate() @ self._epsilon(other)).log()
        between = epsilon.rotation().inv_act(Vec3.of(other[4:7]) - p)
        return [*turn, *twist_of_translation(turn, between)]

    def zero(self) -> list[float]:
        return [*self._numbers(Quaternion(1.0, 0.0, 0.0, 0.0)), 0.0, 0.0, 0.0]

    def normalize(self, q: Scalars) -> list[Any]:
        return [*self._numbers(self._epsilon(q).normalized()), *q[4:7]]

    def random(
        self, rng: np.random.Generator, lower: Sequence[float], upper: Sequence[float], size: tuple[int, ...]
    ) -> np.ndarray:
        """Rotations drawn evenly from SO(3), positions as for any joint."""
        q = super().random(rng, lower, upper, size)
        epsilon = rng.normal(size=(*size, 4))
        q[..., 0:4] = epsilon / np.linalg.norm(epsilon, axis=-1, keepdims=True)
        return q

    def _epsilon(self, q: Scalars) -> Quaternion:
        return quaternion_of(q[0:4], self.scalar_last)

    def _numbers(self, epsilon: Quaternion) -> list[Any]:
        return quaternion_numbers(epsilon, self.scalar_last)


ANY_MOTION = Subspace(tuple(Motion.of([1.0 if i == k else 0.0 for i in range(6)]) for k in range(6)))
