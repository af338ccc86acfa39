"""Checks of the numbers of links and joints: what no robot can have, and what is suspicious.

Rotational inertias: with Σ = ∫ r rᵀ dm, the second moments of mass about the centre, the rotational inertia is J =
tr(Σ) 1 − Σ, and some distribution of mass has it exactly where Σ = ½ tr(J) 1 − J has no negative eigenvalue: moments
that are not negative and the triangle inequality between them are the same in one.  (Σ is the upper block of the
pseudo-inertia, a 4 × 4 matrix of the ten inertial parameters, about the centre of mass; see Wensing, Kim and Slotine,
2018.)

The nearest possible inertia is that of the nearest such Σ in the Frobenius norm, which does not depend on the axes:
the negative second moments along principal axes become zero, and all others, the mass and its centre stay as they
are.
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
from linkwork.model.body import Drive
from linkwork.model.description import Description, JointDescription, LinkDescription
from linkwork.shapes import Geometry
from linkwork.spatial import Inertia, Pose, Symmetric3, Vec3
from linkwork.spatial.arguments import LARGEST, RIGID

__all__ = [
    "FARTHEST",
    "all_finite",
    "check_inertial",
    "check_joint_values",
    "check_values",
    "nearest_possible",
    "principal_moments",
    "taken_apart",
    "why_impossible",
]


def check_values(findings: Findings, description: Description) -> None:
    """Looks at every link, joint and frame.  Products that algorithms make of numbers in these bounds stay finite.

    Errors: NUMBER (what is none), NOT_FINITE, MAGNITUDE (beyond 1e20), ARITY, NEGATIVE, MASS_NEGATIVE, ROTATION,
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
    """Says what is wrong with one link or joint."""

    def __init__(self, findings: Findings, caller: str, where: Location) -> None:
        self.findings, self.caller, self.where = findings, caller, where

    def error(self, code: str, message: str) -> bool:
        self.findings.error(Issue(code, f"{self.caller}: {message}", self.where))
        return False

    def numbers(self, what: str, values: Iterable[Any], largest: float = LARGEST) -> bool:
        """Whether these are finite numbers within bounds."""
        values = tuple(values)
        if not all(isinstance(x, Real) for x in values):
            return self.error("NUMBER", f"{what}: expected numbers, got {quoted(str(values))}")
        if not all_finite(values):
            return self.error("NOT_FINITE", f"{what}: expected finite numbers, got {_listed(values)}")
        if any(abs(x) > largest for x in values):
            message = f"{what}: {_listed(values)} is beyond {largest:.0e}: products of such numbers overflow"
            return self.error("MAGNITUDE", message)
        return True

    def lengths(self, what: str, values: Sequence[float]) -> None:
        if self.numbers(what, values) and any(abs(x) > SUSPICIOUS for x in values):
            message = f"{self.caller}: suspicious magnitude: {what} {_listed(values)} m"
            self.findings.warn(Issue("MAGNITUDE", message, self.where, "lengths are in m"))


def _check_link(log: _Log, link: LinkDescription) -> None:
    inertia = link.inertia
    if inertia is _NO_INERTIA or inertia == _NO_INERTIA:
        return
    sound = (
        log.numbers("mass", (inertia.mass,)),
        log.numbers("first moments of mass", inertia.moment, LARGEST**2),
        log.numbers("moments of inertia about its origin", inertia.about.elements(), 10.0 * LARGEST**3),
    )
    if all(sound) and inertia.mass < 0.0:
        log.error("MASS_NEGATIVE", f"mass must not be negative, got {inertia.mass!r}")


