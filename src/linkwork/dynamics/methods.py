"""Dynamics of a robot: a documented method each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.validation import floats
from linkwork.dynamics.algorithms.mass_matrix_pivots import mass_sizes
from linkwork.dynamics.singular_inertia import unfelt
from linkwork.kernels.array_arguments import stacked
from linkwork.kernels.compiled_method import computed
from linkwork.kernels.robot_base import Array, Axes, RobotBase, Wrenches
from linkwork.model.function_spec import QUANTITIES

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
        method: Literal["newton_euler", "jacobian_sum"] = "newton_euler",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """τ = M(q) a + h(q, v) − Σ Jᵀ w: the joint forces under which the robot accelerates by a.

        q (..., nq), v, a (..., nv) -> (..., nv) [N·m, N], by the recursive Newton-Euler algorithm, or with
        ``method="jacobian_sum"`` by the sum over bodies Σ Jᵀ (M J a + c + g), whose terms `body_terms` gives.
        """

    @computed
    def body_terms(
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
        friction: Literal["smooth", "coulomb"] = "smooth",
        method: Literal["articulated_bodies", "mass_matrix"] = "articulated_bodies",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """a = M(q)⁻¹ (τ + Σ Jᵀ w − h(q, v)): the accelerations under joint forces τ.

        q (..., nq), v, tau (..., nv) -> (..., nv) [rad/s², m/s²], by articulated bodies, or with
        ``method="mass_matrix"`` by M, factored as LᵀDL.  Raises SingularInertiaError, which names the joints, where M
        is singular in every configuration (`unfelt_motions`); where it is in some, these are warned of
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
        friction: Literal["smooth", "coulomb"] = "smooth",
        out: tuple[np.ndarray, ...] | None = None,
    ) -> Any:
        """Accelerations and joint forces, both complete, where the named joints' accelerations are given and the
        others' forces: M(q) a + h(q, v) − Σ Jᵀ w = τ.

        Of ``joints``, a name or a list of them, a is read and τ found; of the others τ is read and a found.  What is
        not read may be any numbers.  q (..., nq), v, a, tau (..., nv) -> a (..., nv) [rad/s², m/s²], tau (..., nv)
        [N·m, N].  Raises ValueError for a joint that follows another, SingularInertiaError as `forward_dynamics` does.
        """

    def unfelt_motions(self, q: Array, *, passive: bool = False) -> np.ndarray:
        """Which accelerations are not felt in any joint, and so cannot be induced: a basis of the null space of M(q).

        q (nq,) -> (nv, k) [1]: orthonormal columns x with M(q) x = 0, none (k = 0) where M is regular.  A motion counts
        as unfelt where it moves no more than nv · 1e-13 of the inertia that its joints carry.  With ``passive``
        armature resists too.  Raises ValueError for more than one configuration.
        """
        M = self.mass_matrix(q, passive=passive)
        if M.ndim != 2:
            raise ValueError(f"unfelt_motions: expected one configuration of {self.nq} numbers, got {M.shape[:-2]}")
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
