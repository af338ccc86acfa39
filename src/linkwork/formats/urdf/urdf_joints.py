"""URDF joints: type, axis, limits, dynamics and mimicry."""

from __future__ import annotations

import math
import sys

from linkwork._util.messages import did_you_mean, quoted
from linkwork.formats.urdf.urdf_transmissions import Drives
from linkwork.formats.xml_attributes import Reader
from linkwork.formats.xml_document import Element
from linkwork.formats.xml_text import BadNumber, parse_number
from linkwork.joints import (
    Fixed,
    Floating,
    JointType,
    Planar,
    Prismatic,
    Revolute,
    UnboundedRevolute,
)
from linkwork.model.body import Following, Limits
from linkwork.model.description import JointDescription
from linkwork.model.value_check import looks_like_degrees
from linkwork.spatial import Vec3
from linkwork.spatial.arguments import LARGEST

__all__ = ["TYPES", "read_axis", "read_bound", "read_joint"]

TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
_X = Vec3(1.0, 0.0, 0.0)
_INF = math.inf


def read_joint(reader: Reader, element: Element, drives: Drives, continuous: str = "angle") -> JointDescription:
    """Return the joint that a `<joint>` describes.

    ``continuous`` selects the configuration of a continuous joint: its "angle", or its sine and cosine ("sincos").
    """
    name = reader.name(element) or ""
    kind = _type(reader, element)
    parent, child = reader.required(element, "parent"), reader.required(element, "child")
    joint = _joint(reader, element, kind, continuous)
    dynamics, mimic = element.first("dynamics"), element.first("mimic")
    damping = friction = 0.0
    if joint.nv == 1 and dynamics is not None:
        damping = reader.at_least_zero(dynamics, "damping", 0.0)
        friction = reader.at_least_zero(dynamics, "friction", 0.0)
    elif joint.nv > 1 and dynamics is not None:
        reader.warn(
            dynamics, "UNSUPPORTED", f"<dynamics> of a {kind} joint is ignored: URDF does not define it for this type"
        )
    return JointDescription(
        name=name,
        parent=(reader.name(parent, "link") or "") if parent is not None else "",
        child=(reader.name(child, "link") or "") if child is not None else "",
        joint=joint,
        placement=reader.pose(element.first("origin")),
        limits=_limits(reader, element, kind, joint),
        damping=(damping,) * joint.nv,
        friction=(friction,) * joint.nv,
        mimic=None if mimic is None else _mimic(reader, mimic),
        where=reader.where(element),
        drive=drives.of(element, joint, dynamics),
    )


def _type(reader: Reader, element: Element) -> str:
    """Return the type of a `<joint>`; "fixed", with the error JOINT_TYPE, for a type that is not in `TYPES`."""
    kind = element.attributes.get("type")
    if kind in TYPES:
        return kind
    allowed = "expected one of " + ", ".join(TYPES)
    if kind is None:
        reader.error(element, "JOINT_TYPE", f"<joint> needs the attribute 'type': {allowed}")
    else:
        reader.error(
            element, "JOINT_TYPE", f"unknown joint type {quoted(kind)}: {allowed}", did_you_mean(kind, TYPES) or None
        )
    return "fixed"


def _joint(reader: Reader, element: Element, kind: str, continuous: str) -> JointType:
    match kind:
        case "continuous" if continuous == "sincos":
            return UnboundedRevolute(read_axis(reader, element.first("axis")))
        case "revolute" | "continuous":
            return Revolute(read_axis(reader, element.first("axis")))
        case "prismatic":
            return Prismatic(read_axis(reader, element.first("axis")))
        case "floating":
            return Floating()
        case "planar":  # the axis is the plane's normal
            return Planar.across(read_axis(reader, element.first("axis")))
        case _:
            return Fixed()


def read_axis(reader: Reader, element: Element | None) -> Vec3:
    """Return the direction of an `<axis>`; the x direction without the element.

    Records the error AXIS_ZERO, and the warnings AXIS_NORM and, for an `<axis>` without a direction,
    ATTRIBUTE_MISSING.
    """
    if element is None:
        return _X
    if "xyz" not in element.attributes:
        reader.warn(element, "ATTRIBUTE_MISSING", "<axis> without xyz: taken as 1 0 0")
        return _X
    axis = reader.number_list(element, "xyz", 3, tuple(_X))
    largest = max(abs(a) for a in axis)
    if largest == 0.0:
        reader.error(element, "AXIS_ZERO", "the axis of a joint that moves must not be zero")
        return _X
    length = math.hypot(*axis)
    if abs(length - 1.0) > 1e-6:
        message = f"the axis has length {length:.9g}, not 1: normalised; positions stay in rad or m"
        reader.warn(element, "AXIS_NORM", message)
    return Vec3.of(axis)  # the joint normalises it


# -- limits


