"""Augmented Lagrangian method for model-predictive control, warm-started with the last path and multipliers.

Plans respect the effort limits of motors.  Limits that are not active do not change the optimum: a path that is
optimal without them, with forces within them in all steps, is optimal with them.  So there are two searches over the
same path.  The fast one omits the limits.  If the plan of an environment exceeds a limit, the search continues in the
same step from that path with the limits as constraints.  The environment keeps this search until its forces are well
within all limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.control.mpc.mpc_plan import Search, horizon_step, shifted_steps, split_share
from linkwork.kernels.compiler_api import Kernel
from linkwork.model.kernel_parameters import Parameter
from linkwork.optimal.features import TorqueFeature
from linkwork.optimal.kernels import SEARCH_SCALARS, shapes_of, state_shapes
from linkwork.optimal.problem_arrays import PreparedProblem, prepared
from linkwork.optimal.result import OptimalResult
from linkwork.optimal.robot_parameters import motor_indices, nominal_parameters, robot_inputs, with_batch_axis
from linkwork.optimal.schedule import Schedule

__all__ = ["AugmentedPlanner"]

Inputs = dict[str, np.ndarray]

_STATUS, _COST, _MERIT, _LENGTH = (SEARCH_SCALARS.index(name) for name in ("status", "cost", "merit", "length"))
_UNKNOWN, _KNOWN = 1e300, 1e299  # costs and violations before the first step of a search, and the bound of others
_STEP = 1e-9  # [rad, m] tolerance of a search's steps
_RESET = ("scalars", "penalties")  # of a search's state: reset in each step of the controller
_RELEASED = 0.9  # of a limit: with forces below, a plan returns to the search without limits


class AugmentedPlanner:
    """Planner by the augmented Lagrangian method of `TrajectoryProblem.solve`, within the effort limits of motors."""

    def __init__(
        self,
        problem: Any,
        actuators: Iterable[str] | None = None,
        effort: Any = None,
        passive: bool = False,
        parameters: tuple[Parameter, ...] = (),
    ) -> None:
        """Create a planner for the motors of the joints ``actuators``, None for the robot's.

        ``effort`` are the largest motor forces, a number or (nv,); None for the robot's limits.  ``parameters`` are
        the robot's parameters that each call passes.
        """
        self.robot = robot = problem.robot
        names = None if actuators is None else tuple(actuators)
        self._arguments = problem, names, effort, passive, parameters
        motors = motor_indices("controller", robot, names)
        limits = np.full(robot.nv, np.inf)
        limits[[*motors]] = np.broadcast_to(robot.effort_limits if effort is None else effort, robot.nv)[[*motors]]
        limits[[*set(range(robot.nv)).difference(motors, _unactuated_indices(problem))]] = 0.0
        actuated = _with_torque_limits(problem, np.where(limits > 0.0, np.inf, limits), passive)
        bounded = _with_torque_limits(actuated, np.where(limits > 0.0, limits, np.inf), passive)
        if bounded.variables.keys() != actuated.variables.keys():
            actuated = bounded  # the unknowns differ
        self._plain = _Program(prepared(actuated, True, False, parameters))
        self._bounded = None if bounded is actuated else _Program(prepared(bounded, True, False, parameters))
        limits[limits == 0.0] = np.inf  # zero forces are constraints of both searches
        self._limits, self._released = limits, _RELEASED * limits
        self.steps, self.step = self._plain.steps, horizon_step(self._plain.prepared)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments

    def call_inputs(
        self,
        reference: Mapping[str, Any] | None,
        lead: tuple[int, ...],
        schedule: Schedule | None = None,
        parameters: Mapping[Parameter, np.ndarray] | None = None,
    ) -> tuple[Inputs, np.ndarray | None]:
        """Return the kernel inputs that a call passes: targets and robot parameters; constants are not included.

        They serve both searches, without and with effort limits. The second result is the weights of terms by step, or
        None.
        """
        tree = self.robot.tree
        shared = robot_inputs(tree, nominal_parameters(tree, self._arguments[-1]) | dict(parameters or {}))
        for name, x in self._plain.prepared.read_targets(reference).items():
            shared[name] = with_batch_axis("step: reference", x, self._plain.shapes[name], lead)
        return shared, None if schedule is None else schedule.weights

    # -- the state of both searches: that of the search without limits, and the further arrays of the other

    def initial_search(self, q: np.ndarray) -> Search:
        state = dict(self._plain.prepared.begin)
        if self._bounded is not None:
            begin = self._bounded.prepared.begin
            state["effort_multipliers"] = begin["everywhere"][:, self._plain.multipliers :]
            state |= {f"bounded_{name}": begin[name] for name in _RESET} | {"is_bounded": np.zeros(())}
        result = {name: np.repeat(x[None], len(q), axis=0) for name, x in state.items()}
        result["q"] = np.repeat(q[:, None], self.steps, axis=1)
        return result

    def _bounded_state(self, search: Search) -> Search:
        """Return the state of the search with effort limits, a part of the planner's state."""
        state = {name: x for name, x in search.items() if name in ("q", "u", "p", "alone")}
        state["everywhere"] = self._all_multipliers(search)
        return state | {name: search[f"bounded_{name}"] for name in _RESET}

    def _with_bounded_state(self, search: Search, state: Search) -> Search:
        """Return the planner's state ``search`` after a new ``state`` of the search with effort limits.

        The path is replaced. The multipliers and other values of the search with effort limits have names of their own.
        """
        result = {**search, **{name: x for name, x in state.items() if name in ("q", "u", "p", "alone")}}
        count = self._plain.multipliers
        if count:
            result["everywhere"] = state["everywhere"][..., :count]
        result["effort_multipliers"] = state["everywhere"][..., count:]
        return result | {f"bounded_{name}": state[name] for name in _RESET}

    def shifted(self, search: Search, share: float) -> Search:
        whole, fraction = split_share(share)
        result = dict(search)
        result["q"] = self._moved_path(search["q"], whole, fraction)
        if "u" in result:
            result["u"] = shifted_steps(result["u"], share)
        if self._bounded_count(search):
            count = self._plain.multipliers
            later = shifted_steps(self._all_multipliers(search), share)
            result["effort_multipliers"] = later[..., count:]
            if count:
                result["everywhere"] = later[..., :count]
        elif "everywhere" in result:
            result["everywhere"] = shifted_steps(result["everywhere"], share)
        return result

    @staticmethod
    def _all_multipliers(search: Search) -> np.ndarray:
        """Return the multipliers of all constraints in all steps; the multipliers of effort limits are last."""
        if "everywhere" not in search:
            return search["effort_multipliers"]
        return np.concatenate([search["everywhere"], search["effort_multipliers"]], axis=-1)

    def _moved_path(self, q: np.ndarray, whole: int, fraction: float) -> np.ndarray:
        """Return a path's configurations later by ``whole`` time steps and a ``fraction`` of a step.

        Beyond the end of the path the last velocity continues. The last configuration of the result is half a step
        after the previous one.
        """
        T, whole, robot = q.shape[1], min(whole, q.shape[1]), self.robot
        if T == 1:
            return q
        rate = 2.0 * robot.difference(q[:, -2], q[:, -1])  # per step
        rows, last = [q[:, :-1]], q[:, -2]
        for _ in range(1 + whole + (fraction > 0.0)):
            last = robot.integrate(last, rate)
            rows.append(last[:, None])
        longer = np.concatenate(rows, axis=1)
        moved = np.array(longer[:, whole : whole + T])
        if fraction:
            changes = robot.difference(moved, longer[:, whole + 1 : whole + 1 + T])
            moved = np.array(robot.integrate(moved, fraction * changes))
        moved[:, -1] = robot.integrate(moved[:, -2], 0.5 * robot.difference(moved[:, -2], moved[:, -1]))
        return moved

    def begin_step(self, search: Search) -> Search:
        count, result = len(search["q"]), dict(search)
        bounded = self._bounded_count(search)
        if bounded < count:
            result |= self._plain.begin_step(count)
        if self._bounded is not None and bounded:
            result |= {f"bounded_{name}": x for name, x in self._bounded.begin_step(count).items()}
        return result

    def iterate(self, search: Search, q: np.ndarray, v: np.ndarray, inputs: Any, iterations: int) -> Search:
        count = self._bounded_count(search)
        if self._bounded is None or count == 0:
            return self._plain.iterate(search, self._inputs(self._plain, q, v, inputs), iterations)
        if count == len(q):
            state = self._bounded.iterate(
                self._bounded_state(search), self._inputs(self._bounded, q, v, inputs), iterations
            )
            return self._with_bounded_state(search, state)
        is_bounded = search["is_bounded"] > 0.5
        state, own_inputs = self._chosen(self._plain, ~is_bounded, search, q, v, inputs)
        result = _merged(search, self._plain.iterate(state, own_inputs, iterations), ~is_bounded)
        state, own_inputs = self._chosen(self._bounded, is_bounded, search, q, v, inputs)
        state = self._with_bounded_state(
            state, self._bounded.iterate(self._bounded_state(state), own_inputs, iterations)
        )
        return _merged(result, state, is_bounded)

    def _bounded_count(self, search: Search) -> int:
        """Return the number of environments in whose search the effort limits are constraints."""
        return 0 if self._bounded is None else int(np.count_nonzero(search["is_bounded"]))

    def _chosen(
        self, program: _Program, lanes: np.ndarray, search: Search, q: np.ndarray, v: np.ndarray, inputs: Any
    ) -> tuple[Search, Inputs]:
        """Return the state and the kernel inputs of a search for the environments with indices ``lanes``."""
        inputs = program.of_environments(self._inputs(program, q, v, inputs), lanes)
        return {name: x[lanes] for name, x in search.items()}, inputs

    def _inputs(self, program: _Program, q: np.ndarray, v: np.ndarray, inputs: Any) -> Inputs:
        """Return all inputs of a search: the call's inputs, constants, and the state."""
        result: Inputs = program.constants(inputs[1]) | inputs[0]
        return result | {"start": q, "rate": v}

    def with_effort_limits(self, search: Search, tau: np.ndarray) -> tuple[Search, np.ndarray]:
        bounded, no_environments = self._bounded, np.zeros(len(tau), dtype=bool)
        if bounded is None:
            return search, no_environments
        size, count, multipliers = np.abs(tau), self._bounded_count(search), search["effort_multipliers"]
        if count == 0 and np.count_nonzero(size > self._limits) == 0:
            return search, no_environments
        if len(tau) == count == 1 and (np.count_nonzero(multipliers) or np.count_nonzero(size > self._released)):
            return search, no_environments  # the most common case, fast
        was = search["is_bounded"] > 0.5
        exceeds = (size > self._limits).any(axis=(1, 2)) & ~was
        stays = multipliers.any(axis=(1, 2)) | (size > self._released).any(axis=(1, 2))
        fresh_state = bounded.begin_step(len(tau))
        fresh = {f"bounded_{x}": _where(exceeds, fresh_state[x], search[f"bounded_{x}"]) for x in _RESET}
        return {**search, **fresh, "is_bounded": np.where(was, stays, exceeds).astype(float)}, exceeds

    # -- the result of a search

    def _diagnostics(self, search: Search) -> tuple[np.ndarray, np.ndarray]:
        """Return the diagnostics (n, count) of the search of each of n environments, and constraint violations (n,)."""
        count = self._bounded_count(search)
        if self._bounded is None or count == 0:
            return self._plain.diagnostics(search["scalars"])
        bounded = self._bounded.diagnostics(search["bounded_scalars"])
        if count == len(search["q"]):
            return bounded
        is_bounded = search["is_bounded"] > 0.5
        plain = self._plain.diagnostics(search["scalars"])
        return np.where(is_bounded[:, None], bounded[0], plain[0]), np.where(is_bounded, bounded[1], plain[1])

    def has_converged(self, search: Search) -> bool:
        return bool((self._diagnostics(search)[0][:, _STATUS] > 0.5).all())

    def path(self, search: Search) -> np.ndarray:
        return search["q"]

    def cost_and_violation(self, search: Search) -> tuple[np.ndarray, np.ndarray]:
        diagnostics, violation = self._diagnostics(search)
        is_known = np.isfinite(diagnostics[:, _MERIT]) & (violation < _KNOWN) & (diagnostics[:, _COST] < _KNOWN)
        costs = diagnostics[:, _COST] * self._plain.prepared.cost_unit
        return np.where(is_known, costs, np.nan), np.where(is_known, violation, np.nan)

    def known_forces(self, search: Search) -> tuple[np.ndarray | None, Mapping[str, np.ndarray]]:
        result, start = {}, 0
        for name, size in self._plain.prepared.program.variables:
            result[name] = search["u"][..., start : start + size]
            start += size
        return None, result

    def is_finite(self, search: Search) -> np.ndarray:
        return np.asarray(np.isfinite(self._diagnostics(search)[0][:, _MERIT]))

    def explain(self, search: Search, q: np.ndarray, v: np.ndarray, inputs: Any, index: int) -> str:
        program, state = self._plain, search
        if self._bounded is not None and search["is_bounded"][index] > 0.5:
            program, state = self._bounded, self._bounded_state(search)
        inputs = program.of_environments(self._inputs(program, q, v, inputs), index)
        state = {name: state[name][index] for name in program.names}
        result = OptimalResult._make(program.prepared, state, inputs, program.tolerances)
        if result.status != "not_finite" and not state["scalars"][_COST] < _KNOWN:
            return (
                f"none of {result.iterations} iterations improved on the initial path: the last step was "
                f"{state['scalars'][_LENGTH]:.2g} long"
            )
        return f"{result.status}: {result.message}"

    def kernels(self) -> Sequence[Kernel]:
        """Return the kernel of the search without effort limits."""
        self._plain.prepared.scaled_constants  # noqa: B018
        return [self._plain.prepared.kernel]

    def later_kernels(self) -> Sequence[Callable[[], Kernel]]:
        """Return a function that returns the kernel of the search with effort limits."""
        return [] if self._bounded is None else [self._bounded.kernel]


