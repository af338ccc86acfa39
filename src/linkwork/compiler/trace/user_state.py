"""Values that users' functions read: if one has changed since a kernel's trace, the kernel is traced again or warns.

From the functions that a call passes, all users' code is reached that these functions name: functions, methods,
classes, modules and objects.  The variables are closures, defaults, globals, and attributes of modules, classes and
objects that this code names.  Numbers, texts, arrays and containers of these are compared by value.  Everything else,
such as objects of installed packages, and large arrays and containers, is compared by identity.  Computed names
(``getattr``, ``globals()``), environment and context variables, and weak references are not followed.

The code of a single call counts the kernel's calls.  Variables are compared at calls 1, 2, 4, 8 and so on, later at
every 65 536th call, so the time of frequent calls hardly changes.
"""

from __future__ import annotations

import sys
import warnings
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import cache, partial, partialmethod, singledispatchmethod
from types import FunctionType, MappingProxyType, MethodType, ModuleType, SimpleNamespace
from typing import Any
from weakref import ref

import numpy as np

from linkwork._util.own_code import is_of_user, is_own, is_proved
from linkwork._util.user_frames import globals_in, levels_up, names_in, source_of
from linkwork.compiler.cache.function_content import TRACE_CONTENT, UnknownContentError, attributes_of
from linkwork.errors import TraceWarning

__all__ = [
    "CALLABLES",
    "UserState",
    "VariableWatch",
    "cells_of",
    "counted",
    "function_state",
    "functions_of",
    "parts_of",
    "readers_in",
    "user_state",
]

_LARGE = 10_000  # elements of all containers together, a tenth of them for the number of an array: then by identity
_DEEPEST = 8  # levels of containers in containers
_WRAPPED = (
    "dispatcher",
    "__func__",
    "func",
    "__wrapped__",
    "pyfunc",
    "fget",
    "args",
    "keywords",
    "__self__",
)  # parts of callables
_CACHED_FUNCTION = type(cache(len))
CALLABLES = (
    *(MethodType, partial, partialmethod, singledispatchmethod, staticmethod, classmethod, property),
    *(np.vectorize, _CACHED_FUNCTION),
)
_CONTAINERS = (tuple, list, set, frozenset, deque, Mapping)
_PLAIN = (bool, int, str, bytes, type(None), type(...), range)
_DATA = (*_PLAIN, float, complex, bytearray, array, np.generic, np.ndarray, np.dtype)
_DATA_CLASSES = frozenset(_DATA)  # a class is found in it sooner than by `isinstance`


UserState = dict[str, list[object]]


def user_state(value: Any) -> UserState | None:
    """Return the current variables that users' functions and objects in a value read; None if it contains none.

    States are compared by ``==``.
    """
    code = _code_in([value])
    return _ReachedCode(code).parts if code else None


def function_state(function: Any) -> UserState | None:
    """Return the current variables that a call of a function reads; None if the function calls no users' code."""
    return _ReachedCode([function]).parts if _code_in([function]) else None


def _code_in(values: Iterable[Any]) -> list[Any]:
    """Return functions and objects of users in values, each object with its methods: linkwork may call all of them."""
    return [x for reader in readers_in(values) for x in (reader, *_methods_of(reader))]


def _methods_of(reader: Any) -> list[Any]:
    if isinstance(reader, (FunctionType, *CALLABLES)):
        return []
    return functions_of(reader if isinstance(reader, type) else type(reader))


