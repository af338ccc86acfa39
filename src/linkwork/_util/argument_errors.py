"""Errors that name the public function and the argument, and replace errors that do not."""

from __future__ import annotations

import dis
import inspect
import math
import re
import types
import typing
from collections.abc import Callable, Mapping
from functools import partial
from operator import eq
from typing import Any

import numpy as np

from linkwork._util.declared_kinds import declared, fits, is_meaningless, kind_text
from linkwork._util.messages import did_you_mean, without_inner_functions
from linkwork._util.unknown_names import unknown_name_error
from linkwork._util.user_frames import is_library
from linkwork._util.validation import MOST_COUNT, is_integer, is_real, shown
from linkwork.errors import ArgumentError, UnknownNameError

__all__ = ["ABOUT_ARGUMENTS", "caller_of", "misfit_error", "named_error"]

ABOUT_ARGUMENTS = (
    *(TypeError, ValueError, AttributeError, LookupError, ArithmeticError, AssertionError, MemoryError, RecursionError),
)
_KNOWN = ("builtins", "linkwork", "numpy")  # packages that define the usual types of arguments
_OBJECT = re.compile(r"(?!expected )[a-zA-Z ]+ '[^']*'")  # beginning of a message about an object: joint 'elbow'
_GOT = re.compile(r"got (shape|one|none|no|an?|numbers|something|nothing)\b|got [(\[\d]")  # actual values
_EXPECTED = re.compile(r"((?:'[^']*': )?expected .*?)[,;] got ", re.DOTALL)
_LOCATION = re.compile(r"[A-Za-z_][\w.]*(\[[^\]]*\])*: ")  # beginning of a message that names an object or argument
_HUGE = 1e100  # numbers whose products overflow
_SEVERAL = 10_000  # items of an argument that are searched for a name
_USERS_LINE = ("\n    in ", "\n    at ")  # text before the user's line, as tracing adds it to errors
_Value = tuple[str, inspect.Parameter, Any]

_IN_SPACE = {"add_collection3d", "auto_scale_xyz", "get_zlim", "get_zlim3d", "view_init", "zaxis", "set_zlim", "azim"}
_AXES_IN_SPACE = "a robot is drawn in axes in space: pyplot.subplots(subplot_kw={'projection': '3d'}) returns such axes"


def misfit_error(caller: str, name: str, kind: Any, value: Any) -> Exception:
    """Return the error for an argument ``value`` that is not of its annotated type ``kind``."""
    numeric = any(part is int or part is float for part in (kind, *typing.get_args(kind)))
    number = numeric and (isinstance(value, (float, np.floating)) or is_integer(value))
    near = "; frames=robot.frames shows all of them" if name == "frames" and value is True else ""
    if typing.get_origin(kind) is typing.Literal and isinstance(value, str):
        hint = did_you_mean(value, [x for x in typing.get_args(kind) if isinstance(x, str)])
        number, near = True, f"; {hint}" if hint else ""
    return (ValueError if number else ArgumentError)(
        f"{caller}: {name}: expected {kind_text(kind)}, got {shown(value)}{near}"
    )


def caller_of(function: Any, arguments: tuple[Any, ...], method: bool) -> str:
    """Return a function's name as messages show it: methods of Robot without the class, constructors as the class."""
    if not method:
        return str(function.__name__)
    owner = arguments[0] if arguments else None
    cls = owner if isinstance(owner, type) else type(owner)
    if function.__name__ in ("__init__", "__call__"):
        return cls.__name__
    if cls.__name__ == "Robot":
        return str(function.__name__)
    return f"{cls.__name__}.{function.__name__}"


