"""From links and joints written in a program to a robot's tree: the way of a file's description, with its checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from linkwork._util.messages import printable
from linkwork._util.validation import shown
from linkwork.errors import Findings, Location
from linkwork.model.checks.inertia_check import check_inertial
from linkwork.model.description import (
    Description,
    FrameDescription,
    JointDescription,
    LinkDescription,
)
from linkwork.model.tree import Tree
from linkwork.parts.construction.link import Link
from linkwork.parts.construction.robot_loading import Options
from linkwork.parts.joint.joint import Joint, drive_of, limits_of
from linkwork.spatial import Inertia

__all__ = ["Part", "built", "joint_description"]

Part = Link | Joint | Iterable["Part"]


def built(name: str, parts: Iterable[Part], options: Options) -> Tree:
    """The tree of these parts: see `Robot.build`.  Raises ModelError with all that is wrong, TypeError."""
    return options.tree(_described(name, parts, options), "building")


def _described(name: str, parts: Iterable[Part], options: Options) -> Description:
    """Links and joints in their order.  The link "world" is there where a joint hangs from it."""
    if options.inertia not in ("given", "nearest", "ignore"):
        raise ValueError(f"inertia: expected 'given', 'nearest' or 'ignore', got {options.inertia!r}")
    findings = Findings(strict=options.strict)
    flat = [*_flat(parts)]
    links = [part for part in flat if isinstance(part, Link)]
    joints = [part for part in flat if isinstance(part, Joint)]
    if not any(link.name == "world" for link in links) and any(joint.parent == "world" for joint in joints):
        links.insert(0, Link("world"))
    return Description(
        name=name,
        links=tuple([_link(name, link, findings, options.inertia) for link in links]),
        joints=tuple([joint_description(name, joint) for joint in joints]),
        warnings=tuple(findings.warnings),
        where=Location(element=_element(name)),
        frames=tuple(
            FrameDescription(frame, link.name, place, _where(name, "link", link.name))
            for link in links
            for frame, place in link.places
        ),
        inertias_ignored=options.inertia == "ignore",
        errors=tuple(findings.errors),
    )


def _flat(parts: Iterable[Part]) -> Iterator[Link | Joint]:
    """The links and joints in parts, and in lists of parts."""
    for part in parts:
        if isinstance(part, (Link, Joint)):
            yield part
        elif isinstance(part, Iterable) and not isinstance(part, (str, bytes, Mapping)):
            yield from _flat(part)
        else:
            raise TypeError(f"build: parts: expected links, joints and lists of them, got {shown(part)}")


def _link(robot: str, link: Link, findings: Findings, how: str) -> LinkDescription:
    """A link; its inertia as it is ``"given"``, the ``"nearest"`` possible one, or none (``"ignore"``)."""
    where, inertia = _where(robot, "link", link.name), Inertia.zero()
    if link.mass is not None and how != "ignore":
        shapes, nearest = (*link.visuals, *link.collisions), how == "nearest"
        inertia = check_inertial(findings, where, link.mass, link.center, link.about, shapes, nearest=nearest)
    return LinkDescription(link.name, inertia, link.visuals, link.collisions, where)


def joint_description(robot: str, joint: Joint) -> JointDescription:
    """What a file would say of a joint."""
    return JointDescription(
        name=joint.name,
        parent=joint.parent,
        child=joint.child,
        joint=joint.type,
        placement=joint.placement,
        limits=limits_of(joint),
        damping=tuple(joint.damping.tolist()),
        friction=tuple(joint.friction.tolist()),
        mimic=joint.mimic if joint.coupling is None else joint.coupling,
        rotor=joint.rotor,
        where=_where(robot, "joint", joint.name),
        dynamics=joint.dynamics,
        drive=drive_of(joint),
    )


def _where(robot: str, kind: str, name: object) -> Location:
    return Location(element=f"{_element(robot)}/{kind}[{printable(str(name))}]")


def _element(robot: object) -> str:
    return f"robot[{printable(str(robot))}]"
