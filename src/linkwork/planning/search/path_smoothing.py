"""Post-processing of paths: shortcuts between points of a path, and blended corners.

Shortcuts: the shortest path in the visibility graph of points on the path, repeated with other points.  Segments are
first checked at configurations some spacing apart, all of a round in two calls.  Accepted segments are then checked by
`edges_are_free`, so the result is as collision-free as the space guarantees.

Blends: at a corner c a blend leaves one edge and enters the next one at the same length d from c.  With u₀ and u₁ the
rates along both edges and x from 0 to 1 in 2 d,

    q' = u₀ + w(x) (u₁ − u₀),     w'(x) = min(x/r, 1, (1 − x)/r)/(1 − r),

with r = ¼: three cubics, where neither v nor a jumps, and a is at most 1/(1 − r) times that of a parabola.  A blend is
proved collision-free by chords: of m equal ones, joint j is never farther from a chord than δ_j = d |u₁ − u₀|_j/(4
(1 − r) m²), so no point of the robot is farther from its position on the chord than Σ_j r_j δ_j, where r_j bounds the
distance of a point from the axis of joint j.  Chords that are free with that additional margin prove the blend.  Path
constraints are checked at the chords' ends and midpoints, as along edges.

Sources: Geraerts and Overmars, Creating high-quality paths for motion planning, 2007; Latombe, Robot motion planning,
1991, chapter 4 (visibility graphs); Kunz and Stilman, Time-optimal trajectory generation for path following with
bounded acceleration and velocity, 2012, who blend with arcs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import pairwise

import numpy as np

from linkwork.collision.algorithms.displacement_bounds import joint_reaches
from linkwork.planning.configuration_geometry import HALF_TURN
from linkwork.planning.planning_space import OutOfTimeError, PlanningSpace

__all__ = [
    "appear_free",
    "blend_corners",
    "improved_at_rest",
    "path_with_joints_at_rest",
    "remove_straight_nodes",
    "shorten_path",
    "shortest_visible",
    "steady_path",
]


_MAX_POINTS = 14  # points of a path among which all segments are considered
_FIRST_FRACTIONS = np.array([0.5, 0.25, 0.75])  # fractions of a segment that are checked first
_STRAIGHT = 1e-9  # tolerance of equal directions
_MIN_SAVING, _MIN_PROGRESS = (
    1e-3,
    2e-2,
)  # relative to the path's length: minimum saving of a shortcut, and progress that ends the rounds
_GOLDEN = 0.6180339887498949
_ROUNDS = 10  # maximum


def shorten_path(
    space: PlanningSpace,
    path: np.ndarray,
    *,
    seed: int,
    spacing: float,
    continues: Callable[[], bool] = lambda: True,
) -> np.ndarray:
    """Return a path with the same ends and free edges that is shorter than ``path``, or ``path`` itself.

    ``continues`` is called before each round and ends the process by False.
    """
    try:
        result = _shorten(space, path, seed, spacing, continues)
    except OutOfTimeError:
        return path
    return steady_path(space, result)


def steady_path(space: PlanningSpace, path: np.ndarray) -> np.ndarray:
    """Return the path with joints set to rest whose positions at both ends are equal, where edges remain free.

    In a search such joints move only because of random samples, for example the joints of a gripper that holds a part.
    All of them are set to rest together. If edges are then not free, only those at the end of the robot are set to
    rest, or one joint after the other. The path's ends are unchanged to the last bit.
    """
    groups = space.resting_joints(path[0], path[-1])
    try:
        for columns in (*groups, *space.joint_columns()):
            if not np.isin(columns, groups[0]).all():
                continue
            steady = path.copy()
            steady[1:-1, columns] = path[0, columns]
            if (steady != path).any() and space.edges_are_free(steady[:-1], steady[1:]).all():
                path = steady
    except OutOfTimeError:
        pass
    return path


def path_with_joints_at_rest(
    space: PlanningSpace,
    path: np.ndarray,
    search: Callable[[PlanningSpace, np.ndarray, np.ndarray], np.ndarray | None],
) -> np.ndarray:
    """Return a path between the ends of ``path`` (k, nq) on which joints with equal positions at both ends rest.

    First, the path is changed where its edges remain free (`steady_path`). If joints at the end of the robot, such as
    fingers, then still move, they are locked in further searches: ``search(locked_space, start, end)`` returns a path
    or None. If no path is found, as many joints rest as `steady_path` permits.
    """
    path = steady_path(space, path)
    _, outer, last = space.resting_joints(path[0], path[-1])
    for columns in (outer, last) if len(last) < len(outer) else (outer,):
        if (path[1:-1, columns] == path[0, columns]).all():
            break
        locked, end = space.with_locked(columns, path[0]), path[-1].copy()
        end[columns] = path[0, columns]
        result = search(locked, path[0], end)
        space.checked = locked.checked
        if result is not None:
            result[-1] = path[-1]
            try:
                is_free = bool(space.edges_are_free(result[:-1], result[1:]).all())
            except OutOfTimeError:
                is_free = False
            return steady_path(space, result) if is_free else path
    return path


def improved_at_rest(
    space: PlanningSpace,
    path: np.ndarray,
    starts: np.ndarray,
    goals: np.ndarray,
    improve: Callable[[PlanningSpace, np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return an improved path (k, nq); joints at the robot's end that rest along ``path`` still rest.

    These are joints, such as fingers, with equal positions at all starts and goals (n, nq).  ``improve(space, path,
    goals)`` returns a path no longer than ``path``, in a space in which they are locked.
    """
    by_end = [space.resting_joints(path[0], q)[1:] for q in (*starts, *goals)]
    for group in zip(*by_end, strict=True):
        columns = reduce(np.intersect1d, group)
        if not (len(columns) and (path[1:-1, columns] == path[0, columns]).all()):
            continue
        locked, level_path, level_goals = space.with_locked(columns, path[0]), path.copy(), goals.copy()
        level_path[-1, columns] = level_goals[:, columns] = path[0, columns]
        result = improve(locked, level_path, level_goals)
        space.checked = locked.checked
        result[-1] = goals[int(space.between(level_goals, result[-1:])[0].argmin())]
        try:
            is_free = bool(space.edges_are_free(result[-2:-1], result[-1:]).all())
        except OutOfTimeError:
            is_free = False
        return result if is_free else path
    return improve(space, path, goals)


