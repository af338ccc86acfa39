"""Unit axes: what the joints about or along an axis have in common."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork.expr.scalar.functions import and_, atan2, lt, sqrt, where
from linkwork.joints.base.checks import refused
from linkwork.spatial import Motion, Pose, Rotation, Symmetric3, Vec3

__all__ = ["across", "angle_about", "circle_about", "off_axis", "orthogonal", "random_axis", "swing", "unit_axis"]


def unit_axis(axis: Any, of: str = "", name: str = "axis") -> Vec3:
    """The axis as a unit vector.  Raises ValueError where it is zero, not finite or not three numbers.

    ``of`` is the type of the joint and ``name`` the parameter's, for the message.
    """
    try:
        if isinstance(axis, (str, bytes, np.ma.MaskedArray)) or any(isinstance(a, (str, bytes, bool)) for a in axis):
            raise TypeError
        x, y, z = (float(a) for a in axis)
    except (TypeError, ValueError):
        raise refused(of, name, "three numbers", repr(axis)) from None
    length, largest = math.hypot(x, y, z), max(abs(x), abs(y), abs(z))
    if not all(map(math.isfinite, (x, y, z))) or largest == 0.0:
        raise refused(of, name, "three finite numbers that are not all zero", str((x, y, z)))
    if abs(length - 1.0) < 4e-16:  # already as near to 1 as floats come
        return Vec3(x, y, z)
    if not 1e-150 < length < 1e150:  # its square is beyond the floats, or it is itself
        return unit_axis((x / largest, y / largest, z / largest), of, name)
    return Vec3(x / length, y / length, z / length)


def orthogonal(first: Vec3, second: Vec3, of: str, names: str) -> None:
    """Raises ValueError where two unit axes are not at a right angle, within 1e-9."""
    cosine = first.dot(second)
    if abs(cosine) > 1e-9:
        got = f"{(*first,)} and {(*second,)}, at {math.degrees(math.acos(max(-1.0, min(1.0, cosine)))):.6g}°"
        raise refused(of, names, "two axes at a right angle", got, "take the part of one across the other")


def across(J: Symmetric3, a: Vec3) -> Symmetric3:
    """J − γ (1 − a aᵀ) with γ = ½ tr(J) − aᵀJa: the rotational inertia of a flat body, across a.

    About a coordinate axis, z say, that is J_xx + J_yy = J_zz, which holds without rounding.
    """
    diagonal = [J.xx, J.yy, J.zz]
    for k in range(3):
        if [abs(x) for x in a] == [float(i == k) for i in range(3)]:
            small, large = sorted(((k + 1) % 3, (k + 2) % 3), key=diagonal.__getitem__)
            diagonal[large] = 0.5 * (diagonal[k] + (diagonal[large] - diagonal[small]))
            diagonal[small] = diagonal[k] - diagonal[large]
            return Symmetric3(diagonal[0], J.xy, J.xz, diagonal[1], J.yz, diagonal[2])
    gamma = 0.5 * (J.xx + J.yy + J.zz) - a.dot(J @ a)
    plane = Symmetric3(1.0 - a.x * a.x, -a.x * a.y, -a.x * a.z, 1.0 - a.y * a.y, -a.y * a.z, 1.0 - a.z * a.z)
    flat: Symmetric3 = J - plane * gamma
    return flat


def swing(axis: Vec3, other: Vec3) -> Vec3:
    """The shortest rotation vector that turns a unit axis, known in advance, to another one; π long where they are
    opposite, about one of the axes across.
    """
    across, along = axis.cross(other), axis.dot(other)
    s2 = across.dot(across)
    near, opposite = and_(lt(s2, 1e-8), lt(0.0, along)), and_(lt(s2, 1e-24), lt(along, 0.0))
    sine = sqrt(where(lt(s2, 1e-24), 1.0, s2))
    scale = where(near, 1.0 + s2 * (1.0 / 6.0 + s2 * (3.0 / 40.0)), atan2(sine, along) / sine)
    least = min(range(3), key=lambda k: abs([*axis][k]))
    half_turn = unit_axis(axis.cross(Vec3.of([float(k == least) for k in range(3)]))) * math.pi
    return Vec3.of([where(opposite, h, x * scale) for h, x in zip(half_turn, across, strict=True)])


def circle_about(axis: Vec3, R: Rotation) -> tuple[Any, Any]:
    """Sine and cosine, times a positive number, of the turn about a unit axis that comes nearest to a rotation.

    The turn by no angle where all are as near: half a turn about an axis across.
    """
    twice_sin = axis.dot(Vec3(R.z.y - R.y.z, R.x.z - R.z.x, R.y.x - R.x.y))
    twice_cos = R.x.x + R.y.y + R.z.z - axis.dot(R @ axis)
    none = lt(twice_sin * twice_sin + twice_cos * twice_cos, 1e-24)
    return where(none, 0.0, twice_sin), where(none, 1.0, twice_cos)


def angle_about(axis: Vec3, R: Rotation) -> Any:
    """The angle [rad], in [−π, π], of the turn about a unit axis that comes nearest to a rotation."""
    s, c = circle_about(axis, R)
    return atan2(s, c)


def off_axis(axis: Vec3, X: Pose, along: Any) -> Motion:
    """What is left to X from the nearest turn about a unit axis that has gone so far along it, in X's axes.

    The shortest turn that takes the axis to where X has it, and the way to X's origin.
    """
    R = X.rotation
    return Motion(-swing(axis, R.inv_act(axis)), R.inv_act(X.translation - axis * along))


def random_axis(rng: np.random.Generator) -> Vec3:
    """A direction drawn evenly from the sphere."""
    return unit_axis(rng.normal(size=3))
