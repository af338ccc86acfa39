"""Extremes of a trajectory's coordinates and derivatives, and its margins to limits, certified and not sampled.

Coordinates that are polynomials of time have their extremes at the ends and at roots of their derivatives.

Joints that turn and move freely (`twisting_extremes`): on a piece q_i ⊕ p(t) the twist V of exp(s p) is 0 at s = 0
and grows along s by dV/ds = ṗ − p × V.  Its derivatives by time have equations of the same kind, and rotations do not
change norms, so their norms are bounded by those of p's derivatives:

    |ω⁽ᵏ⁾|(s) ≤ s |p⁽ᵏ⁺¹⁾| + Σ_{i = 1..k} C(k, i) |p⁽ⁱ⁾| ∫ |ω⁽ᵏ⁻ⁱ⁾| ds

and for the linear part alike.  Factors exp(w φ) of a product are taken in one after the other.  Intervals of time are
halved until the value, its rate and the bound of the second derivative confine the maximum closely enough to a value
that is reached.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from typing import Any, NamedTuple

import numpy as np

from linkwork.kernels.array_arguments import real_array
from linkwork.motion.algorithms.curves import KINDS, CurveSpace
from linkwork.motion.algorithms.curves.curve_space import JointPlace
from linkwork.motion.arguments import places_of, read_limit
from linkwork.motion.trajectory.piecewise_evaluation import pieces_at
from linkwork.motion.trajectory.squad_bounds import (
    Lengths,
    SquadLengths,
    decoupled,
    derivatives,
    exponential,
    over,
    product,
)
from linkwork.motion.trajectory.time_polynomials import polynomials_of
from linkwork.motion.trajectory.trajectory_segment import Section

__all__ = ["Extremes", "bernstein", "extremes_of", "margins_of", "polynomial_extremes", "read_positions"]


class Extremes(NamedTuple):
    """What coordinates (nv,) are never below, and never above."""

    lower: np.ndarray
    upper: np.ndarray


def extremes_of(sections: Sequence[Section], order: int) -> Extremes:
    """Over all sections; infinite for coordinates of which nothing is known."""
    if order not in (0, 1, 2, 3):
        raise ValueError(f"extremes: order: expected 0 (q), 1 (v), 2 (a) or 3 (jerk), got {order!r}")
    result = []
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
        result.append((low, high))
    return Extremes(np.min([low for low, _ in result], axis=0), np.max([high for _, high in result], axis=0))


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
    result: np.ndarray = c @ to.T
    return result


_ORDER = {"velocity": 1, "acceleration": 2, "jerk": 3}


def margins_of(caller: str, trajectory: Any, given: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """By limit, the least room (nv,) that there is to it: below 0 where it is exceeded.

    ``lower`` and ``upper`` (nq,) are numbers for all or one for each, other limits what `read_limit` takes; those of q
    and ``velocity`` are the robot's where they are left out.  Where nothing is known there is −inf, but to no limit.
    """
    robot, space = trajectory.robot, trajectory.sections[0].space
    names = [f"coordinate {k}" for k in range(space.nv)] if robot is None else list(robot.v_names)
    result = {}
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
            result[name] = np.full(space.nv, np.inf)
            continue
        low, high = trajectory.extremes(order)
        with np.errstate(invalid="ignore"):
            rooms = [np.where(np.isinf(x), np.inf, x - y) for x, y in ((up, high), (down, -low))]
        result[name] = np.minimum(*rooms)
    return result


def read_positions(caller: str, name: str, value: Any, size: int) -> np.ndarray:
    """A limit (n,) of each coordinate.  Raises ValueError."""
    expected = f"{caller}: {name}: expected a number for all, or {size}"
    result = np.asarray(real_array(expected, value), dtype=float)
    if result.shape not in ((), (size,)) or np.isnan(result).any():
        raise ValueError(f"{expected}, got {value!r}")
    return np.broadcast_to(result, (size,))


def _by_velocity(space: Any, limit: np.ndarray, none: float) -> np.ndarray:
    """Limits of q where q are plain numbers, by the places of their velocities."""
    result = np.full(space.nv, none)
    for place in space.joints:
        if place.is_plain:
            result[place.in_v] = limit[place.in_q]
    return result


_CLOSE = {1: 1e-6, 2: 1e-6, 3: 1e-3}  # parts of a joint's largest angular or linear number, by order
_MOST = 40_000  # intervals that are looked at
_ROUNDING = 1e-11
_NARROWEST = 1e-12  # of a piece: where nothing bounds it there, nothing does
_KNOWN = ("retracted", "by_coordinate", "cumulative", "squad")


def twisting_extremes(section: Section, place: JointPlace, order: int) -> tuple[np.ndarray, np.ndarray] | None:
    """What a derivative (nv,) of a joint is never below and never above: v (order 1), a (2), the jerk (3).

    None where nothing is known: of joints whose v is no twist along fixed axes, and of curves without a bound.
    """
    columns = _columns(place)
    if columns is None or section.kind.name not in _KNOWN or order < 1:
        return None
    knots = section.knots()
    middle, half = 0.5 * (knots[1:] + knots[:-1]), 0.5 * np.diff(knots)
    piece = np.arange(len(half))
    alike = np.equal.outer(columns, columns)
    lengths: _Lengths | SquadLengths
    if section.kind.name == "squad":
        lengths = SquadLengths(section, place, knots, columns)
    else:
        lengths = _Lengths(section, place, knots)
    narrow = _NARROWEST * half
    both = 1 if order < 3 else 0  # derivatives besides its own that are taken at the middle
    low, high = np.full(place.joint.nv, np.inf), np.full(place.joint.nv, -np.inf)  # attained
    least, most = low.copy(), high.copy()  # certified
    looked_at = 0
    while len(half):
        result = [x[:, place.in_v] for x in section.at(middle, order + both)[order:]]
        low, high = np.minimum(low, result[0].min(axis=0)), np.maximum(high, result[0].max(axis=0))
        w, u = lengths.at(piece, middle, half, order + both)
        bend = np.stack([w[-1] if angular else u[-1] for angular in columns], axis=1)
        h = half[:, None]
        room = 0.5 * bend * h * h + np.abs(result[1]) * h if both else bend * h
        bound_low, bound_high = result[0] - room, result[0] + room
        size = np.maximum(np.maximum(np.abs(low), np.abs(high)), 1e-9)
        tolerance = _CLOSE[order] * np.max(np.where(alike, size, 0.0), axis=1)
        again = ((bound_high > high + tolerance) | (bound_low < low - tolerance)).any(axis=1)
        again &= half > narrow[piece]
        looked_at += len(half)
        if looked_at > _MOST:
            again[:] = False
        least = np.minimum(least, np.min(bound_low[~again], axis=0, initial=np.inf))
        most = np.maximum(most, np.max(bound_high[~again], axis=0, initial=-np.inf))
        half = np.repeat(0.5 * half[again], 2)
        middle = np.repeat(middle[again], 2) + half * np.tile([-1.0, 1.0], len(half) // 2)
        piece = np.repeat(piece[again], 2)
    room = _ROUNDING * np.maximum(np.abs(least), np.abs(most))
    return least - room, most + room


def _columns(place: JointPlace) -> list[bool] | None:
    """Of each number of v whether it is angular, where they are those of a twist along fixed axes at right angles."""
    if place.joint.nv == 0 or not place.joint.has_fixed_subspaces:
        return None
    S = np.array([[*map(float, x.elements())] for x in place.joint.S(place.joint.zero()).columns])
    products = S @ S.T
    angular, linear = (np.abs(S[:, part]).max(axis=1) > 0.0 for part in (slice(0, 3), slice(3, 6)))
    apart = not (angular & linear).any() and np.abs(products - np.eye(len(S))).max() < 1e-12
    return angular.tolist() if apart else None


class _Lengths:
    """How long the twist of a joint and its derivatives are at most, on intervals of a section's pieces."""

    def __init__(self, section: Section, place: JointPlace, knots: np.ndarray) -> None:
        self.knots, self.cumulative = knots, section.kind.name == "cumulative"
        self.apart = section.space.apart and place.goes_straight
        self.angular = np.array(_columns(place))
        if self.cumulative:
            starts, steps = section.arrays["starts"], section.arrays["steps"]
            count = steps.shape[1]
            weights = {"starts": starts, "coefficients": section.arrays["weights"]}
            space = CurveSpace(count, count)
            plain = Section(space, KINDS["polynomial"], weights, section.start, section.end, section.clock)
            self.c = polynomials_of(plain)[1]
            s = section.parameter(0.5 * (knots[1:] + knots[:-1]))
            self.steps = steps[pieces_at(starts, s)][..., place.in_v]
        else:
            self.c = polynomials_of(section)[1][:, place.in_v]

    def at(self, piece: np.ndarray, middle: np.ndarray, half: np.ndarray, order: int) -> tuple[Lengths, Lengths]:
        """Of angular and linear velocity and so many derivatives."""
        values = derivatives(self.c[piece], middle - self.knots[piece], order + 2)
        if not self.cumulative:
            turns, moves = (
                over([np.linalg.norm(x[:, chosen], axis=1) for x in values], half)
                for chosen in (self.angular, ~self.angular)
            )
            return decoupled(turns, moves, order) if self.apart else exponential(turns, moves, order)
        steps = self.steps[piece]
        result: tuple[Lengths, Lengths] | None = None
        for j in range(steps.shape[1]):
            weights = over([np.abs(x[:, j]) for x in values], half)
            turn, move = (np.linalg.norm(steps[:, j, chosen], axis=1) for chosen in (self.angular, ~self.angular))
            angular, linear = ([x * size for x in weights[1 : order + 2]] for size in (turn, move))
            result = product(result, (angular, linear), weights[0] * move, order, apart=self.apart)
        assert result is not None
        return result
