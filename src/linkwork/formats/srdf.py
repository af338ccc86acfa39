"""SRDF reader and writer: disabled collision pairs are read and written, named configurations are read.

Sources: http://wiki.ros.org/srdf; <disable_default_collisions> as in MoveIt's AllowedCollisionMatrix.  The elements
<disable_collisions>, <enable_collisions>, <disable_default_collisions> and <group_state> are read.  The report of the
robot notes what is ignored: groups, end effectors, virtual and passive joints.  Unknown content is an error.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from linkwork._util.file_budget import Budget
from linkwork._util.messages import nearest, quoted
from linkwork.errors import Findings, Issue, ModelError, UnknownNameError
from linkwork.formats.file_reading import require_text
from linkwork.formats.unused_content import Kind, Unused, kind, walk
from linkwork.formats.xml_attributes import Reader
from linkwork.formats.xml_document import Element, parse
from linkwork.model.body import DisabledPair
from linkwork.model.collision_pairs import adjacency, collision_links, unmoving_pairs
from linkwork.model.description import NamedState
from linkwork.model.tree import Report, Tree
from linkwork.model.tree_actuators import with_named_configurations, without_named_configurations
from linkwork.spatial.arguments import LARGEST

__all__ = ["parse_srdf", "srdf_text"]

MAX_PAIRS = 200_000  # pairs that are written: some 15 MB
_PAIRS = ("disable_collisions", "enable_collisions")
_DEFAULT = "disable_default_collisions"
_SCHEMA: dict[str, Kind] = {
    "robot": kind(
        "name version",
        many=f"{' '.join(_PAIRS)} {_DEFAULT} group_state group end_effector virtual_joint passive_joint joint_property "
        "link_sphere_approximation",
    ),
    **dict.fromkeys(_PAIRS, kind("link1 link2 reason")),
    _DEFAULT: kind("link"),
    "group_state": Kind(frozenset(("name", "group")), many={"joint": "joint of a state"}),
    "joint of a state": kind("name value"),
    "group": kind("name", many="link joint chain group"),
    "link": kind("name"),
    "joint": kind("name"),
    "chain": kind("base_link tip_link"),
    "end_effector": kind("name group parent_link parent_group"),
    "virtual_joint": kind("name type parent_frame child_link"),
    "passive_joint": kind("name"),
    "joint_property": kind("joint_name property_name value"),
    "link_sphere_approximation": kind("link", many="sphere"),
    "sphere": kind("center radius"),
}
_UNUSED_VALUE = "<joint> in <group_state> for a joint that is fixed, follows another joint or is a virtual joint"
_UNUSED_PAIR = "<{}> for a link without collision shapes"
_READ = (*_PAIRS, _DEFAULT, "group_state")


def parse_srdf(tree: Tree, text: str | bytes, *, source: str | None = None, budget: Budget | None = None) -> Tree:
    """Return the tree with the collision pairs that an SRDF disables, or enables although a joint connects them.

    Earlier settings of pairs are replaced. Links without collision shapes are in no pair. A link in
    <disable_default_collisions> collides with no link except those that <enable_collisions> names with it. A pair may
    be listed twice; one that is disabled and enabled is an error. A <group_state> becomes a
    named configuration. It has the state's name, or "group/name" if several groups have a state of this name, and
    replaces a named configuration of the tree that has the same name. Raises ModelError with all errors: WRONG_FORMAT,
    UNKNOWN_ELEMENT, UNKNOWN_ATTRIBUTE, ATTRIBUTE_MISSING, BAD_NAME, UNKNOWN_LINK, SAME_LINK, DUPLICATE_PAIR,
    UNKNOWN_JOINT, DUPLICATE_NAME, NUMBER, ARITY, MAGNITUDE, CONFIGURATION, and those of XML.  What is ignored is in the
    report of the tree (IGNORED, UNKNOWN_TAG).
    """
    hint, expected = "read the file first: pathlib.Path(path).read_text()", "srdf: expected the text of an SRDF"
    require_text(text, source, "an SRDF", hint=hint, expected=expected)
    root = parse(text, source, budget=budget)
    reader = Reader(source, Findings())
    if root.tag != "robot" or root.first("link") is not None:
        like = ", this looks like a URDF" if root.tag == "robot" else f", its root is <{root.tag}>"
        raise ModelError(Issue("WRONG_FORMAT", f"expected an SRDF{like}", reader.where(root)))
    log = Unused(reader)
    _check(log, root, tree)
    links = {frame.name for frame in tree.frames}
    shaped = set(collision_links(tree))
    first_elements: dict[frozenset[str], Element] = {}
    disabled: list[DisabledPair] = []
    enabled: list[tuple[str, str]] = []
    free: list[str] = []
    for element in root.children:
        if element.tag == _DEFAULT:
            link = _link(reader, element, "link", links)
            if link in shaped:
                free += [link] if link not in free else []
            elif link is not None:
                log.add(("pair", ""), element, "IGNORED", _UNUSED_PAIR.format(element.tag))
            continue
        if element.tag not in _PAIRS:
            continue
        a, b = (_link(reader, element, attribute, links) for attribute in ("link1", "link2"))
        if a is None or b is None:
            continue
        if a == b:
            reader.error(element, "SAME_LINK", f"expected two links, got {quoted(a)} twice")
            continue
        pair = frozenset((a, b))
        if pair in first_elements:
            first = first_elements[pair]
            if first.tag != element.tag:
                message = f"the pair of {quoted(a)} and {quoted(b)} is in <{first.tag}> on line {first.line}, too"
                reader.error(element, "DUPLICATE_PAIR", message)
            continue
        first_elements[pair] = element
        if not pair <= shaped:
            log.add(("pair", ""), element, "IGNORED", _UNUSED_PAIR.format(element.tag))
            continue
        if element.tag == "enable_collisions":
            enabled.append((a, b))
        else:
            disabled.append(DisabledPair(a, b, element.attributes.get("reason", "User")))
    states = _group_states(log, root, tree)
    log.report()
    reader.findings.raise_errors()
    for link in free:
        for name in collision_links(tree):
            pair = frozenset((link, name))
            if len(pair) == 2 and pair not in first_elements:
                first_elements[pair] = root
                disabled.append(DisabledPair(link, name, "Default"))
    replaced = [state.name for state in tree.named_configurations if any(x.name == state.name for x in states)]
    tree = with_named_configurations(without_named_configurations(tree, replaced), states)
    adjacent = adjacency(tree)
    used = [x for x in disabled if x.reason != "Adjacent" or not adjacent(tree.frame(x.a), tree.frame(x.b))]
    report = Report(tuple(dict.fromkeys((*tree.report.warnings, *reader.findings.warnings))))
    return replace(tree, disabled_collisions=tuple(used), enabled_collisions=tuple(enabled), report=report)


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


def _check(log: Unused, root: Element, tree: Tree) -> None:
    """Record content that the reader ignores: errors UNKNOWN_ELEMENT and UNKNOWN_ATTRIBUTE, and notes IGNORED."""
    reader = log.reader
    name = root.attributes.get("name", tree.name)
    if name != tree.name:
        message = f"the name of the SRDF's robot, {quoted(name)}, which is not {quoted(tree.name)},"
        log.add(("robot", "@name"), root, "IGNORED", message)

    def check_element(element: Element, inside: str) -> None:
        for attribute in element.attributes:
            if ":" in attribute:
                message = f"attribute {quoted(attribute)} of <{element.tag}>"
                log.add_foreign(_SCHEMA[inside], inside, "@" + attribute, element, message)
            elif attribute not in _SCHEMA[inside].attributes:
                hint = nearest(attribute, _SCHEMA[inside].attributes)
                reader.error(
                    element, "UNKNOWN_ATTRIBUTE", f"<{element.tag}> has no attribute {quoted(attribute)}", hint
                )
        if inside in _SCHEMA["robot"].many and inside not in _READ:
            log.add(("robot", inside), element, "IGNORED", f"<{inside}> in <robot>")
        elif inside == "enable_collisions" and "reason" in element.attributes:
            log.add((inside, "@reason"), element, "IGNORED", "attribute 'reason' of <enable_collisions>")
        elif inside == "robot" and "version" in element.attributes:
            log.add((inside, "@version"), element, "IGNORED", "attribute 'version' of <robot>")

    def check_foreign(child: Element, inside: str) -> None:
        owner = "the <robot> of an SRDF" if inside == "robot" else f"a <{inside}>"
        message = f"unknown element <{child.tag}> in {owner}"
        reader.error(child, "UNKNOWN_ELEMENT", message, nearest(child.tag, _SCHEMA[inside].many))

    walk(log, root, "robot", _SCHEMA, check_element, check_foreign)


def _group_states(log: Unused, root: Element, tree: Tree) -> list[NamedState]:
    """Return the named configurations of an SRDF.

    Joints that are fixed or follow others in the tree, and virtual joints, which robots do not have, are skipped.
    """
    reader = log.reader
    elements = [element for element in root.children if element.tag == "group_state"]
    virtual = {element.attributes.get("name") for element in root.children if element.tag == "virtual_joint"}
    count = Counter(element.attributes.get("name") for element in elements)
    names: set[str] = set()
    states = []
    for element in elements:
        name, group = reader.name(element), reader.name(element, "group")
        if name is None or group is None:
            continue
        if count[name] > 1:
            name = f"{group}/{name}"
        else:
            message = "attribute 'group' of a <group_state> whose name is unique"
            log.add(("group_state", "@group"), element, "IGNORED", message)
        if name in names:
            reader.error(element, "DUPLICATE_NAME", f"another state of group {quoted(group)} is named {quoted(name)}")
            continue
        names.add(name)
        stated: dict[str, tuple[float, ...]] = {}
        for child in element.children:
            joint = reader.name(child) if child.tag == "joint" else None
            if joint is None:
                continue
            if joint in virtual or joint in tree.fixed_joints:
                log.add(("group_state", "joint"), child, "IGNORED", _UNUSED_VALUE)
                continue
            q = _stated(log, child, joint, tree)
            if q is None:
                continue
            if joint in stated:
                reader.error(child, "DUPLICATE_NAME", f"joint {quoted(joint)} comes twice in state {quoted(name)}")
            stated[joint] = q
        states.append(NamedState(name, tuple(stated.items())))
    return states


def _stated(log: Unused, element: Element, joint: str, tree: Tree) -> tuple[float, ...] | None:
    """Return the configuration that an element states for a joint.

    None for a joint that follows another, and after an error.
    """
    reader = log.reader
    try:
        body = tree.bodies[tree.joint_index(joint)]
    except UnknownNameError as error:
        message, _, hint = str(error).partition("; ")
        reader.error(element, "UNKNOWN_JOINT", message, hint or None)
        return None
    if body.coupling is not None:
        log.add(("group_state", "joint"), element, "IGNORED", _UNUSED_VALUE)
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


def _link(reader: Reader, element: Element, attribute: str, links: set[str]) -> str | None:
    name = reader.text(element, attribute)
    if name is not None and name not in links:
        message = f"{attribute}: the robot has no link {quoted(name)}"
        reader.error(element, "UNKNOWN_LINK", message, nearest(name, links))
        return None
    return name
