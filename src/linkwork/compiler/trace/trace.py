"""From a Python function of arrays to a program: it is run once, on arrays of symbols.

Running a user's function on symbols: what goes wrong names the user's own line.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.user_frames import line_of, source_of
from linkwork.compiler.derivatives.tangent_spaces import Space, Spaces
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.passes.verifier import InvalidProgramError, verify
from linkwork.compiler.program import Port, Program
from linkwork.compiler.runtime.cpython import without_collections
from linkwork.compiler.trace.pytree_ports import PortTree, form_of_shapes, port_names, spaces_of_shapes
from linkwork.compiler.trace.side_effects import SideEffects
from linkwork.expr.arrays.pytree import Form, Leaf, is_nested, leaves_of, put_together, taken_apart
from linkwork.expr.scalar.symbol import Graph, Symbol
from linkwork.expr.scalar.symbol_methods import AS_AN_INDEX

__all__ = ["Trace", "compile", "compile_guarded", "trace", "traced_function"]


Shape = Any  # a whole number, a tuple of such, a space, or a tuple, named tuple, dataclass or dict of shapes


@overload
def compile(function: Callable[..., Any], /, *, name: str | None = None, **shapes: Shape) -> Kernel: ...


@overload
def compile(*, name: str | None = None, **shapes: Shape) -> Callable[[Callable[..., Any]], Kernel]: ...


@public
def compile(function: Callable[..., Any] | None = None, /, *, name: str | None = None, **shapes: Shape) -> Any:
    """Compile a Python function of arrays to machine code.

    The function is called once, with an array of symbols for each keyword, of the shape given there (a single symbol
    where that is ``()``); it may use ``+ - * / ** @``, NumPy's functions, methods of robots, other kernels and the
    functions of `linkwork.expr`.  What it returns become the outputs: one array, or several as a tuple, a named tuple
    or a dict (which name them).  Shapes may be nested in tuples, named tuples, dataclasses and dicts: the function,
    and the kernel, then take such a value.  Where a configuration of a robot goes in, ``robot.configuration_space`` is
    its shape, so that derivatives by it are by its tangent vector.  No input can be called ``name`` or ``out``: they
    have a meaning here and in the kernel's call.

    >>> import linkwork as lw
    >>> distance = lw.compile(lambda p, q: ((p - q) @ (p - q)) ** 0.5, p=(3,), q=(3,))
    >>> float(distance([0.0, 0.0, 0.0], [3.0, 4.0, 0.0]))
    5.0

    Without the function it is a decorator:

    >>> @lw.compile(x=(3,), k=())
    ... def force(x, k):
    ...     return -k * x

    Raises TypeError where an argument has no shape, or the function returns something that is no number, or takes a
    truth value for one, and ValueError for a shape that is none or a name that is no identifier.  What goes wrong in
    the function names its line.  A TraceWarning tells what it did besides returning.
    """
    if not (name is None or isinstance(name, str)):
        raise TypeError(f"compile: name: expected the kernel's name, got {name!r}; an input cannot be called 'name'")
    if name is not None and not name.isidentifier():
        raise ValueError(f"compile: name: expected an identifier as the kernel's name, got {name!r}")
    if function is None:
        return lambda function: compile(function, name=name, **shapes)
    if not callable(function):
        raise TypeError(
            f"compile: function: expected a function, got {function!r}; shapes are given by the arguments' names"
        )
    _check_inputs(function, shapes)
    called = str(name or getattr(function, "__name__", "function"))
    called = called if called.isidentifier() else "function"  # a lambda, say
    program, nesting, spaces = traced_function(function, called, shapes)
    return Kernel(program, doc=(function.__doc__ or "").strip(), function=function, nesting=nesting, spaces=spaces)


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


class Trace(NamedTuple):
    """A function's program, how its inputs and outputs are nested, and what the inputs are points of."""

    program: Program
    nesting: PortTree
    spaces: Spaces


