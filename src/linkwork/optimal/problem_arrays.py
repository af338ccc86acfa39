"""A trajectory problem as arrays: the inputs of its kernel that are the same in all calls."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork.errors import UnknownNameError
from linkwork.kernels.compiler_api import stored_array, waiting
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.model.kernel_parameters import Parameter
from linkwork.optimal.algorithms.path_nlp import PathProgram, first_step
from linkwork.optimal.arguments import SOLVE, read_tolerances
from linkwork.optimal.constraint_scaling import cost_unit, has_curvature, scale_factors
from linkwork.optimal.features import StickingContact, VelocityConstraint
from linkwork.optimal.kernels import SEARCH_SCALARS, path_inputs, search_kernel, shapes_of, state_shapes
from linkwork.optimal.problem_terms import PerStep, default_target, read_target, target_shape

__all__ = ["PENALTY", "PreparedProblem", "prepared"]

PENALTY = 1e3  # initial penalty
_SATISFIED_ALONE = (VelocityConstraint, StickingContact)  # trivially satisfied by a path of one configuration

_ROUNDING = 64.0 * np.finfo(float).eps  # of a constraint's values, relative to their change by a unit of coordinates

_SCALE_FACTORS: LazyCache[np.ndarray] = LazyCache(512)


@dataclass(eq=False)
class PreparedProblem:
    """Trajectory problem as arrays: its program, its kernel, and the inputs that are the same in all calls."""

    problem: Any
    started: bool
    moves_at_start: bool = False  # with an initial velocity and free durations
    robot_parameters: tuple[Parameter, ...] = ()  # inputs of each call

    @cached_property
    def program(self) -> PathProgram:
        program: PathProgram = self.problem._program(self.started, self.moves_at_start, self.robot_parameters)
        return program

    @cached_property
    def kernel(self) -> Any:
        """The kernel of the search."""
        return search_kernel(self.program)

    @cached_property
    def second_order_kernel(self) -> Any:
        """Kernel for searches that converge slowly: `kernel`, unless terms of all steps have second derivatives."""
        with waiting():  # compilation does not count for time limits
            inputs = path_inputs(self.program, {**self.constants, **self.nominal_targets})
            q = self.problem.robot.random_configuration(seed=0)
            if not has_curvature(self.program, inputs, q, *self._unknowns):
                return self.kernel
            return search_kernel(replace(self.program, second_order=True))

    @property
    def _unknowns(self) -> tuple[np.ndarray, np.ndarray]:
        """Initial guesses of the variables of a step and of the parameters."""
        begin = self.begin
        return begin["u"][0] if "u" in begin else np.zeros(0), begin.get("p", np.zeros(0))

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the kernel's inputs by name, in order, without the state of the search."""
        return shapes_of(self.program)

    @cached_property
    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the arrays of the search's state, by name, in the kernel's order."""
        return state_shapes(self.program)

    @cached_property
    def constants(self) -> dict[str, np.ndarray]:
        """Inputs of the kernel that are the same in all calls, by name, without targets."""
        problem, program = self.problem, self.program
        T = program.steps
        weights = np.zeros((T, len(problem.terms)))
        scales, lower, upper = (np.zeros(program.rows) for _ in range(3))
        for k, (term, rows) in enumerate(zip(problem.terms, program.rows_of, strict=True)):
            without = self.started or term.feature.rows_without_past > 0  # some components depend on no earlier step
            early = [] if without else [t for t in term.steps if t < term.feature.depth]
            part = len(term.steps) < T or (term.kind == "equality" and not isinstance(term.feature, _SATISFIED_ALONE))
            if early and part and len(early) == len(term.steps):
                raise ValueError(
                    f"{SOLVE}: {term.name!r} needs {term.feature.depth} steps before step {early[0]}: pass start=, the "
                    "state at which the path begins"
                )
            for t in term.steps:
                weights[t, k] = 0.0 if t in early else 1.0
            scales[rows] = term.scale
            if term.lower is not None:
                lower[rows], upper[rows] = term.lower, term.upper
        parameters = problem.parameters.values()
        floor = np.concatenate([x.lower for x in parameters]) if parameters else np.zeros(0)
        ceiling = np.concatenate([x.upper for x in parameters]) if parameters else np.zeros(0)
        step, rates = self._clock
        result = {"step": step, "step_rates": rates, "weights": weights, "scales": scales, "lower": lower}
        result |= {"upper": upper, "floor": floor, "ceiling": ceiling}
        return result

    @property
    def scaled_constants(self) -> dict[str, np.ndarray]:
        """`constants` with scales that make the search independent of the units of constraints and costs."""
        return self.constants | {"scales": self.constants["scales"] * self.scale_factors}

    @cached_property
    def cost_unit(self) -> float:
        """Unit of costs and merits in the state of a search."""
        return cost_unit(self.program, self.scale_factors)

    @property
    def scale_factors(self) -> np.ndarray:
        """Factor of each component's scale (rows,) in a search."""
        factors: np.ndarray = self._scales[0]
        return factors

    def read_tolerances(self, value: Any, step: Any, default: float) -> np.ndarray:
        """Return an array of tolerances: for the step length, then for each constraint, from the arguments of a call.

        The default is smaller for a constraint whose values change by less than 1 if coordinates change by their units.
        A tolerance below the rounding errors of these values is raised to these errors.
        """
        program = self.program
        sizes = np.array([1.0, *(self._scales[1, program.rows_of[k]].max(initial=0.0) or 1.0 for k in program.hard)])
        defaults = np.minimum(default, default * sizes[1:]).tolist()
        tolerances = read_tolerances(program.hard_names, value, step, defaults)
        return np.maximum(tolerances, [0.0, *_ROUNDING * sizes[1:]])

    @cached_property
    def _scales(self) -> np.ndarray:
        """Factors of the components' scales, and the components' sizes; see `constraint_scaling.scale_factors`.

        Equal problems share factors: the key of the cache is the program with its features, and all values.  So a
        problem that is rebuilt uses the cached factors.
        """
        program, (u, p) = self.program, self._unknowns
        arrays = {**self.constants, **self.nominal_targets}
        key = program, tuple((name, x.shape, x.tobytes()) for name, x in arrays.items()), u.tobytes(), p.tobytes()
        return _SCALE_FACTORS.get(key, lambda: self._scale_factors(arrays, u, p))

    def _scale_factors(self, arrays: Mapping[str, np.ndarray], u: np.ndarray, p: np.ndarray) -> np.ndarray:
        configurations = self.problem.robot.random_configuration(seed=0, size=4)
        inputs = path_inputs(self.program, dict(arrays))
        arguments = self.program, inputs, configurations, u, p, PENALTY
        return stored_array("scale_factors", (scale_factors, *arguments), lambda: scale_factors(*arguments))

    @cached_property
    def nominal_targets(self) -> dict[str, np.ndarray]:
        """Targets as inputs of the kernel, by name: the problem's targets, and default targets for other terms."""
        problem, targets = self.problem, dict(self.own_targets)
        for port, k, shape in self.targets.values():
            if port not in targets:
                targets[port] = np.reshape(default_target(problem.robot, problem.terms[k].feature), math.prod(shape))
        return targets

    @property
    def _clock(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the time steps τ (T,) [s] for free durations of zero, and the derivatives of τ in these durations."""
        problem, T = self.problem, self.program.steps
        free = self.program.durations
        base, rates, column = np.zeros(T), np.zeros((T, free)), 0
        for phase, x in problem.durations.items():
            if phase and max(problem.phases[phase]) < self._first_step:
                raise ValueError(
                    f"{SOLVE}: duration: phase {phase!r} has only steps before step {self._first_step}, which have no "
                    "duration in a path without a start: pass start=, or give the phase more steps"
                )
            shares = self.shares_of(phase)
            if isinstance(x, tuple):
                rates[:, column] = shares
            else:
                base += x * shares
            column += isinstance(x, tuple)
        return (np.array(base[0]), rates[0]) if self.program.uniform else (base, rates)

    def shares_of(self, phase: str) -> np.ndarray:
        """Return the derivatives (T,) of the time steps τ in the duration of a phase, or of the whole path ("").

        Steps without a duration, at the beginning, have the derivative of the first step with a duration.
        """
        steps, first = self.problem.phases[phase] if phase else range(self.program.steps), self._first_step
        shares = np.zeros(self.program.steps)
        shares[list(steps)] = 1.0 / max(len([t for t in steps if t >= first]), 1)
        return shares

    @property
    def _first_step(self) -> int:
        return first_step(self.program.steps, self.started)

    def steps_of(self, p: np.ndarray) -> np.ndarray:
        """Return the durations of steps (..., T) [s] for parameters ``p`` (..., many) of the path."""
        base, rates = self._clock
        free = self.program.durations
        T = self.program.steps
        free_time = np.asarray(p)[..., :free] @ np.broadcast_to(rates, (T, free)).T
        return np.asarray((np.broadcast_to(base, (T,)) + free_time) * (np.arange(T) >= self._first_step))

    @cached_property
    def begin(self) -> dict[str, np.ndarray]:
        """State of a search before its first iteration, by name; the configurations are zero."""
        problem, program = self.problem, self.program
        hard = len(program.hard)
        state = {name: np.zeros(shape) for name, shape in state_shapes(program).items()}
        if "u" in state:
            state["u"][:] = np.concatenate([x.initial_guess for x in problem.variables.values()])
        if "p" in state:
            state["p"][:] = np.concatenate([x.initial_guess for x in problem.parameters.values()])
        if "penalties" in state:
            state["penalties"][:] = PENALTY
        scalars = state["scalars"]
        scalars[0], scalars[len(SEARCH_SCALARS) :] = 1e-12, 1e300
        scalars[[SEARCH_SCALARS.index("usable"), SEARCH_SCALARS.index("share")]] = 1.0
        scalars[[SEARCH_SCALARS.index("length"), SEARCH_SCALARS.index("former")]] = 1e300
        assert len(scalars) == len(SEARCH_SCALARS) + 2 * hard
        return state

    def beyond(self, k: int, values: np.ndarray) -> np.ndarray:
        """Return the signed violation (..., components) of the values of term k; 0 where a constraint is satisfied."""
        term, rows = self.program.terms[k], self.program.rows_of[k]
        if term.bounded:
            result: np.ndarray = values - np.clip(values, self.constants["lower"][rows], self.constants["upper"][rows])
            return result
        return values if term.kind == "equality" else values.clip(0.0)

    def ends(self, count: int, seed: int) -> np.ndarray:
        """Return random configurations (count, nq), to which further guesses lead; equal for equal seeds."""
        known = self._drawn.get((count, seed))
        if known is None:
            self._drawn.clear()
            rng = np.random.default_rng(seed)
            known = self._drawn[count, seed] = self.problem.robot.random_configuration(rng, size=(count,))
        return known

    @cached_property
    def _drawn(self) -> dict[tuple[int, int], np.ndarray]:
        return {}

    @cached_property
    def targets(self) -> dict[str, tuple[str, int, tuple[int, ...]]]:
        """Kernel input, term and shape of each target, by the name of its term.

        Each value is a tuple: the name of the kernel's input, the index of the term, and the shape of the target.
        """
        ports = {}
        for k, term in enumerate(self.problem.terms):
            shape = target_shape(self.problem.robot.tree, term.feature)
            if shape is not None:
                ports[term.name] = (f"target{k}", k, shape)
        return ports

    @cached_property
    def own_targets(self) -> dict[str, np.ndarray]:
        """Targets that a call need not pass, as inputs of the kernel, by name.

        These are the targets of the problem, and default targets for features that do not need a target.
        """
        targets = {}
        for name, (port, k, _) in self.targets.items():
            term = self.problem.terms[k]
            if term.target is not None:
                targets[port] = self.flat(name, term.target)
            elif not term.feature.needs_target:
                targets[port] = self.flat(name, default_target(self.problem.robot, term.feature))
        return targets

    def flat(self, name: str, value: Any) -> np.ndarray:
        """Return a target as an input of the kernel: (..., size), or (..., T, size) for a target per step."""
        _, k, shape = self.targets[name]
        term = self.problem.terms[k]
        caller = f"TrajectoryProblem.solve: targets: {name!r}"
        size = math.prod(shape)
        if isinstance(value, PerStep) != term.has_target_per_step:
            raise ValueError(
                f"{caller}: "
                + (
                    "expected linkwork.optimal.PerStep, as the feature was added with one"
                    if term.has_target_per_step
                    else "expected an array: PerStep is for features that were added with a PerStep"
                )
            )
        tree, values = self.problem.robot.tree, value.values if term.has_target_per_step else value
        target = read_target(tree, caller, term.feature, values, batch=True)
        lead = target.shape[: target.ndim - len(shape)]
        if not term.has_target_per_step:
            return target.reshape(*lead, size)
        if not lead or lead[-1] != len(term.steps):
            raise ValueError(
                f"{caller}: PerStep: expected {len(term.steps)} of shape {shape}, got shape {target.shape}"
            )
        every = np.empty((*lead[:-1], self.program.steps, size))
        every[...] = target.reshape(*lead, size)[..., :1, :]
        every[..., list(term.steps), :] = target.reshape(*lead, size)
        return every

    def read_targets(self, targets: Any) -> dict[str, np.ndarray]:
        """Return the targets of a call as inputs of the kernel, by name.

        Raises TypeError, UnknownNameError, and ValueError for wrong shapes and missing targets.
        """
        arrays = dict(self.own_targets)
        if targets is not None and not isinstance(targets, Mapping):
            raise TypeError(
                f"TrajectoryProblem.solve: targets: expected a dict of feature names to targets, got {targets!r}"
            )
        for name, x in (targets or {}).items():
            if name not in self.targets:
                raise UnknownNameError("feature with a target", name, tuple(self.targets))
            arrays[self.targets[name][0]] = self.flat(name, x)
        for name, (port, k, shape) in self.targets.items():
            if port not in arrays:
                spec = self.problem.terms[k].feature.target_of
                raise ValueError(
                    f"TrajectoryProblem.solve: targets: {name!r} has no target: pass "
                    f"targets={{{name!r}: an array {shape}}}: {spec.doc if spec is not None else ''}"
                )
        return arrays


def prepared(
    problem: Any, started: bool, moves_at_start: bool = False, robot_parameters: tuple[Parameter, ...] = ()
) -> PreparedProblem:
    """Return the arrays of a problem; all calls with one problem and the same arguments return the same object."""
    key = (started, moves_at_start, robot_parameters)
    arrays: PreparedProblem | None = problem._prepared.get(key)
    if arrays is None:
        if not problem.terms:
            raise ValueError(f"{SOLVE}: terms: expected at least one, got none; add features first")
        arrays = problem._prepared[key] = PreparedProblem(problem, *key)
    return arrays
