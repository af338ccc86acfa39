"""Checks of the values of links and joints: impossible ones (errors) and suspicious ones (warnings).

`inertia_check` has the checks of inertias.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Real
from operator import lt
from typing import Any

from linkwork._util.messages import quoted
from linkwork.errors import Findings, Issue, Location
from linkwork.model.body import Drive, Limits
from linkwork.model.description import Description, JointDescription, LinkDescription
from linkwork.model.inertia_check import SUSPICIOUS
from linkwork.spatial import Inertia, Pose
from linkwork.spatial.arguments import LARGEST, RIGID

__all__ = [
    "all_finite",
    "check_joint_values",
    "check_values",
    "looks_like_degrees",
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
    """Return True if all limits are numbers and none is NaN; else record an error. ±inf means no limit."""
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
    """Return True if the reader has already reported an issue with this code for the joint."""
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


def looks_like_degrees(lower: float, upper: float) -> bool:
    """Return True for integer limits of an angle that are probably in degrees: as rad, one exceeds two turns.

    In degrees, none exceeds two turns.
    """
    largest = max(abs(lower), abs(upper))
    is_whole = all(math.isfinite(x) and abs(x - round(x)) < _WHOLE for x in (lower, upper))
    return is_whole and _TWO_TURNS < largest <= _TWO_TURNS_IN_DEGREES


_TWO_TURNS, _TWO_TURNS_IN_DEGREES = 12.6, 720.0
_WHOLE = 1e-9  # difference from a whole number that is rounding


def all_finite(values: Iterable[Any]) -> bool:
    """Return True if all values are finite."""
    return all(map(math.isfinite, values))
