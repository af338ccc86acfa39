"""Refinement of waypoints until the curve through them stays on the path.

Between neighbours q is a quintic in s, with the velocities that move the frame along the path and accelerations
estimated from neighbours, so that a is continuous.  The deviation from the path falls with the sixth power of the step,
at a curve's ends with the fourth.  It is measured at seven points between neighbours; where it is too large a waypoint
is inserted in the middle.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from linkwork.motion.cartesian.arguments import PathRequest
from linkwork.motion.cartesian.cartesian_path import Waypoints
from linkwork.motion.splines.spline import spline_of
from linkwork.motion.trajectory.trajectory import Trajectory

__all__ = ["Curve", "RefinedCurve", "quintics", "refined"]

_NODES = np.arange(1, 8) / 8
_SAFETY = 0.8  # of a tolerance: deviations may be larger between the measured points
_ROUNDS = 24
_MIN_STEP_SHARE = 1.0 / 64.0  # of the smallest step: a curve that deviates with waypoints so close ends
_OFFSET = 1e-9  # of a step: distance for one-sided values at a waypoint
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Curve:
    """A smooth part of the motion along a path, through waypoints q (k, nq) at positions s (k,).

    v and a (k, nv) are the first and second derivatives of q with respect to s at the waypoints.
    """

    s: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray

    def trajectory(self, robot: Any) -> Trajectory:
        """Return the joint trajectory with s as time."""
        options = {"velocity": self.v, "acceleration": self.a}
        return spline_of(robot, self.s, self.q, "quintic", "decoupled", options)


class RefinedCurve(NamedTuple):
    """Successive curves along a path, with their largest deviation from the path [m, rad].

    ``begins`` are the indices of curves that begin after a reconfiguration, not where the previous curve ends.
    ``failed_at`` is the position where the refinement failed, or None.
    """

    curves: tuple[Curve, ...]
    begins: tuple[int, ...]
    deviation: tuple[float, float]
    failed_at: float | None


class _CurvePoints:
    """Waypoints q (k, nq) of one curve at s (k,), and the frame's twists V (k, 6) per unit of s."""

    def __init__(self, s: np.ndarray, q: np.ndarray, V: np.ndarray) -> None:
        self.s, self.q, self.V = s, q, V


def refined(request: PathRequest, steps: Waypoints, tolerance: tuple[float, float]) -> RefinedCurve:
    """Return curves through the waypoints that deviate from the path by at most a tolerance [m, rad].

    Waypoints are inserted until the deviations are small enough.  The curves end where this is impossible.
    """
    parts, begins = _split(request, steps)
    allowed = _SAFETY * np.array(tolerance)
    failed_at: float | None = None
    for left in range(_ROUNDS, -1, -1):
        if not parts:
            return RefinedCurve((), (), (0.0, 0.0), failed_at)
        v = _velocities(request, parts)
        a = _accelerations(request, parts, v)
        deviation, exceeds_limits, middle = _deviations(request, parts, v, a)
        bad = (deviation > allowed).any(axis=-1) | exceeds_limits
        ends = np.concatenate([np.stack([p.s[:-1], p.s[1:]], axis=1) for p in parts])
        if not bad.any():
            break
        chosen = np.flatnonzero(bad)
        at = 0.5 * (ends[chosen, 0] + ends[chosen, 1])
        X, V = request.path.twist(at)
        result, done = request.solve(middle[chosen], X)
        failed = ~done | (ends[chosen, 1] - ends[chosen, 0] <= request.min_step * _MIN_STEP_SHARE) | (left <= 1)
        if failed.any():
            failed_at = float(ends[chosen[failed]][0, 0])
            parts = _cut(parts, failed_at)
            continue
        _insert(parts, chosen, at, result, V)
    most = deviation[~bad].max(axis=0, initial=0.0)
    rows = np.cumsum([len(p.s) for p in parts])[:-1]
    rates = np.split(v, rows), np.split(a, rows)
    curves = tuple(Curve(p.s, p.q, *rate) for p, *rate in zip(parts, *rates, strict=True))
    return RefinedCurve(
        curves, tuple(k for k in begins if k < len(curves)), (float(most[0]), float(most[1])), failed_at
    )


