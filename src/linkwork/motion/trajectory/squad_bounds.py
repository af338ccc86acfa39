"""Bounds of a joint's twist on a squad curve and of the twist's derivatives, from inequalities between norms.

For a segment q(u) = a ⊕ f d, with a = q_i ⊕ u φ, b = s_i ⊕ u ψ, f = 2 u (1 − u) and d = b ⊖ a, the motion from a to b
is R(u) = exp(−u φ) R(0) exp(u ψ).  Its twist w = ψ − Ad(R⁻¹) φ is only rotated by ψ, so |w| is constant, and |d|, an
angle, changes at a rate of at most |w|:

    w' = w × ψ,   |w⁽ᵏ⁾| ≤ |ψ|ᵏ |w|,   d' = G(d) w,   G = Σ b_k ad_dᵏ = 1 + ad_d/2 + Σ B₂ₖ/(2k)! ad_d²ᵏ.

The series of G with |b_k| instead of b_k is g(x) = 2 + x/2 − (x/2) cot(x/2).  g(|d|) and its derivatives are bounds of
G and its derivatives, for any angle below 2π.  The logarithm jumps at π, so there is no bound where an angle may reach
π.

Bounds are on norms of vectors and of their derivatives (`NormBounds`).  Rotations do not change norms, so norms satisfy
inequalities without rotations.  The norm of a twist is a dual number: angular norm + ε linear norm, with ε² = 0.  The
norm of x × y is at most the product of these dual numbers, and functions of twists are bounded by functions of dual
numbers.

Sources: Shoemake, Quaternion calculus and fast animation, 1987; Iserles and others, Lie-group methods, Acta Numerica 9,
2000 (the series of G); Solà, Deray and Atchuthan, A micro Lie theory for state estimation in robotics, 2018.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import pairwise
from math import comb, factorial, pi
from typing import Any, NamedTuple

import numpy as np

from linkwork.motion.algorithms.curves import KINDS, CurveSpace
from linkwork.motion.algorithms.curves.curve_space import JointSlice
from linkwork.motion.trajectory.map_segments import each
from linkwork.motion.trajectory.time_polynomials import polynomials_of
from linkwork.motion.trajectory.trajectory_segment import Section

__all__ = [
    "NormBounds",
    "SquadNormBounds",
    "decoupled_twist",
    "derivatives",
    "exponential_twist",
    "in_rotating_axes",
    "interval_bounds",
    "product_twist",
]


_TERMS = 80  # of the series of g; the remainder is below 2^-80 up to π
_JUMP = pi - 1e-9  # [rad] angle between both geodesics beyond which the logarithm may jump


class _Pair(NamedTuple):
    """Norms (n,) of the angular and the linear part of a twist, as a dual number angular + ε linear, ε² = 0."""

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


class SquadNormBounds:
    """Bounds of the twist of a joint and its derivatives, on intervals of the segments of a squad curve."""

    def __init__(self, section: Section, coordinates: JointSlice, knots: np.ndarray, angular: Sequence[bool]) -> None:
        self.knots, self.coordinates = knots, coordinates
        self.apart = section.space.apart and coordinates.goes_straight
        self.angular = np.array(angular)
        starts, rates = section.arrays["starts"], section.arrays["rates"]
        which = section.segments_at(0.5 * (knots[1:] + knots[:-1]))
        names, parts = (
            ("base", "inner", "steps", "inner_steps"),
            (coordinates.in_q, coordinates.in_q, coordinates.in_v, coordinates.in_v),
        )
        self.base, self.inner, self.phi, self.psi = (
            section.arrays[name][which][:, part] for name, part in zip(names, parts, strict=True)
        )
        # u and 2 u (1 − u) as polynomials of time, and a decoupled origin's position
        polynomials = np.zeros((len(rates), 5, 4))
        polynomials[:, 0, 1], polynomials[:, 1, 1], polynomials[:, 1, 2] = 1.0, 2.0, -2.0
        if self.apart:
            rows = [section.arrays[name][:, part] for name, part in zip(names, parts, strict=True)]
            polynomials[:, 2:] = each(self._origin, *rows)
        polynomials *= rates[:, None, None] ** np.arange(4)
        space = CurveSpace(5, 5)
        arrays = {"starts": starts, "coefficients": polynomials}
        plain = Section(space, KINDS["polynomial"], arrays, section.start, section.end, section.clock)
        self.c = polynomials_of(plain)[1]

    def at(
        self, segment: np.ndarray, middle: np.ndarray, half: np.ndarray, order: int
    ) -> tuple[NormBounds, NormBounds]:
        """Return bounds of a joint's angular and linear velocity, and of their first ``order`` derivatives.

        Each bound is for an interval of a segment, defined by its middle and half length. Bounds are infinite where
        the curve may jump.
        """
        values = derivatives(self.c[segment], middle - self.knots[segment], order + 2)
        u, f = (interval_bounds([np.abs(x[:, k]) for x in values], half) for k in (0, 1))
        u_range = u[1] * half  # of u, from the middle on
        psi = self._size(self.psi[segment])
        d, w = self._between(segment, values[0][:, 0], u_range, psi)
        known = d.angular < _JUMP
        d = _Pair(np.minimum(d.angular, pi), np.where(known, d.linear, 0.0))
        distance = _leibniz_products([_Pair(x, 0.0 * x) for x in f], _logarithm(d, w, psi, u, order + 1))
        turns, moves = ([getattr(x, name) for x in distance] for name in ("angular", "linear"))
        size = self._size(self.phi[segment])
        along = [size.angular * x for x in u[1 : order + 2]]
        if self.apart:
            zeros = [0.0 * x for x in turns]
            result = product_twist((along, zeros), exponential_twist(turns, zeros, order), zeros[0], order)
            origin = interval_bounds([np.linalg.norm(x[:, 2:], axis=1) for x in values], half)
            result = result[0], in_rotating_axes(origin[1:], result[0], order)
        else:
            exponential = exponential_twist(turns, moves, order)
            before = along, [size.linear * x for x in u[1 : order + 2]]
            result = product_twist(before, exponential, moves[0], order)
        angular, linear = ([np.where(known, x, np.inf) for x in part] for part in result)
        return angular, linear

    def _between(self, segment: np.ndarray, u: np.ndarray, u_range: np.ndarray, psi: _Pair) -> tuple[_Pair, _Pair]:
        """Return bounds of the norms of d(u) = b(u) ⊖ a(u) and of dd/du on intervals of u, for geodesics a and b.

        The squad curve (spherical quadrangle) interpolates between these two geodesics. The second result is a twist.
        """
        coordinates, linear = self.coordinates, 0.0 if self.apart else 1.0

        def sizes(base: Any, inner: Any, phi: Any, psi: Any, u: Any) -> list[Any]:
            a, b = (
                coordinates.integrate(q, [u * x for x in step], self.apart) for q, step in ((base, phi), (inner, psi))
            )
            back = (coordinates.joint.X(a).inv() @ coordinates.joint.X(b)).inv()
            twists = [coordinates.joint.twist(q, step) for q, step in ((a, phi), (b, psi))]
            twist = twists[1] - back @ twists[0]
            return [*coordinates.difference(a, b, self.apart), *twist.elements()]

        result = each(sizes, self.base[segment], self.inner[segment], self.phi[segment], self.psi[segment], u)
        d, w = self._size(result[:, :-6]), _size(result[:, -6:-3], result[:, -3:], linear)
        w = w.plus(_Pair(0.0, w.angular * psi.linear * u_range))  # Ad(exp(u ψ)) transforms it
        angle = d.angular + w.angular * u_range
        g, slope = _majorant(np.minimum(angle, pi), 2)
        # |d_linear|' <= g |w_linear| + g' |d_linear| |w_angular|
        further = (d.linear + g * w.linear * u_range) * np.exp(np.minimum(slope * w.angular * u_range, 300.0))
        return _Pair(angle, further), w

    def _size(self, v: np.ndarray) -> _Pair:
        return _size(v[:, self.angular], v[:, ~self.angular], 0.0 if self.apart else 1.0)

    def _origin(self, base: Any, inner: Any, phi: Any, psi: Any) -> list[list[Any]]:
        """Return cubics in u (3, 4) of a joint's origin on a squad curve: x_a + 2 u (1 − u) (x_b − x_a).

        x_a and x_b are the origin's positions on the two geodesics between which the curve interpolates. The origin
        moves straight on both.
        """
        at, to = self.coordinates.joint.X(base), self.coordinates.joint.X(inner)
        first = at.rotation @ self.coordinates.joint.twist(base, phi).linear
        gap = to.translation - at.translation
        closing = to.rotation @ self.coordinates.joint.twist(inner, psi).linear - first
        rows = zip(at.translation, first, gap, closing, strict=True)
        return [[x, v + 2.0 * y, 2.0 * (z - y), -2.0 * z] for x, v, y, z in rows]


def _size(angular: np.ndarray, linear: np.ndarray, scale: float) -> _Pair:
    return _Pair(np.linalg.norm(angular, axis=1), scale * np.linalg.norm(linear, axis=1))


def _logarithm(d: _Pair, w: _Pair, psi: _Pair, u: NormBounds, order: int) -> _Jet:
    """Return bounds of d = b ⊖ a, between poses a and b that move along geodesics, and of its time derivatives.

    There are ``order`` derivatives. The bounds follow from d' = G(d) w u' and w' = w × ψ u', with the relative twist w,
    the twist ψ of b, and u(t). G maps w to the rate of the logarithm d.
    """
    twists, result = [w], [d]
    rates = _majorant(d.angular, order + 2)
    taylor = [_Pair(x, y * d.linear) for x, y in pairwise(rates)]  # of g at d, with ε
    for k in range(order):
        moving = [  # w u', to the known order of w
            _sum(twists[i].scaled(comb(j, i) * u[j - i + 1]) for i in range(j + 1)) for j in range(k + 1)
        ]
        result.append(_leibniz_products(_composition(taylor, result), moving)[k])
        twists.append(_sum(twists[i].times(psi, comb(k, i) * u[k - i + 1]) for i in range(k + 1)))
    return result


def _composition(taylor: Sequence[_Pair], inner: _Jet) -> _Jet:
    """Return bounds of f(x(t)) and its time derivatives, from bounds of x and its derivatives (``inner``).

    ``taylor`` are bounds of f and its derivatives at x.
    """
    zero = inner[0].scaled(0.0)
    power: _Jet = [_Pair(zero.angular + 1.0, zero.linear), *[zero] * (len(inner) - 1)]
    change = [zero, *inner[1:]]
    result = [zero] * len(inner)
    for m in range(len(inner)):
        scale = taylor[m].scaled(1.0 / factorial(m))
        result = [x.plus(scale.times(y)) for x, y in zip(result, power, strict=True)]
        power = _leibniz_products(power, change)
    return result


def _leibniz_products(x: _Jet, y: _Jet) -> _Jet:
    """Return bounds of a product x y and its derivatives, from bounds of x and y, by Leibniz's rule."""
    return [_sum(x[i].times(y[k - i], comb(k, i)) for i in range(k + 1)) for k in range(min(len(x), len(y)))]


