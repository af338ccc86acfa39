"""Where a conic meets the unit circle: up to four angles θ with

    A cos²θ + 2B cos θ sin θ + C sin²θ + 2D cos θ + 2E sin θ + F = 0.

In the conic's own axes, less a multiple of the circle, it is P x² + 2D x + 2E y + F = 0 with P ≥ 0.  The pencil
P x² + 2D x + 2E y + F − μ (x² + y² − 1) goes through the same points for every μ, and is a pair of lines where

    g(μ) = μ D² − (P − μ) E² − μ (P − μ) (F + μ) = 0.

g(0) ≤ 0 ≤ g(P), so there is such a μ in [0, P], and there the lines are real:  with α² = P − μ and β² = μ,
(α x + D/α)² = (β y − E/β)².  Each line meets the circle in two points.  No half-angle tangents, so no direction is
special.  Newton's method on the equation itself takes out what is left of rounding.

Sources: pencils of conics as in Semple and Kneebone, Algebraic Projective Geometry, 1952, chapter VI; Ridders, A new
algorithm for computing a single root of a real continuous function, IEEE Transactions on Circuits and Systems 26, 1979.

Two equations, each linear in the cosine and sine of either of two angles:

    f(θ) = F(φ),    g(θ) = G(φ),        f(θ) = f0 + f1 cos θ + f2 sin θ, and so on.

Where a side does not depend on its angle, its equation tells the other angle, and the second equation follows: two
square roots.  So it is where axes intersect or are parallel.  Else cos φ and sin φ are linear in cos θ and sin θ, and
cos²φ + sin²φ = 1 is a conic that meets the unit circle (`trigonometric_equations.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import and_, copysign, fabs, fmax, fmin, le, lt, not_, sqrt, where
from linkwork.ik.algorithms.closed_form.cos_sin_pair import SAME, UnitAngle, equation

__all__ = ["CirclePoint", "CoupledAngles", "Sinusoid", "coupled_angles", "on_circle"]


_STEPS = 14  # toward μ: each squares the error, or halves the bracket
_POLISHED = 3
_REAL = 1e-10  # what may be left of the equation, its greatest coefficient being 1


class CirclePoint(NamedTuple):
    """An angle, and whether it is one that the others before it are not."""

    angle: UnitAngle
    counts: Any


def on_circle(A: Any, B: Any, C: Any, D: Any, E: Any, F: Any) -> list[CirclePoint]:
    """The four angles; those that do not count are the nearest there are to complex ones, or met before."""
    axes, P = _own_axes(A, B, C)
    d, e = axes.turned_back(D, E)
    f = F + 0.5 * (A + C) - 0.5 * P
    scale = 1.0 / fmax(fmax(P, fabs(f)), fmax(fmax(fabs(d), fabs(e)), 1e-300))
    p, d, e, f = P * scale, d * scale, e * scale, f * scale
    found: list[CirclePoint] = []
    for a, b, c in _lines(p, d, e, f, _degenerate(p, d, e, f)):
        pair = equation(a, b, c)
        for angle, differs in ((pair.first, True), (pair.second, pair.differ)):
            at, value = _polished(p, d, e, f, angle)
            new = le(fabs(value), _REAL) if differs is True else and_(differs, le(fabs(value), _REAL))
            for other in found:
                new = and_(new, not_(and_(other.counts, _near(at, other.angle))))
            found.append(CirclePoint(at, new))
    return [CirclePoint(axes.plus(point.angle), point.counts) for point in found]


def _own_axes(A: Any, B: Any, C: Any) -> tuple[UnitAngle, Any]:
    """The turn to axes in which B is zero, and the difference P ≥ 0 of what A and C are there."""
    half = 0.5 * (A - C)
    r = sqrt(half * half + B * B)
    c2 = where(lt(0.0, r), half / where(lt(0.0, r), r, 1.0), 1.0)
    greater = sqrt(0.5 * (1.0 + fabs(c2)))  # the greater of cosine and |sine|
    s2 = B / where(lt(0.0, r), r, 1.0)
    less = fabs(s2) / (2.0 * greater)
    upper = le(0.0, c2)
    return UnitAngle(where(upper, greater, less), copysign(where(upper, less, greater), s2)), 2.0 * r


def _degenerate(p: Any, d: Any, e: Any, f: Any) -> Any:
    """μ in [0, p] with g(μ) = 0, by Ridders' method, which keeps a bracket and at least halves it."""
    dd, ee = d * d, e * e

    def g(mu: Any) -> Any:
        rest = p - mu
        return mu * dd - rest * ee - mu * rest * (f + mu)

    low, high = p * 0.0, p
    below, above = -p * ee, p * dd
    mu = 0.5 * p
    for _ in range(_STEPS):
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        at = g(middle)
        root = sqrt(fmax(at * at - below * above, 0.0))
        some = lt(0.0, root)
        mu = middle - where(some, half * (at / where(some, root, 1.0)), 0.0)
        value = g(mu)
        # of the two points inside, those next to the root are the new ends
        first = lt(mu, middle)
        left, right = where(first, mu, middle), where(first, middle, mu)
        at_left, at_right = where(first, value, at), where(first, at, value)
        beyond, before = lt(at_right, 0.0), lt(at_left, 0.0)
        low, below, high, above = (
            where(beyond, right, where(before, left, low)),
            where(beyond, at_right, where(before, at_left, below)),
            where(beyond, high, where(before, right, left)),
            where(beyond, above, where(before, at_right, at_left)),
        )
    return fmin(fmax(mu, 0.0), p)


