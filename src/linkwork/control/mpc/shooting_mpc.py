"""Iterative LQR for model-predictive control: motor forces are the unknowns, and paths follow by simulation.

The forces of one step are the initial guess of the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from linkwork.control.mpc.mpc_plan import Search, horizon_step, shifted_steps
from linkwork.kernels.compiler_api import Kernel
from linkwork.model.kernel_parameters import Parameter
from linkwork.optimal.algorithms.shooting.cost_terms import split_terms
from linkwork.optimal.kernels import SEARCH_SCALARS
from linkwork.optimal.problem_arrays import PENALTY, prepared
from linkwork.optimal.problem_terms import PerStep
from linkwork.optimal.robot_parameters import motor_indices, nominal_parameters, with_batch_axis
from linkwork.optimal.schedule import Schedule
from linkwork.optimal.shooting.contact_phases import checked_contact_phases, distribute_forces
from linkwork.optimal.shooting.shooting_kernel import shooting_kernel
from linkwork.optimal.shooting.shooting_result import ShootingResult
from linkwork.optimal.shooting.shooting_solve import solve_by_shooting

__all__ = ["ShootingPlanner"]

_STATUS = SEARCH_SCALARS.index("status")
_MULTIPLIERS = ("moving_forces", "reached_forces")


class ShootingPlanner:
    """Planner by iterative LQR of forward dynamics, as `TrajectoryProblem.solve`; limits of motors hold exactly."""

    def __init__(
        self,
        problem: Any,
        actuators: Iterable[str] | None = None,
        effort: Any = None,
        passive: bool = True,
        parameters: tuple[Parameter, ...] = (),
    ) -> None:
        """Create a planner for the motors of the joints ``actuators``, None for the robot's.

        ``effort`` are their largest forces, a number or (nv,); None for the robot's.  ``parameters`` are the robot's
        parameters that come with each call.
        """
        self._problem, self._prepared = problem, prepared(problem, True)
        self.robot, self.steps = problem.robot, self._prepared.program.steps
        self.step = horizon_step(self._prepared)
        self._arguments = (None if actuators is None else tuple(actuators), effort, passive, parameters)
        self._motors = list(motor_indices("controller", self.robot, self._arguments[0]))
        most = None if effort is None else np.broadcast_to(np.asarray(effort, dtype=float), self.robot.nv)[self._motors]
        self._options: dict[str, Any] = {
            "actuated": self._arguments[0],
            "control_limits": None if most is None else (-most, most),
            "passive": passive,
        }
        self._phases = checked_contact_phases("controller: solver='ilqr'", problem)
        self._free = self.robot.without_constraints() if self.robot.tree.constraints else self.robot
        self._last: ShootingResult | None = None  # of the same problem and motors, for warm starts

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._problem, *self._arguments)

    def call_inputs(
        self,
        reference: Mapping[str, Any] | None,
        lead: tuple[int, ...],
        schedule: Schedule | None = None,
        parameters: Mapping[Parameter, np.ndarray] | None = None,
    ) -> tuple[dict[str, Any], Schedule | None, dict[str, np.ndarray]]:
        self._prepared.read_targets(reference)  # raises for invalid ones
        result: dict[str, Any] = {}
        for name, target in (reference or {}).items():
            x = np.asarray(target.values if isinstance(target, PerStep) else target, dtype=float)
            core = x.shape[x.ndim - len(self._prepared.targets[name][2]) - isinstance(target, PerStep) :]
            x = with_batch_axis("step: reference", x, core, lead)
            result[name] = PerStep(x) if isinstance(target, PerStep) else x
        values = nominal_parameters(self.robot.tree, self._arguments[3]) | dict(parameters or {})
        return result, schedule, {str(p): x for p, x in values.items()}

    def initial_search(self, q: np.ndarray) -> Search:
        n, T = len(q), self.steps
        result = {
            "q": np.repeat(q[:, None], T, axis=1),
            "u": np.repeat(self._static_forces(q)[:, None], T, axis=1),
            "scalars": np.zeros((n, 4)),  # status, cost, violation, iterations
            "penalty": np.full(n, PENALTY),
        }
        return result | {
            name: np.zeros((n, *self._search_state[name].shape[1:]))
            for name in _MULTIPLIERS
            if name in self._search_state
        }

    @property
    def _search_state(self) -> dict[str, np.ndarray]:
        """State of the last search as arrays by name; every search has arrays of the same shapes."""
        if self._last is None:
            self.kernels()
        assert self._last is not None
        return self._last._search

    def _static_forces(self, q: np.ndarray) -> np.ndarray:
        """Return the motor forces (n, m) of static equilibrium, with the contacts of the first step."""
        zero = np.zeros((len(q), self.robot.nv))
        tau = np.asarray(self._free.inverse_dynamics(q, zero, zero, passive=self._options["passive"]))
        if not self._phases.contact_models:
            return tau[:, self._motors]
        active = np.broadcast_to(self._phases.active(self.steps)[0], (len(q), len(self._phases.contact_models)))
        no_forces = np.zeros((len(q), sum(model.force.size for model in self._phases.contact_models)))
        return distribute_forces(self.robot, self._phases, tau, q, self._motors, active, no_forces)

    def shifted(self, search: Search, share: float) -> Search:
        result = {name: shifted_steps(search[name], share) for name in ("u", "q", *_MULTIPLIERS) if name in search}
        return {**search, **result}

    def begin_step(self, search: Search) -> Search:
        return {**search, "scalars": np.zeros_like(search["scalars"]), "penalty": np.full(len(search["q"]), PENALTY)}

    def iterate(self, search: Search, q: np.ndarray, v: np.ndarray, inputs: Any, iterations: int) -> Search:
        done = int(search["scalars"][:, 3].max())
        previous = {"x": np.concatenate([search["q"], np.zeros((*search["q"].shape[:-1], self.robot.nv))], axis=-1)}
        previous |= {name: search[name] for name in ("u", "penalty", *_MULTIPLIERS) if name in search}
        result = self._solve(q, v, inputs, max(iterations - done, 1), previous)
        status, cost = result._state["scalars"][:, _STATUS], result.cost
        first, hard = len(SEARCH_SCALARS), len(self._prepared.program.hard)
        violation = result._state["scalars"][:, first : first + hard].max(axis=1, initial=0.0)
        diagnostics = np.stack([status, cost, violation, np.full(len(q), float(iterations))], axis=1)
        carried = {name: result._search[name] for name in ("penalty", *_MULTIPLIERS) if name in result._search}
        return {"q": result.q, "u": result.controls, "scalars": diagnostics} | carried

    def _solve(
        self, q: np.ndarray, v: np.ndarray, inputs: Any, max_iterations: int, previous: Search | None
    ) -> ShootingResult:
        """Solve from states (n, nq), (n, nv), continuing a ``previous`` search if there is one."""
        warm = None
        if previous is not None:
            self._search_state  # noqa: B018
            assert self._last is not None
            warm = self._last._with_search(previous)
        targets, schedule, parameters = inputs
        options = {
            "velocity": v,
            "targets": targets,
            "schedule": schedule,
            "warm_start": warm,
            "max_iterations": max_iterations,
        }
        options |= {"parameters": parameters} if parameters else {}
        result = solve_by_shooting(self._problem, self._first(q, v), "ilqr", **options, **self._options)
        self._last = result
        return result

    def _first(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return start configurations (n, nq) that make up for damping and friction in the first half step of a plan.

        From them, half a step with velocity v leads to the positions that slowed joints reach from q. Damping and
        friction R slow a joint of inertia m in this time, so it moves with v/(1 + h R/(2 m v)) for a step h. If steps
        do not resolve how a joint stops, half a step with v itself would reverse the motion from plan to plan.
        """
        if not self._options["passive"] or not self.robot.passive_torque(np.ones(self.robot.nv)).any():
            return q
        R = np.abs(self.robot.passive_torque(v))
        m = 1.0 / np.diagonal(self.robot.mass_matrix_inverse(q, passive=True), axis1=-2, axis2=-1)
        half = 0.5 * self.step
        speed = m * np.abs(v)
        lost = np.divide(half * R, speed + half * R, out=np.zeros_like(R), where=R > 0.0)
        return np.asarray(self.robot.integrate(q, -half * lost * v))

    def has_converged(self, search: Search) -> bool:
        return bool((search["scalars"][:, 0] > 0.5).all())

    def with_effort_limits(self, search: Search, tau: np.ndarray) -> tuple[Search, np.ndarray]:
        return search, np.zeros(len(tau), dtype=bool)  # controls are within their limits

    def path(self, search: Search) -> np.ndarray:
        return search["q"]

    def cost_and_violation(self, search: Search) -> tuple[np.ndarray, np.ndarray]:
        return search["scalars"][:, 1], search["scalars"][:, 2]

    def known_forces(self, search: Search) -> tuple[np.ndarray | None, Mapping[str, np.ndarray]]:
        result = np.zeros((*search["u"].shape[:-1], self.robot.nv))
        result[..., self._motors] = search["u"]
        return result, {}

    def is_finite(self, search: Search) -> np.ndarray:
        return np.asarray(np.isfinite(search["scalars"][:, 1]))

    def explain(self, search: Search, q: np.ndarray, v: np.ndarray, inputs: Any, index: int) -> str:
        result = self._last
        if (
            result is None
            or len(result.q) != len(search["q"])
            or not np.array_equal(result.q, search["q"], equal_nan=True)
        ):
            return "the planner has searched again since, for another step"
        return f"{result.status[index]}: {result._sentence((index,))}"

    def kernels(self) -> Sequence[Kernel]:
        q, prepared = np.asarray(self.robot.neutral())[None], self._prepared
        default_targets = {}
        for name, (port, k, shape) in prepared.targets.items():
            term = self._problem.terms[k]
            x = prepared.nominal_targets[port]
            x = x[list(term.steps)].reshape(-1, *shape) if term.has_target_per_step else x.reshape(shape)
            default_targets[name] = PerStep(x) if term.has_target_per_step else x
        recipe = self._solve(q, np.zeros((1, self.robot.nv)), self.call_inputs(default_targets, (1,)), 1, None)._recipe
        split = split_terms(recipe.dynamics(1.0), recipe.program.terms, self._phases.enforced)
        return [shooting_kernel(recipe, split)]

    def later_kernels(self) -> Sequence[Callable[[], Kernel]]:
        return []
