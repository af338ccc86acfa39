"""Checks of the values of links and joints: impossible ones (errors) and suspicious ones (warnings).

Rotational inertias: with Σ = ∫ r rᵀ dm, the second moments of mass about the centre, the rotational inertia is J =
tr(Σ) 1 − Σ.  A mass distribution has it exactly if and only if Σ = ½ tr(J) 1 − J has no negative eigenvalue.  This
condition includes moments that are not negative and the triangle inequality between them.  (Σ is the upper block of the
pseudo-inertia, a 4 × 4 matrix of the ten inertial parameters, about the centre of mass; see Wensing, Kim and Slotine,
2018.)

The nearest possible inertia is that of the nearest such Σ in the Frobenius norm, which does not depend on the axes: the
negative second moments along principal axes become zero; all others, the mass and its centre are unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Real
from operator import lt
from typing import Any

import numpy as np

from linkwork._util.messages import quoted
from linkwork.errors import Findings, Issue, Location
from linkwork.model.body import Drive, Limits
from linkwork.model.description import Description, JointDescription, LinkDescription
from linkwork.shapes import Geometry
from linkwork.spatial import Inertia, Pose, Symmetric3, Vec3
from linkwork.spatial.arguments import LARGEST, RIGID

__all__ = [
    "MAX_INERTIA_CHANGE",
    "all_finite",
    "check_inertial",
    "check_joint_values",
    "check_values",
    "inertia_problems",
    "looks_like_degrees",
    "mass_properties",
    "moments_possible",
    "nearest_physical",
    "principal_moments",
]


def check_values(findings: Findings, description: Description) -> None:
    """Record an error or a warning for each impossible or suspicious value of a link, joint or frame.

    Within the bounds, products formed by algorithms stay finite.

    Errors: NUMBER (not a number), NOT_FINITE, MAGNITUDE (beyond 1e20), ARITY, NEGATIVE, MASS_NEGATIVE, ROTATION,
    LIMIT_FINITE (a limit that is nan), LIMIT_ORDER, FRICTION_ORDER (less at rest than in motion), ZERO_VALUE (a gear
    ratio, a scale of friction).  Warning: MAGNITUDE (beyond `SUSPICIOUS`).
    """
    for link in description.links:
        _check_link(_Log(findings, f"link {quoted(link.name)}", link.where), link)
    for joint in description.joints:
        check_joint_values(findings, joint)
    for frame in description.frames:
        _check_pose(_Log(findings, f"frame {quoted(frame.name)}", frame.where), "its placement", frame.placement)


class _Log:
    """Recorder of errors and warnings about one link or joint."""

    def __init__(self, findings: Findings, caller: str, where: Location) -> None:
        self.findings, self.caller, self.where = findings, caller, where

    def error(self, code: str, message: str) -> bool:
        self.findings.error(Issue(code, f"{self.caller}: {message}", self.where))
        return False

    def check_finite(self, label: str, values: Iterable[Any], largest: float = LARGEST) -> bool:
        """Return True if the values are finite numbers within bounds; else record an error."""
        values = tuple(values)
        if not all(isinstance(x, Real) for x in values):
            return self.error("NUMBER", f"{label}: expected numbers, got {quoted(str(values))}")
        if not all_finite(values):
            return self.error("NOT_FINITE", f"{label}: expected finite numbers, got {_listed(values)}")
        if any(abs(x) > largest for x in values):
            message = f"{label}: {_listed(values)} is beyond {largest:.0e}: products of such values overflow"
            return self.error("MAGNITUDE", message)
        return True

    def check_lengths(self, label: str, values: Sequence[float]) -> None:
        if self.check_finite(label, values) and any(abs(x) > SUSPICIOUS for x in values):
            message = f"{self.caller}: suspicious magnitude: {label} {_listed(values)} m"
            self.findings.warn(Issue("MAGNITUDE", message, self.where, "lengths are in m"))


def _check_link(log: _Log, link: LinkDescription) -> None:
    for kind, shapes in (("visual", link.visuals), ("collision", link.collisions)):
        for shape in shapes:
            _check_pose(log, f"its {kind} shape", shape.origin)
    inertia = link.inertia
    if inertia is _NO_INERTIA or inertia == _NO_INERTIA:
        return
    sound = (
        log.check_finite("mass", (inertia.mass,)),
        log.check_finite("first moments of mass", inertia.moment, LARGEST**2),
        log.check_finite("moments of inertia about its origin", inertia.about.elements(), 10.0 * LARGEST**3),
    )
    if all(sound) and inertia.mass < 0.0:
        log.error("MASS_NEGATIVE", f"mass must not be negative, got {inertia.mass!r}")


def check_joint_values(findings: Findings, joint: JointDescription) -> None:
    """Record an error for each impossible value of one joint."""
    log = _Log(findings, f"joint {quoted(joint.name)}", joint.where)
    for quantity, pose in (("its placement", joint.placement), ("its rotor", joint.rotor)):
        _check_pose(log, quantity, pose)
    sizes = (
        ("lower limits", joint.limits.lower, joint.joint.nq),
        ("upper limits", joint.limits.upper, joint.joint.nq),
        ("velocity limits", joint.limits.velocity, joint.joint.nv),
        ("effort limits", joint.limits.effort, joint.joint.nv),
        *((name, values, joint.joint.nv) for name, values in _rate_limits(joint.limits) if values),
        ("damping", joint.damping, joint.joint.nv),
        ("friction", joint.friction, joint.joint.nv),
    )
    sound = True
    for quantity, values, size in sizes:
        if len(values) != size:
            sound = log.error("ARITY", f"{quantity}: expected {size} numbers, got {len(values)}: {_listed(values)}")
        elif quantity.endswith("limits"):
            sound = _check_limits(log, quantity, values) and sound
        elif log.check_finite(quantity, values) and min(values, default=0.0) < 0.0:
            log.error("NEGATIVE", f"{quantity} must not be negative, got {_listed(values)}")
    if sound:
        _check_bounds(log, joint)
    _check_drive(log, joint)
    if joint.mimic is not None:
        log.check_finite("its mimic", (joint.mimic.ratio, joint.mimic.offset))


def _check_drive(log: _Log, joint: JointDescription) -> None:
    """Record an error for each value of a joint's drive with a wrong size or sign, or that must not be zero."""
    drive, nv = joint.drive, joint.joint.nv
    if drive == _NO_DRIVE:
        return
    sound = True
    for key in ("armature", "stiffness", "static_friction", "friction_velocity", "gear_ratio", "rest"):
        quantity, values = key.replace("_", " "), getattr(drive, key)
        size = joint.joint.nq if key == "rest" else nv
        if values and len(values) != size:
            sound = log.error("ARITY", f"{quantity}: expected {size} numbers, got {len(values)}: {_listed(values)}")
        elif not log.check_finite(quantity, values):
            sound = False
        elif key not in ("gear_ratio", "rest") and min(values, default=0.0) < 0.0:
            sound = log.error("NEGATIVE", f"{quantity} must not be negative, got {_listed(values)}")
        elif key in ("gear_ratio", "friction_velocity") and 0.0 in values:
            sound = log.error("ZERO_VALUE", f"{quantity} must not be zero, got {_listed(values)}")
    if sound and len(joint.friction) == nv and any(map(lt, drive.static_friction, joint.friction)):
        message = f"static friction {_listed(drive.static_friction)} is less than the friction of motion"
        log.error("FRICTION_ORDER", f"{message}, {_listed(joint.friction)}")


