"""Two equations, each linear in the cosine and sine of either of two angles:

    f(θ) = F(φ),    g(θ) = G(φ),        f(θ) = f0 + f1 cos θ + f2 sin θ, and so on.

Where a side does not depend on its angle, its equation tells the other angle, and the second equation follows: two
square roots.  So it is where axes intersect or are parallel.  Else cos φ and sin φ are linear in cos θ and sin θ, and
cos²φ + sin²φ = 1 is a conic that meets the unit circle (`conic.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import and_
from linkwork.ik.algorithms.closed_form.cos_sin_pair import UnitAngle, equation
from linkwork.ik.algorithms.closed_form.trigonometric_equations import on_circle

__all__ = ["CoupledAngles", "Sinusoid", "coupled_angles"]


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
