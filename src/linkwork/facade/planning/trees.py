"""A tree of configurations: rows, and the place of each one's parent."""

from __future__ import annotations

import numpy as np

__all__ = ["PlanningTree"]


class PlanningTree:
    """Grows by doubling; roots have no parent (−1), and ``domain`` is how far from a node samples count."""

    def __init__(self, roots: np.ndarray) -> None:
        self.count = len(roots)
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
    def domain(self) -> np.ndarray:
        """By node (n,)."""
        return self._domain[: self.count]

    def add(self, q: np.ndarray, parent: int) -> int:
        """A node more, and its place."""
        if self.count == len(self._q):
            self._q = np.concatenate([self._q, np.empty_like(self._q)])
            self._parent = np.concatenate([self._parent, np.full(self.count, -1)])
            self._domain = np.concatenate([self._domain, np.full(self.count, np.inf)])
        self._q[self.count], self._parent[self.count] = q, parent
        self.count += 1
        return self.count - 1

    def way(self, node: int) -> list[np.ndarray]:
        """From a node to its root."""
        found = []
        while node >= 0:
            found.append(self._q[node])
            node = int(self._parent[node])
        return found