def _check_limits(log: _Log, label: str, values: Sequence[float]) -> bool:
    """Return True if the limits are real and not NaN, else record an error; ±inf means no limit."""
    if any(isinstance(x, Real) and x != x for x in values):
        return log.error("LIMIT_FINITE", f"{label}: expected numbers, got {_listed(values)}")
    return log.check_finite(label, [x for x in values if x not in (-math.inf, math.inf)])


def _check_bounds(log: _Log, joint: JointDescription) -> None:
    limits = joint.limits
    for lower, upper in zip(limits.lower, limits.upper, strict=True):
        if lower > upper or lower == math.inf or upper == -math.inf:
            log.error("LIMIT_ORDER", f"lower limit {lower!r} is above upper limit {upper!r}")
    if any(map(looks_like_degrees, *_angle_bounds(joint))) and not _is_reported(log, "LIMIT_UNITS"):
        shown = " and ".join(f"from {lower:g} to {upper:g}" for lower, upper in zip(*_angle_bounds(joint), strict=True))
        message = f"{log.caller}: limits {shown} rad are more than two turns: are they in degrees?"
        log.findings.warn(Issue("LIMIT_UNITS", message, log.where, "limits of rotations are in rad"))
    positive = (("velocity limits", limits.velocity), ("effort limits", limits.effort), *_rate_limits(limits))
    for quantity, values in positive:
        if min(values, default=0.0) < 0.0:
            log.error("NEGATIVE", f"{quantity} must not be negative, got {_listed(values)}")


