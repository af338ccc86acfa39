"""Planners, plans and commands of model-predictive control: forces and feedback gains along a path, and their kernel.

A planner is a search for a path, which continues from step to step of the controller.  Arrays have one leading axis,
the environments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.messages import short_repr
from linkwork._util.result import Result
from linkwork.errors import Status
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control.loops import scan
from linkwork.expr.equations.linear_quadratic import LinearQuadratic, riccati_step
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.model.kernel_parameters import Parameter, inputs_of, joint_values
from linkwork.model.tree import Tree
from linkwork.optimal.algorithms.shooting.forward_dynamics_steps import RobotDynamics
from linkwork.optimal.problem_arrays import PreparedProblem
from linkwork.optimal.robot_parameters import robot_of_inputs
from linkwork.optimal.schedule import Schedule

__all__ = [
    "BRAKING",
    "EXCESS",
    "FAILED",
    "LATE",
    "PLANNED",
    "ROUNDING",
    "SATURATED",
    "SHORT",
    "MPCCommand",
    "MPCPlan",
    "Planner",
    "Search",
    "damped_step",
    "delayed_actuation",
    "frictionless",
    "horizon_step",
    "plan_kernel",
    "shifted_steps",
    "split_share",
]

ROUNDING = 1e-9  # of a step: rounding of ages, which are sums of periods
_KERNELS: LazyCache[Kernel] = LazyCache(32)


class MPCPlan(NamedTuple):
    """Plans of T steps, each from a state.

    q (..., T + 1, nq) and v (..., T + 1, nv) begin with this state. tau (..., T, nv) are the joint forces of each step,
    and K (..., T, m, 2nv) the feedback gains of m motor forces.
    """

    q: Any
    v: Any
    tau: Any
    K: Any

    def __repr__(self) -> str:
        return short_repr(self)


def delayed_actuation(
    robot: Any, plan: MPCPlan, age: np.ndarray, step: float, q: np.ndarray, v: np.ndarray, acting: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return joint forces (n, nv) and gains (n, m, 2nv) of n plans, ``age`` (n,) time steps after they began.

    The forces correct the deviation of the state (q, v) from the plan's curve by the gains. The curve has a constant
    acceleration in each step of ``step`` seconds.
    """
    each = np.arange(len(q))
    k = np.minimum((age + ROUNDING).astype(int), plan.tau.shape[1] - 1)
    fraction = (age - k)[:, None]
    K, before, after = plan.K[each, k], plan.v[each, k], plan.v[each, k + 1]
    share = 0.5 * step * fraction**2
    planned_q = robot.integrate(robot.integrate(plan.q[each, k], (step * fraction - share) * before), share * after)
    planned_v = (1.0 - fraction) * before + fraction * after
    x = np.concatenate([robot.difference(planned_q, q), v - planned_v], axis=1)
    forces = plan.tau[each, k].copy()
    forces[:, acting] -= (K @ x[:, :, None])[:, :, 0]
    return forces, K


def plan_kernel(
    robot: Any, steps: int, acting: tuple[int, ...], passive: bool, parameters: tuple[Parameter, ...] = ()
) -> Kernel:
    """Return the kernel of q, v, tau and K, from q (nq), v (nv), the path (steps, nq), the time step τ, Q and R.

    Q (2nv, 2nv) and R (m, m) are the weights of deviations.  The path consists of the control points of the curve of
    `linkwork.optimal.algorithms.path_nlp`; q and v are the states of the curve at the ends of steps.  In step k the
    velocity changes from v_k to v_{k+1} at a constant acceleration, and τ_k is inverse dynamics in the middle of the
    step.  Gains follow from the Riccati recursion with the linearised step, which is implicit in damping
    (`damped_step`); the terminal cost is Q.  Values of the robot's ``parameters`` are further inputs, flattened.
    """
    key = (robot, steps, acting, passive, parameters)
    return _KERNELS.get(key, lambda: _compiled(*key))


