"""Tracing: a Python function of arrays is run once on arrays of symbols and becomes a program.

Errors of the user's function name the user's own line.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.collection_pauses import without_collections
from linkwork._util.user_frames import line_of, source_of
from linkwork.compiler.build import Recipe, is_debugging
from linkwork.compiler.derivatives.tangent_spaces import Space, Spaces
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.port import Port
from linkwork.compiler.program import Program
from linkwork.compiler.trace.pytree_ports import PortTree, form_of_shapes, port_names, spaces_of_shapes
from linkwork.compiler.trace.side_effects import SideEffects
from linkwork.compiler.trace.stored_traces import (
    check_trace,
    load_trace,
    recipe_of,
    store_trace,
    trace_key,
)
from linkwork.compiler.trace.user_state import VariableWatch
from linkwork.expr.arrays.pytree import Leaf, TreeDef, flatten, is_nested, leaf_paths, num_elements, unflatten
from linkwork.expr.scalar.symbol import Graph, Symbol
from linkwork.expr.scalar.symbol_methods import AS_AN_INDEX

__all__ = ["Trace", "compile", "compile_guarded", "compile_later", "trace", "traced_function"]


Guards = Callable[..., Sequence[Any]]  # which return values that are positive where the result is invalid
Shape = Any  # an integer, a tuple of integers, a space, or a tuple, named tuple, dataclass or dict of shapes


@overload
def compile(function: Callable[..., Any], /, *, name: str | None = None, **shapes: Shape) -> Kernel: ...


@overload
def compile(*, name: str | None = None, **shapes: Shape) -> Callable[[Callable[..., Any]], Kernel]: ...


@public
def compile(function: Callable[..., Any] | None = None, /, *, name: str | None = None, **shapes: Shape) -> Any:
    """Compile a Python function of arrays to machine code.

    The function is called once, with an array of symbols for each keyword; the keyword's value is the array's shape (a
    single symbol for ``()``). It may use ``+ - * / ** @``, NumPy's functions, methods of robots, other kernels and the
    functions of `linkwork.expr`. Its result becomes the outputs: one array, or several arrays as a tuple, a named tuple
    or a dict (the latter two name the outputs). Shapes may be nested in tuples, named tuples, dataclasses and dicts:
    the function and the kernel then take such a value. For a configuration of a robot, pass
    ``robot.configuration_space`` as its shape, so that derivatives are with respect to its tangent vector. The names
    ``name`` and ``out`` are reserved, here and in the kernel's call.

    >>> import linkwork as lw
    >>> distance = lw.compile(lambda p, q: ((p - q) @ (p - q)) ** 0.5, p=(3,), q=(3,))
    >>> float(distance([0.0, 0.0, 0.0], [3.0, 4.0, 0.0]))
    5.0

    Without the function it is a decorator:

    >>> @lw.compile(x=(3,), k=())
    ... def force(x, k):
    ...     return -k * x

    Raises TypeError if an argument has no shape, or if the function returns a value that is not numeric or uses a truth
    value as a number; ValueError for an invalid shape or a name that is not an identifier. Errors inside the function
    name its line. A TraceWarning reports side effects of the function.
    """
    if not (name is None or isinstance(name, str)):
        raise TypeError(f"compile: name: expected the kernel's name, got {name!r}; an input cannot be called 'name'")
    if name is not None and not name.isidentifier():
        raise ValueError(f"compile: name: expected an identifier as the kernel's name, got {name!r}")
    if function is None:
        return lambda function: compile(function, name=name, **shapes)
    if not callable(function):
        raise TypeError(
            f"compile: function: expected a function, got {function!r}; pass shapes by the arguments' names"
        )
    called = _kernel_name(function, name)
    _check_inputs(function, shapes)
    program, nesting, spaces = traced_function(function, called, shapes)
    watch = VariableWatch.of(called, function)
    return Kernel(program, doc=_doc(function), function=function, nesting=nesting, spaces=spaces, watch=watch)


def compile_later(function: Callable[..., Any], /, *, name: str | None = None, **shapes: Shape) -> Kernel:
    """Trace a function of linkwork; each entry of its code is compiled by the first call that needs it.

    If the cache has the function's trace, the function is called only when the program itself is needed.  The trace may
    depend only on values in the function's closure.
    """
    return _lazy_kernel(function, name, shapes)


def _kernel_name(function: Callable[..., Any], name: str | None) -> str:
    called = str(name or getattr(function, "__name__", "function"))
    return called if called.isidentifier() else "function"  # a lambda, say


def _doc(function: Callable[..., Any]) -> str:
    return (function.__doc__ or "").strip()


def _lazy_kernel(
    function: Callable[..., Any], name: str | None, shapes: Mapping[str, Shape], guards: Guards | None = None
) -> Kernel:
    """Return the kernel of a function of linkwork, from its stored trace or a new one."""
    _check_inputs(function, shapes)
    called = _kernel_name(function, name)
    key = trace_key(called, (function, guards), shapes)
    stored = None if key is None else load_trace(key)
    if stored is None or is_debugging():
        program, nesting, spaces = traced_function(function, called, shapes, guards, verified=is_debugging())
        if stored is not None:
            check_trace(stored, program, nesting.outputs)
        stored = None if key is None else stored or store_trace(key, program, nesting.outputs)
        recipe = Recipe.of(program) if stored is None else recipe_of(called, program.inputs, stored, lambda: program)
        return Kernel(recipe, doc=_doc(function), function=function, nesting=nesting, spaces=spaces, later=True)
    forms, ports, spaces = _inputs(called, shapes)
    recipe = recipe_of(
        called, ports, stored, lambda: traced_function(function, called, shapes, guards, verified=False).program
    )
    nesting = PortTree(forms, stored.form)
    return Kernel(recipe, doc=_doc(function), function=function, nesting=nesting, spaces=spaces, later=True)


def _check_inputs(function: Callable[..., Any], shapes: Mapping[str, Shape]) -> None:
    """Raise TypeError unless the function has exactly the arguments whose shapes are declared."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a built-in function may have no signature
        return
    try:
        signature.bind(**dict.fromkeys(shapes))
    except TypeError as error:
        needed = [key for key, p in signature.parameters.items() if p.default is p.empty and p.kind in (1, 3)]
        shown = ", ".join(f"{key}=(3,)" for key in needed) or "x=()"
        inputs = f"inputs are the function's arguments, each with its shape, as in compile(f, {shown})"
        raise TypeError(f"compile: {error}; {inputs}") from None


