"""The kinds of arguments that signatures declare: which values are of a kind, and its name in messages."""

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

from linkwork._util.validation import as_numbers, is_integer, is_real, is_symbol

__all__ = ["STORED", "AnyKind", "AxesKind", "declared", "fits", "is_meaningless", "is_quick", "said"]

STORED: set[Any] = set()  # constructors whose annotations are of what is stored
_SPATIAL = "linkwork.spatial"  # values that are made of lists of numbers, too


class _Numbers:
    """An array of numbers, or anything that NumPy makes one of."""


_ALIASES: dict[str, Any] = {
    "ArrayLike": _Numbers,
    "Scalars": _Numbers,
    "Array": _Numbers | Mapping,
    "np.ndarray": _Numbers,
}


class _Names(dict):  # type: ignore[type-arg]
    """The names that an annotation is evaluated with: what is not known at run time may be anything."""

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
    """Whatever the function looks at itself, but for what is never meant: bytes are no numbers."""


class AxesKind:
    """Axes of Matplotlib, or several of them."""


class _Something:
    """Anything but nonsense: no NaN, bytes, complex number or module."""


def _scalar_alone(kind: Any) -> Any:
    """Return a kind, with `_Something` for containers and objects."""
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        parts = [_scalar_alone(part) for part in typing.get_args(kind)]
        return _Something if _Something in parts else kind
    plain = kind in (*_WORDS, None) and kind is not collections.abc.Mapping
    plain = plain or typing.get_origin(kind) in (typing.Literal, collections.abc.Callable)
    return kind if plain else _Something


def declared(function: Any, parameter: inspect.Parameter) -> Any:
    """Return the kind that a function's signature declares for a parameter: Any where that is not known."""
    if isinstance(function, type):
        function = vars(function).get("__init__", function.__init__)  # type: ignore[misc]
    if parameter.annotation is parameter.empty:
        return Any
    try:
        return _kind_of(inspect.unwrap(function), parameter.annotation)
    except (TypeError, AttributeError):
        return Any


def fits(kind: Any, value: Any) -> bool:
    """Return False where a value is certainly not of the declared kind."""
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
    if kind in (_Numbers, np.ndarray):
        return _is_array(value)
    if kind is AnyKind:
        return not isinstance(value, (bytearray, memoryview, types.ModuleType)) and not _is_bytes(value)
    if kind is AxesKind:
        several = value.ravel().tolist() if isinstance(value, np.ndarray) else value
        return value is None or all(hasattr(x, "plot") for x in (several if _is_list(several) else (several,)))
    if kind is _Something:
        return not _is_nonsense(value)
    if kind is np.random.Generator:
        return isinstance(value, np.random.Generator)
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
    if isinstance(value, Mapping):  # its keys are meant
        return origin is collections.abc.Iterable and (not parts or all(fits(parts[0], key) for key in value))
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        return False
    if not isinstance(value, (Sequence, collections.abc.Set, np.ndarray)):
        return origin is collections.abc.Iterable
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return False
    return not parts or all(fits(parts[0], item) for item in value)


def is_quick(kind: Any) -> bool:
    """Return True for a kind that is told by a look: no arrays, no protocols, and not anything."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return all(map(is_quick, parts))
    if origin in (collections.abc.Iterable, collections.abc.Sequence, tuple, list):
        return all(part is Ellipsis or part is str or is_quick(part) for part in parts)
    if origin in (typing.Literal, collections.abc.Callable, collections.abc.Mapping, dict, os.PathLike):
        return True
    if kind in _WORDS or kind in (os.PathLike, dict):
        return kind is not _Numbers
    return False  # classes: other objects may be taken for theirs


def _is_array(value: Any) -> bool:
    """Return True for numbers without NaN; symbols among them are numbers."""
    if isinstance(value, bool):
        return True
    if isinstance(value, (list, tuple)):
        result = as_numbers(value)
        if result is None:
            return _has_symbols(value)
    else:
        result = as_numbers(value)
        if result is None:
            return isinstance(value, np.ndarray) and value.dtype == object and _has_symbols(value.ravel().tolist())
    return not np.isnan(result).any()


def _has_symbols(values: Any) -> bool:
    return any(is_symbol(x) or (isinstance(x, (list, tuple)) and _has_symbols(x)) for x in values)


def is_meaningless(value: Any) -> bool:
    """Return True for what no function takes as an argument whose kind is not declared."""
    if isinstance(value, np.ndarray):
        if isinstance(value, (np.matrix, np.ma.MaskedArray)) or value.dtype.kind in "USMmVSc":
            return True
        return value.dtype.kind == "O" and not _has_symbols(value.ravel().tolist())
    if isinstance(value, float):
        return value != value
    return (
        isinstance(value, (bytes, complex, set, slice, types.ModuleType, types.GeneratorType, type(...)))
        or type(value) is object
        or (isinstance(value, (list, tuple)) and as_numbers(value) is None and _is_ragged(value))
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


def said(kind: Any) -> str:
    """Return a declared kind in words."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(said(part) for part in parts))
    if origin is typing.Literal:
        return f"one of {', '.join(map(repr, parts))}"
    if origin in (collections.abc.Iterable, collections.abc.Sequence, tuple, list):
        inner = [said(part) for part in parts if part is not Ellipsis]
        return f"a sequence ({', '.join(dict.fromkeys(inner))}{', ...' if Ellipsis in parts else ''})"
    if origin is collections.abc.Callable:
        return "a function"
    if origin in (collections.abc.Mapping, dict):
        return "a dict"
    if kind in _WORDS:
        return _WORDS[kind]
    if origin is os.PathLike or kind is os.PathLike:
        return "a path"
    return f"an object of type {getattr(kind, '__name__', str(kind))}"


_WORDS: dict[Any, str] = {
    None: "None",
    type(None): "None",
    bool: "True or False",
    int: "an integer",
    float: "a number",
    str: "a string",
    bytes: "bytes",
    _Numbers: "an array of numbers",
    AxesKind: "axes of Matplotlib",
    AnyKind: "numbers, or another value as its documentation says",
    _Something: "a value as its documentation says, without NaN",
    collections.abc.Callable: "a function",
    collections.abc.Mapping: "a dict",
}
