"""Nested values (pytrees): arrays and numbers in tuples, named tuples, dataclasses and dicts.

A `TreeDef` is a nested value without its numbers: its nesting, and the shape of each array.  Two values of one TreeDef
have the same numbers of elements in the same positions.  Lists are arrays, as in NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from linkwork._util.lazy_dataclass import dataclass
from linkwork.expr.arrays.symbol_array import array, object_array

__all__ = [
    "Leaf",
    "TreeDef",
    "children",
    "describe_difference",
    "flatten",
    "is_nested",
    "leaf_paths",
    "map_leaves",
    "num_elements",
    "rebuild",
    "shallow_tree_def",
    "tree_def",
    "tree_map",
    "unflatten",
]


@dataclass(frozen=True, slots=True)
class Leaf:
    """Array or number in the structure of a nested value: its shape without its elements."""

    shape: tuple[int, ...]
    is_array: bool = True  # False: a bare scalar

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __str__(self) -> str:
        return f"an array of shape {self.shape}" if self.is_array else "a number"


@dataclass(frozen=True)
class TreeDef:
    """Structure of a container (tuple, named tuple, dataclass or dict) without its values.

    ``kind`` is the container's type, ``keys`` are the names of its parts, and ``parts`` their structures.
    """

    kind: Any
    keys: tuple[Any, ...]
    parts: tuple[TreeDef | Leaf, ...]

    def leaves(self, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Leaf]]:
        """Yield (path of keys, leaf) for every leaf, in order."""
        for key, part in zip(self.keys, self.parts, strict=True):
            key_path = (*path, str(key))
            if isinstance(part, Leaf):
                yield key_path, part
            else:
                yield from part.leaves(key_path)

    def __str__(self) -> str:
        inside = ", ".join(f"{key}: {part}" for key, part in zip(self.keys, self.parts, strict=True))
        return f"{self.kind.__name__}({inside})"


def leaf_paths(form: TreeDef | Leaf) -> list[tuple[tuple[str, ...], Leaf]]:
    """Return (path of keys, leaf) for every leaf; a single leaf has the path ()."""
    return [((), form)] if isinstance(form, Leaf) else list(form.leaves())


def num_elements(form: TreeDef | Leaf) -> int:
    """Return the number of scalars in a value of this structure."""
    return sum(leaf.size for _, leaf in leaf_paths(form))


def is_nested(value: Any) -> bool:
    """Return True for a container of other values, False for an array or a number."""
    return isinstance(value, (Mapping, tuple)) or (is_dataclass(value) and not isinstance(value, type))


def children(value: Any) -> list[tuple[Any, Any]]:
    """Return the (key, value) pairs of a container."""
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, tuple):
        names = getattr(value, "_fields", None) or range(len(value))
        return list(zip(names, value, strict=True))
    return [(f.name, getattr(value, f.name)) for f in fields(value)]


def shallow_tree_def(value: Any) -> TreeDef:
    """Return the structure of a container in which every part counts as a leaf, even if it is a container itself."""
    keys = tuple(key for key, _ in children(value))
    return TreeDef(type(value), keys, (Leaf(()),) * len(keys))


def flatten(value: Any, caller: str) -> tuple[list[Any], TreeDef | Leaf]:
    """Return the scalars of a nested value (tuples, dicts, dataclasses of arrays), in order, and its structure.

    ``caller`` names the value in errors.  Raises TypeError for a part that is neither an array nor a number.
    """
    if is_nested(value):
        elements: list[Any] = []
        keys, parts = [], []
        for key, part in children(value):
            result, form = flatten(part, f"{caller}{_step(value, key)}")
            elements += result
            keys.append(key)
            parts.append(form)
        return elements, TreeDef(type(value), tuple(keys), tuple(parts))
    return _leaf(value, caller)


def tree_def(value: Any, caller: str) -> TreeDef | Leaf:
    """Return the structure of a nested value."""
    return flatten(value, caller)[1]


def unflatten(form: TreeDef | Leaf, scalars: Sequence[Any], array: Any = None) -> Any:
    """Return the nested value of structure ``form`` with these scalars; ``array``, if given, converts each array."""
    return _build(form, iter(scalars), array)


def _build(form: TreeDef | Leaf, scalars: Iterator[Any], array: Any) -> Any:
    if isinstance(form, Leaf):
        if not form.is_array:
            return next(scalars)
        result = object_array(form.shape, [next(scalars) for _ in range(form.size)])
        return result if array is None else array(result)
    parts = [_build(part, scalars, array) for part in form.parts]
    return rebuild(form, parts)


def rebuild(form: TreeDef, parts: Sequence[Any]) -> Any:
    """Return a container with the type and keys of a structure, and with these parts in it."""
    kind = form.kind
    if issubclass(kind, Mapping):
        return (kind if issubclass(kind, dict) else dict)(zip(form.keys, parts, strict=True))
    if issubclass(kind, tuple):
        return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
    whole = object.__new__(kind)  # skips checks in the constructor, which are not for symbols
    for key, part in zip(form.keys, parts, strict=True):
        object.__setattr__(whole, key, part)
    return whole


def describe_difference(expected: TreeDef | Leaf, got: TreeDef | Leaf, path: str = "") -> str:
    """Describe the first difference of two structures, or return "" if they are equal."""
    if isinstance(expected, Leaf) or isinstance(got, Leaf):
        if isinstance(expected, Leaf) and isinstance(got, Leaf) and expected.shape == got.shape:
            return ""
        return f"{path}{': ' if path else ''}expected {expected}, got {got}"
    if expected.kind is not got.kind or expected.keys != got.keys:
        return f"{path}{': ' if path else ''}expected {expected}, got {got}"
    for key, left, right in zip(expected.keys, expected.parts, got.parts, strict=True):
        result = describe_difference(left, right, f"{path}[{key!r}]")
        if result:
            return result
    return ""


def tree_map(function: Callable[..., Any], value: Any, *more_values: Any) -> Any:
    """Apply a function to every array, or to corresponding arrays of several values of one structure."""
    if value is None:
        return None
    if is_nested(value):
        parts = zip(children(value), *map(children, more_values), strict=True)
        return rebuild(
            shallow_tree_def(value), [tree_map(function, *(part for _, part in parts_of_all)) for parts_of_all in parts]
        )
    return function(*(array(x) if isinstance(x, list) else x for x in (value, *more_values)))


def map_leaves(form: TreeDef | Leaf, change: Callable[[Leaf], Leaf]) -> TreeDef | Leaf:
    """Return the structure with every leaf changed by a function."""
    if isinstance(form, Leaf):
        return change(form)
    return TreeDef(form.kind, form.keys, tuple(map_leaves(part, change) for part in form.parts))


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
    elements = array.ravel().tolist()
    for number in elements:
        if not (isinstance(number, (bool, int, float, np.ndarray, np.generic)) or hasattr(number, "_precedence")):
            raise TypeError(f"{caller}: expected arrays of numbers, got an array with the element {number!r}")
    return elements, Leaf(array.shape)