def _compiled(
    bare: Any, steps: int, acting: tuple[int, ...], passive: bool, parameters: tuple[Parameter, ...]
) -> Kernel:
    nv, m = bare.nv, len(acting)

    def planned(q: Any, v: Any, path: Any, step: Any, Q: Any, R: Any, **inputs: Any) -> Any:
        robot = robot_of_inputs(bare, parameters, inputs)
        damping = damped_step(robot.tree, step) if passive else {}
        damped = robot.with_parameters({str(p): array(x) for p, x in damping.items()}) if damping else robot
        half, inverse = 0.5 * step, 1.0 / step
        middles = np.concatenate([array([list(robot.integrate(q, array([half * x for x in v])))]), path[:-1]])
        gaps = array([*[inverse] * (steps - 1), 2.0 * inverse])  # inverse times between control points

        def ended(_: Any, row: Any) -> Any:
            middle, after, gap = row
            v = array([x * gap for x in robot.difference(middle, after)])
            return (), (robot.integrate(middle, array([half * x for x in v])), v)

        ends, later = scan(ended, (), (middles, path, gaps))[1]
        states, rates = (np.concatenate([array([list(x)]), y]) for x, y in ((q, ends), (v, later)))

        def node(_: Any, row: Any) -> Any:
            middle, v, after = row
            a = array([(x - y) * inverse for x, y in zip(after, v, strict=True)])
            mean = array([0.5 * (x + y) for x, y in zip(after, v, strict=True)])
            tau = robot.inverse_dynamics(middle, mean, a, passive=passive)
            at_mean = damped.inverse_dynamics(middle, mean, a, passive=passive) if damping else tau
            A, B = damped.linearize(middle, mean, at_mean, dt=step, passive=passive)
            return (), (tau, A, B[:, list(acting)])

        tau, A, B = scan(node, (), (middles, rates[:-1], later))[1]
        no_gains = [[0.0] * m for _ in range(2 * nv)]

        dynamics = RobotDynamics(robot.tree, step, acting)

        def back(X: Any, system: Any) -> Any:
            A, B, middle, v = system
            X, K = riccati_step(LinearQuadratic.of(A, B, Q, R, no_gains), [list(row) for row in X])
            return array(X), array(dynamics.by_begin([*middle, *v], K))

        K = scan(back, Q, (A, B, middles, rates[:-1]), reverse=True)[1]
        return {"q": states, "v": rates, "tau": tau, "K": K}

    sizes: dict[str, tuple[int, ...]] = {"q": (bare.nq,), "v": (nv,), "path": (steps, bare.nq), "step": ()}
    sizes |= {"Q": (2 * nv, 2 * nv), "R": (m, m)}
    sizes |= {name: (prod(p.shape(bare.tree)),) for p, name in inputs_of(parameters).items()}
    return compile(planned, name="plan", **sizes)


def damped_step(tree: Tree, step: Any) -> dict[Parameter, list[Any]]:
    """Return parameters of the robot with which an explicit step of its velocity is implicit in joint damping.

    The step is v⁺ = v + h a with h = ``step``. With D v⁺ = D v + D h a, damping adds h D to the armature. Dry friction
    is zero (`frictionless`). The dict is empty for a robot without damping and dry friction.
    """
    result = frictionless(tree)
    for body in tree.bodies:
        if body.dynamics != "none" and not all(map(is_zero, body.damping)):
            pairs = zip(joint_values(body, "armature"), body.damping, strict=True)
            result[Parameter("armature", body.joint_name)] = [x + y * step for x, y in pairs]
    return result


def frictionless(tree: Tree) -> dict[Parameter, list[Any]]:
    """Return parameters of the robot that set dry friction to zero.

    Feedback gains treat dry friction as a disturbance: a step of a plan is too long for the slope of friction at rest.
    """
    rubbing = (body for body in tree.bodies if body.dynamics != "none" and not all(map(is_zero, body.friction)))
    return {Parameter("friction", body.joint_name): [0.0] * body.joint.nv for body in rubbing}


PLANNED, SHORT, LATE = Status.PLANNED, Status.SHORTENED, Status.LATE
FAILED, BRAKING, SATURATED = Status.FAILED, Status.BRAKING, Status.SATURATED


@dataclass(frozen=True, eq=False, init=False, repr=False)
class MPCCommand(Result):
    """The command of a controller's step: joint forces, and feedback gains for states measured before the next step.

    ``torque`` (..., nv) are the joint forces in the state (``q``, ``v``) of the step, and ``K`` (..., m, 2nv) the gains
    of the forces of motors, whose indices in τ are ``acting``.  ``command(q, v)`` returns the joint forces for another
    state, within ``effort`` (nv,), the largest forces.  ``status`` is, for each environment,

    - "planned": the forces are those of a new plan;
    - "shortened": the new plan had fewer iterations because of the time limit;
    - "saturated": the forces of the new plan exceed a limit because its search has not converged; they are clipped;
    - "late": the time limit was reached before the first iteration; the last plan continues, with its gains;
    - "failed": the search gave a path that is not finite or violates constraints too much; the last plan continues;
    - "braking": there is no plan to continue; the robot is decelerated, with its gravity compensated.

    ``violation`` and ``cost`` (...) are those of the new plan, NaN without a new plan.  ``iterations`` is the number
    of iterations, and ``seconds`` the duration of the step.  `explain` gives the reason why a search failed: the
    feature that is not finite and its step, or the violated constraints.
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
    _search: Any = field(default=None, repr=False)  # planner, search and inputs, for `explain`

    def __repr__(self) -> str:
        return short_repr(self)

    def __call__(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the joint forces (..., nv) for a state q, v near the command's state, within ``effort``."""
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
        if self._search is None or np.asarray(self.status)[index] in (PLANNED, SHORT, SATURATED):
            return f"{self.iterations} iterations"
        planner, search, inputs = self._search
        flat_index = int(np.ravel_multi_index(index, np.shape(self.status))) if index else 0
        state = (x.reshape(-1, x.shape[-1]) for x in (self.q, self.v))
        return str(planner.explain(search, *state, inputs, flat_index))


