"""Schema of URDF: its elements and attributes, and those of common extensions that are ignored.

`check` walks through a document once and reports what the reader does not use, so that nothing is dropped silently.
"""

from __future__ import annotations

import re

from linkwork._util.messages import printable, quoted
from linkwork.formats.file_reading import XACRO_HINT
from linkwork.formats.unused_content import Kind, Unused, kind, walk
from linkwork.formats.urdf.urdf_transmissions import states_drive
from linkwork.formats.xml_attributes import Reader
from linkwork.formats.xml_document import Element

__all__ = ["SHAPES", "VERSIONS", "check"]


VERSIONS = ("1", "1.0", "1.1", "1.2")
SHAPES = ("box", "cylinder", "sphere", "capsule", "mesh")

_SIMULATION = "gazebo sensor transmission ros2_control plugin mujoco drake verbose"
_SCHEMA: dict[str, Kind] = {
    "robot": kind(
        "name version",
        many="link joint material loop_joint loop",
        ignored=f"{_SIMULATION} disable_collisions group group_state end_effector passive_joint virtual_joint",
        unsupported="coupling",
    ),
    "link": kind(
        "name",
        once="inertial",
        many="visual collision",
        ignored=f"{_SIMULATION} contact collision_checking self_collision_checking self_filter surface selfCollide "
        "audio @type",
        unsupported="gravity kinematic",
    ),
    "joint": kind(
        "name type",
        once="origin parent child axis limit dynamics mimic",
        ignored=f"{_SIMULATION} calibration safety_controller hardwareInterface actuator @dont_collapse",
    ),
    "loop_joint": kind("name type", once="axis limit dynamics", many="link1 link2"),
    "link1": kind("link xyz rpy quat_xyzw", once="origin"),
    "link2": kind("link xyz rpy quat_xyzw", once="origin"),
    "loop": kind("name type", once="axis limit dynamics", many="predecessor successor"),
    "predecessor": kind("link", once="origin"),
    "successor": kind("link", once="origin"),
    "inertial": kind("", once="origin mass inertia"),
    "mass": kind("value"),
    "inertia": kind("ixx ixy ixz iyy iyz izz"),
    "origin": kind("xyz rpy quat_xyzw"),
    "visual": kind("name", once="origin geometry material", ignored=f"{_SIMULATION} cast_shadows"),
    "collision": kind(
        "name",
        once="origin geometry",
        ignored=f"{_SIMULATION} material contact_coefficients max_contacts surface contact @group",
    ),
    "geometry": kind("", once=" ".join(SHAPES), ignored="@name"),
    "box": kind("size"),
    "cylinder": kind("radius length"),
    "capsule": kind("radius length"),
    "sphere": kind("radius"),
    "mesh": kind("filename scale"),
    "material": kind("name", once="color texture"),
    "color": kind("rgba"),
    "texture": kind("filename"),
    "parent": kind("link"),
    "child": kind("link"),
    "axis": kind("xyz"),
    "limit": kind(
        "lower upper effort velocity acceleration deceleration jerk",
        ignored="@command_effort @current @gear_velocity",
    ),
    "dynamics": kind(
        "damping friction spring_stiffness spring_reference armature",
        unsupported="@D @K @mu_coulomb @mu_viscous",
    ),
    "mimic": kind("joint multiplier offset"),
}
_WITHOUT_EFFECT = {  # children that the type of a joint or a loop does not need
    ("joint", "fixed"): ("axis", "limit", "dynamics"),
    ("joint", "floating"): ("axis",),
    **{(tag, joint_type): ("axis",) for tag in ("loop_joint", "loop") for joint_type in ("fixed", "spherical")},
}
_NAMES = {"name", "link", "joint"}  # attributes whose text is an arbitrary name
_SUBSTITUTION = re.compile(r"\$\{|\$\((?:find|arg|env|optenv|eval|dirname|anon)\b")


def check(reader: Reader, root: Element) -> None:
    """Record each element and attribute of a ``<robot>`` document that the reader does not use.

    Such content is unknown (UNKNOWN_TAG), without effect on the model (IGNORED), not supported (UNSUPPORTED), stated
    twice (DUPLICATE_ELEMENT), to be expanded by xacro (XACRO), or in other files (PATH_ESCAPE).
    """
    log = Unused(reader)
    walk(
        log,
        root,
        "robot",
        _SCHEMA,
        lambda element, name: _check_element(log, element, name, _SCHEMA[name]),
        lambda child, inside: _check_foreign(log, child, inside, _SCHEMA[inside]),
    )
    log.report()
    if any(item.code == "XACRO" for item in log.omissions.values()):
        reader.findings.raise_errors()  # further errors are consequences


def _check_element(log: Unused, element: Element, name: str, kind: Kind) -> None:
    joint_type = element.attributes.get("type", "")
    for tag in _WITHOUT_EFFECT.get((name, joint_type), ()):
        if (child := element.first(tag)) is not None:
            log.add((name, joint_type + tag), child, "IGNORED", f"<{tag}> of a {joint_type} <{name}>")
    for attribute, text in element.attributes.items():
        if "$" in text and ("${" in text if attribute in _NAMES else _SUBSTITUTION.search(text)):
            _refuse_xacro(log, element, f"{attribute}={quoted(text)}")
        if attribute not in kind.attributes:
            log.add_foreign(
                kind, name, "@" + attribute, element, f"attribute {quoted(attribute)} of <{printable(element.tag)}>"
            )


def _check_foreign(log: Unused, element: Element, inside: str, kind: Kind) -> None:
    """Record a child element that is not part of URDF, or that URDF does not permit in its parent."""
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


def _refuse_xacro(log: Unused, element: Element, item: str) -> None:
    log.add(("", "xacro"), element, "XACRO", f"{item} is xacro, not URDF", XACRO_HINT)
