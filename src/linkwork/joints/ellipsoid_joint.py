"""Ellipsoid joint: M rotates in all directions while its origin moves on an ellipsoid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork.joints.base.checks import positive_parameter
from linkwork.joints.base.joint_type import Scalars
from linkwork.joints.quaternion_joints import QuaternionJoint, quaternion_coordinates, quaternion_names
from linkwork.spatial import Motion, Pose, Quaternion, Rotation, Subspace, Vec3

__all__ = ["Ellipsoid"]


@public_constructor
@dataclass(frozen=True)
class Ellipsoid(QuaternionJoint):
    """Ellipsoid joint: M rotates in all directions, and its z axis determines its origin on an ellipsoid.

    q (4,): unit quaternion (w, x, y, z) of R_FM, or (x, y, z, w) with ``scalar_last``. v (3,): angular velocity of M
    relative to F in M's coordinates [rad/s].  q̇ ≠ v: ε̇ = ½ ε ⊗ (0, ω).

    With n = R e_z, M's z axis in F, M's origin is p = D n, D = diag(a, b, c): it lies on the ellipsoid of these
    semi-axes along the axes of F, and ṗ = D ṅ.  So S e_k = (e_k; G (e_k × e_z)) with G = Rᵀ D R.  For a sphere n is the
    surface's normal; for other ellipsoids the normal D⁻² p is along D⁻¹ n, and M's z axis deviates from it.  At zero
    rotation p = (0, 0, c), so no configuration's transform is the identity.  No configuration is singular. [Seth,
    Sherman, Eastman and Delp, Minimal formulation of joint motion for biomechanisms, Nonlinear Dynamics 62, 2010]
    """

    a: float  # semi-axes along the axes of F [m]
    b: float
    c: float
    scalar_last: bool = False

    def __post_init__(self) -> None:
        for name in ("a", "b", "c"):
            object.__setattr__(self, name, positive_parameter(getattr(self, name), "ellipsoid", name))
        self._set_attributes(q_names=quaternion_names(self.scalar_last))

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
        """Return the spatial acceleration at v̇ = 0: (0; G (ω × u) − ω × G u) with u = ω × e_z.

        At q, G u is the velocity of M's origin on the ellipsoid, in M's axes: G = Rᵀ D R with the rotation R from M to
        F and the semi-axes D. Its rate is Ġ = G [ω×] − [ω×] G.
        """
        R = self._epsilon(q).rotation()
        w = Vec3.of(v)
        u = Vec3(w.y, -w.x, 0.0)
        return Motion(Vec3.zero(), self._stretched(R, w.cross(u)) - w.cross(self._stretched(R, u)))

    def configuration_from_pose(self, X: Pose) -> list[Any]:
        """Return the configuration with the rotation of X; the position of X has no effect."""
        return quaternion_coordinates(Quaternion.of(X.rotation), self.scalar_last)

    def pose_residual(self, X: Pose) -> Motion:
        """Return (0; the offset of X's origin from where the joint places it for the rotation of X), in X's axes.

        The rotation is not part of the residual, since the joint can reach every rotation.
        """
        R = X.rotation
        origin = Vec3(R.x.z * self.a, R.y.z * self.b, R.z.z * self.c)
        return Motion(Vec3.zero(), R.inv_act(X.translation - origin))

    def _stretched(self, R: Rotation, u: Vec3) -> Vec3:
        """Return G u, with G = Rᵀ D R and D the semi-axes of the ellipsoid."""
        u_F = R @ u
        return R.inv_act(Vec3(u_F.x * self.a, u_F.y * self.b, u_F.z * self.c))
