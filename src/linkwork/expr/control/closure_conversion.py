"""Closure conversion: Python functions as bodies of loops, branches and calls.

Bodies accept and return flat lists of numbers: truth values are 0 and 1, and a dual number is its value and its
derivatives.

A body's function runs in the current trace, so it may use every symbol in scope.  Values that do not depend on the
body's own symbols are computed outside, once, and become arguments of the body.  Bodies are copied into traces of their
own to be differentiated.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import attrgetter
from typing import Any, NamedTuple

from linkwork._util.cached_properties import cached_property
from linkwork.expr.autodiff.dual_numbers import Dual, SparseTangent
from linkwork.expr.autodiff.graph_derivative import adjoint, forward, is_zero, jacobian, tangent
from linkwork.expr.autodiff.masked_terms import flagged, is_conditional, terms_of_body
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.interpreter import CONSTANT
from linkwork.expr.scalar.multi_result import SparseRow
from linkwork.expr.scalar.symbol import Graph, Symbol

__all__ = [
    "Differentiated",
    "InnerName",
    "Residual",
    "close_over",
    "close_since",
    "flagged_rows",
    "forward_bodies",
    "function_label",
    "graph_of",
    "inner_symbols",
    "keys_of",
    "reverse_bodies",
    "rows_of_body",
]


_INDEX = attrgetter("index")


class InnerName(str):
    """Name of a symbol that is internal to a loop or a called function: outside of it the symbol has no value."""

    __slots__ = ()


def inner_symbols(graph: Graph, label: str, count: int) -> list[Symbol]:
    """Create fresh symbols for the inside of a loop or a called function; ``label`` names them in errors."""
    return [graph.input(InnerName(label)) for _ in range(count)]


def close_over(fresh: Sequence[Symbol], results: Sequence[Any], early: int = 0) -> tuple[Region, list[Symbol]]:
    """Return the body that computes ``results`` from the ``fresh`` symbols, and the outer symbols that it uses.

    Outer symbols are those that do not depend on the fresh ones.  They are inputs of the body after the fresh ones.
    The ``early`` first results are computed before the others.
    """
    if not fresh:
        owner = graph_of(results)
        return close_since(0 if owner is None else len(owner.nodes), results, early)
    graph, first = fresh[0].graph, fresh[0].index
    inside = bytearray(len(graph.nodes) - first)
    for symbol in fresh:
        inside[symbol.index - first] = 1
    used: list[Symbol] = []
    outer: list[Symbol] = []
    add, add_outer = used.append, outer.append
    for node in _reached(graph, results, first):
        k = node.index - first
        if inside[k]:
            add(node)
            continue
        outer_arguments = [a for a in node.args if a.index < first or not inside[a.index - first]]
        if len(outer_arguments) < len(node.args):
            inside[k] = 1
            add(node)
            for a in outer_arguments:
                add_outer(a)
    taken, used = _with_outer_symbols(used, outer, results, first, inside)
    return Region.of(results, [*fresh, *taken], early, used), taken


def close_since(mark: int, results: Sequence[Any], early: int = 0) -> tuple[Region, list[Symbol]]:
    """Return the instructions that compute ``results``, and their inputs: the older symbols that they use.

    The instructions are the nodes of the trace after the first ``mark`` nodes.  The ``early`` first results are
    computed before the others.
    """
    graph = graph_of(results)
    if graph is None:
        return Region.of(results, [], early), []
    inside = bytearray(b"\1") * max(len(graph.nodes) - mark, 0)
    used = _reached(graph, results, mark)
    outer = [a for node in used for a in node.args if a.index < mark]
    taken, used = _with_outer_symbols(used, outer, results, mark, inside)
    return Region.of(results, taken, early, used), taken


def _reached(graph: Graph, results: Sequence[Any], first: int) -> list[Symbol]:
    """Return the nodes from index ``first`` on that the results depend on, in the order of the trace."""
    nodes = graph.nodes[first:]
    reached = bytearray(max(len(nodes), 0))
    for x in results:
        if x.__class__ is Symbol and x.index >= first:
            reached[x.index - first] = 1
    k = len(nodes)
    for node in reversed(nodes):  # bodies of loops inside are not visited: they are no arguments
        k -= 1
        if reached[k]:
            for a in node.args:
                if a.index >= first:
                    reached[a.index - first] = 1
    return list(compress(nodes, reached))


def _with_outer_symbols(
    used: list[Symbol], outer: list[Symbol], results: Sequence[Any], first: int, inside: bytearray
) -> tuple[list[Symbol], list[Symbol]]:
    """Return the outer symbols that a body needs as inputs, and all nodes that it uses, in the order of the trace.

    ``used`` are the nodes of the body, and ``inside`` marks them, from index ``first`` on.  ``outer`` are the arguments
    of these nodes that are not inside.  Truth values are computed again inside, from the numbers that they compare.
    """
    outside = {x for x in results if x.__class__ is Symbol and not (x.index >= first and inside[x.index - first])}
    outside.update(outer)
    waiting = [x for x in outside if x.op.logical]
    while waiting:
        fresh = set(waiting.pop().args) - outside
        outside |= fresh
        waiting += [a for a in fresh if a.op.logical]
    taken = [x for x in outside if not (x.op.logical or x.op is CONSTANT)]
    return sorted(taken, key=_INDEX), sorted([*used, *outside], key=_INDEX)


def function_label(function: Callable[..., Any]) -> str:
    """Return a function's name, file and line, for messages."""
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    name = getattr(function, "__qualname__", None) or repr(function)
    return name if code is None else f"{name} ({code.co_filename}:{code.co_firstlineno})"


