"""Errors for unknown names and options: they state the argument that contains the name, or the similar option.

An inner function's error about a name is extended by the public function and the argument that contains the name.
"""

from __future__ import annotations

import inspect
import itertools
import re
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from linkwork._util.declared_kinds import declared, fits
from linkwork._util.foreign_names import (
    FUNCTION_REMEDIES,
    MISSING_REMEDIES,
    OPTIONS,
    POSITIONAL_REMEDIES,
    Table,
    by_foreign_name,
    own_name,
)
from linkwork._util.messages import close_names, listed, nearest, without_inner_functions
from linkwork._util.validation import shown
from linkwork.errors import UnknownNameError

__all__ = ["foreign_hint", "option_hint", "unknown_name_error", "unknown_option_error"]

_UNEXPECTED = re.compile(r"(?P<function>.+)\(\) got an unexpected keyword argument '(?P<option>\w+)'")
_FOREIGN = by_foreign_name(OPTIONS)
_OF_DEGREES = ("degrees", "deg", "in_degrees", "use_degrees")  # options of functions of angles elsewhere


def option_hint(caller: str, name: str, known: Iterable[str]) -> str:
    """Return the remedy for an unknown option: the function's equivalent option, or the nearest name."""
    known = list(known)
    return _advice(caller, name, known) or nearest(name, known)


def foreign_hint(name: object, tables: Iterable[Table], known: Collection[str]) -> str:
    """Return the known name that is equivalent to a name of another library, by the tables; "" if there is none."""
    if not isinstance(name, str):
        return ""
    keys = [own_name(key) for table in tables for key, names in table.items() if name in names]
    equivalents = dict.fromkeys(repr(key) for key in keys if key in known)
    return f"use {' or '.join(equivalents)}" if equivalents else ""


def unknown_option_error(
    caller: str, function: Any, arguments: tuple[Any, ...], named: Mapping[str, Any], error: Exception
) -> Exception | None:
    """Return the error for a call with an unknown option, or with too many or too few arguments; None for other errors.

    Call it only after the call has failed: it compares the call with the signature.
    """
    parameters = inspect.signature(function).parameters
    by_name = [name for name, p in parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    unknown = [name for name in named if name not in by_name]
    passed = [*parameters][: len(arguments)]
    free = [name for name in by_name if name not in passed]
    by_position = itertools.takewhile(lambda p: p.kind is p.POSITIONAL_OR_KEYWORD, parameters.values())
    twice = [k for k, p in enumerate(itertools.islice(by_position, len(arguments))) if p.name in named]
    if twice and isinstance(error, TypeError):
        name, value = passed[twice[0]], arguments[twice[0]]
        if name in ("self", "cls"):
            return _no_option(caller, name, free)
        remedy = "; pass its items by name: **dict" if isinstance(value, Mapping) else ""
        return TypeError(
            f"{caller}: {name}: expected one value, got {shown(value)} and {name}={shown(named[name])}{remedy}"
        )
    kinds = {p.kind for p in parameters.values()}
    positional = [p for p in parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [*positional[len(arguments) :], *(p for p in parameters.values() if p.kind is p.KEYWORD_ONLY)]
    missing = [p.name for p in required if p.default is p.empty and p.name not in named]
    is_short = missing and not unknown and len(arguments) <= len(positional)
    if is_short and isinstance(error, TypeError):
        return _without_arguments(caller, missing, arguments)
    is_surplus = len(arguments) > len(positional) and inspect.Parameter.VAR_POSITIONAL not in kinds
    if inspect.Parameter.VAR_KEYWORD in kinds and not is_surplus:
        return _forwarded(caller, free, unknown, error)
    if not isinstance(error, TypeError):
        return None
    if unknown and not (is_surplus and inspect.Parameter.VAR_KEYWORD in kinds):
        joints = getattr(arguments[0], "joints", ()) if arguments else ()
        if free and isinstance(joints, tuple) and any(getattr(joint, "name", "") == unknown[0] for joint in joints):
            value, owner = shown(named[unknown[0]]), next(x for x in by_name if x not in ("self", "cls"))
            remedy = f"values of joints are in a dict, such as {owner}={{{unknown[0]!r}: {value}}}"
            return TypeError(f"{caller}: no option named {unknown[0]!r}; {remedy}")
        return _no_option(caller, unknown[0], free)
    if not is_surplus:
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
    frames = getattr(arguments[0], "frames", None) if arguments and {"frame", "at"} & {*missing} else None
    if frames:
        remedy = f"{remedy and f'{remedy}; '}the robot's frames are {listed([*frames])}"
    values = "a value" if len(missing) == 1 else "values"
    return TypeError(f"{caller}: {', '.join(missing)}: expected {values}, got none{remedy and f'; {remedy}'}")


def _forwarded(caller: str, options: list[str], unknown: list[str], error: Exception) -> Exception | None:
    """Return the error for an unknown option of a function that forwards its options to another one, or None."""
    if isinstance(error, UnknownNameError):
        name = str(error.name)
        if name not in unknown or error.remedy:
            return None
        remedy = FUNCTION_REMEDIES.get(caller.rpartition(".")[2], {}).get(name, "")
        if not remedy:
            option = _advice(caller, name, options) or _similar(name, options)
            if not option:
                return None
            remedy = f"for an option of the function {option}"
        remedy = f"{nearest(name, error.known)}; {remedy}"
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
    remedy = option_hint(caller, name, options) if options else _advice(caller, name, []) or "it has no further options"
    return TypeError(f"{caller}: no option named {name!r}; {remedy}")


def _advice(caller: str, name: str, known: list[str]) -> str:
    """Return the advice for an option that another library has under this name, or "" if there is none."""
    remedy = FUNCTION_REMEDIES.get(caller.rpartition(".")[2], {}).get(name, "")
    keys = [key for key in _FOREIGN.get(name, ()) if own_name(key) in known]
    if keys:
        return f"use {' or '.join(dict.fromkeys(map(own_name, keys))) if len(keys) > 1 else keys[0]}"
    return remedy or ("angles are in rad: numpy.radians(90)" if name in _OF_DEGREES else "")


def _similar(name: str, known: list[str]) -> str:
    return nearest(name, known) if close_names(name, known) else ""


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

    Returns None if the error already has both names.
    """
    begin, _, path = error.where.partition(": ")
    inner = path if begin == caller else error.where
    direct = without_inner_functions(inner, [key for key, _, _ in values], error.__traceback__, [x for *_, x in values])
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
    """Return two lists of the members of a container: items that may be names, and objects that may contain names."""
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
