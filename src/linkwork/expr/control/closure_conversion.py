"""Closing over a trace: what a function computes of fresh symbols becomes a body, and the rest is taken from outside.

The function runs in the trace that is there, so it may use whatever it sees.  What does not depend on the fresh symbols
stays outside of the body: it is computed once, and taken in as an argument.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from linkwork.expr.control.flatten import graph_of
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.interpreter import CONSTANT
from linkwork.expr.scalar.symbol import Graph, Symbol

__all__ = [
    "Inside",
    "closed",
    "closed_since",
    "lent",
    "named",
]


class Inside(str):
    """The name of a symbol that has a value only while a loop, or what is called, runs."""

    __slots__ = ()


def lent(graph: Graph, what: str, count: int) -> list[Symbol]:
    """Fresh symbols for the inside of a loop or of what is called."""
    return [graph.input(Inside(what)) for _ in range(count)]


def closed(fresh: Sequence[Symbol], results: Sequence[Any], early: int = 0) -> tuple[Region, list[Symbol]]:
    """The body of results that depend on fresh symbols, and what it takes from outside, after these.

    The ``early`` first results are to be computed before all else.
    """
    if not fresh:
        owner = graph_of(results)
        return closed_since(0 if owner is None else len(owner.nodes), results, early)
    graph, first = fresh[0].graph, fresh[0].index
    nodes = graph.nodes[first:]
    inside = bytearray(len(nodes))
    for symbol in fresh:
        inside[symbol.index - first] = 1
    for k, node in enumerate(nodes):
        if any(a.index >= first and inside[a.index - first] for a in node.args):
            inside[k] = 1
    taken = _taken(graph, results, first, inside)
    return Region.of(results, [*fresh, *taken], early), taken


def closed_since(mark: int, results: Sequence[Any], early: int = 0) -> tuple[Region, list[Symbol]]:
    """The body of what a trace computed since it had so many nodes, and what that takes from before."""
    graph = graph_of(results)
    taken = [] if graph is None else _taken(graph, results, mark, bytearray(b"\1") * max(len(graph.nodes) - mark, 0))
    return Region.of(results, taken, early), taken


def _taken(graph: Graph, results: Sequence[Any], first: int, inside: bytearray) -> list[Symbol]:
    """What a body takes from outside, of whose nodes, from the first on, it is known which are inside.

    Truth values are computed inside again, of what they compare.
    """
    needed = bytearray(len(inside))
    outside: set[Symbol] = set()

    def need(x: Symbol) -> None:
        if x.index >= first and inside[x.index - first]:
            needed[x.index - first] = 1
        else:
            outside.add(x)

    for x in results:
        if x.__class__ is Symbol:
            need(x)
    for k in range(len(inside) - 1, -1, -1):
        if needed[k]:
            for a in graph.nodes[first + k].args:
                need(a)
    waiting = [x for x in outside if x.op.logical]
    while waiting:
        fresh = set(waiting.pop().args) - outside
        outside |= fresh
        waiting += [a for a in fresh if a.op.logical]
    return sorted((x for x in outside if not (x.op.logical or x.op is CONSTANT)), key=lambda x: x.index)


def named(function: Callable[..., Any]) -> str:
    """A function's name and where it is written."""
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    name = getattr(function, "__qualname__", None) or repr(function)  # that of a method's object may be long
    return name if code is None else f"{name} ({code.co_filename}:{code.co_firstlineno})"
