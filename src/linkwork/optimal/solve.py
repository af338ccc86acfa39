"""Solving a problem: what comes with a call as arrays, pieces of iterations, and what came of them."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np

from linkwork.ik.arguments import mid_range, read_deadline
from linkwork.kernels.compiler_api import make_ready
from linkwork.kernels.robot_arguments import read_configuration
from linkwork.model.kernel_parameters import inputs_of
from linkwork.optimal.arguments import (
    read_callback,
    read_count,
    read_guess,
    read_seed,
    read_switch,
    read_tolerances,
    read_velocity,
    together,
)
from linkwork.optimal.initial_guesses import TOGETHER, Beginnings, guesses, needless
from linkwork.optimal.ipopt import refereed
from linkwork.optimal.kernels import TOLD
from linkwork.optimal.nonfinite_report import resolved
from linkwork.optimal.problem_arrays import PreparedProblem, prepared
from linkwork.optimal.result import OptimalResult
from linkwork.optimal.robot_parameters import read_robot_numbers, robot_inputs

__all__ = ["OPTIONS", "run"]

SOLVERS = ("augmented", "ipopt")
AT_MOST = 300  # iterations, unless said
TOLERANCE = 1e-6  # of steps and of what is violated [rad, m, 1]
_SOONEST = 1e-3  # seconds: how long a piece of iterations with a deadline is to take, about


def run(
    problem: Any,
    start: Any = None,
    *,
    velocity: Any = None,
    targets: Any = None,
    parameters: Any = None,
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
    max_iterations: int = AT_MOST,
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
            'Problem.solve: solver="ipopt": it runs to its end: expected no deadline, progress and callback; max_iterations '
            "bounds its iterations"
        )
    launched = start is not None and velocity is not None and problem.free_durations > 0
    if launched and solver == "ipopt":
        raise ValueError('Problem.solve: solver="ipopt": velocity: with free durations it knows paths from rest alone')
    given = read_robot_numbers("Problem.solve", problem, parameters)
    own = prepared(problem, start is not None, launched, tuple(given))
    robot, program = problem.robot, own.program
    T = program.steps
    limit = None if deadline is None else read_deadline("Problem.solve", deadline)
    numbers = (own.constants if solver == "ipopt" else own.even) | own.given_targets(targets)
    numbers |= robot_inputs(robot.tree, given)
    if start is not None:
        start = read_configuration(robot, "Problem.solve", "start", start)
        numbers["past"] = own.past(start, velocity)
        if velocity is not None:
            numbers["velocity"] = read_velocity(robot, velocity)
        if launched:
            numbers["rate"] = numbers["velocity"]
    elif velocity is not None:
        raise ValueError("Problem.solve: velocity: it is that at the start, and there is no start=")
    state = dict(own.begin)
    if warm is not None:
        if not isinstance(warm, OptimalResult):
            raise TypeError(f"Problem.solve: warm: expected a result of the same problem, got {warm!r}")
        before = replace(warm.prepared.program, robot_numbers=program.robot_numbers)
        if replace(before, launched=launched) == program != before:
            raise ValueError(
                "Problem.solve: warm: velocity: with free durations a path from rest and one that starts with a "
                "velocity do not go on from each other: give guess=, its q, instead"
            )
        if before != program:
            raise ValueError(
                "Problem.solve: warm: expected a result of the same problem, with a start or without as here"
            )
        state |= {name: x for name, x in warm.state.items() if name != "told"}
    if guess is not None:
        state["q"] = read_guess(robot, T, guess)
    elif warm is None:
        begin = mid_range(robot, np.asarray(robot.lower), np.asarray(robot.upper)) if start is None else start
        state["q"] = np.repeat(begin[..., None, :], T, axis=-2)
    lead = _lead(own, state, numbers)
    seeds = read_count("Problem.solve", "seeds", seeds)
    beginnings = Beginnings(own, state["q"], seeds, seed)
    if seeds > 1:
        state["q"] = guesses(problem, state["q"], own.ends(seeds - 1, seed), start is not None)
        numbers = {name: _with_axis(x, len(_own_shape(own, name))) for name, x in numbers.items()}
        state = {name: x if name == "q" else _with_axis(x, len(own.state_shapes[name])) for name, x in state.items()}
    inputs, first = [numbers[name] for name in own.shapes], dict(state)
    tolerances = read_tolerances(program.hard_names, tolerance, step_tolerance, TOLERANCE)
    max_iterations = read_count("Problem.solve", "max_iterations", max_iterations)
    names = list(own.state_shapes)
    watched = progress or callback is not None

    def result(late: bool, running: bool = False) -> OptimalResult:
        return OptimalResult(own, state, numbers, tolerances, lead, seeds if seeds > 1 else None, late, running, first)

    if solver == "ipopt":
        state = refereed(program, state, dict(zip(own.shapes, inputs, strict=True)), tolerances, max_iterations)
        state["told"] = resolved(state["q"], state["told"], float(tolerances[0]))
        return result(False)
    kernel = own.kernel
    if limit is not None:
        make_ready(kernel)
    end = None if limit is None else time.perf_counter() + limit
    compared = TOGETHER if seeds > 1 and not every_seed else max_iterations  # seeds are after so many iterations
    budget = float(min(compared, max_iterations)) if end is None and not watched else 1.0
    late = False
    while True:
        before = time.perf_counter()
        found = kernel(
            *(state[name] for name in names), *inputs, tolerances, np.array(min(budget, float(max_iterations)))
        )
        state = dict(zip(names, (getattr(found, name) for name in names) if len(names) > 1 else (found,), strict=True))
        told = state["told"]
        if seeds > 1 and not every_seed and budget % compared == 0.0 and (told[..., 1] > 0.5).any():
            state["told"] = needless(told, int(budget))
            state = beginnings.anew(state) if budget < max_iterations else state
            told = state["told"]
        over: bool = budget >= max_iterations or not ((told[..., 1] < 0.5) & np.isfinite(told[..., 4])).any()
        if over:
            state = beginnings.settled(state)
            told = state["told"] = resolved(state["q"], state["told"], float(tolerances[0]))
        now = time.perf_counter()
        if progress:
            worst = told[..., len(TOLD) : len(TOLD) + len(program.hard)].max(axis=-1, initial=0.0)
            sys.stderr.write(
                f"iteration {int(budget)}: cost {np.min(told[..., 3]):.6g}, violated {np.min(worst):.2e}, "
                f"step {np.min(told[..., 5]):.1e}\n"
            )
        if callback is not None and callback(result(False, not over)) is False and not over:
            late = True
            break
        if over:
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
    state["told"] = resolved(state["q"], state["told"], float(tolerances[0]))
    return result(late)


OPTIONS = tuple(signature(run).parameters)[2:-1]
"""What `run` is asked with besides the problem, its start and the solver."""


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
    labels = {port: f"targets: {name!r}" for name, (port, *_) in own.targets.items()}
    labels |= {"past": "start", "rate": "velocity", "q": "guess"}
    labels |= {name: f"parameters: {p}" for p, name in inputs_of(own.program.robot_numbers).items()}
    axes = {
        labels.get(name, name): some[name].shape[: some[name].ndim - len(shape)]
        for some, known in ((state, own.state_shapes), (numbers, own.shapes))
        for name, shape in known.items()
    }
    return together(axes) if any(axes.values()) else ()
