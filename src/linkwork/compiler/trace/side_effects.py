"""Detection of side effects of a traced function, which happen once, in the trace, and not in the kernel's calls.

Variables that code refers to by name are compared before and after the trace.  The code is that of the function, of
users' functions in its closure, and of functions that these call by name.  A warning names containers that grew,
numbers and arrays that changed, values that hold symbols, generators of random numbers that were drawn from, and
iterators that advanced.  Calls of clocks, files and sources of new random numbers change no variable.  A profiler's
hook records such calls in the user's code, if the code contains a name that may be one of them.
"""

from __future__ import annotations

import dis
import io
import itertools
import operator
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import BuiltinMethodType, CodeType, FrameType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from linkwork._util.own_code import is_of_user, is_proved
from linkwork._util.user_frames import globals_in, is_library, levels_up, names_in
from linkwork.compiler.cache.function_content import attributes_of
from linkwork.compiler.trace.user_state import CALLABLES, functions_of, parts_of, readers_in
from linkwork.errors import TraceWarning
from linkwork.expr.scalar.symbol import Graph, Symbol

__all__ = ["SideEffects", "Variable", "with_reports"]

T = TypeVar("T")

_MAX_SEARCHED = 10_000  # elements; a larger container is data
_RETURN = "return the computed values"
_PASS = "pass its values as arguments"
_DRAW = "pass random numbers as arguments, or draw them before the function is compiled"
_CLOCK = "pass the time as an argument"
_FILE = "read and write outside of the function"
_CLOCKS = (
    *(time.time, time.monotonic, time.perf_counter, time.process_time, time.thread_time, time.localtime, time.gmtime),
    *(time.time_ns, time.monotonic_ns, time.perf_counter_ns, time.process_time_ns, time.thread_time_ns, time.sleep),
)
_STREAMS = (open, print, input)
_REMEDIES = {
    id(os.urandom): _DRAW,
    **dict.fromkeys(map(id, _CLOCKS), _CLOCK),
    **dict.fromkeys(map(id, _STREAMS), _FILE),
}
_DATES = ("now", "today", "utcnow")
_METHODS = ("read", "readline", "readlines", "write", "writelines")  # of files
_DRAWN_HERE = "generator_of"  # the function of linkwork that makes a generator for the user's call
_NAMES = {  # in code that may call one of these
    *(function.__name__ for function in (*_CLOCKS, *_STREAMS)),
    *(*_DATES, *_METHODS),
    *("default_rng", "RandomState", "SystemRandom", "random_configuration", "secrets", "urandom", "uuid1", "uuid4"),
}


class SideEffects:
    """Variables of users' functions in a value, as they were before a trace, and the functions' calls during it."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.read = ReadVariables(function)
        self.before = {(x.name, x.code, id(x.owner)): _state(x.value) for x in self.read.variables}
        self.calls: dict[str, tuple[str, str]] = {}  # position and remedy, by the text of a call

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Record calls of clocks, files and sources of random numbers, if the functions' code has such names.

        If another profiler is active, it stays active, and no calls are recorded.
        """
        outer = sys.getprofile()
        if _NAMES.isdisjoint(self.read.names) or not (
            outer is None or isinstance(getattr(outer, "__self__", None), SideEffects)
        ):
            yield
            return
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(outer)

    def _note(self, frame: FrameType, event: str, called: Any) -> None:
        if event != "c_call":
            return
        name, owner = getattr(called, "__name__", ""), getattr(called, "__self__", None)
        remedy = _REMEDIES.get(id(called))
        if remedy is None and name in _METHODS and isinstance(owner, io.IOBase):
            remedy = _FILE
        if remedy is None and name in _DATES and _is_date(owner):
            remedy = _CLOCK
        caller = _drawer(frame) if remedy is _DRAW else frame
        if remedy is not None and caller is not None and not (is_library(caller) or _is_installed(caller)):
            text = "random numbers are drawn from the system" if remedy is _DRAW else f"{name}() is called"
            self.calls.setdefault(text, (f"{caller.f_code.co_filename}:{caller.f_lineno}", remedy))

    def warn(self, name: str, graph: Graph | None = None) -> None:
        """Warn about variables that changed in the trace or contain its symbols, and about recorded calls."""
        for text, (position, remedy) in self.calls.items():
            _warn(name, text, position, remedy)
        noted: list[Any] = []  # objects, which may have several names
        wholes: tuple[str, ...] = ()  # beginnings of the names of their parts
        for x in ReadVariables(self.function).variables if self.before else ():
            if x.name.startswith(wholes) or any(x.value is value for value in noted):
                continue
            effect = _effect(self.before.get((x.name, x.code, id(x.owner))), _state(x.value))
            if graph is not None and _holds(x.value, graph):
                effect = "holds symbols of its trace", _RETURN
            if effect is not None:
                noted += [] if isinstance(x.value, (int, float)) else [x.value]
                wholes += f"{x.name}.", f"{x.name}["
                _warn(name, f"{x.name} {effect[0]}", x.position, effect[1])


