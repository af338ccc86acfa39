"""Extensions of URDF for joints: gear ratios and rotors of transmissions, springs of Gazebo.

- ``<transmission>`` of one joint and one actuator, in ``<robot>`` or in ``<ros2_control>``: ``<mechanicalReduction>``
  (``<mechanical_reduction>``) in it, its joint or its actuator is the gear ratio, and so is Drake's
  ``<drake:gear_ratio value="..."/>``; ``<drake:rotor_inertia value="..."/>`` is the rotor's inertia, whose reflected
  inertia at the joint is the squared gear ratio times it.
- ``<gazebo reference="joint">``: ``<springStiffness>`` and ``<springReference>``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from linkwork._util.lazy_dataclass import dataclass
from linkwork._util.messages import nearest, quoted
from linkwork.formats.xml_attributes import Reader
from linkwork.formats.xml_document import Element
from linkwork.formats.xml_text import BadNumber, parse_number
from linkwork.model.body import Drive

if TYPE_CHECKING:
    from linkwork.joints import JointType

__all__ = ["Drives", "states_drive"]

_REDUCTION = ("mechanicalReduction", "mechanical_reduction", "drake:gear_ratio")
_ROTOR = ("drake:rotor_inertia",)
_SPRING = {"springStiffness": "stiffness", "springReference": "rest"}


def states_drive(element: Element) -> bool:
    """Return True if a ``<transmission>``, ``<ros2_control>`` or ``<gazebo>`` states a value that linkwork reads."""
    if element.tag == "gazebo":
        return "reference" in element.attributes and any(child.tag in _SPRING for child in element.children)
    if element.tag == "ros2_control":
        return any(map(states_drive, element.all("transmission")))
    return element.tag == "transmission" and _ends(element) is not None and any(True for _ in _stated_values(element))


@dataclass(slots=True)
class _StatedValues:
    """Values that a file states for one joint, each with its element.

    The keys are "gear ratio", "rotor inertia", "armature", "stiffness" and "rest".
    """

    values: dict[str, list[tuple[float, Element]]] = field(default_factory=dict)


class Drives:
    """Gear ratios, rotors and springs that extensions of URDF state, by joint name.

    Errors: NUMBER, NOT_FINITE, NEGATIVE (a rotor, a spring).  Warnings: UNKNOWN_JOINT (ignored; only a note for a gear
    ratio), DRIVE_CONFLICT (two different values: neither is used), DRIVE_ZERO (a gear ratio of zero: not used).
    """

    def __init__(self, reader: Reader, root: Element) -> None:
        self.reader = reader
        self.stated: dict[str, _StatedValues] = {}
        known = [joint.attributes.get("name", "") for joint in root.all("joint")]
        for transmission in (*root.all("transmission"), *_inside(root, "ros2_control")):
            if (ends := _ends(transmission)) is not None:
                for quantity, element in _stated_values(transmission):
                    self._add(known, ends, quantity, element)
        for gazebo in root.all("gazebo"):
            if "reference" in gazebo.attributes:
                for child in gazebo.children:
                    if child.tag in _SPRING:
                        self._add(known, gazebo.attributes["reference"], _SPRING[child.tag], child)

    def of(self, joint: Element, type: JointType, dynamics: Element | None) -> Drive:
        """Return the drive and springs of a joint, from extensions and from the joint's own ``<dynamics>``."""
        stated = self.stated.pop(joint.attributes.get("name", ""), None) or _StatedValues()
        for attribute, quantity in _DYNAMICS.items():
            if dynamics is not None and attribute in dynamics.attributes and type.nv == 1:
                value = self.reader.number(dynamics, attribute)
                stated.values.setdefault(quantity, []).append((value, dynamics))
        if not stated.values:
            return Drive()
        if type.nv != 1:
            where = next(iter(stated.values.values()))[0][1]
            kind = joint.attributes.get("type")
            message = f"<{where.tag}> of a {kind} joint is ignored: URDF does not define it for this type"
            if [*stated.values] == ["gear ratio"]:
                self.reader.note(where, "IGNORED", message)
            else:
                self.reader.warn(where, "UNSUPPORTED", message)
            return Drive()
        result = {quantity: self._one(joint, quantity, values) for quantity, values in stated.values.items()}
        ratio, rotor = result.get("gear ratio"), result.get("rotor inertia")
        armature, stiffness, spring_position = result.get("armature"), result.get("stiffness"), result.get("rest")
        if rotor is not None and "gear ratio" in result and ratio is None:
            message = "the rotor's inertia is ignored too: its gear ratio is unknown"
            self.reader.warn(stated.values["rotor inertia"][0][1], "DRIVE_CONFLICT", message)
        elif rotor is not None:
            turns = 1.0 if ratio is None else ratio
            reflected = rotor * turns * turns
            candidates = [(reflected, joint)] if armature is None else [(armature, joint), (reflected, joint)]
            armature = self._one(joint, "armature", candidates)
        return Drive(
            armature=(armature,) if armature else (),
            gear_ratio=(ratio,) if ratio not in (None, 1.0) else (),
            stiffness=(stiffness,) if stiffness else (),
            rest=tuple(type.integrate(type.zero(), [spring_position])) if spring_position else (),
        )

    def _add(self, known: list[str], joint: str, quantity: str, element: Element) -> None:
        value = self._value(element)
        if joint not in known:
            message = f"<{element.tag}> is for joint {quoted(joint)}, which does not exist: ignored"
            if quantity == "gear ratio":
                self.reader.note(element, "IGNORED", message, nearest(joint, known))
            else:
                self.reader.warn(element, "UNKNOWN_JOINT", message, nearest(joint, known))
        elif value is not None:
            self.stated.setdefault(joint, _StatedValues()).values.setdefault(quantity, []).append((value, element))

    def _value(self, element: Element) -> float | None:
        """Return the number in an element's text or, for Drake's elements, in its attribute ``value``."""
        if element.tag.startswith("drake:"):
            return self.reader.number(element, "value")
        try:
            return parse_number(element.text)
        except BadNumber as bad:
            self.reader.error(element, bad.code, f"<{element.tag}>: {bad.message}", bad.hint)
            return None

    def _one(self, joint: Element, quantity: str, values: list[tuple[float, Element]]) -> float | None:
        """Return the value of a quantity if all elements state the same valid value; otherwise None."""
        (value, first), *further = values
        for further_value, element in further:
            if further_value != value:
                message = (
                    f"two values of the {quantity} of joint {quoted(joint.attributes.get('name', ''))}, {value!r} "
                )
                where = f"on line {first.line} and {further_value!r} here: neither is used"
                self.reader.warn(element, "DRIVE_CONFLICT", message + where)
                return None
        if value < 0.0 and quantity not in ("gear ratio", "rest"):
            self.reader.error(first, "NEGATIVE", f"the {quantity} must not be negative, got {value!r}")
            return None
        if value == 0.0 and quantity == "gear ratio":
            self.reader.warn(first, "DRIVE_ZERO", "a gear ratio of 0 is ignored: the rotor would not rotate")
            return None
        return value


_DYNAMICS = {"armature": "armature", "spring_stiffness": "stiffness", "spring_reference": "rest"}


def _inside(root: Element, tag: str) -> Iterator[Element]:
    for outer in root.all(tag):
        yield from outer.all("transmission")


def _ends(transmission: Element) -> str | None:
    """Return the name of a transmission's joint; None if it has several joints or actuators, or no joint."""
    joints, actuators = list(transmission.all("joint")), list(transmission.all("actuator"))
    if len(joints) != 1 or len(actuators) > 1:
        return None
    return joints[0].attributes.get("name")


def _stated_values(transmission: Element) -> Iterator[tuple[str, Element]]:
    """Yield the name of a quantity and its element, for each gear ratio and rotor inertia in a transmission."""
    for element in (transmission, *transmission.all("joint"), *transmission.all("actuator")):
        for child in element.children:
            if child.tag in _REDUCTION:
                yield "gear ratio", child
            elif child.tag in _ROTOR:
                yield "rotor inertia", child