def readers_in(values: Iterable[Any], known: dict[type, str] | None = None) -> Iterator[Any]:
    """Yield functions and objects of users in values; objects of linkwork are searched, too, but not yielded.

    ``known`` has the results of `_owner` for classes that the search has already visited.
    """
    remaining, visited = list(values)[::-1], set[int]()
    owners = {} if known is None else known
    alive = []  # temporary objects, whose ids must not be used again
    while remaining:
        value = remaining.pop()
        kind = type(value)
        if kind in _DATA_CLASSES or isinstance(value, _DATA) or id(value) in visited:
            continue
        visited.add(id(value))
        alive.append(value)
        if isinstance(value, (FunctionType, type)):
            if is_of_user(value):
                yield value
            remaining += cells_of(value)
        elif isinstance(value, CALLABLES):
            yield from [value] if next(readers_in(parts_of(value), owners), None) is not None else []
        elif kind in (tuple, list, set, frozenset, dict, MappingProxyType):
            remaining += parts_of(value)[::-1]
        else:
            owner = owners.get(kind)
            if owner is None:
                owner = owners[kind] = _owner(kind)
            if owner == "user":
                yield value
            elif owner == "linkwork" and not _is_without_code(value, owners):
                remaining += _content_of(value)[::-1]


def _owner(kind: type) -> str:
    """Return the author of a class: "user", "linkwork" or "other"."""
    return "user" if is_of_user(kind) else "linkwork" if is_own(kind) else "other"


def _content_of(value: Any) -> list[Any]:
    """Return the content of a linkwork object on which traces depend."""
    hook = getattr(value, TRACE_CONTENT, None)
    if hook is None:
        return [x for _, x in attributes_of(value)]
    try:
        return [hook()]
    except UnknownContentError:  # a kernel: its trace exists
        return []


def _is_without_code(value: Any, owners: dict[type, str]) -> bool:
    """Return True for an object that never changes and contains no code of users."""
    if not (hasattr(value, TRACE_CONTENT) or getattr(type(value), "_stores_content", False)):
        return False
    known = _looked_through.get(id(value))
    if known is None or known[0]() is not value:
        has_code = next(readers_in(_content_of(value), owners), None) is not None
        known = _looked_through[id(value)] = ref(value, partial(_looked_through.pop, id(value))), not has_code
    return known[1]


_looked_through: dict[int, tuple[ref[Any], bool]] = {}  # by id: objects that never change, and if they have no code


