"""What plans for a controller: a search for a path whose state is carried from step to step, a kernel call each.

Arrays have one leading axis, that of the environments.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from linkwork.kernels.compiler_api import make_ready
from linkwork.model.kernel_parameters import Parameter
from linkwork.optimal.features import TorqueLimits
from linkwork.optimal.kernels import TOLD, shapes_of, state_shapes
from linkwork.optimal.problem_arrays import PreparedProblem, prepared
from linkwork.optimal.result import OptimalResult
from linkwork.optimal.robot_parameters import by_environment, nominal_numbers, robot_inputs
from linkwork.optimal.schedule import Schedule

__all__ = ["AugmentedPlanner", "Planner", "Search", "later_rows", "receding_step", "within_effort"]

Search = dict[str, np.ndarray]

_STATUS, _COST, _MERIT, _LENGTH = (TOLD.index(name) for name in ("status", "cost", "merit", "length"))
_UNKNOWN, _KNOWN = 1e300, 1e299  # costs and violations before any step was taken, and what all others are below
_WHOLE = 1e-9  # of a step: what is a whole one
_STEP = 1e-9  # [rad, m]: shorter steps of a search need no further ones


class Planner(Protocol):
    """A solver of receding problems: paths of ``steps`` steps of ``step`` seconds each, from a state on."""

    robot: Any
    steps: int
    step: float

    def numbers(
        self,
        reference: Mapping[str, Any] | None,
        lead: tuple[int, ...],
        schedule: Schedule | None = None,
        parameters: Mapping[Parameter, np.ndarray] | None = None,
    ) -> Any:
        """What comes with a call, for environments along these axes; a ``schedule`` where phases are not as the problem
        has them, and ``parameters`` of the robot (n, *shape) or (*shape,) where the controller has such.  Raises
        ValueError and UnknownNameError."""

    def begun(self, q: np.ndarray) -> Search:
        """A search that has not begun, from configurations (n, nq) that stay."""

    def moved(self, search: Search, share: float) -> Search:
        """The search when so many steps of time have passed: its path, and the multipliers along it."""

    def started(self, search: Search) -> Search:
        """The search before the first of a step's iterations."""

    def iterated(self, search: Search, q: np.ndarray, v: np.ndarray, numbers: Any, upto: int) -> Search:
        """The search from states (n, nq), (n, nv), after so many iterations in all since it was started."""

    def ended(self, search: Search) -> bool:
        """Whether further iterations would change nothing, in any environment."""

    def path(self, search: Search) -> np.ndarray:
        """q (n, steps, nq), a step after the state and so on."""

    def judged(self, search: Search) -> tuple[np.ndarray, np.ndarray]:
        """The cost (n,), NaN where there is no path that is better than the first, and by how much constraints are
        violated (n,)."""

    def forces(self, search: Search) -> tuple[np.ndarray | None, Mapping[str, np.ndarray]]:
        """What is known of the plan's forces where something holds the robot: those of motors (n, steps, nv), or else
        those of what holds it by name (n, steps, size)."""

    def sound(self, search: Search) -> np.ndarray:
        """Whether a search may go on (n,): all of its numbers are some."""

    def explained(self, search: Search, q: np.ndarray, v: np.ndarray, numbers: Any, place: int) -> str:
        """Why an environment's search failed, of the arrays that `iterated` had and gave."""

    def prepare(self) -> None:
        """Makes the code that it runs."""


def within_effort(problem: Any, effort: np.ndarray, acting: np.ndarray, passive: bool) -> Any:
    """Return the problem that limits torques of the acting coordinates to ±effort (nv,) in every step; the problem
    itself where its own limits of torques are no wider."""
    most = np.full(len(effort), np.inf)
    most[acting] = effort[acting]
    wide = {(place, sign) for place in np.flatnonzero(np.isfinite(most)).tolist() for sign in (-1.0, 1.0)}
    for term in problem.terms:
        limits, always = term.feature, len(term.steps) == problem.num_steps
        if isinstance(limits, TorqueLimits) and term.kind == "inequality" and always and limits.passive == passive:
            scale = np.broadcast_to(term.scale, len(limits.bounds))
            held = [one for one, x in zip(limits.bounds, scale, strict=True) if x > 0.0]
            wide -= {(one.place, one.sign) for one in held if one.sign * one.bound <= most[one.place]}
    if not wide:
        return problem
    names = {term.name for term in problem.terms}
    name = next(x for k in range(1, len(names) + 2) if (x := "effort" if k == 1 else f"effort {k}") not in names)
    return problem.add(TorqueLimits(upper=most, passive=passive), "inequality", name=name)


