"""The bodies of loops, choices and calls, taken into traces of their own to be differentiated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from linkwork.expr.autodiff.graph_derivative import adjoint, forward, is_zero
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.multi_result import Row
from linkwork.expr.scalar.symbol import Graph, Symbol

__all__ = ["Differentiated", "keys_of", "pulled", "pushed"]


class Differentiated:
    """A body in a trace of its own, to be differentiated."""

    def __init__(self, body: Region) -> None:
        self.graph = Graph()
        self.inputs: list[Symbol] = self.graph.inputs("x", (body.takes,))
        self.results = body.run(self.inputs)

    def more(self, count: int) -> list[Symbol]:
        """Further inputs."""
        return self.graph.inputs("more", (count,))

    def pushed(self, results: Sequence[Any], keys: Sequence[Sequence[Any]]) -> tuple[list[Row], list[Symbol]]:
        """The derivatives of some results, and their new inputs: the inputs' derivatives in these directions."""
        fresh = iter(self.more(sum(map(len, keys))))
        seeds = [{key: next(fresh) for key in some} for some in keys]
        return list(forward(results, self.inputs, seeds)), [x for seed in seeds for x in seed.values()]


def keys_of(rows: Iterable[Row]) -> list[Any]:
    """The directions in which some of the rows have a derivative, in a fixed order."""
    return list(dict.fromkeys(key for row in rows for key in row))


class Derived(NamedTuple):
    """Bodies of the same arguments that give derivatives of some that did, what they take further, and their results:
    in which directions each result has a derivative, or which arguments have one."""

    bodies: list[Region]
    given: list[Any]
    found: list[Any]


def pushed(bodies: Sequence[Region], rows: Sequence[Row]) -> Derived:
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
