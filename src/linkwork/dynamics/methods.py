"""Dynamics methods of `Robot`: inverse and forward dynamics, wrenches, impulses, and forms of the mass matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.argument_errors import ABOUT_ARGUMENTS
from linkwork._util.checked_arguments import raise_named
from linkwork._util.validation import floats
from linkwork.dynamics.algorithms.mass_matrix import mass_sizes
from linkwork.dynamics.singular_inertia import unfelt
from linkwork.errors import UnderactuatedError
from linkwork.kernels.array_arguments import stacked
from linkwork.kernels.compiled_method import computed, computed_through
from linkwork.kernels.robot_base import Array, Axes, RobotBase, Wrenches
from linkwork.model.friction_laws import Friction
from linkwork.model.function_spec import QUANTITIES

__all__ = ["DynamicsMethods", "ForceMethods", "InertiaMethods"]


F = TypeVar("F", bound=Callable[..., Any])


def with_constraint_forces(method: F) -> F:
    """Return a method whose argument ``constraint_forces`` is by default the result of inverse dynamics.

    The method is a function of q, v and a.  States at dead centres without constraint forces have results NaN.
    """

    def wrapped(self: Any, q: Any, v: Any, a: Any, **more: Any) -> Any:
        lost: Any = None
        try:
            if self._tree.constraints and more.get("constraint_forces") is None:
                options = {"passive": True} | {
                    name: x for name, x in more.items() if name in _OF_MOTION and x is not None
                }
                axes = {"expressed_in": more.get("wrenches_expressed_in", "world")} if "wrenches" in options else {}
                forces = _forces_of_motion(method.__name__, self, (q, v, a), options | axes)
                is_real = isinstance(forces, np.ndarray) and forces.dtype.kind == "f"
                square = np.vdot(forces, forces) if is_real else 0.0
                if square != square:  # NaN if one force is
                    lost = np.isnan(forces).any(axis=-1)
                    forces = np.where(lost[..., None], 0.0, forces)
                more = {name: x for name, x in more.items() if name != "actuators"} | {"constraint_forces": forces}
            elif more.get("actuators") is not None:
                options = more["actuators"]  # has no effect here, but names joints all the same
                self.v_index([options] if isinstance(options, str) else options)
            result = method(self, q, v, a, **more)
        except ABOUT_ARGUMENTS as error:
            raise_named(error, method, (self, q, v, a), more)
            raise
        if lost is not None:
            for x in result if isinstance(result, tuple) else (result,):
                x[lost] = np.nan
        return result

    return update_wrapper(wrapped, method)  # type: ignore[return-value]


def _forces_of_motion(caller: str, robot: Any, motion: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Return the constraint forces of inverse dynamics.  Raises UnderactuatedError in the name of the caller."""
    try:
        return robot.constrained_inverse_dynamics(*motion, **options)[1]
    except UnderactuatedError as error:
        raise error._of(caller) from None


_OF_MOTION = ("actuators", "wrenches", "gravity", "time", "loop_forces", "passive", "friction")


