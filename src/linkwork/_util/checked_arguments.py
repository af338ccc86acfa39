"""The decorator of public functions and classes: every error about an argument names function and argument.

``@public`` compares arguments with the annotations of the signature.  Before the call it raises only for values that
are not booleans where a bool is declared, and for integers above `MOST_COUNT`.  Other arguments are left to the
function, whose own messages have units and remedies.  If the function raises an error that does not name the argument,
or accepts the argument silently, an error that names the unsuitable argument is raised, with any original error as its
cause.  Errors of the user's own functions are not changed.  For an unknown option, the error names the most similar
option of the function.  ``@public(tolerance=non_negative, ...)`` runs checks of `validation` first.  The contents of
arrays are not checked before a call.
"""

from __future__ import annotations

import functools
import inspect
import io
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from linkwork._util.argument_errors import ABOUT_ARGUMENTS, caller_of, misfit_error, named_error
from linkwork._util.declared_kinds import STORED, AnyKind, AxesKind, declared, fits, is_quick
from linkwork._util.lazy_imports import LazyAttribute
from linkwork._util.unknown_names import unknown_option_error
from linkwork._util.validation import MOST_COUNT, Check, is_integer, optional, seed, shown
from linkwork.errors import ArgumentError, UnknownNameError

__all__ = [
    "is_bottomless",
    "public",
    "public_attribute",
    "public_constructor",
    "public_methods",
    "quick",
    "raise_named",
    "unchecked",
]

T = TypeVar("T")
_MOST_ITEMS = 1 << 22  # of an iterator that is passed as an argument
_MOST_LEVELS = 64  # of nested containers, as many as NumPy's arrays may have


class IteratorPassedError(BaseException):
    """An argument is an iterator; it is caught before the function is called."""


@typing.overload
def public(target: T, /) -> T: ...
@typing.overload
def public(**checks: Check) -> Callable[[T], T]: ...
def public(target: Any = None, /, **checks: Check) -> Any:
    """Decorate a public function, or all public methods of a class; ``checks`` has checks by argument name."""
    if target is None:
        return functools.partial(_decorated, checks=checks)
    return _decorated(target, checks)


@typing.overload
def public_constructor(target: type[T], /) -> type[T]: ...
@typing.overload
def public_constructor(**checks: Check) -> Callable[[type[T]], type[T]]: ...
def public_constructor(target: Any = None, /, **checks: Check) -> Any:
    """Decorate only the constructor of a class, for classes whose methods the library calls.

    The annotations of a dataclass declare the stored fields: a container or an object may be passed in another form.
    """

    def decorated(cls: Any) -> Any:
        def constructor(init: Any) -> Any:
            STORED.add(init)
            return _wrapped(init, checks, method=True)

        init = vars(cls).get("__init__")
        if isinstance(init, LazyAttribute):
            init.change(constructor)
        else:
            cls.__init__ = constructor(cls.__init__)
        return cls

    return decorated if target is None else decorated(target)


def raise_named(
    error: Exception,
    function: Any,
    arguments: tuple[Any, ...],
    named: Mapping[str, Any],
    method: bool = True,
    frame: types.FrameType | None = None,
) -> None:
    """Raise an error that names the function and the argument, instead of the error of a public function.

    Call it in the handler of `ABOUT_ARGUMENTS` of a public function, and raise the original error after it.  It returns
    without raising if linkwork's own code called the function, since its public caller handles the error.  It also
    returns if the error names function and argument already, or is not about an argument: see `named_error`.  ``frame``
    is the frame that called the public function; the default is the caller of the function that calls this one.
    """
    if _is_linkwork(sys._getframe(2) if frame is None else frame):
        return
    for key in [key for key, value in (*enumerate(arguments), *named.items()) if is_bottomless(value)]:
        parameters = [*inspect.signature(function).parameters]
        name = parameters[min(key, len(parameters) - 1)] if isinstance(key, int) else key
        caller = caller_of(function, arguments, method)
        raise ArgumentError(f"{caller}: {name}: expected at most 64 nested containers, got more") from None
    unknown = unknown_option_error(caller_of(function, arguments, method), function, arguments, named, error)
    if unknown is not None:
        raise unknown from None
    replacement = named_error(function, arguments, named, error, method)
    if replacement is not None:
        raise replacement from (None if isinstance(error, (ArgumentError, UnknownNameError)) else error)