def _sum(pairs: Iterable[_Pair]) -> _Pair:
    return reduce(_Pair.plus, pairs)


def _majorant(x: np.ndarray, count: int) -> list[np.ndarray]:
    """Return g(x), g'(x), ... at angles x, ``count`` arrays: bounds of ‖G(d)‖ and its derivatives where |d| = x.

    G(d) = 1 + ad_d/2 + Σ B₂ₖ/(2k)! ad_d²ᵏ maps the twist w of a relative motion to the rate d' of its logarithm d.
    g(x) = 1 + x/2 + Σ |B₂ₖ|/(2k)! x²ᵏ is the series with the magnitudes of the coefficients, |B₂ₖ|/(2k)! = 2 ζ(2k) /
    (2π)²ᵏ.
    """
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


NormBounds = list[np.ndarray]  # (n,) each: bounds of the norms of a vector and of its derivatives


def derivatives(c: np.ndarray, u: np.ndarray, count: int) -> list[np.ndarray]:
    """Return the values of polynomials c (n, m, terms) at u (n,) and at least ``count`` derivatives: (n, m) each."""
    result = []
    for _ in range(max(count + 1, c.shape[-1])):
        x = np.zeros(c.shape[:-1])
        for k in range(c.shape[-1] - 1, -1, -1):
            x = x * u[:, None] + c[..., k]
        result.append(x)
        c = c[..., 1:] * np.arange(1, c.shape[-1]) if c.shape[-1] > 1 else np.zeros_like(c)
    return result