def check_joint_values(findings: Findings, joint: JointDescription) -> None:
    """Looks at one joint."""
    log = _Log(findings, f"joint {quoted(joint.name)}", joint.where)
    for what, pose in (("its placement", joint.placement), ("its rotor", joint.rotor)):
        _check_pose(log, what, pose)
    sizes = (
        ("lower limits", joint.limits.lower, joint.joint.nq),
        ("upper limits", joint.limits.upper, joint.joint.nq),
        ("velocity limits", joint.limits.velocity, joint.joint.nv),
        ("effort limits", joint.limits.effort, joint.joint.nv),
        ("damping", joint.damping, joint.joint.nv),
        ("friction", joint.friction, joint.joint.nv),
    )
    sound = True
    for what, values, size in sizes:
        if len(values) != size:
            sound = log.error("ARITY", f"{what}: expected {size} numbers, got {len(values)}: {_listed(values)}")
        elif what.endswith("limits"):
            sound = _check_limits(log, what, values) and sound
        elif log.numbers(what, values) and min(values, default=0.0) < 0.0:
            log.error("NEGATIVE", f"{what} must not be negative, got {_listed(values)}")
    if sound:
        _check_bounds(log, joint)
    _check_drive(log, joint)
    if joint.mimic is not None:
        log.numbers("its mimic", (joint.mimic.ratio, joint.mimic.offset))


def _check_drive(log: _Log, joint: JointDescription) -> None:
    """What is stated of it: sizes, signs, and what cannot be zero."""
    drive, nv = joint.drive, joint.joint.nv
    if drive == _NO_DRIVE:
        return
    sound = True
    for key in ("armature", "stiffness", "static_friction", "friction_velocity", "gear_ratio", "rest"):
        what, values = key.replace("_", " "), getattr(drive, key)
        size = joint.joint.nq if key == "rest" else nv
        if values and len(values) != size:
            sound = log.error("ARITY", f"{what}: expected {size} numbers, got {len(values)}: {_listed(values)}")
        elif not log.numbers(what, values):
            sound = False
        elif key not in ("gear_ratio", "rest") and min(values, default=0.0) < 0.0:
            sound = log.error("NEGATIVE", f"{what} must not be negative, got {_listed(values)}")
        elif key in ("gear_ratio", "friction_velocity") and 0.0 in values:
            sound = log.error("ZERO_VALUE", f"{what} must not be zero, got {_listed(values)}")
    if sound and len(joint.friction) == nv and any(map(lt, drive.static_friction, joint.friction)):
        message = f"static friction {_listed(drive.static_friction)} is less than that of motion"
        log.error("FRICTION_ORDER", f"{message}, {_listed(joint.friction)}")


def _check_limits(log: _Log, what: str, values: Sequence[float]) -> bool:
    """Limits may be infinite, which is none."""
    if any(isinstance(x, Real) and x != x for x in values):
        return log.error("LIMIT_FINITE", f"{what}: expected numbers, got {_listed(values)}")
    return log.numbers(what, [x for x in values if x not in (-math.inf, math.inf)])


def _check_bounds(log: _Log, joint: JointDescription) -> None:
    limits = joint.limits
    for lower, upper in zip(limits.lower, limits.upper, strict=True):
        if lower > upper or lower == math.inf or upper == -math.inf:
            log.error("LIMIT_ORDER", f"lower limit {lower!r} is above upper limit {upper!r}")
    for what, values in (("velocity limits", limits.velocity), ("effort limits", limits.effort)):
        if min(values, default=0.0) < 0.0:
            log.error("NEGATIVE", f"{what} must not be negative, got {_listed(values)}")


def _check_pose(log: _Log, what: str, pose: Pose) -> None:
    if pose is _IDENTITY or pose == _IDENTITY:
        return
    log.lengths(f"{what}'s offset", tuple(pose.translation))
    rows = [tuple(row) for row in (pose.rotation.x, pose.rotation.y, pose.rotation.z)]
    if not log.numbers(f"{what}'s rotation", (x for row in rows for x in row)):
        return
    x, y, z = rows
    products = (_dot(x, x) - 1.0, _dot(y, y) - 1.0, _dot(z, z) - 1.0, _dot(x, y), _dot(x, z), _dot(y, z))
    turned = (x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0])
    if max(map(abs, products)) > RIGID or _dot(turned, z) < 0.0:
        log.error("ROTATION", f"{what}'s rotation is none: its rows must be orthonormal and right-handed, got {rows!r}")


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(f"{x!r}" for x in values[:10])


