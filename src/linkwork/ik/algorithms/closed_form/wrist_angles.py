"""Three axes through one point: the angles of a rotation about them,

    R = Rz(θ1) Rx(α) Rz(θ2) Rx(β) Rz(θ3),

with constant twists α and β between the axes, right angles or not.  The third column, u = R z, has the height
u_z = cos α cos β − sin α sin β cos θ2, so

    sin α sin β sin θ2 = ±√((u_z − cos(α + β)) (cos(α − β) − u_z)),

where a factor 1 ∓ u_z is (u_x² + u_y²)/(1 ± u_z), which keeps its digits where first and third axis are in line.  θ1
turns the third axis into u; what is left are θ2 and θ3, each by what it turns, so that a θ1 that hardly matters is made
up for.  Where first and third axis are in line, θ1 is 0, or what is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from linkwork.expr.scalar.functions import fabs, fmax, lt, sqrt, where
from linkwork.ik.algorithms.closed_form.cos_sin_pair import SAME, UnitAngle

__all__ = ["Matrix", "ThreeAngles", "about_axes", "three_angles", "turned_about_z", "twisted"]

_IN_LINE = 1e-12  # sine of the angle between axes that are: rounding

Matrix = Sequence[Sequence[Any]]


class ThreeAngles(NamedTuple):
    """θ1, θ2 and θ3, and whether they are another solution than the one before."""

    first: UnitAngle
    second: UnitAngle
    third: UnitAngle
    counts: Any


def turned_about_z(angle: UnitAngle, R: Matrix) -> list[list[Any]]:
    """Rz(θ)ᵀ R."""
    x, y = zip(*(angle.turned_back(a, b) for a, b in zip(R[0], R[1], strict=True)), strict=True)
    return [list(x), list(y), list(R[2])]


def twisted(twist: UnitAngle, R: Matrix) -> list[list[Any]]:
    """Rx(α)ᵀ R."""
    y, z = zip(*(twist.turned_back(a, b) for a, b in zip(R[1], R[2], strict=True)), strict=True)
    return [list(R[0]), list(y), list(z)]


def three_angles(
    R: Matrix, alpha: UnitAngle, beta: UnitAngle, in_line: Callable[[UnitAngle], UnitAngle] | None = None
) -> list[ThreeAngles]:
    """The two solutions; the second does not count where both are one.

    So they are where first and third axis are in line, and θ1 is what ``in_line`` says for θ2; and where they are as
    near to it as twists let them.  Beside the former θ1 differs by half a turn, however little θ2 does.
    """
    ux, uy, uz = R[0][2], R[1][2], R[2][2]
    low, high = sorted((alpha.plus(beta).cos, alpha.minus(beta).cos))
    w = sqrt(fmax(_between(uz, low, high, ux * ux + uy * uy), 0.0))
    scale = alpha.sin * beta.sin
    s, c = w / scale, (alpha.cos * beta.cos - uz) / scale
    beside = ux * ux + uy * uy
    differ = lt(fmax(SAME * SAME * beside, _IN_LINE * _IN_LINE), beta.sin * beta.sin * s * s)
    return [
        about_axes(R, alpha, beta, second, counts, in_line)
        for second, counts in ((UnitAngle(c, s), True), (UnitAngle(c, -s), differ))
    ]


def about_axes(
    R: Matrix,
    alpha: UnitAngle,
    beta: UnitAngle,
    second: UnitAngle,
    counts: Any,
    in_line: Callable[[UnitAngle], UnitAngle] | None = None,
) -> ThreeAngles:
    """The solution with a θ2 that is known, nearly."""
    c, s = second
    ux, uy = R[0][2], R[1][2]
    # what Rz(θ1) turns into u: Rx(α) Rz(θ2) Rx(β) z
    vx, vy = s * beta.sin, -(alpha.cos * beta.sin * c + alpha.sin * beta.cos)
    first = UnitAngle.along(vx * ux + vy * uy, vx * uy - vy * ux)
    if in_line is not None:
        apart, other = lt(_IN_LINE * _IN_LINE, ux * ux + uy * uy), in_line(second)
        first = UnitAngle(where(apart, first.cos, other.cos), where(apart, first.sin, other.sin))
    inside = twisted(alpha, turned_about_z(first, R))  # Rz(θ2) Rx(β) Rz(θ3)
    sign = 1.0 / beta.sin
    second = UnitAngle(-inside[1][2] * sign, inside[0][2] * sign)
    rest = turned_about_z(second, inside)  # Rx(β) Rz(θ3): its first row is (cos θ3, −sin θ3, 0)
    return ThreeAngles(first, second, UnitAngle(rest[0][0], -rest[0][1]), counts)


def _between(u: Any, low: float, high: float, square: Any) -> Any:
    """(u − low)(high − u); ``square`` is 1 − u²."""
    if low == -1.0 and high == 1.0:
        return square
    above = where(lt(u, 0.0), square / (1.0 + fabs(u)), 1.0 + u) if low == -1.0 else u - low
    below = where(lt(0.0, u), square / (1.0 + fabs(u)), 1.0 - u) if high == 1.0 else high - u
    return above * below