def named_error(
    function: Any, arguments: tuple[Any, ...], named: Mapping[str, Any], error: Exception, method: bool
) -> Exception | None:
    """Return an error with the names of function and argument, to raise in place of the error that a function raised.

    Returns None if the error names function and argument already, or if its class is public and has its own message (a
    singular matrix).  None is also returned for errors in a user's function, and for errors in the form of the call.
    """
    below = error.__traceback__.tb_next if error.__traceback__ else None
    code = getattr(inspect.unwrap(function), "__code__", None)
    inner = below.tb_next if below is not None and below.tb_frame.f_code is code else below
    if _is_of_user(inner):
        return None
    try:
        bound = inspect.signature(function).bind(*arguments, **named)
    except TypeError:
        return None  # Python's own error names what is missing
    caller, text, is_deep = caller_of(function, arguments, method), str(error), _is_deep(below, code)
    values = _values(bound, method)
    passed = [entry for entry in values if entry[2] is not entry[1].default]
    if isinstance(error, UnknownNameError):
        return unknown_name_error(error, function, caller, values)
    if type(error).__module__ == ArgumentError.__module__ and type(error) is not ArgumentError:
        return None  # public error classes have their own messages
    if any(where in text for where in _USERS_LINE):
        return None  # the error is about a user's function, and names its line
    if is_deep and isinstance(error, KeyError) and not any(_concerns(value, error) for _, _, value in passed):
        return None  # a table of linkwork's own lacks the key
    is_plain = isinstance(error, (TypeError, ValueError, IndexError)) and not is_deep
    is_direct = False
    if is_plain:
        detail = _without_caller(text, caller)
        texts = [value for _, _, value in passed]
        direct = without_inner_functions(detail, [*bound.signature.parameters], error.__traceback__, texts)
        is_direct = direct != detail
        text = direct if is_direct else text
    if is_plain and any(_names_argument(text, name) for name, _, _ in values):
        return (
            None if _names_caller(text, caller) else _again(type(error), f"{caller}: {_without_caller(text, caller)}")
        )
    result = _of_a_kind(function, caller, values, error, _without_caller(text, caller) if is_plain else "")
    if result is not None:
        return result
    detail = _without_caller(text, caller)
    owner = caller.rpartition(".")[0]
    if is_plain and owner and text.startswith(f"{owner}: "):
        return _again(type(error), f"{caller}: {detail}")
    if is_plain and _OBJECT.match(detail):  # the error is about the object whose method was called
        if _names_caller(text, caller):
            return None
        if detail != text:
            return _again(type(error), f"{caller}: {detail}")
    head, located, remaining = text.partition(": ") if is_plain and _LOCATION.match(text) else ("", "", text)
    objects = [name for name, _, value in passed if type(value).__name__ == head]
    if len(objects) == 1:  # the error is about what the object contains
        return _again(type(error), f"{caller}: {objects[0]}: {remaining}")
    culprit = _culprit(passed, text, is_plain) or _passed_on(passed, text, below)
    if culprit is not None:
        name, value = culprit
        kind = ArgumentError if isinstance(error, TypeError) else ValueError
        if is_plain:
            return _again(type(error), f"{caller}: {name}: {_without_caller(text, caller)}")
        if text == f"{type(value).__name__!r} object is not iterable":
            return kind(f"{caller}: {name}: expected a sequence, got {shown(value)}")
        return kind(f"{caller}: {name}: expected another value, got {shown(value)}; {text[:300]}")
    if is_plain and _names_caller(text, caller):
        return None
    if is_plain and _OBJECT.match(text):
        return _again(type(error), f"{caller}: {text}")
    if is_plain or (is_deep and not isinstance(error, (AssertionError, AttributeError, ZeroDivisionError))):
        kind = ArgumentError if isinstance(error, TypeError) else ValueError
        if not passed or located or is_direct:
            return kind(f"{caller}: {f'{passed[0][0]}: ' if located and len(passed) == 1 else ''}{text[:300]}")
        listed = ", ".join(f"{name} {_summary(value)}" for name, _, value in passed)
        return kind(f"{caller}: these arguments do not fit together: {listed}: {text[:300]}")
    return None


def _of_a_kind(function: Any, caller: str, values: list[_Value], error: Exception, text: str) -> Exception | None:
    """Return the error for the first argument that is not of its annotated type; None if all arguments are.

    ``text``, the message of an error that linkwork itself raised, is appended.
    """
    for name, parameter, value in values:
        kind = declared(function, parameter)
        if value is not parameter.default and not fits(kind, value):
            misfit = misfit_error(caller, name, kind, value)
            union = typing.get_origin(kind) in (typing.Union, types.UnionType)
            own_text = None if union else _EXPECTED.match(text)
            if own_text and f"got {shown(value)}" in text:
                return type(misfit)(f"{caller}: {name}: {text}")  # the function knows what it expects
            if own_text and f"got {_begin_of(value)}" in " ".join(text.split()):
                return type(misfit)(f"{caller}: {name}: {own_text[1]}, got {shown(value)}")
            text = text.replace(f", got {shown(value)}", "")
            return type(misfit)(f"{misfit}; {text}") if text else misfit
    for name, _, value in values:
        if isinstance(error, AttributeError) and error.obj is value:
            expected = (
                f"expected an object with the attribute {error.name!r}, got {shown(value)}; "
                f"{_AXES_IN_SPACE if error.name in _IN_SPACE else 'see its documentation'}"
            )
            return ArgumentError(f"{caller}: {name}: {expected}")
        if isinstance(error, KeyError) and error.args == (name,):
            return ArgumentError(f"{caller}: {name}: expected another value, got {shown(value)}; see its documentation")
    for name, parameter, value in values:
        if value is not parameter.default and is_meaningless(value):
            more = text or "see its documentation"
            return TypeError(f"{caller}: {name}: expected another kind of value, got {shown(value)}; {more}")
    return None


