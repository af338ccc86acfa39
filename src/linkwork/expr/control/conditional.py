"""Branches and calls over any scalar."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from copy import copy
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.thread_safety import BoundedCache
from linkwork.expr.arrays.pytree import (
    Leaf,
    TreeDef,
    describe_difference,
    map_leaves,
    tree_def,
    tree_map,
)
from linkwork.expr.control.branch_and_call_instructions import Choice, Subroutine
from linkwork.expr.control.closure_conversion import close_over, close_since, function_label, graph_of, inner_symbols
from linkwork.expr.control.flat_values import FlatValue
from linkwork.expr.control.numeric_loops import call_argument, is_element_batch, select_samples, truth_of_condition
from linkwork.expr.scalar.symbol import Graph, Symbol

__all__ = ["SharedCall", "SharedStructure", "call", "call_once_traced", "cond"]


def _called(argument: str, branch: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
    """Call a branch of `cond`.  Raises TypeError, with the argument's name, if it rejects the operands."""
    count = f"{len(operands)} operand{'' if len(operands) == 1 else 's'}"
    return call_argument(f"cond: {argument}", count, branch, *operands)


@public
def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """Return ``true_fun(*operands)`` where ``pred`` is true, else ``false_fun(*operands)``.

    Both return values of the same structure and shapes, and may use any variable in scope.  Compiled code runs only one
    branch if all samples processed together agree; `where` computes both, and is better for a few operations.  On NumPy
    batches both are computed.

    >>> from linkwork.expr import cond, sqrt
    >>> cond(True, lambda x: sqrt(x), lambda x: 0.0, 4.0)
    2.0

    Raises TypeError for a condition that is not a truth value, and for branches that return different structures.
    """
    holds = truth_of_condition("cond", pred)
    if isinstance(holds, (bool, np.bool_)):
        return _called("true_fun", true_fun, operands) if holds else _called("false_fun", false_fun, operands)
    if holds.__class__ is not Symbol:
        return _masked(holds, true_fun, false_fun, operands, in_elements=is_element_batch(pred))
    graph = holds.graph
    mark = len(graph.nodes)
    from_true = FlatValue(
        _called("true_fun", true_fun, operands), f"cond: true_fun: result of {function_label(true_fun)}"
    )
    from_false = FlatValue(
        _called("false_fun", false_fun, operands), f"cond: false_fun: result of {function_label(false_fun)}"
    )
    text = describe_difference(from_true.form, from_false.form)
    if not text and from_true.logical != from_false.logical:
        text = "one returns a truth value, the other a number"
    if text:
        raise _different(true_fun, false_fun, text)
    from_true.widen(from_false)
    from_false.widen(from_true)
    (first, taken_first), (second, taken_second) = (close_since(mark, x.elements) for x in (from_true, from_false))
    taken = sorted({*taken_first, *taken_second}, key=lambda x: x.index)
    index = {x: k for k, x in enumerate(taken)}
    yes_body = first.taking([index[x] for x in taken_first], len(taken))
    no_body = second.taking([index[x] for x in taken_second], len(taken))
    return from_true.together(graph.bundle(Choice(yes_body, no_body), [holds, *taken]))


def _masked(
    holds: np.ndarray, yes: Callable[..., Any], no: Callable[..., Any], operands: tuple[Any, ...], *, in_elements: bool
) -> Any:
    """Return the results of both branches of `cond`, selected for each sample of NumPy batches.

    Both branches are evaluated for all samples.  ``holds`` is the condition of each sample.
    """
    choose = select_samples(holds, in_elements=in_elements)
    with np.errstate(all="ignore"):
        first, second = yes(*operands), no(*operands)
    text = describe_difference(_nesting(first, yes), _nesting(second, no))
    if text:
        raise _different(yes, no, text)
    with np.errstate(all="ignore"):
        return tree_map(choose, first, second)


def _nesting(result: Any, branch: Callable[..., Any]) -> TreeDef | Leaf:
    """Return the structure of a branch's result (nested tuples, dicts and so on), without the shapes of its arrays."""
    form = tree_def(result, f"cond: result of {function_label(branch)}")
    return map_leaves(form, lambda leaf: Leaf((), is_array=False))


def _different(yes: Callable[..., Any], no: Callable[..., Any], text: str) -> TypeError:
    return TypeError(
        f"cond: expected results of the same structure from {function_label(yes)} and {function_label(no)}: {text}"
    )


