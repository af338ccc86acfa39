"""Nested values as plain numbers, which bodies take and give: truth values are 0 and 1, dual numbers their parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from linkwork.expr.arrays.pytree import Form, Leaf, put_together, size_of, taken_apart
from linkwork.expr.autodiff.dual_numbers import Dual
from linkwork.expr.autodiff.sparse_tangent import SparseTangent
from linkwork.expr.scalar.functions import eq, not_, where
from linkwork.expr.scalar.symbol import Graph, Symbol

__all__ = ["Grain", "Numbers", "graph_of", "is_truth", "merged", "truth_of"]

# What a scalar is made of: "n", a number; "t", a truth value; or (level, grain of the value, grain of the tangent).  A
# tangent may also be {direction: grain}, its directions in a fixed order.
Grain = Any


def graph_of(numbers: Iterable[Any]) -> Graph | None:
    """The trace that some of these numbers, or parts of them, belong to."""
    for x in numbers:
        if x.__class__ is Symbol:
            return x.graph
        inside = [x.value, x.tangent] if x.__class__ is Dual else x.row.values() if x.__class__ is SparseTangent else ()
        graph = graph_of(inside) if inside else None
        if graph is not None:
            return graph
    return None


def is_truth(x: Any) -> bool:
    return isinstance(x, (bool, np.bool_)) or (x.__class__ is Symbol and x.op.logical)


def truth_of(number: Any) -> Any:
    """A truth value that was carried as a number."""
    return not_(eq(number, 0.0))


class Numbers:
    """A nested value as numbers that a body can take and give."""

    def __init__(self, value: Any, caller: str) -> None:
        self.scalars, self.form = taken_apart(value, caller)
        self.grains = [_grain(x) for x in self.scalars]

    @property
    def logical(self) -> list[bool]:
        """Whether each scalar is a truth value."""
        return [grain == "t" for grain in self.grains]

    @property
    def elements(self) -> list[Any]:
        """The numbers that all scalars are made of: first the value of each, then derivatives."""
        return _apart(self.scalars, self.grains)

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return sum(map(_size, self.grains))

    @staticmethod
    def alike(form: Form | Leaf, rows: Sequence[Sequence[Any]]) -> tuple[Numbers, list[list[Any]]]:
        """What several values of one form are made of, together, and the numbers of each, given their scalars."""
        one = Numbers(put_together(form, [0.0] * size_of(form)), "")
        for row in rows:
            one.grains = [merged(old, _grain(x)) for old, x in zip(one.grains, row, strict=True)]
        if rows:
            one.grains = ["t" if is_truth(x) else grain for grain, x in zip(one.grains, rows[0], strict=True)]
        return one, [_apart(row, one.grains) for row in rows]

    def scalars_of(self, numbers: Sequence[Any]) -> list[Any]:
        """The scalars that other numbers in the same places make up."""
        many = len(self.grains)
        rest = iter(numbers[many:])
        return [_joined(chain(numbers[k : k + 1], rest), grain) for k, grain in enumerate(self.grains)]

    def together(self, numbers: Sequence[Any]) -> Any:
        """The value of other numbers in the same places."""
        return put_together(self.form, self.scalars_of(numbers))

    def widen(self, other: Numbers) -> bool:
        """Take in what the scalars of another value of this form are made of, too; whether that is anything new."""
        grains = [merged(one, two) for one, two in zip(self.grains, other.grains, strict=True)]
        changed = grains != self.grains
        self.grains = grains
        return changed


def merged(one: Grain, other: Grain) -> Grain:
    """What a scalar is made of that is made of either."""
    if isinstance(one, str) and isinstance(other, str):
        return one
    if isinstance(one, dict) or isinstance(other, dict):
        rows = [x if isinstance(x, dict) else {} for x in (one, other)]
        return {key: merged(*(row.get(key, "n") for row in rows)) for key in _ordered({**rows[0], **rows[1]})}
    if isinstance(one, str) or (not isinstance(other, str) and other[0] > one[0]):
        one, other = other, one
    level, value, tangent = one
    if isinstance(other, str) or other[0] < level:
        return level, merged(value, other), tangent
    return level, merged(value, other[1]), merged(tangent, other[2])


def _grain(x: Any) -> Grain:
    if x.__class__ is Dual:
        return x.level, _grain(x.value), _grain(x.tangent)
    if x.__class__ is SparseTangent:
        return {key: _grain(x.row[key]) for key in _ordered(x.row)}
    return "t" if is_truth(x) else "n"


def _ordered(keys: Iterable[Any]) -> list[Any]:
    return sorted(keys, key=lambda key: (type(key).__name__, repr(key)))


def _size(grain: Grain) -> int:
    if isinstance(grain, dict):
        return sum(map(_size, grain.values()))
    return 1 if isinstance(grain, str) else _size(grain[1]) + _size(grain[2])


def _apart(scalars: Sequence[Any], grains: Sequence[Grain]) -> list[Any]:
    parts = [_parts(x, grain) for x, grain in zip(scalars, grains, strict=True)]
    return [*(some[0] for some in parts), *(x for some in parts for x in some[1:])]


def _parts(x: Any, grain: Grain) -> list[Any]:
    if isinstance(grain, str):
        return [where(x, 1.0, 0.0) if grain == "t" else x]
    if isinstance(grain, dict):
        found = [_parts(x.get(key) if x.__class__ is SparseTangent else 0.0, inner) for key, inner in grain.items()]
        return [y for some in found for y in some]
    level, value, tangent = grain
    here = (x.value, x.tangent) if x.__class__ is Dual and x.level == level else (x, 0.0)
    return [*_parts(here[0], value), *_parts(here[1], tangent)]


def _joined(numbers: Iterator[Any], grain: Grain) -> Any:
    if isinstance(grain, str):
        number = next(numbers)
        return truth_of(number) if grain == "t" else number
    if isinstance(grain, dict):
        return SparseTangent({key: _joined(numbers, inner) for key, inner in grain.items()})
    level, value, tangent = grain
    return Dual(_joined(numbers, value), _joined(numbers, tangent), level)
