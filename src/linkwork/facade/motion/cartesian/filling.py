"""Way points between way points, until the curve through them stays on the path.

Between neighbours q is a cubic by s with the velocities that move the frame along the path (Hermite's), so what is off
the path falls with the fourth power of the step.  It is measured at three places between neighbours; where it is too
much there is a way point more in the middle.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .asked import AskedPath
from .steps import Steps

__all__ = ["Curve", "Filled", "filled"]

_PLACES = np.array([0.25, 0.5, 0.75])
_ENOUGH = 0.8  # of a tolerance: what is measured at places may be a little more between them
_ROUNDS = 24
_LEAST = 1.0 / 64.0  # of the finest step: where a curve is not near enough with way points so near, it ends
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Curve:
    """A smooth part of what follows a path: way points q (k, nq) at s (k,), and velocities v (k, nv) by s."""

    s: np.ndarray
    q: np.ndarray
    v: np.ndarray


class Filled(NamedTuple):
    """Curves one after the other, ``begins`` where one does not begin where the one before ends; what is off [m, rad]
    at most; and where it went wrong, if it did."""

    curves: tuple[Curve, ...]
    begins: tuple[int, ...]
    off: tuple[float, float]
    wrong: float | None


class _Part:
    """Way points of one curve."""

    def __init__(self, s: np.ndarray, q: np.ndarray, V: np.ndarray) -> None:
        self.s, self.q, self.V = s, q, V


def filled(asked: AskedPath, steps: Steps, tolerance: tuple[float, float]) -> Filled:
    """Curves through steps that are no farther from the path than a tolerance [m, rad] at what is between.

    Where that cannot be they end.
    """
    parts, begins = _parts(asked, steps)
    allowed = _ENOUGH * np.array(tolerance)
    wrong: float | None = None
    for left in range(_ROUNDS, -1, -1):
        if not parts:
            return Filled((), (), (0.0, 0.0), wrong)
        v = _velocities(asked, parts)
        off, beyond, middle = _looked_at(asked, parts, v)
        bad = (off > allowed).any(axis=-1) | beyond
        ends = np.concatenate([np.stack([p.s[:-1], p.s[1:]], axis=1) for p in parts])
        if not bad.any():
            break
        chosen = np.flatnonzero(bad)
        at = 0.5 * (ends[chosen, 0] + ends[chosen, 1])
        X, V = asked.path.moving(at)
        found, done = asked.solved(middle[chosen], X)
        lost = ~done | (ends[chosen, 1] - ends[chosen, 0] <= asked.finest * _LEAST) | (left <= 1)
        if lost.any():
            wrong = float(ends[chosen[lost]][0, 0])
            parts = _cut(parts, wrong)
            continue
        _insert(parts, chosen, at, found, V)
    most = off[~bad].max(axis=0, initial=0.0)
    rows = np.cumsum([len(p.s) for p in parts])[:-1]
    curves = tuple(Curve(p.s, p.q, own) for p, own in zip(parts, np.split(v, rows), strict=True))
    return Filled(curves, tuple(k for k in begins if k < len(curves)), (float(most[0]), float(most[1])), wrong)


def _looked_at(asked: AskedPath, parts: list[_Part], v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each step (n, ...): what is off at most [m, rad], whether it goes beyond limits, and its middle."""
    between, places = _between(asked, parts, v)
    off = asked.off(between, places.ravel()).reshape(-1, len(_PLACES), 2).max(axis=1)
    outside = np.any((between < asked.lower - _ROUNDING) | (between > asked.upper + _ROUNDING), axis=-1)
    middle = between.reshape(-1, len(_PLACES), between.shape[-1])[:, 1]
    return off, np.any(outside.reshape(-1, len(_PLACES)), axis=1), middle


def _cut(parts: list[_Part], s: float) -> list[_Part]:
    """What is before a place."""
    found = []
    for part in parts:
        kept = part.s <= s
        if kept.sum() > 1:
            found.append(_Part(part.s[kept], part.q[kept], part.V[kept]))
    return found