def interval_bounds(sizes: NormBounds, half: np.ndarray) -> NormBounds:
    """Return bounds of the norms of a vector and its derivatives on intervals, by Taylor's formula.

    ``sizes`` are the norms of the vector and of all its nonzero derivatives in the middle, and ``half`` (n,) are half
    the lengths of the intervals.
    """
    count = len(sizes)
    return [
        sum((sizes[i + j] * half**j / factorial(j) for j in range(count - i)), np.zeros(len(half)))
        for i in range(count)
    ]


def exponential_twist(turns: NormBounds, moves: NormBounds, order: int) -> tuple[NormBounds, NormBounds]:
    """Return bounds of the twist of the pose exp(p(t)), angular and linear, and of its first ``order`` derivatives.

    ``turns`` and ``moves`` are bounds of the angular and the linear part of p and of its derivatives.
    """
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
    """Add a factor times the integral of a polynomial to the polynomial ``total``, in place."""
    while len(total) <= len(polynomial):
        total.append(np.zeros_like(factor))
    for power, x in enumerate(polynomial):
        total[power + 1] = total[power + 1] + factor * x / (power + 1)


def decoupled_twist(turns: NormBounds, moves: NormBounds, order: int) -> tuple[NormBounds, NormBounds]:
    """Return bounds of the twist and its derivatives of a frame that rotates and translates separately.

    ``turns`` and ``moves`` are bounds of the rotation vector and of the position; the twist is in rotating axes.
    """
    w = exponential_twist(turns, [0.0 * x for x in turns], order)[0]
    return w, in_rotating_axes(moves[1:], w, order)


