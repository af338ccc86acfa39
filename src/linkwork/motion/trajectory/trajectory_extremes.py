"""Extremes of a trajectory's coordinates and derivatives, and its margins to limits, certified.

Coordinates that are polynomials of time have their extremes at the ends and at roots of their derivatives.

Spherical and floating joints (`twisting_extremes`): on a segment q_i ⊕ p(t) the twist V of exp(s p) is 0 at s = 0 and
grows along s by dV/ds = ṗ − p × V.  The time derivatives of V have equations of the same kind, and rotations do not
change norms.  So the norms of these derivatives are bounded by the norms of p's derivatives:

    |ω⁽ᵏ⁾|(s) ≤ s |p⁽ᵏ⁺¹⁾| + Σ_{i = 1..k} C(k, i) |p⁽ⁱ⁾| ∫ |ω⁽ᵏ⁻ⁱ⁾| ds

and likewise for the linear part.  Factors exp(w φ) of a product are included one after the other.  Intervals of time
are halved until the bound of the maximum is close enough to an attained value; the bound uses the value, its first
derivative, and a bound of the second derivative.  Bounds are certified; they do not rely on samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from typing import Any, Literal, NamedTuple

import numpy as np

from linkwork._util.messages import label, number, table
from linkwork.joints.base.plain_coordinates import moved_alone
from linkwork.model.coordinate_names import units_of
from linkwork.model.limited_coordinates import limited_coordinates, loop_speeds
from linkwork.motion.algorithms.curves import KINDS, CurveSpace
from linkwork.motion.algorithms.curves.curve_space import JointSlice
from linkwork.motion.arguments import own_limits, read_limit, read_positions
from linkwork.motion.trajectory.squad_bounds import (
    NormBounds,
    SquadNormBounds,
    decoupled_twist,
    derivatives,
    exponential_twist,
    in_rotating_axes,
    interval_bounds,
    product_twist,
)
from linkwork.motion.trajectory.time_polynomials import polynomials_of
from linkwork.motion.trajectory.trajectory_segment import Section

__all__ = ["Extremes", "bernstein", "extremes_of", "margins_of", "polynomial_extremes"]


_QUANTITIES: tuple[Literal["q", "v", "a", "jerk"], ...] = ("q", "v", "a", "jerk")


class _Bounds(NamedTuple):
    lower: np.ndarray
    upper: np.ndarray


class Extremes(_Bounds):
    """Lower and upper bounds of coordinates (nv,), in this order; prints as a table with names, units and times."""

    _trajectory: Any = None
    _order = 1

    @property
    def lower_times(self) -> np.ndarray:
        """Times (nv,) [s] at which coordinates have their lower bounds, the first of several; NaN without a bound."""
        return self._times(self.lower, -1.0)

    @property
    def upper_times(self) -> np.ndarray:
        """Times (nv,) [s] at which coordinates have their upper bounds, the first of several; NaN without a bound."""
        return self._times(self.upper, 1.0)

    def _times(self, bound: np.ndarray, sign: float) -> np.ndarray:
        known = np.full(len(bound), np.nan)
        if self._trajectory is not None:
            known = _times_of_maxima(self._trajectory, self._order, sign)
        return np.where(np.isfinite(bound), known, np.nan)

    def __repr__(self) -> str:
        trajectory, quantity = self._trajectory, _QUANTITIES[self._order]
        robot = None if trajectory is None else trajectory.robot
        names: Sequence[str] = [str(k) for k in range(len(self.lower))]
        units: Sequence[str] = [""] * len(names)
        if robot is not None:
            units = ["" if unit == "1" else unit for unit in units_of(robot.tree, "v" if quantity == "q" else quantity)]
            units = [unit.removesuffix("/s") for unit in units] if quantity == "q" else units
            names = robot.v_names
        clock = "s" if trajectory is not None and not trajectory.is_timed else "t"
        columns = (self.lower, self.lower_times, self.upper, self.upper_times)
        least = _SHOWN_AS_ZERO * np.maximum(np.abs(self.lower), np.abs(self.upper))
        rows = [
            [label(name), *(_shown(float(x[k]), float(least[k])) for x in columns), units[k]]
            for k, name in enumerate(names)
        ]
        return "\n".join(table([quantity, "lower", f"at {clock}", "upper", f"at {clock}", "unit"], rows, left=(0, 5)))


def extremes_of(trajectory: Any, order: int) -> Extremes:
    """Return the extremes of q (order 0), v (1), a (2) or the jerk (3) of a trajectory."""
    result = _extremes_of_sections(trajectory.sections, order)
    result._trajectory, result._order = trajectory, order
    return result


def _shown(x: float, least: float) -> str:
    return "-" if np.isnan(x) else "0" if abs(x) < least else number(float(f"{x:.5g}"))


def _times_of_maxima(trajectory: Any, order: int, sign: float) -> np.ndarray:
    """Return the times (nv,) at which ``sign`` times the coordinates of a derivative is largest.

    Each segment is sampled, and the largest value refined by golden-section search.
    """
    columns = _columns_of_v(trajectory) if order == 0 else slice(None)

    def values(t: np.ndarray, side: str) -> np.ndarray:
        return np.asarray(sign * trajectory._at(t, max(order, 1), "raise", side)[order][..., columns])

    knots = np.unique(trajectory.knots)
    if len(knots) < 2:
        return np.full(trajectory.nv, knots[0])
    t = np.linspace(knots[:-1], knots[1:], _SAMPLES, axis=1)
    t[:, -1] = knots[1:]
    x = values(t, "right")
    x[:, -1] = values(knots[1:], "left")
    flat, k = x.reshape(-1, x.shape[-1]), np.arange(x.shape[-1])
    largest = flat.max(axis=0)
    room = 1e-12 * np.abs(flat).max(axis=0)
    first = np.argmax(flat >= largest - room, axis=0)
    segment, sample = np.divmod(first, _SAMPLES)
    result, value = t[segment, sample], flat[first, k]
    low, high = t[segment, np.maximum(sample - 1, 0)], t[segment, np.minimum(sample + 1, _SAMPLES - 1)]
    for _ in range(_GOLDEN_STEPS):
        inner = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        a, b = (values(at, "right")[k, k] for at in inner)
        low, high = np.where(a < b, inner[0], low), np.where(a < b, high, inner[1])
    middle = 0.5 * (low + high)
    return np.where(values(middle, "right")[k, k] > value + room, middle, result)


def _columns_of_v(trajectory: Any) -> np.ndarray:
    """Return, for each coordinate of v (nv,), the index of the coordinate of q with the same meaning.

    The index is 0 for joints whose q and v have different numbers of coordinates.
    """
    space = trajectory.sections[0].space
    result = np.arange(space.nv) if space.is_plain else np.zeros(space.nv, dtype=np.intp)
    for coordinates in space.joints:
        indices = np.arange(space.nq)[coordinates.in_q]
        if len(indices) == coordinates.joint.nv:
            result[coordinates.in_v] = indices
    return result


def _extremes_of_sections(sections: Sequence[Section], order: int) -> Extremes:
    """Return bounds of q (order 0) or a derivative over all sections; infinite where no bound is known."""
    if order not in (0, 1, 2, 3):
        raise ValueError(f"extremes: order: expected 0 (q), 1 (v), 2 (a) or 3 (jerk), got {order!r}")
    result = []
    for section in sections:
        times, c, plain = polynomials_of(section)
        for coordinates in section.space.joints:
            if (
                order and coordinates.joint.nv == 1 and section.kind.name != "squad"
            ):  # squads may differ by a revolution
                plain[coordinates.in_v] |= c.shape[-1] > 1  # v is the rate of the single local coordinate
        low, high = polynomial_extremes(np.diff(times), c, order)
        low, high = np.where(plain, low, -np.inf), np.where(plain, high, np.inf)
        for coordinates in section.space.joints:
            bounds = None if plain[coordinates.in_v].all() else twisting_extremes(section, coordinates, order)
            if bounds is not None:
                low[coordinates.in_v], high[coordinates.in_v] = bounds
        result.append((low, high))
    return Extremes(np.min([low for low, _ in result], axis=0), np.max([high for _, high in result], axis=0))


def polynomial_extremes(h: np.ndarray, c: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and largest values (n,) of a derivative of polynomials c (m, n, terms) on [0, h].

    h (m,) are the lengths of the segments.
    """
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
    """Return the Bernstein control points (..., terms) of polynomials on [0, 1].

    The values of a polynomial lie between its smallest and largest control point. b_i = Σ_{k ≤ i} C(i, k) / C(d, k)
    c_k. Source: Farouki, The Bernstein polynomial basis: a centennial retrospective, Computer Aided Geometric Design
    29, 2012.
    """
    d = c.shape[-1] - 1
    to = np.array([[comb(i, k) / comb(d, k) if k <= i else 0.0 for k in range(d + 1)] for i in range(d + 1)])
    result: np.ndarray = c @ to.T
    return result


