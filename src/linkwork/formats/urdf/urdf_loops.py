"""Loops in a URDF: joints between links that are both carried already.

URDF itself has none.  Two extensions are read, in the forms that are found:

- ``<loop_joint name type><link1 link xyz rpy/><link2 link xyz rpy/><axis xyz/></loop_joint>``, of Drake's older reader
  and of Isaac Sim's importer, whose documentation calls both ends ``<link1>``;
- ``<loop name type><predecessor link><origin/></predecessor><successor link><origin/></successor><axis xyz/></loop>``,
  of URDF+ [Chignoli et al., URDF+: An Enhanced URDF for Robots with Kinematic Loops, arXiv 2411.19753].

The first end is the joint's frame F and the second its frame M; the axis is in both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork._util.messages import nearest, quoted
from linkwork.constraints import LoopJoint
from linkwork.formats.urdf.urdf_joints import read_axis, read_bound
from linkwork.formats.xml_attributes import Reader
from linkwork.formats.xml_document import Element
from linkwork.joints import Fixed, JointType, Planar, Prismatic, Revolute, Spherical
from linkwork.model.description import ConstraintDescription, FrameDescription
from linkwork.spatial import Pose

__all__ = ["LOOP_TYPES", "Loops", "read_loop_joints"]

LOOP_TYPES = ("revolute", "continuous", "prismatic", "fixed", "planar", "spherical")


@dataclass(frozen=True)
class Loops:
    """The loops of a file, and the frames that they lie between: F and M of a loop "pin" are "pin_F" and "pin_M"."""

    frames: tuple[FrameDescription, ...]
    constraints: tuple[ConstraintDescription, ...]


def read_loop_joints(reader: Reader, root: Element) -> Loops:
    """All ``<loop_joint>`` and ``<loop>`` of a document, in their order."""
    frames: list[FrameDescription] = []
    constraints: list[ConstraintDescription] = []
    for element in root.children:
        if element.tag not in _ENDS:
            continue
        name, joint = reader.name(element) or "", _type(reader, element)
        ends = _ends(reader, element)
        if not name or len(ends) != 2:
            continue
        F, M = (f"{name}_{letter}" for letter in "FM")
        for frame, end in zip((F, M), ends, strict=True):
            link = reader.name(end, "link") or ""
            frames.append(FrameDescription(frame, link, _place(reader, end), reader.where(end)))
        constraints.append(
            ConstraintDescription(
                LoopJoint(name, joint, M, F, **_values(reader, element, joint)), reader.where(element)
            )
        )
    return Loops(tuple(frames), tuple(constraints))


def _type(reader: Reader, element: Element) -> JointType:
    """The joint's type.  JOINT_TYPE where it is none of `LOOP_TYPES`."""
    kind = element.attributes.get("type")
    match kind:
        case "revolute" | "continuous":
            return Revolute(read_axis(reader, element.first("axis")))
        case "prismatic":
            return Prismatic(read_axis(reader, element.first("axis")))
        case "planar":  # the axis is the plane's normal
            return Planar.across(read_axis(reader, element.first("axis")))
        case "spherical":
            return Spherical()
        case "fixed":
            return Fixed()
    allowed = "expected one of " + ", ".join(LOOP_TYPES)
    if kind is None:
        reader.error(element, "JOINT_TYPE", f"<{element.tag}> needs the attribute 'type': {allowed}")
    elif kind == "floating":
        reader.error(element, "JOINT_TYPE", f"a floating joint rules nothing out, so it closes no loop: {allowed}")
    else:
        reader.error(
            element, "JOINT_TYPE", f"unknown type of a loop {quoted(kind)}: {allowed}", nearest(kind, LOOP_TYPES)
        )
    return Fixed()


def _values(reader: Reader, element: Element, joint: JointType) -> dict[str, Any]:
    """Bounds, damping, friction and springs, none where none are given; of joints of one number."""
    limit, dynamics = element.first("limit"), element.first("dynamics")
    if joint.nv != 1:
        for given in (limit, dynamics):
            if given is not None:
                message = (
                    f"<{given.tag}> of a {element.attributes.get('type')} loop is ignored: it has no meaning there"
                )
                reader.warn(given, "UNSUPPORTED", message)
        return {}
    found: dict[str, Any] = {}
    for attribute, name, none in _BOUNDS if limit is not None else ():
        assert limit is not None
        if attribute in ("lower", "upper") and element.attributes.get("type") == "continuous":
            continue
        value = read_bound(reader, limit, attribute, none)
        if value < 0.0 and attribute in ("velocity", "effort"):
            reader.error(limit, "NEGATIVE", f"{attribute} must not be negative, got {value!r}")
        elif value != none:
            found[name] = (value,)
    if found.get("lower", (-math.inf,)) > found.get("upper", (math.inf,)):
        assert limit is not None
        message = f"lower limit {found.pop('lower')[0]!r} is above upper limit {found.pop('upper')[0]!r}"
        reader.error(limit, "LIMIT_ORDER", message)
    for attribute, name in _RESISTING if dynamics is not None else ():
        assert dynamics is not None
        if attribute in dynamics.attributes:
            read = reader.number if name == "rest" else reader.at_least_zero
            found[name] = (read(dynamics, attribute, 0.0),)
    if dynamics is not None and "armature" in dynamics.attributes:
        reader.warn(dynamics, "UNSUPPORTED", "armature of a loop is ignored: nothing turns with it alone")
    return found


def _ends(reader: Reader, element: Element) -> Sequence[Element]:
    """The two elements that say what the loop lies between.  ELEMENT_MISSING, DUPLICATE_ELEMENT."""
    first, second = _ENDS[element.tag]
    ones, others = [*element.all(first)], [*element.all(second)]
    if first == "link1" and len(ones) == 2 and not others:  # as Isaac Sim's documentation writes it
        return ones
    for tag, found in ((first, ones), (second, others)):
        if not found:
            reader.error(element, "ELEMENT_MISSING", f"<{element.tag}> needs a <{tag}>, and has none")
        elif len(found) > 1:
            message = f"a second <{tag}> in <{element.tag}>, which may have one; the first is on line {found[0].line}"
            reader.error(found[1], "DUPLICATE_ELEMENT", message)
    return [*ones[:1], *others[:1]]


def _place(reader: Reader, end: Element) -> Pose:
    """Where the loop's frame is on a link: an ``<origin>`` inside, or the same attributes on the end itself."""
    origin = end.first("origin")
    if origin is not None and any(key in end.attributes for key in ("xyz", "rpy", "quat_xyzw")):
        message = f"the place is given twice, by attributes of <{end.tag}> and by its <origin>"
        reader.error(origin, "DUPLICATE_ELEMENT", message)
    return reader.pose(origin if origin is not None else end)


_ENDS = {"loop_joint": ("link1", "link2"), "loop": ("predecessor", "successor")}
_BOUNDS = (
    ("lower", "lower", -math.inf),
    ("upper", "upper", math.inf),
    ("velocity", "velocity_bound", math.inf),
    ("effort", "effort", math.inf),
)
_RESISTING = (
    ("damping", "damping"),
    ("friction", "friction"),
    ("spring_stiffness", "stiffness"),
    ("spring_reference", "rest"),
)
