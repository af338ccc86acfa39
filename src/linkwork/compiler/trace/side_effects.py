"""Detection of what a traced function does once, in the trace, and not in the kernel's calls.

Variables are compared before and after the trace (`read_variables.py`): those of the function, of functions of users in
its closure and of those that these call by name.  A warning names containers that grew, numbers and arrays that
changed, values that hold symbols, generators of random numbers that were drawn from, and iterators that advanced.
Calls of clocks, files and sources of new random numbers change no variable: a profiler's hook notes those of the user's
code, if a name in this code may be one of them.
"""

from __future__ import annotations

import io
import itertools
import operator
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType, GeneratorType
from typing import Any, TypeVar

import numpy as np

from linkwork._util.user_frames import is_library, levels_up
from linkwork.compiler.trace.read_variables import ReadVariables
from linkwork.errors import TraceWarning
from linkwork.expr.scalar.symbol import Graph, Symbol

__all__ = ["SideEffects", "with_reports"]

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
    """State of the variables of users' functions in a value before a trace, and their calls during it."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.read = ReadVariables(function)
        self.before = {(x.name, x.code, id(x.owner)): _state(x.value) for x in self.read.variables}
        self.calls: dict[str, tuple[str, str]] = {}  # position and remedy, by the text of a call

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note calls of clocks, files and sources of random numbers, if the functions' code has such names.

        Another profiler is left in its place, without notes.
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
        """Warn about variables that changed in the trace or hold its symbols, and about calls that were noted."""
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
    """Return the result of a trace that calls functions of users in a value, with warnings of their side effects."""
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
    """Return the user's frame that created a generator of random numbers; None if linkwork needed one itself."""
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


_State = tuple[str, Any] | None  # what is compared: its kind and its value


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
    """Return a message on how a trace changed a variable, with the remedy; None if its value is unchanged."""
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