def _is_linkwork(frame: types.FrameType) -> bool:
    """Return True for a frame of linkwork's own code."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] == "linkwork"


def unchecked(caller: str, argument: str, value: Any) -> Any:
    """Return any value unchanged: the check of a count of any size, or of an argument that the function checks."""
    return value


def quick(method: T) -> T:
    """Mark a method that is called in loops and checks its own arguments: `public` does not wrap it."""
    method._is_checked = True  # type: ignore[attr-defined]
    return method


def public_methods(cls: type[T], leave: Callable[[Any], bool] = lambda method: False) -> type[T]:
    """Decorate the public methods of a class and of its bases in linkwork, except those for which ``leave`` is True."""
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] == "linkwork":
            _decorate_methods(base, {}, leave)
    return cls


def public_attribute(name: str, value: Any, checks: Mapping[str, Check] | None = None) -> Any:
    """Return a class attribute's value, wrapped with checks of its arguments if it is a public method."""
    if name.startswith("_") and name not in ("__init__", "__call__"):
        return value
    if isinstance(value, (staticmethod, classmethod)):
        return type(value)(_wrapped(value.__func__, {}, method=isinstance(value, classmethod)))
    if isinstance(value, types.FunctionType) and not hasattr(value, "_is_checked"):
        return _wrapped(value, (checks or {}) if name == "__init__" else {}, method=True)
    return value


def _decorated(target: Any, checks: Mapping[str, Check]) -> Any:
    if inspect.isclass(target):
        _decorate_methods(target, checks, lambda method: False)
        return target
    return _wrapped(target, checks, method=target.__qualname__.rpartition(".")[0][-1:] not in ("", ">"))


def _decorate_methods(cls: type, checks: Mapping[str, Check], leave: Callable[[Any], bool]) -> None:
    for name, value in [*vars(cls).items()]:
        if name == "__init__" and isinstance(value, LazyAttribute):
            value.change(lambda init: _wrapped(init, checks, method=True))
            continue
        decorated = public_attribute(name, value, checks)
        if decorated is not value and not (isinstance(value, types.FunctionType) and leave(value)):
            setattr(cls, name, decorated)


def _wrapped(function: Any, checks: Mapping[str, Check], method: bool) -> Any:
    if hasattr(function, "_is_checked") and not checks:
        return function
    signature = _Signature(function, checks, method)

    @functools.wraps(function)
    def wrapped(*arguments: Any, **named: Any) -> Any:
        try:
            try:
                misfit = signature.check(arguments, named)
            except IteratorPassedError:
                arguments, named = signature.without_iterators(arguments, named)
                misfit = signature.check(arguments, named)
            result = function(*arguments, **named)
        except ABOUT_ARGUMENTS as error:
            raise_named(error, function, arguments, named, method)
            raise
        if misfit is not None:
            raise misfit
        return result

    wrapped._is_checked = True  # type: ignore[attr-defined]
    return wrapped


_Entry = tuple[str, Any, Any, frozenset[type]]  # name, default, kind, and types that need no further check


