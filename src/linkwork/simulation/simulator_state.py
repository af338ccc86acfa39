"""Where a simulation that is stepped from Python is, as a value: what may be kept, and gone back to.

Arrays that a simulator holds and hands out, in nested values.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.messages import short_repr
from linkwork.expr.arrays.pytree import tree_map

__all__ = ["SimulatorState", "copied_state", "leaves", "locked", "not_plain", "paired"]


class SimulatorState(NamedTuple):
    """All of where a simulation is: arrays with the batch's shape before their own.

    ``steps`` (...) were done, q (..., nq), v (..., nv), ``controller`` is what it carries, and ``status`` (...) is 0
    for environments that go on, else a code, which `Simulator.status` translates.  ``within`` (...) is how far in its
    step an event ended one [s].  A simulator's own cannot be written to.
    """

    steps: np.ndarray
    q: np.ndarray
    v: np.ndarray
    controller: Any
    status: np.ndarray
    within: np.ndarray

    def __repr__(self) -> str:
        return short_repr(self)


def copied_state(value: Any, now: SimulatorState) -> SimulatorState:
    """A state's own arrays, if it fits where a simulator is ``now``.

    Raises ValueError for what is no state, for one of another batch or robot, and for numbers that are not finite.
    """
    fits = isinstance(value, SimulatorState) and all(
        a.shape == b.shape and bool(np.isfinite(a).all())
        for a, b in zip_longest(leaves(value), leaves(now), fillvalue=np.array(np.nan))
    )
    if not fits:
        raise ValueError(f"Simulator.restore: expected a finite state with q {now.q.shape}, got {value!r:.60}")
    result: SimulatorState = paired(lambda new, _: np.array(new), value, now)
    return result


def locked(x: Any) -> np.ndarray:
    """An array that is not written to."""
    result = np.asarray(x)
    result.setflags(write=False)
    return result


def not_plain(*arrays: Any) -> None:
    """What a quick call says of arrays that it does not take."""


def paired(function: Callable[[Any, Any], Any], new: Any, old: Any) -> Any:
    """A function of two values of one nesting, array by array."""
    others = iter(leaves(old))
    return tree_map(lambda x: function(np.asarray(x), next(others)), new)


def leaves(value: Any) -> list[np.ndarray]:
    result: list[np.ndarray] = []
    tree_map(lambda x: result.append(np.asarray(x)), value)
    return result
