"""A path without corners: blends from edge to edge, each proved to be free, as large as they can be.

At a corner c a blend leaves one edge and enters the next one at the same length d from c.  With u₀ and u₁ the rates
along both edges and x from 0 to 1 in 2 d,

    q' = u₀ + w(x) (u₁ − u₀),     w'(x) = min(x/r, 1, (1 − x)/r)/(1 − r),

r being a quarter: three cubics, where neither v nor a jumps, and a is 1/(1 − r) times a parabola's at most.  It is
proved by chords: of m equal ones, joint j is never farther from a chord than δ_j = d |u₁ − u₀|_j/(4 (1 − r) m²), so no
point of the robot is farther from where the chord has it than Σ_j r_j δ_j, where r_j is how far a point may be from
where joint j turns.  Chords that are free with that much more margin prove the blend.  What is to be kept along the way
is looked at at the chords' ends and in their middles, as it is along edges.

Source: Kunz and Stilman, Time-optimal trajectory generation for path following with bounded acceleration and velocity,
2012, who blend with arcs.
"""

from __future__ import annotations

import numpy as np

from linkwork.collision.algorithms.displacement_bounds import joint_reaches
from linkwork.planning.planning_space import PlanningSpace

__all__ = ["blended"]

_CHORDS = 8
_RISES = 0.25  # of a blend: until a is at its greatest
# of its three cubics: x where they end; w, w'/2 and w''/6 where they begin
_WEIGHTS = (
    (_RISES, 0.0, 0.0, 1.0 / (6.0 * _RISES * (1.0 - _RISES))),
    (1.0 - _RISES, 0.5 * _RISES / (1.0 - _RISES), 0.5 / (1.0 - _RISES), 0.0),
    (1.0, 1.0 - 0.5 * _RISES / (1.0 - _RISES), 0.5 / (1.0 - _RISES), -1.0 / (6.0 * _RISES * (1.0 - _RISES))),
)
_SIZES = (0.5, 0.25, 0.12, 0.05)  # of the shorter edge: of which the first is taken that is free


def blended(space: PlanningSpace, path: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Times (k + 1,) and coefficients (k, nq, 4) of pieces along a path whose edges take ``lengths`` (n,) [s], without
    the corners that could be blended; nothing where no bound is known."""
    if not space.is_plain:
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
        x = np.linspace(0.0, 1.0, 2 * _CHORDS + 1)
        along = np.stack([x, _rounded(x)]) * 2.0 * d[:, None, None]
        at = (path[1:-1][left] - d[:, None] * rates[:-1][left])[:, None] + (
            along[:, 0, :, None] * rates[:-1][left][:, None] + along[:, 1, :, None] * turn[left][:, None]
        )
        off = (np.abs(turn[left]) * reaches).sum(axis=1) * d / (4.0 * (1.0 - _RISES) * _CHORDS**2)
        ends = at[:, ::2]
        flat = ends[:, :-1].reshape(-1, path.shape[1]), ends[:, 1:].reshape(-1, path.shape[1])
        free = space.edges_are_clear(*flat, np.repeat(off, _CHORDS)).reshape(-1, _CHORDS).all(axis=1)
        free &= space.keeps(at).all(axis=1)
        taken[left[free]] = d[free]
        left = left[~free]
    return _pieces(path, lengths, rates, turn, taken)


def _rounded(x: np.ndarray) -> np.ndarray:
    """∫ w dx (...)."""
    begun, ended = np.maximum(x - _RISES, 0.0), np.maximum(x - (1.0 - _RISES), 0.0)
    found: np.ndarray = (x**3 - begun**3 - ended**3) / (6.0 * _RISES * (1.0 - _RISES))
    return found


def _pieces(
    path: np.ndarray, lengths: np.ndarray, rates: np.ndarray, turn: np.ndarray, d: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    at = np.concatenate([[0.0], np.cumsum(lengths)])
    before, after = np.concatenate([[0.0], d]), np.concatenate([d, [0.0]])
    times, rows = [0.0], []
    for k in range(len(lengths)):
        if k and d[k - 1] > 0.0:
            c, u, v = d[k - 1], rates[k - 1], turn[k - 1]
            for begin, (end, *w) in zip((0.0, _RISES, 1.0 - _RISES), _WEIGHTS, strict=True):
                start = path[k] + c * (2.0 * begin - 1.0) * u + 2.0 * c * float(_rounded(np.array(begin))) * v
                rows.append([start, u + w[0] * v, w[1] / (2.0 * c) * v, w[2] / (2.0 * c) ** 2 * v])
                times.append(at[k] + (2.0 * end - 1.0) * c)
        if lengths[k] - before[k] - after[k] > 1e-12 * lengths[k]:
            still = np.zeros_like(rates[k])
            rows.append([path[k] + before[k] * rates[k], rates[k], still, still])
            times.append(at[k + 1] - after[k])
    return np.array(times), np.moveaxis(np.array(rows), 1, 2)
