"""State of a shooting search from iteration to iteration, and its outcome; conversion of step models to flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.control.loops import scan
from linkwork.expr.scalar.functions import fmax, where

__all__ = ["SHOOTING_SCALARS", "Packing", "RollOut", "SearchState", "ShootingOutcome", "initial_scalars", "select"]


SOLVED, STUCK, STOPPED, LOST = 0.0, 1.0, 2.0, 3.0


"""Final statuses: converged, no step improves, iterations used up, a value was NaN."""


class RollOut(NamedTuple):
    """A motion: the states (T, nx) to which its steps lead, and its controls (T, m)."""

    x: Any
    u: Any


class ShootingOutcome(NamedTuple):
    """Result of a shooting search: its motion, feedback gains, multipliers, cost, violation and status.

    ``status`` is 0 if the search has converged, 1 if no step improves, 2 if all iterations are used up, and 3 for a
    NaN.
    """

    motion: RollOut
    gains: Any  # K (T, m, n), of u + K (x' ⊖ x)
    multipliers: tuple[Any, Any]  # of moving and of reached rows
    rows: tuple[Any, Any]
    cost: Any  # without multipliers
    violation: Any  # the largest, relative to tolerances
    gap: Any
    decrement: Any
    iterations: Any
    roll_outs: Any
    status: Any
    penalty: Any
    scalars: Sequence[Any]  # in the order of `SHOOTING_SCALARS`


class SearchState(NamedTuple):
    motion: RollOut
    gains: Any
    multipliers: tuple[Any, Any]
    penalty: Any
    renew: Any  # 1 if multipliers are to be updated
    before: Any  # largest violation at the last update
    target: Any  # predicted decrease below which multipliers are updated
    damping: Any
    bend: Any  # 1 if second derivatives of the dynamics are used
    nu: Any  # weight of gaps in the merit
    violation: Any
    gap: Any
    decrement: Any
    iterations: Any
    roll_outs: Any
    status: Any


SHOOTING_SCALARS = SearchState._fields[3:]


"""The scalars of a search's state, without motion, gains and multipliers."""


def initial_scalars(tolerance: Any, penalty: Any, constrained: bool) -> list[Any]:
    """Return the initial scalars of a search, in the order of `SHOOTING_SCALARS`."""
    smallest, far = tolerance * tolerance, 1e30
    target = fmax(smallest, 1e-4) if constrained else smallest
    return [penalty, 0.0, far, target, 0.0, 0.0, 0.0, far, far, far, 0.0, 0.0, STOPPED]


class Packing:
    """Conversion between nested lists of scalars and flat arrays, which compiled loops use as state.

    While a kernel is traced, an entry that is a plain float is the same in all steps. This object stores such entries
    instead of the array. Outside a trace the array has all values.
    """

    def __init__(self) -> None:
        self._form: Any = None
        self._known: dict[int, float] = {}
        self._count = 0

    def packed(self, value: Any) -> np.ndarray:
        """Return the flat array of a nested value; the nesting has to be the same in all steps."""
        values: list[Any] = []
        self._form = _flattened(value, values)
        self._count = len(values)
        traced = any(hasattr(x, "_precedence") for x in values)
        self._known = {k: x for k, x in enumerate(values) if traced and isinstance(x, float)}
        carried = [x for k, x in enumerate(values) if k not in self._known]
        return np.array(carried, dtype=object) if traced else np.array(carried, dtype=float)

    def unpacked(self, values: Sequence[Any]) -> Any:
        """Return the nested value of an array that `packed` returned."""
        unknown = iter(list(values))
        leaves = iter([self._known[k] if k in self._known else next(unknown) for k in range(self._count)])
        return _nested(self._form, leaves)


def _flattened(value: Any, values: list[Any]) -> Any:
    if isinstance(value, (list, tuple)):
        return [_flattened(x, values) for x in value]
    values.append(value)
    return None


def _nested(form: Any, values: Any) -> Any:
    return next(values) if form is None else [_nested(x, values) for x in form]


def select(condition: Any, A: Any, B: Any) -> Any:
    """Return the array (T, ...) A if the condition is true, else B."""

    def step(_: Any, row: Any) -> tuple[Any, Any]:
        a, b = row
        return (), np.array([where(condition, x, y) for x, y in zip(a, b, strict=True)])

    return scan(step, (), (A, B))[1]
