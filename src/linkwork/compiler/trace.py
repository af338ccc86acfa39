"""From a Python function of arrays to a program: it is run once, on arrays of symbols."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..expr.symbol import Graph, Symbol
from .kernel import Kernel
from .program import Port, Program

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

    The function is called once, with an object array of symbols for each keyword, of the shape given there; it may
    use ``+ - * / ** @``, NumPy's functions of elements and the functions of `linkwork.expr`.  What it returns become
    the outputs: one array, or several as a tuple, a named tuple or a dict (which name them).

    >>> import linkwork as lw
    >>> distance = lw.compile(lambda p, q: ((p - q) @ (p - q)) ** 0.5, p=(3,), q=(3,))
    >>> float(distance([0.0, 0.0, 0.0], [3.0, 4.0, 0.0]))
    5.0

    Raises TypeError where the function returns something that is no number, ValueError for a shape that is none.
    """
    called = str(name or getattr(function, "__name__", "function"))
    called = called if called.isidentifier() else "function"
    return Kernel(trace(function, called, shapes), doc=(function.__doc__ or "").strip())


def trace(function: Callable[..., Any], name: str, shapes: Mapping[str, Shape]) -> Program:
    """The program of a function of object arrays: see `compile`."""
    with quiet_collector():
        graph = Graph()
        inputs: list[tuple[Port, list[Symbol]]] = []
        arrays: dict[str, np.ndarray] = {}
        for key, given in shapes.items():
            port = Port(key, _shape(key, given))
            symbols = graph.inputs(key, port.shape)
            array = np.empty(math.prod(port.shape), dtype=object)
            array[:] = symbols
            inputs.append((port, symbols))
            arrays[key] = array.reshape(port.shape)
        outputs = [(Port(key, a.shape), list(a.ravel())) for key, a in _named(name, function(**arrays))]
        return Program.of(name, inputs, outputs)


def _shape(key: str, given: Any) -> tuple[int, ...]:
    shape = (given,) if isinstance(given, int) else tuple(given)
    if not all(isinstance(n, int) and n >= 0 for n in shape):
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
        if not (isinstance(key, str) and key.isidentifier()):
            raise TypeError(f"{name}: expected outputs named by identifiers, got {key!r}")
        array = np.array(part, dtype=object)
        for element in array.ravel():
            if isinstance(element, Symbol):
                if element.op.logical:
                    raise TypeError(f"{name}: {key} has a truth value; return where(condition, 1.0, 0.0) instead")
            elif not isinstance(element, (int, float, np.number)) or isinstance(element, complex):
                raise TypeError(f"{name}: {key} has an element that is no number: {element!r}")
        named.append((key, array))
    return named
