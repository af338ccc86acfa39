"""Solving a trajectory problem over its path: arguments as arrays, iterations in several calls, and the result."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork._util.progress import Reporter, read_progress
from linkwork._util.user_frames import levels_up
from linkwork._util.validation import duration, optional
from linkwork.errors import LimitWarning
from linkwork.ik.arguments import mid_range
from linkwork.kernels.compiler_api import Deadline
from linkwork.kernels.robot_arguments import read_configuration
from linkwork.model.kernel_parameters import inputs_of
from linkwork.optimal.algorithms.path_augmented_lagrangian import RUNNING, SOLVED, UNBOUNDED
from linkwork.optimal.algorithms.path_nlp import PathProgram
from linkwork.optimal.arguments import (
    PROGRESS,
    SOLVE,
    broadcast_axes,
    read_callback,
    read_count,
    read_guess,
    read_seed,
    read_switch,
    read_velocity,
)
from linkwork.optimal.features.dynamics_features import TorqueFeature
from linkwork.optimal.initial_guesses import (
    COMPARISON_INTERVAL,
    RestartedGuesses,
    guesses,
    resting_guess,
    stop_inferior,
)
from linkwork.optimal.ipopt import solve_by_ipopt
from linkwork.optimal.kernels import SEARCH_SCALARS
from linkwork.optimal.problem_arrays import PreparedProblem, prepared
from linkwork.optimal.result import OptimalResult
from linkwork.optimal.robot_parameters import read_robot_parameters, robot_inputs
from linkwork.optimal.search_report import resolved

__all__ = ["SOLVERS", "refuse_options", "solve_by_path"]

SOLVERS = ("augmented", "ipopt")
MAX_ITERATIONS = 1000
FIRST_ORDER_ITERATIONS = 100  # iterations before second derivatives of the terms of all steps are compiled
TOLERANCE = 1e-6  # [rad, m, 1] of steps and of constraints
_STATUS = SEARCH_SCALARS.index("status")
_CALL_TIME = 1e-3  # [s] approximate time of a kernel call with a time limit


def refuse_options(solver: Any, solvers: Sequence[str], common: Mapping[str, Any], shooting: Mapping[str, Any]) -> None:
    """Raise ValueError for an unknown solver, and TypeError for options that it does not support."""
    if solver not in SOLVERS:
        raise ValueError(f"{SOLVE}: solver: expected one of {', '.join(map(repr, solvers))}, got {solver!r}")
    for name in shooting:
        raise TypeError(
            f"{SOLVE}: {name}: not an option of solver={solver!r}; its options are {', '.join(sorted(common))}"
        )


def solve_by_path(
    problem: Any,
    start: Any,
    *,
    velocity: Any,
    targets: Any,
    parameters: Any,
    initial_guess: Any,
    num_guesses: int,
    seed: Any,
    continue_all: bool,
    warm_start: Any,
    tolerance: Any,
    step_tolerance: float | None,
    max_iterations: int | None,
    time_limit: float | None,
    progress: Any,
    callback: Callable[[OptimalResult], Any] | None,
    solver: str,
) -> OptimalResult:
    """Return the result of "augmented" or "ipopt": see `TrajectoryProblem.solve`.

    Once one of several guesses is solved, the others continue only while they may become better, and for at most twice
    as many iterations.  Before that, guesses that end in violated constraints restart from other paths with the
    remaining iterations.  With ``continue_all`` all guesses run to their end without restarts.
    """
    continue_all, progress, seed = (
        read_switch("continue_all", continue_all),
        read_progress(SOLVE, progress),
        read_seed(seed),
    )
    step_tolerance = TOLERANCE if step_tolerance is None else step_tolerance
    max_iterations = MAX_ITERATIONS if max_iterations is None else max_iterations
    read_callback(callback)
    if solver == "ipopt" and continue_all:
        raise ValueError(f'{SOLVE}: solver="ipopt": continue_all: not supported: every guess runs to convergence')
    if solver == "ipopt" and (time_limit is not None or progress or callback is not None):
        raise ValueError(
            f'{SOLVE}: solver="ipopt": expected no time_limit, progress and callback, which it does not support; '
            f"max_iterations bounds its iterations"
        )
    warn_of_free_bodies(problem)
    moves_at_start = start is not None and velocity is not None and problem._free_durations > 0
    if moves_at_start and solver == "ipopt":
        raise ValueError(f'{SOLVE}: solver="ipopt": velocity: not supported with free durations: leave it out')
    robot_parameters = read_robot_parameters(SOLVE, problem, parameters)
    setup = prepared(problem, start is not None, moves_at_start, tuple(robot_parameters))
    robot, program = problem.robot, setup.program
    T = program.steps
    limit = optional(duration)(SOLVE, "time_limit", time_limit)
    named = setup.constants | setup.read_targets(targets)
    named |= robot_inputs(robot.tree, robot_parameters)
    if start is not None:
        start = read_configuration(robot, SOLVE, "start", start)
        named["start"] = start
        named["rate"] = np.zeros(robot.nv) if velocity is None else read_velocity(robot, velocity)
    elif velocity is not None:
        raise ValueError(f"{SOLVE}: velocity: expected None without start=")
    state, at_rest = dict(setup.begin), None
    if warm_start is not None:
        state |= _warm_state(program, moves_at_start, warm_start)
    if initial_guess is not None:
        state["q"] = read_guess(robot, T, initial_guess)
    elif warm_start is None:
        begin = mid_range(robot, np.asarray(robot.lower), np.asarray(robot.upper)) if start is None else start
        state["q"] = resting_guess(robot, begin, T)
        at_rest = np.repeat(begin[..., None, :], T, axis=-2)
    lead = _lead(setup, state, named)
    num_guesses = read_count(SOLVE, "num_guesses", num_guesses)
    restarts = RestartedGuesses(setup, state["q"], num_guesses, seed)
    if num_guesses > 1:
        state["q"] = guesses(problem, state["q"], setup.ends(num_guesses - 1, seed), start is not None)
        named = {name: _with_axis(x, len(_own_shape(setup, name))) for name, x in named.items()}
        state = {name: x if name == "q" else _with_axis(x, len(setup.state_shapes[name])) for name, x in state.items()}
    first = dict(state)
    tolerances = setup.read_tolerances(tolerance, step_tolerance, TOLERANCE)
    max_iterations = read_count(SOLVE, "max_iterations", max_iterations)
    names = list(setup.state_shapes)

    def result(late: bool, running: bool = False) -> OptimalResult:
        guesses_axis = num_guesses if num_guesses > 1 else None
        return OptimalResult._make(setup, state, named, tolerances, lead, guesses_axis, late, running, first)

    if solver == "ipopt":
        state = solve_by_ipopt(program, state, {name: named[name] for name in setup.shapes}, tolerances, max_iterations)
        state = _in_search_units(setup, state)
    named["scales"] = setup.scaled_constants["scales"]
    if solver == "ipopt":
        state["scalars"] = resolved(state["q"], state["scalars"], float(tolerances[0]))
        return result(False)
    inputs = [named[name] for name in setup.shapes]
    if at_rest is not None and num_guesses == 1 and all(term.hard for term in program.terms):
        values = [at_rest if name == "q" else state[name] for name in names]  # no cost that could have a ridge
        outputs = setup.kernel(*values, *inputs, tolerances, np.array(1.0))
        scalars = outputs.scalars
        first["q"] = state["q"] = np.where((scalars[..., _STATUS] == SOLVED)[..., None, None], at_rest, state["q"])
    deadline = None if limit is None else Deadline(limit)
    interval = COMPARISON_INTERVAL if num_guesses > 1 and not continue_all else max_iterations
    late = False
    with Reporter(SOLVE, progress, PROGRESS, max_iterations) as report:
        watched = report.active or callback is not None
        budget = float(min(interval, max_iterations, FIRST_ORDER_ITERATIONS)) if limit is None and not watched else 1.0
        while True:
            before = 0.0 if deadline is None else deadline.left
            kernel = setup.kernel if budget <= FIRST_ORDER_ITERATIONS else setup.second_order_kernel
            outputs = kernel(
                *(state[name] for name in names), *inputs, tolerances, np.array(min(budget, float(max_iterations)))
            )
            arrays = (getattr(outputs, name) for name in names)
            state = dict(zip(names, arrays, strict=True))
            scalars = state["scalars"]
            if num_guesses > 1 and not continue_all and budget % interval == 0.0 and (scalars[..., 1] > 0.5).any():
                state["scalars"] = stop_inferior(scalars, int(budget))
                state = restarts.restart(state) if budget < max_iterations else state
                scalars = state["scalars"]
            ended = scalars
            if num_guesses == 1:
                state["scalars"] = scalars = _resumed(result(False), scalars, max_iterations)
            at_end = budget >= max_iterations and scalars is ended
            over: bool = at_end or not ((scalars[..., 1] < 0.5) & np.isfinite(scalars[..., 4])).any()
            if over:
                state = restarts.final(state)
                state["scalars"] = resolved(state["q"], state["scalars"], float(tolerances[0]))
            report.reach(int(min(budget, max_iterations)))
            stopped = callback is not None and callback(result(False, not over)) is False
            if over:
                break
            if stopped or (deadline is not None and deadline.left <= 0.0):
                late = True
                break
            iterations = 1.0 if watched else float(interval)
            if deadline is not None and not watched:
                left = deadline.left
                took = max(before - left, 1e-9)
                iterations = max(1.0, min(_CALL_TIME / took, 0.5 * left / took))
            further = min(budget + math.floor(iterations), (budget // interval + 1.0) * interval)
            budget = min(further, float(FIRST_ORDER_ITERATIONS)) if budget < FIRST_ORDER_ITERATIONS else further
    state = restarts.final(state)
    state["scalars"] = resolved(state["q"], state["scalars"], float(tolerances[0]))
    return result(late)


def _resumed(result: OptimalResult, scalars: np.ndarray, max_iterations: int) -> np.ndarray:
    """Return the states ``scalars`` of searches, in which wrongly stopped searches run again.

    A search that stopped because its cost seemed unbounded runs again if the cost has a lower bound.
    """
    rows = scalars.reshape(-1, scalars.shape[-1])
    endless = (rows[:, _STATUS] == UNBOUNDED) & (rows[:, SEARCH_SCALARS.index("iterations")] < max_iterations)
    going = [k for k in np.flatnonzero(endless) if not result._falls(int(k))]
    if going:
        scalars = scalars.copy()
        rows = scalars.reshape(-1, scalars.shape[-1])
        rows[going, _STATUS], rows[going, SEARCH_SCALARS.index("stale")] = RUNNING, 0.0
    return scalars


def warn_of_free_bodies(problem: Any) -> None:
    """Warn of a floating joint whose force is not constrained to zero, although no actuator exerts it."""
    tree = problem.robot.tree
    if problem.num_steps == 1:
        return  # inverse kinematics
    equalities = [term.feature for term in problem.terms if term.kind == "equality"]
    exerted = [set(feature.indices) for feature in equalities if isinstance(feature, TorqueFeature)]
    if any(feature.needs_forces and not isinstance(feature, TorqueFeature) for feature in equalities):
        return  # a user's own equation of forces
    for i, body in tree.stacked():
        dofs = set(range(tree.nv)[tree.v_slices[i]])
        if body.joint.is_floating and dofs - set().union(*exerted) and not problem.robot.constraints:
            warnings.warn(
                f"{SOLVE}: nothing exerts the forces that move {body.joint_name!r}; for a motion by the joints' motors "
                'and contacts add(linkwork.optimal.UnactuatedFeature(), "equality")',
                LimitWarning,
                stacklevel=levels_up(),
            )


def _in_search_units(setup: PreparedProblem, state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the state of a search with costs and multipliers divided by the units that the search uses."""
    program, unit = setup.program, setup.cost_unit
    scalars = state["scalars"].copy()
    scalars[..., [SEARCH_SCALARS.index("cost"), SEARCH_SCALARS.index("merit")]] /= unit
    state = state | {"scalars": scalars}
    for name, terms in (("everywhere", program.everywhere), ("alone", program.alone)):
        rows = [setup.scale_factors[program.rows_of[k]] for k in program.forces_of(terms)]
        if rows:
            state[name] = state[name] / (unit * np.concatenate(rows))
    return state


