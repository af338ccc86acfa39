"""Whether links and joints make one tree: names, parents, roots and loops."""

from __future__ import annotations

from linkwork._util.messages import listed, nearest, quoted
from linkwork.errors import Findings, Issue, Location
from linkwork.model.description import Description, JointDescription, LinkDescription

__all__ = ["check_names", "check_structure"]


def check_names(findings: Findings, description: Description) -> bool:
    """Whether the names of the robot, its links and joints, and those that joints name, are text at all: BAD_NAME."""
    named: list[tuple[str, object, Location]] = [("the robot's name", description.name, description.where)]
    named += [("a link's name", link.name, link.where) for link in description.links]
    for joint in description.joints:
        caller = f"joint {quoted(joint.name)}" if isinstance(joint.name, str) else "a joint"
        named.append((f"{caller}: its name", joint.name, joint.where))
        named.append((f"{caller}: its parent link's name", joint.parent, joint.where))
        named.append((f"{caller}: its child link's name", joint.child, joint.where))
        if joint.mimic is not None:
            named.append((f"{caller}: the name of the joint it mimics", joint.mimic.joint, joint.where))
    named += [("a frame's name", frame.name, frame.where) for frame in description.frames]
    for what, name, where in named:
        if not isinstance(name, str):
            message = f"{what}: expected text, got {quoted(repr(name))} of type {type(name).__name__}"
            findings.error(Issue("BAD_NAME", message, where))
    return all(isinstance(name, str) for _, name, _ in named)


def check_structure(
    findings: Findings, description: Description, floating_base: str | None, multi_root: bool
) -> tuple[str, ...]:
    """The names of the links without a parent: one, or with ``multi_root`` any number; none
    where an error is found.

    ``floating_base`` is the name of the joint that is to carry the root, if one is.

    Errors: NO_LINKS, BAD_NAME, DUPLICATE_NAME, UNKNOWN_LINK, SELF_JOINT, TWO_PARENTS, CYCLE, MULTIPLE_ROOTS.
    """
    links, joints = description.links, description.joints
    errors = len(findings.errors)
    if not description.name.strip():
        message = f"a robot needs a name, got {quoted(description.name)}"
        findings.error(Issue("BAD_NAME", message, description.where))
    if not links:
        hint = "a robot needs at least one link"
        findings.error(Issue("NO_LINKS", "the robot has no links", description.where, hint))
        return ()
    _check_names(findings, links, "link")
    _check_names(findings, joints, "joint")
    if floating_base is not None:
        for joint in joints:
            if joint.name == floating_base and joint.joint.nv > 0:  # the names of fixed joints stay free
                message = f"joint name {quoted(floating_base)} is taken by the joint that carries a floating base"
                findings.error(Issue("DUPLICATE_NAME", message, joint.where, "rename it, or keep the base fixed"))
    _check_frames(findings, description)
    _check_ends(findings, description)
    if len(findings.errors) > errors:
        return ()  # what follows from wrong names would only confuse
    carrying: dict[str, JointDescription] = {}  # the joint before each link
    for joint in joints:
        other = carrying.setdefault(joint.child, joint)
        if other is not joint:
            message = (
                f"link {quoted(joint.child)} has two parents: joint {quoted(other.name)} carries it from "
                f"{quoted(other.parent)}, and joint {quoted(joint.name)} from {quoted(joint.parent)}"
                f"{_lines(other.where, joint.where)}"
            )
            hint = "a robot is a tree: cut this loop at one of these joints, and close it by Robot.with_loop"
            findings.error(Issue("TWO_PARENTS", message, joint.where, hint))
    _check_cycles(findings, links, carrying)
    if len(findings.errors) > errors:
        return ()
    roots = [link for link in links if link.name not in carrying]
    if len(roots) > 1 and (floating_base is not None or not multi_root):
        names = listed(root.name for root in roots)
        message = f"{len(roots)} links have no parent, and a robot has one root: {names}"
        hint = "connect them by joints, or fix all of them to the world with multi_root=True"
        if multi_root:
            hint = "several roots can be fixed to the world, but not float: keep the base fixed"
        findings.error(Issue("MULTIPLE_ROOTS", message, roots[1].where, hint))
    _check_world(findings, links, roots, floating_base is not None)
    return tuple(root.name for root in roots) if len(findings.errors) == errors else ()


