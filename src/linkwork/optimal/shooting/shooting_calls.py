"""Calls of a kernel of motions by forward dynamics, in pieces of iterations: deadlines, callbacks, and seeds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from linkwork.ik.arguments import read_deadline
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
        seeds: Any,
        every_seed: bool,
        deadline: Any,
        progress: bool,
        callback: Callable[[Any], Any] | None,
    ) -> None:
        """Raises ValueError for what is none."""
        read_callback(callback)
        self.seeds = read_count(caller, "seeds", seeds)
        self.progress, self.callback = read_switch("progress", progress), callback
        self.compared = not read_switch("every_seed", every_seed) and self.seeds > 1
        self.limit = None if deadline is None else read_deadline(caller, deadline)

    @property
    def often(self) -> bool:
        """Whether every iteration is a call."""
        return self.progress or self.callback is not None or self.limit is not None


def in_pieces(
    kernel: Any,
    given: Numbers,
    max_iterations: int,
    watching: Watching,
    result: Callable[[Mapping[str, Array]], Any],
    shown: Callable[[Mapping[str, Array], bool], Any],
) -> tuple[Numbers, bool]:
    """What the kernel finds, by name, after so many iterations at most, and whether it was told to stop before.

    ``result`` is of what is found so far, of all seeds, and ``shown`` what the callback is shown, while it goes on and
    once more at the end.  Seeds along the last
    leading axis are compared now and then.
    """
    names = [port.name for port in kernel.inputs]
    if watching.limit is not None:
        make_ready(kernel)
    end = None if watching.limit is None else time.perf_counter() + watching.limit
    piece = 1 if watching.often else TOGETHER if watching.compared else max_iterations
    found: Numbers = {}
    done = 0
    while True:
        done = min(done + piece, max_iterations)
        ends = np.array([*given["ends"][:2], float(done)])
        new = kernel(**{name: ends if name == "ends" else given[name] for name in names})
        found = _joined(found, {name: np.asarray(getattr(new, name)) for name in new._fields})
        if watching.compared and done % TOGETHER == 0:
            found["kept"] = _compared(found, result(found).state["told"], done)
        going = _going(found)
        over = done >= max_iterations or not going.any()
        if watching.progress:
            told = found["told"]
            sys.stderr.write(
                f"iteration {done}: cost {np.min(told[..., 2]):.6g}, violated {np.min(told[..., 3]):.2e} x tolerance, "
                f"gaps {np.min(told[..., 4]):.1e}\n"
            )
        stopped = watching.callback is not None and watching.callback(shown(found, not over)) is False
        if over:
            return found, False
        if stopped or (end is not None and time.perf_counter() >= end):
            return found, True
        kept = found["kept"].copy()
        kept[..., KEPT.index("status")] = np.where(going, kept[..., KEPT.index("status")], _ENDED)
        given = given | {"x": found["x"], "u": found["u"], "kept": kept}
        given |= {name: found[name] for name in ("moving_forces", "reached_forces") if name in found}


_GOES_ON = ("x", "u", "moving_forces", "reached_forces")


def searched(found: Mapping[str, Array]) -> Numbers:
    """What another call may go on from: motion, multipliers and penalty (...)."""
    return {name: found[name] for name in _GOES_ON if name in found} | {
        "penalty": found["kept"][..., KEPT.index("penalty")]
    }


def gone_on(search: Mapping[str, Array], begun: Array) -> Numbers:
    """Multipliers, and what is kept (..., numbers) as a search begins, with the penalties that another ended with."""
    penalty = search["penalty"]
    kept = np.array(np.broadcast_to(begun, (*penalty.shape, *begun.shape)))
    kept[..., KEPT.index("penalty")] = penalty
    return {name: search[name] for name in _GOES_ON[2:] if name in search} | {"kept": kept}


def _going(found: Numbers) -> Array:
    """Which have not ended: they are stopped, and all of their numbers are some."""
    return np.asarray((found["kept"][..., KEPT.index("status")] > 1.5) & (found["told"][..., 0] < 2.5))


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


def _compared(found: Numbers, told: Array, done: int) -> Array:
    """What is kept, with those seeds ended that need not go on."""
    going = _going(found)
    told = told.copy()
    told[..., _STATUS] = np.where(going, 0.0, told[..., _STATUS])
    told[..., _MERIT] = told[..., _COST]
    over = needless(told, done)[..., _STATUS] == STOPPED
    kept = found["kept"].copy()
    kept[..., KEPT.index("status")] = np.where(going & over, _ENDED, kept[..., KEPT.index("status")])
    return np.asarray(kept)


def stopped(found: Mapping[str, Array]) -> Array:
    """Which were stopped since another seed was solved."""
    ended = found["kept"][..., KEPT.index("status")] == _ENDED
    return np.asarray(ended & (found["told"][..., 0] > 1.5) & (found["told"][..., 0] < 2.5))


def picked(x: Array, place: Array) -> Array:
    """Of seeds the one of each problem at a place."""
    index = place[(..., *[None] * (x.ndim - place.ndim))]
    return np.asarray(np.take_along_axis(x, index, axis=place.ndim).squeeze(axis=place.ndim))