class Differentiated:
    """Copy of a body in a trace of its own, with its inputs and results as symbols, to be differentiated."""

    def __init__(self, body: Region) -> None:
        self.graph = Graph()
        self.inputs: list[Symbol] = self.graph.inputs("x", (body.takes,))
        self.results = body.run(self.inputs)

    def more(self, count: int) -> list[Symbol]:
        """Return ``count`` new input symbols of the trace, such as weights or directions."""
        return self.graph.inputs("more", (count,))

    def more_terms(self, are_conditional: Sequence[bool]) -> tuple[list[Any], list[Symbol]]:
        """Return one derivative term for each flag of ``are_conditional``, and the new input symbols of the terms.

        A conditional term is masked where its second input, a flag, is zero.
        """
        fresh = self.more(len(are_conditional) + sum(are_conditional))
        return [*terms_of_body(iter(fresh), are_conditional)], fresh

    def forward(
        self, results: Sequence[Any], keys: Sequence[Mapping[Any, bool]]
    ) -> tuple[list[SparseRow], list[Symbol]]:
        """Return the sparse derivatives of the results, and the new input symbols that they depend on.

        ``keys`` has, for each input, a dict of the directions in which the input has a derivative; the value is True
        for a conditional derivative.  The new symbols are the inputs' derivatives by direction, `flagged`.
        """
        terms, fresh = self.more_terms([flag for flags in keys for flag in flags.values()])
        each = iter(terms)
        return list(forward(results, self.inputs, [{key: next(each) for key in flags} for flags in keys])), fresh


@dataclass(frozen=True)
class Residual:
    """Residual r(x, p) of an equation, and bodies that compute its derivatives.

    The first ``unknowns`` inputs of ``body`` are x, and the others p.  Its first ``rows`` results are r.
    """

    body: Region
    unknowns: int
    rows: int

    @cached_property
    def linear(self) -> Region:
        """Instructions that compute the residual r and then its Jacobian ∂r/∂x, row by row, from x and p."""
        differentiated = Differentiated(self.body)
        rows = jacobian(differentiated.results[: self.rows], differentiated.inputs[: self.unknowns])
        return Region.of(
            [*differentiated.results[: self.rows], *(x for row in rows for x in row)], differentiated.inputs
        )

    @cached_property
    def jvp(self) -> Region:
        """Instructions that compute the product ∂r/∂p dp from x, p and dp."""
        differentiated = Differentiated(self.body)
        fresh = differentiated.more(len(differentiated.inputs) - self.unknowns)
        changes = tangent(differentiated.results[: self.rows], differentiated.inputs[self.unknowns :], fresh)
        return Region.of(changes, [*differentiated.inputs, *fresh])

    @cached_property
    def vjp(self) -> Region:
        """Instructions that compute the product (∂r/∂p)ᵀλ from x, p and λ."""
        differentiated = Differentiated(self.body)
        fresh = differentiated.more(self.rows)
        result = adjoint(differentiated.results[: self.rows], differentiated.inputs[self.unknowns :], fresh)
        return Region.of(result, [*differentiated.inputs, *fresh])


