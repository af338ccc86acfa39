"""Bounds of velocities and their derivatives of joints that turn and move freely: certified, not sampled.

Of a piece q_i ⊕ p(t) the twist V of exp(s p) is 0 at s = 0 and grows along s by dV/ds = ṗ − p × V.  Its derivatives by
time have equations of the same kind, and what turns a vector leaves its length, so their lengths are bounded by those
of p's derivatives:

    |ω⁽ᵏ⁾|(s) ≤ s |p⁽ᵏ⁺¹⁾| + Σ_{i = 1..k} C(k, i) |p⁽ⁱ⁾| ∫ |ω⁽ᵏ⁻ⁱ⁾| ds

and for the linear part alike.  Factors exp(w φ) of a product are taken in one after the other.  Intervals of time are
halved until the value, its rate and the bound of the second derivative hold what it may be at most close enough to
what it is somewhere.
"""

from __future__ import annotations

import numpy as np

from linkwork.motion.algorithms.curves import KINDS, CurveSpace
from linkwork.motion.algorithms.curves.curve_space import JointPlace
from linkwork.motion.trajectory.norm_derivatives import Lengths, decoupled, derivatives, exponential, over, product
from linkwork.motion.trajectory.piecewise_evaluation import pieces_at
from linkwork.motion.trajectory.squad_bounds import SquadLengths
from linkwork.motion.trajectory.time_polynomials import polynomials_of
from linkwork.motion.trajectory.trajectory_segment import Section

__all__ = ["twisting_extremes"]

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
        found = [x[:, place.in_v] for x in section.at(middle, order + both)[order:]]
        low, high = np.minimum(low, found[0].min(axis=0)), np.maximum(high, found[0].max(axis=0))
        w, u = lengths.at(piece, middle, half, order + both)
        bend = np.stack([w[-1] if angular else u[-1] for angular in columns], axis=1)
        h = half[:, None]
        room = 0.5 * bend * h * h + np.abs(found[1]) * h if both else bend * h
        bound_low, bound_high = found[0] - room, found[0] + room
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
        found: tuple[Lengths, Lengths] | None = None
        for j in range(steps.shape[1]):
            weights = over([np.abs(x[:, j]) for x in values], half)
            turn, move = (np.linalg.norm(steps[:, j, chosen], axis=1) for chosen in (self.angular, ~self.angular))
            angular, linear = ([x * size for x in weights[1 : order + 2]] for size in (turn, move))
            found = product(found, (angular, linear), weights[0] * move, order, apart=self.apart)
        assert found is not None
        return found
