"""Dynamics of a robot: a documented method each."""

from __future__ import annotations

import numpy as np

from .base import Array, RobotBase

__all__ = ["DynamicsMethods"]


class DynamicsMethods(RobotBase):
    """Forces, accelerations, and the inertia between them."""

    __slots__ = ()

    def inverse_dynamics(self, q: Array, v: Array, a: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """τ = M(q) a + h(q, v): the joint forces under which the robot accelerates by a (recursive Newton-Euler).

        q (..., nq), v, a (..., nv) -> (..., nv) [N·m, N].  Joint damping and friction are not part of it.
        """
        call = self._calls.get("inverse_dynamics") or self._call("inverse_dynamics")
        return call(q, v, a) if out is None else call(q, v, a, out=out)

    def forward_dynamics(self, q: Array, v: Array, tau: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """a = M(q)⁻¹ (τ − h(q, v)): the accelerations under joint forces τ (articulated bodies).

        q (..., nq), v, tau (..., nv) -> (..., nv) [rad/s², m/s²].  Joint damping and friction are not part of it.
        Raises SingularInertiaError where a joint moves no inertia; where only some configurations make M singular, the
        accelerations are not finite there.
        """
        call = self._calls.get("forward_dynamics") or self._call("forward_dynamics")
        return call(q, v, tau) if out is None else call(q, v, tau, out=out)

    def mass_matrix(self, q: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """M(q), symmetric: the kinetic energy is ½ vᵀ M v (composite rigid bodies).

        q (..., nq) -> (..., nv, nv) [kg·m², kg·m, kg].
        """
        call = self._calls.get("mass_matrix") or self._call("mass_matrix")
        return call(q) if out is None else call(q, out=out)

    def bias_force(self, q: Array, v: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """h(q, v) = C(q, v) v + g(q): the joint forces at which nothing accelerates.

        q (..., nq), v (..., nv) -> (..., nv) [N·m, N].
        """
        call = self._calls.get("bias_force") or self._call("bias_force")
        return call(q, v) if out is None else call(q, v, out=out)

    def gravity_force(self, q: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """g(q): the joint forces that hold the robot still.

        q (..., nq) -> (..., nv) [N·m, N].
        """
        call = self._calls.get("gravity_force") or self._call("gravity_force")
        return call(q) if out is None else call(q, out=out)
