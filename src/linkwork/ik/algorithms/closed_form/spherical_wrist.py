"""Closed forms of arms with three intersecting axes (Pieper): six axes, and seven of type S-R-S.

Three axes through one point (`three_angles`) give the angles of a rotation

    R = Rz(θ1) Rx(α) Rz(θ2) Rx(β) Rz(θ3),

with constant twists α and β between the axes, right angles or not.  The third column, u = R z, has the height
u_z = cos α cos β − sin α sin β cos θ2, so

    sin α sin β sin θ2 = ±√((u_z − cos(α + β)) (cos(α − β) − u_z)),

where a factor 1 ∓ u_z is (u_x² + u_y²)/(1 ± u_z), which is accurate also where the first and third axis are aligned.
θ1 rotates the third axis to u.  θ2 and θ3 follow from the remaining rotations, so they compensate an ill-conditioned
θ1.  If the first and third axis are aligned, θ1 is 0, or the value that the caller prefers.

Six axes of which the last three intersect in W (`spherical_wrist`): position first, then orientation.  The first three
axes determine W.  Let w be the position of W in the frame after axis 3, g(θ3) = A₂ Rz(θ3) w its position before the
rotation about axis 2, and z₂ = (0, −sin α₁, cos α₁).  Then

    Rz(θ1)ᵀ p − (a₁, 0, 0) = Rx(α₁) Tz(d₂) Rz(θ2) g(θ3).

Both sides have the same height along axis 2, and the same distance from the point where normal 1 meets it.  These are
two equations for θ1 and θ3, each linear in cosine and sine (`trigonometric_equations.py`): they are solved one after
the other if two of the first three axes are parallel or intersect, and as a conic with four solutions otherwise.  θ2
rotates one side to the other.  The last three angles are the solution `three_angles` for the remaining rotation.

Six axes of which the third, fourth and fifth intersect in S (`spherical_middle`).  The first two axes determine S,
whose position after axis 2 is w.  S is fixed to the end effector, too, at h before the rotation about axis 6:

    Rz(θ1) A₁ Tz(d₂) Rz(θ2) w = S = p + R Rz(θ6)ᵀ h.

Height along axis 1 and distance from its foot do not depend on θ1.  These are two equations for θ2 and θ6, each linear
in cosine and sine.  θ1 rotates one side to the other, and `three_angles` solves the remaining rotation.

Seven axes (`elbow_arm`): the first three intersect in the shoulder S, the last three in the wrist W, the fourth is the
elbow.  The distance from S to W gives two values of θ4.  Then the arm rotates about the line from S to W by the elbow
angle ψ.  In the frame after axis 3, w is the direction to W, and e that to the elbow (point of axis 4 nearest to S),
normal to w.  In the world, s is the direction to W, and u that of the first axis, made normal to s.

    R₀₃ = [s, v, s × v] [w, e, w × e]ᵀ,        v = u cos ψ + s × u sin ψ.

ψ = 0 if the elbow is on the side of the line to which the first axis points.  If the arm is stretched, e is normal to
axis 4, and if W is on the first axis, u is along x of the first normal.  R₀₃ and the remaining rotation give three
angles each.

Sources: Pieper, The kinematics of manipulators under computer control, 1968 (any three axes that intersect);
Hollerbach, Optimum kinematic design for a seven degree of freedom manipulator, Robotics Research, 1985; Shimizu et
al., Analytical inverse kinematic computation for 7-DOF redundant manipulators with joint limits and its application
to redundancy resolution, IEEE Transactions on Robotics 24, 2008.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import fabs, fmax, lt, sqrt, where
from linkwork.ik.algorithms.closed_form.axis_geometry import ArmSolution, AxisGeometry
from linkwork.ik.algorithms.closed_form.trigonometric_equations import (
    SAME,
    CoupledAngles,
    Sinusoid,
    UnitAngle,
    both,
    coupled_angles,
    equation,
)
from linkwork.spatial import Pose, Vec3

__all__ = [
    "ThreeAngles",
    "about_axes",
    "elbow_angle",
    "elbow_arm",
    "positions",
    "rotated_about_z",
    "spherical_middle",
    "spherical_wrist",
    "three_angles",
    "twisted",
]


def spherical_wrist(arm: AxisGeometry, X: Pose) -> list[ArmSolution]:
    """Return the eight solutions of an arm whose last three axes intersect.

    There are four solutions of the position (θ1, θ2, θ3), each with two of the orientation (θ4, θ5, θ6).
    """
    W = Vec3(arm.a[2], -arm.twist[2].sin * arm.d[3], arm.twist[2].cos * arm.d[3] + arm.d[2])
    result = []
    for first, second, third, distinct in positions(arm, X.translation, W):
        R: Matrix = X.rotation.rows()
        for angle, twist in zip((first, second, third), arm.twist[:3], strict=True):
            R = twisted(twist, rotated_about_z(angle, R))
        for wrist in three_angles(R, arm.twist[3], arm.twist[4]):
            angles = (first, second, third, wrist.first, wrist.second, wrist.third)
            result.append(ArmSolution(angles, both(distinct, wrist.counts)))
    return result


def positions(arm: AxisGeometry, p: Vec3, w: Vec3) -> list[tuple[UnitAngle, UnitAngle, UnitAngle, Any]]:
    """Return four solutions (θ1, θ2, θ3, distinct) for which the point w is at p [m].

    w is in the frame after axis 3, and p in the frame of the base. ``distinct`` is False if a solution repeats an
    earlier one.
    """
    (a1, a2), (twist1, twist2), d2 = arm.a[:2], arm.twist[:2], arm.d[1]
    flat = w.x * w.x + w.y * w.y
    before, after = (d2, 0.0) if is_zero(a2) and not is_zero(a1) else (0.0, d2)
    # heights along axis 2 above the foot of normal 1, or of normal 2 if axes 2 and 3 intersect
    height_of_p = Sinusoid(scaled(twist1.cos, p.z) - before, -scaled(twist1.sin, p.y), scaled(twist1.sin, p.x))
    height_of_w = Sinusoid(twist2.cos * w.z + after, scaled(twist2.sin, w.y), scaled(twist2.sin, w.x))
    # squared distances from that foot
    square = p.x * p.x + p.y * p.y + p.z * p.z + a1 * a1 - before * before - scaled(2.0 * before, height_of_p.constant)
    distance_of_p = Sinusoid(
        square,
        -scaled(2.0 * a1, p.x) - scaled(2.0 * before, height_of_p.cos),
        -scaled(2.0 * a1, p.y) - scaled(2.0 * before, height_of_p.sin),
    )
    reach = Sinusoid(
        a2 * a2 + flat + w.z * w.z + after * (2.0 * twist2.cos * w.z + after),
        2.0 * (a2 * w.x + after * twist2.sin * w.y),
        2.0 * (after * twist2.sin * w.x - a2 * w.y),
    )
    return [
        _with_second(arm, p, w, solution) for solution in coupled_angles(height_of_p, height_of_w, distance_of_p, reach)
    ]


def _with_second(
    arm: AxisGeometry, p: Vec3, w: Vec3, solution: CoupledAngles
) -> tuple[UnitAngle, UnitAngle, UnitAngle, Any]:
    """Return (θ1, θ2, θ3, distinct) for given θ1 and θ3: θ2 rotates the wrist center w to its position p about axis 2.

    w is in the frame after axis 3, and p in the frame of the base [m]. ``distinct`` is False if the solution repeats an
    earlier one.
    """
    theta1, theta3, counts = solution
    twist1, twist2 = arm.twist[:2]
    x, y = theta1.rotated_back(p.x, p.y)
    world_axes = x - arm.a[0], twist1.cos * y + twist1.sin * p.z
    gx, gy = theta3.rotated(w.x, w.y)
    g = arm.a[1] + gx, twist2.cos * gy - twist2.sin * w.z
    return (
        theta1,
        UnitAngle.along(g[0] * world_axes[0] + g[1] * world_axes[1], g[0] * world_axes[1] - g[1] * world_axes[0]),
        theta3,
        counts,
    )


def scaled(k: float, x: Any) -> Any:
    """Return k x; the constant 0 if k is the float 0."""
    return 0.0 if is_zero(k) else k * x


def spherical_middle(arm: AxisGeometry, X: Pose) -> list[ArmSolution]:
    """Return the eight solutions of an arm whose axes 3, 4 and 5 intersect.

    There are four solutions of θ1, θ2 and θ6, each with two of θ3, θ4 and θ5.
    """
    a1, a2, a5 = arm.a[0], arm.a[1], arm.a[4]
    twist1, twist2, twist5 = arm.twist[0], arm.twist[1], arm.twist[4]
    w = Vec3(
        a2, -twist2.sin * arm.d[2], twist2.cos * arm.d[2]
    )  # after axis 2, relative to the foot of its normal to axis 3
    # S from the last axis: back along normal 5, and along axis 5
    h = Vec3(-a5, -twist5.sin * arm.d[4], -twist5.cos * arm.d[4])
    p, R = X.translation, X.rotation
    across = _columns(R)
    center = p + across[2] * h.z
    # Rz(θ6)ᵀ h = (c h.x + s h.y, c h.y − s h.x)
    even, odd = across[0] * h.x + across[1] * h.y, across[0] * h.y - across[1] * h.x
    height = Sinusoid(center.z, even.z, odd.z)
    square = center.dot(center) + (h.x * h.x + h.y * h.y)
    distance_of_p = Sinusoid(square, 2.0 * center.dot(even), 2.0 * center.dot(odd))
    z = w.z + arm.d[1]
    height_of_w = Sinusoid(twist1.cos * z, scaled(twist1.sin, w.y), scaled(twist1.sin, w.x))
    reach = Sinusoid(a1 * a1 + w.x * w.x + w.y * w.y + z * z, scaled(2.0 * a1, w.x), -scaled(2.0 * a1, w.y))
    result = []
    for theta6, theta2, counts in coupled_angles(height, height_of_w, distance_of_p, reach):
        S = center + even * theta6.cos + odd * theta6.sin
        x, y = theta2.rotated(w.x, w.y)
        gx, gy = a1 + x, twist1.cos * y - twist1.sin * z
        theta1 = UnitAngle.along(gx * S.x + gy * S.y, gx * S.y - gy * S.x)
        R25 = twisted(twist2, rotated_about_z(theta2, twisted(twist1, rotated_about_z(theta1, R.rows()))))
        R25 = _after(_after_turn(R25, theta6), twist5)
        for middle in three_angles(R25, arm.twist[2], arm.twist[3]):
            angles = (theta1, theta2, middle.first, middle.second, middle.third, theta6)
            result.append(ArmSolution(angles, both(counts, middle.counts)))
    return result


def _columns(R: object) -> list[Vec3]:
    return [Vec3(*column) for column in zip(*R.rows(), strict=True)]  # type: ignore[attr-defined]


def _after_turn(R: list[list[object]], angle: UnitAngle) -> list[list[object]]:
    """Return R Rz(θ)ᵀ: the rotation R without a last rotation by the angle θ about z."""
    return [[*angle.rotated(row[0], row[1]), row[2]] for row in R]


def _after(R: list[list[object]], twist: UnitAngle) -> list[list[object]]:
    """Return R Rx(α)ᵀ: the rotation R without a last rotation by the ``twist`` α about x."""
    return [[row[0], *twist.rotated(row[1], row[2])] for row in R]


_NEGLIGIBLE = by_type(1e-9)  # [arm's lengths] shorter vectors have no direction


def elbow_arm(arm: AxisGeometry, X: Pose, psi: Any) -> list[ArmSolution]:
    """Return the eight solutions of a seven-axis arm for an elbow angle ψ [rad].

    There are two elbow bends, each with two solutions of the shoulder and two of the wrist.
    """
    direction = UnitAngle.of(psi)
    s = X.translation
    result = []
    for bend, distinct in _elbow_angles(arm, s):
        w, e = _arm_frame(arm, bend)
        _, v0, v1 = _world_frame(arm, s)
        v = v0 * direction.cos + v1 * direction.sin
        world_axes, arm_axes = _frame(_unit(s, arm.length), v), _frame(w, e)
        R03 = [[sum(a[k] * b[k] for k in range(3)) for b in arm_axes] for a in world_axes]
        R47 = _transposed_product(R03, X.rotation.rows())
        R47 = twisted(arm.twist[3], rotated_about_z(bend, twisted(arm.twist[2], R47)))
        wrists = three_angles(R47, arm.twist[4], arm.twist[5])
        for shoulder in three_angles(R03, arm.twist[0], arm.twist[1]):
            for wrist in wrists:
                angles = (*shoulder[:3], bend, *wrist[:3])
                result.append(ArmSolution(angles, both(distinct, both(shoulder.counts, wrist.counts))))
    return result


def elbow_angle(arm: AxisGeometry, angles: tuple[UnitAngle, ...]) -> Any:
    """Return the elbow angle ψ [rad] of a configuration with these angles about the first four axes."""
    bend = angles[3]
    w, e = _arm_frame(arm, bend)
    for angle, twist in zip(angles[2::-1], (None, arm.twist[1], arm.twist[0]), strict=True):
        w, e = (_rotated(angle, twist, x) for x in (w, e))
    _, v0, v1 = _world_frame(arm, w * arm.length)
    return UnitAngle(v0.dot(e), v1.dot(e)).angle()


def _elbow_angles(arm: AxisGeometry, s: Vec3) -> list[tuple[UnitAngle, Any]]:
    """Return the two θ4 for which the wrist is at the distance ‖s‖ from the shoulder.

    Each has a condition that is True if it differs from the previous one.
    """
    # in the frame of axis 4's foot before its rotation: S, and W rotated by θ4
    start = Vec3(-arm.a[2], -arm.twist[2].sin * arm.d[2], -arm.twist[2].cos * arm.d[2] - arm.d[3])
    end = Vec3(arm.a[3], -arm.twist[3].sin * arm.d[4], arm.twist[3].cos * arm.d[4])
    flat = s.dot(s) - start.dot(start) - end.dot(end) + 2.0 * start.z * end.z
    cos, sin = -2.0 * (start.x * end.x + start.y * end.y), -2.0 * (start.y * end.x - start.x * end.y)
    pair = equation(cos, sin, flat)
    return [(pair.first, True), (pair.second, pair.differ)]


def _arm_frame(arm: AxisGeometry, bend: UnitAngle) -> tuple[Vec3, Vec3]:
    """Return unit vectors from the shoulder to the wrist and, normal to it, towards the elbow.

    Both are in the frame after axis 3.  The second is the direction to the elbow minus its component along the first.
    If the arm is stretched, the second vector is normal to axis 4.
    """
    twist = arm.twist[2]
    axis = Vec3(0.0, -twist.sin, twist.cos)
    foot = Vec3(arm.a[2], 0.0, arm.d[2])
    x, y = bend.rotated(arm.a[3], -arm.twist[3].sin * arm.d[4])
    z = arm.twist[3].cos * arm.d[4] + arm.d[3]
    W = foot + Vec3(x, *twist.rotated(y, z))
    w = _unit(W, arm.length)
    elbow = foot - axis * foot.dot(axis)
    perpendicular = elbow - w * w.dot(elbow)
    normal = axis.cross(w)
    short = lt(perpendicular.dot(perpendicular), by_type((_NEGLIGIBLE * arm.length) ** 2))
    return w, _unit(_select(short, normal - w * w.dot(normal), perpendicular), 1.0)


def _world_frame(arm: AxisGeometry, s: Vec3) -> tuple[Vec3, Vec3, Vec3]:
    """Return unit vectors s, u and s × u: s from shoulder to wrist, u normal to s, on the side of the first axis.

    If the wrist is on the first axis, u is on the side of x instead.
    """
    s = _unit(s, arm.length)
    up = Vec3(-s.z * s.x, -s.z * s.y, s.x * s.x + s.y * s.y)  # z minus its component along s
    aside = Vec3(1.0 - s.x * s.x, -s.x * s.y, -s.x * s.z)
    u = _unit(_select(lt(s.x * s.x + s.y * s.y, by_type(_NEGLIGIBLE * _NEGLIGIBLE)), aside, up), 1.0)
    return s, u, s.cross(u)


def _rotated(angle: UnitAngle, twist: UnitAngle | None, v: Vec3) -> Vec3:
    """Return Rz(θ) Rx(α) v with the angle θ and the twist α; Rz(θ) v if the twist is None."""
    if twist is not None:
        y, z = twist.rotated(v.y, v.z)
        v = Vec3(v.x, y, z)
    x, y = angle.rotated(v.x, v.y)
    return Vec3(x, y, v.z)


def _unit(v: Vec3, size: float) -> Vec3:
    """Return the direction of a vector; z if it is negligible relative to ``size``."""
    square = v.dot(v)
    known = lt((_NEGLIGIBLE * size) * (_NEGLIGIBLE * size), square)
    scale = where(known, 1.0 / sqrt(where(known, square, 1.0)), 0.0)
    return Vec3(v.x * scale, v.y * scale, where(known, v.z * scale, 1.0))


def _select(condition: Any, u: Vec3, v: Vec3) -> Vec3:
    return Vec3(*(where(condition, a, b) for a, b in zip(u, v, strict=True)))


def _frame(w: Vec3, e: Vec3) -> list[list[Any]]:
    """Return the matrix with columns w, e and w × e, as rows."""
    return [list(row) for row in zip(w, e, w.cross(e), strict=True)]


def _transposed_product(R: list[list[Any]], S: list[list[Any]]) -> list[list[Any]]:
    """Return the matrix product Rᵀ S."""
    return [[sum(R[k][i] * S[k][j] for k in range(3)) for j in range(3)] for i in range(3)]


_ALIGNED = by_type(1e-12)  # sine of the angle between aligned axes, for rounding
Matrix = Sequence[Sequence[Any]]


class ThreeAngles(NamedTuple):
    """Angles (θ1, θ2, θ3) of a rotation about three axes; ``counts`` is False if an earlier solution is the same."""

    first: UnitAngle
    second: UnitAngle
    third: UnitAngle
    counts: Any


def rotated_about_z(angle: UnitAngle, R: Matrix) -> list[list[Any]]:
    """Return Rz(θ)ᵀ R: the rotation R without a first rotation by the angle θ about z."""
    x, y = zip(*(angle.rotated_back(a, b) for a, b in zip(R[0], R[1], strict=True)), strict=True)
    return [list(x), list(y), list(R[2])]


def twisted(twist: UnitAngle, R: Matrix) -> list[list[Any]]:
    """Return Rx(α)ᵀ R: the rotation R without a first rotation by the ``twist`` α about x."""
    y, z = zip(*(twist.rotated_back(a, b) for a, b in zip(R[1], R[2], strict=True)), strict=True)
    return [list(R[0]), list(y), list(z)]


def three_angles(
    R: Matrix, alpha: UnitAngle, beta: UnitAngle, in_line: Callable[[UnitAngle], UnitAngle] | None = None
) -> list[ThreeAngles]:
    """Return the two solutions of R = Rz(θ1) Rx(α) Rz(θ2) Rx(β) Rz(θ3); the second is not distinct if both coincide.

    The solutions coincide if the first and third axis are aligned, or as near to alignment as the twists α and β
    permit. For aligned axes θ1 is ``in_line(θ2)``.  Near alignment, θ1 of the two solutions differs by half a
    revolution, however small the difference in θ2.
    """
    ux, uy, uz = R[0][2], R[1][2], R[2][2]
    low, high = sorted((alpha.plus(beta).cos, alpha.minus(beta).cos))
    w = sqrt(fmax(_between(uz, low, high, ux * ux + uy * uy), 0.0))
    scale = alpha.sin * beta.sin
    s, c = w / scale, (alpha.cos * beta.cos - uz) / scale
    perpendicular = ux * ux + uy * uy
    differ = lt(fmax(SAME * SAME * perpendicular, by_type(_ALIGNED * _ALIGNED)), beta.sin * beta.sin * s * s)
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
    """Return the angles of R = Rz(θ1) Rx(α) Rz(θ2) Rx(β) Rz(θ3) near an approximate θ2, ``second``.

    ``counts`` is a condition that is stored in the result: False if the solution repeats another. If the first and
    third axis are aligned, θ1 is ``in_line(θ2)``.
    """
    c, s = second
    ux, uy = R[0][2], R[1][2]
    # Rx(α) Rz(θ2) Rx(β) z, which Rz(θ1) rotates to u
    vx, vy = s * beta.sin, -(alpha.cos * beta.sin * c + alpha.sin * beta.cos)
    first = UnitAngle.along(vx * ux + vy * uy, vx * uy - vy * ux)
    if in_line is not None:
        not_aligned, aligned = lt(by_type(_ALIGNED * _ALIGNED), ux * ux + uy * uy), in_line(second)
        first = UnitAngle(where(not_aligned, first.cos, aligned.cos), where(not_aligned, first.sin, aligned.sin))
    inside = twisted(alpha, rotated_about_z(first, R))  # Rz(θ2) Rx(β) Rz(θ3)
    sign = 1.0 / beta.sin
    second = UnitAngle(-inside[1][2] * sign, inside[0][2] * sign)
    third_rows = rotated_about_z(second, inside)  # Rx(β) Rz(θ3): its first row is (cos θ3, −sin θ3, 0)
    return ThreeAngles(first, second, UnitAngle(third_rows[0][0], -third_rows[0][1]), counts)


def _between(u: Any, low: float, high: float, square: Any) -> Any:
    """Return (u − low)(high − u) without cancellation at ±1; ``square`` is 1 − u²."""
    if low == -1.0 and high == 1.0:
        return square
    above = where(lt(u, 0.0), square / (1.0 + fabs(u)), 1.0 + u) if low == -1.0 else u - low
    below = where(lt(0.0, u), square / (1.0 + fabs(u)), 1.0 - u) if high == 1.0 else high - u
    return above * below