def _is_reported(log: _Log, code: str) -> bool:
    """Return True if a reader has reported a problem of this kind in the joint, with the line of the file."""
    element = log.where.element
    issues = (*log.findings.warnings, *log.findings.errors)
    return element is not None and any(x.code == code and (x.where.element or "").startswith(element) for x in issues)


def _angle_bounds(joint: JointDescription) -> tuple[list[float], list[float]]:
    """Return the lower and upper limits of the angles of a joint."""
    bounds = zip(joint.limits.lower, joint.limits.upper, joint.joint.q_units, strict=True)
    pairs = [(lower, upper) for lower, upper, unit in bounds if unit == "rad"]
    return [lower for lower, _ in pairs], [upper for _, upper in pairs]


def _rate_limits(limits: Limits) -> tuple[tuple[str, tuple[float, ...]], ...]:
    return ("acceleration limits", limits.acceleration), ("jerk limits", limits.jerk)


def _check_pose(log: _Log, label: str, pose: Pose) -> None:
    if pose is _IDENTITY or pose == _IDENTITY:
        return
    log.check_lengths(f"{label}'s offset", tuple(pose.translation))
    rows = [tuple(row) for row in (pose.rotation.x, pose.rotation.y, pose.rotation.z)]
    if not log.check_finite(f"{label}'s rotation", (x for row in rows for x in row)):
        return
    x, y, z = rows
    products = (_dot(x, x) - 1.0, _dot(y, y) - 1.0, _dot(z, z) - 1.0, _dot(x, y), _dot(x, z), _dot(y, z))
    turned = (x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0])
    if max(map(abs, products)) > RIGID or _dot(turned, z) < 0.0:
        log.error("ROTATION", f"{label}'s rotation is invalid: expected orthonormal, right-handed rows, got {rows!r}")


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(f"{x!r}" for x in values[:10])


_IDENTITY = Pose.identity()
_NO_DRIVE = Drive()
_NO_INERTIA = Inertia.zero()


MAX_INERTIA_CHANGE = (
    0.5  # relative: half of the second moments of mass, beyond which what is given tells little of the body
)
SUSPICIOUS = 1e12  # values beyond it are suspicious
_TINY = 1e-12  # masses below it [kg] are suspicious
_ROUNDING = 5e-6  # relative: half a unit of the sixth digit, as many tools print inertias
_POINT = 1e-6  # radius of gyration [m] below which moments are rounding of a point mass
_FAR = 10.0  # suspicious distance, relative to the size of the link's shapes
_LARGE = 10.0  # suspicious radius of gyration [m] if the shapes' size is unknown


def check_inertial(
    findings: Findings,
    where: Location,
    mass: float,
    center: Vec3,
    about: Symmetric3,
    shapes: Sequence[Geometry],
    *,
    nearest: bool | None = None,
) -> Inertia:
    """Return the inertia about the link's origin of a mass [kg] at ``center`` [m], after checks.

    ``about`` is the rotational inertia about the centre of mass [kg m²], in the link's axes; ``shapes`` are the link's
    shapes.  With ``nearest``, an impossible rotational inertia is replaced by the nearest possible one, if that is
    within `MAX_INERTIA_CHANGE`.  None means that the user has no such choice, and hints do not mention it.

    Errors: MASS_NEGATIVE, INERTIA_NOT_PSD, INERTIA_FAR, NOT_FINITE, MAGNITUDE (values beyond `LARGEST`).  Warnings:
    MAGNITUDE (values beyond `SUSPICIOUS`), MASS_ZERO, INERTIA_TRIANGLE, INERTIA_NEAREST, INERTIA_UNITS, COM_FAR.
    """
    for quantity, unit, values, largest in (
        ("mass", "kg", (mass,), LARGEST),
        ("centre of mass", "m", tuple(center), LARGEST),
        ("moments of inertia", "kg m²", about.elements(), LARGEST**3),
    ):
        shown = _rounded(values)
        if not all_finite(values):
            findings.error(Issue("NOT_FINITE", f"{quantity}: expected finite numbers, got {shown} {unit}", where))
            return Inertia.zero()
        if max(map(abs, values)) > largest:
            message = f"{quantity}: {shown} {unit} is beyond {largest:.0e}: products of such values overflow"
            findings.error(Issue("MAGNITUDE", message, where))
            return Inertia.zero()
    if mass < 0.0:
        findings.error(Issue("MASS_NEGATIVE", f"mass must not be negative, got {mass!r}", where))
        return Inertia.zero()
    errors = len(findings.errors)
    about = _possible(findings, where, mass, about, nearest)
    if len(findings.errors) > errors:
        return Inertia.zero()
    inertia = Inertia.at_center(mass, center, about)
    low, middle, high = principal_moments(about)
    shown = _rounded((low, middle, high))
    if mass == 0.0:
        if high > 0.0:
            findings.warn(Issue("MASS_ZERO", f"mass is zero but the moments of inertia are {shown} kg m²", where))
    elif not _TINY <= mass <= SUSPICIOUS:
        findings.warn(Issue("MAGNITUDE", f"suspicious magnitude: a mass of {mass:.6g} kg", where, "masses are in kg"))
    elif max(map(abs, center)) > SUSPICIOUS:
        message = f"suspicious magnitude: a centre of mass {max(map(abs, center)):.6g} m away"
        findings.warn(Issue("MAGNITUDE", message, where, "lengths are in m"))
    else:
        _check_size(findings, where, math.sqrt(max(high, 0.0) / mass), center, shapes)
    return inertia


