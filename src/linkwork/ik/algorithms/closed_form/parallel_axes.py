"""Closed form of six axes with three parallel ones: the second to the fourth, or the last three.

`three_parallel`: axes 2, 3 and 4 are parallel.  The plane in which they rotate is determined from both ends.  n is the
direction of these axes, (0, −sin α₁, cos α₁) after axis 1.  The position of the last axis along n, and its inclination
to n, depend on θ1 and θ5 only:

    n·Rz(θ1)ᵀ p     = d₂ + ε₂ d₃ + ε (d₄ + d₅ cos α₄ + a₅ sin α₄ sin θ5),
    n·Rz(θ1)ᵀ R z   = ε (cos α₄ cos α₅ − sin α₄ sin α₅ cos θ5),

with signs ε₂ = cos α₂ and ε = cos α₂ cos α₃.  If the last two axes intersect, a₅ = 0, the first equation gives θ1, and
the second then θ5; otherwise both form a conic.  The sum of the parallel angles, θ5 and θ6 are those of three axes
(`spherical_wrist.py`), and a triangle in the plane with sides a₂ and a₃ remains.

`parallel_hand`: axes 4, 5 and 6 are parallel.  u = R z ε is their direction, with the sign ε = cos α₄ cos α₅, and the
position of the end effector along it depends on the first three axes only.  With r = Rz(θ2)ᵀ Rx(α₁)ᵀ Rz(θ1)ᵀ u and
v = Rx(α₃) z after axis 3,

    cos α₃       = (Rx(α₂)ᵀ r)_z,
    u·p − d      = a₁ (Rz(θ1)ᵀ u)_x + d₂ r_z + a₂ r_x + d₃ cos α₃,

so r_y and r_x are linear in cos θ1 and sin θ1, as r_z is, and ‖r‖ = 1 is a conic that intersects the unit circle
(`trigonometric_equations.py`).  If axes 2 and 3 intersect, a₂ = 0, the second equation gives θ1, and the length then
r_x.  θ2 and θ3 rotate u to r and v; a triangle in the plane with sides a₄ and a₅ remains.

Source: Elias and Wen, IK-Geo: unified robot inverse kinematics using subproblem decomposition, Mechanism and Machine
Theory 209, 2025 (arms with three parallel axes).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import fmax, lt, sqrt
from linkwork.ik.algorithms.closed_form.axis_geometry import ArmSolution, AxisGeometry
from linkwork.ik.algorithms.closed_form.spherical_wrist import (
    ThreeAngles,
    about_axes,
    rotated_about_z,
    scaled,
    three_angles,
    twisted,
)
from linkwork.ik.algorithms.closed_form.trigonometric_equations import (
    SAME,
    Sinusoid,
    UnitAngle,
    both,
    coupled_angles,
    equation,
    on_circle,
)
from linkwork.spatial import Pose, Vec3

__all__ = ["parallel_hand", "three_parallel"]


Plane = tuple[Any, Any]  # coordinates across n


def three_parallel(arm: AxisGeometry, X: Pose) -> list[ArmSolution]:
    """Return the eight solutions of an arm whose axes 2, 3 and 4 are parallel.

    There are four combinations of θ1 and the wrist angles, each with two triangles of the links a₂ and a₃.
    """
    result = []
    for theta1, hand, wrist in _ends(arm, X):
        result += _triangles(arm, theta1, hand, wrist)
    return result


def _signs(arm: AxisGeometry) -> tuple[float, float, UnitAngle]:
    """Return the signs ε₂ = cos α₂ and ε = cos α₂ cos α₃, and the twist α₂ + α₃ + α₄ between axes 2 and 5.

    Axes 2, 3 and 4 are parallel. ε₂ and ε are the directions of axes 3 and 4 relative to axis 2: 1 or −1.
    """
    second, third = arm.twist[1], arm.twist[2]
    return second.cos, second.cos * third.cos, second.plus(third).plus(arm.twist[3])


def _ends(arm: AxisGeometry, X: Pose) -> list[tuple[UnitAngle, Plane, ThreeAngles]]:
    """Return four solutions (θ1, position of the last axis, wrist angles) if axes 2, 3 and 4 are parallel.

    The position is in the plane normal to axis 2. The wrist angles are the sum of the three parallel angles, θ5 and θ6.
    """
    twist1, twist4, twist5 = arm.twist[0], arm.twist[3], arm.twist[4]
    R, p = X.rotation.rows(), X.translation
    second, sign, twist = _signs(arm)
    along = arm.d[1] + second * arm.d[2] + sign * (arm.d[3] + arm.d[4] * twist4.cos)
    height = Sinusoid(scaled(twist1.cos, p.z) - along, -scaled(twist1.sin, p.y), scaled(twist1.sin, p.x))
    if is_zero(arm.a[4]):
        pair = equation(height.cos, height.sin, -height.constant)
        result = []
        for theta1, counts in ((pair.first, True), (pair.second, pair.differ)):
            hand = _in_plane(arm, X, theta1)
            rotated = twisted(twist1, rotated_about_z(theta1, R))
            for wrist in three_angles(rotated, twist, twist5, partial(_reachable, arm, hand)):
                result.append((theta1, hand, wrist._replace(counts=both(counts, wrist.counts))))
        return result
    inclined = Sinusoid(
        scaled(twist1.cos, R[2][2]) - sign * twist4.cos * twist5.cos,
        -scaled(twist1.sin, R[1][2]),
        scaled(twist1.sin, R[0][2]),
    )
    lift = Sinusoid(0.0, 0.0, sign * arm.a[4] * twist4.sin)
    tilt = Sinusoid(0.0, -sign * twist4.sin * twist5.sin, 0.0)
    result = []
    for theta1, theta5, counts in coupled_angles(height, lift, inclined, tilt):
        hand = _in_plane(arm, X, theta1)
        rotated = twisted(twist1, rotated_about_z(theta1, R))
        wrist = about_axes(rotated, twist, twist5, theta5, counts, partial(_reachable, arm, hand))
        result.append((theta1, hand, wrist))
    return result


def _in_plane(arm: AxisGeometry, X: Pose, theta1: UnitAngle) -> Plane:
    """Return the position of the last axis relative to axis 2 [m], in the plane normal to axis 2."""
    twist1, p = arm.twist[0], X.translation
    x, y = theta1.rotated_back(p.x, p.y)
    return x - arm.a[0], twist1.cos * y + twist1.sin * p.z


def _last(arm: AxisGeometry, theta5: UnitAngle) -> Plane:
    """Return the position of the last axis relative to axis 4 [m], in the plane normal to axis 4.

    Axes 2, 3 and 4 are parallel; the coordinates rotate with the sum of their angles.
    """
    _, _, twist = _signs(arm)
    a4, a5 = arm.a[3:]
    return a4 + scaled(a5, theta5.cos), scaled(a5 * twist.cos, theta5.sin) - twist.sin * arm.d[4]


def _reachable(arm: AxisGeometry, hand: Plane, theta5: UnitAngle) -> UnitAngle:
    """Return the sum of the angles of the parallel axes 2, 3 and 4 for which the elbow is nearest to a right angle.

    If the last axis is parallel to axes 2, 3 and 4, the sum is free, and only some values bring the wrist within reach.
    """
    (hx, hy), (tx, ty) = hand, _last(arm, theta5)
    a2, a3 = arm.a[1:3]
    square = hx * hx + hy * hy + tx * tx + ty * ty - (a2 * a2 + a3 * a3)
    return equation(2.0 * (hx * tx + hy * ty), 2.0 * (hy * tx - hx * ty), square).first


def _triangles(arm: AxisGeometry, theta1: UnitAngle, hand: Plane, wrist: ThreeAngles) -> list[ArmSolution]:
    """Return two solutions, one for each triangle with the links a₂ and a₃ that reaches axis 4.

    The triangle gives θ2 and θ3; θ4 follows from the sum of the three angles.
    """
    a2, a3 = arm.a[1:3]
    second, sign, _ = _signs(arm)
    total, theta5, theta6, counts = wrist
    sx, sy = total.rotated(*_last(arm, theta5))
    kx, ky = hand[0] - sx, hand[1] - sy
    pair = equation(2.0 * a2 * a3, 0.0, kx * kx + ky * ky - (a2 * a2 + a3 * a3))
    result = []
    for bend, differs in ((pair.first, True), (pair.second, pair.differ)):
        ux, uy = a2 + a3 * bend.cos, a3 * bend.sin
        theta2 = UnitAngle.along(ux * kx + uy * ky, ux * ky - uy * kx)
        last_angle = total.minus(theta2).minus(bend)
        angles = (theta1, theta2, mirrored(bend, second), mirrored(last_angle, sign), theta5, theta6)
        result.append(ArmSolution(angles, both(counts, differs)))
    return result


def mirrored(angle: UnitAngle, sign: float) -> UnitAngle:
    """Return an angle about a direction as the angle of a joint whose axis is along it, or opposite.

    ``sign`` is negative if the joint's axis is opposite; the angle then changes its sign.
    """
    return angle if sign > 0.0 else angle.opposite()


def parallel_hand(arm: AxisGeometry, X: Pose) -> list[ArmSolution]:
    """Return the eight solutions of an arm whose axes 4, 5 and 6 are parallel.

    There are four solutions of the first three axes, each with two triangles of the links a₄ and a₅.
    """
    result = []
    for angles, counts in _first_three_axes(arm, X):
        result += _triangles_parallel_hand(arm, X, angles, counts)
    return result


def _first_three_axes(arm: AxisGeometry, X: Pose) -> list[tuple[tuple[UnitAngle, UnitAngle, UnitAngle], Any]]:
    """Return four solutions (θ1, θ2, θ3), each with a condition: True if it is valid and distinct."""
    a1, a2 = arm.a[:2]
    twist1, twist2, twist3 = arm.twist[:3]
    fourth, sign = arm.twist[3].cos, arm.twist[3].cos * arm.twist[4].cos
    u = Vec3(*(row[2] for row in X.rotation.rows())) * sign
    along = u.dot(X.translation) - (arm.d[3] + fourth * arm.d[4])
    # r_z, r_y and a₂ r_x as (constant, cos θ1, sin θ1)
    up = (scaled(twist1.cos, u.z), -scaled(twist1.sin, u.y), scaled(twist1.sin, u.x))
    side = tuple((twist2.cos * x - c) * (1.0 / twist2.sin) for x, c in zip(up, (twist3.cos, 0.0, 0.0), strict=True))
    offset = (along - arm.d[2] * twist3.cos, -scaled(a1, u.x), -scaled(a1, u.y))
    forward = tuple(x - scaled(arm.d[1], z) for x, z in zip(offset, up, strict=True))
    result = []
    if is_zero(a2):
        pair = equation(forward[1], forward[2], -forward[0])
        for theta1, counts in ((pair.first, True), (pair.second, pair.differ)):
            z, y = (_at(x, theta1) for x in (up, side))
            x = sqrt(fmax(1.0 - z * z - y * y, 0.0))
            for rx, distinct in ((x, True), (-x, lt(0.5 * SAME, x))):
                result.append((_second_and_third(arm, u, theta1, (rx, y, z)), both(counts, distinct)))
        return result
    ahead = tuple(x * (1.0 / a2) for x in forward)
    A, B, C, D, E, F = (
        sum(v[i] * v[j] for v in (up, side, ahead)) for i, j in ((1, 1), (1, 2), (2, 2), (0, 1), (0, 2), (0, 0))
    )
    for theta1, counts in on_circle(A, B, C, D, E, F - 1.0):
        r = tuple(_at(x, theta1) for x in (ahead, side, up))
        result.append((_second_and_third(arm, u, theta1, r), counts))
    return result


def _at(form: tuple[Any, ...], angle: UnitAngle) -> Any:
    return form[0] + form[1] * angle.cos + form[2] * angle.sin


def _second_and_third(
    arm: AxisGeometry, u: Vec3, theta1: UnitAngle, r: tuple[Any, ...]
) -> tuple[UnitAngle, UnitAngle, UnitAngle]:
    """Return (θ1, θ2, θ3) of an arm whose axes 4, 5 and 6 are parallel, for given θ1 and direction of these axes.

    ``u`` is the direction of the parallel axes at the base. ``r`` is this direction in the frame after the rotation
    about axis 2; θ2 rotates r to u in the axes of joint 2. θ3 rotates the parallel axes, as fixed to link 3, to r.
    """
    twist1, twist2, twist3 = arm.twist[:3]
    x, y = theta1.rotated_back(u.x, u.y)
    y = twist1.cos * y + twist1.sin * u.z
    theta2 = UnitAngle.along(r[0] * x + r[1] * y, r[0] * y - r[1] * x)
    side = twist2.cos * r[1] + twist2.sin * r[2]
    # v = (0, −sin α₃, cos α₃) turned by θ3 is (sin α₃ sin θ3, −sin α₃ cos θ3)
    return theta1, theta2, UnitAngle.along(-side * twist3.sin, r[0] * twist3.sin)


def _triangles_parallel_hand(
    arm: AxisGeometry, X: Pose, first: tuple[UnitAngle, UnitAngle, UnitAngle], counts: Any
) -> list[ArmSolution]:
    """Return two solutions, one for each triangle with the links a₄ and a₅ that reaches axis 6.

    The triangle gives θ4 and θ5; θ6 follows from the sum of the three angles.
    """
    a4, a5 = arm.a[3:]
    fourth, sign = arm.twist[3].cos, arm.twist[3].cos * arm.twist[4].cos
    R, p = X.rotation.rows(), X.translation
    for angle, a, twist, d in zip(first, arm.a, arm.twist, (arm.d[1], arm.d[2], arm.d[3]), strict=False):
        x, y = angle.rotated_back(p.x, p.y)
        y, z = twist.rotated_back(y, p.z)
        p = Vec3(x - a, y, z - d)
        R = twisted(twist, rotated_about_z(angle, R))
    total = UnitAngle.along(R[0][0], R[1][0])  # of the three angles about the fourth axis
    pair = equation(2.0 * a4 * a5, 0.0, p.x * p.x + p.y * p.y - (a4 * a4 + a5 * a5))
    result = []
    for bend, differs in ((pair.first, True), (pair.second, pair.differ)):
        ux, uy = a4 + a5 * bend.cos, a5 * bend.sin
        theta4 = UnitAngle.along(ux * p.x + uy * p.y, ux * p.y - uy * p.x)
        last_angle = total.minus(theta4).minus(bend)
        angles = (*first, theta4, mirrored(bend, fourth), mirrored(last_angle, sign))
        result.append(ArmSolution(angles, both(counts, differs)))
    return result
