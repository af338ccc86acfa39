"""Results of trajectory optimisation by forward dynamics."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.motion.splines.spline import spline_of
from linkwork.optimal.algorithms.path_nlp import PathProgram
from linkwork.optimal.algorithms.shooting.cost_terms import row_kinds
from linkwork.optimal.infeasibility_proof import ConflictProof
from linkwork.optimal.initial_guesses import best_entries
from linkwork.optimal.kernels import SEARCH_SCALARS
from linkwork.optimal.optimum_derivative import PathDerivative
from linkwork.optimal.problem_arrays import PreparedProblem
from linkwork.optimal.result import OptimalResult
from linkwork.optimal.schedule import Schedule
from linkwork.optimal.search_report import resolved
from linkwork.optimal.shooting.contact_phases import ContactPhases
from linkwork.optimal.shooting.motion_infeasibility import motion_conflict_proof
from linkwork.optimal.shooting.shooting_derivative import motion_derivative

__all__ = ["ShootingResult", "best_of_guesses", "search_of", "shooting_result"]

Array = np.ndarray[Any, Any]

FAR_PENALTY = 1e8


class ShootingResult(OptimalResult):
    """Result of trajectory optimisation by forward or inverse dynamics: a path with motor forces and gains.

    Contact forces are its `variables`.  Constraints that the dynamics satisfy, such as sticking contacts and the
    robot's own constraints, have multipliers of zero.

    ``controls`` (..., T, m) are the motor forces in each step. ``accelerations`` (..., T, nv) are those in the step
    (their mean for Runge-Kutta steps), and ``velocities`` (..., T, nv) those at its end. ``gains`` K (..., T, m, 2 nv)
    define the optimal feedback u + K (q ⊖ q̄; v − v̄) near the state (q̄, v̄) of the trajectory at which a step
    begins.
    """

    controls: Array
    velocities: Array
    accelerations: Array
    gains: Array
    gap: Array  # (...) of all steps, in units of coordinates, velocities times the step; rounding if solved
    _values: Array
    _recipe: Any  # structure of its kernel
    _limits: tuple[Array, Array] | None = None  # of motors, if they are bounds of the search
    _kernel: Any
    _kernel_inputs: dict[str, Array]  # of the kernel at the beginning of the search
    _search: dict[str, Array]  # at the end of the search
    _split: tuple[list[int], list[int]]  # terms of steps, and of the states that they reach
    _schedule: Schedule
    _start: Array  # (..., nx): the state at the start
    _decided: Array  # (..., T, n): controls of the search, and contact forces

    @property
    def times(self) -> Array:
        """Times of the configurations (..., T) [s], as in `OptimalResult`; the ends of Runge-Kutta steps."""
        return super().times if self._recipe.dynamics(1.0).staggers else np.cumsum(self.steps, axis=-1)

    def trajectory(self, index: Any = ()) -> Any:
        """Return the motion as a `linkwork.motion.Trajectory`, as `OptimalResult.trajectory` does.

        ``index`` selects an entry of a batch.  For Runge-Kutta steps the trajectory is a cubic spline through the
        states at the ends of steps.
        """
        if self._recipe.dynamics(1.0).staggers:
            return super().trajectory(index)
        robot, lead = self.problem.robot, self.q.shape[:-2]
        start, rate = (np.broadcast_to(self._inputs[x], (*lead, self._inputs[x].shape[-1])) for x in ("start", "rate"))
        q, v = (
            np.concatenate([x[..., None, :], y], axis=-2)[index] for x, y in ((start, self.q), (rate, self.velocities))
        )
        return spline_of(robot, np.concatenate([[0.0], self.times]), q, "hermite", None, {"velocity": v})

    @property
    def _term_values(self) -> tuple[Array, Array]:
        program = self._prepared.program
        every, alone = [], []
        for k, term in enumerate(program.terms):
            values = self._values[..., program.rows_of[k]]
            if term.at is None:
                every.append(values)
            else:
                alone.append(values[..., term.at, :])
        no_values = np.zeros((*self._values.shape[:-1], 0))
        return np.concatenate([no_values, *every], axis=-1), np.concatenate([no_values[..., 0, :], *alone], axis=-1)

    def _prove_infeasible(self, index: int) -> ConflictProof | None:
        """Return the proof that a problem is infeasible near its motion, or None.

        The proof shows that, to first order, no motor forces within their limits decrease the violations.
        """
        if self.attempts is not None:
            count = self.attempts._state["scalars"].shape[-2]
            return self.attempts._proof(index * count + int(np.ravel(self._best_guess)[index]))
        return motion_conflict_proof(self, index)

    def _falls(self, index: int) -> bool:
        """True if the cost of one entry of a batch seems to have no lower bound.

        It is tested only if all joints have motors without limits; otherwise False.
        """
        follows_all = self._limits is None and len(self._recipe.actuated) == self.problem.robot.nv
        return follows_all and super()._falls(index)

    def _with_search(self, search: dict[str, Array]) -> ShootingResult:
        """Return a copy of this result from which ``warm_start`` continues another search.

        ``search`` is the final state of that search, for the same problem and motors.
        """
        result = copy(self)
        result._search = search
        return result

    def derivative(self, by: str) -> PathDerivative:
        """Return the derivative of the motion with respect to n values of an input of the problem.

        The result has derivatives of configurations (..., T, nv, n) as tangent vectors, of velocities, and of motor
        forces (..., T, m, n).  ``by`` is as in `OptimalResult.derivative`: the name of a feature with a target,
        ``"start"``, ``"start velocity"``, ``"duration"``, or a parameter of the robot.  The derivative is exact at an
        optimum, with active inequalities and motor limits as equalities; its accuracy is that of the optimum.  If the
        derivative is not unique, the one of least norm is returned.  Raises ValueError for an input without influence
        on the motion, and for a motion that is not solved; in a batch, entries that are not solved are NaN.
        """
        return motion_derivative(self, by)


def shooting_result(
    prepared: PreparedProblem,
    split: tuple[list[int], list[int]],
    phases: ContactPhases,
    x0: Array,
    begin: dict[str, Array],
    outputs: Any,
    tolerances: Array,
    inputs: dict[str, Array],
    schedule: Schedule,
) -> ShootingResult:
    """Return the result of a shooting search from the kernel's outputs.

    ``inputs`` are the targets and robot parameters of the call. ``split`` are the indices of terms that depend on a
    step itself, and of terms that depend only on the next state.
    """
    program, robot, weights = prepared.program, prepared.problem.robot, schedule.weights
    status, iterations, cost, _, gap, decrement, penalty, _ = np.moveaxis(outputs.diagnostics, -1, 0)
    lead, nq = status.shape, robot.nq
    forces = _by_entry(program, split, outputs)
    violated = _violations(prepared, outputs.values, weights)
    ended = np.choose(np.nan_to_num(status).astype(int).clip(0, 3), [1.0, 3.0, 0.0, 3.0])
    bad = (violated > tolerances[1:]).any(axis=-1) & (penalty > FAR_PENALTY)
    ended = np.where((ended != 1.0) & bad, 2.0, ended)
    enforced = [j for j, k in enumerate(program.hard) if k in phases.enforced]  # terms that the dynamics enforce
    ended = np.where((ended == 1.0) & (violated > tolerances[1:])[..., enforced].any(axis=-1), 2.0, ended)
    cost = np.where(status == 3.0, np.nan, cost)
    scalars = np.zeros((*lead, len(SEARCH_SCALARS) + 2 * len(program.hard)))
    by_name = {
        "status": ended,
        "iterations": iterations,
        "cost": cost,
        "merit": cost,
        "length": np.sqrt(abs(decrement)),
    }
    for name, x in by_name.items():
        scalars[..., SEARCH_SCALARS.index(name)] = x
    scalars[..., len(SEARCH_SCALARS) :] = np.concatenate([violated, violated], axis=-1)
    scalars = resolved(outputs.x[..., :nq], scalars, float(tolerances[0]))
    state = {"q": outputs.x[..., :nq], "scalars": scalars}
    columns_of = program.forces_of(program.everywhere)
    state["everywhere"] = np.zeros((*lead, program.steps, program.force_count(program.everywhere)))
    for k, columns in columns_of.items():
        state["everywhere"][..., columns] = forces.get(k, 0.0)
    state["alone"] = np.zeros((*lead, program.force_count(program.alone)))
    for k, columns in program.forces_of(program.alone).items():
        state["alone"][..., columns] = forces[k][..., program.terms[k].at, :] if k in forces else 0.0
    if program.variables:
        state["u"] = outputs.u[..., robot.nv :] if hasattr(outputs, "tau") else _variables(program, phases, outputs)
    arrays = prepared.scaled_constants | inputs | {"weights": weights} | begin
    result = ShootingResult._make(prepared, state, arrays, tolerances, lead)
    result.controls, result.velocities, result.gains = outputs.u, outputs.x[..., nq:], outputs.K
    if hasattr(outputs, "tau"):
        result.controls, result.accelerations = outputs.tau, outputs.u[..., : robot.nv]
    else:
        v = outputs.x[..., nq:]
        first = np.broadcast_to(x0[..., None, nq:], (*v.shape[:-2], 1, robot.nv))
        step = float(np.ravel(prepared.constants["step"])[0])
        result.accelerations = np.diff(np.concatenate([first, v], axis=-2), axis=-2) / step
    result._values, result.gap = outputs.values, gap
    result._schedule = schedule
    result._start = np.broadcast_to(x0, (*lead, x0.shape[-1]))
    result._decided = np.concatenate([outputs.u, getattr(outputs, "more", outputs.u[..., :0])], axis=-1)
    return result


def best_of_guesses(every: ShootingResult) -> ShootingResult:
    """Return the best guess of each problem, with all guesses as its ``attempts``."""
    best_index = every._best()
    state = {name: best_entries(x, best_index) for name, x in every._state.items()}
    shapes = every._prepared.shapes | {"start": (0,), "rate": (0,)}
    arrays = {
        name: x.squeeze(x.ndim - len(shapes[name]) - 1) if name in shapes and x.ndim > len(shapes[name]) else x
        for name, x in every._inputs.items()
    }
    best = ShootingResult._make(every._prepared, state, arrays, every._tolerances, best_index.shape)
    best.attempts, best._best_guess = every, int(best_index) if not best_index.shape else best_index
    for name in ("controls", "accelerations", "velocities", "gains", "gap", "_values", "_start", "_decided"):
        setattr(best, name, best_entries(getattr(every, name), best_index))
    for name in ("_recipe", "_limits", "_split", "_schedule", "_kernel", "_kernel_inputs"):
        setattr(best, name, getattr(every, name))
    best._search = {name: best_entries(x, best_index) for name, x in every._search.items()}
    return best


def search_of(caller: str, warm_start: Any, recipe: Any) -> dict[str, Array]:
    """Return the final state of the search of ``warm_start``, from which a kernel of ``recipe`` can continue.

    Raises TypeError for another object, ValueError for a result of another problem or with other controls.
    """
    if not isinstance(warm_start, ShootingResult):
        advice = "a result of another solver: pass its q as initial_guess= instead"
        problem = advice if isinstance(warm_start, OptimalResult) else repr(warm_start)
        raise TypeError(
            f'{caller}: warm_start: expected a result of the same problem by "ilqr" or "shooting", got {problem}'
        )
    old = warm_start._recipe
    if (old.inverse, old.actuated) != (recipe.inverse, recipe.actuated):
        raise ValueError(
            f"{caller}: warm_start: expected a result with the same actuated= and dynamics=: pass its q as "
            f"initial_guess= instead"
        )
    same = replace(old.program, robot_parameters=recipe.program.robot_parameters)
    if (same, old.contact_models) != (recipe.program, recipe.contact_models):
        raise ValueError(
            f"{caller}: warm_start: expected a result of the same problem: pass its q as initial_guess= instead"
        )
    return warm_start._search


def _variables(program: PathProgram, phases: ContactPhases, outputs: Any) -> Array:
    """Return the contact forces of all steps (..., T, size) in the order of the problem's decision variables."""
    by_name, start = {}, 0
    for model in phases.contact_models:
        by_name[model.force.name] = outputs.more[..., start : start + model.force.size]
        start += model.force.size
    return np.concatenate([by_name[name] for name, _ in program.variables], axis=-1)


def _by_entry(program: PathProgram, split: tuple[list[int], list[int]], outputs: Any) -> dict[int, Array]:
    """Return the multipliers (..., T, components) of each constraint, by index of its term."""
    forces: dict[int, Array] = {}
    for name, indices in zip(("moving", "reached"), split, strict=True):
        start = 0
        for k in indices:
            term = program.terms[k]
            size = len(row_kinds(term))
            if term.hard:
                force = getattr(outputs, f"{name}_forces")[..., start : start + size]
                forces[k] = force[..., : term.count] - force[..., term.count :] if term.bounded else force
            start += size
    return forces


def _violations(prepared: PreparedProblem, values: Array, weights: Array) -> Array:
    """Return the largest violation of each constraint (..., constraints)."""
    columns = []
    for k in prepared.program.hard:
        rows = prepared.program.rows_of[k]
        on = (weights[..., k, None] != 0.0) & (prepared.constants["scales"][rows] != 0.0)
        columns.append(np.where(on, np.abs(prepared.beyond(k, values[..., rows])), 0.0).max(axis=(-1, -2)))
    return np.stack(columns, axis=-1) if columns else np.zeros((*values.shape[:-2], 0))