def keys_of(rows: Iterable[SparseRow]) -> dict[Any, bool]:
    """Return all directions in which any of the sparse derivatives has an element, in a fixed order.

    The value of a direction is True if one of these elements is conditional.
    """
    result: dict[Any, bool] = {}
    for row in rows:
        for key, x in row.items():
            result[key] = result.get(key, False) or is_conditional(x)
    return result


class DerivedBodies(NamedTuple):
    """Instruction lists (bodies) that compute the derivatives of other bodies.

    ``inputs`` are the values of the inputs that are added to the original inputs.  For forward derivatives, ``layout``
    is a dict of directions for each result.  For gradients, ``layout`` is a dict of the indices of arguments that have
    a gradient.  The dicts' values are True for terms that are conditional, or zero, in at least one body.  Inputs and
    results are `flagged`: a conditional term is followed by 1 or 0.
    """

    bodies: list[Region]
    inputs: list[Any]
    layout: Any


def flagged_rows(rows: Sequence[SparseRow], keys: Sequence[Mapping[Any, bool]]) -> list[Any]:
    """Return the derivatives of values, in the directions of ``keys``, as a flat list of numbers for a body.

    Each conditional derivative is followed by its flag (see `masked_terms.flagged`).
    """
    terms = [row.get(key, 0.0) for row, row_keys in zip(rows, keys, strict=True) for key in row_keys]
    return flagged(terms, [flag for row_keys in keys for flag in row_keys.values()])


def rows_of_body(elements: Iterator[Any], keys: Iterable[Mapping[Any, bool]]) -> list[SparseRow]:
    """Return the sparse derivatives, a dict by direction for each value, from a flat list of `flagged_rows`."""
    return [dict(zip(row_keys, terms_of_body(elements, row_keys.values()), strict=True)) for row_keys in keys]


def forward_bodies(bodies: Sequence[Region], rows: Sequence[SparseRow]) -> DerivedBodies:
    """Return bodies that compute the derivatives of the results of ``bodies`` in several directions.

    ``rows`` has, for each argument, a dict of its derivatives by direction.
    """
    keys = [keys_of([row]) for row in rows]
    opened = [Differentiated(body) for body in bodies]
    each = [differentiated.forward(differentiated.results, keys) for differentiated in opened]
    result = [
        {key: any(is_conditional(row.get(key, 0.0)) for row in same) for key in keys_of(same)}
        for same in zip(*(results for results, _ in each), strict=True)
    ]
    derived = [
        Region.of(flagged_rows(results, result), [*differentiated.inputs, *fresh])
        for differentiated, (results, fresh) in zip(opened, each, strict=True)
    ]
    return DerivedBodies(derived, flagged_rows(rows, keys), result)


def reverse_bodies(bodies: Sequence[Region], weights: Sequence[Any]) -> DerivedBodies:
    """Return, for each of ``bodies``, a body that computes the gradient of Σ weights·results."""
    used = [k for k, weight in enumerate(weights) if not is_zero(weight)]
    opened = [Differentiated(body) for body in bodies]
    flags = [is_conditional(weights[k]) for k in used]
    fresh = [differentiated.more_terms(flags) for differentiated in opened]
    gradients = [
        adjoint([differentiated.results[k] for k in used], differentiated.inputs, terms)
        for differentiated, (terms, _) in zip(opened, fresh, strict=True)
    ]
    indices = {
        k: any(map(is_conditional, same))
        for k, same in enumerate(zip(*gradients, strict=True))
        if not all(map(is_zero, same))
    }
    derived = [
        Region.of(flagged([row[k] for k in indices], indices.values()), [*differentiated.inputs, *body_terms])
        for differentiated, row, (_, body_terms) in zip(opened, gradients, fresh, strict=True)
    ]
    return DerivedBodies(derived, flagged([weights[k] for k in used], flags), indices)


def graph_of(scalars: Iterable[Any]) -> Graph | None:
    """Return the trace to which a symbol among these scalars, or in their components, belongs; None without symbols."""
    for x in scalars:
        if x.__class__ is Symbol:
            return x.graph
        inside = [x.value, x.tangent] if x.__class__ is Dual else x.row.values() if x.__class__ is SparseTangent else ()
        graph = graph_of(inside) if inside else None
        if graph is not None:
            return graph
    return None