def _possible(findings: Findings, where: Location, mass: float, about: Symmetric3, nearest: bool | None) -> Symmetric3:
    """Return the rotational inertia about the centre of mass; with ``nearest``, an impossible one is replaced.

    The replacement is the nearest possible one.  Records an error or a warning about an impossible inertia.
    """
    moments = principal_moments(about)
    negative, possible = moments_possible(mass, moments)
    if possible:
        return about
    message = f"no body has the principal moments {_rounded(moments)} kg m²: the largest exceeds the sum of the others"
    if negative:
        message = f"inertia is not positive semi-definite: its eigenvalues are {_rounded(moments)} kg m²"
    replacement, distance = nearest_physical(about)
    if nearest and distance <= MAX_INERTIA_CHANGE:
        message += (
            f"; (ixx, ixy, ixz, iyy, iyz, izz) = ({_rounded(about.elements())}) in the link's axes is replaced by the "
            f"nearest possible inertia, ({_rounded(replacement.elements())}), {100.0 * distance:.3g} % away"
        )
        findings.warn(Issue("INERTIA_NEAREST", message, where))
        return replacement
    if nearest:
        most = 100.0 * MAX_INERTIA_CHANGE
        message += f"; the nearest possible inertia is {100.0 * distance:.3g} % away, more than {most:.3g} %"
        findings.error(Issue("INERTIA_FAR", message, where, f"{_SIGNS}; {_WITHOUT}"))
    elif negative:
        near = f'inertia="nearest" uses the nearest possible inertia, {100.0 * distance:.3g} % away'
        hint = _SIGNS if nearest is None else f"{_SIGNS}; {near if distance <= MAX_INERTIA_CHANGE else _WITHOUT}"
        findings.error(Issue("INERTIA_NOT_PSD", message, where, hint))
    else:
        findings.warn(Issue("INERTIA_TRIANGLE", message, where))
    return about


def moments_possible(mass: float, moments: tuple[float, float, float]) -> tuple[bool, bool]:
    """Return two bools: True if a principal moment is negative, and True if a body has the moments.

    The moments are in ascending order.  Violations that can be rounding of a file's numbers do not count.
    """
    low, middle, high = moments
    # Elements rounded by ε·high move an eigenvalue by up to 3 ε·high, and low + middle − high = trace − 2 high by 9.
    rounding, point = _ROUNDING * max(high, -low), _POINT * _POINT * mass
    negative = low < -(3.0 * rounding + point)
    return negative, not negative and low + middle >= high - (9.0 * rounding + point)


def _rounded(values: Iterable[float]) -> str:
    return ", ".join(f"{x:.6g}" for x in values)


def principal_moments(about: Symmetric3) -> tuple[float, float, float]:
    """Return the eigenvalues of a rotational inertia in ascending order."""
    xx, xy, xz, yy, yz, zz = about.elements()
    if xy == xz == yz == 0.0:
        low, middle, high = sorted((xx, yy, zz))
        return low, middle, high
    scale = max(abs(a) for a in about.elements())  # avoids overflow of float64
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) / scale
    low, middle, high = (float(a) * scale for a in np.linalg.eigvalsh(matrix))
    return low, middle, high


