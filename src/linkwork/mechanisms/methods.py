"""Methods of `Robot` for constrained dynamics, constraint forces and equilibrium."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from linkwork import mechanisms
from linkwork._util.validation import finite_number
from linkwork.dynamics.methods import with_constraint_forces
from linkwork.errors import SingularInertiaError
from linkwork.kernels.compiled_method import computed, computed_through
from linkwork.kernels.robot_arguments import read_configuration
from linkwork.kernels.robot_base import Array, Axes, RobotBase, Wrenches
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.mechanisms.induced_motions import can_be_induced
from linkwork.model.composite_body import without_inertias
from linkwork.model.friction_laws import Friction
from linkwork.spatial import Inertia, Symmetric3, Vec3

__all__ = ["ConstrainedDynamicsMethods"]


Names = str | Sequence[str] | None


class ConstrainedDynamicsMethods(RobotBase):
    """Dynamics of robots with constraints.

    M a + h = τ + Gᵀ λ and G a + γ = 0, with the constraint forces λ (nc), one for each row of the constraint Jacobian
    G.  For a robot without constraints nc = 0.
    """

    __slots__ = ()

    @computed
    def constrained_forward_dynamics_derivatives(
        self,
        q: Array,
        v: Array,
        tau: Array,
        *,
        wrenches: Wrenches | None = None,
        expressed_in: Axes = "world",
        gravity: ArrayLike | None = None,
        time: ArrayLike | None = None,
        passive: bool = False,
        friction: Friction = "smooth",
        out: tuple[np.ndarray, ...] | None = None,
    ) -> Any:
        """Compute the derivatives of `constrained_forward_dynamics` by q (in the tangent space), v and τ.

        The results of that function are the accelerations a and the constraint forces λ.  q (..., nq), v, tau (..., nv)
        -> da_dq (..., nv, nv) [1/s², m/(rad·s²)], da_dv (..., nv, nv) [1/s], da_dtau (..., nv, nv) [1/(kg·m²),
        1/(kg·m), 1/kg], dforces_dq (..., nc, nv) [N·m, N, N/m], dforces_dv (..., nc, nv) [N·m·s, N·s, N·s/m],
        dforces_dtau (..., nc, nv) [1, m, 1/m]; for each of ``wrenches`` also ∂a/∂w (..., nv, 6), for example
        ``da_dwrench_hand``.  Wrenches are constant in the axes in which they are expressed.  If rows of the constraint
        Jacobian G are redundant in all configurations, ∂a and Gᵀ ∂λ are exact, but ∂λ is one of many.  ``friction`` is
        a law that does not stick.  Raises SingularInertiaError as `forward_dynamics` does.
        """

    @computed_through(can_be_induced)
    def constrained_inverse_dynamics(
        self,
        q: Array,
        v: Array,
        a: Array,
        *,
        actuators: Names = None,
        weights: ArrayLike | None = None,
        wrenches: Wrenches | None = None,
        expressed_in: Axes = "world",
        gravity: ArrayLike | None = None,
        time: ArrayLike | None = None,
        loop_forces: ArrayLike | None = None,
        passive: bool = False,
        friction: Friction = "smooth",
        out: tuple[np.ndarray, ...] | None = None,
    ) -> Any:
        """Compute actuator forces τ and constraint forces λ for the acceleration a: M a + h = τ + Gᵀ λ.

        M is the mass matrix, h the bias force and G the constraint Jacobian. ``actuators`` names the actuated joints;
        the default is all joints except those of six degrees of freedom, such as floating bases. If several τ are
        possible, the result minimises Σ weights_k τ_k², with ``weights`` (..., nv), 1 by default. If rows of G are
        redundant, λ has minimum norm. ``loop_forces`` (..., nl) [N·m, N] are known forces of motors in the joints that
        close loops. q (..., nq), v, a (..., nv) -> tau (..., nv) [N·m, N], constraint_forces (..., nc) [N, N·m],
        missing (..., nv) [N·m, N]. τ is 0 in joints without actuator. ``missing`` is 0 unless an error is raised.

        Raises UnderactuatedError (a ValueError), which names the motions that no actuator can induce, if a requires
        such a motion.  At a dead centre, τ is the limit beside it along v, or along a at rest; λ is NaN if it grows
        beyond all bounds there.  In a batch, dead centres without such a limit have NaN, with a ConfigurationWarning.
        """

    @computed
    def constrained_inverse_dynamics_derivatives(
        self,
        q: Array,
        v: Array,
        a: Array,
        *,
        actuators: Names = None,
        weights: ArrayLike | None = None,
        wrenches: Wrenches | None = None,
        expressed_in: Axes = "world",
        gravity: ArrayLike | None = None,
        time: ArrayLike | None = None,
        passive: bool = False,
        friction: Friction = "smooth",
        out: tuple[np.ndarray, ...] | None = None,
    ) -> Any:
        """Compute the derivatives of `constrained_inverse_dynamics` by q (in the tangent space), v and a.

        The results of that function are the actuator forces τ and the constraint forces λ.  q (..., nq), v, a (..., nv)
        -> dtau_dq (..., nv, nv) [N·m/rad, N/m], dtau_dv (..., nv, nv) [N·m·s/rad, N·s/m], dtau_da (..., nv, nv) [kg·m²,
        kg], dforces_dq (..., nc, nv) [N·m, N, N/m], dforces_dv (..., nc, nv) [N·m·s, N·s, N·s/m], dforces_da (..., nc,
        nv) [kg·m, kg].  They are exact if the actuators can induce a in this state and nearby, which is not checked
        here, but in `constrained_inverse_dynamics`.  If rows of the constraint Jacobian G are redundant, Gᵀ ∂λ is
        exact, but ∂λ is one of many.  ``friction`` is a law that does not stick.
        """

    @computed
    def constrained_impact(
        self,
        q: Array,
        v: Array,
        *,
        restitution: ArrayLike | None = None,
        impulses: Wrenches | None = None,
        expressed_in: Axes = "world",
        time: ArrayLike | None = None,
        passive: bool = False,
        out: tuple[np.ndarray, ...] | None = None,
    ) -> Any:
        """Compute the velocity v⁺ after an impact with the constraints, and the constraint impulses Λ.

        M (v⁺ − v) = Gᵀ Λ + Σ Jᵀ p,      G v⁺ + σ = −e (G v + σ),      e = ``restitution`` (...) [1], 0 by default.

        M is the mass matrix, and G v + σ = 0 are the constraints on velocity level. ``impulses`` p act on frames with
        the Jacobians J, as in `impact`. v is the velocity before the impact. Constraints that v satisfies remain
        satisfied; those that v violates, such as a foot that touches the ground, are enforced. Kinetic energy does not
        increase for 0 ≤ e ≤ 1. q (..., nq), v (..., nv) -> v (..., nv) [rad/s, m/s], constraint_impulses (..., nc)
        [N·s, N·m·s], of minimum norm if rows of G are redundant. `impact` of a robot with constraints returns only v⁺.
        """

    @computed
    def constraint_power(
        self,
        q: Array,
        v: Array,
        tau: Array,
        *,
        wrenches: Wrenches | None = None,
        expressed_in: Axes = "world",
        gravity: ArrayLike | None = None,
        time: ArrayLike | None = None,
        passive: bool = False,
        friction: Friction = "smooth",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the power λᵀ G v of the constraint forces λ under joint forces τ; G is the constraint Jacobian.

        It is a further term of the power balance of `power`. q (..., nq), v, tau (..., nv) -> (...) [W]. It is zero
        for constraints that do not depend on time, if v satisfies them.
        """

    @computed
    def delassus_matrix(
        self, q: Array, *, time: ArrayLike | None = None, passive: bool = False, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute the Delassus matrix Λ = G M⁻¹ Gᵀ, symmetric, from the constraint Jacobian G and the mass matrix M.

        Λ is the derivative of G a by the constraint forces, with the accelerations a.  q (..., nq) -> (..., nc, nc)
        [1/(kg·m²), 1/(kg·m), 1/kg].  With ``passive`` M includes armature.
        """

    @computed
    def constrained_mass_matrix_inverse(
        self, q: Array, *, time: ArrayLike | None = None, passive: bool = False, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute ∂a/∂τ, the symmetric derivative of constrained accelerations with respect to joint forces τ.

        It is M⁻¹ − M⁻¹Gᵀ (G M⁻¹ Gᵀ)⁺ G M⁻¹, with the mass matrix M and the constraint Jacobian G.
        q (..., nq) -> (..., nv, nv) [1/(kg·m²), 1/(kg·m), 1/kg].  With ``passive`` M includes armature.
        """

    @computed
    def constrained_mass_matrix(
        self, q: Array, *, time: ArrayLike | None = None, passive: bool = False, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute the mass matrix on velocities that satisfy the constraints, a symmetric matrix.

        It is M − Gᵀ (G M⁻¹ Gᵀ)⁺ G = Pᵀ M P, with the mass matrix M and the constraint Jacobian G. P v is the velocity
        with G P v = 0 that is closest to v in the kinetic-energy norm. If G v = 0, then Pᵀ M P v = M v. The matrix is
        the pseudo-inverse of `constrained_mass_matrix_inverse` in that norm. q (..., nq) -> (..., nv, nv) [kg·m²,
        kg·m, kg]. With ``passive`` M includes armature.
        """

    @computed
    def constraint_force_indeterminacy(
        self, q: Array, *, time: ArrayLike | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute the indeterminacy of each constraint force, from 0 (unique) to 1 (any value satisfies the dynamics).

        q (..., nq) -> (..., nc) [1]. If rows of the constraint Jacobian G are redundant, forces μ with Gᵀ μ = 0 can be
        added to the constraint forces; the indeterminacy of force i measures how much row i takes part in these μ.
        """

    def equilibrium(
        self,
        q_init: Array,
        *,
        tau: Array | None = None,
        wrenches: Wrenches | None = None,
        expressed_in: Axes = "world",
        gravity: ArrayLike | None = None,
        time: ArrayLike | None = None,
        passive: bool = True,
        parameters: Mapping[str, ArrayLike] | None = None,
        max_iterations: int = 200,
        descend: bool = True,
    ) -> mechanisms.Equilibrium:
        """Find a static equilibrium near ``q_init`` (..., nq) under joint forces ``tau`` (..., nv) [N·m, N], or none.

        Gravity, springs (unless ``passive`` is False), joint forces, external ``wrenches`` and constraint forces are in
        balance there.  ``wrenches`` (..., 6) by frame are as in `forward_dynamics`, constant in the axes of
        ``expressed_in``.  ``time`` [s] is the time of constraints that depend on it, 0 by default. ``gravity`` is (...,
        3), and ``parameters`` replaces values (..., own shape) by the names of `Robot.parameters`.  Thousands of states
        are one call.  ``max_iterations`` bounds the steps.  The search descends the potential energy, so it ends in a
        stable equilibrium, a minimum, unless ``q_init`` is an equilibrium itself.  With ``descend=False``, or if
        descent fails, Newton's method finds an equilibrium of any kind, for example an upright pendulum. ``stability``
        of the result classifies it by the eigenvalues of the stiffness along free motions; ``success`` and ``status``
        report whether and why the search failed.  For joint forces that hold a configuration, use
        `constrained_inverse_dynamics` with zero velocity and acceleration.

        Raises ValueError for ``q_init`` or ``tau`` of another shape or with non-finite values.
        """
        from linkwork.mechanisms.equilibrium import equilibria_near

        start = read_configuration(self, "equilibrium", "q_init", q_init)
        if time is not None:
            time = finite_number("equilibrium", "time", time, unit="s")
        loads = tau, wrenches, expressed_in, gravity
        return equilibria_near(self, start, loads, time, parameters, passive, max_iterations, descend)

    def determinate_constraint_forces(self, q: Array, *, time: ArrayLike | None = None) -> np.ndarray:
        """Return a mask that is True for the constraint forces that dynamics determines uniquely.

        ``time`` [s] is the time of constraints that depend on it, 0 by default. q (..., nq) -> (..., nc), True where
        `constraint_force_indeterminacy` is below 1e-6. It depends on the geometry alone, so links may be massless.
        """
        return _is_determinate(self, "constraint_force_indeterminacy", q, time)

    @computed_through(with_constraint_forces)
    def loop_joint_wrenches(
        self,
        q: Array,
        v: Array,
        a: Array,
        *,
        on: Literal["child", "parent"] = "child",
        expressed_in: str | None = None,
        wrenches: Wrenches | None = None,
        wrenches_expressed_in: Axes = "world",
        gravity: ArrayLike | None = None,
        constraint_forces: ArrayLike | None = None,
        loop_forces: ArrayLike | None = None,
        time: ArrayLike | None = None,
        actuators: str | Sequence[str] | None = None,
        passive: bool = True,
        friction: Friction = "smooth",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the wrench across each joint that closes a loop, like `joint_wrenches` for the joints of the tree.

        In the order of `loops`: the wrench w (moment; force) that frame F exerts on frame M through the joint, at the
        origin and in the axes of M.  ``on="parent"`` returns the reaction −w at the origin and in the axes of F.  The
        wrench includes the joint's motor (``loop_forces``) and, with ``passive``, its springs, damping and friction.
        q (..., nq), v, a (..., nv) -> (..., nloops, 6) [N·m, N].
        """

    @computed
    def joint_wrench_indeterminacy(
        self, q: Array, *, time: ArrayLike | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute the indeterminacy of each component of `joint_wrenches`, from 0 (unique) to 1 (arbitrary).

        The components are in the axes of the joint's frame M, after the joint. They change with constraint forces μ
        for which Gᵀ μ = 0. Rigid-body dynamics does not determine these if rows of the constraint Jacobian G are
        redundant. q (..., nq) -> (..., nb, 6) [1].
        """

    def determinate_joint_wrenches(self, q: Array, *, time: ArrayLike | None = None) -> np.ndarray:
        """Return a mask that is True for the components of `joint_wrenches` that dynamics determines uniquely.

        ``time`` [s] is the time of constraints that depend on it, 0 by default. The components are in the axes of the
        joint's frame M, after the joint. q (..., nq) -> (..., nb, 6), True where `joint_wrench_indeterminacy` is below
        1e-6. In a planar four-bar of full hinges these are the forces in its plane and the moments about its hinges.
        It depends on the geometry alone, so links may be massless.
        """
        return _is_determinate(self, "joint_wrench_indeterminacy", q, time)


def _is_determinate(robot: Any, function: str, q: Array, time: ArrayLike | None) -> np.ndarray:
    """Return True for forces whose indeterminacy by this function of a robot is zero.

    The indeterminacy is zero for the same forces with any positive definite mass matrix, since these follow from the
    null space of Gᵀ. If the robot's mass matrix is singular, as for a rod without mass, all links have the inertia of a
    ball of 1 kg.
    """
    try:
        result = getattr(robot, function)(q, time=time)
    except SingularInertiaError:
        J = characteristic_length(robot.tree) ** 2
        ball = Inertia(1.0, Vec3.zero(), Symmetric3(J, 0.0, 0.0, J, 0.0, J))
        bodies = tuple(replace(body, inertia=ball) for body in robot.tree.bodies)
        tree = replace(robot.tree, bodies=bodies, frames=without_inertias(robot.tree.frames))
        result = getattr(type(robot)(tree), function)(q, time=time)
    return np.asarray(result) < 1e-6