class _ReachedCode:
    """Users' code that is reachable from functions and objects, and its variables."""

    def __init__(self, values: Iterable[Any]) -> None:
        self.parts: UserState = {}  # by the name of a variable in the code
        self._names: dict[str, None] = {}  # that the code refers to, in order
        self._owners: list[tuple[str, Any]] = []  # modules, classes and objects whose attributes it may name
        self._visited: dict[int, Any] = {}
        self._room = _LARGE  # elements of containers
        for value in values:
            self._follow([(getattr(value, "__name__", type(value).__name__), value)])
        examined = 0, 0  # owners and names of which all pairs have been looked up
        while examined != (size := (len(self._owners), len(self._names))):
            names = list(self._names)
            for k, (whole, owner) in enumerate(self._owners[: size[0]]):
                for name in names[examined[1] if k < examined[0] else 0 :]:
                    for value in _attribute(owner, name):
                        self._follow([(f"{whole}.{name}", value)])
            examined = size

    def _follow(self, variables: list[tuple[str, Any]]) -> None:
        """Record the values of variables, and add the code that they contain."""
        remaining = variables[::-1]
        while remaining:
            name, value = remaining.pop()
            parts = self.parts.setdefault(name, [])
            if isinstance(value, _DATA):
                parts.append(self._content(value))
                continue
            if id(value) in self._visited:
                parts.append(_Same(value))
                continue
            self._visited[id(value)] = value
            if isinstance(value, FunctionType) and is_of_user(value):
                parts.append(value.__code__)
                remaining += self._variables(name, value)[::-1]
            elif isinstance(value, CALLABLES):
                remaining += [(_bound_name(name, value), part) for part in parts_of(value)][::-1]
            elif isinstance(value, FunctionType):
                parts.append(_Same(value))
                remaining += [(name, cell) for cell in cells_of(value)][::-1]
            elif isinstance(value, ModuleType):
                parts.append(_Same(value))
                if not is_proved(value):
                    self._owners.append((name, value))
            elif isinstance(value, Enum):
                parts.append(_Same(value))
            elif isinstance(value, SimpleNamespace) or is_of_user(value if isinstance(value, type) else type(value)):
                parts.append(_Same(value if isinstance(value, type) else type(value)))
                self._owners.append((name, value))
                if id(type(value)) not in self._visited:
                    self._visited[id(type(value))] = type(value)
                    self._owners.append((name, type(value)))
                if not isinstance(value, type) and hasattr(type(value), "__getattr__"):
                    remaining.append((name, getattr(value, "__dict__", None)))
                if any(map(is_own, type(value).__mro__)):  # linkwork may call each method
                    remaining += [(name, x) for x in _methods_of(value)][::-1]
                if isinstance(value, _CONTAINERS):
                    parts.append(self._content(value))
                elif callable(value) and not isinstance(value, type):
                    calls = [x for base in type(value).__mro__ for x in _attribute(base, "__call__")]
                    remaining += [(name, x) for x in calls[:1]]
            else:
                parts.append(self._content(value))
                if isinstance(value, _CONTAINERS) and self._room >= 0:  # of functions, for instance
                    remaining += [(name, x) for x in parts_of(value) if not isinstance(x, _DATA)][::-1]
                elif is_own(type(value)):
                    traced = getattr(value, "_function", None) if hasattr(value, TRACE_CONTENT) else None  # of a kernel
                    remaining += [(name, x) for x in _code_in([value, traced])][::-1]

    def _variables(self, name: str, function: FunctionType) -> list[tuple[str, Any]]:
        """Return the variables of a user's function, and record the names in its code."""
        code, variables = function.__code__, function.__globals__
        names = names_in(code)
        self._names |= dict.fromkeys(names)
        modules = [key for key in names if key in sys.modules and key not in variables]  # a function may import them
        return [
            (f"{name}.__defaults__", function.__defaults__),
            (f"{name}.__kwdefaults__", function.__kwdefaults__),
            *zip(code.co_freevars, cells_of(function), strict=True),
            *[(key, variables[key]) for key in globals_in(code) if key in variables],
            *[(key, sys.modules[key]) for key in modules],
        ]

    def _content(self, value: Any, depth: int = 0) -> object:
        """Return a value for comparison: of numbers by bits, of containers by elements, of other values by identity."""
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            return self._content(value.tolist(), depth)
        if isinstance(value, (np.ndarray, np.generic)):
            self._room -= value.size // 10
            if self._room >= 0:
                return value.dtype.str, value.shape, value.tobytes()
        elif isinstance(value, (bytearray, array)):
            return type(value), bytes(value)
        elif isinstance(value, float):
            return type(value), float.hex(value)
        elif isinstance(value, complex):
            return type(value), value.real.hex(), value.imag.hex()
        elif isinstance(value, _PLAIN):
            return type(value), value
        elif isinstance(value, _CONTAINERS) and depth < _DEEPEST:
            self._room -= len(value)
            if self._room >= 0:
                parts = [self._content(x, depth + 1) for x in parts_of(value)]
                unordered = isinstance(value, (set, frozenset)) and all(isinstance(x, _PLAIN) for x in value)
                return type(value), frozenset(value) if unordered else tuple(parts)
        return _Same(value)


def _bound_name(name: str, value: Any) -> str:
    """Return the name by which code refers to a callable's owner: for a method its first argument, such as "self"."""
    code = getattr(value.__func__, "__code__", None) if isinstance(value, MethodType) else None
    return code.co_varnames[0] if code is not None and code.co_varnames else name


