"""Solving a problem: what comes with a call as arrays, pieces of iterations, and what came of them."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import signature
from typing import Any

import numpy as np

from ...algorithms.optimal.program import PathProgram
from ...errors import UnknownNameError
from ..assembly.wanted import read_configuration
from ..ik.reading import mid_range, read_deadline
from .asked import ByStep, nothing_aimed_at, read_callback, read_guess, read_seed, read_switch, target_shape
from .guesses import TOGETHER, Beginnings, guesses, needless
from .referee import refereed
from .result import OptimalResult
from .scaling import even_scales
from .solving import TOLD, numbers_of, search_kernel, shapes_of, state_shapes

__all__ = ["OPTIONS", "PreparedProblem", "prepared", "run"]

SOLVERS = ("augmented", "ipopt")
AT_MOST = 300  # iterations, unless said
TOLERANCE = 1e-6  # of steps and of what is violated [rad, m, 1]
PENALTY = 1e3
_SOONEST = 1e-3  # seconds: how long a piece of iterations with a deadline is to take, about


@dataclass(eq=False)
class PreparedProblem:
    """A problem as arrays, but for what comes with each call."""

    problem: Any
    started: bool
    launched: bool = False  # whether it moves at the start, and durations are free

    @cached_property
    def program(self) -> PathProgram:
        found: PathProgram = self.problem.program(self.started, self.launched)
        return found

    @cached_property
    def kernel(self) -> Any:
        """What searches."""
        return search_kernel(self.program)

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of what comes with each call, in order."""
        return shapes_of(self.program)

    @cached_property
    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        """Of a search's state, in order."""
        return state_shapes(self.program)

    @cached_property
    def constants(self) -> dict[str, np.ndarray]:
        """What is the same in all calls, by name, besides targets."""
        problem, program = self.problem, self.program
        T = program.steps
        weights = np.zeros((T, len(problem.entries)))
        scales, lower, upper = (np.zeros(program.rows) for _ in range(3))
        for k, (entry, rows) in enumerate(zip(problem.entries, program.rows_of, strict=True)):
            without = self.started or entry.feature.early > 0  # some rows look at no step before
            early = [] if without else [t for t in entry.steps if t < entry.feature.depth]
            if early and len(entry.steps) < T and len(early) == len(entry.steps):
                raise ValueError(
                    f"Problem.solve: {entry.name!r} looks at {entry.feature.depth} steps before step {early[0]}, and "
                    f"without start= there are none"
                )
            for t in entry.steps:
                weights[t, k] = 0.0 if t in early else 1.0
            scales[rows] = entry.scale
            if entry.lower is not None:
                lower[rows], upper[rows] = entry.lower, entry.upper
        parameters = problem.parameters.values()
        floor = np.concatenate([x.lower for x in parameters]) if parameters else np.zeros(0)
        ceiling = np.concatenate([x.upper for x in parameters]) if parameters else np.zeros(0)
        step, rates = self._clock
        found = {"step": step, "step_rates": rates, "weights": weights, "scales": scales, "lower": lower}
        found |= {"upper": upper, "floor": floor, "ceiling": ceiling}
        return found

    @cached_property
    def even(self) -> dict[str, np.ndarray]:
        """The same with scales as the search has them, whatever constraints are measured in: see `scaling`."""
        problem, program, begin = self.problem, self.program, self.begin
        aims = dict(self.own_targets)
        for port, k, shape in self.targets.values():
            if port not in aims:
                aims[port] = np.reshape(nothing_aimed_at(problem.robot, problem.entries[k].feature), math.prod(shape))
        numbers = numbers_of(program, {**self.constants, **aims})
        u = begin["u"][0] if "u" in begin else np.zeros(0)
        places = problem.robot.random_configuration(seed=0, size=4)
        factors = even_scales(program, numbers, places, u, begin.get("p", np.zeros(0)), PENALTY)
        return self.constants | {"scales": self.constants["scales"] * factors}

    @property
    def _clock(self) -> tuple[np.ndarray, np.ndarray]:
        """τ by step, less what free durations make of it, and what these make of it."""
        problem, T = self.problem, self.program.steps
        free = self.program.durations
        base, rates, column = np.zeros(T), np.zeros((T, free)), 0
        for phase, x in problem.durations.items():
            own = problem.phases[phase] if phase else range(T)
            for t in own:
                if isinstance(x, tuple):
                    rates[t, column] = 1.0 / len(own)
                else:
                    base[t] = x / len(own)
            column += isinstance(x, tuple)
        return (np.array(base[0]), rates[0]) if self.program.uniform else (base, rates)

    def shares_of(self, phase: str) -> np.ndarray:
        """What the duration of a phase, or of the whole path (""), makes of τ (T,)."""
        own = self.problem.phases[phase] if phase else range(self.program.steps)
        found = np.zeros(self.program.steps)
        found[list(own)] = 1.0 / len(own)
        return found

    def steps_of(self, p: np.ndarray) -> np.ndarray:
        """τ (..., T) [s] with parameters (..., many)."""
        base, rates = self._clock
        free = self.program.durations
        T = self.program.steps
        made = np.asarray(p)[..., :free] @ np.broadcast_to(rates, (T, free)).T
        return np.asarray(np.broadcast_to(base, (T,)) + made)

    @cached_property
    def begin(self) -> dict[str, np.ndarray]:
        """The state of a search before it has begun, by name, besides the path."""
        problem, program = self.problem, self.program
        hard = len(program.hard)
        found = {name: np.zeros(shape) for name, shape in state_shapes(program).items()}
        if "u" in found:
            found["u"][:] = np.concatenate([x.guess for x in problem.variables.values()])
        if "p" in found:
            found["p"][:] = np.concatenate([x.guess for x in problem.parameters.values()])
        if "penalties" in found:
            found["penalties"][:] = PENALTY
        told = found["told"]
        told[0], told[TOLD.index("length")], told[len(TOLD) :] = 1e-12, 1e300, 1e300
        assert len(told) == len(TOLD) + 2 * hard
        return found

    def ends(self, count: int, seed: int) -> np.ndarray:
        """Where first guesses lead to (count, nq): drawn once by seed."""
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
        """By the name of an entry that aims at something: its input's, its number and the shape of what it aims at."""
        found = {}
        for k, entry in enumerate(self.problem.entries):
            shape = target_shape(self.problem.robot.tree, entry.feature)
            if shape is not None:
                found[entry.name] = (f"target{k}", k, shape)
        return found

    @cached_property
    def own_targets(self) -> dict[str, np.ndarray]:
        """What entries aim at by themselves, by input."""
        found = {}
        for name, (port, k, _) in self.targets.items():
            entry = self.problem.entries[k]
            if entry.target is not None:
                found[port] = self.flat(name, entry.target)
            elif not entry.feature.needs_target:
                found[port] = self.flat(name, nothing_aimed_at(self.problem.robot, entry.feature))
        return found

    def flat(self, name: str, given: Any) -> np.ndarray:
        """What an entry aims at as its kernel's input: (..., numbers), or (..., T, numbers) where it moves."""
        _, k, shape = self.targets[name]
        entry = self.problem.entries[k]
        who = f"Problem.solve: targets: {name!r}"
        size = math.prod(shape)
        if isinstance(given, ByStep) != entry.moving:
            raise ValueError(
                f"{who}: "
                + (
                    "expected linkwork.optimal.ByStep, as it was added with one"
                    if entry.moving
                    else "ByStep is for features that were added with a target= ByStep"
                )
            )
        found: np.ndarray = self.problem.read_target(who, entry.feature, given.values if entry.moving else given, True)
        lead = found.shape[: found.ndim - len(shape)]
        if not entry.moving:
            return found.reshape(*lead, size)
        if not lead or lead[-1] != len(entry.steps):
            raise ValueError(f"{who}: ByStep: expected {len(entry.steps)} of shape {shape}, got shape {found.shape}")
        every = np.empty((*lead[:-1], self.program.steps, size))
        every[...] = found.reshape(*lead, size)[..., :1, :]
        every[..., list(entry.steps), :] = found.reshape(*lead, size)
        return every

    def given_targets(self, targets: Any) -> dict[str, np.ndarray]:
        """By input.  Raises ValueError and UnknownNameError."""
        found = dict(self.own_targets)
        for name, x in (targets or {}).items():
            if name not in self.targets:
                raise UnknownNameError("feature with a target", name, tuple(self.targets))
            found[self.targets[name][0]] = self.flat(name, x)
        for name, (port, k, shape) in self.targets.items():
            if port not in found:
                said = self.problem.entries[k].feature.target_of
                raise ValueError(
                    f"Problem.solve: {name!r} aims at nothing: give targets={{{name!r}: an array {shape}}}: "
                    f"{said.doc if said is not None else ''}"
                )
        return found


