"""The least and the greatest of every coordinate and its derivatives, from polynomials and not by samples."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import NamedTuple

import numpy as np

from linkwork.motion.trajectory.time_polynomials import polynomials_of
from linkwork.motion.trajectory.trajectory_segment import Section
from linkwork.motion.trajectory.twist_bounds import twisting_extremes

__all__ = ["Extremes", "bernstein", "extremes_of", "polynomial_extremes"]


class Extremes(NamedTuple):
    """What coordinates (nv,) are never below, and never above."""

    lower: np.ndarray
    upper: np.ndarray


def extremes_of(sections: Sequence[Section], order: int) -> Extremes:
    """Over all sections; infinite for coordinates of which nothing is known."""
    if order not in (0, 1, 2, 3):
        raise ValueError(f"extremes: order: expected 0 (q), 1 (v), 2 (a) or 3 (jerk), got {order!r}")
    found = []
    for section in sections:
        times, c, plain = polynomials_of(section)
        for place in section.space.joints:
            if order and place.joint.nv == 1 and section.kind.name != "squad":  # squads may take another turn
                plain[place.in_v] |= c.shape[-1] > 1  # v is the rate of the one local coordinate, whatever q is
        low, high = polynomial_extremes(np.diff(times), c, order)
        low, high = np.where(plain, low, -np.inf), np.where(plain, high, np.inf)
        for place in section.space.joints:
            bounds = None if plain[place.in_v].all() else twisting_extremes(section, place, order)
            if bounds is not None:
                low[place.in_v], high[place.in_v] = bounds
        found.append((low, high))
    return Extremes(np.min([low for low, _ in found], axis=0), np.max([high for _, high in found], axis=0))


def polynomial_extremes(h: np.ndarray, c: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """The least and greatest (n,) of the derivatives of polynomials c (m, n, terms) over [0, h] (m,)."""
    for _ in range(order):
        c = c[..., 1:] * np.arange(1, c.shape[-1]) if c.shape[-1] > 1 else np.zeros_like(c)
    c = c * (h[:, None, None] ** np.arange(c.shape[-1]))  # over [0, 1]
    ends = np.stack([c[..., 0], c.sum(axis=-1)])
    low, high = ends.min(axis=(0, 1)), ends.max(axis=(0, 1))
    if c.shape[-1] <= 2:
        return low, high
    net = bernstein(c)
    room = 1e-13 * np.abs(c).sum(axis=-1)
    for i, j in np.argwhere((net.min(axis=-1) < low - room) | (net.max(axis=-1) > high + room)):
        if net[i, j].min() >= low[j] and net[i, j].max() <= high[j]:
            continue
        slope = np.trim_zeros(c[i, j, 1:] * np.arange(1, c.shape[-1]), "b")
        roots = np.roots(slope[::-1]) if len(slope) > 1 else np.array([])
        at = np.clip(roots.real, 0.0, 1.0)
        values = np.polyval(c[i, j, ::-1], at) if len(at) else c[i, j, :1]
        low[j], high[j] = min(low[j], values.min()), max(high[j], values.max())
    return low, high


def bernstein(c: np.ndarray) -> np.ndarray:
    """The control points of polynomials (..., terms) over [0, 1], between which they lie (Bézier's convex hull).

    b_i = Σ_{k ≤ i} C(i, k) / C(d, k) c_k.  Source: Farouki, The Bernstein polynomial basis: a centennial
    retrospective, Computer Aided Geometric Design 29, 2012.
    """
    d = c.shape[-1] - 1
    to = np.array([[comb(i, k) / comb(d, k) if k <= i else 0.0 for k in range(d + 1)] for i in range(d + 1)])
    found: np.ndarray = c @ to.T
    return found
