"""The decorator of public functions and classes: every error about an argument names function and argument.

``@public`` compares arguments with what the signature declares.  What is no boolean where one is declared, and integers
that nothing holds, are refused before the call.  For other kinds the function has the first word, as its own messages
have units and remedies: where it fails without naming the argument, or takes it without a word, the argument that does
not fit is named, with the original error as the cause.  Errors of the user's own functions pass as they are.
``@public(tolerance=non_negative, ...)`` runs checks of `_validation` first.  Arrays are not looked into before a call.
"""

from __future__ import annotations

import dis
import functools
import inspect
import os
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from ._declared_kinds import STORED, AnyKind, AxesKind, declared, fits, is_meaningless, is_quick, said
from ._text import nearest
from ._validation import MOST_COUNT, Check, is_integer, shown
from .errors import ArgumentError

__all__ = ["public", "public_constructor", "public_methods", "quick", "unchecked"]

T = TypeVar("T")

_USERS_LINE = ("\n    in ", "\n    at ")  # before the line, as traces of functions add it to errors
_ABOUT_ARGUMENTS = (
    *(TypeError, ValueError, AttributeError, LookupError, ArithmeticError, AssertionError, MemoryError, RecursionError),
)


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
        except _ABOUT_ARGUMENTS as error:
            told = _told(function, arguments, named, error, method)
            if told is None:
                raise
            raise told from (None if isinstance(error, ArgumentError) else error)
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
            check(_caller(self.function, arguments, self.method), name, value)
        elif name == "seed" and isinstance(value, _GENERATORS):
            return None  # as NumPy takes them
        elif is_integer(value) and abs(value) > MOST_COUNT and name != "seed" and _counts(kind):
            caller = _caller(self.function, arguments, self.method)
            raise ValueError(f"{caller}: {name}: expected an integer up to {MOST_COUNT}, got {shown(value)}")
        elif not fits(kind, value):
            misfit = _misfit(_caller(self.function, arguments, self.method), name, kind, value)
            if kind is bool or kind is AxesKind:
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
            elif kind is Any or not is_quick(kind):
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


_GENERATORS = (np.random.Generator, np.random.SeedSequence, np.random.BitGenerator)
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


def _misfit(caller: str, name: str, kind: Any, value: Any) -> Exception:
    """Return the error for a value that is not of its kind."""
    numeric = any(part is int or part is float for part in (kind, *typing.get_args(kind)))
    number = numeric and (isinstance(value, (float, np.floating)) or is_integer(value))
    near = ""
    if typing.get_origin(kind) is typing.Literal and isinstance(value, str):
        hint = nearest(value, [x for x in typing.get_args(kind) if isinstance(x, str)])
        number, near = True, f"; {hint}" if hint.startswith("did") else ""
    return (ValueError if number else ArgumentError)(
        f"{caller}: {name}: expected {said(kind)}, got {shown(value)}{near}"
    )


def _caller(function: Any, arguments: tuple[Any, ...], method: bool) -> str:
    """Return what messages call a function: methods of robots by their name alone, constructors by their class."""
    if not method:
        return str(function.__name__)
    owner = arguments[0] if arguments else None
    cls = owner if isinstance(owner, type) else type(owner)
    if function.__name__ in ("__init__", "__call__"):
        return cls.__name__
    if cls.__name__ == "Robot":
        return str(function.__name__)
    return f"{cls.__name__}.{function.__name__}"


