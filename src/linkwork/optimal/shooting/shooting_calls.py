"""Calls of a kernel of motions by forward dynamics, in pieces of iterations: time limits, callbacks, and guesses."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from linkwork._util.validation import duration, optional
from linkwork.kernels.compiler_api import make_ready
from linkwork.optimal.algorithms.path_augmented_lagrangian import STOPPED
from linkwork.optimal.algorithms.shooting.search_state import KEPT
from linkwork.optimal.arguments import read_callback, read_count, read_switch
from linkwork.optimal.initial_guesses import TOGETHER, needless
from linkwork.optimal.kernels import TOLD

__all__ = ["Watching", "gone_on", "in_pieces", "picked", "searched", "stopped"]

Array = np.ndarray[Any, Any]
Numbers = dict[str, Array]

_STATUS, _ITERATIONS, _COST, _MERIT = (TOLD.index(name) for name in ("status", "iterations", "cost", "merit"))
_ENDED = 1.0  # what keeps the kernel from going on


class Watching:
    """What is asked of a search while it goes on."""

    def __init__(
        self,
        caller: str,
        num_guesses: Any,
        continue_all: bool,
        time_limit: Any,
        progress: bool,
        callback: Callable[[Any], Any] | None,
    ) -> None:
        """Raises ValueError for what is none."""
        read_callback(callback)
        self.num_guesses = read_count(caller, "num_guesses", num_guesses)
        self.progress, self.callback = read_switch("progress", progress), callback
        self.compared = not read_switch("continue_all", continue_all) and self.num_guesses > 1
        self.limit = optional(duration)(caller, "time_limit", time_limit)

    @property
    def often(self) -> bool:
        """Whether every iteration is a call."""
        return self.progress or self.callback is not None or self.limit is not None


def in_pieces(
    kernel: Any,
    inputs: Numbers,
    max_iterations: int,
    watching: Watching,
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
    end = None if watching.limit is None else time.perf_counter() + watching.limit
    piece = 1 if watching.often else TOGETHER if watching.compared else max_iterations
    outputs: Numbers = {}
    done = 0
    while True:
        done = min(done + piece, max_iterations)
        ends = np.array([*inputs["ends"][:2], float(done)])
        new = kernel(**{name: ends if name == "ends" else inputs[name] for name in names})
        outputs = _joined(outputs, {name: np.asarray(getattr(new, name)) for name in new._fields})
        if watching.compared and done % TOGETHER == 0:
            outputs["kept"] = _compared(outputs, result(outputs).state["told"], done)
        going = _going(outputs)
        over = done >= max_iterations or not going.any()
        if watching.progress:
            scalars = outputs["told"]
            sys.stderr.write(
                f"iteration {done}: cost {np.min(scalars[..., 2]):.6g}, "
                f"violated {np.min(scalars[..., 3]):.2e} x tolerance, gaps {np.min(scalars[..., 4]):.1e}\n"
            )
        stopped = watching.callback is not None and watching.callback(shown(outputs, not over)) is False
        if over:
            return outputs, False
        if stopped or (end is not None and time.perf_counter() >= end):
            return outputs, True
        state = outputs["kept"].copy()
        state[..., KEPT.index("status")] = np.where(going, state[..., KEPT.index("status")], _ENDED)
        inputs = inputs | {"x": outputs["x"], "u": outputs["u"], "kept": state}
        inputs |= {name: outputs[name] for name in ("moving_forces", "reached_forces") if name in outputs}


_GOES_ON = ("x", "u", "moving_forces", "reached_forces")


def searched(outputs: Mapping[str, Array]) -> Numbers:
    """What another call may go on from: motion, multipliers and penalty (...)."""
    return {name: outputs[name] for name in _GOES_ON if name in outputs} | {
        "penalty": outputs["kept"][..., KEPT.index("penalty")]
    }


def gone_on(search: Mapping[str, Array], begun: Array) -> Numbers:
    """Multipliers, and what is kept (..., numbers) as a search begins, with the penalties that another ended with."""
    penalty = search["penalty"]
    state = np.array(np.broadcast_to(begun, (*penalty.shape, *begun.shape)))
    state[..., KEPT.index("penalty")] = penalty
    return {name: search[name] for name in _GOES_ON[2:] if name in search} | {"kept": state}


def _going(outputs: Numbers) -> Array:
    """Which have not ended: they are stopped, and all of their numbers are some."""
    return np.asarray((outputs["kept"][..., KEPT.index("status")] > 1.5) & (outputs["told"][..., 0] < 2.5))


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
    over = needless(scalars, done)[..., _STATUS] == STOPPED
    state = outputs["kept"].copy()
    state[..., KEPT.index("status")] = np.where(going & over, _ENDED, state[..., KEPT.index("status")])
    return np.asarray(state)


def stopped(outputs: Mapping[str, Array]) -> Array:
    """Which were stopped since another seed was solved."""
    ended = outputs["kept"][..., KEPT.index("status")] == _ENDED
    return np.asarray(ended & (outputs["told"][..., 0] > 1.5) & (outputs["told"][..., 0] < 2.5))


def picked(x: Array, place: Array) -> Array:
    """Of seeds the one of each problem at a place."""
    index = place[(..., *[None] * (x.ndim - place.ndim))]
    return np.asarray(np.take_along_axis(x, index, axis=place.ndim).squeeze(axis=place.ndim))
