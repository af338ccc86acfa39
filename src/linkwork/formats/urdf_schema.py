"""What a URDF may say: its elements and attributes, and those of its common extensions that are passed over.

`check` walks a document once and finds what the reader does not do: nothing in a file is dropped without a word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..errors import Issue, nearest
from .numbers import quoted
from .reader import Reader
from .xml import Element

__all__ = ["SHAPES", "check"]


@dataclass(frozen=True)
class _Kind:
    """A kind of element: the attributes and children that are read, and those known but passed over."""

    attributes: frozenset[str] = frozenset()
    once: dict[str, str] = field(default_factory=dict)  # children that may stand here once: tag -> kind
    many: dict[str, str] = field(default_factory=dict)  # children that may stand here any number of times
    passed_over: frozenset[str] = frozenset()  # tags, and attributes as "@name"


def _kind(attributes: str = "", once: str = "", many: str = "", passed_over: str = "") -> _Kind:
    return _Kind(
        frozenset(attributes.split()),
        {tag: tag for tag in once.split()},
        {tag: tag for tag in many.split()},
        frozenset(passed_over.split()),
    )


SHAPES = ("box", "cylinder", "sphere", "mesh")

_SIMULATION = "gazebo sensor transmission ros2_control plugin mujoco drake verbose"
_SCHEMA: dict[str, _Kind] = {
    "robot": _kind(
        "name version",
        many="link joint material",
        passed_over=f"{_SIMULATION} loop_joint disable_collisions group group_state end_effector passive_joint "
        "virtual_joint self_collide compiler",
    ),
    "link": _kind(
        "name",
        once="inertial",
        many="visual collision",
        passed_over=f"{_SIMULATION} contact collision_checking self_collision_checking self_filter gravity kinematic "
        "surface selfCollide parent origin material audio @type",
    ),
    "joint": _kind(
        "name type",
        once="origin parent child axis limit dynamics mimic",
        passed_over=f"{_SIMULATION} calibration safety_controller hardwareInterface actuator @dont_collapse",
    ),
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
    "geometry": _kind("", once=" ".join(SHAPES), passed_over="capsule @name"),
    "box": _kind("size"),
    "cylinder": _kind("radius length"),
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
        passed_over="@acceleration @deceleration @jerk @command_effort @current @gear_velocity",
    ),
    "dynamics": _kind(
        "damping friction",
        passed_over="@D @K @mu_coulomb @mu_viscous @spring_stiffness @spring_reference @armature",
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
    message: str
    hint: str | None
    noted: bool  # known, and without bearing on the model
    count: int = 1


def check(reader: Reader, root: Element) -> None:
    """Finds in a document whose root is ``<robot>`` what is unknown (UNKNOWN_TAG), passed over (IGNORED), given twice
    (DUPLICATE_ELEMENT), not expanded (XACRO) or included from elsewhere (PATH_ESCAPE).
    """
    seen: dict[tuple[str, str], _Seen] = {}
    stack = [(root, "robot")]
    while stack:
        element, name = stack.pop()
        kind = _SCHEMA[name]
        _check_attributes(reader, element, name, kind, seen)
        if element.text:
            what = f"text {quoted(element.text.strip())} in <{element.tag}>"
            _see(seen, (name, "text"), element, what, "values stand in attributes", False)
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
                _check_foreign(reader, child, name, kind, seen)
        stack.extend(reversed(inner))
    _report(reader, seen)


def _check_attributes(
    reader: Reader, element: Element, name: str, kind: _Kind, seen: dict[tuple[str, str], _Seen]
) -> None:
    for attribute, text in element.attributes.items():
        if "$" in text and ("${" in text if attribute in _NAMES else _SUBSTITUTION.search(text)):
            _refuse_xacro(reader, element, f'{attribute}="{text[:60]}"')
        if attribute in kind.attributes:
            continue
        noted = ":" in attribute or "@" + attribute in kind.passed_over
        what = f"attribute {quoted(attribute)} of <{element.tag}>"
        hint = None if noted else nearest(attribute, kind.attributes)
        _see(seen, (name, "@" + attribute), element, what, hint, noted)


def _check_foreign(
    reader: Reader, element: Element, inside: str, kind: _Kind, seen: dict[tuple[str, str], _Seen]
) -> None:
    """An element that is no URDF, or not here."""
    tag = element.tag
    prefix, _, local = tag.rpartition(":")
    if prefix == "xacro" or (inside == "robot" and tag in ("property", "macro") and "name" in element.attributes):
        _refuse_xacro(reader, element, f"<{tag}>")
    elif local == "include":
        message = f"<{tag}> is not followed: a model stands in one file"
        reader.error(element, "PATH_ESCAPE", message, "put what it includes in its place")
    else:
        noted = bool(prefix) or tag in kind.passed_over
        hint = None if noted else nearest(tag, [*kind.once, *kind.many])
        _see(seen, (inside, tag), element, f"<{printable_tag(tag)}> in <{inside}>", hint, noted)


def printable_tag(tag: str) -> str:
    return tag if len(tag) <= 60 else tag[:57] + "..."


def _refuse_xacro(reader: Reader, element: Element, what: str) -> None:
    hint = "expand the file with xacro (or xacrodoc) and give the result"
    reader.error(element, "XACRO", f"{what} is xacro's, not URDF", hint)


def _see(
    seen: dict[tuple[str, str], _Seen], key: tuple[str, str], element: Element, what: str, hint: str | None, noted: bool
) -> None:
    if key in seen:
        seen[key].count += 1
    elif len(seen) < _MOST_KINDS:
        seen[key] = _Seen(element, what, hint, noted)
    else:
        rest = seen.setdefault(("", ""), _Seen(element, "further kinds of elements and attributes", None, False, 0))
        rest.count += 1


def _report(reader: Reader, seen: dict[tuple[str, str], _Seen]) -> None:
    for item in seen.values():
        times = f" ({item.count} times, here first)" if item.count > 1 else ""
        where = reader.where(item.first)
        message = f"{item.message} is ignored{times}"
        if item.noted:
            reader.findings.note(Issue("IGNORED", message, where))
        else:
            reader.findings.warn(Issue("UNKNOWN_TAG", message, where, item.hint))