def _shorten(
    space: PlanningSpace, path: np.ndarray, seed: int, spacing: float, continues: Callable[[], bool]
) -> np.ndarray:
    result, cost, spacing = remove_straight_nodes(space, path), np.inf, spacing * space.unit
    for k in range(_ROUNDS):
        if len(result) <= 2 or not continues():
            break
        result = shortest_visible(
            space, *_path_points(space, result, ((seed + k) * _GOLDEN) % 1.0 if k else None), spacing
        )
        last, cost = cost, space.cost(result)
        if k and last - cost < _MIN_PROGRESS * cost:
            break
    if not space.edges_are_free(result[:-1], result[1:]).all():
        return path
    # lengths along edges, which path constraints may make longer than straight segments
    shorter = space.cost(space.detailed(result)) <= space.cost(space.detailed(path))
    return result if shorter else path


def remove_straight_nodes(space: PlanningSpace, path: np.ndarray) -> np.ndarray:
    """Return a path (k, nq) without the nodes at which its direction does not change.

    Edges that rotate by half a revolution together are not joined, because one edge takes the shorter direction.
    """
    if len(path) <= 2:
        return path
    phi = space.difference(path[:-1], path[1:])
    unit = phi / np.maximum(space.length(phi), 1e-300)[:, None]
    keep = space.length(unit[1:] - unit[:-1]) > _STRAIGHT
    rotations = space.rotation(phi)
    if rotations.sum() > HALF_TURN and not keep.all():
        joined = rotations[0]
        for k, rotation in enumerate(rotations[1:].tolist()):
            joined = rotation if keep[k] else joined + rotation
            if joined > HALF_TURN:
                keep[k], joined = True, rotation
    result: np.ndarray = path[np.concatenate([[True], keep, [True]])]
    return result


