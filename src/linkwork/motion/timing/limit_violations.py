"""Violations of limits between the grid points of a motion.

On each segment a limited quantity is interpolated at the Chebyshev nodes of the segment's time.  The interpolating
polynomial lies between the minimum and the maximum of its Bernstein control points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from linkwork.motion.algorithms.timing.segment_constraints import NODES, to_control_points
from linkwork.motion.timing.limits import LimitSet, PathSamples

__all__ = [
    "LimitMargin",
    "Polynomials",
    "limit_margins",
    "motion_polynomials",
    "passing_times",
    "required_slowdown",
]

_NODE_COUNT = 9  # nodes of a segment: polynomials of its time up to degree 8 are exact
_NODES, _CONTROL_POINTS = np.array(NODES[_NODE_COUNT]), np.array(to_control_points(_NODE_COUNT))
_WITH_ENDS = np.concatenate([[0.0], _NODES, [1.0]])
_BOUNDLESS = 1e29

PathSampler = Callable[[np.ndarray], PathSamples]
PathThirdDerivative = Callable[[np.ndarray], np.ndarray]


class Polynomials(NamedTuple):
    """A motion along a path: s as polynomials of the time in each segment.

    ``coefficients`` (n, terms) are in powers of time, lowest first; ``lengths`` (n,) are the durations of the segments.
    """

    coefficients: np.ndarray
    lengths: np.ndarray

    def inside(self, nodes: np.ndarray = _NODES) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return s, ṡ, s̈ and s⃛ at the nodes of all segments, (n, nodes) each."""
        t, c, result = self.lengths[:, None] * nodes, self.coefficients, []
        for _ in range(4):
            x = np.zeros_like(t)
            for k in range(c.shape[1] - 1, -1, -1):
                x = x * t + c[:, k, None]
            result.append(x)
            c = c[:, 1:] * np.arange(1.0, c.shape[1])
        return result[0], result[1], result[2], result[3]