@public
def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return ``function(*arguments)``; in a compiled kernel, all such calls share one copy of the function's code.

    All numbers in the arguments, including constants, are inputs of that code, so the code is shared by calls with
    different constants. If all arguments are numbers, it is an ordinary call.

    >>> from linkwork.expr import call
    >>> call(lambda x, k: k * x, 3.0, 2.0)
    6.0

    Raises RecursionError if the function calls itself, TypeError for arguments that are neither arrays nor numbers.
    """
    flat = FlatValue(arguments, "call: arguments")
    graph = graph_of(flat.scalars)
    return function(*arguments) if graph is None else TracedCall(graph, function, flat)(flat)


class TracedCall:
    """A function traced for arguments of one structure, as a body that is stored once in the code."""

    def __init__(self, graph: Graph, function: Callable[..., Any], flat: FlatValue) -> None:
        if function in graph.calling:
            raise RecursionError(
                f"call: {function_label(function)} calls itself: compiled code cannot recurse; use while_loop, scan or "
                "fori_loop"
            )
        self.graph, self.layouts = graph, flat.layouts
        fresh = inner_symbols(graph, f"the arguments of {function_label(function)}", len(flat.elements))
        graph.calling.append(function)
        try:
            self.result = FlatValue(function(*flat.together(fresh)), f"call: result of {function_label(function)}")
        finally:
            graph.calling.pop()
        body, self.outside = close_over(fresh, self.result.elements)
        self.routine = Subroutine(body)

    def __call__(self, flat: FlatValue) -> Any:
        return self.result.together(self.graph.bundle(self.routine, [*flat.elements, *self.outside]))


class SharedCall:
    """A function whose calls are like `call`, but which is traced only once per kernel, to save tracing time.

    Its arguments are numeric arrays of the same shapes in each call; variables that it uses must not change.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._traced: TracedCall | None = None

    def __call__(self, *arguments: Any) -> Any:
        flat = FlatValue(arguments, "call: arguments")
        graph = graph_of(flat.scalars)
        if graph is None:
            return self.function(*arguments)
        if self._traced is None or self._traced.graph is not graph or self._traced.layouts != flat.layouts:
            self._traced = TracedCall(graph, self.function, flat)
        return self._traced(flat)


class _StoredCall(NamedTuple):
    """A traced function that belongs to no trace: its code, the form of its result, and `Graph.in_double`."""

    routine: Subroutine
    result: FlatValue
    in_double: bool


_stored: BoundedCache[Hashable, _StoredCall] = BoundedCache(32)  # of the longest, each has some megabytes


def call_once_traced(key: Hashable, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return ``call(function, *arguments)``; the function is traced only once per process.

    ``key`` identifies the function, which may use no numbers except its arguments.
    """
    flat = FlatValue(arguments, "call: arguments")
    graph = graph_of(flat.scalars)
    if graph is None or any(layout != "n" for layout in flat.layouts):
        return call(function, *arguments)
    key = key, flat.form
    stored = _stored.get(key)
    if stored is None:
        stored = _stored.keep(key, _traced_alone(function, flat))
    graph.in_double |= stored.in_double
    return stored.result.together(graph.bundle(stored.routine, flat.elements))


def _traced_alone(function: Callable[..., Any], flat: FlatValue) -> _StoredCall:
    """Trace a function in a new trace, for arguments with the structure of ``flat``, and return its code."""
    graph = Graph(function_label(function))
    traced = TracedCall(graph, function, flat)
    traced.result.scalars = []  # symbols of the trace, which ends here
    graph.clear()
    return _StoredCall(traced.routine, traced.result, graph.in_double)


class SharedStructure:
    """A function that is traced once per kernel, as by `SharedCall`, with a result of lists, dicts and dataclasses.

    Its arguments are scalars or lists of scalars, of the same sizes in each call; variables that it uses must not
    change.  Only the symbols in the result depend on the arguments.  Numbers in the result, such as structural zeros,
    and objects of other classes are taken from the first call.  Outside of a trace, and for dual numbers, the function
    itself is called.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._form: Any = None
        self._call = SharedCall(self._symbols)

    def __call__(self, *arguments: Any) -> Any:
        scalars = [
            x for argument in arguments for x in (argument if isinstance(argument, (list, tuple)) else [argument])
        ]
        kinds = {x.__class__ for x in scalars}
        if Symbol not in kinds or not kinds <= {Symbol, float, int}:
            return self.function(*arguments)
        symbols = iter(
            self._call(*(tuple(argument) if isinstance(argument, list) else argument for argument in arguments))
        )
        return _rebuilt(self._form, lambda _: next(symbols))

    def _symbols(self, *arguments: Any) -> tuple[Any, ...]:
        """Call the function, store the form of its result, and return the symbols in it."""
        self._form = self.function(
            *(list(argument) if isinstance(argument, tuple) else argument for argument in arguments)
        )
        leaves: list[Any] = []

        def noted(symbol: Any) -> Any:
            leaves.append(symbol)
            return symbol

        _rebuilt(self._form, noted)
        return tuple(leaves)


def _rebuilt(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a nested value in which ``change`` replaces each symbol, in a fixed order.

    Objects without symbols stay the same.
    """
    if value.__class__ is Symbol:
        return change(value)
    if isinstance(value, dict):
        return dict(zip(value, _rebuilt_items([*value.values()], change), strict=True))
    if isinstance(value, (list, tuple)):
        items = _rebuilt_items(value, change)
        return items if isinstance(value, list) else tuple(items)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    result = copy(value)
    for field in fields(value):
        object.__setattr__(result, field.name, _rebuilt(getattr(value, field.name), change))
    return result


def _rebuilt_items(values: Sequence[Any], change: Callable[[Any], Any]) -> list[Any]:
    return [_rebuilt(x, change) for x in values]