class _Signature:
    """Checks of a function's arguments before it runs, for those declared kinds that are quick to check.

    It is built at the first call, when all names in annotations are defined.
    """

    __slots__ = ("by_name", "checks", "function", "many", "method", "positional")

    def __init__(self, function: Any, checks: Mapping[str, Check], method: bool) -> None:
        self.function, self.checks, self.method = function, checks, method
        self.positional: list[_Entry | None] | None = None
        self.by_name: dict[str, _Entry] = {}
        self.many: _Entry | None = None
        if checks:
            unknown = checks.keys() - inspect.signature(function).parameters.keys()
            if unknown:
                raise TypeError(f"{function.__qualname__}: no parameter named {min(unknown)!r} to check")

    def check(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Exception | None:
        """Raise for an argument that fails its check, is not a declared boolean, or is an integer above `MOST_COUNT`.

        Return the error for any other unsuitable argument, to be raised only if the function raises no better error.
        """
        misfit: Exception | None = None
        if self.positional is None:
            self._prepare()
        assert self.positional is not None
        for entry, value in zip(self.positional, arguments):  # noqa: B905 - the call may pass fewer or more
            if entry is not None and value is not entry[1]:
                if type(value) not in entry[3]:
                    misfit = self._check_one(entry, value, arguments) or misfit
                elif type(value) is np.ndarray and value.dtype.hasobject:
                    self._require_bottom(entry[0], value, arguments)
        if self.many is not None:
            for value in arguments[len(self.positional) :]:
                if type(value) not in self.many[3]:
                    misfit = self._check_one(self.many, value, arguments) or misfit
        for name, value in named.items():
            entry = self.by_name.get(name)
            if entry is not None and value is not entry[1]:
                if type(value) not in entry[3]:
                    misfit = self._check_one(entry, value, arguments) or misfit
                elif type(value) is np.ndarray and value.dtype.hasobject:
                    self._require_bottom(name, value, arguments)
        return misfit

    def without_iterators(
        self, arguments: tuple[Any, ...], named: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments with lists instead of iterators.  Raises ArgumentError for an endless iterator."""
        listed, more, endless = _listed_iterators(arguments, named)
        for value in endless:
            bound = inspect.signature(self.function).bind(*arguments, **named).arguments
            many = (
                name
                for name, content in bound.items()
                if isinstance(content, tuple) and any(x is value for x in content)
            )
            name = next((name for name, content in bound.items() if content is value), next(many, "arguments"))
            caller = caller_of(self.function, arguments, self.method)
            raise ArgumentError(f"{caller}: {name}: expected a sequence, got an iterator without an end")
        return listed, more

    def _require_bottom(self, name: str, value: Any, arguments: tuple[Any, ...]) -> None:
        """Raise ArgumentError for a container that contains itself."""
        if is_bottomless(value):
            caller = caller_of(self.function, arguments, self.method)
            raise ArgumentError(f"{caller}: {name}: expected an array of numbers, got an array that contains itself")

    def _check_one(self, entry: _Entry, value: Any, arguments: tuple[Any, ...]) -> Exception | None:
        name, _, kind, _ = entry
        if isinstance(value, Iterator) and not isinstance(value, io.IOBase):
            raise IteratorPassedError
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            self._require_bottom(name, value, arguments)
        check = self.checks.get(name)
        if check is not None:
            check(caller_of(self.function, arguments, self.method), name, value)
        elif is_integer(value) and abs(value) > MOST_COUNT and _is_count(kind):
            caller = caller_of(self.function, arguments, self.method)
            raise ValueError(f"{caller}: {name}: expected an integer up to {MOST_COUNT}, got {shown(value)}")
        elif not fits(kind, value):
            misfit = misfit_error(caller_of(self.function, arguments, self.method), name, kind, value)
            if kind in (bool, AxesKind):
                raise misfit
            return misfit
        return None

    def _trusted_types(self, name: str, kind: Any) -> frozenset[type]:
        """Return the types whose values are always of the annotated type ``kind``; they need no further check."""
        if name in self.checks or kind is AxesKind:
            return frozenset()
        if kind is AnyKind:
            return _PLAIN_TYPES
        return (
            frozenset({bool, str, type(None)}.intersection((kind, *typing.get_args(kind))))
            if _is_flat(kind)
            else frozenset()
        )

    def _prepare(self) -> None:
        positional: list[_Entry | None] = []
        for k, (name, parameter) in enumerate(inspect.signature(self.function).parameters.items()):
            kind = declared(self.function, parameter)
            if kind is Any and name == "axes":
                kind = AxesKind
            if name in ("seed", "rng") and kind is not Any and not fits(kind, [0]):  # a single seed
                self.checks = {name: optional(seed) if fits(kind, None) else seed, **self.checks}
            if kind is Any or not is_quick(kind):
                kind = AnyKind
            entry: _Entry | None = (name, parameter.default, kind, self._trusted_types(name, kind))
            if self.method and k == 0:
                entry = None
            if parameter.kind is parameter.VAR_POSITIONAL:
                self.many = entry
            elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                positional.append(entry)
            if entry is not None and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                self.by_name[name] = entry
        self.positional = positional


_PLAIN_TYPES = frozenset(
    {float, int, bool, str, list, tuple, dict, type(None), types.FunctionType, np.ndarray, np.float64}
)


def _is_flat(kind: Any) -> bool:
    """Return True for a type without parameters, or a union of such types."""
    parts = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    return all(part is None or isinstance(part, type) for part in parts)


def _is_count(kind: Any) -> bool:
    """Return True for an annotated type that accepts integers but not floats."""
    parts = (kind, *typing.get_args(kind))
    return any(part is int for part in parts) and not any(part is float for part in parts)


def _listed_iterators(
    arguments: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any], list[Any]]:
    """Return arguments with lists instead of iterators, and the iterators that did not end."""
    endless: list[Any] = []

    def listed(value: Any) -> Any:
        if not isinstance(value, Iterator) or isinstance(value, io.IOBase):
            return value
        items = [*islice(value, _MOST_ITEMS + 1)]
        if len(items) > _MOST_ITEMS:
            endless.append(value)
        return items

    return tuple(map(listed, arguments)), {name: listed(value) for name, value in named.items()}, endless


def is_bottomless(value: Any) -> bool:
    """Return True for containers that contain themselves, or are nested more than 64 deep; on both NumPy may crash."""
    level: list[Any] = [value]
    for _ in range(_MOST_LEVELS):
        level = [*{id(item): item for container in level for item in _items(container) if _is_container(item)}.values()]
        if not level:
            return False
    return True


def _is_container(value: Any) -> bool:
    return isinstance(value, (list, tuple, Mapping)) or (isinstance(value, np.ndarray) and value.dtype.hasobject)


def _items(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype == object else ()
    return value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
