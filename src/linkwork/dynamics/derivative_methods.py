"""Methods of `Robot` for derivatives of kinematics and dynamics."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from linkwork.kernels.compiled_method import computed
from linkwork.kernels.robot_base import Array, Axes, RobotBase, Wrenches
from linkwork.model.friction_laws import Friction

__all__ = ["DerivativeMethods"]


class DerivativeMethods(RobotBase):
    """Methods for derivatives with respect to configuration, velocity, acceleration and forces.

    Derivatives with respect to a configuration are in its tangent space: column k of ∂f/∂q is d/dt f(integrate(q, t
    e_k)) at t = 0. Each derivative is an array of its own; its last axis belongs to the variable.  With ``passive``
    armature, damping, springs and dry friction are part of the function; ``friction`` is a law that does not stick,
    "smooth", "stribeck" or a `FrictionLaw` of your own.
    """

    __slots__ = ()

    # -- frames

    @computed
    def pose_derivatives(
        self, q: Array, frame: str, *, relative_to: str = "world", out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute ∂X/∂q of the pose X of frame B in A: element [i, j, k] is ∂X_ij/∂q_k.

        q (..., nq) -> (..., 4, 4, nv) [1, m].  A is ``relative_to``.  `jacobian` has the same derivatives as twists.
        """

    @computed
    def twist_derivatives(
        self,
        q: Array,
        v: Array,
        frame: str,
        *,
        relative_to: str = "world",
        expressed_in: str = "world",
        point: str | None = None,
        out: tuple[np.ndarray, ...] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute ∂V/∂q and ∂V/∂v of the `twist` V of a frame relative to another; ∂V/∂v is `jacobian`.

        q (..., nq), v (..., nv) -> dV_dq (..., 6, nv) [1/s, m/s], dV_dv (..., 6, nv) [1, m].  The other frame is
        ``relative_to``; V is at ``point``, by default the frame's origin, and in the axes of ``expressed_in``.
        """

    @computed
    def acceleration_derivatives(
        self,
        q: Array,
        v: Array,
        a: Array,
        frame: str,
        *,
        relative_to: str = "world",
        expressed_in: str = "world",
        point: str | None = None,
        out: tuple[np.ndarray, ...] | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute ∂A/∂q, ∂A/∂v and ∂A/∂a of the `acceleration` A = (ω̇; v̇) of a frame relative to another.

        q (..., nq), v, a (..., nv) -> dA_dq (..., 6, nv) [1/s², m/s²], dA_dv (..., 6, nv) [1/s, m/s], dA_da (..., 6,
        nv) [1, m]. The other frame is ``relative_to``; A is at ``point``, by default the frame's origin, and in the
        axes of ``expressed_in``.
        """

    # -- the robot as a whole

    @computed
    def center_of_mass_velocity_derivatives(
        self,
        q: Array,
        v: Array,
        *,
        subtree: str | None = None,
        relative_to: str = "world",
        expressed_in: str = "world",
        out: tuple[np.ndarray, ...] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute ∂ċ/∂q and ∂ċ/∂v of `center_of_mass_velocity`; ∂ċ/∂v is `center_of_mass_jacobian`.

        q (..., nq), v (..., nv) -> dc_dot_dq (..., 3, nv) [1/s, m/s], dc_dot_dv (..., 3, nv) [1, m].
        """

    @computed
    def center_of_mass_acceleration_derivatives(
        self,
        q: Array,
        v: Array,
        a: Array,
        *,
        subtree: str | None = None,
        relative_to: str = "world",
        expressed_in: str = "world",
        out: tuple[np.ndarray, ...] | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute ∂c̈/∂q, ∂c̈/∂v and ∂c̈/∂a of `center_of_mass_acceleration`.

        q (..., nq), v, a (..., nv) -> dc_ddot_dq (..., 3, nv) [1/s², m/s²], dc_ddot_dv (..., 3, nv) [1/s, m/s],
        dc_ddot_da (..., 3, nv) [1, m].
        """

    @computed
    def kinetic_energy_derivatives(
        self, q: Array, v: Array, *, passive: bool = False, out: tuple[np.ndarray, ...] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the derivatives ∂T/∂q and ∂T/∂v = M v of the kinetic energy T, which `kinetic_energy` computes.

        q (..., nq), v (..., nv) -> dT_dq (..., nv) [N·m, N], dT_dv (..., nv) [kg·m²/s, kg·m/s].
        """

    @computed
    def potential_energy_derivatives(
        self, q: Array, *, gravity: ArrayLike | None = None, passive: bool = False, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute the gradient ∂U/∂q of the potential energy U, which `potential_energy` computes.

        q (..., nq) -> (..., nv) [N·m, N]. Without ``passive`` it equals `gravity_force`. With ``passive`` it also
        contains the springs of joints that close loops, which `gravity_force` does not.
        """

    @computed
    def centroidal_momentum_derivatives(
        self, q: Array, v: Array, *, out: tuple[np.ndarray, ...] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute ∂h/∂q and ∂h/∂v of `centroidal_momentum`; ∂h/∂v is `centroidal_momentum_matrix`.

        q (..., nq), v (..., nv) -> dh_dq (..., 6, nv) [kg·m²/s, kg·m/s, kg/s], dh_dv (..., 6, nv) [kg·m², kg·m, kg].
        """

    @computed
    def centroidal_momentum_rate_derivatives(
        self, q: Array, v: Array, a: Array, *, out: tuple[np.ndarray, ...] | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute ∂ḣ/∂q, ∂ḣ/∂v and ∂ḣ/∂a of `centroidal_momentum_rate`.

        q (..., nq), v, a (..., nv) -> dh_dot_dq (..., 6, nv) [N·m, N, N/m], dh_dot_dv (..., 6, nv) [kg·m²/s, kg·m/s,
        kg/s], dh_dot_da (..., 6, nv) [kg·m², kg·m, kg].
        """

    # -- dynamics

    @computed
    def inverse_dynamics_derivatives(
        self,
        q: Array,
        v: Array,
        a: Array,
        *,
        wrenches: Wrenches | None = None,
        expressed_in: Axes = "world",
        gravity: ArrayLike | None = None,
        passive: bool = False,
        friction: Friction = "smooth",
        out: tuple[np.ndarray, ...] | None = None,
    ) -> Any:
        """Compute ∂τ/∂q, ∂τ/∂v and ∂τ/∂a = M(q) of the joint forces τ of `inverse_dynamics`.

        q (..., nq), v, a (..., nv) -> dtau_dq (..., nv, nv) [N·m/rad, N/m], dtau_dv (..., nv, nv) [N·m·s/rad, N·s/m],
        dtau_da (..., nv, nv) [kg·m², kg], element [i, k] = ∂τ_i/∂x_k.  ``wrenches`` are constant in the axes that they
        are expressed in; the derivative with respect to a wrench itself is −Jᵀ (`jacobian`).
        """

    @computed
    def forward_dynamics_derivatives(
        self,
        q: Array,
        v: Array,
        tau: Array,
        *,
        wrenches: Wrenches | None = None,
        expressed_in: Axes = "world",
        gravity: ArrayLike | None = None,
        passive: bool = False,
        friction: Friction = "smooth",
        out: tuple[np.ndarray, ...] | None = None,
    ) -> Any:
        """Compute ∂a/∂q, ∂a/∂v and ∂a/∂τ of the accelerations of `forward_dynamics`.

        ∂a/∂q = −M⁻¹ ∂τ/∂q, ∂a/∂v = −M⁻¹ ∂τ/∂v and ∂a/∂τ = M⁻¹.
        q (..., nq), v, tau (..., nv) -> da_dq (..., nv, nv) [1/s², m/(rad·s²)], da_dv (..., nv, nv) [1/s],
        da_dtau (..., nv, nv) [1/(kg·m²), 1/(kg·m), 1/kg], element [i, k] = ∂a_i/∂x_k; and for each of ``wrenches`` one
        more, M⁻¹ Jᵀ (..., nv, 6), such as ``da_dwrench_hand``.  Wrenches are constant in the axes that they are
        expressed in.  Raises SingularInertiaError as `forward_dynamics` does.
        """

    # -- second order

    @computed
    def inverse_dynamics_hessian(
        self,
        q: Array,
        v: Array,
        a: Array,
        weights: Array,
        *,
        wrenches: Wrenches | None = None,
        expressed_in: Axes = "world",
        gravity: ArrayLike | None = None,
        passive: bool = False,
        friction: Friction = "smooth",
        out: tuple[np.ndarray, ...] | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Compute the second derivatives of φ = Σ weights_i τ_i, a weighted sum of forces of `inverse_dynamics`.

        q (..., nq), v, a, weights (..., nv) -> d2_dq_dq (..., nv, nv) [N·m, N], d2_dq_dv (..., nv, nv) [N·m·s, N·s],
        d2_dv_dv (..., nv, nv) [kg·m²], d2_dq_da (..., nv, nv) [kg·m², kg·m], for weights without a unit.  Element
        [j, k] is ∂²φ/∂x_j∂y_k; the other second derivatives are zero.  d2_dq_dq is the symmetric one, ∂²/∂s∂t of φ at
        integrate(q, s e_j + t e_k).
        """

    @computed
    def inverse_dynamics_second_derivatives(
        self,
        q: Array,
        v: Array,
        a: Array,
        *,
        wrenches: Wrenches | None = None,
        expressed_in: Axes = "world",
        gravity: ArrayLike | None = None,
        passive: bool = False,
        friction: Friction = "smooth",
        out: tuple[np.ndarray, ...] | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Compute the second derivatives of every joint force of `inverse_dynamics`: [i, j, k] is ∂²τ_i/∂x_j∂y_k.

        q (..., nq), v, a (..., nv) -> d2tau_dq_dq (..., nv, nv, nv) [N·m, N], d2tau_dq_dv (..., nv, nv, nv)
        [N·m·s, N·s], d2tau_dv_dv (..., nv, nv, nv) [kg·m²], d2tau_dq_da (..., nv, nv, nv) [kg·m², kg·m].  For a
        weighted sum of forces `inverse_dynamics_hessian` takes fewer operations.
        """

    @computed
    def forward_dynamics_hessian(
        self,
        q: Array,
        v: Array,
        tau: Array,
        weights: Array,
        *,
        wrenches: Wrenches | None = None,
        expressed_in: Axes = "world",
        gravity: ArrayLike | None = None,
        passive: bool = False,
        friction: Friction = "smooth",
        out: tuple[np.ndarray, ...] | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Compute the second derivatives of φ = Σ weights_i a_i, a weighted sum of accelerations.

        q (..., nq), v, tau, weights (..., nv) -> d2_dq_dq (..., nv, nv) [1/s²], d2_dq_dv (..., nv, nv) [1/s], d2_dv_dv
        (..., nv, nv) [1], d2_dq_dtau (..., nv, nv) [1/(kg·m²), 1/(kg·m)], for weights without a unit.  a are the
        accelerations of `forward_dynamics`.  Element [j, k] is ∂²φ/∂x_j∂y_k; the other second derivatives are zero.
        d2_dq_dq is symmetric, as of `inverse_dynamics_hessian`.  Raises SingularInertiaError like `forward_dynamics`.
        If constraint rows are redundant, the derivatives hold along motions that the constraints allow.
        """

    @computed
    def forward_dynamics_second_derivatives(
        self,
        q: Array,
        v: Array,
        tau: Array,
        *,
        wrenches: Wrenches | None = None,
        expressed_in: Axes = "world",
        gravity: ArrayLike | None = None,
        passive: bool = False,
        friction: Friction = "smooth",
        out: tuple[np.ndarray, ...] | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Compute the second derivatives of every acceleration of `forward_dynamics`: [i, j, k] is ∂²a_i/∂x_j∂y_k.

        q (..., nq), v, tau (..., nv) -> d2a_dq_dq (..., nv, nv, nv) [1/s²], d2a_dq_dv (..., nv, nv, nv) [1/s],
        d2a_dv_dv (..., nv, nv, nv) [1], d2a_dq_dtau (..., nv, nv, nv) [1/(kg·m²), 1/(kg·m)].  For a
        weighted sum of accelerations `forward_dynamics_hessian` takes fewer operations.  Raises SingularInertiaError as
        `forward_dynamics` does.  If constraint rows are redundant, the derivatives hold along motions that the
        constraints allow.
        """

    # -- motions

    @computed
    def linearize(
        self,
        q: Array,
        v: Array,
        tau: Array,
        *,
        dt: ArrayLike | None = None,
        integrator: Literal["semi_implicit_euler", "euler", "runge_kutta_4"] = "semi_implicit_euler",
        wrenches: Wrenches | None = None,
        expressed_in: Axes = "world",
        gravity: ArrayLike | None = None,
        passive: bool = True,
        friction: Friction = "smooth",
        out: tuple[np.ndarray, ...] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute A and B of the linear system of small changes Δx of the state x = (q, v) and Δτ of joint forces.

        q (..., nq), v, tau (..., nv) -> A (..., 2nv, 2nv) [1, s, 1/s, 1/s²], B (..., 2nv, nv) [1/(kg·m²), 1/kg].
        The first nv elements of Δx are a tangent vector δ of q, which changes to ``integrate(q, δ)``.  Without ``dt``
        Δẋ = A Δx + B Δτ; the block of A by which δ̇ depends on δ is zero, except for joints whose velocity is that of a
        moving frame: −V × of a floating joint.  With ``dt`` (...) [s] Δx⁺ = A Δx + B Δτ, where x⁺ is x after a step of
        the ``integrator``: "euler" (q⁺ = integrate(q, h v), v⁺ = v + h a), "semi_implicit_euler" (v⁺ first, then
        q⁺ = integrate(q, h v⁺)) or "runge_kutta_4", in local coordinates around q.  Passive forces
        count by default, as in `simulate`; the slope of dry friction at rest is f/v_s with the law "smooth".  Raises
        SingularInertiaError as `forward_dynamics` does, and ValueError for an integrator without ``dt``.
        """

    @computed
    def integrate_derivatives(
        self, q: Array, v: Array, *, out: tuple[np.ndarray, ...] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the derivatives of q⁺ = `integrate` (q, v) with respect to q and v, in tangent spaces.

        A change of q is a tangent vector at q, and the change of q⁺ a tangent vector at q⁺.
        q (..., nq), v (..., nv) -> dq_dq (..., nv, nv) [1, m, 1/m], dq_dv (..., nv, nv) [1, m, 1/m].  Both are
        the identity for joints with q̇ = v.  For a floating joint they are the adjoint of the inverse motion, and the
        right Jacobian of the exponential.
        """