def with_reports(name: str, value: Any, run: Callable[[], T]) -> T:
    """Return the result of a trace that calls users' functions in a value, and warn about their side effects."""
    effects = SideEffects(value)
    with effects.noted():
        result = run()
    effects.warn(name)
    return result


def _warn(name: str, text: str, position: str, remedy: str) -> None:
    warnings.warn(
        f"{name}: {text} ({position}): the function is called once, when it is compiled, and not at each call of the "
        f"kernel: {remedy}",
        TraceWarning,
        stacklevel=levels_up(),
    )


def _drawer(frame: FrameType | None) -> FrameType | None:
    """Return the user's frame that created a random number generator; None if linkwork created it."""
    functions: list[str] = []
    while frame is not None and (is_library(frame) or _is_installed(frame)):
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return None
        if frame.f_globals.get("__name__", "").partition(".")[0] == "linkwork":
            functions.append(frame.f_code.co_name)
        frame = frame.f_back
    return frame if not functions or functions[0] == _DRAWN_HERE else None


def _is_installed(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return "site-packages" in file or "dist-packages" in file or file.startswith("<frozen")


def _is_date(kind: Any) -> bool:
    dates = sys.modules.get("datetime")
    return dates is not None and isinstance(kind, type) and issubclass(kind, dates.date)


_State = tuple[str, Any] | None  # compared state: its kind and its value


def _state(value: Any) -> _State:
    """Return the state of a value that a trace should not change; None if the value has no such state."""
    if isinstance(value, (list, dict, set, bytearray)):
        return "size", len(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "number", (float if isinstance(value, float) else int).__repr__(value)
    if isinstance(value, np.ndarray):
        return (
            ("array", (id(value), hash(value.tobytes())))
            if value.size <= _MAX_SEARCHED and not value.dtype.hasobject
            else None
        )
    if isinstance(value, itertools.count):
        return "iterator", repr(value)
    if isinstance(value, GeneratorType):
        frame = value.gi_frame
        return "iterator", frame and (frame.f_lasti, repr([x for x in frame.f_locals.values() if isinstance(x, int)]))
    if type(value).__module__ == "builtins" and hasattr(value, "__length_hint__") and hasattr(value, "__next__"):
        return "iterator", operator.length_hint(value)
    return _random_state(value)


def _random_state(value: Any) -> _State:
    """Return the state of a generator of random numbers of Python or NumPy; None for other values."""
    module = type(value).__module__
    if module.startswith("numpy.random"):
        if hasattr(value, "get_state"):  # with the second of two normal numbers, which the bits lack
            return "random", repr(value.get_state(legacy=False))
        return "random", repr(getattr(getattr(value, "bit_generator", value), "state", None))
    if module == "random" and hasattr(value, "getstate"):
        return "random", value.getstate()
    return None


_EFFECTS = {
    "size": ("has grown", _RETURN),
    "number": ("has changed", _RETURN),
    "array": ("has changed", _RETURN),
    "iterator": ("has advanced", _PASS),
    "random": ("draws random numbers", _DRAW),
}


def _effect(before: _State, after: _State) -> tuple[str, str] | None:
    """Return a message that states how a trace changed a variable, with the remedy; None if it is unchanged."""
    if before is None or after is None or before[0] != after[0]:
        return None
    kind, old, new = before[0], before[1], after[1]
    if kind == "size":
        changed = new > old
    elif kind == "array":
        changed = old[0] == new[0] and old[1] != new[1]
    else:
        changed = old != new
    return _EFFECTS[kind] if changed else None


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


_MAX_PARTS = 100  # elements of a container; a larger one is data
_MAX_VARIABLES = 5000  # of all functions together
_DEEPEST = 3  # levels of attributes and elements


class Variable(NamedTuple):
    """A variable, or an attribute or element of a variable."""

    name: str
    code: CodeType  # of the function that names it
    whole: str  # the name in this code
    owner: Any  # the object, container or function that has it
    value: Any

    @property
    def position(self) -> str:
        """File and line of the code that names the variable."""
        return f"{self.code.co_filename}:{_line(self.code, self.whole)}"


class ReadVariables:
    """Variables that users' functions in a value (such as a closure) read, and functions that these call by name."""

    def __init__(self, value: Any) -> None:
        self.names: set[str] = set()  # in the code of all functions
        self.variables: list[Variable] = []
        self._functions: set[tuple[CodeType, int]] = set()
        self._objects: dict[int, Any] = {}
        self._read(value)

    def _read(self, value: Any) -> None:
        for reader in readers_in([value]):
            if isinstance(reader, MethodType) and isinstance(reader.__func__, FunctionType):
                self._read_function(reader.__self__, reader.__func__)
            elif isinstance(reader, FunctionType):
                self._read_function(None, reader)
            elif isinstance(reader, CALLABLES):
                for part in parts_of(reader):
                    self._read(part)
            elif not isinstance(reader, type):
                for method in functions_of(type(reader)):
                    if isinstance(method, FunctionType):
                        self._read_function(reader, method)

    def _read_function(self, bound: Any, function: FunctionType) -> None:
        """Read the variables of a function, which is bound to an object or to None."""
        code = function.__code__
        if (code, id(bound)) in self._functions:
            return
        self._functions.add((code, id(bound)))
        names = names_in(code)
        self.names.update(names)
        for name, value in _values(bound, function, names):
            plain = value.__func__ if isinstance(value, MethodType) else value
            if isinstance(plain, FunctionType) and is_of_user(plain):
                self._read_function(value.__self__ if isinstance(value, MethodType) else None, plain)
                continue
            source = code, name
            if isinstance(value, ModuleType) and not is_proved(value):
                for key in names:
                    if key in vars(value) and _is_of_user_module(value):
                        self._add(f"{name}.{key}", source, value, vars(value)[key], 1)
            else:
                generator = _generator_of(value, names)
                whole = f"{name}.random" if value is sys.modules.get("numpy") else name
                self._add(whole, source, function if bound is None else bound, generator, 0)

    def _add(self, name: str, source: tuple[CodeType, str], owner: Any, value: Any, depth: int) -> None:
        """Add a value, the attributes of an object of a user's class, and the elements of a container."""
        if isinstance(value, (ModuleType, FunctionType)) or len(self.variables) >= _MAX_VARIABLES:
            return
        self.variables.append(Variable(name, *source, owner, value))
        if depth == _DEEPEST or isinstance(value, (int, float, str)) or id(value) in self._objects:
            return
        self._objects[id(value)] = value
        if isinstance(value, (list, tuple, dict)):
            items = value.items() if isinstance(value, dict) else enumerate(value)
            for key, part in [*items] if len(value) <= _MAX_PARTS else []:
                self._add(f"{name}[{key!r}]", source, value, part, depth + 1)
        elif is_of_user(value if isinstance(value, type) else type(value)):
            for key, part in [*vars(value).items()] if isinstance(value, type) else attributes_of(value):
                if not key.startswith("__"):
                    self._add(f"{name}.{key}", source, value, part, depth + 1)


def _values(bound: Any, function: FunctionType, names: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield the object that a function is bound to, and the values of its closure and of globals that it names."""
    code = function.__code__
    if bound is not None and code.co_varnames:
        yield code.co_varnames[0], bound
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # the cell is empty
            yield name, None
    variables = function.__globals__
    for name in globals_in(code):
        if name in variables:
            yield name, variables[name]
    for name in ("random", "numpy"):  # a function may import it
        if name in names and name not in variables and name in sys.modules:
            yield name, sys.modules[name]


def _generator_of(value: Any, names: list[str]) -> Any:
    """Return the random number generator that a function or module uses; other values unchanged."""
    if isinstance(value, ModuleType) and value.__name__ == "random":
        return getattr(value, "_inst", None)
    if isinstance(value, ModuleType) and value.__name__ in ("numpy", "numpy.random"):
        module = sys.modules.get("numpy.random.mtrand")
        return getattr(module, "_rand", None) if value.__name__ != "numpy" or "random" in names else None
    return value.__self__ if isinstance(value, (BuiltinMethodType, MethodType)) else value


def _is_of_user_module(module: ModuleType) -> bool:
    """Return True if a module belongs to no installed package."""
    file = getattr(module, "__file__", None) or ""
    return "site-packages" not in file and "dist-packages" not in file


def _line(code: CodeType, name: str) -> int:
    """Return the last line that stores the variable, or, without one, the first line that reads it."""
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