class AugmentedPlanner:
    """The augmented Lagrangian of `TrajectoryProblem.solve`, from given states."""

    def __init__(
        self,
        problem: Any,
        actuators: Any = None,
        effort: Any = None,
        passive: bool = False,
        parameters: tuple[Parameter, ...] = (),
    ) -> None:
        """Of a problem; which motors there are says the problem itself.  ``parameters`` of the robot come with each
        call."""
        self._own: PreparedProblem = prepared(problem, True, False, parameters)
        self.robot, self.steps, self.step = problem.robot, self._own.program.steps, receding_step(self._own)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._own.problem, None, None, False, self._own.robot_numbers)

    @cached_property
    def _names(self) -> tuple[list[str], list[str]]:
        return list(state_shapes(self._own.program)), list(shapes_of(self._own.program))

    @cached_property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return shapes_of(self._own.program)

    @cached_property
    def _tolerances(self) -> np.ndarray:
        return np.full(1 + len(self._own.program.hard), _STEP)

    def numbers(
        self,
        reference: Mapping[str, Any] | None,
        lead: tuple[int, ...],
        schedule: Schedule | None = None,
        parameters: Mapping[Parameter, np.ndarray] | None = None,
    ) -> dict[str, np.ndarray]:
        tree = self.robot.tree
        numbers = dict(self._own.scaled_constants)
        numbers |= robot_inputs(tree, nominal_numbers(tree, self._own.robot_numbers) | dict(parameters or {}))
        if schedule is not None:
            numbers["weights"] = schedule.weights
        for name, x in self._own.given_targets(reference).items():
            numbers[name] = by_environment("step: reference", x, self._shapes[name], lead)
        return numbers

    def begun(self, q: np.ndarray) -> Search:
        n = len(q)
        found = {name: np.repeat(x[None], n, axis=0) for name, x in self._own.begin.items()}
        found["q"] = np.repeat(q[:, None], self.steps, axis=1)
        return found

    def moved(self, search: Search, share: float) -> Search:
        whole, part = _parted(share)
        found = dict(search)
        found["q"] = self._moved_path(search["q"], whole, part)
        for name in ("u", "everywhere"):
            if name in found:
                found[name] = later_rows(found[name], share)
        return found

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
            ways = self.robot.difference(here, longer[:, whole + 1 : whole + 1 + T])
            return np.asarray(self.robot.integrate(here, part * ways))
        return np.ascontiguousarray(here)

    def started(self, search: Search) -> Search:
        begin = self._own.begin
        found = dict(search)
        for name in ("told", "penalties"):
            if name in begin:
                found[name] = np.repeat(begin[name][None], len(search["q"]), axis=0)
        found["told"][:, _COST] = _UNKNOWN  # until a step is taken
        return found

    def iterated(self, search: Search, q: np.ndarray, v: np.ndarray, numbers: Any, upto: int) -> Search:
        numbers = self._from(q, v, numbers)
        names, inputs = self._names
        given = (search[name] for name in names)
        found = self._own.kernel(*given, *(numbers[name] for name in inputs), self._tolerances, np.array(float(upto)))
        if len(names) == 1:
            return {names[0]: found}
        return {name: getattr(found, name) for name in names}

    def _from(self, q: np.ndarray, v: np.ndarray, numbers: Any) -> dict[str, np.ndarray]:
        """What comes with a call, with where the robot was before."""
        depth = self._own.program.depth
        if not depth:
            return dict(numbers)
        before = [self.robot.integrate(q, (-k * self.step) * v) for k in range(depth - 1, 0, -1)]
        return {**numbers, "past": np.stack([*before, q], axis=-2)}

    def ended(self, search: Search) -> bool:
        return bool((search["told"][:, _STATUS] > 0.5).all())

    def path(self, search: Search) -> np.ndarray:
        return search["q"]

    def judged(self, search: Search) -> tuple[np.ndarray, np.ndarray]:
        told, hard = search["told"], len(self._own.program.hard)
        first = len(TOLD)
        violated = told[:, first : first + hard].max(axis=1, initial=0.0)
        some = np.isfinite(told[:, _MERIT]) & (violated < _KNOWN) & (told[:, _COST] < _KNOWN)
        return np.where(some, told[:, _COST], np.nan), np.where(some, violated, np.nan)

    def forces(self, search: Search) -> tuple[np.ndarray | None, Mapping[str, np.ndarray]]:
        found, start = {}, 0
        for name, size in self._own.program.variables:
            found[name] = search["u"][..., start : start + size]
            start += size
        return None, found

    def sound(self, search: Search) -> np.ndarray:
        return np.asarray(np.isfinite(search["told"][:, _MERIT]))

    def explained(self, search: Search, q: np.ndarray, v: np.ndarray, numbers: Any, place: int) -> str:
        at, given = {name: x[place] for name, x in search.items()}, self._from(q, v, numbers)
        given = {
            name: x[place] if x.ndim > len(self._shapes[name]) else x
            for name, x in given.items()
            if name in self._shapes
        }
        found = OptimalResult._make(self._own, at, given, self._tolerances)
        if found.status != "not_finite" and not at["told"][_COST] < _KNOWN:
            return f"no step of {found.iterations} was better than none: the last was {at['told'][_LENGTH]:.2g} long"
        return f"{found.status}: {found.message}"

    def prepare(self) -> None:
        make_ready(self._own.kernel)
        self._own.scaled_constants  # noqa: B018


def receding_step(own: PreparedProblem) -> float:
    """The time of a step [s].  Raises ValueError for a problem whose steps do not take equally long, or are free."""
    if own.program.durations or not own.program.uniform:
        raise ValueError(
            "controller: a problem whose duration is one number [s] is expected: free durations and those by "
            "phase do not recede"
        )
    return float(np.ravel(own.constants["step"])[0])


def _parted(share: float) -> tuple[int, float]:
    """Whole steps of time, and the part of one besides."""
    whole = int(share + _WHOLE)
    return whole, share - whole if share - whole > _WHOLE else 0.0


def later_rows(x: np.ndarray, share: float) -> np.ndarray:
    """Rows (n, T, ...) so many steps of time later, linear between; the last stays."""
    T = x.shape[1]
    whole, part = _parted(share)
    places = np.minimum(np.arange(T + 1) + whole, T - 1)
    longer = x[:, places]
    return (1.0 - part) * longer[:, :-1] + part * longer[:, 1:] if part else longer[:, :-1]
