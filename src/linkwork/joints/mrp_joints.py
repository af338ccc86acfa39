"""The spherical joint with modified Rodrigues parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.joints.base.joint_type import JointType, Scalars
from linkwork.joints.quaternion_joints_spherical import ANY_FORCE, ANY_TURN
from linkwork.spatial import (
    MRP,
    Force,
    Inertia,
    Motion,
    Pose,
    Quaternion,
    Subspace,
    Vec3,
)

__all__ = ["SphericalMRP", "random_parameters"]


@dataclass(frozen=True)
class SphericalMRP(JointType):
    """q (3,): modified Rodrigues parameters σ = tan(θ/4) times the axis, of R_FM.

    v (3,): angular velocity of M relative to F in M's coordinates [rad/s], so S = (1; 0).  q̇ ≠ v:
    σ̇ = ¼ ((1 − σ²) ω + 2 σ × ω + 2 σ (σ·ω)).  No σ is singular, however large: only a
    whole turn is, where σ would be infinite.  ``principal`` and ``retract`` give σ or its shadow −σ/σ², the same
    rotation, whichever has |σ| ≤ 1, so a motion that is integrated with ``retract`` never comes near.
    [Schaub and Junkins, section 3.6]
    """

    nq, nv = 3, 3
    q_units, v_units = ("1",) * 3, ("rad/s",) * 3
    q_names, v_names = ("sx", "sy", "sz"), ("wx", "wy", "wz")

    @classmethod
    def example(cls, rng: np.random.Generator) -> SphericalMRP:
        return cls()

    @classmethod
    def type_name(cls) -> str:
        return "spherical (MRP)"

    def X(self, q: Scalars) -> Pose:
        return Pose(MRP(Vec3.of(q)).rotation(), Vec3.zero())

    def S(self, q: Scalars) -> Subspace:
        return ANY_TURN

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return Motion.zero()

    def constraint_wrench_subspace(self, q: Scalars) -> tuple[Force, ...]:
        return ANY_FORCE

    def q_of(self, X: Pose) -> list[Any]:
        return [*MRP.of(Quaternion.of(X.rotation)).sigma]

    def v_of_twist(self, q: Scalars, V: Motion) -> list[Any]:
        return [*V.angular]

    def gap(self, X: Pose) -> Motion:
        return Motion(Vec3.zero(), X.rotation.inv_act(X.translation))

    def q_dot(self, q: Scalars, v: Scalars) -> list[Any]:
        return [*MRP(Vec3.of(q)).rate(Vec3.of(v))]

    def v_of(self, q: Scalars, q_dot: Scalars) -> list[Any]:
        return [*MRP(Vec3.of(q)).velocity(Vec3.of(q_dot))]

    def retract(self, q: Scalars, phi: Scalars) -> list[Any]:
        return [*MRP.of(MRP(Vec3.of(q)).quaternion() @ Quaternion.exp(Vec3.of(phi))).sigma]

    def local(self, q: Scalars, other: Scalars) -> list[Any]:
        there = MRP(Vec3.of(other)).quaternion()
        return [*(MRP(Vec3.of(q)).quaternion().conjugate() @ there).log()]

    def principal(self, q: Scalars) -> list[Any]:
        return [*MRP(Vec3.of(q)).short().sigma]

    def random(
        self, rng: np.random.Generator, lower: Sequence[float], upper: Sequence[float], size: tuple[int, ...]
    ) -> np.ndarray:
        """Rotations drawn evenly from SO(3), whatever the bounds, with |σ| ≤ 1."""
        super().random(rng, lower, upper, ())  # they must be as many
        return random_parameters(rng, size)

    def felt(self, inertia: Inertia) -> Inertia:
        """Without the mass at the centre, which does not move."""
        return Inertia(0.0, inertia.moment, inertia.about)


def random_parameters(rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    """Parameters (*size, 3) of rotations drawn evenly from SO(3), with |σ| ≤ 1."""
    epsilon = rng.normal(size=(*size, 4))
    epsilon /= np.linalg.norm(epsilon, axis=-1, keepdims=True)
    return epsilon[..., 1:] / (1.0 + np.abs(epsilon[..., :1]))
