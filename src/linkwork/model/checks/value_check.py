"""Whether the numbers of links and joints are such as a robot can have, wherever the robot comes from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Real
from operator import lt
from typing import Any

from linkwork._util.messages import quoted
from linkwork.errors import Findings, Issue, Location
from linkwork.model.body import Drive
from linkwork.model.checks.inertia_check import SUSPICIOUS, all_finite
from linkwork.model.description import Description, JointDescription, LinkDescription
from linkwork.spatial import Inertia, Pose
from linkwork.spatial.arguments import LARGEST, RIGID

__all__ = ["check_joint_values", "check_values"]


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
