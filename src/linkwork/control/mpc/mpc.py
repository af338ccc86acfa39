"""Model-predictive control: a problem of optimal motion that recedes, solved a little further in every step."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from inspect import signature
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.messages import nearest
from linkwork._util.npz_archive import OtherFileError, npz_path, open_archive, write_archive
from linkwork.control.linear_quadratic.arguments import (
    above_nothing,
    acting_places,
    cost_matrix,
    largest_forces,
    matching,
    nowhere_negative,
    seconds_of,
    state_cost,
)
from linkwork.control.mpc.constrained_gains import HeldPlans
from linkwork.control.mpc.mpc_plan import (
    BRAKING,
    FAILED,
    LATE,
    PLANNED,
    ROUNDING,
    SHORT,
    MPCCommand,
    MPCPlan,
    followed,
    plan_kernel,
)
from linkwork.control.mpc.mpc_solvers import AugmentedPlanner, Planner, Search, within_effort
from linkwork.control.mpc.shooting_mpc import ShootingPlanner
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

__all__ = ["ModelPredictiveController", "controller_of"]

Numbers = Mapping[Parameter, np.ndarray]

_FORMAT = "linkwork controller 1"
_SOLVERS: dict[str, Callable[..., Planner]] = {"augmented": AugmentedPlanner, "ilqr": ShootingPlanner}


@public
class ModelPredictiveController:
    """A receding problem: ``step(state, reference)`` plans a little further from where the robot is, and says what
    to do.

    Made by `Problem.controller`.  It carries a search, its path and multipliers, from step to step, moved by the time
    that has passed, and does so many ``iterations`` in each; the last plan stays what is done when there is no new one.
    What it carries depends on nothing but the steps before, but where ``time_limit`` cuts iterations short.

    - ``period`` [s] is between steps; one of the problem's unless it is said.
    - ``iterations`` are done in each step, ``first_iterations`` in the first; ``time_limit`` [s] ends them before.
    - ``most_violation``: a path that violates a constraint more is no plan.
    - ``Q`` and ``R``: what deviations from the plan cost for its gains, of the state and of forces: a number, a
      diagonal or a matrix; of ``Q`` also a pair, of q and of v.
    - ``braking_time`` [s]: without a plan the robot is slowed down with -v / braking_time.
    - ``actuators``: names of joints that have motors (all but those of six degrees of freedom); ``effort``: their
      largest forces, a number or (nv,), the robot's unless it is said; ``passive``: forces overcome what joints do by
      themselves.  Commands are by all three, and so are plans of "ilqr".  Those of "augmented" know what features of
      the problem ask, and an ``effort`` that is given, as limits of torques in every step.
    - ``solver``: "augmented", "ilqr", a `Planner`, which has to know about motors by itself, or what makes one of the
      problem, the names of joints that have motors, ``effort`` (nv,) or None for the robot's, ``passive``, and of
      ``parameters`` where there are any.
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
        iterations: int = 3,
        first_iterations: int = 50,
        time_limit: float | None = None,
        most_violation: float = np.inf,
        Q: Any = (100.0, 1.0),
        R: Any = 1e-3,
        braking_time: float = 0.1,
        actuators: str | Iterable[str] | None = None,
        effort: ArrayLike | None = None,
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
        self.acting = acting_places(caller, robot, actuators)
        self._effort = largest_forces(caller, robot, effort)
        self._numbers = own_robot_numbers(caller, problem, parameters)
        named = tuple(self._numbers)
        if making is AugmentedPlanner and effort is not None:
            problem = within_effort(problem, self._effort, self.acting, self.passive)
        if making is not None:
            places, own = range(robot.nv), set(self.acting.tolist())
            slices = [(body.joint_name, robot.tree.v_slices[i]) for i, body in robot.tree.stacked() if body.joint.nv]
            names = [name for name, its in slices if own.issuperset(places[its])]
            solver = making(
                problem, names, None if effort is None else self._effort, self.passive, *([named] if named else [])
            )
        self.planner = planner = cast(Planner, solver)
        self.problem = problem
        self._held = self._holdings(caller)
        self.period = seconds_of(caller, "period", planner.step if period is None else period)
        self.iterations = read_count(caller, "iterations", iterations)
        self.first_iterations = read_count(caller, "first_iterations", first_iterations)
        self.time_limit = None if time_limit is None else seconds_of(caller, "time_limit", time_limit, zero=True)
        self.braking_time = seconds_of(caller, "braking_time", braking_time)
        self.most_violation = above_nothing(caller, "most_violation", most_violation)
        self._Q = nowhere_negative(caller, "Q", state_cost(caller, "Q", Q, robot.nv))
        self._R = nowhere_negative(caller, "R", cost_matrix(caller, "R", R, len(self.acting)), positive=True)
        self._idle = np.setdiff1d(np.arange(robot.nv), self.acting)
        self._step = np.array(planner.step)
        self.reset()
        self.prepare()

    @cached_property
    def _planning(self) -> Kernel:
        given = self.robot, self.planner.steps, tuple(self.acting.tolist()), self.passive
        return plan_kernel(*given, tuple(self._numbers))

    def _holdings(self, caller: str) -> HeldPlans | None:
        """Plans of a robot that something holds; none of one that nothing does."""
        if getattr(self.problem, "robot", None) is not self.robot:
            return None
        phases = holdings_of(caller, self.problem)
        if not phases.holdings:
            return None
        given = self.robot, phases, self.planner.steps, tuple(self.acting.tolist()), self.passive
        return HeldPlans(*given, tuple(self._numbers))

    def prepare(self) -> None:
        """Make all code that steps take, as it is made with the controller: of one that was pickled, before its first
        step, which then takes no longer than others."""
        robot, planner = self.robot, self.planner
        planner.prepare()
        robot.warm_up(["integrate", "difference", ("inverse_dynamics", {"passive": self.passive})], progress=False)
        make_ready(self._planning if self._held is None else self._held.gains)
        if self._held is not None or self._numbers:  # what it asks of the robot
            q, v = np.asarray(robot.neutral())[None], np.zeros((1, robot.nv))
            active = np.zeros((planner.steps, 0)) if self._held is None else self._held.phases.active(planner.steps)
            own = own_robot_numbers("controller", self.problem, [*map(str, self._numbers)])
            with np.errstate(all="ignore"):
                if self._held is not None:
                    path = np.repeat(q[:, None], planner.steps, axis=1)
                    self._planned_along(q, v, path, planner.begun(q), active, own)
                self._slowed(q, v, active, own)

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

        ``reference`` are targets by name, as `Problem.solve` takes them.  ``elapsed`` [s] is how long ago the last step
        was: the controller's ``period``, if it is left out.  ``phases`` are where phases of the problem are in this
        step, by name: (first step, step after the last), None for nowhere, or (..., T) times whether it is one; those
        that are not named are where the problem has them.  ``parameters`` are numbers of the robot by name, some of
        those that the controller was made with, (*shape,) or (..., *shape); the others are as it was made with them.
        Leading axes are environments, the same in all steps.
        Raises ValueError and UnknownNameError for what is asked wrongly, states that are not finite among it, before
        anything is changed.
        """
        begun = time.perf_counter()
        q, v, lead = self._read(state)
        passed = self.period if elapsed is None else seconds_of("step", "elapsed", elapsed, zero=True)
        own = self._given(parameters, lead)
        numbers, active = self._asked(reference, lead, phases, own)
        first = self._search is None
        search, done = self._searched(q, v, numbers, begun, 0.0 if first else passed)
        self._lead = lead
        self._age = np.full(len(q), np.inf) if first else self._age + passed
        wanted = self.first_iterations if first else self.iterations
        cost, violation = np.full(len(q), np.nan), np.full(len(q), np.nan)
        fresh = np.zeros(len(q), dtype=bool)
        told: Any = None
        if done:
            cost, violation = self.planner.judged(search)
            told = self.planner, search, numbers
            path = self.planner.path(search)
            finite = np.isfinite(path).all(axis=(1, 2))
            fresh = finite & np.isfinite(cost) & (violation <= self.most_violation)
            fresh = self._planned(q, v, path, search, active, fresh, own)
            if not fresh.all():
                cold, keep = self.planner.begun(q), finite & self.planner.sound(search)
                search = {name: np.where(_wide(keep, x), x, cold[name]) for name, x in search.items()}
            self._search = search
        ended = done == wanted or (done > 0 and self.planner.ended(search))
        good, bad = PLANNED if ended else SHORT, FAILED if done else LATE
        torque, K, status = self._said(q, v, active, fresh, good, bad, own)
        torque, K, q, v = (x.reshape(*lead, *x.shape[1:]) for x in (torque, K, q, v))
        said, violated, costs = (x.reshape(lead) if lead else x[0].item() for x in (status, violation, cost))
        seconds = time.perf_counter() - begun
        acts = self.acting, self._effort
        return MPCCommand(self.robot, torque, K, q, v, *acts, said, violated, costs, done, seconds, told)

    def _given(self, parameters: Any, lead: tuple[int, ...]) -> Numbers:
        """The robot's numbers in a step, (n, *shape) or (*shape,).  Raises ValueError, TypeError, UnknownNameError."""
        if parameters is None and not self._numbers:
            return {}
        return spread("step", self.robot.tree, renumbered("step", self.problem, self._numbers, parameters), lead)

    def _asked(
        self,
        reference: Mapping[str, Any] | None,
        lead: tuple[int, ...],
        phases: Mapping[str, Any] | None,
        own: Numbers,
    ) -> tuple[Any, np.ndarray]:
        """What the planner takes of a step, and what holds the robot when (..., T, holdings)."""
        held = None if self._held is None else self._held.phases
        more: dict[str, Any] = {"parameters": own} if own else {}
        if phases is None:
            none = np.zeros((self.planner.steps, 0))
            active = none if held is None else held.active(self.planner.steps)
            return self.planner.numbers(reference, lead, **more), active
        schedule = rescheduled("step", self.problem, held, phases, lead)
        return self.planner.numbers(reference, lead, schedule, **more), schedule.active

    def _read(self, state: Any) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
        if not isinstance(state, tuple | list) or len(state) != 2:
            raise ValueError(f"step: state: expected a pair (q, v), got {state!r}")
        robot = self.robot
        q = matching("step", "state: q", state[0], robot.nq, "nq")
        v = matching("step", "state: v", state[1], robot.nv, "nv")
        if q.shape[:-1] != v.shape[:-1]:
            raise ValueError(f"step: state: expected q and v of as many environments, got {q.shape} and {v.shape}")
        lead = q.shape[:-1]
        if self._lead is not None and lead != self._lead:
            raise ValueError(
                f"step: state: expected (*{self._lead}, {robot.nq}) as in the steps before, got {q.shape}; reset() "
                f"forgets them"
            )
        return q.reshape(-1, robot.nq), v.reshape(-1, robot.nv), lead

    def _searched(self, q: np.ndarray, v: np.ndarray, numbers: Any, begun: float, passed: float) -> tuple[Search, int]:
        """The search after iterations, and how many there were."""
        planner, limit = self.planner, self.time_limit
        if limit is not None and time.perf_counter() - begun >= limit:
            self._passed += passed
            return self._search or {}, 0
        if self._search is None:
            search, wanted = planner.begun(q), self.first_iterations
        else:
            search, wanted = planner.moved(self._search, (self._passed + passed) / planner.step), self.iterations
        search = planner.started(search)
        if limit is None:
            search = planner.iterated(search, q, v, numbers, wanted)
            self._passed = 0.0
            return search, wanted
        done, longest, before = 0, 0.0, time.perf_counter()
        while done < wanted and before - begun + longest < limit:
            search = planner.iterated(search, q, v, numbers, done + 1)
            done += 1
            now = time.perf_counter()
            longest, before = max(longest, now - before), now
            if planner.ended(search):
                break
        self._passed = 0.0 if done else self._passed + passed
        return search, done

    def _planned(
        self,
        q: np.ndarray,
        v: np.ndarray,
        path: np.ndarray,
        search: Search,
        active: np.ndarray,
        fresh: np.ndarray,
        own: Numbers,
    ) -> np.ndarray:
        """Makes new plans where paths are sound, and says where they are."""
        if not fresh.any():
            return fresh
        with np.errstate(all="ignore"):
            new = self._planned_along(q, v, path, search, active, own)
        fresh = fresh & np.isfinite(new.tau).all(axis=(1, 2)) & np.isfinite(new.K).all(axis=(1, 2, 3))
        if self._plan is None or fresh.all():
            self._plan = new
        else:
            self._plan = MPCPlan(*(np.where(_wide(fresh, x), x, y) for x, y in zip(new, self._plan, strict=True)))
        self._age[fresh] = 0.0
        return fresh

    def _planned_along(
        self, q: np.ndarray, v: np.ndarray, path: np.ndarray, search: Search, active: np.ndarray, own: Numbers
    ) -> MPCPlan:
        """Forces and gains along paths."""
        if self._held is not None:
            sound = np.isfinite(path).all(axis=(1, 2))
            path = np.where(_wide(sound, path), path, q[:, None])
            known = self.planner.forces(search)
            return self._held.planned(q, v, path, active, known, self.planner.step, self._Q, self._R, own)
        found = self._planning(q, v, path, self._step, self._Q, self._R, **robot_inputs(self.robot.tree, own))
        return MPCPlan(np.concatenate([q[:, None], path], axis=1), found.v, found.tau, found.K)

    def _slowed(self, q: np.ndarray, v: np.ndarray, active: np.ndarray, own: Numbers) -> np.ndarray:
        """Forces by which velocities fade, with what holds the robot as plans begin."""
        a = -v / self.braking_time
        if self._held is not None:
            return self._held.slowed(q, v, a, active[..., 0, :], own)
        return forces_of_states(self.robot, own, q, v, a, passive=self.passive)

    def _said(
        self, q: np.ndarray, v: np.ndarray, active: np.ndarray, fresh: np.ndarray, good: str, bad: str, own: Numbers
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Forces, gains and status."""
        if fresh.all() and self._plan is not None:
            return self._limited(self._plan.tau[:, 0]), self._plan.K[:, 0], np.full(len(q), good)
        robot, T, tau = self.robot, self.planner.steps, self.planner.step
        over = (T - ROUNDING) * tau
        m, nv = len(self.acting), robot.nv
        status = np.where(fresh, good, np.where(self._age < over, bad, BRAKING))
        torque = self._slowed(q, v, active, own)
        K = np.zeros((len(q), m, 2 * nv))
        going = np.flatnonzero(self._age < over)
        if len(going) and self._plan is not None:
            plan = MPCPlan(*(x[going] for x in self._plan))
            forces, K[going] = followed(robot, plan, self._age[going] / tau, q[going], v[going], self.acting)
            torque[going] = forces
        return self._limited(torque), K, status

    def _limited(self, torque: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.clip(torque, -self._effort, self._effort)
        if len(self._idle):
            found[:, self._idle] = 0.0
        return found


def controller_of(problem: Any, options: Mapping[str, Any]) -> ModelPredictiveController:
    """A controller of a problem, with options by name.  Raises TypeError for one that it does not know."""
    known = [*signature(ModelPredictiveController).parameters][1:]
    for name in options:
        if name not in known:
            raise TypeError(f"controller: there is no option {name!r}; {nearest(name, known)}")
    return ModelPredictiveController(problem, **options)


def _wide(which: np.ndarray, x: np.ndarray) -> np.ndarray:
    return which.reshape(-1, *(1,) * (x.ndim - 1))