def prepared(problem: Any, started: bool, launched: bool = False) -> PreparedProblem:
    """The same one as long as nothing is added to the problem."""
    found: PreparedProblem | None = problem.prepared.get((started, launched))
    if found is None:
        if not problem.entries:
            raise ValueError("Problem.solve: nothing is asked: add features first")
        found = problem.prepared[started, launched] = PreparedProblem(problem, started, launched)
    return found


def run(
    problem: Any,
    start: Any = None,
    *,
    velocity: Any = None,
    targets: Any = None,
    guess: Any = None,
    seeds: int = 1,
    seed: int = 0,
    every_seed: bool = False,
    warm: OptimalResult | None = None,
    deadline: float | None = None,
    progress: bool = False,
    callback: Callable[[OptimalResult], Any] | None = None,
    tolerance: Any = TOLERANCE,
    step_tolerance: float = TOLERANCE,
    at_most: int = AT_MOST,
    solver: str = "augmented",
) -> OptimalResult:
    """See `Problem.solve`.

    Of several ``seeds``, once one is solved, others go on only while they may become better, and at most for twice as
    many iterations; until then those that end where constraints do not hold begin again elsewhere with the iterations
    that are left.  With ``every_seed`` all end as they began.
    """
    if solver not in SOLVERS:
        raise ValueError(f"Problem.solve: solver: expected one of {', '.join(map(repr, SOLVERS))}, got {solver!r}")
    every_seed, progress, seed = (
        read_switch("every_seed", every_seed),
        read_switch("progress", progress),
        read_seed(seed),
    )
    read_callback(callback)
    if solver == "ipopt" and every_seed:
        raise ValueError(
            'Problem.solve: solver="ipopt": every_seed: it takes each seed to its end anyway: leave it out'
        )
    if solver == "ipopt" and (deadline is not None or progress or callback is not None):
        raise ValueError(
            'Problem.solve: solver="ipopt": it runs to its end: expected no deadline, progress and callback; at_most '
            "bounds its iterations"
        )
    launched = start is not None and velocity is not None and problem.free_durations > 0
    if launched and solver == "ipopt":
        raise ValueError('Problem.solve: solver="ipopt": velocity: with free durations it knows paths from rest alone')
    own = prepared(problem, start is not None, launched)
    robot, program = problem.robot, own.program
    T = program.steps
    begun = time.perf_counter()
    numbers = (own.constants if solver == "ipopt" else own.even) | own.given_targets(targets)
    if start is not None:
        start = read_configuration(robot, "Problem.solve", "start", start)
        numbers["past"] = _past(own, start, velocity)
        if velocity is not None:
            numbers["velocity"] = _velocity(robot, velocity)
        if launched:
            numbers["rate"] = numbers["velocity"]
    elif velocity is not None:
        raise ValueError("Problem.solve: velocity: it is that at the start, and there is no start=")
    state = dict(own.begin)
    if warm is not None:
        if not isinstance(warm, OptimalResult):
            raise TypeError(f"Problem.solve: warm: expected a result of the same problem, got {warm!r}")
        if replace(warm.prepared.program, launched=launched) == program != warm.prepared.program:
            raise ValueError(
                "Problem.solve: warm: velocity: with free durations a path from rest and one that starts with a "
                "velocity do not go on from each other: give guess=, its q, instead"
            )
        if warm.prepared.program != program:
            raise ValueError(
                "Problem.solve: warm: expected a result of the same problem, with a start or without as here"
            )
        state |= {name: x for name, x in warm.state.items() if name != "told"}
    if guess is not None:
        state["q"] = read_guess(robot, T, guess)
    elif warm is None:
        first = mid_range(robot, np.asarray(robot.lower), np.asarray(robot.upper)) if start is None else start
        state["q"] = np.repeat(first[..., None, :], T, axis=-2)
    lead = _lead(own, state, numbers)
    if isinstance(seeds, bool) or not isinstance(seeds, (int, np.integer)) or seeds < 1:
        raise ValueError(f"Problem.solve: seeds: expected a whole number from 1, got {seeds!r}")
    beginnings = Beginnings(own, state["q"], int(seeds), seed)
    if seeds > 1:
        state["q"] = guesses(problem, state["q"], own.ends(int(seeds) - 1, seed), start is not None)
        numbers = {name: _with_axis(x, len(_own_shape(own, name))) for name, x in numbers.items()}
        state = {name: x if name == "q" else _with_axis(x, len(own.state_shapes[name])) for name, x in state.items()}
    inputs = [numbers[name] for name in own.shapes]
    tolerances = _tolerances(problem, program, tolerance, step_tolerance)
    if isinstance(at_most, bool) or not isinstance(at_most, (int, np.integer)) or at_most < 1:
        raise ValueError(f"Problem.solve: at_most: expected a whole number from 1, got {at_most!r}")
    end = None if deadline is None else begun + read_deadline("Problem.solve", deadline)
    names = list(own.state_shapes)
    watched = progress or callback is not None

    def result(late: bool) -> OptimalResult:
        return OptimalResult(own, state, numbers, tolerances, lead, int(seeds) if seeds > 1 else None, late)

    if solver == "ipopt":
        given = dict(zip(shapes_of(program), inputs, strict=True))
        state = refereed(program, state, given, tolerances, int(at_most))
        return result(False)
    kernel = own.kernel
    compared = TOGETHER if seeds > 1 and not every_seed else int(at_most)  # seeds are after so many iterations
    budget = float(min(compared, at_most)) if end is None and not watched else 1.0
    late = False
    while True:
        before = time.perf_counter()
        found = kernel(*(state[name] for name in names), *inputs, tolerances, np.array(min(budget, float(at_most))))
        state = dict(zip(names, (getattr(found, name) for name in names) if len(names) > 1 else (found,), strict=True))
        if seeds > 1 and not every_seed and budget % compared == 0.0:
            state["told"] = needless(state["told"], int(budget))
            state = beginnings.anew(state) if budget < at_most else state
        told = state["told"]
        if budget >= at_most or not ((told[..., 1] < 0.5) & np.isfinite(told[..., 4])).any():
            break
        now = time.perf_counter()
        if progress:
            worst = told[..., len(TOLD) : len(TOLD) + len(program.hard)].max(axis=-1, initial=0.0)
            sys.stderr.write(
                f"iteration {int(budget)}: cost {np.min(told[..., 3]):.6g}, violated {np.min(worst):.2e}, "
                f"step {np.min(told[..., 5]):.1e}\n"
            )
        if callback is not None and callback(result(False)) is False:
            late = True
            break
        if end is not None and now >= end:
            late = True
            break
        pieces = 1.0 if watched else float(compared)
        if end is not None and not watched:
            took = max(now - before, 1e-9)
            pieces = max(1.0, min(_SOONEST / took, 0.5 * (end - now) / took))
        budget = min(budget + math.floor(pieces), (budget // compared + 1.0) * compared)
    state = beginnings.settled(state)
    return result(late)


OPTIONS = tuple(signature(run).parameters)[2:-1]
"""What `run` is asked with besides the problem, its start and the solver."""


def _past(own: PreparedProblem, start: np.ndarray, velocity: Any) -> np.ndarray:
    """Configurations before the first step, oldest first (..., depth, nq)."""
    m, robot = own.program.depth, own.problem.robot
    if velocity is None or own.launched:  # which is moved back in the kernel
        return np.repeat(start[..., None, :], m, axis=-2)
    v = _velocity(robot, velocity)
    step = float(np.ravel(own.constants["step"])[0])
    return (
        np.stack([robot.integrate(start, -k * step * v) for k in reversed(range(m))], axis=-2)
        if m
        else np.zeros((*start.shape[:-1], 0, robot.nq))
    )


def _velocity(robot: Any, velocity: Any) -> np.ndarray:
    try:
        v = np.array(velocity, dtype=float)
    except (TypeError, ValueError):
        v = np.array(math.nan)
    if v.shape[-1:] != (robot.nv,) or not np.isfinite(v).all():
        raise ValueError(f"Problem.solve: velocity: expected finite numbers (..., {robot.nv}), got {velocity!r}")
    return v


def _own_shape(own: PreparedProblem, name: str) -> tuple[int, ...]:
    return {
        "past": (0, 0),
        "velocity": (0,),
        "lower": (0,),
        "upper": (0,),
        "step_rates": (0,) if own.program.uniform else (0, 0),
        "floor": (0,),
        "ceiling": (0,),
    }.get(name) or own.shapes.get(name, ())


def _with_axis(x: np.ndarray, rank: int) -> np.ndarray:
    """The same with an axis of seeds, where it has samples."""
    return x if x.ndim == rank else np.expand_dims(x, x.ndim - rank)


def _lead(own: PreparedProblem, state: dict[str, np.ndarray], numbers: dict[str, np.ndarray]) -> tuple[int, ...]:
    """The leading axes of all."""
    shapes = {
        x.shape[: x.ndim - len(shape)]
        for some, known in ((state, own.state_shapes), (numbers, own.shapes))
        for x, shape in ((some[name], shape) for name, shape in known.items())
    }
    if shapes == {()}:
        return ()
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise ValueError(f"Problem.solve: start, targets and guess do not broadcast together: {error}") from None


def _tolerances(problem: Any, program: PathProgram, given: Any, step: Any, usual: float = TOLERANCE) -> np.ndarray:
    """That of steps, then those of constraints; the usual one of those that are not named."""
    names = [program.entries[k].name for k in program.hard]
    by_name = dict(given) if isinstance(given, dict) else dict.fromkeys(names, given)
    unknown = [name for name in by_name if name not in names]
    if unknown:
        raise UnknownNameError("constraint", unknown[0], tuple(names))
    try:
        found = np.array([float(step), *(float(by_name.get(name, usual)) for name in names)])
    except (TypeError, ValueError):
        found = np.array([math.nan])
    if not ((found > 0.0) & np.isfinite(found)).all():
        raise ValueError(f"Problem.solve: tolerance: expected finite numbers above 0, got {given!r} and {step!r}")
    return found
