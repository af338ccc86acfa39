"""Forces and gains along a path: what a robot has to do to run through it, and what to do beside it.

What a controller says in a step: forces, gains, and what became of its search.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.messages import short_repr
from linkwork._util.result import Result
from linkwork.errors import Status
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control.loops import scan
from linkwork.expr.equations.linear_quadratic import LinearQuadratic, riccati_step
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.model.kernel_parameters import Parameter, inputs_of
from linkwork.optimal.robot_parameters import robot_of_inputs

__all__ = [
    "BRAKING",
    "FAILED",
    "LATE",
    "PLANNED",
    "ROUNDING",
    "SATURATED",
    "SHORT",
    "MPCCommand",
    "MPCPlan",
    "followed",
    "plan_kernel",
]


ROUNDING = 1e-9  # of a step: ages are sums of periods
_KERNELS: LazyCache[Kernel] = LazyCache(32)


class MPCPlan(NamedTuple):
    """A path of T steps of a state: q (..., T + 1, nq) and v (..., T + 1, nv) from the state itself on, forces
    tau (..., T, nv) of each step and gains K (..., T, m, 2nv) of the m forces that act.
    """

    q: Any
    v: Any
    tau: Any
    K: Any

    def __repr__(self) -> str:
        return short_repr(self)


def followed(
    robot: Any, plan: MPCPlan, place: np.ndarray, q: np.ndarray, v: np.ndarray, acting: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Joint forces (n, nv) of plans in states beside them, and gains (n, m, 2nv), so many steps (n,) after plans began:
    states in between are those between two steps.
    """
    every = np.arange(len(q))
    k = np.minimum((place + ROUNDING).astype(int), plan.tau.shape[1] - 1)
    part = (place - k)[:, None]
    before, K = plan.q[every, k], plan.K[every, k]
    wanted = robot.integrate(before, part * robot.difference(before, plan.q[every, k + 1]))
    rate = (1.0 - part) * plan.v[every, k] + part * plan.v[every, k + 1]
    x = np.concatenate([robot.difference(wanted, q), v - rate], axis=1)
    forces = plan.tau[every, k].copy()
    forces[:, acting] -= (K @ x[:, :, None])[:, :, 0]
    return forces, K


def plan_kernel(
    robot: Any, steps: int, acting: tuple[int, ...], passive: bool, parameters: tuple[Parameter, ...] = ()
) -> Kernel:
    """Of q (nq), v (nv), the path (steps, nq), the time of a step and costs Q (2nv, 2nv), R (m, m): v, tau and K.

    In step k the robot goes from (q_k, v_k) to v_{k+1} = (q_{k+1} ⊖ q_k)/τ, with the constant acceleration
    (v_{k+1} − v_k)/τ: so τ_k is inverse dynamics at the step's beginning, and gains are those of Riccati's recursion
    with what becomes of small changes in a step; the cost after the last is Q.  ``parameters`` of the robot are inputs,
    too, row by row.
    """
    key = (robot, steps, acting, passive, parameters)
    return _KERNELS.get(key, lambda: _compiled(*key))


