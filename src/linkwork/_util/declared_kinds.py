"""The kinds of arguments that signatures declare: the values of a kind, and the text of a kind in messages."""

from __future__ import annotations

import builtins
import collections.abc
import functools
import inspect
import os
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from linkwork._util.validation import as_float_array, class_text, is_integer, is_masked, is_real, is_symbol

__all__ = ["STORED", "AnyKind", "AxesKind", "declared", "fits", "is_meaningless", "is_quick", "kind_text"]

STORED: set[Any] = set()  # constructors whose annotations declare the stored fields
_SPATIAL = "linkwork.spatial"  # its values can also be passed as lists of numbers


class _ArrayKind:
    """An array of numbers, or any value that NumPy converts to one."""


_ALIASES: dict[str, Any] = {
    "ArrayLike": _ArrayKind,
    "Scalars": _ArrayKind,
    "Array": _ArrayKind | Mapping,
    "np.ndarray": _ArrayKind,
}


class _Names(dict):  # type: ignore[type-arg]
    """Namespace in which annotations are evaluated; names that do not exist at run time become Any."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        super().__init__()
        self.known = known

    def __missing__(self, key: str) -> Any:
        if key in _ALIASES:
            return _ALIASES[key]
        if key in self.known:
            return self.known[key]
        return getattr(builtins, key, Any)


@functools.cache
def _kind_of(function: Any, annotation: Any) -> Any:
    for _ in range(2):
        if not isinstance(annotation, str):
            break
        try:
            annotation = eval(annotation, {"__builtins__": {}}, _Names(function.__globals__))
        except Exception:
            return Any
    return _scalar_alone(annotation) if function in STORED else annotation


class AnyKind:
    """Any value that the function checks itself, except bytes and modules, which are never valid."""


class AxesKind:
    """Matplotlib axes, or a sequence of them."""


class _AnyValue:
    """Any value except NaN, bytes, complex numbers and modules."""


def _scalar_alone(kind: Any) -> Any:
    """Return a kind of scalars, strings, literals or functions unchanged, and `_AnyValue` for other kinds.

    Other kinds are those of containers and objects.
    """
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        parts = [_scalar_alone(part) for part in typing.get_args(kind)]
        return _AnyValue if _AnyValue in parts else kind
    plain = kind in (*_WORDS, None) and kind is not collections.abc.Mapping
    plain = plain or typing.get_origin(kind) in (typing.Literal, collections.abc.Callable)
    return kind if plain else _AnyValue


def declared(function: Any, parameter: inspect.Parameter) -> Any:
    """Return the type that a function's annotation declares for a parameter, or Any if it is unknown.

    Aliases of array types are replaced by the kinds of this module.
    """
    if isinstance(function, type):
        function = function.__init__  # type: ignore[misc]
    if parameter.annotation is parameter.empty:
        return Any
    try:
        return _kind_of(inspect.unwrap(function), parameter.annotation)
    except (TypeError, AttributeError):
        return Any


def fits(kind: Any, value: Any) -> bool:
    """Return False if a value is certainly not of the type that an annotation declares, else True."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any or isinstance(kind, (TypeVar, str)) or getattr(kind, "__module__", "").startswith(_SPATIAL):
        return True
    if origin in (typing.Union, types.UnionType):
        return any(fits(part, value) for part in parts)
    if origin is typing.Literal:
        return isinstance(value, (str, bool, int, type(None))) and value in parts
    if kind is None or kind is type(None):
        return value is None
    if is_symbol(value):
        return True
    if kind is bool:
        return isinstance(value, (bool, np.bool_))
    if kind is int:
        return is_integer(value) and abs(int(value)) < 2**63
    if kind is float:
        return is_real(value)
    if kind in (_ArrayKind, np.ndarray):
        return _is_array(value)
    if kind is AnyKind:
        return not isinstance(value, (bytearray, memoryview, types.ModuleType)) and not _is_bytes(value)
    if kind is AxesKind:
        several = value.ravel().tolist() if isinstance(value, np.ndarray) else value
        return value is None or all(hasattr(x, "plot") for x in (several if _is_list(several) else (several,)))
    if kind is _AnyValue:
        return not _is_nonsense(value)
    if origin is collections.abc.Callable or kind is collections.abc.Callable:
        return callable(value)
    if origin in (collections.abc.Mapping, dict) or kind in (collections.abc.Mapping, dict):
        return isinstance(value, Mapping) and (not parts or all(fits(parts[0], key) for key in value))
    if origin is os.PathLike or kind is os.PathLike:
        return isinstance(value, os.PathLike)
    if origin is type or origin in (collections.abc.Iterable, collections.abc.Sequence, tuple, list):
        return _fits_items(origin, parts, value)
    if isinstance(kind, type):
        if getattr(kind, "_is_protocol", False):
            return True
        return isinstance(value, kind)
    return True


