"""Attribution of graph nodes to bodies, by observation of the walks over a tree.

Algorithms get their walks from the tree, and a graph numbers its nodes in order of creation. So a tree that records the
size of the graph whenever it hands out a body attributes every node to a body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from linkwork.expr.scalar.symbol import Graph
from linkwork.model.body import Body
from linkwork.model.tree import Tree
from linkwork.spatial import Vec3

__all__ = ["ELSEWHERE", "Watch", "marked"]

ELSEWHERE = -1  # index of code outside of bodies and walks


class Watch:
    """A record of the body for which an algorithm creates each node of a graph.

    A recorded body and walk apply to all nodes from this record to the next.
    """

    def __init__(self, graph: Graph) -> None:
        self.walks: list[str] = []
        self._graph = graph
        self.starts: list[int] = [0]
        self.positions = [(ELSEWHERE, ELSEWHERE)]  # body and walk
        self._chain = ELSEWHERE

    def note(self, position: tuple[int, int]) -> None:
        self.starts.append(len(self._graph.nodes))
        self.positions.append(position)
        self._graph.marks.append(self.starts[-1])

    def walk(self, direction: str, bodies: Iterator[tuple[int, int, Body]]) -> Iterator[tuple[int, int, Body]]:
        """Yield the bodies of a walk, and record for each that the nodes created from now on belong to it.

        ``direction`` is "outward" or "inward". After a walk within a walk, the record continues with the outer walk's
        body.
        """
        before, number = self.positions[-1], len(self.walks)
        self.walks.append(direction)
        try:
            for item in bodies:
                self.note((item[0], number))
                yield item
        finally:
            self.note(before)

    def look(self, body: int) -> None:
        """Record that an algorithm reads a body from the tree, so that nodes created from now on belong to that body.

        Outside of walks, the bodies that are read form one walk with the direction "chain". During a walk the body of
        the walk stays; only a new position in the graph is recorded.
        """
        if self.positions[-1][1] in (ELSEWHERE, self._chain):
            if self._chain == ELSEWHERE:
                self._chain = len(self.walks)
                self.walks.append("chain")
            self.note((body, self._chain))
        else:  # a step within a step
            self.note(self.positions[-1])

    def over(self, tree: Tree) -> Tree:
        """Return a proxy of the tree for algorithms, which records the body that is processed."""
        return cast(Tree, _WatchedTree(tree, self))


def marked(walked: Any, graph: Graph) -> Any:
    """Return a proxy of a tree that marks in the graph where each step of a walk over the bodies begins.

    ``walked`` is a tree or a joint; a joint is returned unchanged.
    """
    return Watch(graph).over(walked) if isinstance(walked, Tree) else walked


class _WatchedTree:
    """Proxy of a tree that is passed to algorithms, and records the body that an algorithm currently processes."""

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

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, int):
            self.look(position)
        return super().__getitem__(position)
