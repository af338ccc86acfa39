"""Seven axes: the first three go through the shoulder S, the last three through the wrist W, the fourth is the elbow.

The distance from S to W tells θ4, twice.  Then the arm turns about the line from S to W, by the elbow angle ψ: w and e
are the directions, in the frame after axis 3, to W and to the elbow, which is the point of axis 4 that is nearest to S,
as far as it is beside that line; s and u are those in the world, to W and, beside the line to it, along the first axis.

    R₀₃ = [s, v, s × v] [w, e, w × e]ᵀ,        v = u cos ψ + s × u sin ψ.

ψ = 0 where the elbow is on the side of the line to which the first axis points.  Where the arm is stretched e is normal
to axis 4, and where W is on the first axis u is along x of the first normal.  R₀₃ and the rotation that is left are
three angles each (`wrist_angles.py`).

Sources: Hollerbach, Optimum kinematic design for a seven degree of freedom manipulator, Robotics Research, 1985;
Shimizu et al., Analytical inverse kinematic computation for 7-DOF redundant manipulators with joint limits and its
application to redundancy resolution, IEEE Transactions on Robotics 24, 2008.
"""

from __future__ import annotations

from typing import Any

from linkwork.expr.scalar.functions import lt, sqrt, where
from linkwork.ik.algorithms.closed_form.axis_geometry import ArmSolution, AxisGeometry, both
from linkwork.ik.algorithms.closed_form.cos_sin_pair import UnitAngle, equation
from linkwork.ik.algorithms.closed_form.wrist_angles import three_angles, turned_about_z, twisted
from linkwork.spatial import Pose, Vec3

__all__ = ["elbow_angle", "elbow_arm"]

_SHORT = 1e-9  # parts of the arm's length below which a direction is none


def elbow_arm(arm: AxisGeometry, X: Pose, psi: Any) -> list[ArmSolution]:
    """Eight solutions of an elbow angle ψ [rad]: two of the elbow, each with two shoulders and two wrists."""
    direction = UnitAngle.of(psi)
    s = X.translation
    found = []
    for bend, reached in _bends(arm, s):
        w, e = _arm_frame(arm, bend)
        _, v0, v1 = _world_frame(arm, s)
        v = v0 * direction.cos + v1 * direction.sin
        to, of = _frame(_unit(s, arm.length), v), _frame(w, e)
        R03 = [[sum(a[k] * b[k] for k in range(3)) for b in of] for a in to]
        rest = _turned(R03, X.rotation.rows())
        rest = twisted(arm.twist[3], turned_about_z(bend, twisted(arm.twist[2], rest)))
        wrists = three_angles(rest, arm.twist[4], arm.twist[5])
        for shoulder in three_angles(R03, arm.twist[0], arm.twist[1]):
            for wrist in wrists:
                angles = (*shoulder[:3], bend, *wrist[:3])
                found.append(ArmSolution(angles, both(reached, both(shoulder.counts, wrist.counts))))
    return found


def elbow_angle(arm: AxisGeometry, angles: tuple[UnitAngle, ...]) -> Any:
    """ψ of a configuration, given by the angles about the first four axes [rad]."""
    bend = angles[3]
    w, e = _arm_frame(arm, bend)
    for angle, twist in zip(angles[2::-1], (None, arm.twist[1], arm.twist[0]), strict=True):
        w, e = (_carried(angle, twist, x) for x in (w, e))
    _, v0, v1 = _world_frame(arm, w * arm.length)
    return UnitAngle(v0.dot(e), v1.dot(e)).angle()


def _bends(arm: AxisGeometry, s: Vec3) -> list[tuple[UnitAngle, Any]]:
    """θ4 of ‖W − S‖ = ‖s‖."""
    # before axis 4 turns, in the frame of its foot: S, and W turned by θ4
    start = Vec3(-arm.a[2], -arm.twist[2].sin * arm.d[2], -arm.twist[2].cos * arm.d[2] - arm.d[3])
    end = Vec3(arm.a[3], -arm.twist[3].sin * arm.d[4], arm.twist[3].cos * arm.d[4])
    flat = s.dot(s) - start.dot(start) - end.dot(end) + 2.0 * start.z * end.z
    cos, sin = -2.0 * (start.x * end.x + start.y * end.y), -2.0 * (start.y * end.x - start.x * end.y)
    pair = equation(cos, sin, flat)
    return [(pair.first, True), (pair.second, pair.differ)]


def _arm_frame(arm: AxisGeometry, bend: UnitAngle) -> tuple[Vec3, Vec3]:
    """Directions to W and to the elbow beside it, after axis 3."""
    twist = arm.twist[2]
    axis = Vec3(0.0, -twist.sin, twist.cos)
    foot = Vec3(arm.a[2], 0.0, arm.d[2])
    x, y = bend.turned(arm.a[3], -arm.twist[3].sin * arm.d[4])
    z = arm.twist[3].cos * arm.d[4] + arm.d[3]
    W = foot + Vec3(x, *twist.turned(y, z))
    w = _unit(W, arm.length)
    elbow = foot - axis * foot.dot(axis)
    beside = elbow - w * w.dot(elbow)
    other = axis.cross(w)
    short = lt(beside.dot(beside), (_SHORT * arm.length) * (_SHORT * arm.length))
    return w, _unit(_chosen(short, other - w * w.dot(other), beside), 1.0)


def _world_frame(arm: AxisGeometry, s: Vec3) -> tuple[Vec3, Vec3, Vec3]:
    """s, u and s × u."""
    s = _unit(s, arm.length)
    up = Vec3(-s.z * s.x, -s.z * s.y, s.x * s.x + s.y * s.y)  # z less its part along s
    aside = Vec3(1.0 - s.x * s.x, -s.x * s.y, -s.x * s.z)
    u = _unit(_chosen(lt(s.x * s.x + s.y * s.y, _SHORT * _SHORT), aside, up), 1.0)
    return s, u, s.cross(u)


def _carried(angle: UnitAngle, twist: UnitAngle | None, v: Vec3) -> Vec3:
    """Rx(α) after it, Rz(θ) of a vector; without a twist the latter alone."""
    if twist is not None:
        y, z = twist.turned(v.y, v.z)
        v = Vec3(v.x, y, z)
    x, y = angle.turned(v.x, v.y)
    return Vec3(x, y, v.z)


def _unit(v: Vec3, size: float) -> Vec3:
    """The direction of a vector; along z where it is nothing beside the size."""
    square = v.dot(v)
    known = lt((_SHORT * size) * (_SHORT * size), square)
    scale = where(known, 1.0 / sqrt(where(known, square, 1.0)), 0.0)
    return Vec3(v.x * scale, v.y * scale, where(known, v.z * scale, 1.0))


def _chosen(condition: Any, one: Vec3, other: Vec3) -> Vec3:
    return Vec3(*(where(condition, a, b) for a, b in zip(one, other, strict=True)))


def _frame(w: Vec3, e: Vec3) -> list[list[Any]]:
    """The matrix of columns w, e and w × e, as rows."""
    return [list(row) for row in zip(w, e, w.cross(e), strict=True)]


def _turned(R: list[list[Any]], other: list[list[Any]]) -> list[list[Any]]:
    """Rᵀ times the other."""
    return [[sum(R[k][i] * other[k][j] for k in range(3)) for j in range(3)] for i in range(3)]
