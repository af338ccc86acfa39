"""Regulators that hold a robot at a state: linearised there, for one state or a batch of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.messages__printing import short_repr
from linkwork._util.validation import optional, positive
from linkwork.control.linear_quadratic.arguments import (
    acting_places,
    cost_matrix,
    deviation_of,
    forces_that_act,
    matching,
    seconds_of,
    state_cost,
)
from linkwork.control.linear_quadratic.dense_linearization import linearized
from linkwork.control.linear_quadratic.lqr_gains import lqr
from linkwork.expr.arrays.symbol_array import array, is_traced
from linkwork.expr.linalg.sparse_dot import dot

__all__ = ["HoldingRegulator", "hold"]

Integrator = Literal["semi_implicit_euler", "euler", "runge_kutta_4"]


@public
@dataclass(frozen=True, eq=False)
class HoldingRegulator:
    """τ = tau − K x, x the change (q ⊖ q₀, v − v₀) of a robot's state from the one where it is held.

    ``q`` (..., nq), ``v`` and ``tau`` (..., nv) are that state and what keeps it there, ``K`` (..., m, 2nv) the gains
    of the m forces that act, ``acting`` (m,) their places in τ; ``A``, ``B`` and ``X``, ``residual`` are those of
    `lqr`.  ``step`` [s] is that of a regulator in steps of time.
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
    step: float | None = None

    def __repr__(self) -> str:
        return short_repr(self)

    def __call__(self, q: Any, v: Any) -> Any:
        """The joint forces (..., nv) for a state, or for as many states as are held; of symbols those of one state."""
        if is_traced([q, v]):
            return self._on_symbols(q, v)
        x = self.deviation(q, v)
        tau = self.tau + np.zeros((*x.shape[:-1], 1))
        tau[..., self.acting] -= (self.K @ x[..., None])[..., 0]
        return tau

    def _on_symbols(self, q: Any, v: Any) -> Any:
        if self.q.ndim > 1:
            raise ValueError(f"HoldingRegulator: expected one state that is held, on symbols, got {self.q.shape[:-1]}")
        x = [*self.robot.difference(self.q, q), *(a - b for a, b in zip(v, self.v, strict=True))]
        found = [float(f) for f in self.tau]
        for place, row in zip(self.acting, self.K, strict=True):
            found[place] = found[place] - dot([float(k) for k in row], x)
        return array(found)

    def deviation(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """x (..., 2nv): how far a state is from the one that is held."""
        rate = matching("HoldingRegulator", "v", v, self.robot.nv, "nv") - self.v
        moved = deviation_of("HoldingRegulator", self.robot, self.q, q)
        shape = np.broadcast_shapes(moved.shape, rate.shape)
        return np.concatenate([np.broadcast_to(moved, shape), np.broadcast_to(rate, shape)], axis=-1)


@public(step=optional(partial(positive, unit="s")))
def hold(
    robot: Any,
    q: ArrayLike,
    v: ArrayLike | None = None,
    *,
    Q: Any = 1.0,
    R: Any = 1.0,
    N: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    actuators: str | Iterable[str] | None = None,
    step: float | None = None,
    integrator: Integrator = "semi_implicit_euler",
    passive: bool = False,
) -> HoldingRegulator:
    """The linear-quadratic regulator of a robot around states q (..., nq), v (..., nv), at rest if v is left out.

    The forces there are those under which it does not accelerate, or ``tau`` (..., nv).  ``actuators`` names joints
    that exert forces; left out, all do but joints of six degrees of freedom.  Q is what deviations (q ⊖ q₀, v − v₀)
    cost, R what forces of the actuators do: a number, a diagonal or a matrix; of Q also a pair (of q, of v).  With
    ``step`` [s] it is the regulator in steps of time of that length, with the integrator of `Robot.linearize`.

    Raises ValueError for a state where the robot can only be held by joints that are no actuators, and where there is
    no regulator, as `lqr` does; of a batch, ``residual`` tells the latter.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> pendulum = lw.load("double_pendulum")
    >>> upright = lw.control.hold(pendulum, [np.pi, 0.0], actuators=pendulum.v_names[1])
    >>> upright.K.shape, bool(np.linalg.eigvals(upright.A - upright.B @ upright.K).real.max() < 0.0)
    ((1, 4), True)
    """
    acting = acting_places("hold", robot, actuators)
    nv = robot.nv
    step = None if step is None else seconds_of("hold", "step", step)
    at = matching("hold", "q", q, robot.nq, "nq")
    rate = np.zeros((*at.shape[:-1], nv)) if v is None else matching("hold", "v", v, nv, "nv")
    if tau is None:
        forces = robot.inverse_dynamics(at, rate, np.zeros(nv), passive=passive)
        forces = forces_that_act("hold", robot, forces, acting, "rest" if v is None else "going on as it does")
    else:
        forces = matching("hold", "tau", tau, nv, "nv")
    cost, effort = state_cost("hold", "Q", Q, nv), cost_matrix("hold", "R", R, len(acting))
    A, B = linearized(robot, at, rate, forces, step=step, integrator=integrator, passive=passive)
    B = np.ascontiguousarray(B[..., acting])
    try:
        K, X, residual = lqr(A, B, cost, effort, N, discrete=step is not None)
    except ValueError as error:
        given = {"v": v, "tau": tau, "actuators": actuators, "N": N, "step": step}
        names = ", ".join(["q", *(name for name, value in given.items() if value is not None), "Q, R"])
        raise ValueError(f"hold: {names}: expected what can be regulated; {error}") from None
    return HoldingRegulator(robot, at, rate, forces, K, X, residual, A, B, acting, step)
