"""Choices and calls over any scalar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.expr.arrays.pytree import (
    Form,
    Leaf,
    difference,
    form_of,
    mapped,
    reshaped,
    taken_apart,
)
from linkwork.expr.control.branch_and_call_instructions import Choice, Subroutine
from linkwork.expr.control.closure_conversion import Numbers, closed, closed_since, graph_of, lent, named
from linkwork.expr.control.numeric_loops import call_argument, chosen_by, is_of_elements, truth_of_condition
from linkwork.expr.scalar.symbol import Graph, Symbol

__all__ = ["SharedCall", "call", "cond"]


def _called(argument: str, branch: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
    """Call a branch of `cond`.  Raises TypeError, with the argument's name, where it does not accept the operands."""
    count = f"{len(operands)} operand{'' if len(operands) == 1 else 's'}"
    return call_argument(f"cond: {argument}", count, branch, *operands)


@public
def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """``true_fun(*operands)`` where ``pred`` holds, else ``false_fun(*operands)``: only what is needed is computed.

    Both return values of the same nesting and shapes, and may use anything around them.  In compiled code, a branch
    that all samples side by side agree on is the only one that runs; `where` computes both, and is better for what
    takes a few operations.  On NumPy batches both are computed.

    >>> from linkwork.expr import cond, sqrt
    >>> cond(True, lambda x: sqrt(x), lambda x: 0.0, 4.0)
    2.0

    Raises TypeError for a condition that is no truth value and for branches that return different kinds of values.
    """
    holds = truth_of_condition("cond", pred)
    if isinstance(holds, (bool, np.bool_)):
        return _called("true_fun", true_fun, operands) if holds else _called("false_fun", false_fun, operands)
    if holds.__class__ is not Symbol:
        return _masked(holds, true_fun, false_fun, operands, in_elements=is_of_elements(pred))
    graph = holds.graph
    mark = len(graph.nodes)
    one = Numbers(_called("true_fun", true_fun, operands), f"cond: what {named(true_fun)} returns")
    other = Numbers(_called("false_fun", false_fun, operands), f"cond: what {named(false_fun)} returns")
    text = difference(one.form, other.form)
    if not text and one.logical != other.logical:
        text = "one has a truth value where the other has a number"
    if text:
        raise _different(true_fun, false_fun, text)
    one.widen(other)
    other.widen(one)
    (first, taken_first), (second, taken_second) = (closed_since(mark, x.elements) for x in (one, other))
    taken = sorted({*taken_first, *taken_second}, key=lambda x: x.index)
    place = {x: k for k, x in enumerate(taken)}
    yes_body = first.taking([place[x] for x in taken_first], len(taken))
    no_body = second.taking([place[x] for x in taken_second], len(taken))
    return one.together(graph.bundle(Choice(yes_body, no_body), [holds, *taken]))


def _masked(
    holds: np.ndarray, yes: Callable[..., Any], no: Callable[..., Any], operands: tuple[Any, ...], *, in_elements: bool
) -> Any:
    """Both branches on NumPy batches."""
    choose = chosen_by(holds, in_elements=in_elements)
    with np.errstate(all="ignore"):
        one, other = yes(*operands), no(*operands)
    text = difference(_nesting(one, yes), _nesting(other, no))
    if text:
        raise _different(yes, no, text)
    with np.errstate(all="ignore"):
        return mapped(choose, one, other)


def _nesting(result: Any, branch: Callable[..., Any]) -> Form | Leaf:
    """How what a branch returned is nested, whatever the shapes."""
    form = form_of(result, f"cond: what {named(branch)} returns")
    return reshaped(form, lambda leaf: Leaf((), is_array=False))


def _different(yes: Callable[..., Any], no: Callable[..., Any], text: str) -> TypeError:
    return TypeError(f"cond: {named(yes)} and {named(no)} must return the same kind of value: {text}")


@public
def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """``function(*arguments)``, whose code stands once in a kernel, however often it is called.

    Every number of the arguments is an input of that code, also where it is known in advance: so the same function is
    used with many constants.  On numbers it is an ordinary call.

    >>> from linkwork.expr import call
    >>> call(lambda x, k: k * x, 3.0, 2.0)
    6.0

    Raises RecursionError where the function calls itself, TypeError for arguments that are no arrays or numbers.
    """
    numbers, _ = taken_apart(arguments, "call: arguments")
    graph = graph_of(numbers)
    if graph is None:
        return function(*arguments)
    return TracedCall(graph, function, arguments)(arguments)


class TracedCall:
    """What a function computes of arguments of one form, as a body that stands in the code once."""

    def __init__(self, graph: Graph, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        if function in graph.calling:
            raise RecursionError(
                f"call: {named(function)} calls itself: compiled code cannot recurse; write while_loop, scan or "
                "fori_loop"
            )
        self.graph = graph
        given = Numbers(arguments, "call: arguments")
        fresh = lent(graph, f"the arguments of {named(function)}", len(given.elements))
        graph.calling.append(function)
        try:
            self.result = Numbers(function(*given.together(fresh)), f"call: what {named(function)} returns")
        finally:
            graph.calling.pop()
        body, self.outside = closed(fresh, self.result.elements)
        self.routine = Subroutine(body)

    def __call__(self, arguments: tuple[Any, ...]) -> Any:
        given = Numbers(arguments, "call: arguments")
        return self.result.together(self.graph.bundle(self.routine, [*given.elements, *self.outside]))


class SharedCall:
    """A function that is called as by `call`, and is traced once in a kernel, so that what is large starts sooner.

    Its arguments are arrays of numbers, of the same shapes each time, and what it uses around it stays what it was.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._traced: TracedCall | None = None

    def __call__(self, *arguments: Any) -> Any:
        graph = graph_of(taken_apart(arguments, "call: arguments")[0])
        if graph is None:
            return self.function(*arguments)
        if self._traced is None or self._traced.graph is not graph:
            self._traced = TracedCall(graph, self.function, arguments)
        return self._traced(arguments)
