"""Choice of configurations along a path: dynamic programming over branches, or tracking.

For arms with inverse kinematics in closed form, all branches of solutions at each position are known.  Dynamic
programming keeps, for each configuration at a position, the best route to it from the start.  The best route has the
fewest reconfigurations, then the least joint motion (the sum of √Σ Δq² over steps).  A branch continues to a branch at
the next position if no joint moves more than the maximal step, by the shortest rotation and within limits.  Otherwise
the step is halved; at the smallest step the branch ends.  A reconfiguration leads to any branch; each joint moves to
the nearest equivalent angle.

For other robots inverse kinematics of each position begins at the previous configuration, for several starts in
parallel.  A step on which a joint moves too far is halved repeatedly: a configuration that is reached in small steps is
not a jump.  Where the smallest step jumps or fails, the motion ends, or the robot changes to the nearest other
solution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from linkwork.motion.cartesian.arguments import PathRequest
from linkwork.motion.cartesian.cartesian_path import Waypoints

__all__ = ["BranchesAt", "Labels", "advanced", "branch_steps", "tracked"]


BranchesAt = Callable[[np.ndarray], list[np.ndarray]]
"""Function from path positions (n,) to the configurations (m, nq) of all branches at each, up to full revolutions."""
_TURN = 2.0 * np.pi
_SAME = 1e-3  # [rad] labels that are nearer are the same


@dataclass(frozen=True)
class Labels:
    """The best routes from the start to each of n configurations q (n, nq) at one path position s.

    ``count`` (n,) is a route's number of reconfigurations, and ``motion`` (n,) the sum of √Σ Δq² over its steps.
    ``before`` (n,) is the index of the preceding configuration, at the previous position. ``changed`` (n,) is True
    where the last step is a reconfiguration.
    """

    s: float
    q: np.ndarray
    count: np.ndarray
    motion: np.ndarray
    before: np.ndarray
    changed: np.ndarray


def advanced(
    labels: Labels,
    s: float,
    branches: np.ndarray,
    turning: np.ndarray,
    limits: tuple[np.ndarray, np.ndarray],
    max_step: np.ndarray,
    reconfigure: bool,
) -> tuple[Labels, bool]:
    """Return the best routes to configurations at the next path position s, and True if all routes continue.

    ``labels`` are the best routes to the previous position. ``branches`` (m, nq) are the configurations at s, up to
    full revolutions of the coordinates that are ``turning`` (nq,). A step of more than ``max_step`` (nv,) is a jump; it
    is permitted if ``reconfigure``, but then the second result is False.
    """
    low, high = limits
    step = branches[None] - labels.q[:, None]
    step = np.where(turning, step - _TURN * np.round(step / _TURN), step)
    to = labels.q[:, None] + step
    near = (np.abs(step) <= max_step).all(-1) & ((to >= low) & (to <= high)).all(-1)
    all_continue = bool(near.any(axis=1).all())
    a, b = np.nonzero(near)
    result = [(to[a, b], a, np.zeros(len(a), dtype=bool))]
    if reconfigure and len(branches):
        with np.errstate(invalid="ignore"):
            least = np.where(turning, np.ceil((low - branches - 1e-12) / _TURN), 0.0)
            most = np.where(turning, np.floor((high - branches + 1e-12) / _TURN), 0.0)
        turns = np.where(turning, np.round((labels.q[:, None] - branches[None]) / _TURN), 0.0)
        shifted = branches[None] + _TURN * np.clip(turns, least, np.maximum(least, most))
        valid = ((shifted >= low - 1e-12) & (shifted <= high + 1e-12)).all(-1)
        c, d = np.nonzero(valid & ~near)
        result.append((shifted[c, d], c, np.ones(len(c), dtype=bool)))
    q, before, changed = (np.concatenate(part) for part in zip(*result, strict=True))
    count = labels.count[before] + changed
    motion = labels.motion[before] + np.linalg.norm(q - labels.q[before], axis=-1)
    order = np.lexsort((motion, count))
    order = order[count[order] <= (count.min() if len(count) else 0) + 1]  # further reconfigurations cannot be optimal
    keys: dict[tuple[int, ...], None] = {}
    chosen = []
    for k, key in zip(order.tolist(), map(tuple, np.round(q[order] / _SAME).astype(np.int64).tolist()), strict=True):
        if key not in keys:
            keys[key] = None
            chosen.append(k)
    at = np.array(chosen, dtype=int)
    return Labels(s, q[at], count[at], motion[at], before[at], changed[at]), all_continue


def branch_steps(
    request: PathRequest,
    path_positions: np.ndarray,
    branches_at: BranchesAt,
    starts: np.ndarray,
    turning: np.ndarray,
    max_step: np.ndarray,
    reconfigure: bool,
) -> Waypoints:
    """Return the best waypoints through the path positions, as far as possible, from any of the starts (n, nq).

    The best ones have the fewest reconfigurations, and among these the least joint motion. Steps between the positions
    are halved where a joint would move by more than ``max_step`` (nv,).
    """
    no_changes = np.zeros(len(starts), dtype=int)
    layers = [
        Labels(float(path_positions[0]), starts, no_changes, np.zeros(len(starts)), no_changes, no_changes.astype(bool))
    ]
    limits = request.problem.lower, request.problem.upper
    least = request.min_step
    known = dict(zip(path_positions.tolist(), branches_at(path_positions), strict=True))
    pending = [(a, b) for a, b in pairwise(path_positions.tolist())][::-1]
    missed = None
    while pending:
        begin, end = pending.pop()
        if end not in known:
            known[end] = branches_at(np.array([end]))[0]
        labels, all_continue = advanced(layers[-1], end, known[end], turning, limits, max_step, reconfigure)
        if not all_continue and end - begin > least:
            middle = 0.5 * (begin + end)
            pending += [(middle, end), (begin, middle)]
            continue
        if not len(labels.q):
            missed = end
            break
        layers.append(labels)
    k = 0  # sorted: fewest reconfigurations first, then least motion
    s, q, changed = [], [], []
    for labels in layers[::-1]:
        s.append(labels.s)
        q.append(labels.q[k])
        changed.append(bool(labels.changed[k]))
        k = int(labels.before[k])
    return Waypoints(np.array(s[::-1]), np.array(q[::-1]), np.array(changed[::-1]), missed)


_MAX_RECONFIGURATIONS = 50  # of one path


class _Track:
    """Waypoints reached so far from one start configuration, and its choice of initial guesses for inverse kinematics.

    ``strategy`` is an argument of `PathRequest.initial_guesses`.
    """

    def __init__(self, q: np.ndarray, strategy: int) -> None:
        self.strategy = np.array([strategy])
        self.s, self.q, self.changed = [0.0], [q], [False]
        self.missed: float | None = None

    def add(self, s: float, q: np.ndarray, changed: bool = False) -> None:
        self.s.append(s)
        self.q.append(q)
        self.changed.append(changed)

    def steps(self) -> Waypoints:
        return Waypoints(np.array(self.s), np.array(self.q), np.array(self.changed), self.missed)


def tracked(
    request: PathRequest,
    path_positions: np.ndarray,
    starts: np.ndarray,
    strategies: Sequence[int],
    max_step: np.ndarray,
    reconfigure: bool,
) -> list[Waypoints]:
    """Return, for each of the starts (n, nq), the waypoints tracked from it through the path positions.

    Inverse kinematics of each waypoint begins at the previous configuration.  ``strategies`` (n,) are arguments of
    `PathRequest.initial_guesses`.
    """
    X = request.path(path_positions)
    tracks = [_Track(q, strategy) for q, strategy in zip(starts, strategies, strict=True)]
    for k in range(len(path_positions) - 1):
        going = [track for track in tracks if track.missed is None]
        if not going:
            break
        before = np.array([track.q[-1] for track in going])
        choices = np.concatenate([track.strategy for track in going])
        seeds = request.initial_guesses(before, float(path_positions[k + 1] - path_positions[k]), choices)
        result, done = request.solve(seeds, np.repeat(X[k + 1][None], len(going), axis=0))
        near = done & (np.abs(request.difference(before, result)) <= max_step).all(axis=-1)
        for track, q, valid in zip(going, result, near, strict=True):
            if valid:
                track.add(float(path_positions[k + 1]), q)
            else:
                _subdivided(
                    request, track, float(path_positions[k]), float(path_positions[k + 1]), max_step, reconfigure
                )
    return [track.steps() for track in tracks]


def _subdivided(
    request: PathRequest, track: _Track, begin: float, end: float, max_step: np.ndarray, reconfigure: bool
) -> None:
    """Continue a track from position ``begin`` to ``end``, with the step halved as often as necessary.

    At the smallest step the robot is reconfigured if permitted; otherwise the track ends, with ``missed`` set.
    """
    least = request.min_step
    pending = [(begin, end)]
    while pending:
        begin, end = pending.pop()
        q = track.q[-1]
        X = request.path(end)
        result, done = request.solve(request.initial_guesses(q[None], end - begin, track.strategy), X[None])
        if done[0] and (np.abs(request.difference(q, result[0])) <= max_step).all():
            track.add(end, result[0])
        elif end - begin > least:
            middle = 0.5 * (begin + end)
            pending += [(middle, end), (begin, middle)]
        else:
            solutions = (
                request.other_solutions(q, X)
                if reconfigure and sum(track.changed) < _MAX_RECONFIGURATIONS
                else np.empty((0, len(q)))
            )
            if not len(solutions):
                track.missed = end
                return
            changed = bool((np.abs(request.difference(q, solutions[0])) > max_step).any())
            track.add(end, solutions[0], changed)
