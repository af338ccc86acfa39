"""Six axes of which the third, fourth and fifth go through one point S.

S is where the first two axes bring it, w after axis 2, and is fixed to the hand, h before the turn about axis 6:

    Rz(θ1) A₁ Tz(d₂) Rz(θ2) w = S = p + R Rz(θ6)ᵀ h.

Height along axis 1 and distance from its foot do not depend on θ1, which makes two equations for θ2 and θ6, each linear
in cosine and sine (`two_angles.py`).  θ1 turns one side into the other, and the rotation that is left is that of three
axes (`wrist.py`).

Source: Pieper, The kinematics of manipulators under computer control, 1968 (any three axes that intersect).
"""

from __future__ import annotations

from linkwork.ik.algorithms.closed_form.axis_geometry import AxisGeometry
from linkwork.ik.algorithms.closed_form.axis_geometry_solution import ArmSolution, both
from linkwork.ik.algorithms.closed_form.cos_sin_pair import UnitAngle
from linkwork.ik.algorithms.closed_form.spherical_wrist import scaled
from linkwork.ik.algorithms.closed_form.trigonometric_equations_two_angles import Sinusoid, coupled_angles
from linkwork.ik.algorithms.closed_form.wrist_angles import three_angles, turned_about_z, twisted
from linkwork.spatial import Pose, Vec3

__all__ = ["spherical_middle"]


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
