"""Halton samples of configurations within limits; joints that are not Euclidean have random samples instead."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from linkwork.model.tree import Tree
from linkwork.motion.algorithms.curves import CurveSpace

__all__ = ["Samples", "halton", "within_a_revolution"]

_CACHED = 1 << 13  # number of cached points


class Samples:
    """Sequence of configurations that covers the space within limits, reproducible by seed.

    Coordinates of Euclidean joints are Halton points, shifted by the seed. Other joints have random configurations.
    """

    def __init__(self, tree: Tree, lower: np.ndarray, upper: np.ndarray, seed: int) -> None:
        self._nq, self._next = tree.nq, 1
        self._rng = np.random.default_rng([seed, 1])
        low, high = lower.copy(), upper.copy()
        is_euclidean = {joint.name: joint.is_plain for joint in CurveSpace.of(tree).joints}
        self._sampled_joints = []
        even = np.ones(tree.nq, dtype=bool)
        for i, body in tree.stacked():
            q = tree.q_slices[i]
            if not is_euclidean.get(body.joint_name, True):
                even[q] = False
                self._sampled_joints.append((body, q, lower[q].tolist(), upper[q].tolist()))
        low, high = within_a_revolution(low, high)
        self._even = np.flatnonzero(even)
        self._low, self._wide = low[even], (high - low)[even]
        self._shift = np.random.default_rng([seed, 0]).uniform(size=len(self._even))
        self._primes = _primes(len(self._even))

    def take(self, count: int) -> np.ndarray:
        """Return the next configurations (count, nq)."""
        first, self._next = self._next, self._next + count
        last = first + count
        if last > _CACHED:
            u = halton(first, count, self._primes)
        else:
            size = max(64, 1 << (last - 1).bit_length())
            u = _table(size, len(self._primes))[first:last]
        u = u + self._shift
        u -= np.floor(u)
        if not self._sampled_joints:
            return np.asarray(self._low + u * self._wide)
        result = np.empty((count, self._nq))
        result[:, self._even] = self._low + u * self._wide
        for body, q, low, high in self._sampled_joints:
            result[:, q] = body.call_joint("random", self._rng, low, high, (count,))
        return result


def within_a_revolution(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits of angles, with infinite limits replaced so that the range is one revolution."""
    bottom, top = low == -np.inf, high == np.inf
    below = np.where(bottom, np.where(top, -np.pi, high - 2.0 * np.pi), low)
    return below, np.where(top, np.where(bottom, np.pi, below + 2.0 * np.pi), high)


def halton(first: int, count: int, primes: list[int]) -> np.ndarray:
    """Return the points (count, len(primes)) of a Halton sequence, from index ``first`` on.

    The coordinate of point k for a prime p is the number whose digits behind the radix point are the digits of k in
    base p, in reverse order (Halton, 1960).
    """
    result = np.zeros((count, len(primes)))
    last = first + count - 1
    for column, p in enumerate(primes):
        quotient, scale = np.arange(first, first + count), 1.0 / p
        power = 1
        while power <= last:
            quotient, digit = np.divmod(quotient, p)
            result[:, column] += digit * scale
            scale, power = scale / p, power * p
    return result


@lru_cache(32)
def _table(size: int, dimension: int) -> np.ndarray:
    """Return a cached table of the first ``size`` Halton points, from index 0."""
    result = halton(0, size, _primes(dimension))
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
