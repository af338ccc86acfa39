"""Way points between way points, until the curve through them stays on the path.

Between neighbours q is a polynomial of degree five by s, with the velocities that move the frame along the path and
accelerations that follow from neighbours, so that a has no jumps, and what is off the path falls with the sixth power
of the step, at a part's ends with the fourth.  It is measured at seven places between neighbours; where it is too much
there is a way point more in the middle.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np

from linkwork.motion.cartesian.arguments import PathRequest
from linkwork.motion.cartesian.cartesian_path import Steps
from linkwork.motion.trajectory.trajectory import Trajectory

__all__ = ["Curve", "RefinedCurve", "filled", "quintics"]

_PLACES = np.arange(1, 8) / 8
_ENOUGH = 0.8  # of a tolerance: what is measured at places may be a little more between them
_ROUNDS = 24
_LEAST = 1.0 / 64.0  # of the finest step: where a curve is not near enough with way points so near, it ends
_BESIDE = 1e-9  # of a step: what is beside a way point
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Curve:
    """A smooth part of what follows a path: way points q (k, nq) at s (k,), velocities v and accelerations a (k, nv) by
    s.
    """

    s: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray

    def trajectory(self, robot: Any) -> Trajectory:
        """Joints by time, which is s."""
        result = robot.spline(self.s, self.q, "quintic", velocity=self.v, acceleration=self.a, floating="decoupled")
        return cast(Trajectory, result)


class RefinedCurve(NamedTuple):
    """Curves one after the other, ``begins`` where one does not begin where the one before ends; what is off [m, rad]
    at most; and where it went wrong, if it did.
    """

    curves: tuple[Curve, ...]
    begins: tuple[int, ...]
    off: tuple[float, float]
    wrong: float | None


class _Part:
    """Way points of one curve."""

    def __init__(self, s: np.ndarray, q: np.ndarray, V: np.ndarray) -> None:
        self.s, self.q, self.V = s, q, V


def filled(asked: PathRequest, steps: Steps, tolerance: tuple[float, float]) -> RefinedCurve:
    """Curves through steps that are no farther from the path than a tolerance [m, rad] at what is between.

    Where that cannot be they end.
    """
    parts, begins = _parts(asked, steps)
    allowed = _ENOUGH * np.array(tolerance)
    wrong: float | None = None
    for left in range(_ROUNDS, -1, -1):
        if not parts:
            return RefinedCurve((), (), (0.0, 0.0), wrong)
        v = _velocities(asked, parts)
        a = _accelerations(asked, parts, v)
        off, beyond, middle = _looked_at(asked, parts, v, a)
        bad = (off > allowed).any(axis=-1) | beyond
        ends = np.concatenate([np.stack([p.s[:-1], p.s[1:]], axis=1) for p in parts])
        if not bad.any():
            break
        chosen = np.flatnonzero(bad)
        at = 0.5 * (ends[chosen, 0] + ends[chosen, 1])
        X, V = asked.path.twist(at)
        result, done = asked.solved(middle[chosen], X)
        lost = ~done | (ends[chosen, 1] - ends[chosen, 0] <= asked.finest * _LEAST) | (left <= 1)
        if lost.any():
            wrong = float(ends[chosen[lost]][0, 0])
            parts = _cut(parts, wrong)
            continue
        _insert(parts, chosen, at, result, V)
    most = off[~bad].max(axis=0, initial=0.0)
    rows = np.cumsum([len(p.s) for p in parts])[:-1]
    rates = np.split(v, rows), np.split(a, rows)
    curves = tuple(Curve(p.s, p.q, *own) for p, *own in zip(parts, *rates, strict=True))
    return RefinedCurve(curves, tuple(k for k in begins if k < len(curves)), (float(most[0]), float(most[1])), wrong)


def _looked_at(
    asked: PathRequest, parts: list[_Part], v: np.ndarray, a: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each step (n, ...): what is off at most [m, rad], whether it goes beyond limits, and its middle."""
    between, places = _between(asked, parts, v, a)
    off = asked.off(between, places.ravel()).reshape(-1, len(_PLACES), 2).max(axis=1)
    outside = np.any((between < asked.lower - _ROUNDING) | (between > asked.upper + _ROUNDING), axis=-1)
    middle = between.reshape(-1, len(_PLACES), between.shape[-1])[:, len(_PLACES) // 2]
    return off, np.any(outside.reshape(-1, len(_PLACES)), axis=1), middle


def _cut(parts: list[_Part], s: float) -> list[_Part]:
    """What is before a place."""
    result = []
    for part in parts:
        kept = part.s <= s
        if kept.sum() > 1:
            result.append(_Part(part.s[kept], part.q[kept], part.V[kept]))
    return result


def _parts(asked: PathRequest, steps: Steps) -> tuple[list[_Part], list[int]]:
    """Between reconfigurations and corners.  After a reconfiguration a part begins where the one before it ends."""
    result: list[_Part] = []
    begins: list[int] = []
    knots, corners = asked.path.knots, asked.path.corners
    first = 0
    while first < len(steps.s):
        last = first + 1
        while last < len(steps.s) and not steps.changed[last]:
            last += 1
        s, q = steps.s[first:last], steps.q[first:last]
        if first:
            begins.append(len(result))
            back, done = asked.solved(q[:1], asked.path(steps.s[first - 1])[None])
            if done[0] and asked.far(back[0], q[0]) < 0.5:
                s, q = np.append(steps.s[first - 1], s), np.concatenate([back, q])
        inner = [0, *(k for k in range(1, len(s) - 1) if np.any(s[k] == corners)), len(s) - 1]
        for a, b in pairwise(inner):
            if b > a:
                own = s[a : b + 1]
                V = asked.path.twist(own)[1]
                if np.any(own[-1] == corners):
                    V[-1] = asked.path.truncated(int(np.flatnonzero(knots == own[-1])[0]) - 1)[1]
                result.append(_Part(own, q[a : b + 1], V))
        first = last
    return result, begins


def _velocities(asked: PathRequest, parts: list[_Part]) -> np.ndarray:
    """By way point (n, nv), of all parts one after the other."""
    rough = np.concatenate([_rough(asked, p) for p in parts])
    q, V = (np.concatenate([getattr(p, name) for p in parts]) for name in ("q", "V"))
    return asked.tangents(q, V, rough)


def _rough(asked: PathRequest, part: _Part) -> np.ndarray:
    """Those of parabolas through neighbours."""
    h = np.diff(part.s)[:, None]
    slope = asked.difference(part.q[:-1], part.q[1:]) / h
    if len(slope) == 1:
        return np.repeat(slope, 2, axis=0)
    inner = (slope[:-1] * h[1:] + slope[1:] * h[:-1]) / (h[:-1] + h[1:])
    return np.concatenate([[2.0 * slope[0] - inner[0]], inner, [2.0 * slope[-1] - inner[-1]]])


def _accelerations(asked: PathRequest, parts: list[_Part], v: np.ndarray) -> np.ndarray:
    """By way point (n, nv), of all parts one after the other: those of polynomials of degree five through neighbours
    with their velocities; at a part's ends, and where configurations are no plain numbers, those of cubics.
    """
    result, at = [], 0
    for part in parts:
        own = v[at : at + len(part.s)]
        at += len(part.s)
        result.append(_plain(part, own) if asked.plain else _curved(asked, part, own))
    return np.concatenate(result)


def _plain(part: _Part, v: np.ndarray) -> np.ndarray:
    h = np.diff(part.s)[:, None]
    mean = np.diff(part.q, axis=0) / h
    a = np.empty_like(v)
    a[0] = (6.0 * mean[0] - 4.0 * v[0] - 2.0 * v[1]) / h[0]
    a[-1] = (2.0 * v[-2] + 4.0 * v[-1] - 6.0 * mean[-1]) / h[-1]
    if len(h) > 1:
        # what gives t, ..., t⁵ their second derivatives at 0, from -before and after: steps of q, and rates
        before, after = -h[:-1], h[1:]
        powers = np.arange(1.0, 6.0)
        columns = [before**powers, after**powers, powers * before ** (powers - 1.0), powers * after ** (powers - 1.0)]
        columns.append(np.broadcast_to(powers == 1.0, (len(before), 5)).astype(float))
        scale = np.maximum(-before, after)
        matrix = np.stack(columns, axis=-1) / scale[..., None] ** powers[:, None]
        wanted = 2.0 * (powers == 2.0) / scale**2
        weights = np.linalg.solve(matrix, wanted[..., None])
        values = np.stack([part.q[:-2] - part.q[1:-1], part.q[2:] - part.q[1:-1], v[:-2], v[2:], v[1:-1]], axis=1)
        a[1:-1] = (weights * values).sum(axis=1)
    return a


def _curved(asked: PathRequest, part: _Part, v: np.ndarray) -> np.ndarray:
    """The middle between both sides."""
    cubics = asked.robot.spline(part.s, part.q, "hermite", velocity=v)
    room = _BESIDE * np.diff(part.s)
    after, before = cubics(part.s[:-1] + room).a, cubics(part.s[1:] - room).a
    return np.concatenate([after[:1], 0.5 * (before[:-1] + after[1:]), before[-1:]])


def _between(asked: PathRequest, parts: list[_Part], v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the curves are at three places between neighbours: (3 n, nq), and the places (n, 3)."""
    rows = np.cumsum([len(p.s) for p in parts])[:-1]
    rates, bends = np.split(v, rows), np.split(a, rows)
    places = np.concatenate([p.s[:-1, None] + np.diff(p.s)[:, None] * _PLACES for p in parts])
    if not asked.plain:
        result = [
            Curve(p.s, p.q, w, b).trajectory(asked.robot)((p.s[:-1, None] + np.diff(p.s)[:, None] * _PLACES).ravel()).q
            for p, w, b in zip(parts, rates, bends, strict=True)
        ]
        return np.concatenate(result), places
    h = np.concatenate([np.diff(p.s) for p in parts])[:, None, None]
    cuts = slice(0, -1), slice(1, None)
    q0, q1 = (np.concatenate([p.q[cut] for p in parts])[:, None] for cut in cuts)
    v0, v1 = (np.concatenate([own[cut] for own in rates])[:, None] * h for cut in cuts)
    a0, a1 = (np.concatenate([own[cut] for own in bends])[:, None] * h * h for cut in cuts)
    u = _PLACES[:, None]
    c = quintics(q1 - q0, v0, v1, a0, a1)
    q = q0 + u * (c[0] + u * (c[1] + u * (c[2] + u * (c[3] + u * c[4]))))
    return q.reshape(-1, q.shape[-1]), places


def quintics(way: np.ndarray, v0: np.ndarray, v1: np.ndarray, a0: np.ndarray, a1: np.ndarray) -> list[np.ndarray]:
    """Coefficients of u, ..., u⁵ of steps that go so far in a unit of u, with rates and their rates at both ends."""
    far, fast, more = way - v0 - 0.5 * a0, v1 - v0 - a0, a1 - a0
    return [
        v0,
        0.5 * a0,
        10.0 * far - 4.0 * fast + 0.5 * more,
        7.0 * fast - 15.0 * far - more,
        6.0 * far - 3.0 * fast + 0.5 * more,
    ]


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
