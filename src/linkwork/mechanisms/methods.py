"""Methods of `Robot` for constrained dynamics, constraint forces and equilibrium.

`can_be_induced` checks whether the actuators of a robot with constraints can exert the result of inverse dynamics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.argument_errors import ABOUT_ARGUMENTS
from linkwork._util.checked_arguments import raise_named
from linkwork._util.validation import finite_number
from linkwork.dynamics.methods import with_constraint_forces
from linkwork.errors import UnderactuatedError
from linkwork.kernels.compiled_method import computed_from
from linkwork.kernels.robot_base import Array, Axes, RobotBase, Wrenches
from linkwork.mechanisms.algorithms import ROWS as MECHANISMS
from linkwork.mechanisms.equilibrium import Equilibrium, equilibrium_near
from linkwork.model.friction_laws import Friction

__all__ = ["ConstrainedDynamicsMethods"]


F = TypeVar("F", bound=Callable[..., Any])
_LEFT = {8: 1e-7, 4: 1e-2}  # by bytes of a number: what may be left, as a part of all that acts
_NONE = 1e-9  # part of the largest singular value below which one is none
_TOLD = 0.1  # part of the largest from which on a coordinate of a motion is told


def can_be_induced(method: F) -> F:
    """The method, whose third result has to be zero: what no actuator exerts."""

    def looked_at(self: Any, q: Any, v: Any, a: Any, **more: Any) -> Any:
        try:
            result = method(self, q, v, a, **more)
        except ABOUT_ARGUMENTS as error:
            raise_named(error, method, (self, q, v, a), more)
            raise
        missing = result[2]
        if isinstance(missing, np.ndarray) and missing.dtype.kind == "f" and missing.size:
            acting = np.maximum(np.abs(result[0]).max(axis=-1), np.abs(missing).max(axis=-1))
            pulled = np.abs(result[1]).max(axis=-1, initial=0.0)
            left = np.abs(missing).max(axis=-1) > _LEFT[missing.dtype.itemsize] * np.maximum(acting, pulled)
            if np.any(left):
                _refuse(method.__name__, self, q, missing, left, more)
        return result

    return update_wrapper(looked_at, method)  # type: ignore[return-value]


def _refuse(caller: str, robot: Any, q: Any, missing: np.ndarray, left: np.ndarray, given: dict[str, Any]) -> None:
    """Raise UnderactuatedError of the first state that actuators cannot do."""
    names, actuators = robot.v_names, given.get("actuators")
    where = tuple(int(k) for k in np.argwhere(left)[0])
    rest = missing[where]
    rows = np.broadcast_to(
        robot.constraint_jacobian(q, time=given.get("time")), (*missing.shape[:-1], *_rows(robot, names))
    )[where]
    if actuators is None:
        acting = [joint.name for joint in robot.joints if joint.nv < 6]
    else:
        acting = [actuators] if isinstance(actuators, str) else list(actuators)
    units = np.eye(len(names))[robot.v_index(acting)] if acting else np.zeros((0, len(names)))
    held = np.vstack([rows, units])
    _, values, motions = np.linalg.svd(held)
    rank = int(np.sum(values > _NONE * values[:1].max(initial=1e-300)))
    free = [motion for motion in motions[rank:] if abs(motion @ rest) > 1e-6 * np.linalg.norm(rest)]
    raise UnderactuatedError(
        tuple(acting), tuple(_said(motion, names) for motion in free), where, float(np.abs(rest).max()), caller
    )


def _rows(robot: Any, names: tuple[str, ...]) -> tuple[int, int]:
    return sum(len(constraint.component_names) for constraint in robot.constraints), len(names)


def _said(motion: np.ndarray, names: tuple[str, ...]) -> str:
    """A motion by what moves in it, the largest first."""
    motion = motion / motion[np.argmax(np.abs(motion))]
    order = [int(k) for k in np.argsort(-np.abs(motion), kind="stable") if abs(motion[k]) > _TOLD]
    return ", ".join(f"{names[k]} {motion[k]:.3g}" for k in order[:6]) + (", ..." if len(order) > 6 else "")


computed = computed_from(MECHANISMS)
Names = str | Sequence[str] | None


class ConstrainedDynamicsMethods(RobotBase):
    """How a robot moves that obeys constraints, and what that takes.

    λ is what each row of the constraints exerts: M a + h = τ + Gᵀ λ, G a + γ = 0.  A robot without constraints has no
    rows, and moves as it does without them.
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
        """How a and λ of `constrained_forward_dynamics` vary with q, in its tangent space, with v and with τ.

        q (..., nq), v, tau (..., nv) -> da_dq (..., nv, nv) [1/s², m/(rad·s²)], da_dv (..., nv, nv) [1/s], da_dtau
        (..., nv, nv) [1/(kg·m²), 1/(kg·m), 1/kg], dforces_dq (..., nc, nv) [N·m, N, N/m], dforces_dv (..., nc, nv)
        [N·m·s, N·s, N·s/m], dforces_dtau (..., nc, nv) [1, m, 1/m]; and for each of ``wrenches`` one more, ∂a/∂w
        (..., nv, 6), such as ``da_dwrench_hand``.  Wrenches keep to the axes that they are expressed in.  Where rows
        depend on each other, wherever the robot goes, ∂a is exact, and of ∂λ what it does to the robot, Gᵀ ∂λ.
        ``friction`` is a law that does not stick.  Raises SingularInertiaError as `forward_dynamics` does.
        """

    @can_be_induced
    @computed
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
        """τ and λ, forces of actuators and of constraints under which the robot accelerates by a: M a + h = τ + Gᵀ λ.

        ``actuators`` names the joints that exert forces; where it is left out, all but those of six degrees of freedom,
        as floating bases are. Where they can do it in many ways, τ is the one of least Σ weights_k τ_k², ``weights``
        (..., nv) being 1 where they are left out; and where rows depend on each other, λ is of least norm.
        ``loop_forces`` (..., nl) [N·m, N] are given forces of motors in the joints that close loops.
        q (..., nq), v, a (..., nv) -> tau (..., nv) [N·m, N], constraint_forces (..., nc) [N, N·m], missing (..., nv)
        [N·m, N].  τ is 0 where nothing is actuated; what is missing is 0, or the error says so.

        Raises UnderactuatedError (a ValueError) that says which motions no actuator induces, where a needs one.
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
        """How τ and λ of `constrained_inverse_dynamics` vary with q, in its tangent space, with v and with a.

        q (..., nq), v, a (..., nv) -> dtau_dq (..., nv, nv) [N·m/rad, N/m], dtau_dv (..., nv, nv) [N·m·s/rad, N·s/m],
        dtau_da (..., nv, nv) [kg·m², kg], dforces_dq (..., nc, nv) [N·m, N, N/m], dforces_dv (..., nc, nv)
        [N·m·s, N·s, N·s/m], dforces_da (..., nc, nv) [kg·m, kg].  They are exact where the actuators can do all that is
        asked for, there and nearby, which is not looked at: `constrained_inverse_dynamics` does.  Of ∂λ, where rows
        depend on each other, what it does to the robot is.  ``friction`` is a law that does not stick.
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
        """v⁺ and Λ, velocities just after the constraints are met, and the impulses that these exert.

        M (v⁺ − v) = Gᵀ Λ + Σ Jᵀ p,      G v⁺ + σ = −e (G v + σ),      e = ``restitution`` (...) [1], 0 if left out.

        v is what it is just before: constraints that it obeys go on to hold, and those that it does not, such as a foot
        that touches the ground, are met.  Kinetic energy does not grow for 0 ≤ e ≤ 1; ``impulses`` are as in `impact`.
        q (..., nq), v (..., nv) -> v (..., nv) [rad/s, m/s], constraint_impulses (..., nc) [N·s, N·m·s], of least norm
        where rows depend on each other.  `impact` of a robot with constraints gives v⁺ alone.
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
        """λᵀ G v, the power of what the constraints exert under joint forces τ; add it to that of `power`.

        q (..., nq), v, tau (..., nv) -> (...) [W].  It is zero along motions of constraints that do not depend on time.
        """

    @computed
    def delassus_matrix(
        self, q: Array, *, time: ArrayLike | None = None, passive: bool = False, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Λ = G M⁻¹ Gᵀ, symmetric: how G a changes with what the constraints exert.

        q (..., nq) -> (..., nc, nc) [1/(kg·m²), 1/(kg·m), 1/kg].  With ``passive`` armature is part of M.
        """

    @computed
    def constrained_mass_matrix_inverse(
        self, q: Array, *, time: ArrayLike | None = None, passive: bool = False, out: np.ndarray | None = None
    ) -> np.ndarray:
        """∂a/∂τ = M⁻¹ − M⁻¹Gᵀ (G M⁻¹ Gᵀ)⁺ G M⁻¹, symmetric: how accelerations that obey constraints vary with τ.

        q (..., nq) -> (..., nv, nv) [1/(kg·m²), 1/(kg·m), 1/kg].  With ``passive`` armature is part of M.
        """

    @computed
    def constrained_mass_matrix(
        self, q: Array, *, time: ArrayLike | None = None, passive: bool = False, out: np.ndarray | None = None
    ) -> np.ndarray:
        """M − Gᵀ (G M⁻¹ Gᵀ)⁺ G = Pᵀ M P, symmetric: the mass matrix of velocities that constraints leave.

        P v is the velocity nearest to v, by kinetic energy, that has G P v = 0; where v is one, the matrix does what M
        does. It is the pseudo-inverse of `constrained_mass_matrix_inverse` with respect to that energy.
        q (..., nq) -> (..., nv, nv) [kg·m², kg·m, kg].  With ``passive`` armature is part of M.
        """

    @computed
    def constraint_force_indeterminacy(
        self, q: Array, *, time: ArrayLike | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """How much of each constraint force dynamics leaves open: 0 where there is one, up to 1 where it does nothing.

        q (..., nq) -> (..., nc) [1].  Where rows depend on each other, forces μ with Gᵀ μ = 0 may be added to all that
        act; a row has a share in them or has not.
        """

    def equilibrium(
        self,
        q_init: Array,
        *,
        tau: Array | None = None,
        gravity: ArrayLike | None = None,
        time: ArrayLike | None = None,
        passive: bool = True,
        max_iterations: int = 200,
        descend: bool = True,
    ) -> Equilibrium:
        """A configuration near q0 (nq,) in which the robot stays at rest under joint forces τ, by default none.

        Weight, springs (unless ``passive`` is False), joint forces and constraints are in balance there.  The search
        goes down the potential energy from q0, so it ends in a stable equilibrium, a minimum, unless q0 is an
        equilibrium itself.  Without ``descend`` it is the equilibrium of any kind that Newton's method finds from q0,
        such as an upright pendulum; the same where descent finds none.  ``stability`` tells which it is, by the
        eigenvalues of the stiffness along free motions.  ``success`` is True if there is one, and ``status`` says why
        there is none.  For the joint forces that hold a configuration ask `constrained_inverse_dynamics` for no
        acceleration at no velocity.

        Raises ValueError for q0 or tau of another shape, or with numbers that are not finite.
        """
        start = self._one("equilibrium", "q_init", q_init)  # type: ignore[attr-defined]
        if time is not None:
            time = finite_number("equilibrium", "time", time, unit="s")
        return equilibrium_near(self, start, tau, gravity, time, passive, max_iterations, descend)

    def determinate_constraint_forces(self, q: Array, *, time: ArrayLike | None = None) -> np.ndarray:
        """Which constraint forces are told by dynamics, and are not one choice of many: a mask.

        q (..., nq) -> (..., nc), True where `constraint_force_indeterminacy` is below 1e-6.
        """
        mask: np.ndarray = np.asarray(self.constraint_force_indeterminacy(q, time=time)) < 1e-6
        return mask

    @with_constraint_forces
    @computed
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
        passive: bool = False,
        friction: Friction = "smooth",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """The wrench across each joint that closes a loop, as `joint_wrenches` has it for the joints of the tree.

        In the order of `loops`, of each the wrench (moment; force) that F exerts on M through the joint, at the origin
        and in the axes of M; ``on="parent"`` gives the reaction −w at the origin and in the axes of F.  It includes the
        joint's own motor (``loop_forces``) and, with ``passive``, its springs, damping and friction.
        q (..., nq), v, a (..., nv) -> (..., nloops, 6) [N·m, N].
        """

    @computed
    def joint_wrench_indeterminacy(
        self, q: Array, *, time: ArrayLike | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """How much of each component of `joint_wrenches`, in the axes of M, dynamics leaves open.

        0 where the component is unique, up to 1 where it is but a choice: constraint forces μ with Gᵀ μ = 0, which
        rigid bodies leave open where rows depend on each other, may change it.  q (..., nq) -> (..., nb, 6) [1].
        """

    def determinate_joint_wrenches(self, q: Array, *, time: ArrayLike | None = None) -> np.ndarray:
        """Mask of the components of `joint_wrenches`, in the axes of M, that dynamics determines uniquely.

        q (..., nq) -> (..., nb, 6), True where `joint_wrench_indeterminacy` is below 1e-6.  In a planar four-bar of
        full hinges these are the forces in its plane and the moments about its hinges.
        """
        mask: np.ndarray = np.asarray(self.joint_wrench_indeterminacy(q, time=time)) < 1e-6
        return mask