def trace(function: Callable[..., Any], name: str, shapes: Mapping[str, Shape]) -> Program:
    """The program of a function of arrays of symbols: see `compile`."""
    return traced_function(function, name, shapes).program


def compile_guarded(
    function: Callable[..., Any], guards: Callable[..., Sequence[Any]], *, name: str, **shapes: Shape
) -> Kernel:
    """The same as `compile`, with guards of the same arguments: compiled code tells where one is greater than zero."""
    program, nesting, spaces = traced_function(function, name, shapes, guards)
    return Kernel(program, function=function, nesting=nesting, spaces=spaces)


@without_collections
def traced_function(
    function: Callable[..., Any],
    name: str,
    shapes: Mapping[str, Shape],
    guards: Callable[..., Sequence[Any]] | None = None,
) -> Trace:
    """The same, how inputs and outputs are nested, and what inputs are points of."""
    caller = written_at(name, function)
    graph = Graph(f"the trace of {caller}")
    inputs: list[tuple[Port, list[Symbol]]] = []
    arguments: dict[str, Any] = {}
    forms: dict[str, Form | Leaf] = {}
    spaces: dict[str, Space] = {}
    for key, given in shapes.items():
        if key == "out":
            taken = "the kernel's call takes the arrays to write to by that name"
            raise ValueError(f"an input cannot be called 'out': {taken}")
        forms[key] = form_of_shapes(key, given)
        ports = [(port, graph.inputs(port.name, port.shape)) for port in port_names(name, key, forms[key])]
        arguments[key] = put_together(forms[key], [symbol for _, symbols in ports for symbol in symbols])
        inputs += ports
        points = zip(ports, spaces_of_shapes(given), strict=True)
        spaces |= {port.name: space for (port, _), space in points if space is not None}
    _check_names(name, [port for port, _ in inputs])
    effects = SideEffects(function)
    returned = run_on_symbols(function, arguments, name)
    effects.tell(name, graph)
    try:
        outputs, form = _outputs(name, returned)
        _check_names(name, [port for port, _ in outputs])
        _check_traces(name, graph, outputs)
        program = Program.of(name, inputs, outputs, guards(**arguments) if guards is not None else ())
        verify(program)
    except InvalidProgramError as error:
        number = "where(condition, 1.0, 0.0) makes a number of a truth value"
        raise TypeError(f"{error}; {number}\n    in {caller}") from None
    except (TypeError, ValueError) as error:
        raise type(error)(f"{error}\n    in {caller}") from None
    return Trace(program, PortTree(forms, form), Spaces(spaces))


def _check_names(name: str, ports: list[Port]) -> None:
    names = [port.name for port in ports]
    twice = [key for key in names if names.count(key) > 1]
    if twice:
        raise ValueError(f"{name}: two arrays would be called {twice[0]!r}: what is nested is joined by underscores")


def _check_traces(name: str, graph: Graph, outputs: list[tuple[Port, list[Any]]]) -> None:
    """Raises ValueError where an output holds a symbol of another trace."""
    for port, elements in outputs:
        for x in elements:
            if isinstance(x, Symbol) and x.graph is not graph:
                theirs = x.graph.owner or "another trace"
                raise ValueError(
                    f"{name}: {port.name} holds {x!r}, which is of {theirs}: symbols are of no use outside of the "
                    f"function that they were made for, so it was kept where it should not be"
                )


def _outputs(name: str, returned: Any) -> tuple[list[tuple[Port, list[Any]]], Form | None]:
    """The outputs by name, and how they are nested, unless they are one array or several side by side."""
    if is_nested(returned) and (not isinstance(returned, (Mapping, tuple)) or _has_nested_parts(returned)):
        return _nested_outputs(name, returned)
    result = []
    for key, part in _named(name, returned):
        array = np.array(part, dtype=object)
        _check_elements(name, key, array.ravel().tolist())
        result.append((Port(key, array.shape), array.ravel().tolist()))
    return result, None


def _has_nested_parts(returned: Any) -> bool:
    return any(map(is_nested, returned.values() if isinstance(returned, Mapping) else returned))


