"""Way points on a path, one after the other, and where they end."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

__all__ = ["Steps", "grid"]


@dataclass(frozen=True)
class Steps:
    """Configurations q (k, nq) at places s (k,) of a path; ``changed`` (k,) where one is no neighbour of the last.

    Of a way that does not come to the end, ``missed`` is the next place, which could not be reached.
    """

    s: np.ndarray
    q: np.ndarray
    changed: np.ndarray
    missed: float | None = None

    @property
    def end(self) -> float:
        """How far they come."""
        return float(self.s[-1]) if len(self.s) else 0.0


def grid(knots: np.ndarray, step: float) -> np.ndarray:
    """Places to begin with: all knots, and equal steps between them, two at least and about ``step``."""
    found = [np.linspace(a, b, max(int(np.ceil((b - a) / step)), 2) + 1)[:-1] for a, b in pairwise(knots)]
    return np.append(np.concatenate(found), knots[-1])
