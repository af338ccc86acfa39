"""Functions as bodies of loops, choices and calls: nested values as plain numbers, and closures over a trace.

Bodies take and return plain numbers: truth values are 0 and 1, and a dual number is its value and its derivatives.

A body's function runs in the current trace, so it may use every symbol that it sees.  What does not depend on the
fresh symbols stays outside of the body: it is computed once, and becomes an argument.  Bodies are taken into traces
of their own to be differentiated.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.arrays.pytree import Form, Leaf, put_together, size_of, taken_apart
from linkwork.expr.autodiff.dual_numbers import Dual
from linkwork.expr.autodiff.graph_derivative import adjoint, forward, is_zero, jacobian, tangent
from linkwork.expr.autodiff.sparse_tangent import SparseTangent
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.functions import eq, not_, where
from linkwork.expr.scalar.interpreter import CONSTANT
from linkwork.expr.scalar.multi_result import FunctionSpec
from linkwork.expr.scalar.symbol import Graph, Symbol

__all__ = [
    "Differentiated",
    "Inside",
    "Numbers",
    "Residual",
    "closed",
    "closed_since",
    "graph_of",
    "is_truth",
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
        result = adjoint(one.results[: self.rows], one.inputs[self.unknowns :], fresh)
        return Region.of(result, [*one.inputs, *fresh])


def keys_of(rows: Iterable[FunctionSpec]) -> list[Any]:
    """The directions in which some of the rows have a derivative, in a fixed order."""
    return list(dict.fromkeys(key for row in rows for key in row))


class Derived(NamedTuple):
    """Bodies of the same arguments that give derivatives of some that did, what they take further, and their results:
    in which directions each result has a derivative, or which arguments have one.
    """

    bodies: list[Region]
    given: list[Any]
    found: list[Any]


def pushed(bodies: Sequence[Region], rows: Sequence[FunctionSpec]) -> Derived:
    """Forward, of the arguments' derivatives in several directions; ``result`` has the directions of each result."""
    keys = [list(row) for row in rows]
    opened = [Differentiated(body) for body in bodies]
    each = [one.pushed(one.results, keys) for one in opened]
    result = [keys_of(same) for same in zip(*(results for results, _ in each), strict=True)]
    made = [
        Region.of([row.get(key, 0.0) for row, some in zip(results, result, strict=True) for key in some],
                  [*one.inputs, *fresh])
        for one, (results, fresh) in zip(opened, each, strict=True)
    ]  # fmt: skip
    return Derived(made, [x for row in rows for x in row.values()], result)


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


# What a scalar is made of: "n", a number; "t", a truth value; or (level, grain of the value, grain of the tangent).  A
# tangent may also be {direction: grain}, its directions in a fixed order.
Grain = Any


def graph_of(numbers: Iterable[Any]) -> Graph | None:
    """The trace that some of these numbers, or parts of them, belong to."""
    for x in numbers:
        if x.__class__ is Symbol:
            return x.graph
        inside = [x.value, x.tangent] if x.__class__ is Dual else x.row.values() if x.__class__ is SparseTangent else ()
        graph = graph_of(inside) if inside else None
        if graph is not None:
            return graph
    return None


def is_truth(x: Any) -> bool:
    return isinstance(x, (bool, np.bool_)) or (x.__class__ is Symbol and x.op.logical)


def truth_of(number: Any) -> Any:
    """A truth value that was carried as a number."""
    return not_(eq(number, 0.0))