class Trace(NamedTuple):
    """A function's program, the nesting of its inputs and outputs, and the spaces of its inputs."""

    program: Program
    nesting: PortTree
    spaces: Spaces


def trace(function: Callable[..., Any], name: str, shapes: Mapping[str, Shape]) -> Program:
    """Return the program of a function of arrays of symbols: see `compile`."""
    return traced_function(function, name, shapes).program


def compile_guarded(function: Callable[..., Any], guards: Guards, *, name: str, **shapes: Shape) -> Kernel:
    """Compile a function, and guards of the same arguments; compiled code reports if a guard is positive."""
    return _lazy_kernel(function, name, shapes, guards)


@without_collections
def traced_function(
    function: Callable[..., Any],
    name: str,
    shapes: Mapping[str, Shape],
    guards: Guards | None = None,
    *,
    verified: bool = True,
) -> Trace:
    """Trace a function, and its guards if any; return program, nesting and spaces.

    ``verified`` is False for functions of linkwork, which are verified in tests.
    """
    caller = written_at(name, function)
    graph = Graph(f"the trace of {caller}")
    forms, ports, spaces = _inputs(name, shapes)
    inputs = [(port, graph.inputs(port.name, port.shape)) for port in ports]
    symbols, start = [symbol for _, elements in inputs for symbol in elements], 0
    arguments: dict[str, Any] = {}
    for key, nesting in forms.items():
        count = num_elements(nesting)
        arguments[key] = unflatten(nesting, symbols[start : start + count])
        start += count
    from linkwork.compiler.program import verify

    effects = SideEffects(function)
    with effects.noted():
        returned = run_on_symbols(function, arguments, name)
    effects.warn(name, graph)
    try:
        outputs, form = _outputs(name, returned)
        _check_names(name, [port for port, _ in outputs])
        _check_traces(name, graph, outputs)
        program = Program.of(name, inputs, outputs, guards(**arguments) if guards is not None else ())
        if verified:
            verify(program)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{error}\n    in {caller}") from None
    graph.clear()
    return Trace(program, PortTree(forms, form), spaces)


def _inputs(name: str, shapes: Mapping[str, Shape]) -> tuple[dict[str, TreeDef | Leaf], tuple[Port, ...], Spaces]:
    """Return the forms of a function's inputs, their ports, and the spaces of those that have one."""
    forms: dict[str, TreeDef | Leaf] = {}
    inputs: list[Port] = []
    spaces: dict[str, Space] = {}
    for key, shape in shapes.items():
        if key == "out":
            reserved = "the kernel's call uses that name for the arrays to write to"
            raise ValueError(f"an input cannot be called 'out': {reserved}")
        forms[key] = form_of_shapes(key, shape)
        ports = port_names(name, key, forms[key])
        inputs += ports
        points = zip(ports, spaces_of_shapes(shape), strict=True)
        spaces |= {port.name: space for port, space in points if space is not None}
    _check_names(name, inputs)
    return forms, tuple(inputs), Spaces(spaces)


