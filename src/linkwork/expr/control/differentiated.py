"""The body of a loop, a choice or a call, taken into a trace of its own to be differentiated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..bundle import Row
from ..derivative import forward
from ..region import Region
from ..symbol import Graph, Symbol

__all__ = ["Differentiated", "keys_of"]


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
