"""Dynamics of a robot with constraints, besides its accelerations: a documented method each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .base import Array, Axes, RobotBase, Wrenches
from .method import computed

__all__ = ["ConstrainedDynamicsMethods"]


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
        out: tuple[np.ndarray, ...] | None = None,
    ) -> Any:
        """How a and λ of `constrained_forward_dynamics` vary with q, in its tangent space, with v and with τ.

        q (..., nq), v, tau (..., nv) -> da_dq (..., nv, nv) [1/s², m/(rad·s²)], da_dv (..., nv, nv) [1/s], da_dtau
        (..., nv, nv) [1/(kg·m²), 1/(kg·m), 1/kg], dforces_dq (..., nc, nv) [N·m, N, N/m], dforces_dv (..., nc, nv)
        [N·m·s, N·s, N·s/m], dforces_dtau (..., nc, nv) [1, m, 1/m]; and for each of ``wrenches`` one more, ∂a/∂w
        (..., nv, 6), such as ``da_dwrench_hand``.  Wrenches keep to the axes that they are expressed in.  Where rows
        depend on each other, wherever the robot goes, ∂a is exact, and of ∂λ what it does to the robot, Gᵀ ∂λ.  With
        ``passive`` friction has its smooth law.  Raises SingularInertiaError as `forward_dynamics` does.
        """