class _Program:
    """A search of the planner, without or with effort limits: its problem as arrays, and its kernel."""

    def __init__(self, data: PreparedProblem) -> None:
        program = data.program
        self.prepared, self.steps, self.depth, self.hard = (data, program.steps, program.depth, len(program.hard))
        self.multipliers = program.force_count(program.everywhere)  # per step
        self.names, self.shapes = list(state_shapes(program)), shapes_of(program)
        self.tolerances = np.full(1 + self.hard, _STEP)

    def kernel(self) -> Kernel:
        """Return the kernel of the search, after its constants are computed."""
        self.prepared.scaled_constants  # noqa: B018
        result: Kernel = self.prepared.kernel
        return result

    def constants(self, weights: np.ndarray | None) -> Inputs:
        """Return the kernel inputs that are the same in all calls, by name.

        ``weights`` (..., steps, terms) replace the weights of the first terms.
        """
        result = dict(self.prepared.scaled_constants)
        if weights is not None:
            further = result["weights"][:, weights.shape[-1] :]
            further = np.broadcast_to(further, (*weights.shape[:-1], further.shape[-1]))
            result["weights"] = np.concatenate([weights, further], axis=-1)
        return result

    def begin_step(self, count: int) -> Search:
        """Return those arrays of the search's state that each controller step resets, for ``count`` environments."""
        begin = self.prepared.begin
        result = {name: np.repeat(begin[name][None], count, axis=0) for name in _RESET if name in begin}
        result["scalars"][:, _COST] = _UNKNOWN  # before the first step
        return result

    def diagnostics(self, scalars: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Split the scalars of searches into diagnostics (n, count) and the largest constraint violation (n,)."""
        first = len(SEARCH_SCALARS)
        return scalars[:, :first], scalars[:, first : first + self.hard].max(axis=1, initial=0.0)

    def of_environments(self, inputs: Inputs, which: Any) -> Inputs:
        """Return the inputs of the environments that ``which`` selects."""
        shapes = self.shapes
        return {name: x[which] if x.ndim > len(shapes[name]) else x for name, x in inputs.items() if name in shapes}

    def iterate(self, search: Search, inputs: Inputs, iterations: int) -> Search:
        """Return the state after further iterations, until there are ``iterations`` in total since `begin_step`."""
        state = (search[name] for name in self.names)
        result = self.prepared.kernel(
            *state, *(inputs[name] for name in self.shapes), self.tolerances, np.array(float(iterations))
        )
        return {**search, **{name: getattr(result, name) for name in self.names}}


def _where(which: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return x for environments where the mask ``which`` (n,) is True, and y for all others."""
    return np.where(which.reshape(-1, *(1,) * (x.ndim - 1)), x, y)


def _merged(search: Search, state: Search, lanes: np.ndarray) -> Search:
    """Return the state ``search``, in which ``state`` replaces the entries of the environments ``lanes``."""
    result = {name: x.copy() for name, x in search.items()}
    for name, x in state.items():
        result[name][lanes] = x
    return result


@dataclass(frozen=True)
class _MotorTorque(TorqueFeature):
    """Forces τ of the selected joints in a step, without a target: the forces that a controller applies."""

    @property
    def target_of(self) -> None:  # type: ignore[override]
        return None


def _with_torque_limits(problem: Any, limits: np.ndarray, passive: bool) -> Any:
    """Return the problem with torques limited to ±limits (nv,) in every step.

    Limits are 0 or above; inf means no limit.  Without any limit the problem itself is returned.
    """
    result = problem
    by_joint = {body.joint_name: limits[problem.robot.tree.v_slices[i]] for i, body in problem.robot.tree.stacked()}
    idle = [name for name, most in by_joint.items() if most.size and not most.any()]
    driven = [name for name, most in by_joint.items() if np.isfinite(most).any() and name not in idle]
    if idle:
        feature = _MotorTorque(idle, passive=passive)
        result = result.add(feature, "equality", name=_unused_name(problem, "no motor"))
    if driven:
        bounds = np.concatenate([by_joint[name] for name in driven])
        feature, name = _MotorTorque(driven, passive=passive), _unused_name(problem, "effort limits")
        result = result.add(feature, "inequality", lower=-bounds, upper=bounds, name=name)
    return result


def _unactuated_indices(problem: Any) -> set[int]:
    """Return the indices in τ that the problem itself constrains to zero."""
    terms = [term for term in problem.terms if term.kind == "equality"]
    return {k for term in terms if isinstance(term.feature, TorqueFeature) for k in term.feature.indices}


def _unused_name(problem: Any, name: str) -> str:
    names = {term.name for term in problem.terms}
    return next(x for k in range(1, len(names) + 2) if (x := name if k == 1 else f"{name} {k}") not in names)