def _check_names(name: str, ports: list[Port]) -> None:
    names = [port.name for port in ports]
    twice = [key for key in names if names.count(key) > 1]
    if twice:
        raise ValueError(f"{name}: two arrays would be called {twice[0]!r}: nested names are joined by underscores")


def _check_traces(name: str, graph: Graph, outputs: list[tuple[Port, list[Any]]]) -> None:
    """Raise ValueError if an output holds a symbol of another trace."""
    for port, elements in outputs:
        for x in elements:
            if isinstance(x, Symbol) and x.graph is not graph:
                theirs = x.graph.owner or "another trace"
                raise ValueError(
                    f"{name}: {port.name} holds {x!r}, which is of {theirs}: symbols are valid only inside the "
                    f"function that they were created for; do not store them outside"
                )


def _outputs(name: str, returned: Any) -> tuple[list[tuple[Port, list[Any]]], TreeDef | None]:
    """Return the outputs by name, and their nesting: None for one array or a flat sequence."""
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


def _nested_outputs(name: str, returned: Any) -> tuple[list[tuple[Port, list[Any]]], TreeDef | None]:
    elements, form = flatten(returned, f"{name}: output")
    leaves = leaf_paths(form)
    if not leaves:
        raise TypeError(f"{name}: expected the function to return an array, got {returned!r}")
    keyed = [("_".join(path), leaf) for path, leaf in leaves]
    result, start = [], 0
    for key, leaf in keyed:
        key = key if key.isidentifier() else f"output{key}"
        _check_key(name, key)
        part = elements[start : start + leaf.size]
        _check_elements(name, key, part)
        result.append((Port(key, leaf.shape), part))
        start += leaf.size
    return result, form if isinstance(form, TreeDef) else None


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
        raise TypeError(f"{name}: expected the function to return an array, got {returned!r}")
    for key, _ in pairs:
        _check_key(name, key)
    return pairs


def _check_key(name: str, key: Any) -> None:
    if not (isinstance(key, str) and key.isidentifier()) or keyword.iskeyword(key) or key.startswith("_"):
        raise TypeError(f"{name}: expected outputs named by identifiers, got {key!r}")


def _check_elements(name: str, key: str, elements: list[Any]) -> None:
    """Raise TypeError if an output has an element that is not a number."""
    for element in elements:
        if isinstance(element, (bool, np.bool_)) or (isinstance(element, Symbol) and element.op.logical):
            raise TypeError(f"{name}: {key} has a truth value; return where(condition, 1.0, 0.0) instead")
        if not isinstance(element, (Symbol, int, float, np.integer, np.floating)):
            raise TypeError(f"{name}: {key} has an element that is not a number: {element!r}")


_INDEX = ("only integers, slices", "arrays used as indices must be")
_PLAIN_ARRAY = "which has no callable"  # NumPy's message for an array of symbols and numbers


def run_on_symbols(function: Callable[..., Any], arguments: Mapping[str, Any], name: str) -> Any:
    """Call the function on symbols and return its result; errors about symbols name the user's line."""
    try:
        return function(**arguments)
    except RecursionError as error:
        if not str(error).startswith("maximum recursion depth"):  # linkwork's own, of `call`
            raise
        where = line_of(error.__traceback__)
        message = (
            f"{name}: infinite recursion while tracing: a condition on a symbol cannot end a Python "
            f"recursion; use linkwork.while_loop, scan or fori_loop\n    at {where}"
        )
    except Exception as error:
        _add_position(error)
        raise
    raise RecursionError(message)


def _add_position(error: Exception) -> None:
    """Add the user's line to an error: in the message if it is about symbols, otherwise as a note."""
    where = line_of(error.__traceback__)
    text = error.args[0] if len(error.args) == 1 and isinstance(error.args[0], str) else ""
    if not where or "\n    at " in text:  # it was added when a function inside of this one was traced
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
    """Return True if linkwork raised the error."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    module = traceback.tb_frame.f_globals.get("__name__", "") if traceback is not None else ""
    return bool(module.partition(".")[0] == "linkwork")


def written_at(name: str, function: Callable[..., Any]) -> str:
    """Return a function's name with file and line, for errors that are detected after it returned."""
    position = source_of(function)
    return f"{name} ({position})" if position else name
