"""What goes through joints and bodies: wrenches, torques, impulses."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .base import Array, Axes, RobotBase, Wrenches
from .method import computed

__all__ = ["ForceMethods"]


class ForceMethods(RobotBase):
    """What goes through joints and bodies: wrenches, torques, impulses."""

    __slots__ = ()

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
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """w, the whole wrench across each joint while the robot accelerates by a: Sᵀ w is the joint's force τ.

        In the order of `bodies`, of each the wrench (moment; force) that its parent exerts on it through the joint, at
        the origin of the joint's frame M; ``on="parent"`` gives the reaction −w on the parent, at the origin of the
        joint's frame F.  Axes are those of M, or of F, or of the frame ``expressed_in``.  External ``wrenches`` are in
        the axes of ``wrenches_expressed_in``.  Whatever exerts the joint's force is part of w: motors, springs, dampers
        and friction.  Armature is no body, and takes no part in w.  q (..., nq), v, a (..., nv) -> (..., nb, 6)
        [N·m, N].
        """

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