def _fits_items(origin: Any, parts: tuple[Any, ...], value: Any) -> bool:
    if isinstance(value, Mapping):  # its keys are the items
        return origin is collections.abc.Iterable and (not parts or all(fits(parts[0], key) for key in value))
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        return False
    if not isinstance(value, (Sequence, collections.abc.Set, np.ndarray)):
        return origin is collections.abc.Iterable
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return False
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and not np.isnan(value).any():
        value = value[:1]  # the other items are alike
    return not parts or all(fits(parts[0], item) for item in value)


def is_quick(kind: Any) -> bool:
    """Return True if a value can be checked quickly against a declared type: no arrays, no classes, not Any."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return all(map(is_quick, parts))
    if origin in (collections.abc.Iterable, collections.abc.Sequence, tuple, list):
        return all(part is Ellipsis or part is str or is_quick(part) for part in parts)
    if origin in (typing.Literal, collections.abc.Callable, collections.abc.Mapping, dict, os.PathLike):
        return True
    if kind in _WORDS or kind in (os.PathLike, dict):
        return kind is not _ArrayKind
    return False  # classes: objects of other classes may be accepted for them


def _is_array(value: Any) -> bool:
    """Return True for an array of numbers without NaN; symbols count as numbers."""
    if isinstance(value, bool):
        return True
    if isinstance(value, (list, tuple)):
        result = as_float_array(value)
        if result is None:
            return _has_symbols(value)
    else:
        result = as_float_array(value)
        if result is None:
            return isinstance(value, np.ndarray) and value.dtype == object and _has_symbols(value.ravel().tolist())
    return not np.isnan(result).any()


def _has_symbols(values: Any) -> bool:
    return any(is_symbol(x) or (isinstance(x, (list, tuple)) and _has_symbols(x)) for x in values)


def is_meaningless(value: Any) -> bool:
    """Return True for a value that no argument without a declared type accepts, such as NaN, bytes or a module."""
    if isinstance(value, np.ndarray):
        if isinstance(value, np.matrix) or is_masked(value) or value.dtype.kind in "USMmVSc":
            return True
        return value.dtype.kind == "O" and not _has_symbols(value.ravel().tolist())
    if isinstance(value, float):
        return value != value
    return (
        isinstance(value, (bytes, complex, set, slice, types.ModuleType, types.GeneratorType, type(...)))
        or type(value) is object
        or (isinstance(value, (list, tuple)) and as_float_array(value) is None and _is_ragged(value))
    )


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _is_bytes(value: Any) -> bool:
    return isinstance(value, bytes) or (isinstance(value, np.ndarray) and value.dtype.kind == "S")


def _is_nonsense(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "SMmVc" or (value.dtype.kind == "f" and bool(np.isnan(value).any()))
    if isinstance(value, (float, np.floating)):
        return bool(value != value)
    return isinstance(value, (bytes, complex, slice, types.ModuleType, type(...)))


def _is_ragged(value: Sequence[Any]) -> bool:
    if not all(isinstance(x, (list, tuple)) and all(map(is_real, x)) for x in value):
        return False
    return len({len(x) for x in value}) > 1


def kind_text(kind: Any) -> str:
    """Return the words that describe a declared type in error messages, such as "a sequence of strings"."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(kind_text(part) for part in parts))
    if origin is typing.Literal:
        return f"one of {', '.join(map(repr, parts))}"
    if origin in (collections.abc.Iterable, collections.abc.Sequence, tuple, list):
        inner = [*dict.fromkeys(kind_text(part) for part in parts if part is not Ellipsis)]
        if inner == ["a string"]:
            return "a sequence of strings, such as ['a', 'b']"
        return f"a sequence ({', '.join(inner)}{', ...' if Ellipsis in parts else ''})"
    if origin is collections.abc.Callable:
        return "a function"
    if origin in (collections.abc.Mapping, dict):
        return "a dict"
    if kind in _WORDS:
        return _WORDS[kind]
    if origin is os.PathLike or kind is os.PathLike:
        return "a path"
    return class_text(kind)


_WORDS: dict[Any, str] = {
    None: "None",
    type(None): "None",
    bool: "True or False",
    int: "an integer",
    float: "a number",
    str: "a string",
    bytes: "bytes",
    _ArrayKind: "an array of numbers",
    AxesKind: "Matplotlib axes",
    AnyKind: "numbers, or another value that its documentation lists",
    _AnyValue: "one of the kinds of value that its documentation lists, without NaN",
    collections.abc.Callable: "a function",
    collections.abc.Mapping: "a dict",
}
