"""Configurations spread over a robot's limits: Halton's points, and what a joint draws itself."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from linkwork.model.tree import Tree
from linkwork.motion.algorithms.curves import CurveSpace

__all__ = ["Samples", "halton", "within_a_turn"]

_KEPT = 1 << 13  # points that are computed once


class Samples:
    """As many as are asked for, one after the other; the same ones for a seed.

    Joints whose numbers add up take Halton's points, moved by the seed; others draw as their types do.
    """

    def __init__(self, tree: Tree, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        self._nq, self._next = tree.nq, 1
        self._rng = np.random.default_rng([seed, 1])
        low, high = lower.copy(), upper.copy()
        plain = {place.name: place.is_plain for place in CurveSpace.of(tree).joints}
        self._others = []
        even = np.ones(tree.nq, dtype=bool)
        for i, body in tree.stacked():
            q = tree.q_slices[i]
            if not plain.get(body.joint_name, True):
                even[q] = False
                self._others.append((body, q, lower[q].tolist(), upper[q].tolist()))
        low, high = within_a_turn(low, high)
        self._even = np.flatnonzero(even)
        self._low, self._wide = low[even], (high - low)[even]
        self._shift = np.random.default_rng([seed, 0]).uniform(size=len(self._even))
        self._primes = _primes(len(self._even))

    def take(self, count: int) -> np.ndarray:
        """The next ones (count, nq)."""
        first, self._next = self._next, self._next + count
        last = first + count
        if last > _KEPT:
            u = halton(first, count, self._primes)
        else:
            room = max(64, 1 << (last - 1).bit_length())
            u = _table(room, len(self._primes))[first:last]
        u = u + self._shift
        u -= np.floor(u)
        if not self._others:
            return np.asarray(self._low + u * self._wide)
        result = np.empty((count, self._nq))
        result[:, self._even] = self._low + u * self._wide
        for body, q, low, high in self._others:
            result[:, q] = body.call_joint("random", self._rng, low, high, (count,))
        return result


def within_a_turn(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Limits, and one turn where there are none."""
    bottom, top = low == -np.inf, high == np.inf
    below = np.where(bottom, np.where(top, -np.pi, high - 2.0 * np.pi), low)
    return below, np.where(top, np.where(bottom, np.pi, below + 2.0 * np.pi), high)


def halton(first: int, count: int, primes: list[int]) -> np.ndarray:
    """Halton's points (count, len(primes)) from the first on: by prime p, the digits of k in base p behind the point in
    reverse (Halton, 1960).
    """
    result = np.zeros((count, len(primes)))
    last = first + count - 1
    for at, p in enumerate(primes):
        rest, scale = np.arange(first, first + count), 1.0 / p
        power = 1
        while power <= last:
            rest, digit = np.divmod(rest, p)
            result[:, at] += digit * scale
            scale, power = scale / p, power * p
    return result


@lru_cache(32)
def _table(room: int, dimension: int) -> np.ndarray:
    """The first points from the zeroth on: what most searches take."""
    result = halton(0, room, _primes(dimension))
    result.flags.writeable = False
    return result


@lru_cache(256)
def _primes(count: int) -> list[int]:
    result: list[int] = []
    candidate = 2
    while len(result) < count:
        if all(candidate % p for p in result):
            result.append(candidate)
        candidate += 1
    return result