_IDENTITY = Pose.identity()
_NO_DRIVE = Drive()
_NO_INERTIA = Inertia.zero()


FARTHEST = 0.5  # relative: half of the second moments of mass, beyond which what is given tells little of the body
SUSPICIOUS = 1e12  # numbers beyond it are suspicious
_TINY = 1e-12  # masses below it [kg] are suspicious
_ROUNDING = 5e-6  # relative: half of the last of six digits, with which many tools print an inertia
_POINT = 1e-6  # radius of gyration [m] below which moments are the rounding of a point mass
_FAR = 10.0  # times the size of the link's shapes
_LARGE = 10.0  # radius of gyration [m] that is suspicious where the shapes' size is not known


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
    """The inertia, about the link's origin, of a mass [kg] at ``center`` [m] with the rotational inertia ``about`` its
    centre [kg m²] in the link's axes.  ``shapes`` are the link's own.  With ``nearest``, a rotational inertia that no
    body has is replaced by the nearest that one has, if that is within `FARTHEST`; None stands where there is no such
    choice, which hints then do not name.

    Errors: MASS_NEGATIVE, INERTIA_NOT_PSD, INERTIA_FAR, NOT_FINITE, MAGNITUDE (numbers beyond `LARGEST`).  Warnings:
    MAGNITUDE (numbers beyond `SUSPICIOUS`), MASS_ZERO, INERTIA_TRIANGLE, INERTIA_NEAREST, INERTIA_UNITS, COM_FAR.
    """
    for what, unit, numbers, largest in (
        ("mass", "kg", (mass,), LARGEST),
        ("centre of mass", "m", tuple(center), LARGEST),
        ("moments of inertia", "kg m²", about.elements(), LARGEST**3),
    ):
        shown = _rounded(numbers)
        if not all_finite(numbers):
            findings.error(Issue("NOT_FINITE", f"{what}: expected finite numbers, got {shown} {unit}", where))
            return Inertia.zero()
        if max(map(abs, numbers)) > largest:
            message = f"{what}: {shown} {unit} is beyond {largest:.0e}: products of such numbers overflow"
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
    """The rotational inertia as it is given or, where no body has it and ``nearest``, the nearest that one has."""
    moments = low, middle, high = principal_moments(about)
    # Elements rounded by ε·high move an eigenvalue by up to 3 ε·high, and low + middle − high = trace − 2 high by 9.
    rounding, point = _ROUNDING * max(high, -low), _POINT * _POINT * mass
    negative = low < -(3.0 * rounding + point)
    if not negative and low + middle >= high - (9.0 * rounding + point):
        return about
    message = (
        f"no body has the principal moments {_rounded(moments)} kg m²: the largest is more than the sum of the others"
    )
    if negative:
        message = f"inertia is not positive semi-definite: its eigenvalues are {_rounded(moments)} kg m²"
    possible, distance = nearest_possible(about)
    if nearest and distance <= FARTHEST:
        message += (
            f"; (ixx, ixy, ixz, iyy, iyz, izz) = ({_rounded(about.elements())}) in the link's axes is replaced by the "
            f"nearest that a body has, ({_rounded(possible.elements())}), {100.0 * distance:.3g} % away"
        )
        findings.warn(Issue("INERTIA_NEAREST", message, where))
        return possible
    if nearest:
        message += f"; the nearest that a body has is {100.0 * distance:.3g} % away, more than {100.0 * FARTHEST:.3g} %"
        findings.error(Issue("INERTIA_FAR", message, where, f"{_SIGNS} {_WITHOUT}"))
    elif negative:
        near = f'inertia="nearest" takes the nearest that a body has, {100.0 * distance:.3g} % away'
        hint = _SIGNS if nearest is None else f"{_SIGNS} {near if distance <= FARTHEST else _WITHOUT}"
        findings.error(Issue("INERTIA_NOT_PSD", message, where, hint))
    else:
        findings.warn(Issue("INERTIA_TRIANGLE", message, where))
    return about