class _Same:
    """A value that is compared by identity, or by ``==`` if it is an immutable value of linkwork."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Same):
            return False
        value = self.value
        return value is other.value or (
            is_own(type(value)) and type(value).__hash__ is not None and bool(value == other.value)
        )

    __hash__ = None  # type: ignore[assignment]


def functions_of(kind: type) -> list[Any]:
    """Return the functions and descriptors in the classes of users that a class inherits from."""
    return [x for base in kind.__mro__ if is_of_user(base) for x in vars(base).values() if _is_code(x)]


def _is_code(value: Any) -> bool:
    return isinstance(value, (FunctionType, *CALLABLES)) or hasattr(type(value), "__get__")


def _attribute(owner: Any, name: str) -> list[Any]:
    """Return the value of an attribute in the owner's own table, [] if it has none; descriptors are not called."""
    table = getattr(owner, "__dict__", {})
    if name in table:
        return [table[name]]
    if isinstance(owner, type):
        bases = [base for base in owner.__mro__[1:] if name in vars(base) and is_of_user(base)]
        return [vars(bases[0])[name]] if bases else []
    slot = getattr(type(owner), name, None)
    is_slot = type(slot).__name__ == "member_descriptor"
    return [getattr(owner, name)] if is_slot and hasattr(owner, name) else []


def parts_of(value: Any) -> list[Any]:
    if isinstance(value, CALLABLES):
        return [getattr(value, name) for name in _WRAPPED if hasattr(value, name)]
    return [x for item in value.items() for x in item] if isinstance(value, Mapping) else list(value)


def cells_of(function: Any) -> list[Any]:
    result = []
    cells = getattr(function, "__closure__", None)
    for cell in cells if isinstance(cells, tuple) else ():  # a class of functions has a descriptor
        try:
            result.append(cell.cell_contents)
        except ValueError:  # it has no content yet
            result.append(None)
    return result


_MAX_CALLS = 2**16  # between two comparisons: their time is less than 1 % of that of so many calls
_MAX_NAMES = 3  # of variables in a warning


class VariableWatch:
    """The users' variables that a traced function reads, with the values that they had in the trace."""

    def __init__(self, name: str, function: Callable[..., Any], traced: UserState) -> None:
        self.name, self.function, self.traced = name, function, traced
        self.calls = 1  # until the next comparison
        self._left = 1  # of these, where no machine code counts
        self._last = traced

    @classmethod
    def of(cls, name: str, function: Callable[..., Any]) -> VariableWatch | None:
        """Return the watch of a function that was traced just now; None if it calls no users' code."""
        traced = function_state(function)
        return None if traced is None else cls(name, function, traced)

    def derived(self, name: str) -> VariableWatch:
        """Return the watch of a kernel that is made from the function's program."""
        return VariableWatch(name, self.function, self.traced)

    def count(self) -> None:
        """Count a call, and compare the variables at the calls 1, 2, 4, 8 and so on."""
        self._left -= 1
        if self._left <= 0:  # another thread may have counted as well
            self._left = self.count_to_next()
            self.warn()

    def count_to_next(self) -> int:
        """Return the number of calls until the next comparison."""
        calls, self.calls = self.calls, min(2 * self.calls, _MAX_CALLS)
        return calls

    def warn(self) -> None:
        """Warn about variables that differ from the trace and have changed since the last comparison."""
        try:
            now = function_state(self.function)
        except Exception:  # an object that refuses to be read, or that another thread changes now
            return
        if now is None or now == self._last:
            return
        changed = [key for key, parts in self.traced.items() if now.get(key) not in (parts, self._last.get(key))]
        changed = [key for key in changed if key in now] or changed  # other code may read fewer variables
        self._last = now
        if changed:
            names, source = ", ".join(changed[:_MAX_NAMES]), source_of(self.function)
            names += " and others have" if len(changed) > _MAX_NAMES else " has" if len(changed) == 1 else " have"
            warnings.warn(
                f"{self.name}: {names} changed since the function{f' ({source})' if source else ''} was compiled, and "
                f"the kernel computes with the old values: pass them as arguments, or compile the function again",
                TraceWarning,
                stacklevel=levels_up(),
            )


def counted(call: Callable[..., Any], watch: VariableWatch) -> Callable[..., Any]:
    """Return a function that counts for the watch and then makes the call."""

    def counting(*arguments: Any, **named: Any) -> Any:
        watch.count()
        return call(*arguments, **named)

    return counting