def _check_names(
    findings: Findings, items: tuple[LinkDescription, ...] | tuple[JointDescription, ...], kind: str
) -> None:
    first: dict[str, Location] = {}
    for item in items:
        if not item.name.strip():
            findings.error(Issue("BAD_NAME", f"a {kind} needs a name, got {quoted(item.name)}", item.where))
        elif item.name in first:
            message = f"two {kind}s are named {quoted(item.name)}{_lines(first[item.name], item.where)}"
            findings.error(Issue("DUPLICATE_NAME", message, item.where))
        else:
            first[item.name] = item.where


def _check_frames(findings: Findings, description: Description) -> None:
    """Whether further frames have names of their own, and sit on links that exist."""
    first = {link.name: ("link", link.where) for link in description.links}
    links = dict.fromkeys(first)
    for frame in description.frames:
        caller = f"frame {quoted(frame.name)}"
        if frame.name == "world":
            message = "no frame may be named 'world': the name stands for the frame that does not move"
            findings.error(Issue("BAD_NAME", message, frame.where, "rename the frame"))
        elif not frame.name.strip():
            findings.error(Issue("BAD_NAME", f"a frame needs a name, got {quoted(frame.name)}", frame.where))
        elif frame.name in first:
            kind, where = first[frame.name]
            message = f"{caller} has the name of a {kind}{_lines(where, frame.where)}"
            findings.error(Issue("DUPLICATE_NAME", message, frame.where))
        first.setdefault(frame.name, ("frame", frame.where))
        if frame.link not in links:
            message = f"{caller}: its link {quoted(frame.link)} does not exist"
            findings.error(Issue("UNKNOWN_LINK", message, frame.where, nearest(frame.link, links)))


def _check_ends(findings: Findings, description: Description) -> None:
    """Whether the links that joints connect exist."""
    known = dict.fromkeys(link.name for link in description.links)
    for joint in description.joints:
        for end, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in known:
                message = f"joint {quoted(joint.name)}: its {end} link {quoted(link)} does not exist"
                findings.error(Issue("UNKNOWN_LINK", message, joint.where, nearest(link, known)))
        if joint.parent == joint.child and joint.parent in known:
            message = f"joint {quoted(joint.name)} connects link {quoted(joint.parent)} to itself"
            findings.error(Issue("SELF_JOINT", message, joint.where))


def _check_cycles(
    findings: Findings, links: tuple[LinkDescription, ...], carrying: dict[str, JointDescription]
) -> None:
    """Follows the parents of every link: each link is passed once."""
    passed: dict[str, int] = {}  # link -> the number of the walk that passed it
    for walk, start in enumerate(links):
        name = start.name
        while name not in passed and name in carrying:
            passed[name] = walk
            name = carrying[name].parent
        if passed.get(name) == walk:
            cycle = [name]
            while carrying[cycle[-1]].parent != name:
                cycle.append(carrying[cycle[-1]].parent)
            cycle = [name, *reversed(cycle[1:]), name]  # from parent to child
            joint = carrying[name]
            message = f"the links form a cycle: {listed(cycle, ' -> ')}"
            hint = "a robot is a tree, without loops: cut this one at one of its joints"
            findings.error(Issue("CYCLE", message, joint.where, hint))


def _check_world(
    findings: Findings, links: tuple[LinkDescription, ...], roots: list[LinkDescription], floating: bool
) -> None:
    """ "world" is the name of the frame that does not move."""
    for link in links:
        if link.name != "world":
            continue
        if link not in roots:
            message = "only the root link may be named 'world': the name stands for the frame that does not move"
            findings.error(Issue("BAD_NAME", message, link.where, "rename the link"))
        elif floating:
            message = "the root link is named 'world', which stands for the frame that does not move: it cannot float"
            hint = "keep the base fixed, or make the joint after it floating, or rename the link"
            findings.error(Issue("BAD_NAME", message, link.where, hint))


def _lines(first: Location, second: Location) -> str:
    return "" if first.line is None else f" (on line {first.line} and on line {second.line})"