def _nested_outputs(name: str, returned: Any) -> tuple[list[tuple[Port, list[Any]]], Form | None]:
    elements, form = taken_apart(returned, f"{name}: output")
    leaves = leaves_of(form)
    if not leaves:
        raise TypeError(f"{name}: expected the function to return something, got {returned!r}")
    keyed = [("_".join(path), leaf) for path, leaf in leaves]
    result, start = [], 0
    for key, leaf in keyed:
        key = key if key.isidentifier() else f"output{key}"
        _check_key(name, key)
        part = elements[start : start + leaf.size]
        _check_elements(name, key, part)
        result.append((Port(key, leaf.shape), part))
        start += leaf.size
    return result, form if isinstance(form, Form) else None


def _named(name: str, returned: Any) -> list[tuple[str, Any]]:
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
    for key, _ in pairs:
        _check_key(name, key)
    return pairs


def _check_key(name: str, key: Any) -> None:
    if not (isinstance(key, str) and key.isidentifier()) or keyword.iskeyword(key) or key.startswith("_"):
        raise TypeError(f"{name}: expected outputs named by identifiers, got {key!r}")


def _check_elements(name: str, key: str, elements: list[Any]) -> None:
    """Raises TypeError where an output has something else than numbers."""
    for element in elements:
        if isinstance(element, (bool, np.bool_)) or (isinstance(element, Symbol) and element.op.logical):
            raise TypeError(f"{name}: {key} has a truth value; return where(condition, 1.0, 0.0) instead")
        if not isinstance(element, (Symbol, int, float, np.integer, np.floating)):
            raise TypeError(f"{name}: {key} has an element that is no number: {element!r}")


_INDEX = ("only integers, slices", "arrays used as indices must be")
_PLAIN_ARRAY = "which has no callable"  # what NumPy says of an array that holds symbols and numbers


def run_on_symbols(function: Callable[..., Any], arguments: Mapping[str, Any], name: str) -> Any:
    """What the function returns.  What it raises says at which line of the user's, as far as it is about symbols."""
    try:
        return function(**arguments)
    except RecursionError as error:
        if not str(error).startswith("maximum recursion depth"):  # linkwork's own, of `call`
            raise
        where = line_of(error.__traceback__)
        message = (
            f"{name}: it calls itself without end while it is traced: what a symbol says can end no recursion of "
            f"Python's; linkwork.while_loop, scan and fori_loop are loops\n    at {where}"
        )
    except Exception as error:
        _tell(error)
        raise
    raise RecursionError(message)


def _tell(error: Exception) -> None:
    """Add to an error where it is, in the message itself where it is about symbols, and as a note otherwise."""
    where = line_of(error.__traceback__)
    text = error.args[0] if len(error.args) == 1 and isinstance(error.args[0], str) else ""
    if not where or "\n    at " in text:  # it was told when a function inside of this one was traced
        return
    if isinstance(error, IndexError) and text.startswith(_INDEX):
        _raise_as(TypeError(f"{AS_AN_INDEX}\n    at {where}"), error)
    if _PLAIN_ARRAY in text:
        better = "linkwork.expr.array makes arrays of symbols and numbers on which NumPy's functions work"
        _raise_as(TypeError(f"{text}: {better}\n    at {where}"), error)
    if type(error) in (TypeError, ValueError) and text and _raised_here(error):
        error.args = (f"{text}\n    at {where}",)
    else:
        error.add_note(f"at {where}")


def _raise_as(better: Exception, error: Exception) -> NoReturn:
    raise better from error


def _raised_here(error: Exception) -> bool:
    """Whether linkwork raised it."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    module = traceback.tb_frame.f_globals.get("__name__", "") if traceback is not None else ""
    return bool(module.partition(".")[0] == "linkwork")


def written_at(name: str, function: Callable[..., Any]) -> str:
    """A function's name and where it is written, for what is found when it has returned."""
    place = source_of(function)
    return f"{name} ({place})" if place else name
