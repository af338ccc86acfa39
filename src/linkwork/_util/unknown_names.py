"""Search for the argument that contains an unknown name, to add it to an error raised by an inner function."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from linkwork._util.declared_kinds import declared, fits
from linkwork._util.messages import without_inner_functions
from linkwork.errors import UnknownNameError

__all__ = ["unknown_name_error"]

_NUMERIC = (bool, int, float, np.number)
_SEVERAL = 10_000  # maximum number of items of an argument that are compared with the name
_DEEPEST = 3  # maximum depth of nested containers and objects that are searched

# Rank of an argument by where the name occurs in its value; the smallest rank is the most likely.
_ITSELF, _ITEM, _USED_UP, _NESTED, _WITHIN_TEXT, _NOT_FOUND = 0, 1, 2, 3, 6, 20
_AS_NUMBERS = 10  # added for arguments that are arrays of numbers, which contain no names

_Value = tuple[str, inspect.Parameter, Any]
_Same = Callable[[Any, object], bool]


def unknown_name_error(
    error: UnknownNameError, function: Any, caller: str, values: Sequence[_Value]
) -> UnknownNameError | None:
    """Return the error with the names of the caller and of the argument that contains the unknown name.

    Returns None if the error has both already.
    """
    begin, _, path = error.where.partition(": ")
    inner = path if begin == caller else error.where
    direct = without_inner_functions(inner, [key for key, _, _ in values], error.__traceback__)
    result = None if direct == inner else error.at(f"{caller}: {direct}")
    begin, path = (begin, path) if result is None else (caller, direct)
    argument = path.partition("[")[0]
    if begin == caller and any(argument == name for name, _, _ in values):
        return result
    passed = [entry for entry in values if entry[2] is not entry[1].default]
    name = _argument_of(error.name, function, passed)
    if name:
        return error.at(f"{caller}: {name}")
    if begin == caller:
        return result
    return error.at(f"{caller}: {error.where}" if error.where else caller)


def _argument_of(name: object, function: Any, passed: Sequence[_Value]) -> str:
    """Return the argument whose value most likely contains the name, or "" if several are equally likely."""
    kinds = {key: declared(function, parameter) for key, parameter, _ in passed}
    for same in (_is_identical, _is_of_type, _is_equal):
        ranks = [(_rank(name, same, kinds[key], value), fits(kinds[key], value), key) for key, _, value in passed]
        rank, _, key = min(ranks, key=lambda x: x[:2], default=(_NOT_FOUND, True, ""))  # a misfit first
        if rank < _NOT_FOUND:
            return key
    misfits = [key for key, _, value in passed if not fits(kinds[key], value)]
    candidates = misfits or [key for key, _, _ in passed]
    return candidates[0] if len(candidates) == 1 else ""


def _rank(name: object, same: _Same, kind: Any, value: Any) -> int:
    rank = _depth(name, same, value, _DEEPEST)
    numeric = not isinstance(name, str) and kind is not Any and fits(kind, 0.5) and fits(kind, np.ones(2))
    return min(rank + (_AS_NUMBERS if numeric else 0), _NOT_FOUND)


def _depth(name: object, same: _Same, value: Any, levels: int) -> int:
    """Return a rank of how directly a value contains a name: the lower, the more directly.

    The value may be the name itself, contain it as text or as an item, or contain it in nested objects, of which
    ``levels`` levels are searched.
    """
    if same(value, name):
        return _ITSELF
    if isinstance(value, str):
        within = same is _is_equal and isinstance(name, str) and bool(name) and name in value  # as in "zero:elbow"
        return _WITHIN_TEXT if within else _NOT_FOUND
    if isinstance(value, types.GeneratorType):
        return _USED_UP  # its items are consumed; one of them may be the name
    if isinstance(value, np.ndarray):
        items = [*(value[:_SEVERAL] if value.ndim else ()), *value.ravel()[:_SEVERAL]]
        return _ITEM if any(same(x, name) for x in items) else _NOT_FOUND
    if not levels:
        return _NOT_FOUND
    items, nested = _items(name, value)
    if any(same(x, name) for x in items):
        return _ITEM
    inner = min((_depth(name, same, x, levels - 1) for x in (*items, *nested)), default=_NOT_FOUND)
    return min(inner + _NESTED, _NOT_FOUND)


def _items(name: object, value: Any) -> tuple[list[Any], list[Any]]:
    """Return the items of a container, which may be names, and nested objects, which may contain names."""
    if isinstance(value, Mapping):
        return [*value][:_SEVERAL], [*value.values()][:_SEVERAL]
    if isinstance(value, (list, tuple, set, frozenset, bytes)):
        return [*value][:_SEVERAL], []
    ours = type(value).__module__.partition(".")[0] == "linkwork"
    if isinstance(name, str) and ours and hasattr(value, "__dict__"):
        return [], [*vars(value).values()]
    return [], []


def _is_identical(x: Any, name: object) -> bool:
    return x is name


def _is_of_type(x: Any, name: object) -> bool:
    return type(x) is type(name) and _is_equal(x, name)


def _is_equal(x: Any, name: object) -> bool:
    try:
        if isinstance(name, str):
            return not isinstance(x, np.ndarray) and str(x)[: len(name) + 1] == name
        if isinstance(x, _NUMERIC) and isinstance(name, _NUMERIC):
            return bool(x == name) or bool(x != x and name != name)
        return type(x) is type(name) and repr(x) == repr(name)
    except Exception:  # repr or comparison of the object raises
        return False