class Numbers:
    """A nested value as numbers that a body can take and give."""

    def __init__(self, value: Any, caller: str) -> None:
        self.scalars, self.form = taken_apart(value, caller)
        self.grains = [_grain(x) for x in self.scalars]

    @property
    def logical(self) -> list[bool]:
        """Whether each scalar is a truth value."""
        return [grain == "t" for grain in self.grains]

    @property
    def elements(self) -> list[Any]:
        """The numbers that all scalars are made of: first the value of each, then derivatives."""
        return _apart(self.scalars, self.grains)

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return sum(map(_size, self.grains))

    @staticmethod
    def alike(form: Form | Leaf, rows: Sequence[Sequence[Any]]) -> tuple[Numbers, list[list[Any]]]:
        """What several values of one form are made of, together, and the numbers of each, given their scalars."""
        one = Numbers(put_together(form, [0.0] * size_of(form)), "")
        for row in rows:
            one.grains = [merged(old, _grain(x)) for old, x in zip(one.grains, row, strict=True)]
        if rows:
            one.grains = ["t" if is_truth(x) else grain for grain, x in zip(one.grains, rows[0], strict=True)]
        return one, [_apart(row, one.grains) for row in rows]

    def scalars_of(self, numbers: Sequence[Any]) -> list[Any]:
        """The scalars that other numbers in the same places make up."""
        many = len(self.grains)
        rest = iter(numbers[many:])
        return [_joined(chain(numbers[k : k + 1], rest), grain) for k, grain in enumerate(self.grains)]

    def together(self, numbers: Sequence[Any]) -> Any:
        """The value of other numbers in the same places."""
        return put_together(self.form, self.scalars_of(numbers))

    def widen(self, other: Numbers) -> bool:
        """Take in what the scalars of another value of this form are made of, too; whether that is anything new."""
        grains = [merged(one, two) for one, two in zip(self.grains, other.grains, strict=True)]
        changed = grains != self.grains
        self.grains = grains
        return changed


def merged(one: Grain, other: Grain) -> Grain:
    """What a scalar is made of that is made of either."""
    if isinstance(one, str) and isinstance(other, str):
        return one
    if isinstance(one, dict) or isinstance(other, dict):
        rows = [x if isinstance(x, dict) else {} for x in (one, other)]
        return {key: merged(*(row.get(key, "n") for row in rows)) for key in _ordered({**rows[0], **rows[1]})}
    if isinstance(one, str) or (not isinstance(other, str) and other[0] > one[0]):
        one, other = other, one
    level, value, tangent = one
    if isinstance(other, str) or other[0] < level:
        return level, merged(value, other), tangent
    return level, merged(value, other[1]), merged(tangent, other[2])


def _grain(x: Any) -> Grain:
    if x.__class__ is Dual:
        return x.level, _grain(x.value), _grain(x.tangent)
    if x.__class__ is SparseTangent:
        return {key: _grain(x.row[key]) for key in _ordered(x.row)}
    return "t" if is_truth(x) else "n"


def _ordered(keys: Iterable[Any]) -> list[Any]:
    return sorted(keys, key=lambda key: (type(key).__name__, repr(key)))


def _size(grain: Grain) -> int:
    if isinstance(grain, dict):
        return sum(map(_size, grain.values()))
    return 1 if isinstance(grain, str) else _size(grain[1]) + _size(grain[2])


def _apart(scalars: Sequence[Any], grains: Sequence[Grain]) -> list[Any]:
    parts = [_parts(x, grain) for x, grain in zip(scalars, grains, strict=True)]
    return [*(some[0] for some in parts), *(x for some in parts for x in some[1:])]


def _parts(x: Any, grain: Grain) -> list[Any]:
    if isinstance(grain, str):
        return [where(x, 1.0, 0.0) if grain == "t" else x]
    if isinstance(grain, dict):
        result = [_parts(x.get(key) if x.__class__ is SparseTangent else 0.0, inner) for key, inner in grain.items()]
        return [y for some in result for y in some]
    level, value, tangent = grain
    here = (x.value, x.tangent) if x.__class__ is Dual and x.level == level else (x, 0.0)
    return [*_parts(here[0], value), *_parts(here[1], tangent)]


def _joined(numbers: Iterator[Any], grain: Grain) -> Any:
    if isinstance(grain, str):
        number = next(numbers)
        return truth_of(number) if grain == "t" else number
    if isinstance(grain, dict):
        return SparseTangent({key: _joined(numbers, inner) for key, inner in grain.items()})
    level, value, tangent = grain
    return Dual(_joined(numbers, value), _joined(numbers, tangent), level)