def _concerns(value: Any, error: KeyError) -> bool:
    """Return True if a missing key equals an argument or an element of it, or if a mapping may lack the key."""
    if isinstance(value, Mapping) or type(value).__module__.partition(".")[0] not in _KNOWN:
        return True
    parts = (value, *value[:_SEVERAL]) if isinstance(value, (list, tuple)) else (value,)
    return any(part is key or _matches(partial(eq, key), part) for key in error.args for part in parts)


def _culprit(passed: list[_Value], text: str, is_plain: bool) -> tuple[str, Any] | None:
    """Return the argument that caused an error whose message names no argument, or None if several are possible.

    The argument is the only one passed, the one whose value the message shows, or the one whose type Python's error
    names.
    """
    is_of_it = not is_plain or "expected" not in text or _GOT.search(text) is not None
    if len(passed) == 1 and is_of_it:  # not about a missing value, or one computed from it
        return passed[0][0], passed[0][2]
    flat, types_said = " ".join(text.split()), set(re.findall(r"(?:'|can only concatenate )([\w.]+)", text))
    looks: list[Callable[[Any], object]] = [
        lambda value: f"got {shown(value)}" in flat or f"got {_begin_of(value)}" in flat,
        lambda value: isinstance(value, np.ndarray) and _shows_shape(value, flat),
        lambda value: isinstance(value, (list, tuple)) and _shows_shape(value, flat),
        lambda value: "got None" in flat and isinstance(value, (list, tuple)) and any(x is None for x in value),
        lambda value: is_real(value) and (" got shape ()" in flat or " got ()" in flat),
        lambda value: "not finite" in flat and isinstance(value, (int, float)) and not math.isfinite(value),
        lambda value: not is_plain and is_integer(value) and abs(value) > MOST_COUNT,
        lambda value: not is_plain and isinstance(value, float) and math.isfinite(value) and abs(value) > _HUGE,
        lambda value: not is_plain and type(value).__name__ in types_said,
        lambda value: not is_plain and _calls_of(value, flat),
        lambda value: not is_plain and _has_item_of(value, types_said),
        lambda value: not is_plain and (len(shown(value)) > 2 or value == "") and shown(value) in flat,
        lambda value: not is_plain and " arra" in flat and isinstance(value, np.ndarray),
        lambda value: not is_plain and type(value).__module__.partition(".")[0] not in _KNOWN,
        lambda value: not is_plain and callable(value) and not isinstance(value, types.FunctionType),
    ]
    for look in looks:
        named = [(name, value) for name, _, value in passed if _matches(look, value)]
        if len({name for name, _ in named}) == 1:
            return named[0]
    return None


def _matches(look: Callable[[Any], object], value: Any) -> bool:
    try:
        return bool(look(value))
    except Exception:  # of an object whose comparisons or length raise
        return False


def _passed_on(passed: list[_Value], text: str, traceback: types.TracebackType | None) -> tuple[str, Any] | None:
    """Return the argument that the message names as a parameter of the inner function that received it, or None."""
    result: dict[str, Any] = {}
    while traceback is not None:
        frame, traceback = traceback.tb_frame, traceback.tb_next
        code, variables = frame.f_code, frame.f_locals
        for below in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            if below in variables and re.search(rf"(?:^|: ){re.escape(below)}: expected", text):
                result |= {name: value for name, _, value in passed if value is variables[below]}
    return next(iter(result.items())) if len(result) == 1 else None


def _shows_shape(value: Any, text: str) -> bool:
    return re.search(rf"got (shape )?{re.escape(str(np.shape(value)))}", text) is not None