def _lines(p: Any, d: Any, e: Any, f: Any, mu: Any) -> list[tuple[Any, Any, Any]]:
    """The two lines a x + b y = c.  Of D/α and E/β one has a small divisor: it follows from the other."""
    alpha, beta = sqrt(p - mu), sqrt(mu)
    first = le(beta, alpha)
    safe = where(first, alpha, where(lt(0.0, beta), beta, 1.0))
    safe = where(lt(0.0, safe), safe, 1.0)
    by_alpha, by_beta = d / safe, e / safe
    other_e = copysign(sqrt(fmax(by_alpha * by_alpha - f - mu, 0.0)), e)
    other_d = copysign(sqrt(fmax(by_beta * by_beta + f + mu, 0.0)), d)
    x, y = where(first, by_alpha, other_d), where(first, other_e, by_beta)
    return [(alpha, -beta, -(x + y)), (alpha, beta, y - x)]


def _polished(p: Any, d: Any, e: Any, f: Any, at: UnitAngle) -> tuple[UnitAngle, Any]:
    """Newton's steps on p cos² + 2d cos + 2e sin + f = 0, short ones, as far as less is left; and what is."""

    def left(angle: UnitAngle) -> Any:
        c, s = angle
        return p * c * c + 2.0 * (d * c + e * s) + f

    value = left(at)
    for _ in range(_POLISHED):
        c, s = at
        slope = 2.0 * (e * c - d * s - p * c * s)
        steep = lt(1e-12, fabs(slope))
        step = where(steep, -value / where(steep, slope, 1.0), 0.0)
        step = fmin(fmax(step, -1e-3), 1e-3)
        tried = UnitAngle.along(c - step * s, s + step * c)
        then = left(tried)
        better = lt(fabs(then), fabs(value))
        at = UnitAngle(where(better, tried.cos, c), where(better, tried.sin, s))
        value = where(better, then, value)
    return at, value


def _near(one: UnitAngle, other: UnitAngle) -> Any:
    dc, ds = one.cos - other.cos, one.sin - other.sin
    return lt(dc * dc + ds * ds, SAME * SAME)


class Sinusoid(NamedTuple):
    """c0 + c1 cos θ + c2 sin θ."""

    constant: Any
    cos: Any = 0.0
    sin: Any = 0.0

    def at(self, angle: UnitAngle) -> Any:
        """Its value."""
        return self.constant + self.cos * angle.cos + self.sin * angle.sin

    @property
    def is_constant(self) -> bool:
        """Whether it is known not to depend on the angle."""
        return is_zero(self.cos) and is_zero(self.sin)


class CoupledAngles(NamedTuple):
    """θ and φ, and whether they are a solution that those before them are not, as far as is known."""

    theta: UnitAngle
    phi: UnitAngle
    counts: Any


def coupled_angles(f: Sinusoid, F: Sinusoid, g: Sinusoid, G: Sinusoid) -> list[CoupledAngles]:
    """The four solutions of f(θ) = F(φ), g(θ) = G(φ): see above; those that do not count are the nearest, or double."""
    if F.is_constant:
        return _one_after_other(f, F, g, G)
    if g.is_constant:
        return [CoupledAngles(phi, theta, new) for theta, phi, new in _one_after_other(G, g, F, f)]
    if G.is_constant:
        return _one_after_other(g, G, f, F)
    if f.is_constant:
        return [CoupledAngles(phi, theta, new) for theta, phi, new in _one_after_other(F, f, G, g)]
    # (cos φ, sin φ) = K⁻¹ (x, y), with x = f(θ) − F0 and y = g(θ) − G0
    inverse = 1.0 / (F.cos * G.sin - F.sin * G.cos)

    def circle(x: Any, y: Any) -> tuple[Any, Any]:
        return (G.sin * x - F.sin * y) * inverse, (F.cos * y - G.cos * x) * inverse

    c0, s0 = circle(f.constant - F.constant, g.constant - G.constant)
    c1, s1 = circle(f.cos, g.cos)
    c2, s2 = circle(f.sin, g.sin)
    points = on_circle(
        c1 * c1 + s1 * s1,
        c1 * c2 + s1 * s2,
        c2 * c2 + s2 * s2,
        c0 * c1 + s0 * s1,
        c0 * c2 + s0 * s2,
        c0 * c0 + s0 * s0 - 1.0,
    )
    found = []
    for theta, new in points:
        phi = UnitAngle.along(c0 + c1 * theta.cos + c2 * theta.sin, s0 + s1 * theta.cos + s2 * theta.sin)
        found.append(CoupledAngles(theta, phi, new))
    return found


def _one_after_other(f: Sinusoid, F: Sinusoid, g: Sinusoid, G: Sinusoid) -> list[CoupledAngles]:
    """Where F is constant: θ of f(θ) = F, and then φ of G(φ) = g(θ)."""
    first = equation(f.cos, f.sin, F.constant - f.constant)
    found = []
    for theta, one in ((first.first, True), (first.second, first.differ)):
        then = equation(G.cos, G.sin, g.at(theta) - G.constant)
        for phi, other in ((then.first, True), (then.second, then.differ)):
            found.append(CoupledAngles(theta, phi, _both(one, other)))
    return found


def _both(one: Any, other: Any) -> Any:
    if one is True:
        return other
    return one if other is True else and_(one, other)
