"""Detection of side effects of a traced function: they occur once, in the trace, and not in the kernel's calls.

Variables are inspected before and after the trace: those of enclosing functions and of the module that the function
refers to by name, the attributes of their values, and the same for functions of its file that it calls. A warning names
containers that grew, and values that hold symbols.
"""

from __future__ import annotations

import dis
import functools
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from linkwork._util.user_frames import levels_up, names_in
from linkwork.errors import TraceWarning
from linkwork.expr.scalar.symbol import Graph, Symbol

__all__ = ["SideEffects"]

_MAX_SEARCHED = 10_000  # elements; a larger container is data


class SideEffects:
    """The variables that a function refers to, as they were before the trace."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = _plain(function)
        self.before = {(name, position): _size(value) for name, position, value in _variables(self.function)}

    def warn(self, name: str, graph: Graph) -> None:
        """Warn about variables that now hold symbols of the trace, or more elements than before."""
        for variable, position, value in _variables(self.function):
            size, before = _size(value), self.before.get((variable, position))
            grew = size is not None and before is not None and size > before
            holds = _holds(value, graph)
            if not grew and not holds:
                continue
            what = "holds symbols of its trace" if holds else "has grown"
            warnings.warn(
                f"{name}: {variable} {what} ({position}): the function is called once, when it is "
                f"compiled, and not at each call of the kernel: return the computed values",
                TraceWarning,
                stacklevel=levels_up(),
            )


def _plain(function: Callable[..., Any]) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.unwrap(function)


def _variables(function: Any, visited: set[CodeType] | None = None) -> Iterator[tuple[str, str, Any]]:
    """Yield the variables that a function refers to, and attributes of their values.

    Each is a name, its source position and its value.
    """
    visited = set() if visited is None else visited
    bound, plain = getattr(function, "__self__", None), getattr(function, "__func__", function)
    if not isinstance(plain, FunctionType):  # an object that can be called
        bound, plain = function, inspect.getattr_static(type(function), "__call__", None)
    if not isinstance(plain, FunctionType) or plain.__code__ in visited:
        return
    code = plain.__code__
    visited.add(code)
    result: dict[str, Any] = {}
    if bound is not None and code.co_varnames:
        result[code.co_varnames[0]] = bound
    for name, cell in zip(code.co_freevars, plain.__closure__ or (), strict=True):
        try:
            result[name] = cell.cell_contents
        except ValueError:  # the cell is empty
            result[name] = None
    for name in names_in(code):
        if name in plain.__globals__ and name not in result:
            result[name] = plain.__globals__[name]
    for name, value in result.items():
        if isinstance(value, FunctionType):
            if value.__code__.co_filename == code.co_filename:
                yield from _variables(value, visited)
        elif not isinstance(value, (ModuleType, type)):
            position = f"{code.co_filename}:{_line(code, name)}"
            yield name, position, value
            attributes = getattr(value, "__dict__", None)
            if isinstance(attributes, dict) and _of_user(value):
                for key, attribute in attributes.items():
                    yield f"{name}.{key}", position, attribute


def _of_user(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] not in ("linkwork", "numpy", "builtins")


def _line(code: CodeType, name: str) -> int:
    """Return the last line that stores the variable, otherwise the first that reads it."""
    read = stored = 0
    for instruction in dis.get_instructions(code):
        line = instruction.positions.lineno if instruction.positions else None
        if instruction.argval == name and line:
            if instruction.opname.startswith("STORE"):
                stored = line
            read = read or line
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and not (stored or read):
            inner = _line(constant, name)
            read = inner if inner != constant.co_firstlineno else 0
    return stored or read or code.co_firstlineno


def _size(value: Any) -> int | None:
    """Return the length of a container that can grow; None for other values."""
    return len(value) if isinstance(value, (list, dict, set, bytearray)) else None


def _holds(value: Any, graph: Graph) -> bool:
    """Return True if a value, or a container or array in it, has symbols of a trace."""
    if isinstance(value, Symbol):
        return value.graph is graph
    if isinstance(value, np.ndarray):
        value = value.ravel().tolist() if value.dtype == object else ()
    elif isinstance(value, Mapping):
        value = list(value.values())
    elif not isinstance(value, (list, tuple, set, frozenset)):
        return False
    return len(value) <= _MAX_SEARCHED and any(_holds(part, graph) for part in value)
