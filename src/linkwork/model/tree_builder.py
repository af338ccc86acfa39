"""From a description by names to the robot's tree, with the checks that links and joints make one tree.

Links become bodies where a joint moves them; a link that fixed joints weld to another becomes a frame on its body, and
its inertia part of the body's.  Everything here walks the links with a stack or in the order of the file: long chains
need no recursion, and the same description gives the same tree in every process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork._util.messages import listed, nearest, quoted
from linkwork.errors import NOTED, Findings, Issue, Location
from linkwork.joints import Floating
from linkwork.model.attached_constraints import attached
from linkwork.model.body import WORLD, Body, Following, Frame, Limits
from linkwork.model.composite_body import composed, with_summed_inertias
from linkwork.model.coupled_joints import coupled, flatten_mimics, ignored_mimics
from linkwork.model.description import Attachments, Description, JointDescription, LinkDescription
from linkwork.model.tree import Report, Tree
from linkwork.model.value_check import check_values
from linkwork.spatial import Inertia, Pose, Vec3
from linkwork.spatial.arguments import LARGEST

__all__ = ["FLOATING_BASE", "build_tree", "read_gravity"]


FLOATING_BASE = "floating_base"  # the name of the joint that carries the root link of a free robot


def build_tree(
    description: Description,
    *,
    floating_base: bool = False,
    gravity: Sequence[float] | Vec3 = (0.0, 0.0, -9.81),
    strict: bool = False,
    multi_root: bool = False,
    mimic: str = "free",
) -> Tree:
    """The tree of a description.

    With ``floating_base`` the root link is a body that a `Floating` joint named "floating_base" carries; otherwise it
    and what is welded to it are fixed to the world.  ``multi_root`` allows several roots, all fixed to the world.
    Bodies come depth first, children in the order of their joints in the file.  Joints that the file makes follow
    others have numbers of their own where ``mimic`` is ``"free"``, which is noted (MIMIC_FREE), and none where it is
    ``"coupled"``; with ``"ignore"`` what the file says about it is not looked at.

    Raises ModelError with all that is wrong (with ``strict``, all repairs too), and ValueError where gravity is not
    three finite numbers or ``mimic`` none of these words.
    """
    if mimic not in ("free", "coupled", "ignore"):
        raise ValueError(f"mimic: expected 'free', 'coupled' or 'ignore', got {mimic!r}")
    findings = Findings(strict=strict)
    for issue in description.errors:
        findings.error(issue)
    for issue in description.warnings:
        findings.note(issue) if issue.code in NOTED else findings.warn(issue)
    if not check_names(findings, description):
        findings.raise_errors()  # what is no name at all cannot be looked for
    check_values(findings, description)
    roots = check_structure(findings, description, FLOATING_BASE if floating_base else None, multi_root)
    mimics = flatten_mimics(findings, description) if mimic != "ignore" else ignored_mimics(findings, description)
    if mimics and mimic == "free":
        first = next(joint for joint in description.joints if joint.name in mimics)
        many = f"joint {quoted(first.name)} moves" if len(mimics) == 1 else f"{len(mimics)} joints move"
        message = f"{many} freely instead of as its mimic says: with numbers of their own in q and v"
        message = message.replace("their own", "its own") if len(mimics) == 1 else message.replace("as its", "as their")
        findings.note(Issue("MIMIC_FREE", message, first.where, 'mimic="coupled" binds them exactly'))
    findings.raise_errors()
    builder = _Builder(description, mimics)
    for root in roots:
        builder.walk(root, floating_base)
    frames = builder.frames()
    tree = Tree(
        name=description.name,
        bodies=with_summed_inertias(builder.bodies(), frames),
        frames=frames,
        gravity=read_gravity(gravity),
        source=description.source,
        inertias_ignored=description.inertias_ignored,
        report=Report(tuple(findings.warnings)),
    )
    if mimic == "coupled":
        tree = coupled(tree, mimics)
    more = Attachments(
        constraints=description.constraints,
        actuators=description.actuators,
        named_configurations=description.named_configurations,
    )
    return attached(tree, more)


@dataclass(slots=True)
class _Carrier:
    """A body in the making: the link whose frame is the body's, and the joint before it."""

    name: str
    parent: int
    joint: JointDescription
    placement: Pose  # X_parentbody_stator


