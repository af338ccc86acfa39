"""Post-processing of paths: shortcuts between points of a path, and blended corners.

Shortcuts: the shortest path in the graph of points that see each other, again with other points.  Segments are first
checked in configurations some spacing apart, all of a round in two calls; those that are taken are then checked by
`edges_are_free`, so the result is as collision-free as the space guarantees.

Blends: at a corner c a blend leaves one edge and enters the next one at the same length d from c.  With u₀ and u₁ the
rates along both edges and x from 0 to 1 in 2 d,

    q' = u₀ + w(x) (u₁ − u₀),     w'(x) = min(x/r, 1, (1 − x)/r)/(1 − r),

r being a quarter: three cubics, where neither v nor a jumps, and a is at most 1/(1 − r) times a parabola's.  A blend
is proved collision-free by chords: of m equal ones, joint j is never farther from a chord than δ_j = d |u₁ − u₀|_j/(4
(1 − r) m²), so no point of the robot is farther from its position on the chord than Σ_j r_j δ_j, where r_j bounds the
distance of a point from the axis of joint j.  Chords that are free with that much more margin prove the blend.  Path
constraints are checked at the chords' ends and in their middles, as along edges.

Sources: Geraerts and Overmars, Creating high-quality paths for motion planning, 2007; Latombe, Robot motion planning,
1991, chapter 4 (visibility graphs); Kunz and Stilman, Time-optimal trajectory generation for path following with
bounded acceleration and velocity, 2012, who blend with arcs.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from linkwork.collision.algorithms.displacement_bounds import joint_reaches
from linkwork.planning.planning_space import OutOfTimeError, PlanningSpace

__all__ = ["blended", "corners", "seem_free", "shortened", "straightened"]


_PLACES = 14  # on a path, among which all ways are looked at
_FIRST = np.array([0.5, 0.25, 0.75])  # places of a way that are looked at first
_STRAIGHT = 1e-9  # of directions
_WORTH, _LITTLE = 1e-3, 2e-2  # of the path's length: what saves less is left, and what rounds end with
_GOLDEN = 0.6180339887498949


def shortened(
    space: PlanningSpace,
    path: np.ndarray,
    *,
    seed: int,
    spacing: float,
    rounds: int = 10,
    going: Callable[[], bool] = lambda: True,
) -> np.ndarray:
    """A path from one end to the other that is no longer, every edge of which is free.  ``going`` is asked before each
    round.
    """
    try:
        return _shortened(space, path, seed, spacing, rounds, going)
    except OutOfTimeError:
        return path


def _shortened(
    space: PlanningSpace, path: np.ndarray, seed: int, spacing: float, rounds: int, going: Callable[[], bool]
) -> np.ndarray:
    result, cost, spacing = corners(space, path), np.inf, spacing * space.unit
    for k in range(rounds):
        if len(result) <= 2 or not going():
            break
        result = straightened(space, *_places(space, result, ((seed + k) * _GOLDEN) % 1.0 if k else None), spacing)
        last, cost = cost, space.cost(result)
        if k and last - cost < _LITTLE * cost:
            break
    if not space.edges_are_free(result[:-1], result[1:]).all():
        return path
    # between corners as edges are: where something is kept along them, they are longer than straight ways
    shorter = space.cost(space.detailed(result)) <= space.cost(space.detailed(path))
    return result if shorter else path


def corners(space: PlanningSpace, path: np.ndarray) -> np.ndarray:
    """Without nodes on straight ways."""
    if len(path) <= 2:
        return path
    phi = space.difference(path[:-1], path[1:])
    unit = phi / np.maximum(space.length(phi), 1e-300)[:, None]
    turned = space.length(unit[1:] - unit[:-1]) > _STRAIGHT
    result: np.ndarray = path[np.concatenate([[True], turned, [True]])]
    return result


def _places(space: PlanningSpace, path: np.ndarray, phase: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Corners, and places between them that are equally far apart, from a part of that on: their piece each."""
    own = np.arange(len(path), dtype=float)
    more = _PLACES - len(path)
    if phase is None or more <= 0:
        return path, own
    step = space.difference(path[:-1], path[1:])
    lengths = space.length(step)
    at = np.concatenate([[0.0], np.cumsum(lengths)])
    s = at[-1] * (np.arange(more) + phase) / more
    piece = np.clip(np.searchsorted(at, s, side="right") - 1, 0, len(lengths) - 1)
    t = np.clip((s - at[piece]) / np.maximum(lengths[piece], 1e-300), 0.0, 1.0)
    between = space.integrate(path[piece], t[:, None] * step[piece])
    order = np.argsort(np.concatenate([own, piece + t]), kind="stable")
    return np.concatenate([path, between])[order], np.concatenate([own, piece + t])[order]


