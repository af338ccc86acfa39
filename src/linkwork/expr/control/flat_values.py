"""Nested values as flat lists of numbers, which bodies of loops, branches and calls accept and return.

A truth value is the number 0 or 1, and a dual number is its value and its derivatives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from linkwork.expr.arrays.pytree import Leaf, TreeDef, flatten, num_elements, unflatten
from linkwork.expr.autodiff.dual_numbers import Dual, SparseTangent
from linkwork.expr.autodiff.masked_terms import flagged, is_conditional, terms_of_body
from linkwork.expr.scalar.functions import eq, not_, where
from linkwork.expr.scalar.symbol import Symbol

__all__ = ["FlatValue", "is_truth"]

# Layout of a scalar: "n", a number; "t", a truth value; "c", a term that is conditional, with its flag; or (level,
# layout of the value, layout of the tangent).  The layout of a tangent may also be {direction: layout}, with the
# directions in a fixed order.
Layout = Any


def is_truth(x: Any) -> bool:
    return isinstance(x, (bool, np.bool_)) or (x.__class__ is Symbol and x.op.logical)


def truth_of(number: Any) -> Any:
    """Return the truth value of a number: false for 0, else true."""
    return not_(eq(number, 0.0))


class FlatValue:
    """Nested value as a flat list of scalars, which a loop's or branch's body can accept and return.

    The scalars are plain numbers.  A truth value is the number 0 or 1, and a dual number is its value and its
    derivatives.  ``layouts`` describes these for each scalar, so that the nested value can be built again.
    """

    def __init__(self, value: Any, caller: str) -> None:
        self.scalars, self.form = flatten(value, caller)
        self.layouts = [_layout(x) for x in self.scalars]

    @property
    def logical(self) -> list[bool]:
        """For each scalar, True if it is a truth value."""
        return [layout == "t" for layout in self.layouts]

    @property
    def elements(self) -> list[Any]:
        """Flat list that represents the value: first the value of each scalar, then the derivatives of all scalars."""
        return _apart(self.scalars, self.layouts)

    @property
    def size(self) -> int:
        """Number of scalars in the flat list `elements`."""
        return sum(map(_size, self.layouts))

    @staticmethod
    def alike(form: TreeDef | Leaf, rows: Sequence[Sequence[Any]]) -> tuple[FlatValue, list[list[Any]]]:
        """Return a common layout of several values of one structure, and each value's flat list in this layout.

        The layout includes every derivative that any of the values has.  ``form`` is the structure; each row has the
        scalars of one value.
        """
        copied = FlatValue(unflatten(form, [0.0] * num_elements(form)), "")
        each = [[*map(_layout, row)] for row in rows]
        for layouts in each:
            if layouts != copied.layouts:
                copied.layouts = [merge_layouts(old, new) for old, new in zip(copied.layouts, layouts, strict=True)]
        if each and "t" in each[0]:
            copied.layouts = ["t" if x == "t" else layout for layout, x in zip(copied.layouts, each[0], strict=True)]
        return copied, [_apart(row, copied.layouts) for row in rows]

    def scalars_of(self, elements: Sequence[Any]) -> list[Any]:
        """Return the scalars (truth values and dual numbers among them) that a flat list of numbers represents."""
        many = len(self.layouts)
        if _are_plain(self.layouts):
            return list(elements[:many])
        remaining = iter(elements[many:])
        return [_joined(chain(elements[k : k + 1], remaining), layout) for k, layout in enumerate(self.layouts)]

    def together(self, elements: Sequence[Any]) -> Any:
        """Return the nested value that a flat list of numbers represents."""
        return unflatten(self.form, self.scalars_of(elements))

    def widen(self, other: FlatValue) -> bool:
        """Extend the layout to include another value's derivatives.  Return True if it has changed.

        Derivatives that only one of the values has are conditional.
        """
        before = self.layouts
        self.layouts = [merge_layouts(first, second) for first, second in zip(before, other.layouts, strict=True)]
        return self.layouts != before


def merge_layouts(left: Layout, right: Layout) -> Layout:
    """Return the smallest layout of a scalar that contains the derivatives of both layouts."""
    if isinstance(left, str) and isinstance(right, str):
        return right if right == "c" else left
    if isinstance(left, dict) or isinstance(right, dict):
        rows = [x if isinstance(x, dict) else {} for x in (left, right)]
        return {key: merge_layouts(*(row.get(key, "c") for row in rows)) for key in _ordered({**rows[0], **rows[1]})}
    if isinstance(left, str) or (not isinstance(right, str) and right[0] > left[0]):
        left, right = right, left
    level, value, tangent = left
    if isinstance(right, str) or right[0] < level:
        return level, merge_layouts(value, right), merge_layouts(tangent, "c")
    return level, merge_layouts(value, right[1]), merge_layouts(tangent, right[2])


def _layout(x: Any, *, is_term: bool = False) -> Layout:
    if x.__class__ is Dual:
        return x.level, _layout(x.value, is_term=is_term), _layout(x.tangent, is_term=True)
    if x.__class__ is SparseTangent:
        return {key: _layout(x.row[key], is_term=True) for key in _ordered(x.row)}
    return "t" if is_truth(x) else "c" if is_term and is_conditional(x) else "n"


def _ordered(keys: Iterable[Any]) -> list[Any]:
    return sorted(keys, key=lambda key: (type(key).__name__, repr(key)))


def _size(layout: Layout) -> int:
    if isinstance(layout, dict):
        return sum(map(_size, layout.values()))
    return 1 + (layout == "c") if isinstance(layout, str) else _size(layout[1]) + _size(layout[2])


def _are_plain(layouts: Sequence[Layout]) -> bool:
    """Return True if the layout of all scalars is that of plain numbers, as in most traces."""
    return layouts.count("n") == len(layouts)


def _apart(scalars: Sequence[Any], layouts: Sequence[Layout]) -> list[Any]:
    if _are_plain(layouts):
        return list(scalars)
    parts = [_parts(x, layout) for x, layout in zip(scalars, layouts, strict=True)]
    return [*(pair[0] for pair in parts), *(x for pair in parts for x in pair[1:])]


def _parts(x: Any, layout: Layout) -> list[Any]:
    if isinstance(layout, str):
        return [where(x, 1.0, 0.0)] if layout == "t" else flagged([x], [layout == "c"])
    if isinstance(layout, dict):
        result = [_parts(x.get(key) if x.__class__ is SparseTangent else 0.0, inner) for key, inner in layout.items()]
        return [y for pair in result for y in pair]
    level, value, tangent = layout
    value_and_tangent = (x.value, x.tangent) if x.__class__ is Dual and x.level == level else (x, 0.0)
    return [*_parts(value_and_tangent[0], value), *_parts(value_and_tangent[1], tangent)]


def _joined(elements: Iterator[Any], layout: Layout) -> Any:
    if isinstance(layout, str):
        (number,) = terms_of_body(elements, [layout == "c"])
        return truth_of(number) if layout == "t" else number
    if isinstance(layout, dict):
        return SparseTangent({key: _joined(elements, inner) for key, inner in layout.items()})
    level, value, tangent = layout
    primal = _joined(elements, value)
    return Dual(primal, _joined(elements, tangent), level)
