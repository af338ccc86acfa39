"""Dynamics of a robot: a documented method each."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from .base import Array, Axes, RobotBase, Wrenches
from .method import computed

__all__ = ["DynamicsMethods"]


class DynamicsMethods(RobotBase):
    """Forces, accelerations, and the inertia between them.

    All of these take external wrenches by the frames that they act on, ``wrenches={"hand": w}``: w (..., 6) is (moment
    [N·m]; force [N]) at the frame's origin, in the axes of ``expressed_in``, one frame for all or a dict of one for
    each; so w · twist(q, v, "hand") is its power.  ``gravity`` (..., 3) [m/s²] is in the world's axes, the robot's own
    if left out.  With ``passive=True`` what is in the joints counts too: armature, damping, dry friction and springs
    (`passive_force`); ``friction`` is its law, "smooth" or "coulomb".
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
        friction: Literal["smooth", "coulomb"] = "smooth",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """τ = M(q) a + h(q, v) − Σ Jᵀ w: the joint forces under which the robot accelerates by a.

        q (..., nq), v, a (..., nv) -> (..., nv) [N·m, N], by the recursive Newton-Euler algorithm.
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
        friction: Literal["smooth", "coulomb"] = "smooth",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """a = M(q)⁻¹ (τ + Σ Jᵀ w − h(q, v)): the accelerations under joint forces τ, by articulated bodies.

        q (..., nq), v, tau (..., nv) -> (..., nv) [rad/s², m/s²].  Raises SingularInertiaError where a joint moves no
        inertia; where only some configurations make M singular, the accelerations are not finite there.
        """

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
        friction: Literal["smooth", "coulomb"] = "smooth",
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
        friction: Literal["smooth", "coulomb"] = "smooth",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """τ_p = −K φ(q) − D v − f tanh(v / v_s): what springs, damping and dry friction exert on the joints.

        φ are the local coordinates of q around the springs' rest; ``friction="coulomb"`` has −f sign(v) instead, with
        sign(0) = 0.  What followers exert counts for their masters, times the ratio.  q (..., nq), v (..., nv) ->
        (..., nv) [N·m, N].
        """
