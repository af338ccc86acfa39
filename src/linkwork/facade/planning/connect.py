"""Bidirectional search by two trees that grow towards each other, many edges at a time.

Sources: Kuffner and LaValle, RRT-Connect, 2000; Yershova, Jaillet, Siméon and LaValle, Dynamic-domain RRTs, 2005; trees
are kept of about the same size (balanced), as in LaValle, Planning algorithms, 2006, section 5.5.3.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .space import PlanningSpace
from .trees import PlanningTree

__all__ = ["connected"]

_DOMAIN = 4.0  # steps: how far from a node that failed samples count
_SHRINK, _GROW = 0.5, 1.5


def connected(
    space: PlanningSpace,
    starts: np.ndarray,
    goals: np.ndarray,
    *,
    seed: int,
    step: float,
    at_once: int,
    going: Callable[[int, int], bool],
) -> tuple[np.ndarray | None, tuple[PlanningTree, PlanningTree]]:
    """A path (k, nq) from one of the starts to one of the goals, and both trees."""
    a, b = PlanningTree(starts), PlanningTree(goals)
    trees = (a, b)
    met = _joined(space, a, b, np.arange(a.count), step)
    samples = space.samples(seed)
    while met is None and going(a.count, b.count):
        if a.count > b.count:
            a, b = b, a
        added = _extended(space, a, samples.take(at_once), step)
        if len(added):
            met = _joined(space, a, b, added, step)
    if met is None:
        return None, trees
    first, second = met
    here, there = a.way(first)[::-1], b.way(second)
    path = np.array([*here, *there] if a is trees[0] else [*there[::-1], *here[::-1]])
    keep = np.concatenate([[True], np.any(path[1:] != path[:-1], axis=-1)])
    return path[keep], trees


def _extended(space: PlanningSpace, tree: PlanningTree, samples: np.ndarray, step: float) -> np.ndarray:
    """A step from the nearest node towards each of the samples; the places of those that are free."""
    square = space.between(tree.q, samples)
    near = square.argmin(axis=1)
    far = np.sqrt(np.maximum(square[np.arange(len(samples)), near], 1e-300))
    counts = far <= tree.domain[near]
    samples, near, far = samples[counts], near[counts], far[counts]
    if not len(near):
        return np.empty(0, dtype=int)
    q0 = tree.q[near]
    q1 = space.integrate(q0, space.difference(q0, samples) * np.minimum(step / far, 1.0)[:, None])
    free = space.edges_are_free(q0, q1)
    domain = tree.domain
    failed, went = near[~free], near[free]
    domain[failed] = np.where(np.isinf(domain[failed]), _DOMAIN * step, np.maximum(domain[failed] * _SHRINK, step))
    domain[went] *= _GROW
    return np.array([tree.add(q, int(parent)) for q, parent in zip(q1[free], near[free], strict=True)], dtype=int)


def _joined(
    space: PlanningSpace, a: PlanningTree, b: PlanningTree, added: np.ndarray, step: float
) -> tuple[int, int] | None:
    """From the other tree towards each of these nodes of the first as far as it is free; the nodes that met."""
    square = space.between(b.q, a.q[added])
    near = square.argmin(axis=1)
    far = np.sqrt(np.maximum(square[np.arange(len(added)), near], 0.0))
    counts = np.maximum(np.ceil(far / step).astype(int), 1)
    q0, phi = b.q[near], space.difference(b.q[near], a.q[added])
    which = np.repeat(np.arange(len(added)), counts)
    k = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    low, high = (k / counts[which])[:, None], ((k + 1) / counts[which])[:, None]
    begin = space.integrate(q0[which], low * phi[which])
    end = np.where(high == 1.0, a.q[added][which], space.integrate(q0[which], high * phi[which]))
    free = space.edges_are_free(begin, end)
    met = None
    place = 0
    for i, count in enumerate(counts):
        own = free[place : place + count]
        node = int(near[i])
        for j in range(count):
            if not own[j]:
                break
            node = b.add(end[place + j], node)
        if own.all() and (met is None):
            met = (int(added[i]), node)
        place += int(count)
    return met
