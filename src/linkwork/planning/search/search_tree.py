"""Search tree of configurations with parent indices."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from linkwork._util.cached_properties import cached_property

__all__ = ["GrownTree", "PlanningTree", "TableTree"]


class GrownTree(Protocol):
    """Protocol of a search tree: configurations (n, nq) and indices of their parents (n,), −1 for roots."""

    @property
    def count(self) -> int: ...
    @property
    def q(self) -> np.ndarray: ...
    @property
    def parent(self) -> np.ndarray: ...


class TableTree:
    """One of two search trees that share tables; its configurations and parents are extracted on demand.

    The tables are nodes (n, nq) and links (n, 2): a link is the index of the node's tree and the row of its parent.
    """

    def __init__(self, nodes: np.ndarray, links: np.ndarray, side: int, count: int) -> None:
        self.count, self._tables = count, (nodes, links, side)

    @property
    def q(self) -> np.ndarray:
        return self._extracted[0]

    @property
    def parent(self) -> np.ndarray:
        return self._extracted[1]

    @cached_property
    def _extracted(self) -> tuple[np.ndarray, np.ndarray]:
        nodes, links, side = self._tables
        is_on_side = links[:, 0] == side
        new_index, parent = np.cumsum(is_on_side) - 1, links[is_on_side, 1].astype(int)
        return nodes[is_on_side].astype(float), np.where(parent < 0, -1, new_index[parent])


class PlanningTree:
    """Search tree that grows: configurations and their parents; roots come first, parents before children.

    Roots have the parent −1. ``domain`` is the radius around each node within which samples extend it. Storage doubles
    as needed.
    """

    def __init__(self, roots: np.ndarray) -> None:
        self.roots = self.count = len(roots)
        size = max(64, 2 * self.count)
        self._q = np.empty((size, roots.shape[1]))
        self._parent = np.full(size, -1)
        self._domain = np.full(size, np.inf)
        self._q[: self.count] = roots

    @property
    def q(self) -> np.ndarray:
        """Configurations (n, nq)."""
        return self._q[: self.count]

    @property
    def parent(self) -> np.ndarray:
        """Index of each node's parent (n,), −1 for roots."""
        return self._parent[: self.count]

    @property
    def domain(self) -> np.ndarray:
        """Radius around each node (n,) within which samples extend it."""
        return self._domain[: self.count]

    def extend(self, q: np.ndarray, parent: np.ndarray) -> np.ndarray:
        """Add nodes (m, nq) to the tree and return their indices.

        ``parent`` (m,) are the indices of their parents, which may be among the new nodes.
        """
        first, last = self.count, self.count + len(q)
        if last > len(self._q):
            size = 2 * last
            for name, fill in (("_q", 0.0), ("_parent", -1), ("_domain", np.inf)):
                old = getattr(self, name)
                new = np.full((size, *old.shape[1:]), fill, dtype=old.dtype)
                new[: self.count] = old[: self.count]
                setattr(self, name, new)
        self._q[first:last], self._parent[first:last] = q, parent
        self.count = last
        return np.arange(first, last)

    def nodes_to(self, node: int) -> list[int]:
        """Return the indices of a node and all its ancestors, up to its root."""
        result = []
        while node >= 0:
            result.append(node)
            node = int(self._parent[node])
        return result

    def cut(self, nodes: list[int]) -> None:
        """Remove nodes, none of them a root, with all their descendants."""
        removed = np.zeros(self.count, dtype=bool)
        removed[nodes] = True
        parent = self.parent
        for k in range(min(nodes), self.count):
            if parent[k] >= 0 and removed[parent[k]]:
                removed[k] = True
        remaining = np.flatnonzero(~removed)
        new_index = np.cumsum(~removed) - 1
        self._q[: len(remaining)] = self._q[remaining]
        self._domain[: len(remaining)] = self._domain[remaining]
        self._parent[: len(remaining)] = np.where(parent[remaining] >= 0, new_index[parent[remaining]], -1)
        self.count = len(remaining)
