"""The augmented Lagrangian of `TrajectoryProblem.solve` for controllers: paths are carried on, from given states.

Forces of motors are limited in the plan.  Limits that are not reached change nothing: a path that is best without them
and whose forces are within them all the way is best with them, too.  So there are two searches of the same path.  The
quick one leaves the limits out.  An environment whose plan passes a limit is searched again in the same step, from
that path on, with the limits as constraints, and stays with this search until its forces are well within all limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.control.mpc.mpc_solvers import Search, later_rows, receding_step, split_share
from linkwork.kernels.compiler_api import make_ready
from linkwork.model.kernel_parameters import Parameter
from linkwork.optimal.features import TorqueFeature
from linkwork.optimal.features.feature import FeatureJacobian, Scalars
from linkwork.optimal.kernels import TOLD, shapes_of, state_shapes
from linkwork.optimal.problem_arrays import PreparedProblem, prepared
from linkwork.optimal.result import OptimalResult
from linkwork.optimal.robot_parameters import by_environment, motor_places, nominal_numbers, robot_inputs
from linkwork.optimal.schedule import Schedule

__all__ = ["AugmentedPlanner"]

Numbers = dict[str, np.ndarray]

_STATUS, _COST, _MERIT, _LENGTH = (TOLD.index(name) for name in ("status", "cost", "merit", "length"))
_UNKNOWN, _KNOWN = 1e300, 1e299  # costs and violations before any step was taken, and what all others are below
_STEP = 1e-9  # [rad, m]: shorter steps of a search need no further ones
_RENEWED = ("told", "penalties")  # of a search's state: begins anew in each step
_RELEASED = 0.9  # of a limit: a plan whose forces stay below needs no limits


class AugmentedPlanner:
    """The augmented Lagrangian of `TrajectoryProblem.solve`, from given states, within the limits of motors."""

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
        self.robot = robot = problem.robot
        names = None if actuators is None else tuple(actuators)
        self._arguments = problem, names, effort, passive, parameters
        motors = motor_places("controller", robot, names)
        limits = np.full(robot.nv, np.inf)
        limits[[*motors]] = np.broadcast_to(robot.effort_limits if effort is None else effort, robot.nv)[[*motors]]
        limits[[*set(range(robot.nv)).difference(motors, _places_without_force(problem))]] = 0.0
        actuated = _within(problem, np.where(limits > 0.0, np.inf, limits), passive)
        bounded = _within(actuated, np.where(limits > 0.0, limits, np.inf), passive)
        if bounded.variables.keys() != actuated.variables.keys():
            actuated = bounded  # whose unknowns are others
        self._own = _Program(prepared(actuated, True, False, parameters))
        self._bounded = None if bounded is actuated else _Program(prepared(bounded, True, False, parameters))
        limits[limits == 0.0] = np.inf  # those count in both
        self._limits, self._released = limits, _RELEASED * limits
        self.steps, self.step = self._own.steps, receding_step(self._own.prepared)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments

    def numbers(
        self,
        reference: Mapping[str, Any] | None,
        lead: tuple[int, ...],
        schedule: Schedule | None = None,
        parameters: Mapping[Parameter, np.ndarray] | None = None,
    ) -> tuple[Numbers, np.ndarray | None]:
        """What both searches take besides constants, and where terms count, if not as the problem has it."""
        tree = self.robot.tree
        shared = robot_inputs(tree, nominal_numbers(tree, self._arguments[-1]) | dict(parameters or {}))
        for name, x in self._own.prepared.given_targets(reference).items():
            shared[name] = by_environment("step: reference", x, self._own.shapes[name], lead)
        return shared, None if schedule is None else schedule.weights

    # -- the state of both searches: that of the one without limits, and what the other has besides

    def begun(self, q: np.ndarray) -> Search:
        state = dict(self._own.prepared.begin)
        if self._bounded is not None:
            begin = self._bounded.prepared.begin
            state["effort_multipliers"] = begin["everywhere"][:, self._own.multipliers :]
            state |= {f"bounded_{name}": begin[name] for name in _RENEWED} | {"is_bounded": np.zeros(())}
        result = {name: np.repeat(x[None], len(q), axis=0) for name, x in state.items()}
        result["q"] = np.repeat(q[:, None], self.steps, axis=1)
        return result

    def _bounded_state(self, search: Search) -> Search:
        """The state of the search with limits."""
        state = {name: x for name, x in search.items() if name in ("q", "u", "p", "alone")}
        state["everywhere"] = self._all_multipliers(search)
        return state | {name: search[f"bounded_{name}"] for name in _RENEWED}

    def _with_bounded_state(self, search: Search, state: Search) -> Search:
        """The state of both, where that of the search with limits has changed."""
        result = {**search, **{name: x for name, x in state.items() if name in ("q", "u", "p", "alone")}}
        count = self._own.multipliers
        if count:
            result["everywhere"] = state["everywhere"][..., :count]
        result["effort_multipliers"] = state["everywhere"][..., count:]
        return result | {f"bounded_{name}": state[name] for name in _RENEWED}

    def moved(self, search: Search, share: float) -> Search:
        whole, part = split_share(share)
        result = dict(search)
        result["q"] = self._moved_path(search["q"], whole, part)
        if "u" in result:
            result["u"] = later_rows(result["u"], share)
        if self._bounded_count(search):
            count = self._own.multipliers
            later = later_rows(self._all_multipliers(search), share)
            result["effort_multipliers"] = later[..., count:]
            if count:
                result["everywhere"] = later[..., :count]
        elif "everywhere" in result:
            result["everywhere"] = later_rows(result["everywhere"], share)
        return result

    @staticmethod
    def _all_multipliers(search: Search) -> np.ndarray:
        """Those of constraints in all steps, limits last."""
        if "everywhere" not in search:
            return search["effort_multipliers"]
        return np.concatenate([search["everywhere"], search["effort_multipliers"]], axis=-1)

    def _moved_path(self, q: np.ndarray, whole: int, part: float) -> np.ndarray:
        """Configurations later on; after the last as before it."""
        T, whole = q.shape[1], min(whole, q.shape[1])
        rows = [q]
        if T > 1:
            last, rate = q[:, -1], self.robot.difference(q[:, -2], q[:, -1])
            for _ in range(whole + (part > 0.0)):
                last = self.robot.integrate(last, rate)
                rows.append(last[:, None])
        else:
            rows += [q] * (whole + 1)
        longer = np.concatenate(rows, axis=1)
        here = longer[:, whole : whole + T]
        if part:
            changes = self.robot.difference(here, longer[:, whole + 1 : whole + 1 + T])
            return np.asarray(self.robot.integrate(here, part * changes))
        return np.ascontiguousarray(here)

    def started(self, search: Search) -> Search:
        count, result = len(search["q"]), dict(search)
        bounded = self._bounded_count(search)
        if bounded < count:
            result |= self._own.started(count)
        if self._bounded is not None and bounded:
            result |= {f"bounded_{name}": x for name, x in self._bounded.started(count).items()}
        return result

    def iterated(self, search: Search, q: np.ndarray, v: np.ndarray, numbers: Any, upto: int) -> Search:
        count = self._bounded_count(search)
        if self._bounded is None or count == 0:
            return self._own.iterated(search, self._inputs(self._own, q, v, numbers), upto)
        if count == len(q):
            state = self._bounded.iterated(
                self._bounded_state(search), self._inputs(self._bounded, q, v, numbers), upto
            )
            return self._with_bounded_state(search, state)
        is_bounded = search["is_bounded"] > 0.5
        state, inputs = self._chosen(self._own, ~is_bounded, search, q, v, numbers)
        result = _merged(search, self._own.iterated(state, inputs, upto), ~is_bounded)
        state, inputs = self._chosen(self._bounded, is_bounded, search, q, v, numbers)
        state = self._with_bounded_state(state, self._bounded.iterated(self._bounded_state(state), inputs, upto))
        return _merged(result, state, is_bounded)

    def _bounded_count(self, search: Search) -> int:
        """In how many environments limits count."""
        return 0 if self._bounded is None else int(np.count_nonzero(search["is_bounded"]))

    def _chosen(
        self, program: _Program, some: np.ndarray, search: Search, q: np.ndarray, v: np.ndarray, numbers: Any
    ) -> tuple[Search, Numbers]:
        """The state of some environments, and what comes with their call."""
        inputs = program.of_environments(self._inputs(program, q, v, numbers), some)
        return {name: x[some] for name, x in search.items()}, inputs

    def _inputs(self, program: _Program, q: np.ndarray, v: np.ndarray, numbers: Any) -> Numbers:
        """What comes with a call of a search, with where the robot was before."""
        result: Numbers = program.constants(numbers[1]) | numbers[0]
        if program.depth:
            before = [self.robot.integrate(q, (-k * self.step) * v) for k in range(program.depth - 1, 0, -1)]
            result["past"] = np.stack([*before, q], axis=-2)
        return result

    def limited(self, search: Search, tau: np.ndarray) -> tuple[Search, np.ndarray]:
        bounded, none = self._bounded, np.zeros(len(tau), dtype=bool)
        if bounded is None:
            return search, none
        size, count, multipliers = np.abs(tau), self._bounded_count(search), search["effort_multipliers"]
        if count == 0 and np.count_nonzero(size > self._limits) == 0:
            return search, none
        if len(tau) == count == 1 and (np.count_nonzero(multipliers) or np.count_nonzero(size > self._released)):
            return search, none  # a quick answer for the most common case
        was = search["is_bounded"] > 0.5
        passes = (size > self._limits).any(axis=(1, 2)) & ~was
        stays = multipliers.any(axis=(1, 2)) | (size > self._released).any(axis=(1, 2))
        begun = bounded.started(len(tau))
        fresh = {f"bounded_{x}": _where(passes, begun[x], search[f"bounded_{x}"]) for x in _RENEWED}
        return {**search, **fresh, "is_bounded": np.where(was, stays, passes).astype(float)}, passes

    # -- what has become of it

    def _diagnostics(self, search: Search) -> tuple[np.ndarray, np.ndarray]:
        """Diagnostics of each environment's search (n, numbers), and by how much it violates constraints (n,)."""
        count = self._bounded_count(search)
        if self._bounded is None or count == 0:
            return self._own.diagnostics(search["told"])
        bounded = self._bounded.diagnostics(search["bounded_told"])
        if count == len(search["q"]):
            return bounded
        is_bounded = search["is_bounded"] > 0.5
        own = self._own.diagnostics(search["told"])
        return np.where(is_bounded[:, None], bounded[0], own[0]), np.where(is_bounded, bounded[1], own[1])

    def ended(self, search: Search) -> bool:
        return bool((self._diagnostics(search)[0][:, _STATUS] > 0.5).all())

    def path(self, search: Search) -> np.ndarray:
        return search["q"]

    def judged(self, search: Search) -> tuple[np.ndarray, np.ndarray]:
        diagnostics, violated = self._diagnostics(search)
        is_known = np.isfinite(diagnostics[:, _MERIT]) & (violated < _KNOWN) & (diagnostics[:, _COST] < _KNOWN)
        return np.where(is_known, diagnostics[:, _COST], np.nan), np.where(is_known, violated, np.nan)

    def forces(self, search: Search) -> tuple[np.ndarray | None, Mapping[str, np.ndarray]]:
        result, start = {}, 0
        for name, size in self._own.prepared.program.variables:
            result[name] = search["u"][..., start : start + size]
            start += size
        return None, result

    def sound(self, search: Search) -> np.ndarray:
        return np.asarray(np.isfinite(self._diagnostics(search)[0][:, _MERIT]))

    def explained(self, search: Search, q: np.ndarray, v: np.ndarray, numbers: Any, place: int) -> str:
        program, state = self._own, search
        if self._bounded is not None and search["is_bounded"][place] > 0.5:
            program, state = self._bounded, self._bounded_state(search)
        inputs = program.of_environments(self._inputs(program, q, v, numbers), place)
        state = {name: state[name][place] for name in program.names}
        result = OptimalResult._make(program.prepared, state, inputs, program.tolerances)
        if result.status != "not_finite" and not state["told"][_COST] < _KNOWN:
            return (
                f"no step of {result.iterations} was better than none: the last was {state['told'][_LENGTH]:.2g} long"
            )
        return f"{result.status}: {result.message}"

    def prepare(self) -> None:
        for program in (self._own, self._bounded):
            if program is not None:
                make_ready(program.prepared.kernel)
                program.prepared.scaled_constants  # noqa: B018


