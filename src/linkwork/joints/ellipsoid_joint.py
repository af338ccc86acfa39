"""The ellipsoid joint: M turns in every direction, and its origin slides over an ellipsoid as it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork.joints.base.checks import positive
from linkwork.joints.base.joint_type import Scalars
from linkwork.joints.quaternion_joints import QuaternionJoint, quaternion_names, quaternion_numbers
from linkwork.spatial import Motion, Pose, Quaternion, Rotation, Subspace, Vec3

__all__ = ["Ellipsoid"]


@public_constructor
@dataclass(frozen=True)
class Ellipsoid(QuaternionJoint):
    """q (4,): unit quaternion (w, x, y, z) of R_FM, or (x, y, z, w) with ``scalar_last``.

    v (3,): angular velocity of M relative to F in M's coordinates [rad/s].  q̇ ≠ v: ε̇ = ½ ε ⊗ (0, ω).

    With n = R e_z, M's z axis in F, M's origin is p = D n, D = diag(a, b, c): it lies on the ellipsoid of these
    semi-axes along the axes of F, and ṗ = D ṅ.  So S e_k = (e_k; G (e_k × e_z)) with G = Rᵀ D R.  For a sphere n is
    the surface's normal; for other ellipsoids the normal D⁻² p is along D⁻¹ n, and M's z axis leans from it.  At zero
    rotation p = (0, 0, c), so no configuration's transform is the identity.  No configuration is singular.
    [Seth, Sherman, Eastman and Delp, Minimal formulation of joint motion for biomechanisms,
    Nonlinear Dynamics 62, 2010]
    """

    a: float  # semi-axes along the axes of F [m]
    b: float
    c: float
    scalar_last: bool = False

    def __post_init__(self) -> None:
        for name in ("a", "b", "c"):
            object.__setattr__(self, name, positive(getattr(self, name), "ellipsoid", name))
        self._say(q_names=quaternion_names(self.scalar_last))

    @classmethod
    def example(cls, rng: np.random.Generator) -> Ellipsoid:
        a, b, c = rng.uniform(0.1, 0.5, 3).tolist()
        return cls(a, b, c)

    def X(self, q: Scalars) -> Pose:
        R = self._epsilon(q).rotation()
        return Pose(R, Vec3(R.x.z * self.a, R.y.z * self.b, R.z.z * self.c))

    def S(self, q: Scalars) -> Subspace:
        R = self._epsilon(q).rotation()
        x, y = self._stretched(R, Vec3(1.0, 0.0, 0.0)), self._stretched(R, Vec3(0.0, 1.0, 0.0))
        return Subspace(
            (
                Motion(Vec3(1.0, 0.0, 0.0), -y),
                Motion(Vec3(0.0, 1.0, 0.0), x),
                Motion(Vec3(0.0, 0.0, 1.0), Vec3.zero()),
            )
        )

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        """Ġ = G [ω×] − [ω×] G, so with u = ω × e_z: (0; G (ω × u) − ω × G u)."""
        R = self._epsilon(q).rotation()
        w = Vec3.of(v)
        u = Vec3(w.y, -w.x, 0.0)
        return Motion(Vec3.zero(), self._stretched(R, w.cross(u)) - w.cross(self._stretched(R, u)))

    def configuration_from_pose(self, X: Pose) -> list[Any]:
        """That of the same rotation."""
        return quaternion_numbers(Quaternion.of(X.rotation), self.scalar_last)

    def pose_residual(self, X: Pose) -> Motion:
        """The way from where the origin would be for X's rotation."""
        R = X.rotation
        on = Vec3(R.x.z * self.a, R.y.z * self.b, R.z.z * self.c)
        return Motion(Vec3.zero(), R.inv_act(X.translation - on))

    def _stretched(self, R: Rotation, u: Vec3) -> Vec3:
        """G u = Rᵀ D R u."""
        there = R @ u
        return R.inv_act(Vec3(there.x * self.a, there.y * self.b, there.z * self.c))
