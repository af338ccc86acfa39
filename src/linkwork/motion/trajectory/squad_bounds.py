"""Bounds of the twist of a joint on a squad curve and of its derivatives, from inequalities between norms.

For a piece q(u) = a ⊕ f d, with a = q_i ⊕ u φ, b = s_i ⊕ u ψ, f = 2 u (1 − u) and d = b ⊖ a, the motion from a to b is
R(u) = exp(−u φ) R(0) exp(u ψ).  Its twist w = ψ − Ad(R⁻¹) φ is turned by ψ alone, and |d|, an angle, changes no faster
than by |w|:

    w' = w × ψ,   |w⁽ᵏ⁾| ≤ |ψ|ᵏ |w|,   d' = G(d) w,   G = Σ b_k ad_dᵏ = 1 + ad_d/2 + Σ B₂ₖ/(2k)! ad_d²ᵏ.

G's series with |b_k| in the place of b_k, g(x) = 2 + x/2 − (x/2) cot(x/2), bounds G and its derivatives by those of
g(|d|), at any angle below 2π.  The logarithm jumps at π, so there is no bound where an angle may reach it.

Norms of vectors and of their derivatives (`Lengths`): rotations do not change a norm, so norms obey inequalities
without rotations.  Norms of twists are pairs, (angular, linear) = angular + ε linear with ε² = 0: of x × y they are
no more than the product of such numbers, and functions of them follow as of other numbers.

Sources: Shoemake, Quaternion calculus and fast animation, 1987; Iserles and others, Lie-group methods, Acta Numerica
9, 2000 (the series of G); Solà, Deray and Atchuthan, A micro Lie theory for state estimation in robotics, 2018.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import comb, factorial, pi
from typing import Any, NamedTuple

import numpy as np

from linkwork.motion.algorithms.curves import KINDS, CurveSpace
from linkwork.motion.algorithms.curves.curve_space import JointPlace
from linkwork.motion.trajectory.map_segments import each
from linkwork.motion.trajectory.piecewise_evaluation import pieces_at
from linkwork.motion.trajectory.time_polynomials import polynomials_of
from linkwork.motion.trajectory.trajectory_segment import Section

__all__ = ["Lengths", "SquadLengths", "decoupled", "derivatives", "exponential", "over", "product"]


_TERMS = 80  # of g, of which what is left out is below 2^-80 up to π
_JUMP = pi - 1e-9  # of the angle between both geodesics


class _Pair(NamedTuple):
    """The lengths (n,) of a twist's angular and linear part: angular + ε linear."""

    angular: Any
    linear: Any

    def times(self, other: _Pair, scale: Any = 1.0) -> _Pair:
        return _Pair(
            scale * self.angular * other.angular, scale * (self.angular * other.linear + self.linear * other.angular)
        )

    def scaled(self, by: Any) -> _Pair:
        return _Pair(by * self.angular, by * self.linear)

    def plus(self, other: _Pair) -> _Pair:
        return _Pair(self.angular + other.angular, self.linear + other.linear)


_Jet = list[_Pair]  # and of its derivatives by time


