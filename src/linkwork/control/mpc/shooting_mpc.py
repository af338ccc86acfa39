"""Iterative LQR as what plans for a controller: forces are carried, and paths are what they make of the state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from linkwork.control.mpc.mpc_solvers import Search, later_rows, receding_step
from linkwork.kernels.compiler_api import make_ready
from linkwork.model.kernel_parameters import Parameter
from linkwork.optimal.algorithms.shooting.cost_terms import split_terms
from linkwork.optimal.kernels import TOLD
from linkwork.optimal.problem_arrays import PENALTY, prepared
from linkwork.optimal.problem_terms import PerStep
from linkwork.optimal.robot_parameters import by_environment, motor_places, nominal_numbers
from linkwork.optimal.schedule import Schedule
from linkwork.optimal.shooting.contact_phases import holding_forces, phases_of
from linkwork.optimal.shooting.shooting_kernel import shooting_kernel
from linkwork.optimal.shooting.shooting_result import ShootingResult
from linkwork.optimal.shooting.shooting_solve import solve_by_shooting

__all__ = ["ShootingPlanner"]

_STATUS, _COST = TOLD.index("status"), TOLD.index("cost")
_MULTIPLIERS = ("moving_forces", "reached_forces")


class ShootingPlanner:
    """Iterative LQR of `TrajectoryProblem.solve`, by forward dynamics, from states; limits of motors hold exactly."""

    def __init__(
        self,
        problem: Any,
        actuators: Iterable[str] | None = None,
        effort: Any = None,
        passive: bool = False,
        parameters: tuple[Parameter, ...] = (),
    ) -> None:
        """Of motors of joints by name, with forces up to ``effort``, a number or (nv,): None are the robot's.
        ``parameters`` of the robot come with each call.
        """
        self._problem, self._own = problem, prepared(problem, True)
        self.robot, self.steps = problem.robot, self._own.program.steps
        self.step = receding_step(self._own)
        self._arguments = (None if actuators is None else tuple(actuators), effort, passive, parameters)
        self._motors = list(motor_places("controller", self.robot, self._arguments[0]))
        most = None if effort is None else np.broadcast_to(np.asarray(effort, dtype=float), self.robot.nv)[self._motors]
        self._options: dict[str, Any] = {
            "actuated": self._arguments[0],
            "control_limits": None if most is None else (-most, most),
            "passive": passive,
        }
        self._phases = phases_of("controller: solver='ilqr'", problem)
        self._free = self.robot.without_constraints() if self.robot.tree.constraints else self.robot
        self._last: ShootingResult | None = None  # of the same problem and motors: whose search is taken over

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._problem, *self._arguments)

    def numbers(
        self,
        reference: Mapping[str, Any] | None,
        lead: tuple[int, ...],
        schedule: Schedule | None = None,
        parameters: Mapping[Parameter, np.ndarray] | None = None,
    ) -> tuple[dict[str, Any], Schedule | None, dict[str, np.ndarray]]:
        self._own.given_targets(reference)  # looks at them
        result: dict[str, Any] = {}
        for name, target in (reference or {}).items():
            x = np.asarray(target.values if isinstance(target, PerStep) else target, dtype=float)
            core = x.shape[x.ndim - len(self._own.targets[name][2]) - isinstance(target, PerStep) :]
            x = by_environment("step: reference", x, core, lead)
            result[name] = PerStep(x) if isinstance(target, PerStep) else x
        numbers = nominal_numbers(self.robot.tree, self._arguments[3]) | dict(parameters or {})
        return result, schedule, {str(p): x for p, x in numbers.items()}

    def begun(self, q: np.ndarray) -> Search:
        n, T = len(q), self.steps
        result = {
            "q": np.repeat(q[:, None], T, axis=1),
            "u": np.repeat(self._static_forces(q)[:, None], T, axis=1),
            "told": np.zeros((n, 4)),  # status, cost, violation, iterations
            "penalty": np.full(n, PENALTY),
        }
        return result | {
            name: np.zeros((n, *self._search_state[name].shape[1:]))
            for name in _MULTIPLIERS
            if name in self._search_state
        }

    @property
    def _search_state(self) -> dict[str, np.ndarray]:
        """Where some search ended: shapes of what is carried."""
        if self._last is None:
            self.prepare()
        assert self._last is not None
        return self._last._search

    def _static_forces(self, q: np.ndarray) -> np.ndarray:
        """Forces of motors that hold the robot (n, m)."""
        still = np.zeros((len(q), self.robot.nv))
        tau = np.asarray(self._free.inverse_dynamics(q, still, still, passive=self._options["passive"]))
        if not self._phases.holdings:
            return tau[:, self._motors]
        active = np.broadcast_to(self._phases.active(self.steps)[0], (len(q), len(self._phases.holdings)))
        none = np.zeros((len(q), sum(one.force.size for one in self._phases.holdings)))
        return holding_forces(self.robot, self._phases, tau, q, self._motors, active, none)

    def moved(self, search: Search, share: float) -> Search:
        result = {name: later_rows(search[name], share) for name in ("u", "q", *_MULTIPLIERS) if name in search}
        return {**search, **result}

    def started(self, search: Search) -> Search:
        return {**search, "told": np.zeros_like(search["told"]), "penalty": np.full(len(search["q"]), PENALTY)}

    def iterated(self, search: Search, q: np.ndarray, v: np.ndarray, numbers: Any, upto: int) -> Search:
        done = int(search["told"][:, 3].max())
        known = {"x": np.concatenate([search["q"], np.zeros((*search["q"].shape[:-1], self.robot.nv))], axis=-1)}
        known |= {name: search[name] for name in ("u", "penalty", *_MULTIPLIERS) if name in search}
        result = self._solve(q, v, numbers, max(upto - done, 1), known)
        status, cost = result.state["told"][:, _STATUS], result.state["told"][:, _COST]
        first, hard = len(TOLD), len(self._own.program.hard)
        violated = result.state["told"][:, first : first + hard].max(axis=1, initial=0.0)
        diagnostics = np.stack([status, cost, violated, np.full(len(q), float(upto))], axis=1)
        carried = {name: result._search[name] for name in ("penalty", *_MULTIPLIERS) if name in result._search}
        return {"q": result.q, "u": result.controls, "told": diagnostics} | carried

    def _solve(
        self, q: np.ndarray, v: np.ndarray, numbers: Any, max_iterations: int, known: Search | None
    ) -> ShootingResult:
        """From states (n, nq) and (n, nv), on from what is known of a search."""
        warm = None
        if known is not None:
            self._search_state  # noqa: B018
            assert self._last is not None
            warm = self._last._gone_on_from(known)
        targets, schedule, own = numbers
        options = {
            "velocity": v,
            "targets": targets,
            "schedule": schedule,
            "warm_start": warm,
            "max_iterations": max_iterations,
        }
        options |= {"parameters": own} if own else {}
        result = solve_by_shooting(self._problem, q, "ilqr", **options, **self._options)
        self._last = result
        return result

    def ended(self, search: Search) -> bool:
        return bool((search["told"][:, 0] > 0.5).all())

    def limited(self, search: Search, tau: np.ndarray) -> tuple[Search, np.ndarray]:
        return search, np.zeros(len(tau), dtype=bool)  # controls are within their limits

    def path(self, search: Search) -> np.ndarray:
        return search["q"]

    def judged(self, search: Search) -> tuple[np.ndarray, np.ndarray]:
        return search["told"][:, 1], search["told"][:, 2]

    def forces(self, search: Search) -> tuple[np.ndarray | None, Mapping[str, np.ndarray]]:
        result = np.zeros((*search["u"].shape[:-1], self.robot.nv))
        result[..., self._motors] = search["u"]
        return result, {}

    def sound(self, search: Search) -> np.ndarray:
        return np.asarray(np.isfinite(search["told"][:, 1]))

    def explained(self, search: Search, q: np.ndarray, v: np.ndarray, numbers: Any, place: int) -> str:
        result = self._last
        if (
            result is None
            or len(result.q) != len(search["q"])
            or not np.array_equal(result.q, search["q"], equal_nan=True)
        ):
            return "the search of a later step has been taken over from it"
        return f"{result.status[place]}: {result._sentence((place,))}"

    def prepare(self) -> None:
        q, own = np.asarray(self.robot.neutral())[None], self._own
        aims = {}
        for name, (port, k, shape) in own.targets.items():
            term = self._problem.terms[k]
            x = own.nominal_targets[port]
            x = x[list(term.steps)].reshape(-1, *shape) if term.has_target_per_step else x.reshape(shape)
            aims[name] = PerStep(x) if term.has_target_per_step else x
        recipe = self._solve(q, np.zeros((1, self.robot.nv)), self.numbers(aims, (1,)), 1, None)._recipe
        split = split_terms(recipe.dynamics(1.0), recipe.program.terms, self._phases.kept)
        make_ready(shooting_kernel(recipe, split))
