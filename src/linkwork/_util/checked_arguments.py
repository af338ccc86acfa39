"""The decorator of public functions and classes: every error about an argument names function and argument.

``@public`` compares arguments with what the signature declares.  What is no boolean where one is declared, and integers
that nothing holds, are refused before the call.  For other kinds the function has the first word, as its own messages
have units and remedies: where it fails without naming the argument, or takes it without a word, the argument that does
not fit is named, with the original error as the cause.  Errors of the user's own functions pass as they are.
``@public(tolerance=non_negative, ...)`` runs checks of `validation` first.  Arrays are not looked into before a call.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from linkwork._util.argument_errors import ABOUT_ARGUMENTS, caller_of, misfit_error, named_error
from linkwork._util.declared_kinds import STORED, AnyKind, AxesKind, declared, fits, is_quick
from linkwork._util.validation import MOST_COUNT, Check, is_integer, optional, seed, shown
from linkwork.errors import ArgumentError, UnknownNameError

__all__ = ["public", "public_constructor", "public_methods", "quick", "raise_named", "unchecked"]

T = TypeVar("T")


@typing.overload
def public(target: T, /) -> T: ...
@typing.overload
def public(**checks: Check) -> Callable[[T], T]: ...
def public(target: Any = None, /, **checks: Check) -> Any:
    """Decorate a public function, or all public methods of a class and its constructor, which the checks are of."""
    if target is None:
        return functools.partial(_decorated, checks=checks)
    return _decorated(target, checks)


@typing.overload
def public_constructor(target: type[T], /) -> type[T]: ...
@typing.overload
def public_constructor(**checks: Check) -> Callable[[type[T]], type[T]]: ...
def public_constructor(target: Any = None, /, **checks: Check) -> Any:
    """Decorate the constructor of a class alone, where its methods are called by the library.

    The annotations of a dataclass say what is stored: containers and objects may be made of something else.
    """

    def decorated(cls: Any) -> Any:
        STORED.add(cls.__init__)
        cls.__init__ = _wrapped(cls.__init__, checks, method=True)
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
    """Raise, in the place of an error of a public function, one that names the function and the argument.

    Call it where the public function handles `ABOUT_ARGUMENTS`, and raise the error itself after it.  It does nothing
    where linkwork's own code called the function, whose public caller handles the error; where the error names both;
    and where it is about something else: see `named_error`.  ``frame`` is the frame that called the public function, by
    default the caller of the function that calls this one.
    """
    if _is_linkwork(sys._getframe(2) if frame is None else frame):
        return
    replacement = named_error(function, arguments, named, error, method)
    if replacement is not None:
        raise replacement from (None if isinstance(error, (ArgumentError, UnknownNameError)) else error)


def _is_linkwork(frame: types.FrameType) -> bool:
    """Return True for a frame of linkwork's own code."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] == "linkwork"


def unchecked(caller: str, argument: str, value: Any) -> Any:
    """Pass a value on as a check that refuses nothing: for counts of any size, or where a function has better words."""
    return value


def quick(method: T) -> T:
    """Decorate a method that is called in loops and looks at its arguments itself: it stays as it is."""
    method._is_checked = True  # type: ignore[attr-defined]
    return method


def public_methods(cls: type[T], leave: Callable[[Any], bool] = lambda method: False) -> type[T]:
    """Decorate the public methods of a class and of its bases in linkwork, but for those to ``leave``."""
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] == "linkwork":
            _decorate_methods(base, {}, leave)
    return cls


def _decorated(target: Any, checks: Mapping[str, Check]) -> Any:
    if inspect.isclass(target):
        _decorate_methods(target, checks, lambda method: False)
        return target
    return _wrapped(target, checks, method=target.__qualname__.rpartition(".")[0][-1:] not in ("", ">"))


def _decorate_methods(cls: type, checks: Mapping[str, Check], leave: Callable[[Any], bool]) -> None:
    for key, value in [*vars(cls).items()]:
        if key.startswith("_") and key not in ("__init__", "__call__"):
            continue
        if isinstance(value, (staticmethod, classmethod)):
            made: Any = type(value)(_wrapped(value.__func__, {}, method=isinstance(value, classmethod)))
        elif isinstance(value, types.FunctionType) and not leave(value) and not hasattr(value, "_is_checked"):
            made = _wrapped(value, checks if key == "__init__" else {}, method=True)
        else:
            continue
        setattr(cls, key, made)