def _parts(asked: AskedPath, steps: Steps) -> tuple[list[_Part], list[int]]:
    """Between reconfigurations and corners.  After a reconfiguration a part begins where the one before it ends."""
    found: list[_Part] = []
    begins: list[int] = []
    knots, corners = asked.path.knots, asked.path.corners
    first = 0
    while first < len(steps.s):
        last = first + 1
        while last < len(steps.s) and not steps.changed[last]:
            last += 1
        s, q = steps.s[first:last], steps.q[first:last]
        if first:
            begins.append(len(found))
            back, done = asked.solved(q[:1], asked.path(steps.s[first - 1])[None])
            if done[0] and asked.far(back[0], q[0]) < 0.5:
                s, q = np.append(steps.s[first - 1], s), np.concatenate([back, q])
        inner = [0, *(k for k in range(1, len(s) - 1) if np.any(s[k] == corners)), len(s) - 1]
        for a, b in pairwise(inner):
            if b > a:
                own = s[a : b + 1]
                V = asked.path.moving(own)[1]
                if np.any(own[-1] == corners):
                    V[-1] = asked.path.ending(int(np.flatnonzero(knots == own[-1])[0]) - 1)[1]
                found.append(_Part(own, q[a : b + 1], V))
        first = last
    return found, begins


def _velocities(asked: AskedPath, parts: list[_Part]) -> np.ndarray:
    """By way point (n, nv), of all parts one after the other."""
    rough = np.concatenate([_rough(asked, p) for p in parts])
    q, V = (np.concatenate([getattr(p, name) for p in parts]) for name in ("q", "V"))
    return asked.tangents(q, V, rough)


def _rough(asked: AskedPath, part: _Part) -> np.ndarray:
    """Those of parabolas through neighbours."""
    h = np.diff(part.s)[:, None]
    slope = asked.difference(part.q[:-1], part.q[1:]) / h
    if len(slope) == 1:
        return np.repeat(slope, 2, axis=0)
    inner = (slope[:-1] * h[1:] + slope[1:] * h[:-1]) / (h[:-1] + h[1:])
    return np.concatenate([[2.0 * slope[0] - inner[0]], inner, [2.0 * slope[-1] - inner[-1]]])


def _between(asked: AskedPath, parts: list[_Part], v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the curves are at three places between neighbours: (3 n, nq), and the places (n, 3)."""
    rows = np.cumsum([len(p.s) for p in parts])[:-1]
    each = np.split(v, rows)
    places = np.concatenate([p.s[:-1, None] + np.diff(p.s)[:, None] * _PLACES for p in parts])
    if not asked.plain:
        found = [
            asked.robot.spline(p.s, p.q, "hermite", velocity=own)(
                (p.s[:-1, None] + np.diff(p.s)[:, None] * _PLACES).ravel()
            ).q
            for p, own in zip(parts, each, strict=True)
        ]
        return np.concatenate(found), places
    a, b = (np.concatenate([p.q[cut] for p in parts])[:, None] for cut in (slice(0, -1), slice(1, None)))
    h = np.concatenate([np.diff(p.s) for p in parts])[:, None, None]
    va, vb = (np.concatenate([own[cut] for own in each])[:, None] * h for cut in (slice(0, -1), slice(1, None)))
    u = _PLACES[:, None]
    q = a + u * va + u * u * (3.0 * (b - a) - 2.0 * va - vb) + u * u * u * (2.0 * (a - b) + va + vb)
    return q.reshape(-1, q.shape[-1]), places


def _insert(parts: list[_Part], chosen: np.ndarray, at: np.ndarray, q: np.ndarray, V: np.ndarray) -> None:
    """Way points more, in the steps of these numbers, counted over all parts."""
    start = 0
    for part in parts:
        count = len(part.s) - 1
        here = (chosen >= start) & (chosen < start + count)
        if here.any():
            places = chosen[here] - start + 1
            part.s = np.insert(part.s, places, at[here])
            part.q = np.insert(part.q, places, q[here], axis=0)
            part.V = np.insert(part.V, places, V[here], axis=0)
        start += count
