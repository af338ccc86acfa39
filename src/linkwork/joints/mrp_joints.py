"""Spherical and floating joints with modified Rodrigues parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.joints.base.joint_type import JointType, Scalars
from linkwork.joints.quaternion_joints import ALL_FORCES, ALL_MOTIONS, ALL_ROTATIONS
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
from linkwork.spatial.quaternion import translation_of_twist, twist_of_translation

__all__ = ["FloatingMRP", "SphericalMRP"]


@dataclass(frozen=True)
class SphericalMRP(JointType):
    """Spherical joint with modified Rodrigues parameters.

    q (3,): modified Rodrigues parameters σ = tan(θ/4) times the axis, of R_FM.
    v (3,): angular velocity of M relative to F in M's coordinates [rad/s], so S = (1; 0).  q̇ ≠ v:
    σ̇ = ¼ ((1 − σ²) ω + 2 σ × ω + 2 σ (σ·ω)).  No finite σ is singular; only a full revolution is, where σ is infinite.
    ``canonical`` and ``integrate`` return σ or its shadow −σ/σ², the same rotation, whichever has |σ| ≤ 1; a motion
    integrated with ``integrate`` therefore never comes near the singularity.  [Schaub and Junkins, section 3.6]
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
        return ALL_ROTATIONS

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return Motion.zero()

    def constraint_wrench_subspace(self, q: Scalars) -> tuple[Force, ...]:
        return ALL_FORCES

    def configuration_from_pose(self, X: Pose) -> list[Any]:
        return [*MRP.of(Quaternion.of(X.rotation)).sigma]

    def velocity_from_twist(self, q: Scalars, V: Motion) -> list[Any]:
        return [*V.angular]

    def pose_residual(self, X: Pose) -> Motion:
        return Motion(Vec3.zero(), X.rotation.inv_act(X.translation))

    def q_dot(self, q: Scalars, v: Scalars) -> list[Any]:
        return [*MRP(Vec3.of(q)).rate(Vec3.of(v))]

    def velocity_from_rate(self, q: Scalars, q_dot: Scalars) -> list[Any]:
        return [*MRP(Vec3.of(q)).velocity(Vec3.of(q_dot))]

    def integrate(self, q: Scalars, phi: Scalars) -> list[Any]:
        return [*MRP.of(MRP(Vec3.of(q)).quaternion() @ Quaternion.exp(Vec3.of(phi))).sigma]

    def difference(self, q: Scalars, other: Scalars) -> list[Any]:
        target = MRP(Vec3.of(other)).quaternion()
        return [*(MRP(Vec3.of(q)).quaternion().conjugate() @ target).log()]

    def canonical(self, q: Scalars) -> list[Any]:
        return [*MRP(Vec3.of(q)).short().sigma]

    def random(
        self, rng: np.random.Generator, lower: Sequence[float], upper: Sequence[float], size: tuple[int, ...]
    ) -> np.ndarray:
        """Draw rotations uniformly from SO(3), whatever the bounds, with |σ| ≤ 1.

        ``rng`` draws ``size`` of them; ``lower`` and ``upper`` bound nothing.
        """
        super().random(rng, lower, upper, ())  # checks the sizes of the bounds
        return random_parameters(rng, size)

    def reduced_inertia(self, inertia: Inertia) -> Inertia:
        """Return a body's inertia with its mass set to zero: a point mass at the centre of rotation does not move."""
        return Inertia(0.0, inertia.moment, inertia.about)


