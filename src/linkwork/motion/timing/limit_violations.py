"""By how much limits are passed between the points that a motion was made of.

On each segment of it, what has limits is taken at Chebyshev's places of its time, and is the polynomial through these
values: it lies between that polynomial's control points.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from linkwork.motion.algorithms.timing.segment_constraints import NODES, to_control_points
from linkwork.motion.timing.limits import MotionAsked, PathNumbers

__all__ = ["Polynomials", "Room", "longer", "rooms"]

_PLACES = 9  # of a segment: of the first 8 powers of its time nothing is left out
_NODES, _CONTROL_POINTS = np.array(NODES[_PLACES]), np.array(to_control_points(_PLACES))
_BOUNDLESS = 1e29

Numbers = Callable[[np.ndarray], PathNumbers]
Third = Callable[[np.ndarray], np.ndarray]


class Polynomials(NamedTuple):
    """A motion along a path by segments: s as polynomials (n, terms) of the time in each, lowest first, and how long
    they take.
    """

    coefficients: np.ndarray
    lengths: np.ndarray

    def inside(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """s and its derivatives at the places that are looked at, (n, places)."""
        t, c, result = self.lengths[:, None] * _NODES, self.coefficients, []
        for _ in range(4):
            x = np.zeros_like(t)
            for k in range(c.shape[1] - 1, -1, -1):
                x = x * t + c[:, k, None]
            result.append(x)
            c = c[:, 1:] * np.arange(1.0, c.shape[1])
        return result[0], result[1], result[2], result[3]


@dataclass(frozen=True)
class Room:
    """What has limits (m,): its bounds on each segment (n, m), and what it is where nothing moves, or 0.

    It changes with the ``power`` of how much faster the motion is; ``is_own``: it is a limit of one's own, whatever its
    name.
    """

    what: str
    power: int
    lower: np.ndarray
    upper: np.ndarray
    least: np.ndarray
    most: np.ndarray
    still: np.ndarray
    is_own: bool = False

    def passed(self) -> tuple[np.ndarray, np.ndarray]:
        """By how much limits are passed below and above (n, m), 0 where they are kept."""
        return np.maximum(self.lower - self.least, 0.0), np.maximum(self.most - self.upper, 0.0)

    @property
    def size(self) -> np.ndarray:
        """Of the limits (m,): what is relative is so to it."""
        low, high = np.abs(self.lower), np.abs(self.upper)
        return np.maximum(np.where(low < _BOUNDLESS, low, 0.0), np.where(high < _BOUNDLESS, high, 0.0))

    def shares(self) -> np.ndarray:
        """Return by how much of a limit one is passed at most on each segment (n,)."""
        low, high = self.passed()
        result: np.ndarray = (np.maximum(low, high) / np.maximum(self.size, 1e-9)).max(axis=1, initial=0.0)
        return result

    def worst(self) -> float:
        """By how much of a limit it is passed at most."""
        return float(self.shares().max(initial=0.0))

    def longer(self) -> float:
        """In how many times the time it would be kept."""
        result = 1.0
        for value, limit in ((self.most, self.upper), (-self.least, -self.lower)):
            sign = 1.0 if limit is self.upper else -1.0
            room = limit - sign * self.still
            over = value > limit
            if over.any():
                ratio = ((value - sign * self.still) / np.maximum(room, 1e-300))[over].max()
                result = max(result, float(ratio ** (1.0 / self.power)))
        return result


def longer(result: Sequence[Room], tolerance: float) -> float:
    """In how many times the time all limits are kept; 1 where they are."""
    return max((room.longer() for room in result if not room.worst() <= tolerance), default=1.0)


def rooms(
    asked: MotionAsked, numbers: Numbers, third: Third | None, pieces: Polynomials, *, all_of_it: bool
) -> list[Room]:
    """Of a motion; without ``all_of_it`` those of one's own, torques and speeds alone."""
    s, w, u, j = pieces.inside()
    path = numbers(s)
    v = path.first * w[..., None]
    a = path.first * u[..., None] + path.second * (w * w)[..., None]
    result = []

    def add(
        what: str,
        power: int,
        limits: tuple[np.ndarray, np.ndarray],
        x: np.ndarray,
        still: np.ndarray,
        *,
        is_own: bool = False,
    ) -> None:
        least, most = _bounds(x)
        result.append(Room(what, power, *limits, least, most, still, is_own))

    none = np.zeros((1, 1))
    if all_of_it:
        add("velocity", 1, asked.velocity, v, none)
        if asked.acceleration is not None:
            add("acceleration", 2, asked.acceleration, a, none)
    if third is not None and asked.jerk is not None:
        jerk = path.first * j[..., None] + 3.0 * path.second * (w * u)[..., None] + third(s) * (w**3)[..., None]
        add("jerk", 3, asked.jerk, jerk, none)
    for limit in asked.own:
        x = np.asarray(limit.function(path.q, v, a), dtype=float)
        middle = path.q[:, _PLACES // 2]
        still = np.asarray(limit.function(middle, 0.0 * v[:, 0], 0.0 * v[:, 0]), dtype=float)
        low, high = (
            np.broadcast_to(np.asarray(y, dtype=float), x.shape[-1:]).copy() for y in (limit.lower, limit.upper)
        )
        add(limit.name, 2, (low, high), x, still, is_own=True)
    if asked.speed:
        x = frame_speeds(asked, path.q, v)
        most = np.array([*asked.speed.values()], dtype=float)
        add("speed", 1, (np.full(len(most), -np.inf), most), x, none)
    return result


def frame_speeds(asked: MotionAsked, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """How fast the frames' origins that have limits move (..., w)."""
    assert asked.robot is not None
    speed: Mapping[str, float] = asked.speed
    return np.stack([np.linalg.norm(asked.robot.twist(q, v, frame)[..., 3:], axis=-1) for frame in speed], axis=-1)


def _bounds(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What (n, places, m) values belong to is never below, and never above, on each segment (n, m)."""
    points = np.einsum("kj,njm->nkm", _CONTROL_POINTS, values)
    return points.min(axis=1), points.max(axis=1)
