"""A path without corners: parabolas from edge to edge, each proved to be free, as large as they can be.

At a corner c, a parabola leaves one edge and enters the next one at the same length d from c,

    q(s) = c + (s − d) u₀ + s² (u₁ − u₀)/(4 d),     0 ≤ s ≤ 2 d,

u₀ and u₁ being the rates along both edges: v has no jump.  It is proved by chords: of m equal ones, joint j is never
farther from a chord than δ_j = d |u₁ − u₀|_j/(4 m²), so no point of the robot is farther from where the chord has it
than Σ_j r_j δ_j, where r_j is how far a point may be from where joint j turns.  Chords that are free with that much
more margin prove the parabola.

Source: the parabolas of Kunz and Stilman, Time-optimal trajectory generation for path following with bounded
acceleration and velocity, 2012, who blend with arcs.
"""

from __future__ import annotations

import numpy as np

from ...algorithms.distances.reaches import joint_reaches
from .space import PlanningSpace

__all__ = ["blended"]

_CHORDS = 8
_SIZES = (0.5, 0.25, 0.12, 0.05)  # of the shorter edge: of which the first is taken that is free


def blended(space: PlanningSpace, path: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Times (k + 1,) and coefficients (k, nq, 3) of pieces along a path whose edges take ``lengths`` (n,) [s], without
    the corners that could be blended; nothing where no bound is known."""
    if space.tasks or not space.is_plain or space.robot.tree.constraints:
        return None
    try:
        reaches = joint_reaches(space.robot.tree, space.lower, space.upper)
    except (TypeError, ValueError):
        return None
    rates = (path[1:] - path[:-1]) / lengths[:, None]
    turn = rates[1:] - rates[:-1]
    size = np.minimum(lengths[1:], lengths[:-1])
    taken = np.zeros(len(turn))
    left = np.arange(len(turn))
    for part in _SIZES:
        if not len(left):
            break
        d = part * size[left]
        s = np.linspace(0.0, 2.0, _CHORDS + 1)[None, :, None] * d[:, None, None]
        at = path[1:-1][left][:, None] + (s - d[:, None, None]) * rates[:-1][left][:, None]
        at = at + s * s * turn[left][:, None] / (4.0 * d[:, None, None])
        off = (np.abs(turn[left]) * reaches).sum(axis=1) * d / (4.0 * _CHORDS**2)
        flat = at[:, :-1].reshape(-1, path.shape[1]), at[:, 1:].reshape(-1, path.shape[1])
        free = space.edges_are_clear(*flat, np.repeat(off, _CHORDS)).reshape(-1, _CHORDS).all(axis=1)
        taken[left[free]] = d[free]
        left = left[~free]
    return _pieces(path, lengths, rates, turn, taken)


def _pieces(
    path: np.ndarray, lengths: np.ndarray, rates: np.ndarray, turn: np.ndarray, d: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    at = np.concatenate([[0.0], np.cumsum(lengths)])
    before, after = np.concatenate([[0.0], d]), np.concatenate([d, [0.0]])
    times, rows = [0.0], []
    for k in range(len(lengths)):
        if k and d[k - 1] > 0.0:
            c = d[k - 1]
            rows.append([path[k] - c * rates[k - 1], rates[k - 1], turn[k - 1] / (4.0 * c)])
            times.append(at[k] + c)
        if lengths[k] - before[k] - after[k] > 1e-12 * lengths[k]:
            rows.append([path[k] + before[k] * rates[k], rates[k], np.zeros_like(rates[k])])
            times.append(at[k + 1] - after[k])
    return np.array(times), np.moveaxis(np.array(rows), 1, 2)
