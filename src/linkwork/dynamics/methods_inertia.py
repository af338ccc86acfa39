"""The mass matrix of a robot in other forms, and the Coriolis matrix that belongs to it: a documented method each."""

from __future__ import annotations

import numpy as np

from linkwork.kernels.compiled_method import computed
from linkwork.kernels.robot_base import Array, RobotBase

__all__ = ["InertiaMethods"]


class InertiaMethods(RobotBase):
    """The inverse of the mass matrix, products with it, and the Coriolis matrix.

    With ``passive=True`` the joints' armature is on the diagonal of the mass matrix.
    """

    __slots__ = ()

    @computed
    def mass_matrix_inverse(self, q: Array, *, passive: bool = False, out: np.ndarray | None = None) -> np.ndarray:
        """M(q)⁻¹, symmetric to the bit, by factors that are as sparse as the robot's tree.

        q (..., nq) -> (..., nv, nv) [1/(kg·m²), 1/(kg·m), 1/kg].  To multiply by it once, `mass_matrix_solve` takes
        fewer operations.  Raises SingularInertiaError where a joint moves no inertia; where only some configurations
        make M singular, the result is not finite there.
        """

    @computed
    def mass_matrix_solve(
        self, q: Array, x: Array, *, passive: bool = False, out: np.ndarray | None = None
    ) -> np.ndarray:
        """M(q)⁻¹ x without M or its inverse: the accelerations under joint forces x, at rest without gravity.

        q (..., nq), x (..., nv) -> (..., nv) [rad/s², m/s²], by articulated bodies, in a number of operations that
        grows with the number of bodies.  Raises SingularInertiaError as `mass_matrix_inverse` does.
        """

    @computed
    def coriolis_matrix(self, q: Array, v: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """C(q, v) with C v = h(q, v) − g(q) and Ṁ = C + Cᵀ, so that Ṁ − 2C is antisymmetric.

        q (..., nq), v (..., nv) -> (..., nv, nv) [N·m·s, N·s], linear in v, by composite bodies.  Where q̇ = v its
        elements are Σ Γ_ijk v_k with the Christoffel symbols Γ of M, so that C(q, v) w = C(q, w) v too.
        """
