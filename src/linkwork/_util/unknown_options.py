"""Errors of calls with an option that a function does not have, which name the option that it has."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from linkwork._util.foreign_names import (
    FUNCTION_REMEDIES,
    MISSING_REMEDIES,
    OPTIONS,
    POSITIONAL_REMEDIES,
    Table,
    by_foreign_name,
    own_name,
)
from linkwork._util.messages import close_names, listed, nearest
from linkwork.errors import UnknownNameError

__all__ = ["foreign_hint", "option_hint", "unknown_option_error"]

_UNEXPECTED = re.compile(r"(?P<function>.+)\(\) got an unexpected keyword argument '(?P<option>\w+)'")
_FOREIGN = by_foreign_name(OPTIONS)


def option_hint(caller: str, name: str, known: Iterable[str]) -> str:
    """Return the remedy for an unknown option: the function's option for it, or the nearest name."""
    known = list(known)
    return _advice(caller, name, known) or nearest(name, known)


def foreign_hint(name: object, tables: Iterable[Table], known: Collection[str]) -> str:
    """Return the known name that the tables have for a name of another library, or "" if there is none."""
    if not isinstance(name, str):
        return ""
    keys = [own_name(key) for table in tables for key, names in table.items() if name in names]
    equivalents = dict.fromkeys(repr(key) for key in keys if key in known)
    return f"use {' or '.join(equivalents)}" if equivalents else ""


def unknown_option_error(
    caller: str, function: Any, arguments: tuple[Any, ...], named: Mapping[str, Any], error: Exception
) -> Exception | None:
    """Return the error for a call with an unknown option, too many arguments or too few, or None for any other error.

    Call it only after the call has failed: it compares the call with the signature.
    """
    parameters = inspect.signature(function).parameters
    by_name = [name for name, p in parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    unknown = [name for name in named if name not in by_name]
    passed = [*parameters][: len(arguments)]
    free = [name for name in by_name if name not in passed]
    kinds = {p.kind for p in parameters.values()}
    positional = [p for p in parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [*positional[len(arguments) :], *(p for p in parameters.values() if p.kind is p.KEYWORD_ONLY)]
    missing = [p.name for p in required if p.default is p.empty and p.name not in named]
    is_short = missing and not unknown and len(arguments) <= len(positional)
    if is_short and isinstance(error, TypeError):
        return _without_arguments(caller, missing, arguments)
    if inspect.Parameter.VAR_KEYWORD in kinds:
        return _forwarded(caller, free, unknown, error)
    if not isinstance(error, TypeError):
        return None
    if unknown:
        return _no_option(caller, unknown[0], free)
    if len(arguments) <= len(positional) or inspect.Parameter.VAR_POSITIONAL in kinds:
        return None
    implied = 1 if positional and positional[0].name in ("self", "cls") else 0
    options = [name for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY and name not in named]
    names = by_name[implied:]
    remedy = f"there are {listed(names)}" if names else "it has no arguments"
    if options:
        remedy = f"pass these by name: {listed(options)}"
    expected, got = len(positional) - implied, len(arguments) - implied
    most = f"at most {expected}" if expected else "no"
    count = f"expected {most} positional argument{'' if expected == 1 else 's'}, got {got}"
    return TypeError(f"{caller}: {count}; {POSITIONAL_REMEDIES.get(caller.rpartition('.')[2], remedy)}")


def _without_arguments(caller: str, missing: list[str], arguments: tuple[Any, ...]) -> TypeError:
    """Return the error for a call without required arguments, with the frames of the robot if a frame is missing."""
    remedies = MISSING_REMEDIES.get(caller.rpartition(".")[2], {})
    remedy = next((remedies[name] for name in missing if name in remedies), "")
    frames = getattr(arguments[0], "frames", None) if arguments and "frame" in missing else None
    if frames:
        remedy = f"{remedy and f'{remedy}; '}the robot's frames are {listed([*frames])}"
    values = "a value" if len(missing) == 1 else "values"
    return TypeError(f"{caller}: {', '.join(missing)}: expected {values}, got none{remedy and f'; {remedy}'}")


def _forwarded(caller: str, options: list[str], unknown: list[str], error: Exception) -> Exception | None:
    """Return the error for an unknown option of a function that passes its further options on."""
    if isinstance(error, UnknownNameError):
        name = str(error.name)
        remedy = (_advice(caller, name, options) or _similar(name, options)) if name in unknown else ""
        if not remedy or error.remedy:
            return None
        remedy = f"{nearest(name, error.known)}; for an option of the function {remedy}"
        return UnknownNameError(error.kind, name, error.known, remedy, error.where or caller)
    unexpected = _UNEXPECTED.match(str(error)) if isinstance(error, TypeError) else None
    if unexpected is None or unexpected["option"] not in unknown:
        return None
    below = _public_function(error, unexpected["function"])
    if below is None:
        return None  # the user's function has no such option
    known = [name for name, p in inspect.signature(below).parameters.items() if p.kind is p.KEYWORD_ONLY]
    return _no_option(caller, unexpected["option"], [*options, *known])


def _public_function(error: Exception, name: str) -> types.FunctionType | None:
    """Return the public function with this name that an error's traceback contains; None if there is none."""
    traceback = error.__traceback__
    while traceback is not None:
        frame, traceback = traceback.tb_frame, traceback.tb_next
        function = frame.f_locals.get("function")
        is_wrapper = frame.f_globals.get("__name__") == f"{__package__}.checked_arguments"
        if is_wrapper and isinstance(function, types.FunctionType) and function.__qualname__ == name:
            return function
    return None


def _no_option(caller: str, name: str, known: list[str]) -> TypeError:
    options = [key for key in dict.fromkeys(known) if key not in ("self", "cls")]
    if not options:
        return TypeError(f"{caller}: no option named {name!r}; it has no further options")
    return TypeError(f"{caller}: no option named {name!r}; {option_hint(caller, name, options)}")


def _advice(caller: str, name: str, known: list[str]) -> str:
    """Return the advice for an option of another library, or "" if none applies."""
    remedy = FUNCTION_REMEDIES.get(caller.rpartition(".")[2], {}).get(name, "")
    keys = [key for key in _FOREIGN.get(name, ()) if own_name(key) in known]
    if keys and not remedy:
        return f"use {' or '.join(dict.fromkeys(map(own_name, keys))) if len(keys) > 1 else keys[0]}"
    return remedy


def _similar(name: str, known: list[str]) -> str:
    return nearest(name, known) if close_names(name, known) else ""