def in_rotating_axes(vectors: NormBounds, w: NormBounds, order: int) -> NormBounds:
    """Return bounds of a vector's derivatives observed in rotating axes, from bounds in fixed axes.

    ``w`` bounds the angular velocity of the axes and its derivatives.
    """
    table = [list(vectors[: order + 1])]  # [k][j]: the k-th derivative in rotating axes of the j-th derivative
    for k in range(1, order + 1):
        row = []
        for j in range(order + 1 - k):
            x = table[k - 1][j + 1]
            for i in range(k):
                x = x + comb(k - 1, i) * w[i] * table[k - 1 - i][j]
            row.append(x)
        table.append(row)
    return [row[0] for row in table]


def product_twist(
    before: tuple[NormBounds, NormBounds] | None,
    factor: tuple[NormBounds, NormBounds],
    distance: np.ndarray,
    order: int,
) -> tuple[NormBounds, NormBounds]:
    """Return bounds of the twist of a product of poses X Y, angular and linear, and of its first ``order`` derivatives.

    ``before`` are bounds for X, and ``factor`` bounds for Y. ``distance`` bounds the distance between the origins of X
    and of X Y.
    """
    w, u = factor
    if before is None:
        return list(w), list(u)
    angular, linear = before
    origin = [distance, *in_rotating_axes(u, w, order)]  # the factor's origin in X's axes
    swept = [
        linear[k] + sum((comb(k, i) * angular[i] * origin[k - i] for i in range(k + 1)), np.zeros_like(w[0]))
        for k in range(order + 1)
    ]
    return (
        [x + y for x, y in zip(in_rotating_axes(angular, w, order), w, strict=True)],
        [x + y for x, y in zip(in_rotating_axes(swept, w, order), u, strict=True)],
    )