def _wrapped(function: Any, checks: Mapping[str, Check], method: bool) -> Any:
    if hasattr(function, "_is_checked") and not checks:
        return function
    signature = _Signature(function, checks, method)

    @functools.wraps(function)
    def wrapped(*arguments: Any, **named: Any) -> Any:
        try:
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


_Entry = tuple[str, Any, Any, frozenset[type]]  # name, default, kind, and types that are of it without another look


class _Signature:
    """Checks of a function's arguments before it runs, against the declared kinds that are quick to look at.

    It is made at the first call, when all names that annotations use are there.
    """

    __slots__ = ("by_name", "checks", "function", "many", "method", "places")

    def __init__(self, function: Any, checks: Mapping[str, Check], method: bool) -> None:
        self.function, self.checks, self.method = function, checks, method
        self.places: list[_Entry | None] | None = None
        self.by_name: dict[str, _Entry] = {}
        self.many: _Entry | None = None
        if checks:
            unknown = checks.keys() - inspect.signature(function).parameters.keys()
            if unknown:
                raise TypeError(f"{function.__qualname__}: no parameter named {min(unknown)!r} to check")

    def check(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Exception | None:
        """Raise for an argument that a check refuses, for what is no boolean where one is declared, and for sizes that
        nothing holds.  Return the error for another that is not of its kind: the function has better words, if any.
        """
        misfit: Exception | None = None
        if self.places is None:
            self._prepare()
        assert self.places is not None
        for entry, value in zip(self.places, arguments):  # noqa: B905 - there may be fewer, or more
            if entry is not None and type(value) not in entry[3] and value is not entry[1]:
                misfit = self._look(entry, value, arguments) or misfit
        if self.many is not None:
            for value in arguments[len(self.places) :]:
                misfit = self._look(self.many, value, arguments) or misfit
        for name, value in named.items():
            entry = self.by_name.get(name)
            if entry is not None and type(value) not in entry[3] and value is not entry[1]:
                misfit = self._look(entry, value, arguments) or misfit
        return misfit

    def _look(self, entry: _Entry, value: Any, arguments: tuple[Any, ...]) -> Exception | None:
        name, _, kind, _ = entry
        check = self.checks.get(name)
        if check is not None:
            check(caller_of(self.function, arguments, self.method), name, value)
        elif is_integer(value) and abs(value) > MOST_COUNT and _counts(kind):
            caller = caller_of(self.function, arguments, self.method)
            raise ValueError(f"{caller}: {name}: expected an integer up to {MOST_COUNT}, got {shown(value)}")
        elif not fits(kind, value):
            misfit = misfit_error(caller_of(self.function, arguments, self.method), name, kind, value)
            if kind in (bool, AxesKind):
                raise misfit
            return misfit
        return None

    def _known(self, name: str, kind: Any) -> frozenset[type]:
        """Return the types whose values are of a kind, whatever they are."""
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
        places: list[_Entry | None] = []
        for k, (name, parameter) in enumerate(inspect.signature(self.function).parameters.items()):
            kind = declared(self.function, parameter)
            if kind is Any and name == "axes":
                kind = AxesKind
            if name in ("seed", "rng") and kind is not Any and not fits(kind, [0.0]):  # no configuration
                self.checks = {name: optional(seed) if fits(kind, None) else seed, **self.checks}
            if kind is Any or not is_quick(kind):
                kind = AnyKind
            entry: _Entry | None = (name, parameter.default, kind, self._known(name, kind))
            if self.method and k == 0:
                entry = None
            if parameter.kind is parameter.VAR_POSITIONAL:
                self.many = entry
            elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                places.append(entry)
            if entry is not None and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                self.by_name[name] = entry
        self.places = places


_PLAIN_TYPES = frozenset(
    {float, int, bool, str, list, tuple, dict, type(None), types.FunctionType, np.ndarray, np.float64}
)


def _is_flat(kind: Any) -> bool:
    """Return True for types and unions of them, without parameters."""
    parts = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    return all(part is None or isinstance(part, type) for part in parts)


def _counts(kind: Any) -> bool:
    """Return True for integers alone."""
    parts = (kind, *typing.get_args(kind))
    return any(part is int for part in parts) and not any(part is float for part in parts)
