"""Unit axes, rotations about them and inertias across them, shared by joints with an axis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork._util.validation import is_masked
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, atan2, lt, sqrt, where
from linkwork.joints.base.checks import parameter_error
from linkwork.spatial import Motion, Pose, Rotation, Symmetric3, Vec3

__all__ = [
    "angle_about",
    "axis_residual",
    "check_orthogonal",
    "coordinate_axis",
    "flat_inertia",
    "random_axis",
    "scaled_sin_cos_about",
    "swing",
    "unit_axis",
]


_COORDINATE_AXES = {
    f"{sign}{name}": tuple(float(f"{sign}1") * (k == j) + 0.0 for j in range(3))
    for sign in ("", "-")
    for k, name in enumerate("xyz")
}


def unit_axis(axis: Any, of: str = "", name: str = "axis") -> Vec3:
    """Return an axis as a unit vector: from three numbers, or "x", "y", "z", "-x", "-y" or "-z" of its frame.

    Raises ValueError for a zero, non-finite or wrongly sized axis.  ``of`` is the name of the joint type and ``name``
    that of the parameter, for the message.
    """
    axis = coordinate_axis(axis)
    try:
        if isinstance(axis, (str, bytes)) or is_masked(axis) or any(isinstance(a, (str, bytes, bool)) for a in axis):
            raise TypeError
        x, y, z = (float(a) for a in axis)
    except (TypeError, ValueError):
        expected = "three numbers, or 'x', 'y' or 'z'" if isinstance(axis, str) else "three numbers"
        raise parameter_error(of, name, expected, repr(axis)) from None
    length, largest = math.hypot(x, y, z), max(abs(x), abs(y), abs(z))
    if not all(map(math.isfinite, (x, y, z))) or largest == 0.0:
        raise parameter_error(of, name, "three finite numbers, not all zero", str((x, y, z)))
    if abs(length - 1.0) < 4e-16:  # already of unit length up to rounding
        return Vec3(x, y, z)
    if not 1e-150 < length < 1e150:  # its square overflows or underflows
        return unit_axis((x / largest, y / largest, z / largest), of, name)
    return Vec3(x / length, y / length, z / length)


def coordinate_axis(axis: Any) -> Any:
    """Return three numbers for the name of a coordinate axis, such as "z" or "-z"; any other value as it is."""
    return _COORDINATE_AXES.get(axis, axis) if isinstance(axis, str) else axis


def check_orthogonal(first: Vec3, second: Vec3, of: str, names: str) -> None:
    """Raise ValueError unless two unit axes are perpendicular within 1e-9."""
    cosine = first.dot(second)
    if abs(cosine) > 1e-9:
        got = f"{(*first,)} and {(*second,)}, at {math.degrees(math.acos(max(-1.0, min(1.0, cosine)))):.6g}°"
        remedy = "use the component of one perpendicular to the other"
        raise parameter_error(of, names, "two axes at a right angle", got, remedy)


def flat_inertia(J: Symmetric3, a: Vec3) -> Symmetric3:
    """Return the rotational inertia without the spread of mass along the unit axis a, as for a flat body.

    It is J − γ (1 − a aᵀ), γ = ½ tr(J) − aᵀJa.  For a coordinate axis, say z, the result satisfies J_xx + J_yy = J_zz
    without rounding.
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


def swing(axis: Vec3, target: Vec3) -> Vec3:
    """Return the shortest rotation vector that rotates a constant unit axis to the unit vector ``target``.

    Its length is π if axis and target are opposite; the rotation is then about an axis perpendicular to them.
    """
    normal, along = axis.cross(target), axis.dot(target)
    s2 = normal.dot(normal)
    near, opposite = and_(lt(s2, 1e-8), lt(0.0, along)), and_(lt(s2, by_type(1e-24)), lt(along, 0.0))
    sine = sqrt(where(lt(s2, by_type(1e-24)), 1.0, s2))
    scale = where(near, 1.0 + s2 * (1.0 / 6.0 + s2 * (3.0 / 40.0)), atan2(sine, along) / sine)
    least = min(range(3), key=lambda k: abs([*axis][k]))
    half_turn = unit_axis(axis.cross(Vec3.of([float(k == least) for k in range(3)]))) * math.pi
    return Vec3.of([where(opposite, h, x * scale) for h, x in zip(half_turn, normal, strict=True)])


def scaled_sin_cos_about(axis: Vec3, R: Rotation) -> tuple[Any, Any]:
    """Return (c sin θ, c cos θ), c > 0: the rotation by the angle θ about a unit axis approximates R best.

    Where all angles θ are equally good, the result is (0, 1): R is half a revolution about a perpendicular axis.
    """
    twice_sin = axis.dot(Vec3(R.z.y - R.y.z, R.x.z - R.z.x, R.y.x - R.x.y))
    twice_cos = R.x.x + R.y.y + R.z.z - axis.dot(R @ axis)
    is_half_turn = lt(twice_sin * twice_sin + twice_cos * twice_cos, by_type(1e-24))
    return where(is_half_turn, 0.0, twice_sin), where(is_half_turn, 1.0, twice_cos)


def angle_about(axis: Vec3, R: Rotation) -> Any:
    """Return the angle [rad], in [−π, π], of the rotation about a unit axis that is nearest to R."""
    s, c = scaled_sin_cos_about(axis, R)
    return atan2(s, c)


def axis_residual(axis: Vec3, X: Pose, along: Any) -> Motion:
    """Return the residual (rotation vector; vector) of a pose X that a joint with this unit axis should reach.

    The joint turns about the axis and moves along it by ``along`` [m]. The rotation vector is the shortest that turns
    the joint's axis to the same axis in X. The vector leads from the point at ``along`` on the axis to X's origin.
    Both are in X's axes.
    """
    R = X.rotation
    return Motion(-swing(axis, R.inv_act(axis)), R.inv_act(X.translation - axis * along))


def random_axis(rng: np.random.Generator) -> Vec3:
    """Return a direction drawn uniformly from the unit sphere."""
    return unit_axis(rng.normal(size=3))
