"""Numbers of a step that a loop keeps for another one, without those that are known while a function is traced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.expr.control.loops import scan
from linkwork.expr.scalar.functions import where

__all__ = ["Packing", "chosen"]


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

    def unpacked(self, kept: Sequence[Any]) -> Any:
        """The value again."""
        rest = iter(list(kept))
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
