"""Building a robot's tree from a description, with checks that links and joints form one tree.

A link moved by a joint becomes a body.  A link welded to another by fixed joints becomes a frame on its body, and its
inertia is added to the body's.  All traversals use a stack or the order of the file: long chains need no recursion, and
the same description gives the same tree in every process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linkwork._util.lazy_dataclass import dataclass
from linkwork._util.messages import listed, nearest, quoted
from linkwork.errors import Findings, Issue, Location
from linkwork.joints import Floating
from linkwork.model.body import WORLD, Body, Following, Frame, Limits
from linkwork.model.composite_body import compose, with_summed_inertias
from linkwork.model.coupled_joints import flatten_mimics, ignored_mimics, with_couplings
from linkwork.model.description import Attachments, Description, JointDescription, LinkDescription
from linkwork.model.tree import Report, Tree
from linkwork.model.value_check import check_values
from linkwork.spatial import Inertia, Pose, Vec3
from linkwork.spatial.arguments import LARGEST

__all__ = ["DEFAULT_GRAVITY", "FLOATING_BASE", "build_tree", "raise_errors_of_file", "read_gravity"]

_OF_GROUND = ("ground", "frame", "base", "fixed", "earth", "floor", "fixed_link", "")  # other words for the world
_ABOUT_NAMES = ("DUPLICATE_NAME", "MIMIC_UNKNOWN", "SELF_JOINT", "TWO_PARENTS", "UNKNOWN_LINK")  # codes of errors
DEFAULT_GRAVITY = Vec3(0.0, 0.0, -9.81)  # [m/s²]
FLOATING_BASE = "floating_base"  # name of the joint that carries the root link of a floating robot


def build_tree(
    description: Description,
    *,
    floating_base: bool = False,
    gravity: Sequence[float] | Vec3 | None = None,
    strict: bool = False,
    multi_root: bool = False,
    mimic: str = "free",
) -> Tree:
    """Build the tree of a robot from its description.

    With ``floating_base``, a `Floating` joint named "floating_base" connects the root link to the world; otherwise the
    root link and everything welded to it are fixed to the world. ``gravity`` is by default the description's, and
    `DEFAULT_GRAVITY` if it states none. ``multi_root`` allows several roots, all fixed to the world. Bodies are in
    depth-first order, children in the order of their joints in the file. ``mimic`` determines the joints that follow
    others in the file: with "free" they have their own coordinates, which is noted (MIMIC_FREE), with "coupled" they
    have none, and with "ignore" the relations are ignored.

    Raises ModelError with all errors (with ``strict``, also all repairs), and ValueError for invalid ``gravity`` or
    ``mimic``.
    """
    if mimic not in ("free", "coupled", "ignore"):
        raise ValueError(f"mimic: expected 'free', 'coupled' or 'ignore', got {mimic!r}")
    findings = Findings(strict=strict)
    for issue in description.errors:
        findings.error(issue)
    for issue in description.warnings:
        findings.add(issue)
    if not check_names(findings, description):
        findings.raise_errors()  # values that are not strings cannot be looked up
    check_values(findings, description)
    roots = check_structure(findings, description, FLOATING_BASE if floating_base else None, multi_root)
    mimics = flatten_mimics(findings, description) if mimic != "ignore" else ignored_mimics(findings, description)
    constrained = {x.mimic_of for x in description.constraints}  # by constraints, if they move freely
    free = [joint for joint in description.joints if joint.name in mimics and joint.name not in constrained]
    if free and mimic == "free":
        first = free[0]
        if len(free) == 1:
            message = f"joint {quoted(first.name)} moves freely instead of following its mimic relation"
        else:
            message = f"{len(free)} joints move freely instead of following their mimic relations"
        findings.note(Issue("MIMIC_FREE", message, first.where, 'mimic="coupled" enforces the relation exactly'))
    findings.raise_errors()
    constraints = tuple(x for x in description.constraints if x.mimic_of is None or mimic == "free")
    if gravity is None:
        gravity = DEFAULT_GRAVITY if description.gravity is None else description.gravity
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
        disabled_collisions=description.disabled_collisions,
        enabled_collisions=description.enabled_collisions,
        report=Report(tuple(findings.warnings)),
    )
    states = description.named_configurations
    if mimic == "coupled":
        tree = with_couplings(tree, mimics)
        states = tuple(replace(x, state=x.state.without(joints=mimics)) for x in states)
    more = Attachments(
        points=description.points,
        directions=description.directions,
        constraints=constraints,
        force_elements=description.force_elements,
        actuators=description.actuators,
        named_configurations=states,
    )
    if more == Attachments():
        return tree
    from linkwork.model.attached_constraints import attached

    return attached(tree, more, strict=strict)


@dataclass(slots=True)
class _Carrier:
    """Body under construction: the link whose frame is the body's frame, and the joint that moves it."""

    name: str
    parent: int
    joint: JointDescription
    placement: Pose  # X_parentbody_stator


