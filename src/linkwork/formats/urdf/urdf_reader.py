"""URDF reader: the Unified Robot Description Format of ROS, with two extensions for closed loops.

Source: http://wiki.ros.org/urdf/XML.  Lengths are in m, angles in rad.  A file is read strictly: anything that cannot
be read is an error or a listed warning.  Meshes are stored by the names in the file, and are not opened.

A loop is a joint between two links that both have a parent already.  URDF has none; two extensions are read, in the
forms that are in use:

- ``<loop_joint name type><link1 link xyz rpy/><link2 link xyz rpy/><axis xyz/></loop_joint>``, of Drake's older reader
  and of Isaac Sim's importer, whose documentation calls both ends ``<link1>``;
- ``<loop name type><predecessor link><origin/></predecessor><successor link><origin/></successor><axis xyz/></loop>``,
  of URDF+ [Chignoli et al., URDF+: An Enhanced URDF for Robots with Kinematic Loops, arXiv 2411.19753].

The first end is the joint's frame F and the second its frame M; the axis is the same in both.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from typing import Any

from linkwork._util.file_access import Budget
from linkwork._util.lazy_dataclass import dataclass
from linkwork._util.messages import did_you_mean, nearest, quoted
from linkwork.errors import Findings, Issue, ModelError
from linkwork.formats.file_reading import path_text, read_regular, require_path, require_text
from linkwork.formats.registry import FOREIGN_ROOTS
from linkwork.formats.unique_names import Names
from linkwork.formats.urdf.urdf_joints import read_axis, read_bound, read_joint
from linkwork.formats.urdf.urdf_links import read_link, read_materials
from linkwork.formats.urdf.urdf_schema import VERSIONS, check
from linkwork.formats.urdf.urdf_transmissions import Drives
from linkwork.formats.xml_attributes import Reader
from linkwork.formats.xml_document import Element, parse
from linkwork.joints import Fixed, JointType, Planar, Prismatic, Revolute, Spherical
from linkwork.model.description import ConstraintDescription, Description, FrameDescription
from linkwork.model.tree_builder import raise_errors_of_file
from linkwork.spatial import Pose

__all__ = ["parse_urdf", "read_urdf"]


def read_urdf(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    budget: Budget | None = None,
    continuous: str = "angle",
    inertia: str = "given",
) -> Description:
    """Return the description of a robot from a URDF file.

    ``strict`` turns repairs into errors; ``budget`` limits the file's size; ``continuous`` selects if the
    configuration of a continuous joint is an ``"angle"`` or its ``"sincos"``; ``inertia`` selects the ``"given"``
    inertias, the ``"nearest"`` physically consistent ones, or none (``"ignore"``).

    Raises ModelError with all errors, or the operating system's error (FileNotFoundError, PermissionError ...) if the
    file cannot be read.
    """
    budget = budget or Budget()
    require_path(path)
    data = read_regular(path, budget)
    return parse_urdf(
        data, source=path_text(path), strict=strict, budget=budget, continuous=continuous, inertia=inertia
    )


def parse_urdf(
    text: str | bytes,
    *,
    source: str | None = None,
    strict: bool = False,
    budget: Budget | None = None,
    continuous: str = "angle",
    inertia: str = "given",
) -> Description:
    """Return the description of a robot from the text of a URDF.

    ``source`` is its name in messages; the other arguments are those of `read_urdf`.  Raises ModelError.
    """
    require_text(text, source, "a URDF")
    if continuous not in ("angle", "sincos"):
        raise ValueError(f"continuous: expected 'angle' or 'sincos', got {continuous!r}")
    if inertia not in ("given", "nearest", "ignore"):
        raise ValueError(f"inertia: expected 'given', 'nearest' or 'ignore', got {inertia!r}")
    root = parse(text, source, budget=budget)
    reader = Reader(source, Findings(strict=strict), version=root.attributes.get("version", "1.0").strip())
    if root.tag != "robot" or (root.first("link") is None and any(root.first(tag) for tag in _SRDF)):
        _refuse_other_format(reader, root)
    check(reader, root)
    materials = read_materials(reader, root)
    _check_version(reader, root)
    if inertia == "ignore" and (first := next(_inertials(root), None)) is not None:
        count = sum(1 for _ in _inertials(root))
        reader.note(first, "INERTIA_IGNORED", f"<inertial> is ignored ({count} times, here first), as requested")
    drives, loops = Drives(reader, root), read_loop_joints(reader, root)
    description = Description(
        name=reader.name(root) or "",
        links=tuple([read_link(reader, element, materials, inertia) for element in root.all("link")]),
        joints=tuple([read_joint(reader, element, drives, continuous) for element in root.all("joint")]),
        warnings=tuple(reader.findings.warnings),
        source=source,
        where=reader.where(root),
        frames=loops.frames,
        inertias_ignored=inertia == "ignore",
        constraints=loops.constraints,
    )
    raise_errors_of_file(reader.findings, description)
    return description


def _refuse_other_format(reader: Reader, root: Element) -> None:
    kind = FOREIGN_ROOTS.get(root.tag.lower())
    if root.tag == "robot":
        kind = "an SRDF file"
        message, hint = f"expected a URDF, this looks like {kind}", "load the URDF that it belongs to"
    elif kind:
        message, hint = f"expected <robot> as the root of a URDF, got <{root.tag}>: this looks like {kind}", None
    else:
        close = nearest(root.tag, ["robot", *FOREIGN_ROOTS])
        message = f"expected <robot> as the root of a URDF, got {quoted(root.tag)}"
        hint = close if close.startswith("did") else None
    raise ModelError(Issue("WRONG_FORMAT", message, reader.where(root), hint))


def _inertials(root: Element) -> Iterator[Element]:
    return (inertial for link in root.all("link") for inertial in link.all("inertial"))


def _check_version(reader: Reader, root: Element) -> None:
    if reader.version not in VERSIONS:
        message = f"version {quoted(reader.version)} of URDF is unknown: read as {VERSIONS[-1]}"
        reader.warn(root, "VERSION", message)


_SRDF = ("group", "disable_collisions", "virtual_joint", "end_effector")
LOOP_TYPES = ("revolute", "continuous", "prismatic", "fixed", "planar", "spherical")


@dataclass(frozen=True)
class Loops:
    """Loop joints of a file, and the frames that they connect.

    The frames of a loop "pin" are named "pin_F" and "pin_M", followed by underscores if links have these names.
    """

    frames: tuple[FrameDescription, ...]
    constraints: tuple[ConstraintDescription, ...]


def read_loop_joints(reader: Reader, root: Element) -> Loops:
    """Return the loop joints that the ``<loop_joint>`` and ``<loop>`` elements of a document describe, in order."""
    frames: list[FrameDescription] = []
    constraints: list[ConstraintDescription] = []
    taken = Names(link.attributes.get("name", "") for link in root.all("link"))
    for element in root.children:
        if element.tag not in _ENDS:
            continue
        name, joint = reader.name(element) or "", _type(reader, element)
        ends = _ends(reader, element)
        if not name or len(ends) != 2:
            continue
        from linkwork.constraints import LoopJoint

        F, M = (taken.underscored(f"{name}_{letter}") for letter in "FM")
        for frame, end in zip((F, M), ends, strict=True):
            link = reader.name(end, "link") or ""
            frames.append(FrameDescription(frame, link, _end_pose(reader, end), reader.where(end)))
        constraints.append(
            ConstraintDescription(
                LoopJoint(name, joint, M, F, **_values(reader, element, joint)), reader.where(element)
            )
        )
    return Loops(tuple(frames), tuple(constraints))


def _type(reader: Reader, element: Element) -> JointType:
    """Return the joint type of a loop; a fixed joint, with the error JOINT_TYPE, for a type not in `LOOP_TYPES`."""
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
        reader.error(
            element, "JOINT_TYPE", f"a floating joint removes no degree of freedom, so it closes no loop: {allowed}"
        )
    else:
        reader.error(
            element,
            "JOINT_TYPE",
            f"unknown type of a loop {quoted(kind)}: {allowed}",
            did_you_mean(kind, LOOP_TYPES) or None,
        )
    return Fixed()


def _values(reader: Reader, element: Element, joint: JointType) -> dict[str, Any]:
    """Return the limits, damping, friction and springs of a loop, by the names of `LoopJoint`'s arguments.

    Values that the element does not state are left out. The dict is empty unless the joint has exactly one coordinate.
    """
    limit, dynamics = element.first("limit"), element.first("dynamics")
    if joint.nv != 1:
        for stated in (limit, dynamics):
            if stated is not None:
                joint_type = element.attributes.get("type")
                message = f"<{stated.tag}> of a {joint_type} loop is ignored: URDF does not define it for this type"
                reader.warn(stated, "UNSUPPORTED", message)
        return {}
    result: dict[str, Any] = {}
    if limit is not None and not {"acceleration", "deceleration", "jerk"}.isdisjoint(limit.attributes):
        reader.warn(limit, "UNSUPPORTED", "acceleration, deceleration and jerk of a loop are ignored")
    is_continuous = element.attributes.get("type") == "continuous"
    if limit is not None and is_continuous and not {"lower", "upper"}.isdisjoint(limit.attributes):
        reader.note(limit, "IGNORED", "lower and upper of a continuous loop are ignored: it has no bounds")
    for attribute, name, no_bound in _BOUNDS if limit is not None else ():
        assert limit is not None
        if attribute in ("lower", "upper") and is_continuous:
            continue
        value = read_bound(reader, limit, attribute, no_bound)
        if value < 0.0 and attribute in ("velocity", "effort"):
            reader.error(limit, "NEGATIVE", f"{attribute} must not be negative, got {value!r}")
        elif value != no_bound:
            result[name] = (value,)
    if result.get("lower", (-math.inf,)) > result.get("upper", (math.inf,)):
        assert limit is not None
        message = f"lower limit {result.pop('lower')[0]!r} is above upper limit {result.pop('upper')[0]!r}"
        reader.error(limit, "LIMIT_ORDER", message)
    for attribute, name in _RESISTING if dynamics is not None else ():
        assert dynamics is not None
        if attribute in dynamics.attributes:
            read = reader.number if name == "rest" else reader.at_least_zero
            result[name] = (read(dynamics, attribute, 0.0),)
    if dynamics is not None and "armature" in dynamics.attributes:
        reader.warn(dynamics, "UNSUPPORTED", "armature of a loop is ignored: it has no coordinate of its own")
    return result


def _ends(reader: Reader, element: Element) -> Sequence[Element]:
    """Return the two elements that describe a loop's ends; fewer after the error ELEMENT_MISSING.

    A second element of one end is the error DUPLICATE_ELEMENT.
    """
    first, second = _ENDS[element.tag]
    first_ends, second_ends = [*element.all(first)], [*element.all(second)]
    if first == "link1" and len(first_ends) == 2 and not second_ends:  # as in Isaac Sim's documentation
        return first_ends
    for tag, result in ((first, first_ends), (second, second_ends)):
        if not result:
            reader.error(element, "ELEMENT_MISSING", f"<{element.tag}> needs a <{tag}>")
        elif len(result) > 1:
            message = (
                f"a second <{tag}> in <{element.tag}>, which may have only one; the first is on line {result[0].line}"
            )
            reader.error(result[1], "DUPLICATE_ELEMENT", message)
    return [*first_ends[:1], *second_ends[:1]]


def _end_pose(reader: Reader, end: Element) -> Pose:
    """Return the pose of the loop's frame on a link, from an ``<origin>`` or from attributes of ``end``."""
    origin = end.first("origin")
    if origin is not None and any(key in end.attributes for key in ("xyz", "rpy", "quat_xyzw")):
        message = f"the pose is stated twice, by attributes of <{end.tag}> and by its <origin>"
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
