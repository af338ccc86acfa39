"""Model-predictive control: a trajectory problem over a receding horizon, solved a few iterations in each step."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.messages import number
from linkwork._util.npz_archive import npz_path, open_archive, write_archive
from linkwork._util.status import status_of
from linkwork._util.validation import finite_array, integer, positive
from linkwork.collision.fingerprints import check_same_dynamics, dynamics_fingerprint
from linkwork.control.linear_quadratic.arguments import (
    actuated_indices,
    actuated_joints,
    cost_matrix,
    read_effort_limits,
    read_seconds,
    read_semidefinite,
    state_cost,
)
from linkwork.control.mpc.augmented_mpc import AugmentedPlanner
from linkwork.control.mpc.mpc_plan import FAILED, LATE, PLANNED, SHORT, MPCCommand, MPCPlan, Planner, Search
from linkwork.control.mpc.plan_actuation import ParameterValues, PlanActuation, by_environment_mask
from linkwork.control.mpc.shooting_mpc import ShootingPlanner
from linkwork.kernels.compiler_api import make_call_ready
from linkwork.kernels.robot_arguments import stacked_by_joint
from linkwork.optimal.arguments import read_count
from linkwork.optimal.robot_parameters import (
    own_robot_parameters,
    parameters_with_batch_axis,
    refuse_idle_motors,
    updated_parameters,
)
from linkwork.optimal.schedule import rescheduled
from linkwork.optimal.trajectory_problem import TrajectoryProblem

__all__ = ["ModelPredictiveController"]

_FORMAT = "linkwork controller 2"
_SOLVERS: dict[str, type[AugmentedPlanner | ShootingPlanner]] = {"augmented": AugmentedPlanner, "ilqr": ShootingPlanner}


@public
class ModelPredictiveController:
    """Model-predictive controller: ``step(state, reference)`` updates a plan and returns the command of its first step.

    `TrajectoryProblem.controller` returns it.  Each step continues the search of the previous step, with its path and
    multipliers shifted by the elapsed time, for a fixed number of iterations.  If a step gives no new plan, the last
    plan continues.  Results depend only on the previous steps, unless ``time_limit`` ends iterations early.

    - ``period`` [s] between steps; default: the step of the problem.
    - ``max_iterations`` in each step, ``first_max_iterations`` in the first; ``time_limit`` [s] ends them earlier.
    - ``max_constraint_violation``: a path with a larger violation is rejected.
    - ``Q`` and ``R``: weights of deviations from the plan, of the state (q, v) and of the forces, for its feedback
      gains: a number, a diagonal or a matrix; for ``Q`` also a pair (position weight, velocity weight).
    - ``fallback_braking_time`` [s]: without a plan, the robot decelerates with −v / fallback_braking_time.
    - ``actuators``: names of the joints that have motors (default: those of the problem, or all except those of six
      degrees of freedom);
      ``effort_limits`` [N·m, N]: their largest forces, a number, (nv,) or a dict by joint (default: the robot's);
      ``passive``: with armature, springs, damping and friction of joints (default: True).  Commands and plans respect
      all three: effort limits are constraints of all steps.
    - ``solver``: "augmented", "ilqr", a `Planner`, which has to handle motors itself, or a function that returns a
      `Planner`.  It receives the problem, the names of joints that have motors, their largest forces (nv,) or None for
      the robot's, ``passive``, and ``parameters`` if there are any.
    - ``parameters``: names of robot parameters, as in `Robot.parameters`, whose values ``step`` accepts, or a dict of
      names to default values, (*shape,) or (..., *shape) by environment.  Without a dict, defaults are the robot's own.

    Contacts of the problem and the robot's own constraints bear part of the forces, and gains are computed for the
    constrained robot.  All code is compiled by the constructor and by `prepare`.  Code of the search within effort
    limits is compiled in the background: `linkwork.wait_for_compiler` waits for it.  Raises ValueError, TypeError and
    UnknownNameError, also for contacts that may slide, whose forces are unknown.
    """

    def __init__(
        self,
        problem: Any,
        *,
        period: float | None = None,
        max_iterations: int = 3,
        first_max_iterations: int = 50,
        time_limit: float | None = None,
        max_constraint_violation: float = np.inf,
        Q: Any = (100.0, 1.0),
        R: Any = 1e-3,
        fallback_braking_time: float = 0.1,
        actuators: str | Iterable[str] | None = None,
        effort_limits: ArrayLike | Mapping[str, ArrayLike] | None = None,
        passive: bool = True,
        parameters: str | Iterable[str] | Mapping[str, ArrayLike] | None = None,
        solver: str | Planner | Callable[..., Planner] = "augmented",
    ) -> None:
        caller = "controller"
        if isinstance(solver, str) and solver not in _SOLVERS:
            raise ValueError(f"{caller}: solver: expected one of {', '.join(map(repr, _SOLVERS))}, got {solver!r}")
        make: Any = _SOLVERS[solver] if isinstance(solver, str) else solver if callable(solver) else None
        if make is not None and not hasattr(problem, "robot"):
            remedy = "TrajectoryProblem(robot, ...).controller() makes a controller"
            raise TypeError(f"{type(self).__name__}: problem: expected a TrajectoryProblem, got {problem!r}; {remedy}")
        self.robot = robot = (solver if make is None else problem).robot  # type: ignore[union-attr]
        self.passive = bool(passive)
        self.acting = actuated_indices(caller, robot, actuators)
        idle: set[int] = getattr(problem, "_unactuated", set())
        if actuators is None:
            self.acting = np.setdiff1d(self.acting, np.array([*idle], dtype=int))
        refuse_idle_motors(f"{caller}: actuators", robot, self.acting.tolist(), idle)
        self._effort = read_effort_limits(caller, robot, effort_limits)
        self._parameters = own_robot_parameters(caller, problem, parameters)
        named = tuple(self._parameters)
        if make is not None:
            names = actuated_joints(caller, robot, self.acting)
            max_effort = None if effort_limits is None else self._effort
            solver = make(problem, names, max_effort, self.passive, *([named] if named else []))
        if not isinstance(solver, Planner):
            expected = "expected the name of a solver, a planner, or a function that returns one"
            raise TypeError(f"{caller}: solver: {expected}, got {solver!r}")
        self.planner = planner = solver
        self.problem = problem
        self.period = read_seconds(caller, "period", planner.step if period is None else period)
        self.max_iterations = read_count(caller, "max_iterations", max_iterations)
        self.first_max_iterations = read_count(caller, "first_max_iterations", first_max_iterations)
        self.time_limit = None if time_limit is None else read_seconds(caller, "time_limit", time_limit, zero=True)
        self.fallback_braking_time = read_seconds(caller, "fallback_braking_time", fallback_braking_time)
        self.max_constraint_violation = positive(
            caller, "max_constraint_violation", max_constraint_violation, infinite=True, symbols=False
        )
        weights = (
            read_semidefinite(caller, "Q", state_cost(caller, "Q", Q, robot.nv)),
            read_semidefinite(caller, "R", cost_matrix(caller, "R", R, len(self.acting)), positive=True),
        )
        motors = self.acting, self._effort, self.passive
        self._actuation = PlanActuation(caller, problem, planner, *motors, named, *weights)
        self.reset()
        self.prepare()

    def prepare(self, num_environments: int = 1) -> None:
        """Compile all code that steps of ``num_environments`` environments run.

        The constructor compiles for one or two environments.  Call this method for three or more, and for a controller
        that was unpickled, so that the first step is as fast as later steps.  The search within effort limits is
        compiled in the background; `linkwork.wait_for_compiler` waits for it.
        """
        num_environments = integer("prepare", "num_environments", num_environments, least=1)
        kernels = [*self.planner.kernels(), self._actuation.kernel]
        make_call_ready(kernels, self.planner.later_kernels(), num_environments)
        self._actuation.prepare(self.fallback_braking_time, num_environments)

    def __repr__(self) -> str:
        steps, period = self.planner.steps, number(self.period)
        return f"<ModelPredictiveController of {self.robot.name!r}: {steps} steps, period {period} s>"

    # -- the state between steps

    def reset(self) -> None:
        """Discard all plans: the next step is a first step."""
        self._lead: tuple[int, ...] | None = None
        self._search: Search | None = None
        self._elapsed = 0.0  # [s] since the search's path began
        self._plan: MPCPlan | None = None
        self._age = np.zeros(0)  # [s] of plans by environment; infinite without a plan

    @property
    def plan(self) -> MPCPlan | None:
        """The last plan with the batch's leading axes, q (..., T + 1, nq) etc.; None before the first step."""
        if self._plan is None or self._lead is None:
            return None
        return MPCPlan(*(x.reshape(*self._lead, *x.shape[1:]) for x in self._plan))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state between steps to the ``.npz`` file ``path``, for `restore` in the same problem."""
        where = npz_path("save", path)
        fingerprint = dynamics_fingerprint(self.robot, *self._content())
        fields = {"format": _FORMAT, "lead": self._lead, "elapsed": self._elapsed, "of": fingerprint}
        arrays: dict[str, Any] = {"age": self._age}
        arrays |= {f"search.{name}": x for name, x in (self._search or {}).items()}
        arrays |= {f"plan.{name}": x for name, x in (self._plan._asdict() if self._plan else {}).items()}
        write_archive(where, fields, arrays)

    def restore(self, path: str | os.PathLike[str], *, trusted: bool = True) -> None:
        """Load the state that `save` wrote to the file ``path``.

        ``trusted`` makes no difference: the file is read without other libraries, with all checks.
        Raises ValueError for another kind of file, and for the state of a controller of another robot or problem, or
        with other motors.
        """
        where = npz_path("restore", path)
        begin = self.planner.initial_search(np.asarray(self.robot.neutral())[None])
        shapes = {name: x.shape[1:] for name, x in begin.items()}
        with open_archive(where, _FORMAT, "ModelPredictiveController.save") as reader:
            check_same_dynamics(reader.text("of"), self.robot, *self._content())
            lead = None if reader.said["lead"] is None else reader.integers("lead", 0)
            elapsed = reader.number("elapsed", least=0.0)
            count = 0 if lead is None else math.prod(lead)
            age = reader.array("age", (count,), finite=False)
            names = [name[7:] for name in reader.names if name.startswith("search.")]
            search = {name: reader.array(f"search.{name}", kind="any", finite=False) for name in names}
            is_own = not names or {*names} == {*shapes}
            if not is_own or any(x.shape != (count, *shapes[name]) for name, x in search.items()):
                raise ValueError("its arrays are not those of a search")
            plan = None
            if "plan.q" in reader:
                stored = {"q": self.robot.nq, "v": self.robot.nv, "tau": self.robot.nv, "K": None}
                sizes = {name: (count, None, *([size] if size else [None, None])) for name, size in stored.items()}
                plan = MPCPlan(*(reader.array(f"plan.{name}", sizes[name], finite=False) for name in MPCPlan._fields))
        self._lead, self._search, self._elapsed = None if lead is None else tuple(lead), search or None, elapsed
        self._plan, self._age = plan, age

    def _content(self) -> list[Any]:
        """Return the values that determine plans, besides the robot: the problem, the motors and the planner.

        A saved state is accepted if its values are equal.
        """
        names = ("num_steps", "phases", "durations", "terms", "variables", "parameters", "contacts")
        motors = self.acting, self._effort, self.passive, self._parameters
        return [type(self.planner).__name__, *(getattr(self.problem, name, None) for name in names), *motors]

    # -- a step

    def step(
        self,
        state: tuple[ArrayLike, ArrayLike],
        reference: Mapping[str, Any] | None = None,
        *,
        elapsed: float | None = None,
        phases: Mapping[str, Any] | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
    ) -> MPCCommand:
        """Return the command for a state (q, v), arrays (..., nq) and (..., nv).

        - ``reference``: targets by name, as `TrajectoryProblem.solve` accepts them.
        - ``elapsed`` [s]: time since the last step; default: ``period``.
        - ``phases``: the steps of the problem's phases in this call, by name: (first step, step after the last), None
          for no step, or T booleans (..., T).  The other phases are where the problem has them.
        - ``parameters``: values by name, (*shape,) or (..., *shape), of robot parameters that were passed to the
          constructor. Parameters without a value here have their values from the constructor.

        Leading axes are environments, the same in all steps.  Raises ValueError and UnknownNameError for invalid
        arguments, also for states that are not finite; the controller's state does not change then.
        """
        begin = time.perf_counter()
        q, v, lead = self._read_state(state)
        passed = self.period if elapsed is None else read_seconds("step", "elapsed", elapsed, zero=True)
        values = self._parameter_values(parameters, lead)
        inputs, active = self._call_inputs(reference, lead, phases, values)
        is_first = self._search is None
        requested = self.first_max_iterations if is_first else self.max_iterations
        self._lead = lead
        self._age = np.full(len(q), np.inf) if is_first else self._age + passed
        self._elapsed = 0.0 if is_first else self._elapsed + passed
        search, done = self._run_search(q, v, inputs, begin, requested)
        complete = done == requested
        outcome = _SearchOutcome.none(len(q))
        if done:
            outcome = self._outcome(q, v, search, active, values)
            search, again = self.planner.with_effort_limits(search, outcome.plan.tau)
            if again.any():
                search, more = self._iterate(search, q, v, inputs, begin, requested)
                outcome = self._outcome(q, v, search, active, values) if more else outcome
                done, complete = done + more, more == requested
            complete = complete or self.planner.has_converged(search)
            self._update(outcome, search, q)
        statuses = PLANNED if complete else SHORT, FAILED if done else LATE
        plan = self._plan, self._age, outcome.is_new
        torque, K, status = self._actuation.forces(q, v, *plan, *statuses, active, values, self.fallback_braking_time)
        torque, K, q, v = (x.reshape(*lead, *x.shape[1:]) for x in (torque, K, q, v))
        violation, cost = (x.reshape(lead) if lead else x[0].item() for x in (outcome.violation, outcome.cost))
        seconds, source = time.perf_counter() - begin, (self.planner, search, inputs) if done else None
        limits, diagnostics = (self.acting, self._effort), (status_of(status.reshape(lead)), violation, cost)
        return MPCCommand._make(self.robot, torque, K, q, v, *limits, *diagnostics, done, seconds, source)

    def _parameter_values(self, parameters: Any, lead: tuple[int, ...]) -> ParameterValues:
        """Return the robot's parameters of a step, (n, *shape) or (*shape,).

        Raises ValueError, TypeError, UnknownNameError.
        """
        if parameters is None and not self._parameters:
            return {}
        values = updated_parameters("step", self.problem, self._parameters, parameters)
        return parameters_with_batch_axis("step", self.robot.tree, values, lead)

    def _call_inputs(
        self,
        reference: Mapping[str, Any] | None,
        lead: tuple[int, ...],
        phases: Mapping[str, Any] | None,
        values: ParameterValues,
    ) -> tuple[Any, np.ndarray]:
        """Return the planner's inputs of a step, and flags (..., T, contacts): 1 where a contact or constraint acts."""
        constrained, steps = self._actuation.constrained, self.planner.steps
        own_phases = None if constrained is None else constrained.phases
        more: dict[str, Any] = {"parameters": values} if values else {}
        if phases is None:
            active = np.zeros((steps, 0)) if own_phases is None else own_phases.active(steps)
            return self.planner.call_inputs(reference, lead, **more), active
        schedule = rescheduled("step", self.problem, own_phases, phases, lead)
        return self.planner.call_inputs(reference, lead, schedule, **more), schedule.active

    def _read_state(self, state: Any) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
        if not isinstance(state, tuple | list) or len(state) != 2:
            raise ValueError(f"step: state: expected a pair (q, v), got {state!r}")
        robot = self.robot
        q, v = (stacked_by_joint(robot, "step: state", name, x, name) for name, x in zip("qv", state, strict=True))
        q = finite_array("step", "state: q", q, shape=("...", robot.nq))
        v = finite_array("step", "state: v", v, shape=("...", robot.nv))
        if q.shape[:-1] != v.shape[:-1]:
            raise ValueError(
                f"step: state: expected q and v with the same leading axes, got shapes {q.shape} and {v.shape}"
            )
        lead = q.shape[:-1]
        if self._lead is not None and lead != self._lead:
            raise ValueError(
                f"step: state: q: expected shape {(*self._lead, robot.nq)} as in the steps before, got {q.shape}; "
                f"call reset() to change the batch"
            )
        return q.reshape(-1, robot.nq), v.reshape(-1, robot.nv), lead

    def _run_search(
        self, q: np.ndarray, v: np.ndarray, inputs: Any, begin: float, requested: int
    ) -> tuple[Search, int]:
        """Return the state of the search after the iterations of a controller step, and the number of iterations.

        ``requested`` is the number of iterations if the time limit, counted from ``begin`` [s], permits.
        """
        planner, limit = self.planner, self.time_limit
        if limit is not None and time.perf_counter() - begin >= limit:
            return self._search or {}, 0
        if self._search is None:
            search = planner.initial_search(q)
        else:
            search = planner.shifted(self._search, self._elapsed / planner.step)
        return self._iterate(planner.begin_step(search), q, v, inputs, begin, requested)

    def _iterate(
        self, search: Search, q: np.ndarray, v: np.ndarray, inputs: Any, begin: float, requested: int
    ) -> tuple[Search, int]:
        """Return the search after ``requested`` iterations, or fewer at the time limit, and their number."""
        planner, limit = self.planner, self.time_limit
        if limit is None:
            return planner.iterate(search, q, v, inputs, requested), requested
        done, longest, before = 0, 0.0, time.perf_counter()
        while done < requested and before - begin + longest < limit:
            search = planner.iterate(search, q, v, inputs, done + 1)
            done += 1
            now = time.perf_counter()
            longest, before = max(longest, now - before), now
            if planner.has_converged(search):
                break
        return search, done

    def _outcome(
        self, q: np.ndarray, v: np.ndarray, search: Search, active: np.ndarray, values: ParameterValues
    ) -> _SearchOutcome:
        """Return the plan that a search found for each environment, with its cost and constraint violation."""
        cost, violation = self.planner.cost_and_violation(search)
        path = self.planner.path(search)
        is_finite = np.isfinite(path).all(axis=(1, 2))
        is_new = is_finite & np.isfinite(cost) & (violation <= self.max_constraint_violation)
        with np.errstate(all="ignore"):
            plan = self._actuation.plan_along(q, v, path, search, active, values)
        is_new &= np.isfinite(plan.tau).all(axis=(1, 2)) & np.isfinite(plan.K).all(axis=(1, 2, 3))
        return _SearchOutcome(plan, cost, violation, is_new, is_finite)

    def _update(self, outcome: _SearchOutcome, search: Search, q: np.ndarray) -> None:
        """Store the new plans and the search for the next step.

        Searches with non-finite values restart from a path at rest at ``q``.
        """
        new = outcome.is_new
        if not new.all():
            cold, keep = self.planner.initial_search(q), outcome.is_finite & self.planner.is_finite(search)
            search = {name: np.where(by_environment_mask(keep, x), x, cold[name]) for name, x in search.items()}
        self._search, self._elapsed = search, 0.0
        if new.all() or (self._plan is None and new.any()):
            self._plan = outcome.plan
        elif self._plan is not None:
            both = zip(outcome.plan, self._plan, strict=True)
            self._plan = MPCPlan(*(np.where(by_environment_mask(new, x), x, y) for x, y in both))
        self._age[new] = 0.0


TrajectoryProblem._controller_class = ModelPredictiveController  # of `TrajectoryProblem.controller`


class _SearchOutcome(NamedTuple):
    """The result of a step's search, by environment."""

    plan: Any
    cost: np.ndarray
    violation: np.ndarray
    is_new: np.ndarray  # True where the search gave a plan
    is_finite: np.ndarray  # True where the path is finite

    @classmethod
    def none(cls, count: int) -> _SearchOutcome:
        """Return the outcome of a step without iterations."""
        unknown, no = np.full(count, np.nan), np.zeros(count, dtype=bool)
        return cls(None, unknown, unknown, no, no)
