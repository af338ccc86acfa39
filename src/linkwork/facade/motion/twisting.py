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

from math import comb, factorial

import numpy as np

from ...algorithms.motion.curves import KINDS, CurveSpace
from ...algorithms.motion.curves.space import JointPlace
from .places import pieces_at
from .polynomials import polynomials_of
from .section import Section

__all__ = ["twisting_extremes"]

_CLOSE = {1: 1e-6, 2: 1e-6, 3: 1e-3}  # parts of a joint's largest angular or linear number, by order
_MOST = 40_000  # intervals that are looked at
_ROUNDING = 1e-11

Lengths = list[np.ndarray]  # (n,) each: of a vector and its derivatives, no more than that


def twisting_extremes(section: Section, place: JointPlace, order: int) -> tuple[np.ndarray, np.ndarray] | None:
    """What a derivative (nv,) of a joint is never below and never above: v (order 1), a (2), the jerk (3).

    None where nothing is known: of joints whose v is no twist along fixed axes, and of curves without a bound.
    """
    columns = _columns(place)
    if columns is None or section.kind.name not in ("retracted", "by_coordinate", "cumulative") or order < 1:
        return None
    knots = section.knots()
    middle, half = 0.5 * (knots[1:] + knots[:-1]), 0.5 * np.diff(knots)
    piece = np.arange(len(half))
    alike = np.equal.outer(columns, columns)
    lengths = _Lengths(section, place, knots)
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
        self.apart = section.space.apart and place.has_twist
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
        values = _derivatives(self.c[piece], middle - self.knots[piece], order + 2)
        if not self.cumulative:
            turns, moves = (
                _over([np.linalg.norm(x[:, chosen], axis=1) for x in values], half)
                for chosen in (self.angular, ~self.angular)
            )
            return _decoupled(turns, moves, order) if self.apart else _exponential(turns, moves, order)
        steps = self.steps[piece]
        found: tuple[Lengths, Lengths] | None = None
        for j in range(steps.shape[1]):
            weights = _over([np.abs(x[:, j]) for x in values], half)
            turn, move = (np.linalg.norm(steps[:, j, chosen], axis=1) for chosen in (self.angular, ~self.angular))
            own = [[x * size for x in weights] for size in (turn, move)]
            found = _product(found, own, order, apart=self.apart)
        assert found is not None
        return found


def _derivatives(c: np.ndarray, u: np.ndarray, count: int) -> list[np.ndarray]:
    """Polynomials (n, m, terms) at u (n,), and all derivatives, ``count`` at least: (n, m) each."""
    found = []
    for _ in range(max(count + 1, c.shape[-1])):
        x = np.zeros(c.shape[:-1])
        for k in range(c.shape[-1] - 1, -1, -1):
            x = x * u[:, None] + c[..., k]
        found.append(x)
        c = c[..., 1:] * np.arange(1, c.shape[-1]) if c.shape[-1] > 1 else np.zeros_like(c)
    return found


def _over(sizes: Lengths, half: np.ndarray) -> Lengths:
    """How large vectors are at most in an interval around where they, and all their derivatives, are so large."""
    count = len(sizes)
    return [
        sum((sizes[i + j] * half**j / factorial(j) for j in range(count - i)), np.zeros(len(half)))
        for i in range(count)
    ]


def _exponential(turns: Lengths, moves: Lengths, order: int) -> tuple[Lengths, Lengths]:
    """The twist of exp p and its derivatives, of the lengths of p's angular and linear parts and their derivatives."""
    w: list[list[np.ndarray]] = []  # polynomials in s, lowest first
    u: list[list[np.ndarray]] = []
    for k in range(order + 1):
        angular, linear = ([np.zeros_like(turns[0])] * (k + 2) for _ in range(2))
        angular[1], linear[1] = turns[k + 1], moves[k + 1]
        for i in range(k + 1):
            if i:
                _add(angular, comb(k, i) * turns[i], w[k - i])
                _add(linear, comb(k, i) * turns[i], u[k - i])
                _add(linear, comb(k, i) * moves[i], w[k - i])
        linear = [*linear, np.zeros_like(turns[0])]
        _add(linear, moves[0], angular)
        w.append(angular)
        u.append(linear)
    return [np.sum(x, axis=0) for x in w], [np.sum(x, axis=0) for x in u]


def _add(total: list[np.ndarray], factor: np.ndarray, polynomial: list[np.ndarray]) -> None:
    """Add a factor times the integral of a polynomial."""
    while len(total) <= len(polynomial):
        total.append(np.zeros_like(factor))
    for power, x in enumerate(polynomial):
        total[power + 1] = total[power + 1] + factor * x / (power + 1)


def _decoupled(turns: Lengths, moves: Lengths, order: int) -> tuple[Lengths, Lengths]:
    """The same where the origin goes by p itself, seen from what turns."""
    w = _exponential(turns, [0.0 * x for x in turns], order)[0]
    return w, _turned(moves[1:], w, order)


def _turned(vectors: Lengths, w: Lengths, order: int) -> Lengths:
    """A vector and its derivatives, seen from what turns at ω, of the lengths in the axes that it is in."""
    table = [list(vectors[: order + 1])]  # [k][j]: the k-th derivative of what the j-th is seen as
    for k in range(1, order + 1):
        row = []
        for j in range(order + 1 - k):
            x = table[k - 1][j + 1]
            for i in range(k):
                x = x + comb(k - 1, i) * w[i] * table[k - 1 - i][j]
            row.append(x)
        table.append(row)
    return [row[0] for row in table]


def _product(
    before: tuple[Lengths, Lengths] | None, own: list[Lengths], order: int, *, apart: bool
) -> tuple[Lengths, Lengths]:
    """The twist of X exp(w φ), of that of X and of w φ, whose own twist is its rate."""
    turns, moves = own
    w, u = turns[1 : order + 2], moves[1 : order + 2]
    if before is None:
        return list(w), list(u)
    angular, linear = before
    if apart:
        # the origin's velocity in fixed axes adds up; seen from what turns, each part turns on with what comes after
        way = _turned(linear, w, order)
        total = [x + y for x, y in zip(_turned(angular, w, order), w, strict=True)]
        return total, [x + y for x, y in zip(way, _turned(u, w, order), strict=True)]
    place = [moves[0], *_turned(u, w, order)]  # of the factor's origin, in X's axes
    swept = [
        linear[k] + sum((comb(k, i) * angular[i] * place[k - i] for i in range(k + 1)), np.zeros_like(w[0]))
        for k in range(order + 1)
    ]
    return (
        [x + y for x, y in zip(_turned(angular, w, order), w, strict=True)],
        [x + y for x, y in zip(_turned(swept, w, order), u, strict=True)],
    )
