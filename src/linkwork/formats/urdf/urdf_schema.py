"""Schema of URDF: its elements and attributes, and those of common extensions that are ignored.

`check` walks through a document once and reports what the reader does not use, so that nothing is dropped silently.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from linkwork._util.messages import nearest, printable, quoted
from linkwork.errors import Issue
from linkwork.formats.urdf.urdf_transmissions import states_drive
from linkwork.formats.xacro_files import XACRO_HINT
from linkwork.formats.xml_attributes import Reader
from linkwork.formats.xml_document import Element

__all__ = ["SHAPES", "VERSIONS", "check"]


@dataclass(frozen=True)
class _Kind:
    """A kind of element, by the attributes and children that are read, and those that are known but not read."""

    attributes: frozenset[str] = frozenset()
    once: dict[str, str] = field(default_factory=dict)  # children that may occur once: tag -> kind
    many: dict[str, str] = field(default_factory=dict)  # children that may occur any number of times
    ignored: frozenset[str] = frozenset()  # irrelevant to the model: tags, and attributes as "@name"
    unsupported: frozenset[str] = frozenset()  # relevant, but not read


def _kind(attributes: str = "", once: str = "", many: str = "", ignored: str = "", unsupported: str = "") -> _Kind:
    return _Kind(
        frozenset(attributes.split()),
        {tag: tag for tag in once.split()},
        {tag: tag for tag in many.split()},
        frozenset(ignored.split()),
        frozenset(unsupported.split()),
    )


VERSIONS = ("1", "1.0", "1.1", "1.2")
SHAPES = ("box", "cylinder", "sphere", "capsule", "mesh")

_SIMULATION = "gazebo sensor transmission ros2_control plugin mujoco drake verbose"
_SCHEMA: dict[str, _Kind] = {
    "robot": _kind(
        "name version",
        many="link joint material loop_joint loop",
        ignored=f"{_SIMULATION} disable_collisions group group_state end_effector passive_joint virtual_joint",
        unsupported="coupling",
    ),
    "link": _kind(
        "name",
        once="inertial",
        many="visual collision",
        ignored=f"{_SIMULATION} contact collision_checking self_collision_checking self_filter surface selfCollide "
        "audio @type",
        unsupported="gravity kinematic",
    ),
    "joint": _kind(
        "name type",
        once="origin parent child axis limit dynamics mimic",
        ignored=f"{_SIMULATION} calibration safety_controller hardwareInterface actuator @dont_collapse",
    ),
    "loop_joint": _kind("name type", once="axis limit dynamics", many="link1 link2"),
    "link1": _kind("link xyz rpy quat_xyzw", once="origin"),
    "link2": _kind("link xyz rpy quat_xyzw", once="origin"),
    "loop": _kind("name type", once="axis limit dynamics", many="predecessor successor"),
    "predecessor": _kind("link", once="origin"),
    "successor": _kind("link", once="origin"),
    "inertial": _kind("", once="origin mass inertia"),
    "mass": _kind("value"),
    "inertia": _kind("ixx ixy ixz iyy iyz izz"),
    "origin": _kind("xyz rpy quat_xyzw"),
    "visual": _kind("name", once="origin geometry material", ignored=f"{_SIMULATION} cast_shadows"),
    "collision": _kind(
        "name",
        once="origin geometry",
        ignored=f"{_SIMULATION} material contact_coefficients max_contacts surface contact @group",
    ),
    "geometry": _kind("", once=" ".join(SHAPES), ignored="@name"),
    "box": _kind("size"),
    "cylinder": _kind("radius length"),
    "capsule": _kind("radius length"),
    "sphere": _kind("radius"),
    "mesh": _kind("filename scale"),
    "material": _kind("name", once="color texture"),
    "color": _kind("rgba"),
    "texture": _kind("filename"),
    "parent": _kind("link"),
    "child": _kind("link"),
    "axis": _kind("xyz"),
    "limit": _kind(
        "lower upper effort velocity",
        ignored="@command_effort @current @gear_velocity",
        unsupported="@acceleration @deceleration @jerk",
    ),
    "dynamics": _kind(
        "damping friction spring_stiffness spring_reference armature",
        unsupported="@D @K @mu_coulomb @mu_viscous",
    ),
    "mimic": _kind("joint multiplier offset"),
}
_NAMES = {"name", "link", "joint"}  # attributes whose text is an arbitrary name
_SUBSTITUTION = re.compile(r"\$\{|\$\((?:find|arg|env|optenv|eval|dirname|anon)\b")
_MOST_KINDS = 200  # of unknown items with separate warnings


@dataclass
class _Omission:
    """Unused elements or attributes of one kind: the first of them with its message, and their number."""

    first: Element
    code: str
    message: str
    hint: str | None = None
    count: int = 1


class _Log:
    """Unused elements and attributes of a document, with one entry for each kind."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.omissions: dict[tuple[str, str], _Omission] = {}

    def add(self, kind: tuple[str, str], element: Element, code: str, message: str, hint: str | None = None) -> None:
        if kind not in self.omissions:
            if len(self.omissions) >= _MOST_KINDS:
                kind, message, hint = ("", ""), "further kinds of elements and attributes", None
                code = "UNKNOWN_TAG"
            if kind not in self.omissions:
                self.omissions[kind] = _Omission(element, code, message, hint, 0)
        self.omissions[kind].count += 1

    def add_foreign(self, kind: _Kind, name: str, item: str, element: Element, message: str) -> None:
        """Record an attribute ("@name") or a child that is not read in an element of this kind."""
        if item in kind.unsupported:
            self.add((name, item), element, "UNSUPPORTED", f"{message} is not supported yet and")
        elif ":" in item or item in kind.ignored:
            self.add((name, item), element, "IGNORED", message)
        elif (name, item) in self.omissions:
            self.omissions[name, item].count += 1  # without searching the nearest name again
        else:
            known = kind.attributes if item.startswith("@") else [*kind.once, *kind.many]
            hint = nearest(item.removeprefix("@"), known) if len(self.omissions) < _MOST_KINDS else None
            self.add((name, item), element, "UNKNOWN_TAG", message, hint)

    def report(self) -> None:
        findings = self.reader.findings
        for item in self.omissions.values():
            times = f" ({item.count} times, here first)" if item.count > 1 else ""
            where = self.reader.where(item.first)
            if item.code == "XACRO":
                findings.error(Issue("XACRO", item.message + times, where, item.hint))
            elif item.code == "IGNORED":
                findings.note(Issue("IGNORED", f"{item.message} is ignored{times}", where))
            else:
                findings.warn(Issue(item.code, f"{item.message} is ignored{times}", where, item.hint))


