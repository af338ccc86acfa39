"""Types and axes of joints in a written SDF file."""

from __future__ import annotations

import math
from collections.abc import Mapping

from linkwork.formats.sdf.sdf_elements import NO_LIMIT
from linkwork.formats.written_content import WritingLog
from linkwork.formats.xml_text import Node, number_list_text, number_text
from linkwork.joints import (
    Fixed,
    Helical,
    JointType,
    Prismatic,
    Revolute,
    Spherical,
    UnboundedRevolute,
    Universal,
)
from linkwork.spatial import Vec3

__all__ = ["add_axes", "type_of"]

_RIGHT_ANGLE = 1e-9  # largest cosine between axes at a right angle


def add_axes(
    log: WritingLog, node: Node, element: str, kind: JointType, values: Mapping[str, tuple[float, ...]]
) -> None:
    """Add the axes of a joint, with the values for each; a ball joint has no element for its values."""
    axes = _axes_of(kind)
    none = {"lower": -math.inf, "upper": math.inf, "velocity": math.inf, "effort": math.inf}
    if isinstance(kind, UnboundedRevolute):
        if any(map(math.isfinite, (*values["lower"], *values["upper"]))):
            log.lost(element, "bounds of the sine and cosine of an angle are not written")
        values = {**values, "lower": (-math.inf,), "upper": (math.inf,)}
    if not axes:
        if any(x != none.get(key, 0.0) for key, elements in values.items() for x in elements):
            log.lost(element, f"limits, damping, friction and springs of a {type_of(kind)} joint are lost")
        return
    if isinstance(kind, Universal) and abs(kind.first.dot(kind.second)) > _RIGHT_ANGLE:
        log.changed(element, "the axes of a universal joint are at no right angle, which some readers refuse")
    if isinstance(kind, Helical):
        node.add("screw_thread_pitch", number_text(kind.pitch * (2.0 * math.pi)))
    for k, axis in enumerate(axes):
        child = node.add("axis" if k == 0 else "axis2")
        child.add("xyz", number_list_text(axis))
        limit, dynamics = Node("limit"), Node("dynamics")
        for key, elements in values.items():
            if key in none and NO_LIMIT <= abs(elements[k]) < math.inf:
                log.changed(element, f"a bound of {NO_LIMIT:g} or more is none in SDF")
            if elements[k] != none.get(key, 0.0):
                (limit if key in none else dynamics).add(key, number_text(elements[k]))
        child.children += [part for part in (limit, dynamics) if part.children]


def type_of(kind: JointType) -> str:
    """Return the type of a joint in SDF."""
    return _TYPES[type(kind)]


def _axes_of(kind: JointType) -> tuple[Vec3, ...]:
    match kind:
        case Universal():
            return kind.first, kind.second
        case Revolute() | UnboundedRevolute() | Prismatic() | Helical():
            return (kind.axis,)
    return ()


_TYPES: dict[type[JointType], str] = {
    Fixed: "fixed",
    Revolute: "revolute",
    UnboundedRevolute: "continuous",
    Prismatic: "prismatic",
    Spherical: "ball",
    Universal: "universal",
    Helical: "screw",
}
