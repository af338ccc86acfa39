"""Velocities at points: estimated from neighbours, and what corrects them so that accelerations have no jump.

Of cubics between points the accelerations on both sides of one vary with the velocities v as

    −(2/h_{k−1}) v_{k−1} − 4 (1/h_{k−1} + 1/h_k) v_k − (2/h_k) v_{k+1},

on a manifold nearly so.  So what velocities leave of jumps, R, is taken away by the δ of these equations: at once for
plain numbers, and in a few turns else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.motion.algorithms.banded_solver import solve_banded, solve_cyclic

__all__ = ["correction", "mean_slope"]


def correction(h: Sequence[float], jumps: Sequence[Any], boundary: str) -> list[Any]:
    """What to add to velocities at n points, with n − 1 pieces of lengths h between.

    ``jumps`` are a on the way out less a on the way in, at each point; at the ends of a natural spline a itself and −a.
    A clamped spline keeps the velocities of its ends, a launched one that of the first; a periodic one has the same at
    both, and one jump less.
    """
    count = len(h) + 1
    if boundary == "periodic":
        m = len(h)
        lower = [2.0 / h[k - 1] for k in range(m)]
        upper = [2.0 / h[k] for k in range(m)]
        found = solve_cyclic(lower, [2.0 * (a + b) for a, b in zip(lower, upper, strict=True)], upper, jumps[:m])
        return [*found, found[0]]
    rows: list[dict[int, float]] = []
    right = list(jumps)
    for k in range(count):
        if 0 < k < count - 1:
            a, b = 2.0 / h[k - 1], 2.0 / h[k]
            rows.append({k - 1: a, k: 2.0 * (a + b), k + 1: b})
        elif boundary == "clamped" or (boundary == "launched" and k == 0):
            rows.append({k: 1.0})
            right[k] = right[k] * 0.0
        else:
            rows.append({0: 4.0 / h[0], 1: 2.0 / h[0]} if k == 0 else {k - 1: 2.0 / h[-1], k: 4.0 / h[-1]})
    return solve_banded(rows, right)


def mean_slope(h0: Any, h1: Any, back: Any, on: Any) -> tuple[Any, Any]:
    """Velocity and acceleration at a point, of the parabola through it and its neighbours.

    ``back`` and ``on`` are the local coordinates of the one before, h_0 ago, and of the one after, in h_1.
    """
    before, after = -back / h0, on / h1
    return (before * h1 + after * h0) / (h0 + h1), (after - before) * 2.0 / (h0 + h1)
