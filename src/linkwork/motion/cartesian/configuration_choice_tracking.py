"""From neighbour to neighbour: each configuration from the one before, several starts side by side.

A step on which a joint moves more than is allowed is halved, again and again: what is reached in small steps is no
jump.  Where the smallest step jumps or fails, the way ends there; or the robot goes over to the nearest other answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.motion.cartesian.arguments import AskedPath
from linkwork.motion.cartesian.cartesian_path_steps import Steps

__all__ = ["tracked"]

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
    asked: AskedPath,
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
        found, done = asked.solved(seeds, np.repeat(X[k + 1][None], len(going), axis=0))
        near = done & (np.abs(asked.difference(before, found)) <= largest).all(axis=-1)
        for track, q, fine in zip(going, found, near, strict=True):
            if fine:
                track.add(float(places[k + 1]), q)
            else:
                _divided(asked, track, float(places[k]), float(places[k + 1]), largest, reconfigure)
    return [track.steps() for track in tracks]


def _divided(asked: AskedPath, track: _Track, begin: float, end: float, largest: np.ndarray, reconfigure: bool) -> None:
    """One step, in halves as small as it takes."""
    least = asked.finest
    waiting = [(begin, end)]
    while waiting:
        begin, end = waiting.pop()
        q = track.q[-1]
        X = asked.path(end)
        found, done = asked.solved(asked.pushed(q[None], end - begin, track.habit), X[None])
        if done[0] and (np.abs(asked.difference(q, found[0])) <= largest).all():
            track.add(end, found[0])
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
