"""LQR of robots, linearised about a state: one state or a batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.result import ReturnedValue
from linkwork._util.validation import finite_array, optional, positive
from linkwork.control.algorithms.pid_integrator import bounded
from linkwork.control.linear_quadratic.arguments import (
    actuated_forces,
    actuated_indices,
    cost_matrix,
    read_deviation,
    read_effort_limits,
    read_seconds,
    read_state_values,
    state_cost,
)
from linkwork.control.linear_quadratic.constrained_states import (
    permitted_deviations,
    reference_forces,
)
from linkwork.control.linear_quadratic.dense_linearization import linearized
from linkwork.control.linear_quadratic.lqr_gains import lqr
from linkwork.expr.arrays.symbol_array import array, is_traced
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.kernels.array_arguments import real_array

__all__ = ["LQRController", "lqr_about_state"]


Integrator = Literal["exact", "semi_implicit_euler", "euler", "runge_kutta_4"]


@public
@dataclass(frozen=True, eq=False, init=False, repr=False)
class LQRController(ReturnedValue):
    """Linear-quadratic regulator of a robot about a state: τ = tau − K x with x = (q ⊖ q₀, v − v₀).

    `lqr_about_state` returns it.  ``q`` (..., nq) and ``v`` (..., nv) are the reference state, and ``tau`` (..., nv)
    the forces of its equilibrium.  ``K`` (..., m, 2nv) are the gains of the m actuated forces, whose indices in τ are
    ``acting`` (m,).  ``A``, ``B``, ``X`` and ``residual`` are as in `lqr`.  ``step`` [s] is the time step of a
    discrete-time regulator, else None.  Forces are limited to ``effort_limits`` (nv).  `Robot.simulate` accepts the
    object as a controller, and reports in which steps its forces reach the limits.
    """

    robot: Any
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    K: np.ndarray
    X: np.ndarray
    residual: Any
    A: np.ndarray
    B: np.ndarray
    acting: np.ndarray
    effort_limits: np.ndarray
    step: float | None = None

    def __repr__(self) -> str:
        time = "continuous time" if self.step is None else f"dt = {self.step:g} s"
        return f"<LQRController of {self.robot.name!r}: K {self.K.shape}, {time}>"

    @property
    def dt(self) -> float | None:
        """Time step [s] of a discrete-time regulator, else None; a simulation must evaluate it at this step."""
        return self.step

    @overload
    def __call__(self, q: Any, v: Any) -> Any: ...
    @overload
    def __call__(self, t: Any, q: Any, v: Any, /) -> Any: ...
    def __call__(self, *state: Any, q: Any = None, v: Any = None) -> Any:
        """Return joint forces (..., nv) for a state q, v, or a batch that broadcasts with the reference states.

        In a compiled function q and v may be symbols of a single state. With t, q and v, of which t is ignored, the
        object is a controller for `Robot.simulate`.
        """
        if len(state) == 2 and q is None and v is None:  # the most common case, fast
            q, v = state
        else:
            q, v = _read_state(state, {name: x for name, x in (("q", q), ("v", v)) if x is not None})
        if is_traced([q, v]):
            return self._on_symbols(q, v)
        x = self.deviation(q, v)
        tau = self.tau + np.zeros((*x.shape[:-1], 1))
        tau[..., self.acting] -= (self.K @ x[..., None])[..., 0]
        return np.minimum(np.maximum(tau, -self.effort_limits), self.effort_limits)  # faster than clip

    def _on_symbols(self, q: Any, v: Any) -> Any:
        if self.q.ndim > 1:
            raise ValueError(
                f"LQRController: q, v: expected one reference state for symbols, got a batch {self.q.shape[:-1]}"
            )
        x = [*self.robot.difference(self.q, q), *(a - b for a, b in zip(v, self.v, strict=True))]
        result = [float(f) for f in self.tau]
        for i, row in zip(self.acting, self.K, strict=True):
            result[i] = result[i] - dot([float(k) for k in row], x)
        return array(bounded(result, [*self.effort_limits]))

    def deviation(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the deviation x (..., 2nv) of states q (..., nq), v (..., nv) from the reference."""
        rate = finite_array("LQRController", "v", v, shape=("...", self.robot.nv)) - self.v
        moved = read_deviation("LQRController", self.robot, self.q, q)
        shape = np.broadcast_shapes(moved.shape, rate.shape)
        return np.concatenate([np.broadcast_to(moved, shape), np.broadcast_to(rate, shape)], axis=-1)


def _read_state(state: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any]:
    """Return q and v from the arguments q and v, by position or by name, or t, q and v.  Raises TypeError."""
    values = dict(zip(("q", "v"), state[1:] if len(state) == 3 else state, strict=False)) | named
    if len(values) != 2 or (len(state), len(named)) not in ((3, 0), (2, 0), (1, 1), (0, 2)):
        by_name = "".join(f" and {name} by name" for name in named)
        got = f"{len(state)} by position{by_name}"
        raise TypeError(f"LQRController: q, v: expected q and v, or t, q and v, got {got}")
    return values["q"], values["v"]