def _compiled(
    own: Any, steps: int, acting: tuple[int, ...], passive: bool, parameters: tuple[Parameter, ...]
) -> Kernel:
    nv, m = own.nv, len(acting)

    def planned(q: Any, v: Any, path: Any, step: Any, Q: Any, R: Any, **inputs: Any) -> Any:
        robot = robot_of_inputs(own, parameters, inputs)
        whole_path = np.concatenate([array([list(q)]), path])
        inverse = 1.0 / step

        def rate(_: Any, row: Any) -> Any:
            before, after = row
            return (), array([x * inverse for x in robot.difference(before, after)])

        later = scan(rate, (), (whole_path[:-1], path))[1]
        rates = np.concatenate([array([list(v)]), later])

        def node(_: Any, row: Any) -> Any:
            q, v, after = row
            a = array([(x - y) * inverse for x, y in zip(after, v, strict=True)])
            tau = robot.inverse_dynamics(q, v, a, passive=passive)
            A, B = robot.linearize(q, v, tau, dt=step, passive=passive)
            return (), (tau, A, B[:, list(acting)])

        tau, A, B = scan(node, (), (whole_path[:-1], rates[:-1], later))[1]
        none = [[0.0] * m for _ in range(2 * nv)]

        def back(X: Any, system: Any) -> Any:
            A, B = system
            X, K = riccati_step(LinearQuadratic.of(A, B, Q, R, none), [list(row) for row in X])
            return array(X), array(K)

        return {"v": rates, "tau": tau, "K": scan(back, Q, (A, B), reverse=True)[1]}

    sizes: dict[str, tuple[int, ...]] = {"q": (own.nq,), "v": (nv,), "path": (steps, own.nq), "step": ()}
    sizes |= {"Q": (2 * nv, 2 * nv), "R": (m, m)}
    sizes |= {name: (prod(p.shape(own.tree)),) for p, name in inputs_of(parameters).items()}
    return compile(planned, name="plan", **sizes)


PLANNED, SHORT, LATE = Status.PLANNED, Status.SHORTENED, Status.LATE
FAILED, BRAKING, SATURATED = Status.FAILED, Status.BRAKING, Status.SATURATED


@dataclass(frozen=True, eq=False, init=False, repr=False)
class MPCCommand(Result):
    """What a controller says in a step: joint forces, and gains for states that are measured before the next.

    ``torque`` (..., nv) are the forces in the state (``q``, ``v``) that it was asked for, ``K`` (..., m, 2nv) the gains
    of the forces that act, ``acting``: ``command(q, v)`` is what to do in another state, within ``effort`` (nv,), the
    largest forces.  ``status`` is of each environment

    - "planned": the forces of a new plan;
    - "shortened": of one with fewer iterations, since time was over;
    - "saturated": of one whose forces pass a limit, since its search has not come to an end: they are cut to the limit;
    - "late": time was over before any: the last plan goes on, with its gains;
    - "failed": the search found no numbers, or a path that violates constraints too much: the last plan goes on;
    - "braking": there is no plan to go on with: the robot is slowed down against gravity.

    ``violation`` and ``cost`` (...) are those of the new plan, NaN where there is none, ``iterations`` how many were
    done, ``seconds`` what the step took.  `explain` says why a search failed: which feature is not finite, in which
    step, or which constraints are violated.
    """

    robot: Any
    torque: np.ndarray
    K: np.ndarray
    q: np.ndarray
    v: np.ndarray
    acting: np.ndarray
    effort: np.ndarray
    status: Any
    violation: Any
    cost: Any
    iterations: int
    seconds: float
    _searched: Any = field(default=None, repr=False)  # what can tell of the search, and where it ended

    def __repr__(self) -> str:
        return short_repr(self)

    def __call__(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """The forces (..., nv) in a state near that of the command, within the largest."""
        x = np.concatenate([self.robot.difference(self.q, q), np.asarray(v, dtype=float) - self.v], axis=-1)
        tau = self.torque + np.zeros((*x.shape[:-1], 1))
        tau[..., self.acting] -= (self.K @ x[..., None])[..., 0]
        return np.asarray(np.clip(tau, -self.effort, self.effort))

    @property
    def success(self) -> Any:
        """True where the forces are those of a new plan; a bool, or an array (...)."""
        result = np.isin(self.status, (PLANNED, SHORT, SATURATED))
        return result if result.ndim else bool(result)

    def _sentence(self, index: tuple[int, ...]) -> str:
        if self._searched is None or np.asarray(self.status)[index] in (PLANNED, SHORT, SATURATED):
            return f"{self.iterations} iterations"
        planner, search, numbers = self._searched
        place = int(np.ravel_multi_index(index, np.shape(self.status))) if index else 0
        state = (x.reshape(-1, x.shape[-1]) for x in (self.q, self.v))
        return str(planner.explained(search, *state, numbers, place))
