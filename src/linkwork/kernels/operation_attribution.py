"""A watch on the walks over a tree: which body the nodes of a graph are made for.

Algorithms ask the tree for their walks, and a graph numbers its nodes in the order they are made.  So a tree that notes
the size of the graph whenever it hands out a body tells of every node which body it was made for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from linkwork.expr.scalar.symbol import Graph
from linkwork.model.body import Body
from linkwork.model.tree import Tree
from linkwork.spatial import Vec3

__all__ = ["ELSEWHERE", "Watch", "marked"]

ELSEWHERE = -1  # the number of no body and of no walk


class Watch:
    """Which body the nodes of a graph are made for, from which node on."""

    def __init__(self, graph: Graph) -> None:
        self.walks: list[str] = []
        self._graph = graph
        self.starts: list[int] = [0]
        self.places = [(ELSEWHERE, ELSEWHERE)]  # body and walk
        self._chain = ELSEWHERE

    def note(self, place: tuple[int, int]) -> None:
        self.starts.append(len(self._graph.nodes))
        self.places.append(place)
        self._graph.marks.append(self.starts[-1])

    def walk(self, direction: str, bodies: Iterator[tuple[int, int, Body]]) -> Iterator[tuple[int, int, Body]]:
        """A walk, which ends where it is left; a walk within another one gives way to it again."""
        before, number = self.places[-1], len(self.walks)
        self.walks.append(direction)
        try:
            for item in bodies:
                self.note((item[0], number))
                yield item
        finally:
            self.note(before)

    def look(self, body: int) -> None:
        """A body was looked up: outside all walks, it is the next one of a chain."""
        if self.places[-1][1] in (ELSEWHERE, self._chain):
            if self._chain == ELSEWHERE:
                self._chain = len(self.walks)
                self.walks.append("chain")
            self.note((body, self._chain))
        else:  # a step within a step
            self.note(self.places[-1])

    def over(self, tree: Tree) -> Tree:
        """The tree, for algorithms, watched."""
        return cast(Tree, _WatchedTree(tree, self))


def marked(walked: Any, graph: Graph) -> Any:
    """What an algorithm walks over; of a tree, so that the graph is marked where steps begin."""
    return Watch(graph).over(walked) if isinstance(walked, Tree) else walked


class _WatchedTree:
    """A tree, for algorithms, with a watch on which body they are at."""

    def __init__(self, tree: Tree, watch: Watch) -> None:
        self._tree, self._watch = tree, watch
        self.bodies = _WatchedBodies(tree.bodies)
        self.bodies.look = watch.look

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tree, name)

    def with_gravity(self, gravity: Vec3) -> _WatchedTree:
        return _WatchedTree(self._tree.with_gravity(gravity), self._watch)

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
