"""Methods of `Robot` for mechanisms in independent velocities: explicit velocities and reduced dynamics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.kernels.compiled_method import computed_from
from linkwork.kernels.robot_base import Array, Axes, RobotBase, Wrenches
from linkwork.mechanisms.algorithms import ROWS as MECHANISMS
from linkwork.model.friction_laws import Friction

__all__ = ["ReducedMethods"]

computed = computed_from(MECHANISMS)


JointNames = str | Sequence[str]


class ReducedMethods(RobotBase):
    """Functions of a mechanism in some of its velocities, the others being functions of these.

    ``independent`` names numbers of v (`Robot.v_names`), a name or a list of them in any order: as many as there are
    degrees of freedom, such that constraints leave nothing else free; `minimal_coordinates` looks whether they do, and
    chooses some. Of ``q`` and ``v`` it is taken that they obey the constraints.
    """

    __slots__ = ()

    @computed
    def explicit_jacobian(
        self, q: Array, independent: JointNames, *, time: ArrayLike | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """K(q): velocities that obey all constraints are v = K u + k, u being the independent ones; k is 0 but where
        constraints depend on time.

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
        """K̇(q, v), the rate of K.  q (..., nq), v (..., nv) -> (..., nv, ni) [1/s, m/s]."""

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
        """K u + k: velocities that obey the constraints.  Of v the independent ones, u, are read.

        q (..., nq), v (..., nv) -> (..., nv) [rad/s, m/s].
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
        """K u̇ + K̇ u + k̇: accelerations that obey the constraints.  Of a the independent ones, u̇, are read.

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
        """A configuration near q0 that obeys the constraints, whose independent coordinates are those of q1 ⊕ φ.

        Coordinates are local ones around q1: of q1 and φ those of the others are not read.  q0, q1 (..., nq), phi
        (..., nv) -> q (..., nq) [rad, m, 1], error (...) [rad, m], margin (...) [1].  The error is the largest that is
        left of the constraints', the margin how well the independent coordinates tell the others: 0 where they do not.
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
        """H = Kᵀ M K, symmetric: what u moves.  q (..., nq) -> (..., ni, ni) [kg·m², kg·m, kg]."""

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
        """c = Kᵀ (h + M (K̇ u + k̇)): the forces on u at which it does not accelerate, H u̇ + c = Kᵀ τ.

        q (..., nq), v (..., nv) -> (..., ni) [N·m, N].
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
        """H u̇ + c: the forces on u under which it accelerates by u̇, the independent ones of a.

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
        """u̇ = H⁻¹ (Kᵀ τ − c): how the independent velocities accelerate under joint forces τ, of all joints.

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
        passive: bool = False,
        friction: Friction = "smooth",
        out: tuple[np.ndarray, ...] | None = None,
    ) -> Any:
        """What small changes of independent coordinates y, of independent velocities u and of joint forces make of a
        motion: ẏ and u̇ change by the blocks of A, and u̇ by ∂u̇/∂τ Δτ.

        ``coordinates`` names those whose changes tell all others', where constraints have an error: the independent
        ones, or more where velocities are constrained besides.  A change of a coordinate is a tangent vector's number.
        q (..., nq), v, tau (..., nv) -> dy_dy (..., nk, nk) [1/s], dy_du (..., nk, ni) [1], du_dy (..., ni, nk)
        [1/s²], du_du (..., ni, ni) [1/s], du_dtau (..., ni, nv) [1/(kg·m²), 1/kg].  `minimal_coordinates` puts them
        together.
        """
