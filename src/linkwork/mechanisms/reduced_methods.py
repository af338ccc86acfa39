"""Methods of `Robot` for velocity embedding, v = K u + k, and for dynamics in the independent velocities u."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.kernels.compiled_method import computed
from linkwork.kernels.robot_base import Array, Axes, RobotBase, Wrenches
from linkwork.model.friction_laws import Friction

__all__ = ["ReducedMethods"]


JointNames = str | Sequence[str]


class ReducedMethods(RobotBase):
    """Dynamics of a mechanism in its independent velocities u; the other velocities follow from the constraints.

    ``independent`` names components of v (`Robot.v_names`), one name or a list in any order.  Their number is the
    number of degrees of freedom, and with the constraints they determine all velocities; `minimal_coordinates` checks
    this, or chooses them.  ``q`` and ``v`` must satisfy the constraints.
    """

    __slots__ = ()

    @computed
    def explicit_jacobian(
        self, q: Array, independent: JointNames, *, time: ArrayLike | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute the matrix K(q) that maps independent velocities u to velocities v = K u + k of all joints.

        These satisfy all constraints.  k is 0 unless constraints depend on time.
        q (..., nq) -> (..., nv, ni) [1, m, 1/m].
        """

    @computed
    def explicit_jacobian_derivative(
        self,
        q: Array,
        v: Array,
        independent: JointNames,
        *,
        time: ArrayLike | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the time derivative K̇(q, v) of the matrix K of `explicit_jacobian`.

        q (..., nq), v (..., nv) -> (..., nv, ni) [1/s, m/s].
        """

    @computed
    def explicit_velocity(
        self,
        q: Array,
        v: Array,
        independent: JointNames,
        *,
        time: ArrayLike | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the velocity K u + k that satisfies the constraints; u are the independent components of ``v``.

        K is the `explicit_jacobian`.  q (..., nq), v (..., nv) -> (..., nv) [rad/s, m/s].
        """

    @computed
    def explicit_acceleration(
        self,
        q: Array,
        v: Array,
        a: Array,
        independent: JointNames,
        *,
        time: ArrayLike | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the acceleration that satisfies the constraints, from the independent components u̇ of ``a``.

        It is K u̇ + K̇ u + k̇, with v = K u + k of `explicit_velocity`.
        q (..., nq), v, a (..., nv) -> (..., nv) [rad/s², m/s²].
        """

    @computed
    def closed_configuration(
        self,
        q0: Array,
        q1: Array,
        phi: Array,
        independent: JointNames,
        *,
        time: ArrayLike | None = None,
        out: tuple[np.ndarray, ...] | None = None,
    ) -> Any:
        """Compute the configuration near q0 that satisfies the constraints, with selected coordinates of q1 ⊕ φ.

        ``independent`` names these coordinates. φ (``phi``) are tangent coordinates at q1; only the independent
        components of q1 and φ are used. q0, q1 (..., nq), phi (..., nv) -> q (..., nq) [rad, m, 1], error (...) [1],
        margin (...) [1]. ``error`` is the largest remaining constraint error, of lengths in characteristic lengths.
        ``margin`` is 0 where the independent coordinates do not determine the others. It is the least sine of the angle
        of a dependent coordinate's column of the constraint Jacobian to the span of the others.
        """

    @computed
    def reduced_mass_matrix(
        self,
        q: Array,
        independent: JointNames,
        *,
        time: ArrayLike | None = None,
        passive: bool = False,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the mass matrix H = Kᵀ M K of the independent velocities, symmetric, with K of `explicit_jacobian`.

        q (..., nq) -> (..., ni, ni) [kg·m², kg·m, kg].
        """

    @computed
    def reduced_bias_force(
        self,
        q: Array,
        v: Array,
        independent: JointNames,
        *,
        wrenches: Wrenches | None = None,
        expressed_in: Axes = "world",
        gravity: ArrayLike | None = None,
        time: ArrayLike | None = None,
        passive: bool = False,
        friction: Friction = "smooth",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the bias force c of the equation of motion H u̇ + c = Kᵀ τ of the independent velocities u.

        c = Kᵀ (h + M (K̇ u + k̇)), with K of `explicit_jacobian`, the mass matrix M and the bias force h of all
        joints. q (..., nq), v (..., nv) -> (..., ni) [N·m, N].
        """

    @computed
    def reduced_inverse_dynamics(
        self,
        q: Array,
        v: Array,
        a: Array,
        independent: JointNames,
        *,
        wrenches: Wrenches | None = None,
        expressed_in: Axes = "world",
        gravity: ArrayLike | None = None,
        time: ArrayLike | None = None,
        passive: bool = False,
        friction: Friction = "smooth",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the generalised forces H u̇ + c on the independent velocities u, for the acceleration u̇.

        u̇ are the independent components of ``a``.  H is the `reduced_mass_matrix` and c the `reduced_bias_force`.
        q (..., nq), v, a (..., nv) -> (..., ni) [N·m, N].
        """

    @computed
    def reduced_forward_dynamics(
        self,
        q: Array,
        v: Array,
        tau: Array,
        independent: JointNames,
        *,
        wrenches: Wrenches | None = None,
        expressed_in: Axes = "world",
        gravity: ArrayLike | None = None,
        time: ArrayLike | None = None,
        passive: bool = False,
        friction: Friction = "smooth",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the accelerations u̇ of the independent velocities under the joint forces τ of all joints.

        u̇ = H⁻¹ (Kᵀ τ − c), with H of `reduced_mass_matrix`, c of `reduced_bias_force` and K of `explicit_jacobian`.
        q (..., nq), v, tau (..., nv) -> (..., ni) [rad/s², m/s²].
        """

    @computed
    def reduced_linearize(
        self,
        q: Array,
        v: Array,
        tau: Array,
        independent: JointNames,
        coordinates: JointNames,
        *,
        wrenches: Wrenches | None = None,
        expressed_in: Axes = "world",
        gravity: ArrayLike | None = None,
        time: ArrayLike | None = None,
        passive: bool = True,
        friction: Friction = "smooth",
        out: tuple[np.ndarray, ...] | None = None,
    ) -> Any:
        """Compute the linearised reduced dynamics: the Jacobians of ẏ and u̇ by coordinates y, velocities u and τ.

        u are the ``independent`` velocities. ``coordinates`` names the independent coordinates y of the holonomic
        constraints: the ``independent`` ones, and more if there are also velocity constraints. A change of a
        coordinate is a component of a tangent vector. q (..., nq), v, tau (..., nv) -> dy_dy (..., nk, nk) [1/s],
        dy_du (..., nk, ni) [1], du_dy (..., ni, nk) [1/s²], du_du (..., ni, ni) [1/s], du_dtau (..., ni, nv)
        [1/(kg·m²), 1/kg]. `minimal_coordinates` combines them to A and B.
        """