class DynamicsMethods(RobotBase):
    """Methods for inverse, forward and hybrid dynamics, the mass matrix, and bias, gravity and passive forces.

    All take external wrenches by the frames that they act on, ``wrenches={"hand": w}``.  w (..., 6) is (moment [N·m];
    force [N]) at the frame's origin, in the axes of ``expressed_in``, one frame for all wrenches or a dict of one for
    each; w · twist(q, v, "hand") is its power.  ``gravity`` (..., 3) [m/s²] is in the world's axes, by default the
    robot's own.  ``passive=True`` includes armature, damping, dry friction and springs of the joints (`passive_force`).
    ``friction`` is the law of dry friction: "smooth", "stribeck", "coulomb", or a `FrictionLaw` of your own.
    """

    __slots__ = ()

    @computed
    def inverse_dynamics(
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
        method: Literal["newton_euler", "jacobian_sum"] = "newton_euler",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the joint forces τ = M(q) a + h(q, v) − Σ Jᵀ w under which the robot accelerates by a.

        q (..., nq), v, a (..., nv) -> (..., nv) [N·m, N], by the recursive Newton-Euler algorithm (RNEA), or with
        ``method="jacobian_sum"`` by the sum over bodies Σ Jᵀ (M J a + c + g), whose terms `newton_euler_terms` gives.
        """

    @computed
    def newton_euler_terms(
        self, q: Array, v: Array, *, gravity: ArrayLike | None = None, out: tuple[np.ndarray, ...] | None = None
    ) -> Any:
        """Compute the Newton-Euler terms M, c and g of every body: τ = Σ Jᵀ (M J a + c + g), J its `jacobian`.

        The terms are in the order of `bodies`, at the body's origin in the world's axes.  M is the inertia, c the
        wrench of its velocities where a = 0, and g the wrench that supports its weight.
        q (..., nq), v (..., nv) -> M (..., nb, 6, 6) [kg·m², kg·m, kg], c (..., nb, 6) [N·m, N], g (..., nb, 6)
        [N·m, N].
        """

    @computed
    def forward_dynamics(
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
        method: Literal["articulated_bodies", "mass_matrix"] = "articulated_bodies",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the accelerations a = M(q)⁻¹ (τ + Σ Jᵀ w − h(q, v)) under joint forces τ.

        q (..., nq), v, tau (..., nv) -> (..., nv) [rad/s², m/s²], by the articulated-body algorithm (ABA), or with
        ``method="mass_matrix"`` by M, factored as LᵀDL.  Raises SingularInertiaError, which names the joints, if M is
        singular in every configuration (`mass_matrix_null_space`).  Warns (ConfigurationWarning) of configurations in
        which M is singular.
        """

    @computed
    def hybrid_dynamics(
        self,
        q: Array,
        v: Array,
        a: Array,
        tau: Array,
        joints: str | Sequence[str],
        *,
        wrenches: Wrenches | None = None,
        expressed_in: Axes = "world",
        gravity: ArrayLike | None = None,
        time: ArrayLike | None = None,
        passive: bool = False,
        friction: Friction = "smooth",
        out: tuple[np.ndarray, ...] | None = None,
    ) -> Any:
        """Solve M(q) a + h(q, v) − Σ Jᵀ w = τ for the forces of the named joints and the accelerations of the others.

        For ``joints``, a name or a list of names, a is read and τ computed; for the others τ is read and a computed.
        Elements that are not read may have any value.  q (..., nq), v, a, tau (..., nv) -> a (..., nv) [rad/s², m/s²],
        tau (..., nv) [N·m, N], both complete.  Raises ValueError for a joint that follows another,
        SingularInertiaError as `forward_dynamics` does.

        For a robot with constraints Gᵀλ is added to τ.  Accelerations that the constraints do not allow are replaced by
        the nearest ones, in the metric of kinetic energy.  Redundant τ have least norm.  ``time`` [s] is the time of
        constraints that depend on it.
        """

    def mass_matrix_null_space(self, q: Array, *, passive: bool = False) -> np.ndarray:
        """Return an orthonormal basis of the null space of M(q): accelerations that no joint force can produce.

        q (nq,) -> (nv, k) [1]: columns x with M(q) x = 0; k = 0 where M is regular.  A motion is in the null space if
        it moves no more than nv · 1e-13 of the inertia that its joints carry.  ``passive`` adds armature to M.  Raises
        ValueError for more than one configuration.
        """
        M = self.mass_matrix(q, passive=passive)
        if M.ndim != 2:
            raise ValueError(
                f"mass_matrix_null_space: q: expected one configuration ({self.nq},), got a batch of {M.shape[:-2]}"
            )
        at = floats(stacked(self._subject, QUANTITIES["q"], q))
        return unfelt(M, mass_sizes(self._tree, at.tolist(), passive))

    @computed
    def mass_matrix(self, q: Array, *, passive: bool = False, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the joint-space mass matrix M(q) by the composite-rigid-body algorithm (CRBA).

        q (..., nq) -> (..., nv, nv) [kg·m², kg·m, kg], symmetric; the kinetic energy is ½ vᵀ M v.  ``passive`` adds the
        joints' armature to the diagonal.
        """

    @computed
    def bias_force(
        self,
        q: Array,
        v: Array,
        *,
        wrenches: Wrenches | None = None,
        expressed_in: Axes = "world",
        gravity: ArrayLike | None = None,
        passive: bool = False,
        friction: Friction = "smooth",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the bias force h(q, v) = C(q, v) v + g(q) − Σ Jᵀ w: the joint forces at zero acceleration.

        With ``passive``, the joints' passive forces (`passive_force`) are subtracted, and gyroscopic forces of armature
        are added. ``friction`` is the law of dry friction in them.

        q (..., nq), v (..., nv) -> (..., nv) [N·m, N].
        """

    @computed
    def gravity_force(
        self,
        q: Array,
        *,
        wrenches: Wrenches | None = None,
        expressed_in: Axes = "world",
        gravity: ArrayLike | None = None,
        passive: bool = False,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute g(q) − Σ Jᵀ w, the joint forces that hold the robot at rest; ``passive`` includes its springs.

        q (..., nq) -> (..., nv) [N·m, N].
        """

    @computed
    def passive_force(
        self,
        q: Array,
        v: Array,
        *,
        friction: Friction = "smooth",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the passive joint forces τ_p = −K φ(q) − D v − F(v) of springs, damping and dry friction.

        φ are the local coordinates of q around the springs' rest.  F is f tanh(v / v_s) for the law "smooth", and
        f sign(v) for "coulomb", with sign(0) = 0.  Forces of followers act on their masters, times the ratio.
        q (..., nq), v (..., nv) -> (..., nv) [N·m, N].
        """


class ForceMethods(RobotBase):
    """Methods for wrenches across joints, static joint forces, and impacts."""

    __slots__ = ()

    @computed_through(with_constraint_forces)
    def joint_wrenches(
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
        """Compute the wrench w across each joint while the robot accelerates by a; Sᵀ w is the joint's force τ.

        In the order of `bodies`, w (moment; force) is the wrench that the parent exerts on the body through the joint,
        at the origin of the joint's frame M.  ``on="parent"`` gives the reaction −w on the parent, at the origin of the
        joint's frame F.  The axes are M's, or F's, or the axes of the frame ``expressed_in``.  External ``wrenches``
        are in the axes of ``wrenches_expressed_in``.  w includes the joint's force, whatever exerts it: motors,
        springs, dampers and friction.  Armature is not a body, and not part of w.  q (..., nq), v, a (..., nv) -> (...,
        nb, 6) [N·m, N].

        The wrenches of a robot with constraints, the reactions in the pins of a mechanism, depend on the forces of the
        constraints: ``constraint_forces`` λ (..., nc), as `constrained_forward_dynamics` returns them for joint forces,
        with the same ``loop_forces``, ``time``, ``passive`` and ``friction``.  By default they are the result of
        `constrained_inverse_dynamics` with these ``actuators``, which raises UnderactuatedError for accelerations that
        the actuators cannot produce.  Where rows of the constraints are dependent, λ and some of the reactions have
        least norm: `determinate_joint_wrenches` returns which are unique.  `loop_joint_wrenches` has the joints that
        close loops.  Robots without constraints ignore these options.
        """

    @computed_through(with_constraint_forces)
    def joint_wrench_components(
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
        out: tuple[np.ndarray, ...] | None = None,
    ) -> Any:
        """Compute the wrenches of `joint_wrenches` as the sum of the joint force and the internal force.

        The joint force is w projected onto the span of S, in the coordinates of M; for a hinge about s it is (s · w) s.
        The internal force, which mountings bear, does no work: Sᵀ of it is zero.  q (..., nq), v, a (..., nv) ->
        joint_force (..., nb, 6) [N·m, N], internal_force (..., nb, 6) [N·m, N].
        """

    @computed
    def static_torque(
        self,
        q: Array,
        *,
        wrenches: Wrenches | None = None,
        expressed_in: Axes = "world",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the joint forces u = Σ Jᵀ w of external wrenches, ``wrenches={"hand": w}``; −u balances them.

        Weight is not included: see `gravity_force`.  q (..., nq) -> (..., nv) [N·m, N].
        """

    @computed
    def wrench_from_torque(
        self,
        q: Array,
        tau: Array,
        frame: str,
        *,
        expressed_in: str = "world",
        out: tuple[np.ndarray, ...] | None = None,
    ) -> Any:
        """Compute the wrench w on a frame with Jᵀ w = τ, and the residual τ − Jᵀ w; J is the frame's Jacobian.

        w (moment; force) is at the frame's origin, in the axes of ``expressed_in``. If no wrench has these joint
        forces, w minimises ‖τ − Jᵀ w‖, and the residual is not zero. If several wrenches have them, as on an arm of
        fewer than six joints, w has least norm, with N and N·m weighted equally. Singular values of J below 1e-5 of
        the largest count as zero. q (..., nq), tau (..., nv) -> wrench (..., 6) [N·m, N], residual (..., nv) [N·m, N].
        """

    @computed
    def impact(
        self,
        q: Array,
        v: Array,
        *,
        impulses: Wrenches | None = None,
        expressed_in: Axes = "world",
        passive: bool = False,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the velocities v⁺ = v + M(q)⁻¹ Σ Jᵀ p just after impulses, ``impulses={"foot": p}``.

        p (..., 6) is (moment [N·m·s]; force [N·s]) at the frame's origin, in the axes of ``expressed_in``.  ``passive``
        adds the joints' armature to M; their passive forces have no effect in an instant.
        q (..., nq), v (..., nv) -> (..., nv) [rad/s, m/s].  Raises SingularInertiaError as `forward_dynamics` does.
        """


class InertiaMethods(RobotBase):
    """Methods for the inverse of the mass matrix, products with it, and the Coriolis matrix.

    ``passive=True`` adds the joints' armature to the diagonal of the mass matrix.
    """

    __slots__ = ()

    @computed
    def mass_matrix_inverse(self, q: Array, *, passive: bool = False, out: np.ndarray | None = None) -> np.ndarray:
        """Compute M(q)⁻¹, symmetric to the bit, by factors that are as sparse as the robot's tree.

        q (..., nq) -> (..., nv, nv) [1/(kg·m²), 1/(kg·m), 1/kg].  For one product `mass_matrix_solve` takes fewer
        operations.  Raises SingularInertiaError where a joint moves no inertia; where only some configurations
        make M singular, the result is not finite there.
        """

    @computed
    def mass_matrix_solve(
        self, q: Array, x: Array, *, passive: bool = False, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute M(q)⁻¹ x, the accelerations under joint forces x at rest without gravity, without forming M.

        q (..., nq), x (..., nv) -> (..., nv) [rad/s², m/s²], by articulated bodies, in operations proportional to the
        number of bodies.  Raises SingularInertiaError as `mass_matrix_inverse` does.
        """

    @computed
    def coriolis_matrix(self, q: Array, v: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the Coriolis matrix C(q, v): C v = h(q, v) − g(q), Ṁ = C + Cᵀ, and Ṁ − 2C is antisymmetric.

        q (..., nq), v (..., nv) -> (..., nv, nv) [N·m·s, N·s], linear in v, by composite bodies.  Where q̇ = v its
        elements are Σ Γ_ijk v_k with the Christoffel symbols Γ of M, so that C(q, v) w = C(q, w) v too.
        """