def _rounded(numbers: Iterable[float]) -> str:
    return ", ".join(f"{x:.6g}" for x in numbers)


def principal_moments(about: Symmetric3) -> tuple[float, float, float]:
    """The eigenvalues of a rotational inertia, smallest first."""
    xx, xy, xz, yy, yz, zz = about.elements()
    if xy == xz == yz == 0.0:
        low, middle, high = sorted((xx, yy, zz))
        return low, middle, high
    scale = max(abs(a) for a in about.elements())  # so that nothing leaves float64's range on the way
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) / scale
    low, middle, high = (float(a) * scale for a in np.linalg.eigvalsh(matrix))
    return low, middle, high


def why_impossible(inertia: Inertia) -> tuple[str, ...]:
    """Why no body of some extent in every direction has this inertia, where none has: in words and numbers."""
    mass, _, about = taken_apart(inertia)
    if mass <= 0.0:
        result = [f"the mass is {mass:.6g} kg"]
        if mass == 0.0 and any(inertia.moment):
            result.append(f"there are first moments of mass, {_rounded(inertia.moment)} kg m")
        return tuple(result)
    moments = low, middle, high = principal_moments(about)
    seconds = [0.5 * (sum(moments) - 2.0 * x) for x in (high, middle, low)]
    shown = f"{_rounded(moments)} kg m²"
    if low < -1e-9 * high:
        return (f"a principal moment about the centre of mass is negative: {shown}",)
    if low + middle < high:
        return (f"the largest principal moment about the centre of mass is more than the sum of the others: {shown}",)
    return (f"it has no extent in some direction: its second moments of mass are {_rounded(seconds)} kg m²",)


def all_finite(values: Iterable[Any]) -> bool:
    """Whether every one of these numbers is finite."""
    return all(map(math.isfinite, values))


def _check_size(findings: Findings, where: Location, gyration: float, center: Vec3, shapes: Sequence[Geometry]) -> None:
    """Whether the radius of gyration and the centre of mass suit the link's shapes."""
    size = _size(shapes)
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


def _size(shapes: Sequence[Geometry]) -> tuple[Vec3, float] | None:
    """The middle of the shapes and how far they reach from it; None where there is none, or one of unknown size."""
    bounds = [(geometry.origin, geometry.shape.bounding_sphere) for geometry in shapes]
    balls = [(X.point(bound[0]), bound[1]) for X, bound in bounds if bound is not None]
    if not balls or len(balls) < len(shapes):
        return None
    places = [place for place, _ in balls]
    middle = sum(places[1:], start=places[0]) * (1.0 / len(places))
    reach = max(math.hypot(*(place - middle)) + radius for place, radius in balls)
    return (middle, reach) if math.isfinite(reach) else None


_SIGNS = "no body has a negative moment: are the signs of ixy, ixz, iyz and the order of the numbers right?"
_WITHOUT = 'for kinematics alone, inertia="ignore" loads the robot without inertias'


def taken_apart(inertia: Inertia) -> tuple[float, Vec3, Symmetric3]:
    """Mass, centre of mass and the rotational inertia about it, in the same axes: what `Inertia.at_center` is made of.

    Where there is no mass, the origin stands for its centre.
    """
    if inertia.mass == 0.0:
        return 0.0, Vec3.zero(), inertia.about
    center = inertia.moment * (1.0 / inertia.mass)
    return float(inertia.mass), center, inertia.shifted(-center).about


def nearest_possible(about: Symmetric3) -> tuple[Symmetric3, float]:
    """The rotational inertia about the centre of mass that a body can have and that is nearest to this one, and how
    far it is: ‖Σ' − Σ‖ / ‖Σ‖, a number from 0 (it is itself possible) to 1 (nothing of it is).
    """
    xx, xy, xz, yy, yz, zz = about.elements()
    scale = max(abs(a) for a in about.elements())  # so that nothing leaves float64's range on the way
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
