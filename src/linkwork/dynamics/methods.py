"""Dynamics of a robot: a documented method each.

What goes through joints and bodies: wrenches, torques, impulses.

The mass matrix of a robot in other forms, and the Coriolis matrix that belongs to it: a documented method each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.argument_errors import ABOUT_ARGUMENTS
from linkwork._util.checked_arguments import raise_named
from linkwork._util.validation import floats
from linkwork.dynamics.algorithms import ROWS as DYNAMICS
from linkwork.dynamics.algorithms.mass_matrix import mass_sizes
from linkwork.dynamics.singular_inertia import unfelt
from linkwork.errors import UnderactuatedError
from linkwork.kernels.array_arguments import stacked
from linkwork.kernels.compiled_method import computed_from
from linkwork.kernels.robot_base import Array, Axes, RobotBase, Wrenches
from linkwork.model.friction_laws import Friction
from linkwork.model.function_spec import QUANTITIES

__all__ = ["DynamicsMethods", "ForceMethods", "InertiaMethods"]

computed = computed_from(DYNAMICS)


F = TypeVar("F", bound=Callable[..., Any])


def with_constraint_forces(method: F) -> F:
    """Wrap a method of q, v and a whose ``constraint_forces``, if left out, are those of inverse dynamics."""

    def wrapped(self: Any, q: Any, v: Any, a: Any, **more: Any) -> Any:
        try:
            if self._tree.constraints and more.get("constraint_forces") is None:
                given = {name: more.get(name) for name in _OF_MOTION if more.get(name) is not None}
                axes = {"expressed_in": more.get("wrenches_expressed_in", "world")} if "wrenches" in given else {}
                forces = _forces_of_motion(method.__name__, self, (q, v, a), given | axes)
                more = {name: x for name, x in more.items() if name != "actuators"} | {"constraint_forces": forces}
            elif more.get("actuators") is not None:
                given = more["actuators"]  # has no effect here, but names joints all the same
                self.v_index([given] if isinstance(given, str) else given)
            return method(self, q, v, a, **more)
        except ABOUT_ARGUMENTS as error:
            raise_named(error, method, (self, q, v, a), more)
            raise

    return update_wrapper(wrapped, method)  # type: ignore[return-value]


def _forces_of_motion(caller: str, robot: Any, motion: tuple[Any, ...], given: dict[str, Any]) -> Any:
    """Return the constraint forces of inverse dynamics.  Raises UnderactuatedError in the name of the caller."""
    try:
        return robot.constrained_inverse_dynamics(*motion, **given)[1]
    except UnderactuatedError as error:
        raise UnderactuatedError(error.actuators, error.motions, error.where, error.most, caller) from None


_OF_MOTION = ("actuators", "wrenches", "gravity", "time", "loop_forces", "passive", "friction")


class DynamicsMethods(RobotBase):
    """Forces, accelerations, and the inertia between them.

    All of these take external wrenches by the frames that they act on, ``wrenches={"hand": w}``: w (..., 6) is (moment
    [N·m]; force [N]) at the frame's origin, in the axes of ``expressed_in``, one frame for all or a dict of one for
    each; so w · twist(q, v, "hand") is its power.  ``gravity`` (..., 3) [m/s²] is in the world's axes, the robot's own
    if left out.  With ``passive=True`` what is in the joints counts too: armature, damping, dry friction and springs
    (`passive_force`); ``friction`` is its law, "smooth", "stribeck" or "coulomb".
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
        """τ = M(q) a + h(q, v) − Σ Jᵀ w: the joint forces under which the robot accelerates by a.

        q (..., nq), v, a (..., nv) -> (..., nv) [N·m, N], by the recursive Newton-Euler algorithm, or with
        ``method="jacobian_sum"`` by the sum over bodies Σ Jᵀ (M J a + c + g), whose terms `newton_euler_terms` gives.
        """

    @computed
    def newton_euler_terms(
        self, q: Array, v: Array, *, gravity: ArrayLike | None = None, out: tuple[np.ndarray, ...] | None = None
    ) -> Any:
        """M, c and g of every body, of which inverse dynamics is Σ Jᵀ (M J a + c + g), J the body's `jacobian`.

        In the order of `bodies`, each at its body's origin in the world's axes: the inertia M, the wrench c that its
        velocities take where a = 0, and g, which holds its weight.  q (..., nq), v (..., nv) -> M (..., nb, 6, 6)
        [kg·m², kg·m, kg], c (..., nb, 6) [N·m, N], g (..., nb, 6) [N·m, N].
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
        """a = M(q)⁻¹ (τ + Σ Jᵀ w − h(q, v)): the accelerations under joint forces τ.

        q (..., nq), v, tau (..., nv) -> (..., nv) [rad/s², m/s²], by articulated bodies, or with
        ``method="mass_matrix"`` by M, factored as LᵀDL.  Raises SingularInertiaError, which names the joints, where M
        is singular in every configuration (`mass_matrix_null_space`); where it is in some, these are warned of
        (ConfigurationWarning).
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
        passive: bool = False,
        friction: Friction = "smooth",
        out: tuple[np.ndarray, ...] | None = None,
    ) -> Any:
        """Accelerations and joint forces, both complete, where the named joints' accelerations are given and the
        others' forces: M(q) a + h(q, v) − Σ Jᵀ w = τ.

        Of ``joints``, a name or a list of them, a is read and τ found; of the others τ is read and a found.  What is
        not read may be any numbers.  q (..., nq), v, a, tau (..., nv) -> a (..., nv) [rad/s², m/s²], tau (..., nv)
        [N·m, N].  Raises ValueError for a joint that follows another, SingularInertiaError as `forward_dynamics` does.
        """

    def mass_matrix_null_space(self, q: Array, *, passive: bool = False) -> np.ndarray:
        """Which accelerations are not felt in any joint, and so cannot be induced: a basis of the null space of M(q).

        q (nq,) -> (nv, k) [1]: orthonormal columns x with M(q) x = 0, none (k = 0) where M is regular.  A motion counts
        as unfelt where it moves no more than nv · 1e-13 of the inertia that its joints carry.  With ``passive``
        armature resists too.  Raises ValueError for more than one configuration.
        """
        M = self.mass_matrix(q, passive=passive)
        if M.ndim != 2:
            raise ValueError(
                f"mass_matrix_null_space: expected one configuration of {self.nq} numbers, got {M.shape[:-2]}"
            )
        at = stacked(self._subject, QUANTITIES["q"], q) if isinstance(q, Mapping) else floats(q)
        return unfelt(M, mass_sizes(self._tree, at.tolist(), passive))

    @computed
    def mass_matrix(self, q: Array, *, passive: bool = False, out: np.ndarray | None = None) -> np.ndarray:
        """M(q), symmetric: the kinetic energy is ½ vᵀ M v (composite rigid bodies).

        q (..., nq) -> (..., nv, nv) [kg·m², kg·m, kg].  With ``passive`` the joints' armature is on its diagonal.
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
        """h(q, v) = C(q, v) v + g(q) − Σ Jᵀ w: the joint forces at which nothing accelerates.

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
        """g(q) − Σ Jᵀ w: the joint forces that hold the robot still; with ``passive`` against its springs too.

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
        """τ_p = −K φ(q) − D v − f tanh(v / v_s): what springs, damping and dry friction exert on the joints.

        φ are the local coordinates of q around the springs' rest; ``friction="coulomb"`` has −f sign(v) instead, with
        sign(0) = 0.  What followers exert counts for their masters, times the ratio.  q (..., nq), v (..., nv) ->
        (..., nv) [N·m, N].
        """


class ForceMethods(RobotBase):
    """What goes through joints and bodies: wrenches, torques, impulses."""

    __slots__ = ()

    @with_constraint_forces
    @computed
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
        passive: bool = False,
        friction: Friction = "smooth",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """w, the whole wrench across each joint while the robot accelerates by a: Sᵀ w is the joint's force τ.

        In the order of `bodies`, of each the wrench (moment; force) that its parent exerts on it through the joint, at
        the origin of the joint's frame M; ``on="parent"`` gives the reaction −w on the parent, at the origin of the
        joint's frame F.  Axes are those of M, or of F, or of the frame ``expressed_in``.  External ``wrenches`` are in
        the axes of ``wrenches_expressed_in``.  Whatever exerts the joint's force is part of w: motors, springs, dampers
        and friction.  Armature is no body, and takes no part in w.  q (..., nq), v, a (..., nv) -> (..., nb, 6)
        [N·m, N].

        The wrenches of a robot with constraints, the reactions in the pins of a mechanism, depend on what the
        constraints exert: ``constraint_forces`` λ (..., nc), as `constrained_forward_dynamics` returns them for joint
        forces, with the same ``loop_forces``, ``time`` and ``passive``.  If they are left out, they are those of
        `constrained_inverse_dynamics` with these ``actuators``, which raises UnderactuatedError for accelerations that
        the actuators cannot produce.  Where rows of the constraints depend on each other, λ and some of the reactions
        are those of least norm: `determinate_joint_wrenches` tells which are unique.  `loop_joint_wrenches` has the
        joints that close loops.  Robots without constraints ignore these options.
        """

    @with_constraint_forces
    @computed
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
        passive: bool = False,
        friction: Friction = "smooth",
        out: tuple[np.ndarray, ...] | None = None,
    ) -> Any:
        """The wrenches of `joint_wrenches` in two parts: the joint force, and the internal force that mountings bear.

        The joint force is w projected onto the span of S, in the coordinates of M; for a hinge about s it is (s · w) s.
        The internal force, the rest, does no work: Sᵀ of it is zero.  q (..., nq), v, a (..., nv) ->
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
        """u = Σ Jᵀ w: the joint forces that wrenches make, ``wrenches={"hand": w}``; the joints hold them by −u.

        Weight is not part of it: `gravity_force` holds that.  q (..., nq) -> (..., nv) [N·m, N].
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
        """The wrench w on a frame that makes the joint forces τ, Jᵀ w = τ, and the residual τ − Jᵀ w.

        w (moment; force) is at the frame's origin, in the axes of ``expressed_in``.  Where no wrench makes τ, it is the
        one of least ‖τ − Jᵀ w‖, and the residual is not zero; where several do, as on an arm of fewer than six joints,
        it is the shortest, metres and radians counting alike.  Singular values of J below 1e-5 of the largest count as
        zero.  q (..., nq), tau (..., nv) -> wrench (..., 6) [N·m, N], residual (..., nv) [N·m, N].
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
        """v⁺ = v + M(q)⁻¹ Σ Jᵀ p: the velocities just after impulses, ``impulses={"foot": p}``.

        p (..., 6) is (moment [N·m·s]; force [N·s]) at the frame's origin, in the axes of ``expressed_in``.  With
        ``passive`` the joints' armature is part of M; what they exert by themselves does nothing in an instant.
        q (..., nq), v (..., nv) -> (..., nv) [rad/s, m/s].  Raises SingularInertiaError as `forward_dynamics` does.
        """


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
