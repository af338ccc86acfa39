"""SRDF reader and writer: disabled collision pairs are read and written, named configurations are read.

Sources: http://wiki.ros.org/srdf; <disable_default_collisions> as in MoveIt's AllowedCollisionMatrix.  The elements
<disable_collisions>, <enable_collisions>, <disable_default_collisions> and <group_state> are read.  Groups and end
effectors are ignored; unknown elements are errors.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from linkwork._util.file_budget import Budget
from linkwork._util.messages import nearest, quoted
from linkwork.errors import Findings, Issue, ModelError, UnknownNameError
from linkwork.formats.file_reading import require_text
from linkwork.formats.xml_attributes import Reader
from linkwork.formats.xml_document import Element, parse
from linkwork.model.body import DisabledPair
from linkwork.model.collision_pairs import collision_links, joined_bodies, unmoving_pairs
from linkwork.model.named_state import NamedState
from linkwork.model.tree import Tree
from linkwork.model.tree_actuators import with_named_configurations, without_named_configurations
from linkwork.spatial.arguments import LARGEST

__all__ = ["parse_srdf", "srdf_text"]

MAX_PAIRS = 200_000  # pairs that are written: some 15 MB
_PAIRS = ("disable_collisions", "enable_collisions")
_DEFAULT = "disable_default_collisions"
_OTHERS = (
    "group",
    "end_effector",
    "virtual_joint",
    "passive_joint",
    "joint_property",
    "link_sphere_approximation",
    "chain",
)


def parse_srdf(tree: Tree, text: str | bytes, *, source: str | None = None, budget: Budget | None = None) -> Tree:
    """Return the tree with the collision pairs that an SRDF disables, or enables although a joint connects them.

    Earlier settings of pairs are replaced. Links without collision shapes are in no pair. A link in
    <disable_default_collisions> collides with no link except those that <enable_collisions> names with it. A pair may
    be listed twice; one that is disabled and enabled is an error. A <group_state> becomes a
    named configuration. It has the state's name, or "group/name" if several groups have a state of this name, and
    replaces a named configuration of the tree that has the same name. Raises ModelError with all errors: WRONG_FORMAT,
    UNKNOWN_ELEMENT, UNKNOWN_ATTRIBUTE, ATTRIBUTE_MISSING, BAD_NAME, UNKNOWN_LINK, SAME_LINK, DUPLICATE_PAIR,
    UNKNOWN_JOINT, DUPLICATE_NAME, NUMBER, ARITY, MAGNITUDE, CONFIGURATION, and those of XML.
    """
    hint, expected = "read the file first: pathlib.Path(path).read_text()", "srdf: expected the text of an SRDF"
    require_text(text, source, "an SRDF", hint=hint, expected=expected)
    root = parse(text, source, budget=budget)
    reader = Reader(source, Findings())
    if root.tag != "robot" or root.first("link") is not None:
        like = ", this looks like a URDF" if root.tag == "robot" else f", its root is <{root.tag}>"
        raise ModelError(Issue("WRONG_FORMAT", f"expected an SRDF{like}", reader.where(root)))
    links = {frame.name for frame in tree.frames}
    shaped = set(collision_links(tree))
    seen: dict[frozenset[str], Element] = {}
    disabled: list[DisabledPair] = []
    enabled: list[tuple[str, str]] = []
    free: list[str] = []
    for element in root.children:
        if element.tag == _DEFAULT:
            _check_attributes(reader, element, ("link",))
            link = _link(reader, element, "link", links)
            free += [link] if link in shaped and link not in free else []
            continue
        if element.tag not in _PAIRS:
            if element.tag not in (*_OTHERS, "group_state"):
                hint = nearest(element.tag, [*_PAIRS, _DEFAULT, "group_state", *_OTHERS])
                reader.error(
                    element, "UNKNOWN_ELEMENT", f"unknown element <{element.tag}> in the <robot> of an SRDF", hint
                )
            continue
        _check_attributes(reader, element, ("link1", "link2", "reason"))
        a, b = (_link(reader, element, attribute, links) for attribute in ("link1", "link2"))
        if a is None or b is None:
            continue
        if a == b:
            reader.error(element, "SAME_LINK", f"expected two links, got {quoted(a)} twice")
            continue
        pair = frozenset((a, b))
        if pair in seen:
            first = seen[pair]
            if first.tag != element.tag:
                message = f"the pair of {quoted(a)} and {quoted(b)} is in <{first.tag}> on line {first.line}, too"
                reader.error(element, "DUPLICATE_PAIR", message)
            continue
        seen[pair] = element
        if not pair <= shaped:
            continue
        if element.tag == "enable_collisions":
            enabled.append((a, b))
        else:
            disabled.append(DisabledPair(a, b, element.attributes.get("reason", "User")))
    states = _group_states(reader, root, tree)
    reader.findings.raise_errors()
    for link in free:
        for name in collision_links(tree):
            pair = frozenset((link, name))
            if len(pair) == 2 and pair not in seen:
                seen[pair] = root
                disabled.append(DisabledPair(link, name, "Default"))
    replaced = [state.name for state in tree.named_configurations if any(x.name == state.name for x in states)]
    tree = with_named_configurations(without_named_configurations(tree, replaced), states)
    touching = joined_bodies(tree)

    def is_adjacent(pair: DisabledPair) -> bool:
        bodies = frozenset((tree.frame(pair.a).body, tree.frame(pair.b).body))
        return pair.reason == "Adjacent" and (len(bodies) == 1 or bodies in touching)

    used = [pair for pair in disabled if not is_adjacent(pair)]
    return replace(tree, disabled_collisions=tuple(used), enabled_collisions=tuple(enabled))


def srdf_text(tree: Tree) -> str:
    """Return the SRDF of a tree's disabled collision pairs, including those that a joint connects.

    Raises ValueError if more than `MAX_PAIRS` pairs never move: all pairs of links that are welded together.
    """
    from xml.sax.saxutils import quoteattr  # imports urllib and all of email

    disabled = {frozenset((pair.a, pair.b)): pair for pair in tree.disabled_collisions}
    enabled = {frozenset(pair) for pair in tree.enabled_collisions}
    adjacent = []
    for a, b in unmoving_pairs(tree):
        if frozenset((a, b)) not in disabled and frozenset((a, b)) not in enabled:
            adjacent.append(DisabledPair(a, b, "Adjacent"))
            if len(adjacent) > MAX_PAIRS:
                raise ValueError(
                    f"srdf_document: more than {MAX_PAIRS} pairs of links that never move relative to each other; "
                    f"move the shapes of welded links to one of them, by with_collisions"
                )
    lines = ['<?xml version="1.0"?>', f"<robot name={quoteattr(tree.name)}>"]
    for pair in (*adjacent, *tree.disabled_collisions):
        a, b, reason = map(quoteattr, (pair.a, pair.b, pair.reason))
        lines.append(f"  <disable_collisions link1={a} link2={b} reason={reason}/>")
    for a, b in tree.enabled_collisions:
        lines.append(f"  <enable_collisions link1={quoteattr(a)} link2={quoteattr(b)}/>")
    return "\n".join([*lines, "</robot>"]) + "\n"


def _group_states(reader: Reader, root: Element, tree: Tree) -> list[NamedState]:
    """Return the named configurations of an SRDF.

    Joints that are fixed or follow others in the tree, and virtual joints, which robots do not have, are skipped.
    """
    elements = [element for element in root.children if element.tag == "group_state"]
    virtual = {element.attributes.get("name") for element in root.children if element.tag == "virtual_joint"}
    count = Counter(element.attributes.get("name") for element in elements)
    seen: set[str] = set()
    states = []
    for element in elements:
        name, group = reader.name(element), reader.name(element, "group")
        if name is None or group is None:
            continue
        name = name if count[name] == 1 else f"{group}/{name}"
        if name in seen:
            reader.error(element, "DUPLICATE_NAME", f"another state of group {quoted(group)} is named {quoted(name)}")
            continue
        seen.add(name)
        stated: dict[str, tuple[float, ...]] = {}
        for child in element.children:
            if child.tag != "joint":
                hint = nearest(child.tag, ["joint"])
                reader.error(child, "UNKNOWN_ELEMENT", f"unknown element <{child.tag}> in a <group_state>", hint)
                continue
            joint = reader.name(child)
            if joint is None or joint in virtual or joint in tree.fixed_joints:
                continue
            q = _stated(reader, child, joint, tree)
            if q is None:
                continue
            if joint in stated:
                reader.error(child, "DUPLICATE_NAME", f"joint {quoted(joint)} comes twice in state {quoted(name)}")
            stated[joint] = q
        states.append(NamedState(name, tuple(stated.items())))
    return states


def _stated(reader: Reader, element: Element, joint: str, tree: Tree) -> tuple[float, ...] | None:
    """Return the configuration that an element states for a joint.

    None for a joint that follows another, and after an error.
    """
    try:
        body = tree.bodies[tree.joint_index(joint)]
    except UnknownNameError as error:
        message, _, hint = str(error).partition("; ")
        reader.error(element, "UNKNOWN_JOINT", message, hint or None)
        return None
    if body.coupling is not None:
        return None
    counts_angles = body.joint.nv == 1
    values = reader.number_list(element, "value", 1 if counts_angles else body.joint.nq)
    if max(map(abs, values)) > LARGEST:
        reader.error(element, "MAGNITUDE", f"value: expected numbers of at most {LARGEST:.0e}, got {values}")
        return None
    if counts_angles:  # the sine and cosine of a continuous joint are written as its angle
        values = tuple(map(float, body.call_joint("integrate", body.call_joint("zero"), values)))
    try:
        return tuple(body.joint.checked(values, joint).tolist())
    except ValueError as error:
        reader.error(element, "CONFIGURATION", str(error))
        return None


def _check_attributes(reader: Reader, element: Element, names: tuple[str, ...]) -> None:
    for attribute in element.attributes:
        if attribute not in names:
            reader.error(element, "UNKNOWN_ATTRIBUTE", f"<{element.tag}> has no attribute {quoted(attribute)}")


def _link(reader: Reader, element: Element, attribute: str, links: set[str]) -> str | None:
    name = reader.text(element, attribute)
    if name is not None and name not in links:
        message = f"{attribute}: the robot has no link {quoted(name)}"
        reader.error(element, "UNKNOWN_LINK", message, nearest(name, links))
        return None
    return name
