"""Six axes of which the last three go through one point W: position first, then orientation.

W is where the first three axes bring it: with w its place after axis 3, g(θ3) = A₂ Rz(θ3) w that before the turn about
axis 2, and z₂ = (0, −sin α₁, cos α₁),

    Rz(θ1)ᵀ p − (a₁, 0, 0) = Rx(α₁) Tz(d₂) Rz(θ2) g(θ3).

Both sides are as high along axis 2, and as far from the point where normal 1 meets it, which makes two equations for θ1
and θ3, each linear in cosine and sine (`trigonometric_equations.py`): one after the other where two of the first three
axes are parallel or intersect, and four solutions of a conic else.  θ2 turns one side into the other.  The last three
angles are those of the rotation that is left (`wrist_angles.py`).

Source: Pieper, The kinematics of manipulators under computer control, 1968.

Six axes of which the third, fourth and fifth go through one point S.

S is where the first two axes bring it, w after axis 2, and is fixed to the hand, h before the turn about axis 6:

    Rz(θ1) A₁ Tz(d₂) Rz(θ2) w = S = p + R Rz(θ6)ᵀ h.

Height along axis 1 and distance from its foot do not depend on θ1, which makes two equations for θ2 and θ6, each linear
in cosine and sine (`trigonometric_equations.py`).  θ1 turns one side into the other, and the rotation that is left is
that of three axes (`wrist_angles.py`).

Source: Pieper, The kinematics of manipulators under computer control, 1968 (any three axes that intersect).
"""

from __future__ import annotations

from typing import Any

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.ik.algorithms.closed_form.axis_geometry import ArmSolution, AxisGeometry, both
from linkwork.ik.algorithms.closed_form.cos_sin_pair import UnitAngle
from linkwork.ik.algorithms.closed_form.trigonometric_equations import (
    CoupledAngles,
    Sinusoid,
    coupled_angles,
)
from linkwork.ik.algorithms.closed_form.wrist_angles import Matrix, three_angles, turned_about_z, twisted
from linkwork.spatial import Pose, Vec3

__all__ = ["positions", "spherical_middle", "spherical_wrist"]


def spherical_wrist(arm: AxisGeometry, X: Pose) -> list[ArmSolution]:
    """Eight solutions: four positions, each with two orientations."""
    W = Vec3(arm.a[2], -arm.twist[2].sin * arm.d[3], arm.twist[2].cos * arm.d[3] + arm.d[2])
    found = []
    for first, second, third, reached in positions(arm, X.translation, W):
        R: Matrix = X.rotation.rows()
        for angle, twist in zip((first, second, third), arm.twist[:3], strict=True):
            R = twisted(twist, turned_about_z(angle, R))
        for wrist in three_angles(R, arm.twist[3], arm.twist[4]):
            angles = (first, second, third, wrist.first, wrist.second, wrist.third)
            found.append(ArmSolution(angles, both(reached, wrist.counts)))
    return found


def positions(arm: AxisGeometry, p: Vec3, w: Vec3) -> list[tuple[UnitAngle, UnitAngle, UnitAngle, Any]]:
    """The four (θ1, θ2, θ3, whether it counts) that bring the point w, given after axis 3, to p."""
    (a1, a2), (one, two), d2 = arm.a[:2], arm.twist[:2], arm.d[1]
    flat = w.x * w.x + w.y * w.y
    before, after = (d2, 0.0) if is_zero(a2) and not is_zero(a1) else (0.0, d2)
    # along axis 2, from a point of it: the foot of normal 1, or that of normal 2 where axes 2 and 3 intersect
    seen = Sinusoid(scaled(one.cos, p.z) - before, -scaled(one.sin, p.y), scaled(one.sin, p.x))
    made = Sinusoid(two.cos * w.z + after, scaled(two.sin, w.y), scaled(two.sin, w.x))
    # squares of the distance from that point
    square = p.x * p.x + p.y * p.y + p.z * p.z + a1 * a1 - before * before - scaled(2.0 * before, seen.constant)
    far = Sinusoid(
        square,
        -scaled(2.0 * a1, p.x) - scaled(2.0 * before, seen.cos),
        -scaled(2.0 * a1, p.y) - scaled(2.0 * before, seen.sin),
    )
    reach = Sinusoid(
        a2 * a2 + flat + w.z * w.z + after * (2.0 * two.cos * w.z + after),
        2.0 * (a2 * w.x + after * two.sin * w.y),
        2.0 * (after * two.sin * w.x - a2 * w.y),
    )
    return [_with_second(arm, p, w, solution) for solution in coupled_angles(seen, made, far, reach)]


