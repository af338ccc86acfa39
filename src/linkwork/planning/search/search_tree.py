"""A tree of configurations: rows, and the place of each one's parent."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np

__all__ = ["GrownTree", "PlanningTree", "TreeRows"]


class GrownTree(Protocol):
    """How many configurations there are, they (n, nq) and the places of their parents (n,), −1 of roots."""

    @property
    def count(self) -> int: ...
    @property
    def q(self) -> np.ndarray: ...
    @property
    def parent(self) -> np.ndarray: ...


class TreeRows:
    """One of two trees whose rows stand in the same tables, looked for when it is asked for: nodes (n, nq), and links
    (n, 2), which tree each is of, and its parent.
    """

    def __init__(self, nodes: np.ndarray, links: np.ndarray, side: int, count: int) -> None:
        self.count, self._given = count, (nodes, links, side)

    @property
    def q(self) -> np.ndarray:
        return self._found[0]

    @property
    def parent(self) -> np.ndarray:
        return self._found[1]

    @cached_property
    def _found(self) -> tuple[np.ndarray, np.ndarray]:
        nodes, links, side = self._given
        own = links[:, 0] == side
        place, parent = np.cumsum(own) - 1, links[own, 1].astype(int)
        return nodes[own].astype(float), np.where(parent < 0, -1, place[parent])


class PlanningTree:
    """Grows by doubling; roots have no parent (−1) and come first, parents before children.

    ``domain`` is how far from a node samples count.
    """

    def __init__(self, roots: np.ndarray) -> None:
        self.roots = self.count = len(roots)
        room = max(64, 2 * self.count)
        self._q = np.empty((room, roots.shape[1]))
        self._parent = np.full(room, -1)
        self._domain = np.full(room, np.inf)
        self._q[: self.count] = roots

    @property
    def q(self) -> np.ndarray:
        """All of its configurations (n, nq)."""
        return self._q[: self.count]

    @property
    def parent(self) -> np.ndarray:
        """By node (n,), −1 of roots."""
        return self._parent[: self.count]

    @property
    def domain(self) -> np.ndarray:
        """By node (n,)."""
        return self._domain[: self.count]

    def extend(self, q: np.ndarray, parent: np.ndarray) -> np.ndarray:
        """Nodes more (m, nq), whose parents (m,) may be among them, and their places."""
        first, last = self.count, self.count + len(q)
        if last > len(self._q):
            room = 2 * last
            for name, fill in (("_q", 0.0), ("_parent", -1), ("_domain", np.inf)):
                old = getattr(self, name)
                new = np.full((room, *old.shape[1:]), fill, dtype=old.dtype)
                new[: self.count] = old[: self.count]
                setattr(self, name, new)
        self._q[first:last], self._parent[first:last] = q, parent
        self.count = last
        return np.arange(first, last)

    def nodes_to(self, node: int) -> list[int]:
        """From a node to its root, both included."""
        result = []
        while node >= 0:
            result.append(node)
            node = int(self._parent[node])
        return result

    def cut(self, nodes: list[int]) -> None:
        """Without these nodes, none of them a root, and what grew on them."""
        gone = np.zeros(self.count, dtype=bool)
        gone[nodes] = True
        parent = self.parent
        for k in range(min(nodes), self.count):
            if parent[k] >= 0 and gone[parent[k]]:
                gone[k] = True
        kept = np.flatnonzero(~gone)
        place = np.cumsum(~gone) - 1
        self._q[: len(kept)] = self._q[kept]
        self._domain[: len(kept)] = self._domain[kept]
        self._parent[: len(kept)] = np.where(parent[kept] >= 0, place[parent[kept]], -1)
        self.count = len(kept)
