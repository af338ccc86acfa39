"""Trigonometric equations of closed forms, with angles as pairs of cosine and sine, over any scalar.

One angle (`equation`): the two solutions of

    a cos θ + b sin θ = c

are the direction of (a, b) rotated by ±acos(c/ρ), ρ² = a² + b².  With w = √((ρ − c)(ρ + c)), which has no cancellation
where the solutions coincide, they are

    (cos θ, sin θ) = (a c ∓ b w, b c ± a w) / ρ².

If there is no solution, c is replaced by the nearest ±ρ: both results are then the angle of minimum error.  At the
boundary this absorbs rounding; elsewhere the error indicates that there is no solution.

A conic on the unit circle (`on_circle`): up to four angles θ with

    A cos²θ + 2B cos θ sin θ + C sin²θ + 2D cos θ + 2E sin θ + F = 0.

In the conic's own axes, after subtracting a multiple of the circle, it is P x² + 2D x + 2E y + F = 0 with P ≥ 0.  The
pencil P x² + 2D x + 2E y + F − μ (x² + y² − 1) contains the same points for every μ, and is a pair of lines if

    g(μ) = μ D² − (P − μ) E² − μ (P − μ) (F + μ) = 0.

g(0) ≤ 0 ≤ g(P), so such a μ exists in [0, P], and there the lines are real:  with α² = P − μ and β² = μ,
(α x + D/α)² = (β y − E/β)².  Each line intersects the circle in two points.  There are no half-angle tangents, so no
direction is special.  Newton's method on the equation itself removes the remaining rounding error.

Two angles (`coupled_angles`): two equations, each linear in the cosine and sine of either angle,

    f(θ) = F(φ),    g(θ) = G(φ),        f(θ) = f0 + f1 cos θ + f2 sin θ, and so on.

If a side does not depend on its angle, this equation gives the other angle, and the second equation then the first
angle: two square roots.  This is the case if axes intersect or are parallel.  Otherwise cos φ and sin φ are linear in
cos θ and sin θ, and cos²φ + sin²φ = 1 is a conic on the unit circle.

Sources: pencils of conics as in Semple and Kneebone, Algebraic Projective Geometry, 1952, chapter VI; Ridders, A new
algorithm for computing a single root of a real continuous function, IEEE Transactions on Circuits and Systems 26,
1979.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, atan2, copysign, cos, fabs, fmax, fmin, le, lt, not_, sin, sqrt, where

__all__ = [
    "SAME",
    "CirclePoint",
    "CoupledAngles",
    "Sinusoid",
    "UnitAngle",
    "both",
    "coupled_angles",
    "equation",
    "on_circle",
]


_STEPS = 14  # steps toward μ; each squares the error or halves the bracket
_NEWTON_STEPS = 3
_STEEP = by_type(1e-12)  # smallest slope of a Newton step
_REAL = by_type(1e-10)  # maximum residual of a real solution, for a largest coefficient of 1


class CirclePoint(NamedTuple):
    """Angle that solves an equation on the unit circle; ``counts`` is False if it repeats an earlier solution."""

    angle: UnitAngle
    counts: Any


def on_circle(A: Any, B: Any, C: Any, D: Any, E: Any, F: Any) -> list[CirclePoint]:
    """Return four θ with A cos²θ + 2B cos θ sin θ + C sin²θ + 2D cos θ + 2E sin θ + F = 0.

    ``counts`` is False for an angle that repeats another solution, and for the real part of a complex solution.
    """
    axes, P = _own_axes(A, B, C)
    d, e = axes.rotated_back(D, E)
    f = F + 0.5 * (A + C) - 0.5 * P
    scale = 1.0 / fmax(fmax(P, fabs(f)), fmax(fmax(fabs(d), fabs(e)), TINY))
    p, d, e, f = P * scale, d * scale, e * scale, f * scale
    result: list[CirclePoint] = []
    for a, b, c in _lines(p, d, e, f, _degenerate(p, d, e, f)):
        pair = equation(a, b, c)
        for angle, differs in ((pair.first, True), (pair.second, pair.differ)):
            at, value = _refined(p, d, e, f, angle)
            new = le(fabs(value), _REAL) if differs is True else and_(differs, le(fabs(value), _REAL))
            for earlier in result:
                new = and_(new, not_(and_(earlier.counts, _near(at, earlier.angle))))
            result.append(CirclePoint(at, new))
    return [CirclePoint(axes.plus(point.angle), point.counts) for point in result]


def _own_axes(A: Any, B: Any, C: Any) -> tuple[UnitAngle, Any]:
    """Return the rotation to the principal axes of A x² + 2B x y + C y², and the difference of its eigenvalues."""
    half = 0.5 * (A - C)
    r = sqrt(half * half + B * B)
    c2 = where(lt(0.0, r), half / where(lt(0.0, r), r, 1.0), 1.0)
    greater = sqrt(0.5 * (1.0 + fabs(c2)))  # the greater of cosine and |sine|
    s2 = B / where(lt(0.0, r), r, 1.0)
    less = fabs(s2) / (2.0 * greater)
    upper = le(0.0, c2)
    return UnitAngle(where(upper, greater, less), copysign(where(upper, less, greater), s2)), 2.0 * r


def _degenerate(p: Any, d: Any, e: Any, f: Any) -> Any:
    """Return the μ in [0, p] for which p x² + 2d x + 2e y + f − μ (x² + y² − 1) = 0 is a pair of lines.

    This is a root of the cubic g(μ), by Ridders' method, which keeps a bracket and at least halves it.
    """
    dd, ee = d * d, e * e

    def g(mu: Any) -> Any:
        complement = p - mu
        return mu * dd - complement * ee - mu * complement * (f + mu)

    low, high = p * 0.0, p
    below, above = -p * ee, p * dd
    mu = 0.5 * p
    for _ in range(_STEPS):
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        at = g(middle)
        root = sqrt(fmax(at * at - below * above, 0.0))
        positive = lt(0.0, root)
        mu = middle - where(positive, half * (at / where(positive, root, 1.0)), 0.0)
        value = g(mu)
        # the two points next to the root become the new bracket
        first = lt(mu, middle)
        residual, right = where(first, mu, middle), where(first, middle, mu)
        at_left, at_right = where(first, value, at), where(first, at, value)
        beyond, before = lt(at_right, 0.0), lt(at_left, 0.0)
        low, below, high, above = (
            where(beyond, right, where(before, residual, low)),
            where(beyond, at_right, where(before, at_left, below)),
            where(beyond, high, where(before, right, residual)),
            where(beyond, above, where(before, at_right, at_left)),
        )
    return fmin(fmax(mu, 0.0), p)


def _lines(p: Any, d: Any, e: Any, f: Any, mu: Any) -> list[tuple[Any, Any, Any]]:
    """Return two lines a x + b y = c, as (a, b, c): the pair of lines into which a conic splits.

    The conic is p x² + 2d x + 2e y + f − μ (x² + y² − 1) = 0 with μ from `_degenerate`. With α = √(p − μ) and β = √μ,
    the lines contain d/α and e/β. The quotient with the smaller divisor is computed from the other quotient.
    """
    alpha, beta = sqrt(p - mu), sqrt(mu)
    first = le(beta, alpha)
    safe = where(first, alpha, where(lt(0.0, beta), beta, 1.0))
    safe = where(lt(0.0, safe), safe, 1.0)
    by_alpha, by_beta = d / safe, e / safe
    other_e = copysign(sqrt(fmax(by_alpha * by_alpha - f - mu, 0.0)), e)
    other_d = copysign(sqrt(fmax(by_beta * by_beta + f + mu, 0.0)), d)
    x, y = where(first, by_alpha, other_d), where(first, other_e, by_beta)
    return [(alpha, -beta, -(x + y)), (alpha, beta, y - x)]


def _refined(p: Any, d: Any, e: Any, f: Any, at: UnitAngle) -> tuple[UnitAngle, Any]:
    """Return the root of p cos²θ + 2d cos θ + 2e sin θ + f = 0 near an angle, and its residual.

    Each of the short Newton steps is taken only if it reduces the residual.
    """

    def residual(angle: UnitAngle) -> Any:
        c, s = angle
        return p * c * c + 2.0 * (d * c + e * s) + f

    value = residual(at)
    for _ in range(_NEWTON_STEPS):
        c, s = at
        slope = 2.0 * (e * c - d * s - p * c * s)
        steep = lt(_STEEP, fabs(slope))
        step = where(steep, -value / where(steep, slope, 1.0), 0.0)
        step = fmin(fmax(step, -1e-3), 1e-3)
        candidate = UnitAngle.along(c - step * s, s + step * c)
        next_value = residual(candidate)
        better = lt(fabs(next_value), fabs(value))
        at = UnitAngle(where(better, candidate.cos, c), where(better, candidate.sin, s))
        value = where(better, next_value, value)
    return at, value


def _near(a: UnitAngle, b: UnitAngle) -> Any:
    dc, ds = a.cos - b.cos, a.sin - b.sin
    return lt(dc * dc + ds * ds, SAME * SAME)


class Sinusoid(NamedTuple):
    """Function c0 + c1 cos θ + c2 sin θ."""

    constant: Any
    cos: Any = 0.0
    sin: Any = 0.0

    def at(self, angle: UnitAngle) -> Any:
        """Return the value of the function at an angle."""
        return self.constant + self.cos * angle.cos + self.sin * angle.sin

    @property
    def is_constant(self) -> bool:
        """True if the function is known not to depend on the angle."""
        return is_zero(self.cos) and is_zero(self.sin)


class CoupledAngles(NamedTuple):
    """Two angles θ and φ that solve two equations; ``counts`` is False if they repeat an earlier solution."""

    theta: UnitAngle
    phi: UnitAngle
    counts: Any


def coupled_angles(f: Sinusoid, F: Sinusoid, g: Sinusoid, G: Sinusoid) -> list[CoupledAngles]:
    """Return four solutions (θ, φ) of the two equations f(θ) = F(φ) and g(θ) = G(φ).

    Each solution has a flag ``counts``. It is False for a solution that repeats another, and for the nearest real
    angles of a complex solution.
    """
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
    result = []
    for theta, new in points:
        phi = UnitAngle.along(c0 + c1 * theta.cos + c2 * theta.sin, s0 + s1 * theta.cos + s2 * theta.sin)
        result.append(CoupledAngles(theta, phi, new))
    return result


def _one_after_other(f: Sinusoid, F: Sinusoid, g: Sinusoid, G: Sinusoid) -> list[CoupledAngles]:
    """Return four (θ, φ): θ from f(θ) = F for a constant F, then φ from G(φ) = g(θ)."""
    first = equation(f.cos, f.sin, F.constant - f.constant)
    result = []
    for theta, theta_counts in ((first.first, True), (first.second, first.differ)):
        next_value = equation(G.cos, G.sin, g.at(theta) - G.constant)
        for phi, phi_counts in ((next_value.first, True), (next_value.second, next_value.differ)):
            result.append(CoupledAngles(theta, phi, both(theta_counts, phi_counts)))
    return result


def both(a: Any, b: Any) -> Any:
    """Return the condition "a and b", where each may be the constant True, for which no operation is generated."""
    if a is True:
        return b
    return a if b is True else and_(a, b)


SAME = 1e-6  # [rad] angles closer than this are equal
TINY = by_type(1e-280)  # squares below this are zero


class UnitAngle(NamedTuple):
    """Angle as a pair of cosine and sine."""

    cos: Any
    sin: Any

    @staticmethod
    def of(angle: Any) -> UnitAngle:
        """Return the cosine and sine of an angle [rad]."""
        return UnitAngle(cos(angle), sin(angle))

    @staticmethod
    def along(x: Any, y: Any) -> UnitAngle:
        """Return the direction of the vector (x, y); angle 0 for a zero vector."""
        square = x * x + y * y
        nonzero = lt(TINY, square)
        scale = 1.0 / sqrt(where(nonzero, square, 1.0))
        return UnitAngle(where(nonzero, x * scale, 1.0), y * scale)

    def angle(self) -> Any:
        """Return the angle in [−π, π] [rad]; the cosine and sine may have a common factor."""
        return atan2(self.sin, self.cos)

    def plus(self, other: UnitAngle) -> UnitAngle:
        """Return the sum of two angles."""
        return UnitAngle(self.cos * other.cos - self.sin * other.sin, self.sin * other.cos + self.cos * other.sin)

    def minus(self, other: UnitAngle) -> UnitAngle:
        """Return the difference of two angles."""
        return UnitAngle(self.cos * other.cos + self.sin * other.sin, self.sin * other.cos - self.cos * other.sin)

    def opposite(self) -> UnitAngle:
        """Return the negative angle."""
        return UnitAngle(self.cos, -self.sin)

    def rotated(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Return the vector (x, y) rotated by the angle."""
        return self.cos * x - self.sin * y, self.sin * x + self.cos * y

    def rotated_back(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Return the vector (x, y) rotated by the negative angle."""
        return self.cos * x + self.sin * y, self.cos * y - self.sin * x


class AnglePair(NamedTuple):
    """Two angles, a condition that they differ, and the residual of their equation: 0 if it has solutions."""

    first: UnitAngle
    second: UnitAngle
    differ: Any
    error: Any


def equation(a: Any, b: Any, c: Any) -> AnglePair:
    """Return the two angles θ with a cos θ + b sin θ = c; both are 0 if a = b = 0.

    If there is no solution, both are the angle of minimum error.
    """
    square = a * a + b * b
    rho = sqrt(square)
    nonzero = lt(TINY, square)
    inverse = 1.0 / where(nonzero, square, 1.0)
    nearest = fmin(fmax(c, -rho), rho)
    w = sqrt((rho - nearest) * (rho + nearest))
    ac, bc, aw, bw = a * nearest, b * nearest, a * w, b * w
    return AnglePair(
        UnitAngle(where(nonzero, (ac - bw) * inverse, 1.0), (bc + aw) * inverse),
        UnitAngle(where(nonzero, (ac + bw) * inverse, 1.0), (bc - aw) * inverse),
        lt(0.5 * SAME * rho, w),
        c - nearest,
    )