Search = dict[str, np.ndarray]

EXCESS = 1e-2  # of an effort limit: a command whose force is cut by more has the status "saturated"
_WHOLE = 1e-9  # of a step: rounding of a whole number of steps


@runtime_checkable
class Planner(Protocol):
    """A solver over a receding horizon: paths of ``steps`` steps of ``step`` seconds each, from a given state."""

    robot: Any
    steps: int
    step: float

    def call_inputs(
        self,
        reference: Mapping[str, Any] | None,
        lead: tuple[int, ...],
        schedule: Schedule | None = None,
        parameters: Mapping[Parameter, np.ndarray] | None = None,
    ) -> Any:
        """Return the inputs of a call, for environments with the leading axes ``lead``.

        ``schedule``: steps of phases, if they differ from those of the problem.
        ``parameters``: the robot's parameters, (n, *shape) or (*shape,), if the controller has parameters.  Raises
        ValueError and UnknownNameError.
        """

    def initial_search(self, q: np.ndarray) -> Search:
        """Return the state of a new search, whose paths rest at configurations (n, nq)."""

    def shifted(self, search: Search, share: float) -> Search:
        """Return the search with its path and multipliers shifted by ``share`` time steps, a whole number or not."""

    def begin_step(self, search: Search) -> Search:
        """Return the search before the first iteration of a controller's step."""

    def iterate(self, search: Search, q: np.ndarray, v: np.ndarray, inputs: Any, iterations: int) -> Search:
        """Return the search from states (n, nq), (n, nv) after ``iterations`` in total since `begin_step`."""

    def has_converged(self, search: Search) -> bool:
        """Return True if all environments have converged, so that further iterations have no effect."""

    def with_effort_limits(self, search: Search, tau: np.ndarray) -> tuple[Search, np.ndarray]:
        """Return a search in which effort limits that the planned forces exceed are constraints, and a mask (n,).

        The mask is True for environments that need further iterations: their planned joint forces ``tau`` (n, steps,
        nv) exceed limits that the search did not include.
        """

    def path(self, search: Search) -> np.ndarray:
        """Return the planned configurations q (n, steps, nq) of n environments, as in `OptimalResult`.

        The configurations are the control points of the curve: in the middles of steps after the first, and at the end.
        """

    def cost_and_violation(self, search: Search) -> tuple[np.ndarray, np.ndarray]:
        """Return costs (n,) and constraint violations (n,); NaN where no path is better than the initial one."""

    def known_forces(self, search: Search) -> tuple[np.ndarray | None, Mapping[str, np.ndarray]]:
        """Return the planned joint forces of motors (n, steps, nv), or None if inverse dynamics should compute them.

        With None, the second result has the forces of contacts and constraints by name (n, steps, size).
        """

    def is_finite(self, search: Search) -> np.ndarray:
        """Return a mask (n,) of the searches whose values are all finite."""

    def explain(self, search: Search, q: np.ndarray, v: np.ndarray, inputs: Any, index: int) -> str:
        """Return the reason why the search of environment ``index`` failed.

        The arguments are those of `iterate`, and ``search`` is its result.
        """

    def kernels(self) -> Sequence[Kernel]:
        """Return the kernels that each step runs."""

    def later_kernels(self) -> Sequence[Callable[[], Kernel]]:
        """Return functions that compile and return further kernels, which only few steps run."""


def horizon_step(prepared: PreparedProblem) -> float:
    """Return the time step [s] of a problem.  Raises ValueError for free durations or unequal steps."""
    if prepared.program.durations or not prepared.program.uniform:
        raise ValueError(
            "controller: problem: expected one fixed duration [s]: a receding horizon needs equal time steps, not free "
            "durations or durations by phase"
        )
    return float(np.ravel(prepared.constants["step"])[0])


def split_share(share: float) -> tuple[int, float]:
    """Return a number of time steps ``share`` as whole steps and a remaining fraction."""
    whole = int(share + _WHOLE)
    return whole, share - whole if share - whole > _WHOLE else 0.0


def shifted_steps(x: np.ndarray, share: float) -> np.ndarray:
    """Shift values (n, T, ...) by ``share`` time steps, interpolated linearly; the last value is repeated."""
    whole, fraction = split_share(share)
    if whole:
        T = x.shape[1]
        x = x[:, np.minimum(np.arange(T) + whole, T - 1)]
    if not fraction:
        return x
    result, next_rows = (1.0 - fraction) * x, fraction * x
    result[:, :-1] += next_rows[:, 1:]
    result[:, -1] += next_rows[:, -1]
    return result
