"""Shorter paths: what waypoints see each other, and shortcuts between places on the path, many at a time."""

from __future__ import annotations

import numpy as np

from .space import PlanningSpace

__all__ = ["shortcut", "straightened"]

_SEEN = 24  # waypoints among which all edges are looked at


def straightened(space: PlanningSpace, path: np.ndarray) -> np.ndarray:
    """The shortest way along waypoints that see each other."""
    if len(path) <= 2:
        return path
    while len(path) > _SEEN:
        parts = [straightened(space, path[k : k + _SEEN]) for k in range(0, len(path) - 1, _SEEN - 1)]
        shorter = np.concatenate([parts[0], *(part[1:] for part in parts[1:])])
        if len(shorter) == len(path):
            return path
        path = shorter
    n = len(path)
    i, j = np.triu_indices(n, 2)
    free = np.zeros((n, n), dtype=bool)
    free[i, j] = space.edges_are_free(path[i], path[j])
    free[np.arange(n - 1), np.arange(1, n)] = True
    length = space.length(space.difference(path[:, None].repeat(n, 1), path[None].repeat(n, 0)))
    best, before = np.full(n, np.inf), np.zeros(n, dtype=int)
    best[0] = 0.0
    for k in range(1, n):
        through = np.where(free[:k, k], best[:k] + length[:k, k], np.inf)
        before[k] = int(through.argmin())
        best[k] = through[before[k]]
    way = [n - 1]
    while way[-1]:
        way.append(int(before[way[-1]]))
    return path[way[::-1]]


def shortcut(space: PlanningSpace, path: np.ndarray, *, seed: int, rounds: int, at_once: int = 16) -> np.ndarray:
    """Straight edges between random places on the path, where they are free and shorter."""
    rng = np.random.default_rng(seed)
    idle = 0
    for _ in range(rounds):
        if len(path) <= 2 or idle >= 3:
            break
        lengths = space.length(space.difference(path[:-1], path[1:]))
        at = np.concatenate([[0.0], np.cumsum(lengths)])
        s = np.sort(rng.uniform(0.0, at[-1], (at_once, 2)), axis=1)
        piece = np.clip(np.searchsorted(at, s, side="right") - 1, 0, len(lengths) - 1)
        t = (s - at[piece]) / np.maximum(lengths[piece], 1e-300)
        q = space.integrate(path[piece], t[..., None] * space.difference(path[piece], path[piece + 1]))
        saved = (s[:, 1] - s[:, 0]) - space.length(space.difference(q[:, 0], q[:, 1]))
        worth = (piece[:, 0] < piece[:, 1]) & (saved > 1e-6 * at[-1])
        if not worth.any():
            idle += 1
            continue
        q, piece, saved = q[worth], piece[worth], saved[worth]
        good = np.flatnonzero(space.edges_are_free(q[:, 0], q[:, 1]))
        if not len(good):
            idle += 1
            continue
        idle = 0
        taken: list[int] = []
        for k in good[np.argsort(-saved[good])]:
            if all(piece[k, 1] < piece[m, 0] or piece[k, 0] > piece[m, 1] for m in taken):
                taken.append(int(k))
        for k in sorted(taken, key=lambda k: -piece[k, 0]):
            path = np.concatenate([path[: piece[k, 0] + 1], q[k], path[piece[k, 1] + 1 :]])
    return path
