"""Where the operations of a robot's compiled function come from: which body, and which walk over the tree.

Algorithms ask the tree for their walks, and a graph numbers its nodes in the order they are made.  So a tree that notes
the size of the graph whenever it hands out a body tells of every node which body it was made for.  An operation that
several bodies need counts where it was made first, and what no result needs does not count.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ..expr.interpret import reachable
from ..expr.symbol import Graph
from ..model.body import Body
from ..model.tree import Tree
from .machine import arithmetic
from .requests import read_request
from .subjects import OfRobot
from .tracing import traced

__all__ = ["Explanation", "Work", "explain"]


@dataclass(frozen=True, slots=True)
class Work:
    """Operations that have one thing in common, such as the body they were made for."""

    operations: Mapping[str, int]  # how many of each kind
    by_pass: tuple[int, ...]  # multiplications, additions and subtractions in each pass

    @property
    def arithmetic(self) -> int:
        """Multiplications, additions and subtractions."""
        return arithmetic(self.operations)

    def count(self, *kinds: str) -> int:
        """How many operations are of one of these kinds."""
        return sum(self.operations.get(kind, 0) for kind in kinds)


@dataclass(frozen=True)
class Explanation:
    """The operations of a function of a robot, before products and sums are fused.

    A pass is a walk over the bodies in which some arithmetic survived: "outward", parents before children; "inward",
    children before parents; or "chain", from a body to another.
    """

    passes: tuple[str, ...]
    bodies: tuple[Work, ...]  # in the tree's order
    elsewhere: Work  # before, between and after the walks

    @property
    def total(self) -> Work:
        parts = (*self.bodies, self.elsewhere)
        operations: Counter[str] = sum((Counter(part.operations) for part in parts), Counter())
        return Work(operations, tuple(map(sum, zip(*(part.by_pass for part in parts), strict=True))))


def explain(tree: Tree, asked: Any) -> Explanation:
    """Explain one function, asked for as of `requests.read_request`.

    Raises what that raises, and SingularInertiaError as the functions do.
    """
    subject = OfRobot(tree)
    request = read_request(subject, asked)
    watches: list[_Watch] = []

    def watched(walked: Tree, graph: Graph) -> Tree:
        watches.append(_Watch(graph))
        return cast(Tree, _WatchedTree(walked, watches[-1]))

    elements = [x for _, part in traced(subject, {request.label: request}, watched).outputs for x in part]
    found = watches[0].counted(elements)
    walks = sorted({walk for counts in found.values() for walk, c in counts.items() if walk >= 0 and arithmetic(c)})
    return Explanation(
        tuple(_names([watches[0].walks[walk] for walk in walks])),
        tuple([_work(found.get(body, {}), walks) for body in range(len(tree.bodies))]),
        _work(found.get(_ELSEWHERE, {}), walks),
    )


_ELSEWHERE = -1  # the number of no body and of no walk


def _work(counts: Mapping[int, Counter[str]], walks: Sequence[int]) -> Work:
    """What was counted for one body in each walk, with the arithmetic of some walks apart."""
    total: Counter[str] = sum(counts.values(), Counter())
    return Work(total, tuple([arithmetic(counts.get(walk, {})) for walk in walks]))


def _names(directions: Sequence[str]) -> Iterator[str]:
    """The passes' names: which outward pass it is, where there are several."""
    for k, direction in enumerate(directions):
        several = directions.count(direction) > 1
        yield f"{direction} {directions[: k + 1].count(direction)}" if several else direction


class _Watch:
    """Which body the nodes of a graph are made for, from which node on."""

    def __init__(self, graph: Graph) -> None:
        self.walks: list[str] = []
        self._graph = graph
        self._starts: list[int] = [0]
        self._places = [(_ELSEWHERE, _ELSEWHERE)]  # body and walk
        self._chain = _ELSEWHERE

    def note(self, place: tuple[int, int]) -> None:
        self._starts.append(len(self._graph.nodes))
        self._places.append(place)

    def walk(self, direction: str, bodies: Iterator[tuple[int, int, Body]]) -> Iterator[tuple[int, int, Body]]:
        """A walk, which ends where it is left; a walk within another one gives way to it again."""
        before, number = self._places[-1], len(self.walks)
        self.walks.append(direction)
        try:
            for item in bodies:
                self.note((item[0], number))
                yield item
        finally:
            self.note(before)

    def look(self, body: int) -> None:
        """A body was looked up: outside all walks, it is the next one of a chain."""
        if self._places[-1][1] in (_ELSEWHERE, self._chain):
            if self._chain == _ELSEWHERE:
                self._chain = len(self.walks)
                self.walks.append("chain")
            self.note((body, self._chain))

    def counted(self, elements: Sequence[Any]) -> dict[int, dict[int, Counter[str]]]:
        """The operations that the results need, by body and by walk."""
        found: dict[int, dict[int, Counter[str]]] = {}
        for node in reachable(elements):
            if node.args:
                body, walk = self._places[bisect_right(self._starts, node.index) - 1]
                found.setdefault(body, {}).setdefault(walk, Counter())[node.op.name] += 1
        return found


class _WatchedTree:
    """A tree, for algorithms, with a watch on which body they are at."""

    def __init__(self, tree: Tree, watch: _Watch) -> None:
        self._tree, self._watch = tree, watch
        self.bodies = _WatchedBodies(tree.bodies)
        self.bodies.look = watch.look

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tree, name)

    def outward(self) -> Iterator[tuple[int, int, Body]]:
        return self._watch.walk("outward", self._tree.outward())

    def inward(self) -> Iterator[tuple[int, int, Body]]:
        return self._watch.walk("inward", self._tree.inward())


class _WatchedBodies(tuple[Body, ...]):
    look: Callable[[int], None]

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, int):
            self.look(place)
        return super().__getitem__(place)