def _told(
    function: Any, arguments: tuple[Any, ...], named: Mapping[str, Any], error: Exception, method: bool
) -> Exception | None:
    """Return the error to raise instead, or None where this one says what it is about."""
    if sys._getframe(2).f_globals.get("__name__", "").partition(".")[0] == "linkwork":
        return None  # the public function that the user called looks at it
    below = error.__traceback__.tb_next if error.__traceback__ else None
    own = getattr(inspect.unwrap(function), "__code__", None)
    inner = below.tb_next if below is not None and below.tb_frame.f_code is own else below
    if _is_of_user(inner):
        return None
    try:
        bound = inspect.signature(function).bind(*arguments, **named)
    except TypeError:
        return None  # Python's own error names what is missing or unexpected
    if (
        isinstance(error, (TypeError, ValueError, LookupError))
        and type(error) not in _PLAIN
        and not _is_deep(below, own)
    ):
        return None  # errors of linkwork's own classes have their own texts
    caller, text = _caller(function, arguments, method), str(error)
    if any(where in text for where in _USERS_LINE):
        return None  # it is about what a function of the user's does, and names its line
    plain = isinstance(error, (TypeError, ValueError, IndexError)) and not _is_deep(below, own)
    values = _values(function, bound, method)
    if plain and any(_has_word(text, name) for name, _, _ in values):
        return None if _names_caller(text, caller) else _again(type(error), f"{caller}: {text}")
    for name, parameter, value in values:
        if value is parameter.default:
            continue
        wanted = declared(function, parameter)
        if not fits(wanted, value):
            misfit = _misfit(caller, name, wanted, value)
            return type(misfit)(f"{misfit}; {text}") if plain else misfit
    for name, _, value in values:
        if isinstance(error, AttributeError) and error.obj is value:
            text = f"expected an object with the attribute {error.name!r}, got {shown(value)}; see its documentation"
            return ArgumentError(f"{caller}: {name}: {text}")
        if isinstance(error, KeyError) and error.args == (name,):
            return ArgumentError(f"{caller}: {name}: expected another value, got {shown(value)}; see its documentation")
    for name, parameter, value in values:
        if value is not parameter.default and is_meaningless(value):
            return TypeError(
                f"{caller}: {name}: expected another kind of value, got {shown(value)}; see its documentation"
            )
    if plain and _names_caller(text, caller):
        return None
    if plain or (_is_deep(below, own) and not isinstance(error, (AssertionError, AttributeError, ZeroDivisionError))):
        given = ", ".join(f"{name} {_summary(value)}" for name, p, value in values if value is not p.default)
        kind = ArgumentError if isinstance(error, TypeError) else ValueError
        return kind(f"{caller}: these arguments do not fit together: {given or 'none'}: {text[:300]}")
    return None


def _is_of_user(traceback: types.TracebackType | None) -> bool:
    """Return True for an error from a function of the user's: no operator of an argument, no other library."""
    while traceback is not None:
        frame, traceback = traceback.tb_frame, traceback.tb_next
        file, function = frame.f_code.co_filename, frame.f_code.co_name
        library = frame.f_globals.get("__name__", "").partition(".")[0] in ("linkwork", "numpy")
        operator = function.startswith("__") and function not in ("__call__", "__init__")
        if not (library or operator or file.startswith((_STANDARD, "<")) or "site-packages" in file):
            return True
    return False


_STANDARD = os.path.join(os.path.dirname(os.__file__), "")
_PLAIN = (ArgumentError, TypeError, ValueError, KeyError, IndexError, LookupError)


def _again(kind: type[Exception], text: str) -> Exception:
    if kind is ArgumentError:
        return ArgumentError(text)
    return next(base for base in (TypeError, ValueError, IndexError) if issubclass(kind, base))(text)


def _names_caller(text: str, caller: str) -> bool:
    """Return True where a text begins with the function, or with an object by its own name: joint 'elbow'."""
    short = caller.rpartition(".")[2]
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", short).lower()
    return any(_has_word(text, x) for x in (short, spaced, caller.partition(".")[0])) or bool(
        re.match(r"[a-zA-Z ]+ (of )?'[^']*'", text)
    )


def _has_word(text: str, word: str) -> bool:
    return bool(word) and re.search(rf"(?<![A-Za-z0-9_]){re.escape(word)}(?![A-Za-z0-9_])", text) is not None


def _is_deep(traceback: types.TracebackType | None, own: Any) -> bool:
    """Return True for an error that linkwork did not raise itself."""
    if traceback is None:
        return True
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    code, at = traceback.tb_frame.f_code, traceback.tb_lasti
    if code is not own and traceback.tb_frame.f_globals.get("__name__", "").partition(".")[0] != "linkwork":
        return True
    op = dis.opname[code.co_code[at]] if 0 <= at < len(code.co_code) else ""
    return not op.startswith(("RAISE", "RERAISE"))


def _values(function: Any, bound: inspect.BoundArguments, method: bool) -> list[tuple[str, inspect.Parameter, Any]]:
    """Return the arguments one by one: name, parameter and value."""
    found = []
    for k, (name, value) in enumerate(bound.arguments.items()):
        parameter = bound.signature.parameters[name]
        if method and k == 0:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            found += [(name, parameter, x) for x in value]
        elif parameter.kind is parameter.VAR_KEYWORD:
            found += [(key, parameter, x) for key, x in value.items()]
        else:
            found.append((name, parameter, value))
    return found


def _summary(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"of shape {value.shape}"
    return f"= {shown(value)}" if isinstance(value, (int, float, str, type(None))) else f"({type(value).__name__})"
