"""What goes through joints and bodies: wrenches, torques, impulses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from linkwork.kernels.compiled_method import computed
from linkwork.kernels.robot_base import Array, Axes, RobotBase, Wrenches
from linkwork.mechanisms.actuation_check import with_constraint_forces

__all__ = ["ForceMethods"]


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
        are those of least norm: `unique_joint_wrenches` tells which are unique.  `loop_joint_wrenches` has the joints
        that close loops.  Robots without constraints ignore these options.
        """

    @with_constraint_forces
    @computed
    def joint_wrench_split(
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
        out: tuple[np.ndarray, ...] | None = None,
    ) -> Any:
        """The wrenches of `joint_wrenches` in two parts: the joint force, and the internal force that mountings bear.

        The joint force is w projected onto the span of S, in the coordinates of M; for a hinge about s it is (s · w) s.
        The internal force, the rest, does no work: Sᵀ of it is zero.  q (..., nq), v, a (..., nv) ->
        joint_force (..., nb, 6) [N·m, N], internal_force (..., nb, 6) [N·m, N].
        """

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
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """The wrench across each joint that closes a loop, as `joint_wrenches` has it for the joints of the tree.

        In the order of `loops`, of each the wrench (moment; force) that F exerts on M through the joint, at the origin
        and in the axes of M; ``on="parent"`` gives the reaction −w at the origin and in the axes of F.  It includes the
        joint's own motor (``loop_forces``) and, with ``passive``, its springs, damping and friction.
        q (..., nq), v, a (..., nv) -> (..., nloops, 6) [N·m, N].
        """

    @computed
    def joint_wrench_ambiguity(
        self, q: Array, *, time: ArrayLike | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """How much of each component of `joint_wrenches`, in the axes of M, dynamics leaves open.

        0 where the component is unique, up to 1 where it is but a choice: constraint forces μ with Gᵀ μ = 0, which
        rigid bodies leave open where rows depend on each other, may change it.  q (..., nq) -> (..., nb, 6) [1].
        """

    def unique_joint_wrenches(self, q: Array, *, time: ArrayLike | None = None) -> np.ndarray:
        """Mask of the components of `joint_wrenches`, in the axes of M, that dynamics determines uniquely.

        q (..., nq) -> (..., nb, 6), True where `joint_wrench_ambiguity` is below 1e-6.  In a planar four-bar of full
        hinges these are the forces in its plane and the moments about its hinges.
        """
        mask: np.ndarray = np.asarray(self.joint_wrench_ambiguity(q, time=time)) < 1e-6
        return mask

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