_ORDER = {"velocity": 1, "acceleration": 2, "jerk": 3}


def margins_of(caller: str, trajectory: Any, limits: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return the smallest margin (nv,) to each limit, by its name; negative where the limit is exceeded.

    ``lower`` and ``upper`` are as in `read_positions`, other limits as in `read_limit`; by default they are the
    robot's.  The margin is −inf where no bound is known, except to an infinite limit.  The margins
    ``loops`` to limits of joints that close loops are always −inf.
    """
    robot, space = trajectory.robot, trajectory.sections[0].space
    names = [f"coordinate {k}" for k in range(space.nv)] if robot is None else list(robot.v_names)
    result = {}
    for name, value in limits.items():
        default = own_limits(robot, name) if name in _ORDER else getattr(robot, name, None)
        value = default if value is None else value
        if value is None:
            continue
        order = _ORDER.get(name, 0)
        if order:
            up, down = read_limit(caller, name, value, names, robot, default)
        else:
            limit = read_positions(caller, name, value, space.nq, robot, default)
            limit = limit if space.is_plain else _by_velocity(space, limit, -np.inf if name == "lower" else np.inf)
            no_margin = np.full(space.nv, np.inf)
            up, down = (no_margin, -limit) if name == "lower" else (limit, no_margin)
        if np.isinf([up, down]).all():
            result[name] = np.full(space.nv, np.inf)
            continue
        low, high = trajectory.extremes(order)
        with np.errstate(invalid="ignore"):
            margins = [np.where(np.isinf(x), np.inf, x - y) for x, y in ((up, high), (down, -low))]
        result[name] = np.minimum(*margins)
    loops = [] if robot is None else [c for c in limited_coordinates(robot.tree) if c.loop is not None]
    count = len(loops) + (len(loop_speeds(robot.tree)) if robot is not None and "velocity" in limits else 0)
    return result | {"loops": np.full(count, -np.inf)} if count else result


def _by_velocity(space: Any, limit: np.ndarray, no_limit: float) -> np.ndarray:
    """Return position limits (nq,) rearranged by coordinate of v (nv,), with ``no_limit`` where there is none.

    If no single velocity determines a coordinate of q, its limit applies to all velocities of its joint, whose bounds
    are unknown.
    """
    result = np.full(space.nv, no_limit)
    for coordinates in space.joints:
        joint_limits, alone = result[coordinates.in_v], moved_alone(coordinates.joint)
        for k, end in zip(alone, limit[coordinates.in_q], strict=True):
            if np.isfinite(end):
                joint_limits[slice(None) if k is None else k] = end
    return result


_SHOWN_AS_ZERO = 1e-9  # size of a bound, relative to the other bound of the coordinate
_SAMPLES = 33  # of a segment, among which extremes are searched
_GOLDEN, _GOLDEN_STEPS = 0.5 * (5.0**0.5 - 1.0), 40
_TOLERANCES = {1: 1e-6, 2: 1e-6, 3: 1e-3}  # of a joint's largest angular or linear value, by order
_MAX_INTERVALS = 40_000  # intervals that are evaluated at most
_ROUNDING = 1e-11
_NARROWEST = 1e-12  # of a segment: narrower intervals are not split, so a missing bound stays infinite
_CURVE_KINDS = ("retracted", "by_coordinate", "cumulative", "squad")


def twisting_extremes(section: Section, coordinates: JointSlice, order: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return certified bounds (nv,) of a joint's v (order 1), a (2) or jerk (3).

    The result is None if no bound is known: for joints whose v is not a twist along fixed axes, and for other curves.
    """
    columns = _columns(coordinates)
    if columns is None or section.kind.name not in _CURVE_KINDS or order < 1:
        return None
    knots = section.knots()
    middle, half = 0.5 * (knots[1:] + knots[:-1]), 0.5 * np.diff(knots)
    segment = np.arange(len(half))
    same_part = np.equal.outer(columns, columns)
    lengths: _TwistNormBounds | SquadNormBounds
    if section.kind.name == "squad":
        lengths = SquadNormBounds(section, coordinates, knots, columns)
    else:
        lengths = _TwistNormBounds(section, coordinates, knots)
    narrow = _NARROWEST * half
    both = 1 if order < 3 else 0  # derivatives besides the bounded one that are evaluated in the middle
    low, high = np.full(coordinates.joint.nv, np.inf), np.full(coordinates.joint.nv, -np.inf)  # attained
    least, most = low.copy(), high.copy()  # certified
    count = 0
    while len(half):
        result = [x[:, coordinates.in_v] for x in section.at(middle, order + both)[order:]]
        low, high = np.minimum(low, result[0].min(axis=0)), np.maximum(high, result[0].max(axis=0))
        w, u = lengths.at(segment, middle, half, order + both)
        bend = np.stack([w[-1] if angular else u[-1] for angular in columns], axis=1)
        h = half[:, None]
        room = 0.5 * bend * h * h + np.abs(result[1]) * h if both else bend * h
        bound_low, bound_high = result[0] - room, result[0] + room
        size = np.maximum(np.maximum(np.abs(low), np.abs(high)), 1e-9)
        tolerance = _TOLERANCES[order] * np.max(np.where(same_part, size, 0.0), axis=1)
        split = ((bound_high > high + tolerance) | (bound_low < low - tolerance)).any(axis=1)
        split &= half > narrow[segment]
        count += len(half)
        if count > _MAX_INTERVALS:
            split[:] = False
        least = np.minimum(least, np.min(bound_low[~split], axis=0, initial=np.inf))
        most = np.maximum(most, np.max(bound_high[~split], axis=0, initial=-np.inf))
        half = np.repeat(0.5 * half[split], 2)
        middle = np.repeat(middle[split], 2) + half * np.tile([-1.0, 1.0], len(half) // 2)
        segment = np.repeat(segment[split], 2)
    room = _ROUNDING * np.maximum(np.abs(least), np.abs(most))
    return least - room, most + room


def _columns(coordinates: JointSlice) -> list[bool] | None:
    """Return for each velocity coordinate of a joint True if it is angular, False if linear.

    The result is None if v is not a twist along fixed orthonormal axes.
    """
    if coordinates.joint.nv == 0 or not coordinates.joint.has_fixed_subspaces:
        return None
    S = np.array([[*map(float, x.elements())] for x in coordinates.joint.S(coordinates.joint.zero()).columns])
    products = S @ S.T
    angular, linear = (np.abs(S[:, part]).max(axis=1) > 0.0 for part in (slice(0, 3), slice(3, 6)))
    apart = not (angular & linear).any() and np.abs(products - np.eye(len(S))).max() < 1e-12
    return angular.tolist() if apart else None


class _TwistNormBounds:
    """Bounds of the twist of a joint and its derivatives, on intervals of the segments of a section."""

    def __init__(self, section: Section, coordinates: JointSlice, knots: np.ndarray) -> None:
        self.knots, self.cumulative = knots, section.kind.name == "cumulative"
        self.apart = section.space.apart and coordinates.goes_straight
        self.angular = np.array(_columns(coordinates))
        if self.cumulative:
            starts, steps = section.arrays["starts"], section.arrays["steps"]
            count = steps.shape[1]
            weights = {"starts": starts, "coefficients": section.arrays["weights"]}
            space = CurveSpace(count, count)
            plain = Section(space, KINDS["polynomial"], weights, section.start, section.end, section.clock)
            self.c = polynomials_of(plain)[1]
            self.steps = steps[section.segments_at(0.5 * (knots[1:] + knots[:-1]))][..., coordinates.in_v]
        else:
            self.c = polynomials_of(section)[1][:, coordinates.in_v]

    def at(
        self, segment: np.ndarray, middle: np.ndarray, half: np.ndarray, order: int
    ) -> tuple[NormBounds, NormBounds]:
        """Return bounds of a joint's angular and linear velocity, and of their first ``order`` derivatives.

        Each bound is for an interval of a segment, defined by its middle and half length.
        """
        values = derivatives(self.c[segment], middle - self.knots[segment], order + 2)
        if not self.cumulative:
            turns, moves = (
                interval_bounds([np.linalg.norm(x[:, chosen], axis=1) for x in values], half)
                for chosen in (self.angular, ~self.angular)
            )
            return decoupled_twist(turns, moves, order) if self.apart else exponential_twist(turns, moves, order)
        steps = self.steps[segment]
        result: tuple[NormBounds, NormBounds] | None = None
        displacements = [np.zeros(len(half)) for _ in range(order + 1)]  # rates of the origin's position, if apart
        for j in range(steps.shape[1]):
            weights = interval_bounds([np.abs(x[:, j]) for x in values], half)
            turn, move = (np.linalg.norm(steps[:, j, chosen], axis=1) for chosen in (self.angular, ~self.angular))
            displacements = [x + y * move for x, y in zip(displacements, weights[1 : order + 2], strict=True)]
            move = 0.0 * move if self.apart else move
            angular, linear = ([x * size for x in weights[1 : order + 2]] for size in (turn, move))
            result = product_twist(result, (angular, linear), weights[0] * move, order)
        assert result is not None
        return (result[0], in_rotating_axes(displacements, result[0], order)) if self.apart else result