def _warm_state(program: PathProgram, moves_at_start: bool, warm_start: Any) -> dict[str, np.ndarray]:
    """Return the final state of the search of ``warm_start``, by name, without its scalars.

    Raises TypeError for another object, ValueError for a result of another problem.
    """
    if not isinstance(warm_start, OptimalResult):
        raise TypeError(f"{SOLVE}: warm_start: expected a result of the same problem, got {warm_start!r}")
    before = replace(warm_start._prepared.program, robot_parameters=program.robot_parameters)
    if replace(before, moves_at_start=moves_at_start) == program != before:
        raise ValueError(
            f"{SOLVE}: warm_start: velocity: with free durations, paths with and without an initial velocity "
            f"cannot warm-start each other: pass its q as initial_guess= instead"
        )
    if before != program:
        raise ValueError(
            f"{SOLVE}: warm_start: expected a result of the same problem, with or without a start like this call"
        )
    return {name: x for name, x in warm_start._state.items() if name != "scalars"}


def _own_shape(setup: PreparedProblem, name: str) -> tuple[int, ...]:
    return {
        "start": (0,),
        "rate": (0,),
        "lower": (0,),
        "upper": (0,),
        "step_rates": (0,) if setup.program.uniform else (0, 0),
        "floor": (0,),
        "ceiling": (0,),
    }.get(name) or setup.shapes.get(name, ())


def _with_axis(x: np.ndarray, rank: int) -> np.ndarray:
    """Return an array with an additional axis for guesses before its last ``rank`` axes.

    An array without batch axes does not change.
    """
    return x if x.ndim == rank else np.expand_dims(x, x.ndim - rank)


def _lead(setup: PreparedProblem, state: dict[str, np.ndarray], inputs: dict[str, np.ndarray]) -> tuple[int, ...]:
    """Return the common leading axes of all arrays.  Raises ValueError if they do not broadcast."""
    labels = {port: f"targets: {name!r}" for name, (port, *_) in setup.targets.items()}
    labels |= {"rate": "velocity", "q": "initial_guess"}
    labels |= {name: f"parameters: {p}" for p, name in inputs_of(setup.program.robot_parameters).items()}
    axes = {
        labels.get(name, name): arrays[name].shape[: arrays[name].ndim - len(shape)]
        for arrays, known in ((state, setup.state_shapes), (inputs, setup.shapes))
        for name, shape in known.items()
    }
    return broadcast_axes(axes) if any(axes.values()) else ()
