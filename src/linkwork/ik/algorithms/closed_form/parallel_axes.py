"""Six axes of which the second, third and fourth are parallel: the plane that they turn in is seen from both ends.

n is their direction, (0, −sin α₁, cos α₁) after axis 1.  How far the last axis is along n, and how it is inclined to n,
depend on θ1 and θ5 alone:

    n·Rz(θ1)ᵀ p     = d₂ + ε₂ d₃ + ε (d₄ + d₅ cos α₄ + a₅ sin α₄ sin θ5),
    n·Rz(θ1)ᵀ R z   = ε (cos α₄ cos α₅ − sin α₄ sin α₅ cos θ5),

with ε₂ = cos α₂ and ε = cos α₂ cos α₃, signs.  Where the last two axes intersect, a₅ = 0, the first tells θ1, and the
second then θ5; else both make a conic.  The sum of the parallel angles, θ5 and θ6 are those of three axes
(`wrist.py`), and what is left is a triangle in the plane with sides a₂ and a₃.

Source: Elias and Wen, IK-Geo: unified robot inverse kinematics using subproblem decomposition, Mechanism and Machine
Theory 209, 2025 (arms with three parallel axes).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.ik.algorithms.closed_form.axis_geometry import AxisGeometry
from linkwork.ik.algorithms.closed_form.axis_geometry_solution import ArmSolution, both
from linkwork.ik.algorithms.closed_form.cos_sin_pair import UnitAngle, equation
from linkwork.ik.algorithms.closed_form.spherical_wrist import scaled
from linkwork.ik.algorithms.closed_form.trigonometric_equations_two_angles import Sinusoid, coupled_angles
from linkwork.ik.algorithms.closed_form.wrist_angles import (
    ThreeAngles,
    about_axes,
    three_angles,
    turned_about_z,
    twisted,
)
from linkwork.spatial import Pose

__all__ = ["mirrored", "three_parallel"]


Plane = tuple[Any, Any]  # coordinates across n


def three_parallel(arm: AxisGeometry, X: Pose) -> list[ArmSolution]:
    """Eight solutions: θ1 and θ5, and two triangles each."""
    found = []
    for theta1, hand, wrist in _ends(arm, X):
        found += _triangles(arm, theta1, hand, wrist)
    return found


def _signs(arm: AxisGeometry) -> tuple[float, float, UnitAngle]:
    """ε₂, ε, and the twist α₂ + α₃ + α₄ between axis 2 and 5."""
    second, third = arm.twist[1], arm.twist[2]
    return second.cos, second.cos * third.cos, second.plus(third).plus(arm.twist[3])


def _ends(arm: AxisGeometry, X: Pose) -> list[tuple[UnitAngle, Plane, ThreeAngles]]:
    """The four pairs of θ1 and of the angles about n and the last two axes; and where the hand is, from axis 2."""
    one, four, five = arm.twist[0], arm.twist[3], arm.twist[4]
    R, p = X.rotation.rows(), X.translation
    second, sign, twist = _signs(arm)
    along = arm.d[1] + second * arm.d[2] + sign * (arm.d[3] + arm.d[4] * four.cos)
    height = Sinusoid(scaled(one.cos, p.z) - along, -scaled(one.sin, p.y), scaled(one.sin, p.x))
    if is_zero(arm.a[4]):
        pair = equation(height.cos, height.sin, -height.constant)
        found = []
        for theta1, counts in ((pair.first, True), (pair.second, pair.differ)):
            hand = _in_plane(arm, X, theta1)
            seen = twisted(one, turned_about_z(theta1, R))
            for wrist in three_angles(seen, twist, five, partial(_reachable, arm, hand)):
                found.append((theta1, hand, wrist._replace(counts=both(counts, wrist.counts))))
        return found
    inclined = Sinusoid(
        scaled(one.cos, R[2][2]) - sign * four.cos * five.cos, -scaled(one.sin, R[1][2]), scaled(one.sin, R[0][2])
    )
    lift = Sinusoid(0.0, 0.0, sign * arm.a[4] * four.sin)
    tilt = Sinusoid(0.0, -sign * four.sin * five.sin, 0.0)
    found = []
    for theta1, theta5, counts in coupled_angles(height, lift, inclined, tilt):
        hand = _in_plane(arm, X, theta1)
        seen = twisted(one, turned_about_z(theta1, R))
        wrist = about_axes(seen, twist, five, theta5, counts, partial(_reachable, arm, hand))
        found.append((theta1, hand, wrist))
    return found


def _in_plane(arm: AxisGeometry, X: Pose, theta1: UnitAngle) -> Plane:
    """Where the last axis is, as seen from axis 2."""
    one, p = arm.twist[0], X.translation
    x, y = theta1.turned_back(p.x, p.y)
    return x - arm.a[0], one.cos * y + one.sin * p.z


def _last(arm: AxisGeometry, theta5: UnitAngle) -> Plane:
    """Where it is, as seen from axis 4, in the direction of the sum of the parallel angles."""
    _, _, twist = _signs(arm)
    a4, a5 = arm.a[3:]
    return a4 + scaled(a5, theta5.cos), scaled(a5 * twist.cos, theta5.sin) - twist.sin * arm.d[4]


def _reachable(arm: AxisGeometry, hand: Plane, theta5: UnitAngle) -> UnitAngle:
    """The sum of the parallel angles with which the elbow is nearest to a right angle.

    Where the last axis is parallel to them it may be any, of which only some bring the wrist within reach.
    """
    (hx, hy), (tx, ty) = hand, _last(arm, theta5)
    a2, a3 = arm.a[1:3]
    square = hx * hx + hy * hy + tx * tx + ty * ty - (a2 * a2 + a3 * a3)
    return equation(2.0 * (hx * tx + hy * ty), 2.0 * (hy * tx - hx * ty), square).first


def _triangles(arm: AxisGeometry, theta1: UnitAngle, hand: Plane, wrist: ThreeAngles) -> list[ArmSolution]:
    """The two pairs of θ2 and θ3, and θ4 that makes up the sum."""
    a2, a3 = arm.a[1:3]
    second, sign, _ = _signs(arm)
    total, theta5, theta6, counts = wrist
    sx, sy = total.turned(*_last(arm, theta5))
    kx, ky = hand[0] - sx, hand[1] - sy
    pair = equation(2.0 * a2 * a3, 0.0, kx * kx + ky * ky - (a2 * a2 + a3 * a3))
    found = []
    for bend, differs in ((pair.first, True), (pair.second, pair.differ)):
        ux, uy = a2 + a3 * bend.cos, a3 * bend.sin
        theta2 = UnitAngle.along(ux * kx + uy * ky, ux * ky - uy * kx)
        left = total.minus(theta2).minus(bend)
        angles = (theta1, theta2, mirrored(bend, second), mirrored(left, sign), theta5, theta6)
        found.append(ArmSolution(angles, both(counts, differs)))
    return found


def mirrored(angle: UnitAngle, sign: float) -> UnitAngle:
    """An angle about the axis itself, from that about n."""
    return angle if sign > 0.0 else angle.opposite()