class _Builder:
    """Builder of bodies and frames, which visits the links from the root."""

    def __init__(self, description: Description, mimics: dict[str, Following]) -> None:
        self.links, self.further_frames, self.mimics = description.links, description.frames, mimics
        self.children: dict[str, list[JointDescription]] = {}  # by the parent link's name
        for joint in description.joints:
            self.children.setdefault(joint.parent, []).append(joint)
        self.carriers: list[_Carrier] = []
        self.placed: dict[str, tuple[int, Pose, JointDescription | None]] = {}  # by link: body, X_body_link, weld

    def walk(self, root: str, floating_base: bool) -> None:
        if floating_base:
            joint = Floating()
            zeros = (0.0,) * joint.nv
            free = JointDescription(
                FLOATING_BASE, "world", root, joint, Pose.identity(), Limits.none(joint), zeros, zeros
            )
            self.carry(free, WORLD, Pose.identity())
        else:
            self.placed[root] = WORLD, Pose.identity(), None
        stack = list(reversed(self.children.get(root, ())))
        while stack:
            joint_description = stack.pop()
            body, X_body_parent, _ = self.placed[joint_description.parent]
            X_body_stator = compose(X_body_parent, joint_description.placement)
            if joint_description.joint.nv == 0:
                X_body_link = compose(X_body_stator, joint_description.rotor)
                self.placed[joint_description.child] = body, X_body_link, joint_description
            else:
                self.carry(joint_description, body, X_body_stator)
            stack.extend(reversed(self.children.get(joint_description.child, ())))

    def carry(self, joint: JointDescription, parent: int, placement: Pose) -> None:
        """Add a new body, moved by this joint; the joint's child link is its first link."""
        self.carriers.append(_Carrier(joint.child, parent, joint, placement))
        self.placed[joint.child] = len(self.carriers) - 1, Pose.identity(), None

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
                    inertia=Inertia.zero(),  # summed over the links when all frames exist
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
        """Return one frame for each link, in the order of the description, then further frames."""
        result = []
        for link in self.links:
            body, placement, weld = self.placed[link.name]
            joint, parent = (None, None) if weld is None else (weld.name, weld.parent)
            result.append(Frame(link.name, body, placement, link.inertia, link.visuals, link.collisions, joint, parent))
        for frame in self.further_frames:
            body, placement, _ = self.placed[frame.link]
            result.append(Frame(frame.name, body, compose(placement, frame.placement), welded_to=frame.link))
        return tuple(result)


def read_gravity(gravity: Sequence[float] | Vec3) -> Vec3:
    """Return gravity as a vector.  Raises ValueError unless it is three finite numbers."""
    try:
        x, y, z = (float(g) for g in gravity)
    except (TypeError, ValueError):
        raise ValueError(f"gravity: expected three numbers [m/s²], got {gravity!r}") from None
    if not all(abs(g) <= LARGEST for g in (x, y, z)):
        raise ValueError(f"gravity: expected three finite numbers [m/s²] of at most {LARGEST:.0e}, got {gravity!r}")
    return Vec3(x, y, z)


def check_names(findings: Findings, description: Description) -> bool:
    """Return True if all names in the description are strings; otherwise record BAD_NAME errors.

    Checked are the names of the robot, its links, joints and frames, and the names that joints refer to.
    """
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
    for kind, name, where in named:
        if not isinstance(name, str):
            message = f"{kind}: expected a string, got {quoted(repr(name))} of type {type(name).__name__}"
            findings.error(Issue("BAD_NAME", message, where))
    return all(isinstance(name, str) for _, name, _ in named)


