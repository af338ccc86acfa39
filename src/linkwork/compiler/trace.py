"""From a Python function of arrays to a program: it is run once, on arrays of symbols."""

from __future__ import annotations

import gc
import inspect
import keyword
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..expr.arrays import filled
from ..expr.symbol import Graph, Symbol
from .kernel import Kernel
from .program import Port, Program
from .verify import InvalidProgramError, verify

__all__ = ["compile", "quiet_collector", "trace"]

Shape = int | tuple[int, ...]


@contextmanager
def quiet_collector() -> Iterator[None]:
    """No garbage collection meanwhile: a trace only makes objects, and looking through them all costs as much."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def compile(function: Callable[..., Any], /, *, name: str | None = None, **shapes: Shape) -> Kernel:
    """Compile a Python function of arrays to machine code.

    The function is called once, with an object array of symbols for each keyword, of the shape given there (a single
    symbol where that is ``()``); it may use ``+ - * / ** @``, NumPy's functions of elements and the functions of
    `linkwork.expr`.  What it returns become the outputs: one array, or several as a tuple, a named tuple or a dict
    (which name them).  No input can be called ``name`` or ``out``: they have a meaning here and in the kernel's call.

    >>> import linkwork as lw
    >>> distance = lw.compile(lambda p, q: ((p - q) @ (p - q)) ** 0.5, p=(3,), q=(3,))
    >>> float(distance([0.0, 0.0, 0.0], [3.0, 4.0, 0.0]))
    5.0

    Raises TypeError where an argument has no shape, or the function returns something that is no number, or takes a
    truth value for one, and ValueError for a shape that is none or a name that is no identifier.
    """
    if not (name is None or isinstance(name, str)):
        raise TypeError(f"name: expected the kernel's name, got {name!r}; an input cannot be called 'name'")
    if name is not None and not name.isidentifier():
        raise ValueError(f"name: expected an identifier as the kernel's name, got {name!r}")
    _check_inputs(function, shapes)
    called = str(name or getattr(function, "__name__", "function"))
    called = called if called.isidentifier() else "function"  # a lambda, say
    return Kernel(trace(function, called, shapes), doc=(function.__doc__ or "").strip())


def _check_inputs(function: Callable[..., Any], shapes: Mapping[str, Shape]) -> None:
    """Raises TypeError where the function's arguments are not those that have shapes."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a built-in function may not tell
        return
    try:
        signature.bind(**dict.fromkeys(shapes))
    except TypeError as error:
        needed = [key for key, p in signature.parameters.items() if p.default is p.empty and p.kind in (1, 3)]
        shown = ", ".join(f"{key}=(3,)" for key in needed) or "x=()"
        inputs = f"inputs are the function's arguments, each with its shape, as in compile(f, {shown})"
        raise TypeError(f"compile: {error}; {inputs}") from None


def trace(function: Callable[..., Any], name: str, shapes: Mapping[str, Shape]) -> Program:
    """The program of a function of object arrays: see `compile`."""
    with quiet_collector():
        graph = Graph()
        inputs: list[tuple[Port, list[Symbol]]] = []
        arrays: dict[str, Any] = {}
        for key, given in shapes.items():
            port = Port(key, _shape(key, given))
            symbols = graph.inputs(key, port.shape)
            inputs.append((port, symbols))
            arrays[key] = filled(port.shape, symbols) if port.shape else symbols[0]
        outputs = [(Port(key, a.shape), list(a.ravel())) for key, a in _named(name, function(**arrays))]
        program = Program.of(name, inputs, outputs)
    try:
        verify(program)
    except InvalidProgramError as error:
        raise TypeError(f"{error}; where(condition, 1.0, 0.0) makes a number of a truth value") from None
    return program


def _shape(key: str, given: Any) -> tuple[int, ...]:
    if key == "out":
        raise ValueError("an input cannot be called 'out': the kernel's call takes the arrays to write to by that name")
    try:
        shape = tuple([operator.index(n) for n in (given if isinstance(given, Iterable) else (given,))])
    except TypeError:
        shape = (-1,)
    if any(n < 0 for n in shape):
        raise ValueError(f"{key}: expected a shape (sizes that are whole numbers, none negative), got {given!r}")
    return shape


def _named(name: str, returned: Any) -> list[tuple[str, np.ndarray]]:
    """The outputs by name, as object arrays."""
    if isinstance(returned, Mapping):
        pairs = list(returned.items())
    elif isinstance(returned, tuple) and hasattr(returned, "_fields"):
        pairs = list(zip(returned._fields, returned, strict=True))
    elif isinstance(returned, tuple):
        pairs = [(f"output{k}", part) for k, part in enumerate(returned)]
    else:
        pairs = [("output", returned)]
    if not pairs:
        raise TypeError(f"{name}: expected the function to return something, got {returned!r}")
    named = []
    for key, part in pairs:
        if not (isinstance(key, str) and key.isidentifier()) or keyword.iskeyword(key) or key.startswith("_"):
            raise TypeError(f"{name}: expected outputs named by identifiers, got {key!r}")
        array = np.array(part, dtype=object)
        for element in array.ravel():
            if isinstance(element, (bool, np.bool_)) or (isinstance(element, Symbol) and element.op.logical):
                raise TypeError(f"{name}: {key} has a truth value; return where(condition, 1.0, 0.0) instead")
            if not isinstance(element, (Symbol, int, float, np.integer, np.floating)):
                raise TypeError(f"{name}: {key} has an element that is no number: {element!r}")
        named.append((key, array))
    return named
