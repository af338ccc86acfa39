"""The least h so far, and its direction: what searches of overlaps carry."""

from __future__ import annotations

from typing import Any, NamedTuple

from linkwork.expr.scalar.functions import lt, where
from linkwork.geometry.unit_vectors import choose
from linkwork.spatial import Vec3

__all__ = ["Best"]


class Best(NamedTuple):
    """h and n."""

    h: Any
    n: Vec3

    def better(self, h: Any, n: Vec3) -> Best:
        """The lesser of it and another."""
        less = lt(h, self.h)
        return Best(where(less, h, self.h), choose(less, n, self.n))