class SquadLengths:
    """How long the twist of a joint and its derivatives are at most, on intervals of a squad's pieces."""

    def __init__(self, section: Section, place: JointPlace, knots: np.ndarray, angular: Sequence[bool]) -> None:
        self.knots, self.place = knots, place
        self.apart = section.space.apart and place.goes_straight
        self.angular = np.array(angular)
        starts, rates = section.arrays["starts"], section.arrays["rates"]
        which = pieces_at(starts, section.parameter(0.5 * (knots[1:] + knots[:-1])))
        names, parts = ("base", "inner", "steps", "inner_steps"), (place.in_q, place.in_q, place.in_v, place.in_v)
        self.base, self.inner, self.phi, self.psi = (
            section.arrays[name][which][:, own] for name, own in zip(names, parts, strict=True)
        )
        # u and 2 u (1 − u) as polynomials of time, and where it goes apart the origin's way
        polynomials = np.zeros((len(rates), 5, 4))
        polynomials[:, 0, 1], polynomials[:, 1, 1], polynomials[:, 1, 2] = 1.0, 2.0, -2.0
        if self.apart:
            rows = [section.arrays[name][:, own] for name, own in zip(names, parts, strict=True)]
            polynomials[:, 2:] = each(self._origin, *rows)
        polynomials *= rates[:, None, None] ** np.arange(4)
        space = CurveSpace(5, 5)
        arrays = {"starts": starts, "coefficients": polynomials}
        plain = Section(space, KINDS["polynomial"], arrays, section.start, section.end, section.clock)
        self.c = polynomials_of(plain)[1]

    def at(self, piece: np.ndarray, middle: np.ndarray, half: np.ndarray, order: int) -> tuple[Lengths, Lengths]:
        """Of angular and linear velocity and so many derivatives; infinite where it may jump."""
        values = derivatives(self.c[piece], middle - self.knots[piece], order + 2)
        u, f = (over([np.abs(x[:, k]) for x in values], half) for k in (0, 1))
        reach = u[1] * half  # of u, from the middle on
        psi = self._size(self.psi[piece])
        d, w = self._between(piece, values[0][:, 0], reach, psi)
        known = d.angular < _JUMP
        d = _Pair(np.minimum(d.angular, pi), np.where(known, d.linear, 0.0))
        way = _products([_Pair(x, 0.0 * x) for x in f], _logarithm(d, w, psi, u, order + 1))
        turns, moves = ([getattr(x, name) for x in way] for name in ("angular", "linear"))
        size = self._size(self.phi[piece])
        along = [size.angular * x for x in u[1 : order + 2]]
        if self.apart:
            none = [0.0 * x for x in turns]
            result = product((along, none), exponential(turns, none, order), none[0], order, apart=True)
            origin = over([np.linalg.norm(x[:, 2:], axis=1) for x in values], half)
            result = result[0], turned(origin[1:], result[0], order)
        else:
            own = exponential(turns, moves, order)
            before = along, [size.linear * x for x in u[1 : order + 2]]
            result = product(before, own, moves[0], order, apart=False)
        angular, linear = ([np.where(known, x, np.inf) for x in part] for part in result)
        return angular, linear

    def _between(self, piece: np.ndarray, u: np.ndarray, reach: np.ndarray, psi: _Pair) -> tuple[_Pair, _Pair]:
        """Of d, and of its twist w by u, from their middles on."""
        place, linear = self.place, 0.0 if self.apart else 1.0

        def sizes(base: Any, inner: Any, phi: Any, psi: Any, u: Any) -> list[Any]:
            a, b = (place.integrate(q, [u * x for x in step], self.apart) for q, step in ((base, phi), (inner, psi)))
            back = (place.joint.X(a).inv() @ place.joint.X(b)).inv()
            of = [place.joint.twist(q, step) for q, step in ((a, phi), (b, psi))]
            twist = of[1] - back @ of[0]
            return [*place.difference(a, b, self.apart), *twist.elements()]

        result = each(sizes, self.base[piece], self.inner[piece], self.phi[piece], self.psi[piece], u)
        d, w = self._size(result[:, :-6]), _size(result[:, -6:-3], result[:, -3:], linear)
        w = w.plus(_Pair(0.0, w.angular * psi.linear * reach))  # Ad(exp(u ψ)) takes it along
        angle = d.angular + w.angular * reach
        g, slope = _majorant(np.minimum(angle, pi), 2)
        # |d_linear|' <= g |w_linear| + g' |d_linear| |w_angular|
        further = (d.linear + g * w.linear * reach) * np.exp(np.minimum(slope * w.angular * reach, 300.0))
        return _Pair(angle, further), w

    def _size(self, v: np.ndarray) -> _Pair:
        return _size(v[:, self.angular], v[:, ~self.angular], 0.0 if self.apart else 1.0)

    def _origin(self, base: Any, inner: Any, phi: Any, psi: Any) -> list[list[Any]]:
        """The coefficients of u of where it is: x_a + f (x_b − x_a)."""
        at, to = self.place.joint.X(base), self.place.joint.X(inner)
        first = at.rotation @ self.place.joint.twist(base, phi).linear
        gap = to.translation - at.translation
        closing = to.rotation @ self.place.joint.twist(inner, psi).linear - first
        rows = zip(at.translation, first, gap, closing, strict=True)
        return [[x, v + 2.0 * y, 2.0 * (z - y), -2.0 * z] for x, v, y, z in rows]


def _size(angular: np.ndarray, linear: np.ndarray, scale: float) -> _Pair:
    return _Pair(np.linalg.norm(angular, axis=1), scale * np.linalg.norm(linear, axis=1))


def _logarithm(d: _Pair, w: _Pair, psi: _Pair, u: Lengths, order: int) -> _Jet:
    """Of d and its derivatives by time: d' = G(d) w u', w' = w × ψ u'."""
    twists, result = [w], [d]
    rates = _majorant(d.angular, order + 2)
    taylor = [_Pair(x, y * d.linear) for x, y in pairwise(rates)]  # of g at d, with ε
    for k in range(order):
        moving = [  # w u', as far as w is known
            _sum(twists[i].scaled(comb(j, i) * u[j - i + 1]) for i in range(j + 1)) for j in range(k + 1)
        ]
        result.append(_products(_composed(taylor, result), moving)[k])
        twists.append(_sum(twists[i].times(psi, comb(k, i) * u[k - i + 1]) for i in range(k + 1)))
    return result


