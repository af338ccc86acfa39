"""What a URDF may say: its elements and attributes, and those of its common extensions that are passed over.

`check` walks a document once and finds what the reader does not do: nothing in a file is dropped without a word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from linkwork._util.messages import nearest, printable, quoted
from linkwork.errors import Issue
from linkwork.formats.urdf.urdf_transmissions import has_drive
from linkwork.formats.xml_attributes import Reader
from linkwork.formats.xml_document import Element

__all__ = ["SHAPES", "VERSIONS", "check"]


@dataclass(frozen=True)
class _Kind:
    """A kind of element: the attributes and children that are read, and those that are known but not read."""

    attributes: frozenset[str] = frozenset()
    once: dict[str, str] = field(default_factory=dict)  # children that may stand here once: tag -> kind
    many: dict[str, str] = field(default_factory=dict)  # children that may stand here any number of times
    passed_over: frozenset[str] = frozenset()  # without bearing on the model: tags, and attributes as "@name"
    unsupported: frozenset[str] = frozenset()  # with bearing on it


def _kind(attributes: str = "", once: str = "", many: str = "", passed_over: str = "", unsupported: str = "") -> _Kind:
    return _Kind(
        frozenset(attributes.split()),
        {tag: tag for tag in once.split()},
        {tag: tag for tag in many.split()},
        frozenset(passed_over.split()),
        frozenset(unsupported.split()),
    )


VERSIONS = ("1", "1.0", "1.1", "1.2")
SHAPES = ("box", "cylinder", "sphere", "capsule", "mesh")

_SIMULATION = "gazebo sensor transmission ros2_control plugin mujoco drake verbose"
_SCHEMA: dict[str, _Kind] = {
    "robot": _kind(
        "name version",
        many="link joint material loop_joint loop",
        passed_over=f"{_SIMULATION} disable_collisions group group_state end_effector passive_joint virtual_joint",
        unsupported="coupling",
    ),
    "link": _kind(
        "name",
        once="inertial",
        many="visual collision",
        passed_over=f"{_SIMULATION} contact collision_checking self_collision_checking self_filter surface selfCollide "
        "audio @type",
        unsupported="gravity kinematic",
    ),
    "joint": _kind(
        "name type",
        once="origin parent child axis limit dynamics mimic",
        passed_over=f"{_SIMULATION} calibration safety_controller hardwareInterface actuator @dont_collapse",
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
    "visual": _kind("name", once="origin geometry material", passed_over=f"{_SIMULATION} cast_shadows"),
    "collision": _kind(
        "name",
        once="origin geometry",
        passed_over=f"{_SIMULATION} material contact_coefficients max_contacts surface contact @group",
    ),
    "geometry": _kind("", once=" ".join(SHAPES), passed_over="@name"),
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
        passed_over="@command_effort @current @gear_velocity",
        unsupported="@acceleration @deceleration @jerk",
    ),
    "dynamics": _kind(
        "damping friction spring_stiffness spring_reference armature",
        unsupported="@D @K @mu_coulomb @mu_viscous",
    ),
    "mimic": _kind("joint multiplier offset"),
}
_NAMES = {"name", "link", "joint"}  # attributes whose text is a name, which may be anything
_SUBSTITUTION = re.compile(r"\$\{|\$\((?:find|arg|env|optenv|eval|dirname|anon)\b")
_MOST_KINDS = 200  # of what is unknown that get a warning of their own


@dataclass
class _Seen:
    """The first of the things of one kind that are left out, and how many there are."""

    first: Element
    code: str
    message: str
    hint: str | None = None
    count: int = 1


class _Log:
    """What a document says that is not read, one entry a kind."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.seen: dict[tuple[str, str], _Seen] = {}

    def add(self, kind: tuple[str, str], element: Element, code: str, message: str, hint: str | None = None) -> None:
        if kind not in self.seen:
            if len(self.seen) >= _MOST_KINDS:
                kind, message, hint = ("", ""), "further kinds of elements and attributes", None
                code = "UNKNOWN_TAG"
            if kind not in self.seen:
                self.seen[kind] = _Seen(element, code, message, hint, 0)
        self.seen[kind].count += 1

    def foreign(self, kind: _Kind, name: str, what: str, element: Element, message: str) -> None:
        """An element or attribute ("@name") that is not read in an element of this kind."""
        if what in kind.unsupported:
            self.add((name, what), element, "UNSUPPORTED", f"{message} is not supported yet and")
        elif ":" in what or what in kind.passed_over:
            self.add((name, what), element, "IGNORED", message)
        elif (name, what) in self.seen:
            self.seen[name, what].count += 1  # without looking for its nearest name again
        else:
            known = kind.attributes if what.startswith("@") else [*kind.once, *kind.many]
            hint = nearest(what.removeprefix("@"), known) if len(self.seen) < _MOST_KINDS else None
            self.add((name, what), element, "UNKNOWN_TAG", message, hint)

    def report(self) -> None:
        findings = self.reader.findings
        for item in self.seen.values():
            times = f" ({item.count} times, here first)" if item.count > 1 else ""
            where = self.reader.where(item.first)
            if item.code == "XACRO":
                findings.error(Issue("XACRO", item.message + times, where, item.hint))
            elif item.code == "IGNORED":
                findings.note(Issue("IGNORED", f"{item.message} is ignored{times}", where))
            else:
                findings.warn(Issue(item.code, f"{item.message} is ignored{times}", where, item.hint))


