"""Arms with a closed form: which branch where, by dynamic programming over all of them.

At each place there are the branches; a label is one of them with its angles as they are counted, reached from the start
by the fewest reconfigurations and then the least joint motion (the sum of √Σ Δq² of steps).  A branch goes on to
another where no joint moves more than is allowed, the short way round and within limits; where none does, the step is
halved, and at the smallest it ends there.  A reconfiguration goes to any branch, each joint at the turn nearest to
where it is.

From neighbour to neighbour: each configuration from the one before, several starts side by side.

A step on which a joint moves more than is allowed is halved, again and again: what is reached in small steps is no
jump.  Where the smallest step jumps or fails, the way ends there; or the robot goes over to the nearest other answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from linkwork.motion.cartesian.arguments import PathRequest
from linkwork.motion.cartesian.cartesian_path import Steps

__all__ = ["BranchNodes", "Labels", "advanced", "branch_steps", "tracked"]


BranchNodes = Callable[[np.ndarray], list[np.ndarray]]
"""Of places (n,): the configurations (m, nq) at each of them, angles counted anyhow."""
_TURN = 2.0 * np.pi
_ONE = 1e-3  # [rad]: labels that are one


@dataclass(frozen=True)
class Labels:
    """What is reached at a place: configurations (n, nq), reconfigurations and motion so far (n,), and from which."""

    s: float
    q: np.ndarray
    count: np.ndarray
    motion: np.ndarray
    before: np.ndarray
    changed: np.ndarray


def advanced(
    labels: Labels,
    s: float,
    nodes: np.ndarray,
    turning: np.ndarray,
    limits: tuple[np.ndarray, np.ndarray],
    largest: np.ndarray,
    reconfigure: bool,
) -> tuple[Labels, bool]:
    """The labels at the next place, and whether all went on without a jump."""
    low, high = limits
    step = nodes[None] - labels.q[:, None]
    step = np.where(turning, step - _TURN * np.round(step / _TURN), step)
    to = labels.q[:, None] + step
    near = (np.abs(step) <= largest).all(-1) & ((to >= low) & (to <= high)).all(-1)
    whole = bool(near.any(axis=1).all())
    a, b = np.nonzero(near)
    result = [(to[a, b], a, np.zeros(len(a), dtype=bool))]
    if reconfigure and len(nodes):
        with np.errstate(invalid="ignore"):
            least = np.where(turning, np.ceil((low - nodes - 1e-12) / _TURN), 0.0)
            most = np.where(turning, np.floor((high - nodes + 1e-12) / _TURN), 0.0)
        wanted = np.where(turning, np.round((labels.q[:, None] - nodes[None]) / _TURN), 0.0)
        there = nodes[None] + _TURN * np.clip(wanted, least, np.maximum(least, most))
        fine = ((there >= low - 1e-12) & (there <= high + 1e-12)).all(-1)
        c, d = np.nonzero(fine & ~near)
        result.append((there[c, d], c, np.ones(len(c), dtype=bool)))
    q, before, changed = (np.concatenate(part) for part in zip(*result, strict=True))
    count = labels.count[before] + changed
    motion = labels.motion[before] + np.linalg.norm(q - labels.q[before], axis=-1)
    order = np.lexsort((motion, count))
    order = order[count[order] <= (count.min() if len(count) else 0) + 1]  # one more than the least leads anywhere
    seen: dict[tuple[int, ...], None] = {}
    kept = []
    for k, key in zip(order.tolist(), map(tuple, np.round(q[order] / _ONE).astype(np.int64).tolist()), strict=True):
        if key not in seen:
            seen[key] = None
            kept.append(k)
    at = np.array(kept, dtype=int)
    return Labels(s, q[at], count[at], motion[at], before[at], changed[at]), whole


def branch_steps(
    asked: PathRequest,
    places: np.ndarray,
    nodes_at: BranchNodes,
    starts: np.ndarray,
    turning: np.ndarray,
    largest: np.ndarray,
    reconfigure: bool,
) -> Steps:
    """The best way from any of the starts (n, nq) through places, as far as one comes."""
    none = np.zeros(len(starts), dtype=int)
    layers = [Labels(float(places[0]), starts, none, np.zeros(len(starts)), none, none.astype(bool))]
    limits = asked.problem.lower, asked.problem.upper
    least = asked.finest
    known = dict(zip(places.tolist(), nodes_at(places), strict=True))
    waiting = [(a, b) for a, b in pairwise(places.tolist())][::-1]
    missed = None
    while waiting:
        begin, end = waiting.pop()
        if end not in known:
            known[end] = nodes_at(np.array([end]))[0]
        labels, whole = advanced(layers[-1], end, known[end], turning, limits, largest, reconfigure)
        if not whole and end - begin > least:
            middle = 0.5 * (begin + end)
            waiting += [(middle, end), (begin, middle)]
            continue
        if not len(labels.q):
            missed = end
            break
        layers.append(labels)
    k = 0  # the fewest reconfigurations and the least motion come first
    s, q, changed = [], [], []
    for labels in layers[::-1]:
        s.append(labels.s)
        q.append(labels.q[k])
        changed.append(bool(labels.changed[k]))
        k = int(labels.before[k])
    return Steps(np.array(s[::-1]), np.array(q[::-1]), np.array(changed[::-1]), missed)


_CHANGES = 50  # of one path: more are no way to go


class _Track:
    """What one start has come to."""

    def __init__(self, q: np.ndarray, habit: int) -> None:
        self.habit = np.array([habit])
        self.s, self.q, self.changed = [0.0], [q], [False]
        self.missed: float | None = None

    def add(self, s: float, q: np.ndarray, changed: bool = False) -> None:
        self.s.append(s)
        self.q.append(q)
        self.changed.append(changed)

    def steps(self) -> Steps:
        return Steps(np.array(self.s), np.array(self.q), np.array(self.changed), self.missed)


def tracked(
    asked: PathRequest,
    places: np.ndarray,
    starts: np.ndarray,
    habits: Sequence[int],
    largest: np.ndarray,
    reconfigure: bool,
) -> list[Steps]:
    """The ways from starts (n, nq), which are on the path's beginning, through places, by habits of `pushed`."""
    X = asked.path(places)
    tracks = [_Track(q, habit) for q, habit in zip(starts, habits, strict=True)]
    for k in range(len(places) - 1):
        going = [track for track in tracks if track.missed is None]
        if not going:
            break
        before = np.array([track.q[-1] for track in going])
        own = np.concatenate([track.habit for track in going])
        seeds = asked.pushed(before, float(places[k + 1] - places[k]), own)
        result, done = asked.solved(seeds, np.repeat(X[k + 1][None], len(going), axis=0))
        near = done & (np.abs(asked.difference(before, result)) <= largest).all(axis=-1)
        for track, q, fine in zip(going, result, near, strict=True):
            if fine:
                track.add(float(places[k + 1]), q)
            else:
                _divided(asked, track, float(places[k]), float(places[k + 1]), largest, reconfigure)
    return [track.steps() for track in tracks]


def _divided(
    asked: PathRequest, track: _Track, begin: float, end: float, largest: np.ndarray, reconfigure: bool
) -> None:
    """One step, in halves as small as it takes."""
    least = asked.finest
    waiting = [(begin, end)]
    while waiting:
        begin, end = waiting.pop()
        q = track.q[-1]
        X = asked.path(end)
        result, done = asked.solved(asked.pushed(q[None], end - begin, track.habit), X[None])
        if done[0] and (np.abs(asked.difference(q, result[0])) <= largest).all():
            track.add(end, result[0])
        elif end - begin > least:
            middle = 0.5 * (begin + end)
            waiting += [(middle, end), (begin, middle)]
        else:
            answers = asked.others(q, X) if reconfigure and sum(track.changed) < _CHANGES else np.empty((0, len(q)))
            if not len(answers):
                track.missed = end
                return
            changed = bool((np.abs(asked.difference(q, answers[0])) > largest).any())
            track.add(end, answers[0], changed)
