"""From a description by names to the robot's tree.

Links become bodies where a joint moves them; a link that fixed joints weld to another becomes a frame on its body, and
its inertia part of the body's.  Everything here walks the links with a stack or in the order of the file: long chains
need no recursion, and the same description gives the same tree in every process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork._util.messages import quoted
from linkwork.errors import NOTED, Findings, Issue
from linkwork.joints import Floating
from linkwork.model.attached_constraints import attached
from linkwork.model.body import WORLD, Body, Following, Frame, Limits
from linkwork.model.checks.topology_check import check_names, check_structure
from linkwork.model.checks.value_check import check_values
from linkwork.model.composite_body import composed, with_summed_inertias
from linkwork.model.coupled_joints import coupled, flatten_mimics, ignored_mimics
from linkwork.model.description import Attachments, Description, JointDescription
from linkwork.model.tree import Report, Tree
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
        found = []
        for link in self.links:
            body, placement, weld = self.places[link.name]
            joint, other = (None, None) if weld is None else (weld.name, weld.parent)
            found.append(Frame(link.name, body, placement, link.inertia, link.visuals, link.collisions, joint, other))
        for frame in self.further_frames:
            body, placement, _ = self.places[frame.link]
            found.append(Frame(frame.name, body, composed(placement, frame.placement), welded_to=frame.link))
        return tuple(found)


def read_gravity(gravity: Sequence[float] | Vec3) -> Vec3:
    """Gravity as a vector.  Raises ValueError for what is no three finite numbers."""
    try:
        x, y, z = (float(g) for g in gravity)
    except (TypeError, ValueError):
        raise ValueError(f"gravity: expected three numbers [m/s²], got {gravity!r}") from None
    if not all(abs(g) <= LARGEST for g in (x, y, z)):
        raise ValueError(f"gravity: expected three finite numbers [m/s²] of at most {LARGEST:.0e}, got {gravity!r}")
    return Vec3(x, y, z)