def _path_points(space: PlanningSpace, path: np.ndarray, phase: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of a path and equally spaced points between them, with the path parameter of each.

    The path parameter of a point is the number of corners before it plus its fraction of the edge. ``phase`` shifts
    the points between corners; without it only corners are returned.
    """
    parameters = np.arange(len(path), dtype=float)
    more = _MAX_POINTS - len(path)
    if phase is None or more <= 0:
        return path, parameters
    step = space.difference(path[:-1], path[1:])
    lengths = space.length(step)
    at = np.concatenate([[0.0], np.cumsum(lengths)])
    s = at[-1] * (np.arange(more) + phase) / more
    segment = np.clip(np.searchsorted(at, s, side="right") - 1, 0, len(lengths) - 1)
    t = np.clip((s - at[segment]) / np.maximum(lengths[segment], 1e-300), 0.0, 1.0)
    between = space.integrate(path[segment], t[:, None] * step[segment])
    order = np.argsort(np.concatenate([parameters, segment + t]), kind="stable")
    return np.concatenate([path, between])[order], np.concatenate([parameters, segment + t])[order]


def shortest_visible(space: PlanningSpace, points: np.ndarray, at: np.ndarray, spacing: float) -> np.ndarray:
    """Return the shortest path whose nodes are points (n, nq) of a path, with free segments between them.

    ``at`` are the parameters of the points: the number of corners before a point plus its fraction of the edge.
    """
    n = len(points)
    if n > 2 * _MAX_POINTS:
        parts = [slice(k, k + _MAX_POINTS) for k in range(0, n - 1, _MAX_POINTS - 1)]
        result = [shortest_visible(space, points[fraction], at[fraction], spacing) for fraction in parts]
        return np.concatenate([result[0], *(fraction[1:] for fraction in result[1:])])
    i, j = np.triu_indices(n, 1)
    phi = space.difference(points[i], points[j])
    direct = space.length(phi)
    on_one_edge = np.floor(at[i]) + 1.0 >= at[j]  # on one piece of the path
    length = np.full((n, n), np.inf)
    length[i, j] = np.where(on_one_edge, direct, np.inf)
    along = np.concatenate([[0.0], np.cumsum(length[np.arange(n - 1), np.arange(1, n)])])
    new = np.flatnonzero(~on_one_edge & (along[j] - along[i] - direct > _MIN_SAVING * along[-1]))
    new = new[appear_free(space, points[i[new]], phi[new], spacing)]
    length[i[new], j[new]] = direct[new]
    while True:
        nodes = _shortest(length)
        unchecked = [(a, b) for a, b in pairwise(nodes) if np.floor(at[a]) + 1.0 < at[b]]
        if not unchecked:
            return np.asarray(points[nodes])
        a, b = np.array(unchecked).T
        free = space.edges_are_free(points[a], points[b])
        if free.all():
            return remove_straight_nodes(space, np.asarray(points[nodes]))
        length[a[~free], b[~free]] = np.inf


def appear_free(space: PlanningSpace, q0: np.ndarray, phi: np.ndarray, spacing: float) -> np.ndarray:
    """Return a mask (n,) of the segments q0 ⊕ t φ that are free at configurations ``spacing`` apart.

    Midpoints are checked first, since most collisions show there; then the remaining points of the free segments.
    """
    result: np.ndarray = np.ones(len(q0), dtype=bool)
    remaining = np.arange(len(q0))
    counts = space.looks(phi, spacing)
    for fraction in (_FIRST_FRACTIONS, None):
        if fraction is None:
            t, which = _rest(counts[remaining])
        else:
            t, which = np.tile(fraction, len(remaining)), np.repeat(np.arange(len(remaining)), len(fraction))
        if len(t):
            parameters = remaining[which]
            free = space.free(space.integrate(q0[parameters], phi[parameters] * t[:, None]))
            result[parameters[~free]] = False
            remaining = remaining[result[remaining]]
    return result


def _rest(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the fractions k/n of points on segments that remain to be checked, and the index of each point's segment.

    A segment is divided into n = ``counts`` parts. The points at ¼, ½ and ¾ are left out.
    """
    inner = counts - 1
    which = np.repeat(np.arange(len(counts)), inner)
    k = np.arange(len(which)) - (np.cumsum(inner) - inner)[which] + 1
    new = (4 * k) % counts[which] != 0
    return (k / counts[which])[new], which[new]


def _shortest(length: np.ndarray) -> list[int]:
    """Return the nodes of the shortest path from the first to the last node along increasing indices.

    ``length`` (n, n) are the lengths between nodes, infinite where there is no segment.
    """
    rows = length.T.tolist()  # lengths to each node from those before it
    n = len(rows)
    best, before = [0.0] * n, [0] * n
    for k in range(1, n):
        row = rows[k]
        best[k], before[k] = min((best[i] + row[i], i) for i in range(k))
    nodes = [n - 1]
    while nodes[-1]:
        nodes.append(before[nodes[-1]])
    return nodes[::-1]


_CHORDS = 8
_RISE = 0.25  # fraction of a blend until a is maximal
# for its three cubics: x at the end; w, w'/2 and w''/6 at the start
_WEIGHTS = (
    (_RISE, 0.0, 0.0, 1.0 / (6.0 * _RISE * (1.0 - _RISE))),
    (1.0 - _RISE, 0.5 * _RISE / (1.0 - _RISE), 0.5 / (1.0 - _RISE), 0.0),
    (1.0, 1.0 - 0.5 * _RISE / (1.0 - _RISE), 0.5 / (1.0 - _RISE), -1.0 / (6.0 * _RISE * (1.0 - _RISE))),
)
_SIZES = (0.5, 0.25, 0.12, 0.05)  # sizes of blends relative to the shorter edge; the first collision-free one is used


def blend_corners(space: PlanningSpace, path: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return a path with blended corners as k cubic segments: times (k + 1,) and coefficients (k, nq, 4).

    The edges of the path take ``lengths`` (n,) [s]. Corners without a valid blend stay. The result is None for
    configurations that are not Euclidean, and if the robot's displacements have no known bound.
    """
    if not space.is_plain:
        return None
    try:
        reaches = joint_reaches(space.robot.tree, space.lower, space.upper)
    except (TypeError, ValueError):
        return None
    rates = (path[1:] - path[:-1]) / lengths[:, None]
    rate_change = rates[1:] - rates[:-1]
    size = np.minimum(lengths[1:], lengths[:-1])
    blend_length = np.zeros(len(rate_change))
    remaining = np.arange(len(rate_change))
    for fraction in _SIZES:
        if not len(remaining):
            break
        d = fraction * size[remaining]
        x = np.linspace(0.0, 1.0, 2 * _CHORDS + 1)
        along = np.stack([x, _weight_integral(x)]) * 2.0 * d[:, None, None]
        at = (path[1:-1][remaining] - d[:, None] * rates[:-1][remaining])[:, None] + (
            along[:, 0, :, None] * rates[:-1][remaining][:, None]
            + along[:, 1, :, None] * rate_change[remaining][:, None]
        )
        deviation = (np.abs(rate_change[remaining]) * reaches).sum(axis=1) * d / (4.0 * (1.0 - _RISE) * _CHORDS**2)
        ends = at[:, ::2]
        flat = ends[:, :-1].reshape(-1, path.shape[1]), ends[:, 1:].reshape(-1, path.shape[1])
        free = space.edges_are_clear(*flat, np.repeat(deviation, _CHORDS)).reshape(-1, _CHORDS).all(axis=1)
        free &= space.keeps(at).all(axis=1)
        blend_length[remaining[free]] = d[free]
        remaining = remaining[~free]
    return _segments(path, lengths, rates, rate_change, blend_length)


def _weight_integral(x: np.ndarray) -> np.ndarray:
    """Return ∫₀ˣ w dx (...) of a blend's weight w, which rises from 0 to 1 for x from 0 to 1."""
    begun, ended = np.maximum(x - _RISE, 0.0), np.maximum(x - (1.0 - _RISE), 0.0)
    result: np.ndarray = (x**3 - begun**3 - ended**3) / (6.0 * _RISE * (1.0 - _RISE))
    return result


def _segments(
    path: np.ndarray, lengths: np.ndarray, rates: np.ndarray, rate_change: np.ndarray, d: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    at = np.concatenate([[0.0], np.cumsum(lengths)])
    before, after = np.concatenate([[0.0], d]), np.concatenate([d, [0.0]])
    times, rows = [0.0], []
    for k in range(len(lengths)):
        if k and d[k - 1] > 0.0:
            c, u, v = d[k - 1], rates[k - 1], rate_change[k - 1]
            for begin, (end, *w) in zip((0.0, _RISE, 1.0 - _RISE), _WEIGHTS, strict=True):
                start = path[k] + c * (2.0 * begin - 1.0) * u + 2.0 * c * float(_weight_integral(np.array(begin))) * v
                rows.append([start, u + w[0] * v, w[1] / (2.0 * c) * v, w[2] / (2.0 * c) ** 2 * v])
                times.append(at[k] + (2.0 * end - 1.0) * c)
        if lengths[k] - before[k] - after[k] > 1e-12 * lengths[k]:
            zero = np.zeros_like(rates[k])
            rows.append([path[k] + before[k] * rates[k], rates[k], zero, zero])
            times.append(at[k + 1] - after[k])
    return np.array(times), np.moveaxis(np.array(rows), 1, 2)
