"""SRDF reader: collision pairs that are disabled or enabled, named configurations, and inertias of rotors.

Sources: http://wiki.ros.org/srdf; <disable_default_collisions> as in MoveIt's AllowedCollisionMatrix; <rotor_params>
as in Pinocchio's loadRotorParameters. The report of the robot notes what is ignored: groups, end effectors, virtual
and passive joints. Unknown content, links and joints are ignored with a warning, as MoveIt does.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from linkwork._util.file_access import Budget
from linkwork._util.messages import printable, quoted
from linkwork.errors import Findings, Issue, ModelError, UnknownNameError
from linkwork.formats.file_reading import path_text, read_regular, require_text
from linkwork.formats.unused_content import Kind, Unused, kind, walk
from linkwork.formats.xml_attributes import Reader
from linkwork.formats.xml_document import Element, parse
from linkwork.joints.planar import Planar
from linkwork.joints.quaternion_joints import Floating, Spherical, quaternion_coordinates
from linkwork.model.body import WORLD, Body, DisabledPair
from linkwork.model.collision_pairs import adjacency, collision_links
from linkwork.model.description import NamedState
from linkwork.model.tree import Report, Tree
from linkwork.model.tree_actuators import with_named_configurations, without_named_configurations
from linkwork.spatial import Quaternion
from linkwork.spatial.arguments import LARGEST

__all__ = ["parse_srdf", "read_srdf"]

_PAIRS = ("disable_collisions", "enable_collisions")
_DEFAULT = "disable_default_collisions"
_SCHEMA: dict[str, Kind] = {
    "robot": kind(
        "name version",
        many=f"{' '.join(_PAIRS)} {_DEFAULT} group_state group end_effector virtual_joint passive_joint joint_property "
        "link_sphere_approximation rotor_params",
        ignored="gripper handle contact specificities",  # of the Humanoid Path Planner
    ),
    **dict.fromkeys(_PAIRS, kind("link1 link2 reason")),
    _DEFAULT: kind("link"),
    "group_state": Kind(frozenset(("name", "group")), many={"joint": "joint of a state"}),
    "joint of a state": kind("name value"),
    "rotor_params": Kind(frozenset(), many={"joint": "joint of rotors"}),
    "joint of rotors": kind("name mass gear_ratio"),
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
_FIXED_BASE = "<joint> in <group_state> for a moving base that the robot does not have"
_BASE_SIZES = {Floating: (7,), Planar: (3, 4)}  # numbers of a state of a moving base
_UNUSED_PAIR = "<{}> for a link without collision shapes"
_UNUSED_ROTOR = "<joint> in <rotor_params> for a joint that does not have one coordinate"
_READ = (*_PAIRS, _DEFAULT, "group_state", "rotor_params")


def read_srdf(tree: Tree, document: str | bytes | os.PathLike[str], *, strict: bool = False) -> Tree:
    """Return the tree with the content of an SRDF, which is a text or the path of a file: see `parse_srdf`.

    A string is a text if it is empty, contains "<" or has several lines.  Raises the system's errors for a path.
    """
    if isinstance(document, os.PathLike) or (
        isinstance(document, str) and document.strip() and "<" not in document and "\n" not in document.strip()
    ):
        path = os.path.expanduser(document)
        data = read_regular(path, Budget())
        return parse_srdf(tree, data, source=path_text(path), strict=strict)
    return parse_srdf(tree, document, strict=strict)


def parse_srdf(
    tree: Tree,
    text: str | bytes,
    *,
    source: str | None = None,
    strict: bool = False,
    budget: Budget | None = None,
) -> Tree:
    """Return the tree with the collision pairs, named configurations and rotors that an SRDF states.

    The SRDF disables pairs of links, or enables pairs that a joint connects.

    Earlier settings of pairs are replaced. Links without collision shapes are in no pair. A link in
    <disable_default_collisions> collides with no link except those that <enable_collisions> names with it. A pair may
    be listed twice; one that is disabled and enabled is an error.

    A <group_state> becomes a named configuration. It has the state's name, or "group/name" if several groups have a
    state of this name, and replaces a named configuration of the tree that has the same name. Values are in the order
    of MoveIt and Pinocchio: x y z qx qy qz qw of a floating joint, qx qy qz qw of a spherical joint, x y angle (or x y
    cos sin) of a planar joint. Values of a virtual joint, or of an unknown joint with seven values, are those of the
    moving base.

    Joints in <rotor_params> get the gear ratio N, and the armature N² I of the rotor's inertia I, which Pinocchio's
    attribute ``mass`` states [kg·m², kg].

    The report of the tree has what is ignored: notes IGNORED, and warnings UNKNOWN_TAG, UNSUPPORTED, UNKNOWN_LINK and
    UNKNOWN_JOINT, which are errors if ``strict``. Raises ModelError with all errors: WRONG_FORMAT, ATTRIBUTE_MISSING,
    BAD_NAME, SAME_LINK, DUPLICATE_PAIR, DUPLICATE_NAME, NUMBER, ARITY, MAGNITUDE, NEGATIVE, ZERO_VALUE, CONFIGURATION,
    and those of XML.
    """
    hint, expected = "pass the path to read_srdf", "srdf: expected the text of an SRDF, or the path of a file"
    require_text(text, source, "an SRDF", hint=hint, expected=expected)
    root = parse(text, source, budget=budget)
    reader = Reader(source, Findings(strict=strict))
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
            link = _link(log, element, "link", links)
            if link in shaped:
                free += [link] if link not in free else []
            elif link is not None:
                log.add(("pair", ""), element, "IGNORED", _UNUSED_PAIR.format(element.tag))
            continue
        if element.tag not in _PAIRS:
            continue
        a, b = (_link(log, element, attribute, links) for attribute in ("link1", "link2"))
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
    states, rotors = _group_states(log, root, tree), _rotors(log, root, tree)
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
    if rotors:
        driven = [
            replace(body, drive=replace(body.drive, armature=(ratio * ratio * inertia,), gear_ratio=(ratio,)))
            for body, (inertia, ratio) in ((tree.bodies[k], rotor) for k, rotor in rotors.items())
        ]
        bodies = dict(enumerate(tree.bodies)) | dict(zip(rotors, driven, strict=True))
        tree = replace(tree, bodies=tuple(bodies.values()))
    adjacent = adjacency(tree)
    used = [x for x in disabled if x.reason != "Adjacent" or not adjacent(tree.frame(x.a), tree.frame(x.b))]
    report = Report(tuple(dict.fromkeys((*tree.report.warnings, *reader.findings.warnings))))
    return replace(tree, disabled_collisions=tuple(used), enabled_collisions=tuple(enabled), report=report)


def _check(log: Unused, root: Element, tree: Tree) -> None:
    """Record content that the reader does not use: warnings UNKNOWN_TAG and UNSUPPORTED, and notes IGNORED."""
    name = root.attributes.get("name", tree.name)
    if name != tree.name:
        message = f"the name of the SRDF's robot, {quoted(name)}, which is not {quoted(tree.name)},"
        log.add(("robot", "@name"), root, "IGNORED", message)

    def check_element(element: Element, inside: str) -> None:
        for attribute in element.attributes:
            if attribute not in _SCHEMA[inside].attributes:
                message = f"attribute {quoted(attribute)} of <{element.tag}>"
                log.add_foreign(_SCHEMA[inside], inside, "@" + attribute, element, message)
        if inside in _SCHEMA["robot"].many and inside not in _READ:
            log.add(("robot", inside), element, "IGNORED", f"<{inside}> in <robot>")
        elif inside == "enable_collisions" and "reason" in element.attributes:
            log.add((inside, "@reason"), element, "IGNORED", "attribute 'reason' of <enable_collisions>")
        elif inside == "robot" and "version" in element.attributes:
            log.add((inside, "@version"), element, "IGNORED", "attribute 'version' of <robot>")

    def check_foreign(child: Element, inside: str) -> None:
        message = f"<{printable(child.tag)}> in <{inside.split()[0]}>"
        log.add_foreign(_SCHEMA[inside], inside, child.tag, child, message)

    walk(log, root, "robot", _SCHEMA, check_element, check_foreign)


def _group_states(log: Unused, root: Element, tree: Tree) -> list[NamedState]:
    """Return the named configurations of an SRDF.

    Joints that are fixed, follow others in the tree, or are unknown are skipped.
    """
    reader = log.reader
    elements = [element for element in root.children if element.tag == "group_state"]
    virtual = {x.attributes.get("name"): x for x in root.children if x.tag == "virtual_joint"}
    count = Counter(element.attributes.get("name") for element in elements)
    names: set[str] = set()
    states = []
    for element in elements:
        name, group = reader.name(element), element.attributes.get("group", "")
        if name is None:
            continue
        if count[name] > 1 and group:
            name = f"{group}/{name}"
        elif group:
            message = "attribute 'group' of a <group_state> whose name is unique"
            log.add(("group_state", "@group"), element, "IGNORED", message)
        if name in names:
            reader.error(element, "DUPLICATE_NAME", f"another state is named {quoted(name)}")
            continue
        names.add(name)
        stated: dict[str, tuple[float, ...]] = {}
        for child in element.children:
            named = reader.name(child) if child.tag == "joint" else None
            if named is None:
                continue
            body = _stated_body(log, child, named, tree, virtual)
            q = None if body is None else _stated(reader, child, body)
            if body is None or q is None:
                continue
            if body.joint_name in stated:
                reader.error(child, "DUPLICATE_NAME", f"joint {quoted(named)} comes twice in state {quoted(name)}")
            stated[body.joint_name] = q
        states.append(NamedState(name, tuple(stated.items())))
    return states


def _rotors(log: Unused, root: Element, tree: Tree) -> dict[int, tuple[float, float]]:
    """Return the inertia [kg·m², kg] and the gear ratio of rotors, by the index of the body that the joint moves."""
    reader, result = log.reader, dict[int, tuple[float, float]]()
    for element in (child for group in root.all("rotor_params") for child in group.all("joint")):
        name = reader.name(element)
        inertia, ratio = reader.number(element, "mass"), reader.number(element, "gear_ratio")
        if inertia < 0.0:
            reader.error(element, "NEGATIVE", f"mass must not be negative, got {inertia!r}")
        if ratio == 0.0 and "gear_ratio" in element.attributes:
            reader.error(element, "ZERO_VALUE", "gear_ratio: expected another number than zero")
        if ratio * ratio * inertia > LARGEST:
            reader.error(element, "MAGNITUDE", f"mass · gear_ratio²: expected at most {LARGEST:.0e}")
        if name is None:
            continue
        try:
            k = None if name in tree.fixed_joints else tree.joint_index(name)
        except UnknownNameError as error:
            log.add_unknown_name(element, "UNKNOWN_JOINT", "<joint> in <rotor_params>", name, error.known)
            continue
        if k is None or tree.bodies[k].joint.nv != 1:
            log.add(("rotor_params", "joint"), element, "IGNORED", _UNUSED_ROTOR)
        elif k in result:
            reader.error(element, "DUPLICATE_NAME", f"joint {quoted(name)} comes twice in <rotor_params>")
        else:
            result[k] = inertia, ratio
    return result


def _stated_body(
    log: Unused, element: Element, joint: str, tree: Tree, virtual: Mapping[str | None, Element]
) -> Body | None:
    """Return the body that the named joint moves; None, with a finding, if there is none.

    Names of virtual joints, and unknown names with seven values, denote the moving base.
    """
    if joint in tree.fixed_joints:
        log.add(("group_state", "joint"), element, "IGNORED", _UNUSED_VALUE)
        return None
    is_base = joint in virtual
    try:
        body = tree.bodies[tree.joint_index(joint)]
    except UnknownNameError as error:
        size = len(element.attributes.get("value", "").split())
        if not is_base and size != 7:
            log.add_unknown_name(element, "UNKNOWN_JOINT", "<joint> in <group_state>", joint, error.known)
            return None
        child = virtual[joint].attributes.get("child_link") if is_base else None
        bases = [
            body
            for k, body in enumerate(tree.bodies)
            if body.parent == WORLD and size in _BASE_SIZES.get(type(body.joint), ())
            if child is None or any(frame.name == child and frame.body == k for frame in tree.frames)
        ]
        if len(bases) != 1:
            message = _FIXED_BASE if size in (3, 4, 7) and not bases else _UNUSED_VALUE
            log.add(("group_state", message), element, "IGNORED", message)
            return None
        body = bases[0]
    if body.coupling is not None:
        log.add(("group_state", "joint"), element, "IGNORED", _UNUSED_VALUE)
        return None
    return body


def _stated(reader: Reader, element: Element, body: Body) -> tuple[float, ...] | None:
    """Return the configuration q that an element states for a body's joint; None after an error."""
    joint = body.joint
    size = len(element.attributes.get("value", "").split())
    counts_angles = joint.nv == 1
    has_direction = isinstance(joint, Planar) and size == 4  # the cosine and the sine of the angle
    values = reader.number_list(element, "value", 1 if counts_angles else 4 if has_direction else joint.nq)
    if max(map(abs, values)) > LARGEST:
        reader.error(element, "MAGNITUDE", f"value: expected numbers of at most {LARGEST:.0e}, got {values}")
        return None
    if counts_angles:  # the sine and cosine of a continuous joint are written as its angle
        values = tuple(map(float, body.call_joint("integrate", body.call_joint("zero"), values)))
    elif has_direction:
        values = (*values[:2], math.atan2(values[3], values[2]))
    elif isinstance(joint, (Floating, Spherical)):
        *position, x, y, z, w = values
        values = (*quaternion_coordinates(Quaternion(w, x, y, z), joint.scalar_last), *position)
    try:
        return tuple(joint.checked(values, body.joint_name).tolist())
    except ValueError as error:
        reader.error(element, "CONFIGURATION", str(error))
        return None


def _link(log: Unused, element: Element, attribute: str, links: set[str]) -> str | None:
    name = log.reader.text(element, attribute)
    if name is not None and name not in links:
        log.add_unknown_name(element, "UNKNOWN_LINK", f"<{element.tag}>", name, links)
        return None
    return name