def _deviations(
    request: PathRequest, parts: list[_CurvePoints], v: np.ndarray, a: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the largest deviation (n, 2) [m, rad] from the path on each of the n steps between waypoints.

    Two further results are a mask (n,) of steps that exceed joint limits, and the configurations (n, nq) in the middle
    of the steps. v and a are the derivatives of q with respect to s at the waypoints of all curves ``parts``.
    """
    intermediate, path_positions = _intermediate(request, parts, v, a)
    deviation = request.deviations(intermediate, path_positions.ravel()).reshape(-1, len(_NODES), 2).max(axis=1)
    outside = np.any((intermediate < request.lower - _ROUNDING) | (intermediate > request.upper + _ROUNDING), axis=-1)
    middle = intermediate.reshape(-1, len(_NODES), intermediate.shape[-1])[:, len(_NODES) // 2]
    return deviation, np.any(outside.reshape(-1, len(_NODES)), axis=1), middle


def _cut(parts: list[_CurvePoints], s: float) -> list[_CurvePoints]:
    """Return the waypoints of the curves ``parts`` up to path position s.

    Curves with fewer than two waypoints up to s are left out.
    """
    result = []
    for part in parts:
        inside = part.s <= s
        if inside.sum() > 1:
            result.append(_CurvePoints(part.s[inside], part.q[inside], part.V[inside]))
    return result


def _split(request: PathRequest, steps: Waypoints) -> tuple[list[_CurvePoints], list[int]]:
    """Return the waypoints as separate smooth curves, split at reconfigurations and at the path's corners.

    The second result is the list of indices of curves that begin after a reconfiguration.
    """
    result: list[_CurvePoints] = []
    begins: list[int] = []
    knots, corners = request.path.knots, request.path.corners
    first = 0
    while first < len(steps.s):
        last = first + 1
        while last < len(steps.s) and not steps.changed[last]:
            last += 1
        s, q = steps.s[first:last], steps.q[first:last]
        if first:
            begins.append(len(result))
            back, done = request.solve(q[:1], request.path(steps.s[first - 1])[None])
            if done[0] and request.joint_distance(back[0], q[0]) < 0.5:
                s, q = np.append(steps.s[first - 1], s), np.concatenate([back, q])
        inner = [0, *(k for k in range(1, len(s) - 1) if np.any(s[k] == corners)), len(s) - 1]
        for a, b in pairwise(inner):
            if b > a:
                positions = s[a : b + 1]
                V = request.path.twist(positions)[1]
                if np.any(positions[-1] == corners):
                    V[-1] = request.path.truncated(int(np.flatnonzero(knots == positions[-1])[0]) - 1)[1]
                result.append(_CurvePoints(positions, q[a : b + 1], V))
        first = last
    return result, begins


def _velocities(request: PathRequest, parts: list[_CurvePoints]) -> np.ndarray:
    """Return dq/ds (n, nv) at the waypoints of all curves ``parts``, in their order."""
    estimates = np.concatenate([_parabola_velocities(request, p) for p in parts])
    q, V = (np.concatenate([getattr(p, name) for p in parts]) for name in ("q", "V"))
    return request.tangents(q, V, estimates)


def _parabola_velocities(request: PathRequest, part: _CurvePoints) -> np.ndarray:
    """Return estimates (k, nv) of dq/ds, from parabolas through neighbouring waypoints."""
    h = np.diff(part.s)[:, None]
    slope = request.difference(part.q[:-1], part.q[1:]) / h
    if len(slope) == 1:
        return np.repeat(slope, 2, axis=0)
    inner = (slope[:-1] * h[1:] + slope[1:] * h[:-1]) / (h[:-1] + h[1:])
    return np.concatenate([[2.0 * slope[0] - inner[0]], inner, [2.0 * slope[-1] - inner[-1]]])


def _accelerations(request: PathRequest, parts: list[_CurvePoints], v: np.ndarray) -> np.ndarray:
    """Return d²q/ds² (n, nv) at the waypoints of all curves ``parts``, in their order; v (n, nv) is dq/ds there.

    At inner waypoints the values are those of the quintic through q and v of a waypoint and its two neighbours. At a
    curve's ends, and where configurations are not a vector space, they are those of cubics between neighbouring
    waypoints.
    """
    result, at = [], 0
    for part in parts:
        part_v = v[at : at + len(part.s)]
        at += len(part.s)
        result.append(
            _plain_accelerations(part, part_v) if request.is_plain else _manifold_accelerations(request, part, part_v)
        )
    return np.concatenate(result)


def _plain_accelerations(part: _CurvePoints, v: np.ndarray) -> np.ndarray:
    h = np.diff(part.s)[:, None]
    mean = np.diff(part.q, axis=0) / h
    a = np.empty_like(v)
    a[0] = (6.0 * mean[0] - 4.0 * v[0] - 2.0 * v[1]) / h[0]
    a[-1] = (2.0 * v[-2] + 4.0 * v[-1] - 6.0 * mean[-1]) / h[-1]
    if len(h) > 1:
        # weights that are exact for t, ..., t⁵: second derivative at 0 from steps of q and rates at both neighbours
        before, after = -h[:-1], h[1:]
        powers = np.arange(1.0, 6.0)
        columns = [before**powers, after**powers, powers * before ** (powers - 1.0), powers * after ** (powers - 1.0)]
        columns.append(np.broadcast_to(powers == 1.0, (len(before), 5)).astype(float))
        scale = np.maximum(-before, after)
        matrix = np.stack(columns, axis=-1) / scale[..., None] ** powers[:, None]
        right_side = 2.0 * (powers == 2.0) / scale**2
        weights = np.linalg.solve(matrix, right_side[..., None])
        values = np.stack([part.q[:-2] - part.q[1:-1], part.q[2:] - part.q[1:-1], v[:-2], v[2:], v[1:-1]], axis=1)
        a[1:-1] = (weights * values).sum(axis=1)
    return a


def _manifold_accelerations(request: PathRequest, part: _CurvePoints, v: np.ndarray) -> np.ndarray:
    """Return estimates (k, nv) of d²q/ds² at a curve's waypoints, from cubics between neighbours with dq/ds = v.

    At an inner waypoint, the estimate is the mean of the values just before and just after it.
    """
    cubics = spline_of(request.robot, part.s, part.q, "hermite", None, {"velocity": v})
    room = _OFFSET * np.diff(part.s)
    after, before = cubics(part.s[:-1] + room).a, cubics(part.s[1:] - room).a
    return np.concatenate([after[:1], 0.5 * (before[:-1] + after[1:]), before[-1:]])


def _intermediate(
    request: PathRequest, parts: list[_CurvePoints], v: np.ndarray, a: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return configurations at seven points of each of n steps between waypoints (7 n, nq), and their positions (n, 7).

    v and a are the derivatives of q with respect to s at the waypoints of all curves ``parts``.
    """
    rows = np.cumsum([len(p.s) for p in parts])[:-1]
    rates, bends = np.split(v, rows), np.split(a, rows)
    path_positions = np.concatenate([p.s[:-1, None] + np.diff(p.s)[:, None] * _NODES for p in parts])
    if not request.is_plain:
        result = [
            Curve(p.s, p.q, w, b).trajectory(request.robot)((p.s[:-1, None] + np.diff(p.s)[:, None] * _NODES).ravel()).q
            for p, w, b in zip(parts, rates, bends, strict=True)
        ]
        return np.concatenate(result), path_positions
    h = np.concatenate([np.diff(p.s) for p in parts])[:, None, None]
    cuts = slice(0, -1), slice(1, None)
    q0, q1 = (np.concatenate([p.q[cut] for p in parts])[:, None] for cut in cuts)
    v0, v1 = (np.concatenate([rate[cut] for rate in rates])[:, None] * h for cut in cuts)
    a0, a1 = (np.concatenate([rate[cut] for rate in bends])[:, None] * h * h for cut in cuts)
    u = _NODES[:, None]
    c = quintics(q1 - q0, v0, v1, a0, a1)
    q = q0 + u * (c[0] + u * (c[1] + u * (c[2] + u * (c[3] + u * c[4]))))
    return q.reshape(-1, q.shape[-1]), path_positions


def quintics(change: np.ndarray, v0: np.ndarray, v1: np.ndarray, a0: np.ndarray, a1: np.ndarray) -> list[np.ndarray]:
    """Return the coefficients of u, ..., u⁵ of quintics on [0, 1] with these changes and end derivatives.

    ``change`` is the value at 1 minus the value at 0. v0 and v1 are the first derivatives with respect to u at both
    ends, and a0 and a1 the second derivatives.
    """
    far, fast, more = change - v0 - 0.5 * a0, v1 - v0 - a0, a1 - a0
    return [
        v0,
        0.5 * a0,
        10.0 * far - 4.0 * fast + 0.5 * more,
        7.0 * fast - 15.0 * far - more,
        6.0 * far - 3.0 * fast + 0.5 * more,
    ]


def _insert(parts: list[_CurvePoints], chosen: np.ndarray, at: np.ndarray, q: np.ndarray, V: np.ndarray) -> None:
    """Insert m waypoints into the curves ``parts``: in the steps with indices ``chosen`` (m,).

    A step connects two successive waypoints of a curve; steps are counted over all curves in order. The new waypoints
    have positions ``at`` (m,), configurations q (m, nq), and twists V (m, 6) per unit of s.
    """
    start = 0
    for part in parts:
        count = len(part.s) - 1
        in_part = (chosen >= start) & (chosen < start + count)
        if in_part.any():
            path_positions = chosen[in_part] - start + 1
            part.s = np.insert(part.s, path_positions, at[in_part])
            part.q = np.insert(part.q, path_positions, q[in_part], axis=0)
            part.V = np.insert(part.V, path_positions, V[in_part], axis=0)
        start += count