def _calls_of(value: Any, text: str) -> bool:
    """Return True if the error message ``text`` reports wrong arguments in a call of the function ``value``."""
    name = getattr(value, "__qualname__", None)
    if not (isinstance(name, str) and callable(value) and f"{name}()" in text):
        return False
    parameters = inspect.signature(value).parameters
    missing = re.findall(r"'(\w+)'", text) if "missing" in text else []
    counted = re.search(r"takes (\d+) positional", text)
    return all(x in parameters for x in missing) and (counted is None or int(counted[1]) == len(parameters))


def _has_item_of(value: Any, types_said: set[str]) -> bool:
    return isinstance(value, (list, tuple)) and any(type(x).__name__ in types_said for x in value[:_SEVERAL])


def _begin_of(value: Any) -> str:
    """Return the first characters of a value's repr, on one line, as a message with the whole repr shows them."""
    try:
        return " ".join(repr(value).split())[:40]
    except Exception:
        return shown(value)


def _without_caller(text: str, caller: str) -> str:
    owner, _, short = caller.rpartition(".")
    for name in (caller, short, owner, _in_words(short)):
        if name and text.startswith(f"{name}: "):
            return text[len(name) + 2 :]
    return text


def _is_of_user(traceback: types.TracebackType | None) -> bool:
    """Return True for an error in a user's function; False for operators of arguments and other libraries."""
    while traceback is not None:
        frame, traceback = traceback.tb_frame, traceback.tb_next
        file, function = frame.f_code.co_filename, frame.f_code.co_name
        operator = function.startswith("__") and function not in ("__call__", "__init__")
        if not (is_library(frame) or operator or file.startswith("<") or "site-packages" in file):
            return True
    return False


def _again(kind: type[Exception], text: str) -> Exception:
    if kind is ArgumentError:
        return ArgumentError(text)
    return next(base for base in (TypeError, ValueError, IndexError) if issubclass(kind, base))(text)


def _names_caller(text: str, caller: str) -> bool:
    """Return True if a message begins with the function's name, or with a constructor's class in lower-case words."""
    head = text.partition(": expected")[0] if ": expected" in text else text.rpartition(": ")[0] or text
    short = caller.rpartition(".")[2]
    return _has_word(head, short) or _has_word(head, _in_words(short))


def _in_words(name: str) -> str:
    """Return the name of a class in lower-case words: "height field"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def _has_word(text: str, word: str) -> bool:
    return bool(word) and re.search(rf"(?<![A-Za-z0-9_]){re.escape(word)}(?![A-Za-z0-9_])", text) is not None


def _names_argument(text: str, name: str) -> bool:
    """Return True if a message names an argument, as in ``step: expected``, ``q[3] is`` or ``lower and upper``.

    The same word in an English sentence, as in ``expected a function of time``, does not count.
    """
    word = rf"(?<![A-Za-z0-9_.]){re.escape(name)}"
    if name in _ENGLISH:
        return re.search(rf"{word}(\[|( \[[^\]]*\])*(:|=))", text) is not None
    return re.search(rf"(?<!\ba )(?<!\ban )(?<!\bthe )(?<!\bno )(?<!expected ){word}(?![A-Za-z0-9_])", text) is not None


_ENGLISH = frozenset(
    (
        *("a", "at", "by", "first", "function", "in", "kind", "least", "most", "name", "names", "of"),
        *("on", "other", "others", "second", "shape", "text", "to", "type", "value"),
    )
)


def _is_deep(traceback: types.TracebackType | None, entry: Any) -> bool:
    """Return True for an error that Python or a library raised, and not linkwork itself."""
    if traceback is None:
        return True
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    code, at = traceback.tb_frame.f_code, traceback.tb_lasti
    if code is not entry and traceback.tb_frame.f_globals.get("__name__", "").partition(".")[0] != "linkwork":
        return True
    op = dis.opname[code.co_code[at]] if 0 <= at < len(code.co_code) else ""
    return not op.startswith(("RAISE", "RERAISE"))


def _values(bound: inspect.BoundArguments, method: bool) -> list[tuple[str, inspect.Parameter, Any]]:
    """Return the name, parameter and value of each argument."""
    result = []
    for k, (name, value) in enumerate(bound.arguments.items()):
        parameter = bound.signature.parameters[name]
        if method and k == 0:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            result += [(name, parameter, x) for x in value]
        elif parameter.kind is parameter.VAR_KEYWORD:
            result += [(key, parameter, x) for key, x in value.items()]
        else:
            result.append((name, parameter, value))
    return result


def _summary(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"of shape {value.shape}"
    return f"= {shown(value)}" if isinstance(value, (int, float, str, type(None))) else f"({type(value).__name__})"
