"""Model-predictive control: a problem of optimal motion that recedes, solved a little further in every step."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.npz_archive import OtherFileError, npz_path, open_archive, write_archive
from linkwork._util.status import status_of
from linkwork.control.linear_quadratic.arguments import (
    actuated_joints,
    actuated_places,
    cost_matrix,
    read_effort_limits,
    read_finite,
    read_positive,
    read_seconds,
    read_semidefinite,
    state_cost,
)
from linkwork.control.mpc.augmented_mpc import AugmentedPlanner
from linkwork.control.mpc.constrained_gains import ConstrainedPlans
from linkwork.control.mpc.mpc_plan import (
    BRAKING,
    FAILED,
    LATE,
    PLANNED,
    ROUNDING,
    SATURATED,
    SHORT,
    MPCCommand,
    MPCPlan,
    followed,
    plan_kernel,
)
from linkwork.control.mpc.mpc_solvers import EXCESS, Planner, Search
from linkwork.control.mpc.shooting_mpc import ShootingPlanner
from linkwork.errors import Status
from linkwork.kernels.compiler_api import Kernel, make_ready
from linkwork.model.kernel_parameters import Parameter
from linkwork.optimal.arguments import read_count
from linkwork.optimal.robot_parameters import (
    forces_of_states,
    own_robot_numbers,
    renumbered,
    robot_inputs,
    spread,
)
from linkwork.optimal.schedule import rescheduled
from linkwork.optimal.shooting.contact_phases import holdings_of

__all__ = ["ModelPredictiveController"]

Numbers = Mapping[Parameter, np.ndarray]

_FORMAT = "linkwork controller 1"
_SOLVERS: dict[str, Callable[..., Planner]] = {"augmented": AugmentedPlanner, "ilqr": ShootingPlanner}


@public
class ModelPredictiveController:
    """A receding problem: ``step(state, reference)`` plans a little further from where the robot is, and says what
    to do.

    Made by `TrajectoryProblem.controller`.  It carries a search, its path and multipliers, from step to step, moved by
    the time that has passed, and does so many iterations in each; the last plan stays what is done when there is no
    new one.  What it carries depends on nothing but the steps before, but where ``time_limit`` cuts iterations short.

    - ``period`` [s] is between steps; one of the problem's unless it is said.
    - ``max_iterations`` are done in each step, ``first_max_iterations`` in the first; ``time_limit`` [s] ends them
      before.
    - ``max_constraint_violation``: a path that violates a constraint more is no plan.
    - ``Q`` and ``R``: what deviations from the plan cost for its gains, of the state and of forces: a number, a
      diagonal or a matrix; of ``Q`` also a pair, of q and of v.
    - ``fallback_braking_time`` [s]: without a plan the robot is slowed down with -v / fallback_braking_time.
    - ``actuators``: names of joints that have motors (all but those of six degrees of freedom); ``effort_limits``:
      their largest forces, a number or (nv,), the robot's unless it is said; ``passive``: forces overcome what joints
      do by themselves.  Commands are by all three, and so are plans: limits of effort are bounds of all of their steps.
    - ``solver``: "augmented", "ilqr", a `Planner`, which has to know about motors by itself, or what makes one of the
      problem, the names of joints that have motors, their largest forces (nv,) or None for the robot's, ``passive``,
      and of ``parameters`` where there are any.
    - ``parameters``: numbers of the robot, by name as `Robot.parameters` has them, that come with each step; of a dict
      those of steps that say none, (*shape,) or (..., *shape) by environment, of names the robot's own.

    What holds the robot meanwhile, contacts of the problem that stay and the robot's own constraints, bears its share
    of the forces, and gains are those of a robot that is held.  All code is made with the controller, and in `prepare`.
    Raises ValueError, TypeError and UnknownNameError, also for contacts that may slide: forces that would have to
    follow them are not known.
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
        effort_limits: ArrayLike | None = None,
        passive: bool = False,
        parameters: str | Iterable[str] | Mapping[str, ArrayLike] | None = None,
        solver: str | Planner | Callable[..., Planner] = "augmented",
    ) -> None:
        caller = "controller"
        if isinstance(solver, str) and solver not in _SOLVERS:
            raise ValueError(f"{caller}: solver: expected one of {', '.join(map(repr, _SOLVERS))}, got {solver!r}")
        making: Any = _SOLVERS[solver] if isinstance(solver, str) else solver if callable(solver) else None
        self.robot = robot = (solver if making is None else problem).robot  # type: ignore[union-attr]
        self.passive = bool(passive)
        self.acting = actuated_places(caller, robot, actuators)
        self._effort = read_effort_limits(caller, robot, effort_limits)
        self._most = np.zeros(robot.nv)  # 0 where there is no motor
        self._most[self.acting] = self._effort[self.acting]
        self._numbers = own_robot_numbers(caller, problem, parameters)
        named = tuple(self._numbers)
        if making is not None:
            names = actuated_joints(caller, robot, self.acting)
            most = None if effort_limits is None else self._effort
            solver = making(problem, names, most, self.passive, *([named] if named else []))
        if not isinstance(solver, Planner):
            expected = "expected the name of a solver, a planner, or a function that returns one"
            raise TypeError(f"{caller}: solver: {expected}, got {solver!r}")
        self.planner = planner = solver
        self.problem = problem
        self._constrained = self._constrained_plans(caller)
        self.period = read_seconds(caller, "period", planner.step if period is None else period)
        self.max_iterations = read_count(caller, "max_iterations", max_iterations)
        self.first_max_iterations = read_count(caller, "first_max_iterations", first_max_iterations)
        self.time_limit = None if time_limit is None else read_seconds(caller, "time_limit", time_limit, zero=True)
        self.fallback_braking_time = read_seconds(caller, "fallback_braking_time", fallback_braking_time)
        self.max_constraint_violation = read_positive(caller, "max_constraint_violation", max_constraint_violation)
        self._Q = read_semidefinite(caller, "Q", state_cost(caller, "Q", Q, robot.nv))
        self._R = read_semidefinite(caller, "R", cost_matrix(caller, "R", R, len(self.acting)), positive=True)
        self._step = np.array(planner.step)
        self.reset()
        self.prepare()

    @cached_property
    def _planning(self) -> Kernel:
        arguments = self.robot, self.planner.steps, tuple(self.acting.tolist()), self.passive
        return plan_kernel(*arguments, tuple(self._numbers))

    def _constrained_plans(self, caller: str) -> ConstrainedPlans | None:
        """Plans of a robot that something holds; none of one that nothing does."""
        if getattr(self.problem, "robot", None) is not self.robot:
            return None
        phases = holdings_of(caller, self.problem)
        if not phases.holdings:
            return None
        arguments = self.robot, phases, self.planner.steps, tuple(self.acting.tolist()), self.passive
        return ConstrainedPlans(*arguments, tuple(self._numbers))

    def prepare(self) -> None:
        """Make all code that steps take, as it is made with the controller: of one that was pickled, before its first
        step, which then takes no longer than others.
        """
        robot, planner = self.robot, self.planner
        planner.prepare()
        robot.warm_up(["integrate", "difference", ("inverse_dynamics", {"passive": self.passive})], progress=False)
        make_ready(self._planning if self._constrained is None else self._constrained.gains)
        if self._constrained is not None or self._numbers:  # what it asks of the robot
            q, v = np.asarray(robot.neutral())[None], np.zeros((1, robot.nv))
            active = (
                np.zeros((planner.steps, 0))
                if self._constrained is None
                else self._constrained.phases.active(planner.steps)
            )
            own = own_robot_numbers("controller", self.problem, [*map(str, self._numbers)])
            with np.errstate(all="ignore"):
                if self._constrained is not None:
                    path = np.repeat(q[:, None], planner.steps, axis=1)
                    self._plan_along(q, v, path, planner.begun(q), active, own)
                self._braking(q, v, active, own)

    def __getstate__(self) -> dict[str, Any]:
        return {name: x for name, x in self.__dict__.items() if name != "_planning"}

    # -- what it carries

    def reset(self) -> None:
        """Forget all plans, as if it were new."""
        self._lead: tuple[int, ...] | None = None
        self._search: Search | None = None
        self._passed = 0.0  # since the search's path began [s]
        self._plan: MPCPlan | None = None
        self._age = np.zeros(0)  # of plans by environment [s]; infinite where there is none

    @property
    def plan(self) -> MPCPlan | None:
        """The last plan (..., T + 1, nq) and so on; none before the first step."""
        if self._plan is None or self._lead is None:
            return None
        return MPCPlan(*(x.reshape(*self._lead, *x.shape[1:]) for x in self._plan))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what it carries to a file ``.npz``; `restore` gives it to a controller of the same problem."""
        where = npz_path("save", path)
        said = {"format": _FORMAT, "lead": self._lead, "passed": self._passed}
        arrays: dict[str, Any] = {"age": self._age}
        arrays |= {f"search.{name}": x for name, x in (self._search or {}).items()}
        arrays |= {f"plan.{name}": x for name, x in (self._plan._asdict() if self._plan else {}).items()}
        write_archive(where, said, arrays)

    def restore(self, path: str | os.PathLike[str]) -> None:
        """What `save` wrote.  Raises ValueError for what is no such file, and for that of another problem."""
        where = npz_path("restore", path)
        fresh = {name: x.shape[1:] for name, x in self.planner.begun(np.asarray(self.robot.neutral())[None]).items()}
        with open_archive(where, _FORMAT, "ModelPredictiveController.save") as reader:
            lead = None if reader.said["lead"] is None else reader.integers("lead", 0)
            passed = reader.number("passed", least=0.0)
            count = 0 if lead is None else math.prod(lead)
            age = reader.array("age", (count,), finite=False)
            names = [name[7:] for name in reader.names if name.startswith("search.")]
            search = {name: reader.array(f"search.{name}", kind="any", finite=False) for name in names}
            is_own = not names or {*names} == {*fresh}
            if not is_own or any(x.shape != (count, *fresh[name]) for name, x in search.items()):
                raise OtherFileError("it is of a controller of another problem")
            plan = None
            if "plan.q" in reader:
                own = {"q": self.robot.nq, "v": self.robot.nv, "tau": self.robot.nv, "K": None}
                shapes = {name: (count, None, *([size] if size else [None, None])) for name, size in own.items()}
                plan = MPCPlan(*(reader.array(f"plan.{name}", shapes[name], finite=False) for name in MPCPlan._fields))
        self._lead, self._search, self._passed = None if lead is None else tuple(lead), search or None, passed
        self._plan, self._age = plan, age

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
        """What to do now, in a state (q, v), arrays (..., nq) and (..., nv).

        ``reference`` are targets by name, as `TrajectoryProblem.solve` takes them.  ``elapsed`` [s] is how long ago the
        last step was: the controller's ``period``, if it is left out.  ``phases`` are where phases of the problem are
        in this step, by name: (first step, step after the last), None for nowhere, or (..., T) times whether it is one;
        those that are not named are where the problem has them.  ``parameters`` are numbers of the robot by name, some
        of those that the controller was made with, (*shape,) or (..., *shape); the others are as it was made with them.
        Leading axes are environments, the same in all steps.
        Raises ValueError and UnknownNameError for what is asked wrongly, states that are not finite among it, before
        anything is changed.
        """
        begun = time.perf_counter()
        q, v, lead = self._read_state(state)
        passed = self.period if elapsed is None else read_seconds("step", "elapsed", elapsed, zero=True)
        own = self._robot_numbers(parameters, lead)
        numbers, active = self._call_numbers(reference, lead, phases, own)
        first = self._search is None
        wanted = self.first_max_iterations if first else self.max_iterations
        self._lead = lead
        self._age = np.full(len(q), np.inf) if first else self._age + passed
        self._passed = 0.0 if first else self._passed + passed
        search, done = self._run_search(q, v, numbers, begun, wanted)
        ended = done == wanted
        outcome = _Outcome.none(len(q))
        if done:
            outcome = self._outcome(q, v, search, active, own)
            search, again = self.planner.limited(search, outcome.plan.tau)
            if again.any():
                search, more = self._iterated(search, q, v, numbers, begun, wanted)
                outcome = self._outcome(q, v, search, active, own) if more else outcome
                done, ended = done + more, more == wanted
            ended = ended or self.planner.ended(search)
            self._take(outcome, search, q)
        good, bad = PLANNED if ended else SHORT, FAILED if done else LATE
        torque, K, status = self._forces(q, v, active, outcome.is_new, good, bad, own)
        torque, K, q, v = (x.reshape(*lead, *x.shape[1:]) for x in (torque, K, q, v))
        violated, costs = (x.reshape(lead) if lead else x[0].item() for x in (outcome.violation, outcome.cost))
        said = status_of(status.reshape(lead))
        seconds, source = time.perf_counter() - begun, (self.planner, search, numbers) if done else None
        acts = self.acting, self._effort
        return MPCCommand._make(self.robot, torque, K, q, v, *acts, said, violated, costs, done, seconds, source)

    def _robot_numbers(self, parameters: Any, lead: tuple[int, ...]) -> Numbers:
        """The robot's numbers in a step, (n, *shape) or (*shape,).  Raises ValueError, TypeError, UnknownNameError."""
        if parameters is None and not self._numbers:
            return {}
        return spread("step", self.robot.tree, renumbered("step", self.problem, self._numbers, parameters), lead)

    def _call_numbers(
        self,
        reference: Mapping[str, Any] | None,
        lead: tuple[int, ...],
        phases: Mapping[str, Any] | None,
        own: Numbers,
    ) -> tuple[Any, np.ndarray]:
        """What the planner takes of a step, and what holds the robot when (..., T, holdings)."""
        holdings = None if self._constrained is None else self._constrained.phases
        more: dict[str, Any] = {"parameters": own} if own else {}
        if phases is None:
            none = np.zeros((self.planner.steps, 0))
            active = none if holdings is None else holdings.active(self.planner.steps)
            return self.planner.numbers(reference, lead, **more), active
        schedule = rescheduled("step", self.problem, holdings, phases, lead)
        return self.planner.numbers(reference, lead, schedule, **more), schedule.active

    def _read_state(self, state: Any) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
        if not isinstance(state, tuple | list) or len(state) != 2:
            raise ValueError(f"step: state: expected a pair (q, v), got {state!r}")
        robot = self.robot
        q = read_finite("step", "state: q", state[0], robot.nq, "nq")
        v = read_finite("step", "state: v", state[1], robot.nv, "nv")
        if q.shape[:-1] != v.shape[:-1]:
            raise ValueError(f"step: state: expected q and v of as many environments, got {q.shape} and {v.shape}")
        lead = q.shape[:-1]
        if self._lead is not None and lead != self._lead:
            raise ValueError(
                f"step: state: expected (*{self._lead}, {robot.nq}) as in the steps before, got {q.shape}; reset() "
                f"forgets them"
            )
        return q.reshape(-1, robot.nq), v.reshape(-1, robot.nv), lead

    def _run_search(self, q: np.ndarray, v: np.ndarray, numbers: Any, begun: float, wanted: int) -> tuple[Search, int]:
        """The search after a step's iterations, and how many there were."""
        planner, limit = self.planner, self.time_limit
        if limit is not None and time.perf_counter() - begun >= limit:
            return self._search or {}, 0
        if self._search is None:
            search = planner.begun(q)
        else:
            search = planner.moved(self._search, self._passed / planner.step)
        return self._iterated(planner.started(search), q, v, numbers, begun, wanted)

    def _iterated(
        self, search: Search, q: np.ndarray, v: np.ndarray, numbers: Any, begun: float, wanted: int
    ) -> tuple[Search, int]:
        """A search that was started after so many iterations, or as many as there is time for, and their number."""
        planner, limit = self.planner, self.time_limit
        if limit is None:
            return planner.iterated(search, q, v, numbers, wanted), wanted
        done, longest, before = 0, 0.0, time.perf_counter()
        while done < wanted and before - begun + longest < limit:
            search = planner.iterated(search, q, v, numbers, done + 1)
            done += 1
            now = time.perf_counter()
            longest, before = max(longest, now - before), now
            if planner.ended(search):
                break
        return search, done

    def _outcome(self, q: np.ndarray, v: np.ndarray, search: Search, active: np.ndarray, own: Numbers) -> _Outcome:
        """What a search has led to."""
        cost, violation = self.planner.judged(search)
        path = self.planner.path(search)
        is_finite = np.isfinite(path).all(axis=(1, 2))
        is_new = is_finite & np.isfinite(cost) & (violation <= self.max_constraint_violation)
        with np.errstate(all="ignore"):
            plan = self._plan_along(q, v, path, search, active, own)
        is_new &= np.isfinite(plan.tau).all(axis=(1, 2)) & np.isfinite(plan.K).all(axis=(1, 2, 3))
        return _Outcome(plan, cost, violation, is_new, is_finite)

    def _take(self, outcome: _Outcome, search: Search, q: np.ndarray) -> None:
        """Goes on with plans that are new, and with searches that are sound; others begin anew."""
        new = outcome.is_new
        if not new.all():
            cold, keep = self.planner.begun(q), outcome.is_finite & self.planner.sound(search)
            search = {name: np.where(_wide(keep, x), x, cold[name]) for name, x in search.items()}
        self._search, self._passed = search, 0.0
        if new.all() or (self._plan is None and new.any()):
            self._plan = outcome.plan
        elif self._plan is not None:
            both = zip(outcome.plan, self._plan, strict=True)
            self._plan = MPCPlan(*(np.where(_wide(new, x), x, y) for x, y in both))
        self._age[new] = 0.0

    def _plan_along(
        self, q: np.ndarray, v: np.ndarray, path: np.ndarray, search: Search, active: np.ndarray, own: Numbers
    ) -> MPCPlan:
        """Forces and gains along paths."""
        if self._constrained is not None:
            sound = np.isfinite(path).all(axis=(1, 2))
            path = np.where(_wide(sound, path), path, q[:, None])
            known = self.planner.forces(search)
            return self._constrained.planned(q, v, path, active, known, self.planner.step, self._Q, self._R, own)
        made = self._planning(q, v, path, self._step, self._Q, self._R, **robot_inputs(self.robot.tree, own))
        return MPCPlan(np.concatenate([q[:, None], path], axis=1), made.v, made.tau, made.K)

    def _braking(self, q: np.ndarray, v: np.ndarray, active: np.ndarray, own: Numbers) -> np.ndarray:
        """Forces by which velocities fade, with what holds the robot as plans begin."""
        a = -v / self.fallback_braking_time
        if self._constrained is not None:
            return self._constrained.braking(q, v, a, active[..., 0, :], own)
        return forces_of_states(self.robot, own, q, v, a, passive=self.passive)

    def _forces(
        self,
        q: np.ndarray,
        v: np.ndarray,
        active: np.ndarray,
        is_new: np.ndarray,
        good: Status,
        bad: Status,
        own: Numbers,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Forces within limits, gains and status."""
        if is_new.all() and self._plan is not None:
            torque, K, status = self._plan.tau[:, 0], self._plan.K[:, 0], np.full(len(q), good)
        else:
            robot, tau = self.robot, self.planner.step
            over = (self.planner.steps - ROUNDING) * tau
            torque = self._braking(q, v, active, own)
            K = np.zeros((len(q), len(self.acting), 2 * robot.nv))
            going = np.flatnonzero(self._age < over)
            if len(going) and self._plan is not None:
                plan = MPCPlan(*(x[going] for x in self._plan))
                torque[going], K[going] = followed(robot, plan, self._age[going] / tau, q[going], v[going], self.acting)
            status = np.where(is_new, good, np.where(self._age < over, bad, BRAKING))
        limited = np.minimum(np.maximum(torque, -self._most), self._most)
        if np.count_nonzero(limited != torque):
            # by how much a search may pass limits, and what is rounding where there is no motor
            slack = EXCESS * np.where(self._most > 0.0, self._most, np.abs(torque).max(axis=1, keepdims=True))
            is_cut = (np.abs(torque - limited) > slack).any(axis=1) & is_new
            status = np.where(is_cut, SATURATED, status) if is_cut.any() else status
        return limited, K, status


class _Outcome(NamedTuple):
    """What a step's search has led to, by environment."""

    plan: Any
    cost: np.ndarray
    violation: np.ndarray
    is_new: np.ndarray  # whether there is a new plan
    is_finite: np.ndarray  # whether the path is numbers

    @classmethod
    def none(cls, count: int) -> _Outcome:
        unknown, no = np.full(count, np.nan), np.zeros(count, dtype=bool)
        return cls(None, unknown, unknown, no, no)


def _wide(which: np.ndarray, x: np.ndarray) -> np.ndarray:
    return which.reshape(-1, *(1,) * (x.ndim - 1))