def _composed(taylor: Sequence[_Pair], inner: _Jet) -> _Jet:
    """Of a function, whose derivatives are at most so large, of what has such lengths."""
    zero = inner[0].scaled(0.0)
    power: _Jet = [_Pair(zero.angular + 1.0, zero.linear), *[zero] * (len(inner) - 1)]
    change = [zero, *inner[1:]]
    result = [zero] * len(inner)
    for m in range(len(inner)):
        scale = taylor[m].scaled(1.0 / factorial(m))
        result = [x.plus(scale.times(y)) for x, y in zip(result, power, strict=True)]
        power = _products(power, change)
    return result


def _products(x: _Jet, y: _Jet) -> _Jet:
    """By Leibniz's rule."""
    return [_sum(x[i].times(y[k - i], comb(k, i)) for i in range(k + 1)) for k in range(min(len(x), len(y)))]


def _sum(pairs: Iterable[_Pair]) -> _Pair:
    first, *rest = pairs
    for x in rest:
        first = first.plus(x)
    return first


def _majorant(x: np.ndarray, count: int) -> list[np.ndarray]:
    """g and its derivatives, so many in all: |B₂ₖ|/(2k)! = 2 ζ(2k) / (2π)²ᵏ."""
    c = np.zeros(_TERMS + 1)
    c[:2] = 1.0, 0.5
    even = np.arange(2, _TERMS + 1, 2)
    zeta = np.sum(np.arange(1, 40)[:, None] ** -even.astype(float), axis=0)
    c[even] = 2.0 * np.where(even == 2, pi**2 / 6.0, np.where(even == 4, pi**4 / 90.0, zeta * (1.0 + 1e-8)))
    c[even] /= (2.0 * pi) ** even
    result = []
    for _ in range(count):
        result.append(np.polynomial.polynomial.polyval(x, c))
        c = c[1:] * np.arange(1, len(c))
    return result


Lengths = list[np.ndarray]  # (n,) each: of a vector and its derivatives, no more than that


def derivatives(c: np.ndarray, u: np.ndarray, count: int) -> list[np.ndarray]:
    """Polynomials (n, m, terms) at u (n,), and all derivatives, ``count`` at least: (n, m) each."""
    result = []
    for _ in range(max(count + 1, c.shape[-1])):
        x = np.zeros(c.shape[:-1])
        for k in range(c.shape[-1] - 1, -1, -1):
            x = x * u[:, None] + c[..., k]
        result.append(x)
        c = c[..., 1:] * np.arange(1, c.shape[-1]) if c.shape[-1] > 1 else np.zeros_like(c)
    return result


def over(sizes: Lengths, half: np.ndarray) -> Lengths:
    """How large vectors are at most in an interval around where they, and all their derivatives, are so large."""
    count = len(sizes)
    return [
        sum((sizes[i + j] * half**j / factorial(j) for j in range(count - i)), np.zeros(len(half)))
        for i in range(count)
    ]


def exponential(turns: Lengths, moves: Lengths, order: int) -> tuple[Lengths, Lengths]:
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


def decoupled(turns: Lengths, moves: Lengths, order: int) -> tuple[Lengths, Lengths]:
    """The same where the origin goes by p itself, seen from what turns."""
    w = exponential(turns, [0.0 * x for x in turns], order)[0]
    return w, turned(moves[1:], w, order)


def turned(vectors: Lengths, w: Lengths, order: int) -> Lengths:
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


def product(
    before: tuple[Lengths, Lengths] | None,
    factor: tuple[Lengths, Lengths],
    way: np.ndarray,
    order: int,
    *,
    apart: bool,
) -> tuple[Lengths, Lengths]:
    """The twist of X Y, of that of X and of the factor Y, whose origin is so far from X's."""
    w, u = factor
    if before is None:
        return list(w), list(u)
    angular, linear = before
    if apart:
        # the origin's velocity in fixed axes adds up; seen from what turns, each part turns on with what comes after
        along = turned(linear, w, order)
        total = [x + y for x, y in zip(turned(angular, w, order), w, strict=True)]
        return total, [x + y for x, y in zip(along, turned(u, w, order), strict=True)]
    place = [way, *turned(u, w, order)]  # of the factor's origin, in X's axes
    swept = [
        linear[k] + sum((comb(k, i) * angular[i] * place[k - i] for i in range(k + 1)), np.zeros_like(w[0]))
        for k in range(order + 1)
    ]
    return (
        [x + y for x, y in zip(turned(angular, w, order), w, strict=True)],
        [x + y for x, y in zip(turned(swept, w, order), u, strict=True)],
    )