def straightened(space: PlanningSpace, places: np.ndarray, at: np.ndarray, spacing: float) -> np.ndarray:
    """The shortest way among places (n, nq) on a path that see each other, ``at`` being how many of its corners are
    before each.
    """
    n = len(places)
    if n > 2 * _PLACES:
        parts = [slice(k, k + _PLACES) for k in range(0, n - 1, _PLACES - 1)]
        result = [straightened(space, places[part], at[part], spacing) for part in parts]
        return np.concatenate([result[0], *(part[1:] for part in result[1:])])
    i, j = np.triu_indices(n, 1)
    phi = space.difference(places[i], places[j])
    direct = space.length(phi)
    known = np.floor(at[i]) + 1.0 >= at[j]  # on one piece of the path
    length = np.full((n, n), np.inf)
    length[i, j] = np.where(known, direct, np.inf)
    along = np.concatenate([[0.0], np.cumsum(length[np.arange(n - 1), np.arange(1, n)])])
    new = np.flatnonzero(~known & (along[j] - along[i] - direct > _WORTH * along[-1]))
    new = new[seem_free(space, places[i[new]], phi[new], spacing)]
    length[i[new], j[new]] = direct[new]
    while True:
        way = _shortest(length)
        asked = [(a, b) for a, b in pairwise(way) if np.floor(at[a]) + 1.0 < at[b]]
        if not asked:
            return np.asarray(places[way])
        a, b = np.array(asked).T
        free = space.edges_are_free(places[a], places[b])
        if free.all():
            return corners(space, np.asarray(places[way]))
        length[a[~free], b[~free]] = np.inf


def seem_free(space: PlanningSpace, q0: np.ndarray, phi: np.ndarray, spacing: float) -> np.ndarray:
    """Whether ways q0 ⊕ t φ are free at configurations some spacing apart: the middles first, as most that are not free
    are not free there, and the rest of those that are.
    """
    result: np.ndarray = np.ones(len(q0), dtype=bool)
    left = np.arange(len(q0))
    counts = space.looks(phi, spacing)
    for part in (_FIRST, None):
        if part is None:
            t, which = _rest(counts[left])
        else:
            t, which = np.tile(part, len(left)), np.repeat(np.arange(len(left)), len(part))
        if len(t):
            own = left[which]
            free = space.free(space.integrate(q0[own], phi[own] * t[:, None]))
            result[own[~free]] = False
            left = left[result[left]]
    return result


def _rest(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places of ways and whose they are, k/n between the ends, without those that were first."""
    inner = counts - 1
    which = np.repeat(np.arange(len(counts)), inner)
    k = np.arange(len(which)) - (np.cumsum(inner) - inner)[which] + 1
    new = (4 * k) % counts[which] != 0
    return (k / counts[which])[new], which[new]


def _shortest(length: np.ndarray) -> list[int]:
    """From the first to the last, always onward."""
    rows = length.T.tolist()  # to each, from those before it
    n = len(rows)
    best, before = [0.0] * n, [0] * n
    for k in range(1, n):
        row = rows[k]
        best[k], before[k] = min((best[i] + row[i], i) for i in range(k))
    way = [n - 1]
    while way[-1]:
        way.append(before[way[-1]])
    return way[::-1]


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
    the corners that could be blended; nothing where no bound is known.
    """
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
    result: np.ndarray = (x**3 - begun**3 - ended**3) / (6.0 * _RISES * (1.0 - _RISES))
    return result


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
