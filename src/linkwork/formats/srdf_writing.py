"""SRDF writer: pairs of links that are not checked for collisions, and named configurations as states of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwork.formats.tree_description import describe
from linkwork.formats.written_content import WritingLog
from linkwork.formats.xml_text import Node, number_list_text, xml_text
from linkwork.joints.quaternion_joints import Floating, Spherical
from linkwork.model.body import Body, DisabledPair
from linkwork.model.collision_pairs import unmoving_pairs
from linkwork.model.tree import Report, Tree

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MAX_PAIRS", "srdf_text"]

MAX_PAIRS = 200_000  # pairs that are written: some 15 MB
_GROUP = "all"  # name of the group of all joints


def srdf_text(tree: Tree, *, strict: bool = False) -> tuple[str, Report]:
    """Return the SRDF of a tree, and the report of content of its named configurations that SRDF cannot represent.

    The SRDF lists the disabled and enabled pairs of links, also pairs that a joint connects, and the named
    configurations as states of the group "all" of all joints, if there are any.

    Raises ValueError if more than `MAX_PAIRS` pairs never move: all pairs of links that are welded together. Raises
    ModelError for losses with ``strict``.
    """
    root = Node("robot", {"name": tree.name})
    log = WritingLog(tree, "SRDF", strict)
    if tree.named_configurations:
        _add_states(root, tree, log)
    for pair in (*_unmoving(tree), *tree.disabled_collisions):
        root.add("disable_collisions", link1=pair.a, link2=pair.b, reason=pair.reason)
    for a, b in tree.enabled_collisions:
        root.add("enable_collisions", link1=a, link2=b)
    return xml_text(root), log.report()


def _unmoving(tree: Tree) -> list[DisabledPair]:
    """Return the pairs of links that never move relative to each other, without pairs that the robot sets itself."""
    stated = {frozenset((pair.a, pair.b)) for pair in tree.disabled_collisions}
    stated |= {frozenset(pair) for pair in tree.enabled_collisions}
    result: list[DisabledPair] = []
    for a, b in unmoving_pairs(tree):
        if frozenset((a, b)) not in stated:
            result.append(DisabledPair(a, b, "Adjacent"))
            if len(result) > MAX_PAIRS:
                raise ValueError(
                    f"srdf_document: more than {MAX_PAIRS} pairs of links that never move relative to each other; "
                    f"move the shapes of welded links to one of them, by with_collisions"
                )
    return result


def _add_states(root: Node, tree: Tree, log: WritingLog) -> None:
    """Add to the SRDF the group of all joints, the virtual joint of a floating base, and the group's states."""
    described = describe(tree)
    group = root.add("group", name=_GROUP)
    bodies = {body.joint_name: body for _, body in tree.stacked() if body.coupling is None and body.joint.nv}
    for name in bodies:
        group.add("joint", name=name)
    if described.base is not None:
        child = described.body_links[tree.bodies.index(described.base)]
        name = described.base.joint_name
        root.add("virtual_joint", name=name, type="floating", parent_frame="world", child_link=child)
    for state in tree.named_configurations:
        for content, label in ((state.v, "velocities"), (state.controls, "controls")):
            if content is not None:
                log.lost(f"named_configuration[{state.name}]", f"SRDF has no {label} of states")
        node = root.add("group_state", name=state.name, group=_GROUP)
        for name, q in state.q:
            if name in bodies:
                node.add("joint", name=name, value=number_list_text(_stated(bodies[name], q)))


def _stated(body: Body, q: Sequence[float]) -> Sequence[float]:
    """Return q of a joint in the order of SRDF, which `linkwork.formats.srdf.parse_srdf` describes."""
    joint = body.joint
    if joint.nv == 1:
        return [*map(float, body.call_joint("difference", body.call_joint("zero"), q))]
    if isinstance(joint, (Floating, Spherical)):
        quaternion = (*q[:4],) if joint.scalar_last else (*q[1:4], q[0])
        return (*q[4:], *quaternion)
    return q