def check(reader: Reader, root: Element) -> None:
    """Record each element and attribute of a ``<robot>`` document that the reader does not use.

    They are unknown (UNKNOWN_TAG), without effect on the model (IGNORED), not supported (UNSUPPORTED), stated twice
    (DUPLICATE_ELEMENT), to be expanded by xacro (XACRO), or in other files (PATH_ESCAPE).
    """
    log = _Log(reader)
    stack = [(root, "robot")]
    while stack:
        element, name = stack.pop()
        kind = _SCHEMA[name]
        _check_attributes(log, element, name, kind)
        if element.text:
            message = f"text {quoted(element.text.strip())} in <{element.tag}>"
            log.add((name, "text()"), element, "UNKNOWN_TAG", message, "write values in attributes")
        first_children: dict[str, Element] = {}
        inner: list[tuple[Element, str]] = []
        for child in element.children:
            tag = child.tag
            if tag in kind.many:
                inner.append((child, kind.many[tag]))
            elif tag in kind.once:
                inner.append((child, kind.once[tag]))
                if tag in first_children:
                    message = f"a second <{tag}> in <{element.tag}>, which may have only one; the first is on line "
                    reader.error(child, "DUPLICATE_ELEMENT", f"{message}{first_children[tag].line}")
                first_children.setdefault(tag, child)
            else:
                _check_foreign(log, child, name, kind)
        stack.extend(reversed(inner))
    log.report()
    if any(item.code == "XACRO" for item in log.omissions.values()):
        reader.findings.raise_errors()  # further errors are consequences


def _check_attributes(log: _Log, element: Element, name: str, kind: _Kind) -> None:
    for attribute, text in element.attributes.items():
        if "$" in text and ("${" in text if attribute in _NAMES else _SUBSTITUTION.search(text)):
            _refuse_xacro(log, element, f"{attribute}={quoted(text)}")
        if attribute not in kind.attributes:
            log.add_foreign(
                kind, name, "@" + attribute, element, f"attribute {quoted(attribute)} of <{printable(element.tag)}>"
            )


def _check_foreign(log: _Log, element: Element, inside: str, kind: _Kind) -> None:
    """Record a child that is not part of URDF, or not permitted inside this element."""
    tag = element.tag
    prefix, _, local = tag.rpartition(":")
    if prefix == "xacro" or (inside == "robot" and tag in ("property", "macro") and "name" in element.attributes):
        _refuse_xacro(log, element, f"<{printable(tag)}>")
    elif local == "include":
        message = f"<{printable(tag)}> is not followed: a model is in one file"
        log.reader.error(element, "PATH_ESCAPE", message, "insert the included content here")
    elif inside == "robot" and states_drive(element):
        item = "springs of joints" if tag == "gazebo" else "gear ratios and rotors"
        log.add((inside, tag + item), element, "IGNORED", f"<{printable(tag)}> in <{inside}>, but for {item},")
    else:
        log.add_foreign(kind, inside, tag, element, f"<{printable(tag)}> in <{inside}>")


def _refuse_xacro(log: _Log, element: Element, item: str) -> None:
    log.add(("", "xacro"), element, "XACRO", f"{item} is xacro, not URDF", XACRO_HINT)
