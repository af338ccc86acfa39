"""Six axes of which the last three are parallel.

u = R z ε is their direction, ε = cos α₄ cos α₅ a sign, and how far the hand is along it depends on the first three axes
alone.  With r = Rz(θ2)ᵀ Rx(α₁)ᵀ Rz(θ1)ᵀ u and v = Rx(α₃) z after axis 3,

    cos α₃       = (Rx(α₂)ᵀ r)_z,
    u·p − d      = a₁ (Rz(θ1)ᵀ u)_x + d₂ r_z + a₂ r_x + d₃ cos α₃,

so r_y and r_x are linear in cos θ1 and sin θ1, as r_z is, and ‖r‖ = 1 is a conic that meets the unit circle
(`conic.py`).  Where axes 2 and 3 intersect, a₂ = 0, the second equation tells θ1, and the length then r_x.  θ2 and θ3
turn u into r and v; what is left is a triangle in the plane with sides a₄ and a₅.

Source: Elias and Wen, IK-Geo: unified robot inverse kinematics using subproblem decomposition, Mechanism and Machine
Theory 209, 2025 (arms with three parallel axes).
"""

from __future__ import annotations

from typing import Any

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import fmax, lt, sqrt
from linkwork.ik.algorithms.closed_form.axis_geometry import AxisGeometry
from linkwork.ik.algorithms.closed_form.axis_geometry_solution import ArmSolution, both
from linkwork.ik.algorithms.closed_form.cos_sin_pair import SAME, UnitAngle, equation
from linkwork.ik.algorithms.closed_form.parallel_axes import mirrored
from linkwork.ik.algorithms.closed_form.spherical_wrist import scaled
from linkwork.ik.algorithms.closed_form.trigonometric_equations import on_circle
from linkwork.ik.algorithms.closed_form.wrist_angles import turned_about_z, twisted
from linkwork.spatial import Pose, Vec3

__all__ = ["parallel_hand"]


def parallel_hand(arm: AxisGeometry, X: Pose) -> list[ArmSolution]:
    """Eight solutions: four of the first three axes, and two triangles each."""
    found = []
    for angles, counts in _arms(arm, X):
        found += _triangles(arm, X, angles, counts)
    return found


def _arms(arm: AxisGeometry, X: Pose) -> list[tuple[tuple[UnitAngle, UnitAngle, UnitAngle], Any]]:
    """θ1, θ2 and θ3."""
    a1, a2 = arm.a[:2]
    one, two, three = arm.twist[:3]
    fourth, sign = arm.twist[3].cos, arm.twist[3].cos * arm.twist[4].cos
    u = Vec3(*(row[2] for row in X.rotation.rows())) * sign
    along = u.dot(X.translation) - (arm.d[3] + fourth * arm.d[4])
    # r_z, r_y and a₂ r_x as (constant, cos θ1, sin θ1)
    up = (scaled(one.cos, u.z), -scaled(one.sin, u.y), scaled(one.sin, u.x))
    side = tuple((two.cos * x - c) * (1.0 / two.sin) for x, c in zip(up, (three.cos, 0.0, 0.0), strict=True))
    rest = (along - arm.d[2] * three.cos, -scaled(a1, u.x), -scaled(a1, u.y))
    forward = tuple(x - scaled(arm.d[1], z) for x, z in zip(rest, up, strict=True))
    found = []
    if is_zero(a2):
        pair = equation(forward[1], forward[2], -forward[0])
        for theta1, counts in ((pair.first, True), (pair.second, pair.differ)):
            z, y = (_at(x, theta1) for x in (up, side))
            x = sqrt(fmax(1.0 - z * z - y * y, 0.0))
            for rx, other in ((x, True), (-x, lt(0.5 * SAME, x))):
                found.append((_three(arm, u, theta1, (rx, y, z)), both(counts, other)))
        return found
    ahead = tuple(x * (1.0 / a2) for x in forward)
    A, B, C, D, E, F = (
        sum(v[i] * v[j] for v in (up, side, ahead)) for i, j in ((1, 1), (1, 2), (2, 2), (0, 1), (0, 2), (0, 0))
    )
    for theta1, counts in on_circle(A, B, C, D, E, F - 1.0):
        r = tuple(_at(x, theta1) for x in (ahead, side, up))
        found.append((_three(arm, u, theta1, r), counts))
    return found


def _at(form: tuple[Any, ...], angle: UnitAngle) -> Any:
    return form[0] + form[1] * angle.cos + form[2] * angle.sin


def _three(arm: AxisGeometry, u: Vec3, theta1: UnitAngle, r: tuple[Any, ...]) -> tuple[UnitAngle, UnitAngle, UnitAngle]:
    """θ2, which turns r into u as axis 2 sees it, and θ3, which turns v into r."""
    one, two, three = arm.twist[:3]
    x, y = theta1.turned_back(u.x, u.y)
    y = one.cos * y + one.sin * u.z
    theta2 = UnitAngle.along(r[0] * x + r[1] * y, r[0] * y - r[1] * x)
    side = two.cos * r[1] + two.sin * r[2]
    # v = (0, −sin α₃, cos α₃) turned by θ3 is (sin α₃ sin θ3, −sin α₃ cos θ3)
    return theta1, theta2, UnitAngle.along(-side * three.sin, r[0] * three.sin)


def _triangles(
    arm: AxisGeometry, X: Pose, first: tuple[UnitAngle, UnitAngle, UnitAngle], counts: Any
) -> list[ArmSolution]:
    """The two pairs of θ4 and θ5, and θ6 that makes up the sum."""
    a4, a5 = arm.a[3:]
    fourth, sign = arm.twist[3].cos, arm.twist[3].cos * arm.twist[4].cos
    R, p = X.rotation.rows(), X.translation
    for angle, a, twist, d in zip(first, arm.a, arm.twist, (arm.d[1], arm.d[2], arm.d[3]), strict=False):
        x, y = angle.turned_back(p.x, p.y)
        y, z = twist.turned_back(y, p.z)
        p = Vec3(x - a, y, z - d)
        R = twisted(twist, turned_about_z(angle, R))
    total = UnitAngle.along(R[0][0], R[1][0])  # of the three angles about the fourth axis
    pair = equation(2.0 * a4 * a5, 0.0, p.x * p.x + p.y * p.y - (a4 * a4 + a5 * a5))
    found = []
    for bend, differs in ((pair.first, True), (pair.second, pair.differ)):
        ux, uy = a4 + a5 * bend.cos, a5 * bend.sin
        theta4 = UnitAngle.along(ux * p.x + uy * p.y, ux * p.y - uy * p.x)
        left = total.minus(theta4).minus(bend)
        angles = (*first, theta4, mirrored(bend, fourth), mirrored(left, sign))
        found.append(ArmSolution(angles, both(counts, differs)))
    return found