class _Builder:
    """Walks the links from the root, and gives bodies and frames."""

    def __init__(self, description: Description, mimics: dict[str, Following]) -> None:
        self.links, self.further_frames, self.mimics = description.links, description.frames, mimics
        self.children: dict[str, list[JointDescription]] = {}  # by the parent link's name
        for joint in description.joints:
            self.children.setdefault(joint.parent, []).append(joint)
        self.carriers: list[_Carrier] = []
        self.places: dict[str, tuple[int, Pose, JointDescription | None]] = {}  # by link: body, X_body_link, weld

    def walk(self, root: str, floating_base: bool) -> None:
        if floating_base:
            joint = Floating()
            none = (0.0,) * joint.nv
            free = JointDescription(
                FLOATING_BASE, "world", root, joint, Pose.identity(), Limits.none(joint), none, none
            )
            self.carry(free, WORLD, Pose.identity())
        else:
            self.places[root] = WORLD, Pose.identity(), None
        stack = list(reversed(self.children.get(root, ())))
        while stack:
            joint_description = stack.pop()
            body, X_body_parent, _ = self.places[joint_description.parent]
            X_body_stator = composed(X_body_parent, joint_description.placement)
            if joint_description.joint.nv == 0:
                X_body_link = composed(X_body_stator, joint_description.rotor)
                self.places[joint_description.child] = body, X_body_link, joint_description
            else:
                self.carry(joint_description, body, X_body_stator)
            stack.extend(reversed(self.children.get(joint_description.child, ())))

    def carry(self, joint: JointDescription, parent: int, placement: Pose) -> None:
        """A joint that moves its child link: a new body."""
        self.carriers.append(_Carrier(joint.child, parent, joint, placement))
        self.places[joint.child] = len(self.carriers) - 1, Pose.identity(), None

    def bodies(self) -> tuple[Body, ...]:
        return tuple(
            [
                Body(
                    name=carrier.name,
                    parent=carrier.parent,
                    joint_name=carrier.joint.name,
                    joint=carrier.joint.joint,
                    placement=carrier.placement,
                    rotor=carrier.joint.rotor,
                    inertia=Inertia.zero(),  # of its links: summed when all frames are there
                    limits=carrier.joint.limits,
                    damping=carrier.joint.damping,
                    friction=carrier.joint.friction,
                    mimic=self.mimics.get(carrier.joint.name),
                    links=(carrier.joint.parent, carrier.joint.child),
                    dynamics=carrier.joint.dynamics,
                    drive=carrier.joint.drive,
                )
                for carrier in self.carriers
            ]
        )

    def frames(self) -> tuple[Frame, ...]:
        """One frame a link, in the order of the description, then further frames."""
        result = []
        for link in self.links:
            body, placement, weld = self.places[link.name]
            joint, other = (None, None) if weld is None else (weld.name, weld.parent)
            result.append(Frame(link.name, body, placement, link.inertia, link.visuals, link.collisions, joint, other))
        for frame in self.further_frames:
            body, placement, _ = self.places[frame.link]
            result.append(Frame(frame.name, body, composed(placement, frame.placement), welded_to=frame.link))
        return tuple(result)


def read_gravity(gravity: Sequence[float] | Vec3) -> Vec3:
    """Gravity as a vector.  Raises ValueError for what is no three finite numbers."""
    try:
        x, y, z = (float(g) for g in gravity)
    except (TypeError, ValueError):
        raise ValueError(f"gravity: expected three numbers [m/s²], got {gravity!r}") from None
    if not all(abs(g) <= LARGEST for g in (x, y, z)):
        raise ValueError(f"gravity: expected three finite numbers [m/s²] of at most {LARGEST:.0e}, got {gravity!r}")
    return Vec3(x, y, z)


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
            message = f"{what}: expected a string, got {quoted(repr(name))} of type {type(name).__name__}"
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