def _with_second(
    arm: AxisGeometry, p: Vec3, w: Vec3, solution: CoupledAngles
) -> tuple[UnitAngle, UnitAngle, UnitAngle, Any]:
    """θ2, which turns g into what is seen of p."""
    theta1, theta3, counts = solution
    one, two = arm.twist[:2]
    x, y = theta1.turned_back(p.x, p.y)
    to = x - arm.a[0], one.cos * y + one.sin * p.z
    gx, gy = theta3.turned(w.x, w.y)
    g = arm.a[1] + gx, two.cos * gy - two.sin * w.z
    return theta1, UnitAngle.along(g[0] * to[0] + g[1] * to[1], g[0] * to[1] - g[1] * to[0]), theta3, counts


def scaled(k: float, x: Any) -> Any:
    """k x, known to be zero where k is."""
    return 0.0 if is_zero(k) else k * x


def spherical_middle(arm: AxisGeometry, X: Pose) -> list[ArmSolution]:
    """Eight solutions: four of θ1, θ2 and θ6, each with two of the others."""
    a1, a2, a5 = arm.a[0], arm.a[1], arm.a[4]
    one, two, five = arm.twist[0], arm.twist[1], arm.twist[4]
    w = Vec3(a2, -two.sin * arm.d[2], two.cos * arm.d[2])  # after axis 2, from where its normal to axis 3 starts
    # S from the last axis: back along normal 5, and along axis 5
    h = Vec3(-a5, -five.sin * arm.d[4], -five.cos * arm.d[4])
    p, R = X.translation, X.rotation
    across = _columns(R)
    center = p + across[2] * h.z
    # Rz(θ6)ᵀ h = (c h.x + s h.y, c h.y − s h.x)
    even, odd = across[0] * h.x + across[1] * h.y, across[0] * h.y - across[1] * h.x
    height = Sinusoid(center.z, even.z, odd.z)
    square = center.dot(center) + (h.x * h.x + h.y * h.y)
    far = Sinusoid(square, 2.0 * center.dot(even), 2.0 * center.dot(odd))
    z = w.z + arm.d[1]
    made = Sinusoid(one.cos * z, scaled(one.sin, w.y), scaled(one.sin, w.x))
    reach = Sinusoid(a1 * a1 + w.x * w.x + w.y * w.y + z * z, scaled(2.0 * a1, w.x), -scaled(2.0 * a1, w.y))
    found = []
    for theta6, theta2, counts in coupled_angles(height, made, far, reach):
        S = center + even * theta6.cos + odd * theta6.sin
        x, y = theta2.turned(w.x, w.y)
        gx, gy = a1 + x, one.cos * y - one.sin * z
        theta1 = UnitAngle.along(gx * S.x + gy * S.y, gx * S.y - gy * S.x)
        rest = twisted(two, turned_about_z(theta2, twisted(one, turned_about_z(theta1, R.rows()))))
        rest = _after(_after_turn(rest, theta6), five)
        for middle in three_angles(rest, arm.twist[2], arm.twist[3]):
            angles = (theta1, theta2, middle.first, middle.second, middle.third, theta6)
            found.append(ArmSolution(angles, both(counts, middle.counts)))
    return found


def _columns(R: object) -> list[Vec3]:
    return [Vec3(*column) for column in zip(*R.rows(), strict=True)]  # type: ignore[attr-defined]


def _after_turn(R: list[list[object]], angle: UnitAngle) -> list[list[object]]:
    """R Rz(θ)ᵀ."""
    return [[*angle.turned(row[0], row[1]), row[2]] for row in R]


def _after(R: list[list[object]], twist: UnitAngle) -> list[list[object]]:
    """R Rx(α)ᵀ."""
    return [[row[0], *twist.turned(row[1], row[2])] for row in R]