def _limits(reader: Reader, element: Element, kind: str, joint: JointType) -> Limits:
    """Return the limits that a joint's `<limit>` states; infinite limits without the element."""
    limit = element.first("limit")
    if joint.nv != 1:
        if joint.nv > 1 and limit is not None:
            reader.warn(
                limit, "UNSUPPORTED", f"<limit> of a {kind} joint is ignored: URDF does not define it for this type"
            )
        return Limits.none(joint)
    if limit is None:
        if kind != "continuous":
            reader.warn(element, "LIMIT_MISSING", f"a {kind} joint without <limit>: taken as unlimited")
        return Limits.none(joint)
    lower, upper = -_INF, _INF
    if kind != "continuous":
        lower, upper = _range(reader, limit, kind == "revolute")
    elif "lower" in limit.attributes or "upper" in limit.attributes:
        for attribute in ("lower", "upper"):
            read_bound(reader, limit, attribute, 0.0)
        message = "lower and upper of a continuous joint are ignored: it has no bounds"
        reader.note(limit, "IGNORED", message, 'make it type="revolute" to keep them')
    return Limits(
        (lower,) * joint.nq,
        (upper,) * joint.nq,
        (_maximum(reader, limit, "velocity"),),
        (_maximum(reader, limit, "effort"),),
        acceleration=_rate_limit(reader, limit, "acceleration"),
        jerk=_rate_limit(reader, limit, "jerk"),
    )


def _range(reader: Reader, limit: Element, is_angle: bool) -> tuple[float, float]:
    """Return the attributes lower and upper of a `<limit>`; a missing attribute is 0.

    The result is infinite after the error LIMIT_ORDER.
    """
    if "lower" not in limit.attributes and "upper" not in limit.attributes:
        message = "<limit> has neither lower nor upper: both are 0 by default, so the joint cannot move"
        reader.warn(limit, "LIMIT_MISSING", message)
    lower, upper = read_bound(reader, limit, "lower", 0.0), read_bound(reader, limit, "upper", 0.0)
    if lower > upper or lower == _INF or upper == -_INF:
        reader.error(limit, "LIMIT_ORDER", f"lower limit {lower!r} is above upper limit {upper!r}")
        return -_INF, _INF
    if is_angle and looks_like_degrees(lower, upper):
        message = f"limits from {lower:g} to {upper:g} rad are more than two turns: are they in degrees?"
        reader.warn(limit, "LIMIT_UNITS", message, "limits of a revolute joint are in rad")
    return lower, upper


def _maximum(reader: Reader, limit: Element, attribute: str) -> float:
    """Return an attribute such as effort or velocity of a `<limit>`; infinity, with a warning, if it is missing."""
    if attribute not in limit.attributes:
        reader.warn(limit, "LIMIT_MISSING", f"<limit> without {attribute}: taken as unlimited")
        return _INF
    value = read_bound(reader, limit, attribute, _INF)
    if value < 0.0:
        reader.error(limit, "NEGATIVE", f"{attribute} must not be negative, got {value!r}")
        return _INF
    return value


def _rate_limit(reader: Reader, limit: Element, attribute: str) -> tuple[float, ...]:
    """Return the limit of acceleration or jerk of a `<limit>` (from URDF 1.2 on); empty if it is missing."""
    stated = limit.attributes.get(attribute)
    if attribute == "acceleration" and limit.attributes.get("deceleration", stated) != stated:
        message = "deceleration is ignored: the limit of the acceleration holds in both directions"
        reader.warn(limit, "UNSUPPORTED", message)
    if stated is None:
        return ()
    if reader.version in ("1", "1.0", "1.1"):
        message = f"{attribute} belongs to URDF 1.2, but the file declares version {reader.version}"
        reader.warn(limit, "VERSION", message, 'write version="1.2" in <robot>')
    value = _maximum(reader, limit, attribute)
    return () if value == _INF else (value,)


def read_bound(reader: Reader, limit: Element, attribute: str, default: float) -> float:
    """Return an attribute of a `<limit>`, which may be infinite; ``default`` if it is missing."""
    text = limit.attributes.get(attribute)
    if text is None:
        return default
    try:
        value = parse_number(text, infinite=True)
    except BadNumber as bad:
        reader.bad_number(limit, attribute, bad, "LIMIT_FINITE" if bad.is_word else None)
        return default
    if abs(value) == sys.float_info.max:  # as exporters write a bound that does not exist
        value = math.copysign(_INF, value)
    elif math.isinf(value):
        reader.warn(limit, "LIMIT_FINITE", f"{attribute} limit {quoted(text)} is not finite: taken as unlimited")
    elif abs(value) > LARGEST:
        reader.warn(
            limit, "LIMIT_FINITE", f"{attribute} limit {quoted(text)} is beyond {LARGEST:.0e}: taken as unlimited"
        )
        value = math.copysign(_INF, value)
    return value


def _mimic(reader: Reader, element: Element) -> Following:
    joint = reader.name(element, "joint") or ""
    return Following(joint, reader.number(element, "multiplier", 1.0), reader.number(element, "offset", 0.0))