def random_parameters(rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    """Draw parameters (*size, 3) of rotations uniformly from SO(3), with |σ| ≤ 1."""
    epsilon = rng.normal(size=(*size, 4))
    epsilon /= np.linalg.norm(epsilon, axis=-1, keepdims=True)
    return epsilon[..., 1:] / (1.0 + np.abs(epsilon[..., :1]))


@dataclass(frozen=True)
class FloatingMRP(JointType):
    """Floating joint (6-DoF) with modified Rodrigues parameters.

    q (6,): modified Rodrigues parameters σ = tan(θ/4) times the axis, of R_FM, then M's origin in F [m].
    v (6,): twist of M relative to F in M's coordinates, (ω [rad/s]; v [m/s]), so S = 1.  q̇ ≠ v:
    σ̇ = ¼ ((1 − σ²) ω + 2 σ × ω + 2 σ (σ·ω)),  ṗ = R v.  No finite σ is singular; only a full revolution is, where σ is
    infinite.  ``canonical`` and ``integrate`` return σ or its shadow −σ/σ², whichever has |σ| ≤ 1.  ``integrate`` is
    the exponential of SE(3).  [Schaub and Junkins, section 3.6]
    """

    nq, nv = 6, 6
    q_units = ("1", "1", "1", "m", "m", "m")
    v_units = ("rad/s", "rad/s", "rad/s", "m/s", "m/s", "m/s")
    q_names = ("sx", "sy", "sz", "x", "y", "z")
    v_names = ("wx", "wy", "wz", "vx", "vy", "vz")

    @classmethod
    def example(cls, rng: np.random.Generator) -> FloatingMRP:
        return cls()

    @classmethod
    def type_name(cls) -> str:
        return "floating (MRP)"

    def X(self, q: Scalars) -> Pose:
        return Pose(_sigma(q).rotation(), Vec3.of(q[3:6]))

    def S(self, q: Scalars) -> Subspace:
        return ALL_MOTIONS

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return Motion.zero()

    def configuration_from_pose(self, X: Pose) -> list[Any]:
        return [*MRP.of(Quaternion.of(X.rotation)).sigma, *X.translation]

    def velocity_from_twist(self, q: Scalars, V: Motion) -> list[Any]:
        return [*V.elements()]

    def pose_residual(self, X: Pose) -> Motion:
        return Motion.zero()

    def q_dot(self, q: Scalars, v: Scalars) -> list[Any]:
        sigma = _sigma(q)
        return [*sigma.rate(Vec3.of(v[0:3])), *(sigma.rotation() @ Vec3.of(v[3:6]))]

    def velocity_from_rate(self, q: Scalars, q_dot: Scalars) -> list[Any]:
        sigma = _sigma(q)
        return [*sigma.velocity(Vec3.of(q_dot[0:3])), *sigma.rotation().inv_act(Vec3.of(q_dot[3:6]))]

    def integrate(self, q: Scalars, phi: Scalars) -> list[Any]:
        epsilon, p = _sigma(q).quaternion(), Vec3.of(q[3:6])
        turn, v = Vec3.of(phi[0:3]), Vec3.of(phi[3:6])
        moved = p + epsilon.rotation() @ translation_of_twist(turn, v)
        return [*MRP.of(epsilon @ Quaternion.exp(turn)).sigma, *moved]

    def difference(self, q: Scalars, other: Scalars) -> list[Any]:
        epsilon, p = _sigma(q).quaternion(), Vec3.of(q[3:6])
        turn = (epsilon.conjugate() @ _sigma(other).quaternion()).log()
        between = epsilon.rotation().inv_act(Vec3.of(other[3:6]) - p)
        return [*turn, *twist_of_translation(turn, between)]

    def deflection(self, q_rest: Scalars, q: Scalars) -> list[Any]:
        """Return the rotation vector from ``q_rest`` to ``q``, and the displacement in the axes of M at rest."""
        epsilon, moved = _sigma(q_rest).quaternion(), Vec3.of(q[3:6]) - Vec3.of(q_rest[3:6])
        turn = (epsilon.conjugate() @ _sigma(q).quaternion()).log()
        return [*turn, *epsilon.rotation().inv_act(moved)]

    def canonical(self, q: Scalars) -> list[Any]:
        return [*_sigma(q).short().sigma, *q[3:6]]

    def random(
        self, rng: np.random.Generator, lower: Sequence[float], upper: Sequence[float], size: tuple[int, ...]
    ) -> np.ndarray:
        """Draw rotations uniformly from SO(3), with |σ| ≤ 1, and positions as `JointType.random` does.

        ``rng`` draws ``size`` of them; ``lower`` and ``upper`` bound the positions.
        """
        q = super().random(rng, lower, upper, size)
        q[..., 0:3] = random_parameters(rng, size)
        return q


def _sigma(q: Scalars) -> MRP:
    return MRP(Vec3.of(q[0:3]))
