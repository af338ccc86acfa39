"""The least and the greatest of every coordinate and its derivatives, from polynomials and not by samples.

How much room a trajectory leaves to limits, from polynomials and not by samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from typing import Any, NamedTuple

import numpy as np

from linkwork.kernels.array_arguments import real_array
from linkwork.motion.arguments import places_of, read_limit
from linkwork.motion.trajectory.time_polynomials import polynomials_of
from linkwork.motion.trajectory.trajectory_segment import Section
from linkwork.motion.trajectory.twist_bounds import twisting_extremes

__all__ = ["Extremes", "bernstein", "extremes_of", "margins_of", "polynomial_extremes", "read_positions"]


class Extremes(NamedTuple):
    """What coordinates (nv,) are never below, and never above."""

    lower: np.ndarray
    upper: np.ndarray


def extremes_of(sections: Sequence[Section], order: int) -> Extremes:
    """Over all sections; infinite for coordinates of which nothing is known."""
    if order not in (0, 1, 2, 3):
        raise ValueError(f"extremes: order: expected 0 (q), 1 (v), 2 (a) or 3 (jerk), got {order!r}")
    found = []
    for section in sections:
        times, c, plain = polynomials_of(section)
        for place in section.space.joints:
            if order and place.joint.nv == 1 and section.kind.name != "squad":  # squads may take another turn
                plain[place.in_v] |= c.shape[-1] > 1  # v is the rate of the one local coordinate, whatever q is
        low, high = polynomial_extremes(np.diff(times), c, order)
        low, high = np.where(plain, low, -np.inf), np.where(plain, high, np.inf)
        for place in section.space.joints:
            bounds = None if plain[place.in_v].all() else twisting_extremes(section, place, order)
            if bounds is not None:
                low[place.in_v], high[place.in_v] = bounds
        found.append((low, high))
    return Extremes(np.min([low for low, _ in found], axis=0), np.max([high for _, high in found], axis=0))


def polynomial_extremes(h: np.ndarray, c: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """The least and greatest (n,) of the derivatives of polynomials c (m, n, terms) over [0, h] (m,)."""
    for _ in range(order):
        c = c[..., 1:] * np.arange(1, c.shape[-1]) if c.shape[-1] > 1 else np.zeros_like(c)
    c = c * (h[:, None, None] ** np.arange(c.shape[-1]))  # over [0, 1]
    ends = np.stack([c[..., 0], c.sum(axis=-1)])
    low, high = ends.min(axis=(0, 1)), ends.max(axis=(0, 1))
    if c.shape[-1] <= 2:
        return low, high
    net = bernstein(c)
    room = 1e-13 * np.abs(c).sum(axis=-1)
    for i, j in np.argwhere((net.min(axis=-1) < low - room) | (net.max(axis=-1) > high + room)):
        if net[i, j].min() >= low[j] and net[i, j].max() <= high[j]:
            continue
        slope = np.trim_zeros(c[i, j, 1:] * np.arange(1, c.shape[-1]), "b")
        roots = np.roots(slope[::-1]) if len(slope) > 1 else np.array([])
        at = np.clip(roots.real, 0.0, 1.0)
        values = np.polyval(c[i, j, ::-1], at) if len(at) else c[i, j, :1]
        low[j], high[j] = min(low[j], values.min()), max(high[j], values.max())
    return low, high


def bernstein(c: np.ndarray) -> np.ndarray:
    """The control points of polynomials (..., terms) over [0, 1], between which they lie (Bézier's convex hull).

    b_i = Σ_{k ≤ i} C(i, k) / C(d, k) c_k.  Source: Farouki, The Bernstein polynomial basis: a centennial
    retrospective, Computer Aided Geometric Design 29, 2012.
    """
    d = c.shape[-1] - 1
    to = np.array([[comb(i, k) / comb(d, k) if k <= i else 0.0 for k in range(d + 1)] for i in range(d + 1)])
    found: np.ndarray = c @ to.T
    return found


_ORDER = {"velocity": 1, "acceleration": 2, "jerk": 3}


def margins_of(caller: str, trajectory: Any, given: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """By limit, the least room (nv,) that there is to it: below 0 where it is exceeded.

    ``lower`` and ``upper`` (nq,) are numbers for all or one for each, other limits what `read_limit` takes; those of q
    and ``velocity`` are the robot's where they are left out.  Where nothing is known there is −inf, but to no limit.
    """
    robot, space = trajectory.robot, trajectory.sections[0].space
    names = [f"coordinate {k}" for k in range(space.nv)] if robot is None else list(robot.v_names)
    found = {}
    for name, value in given.items():
        if value is None and robot is not None:
            own = {"lower": "lower", "upper": "upper", "velocity": "velocity_limits"}.get(name)
            value = None if own is None else getattr(robot, own)
        if value is None:
            continue
        order = _ORDER.get(name, 0)
        if order:
            up, down = read_limit(caller, name, value, names, None if robot is None else places_of(robot))
        else:
            limit = read_positions(caller, name, value, space.nq)
            limit = limit if space.is_plain else _by_velocity(space, limit, -np.inf if name == "lower" else np.inf)
            none = np.full(space.nv, np.inf)
            up, down = (none, -limit) if name == "lower" else (limit, none)
        if np.isinf([up, down]).all():
            found[name] = np.full(space.nv, np.inf)
            continue
        low, high = trajectory.extremes(order)
        with np.errstate(invalid="ignore"):
            rooms = [np.where(np.isinf(x), np.inf, x - y) for x, y in ((up, high), (down, -low))]
        found[name] = np.minimum(*rooms)
    return found


def read_positions(caller: str, name: str, value: Any, size: int) -> np.ndarray:
    """A limit (n,) of each coordinate.  Raises ValueError."""
    expected = f"{caller}: {name}: expected a number for all, or {size}"
    found = np.asarray(real_array(expected, value), dtype=float)
    if found.shape not in ((), (size,)) or np.isnan(found).any():
        raise ValueError(f"{expected}, got {value!r}")
    return np.broadcast_to(found, (size,))


def _by_velocity(space: Any, limit: np.ndarray, none: float) -> np.ndarray:
    """Limits of q where q are plain numbers, by the places of their velocities."""
    found = np.full(space.nv, none)
    for place in space.joints:
        if place.is_plain:
            found[place.in_v] = limit[place.in_q]
    return found
