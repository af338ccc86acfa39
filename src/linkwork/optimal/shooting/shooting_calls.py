"""Calls of a shooting kernel for a few iterations each: time limits, progress, callbacks, several guesses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from linkwork._util.progress import Reporter, read_progress
from linkwork._util.validation import duration, optional
from linkwork.kernels.compiler_api import Deadline
from linkwork.optimal.algorithms.path_augmented_lagrangian import STOPPED
from linkwork.optimal.algorithms.shooting.search_state import SHOOTING_SCALARS
from linkwork.optimal.arguments import PROGRESS, SOLVE, read_callback, read_count, read_switch
from linkwork.optimal.initial_guesses import COMPARISON_INTERVAL, stop_inferior
from linkwork.optimal.kernels import SEARCH_SCALARS

__all__ = ["SearchOptions", "continued_search", "final_search", "run_iterations", "stopped"]

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]

_STATUS, _ITERATIONS, _COST, _MERIT = (SEARCH_SCALARS.index(name) for name in ("status", "iterations", "cost", "merit"))
_SEARCH_STATUS, _PENALTY = (SHOOTING_SCALARS.index(name) for name in ("status", "penalty"))
_ENDED = 1.0  # status with which the kernel does no further iterations


class SearchOptions:
    """Options of a search that act between its iterations: guesses, time limit, progress and callback."""

    def __init__(
        self,
        caller: str,
        num_guesses: Any,
        continue_all: bool,
        time_limit: Any,
        progress: Any,
        callback: Callable[[Any], Any] | None,
    ) -> None:
        """Check the options.  Raises ValueError and TypeError."""
        read_callback(callback)
        self.num_guesses = read_count(caller, "num_guesses", num_guesses)
        self.progress, self.callback = read_progress(SOLVE, progress), callback
        self.compares = not read_switch("continue_all", continue_all) and self.num_guesses > 1
        self.limit = optional(duration)(SOLVE, "time_limit", time_limit)


def run_iterations(
    kernel: Any,
    inputs: Arrays,
    max_iterations: int,
    options: SearchOptions,
    result: Callable[[Mapping[str, Array]], Any],
    shown: Callable[[Mapping[str, Array], bool], Any],
) -> tuple[Arrays, bool]:
    """Return the kernel's outputs by name after at most ``max_iterations``, and True if the search was stopped early.

    ``result`` computes the result of all guesses from the outputs. ``shown`` computes the argument of the user's
    callback, during the search and at its end. Guesses, along the last leading axis, are compared after each few
    iterations.
    """
    names = [port.name for port in kernel.inputs]
    with Reporter(SOLVE, options.progress, PROGRESS, max_iterations) as report:
        return _called(kernel, names, inputs, max_iterations, options, result, shown, report)


def _called(
    kernel: Any,
    names: list[str],
    inputs: Arrays,
    max_iterations: int,
    options: SearchOptions,
    result: Callable[[Mapping[str, Array]], Any],
    shown: Callable[[Mapping[str, Array], bool], Any],
    report: Reporter,
) -> tuple[Arrays, bool]:
    """Return the kernel's outputs, and True if the search was stopped early; see `run_iterations`.

    ``names`` are the kernel's inputs, and ``report`` shows the progress.
    """
    deadline = None if options.limit is None else Deadline(options.limit)
    each = report.active or options.callback is not None or options.limit is not None  # one iteration a call
    count = 1 if each else COMPARISON_INTERVAL if options.compares else max_iterations
    outputs: Arrays = {}
    done = 0
    while True:
        done = min(done + count, max_iterations)
        ends = np.array([*inputs["ends"][:2], float(done)])
        new = kernel(**{name: ends if name == "ends" else inputs[name] for name in names})
        outputs = _merged(outputs, {name: np.asarray(getattr(new, name)) for name in new._fields})
        if options.compares and done % COMPARISON_INTERVAL == 0:
            outputs["scalars"] = _compared(outputs, result(outputs)._state["scalars"], done)
        running = _running(outputs)
        over = done >= max_iterations or not running.any()
        report.reach(done)
        stopped = options.callback is not None and options.callback(shown(outputs, not over)) is False
        if over:
            return outputs, False
        if stopped or (deadline is not None and deadline.left <= 0.0):
            return outputs, True
        state = outputs["scalars"].copy()
        state[..., _SEARCH_STATUS] = np.where(running, state[..., _SEARCH_STATUS], _ENDED)
        inputs = inputs | {"x": outputs["x"], "u": outputs["u"], "scalars": state}
        inputs |= {name: outputs[name] for name in ("moving_forces", "reached_forces") if name in outputs}


_CONTINUED = ("x", "u", "moving_forces", "reached_forces")


def final_search(outputs: Mapping[str, Array]) -> Arrays:
    """Return from a kernel's ``outputs`` the arrays with which another call can continue the search, by name.

    They are the motion, the multipliers, and the penalty (...).
    """
    return {name: outputs[name] for name in _CONTINUED if name in outputs} | {
        "penalty": outputs["scalars"][..., _PENALTY]
    }


def continued_search(search: Mapping[str, Array], initial_scalars: Array) -> Arrays:
    """Return the multipliers and initial scalars (..., count) with which a new search continues ``search``.

    The penalties are those at the end of ``search``.
    """
    penalty = search["penalty"]
    state = np.array(np.broadcast_to(initial_scalars, (*penalty.shape, *initial_scalars.shape)))
    state[..., _PENALTY] = penalty
    return {name: search[name] for name in _CONTINUED[2:] if name in search} | {"scalars": state}


def _running(outputs: Arrays) -> Array:
    """Return a mask of the searches that have not ended and whose values are finite."""
    return np.asarray((outputs["scalars"][..., _SEARCH_STATUS] > 1.5) & (outputs["diagnostics"][..., 0] < 2.5))


def _merged(old: Arrays, new: Arrays) -> Arrays:
    """Return for each search its ``new`` outputs if it was running, or its ``old`` outputs if it had ended."""
    if not old:
        return new
    running = _running(old)
    if running.all():
        return new
    return {
        name: np.where(running.reshape(*running.shape, *[1] * (x.ndim - running.ndim)), x, old[name])
        for name, x in new.items()
    }


def _compared(outputs: Arrays, scalars: Array, done: int) -> Array:
    """Return the states (..., scalars) of all searches, in which the status of inferior guesses is "stopped".

    ``scalars`` are those of the results, by which guesses are compared. ``done`` is the number of iterations.
    """
    running = _running(outputs)
    scalars = scalars.copy()
    scalars[..., _STATUS] = np.where(running, 0.0, scalars[..., _STATUS])
    scalars[..., _MERIT] = scalars[..., _COST]
    over = stop_inferior(scalars, done)[..., _STATUS] == STOPPED
    state = outputs["scalars"].copy()
    state[..., _SEARCH_STATUS] = np.where(running & over, _ENDED, state[..., _SEARCH_STATUS])
    return np.asarray(state)


def stopped(outputs: Mapping[str, Array]) -> Array:
    """Return a mask of the guesses that were stopped because another was solved."""
    ended = outputs["scalars"][..., _SEARCH_STATUS] == _ENDED
    return np.asarray(ended & (outputs["diagnostics"][..., 0] > 1.5) & (outputs["diagnostics"][..., 0] < 2.5))
