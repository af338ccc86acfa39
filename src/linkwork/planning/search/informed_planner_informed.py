"""Configurations through which a shorter way than one that is known may lead.

A way from s to g through x is at least |x − s| + |g − x| long, so only x of an ellipsoid about both count.  Where
configurations are plain numbers it is drawn from; elsewhere, and where the box of limits is smaller, samples are drawn
and the others left out.

Source: Gammell, Srinivasa and Barfoot, Informed RRT*, 2014.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork.planning.planning_space import PlanningSpace

__all__ = ["InformedSamples", "least_ways"]

_NEAR, _FAR = -4.0, -0.5  # powers of ten of a path's length: how far from it samples about it are
_ROUNDS = 30  # draws for those that are left out


def least_ways(space: PlanningSpace, q: np.ndarray, starts: np.ndarray, goals: np.ndarray) -> np.ndarray:
    """How short ways from a start through q (n, nq) to a goal may be at most: straight, (n,)."""
    before, after = (np.sqrt(space.between(ends, q).min(axis=1)) for ends in (starts, goals))
    found: np.ndarray = before + after
    return found


class InformedSamples:
    """The same ones for a seed and the same costs asked for."""

    def __init__(self, space: PlanningSpace, starts: np.ndarray, goals: np.ndarray, seed: int) -> None:
        self.space, self.starts, self.goals = space, starts, goals
        self._samples: Any = space.samples(seed)
        self._rng = np.random.default_rng([seed, 3])
        self._box = math.inf
        if space.is_flat:
            with np.errstate(divide="ignore"):
                self._box = float(np.log((space.upper - space.lower) * space.weights).sum())

    def take(self, count: int, cost: float) -> np.ndarray:
        """Up to so many (k, nq) through which a way shorter than a cost may lead; they need not be free."""
        found: list[np.ndarray] = []
        left = count
        for _ in range(_ROUNDS):
            q = self._drawn(count, cost)
            q = q[self.space.within(q)] if len(q) else q
            if len(q):
                q = q[least_ways(self.space, q, self.starts, self.goals) < cost][:left]
            found.append(q)
            left -= len(q)
            if not left:
                break
        return np.concatenate(found)

    def near(self, path: np.ndarray, count: int, cost: float) -> np.ndarray:
        """Up to so many about a path (k, nq), half of them about its corners, from far to very near."""
        space, rng = self.space, self._rng
        lengths = space.length(space.difference(path[:-1], path[1:]))
        at = np.concatenate([[0.0], np.cumsum(lengths)])
        s = rng.uniform(0.0, at[-1], count)
        corners = rng.integers(1, max(len(path) - 1, 2), count)
        s = np.where((np.arange(count) % 2 == 0) & (len(path) > 2), at[np.minimum(corners, len(path) - 1)], s)
        piece = np.clip(np.searchsorted(at, s, side="right") - 1, 0, len(lengths) - 1)
        t = (s - at[piece]) / np.maximum(lengths[piece], 1e-300)
        phi = t[:, None] * space.difference(path[piece], path[piece + 1])
        away = rng.normal(size=phi.shape) / space.weights / math.sqrt(phi.shape[1])
        phi += away * (at[-1] * 10.0 ** rng.uniform(_NEAR, _FAR, count))[:, None]
        q = space.integrate(path[piece], phi)
        q = q[space.within(q)]
        found: np.ndarray = q[least_ways(space, q, self.starts, self.goals) < cost] if len(q) else q
        return found

    def _drawn(self, count: int, cost: float) -> np.ndarray:
        space = self.space
        if not space.is_flat or not math.isfinite(cost):
            return np.asarray(self._samples.take(count))
        s = self.starts[self._rng.integers(len(self.starts))] * space.weights
        g = self.goals[self._rng.integers(len(self.goals))] * space.weights
        along, d = g - s, len(s)
        least = float(np.linalg.norm(along))
        if least >= cost:
            return np.empty((0, d))
        across = 0.5 * math.sqrt(cost * cost - least * least)
        volume = 0.5 * d * math.log(math.pi) - math.lgamma(0.5 * d + 1.0) + math.log(0.5 * cost)
        if volume + (d - 1) * math.log(across) > self._box:
            return np.asarray(self._samples.take(count))
        x = self._rng.normal(size=(count, d))
        x *= (self._rng.uniform(size=count) ** (1.0 / d) / np.linalg.norm(x, axis=1))[:, None]
        x *= np.array([0.5 * cost] + [across] * (d - 1))
        found: np.ndarray = (0.5 * (s + g) + _turned(x, along)) / space.weights
        return found


def _turned(x: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Rows mirrored so that their first axis is along a direction (Householder)."""
    length = float(np.linalg.norm(along))
    if length <= 1e-12:
        return x
    u = -along / length
    u[0] += 1.0
    square = float(u @ u)
    found: np.ndarray = x if square < 1e-24 else x - np.outer(x @ u, 2.0 * u / square)
    return found