class _Program:
    """One search: a problem as arrays, and calls of its kernel."""

    def __init__(self, own: PreparedProblem) -> None:
        program = own.program
        self.prepared, self.steps, self.depth, self.hard = own, program.steps, program.depth, len(program.hard)
        self.multipliers = program.force_count(program.everywhere)  # of a step
        self.names, self.shapes = list(state_shapes(program)), shapes_of(program)
        self.tolerances = np.full(1 + self.hard, _STEP)

    def constants(self, weights: np.ndarray | None) -> Numbers:
        """What is the same in all calls; with ``weights`` (..., steps, terms) of the first terms."""
        result = dict(self.prepared.scaled_constants)
        if weights is not None:
            rest = result["weights"][:, weights.shape[-1] :]
            rest = np.broadcast_to(rest, (*weights.shape[:-1], rest.shape[-1]))
            result["weights"] = np.concatenate([weights, rest], axis=-1)
        return result

    def started(self, count: int) -> Search:
        """What of the state begins anew in each step, of so many environments."""
        begin = self.prepared.begin
        result = {name: np.repeat(begin[name][None], count, axis=0) for name in _RENEWED if name in begin}
        result["told"][:, _COST] = _UNKNOWN  # until a step is taken
        return result

    def diagnostics(self, told: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the kernel says of searches (n, numbers), and by how much they violate constraints (n,)."""
        first = len(TOLD)
        return told[:, :first], told[:, first : first + self.hard].max(axis=1, initial=0.0)

    def of_environments(self, numbers: Numbers, which: Any) -> Numbers:
        """The numbers of some environments."""
        shapes = self.shapes
        return {name: x[which] if x.ndim > len(shapes[name]) else x for name, x in numbers.items() if name in shapes}

    def iterated(self, search: Search, numbers: Numbers, upto: int) -> Search:
        """The state after so many iterations in all since it was started."""
        state = (search[name] for name in self.names)
        result = self.prepared.kernel(
            *state, *(numbers[name] for name in self.shapes), self.tolerances, np.array(float(upto))
        )
        if len(self.names) == 1:
            return {**search, self.names[0]: np.asarray(result)}
        return {**search, **{name: getattr(result, name) for name in self.names}}


def _where(which: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """By environment (n,): x where it is one of these, y elsewhere."""
    return np.where(which.reshape(-1, *(1,) * (x.ndim - 1)), x, y)


def _merged(search: Search, state: Search, some: np.ndarray) -> Search:
    """The state of some environments among that of all."""
    result = {name: x.copy() for name, x in search.items()}
    for name, x in state.items():
        result[name][some] = x
    return result


@dataclass(frozen=True)
class _MotorTorque(TorqueFeature):
    """τ of some joints as a step begins, which is what a controller exerts there."""

    @property
    def target_of(self) -> None:  # type: ignore[override]
        return None

    def values(self, w: Any, target: Scalars) -> list[Any]:
        tau = w.begin_torque(self.passive)
        return [tau[k] for k in self.places]

    def jacobian(self, w: Any, target: Scalars) -> FeatureJacobian:
        result = w.begin_torque_jacobian(self.passive)
        rows, places = result.rows, self.places
        return FeatureJacobian(
            [result.values[k] for k in places],
            [[block[k] for k in places] for block in rows],
            [result.parameters[k] for k in places],
        )


def _within(problem: Any, limits: np.ndarray, passive: bool) -> Any:
    """Return the problem that limits torques to ±limits (nv,) in every step, which are 0 or above, inf where there
    is none; the problem itself where there are no limits.
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


def _places_without_force(problem: Any) -> set[int]:
    """Where in τ a problem asks for none itself."""
    terms = [term for term in problem.terms if term.kind == "equality"]
    return {k for term in terms if isinstance(term.feature, TorqueFeature) for k in term.feature.places}


def _unused_name(problem: Any, name: str) -> str:
    names = {term.name for term in problem.terms}
    return next(x for k in range(1, len(names) + 2) if (x := name if k == 1 else f"{name} {k}") not in names)
