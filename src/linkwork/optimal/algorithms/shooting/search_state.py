"""What a search for a motion carries from iteration to iteration, and what it finds.

Numbers of a step that a loop keeps for another one, without those that are known while a function is traced.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.control.loops import scan
from linkwork.expr.scalar.functions import fmax, where

__all__ = ["SHOOTING_SCALARS", "Packing", "RollOut", "SearchState", "ShootingFound", "begun", "chosen"]


SOLVED, STUCK, STOPPED, LOST = 0.0, 1.0, 2.0, 3.0


"""How it ends: nothing is left to do, no step is better, iterations are used up, or a number was none."""


class RollOut(NamedTuple):
    """States that steps lead to (T, nx), and controls (T, m)."""

    x: Any
    u: Any


class ShootingFound(NamedTuple):
    """What was found; ``status`` 0 solved, 1 stuck, 2 stopped, 3 met NaN."""

    motion: RollOut
    gains: Any  # K (T, m, n), of u + K (x' ⊖ x)
    multipliers: tuple[Any, Any]  # of moving and of reached rows
    rows: tuple[Any, Any]
    cost: Any  # without multipliers
    violation: Any  # the largest, as a multiple of what is tolerated
    gap: Any
    decrement: Any
    iterations: Any
    roll_outs: Any
    status: Any
    penalty: Any
    scalars: Sequence[Any]  # as `SHOOTING_SCALARS` has them


class SearchState(NamedTuple):
    motion: RollOut
    gains: Any
    multipliers: tuple[Any, Any]
    penalty: Any
    renew: Any  # 1 where multipliers are to be renewed
    before: Any  # the largest violation as they were renewed last
    target: Any  # what steps may still promise
    damping: Any
    bend: Any  # 1 where the dynamics' curvature is taken, too
    nu: Any  # what gaps cost
    violation: Any
    gap: Any
    decrement: Any
    iterations: Any
    roll_outs: Any
    status: Any


SHOOTING_SCALARS = SearchState._fields[3:]


"""What a search goes on with, besides its motion and its multipliers: numbers."""


def begun(tolerance: Any, penalty: Any, constrained: bool) -> list[Any]:
    """What a search begins with, as `SHOOTING_SCALARS` has it."""
    least, far = tolerance * tolerance, 1e30
    target = fmax(least, 1e-4) if constrained else least
    return [penalty, 0.0, far, target, 0.0, 0.0, 0.0, far, far, far, 0.0, 0.0, STOPPED]


class Packing:
    """Nested lists of numbers as an array of those that a loop has to keep, and back.

    In a trace a float is the same number in all steps.  On numbers all are kept.
    """

    def __init__(self) -> None:
        self._form: Any = None
        self._known: dict[int, float] = {}
        self._count = 0

    def packed(self, value: Any) -> np.ndarray:
        """What is to be kept, of a value that has the same nesting in all steps."""
        numbers: list[Any] = []
        self._form = _taken(value, numbers)
        self._count = len(numbers)
        traced = any(hasattr(x, "_precedence") for x in numbers)
        self._known = {k: x for k, x in enumerate(numbers) if traced and isinstance(x, float)}
        kept = [x for k, x in enumerate(numbers) if k not in self._known]
        return np.array(kept, dtype=object) if traced else np.array(kept, dtype=float)

    def unpacked(self, values: Sequence[Any]) -> Any:
        """Return the nested value of an array that `packed` returned."""
        rest = iter(list(values))
        numbers = iter([self._known[k] if k in self._known else next(rest) for k in range(self._count)])
        return _put(self._form, numbers)


def _taken(value: Any, numbers: list[Any]) -> Any:
    if isinstance(value, (list, tuple)):
        return [_taken(x, numbers) for x in value]
    numbers.append(value)
    return None


def _put(form: Any, numbers: Any) -> Any:
    return next(numbers) if form is None else [_put(x, numbers) for x in form]


def chosen(condition: Any, A: Any, B: Any) -> Any:
    """One table or the other."""

    def step(_: Any, row: Any) -> tuple[Any, Any]:
        a, b = row
        return (), np.array([where(condition, x, y) for x, y in zip(a, b, strict=True)])

    return scan(step, (), (A, B))[1]