def check(reader: Reader, root: Element) -> None:
    """Finds in a document whose root is ``<robot>`` what is unknown (UNKNOWN_TAG), passed over (IGNORED), given twice
    (DUPLICATE_ELEMENT), not expanded (XACRO) or included from elsewhere (PATH_ESCAPE).
    """
    log = _Log(reader)
    stack = [(root, "robot")]
    while stack:
        element, name = stack.pop()
        kind = _SCHEMA[name]
        _check_attributes(log, element, name, kind)
        if element.text:
            message = f"text {quoted(element.text.strip())} in <{element.tag}>"
            log.add((name, "text()"), element, "UNKNOWN_TAG", message, "values stand in attributes")
        given: dict[str, Element] = {}
        inner: list[tuple[Element, str]] = []
        for child in element.children:
            tag = child.tag
            if tag in kind.many:
                inner.append((child, kind.many[tag]))
            elif tag in kind.once:
                inner.append((child, kind.once[tag]))
                if tag in given:
                    message = f"a second <{tag}> in <{element.tag}>, which may have one; the first is on line "
                    reader.error(child, "DUPLICATE_ELEMENT", f"{message}{given[tag].line}")
                given.setdefault(tag, child)
            else:
                _check_foreign(log, child, name, kind)
        stack.extend(reversed(inner))
    log.report()
    if any(item.code == "XACRO" for item in log.seen.values()):
        reader.findings.raise_errors()  # what else is wrong follows from it


def _check_attributes(log: _Log, element: Element, name: str, kind: _Kind) -> None:
    for attribute, text in element.attributes.items():
        if "$" in text and ("${" in text if attribute in _NAMES else _SUBSTITUTION.search(text)):
            _refuse_xacro(log, element, f"{attribute}={quoted(text)}")
        if attribute not in kind.attributes:
            log.foreign(
                kind, name, "@" + attribute, element, f"attribute {quoted(attribute)} of <{printable(element.tag)}>"
            )


def _check_foreign(log: _Log, element: Element, inside: str, kind: _Kind) -> None:
    """An element that is no URDF, or not here."""
    tag = element.tag
    prefix, _, local = tag.rpartition(":")
    if prefix == "xacro" or (inside == "robot" and tag in ("property", "macro") and "name" in element.attributes):
        _refuse_xacro(log, element, f"<{printable(tag)}>")
    elif local == "include":
        message = f"<{printable(tag)}> is not followed: a model stands in one file"
        log.reader.error(element, "PATH_ESCAPE", message, "put what it includes in its place")
    elif inside == "robot" and has_drive(element):
        what = "springs of joints" if tag == "gazebo" else "gear ratios and rotors"
        log.add((inside, tag + what), element, "IGNORED", f"<{printable(tag)}> in <{inside}>, but for {what},")
    else:
        log.foreign(kind, inside, tag, element, f"<{printable(tag)}> in <{inside}>")


def _refuse_xacro(log: _Log, element: Element, what: str) -> None:
    hint = "expand the file with xacro (or xacrodoc) and give the result"
    log.add(("", "xacro"), element, "XACRO", f"{what} is xacro's, not URDF", hint)
