"""Nested values: arrays and numbers in tuples, named tuples, dataclasses and dicts, taken apart and put together again.

A `Form` is what is left of a nested value without its numbers: how it is nested, and the shape of each array in it.
Two values of one form hold as many numbers in the same places.  Lists are arrays, as NumPy has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import array, filled

__all__ = [
    "Form",
    "Leaf",
    "children",
    "difference",
    "form_of",
    "is_nested",
    "leaves_of",
    "mapped",
    "put_together",
    "remade",
    "reshaped",
    "shallow_form",
    "size_of",
    "taken_apart",
]


@dataclass(frozen=True, slots=True)
class Leaf:
    """An array or a number, without its numbers."""

    shape: tuple[int, ...]
    is_array: bool = True  # or a bare scalar

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __str__(self) -> str:
        return f"an array of shape {self.shape}" if self.is_array else "a number"


@dataclass(frozen=True)
class Form:
    """How a value is nested.  ``kind`` is the container's type and ``keys`` name its parts; a leaf has neither."""

    kind: Any
    keys: tuple[Any, ...]
    parts: tuple[Form | Leaf, ...]

    def leaves(self, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Leaf]]:
        """Every leaf and the keys on the way to it, in order."""
        for key, part in zip(self.keys, self.parts, strict=True):
            here = (*path, str(key))
            if isinstance(part, Leaf):
                yield here, part
            else:
                yield from part.leaves(here)

    def __str__(self) -> str:
        inside = ", ".join(f"{key}: {part}" for key, part in zip(self.keys, self.parts, strict=True))
        return f"{self.kind.__name__}({inside})"


def leaves_of(form: Form | Leaf) -> list[tuple[tuple[str, ...], Leaf]]:
    """Every leaf of a form and the keys on the way to it; a leaf is its own, at the end of no way."""
    return [((), form)] if isinstance(form, Leaf) else list(form.leaves())


def size_of(form: Form | Leaf) -> int:
    """How many numbers a value of this form has."""
    return sum(leaf.size for _, leaf in leaves_of(form))


def is_nested(value: Any) -> bool:
    """Whether a value is a container of other values, and no array or number."""
    return isinstance(value, (Mapping, tuple)) or (is_dataclass(value) and not isinstance(value, type))


def children(value: Any) -> list[tuple[Any, Any]]:
    """What a container holds, by key."""
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, tuple):
        names = getattr(value, "_fields", None) or range(len(value))
        return list(zip(names, value, strict=True))
    return [(f.name, getattr(value, f.name)) for f in fields(value)]


def shallow_form(value: Any) -> Form:
    """The form of a container, whatever is in it."""
    keys = tuple(key for key, _ in children(value))
    return Form(type(value), keys, (Leaf(()),) * len(keys))


def taken_apart(value: Any, caller: str) -> tuple[list[Any], Form | Leaf]:
    """The numbers of a nested value, one after the other, and its form.  ``caller`` names the value in errors.

    Raises TypeError where something in it is no array and no number.
    """
    if is_nested(value):
        numbers: list[Any] = []
        keys, parts = [], []
        for key, part in children(value):
            result, form = taken_apart(part, f"{caller}{_step(value, key)}")
            numbers += result
            keys.append(key)
            parts.append(form)
        return numbers, Form(type(value), tuple(keys), tuple(parts))
    return _leaf(value, caller)


def form_of(value: Any, caller: str) -> Form | Leaf:
    """The form of a nested value."""
    return taken_apart(value, caller)[1]


def put_together(form: Form | Leaf, numbers: Sequence[Any], array: Any = None) -> Any:
    """The value of a form with these numbers; ``array`` makes an array of an object array, if it is to be another."""
    return _put(form, iter(numbers), array)


def _put(form: Form | Leaf, numbers: Iterator[Any], array: Any) -> Any:
    if isinstance(form, Leaf):
        if not form.is_array:
            return next(numbers)
        made = filled(form.shape, [next(numbers) for _ in range(form.size)])
        return made if array is None else array(made)
    parts = [_put(part, numbers, array) for part in form.parts]
    return remade(form, parts)


def remade(form: Form, parts: Sequence[Any]) -> Any:
    """A container of this form around other parts."""
    kind = form.kind
    if issubclass(kind, Mapping):
        return (kind if issubclass(kind, dict) else dict)(zip(form.keys, parts, strict=True))
    if issubclass(kind, tuple):
        return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
    whole = object.__new__(kind)  # what a dataclass does when it is made (checks of floats, say) is not for symbols
    for key, part in zip(form.keys, parts, strict=True):
        object.__setattr__(whole, key, part)
    return whole


def difference(expected: Form | Leaf, got: Form | Leaf, path: str = "") -> str:
    """Where two forms differ first, in words; "" where they do not."""
    if isinstance(expected, Leaf) or isinstance(got, Leaf):
        if isinstance(expected, Leaf) and isinstance(got, Leaf) and expected.shape == got.shape:
            return ""
        return f"{path}{': ' if path else ''}expected {expected}, got {got}"
    if expected.kind is not got.kind or expected.keys != got.keys:
        return f"{path}{': ' if path else ''}expected {expected}, got {got}"
    for key, one, other in zip(expected.keys, expected.parts, got.parts, strict=True):
        result = difference(one, other, f"{path}[{key!r}]")
        if result:
            return result
    return ""


def mapped(function: Callable[..., Any], value: Any, *others: Any) -> Any:
    """What a function makes of every array, or of those in the same place of several values of one nesting."""
    if value is None:
        return None
    if is_nested(value):
        parts = zip(children(value), *map(children, others), strict=True)
        return remade(shallow_form(value), [mapped(function, *(part for _, part in some)) for some in parts])
    return function(*(array(x) if isinstance(x, list) else x for x in (value, *others)))


def reshaped(form: Form | Leaf, change: Callable[[Leaf], Leaf]) -> Form | Leaf:
    """A form with other leaves in the places of its own."""
    if isinstance(form, Leaf):
        return change(form)
    return Form(form.kind, form.keys, tuple(reshaped(part, change) for part in form.parts))


def _step(value: Any, key: Any) -> str:
    return f"[{key!r}]" if isinstance(value, Mapping) or not hasattr(value, str(key)) else f".{key}"


def _leaf(value: Any, caller: str) -> tuple[list[Any], Leaf]:
    if isinstance(value, np.ndarray) and value.ndim:
        array: Any = value
    elif isinstance(value, list):
        array = np.array(value, dtype=object)
    elif isinstance(value, (bool, int, float)) or hasattr(value, "_precedence"):
        return [value], Leaf((), is_array=False)
    elif isinstance(value, (np.generic, np.ndarray)):
        return [value.item()], Leaf((), is_array=isinstance(value, np.ndarray))
    else:
        raise TypeError(f"{caller}: expected arrays and numbers, got {value!r}")
    numbers = array.ravel().tolist()
    for number in numbers:
        if not (isinstance(number, (bool, int, float, np.ndarray, np.generic)) or hasattr(number, "_precedence")):
            raise TypeError(f"{caller}: expected arrays of numbers, got one with {number!r} in it")
    return numbers, Leaf(array.shape)
