"""Limits of a motion along a path, as people say them, and what a path is at places where they are looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.validation import bounds
from linkwork.kernels.array_arguments import real_array
from linkwork.motion.arguments import places_of, read_limit

if TYPE_CHECKING:
    from linkwork.kernels.robot_base import RobotBase

__all__ = ["MotionLimit", "PathNumbers", "PathRows", "rows_of", "sides"]

_ENDLESS = 1e30  # what stands for no limit: finite, so that products with it are


@public
@dataclass(frozen=True)
class MotionLimit:
    """A limit of one's own on what moves along a path: lower ≤ f(q, v, a) ≤ upper, (m,) each.

    ``function`` takes q (..., nq), v and a (..., nv) and gives (..., m), which has to be of second order: linear in a,
    and of degree two in v, as `Robot.inverse_dynamics` is, or the acceleration of a point.
    """

    function: Callable[[np.ndarray, np.ndarray, np.ndarray], ArrayLike]
    lower: ArrayLike
    upper: ArrayLike
    name: str = "limit of one's own"

    def __post_init__(self) -> None:
        bounds(type(self).__name__, self.lower, self.upper)


@dataclass(frozen=True)
class PathNumbers:
    """A path at k places of each of n segments: q (n, k, nq), its first and second derivatives (n, k, nv)."""

    q: np.ndarray
    first: np.ndarray
    second: np.ndarray


@dataclass(frozen=True)
class PathRows:
    """What has limits of second order, A u + B x + C, and their sides; speeds of points, and theirs."""

    first: np.ndarray
    second: np.ndarray
    rest: np.ndarray | None
    lower: np.ndarray
    upper: np.ndarray
    speeds: np.ndarray | None
    fastest: np.ndarray | None


def sides(
    caller: str, what: str, given: Any, names: Sequence[str], robot: RobotBase | None
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper limits (n,) by coordinate, as `read_limit` takes them.  Raises ValueError."""
    if given.__class__ is float and given >= 0.0:
        return _alike(len(names), min(given, _ENDLESS))
    up, down = read_limit(caller, what, given, names, None if robot is None else places_of(robot))
    return -np.minimum(down, _ENDLESS), np.minimum(up, _ENDLESS)


@lru_cache(64)
def _alike(many: int, most: float) -> tuple[np.ndarray, np.ndarray]:
    """The same for all: arrays that nobody can write to."""
    upper, lower = np.full(many, most), np.full(many, -most)
    for x in (lower, upper):
        x.setflags(write=False)
    return lower, upper


def rows_of(
    caller: str,
    path: PathNumbers,
    acceleration: tuple[np.ndarray, np.ndarray] | None,
    own: Sequence[MotionLimit],
    robot: Any,  # a Robot or None
    speed: Mapping[str, float],
) -> PathRows:
    """All that has limits, along a path.

    Raises ValueError for functions that give other shapes than their limits, NaN, or are not of second order.
    """
    first, second, rest, lower, upper = [], [], [], [], []
    if acceleration is not None:
        first.append(path.first)
        second.append(path.second)
        rest.append(np.zeros_like(path.first))
        lower.append(acceleration[0])
        upper.append(acceleration[1])
    for limit in own:
        a, b, c = _of_second_order(caller, path, limit)
        first.append(a)
        second.append(b)
        rest.append(c)
        for found, given in ((lower, limit.lower), (upper, limit.upper)):
            expected = f"{caller}: {limit.name}: expected limits ({a.shape[-1]},)"
            x = np.asarray(real_array(expected, given), dtype=float)
            if x.shape not in ((), (a.shape[-1],)):
                raise ValueError(f"{expected}, got shape {x.shape}")
            found.append(np.clip(np.broadcast_to(x, (a.shape[-1],)), -_ENDLESS, _ENDLESS))
        if not (lower[-1] <= upper[-1]).all():
            raise ValueError(f"{caller}: {limit.name}: expected lower limits below upper ones")
    speeds = None
    if speed:
        assert robot is not None
        speeds = np.stack([robot.twist(path.q, path.first, frame)[..., 3:] for frame in speed], axis=-2)
    c = np.concatenate(rest, axis=-1)
    return PathRows(
        first[0] if len(first) == 1 else np.concatenate(first, axis=-1),
        second[0] if len(second) == 1 else np.concatenate(second, axis=-1),
        c if c.any() else None,
        np.concatenate(lower),
        np.concatenate(upper),
        speeds,
        np.array([*speed.values()], dtype=float) if speed else None,
    )


def _of_second_order(caller: str, path: PathNumbers, limit: MotionLimit) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """f(q, q' ṡ, q' s̈ + q'' ṡ²) = A s̈ + B ṡ² + C."""
    nothing = np.zeros_like(path.first)

    def f(v: np.ndarray, a: np.ndarray) -> np.ndarray:
        found = np.asarray(limit.function(path.q, v, a), dtype=float)
        if found.ndim != path.q.ndim or found.shape[:-1] != path.q.shape[:-1]:
            raise ValueError(
                f"{caller}: {limit.name}: expected numbers (..., m) for q of shape {path.q.shape}, got "
                f"shape {found.shape}"
            )
        if not np.isfinite(found).all():
            raise ValueError(f"{caller}: {limit.name}: its function gives a number that is not finite")
        return found

    c = f(nothing, nothing)
    a = f(nothing, path.first) - c
    b = f(path.first, path.second) - c
    size = 1.0 + np.abs(a).max(initial=0.0) + np.abs(b).max(initial=0.0) + np.abs(c).max(initial=0.0)
    twice = f(2.0 * path.first, 3.0 * path.first + 4.0 * path.second) - (3.0 * a + 4.0 * b + c)
    if np.abs(twice).max(initial=0.0) > 1e-6 * size:
        raise ValueError(
            f"{caller}: {limit.name}: expected a function that is linear in a and of degree two in v; "
            f"with v doubled and "
            f"a changed it is off by {np.abs(twice).max():.3g}: leave out what is linear in v, as damping is"
        )
    return a, b, c
