"""Calls of a kernel of motions by forward dynamics, in pieces of iterations: time limits, callbacks, and guesses."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from linkwork._util.progress import Reporter, read_progress
from linkwork.kernels.compiler_api import make_ready
from linkwork.optimal.algorithms.path_augmented_lagrangian import STOPPED
from linkwork.optimal.algorithms.shooting.search_state import SHOOTING_SCALARS
from linkwork.optimal.arguments import PROGRESS, SOLVE, read_callback, read_count, read_switch, read_time_limit
from linkwork.optimal.initial_guesses import COMPARISON_INTERVAL, stop_inferior
from linkwork.optimal.kernels import SEARCH_SCALARS

__all__ = ["SearchOptions", "best_entries", "continued_search", "run_iterations", "searched", "stopped"]

Array = np.ndarray[Any, Any]
Numbers = dict[str, Array]

_STATUS, _ITERATIONS, _COST, _MERIT = (SEARCH_SCALARS.index(name) for name in ("status", "iterations", "cost", "merit"))
_SEARCH_STATUS, _PENALTY = (SHOOTING_SCALARS.index(name) for name in ("status", "penalty"))
_ENDED = 1.0  # what keeps the kernel from going on


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
        """Read the options.  Raises ValueError and TypeError."""
        read_callback(callback)
        self.num_guesses = read_count(caller, "num_guesses", num_guesses)
        self.progress, self.callback = read_progress(SOLVE, progress), callback
        self.compared = not read_switch("continue_all", continue_all) and self.num_guesses > 1
        self.limit = read_time_limit(time_limit)


def run_iterations(
    kernel: Any,
    inputs: Numbers,
    max_iterations: int,
    watching: SearchOptions,
    result: Callable[[Mapping[str, Array]], Any],
    shown: Callable[[Mapping[str, Array], bool], Any],
) -> tuple[Numbers, bool]:
    """Return the kernel's outputs by name after at most so many iterations, and whether it was stopped before.

    ``result`` makes a result of outputs so far, of all guesses, and ``shown`` what the callback gets, while the search
    goes on and once more at the end.  Guesses along the last leading axis are compared now and then.
    """
    names = [port.name for port in kernel.inputs]
    if watching.limit is not None:
        make_ready(kernel)
    with Reporter(SOLVE, watching.progress, PROGRESS, max_iterations) as report:
        return _called(kernel, names, inputs, max_iterations, watching, result, shown, report)


def _called(
    kernel: Any,
    names: list[str],
    inputs: Numbers,
    max_iterations: int,
    watching: SearchOptions,
    result: Callable[[Mapping[str, Array]], Any],
    shown: Callable[[Mapping[str, Array], bool], Any],
    report: Reporter,
) -> tuple[Numbers, bool]:
    """Return what `run_iterations` does."""
    end = None if watching.limit is None else time.perf_counter() + watching.limit
    each = report.active or watching.callback is not None or watching.limit is not None  # one iteration a call
    piece = 1 if each else COMPARISON_INTERVAL if watching.compared else max_iterations
    outputs: Numbers = {}
    done = 0
    while True:
        done = min(done + piece, max_iterations)
        ends = np.array([*inputs["ends"][:2], float(done)])
        new = kernel(**{name: ends if name == "ends" else inputs[name] for name in names})
        outputs = _joined(outputs, {name: np.asarray(getattr(new, name)) for name in new._fields})
        if watching.compared and done % COMPARISON_INTERVAL == 0:
            outputs["scalars"] = _compared(outputs, result(outputs)._state["scalars"], done)
        going = _going(outputs)
        over = done >= max_iterations or not going.any()
        report.reach(done)
        stopped = watching.callback is not None and watching.callback(shown(outputs, not over)) is False
        if over:
            return outputs, False
        if stopped or (end is not None and time.perf_counter() >= end):
            return outputs, True
        state = outputs["scalars"].copy()
        state[..., _SEARCH_STATUS] = np.where(going, state[..., _SEARCH_STATUS], _ENDED)
        inputs = inputs | {"x": outputs["x"], "u": outputs["u"], "scalars": state}
        inputs |= {name: outputs[name] for name in ("moving_forces", "reached_forces") if name in outputs}


_GOES_ON = ("x", "u", "moving_forces", "reached_forces")


def searched(outputs: Mapping[str, Array]) -> Numbers:
    """What another call may go on from: motion, multipliers and penalty (...)."""
    return {name: outputs[name] for name in _GOES_ON if name in outputs} | {
        "penalty": outputs["scalars"][..., _PENALTY]
    }


def continued_search(search: Mapping[str, Array], begun: Array) -> Numbers:
    """Multipliers, and what is kept (..., numbers) as a search begins, with the penalties that another ended with."""
    penalty = search["penalty"]
    state = np.array(np.broadcast_to(begun, (*penalty.shape, *begun.shape)))
    state[..., _PENALTY] = penalty
    return {name: search[name] for name in _GOES_ON[2:] if name in search} | {"scalars": state}


def _going(outputs: Numbers) -> Array:
    """Which have not ended: they are stopped, and all of their numbers are some."""
    return np.asarray((outputs["scalars"][..., _SEARCH_STATUS] > 1.5) & (outputs["diagnostics"][..., 0] < 2.5))


def _joined(old: Numbers, new: Numbers) -> Numbers:
    """The new where a search went on, and what it ended with where it did not."""
    if not old:
        return new
    going = _going(old)
    if going.all():
        return new
    return {
        name: np.where(going.reshape(*going.shape, *[1] * (x.ndim - going.ndim)), x, old[name])
        for name, x in new.items()
    }


def _compared(outputs: Numbers, scalars: Array, done: int) -> Array:
    """What is kept, with those seeds ended that need not go on."""
    going = _going(outputs)
    scalars = scalars.copy()
    scalars[..., _STATUS] = np.where(going, 0.0, scalars[..., _STATUS])
    scalars[..., _MERIT] = scalars[..., _COST]
    over = stop_inferior(scalars, done)[..., _STATUS] == STOPPED
    state = outputs["scalars"].copy()
    state[..., _SEARCH_STATUS] = np.where(going & over, _ENDED, state[..., _SEARCH_STATUS])
    return np.asarray(state)


def stopped(outputs: Mapping[str, Array]) -> Array:
    """Which were stopped since another seed was solved."""
    ended = outputs["scalars"][..., _SEARCH_STATUS] == _ENDED
    return np.asarray(ended & (outputs["diagnostics"][..., 0] > 1.5) & (outputs["diagnostics"][..., 0] < 2.5))


def best_entries(x: Array, place: Array) -> Array:
    """Of seeds the one of each problem at a place."""
    index = place[(..., *[None] * (x.ndim - place.ndim))]
    return np.asarray(np.take_along_axis(x, index, axis=place.ndim).squeeze(axis=place.ndim))