def check_structure(
    findings: Findings, description: Description, floating_base: str | None, multi_root: bool
) -> tuple[str, ...]:
    """Check that links and joints form a tree, and return the names of its root links.

    There is one root, any number with ``multi_root``, or () after an error.

    ``floating_base`` is the name of the joint that will connect the root to the world, or None.

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
            if joint.name == floating_base and joint.joint.nv > 0:  # fixed joints may have any name
                message = f"joint name {quoted(floating_base)} is reserved for the joint that carries a floating base"
                findings.error(Issue("DUPLICATE_NAME", message, joint.where, "rename it, or keep the base fixed"))
    _check_frames(findings, description)
    _check_ends(findings, description)
    if len(findings.errors) > errors:
        return ()  # errors that follow from wrong names would only confuse
    carrying: dict[str, JointDescription] = {}  # the joint before each link
    for joint in joints:
        earlier = carrying.setdefault(joint.child, joint)
        if earlier is not joint:
            message = (
                f"link {quoted(joint.child)} has two parents: joint {quoted(earlier.name)} connects it to "
                f"{quoted(earlier.parent)}, and joint {quoted(joint.name)} to {quoted(joint.parent)}"
                f"{_lines(earlier.where, joint.where)}"
            )
            hint = "a robot is a tree: remove one of these joints, and close the loop with Robot.with_loop"
            findings.error(Issue("TWO_PARENTS", message, joint.where, hint))
    _check_cycles(findings, links, carrying)
    if len(findings.errors) > errors:
        return ()
    roots = [link for link in links if link.name not in carrying]
    if len(roots) > 1 and (floating_base is not None or not multi_root):
        names = listed(root.name for root in roots)
        message = f"{len(roots)} links have no parent, but a robot has one root: {names}"
        hint = "connect them with joints, or fix all of them to the world with multi_root=True"
        if multi_root:
            hint = "several roots can be fixed to the world but cannot float: keep the base fixed"
        findings.error(Issue("MULTIPLE_ROOTS", message, roots[1].where, hint))
    _check_world(findings, links, roots, floating_base is not None)
    return tuple(root.name for root in roots) if len(findings.errors) == errors else ()


def raise_errors_of_file(findings: Findings, description: Description) -> None:
    """Raise ModelError if a reader found errors; the error also lists errors of names and values.

    Consequences are left out: further errors of an element with an error, and missing names.
    """
    if not findings.errors:
        return
    further, reported = Findings(strict=findings.strict), [issue.where.element or "" for issue in findings.errors]
    if check_names(further, description):
        check_values(further, description)
        check_structure(further, description, None, True)
        flatten_mimics(further, description)
    named = all(link.name.strip() for link in description.links)
    for issue in further.errors:
        follows = any(f"{x}/".startswith(f"{issue.where.element or ''}/") for x in reported)
        if issue.code in _ABOUT_NAMES:
            follows = quoted("") in issue.message or (issue.code == "UNKNOWN_LINK" and not named)
        if not follows:
            findings.error(issue)
    findings.warnings += further.warnings
    findings.raise_errors()


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
    """Record an error for each frame with an invalid name, a name in use, or a link that does not exist."""
    first = {link.name: ("link", link.where) for link in description.links}
    links = dict.fromkeys(first)
    for frame in description.frames:
        caller = f"frame {quoted(frame.name)}"
        if frame.name == "world":
            message = "'world' is reserved for the world's frame"
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
    """Record an error for each joint whose parent or child link does not exist, or that connects a link to itself."""
    known = dict.fromkeys(link.name for link in description.links)
    for joint in description.joints:
        for end, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in known:
                message = f"joint {quoted(joint.name)}: its {end} link {quoted(link)} does not exist"
                close = nearest(link, known)
                if link.lower() in _OF_GROUND and not close.startswith("did"):
                    close += '; parent="world" is the ground'
                findings.error(Issue("UNKNOWN_LINK", message, joint.where, close))
        if joint.parent == joint.child and joint.parent in known:
            message = f"joint {quoted(joint.name)} connects link {quoted(joint.parent)} to itself"
            findings.error(Issue("SELF_JOINT", message, joint.where))


def _check_cycles(
    findings: Findings, links: tuple[LinkDescription, ...], carrying: dict[str, JointDescription]
) -> None:
    """Record an error for each cycle of links, by following the parents of every link.

    Each link is visited once.
    """
    passed: dict[str, int] = {}  # link -> index of the traversal that visited it
    for traversal, start in enumerate(links):
        name = start.name
        while name not in passed and name in carrying:
            passed[name] = traversal
            name = carrying[name].parent
        if passed.get(name) == traversal:
            cycle = [name]
            while carrying[cycle[-1]].parent != name:
                cycle.append(carrying[cycle[-1]].parent)
            cycle = [name, *reversed(cycle[1:]), name]  # from parent to child
            joint = carrying[name]
            message = f"the links form a cycle: {listed(cycle, ' -> ')}"
            hint = "a robot is a tree: remove one of the joints of this loop, and close it with Robot.with_loop"
            findings.error(Issue("CYCLE", message, joint.where, hint))


def _check_world(
    findings: Findings, links: tuple[LinkDescription, ...], roots: list[LinkDescription], floating: bool
) -> None:
    """Record an error if "world" is the name of a link other than a fixed root.

    "world" is the name of the frame that does not move.
    """
    for link in links:
        if link.name != "world":
            continue
        if link not in roots:
            message = "only the root link may be named 'world', the name of the world's frame"
            findings.error(Issue("BAD_NAME", message, link.where, "rename the link"))
        elif floating:
            message = "the root link is named 'world', the name of the world's frame: it cannot float"
            hint = "keep the base fixed, or make the joint after it floating, or rename the link"
            findings.error(Issue("BAD_NAME", message, link.where, hint))


def _lines(first: Location, second: Location) -> str:
    return "" if first.line is None else f" (on line {first.line} and on line {second.line})"
