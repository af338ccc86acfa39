"""Closing over a trace: what a function computes of fresh symbols becomes a body, and the rest is taken from outside.

The function runs in the trace that is there, so it may use whatever it sees.  What does not depend on the fresh symbols
stays outside of the body: it is computed once, and taken in as an argument.

The bodies of loops, choices and calls, taken into traces of their own to be differentiated.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from linkwork.expr.autodiff.graph_derivative import adjoint, forward, is_zero, jacobian, tangent
from linkwork.expr.control.flatten import graph_of
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.interpreter import CONSTANT
from linkwork.expr.scalar.multi_result import FunctionSpec
from linkwork.expr.scalar.symbol import Graph, Symbol

__all__ = [
    "Differentiated",
    "Inside",
    "Residual",
    "closed",
    "closed_since",
    "keys_of",
    "lent",
    "named",
    "pulled",
    "pushed",
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


class Differentiated:
    """A body in a trace of its own, to be differentiated."""

    def __init__(self, body: Region) -> None:
        self.graph = Graph()
        self.inputs: list[Symbol] = self.graph.inputs("x", (body.takes,))
        self.results = body.run(self.inputs)

    def more(self, count: int) -> list[Symbol]:
        """Further inputs."""
        return self.graph.inputs("more", (count,))

    def pushed(self, results: Sequence[Any], keys: Sequence[Sequence[Any]]) -> tuple[list[FunctionSpec], list[Symbol]]:
        """The derivatives of some results, and their new inputs: the inputs' derivatives in these directions."""
        fresh = iter(self.more(sum(map(len, keys))))
        seeds = [{key: next(fresh) for key in some} for some in keys]
        return list(forward(results, self.inputs, seeds)), [x for seed in seeds for x in seed.values()]


@dataclass(frozen=True)
class Residual:
    """r(x, p): the first ``rows`` results of a body whose first inputs are the ``unknowns`` x, and its derivatives."""

    body: Region
    unknowns: int
    rows: int

    @cached_property
    def linear(self) -> Region:
        """r and ∂r/∂x, row by row."""
        one = Differentiated(self.body)
        rows = jacobian(one.results[: self.rows], one.inputs[: self.unknowns])
        return Region.of([*one.results[: self.rows], *(x for row in rows for x in row)], one.inputs)

    @cached_property
    def pushed(self) -> Region:
        """∂r/∂p dp, of x, p and dp."""
        one = Differentiated(self.body)
        fresh = one.more(len(one.inputs) - self.unknowns)
        changes = tangent(one.results[: self.rows], one.inputs[self.unknowns :], fresh)
        return Region.of(changes, [*one.inputs, *fresh])

    @cached_property
    def pulled(self) -> Region:
        """(∂r/∂p)ᵀλ, of x, p and λ."""
        one = Differentiated(self.body)
        fresh = one.more(self.rows)
        found = adjoint(one.results[: self.rows], one.inputs[self.unknowns :], fresh)
        return Region.of(found, [*one.inputs, *fresh])


def keys_of(rows: Iterable[FunctionSpec]) -> list[Any]:
    """The directions in which some of the rows have a derivative, in a fixed order."""
    return list(dict.fromkeys(key for row in rows for key in row))


class Derived(NamedTuple):
    """Bodies of the same arguments that give derivatives of some that did, what they take further, and their results:
    in which directions each result has a derivative, or which arguments have one."""

    bodies: list[Region]
    given: list[Any]
    found: list[Any]


def pushed(bodies: Sequence[Region], rows: Sequence[FunctionSpec]) -> Derived:
    """Forward, of the arguments' derivatives in several directions; ``found`` has the directions of each result."""
    keys = [list(row) for row in rows]
    opened = [Differentiated(body) for body in bodies]
    each = [one.pushed(one.results, keys) for one in opened]
    found = [keys_of(same) for same in zip(*(results for results, _ in each), strict=True)]
    made = [
        Region.of([row.get(key, 0.0) for row, some in zip(results, found, strict=True) for key in some],
                  [*one.inputs, *fresh])
        for one, (results, fresh) in zip(opened, each, strict=True)
    ]  # fmt: skip
    return Derived(made, [x for row in rows for x in row.values()], found)


def pulled(bodies: Sequence[Region], weights: Sequence[Any]) -> Derived:
    """In reverse, of the results' weights; ``found`` are the numbers of the arguments that get one."""
    used = [k for k, weight in enumerate(weights) if not is_zero(weight)]
    opened = [Differentiated(body) for body in bodies]
    inputs = [[*one.inputs, *one.more(len(used))] for one in opened]
    gradients = [
        adjoint([one.results[k] for k in used], one.inputs, given[len(one.inputs) :])
        for one, given in zip(opened, inputs, strict=True)
    ]
    wanted = [k for k, same in enumerate(zip(*gradients, strict=True)) if not all(map(is_zero, same))]
    made = [Region.of([some[k] for k in wanted], given) for some, given in zip(gradients, inputs, strict=True)]
    return Derived(made, [weights[k] for k in used], wanted)
