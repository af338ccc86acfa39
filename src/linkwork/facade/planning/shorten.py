"""Shorter paths: what corners see each other, and shortcuts between places on the path, many at a time.

Ways are looked at in configurations that are some spacing apart first, and those that are taken are then asked of
`edges_are_free`, so all that is given out is as free as the space says.

Source: Geraerts and Overmars, Creating high-quality paths for motion planning, 2007.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from .connect import seen_ways
from .space import PlanningSpace

__all__ = ["corners", "shortcut", "shortened", "straightened"]

_SEEN = 16  # corners among which all ways are looked at
_STRAIGHT = 1e-9  # of directions
_WORTH = 1e-3  # of the path's length: what is saved by less is left


def shortened(space: PlanningSpace, path: np.ndarray, *, seed: int, spacing: float, rounds: int = 12) -> np.ndarray:
    """A path from one end to the other that is no longer, every edge of which is free."""
    path = straightened(space, corners(space, path), spacing)
    path = shortcut(space, path, seed=seed, spacing=spacing, rounds=rounds)
    return straightened(space, path, spacing)


def corners(space: PlanningSpace, path: np.ndarray) -> np.ndarray:
    """Without nodes on straight ways."""
    if len(path) <= 2:
        return path
    phi = space.difference(path[:-1], path[1:])
    unit = phi / np.maximum(space.length(phi), 1e-300)[:, None]
    turned = space.length(unit[1:] - unit[:-1]) > _STRAIGHT
    free = np.concatenate([[True], turned, [True]])
    found: np.ndarray = path[free]
    if not space.edges_are_free(found[:-1], found[1:]).all():
        return path
    return found


def straightened(space: PlanningSpace, path: np.ndarray, spacing: float) -> np.ndarray:
    """The shortest way along corners that see each other."""
    if len(path) <= 2:
        return path
    if len(path) > _SEEN:
        parts = [straightened(space, path[k : k + _SEEN], spacing) for k in range(0, len(path) - 1, _SEEN - 1)]
        return np.concatenate([parts[0], *(part[1:] for part in parts[1:])])
    n = len(path)
    i, j = np.triu_indices(n, 2)
    phi = space.difference(path[i], path[j])
    _, _, _, counts, good = seen_ways(space, path[i], phi, spacing)
    length = np.full((n, n), np.inf)
    length[i, j] = np.where(good == counts, space.length(phi), np.inf)
    near = np.arange(n - 1)
    length[near, near + 1] = space.length(space.difference(path[:-1], path[1:]))
    while True:
        way = _shortest(length)
        new = [(a, b) for a, b in pairwise(way) if b > a + 1]
        if not new:
            return path[way]
        a, b = np.array(new).T
        free = space.edges_are_free(path[a], path[b])
        if free.all():
            return path[way]
        length[a[~free], b[~free]] = np.inf


def _shortest(length: np.ndarray) -> list[int]:
    """From the first to the last, always onward."""
    n = len(length)
    best, before = np.full(n, np.inf), np.zeros(n, dtype=int)
    best[0] = 0.0
    for k in range(1, n):
        through = best[:k] + length[:k, k]
        before[k] = int(through.argmin())
        best[k] = through[before[k]]
    way = [n - 1]
    while way[-1]:
        way.append(int(before[way[-1]]))
    return way[::-1]


def shortcut(
    space: PlanningSpace, path: np.ndarray, *, seed: int, spacing: float, rounds: int, at_once: int = 24, idle: int = 3
) -> np.ndarray:
    """Straight ways between random places on the path, where they are free and shorter; after some rounds without
    any, the path stays."""
    rng = np.random.default_rng([seed, 3])
    waited = 0
    for _ in range(rounds):
        if len(path) <= 2 or waited >= idle:
            break
        waited += 1
        step = space.difference(path[:-1], path[1:])
        lengths = space.length(step)
        at = np.concatenate([[0.0], np.cumsum(lengths)])
        s = np.sort(rng.uniform(0.0, at[-1], (at_once, 2)), axis=1)
        piece = np.clip(np.searchsorted(at, s, side="right") - 1, 0, len(lengths) - 1)
        t = (s - at[piece]) / np.maximum(lengths[piece], 1e-300)
        q = space.integrate(path[piece], t[..., None] * step[piece])
        phi = space.difference(q[:, 0], q[:, 1])
        saved = (s[:, 1] - s[:, 0]) - space.length(phi)
        worth = (piece[:, 0] < piece[:, 1]) & (saved > _WORTH * at[-1])
        if not worth.any():
            continue
        q, piece, saved = q[worth], piece[worth], saved[worth]
        _, _, _, counts, good = seen_ways(space, q[:, 0], phi[worth], spacing)
        taken: list[int] = []
        for k in np.argsort(-saved, kind="stable"):
            apart = all(piece[k, 1] < piece[m, 0] or piece[k, 0] > piece[m, 1] for m in taken)
            if good[k] == counts[k] and apart:
                taken.append(int(k))
        if not taken:
            continue
        # what is left of the pieces that are cut is free where the space's ways are straight, and asked elsewhere
        begin = np.concatenate([q[taken, 0], path[piece[taken, 0]], q[taken, 1]])
        end = np.concatenate([q[taken, 1], q[taken, 0], path[piece[taken, 1] + 1]])
        free = np.asarray(space.edges_are_free(begin, end).reshape(3, -1).all(axis=0))
        for k in sorted((taken[m] for m in np.flatnonzero(free)), key=lambda k: -piece[k, 0]):
            path = np.concatenate([path[: piece[k, 0] + 1], q[k], path[piece[k, 1] + 1 :]])
            waited = 0
    return path