@public(dt=optional(partial(positive, unit="s")))
def lqr_about_state(
    robot: Any,
    q: ArrayLike | Mapping[str, ArrayLike],
    v: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    Q: Any = 1.0,
    R: Any = 1.0,
    N: ArrayLike | None = None,
    tau: ArrayLike | Mapping[str, ArrayLike] | None = None,
    actuators: str | Iterable[str] | None = None,
    effort_limits: ArrayLike | Mapping[str, ArrayLike] | None = None,
    dt: float | None = None,
    integrator: Integrator = "exact",
    passive: bool = True,
) -> LQRController:
    """Return the linear-quadratic regulator of a robot about states q (..., nq), v (..., nv); at rest by default.

    Forces at the state are the forces for zero acceleration, or ``tau`` (..., nv).  Dicts by joint are accepted, too.
    ``actuators`` names the joints that exert forces (default: all but those of six degrees of freedom).  ``Q`` is the
    cost of deviations (q ⊖ q₀, v − v₀), and ``R`` the cost of the actuators' forces: a number, a diagonal or a matrix;
    for ``Q`` also a pair (position weight, velocity weight).  With ``dt`` [s] the regulator is in discrete time, for
    forces that are constant in each step, by the exact solution of the linear system or an ``integrator`` of
    `Robot.linearize`; a simulation evaluates it in steps of dt.  ``effort_limits`` [N·m, N] are the largest forces, a
    number, (nv,) or a dict by joint; by default the robot's.  With ``passive`` the model includes springs, damping and
    armature of the joints, as in `simulate`. Gains do not depend on dry friction, whose slope at rest is not that of a
    motion.

    For a robot with constraints, the state must be at rest and satisfy the constraints.  Constraint forces bear part
    of the forces, and the regulator is for deviations that the constraints permit.

    Raises ValueError if the equilibrium needs forces of joints without actuators.  Without a stabilising regulator it
    raises ValueError, as `lqr` does; in a batch ``residual`` reports this.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> pendulum = lw.load("double_pendulum")
    >>> upright = lw.control.lqr_about_state(pendulum, [np.pi, 0.0], actuators=pendulum.v_names[1])
    >>> upright.K.shape, bool(np.linalg.eigvals(upright.A - upright.B @ upright.K).real.max() < 0.0)
    ((1, 4), True)
    """
    acting = actuated_indices("lqr_about_state", robot, actuators)
    nv = robot.nv
    dt = None if dt is None else read_seconds("lqr_about_state", "dt", dt)
    at = read_state_values("lqr_about_state", robot, "q", q)
    rate = np.zeros((*at.shape[:-1], nv)) if v is None else read_state_values("lqr_about_state", robot, "v", v)
    if robot.constraints and rate.any():
        raise ValueError(
            "lqr_about_state: v: expected a state at rest, since the robot has constraints; use lqr_about_trajectory"
        )
    limits = read_effort_limits("lqr_about_state", robot, effort_limits)
    if tau is None:
        forces = reference_forces("lqr_about_state", robot, at, rate, np.zeros(nv), acting, passive)
        chosen_by, motion = None if actuators is None else "actuators", "rest" if v is None else "zero acceleration"
        forces = actuated_forces("lqr_about_state", robot, forces, acting, motion, chosen_by)
    else:
        forces = read_state_values("lqr_about_state", robot, "tau", tau)
    cost, effort = state_cost("lqr_about_state", "Q", Q, nv), cost_matrix("lqr_about_state", "R", R, len(acting))
    A, B = linearized(robot, at, rate, forces, dt=dt, integrator=integrator, passive=passive)
    B = np.ascontiguousarray(B[..., acting])
    T = permitted_deviations("lqr_about_state", robot, at, rate)
    try:
        if T is None:
            K, X, residual = lqr(A, B, cost, effort, N, discrete=dt is not None)
        else:
            K, X, residual = _constrained_lqr(T, (A, B, cost, effort, N), dt is not None)
    except ValueError as error:
        options = {"v": v, "tau": tau, "actuators": actuators, "N": N, "dt": dt}
        names = ", ".join(["q", *(name for name, value in options.items() if value is not None), "Q, R"])
        raise ValueError(f"lqr_about_state: {names}: no regulator; {error}") from None
    return LQRController._make(robot, at, rate, forces, K, X, residual, A, B, acting, limits, dt)


def _constrained_lqr(T: np.ndarray, problem: tuple[Any, ...], discrete: bool) -> tuple[Any, Any, Any]:
    """Return gains, cost-to-go matrix and residual of `lqr` if only deviations x = T z are possible.

    The gains and the cost are for x; ``problem`` is (A, B, Q, R, N).
    """
    A, B, Q, R, N = problem
    T_t = np.swapaxes(T, -1, -2)
    cross = None if N is None else T_t @ real_array("lqr_about_state: N: expected an array (..., 2nv, m)", N)
    K, X, residual = lqr(T_t @ A @ T, T_t @ B, T_t @ Q @ T, R, cross, discrete=discrete)
    return K @ T_t, T @ X @ T_t, residual