def inertia_problems(inertia: Inertia) -> tuple[str, ...]:
    """Return messages that explain why a rejected inertia belongs to no body with extent.

    If the inertia has no other fault, the message is that it has no extent in some direction.
    """
    mass, _, about = mass_properties(inertia)
    if mass <= 0.0:
        result = [f"the mass is {mass:.6g} kg"]
        if mass == 0.0 and any(inertia.moment):
            result.append(f"the first moments of mass are not zero: {_rounded(inertia.moment)} kg m")
        return tuple(result)
    moments = low, middle, high = principal_moments(about)
    seconds = [0.5 * (sum(moments) - 2.0 * x) for x in (high, middle, low)]
    shown = f"{_rounded(moments)} kg m²"
    if low < -1e-9 * high:
        return (f"a principal moment about the centre of mass is negative: {shown}",)
    if low + middle < high:
        return (f"the largest principal moment about the centre of mass exceeds the sum of the others: {shown}",)
    return (f"it has no extent in some direction: its second moments of mass are {_rounded(seconds)} kg m²",)


def looks_like_degrees(lower: float, upper: float) -> bool:
    """Return True for limits of an angle that are integers, with one beyond two turns if read in rad.

    None is more than two turns in degrees.
    """
    largest = max(abs(lower), abs(upper))
    is_whole = all(math.isfinite(x) and abs(x - round(x)) < _WHOLE for x in (lower, upper))
    return is_whole and _TWO_TURNS < largest <= _TWO_TURNS_IN_DEGREES


_TWO_TURNS, _TWO_TURNS_IN_DEGREES = 12.6, 720.0
_WHOLE = 1e-9  # difference from a whole number that is rounding


def all_finite(values: Iterable[Any]) -> bool:
    """Return True if all values are finite."""
    return all(map(math.isfinite, values))


def _check_size(findings: Findings, where: Location, gyration: float, center: Vec3, shapes: Sequence[Geometry]) -> None:
    """Record a warning if the radius of gyration or the centre of mass does not fit the link's shapes."""
    from linkwork.model.composite_body import bounding_sphere_of

    size = bounding_sphere_of(shapes)
    hint = "are lengths in m, masses in kg, inertia in kg m², and is it about the centre of mass?"
    if size is None:
        if gyration > _LARGE:
            message = f"the radius of gyration is {gyration:.3g} m"
            findings.warn(Issue("INERTIA_UNITS", message, where, hint))
        return
    middle, reach = size
    if gyration > _FAR * reach:
        message = f"the radius of gyration is {gyration:.3g} m, but the link's shapes reach {reach:.3g} m"
        findings.warn(Issue("INERTIA_UNITS", message, where, hint))
    distance = math.hypot(*(center - middle))
    if distance > _FAR * reach:
        message = f"the centre of mass lies {distance:.3g} m from the link's shapes, which reach {reach:.3g} m"
        findings.warn(Issue("COM_FAR", message, where, hint))


_SIGNS = "no body has a negative moment: check the signs of ixy, ixz, iyz and the order of the values"
_WITHOUT = 'for kinematics only, inertia="ignore" loads the robot without inertias'


def mass_properties(inertia: Inertia) -> tuple[float, Vec3, Symmetric3]:
    """Return the mass [kg], the centre of mass [m], and the rotational inertia about it [kg m²].

    These are the arguments of `Inertia.at_center`.  Without mass, the centre is the origin.
    """
    if inertia.mass == 0.0:
        return 0.0, Vec3.zero(), inertia.about
    inverse = 1.0 / inertia.mass
    if math.isfinite(inverse):
        center = inertia.moment * inverse
    else:  # a denormal number
        center = Vec3(*(component / inertia.mass for component in inertia.moment))
    return float(inertia.mass), center, inertia.shifted(-center).about


def nearest_physical(about: Symmetric3) -> tuple[Symmetric3, float]:
    """Return the possible rotational inertia nearest to ``about``, and its relative distance.

    Both are about the centre of mass.  The distance is ‖Σ' − Σ‖ / ‖Σ‖: 0 if ``about`` is possible, at most 1.
    """
    xx, xy, xz, yy, yz, zz = about.elements()
    scale = max(abs(a) for a in about.elements())  # avoids overflow of float64
    if scale == 0.0:
        return about, 0.0
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) / scale
    moments, axes = np.linalg.eigh(0.5 * np.trace(J) * np.eye(3) - J)
    missing = np.maximum(-moments, 0.0)
    if not missing.any():
        return about, 0.0
    change = (axes * missing) @ axes.T
    change = scale * (np.trace(change) * np.eye(3) - change)
    upper = [float(change[i, j]) for i in range(3) for j in range(i, 3)]
    return about + Symmetric3(*upper), float(np.linalg.norm(missing) / np.linalg.norm(moments))