def passing_times(s: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the times (n + 1,) of a motion with ṡ² = x at positions s (n + 1,) and constant s̈ in between."""
    result: np.ndarray = np.concatenate([[0.0], np.cumsum(2.0 * np.diff(s) / (np.sqrt(x[1:]) + np.sqrt(x[:-1])))])
    return result


def motion_polynomials(s: np.ndarray, x: np.ndarray, u: np.ndarray) -> Polynomials:
    """Return s(t) as polynomials, for a motion that has ṡ² = x at positions s and s̈ = u between."""
    return Polynomials(np.stack([s[:-1], np.sqrt(x[:-1]), 0.5 * u], axis=-1), np.diff(passing_times(s, x)))


@dataclass(frozen=True)
class LimitMargin:
    """Range of a limited quantity with m elements on each of n segments of a motion, and its limits (m,).

    The values on a segment are between ``minimum`` and ``maximum`` (n, m). ``at_rest`` is the value without motion. If
    the motion is faster by a factor k, the difference from ``at_rest`` grows by k^power: power is 1 for velocity, 2 for
    acceleration. ``is_custom`` is True for a `MotionLimit`.
    """

    name: str
    power: int
    lower: np.ndarray
    upper: np.ndarray
    minimum: np.ndarray
    maximum: np.ndarray
    at_rest: np.ndarray
    is_custom: bool = False

    def excess(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the violations of the lower and of the upper limits, (n, m) each; 0 where a limit is satisfied."""
        return np.maximum(self.lower - self.minimum, 0.0), np.maximum(self.maximum - self.upper, 0.0)

    @property
    def size(self) -> np.ndarray:
        """Magnitude of the limits (m,), by which violations are divided to make them relative."""
        low, high = np.abs(self.lower), np.abs(self.upper)
        return np.maximum(np.where(low < _BOUNDLESS, low, 0.0), np.where(high < _BOUNDLESS, high, 0.0))

    def relative_excess(self) -> np.ndarray:
        """Return the largest relative violation on each segment (n,)."""
        low, high = self.excess()
        result: np.ndarray = (np.maximum(low, high) / np.maximum(self.size, 1e-9)).max(axis=1, initial=0.0)
        return result

    def worst_excess(self) -> float:
        """Return the largest relative violation of all segments."""
        return float(self.relative_excess().max(initial=0.0))

    def required_slowdown(self) -> float:
        """Return the factor by which the duration must grow so that the limits hold; 1 if they hold."""
        result = 1.0
        for value, limit in ((self.maximum, self.upper), (-self.minimum, -self.lower)):
            sign = 1.0 if limit is self.upper else -1.0
            margin = limit - sign * self.at_rest
            over = value > limit
            if over.any():
                ratio = ((value - sign * self.at_rest) / np.maximum(margin, 1e-300))[over].max()
                result = max(result, float(ratio ** (1.0 / self.power)))
        return result


def required_slowdown(result: Sequence[LimitMargin], tolerance: float) -> float:
    """Return the factor by which the duration must grow so that all limits hold; 1 if they hold within a tolerance."""
    return max((margin.required_slowdown() for margin in result if not margin.worst_excess() <= tolerance), default=1.0)


def limit_margins(
    limit_set: LimitSet,
    sampler: PathSampler,
    third: PathThirdDerivative | None,
    motion: Polynomials,
    *,
    all_limits: bool,
) -> list[LimitMargin]:
    """Return, for each kind of limit, the range of the limited quantity on each segment of a motion.

    Without ``all_limits``, limits of velocity and acceleration are left out.  Limits of jerk require the ``third``
    derivative of the path.
    """
    s, w, u, j = motion.inside()
    path = sampler(s)
    v = path.first * w[..., None]
    a = path.first * u[..., None] + path.second * (w * w)[..., None]
    result = []

    def add(
        name: str,
        power: int,
        limits: tuple[np.ndarray, np.ndarray],
        x: np.ndarray,
        at_rest: np.ndarray,
        *,
        is_custom: bool = False,
        more: tuple[np.ndarray, np.ndarray] | tuple[float, float] = (0.0, 0.0),
    ) -> None:
        minimum, maximum = (x + y for x, y in zip(_bounds(x), more, strict=True))
        result.append(LimitMargin(name, power, *limits, minimum, maximum, at_rest, is_custom))

    zero = np.zeros((1, 1))
    if all_limits:
        add("velocity", 1, limit_set.velocity, v, zero)
        if limit_set.acceleration is not None:
            add("acceleration", 2, limit_set.acceleration, a, zero)
    if third is not None and limit_set.jerk is not None:
        jerk = path.first * j[..., None] + 3.0 * path.second * (w * u)[..., None] + third(s) * (w**3)[..., None]
        add("jerk", 3, limit_set.jerk, jerk, zero)
    for limit in limit_set.custom:
        x = np.asarray(limit.function(path.q, v, a), dtype=float)
        middle = path.q[:, _NODE_COUNT // 2]
        at_rest = np.asarray(limit.function(middle, 0.0 * v[:, 0], 0.0 * v[:, 0]), dtype=float)
        low, high = (
            np.broadcast_to(np.asarray(y, dtype=float), x.shape[-1:]).copy() for y in (limit.lower, limit.upper)
        )
        more: tuple[np.ndarray, np.ndarray] | tuple[float, float] = (0.0, 0.0)
        if limit is limit_set.torque and limit_set.resistance is not None:
            ends, speeds, *_ = motion.inside(_WITH_ENDS)
            samples = sampler(ends)
            values = limit_set.resistance.resistance(samples.q, samples.first * np.maximum(speeds, 0.0)[..., None])
            more = values.min(axis=1), values.max(axis=1)
        add(limit.name, 2, (low, high), x, at_rest, is_custom=True, more=more)
    if limit_set.speed or limit_set.loops:
        x, maximum = np.linalg.norm(limit_set.speeds(path.q, v), axis=-1), limit_set.fastest
        add("speed", 1, (np.full(len(maximum), -np.inf), maximum), x, zero)
    return result


def _bounds(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper bounds (n, m) of polynomials on each of n segments.

    ``values`` (n, nodes, m) are their values at the nodes of the segments.
    """
    points = _CONTROL_POINTS @ values
    return points.min(axis=1), points.max(axis=1)
