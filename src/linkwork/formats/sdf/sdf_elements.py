"""Readers of SDF's elements: numbers, switches and poses, which are the text of elements."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from linkwork._util.messages import quoted
from linkwork.formats.description import LARGEST, Findings
from linkwork.formats.xml_attributes import Reader
from linkwork.formats.xml_document import Element
from linkwork.formats.xml_text import BadNumber, parse_number, parse_number_list
from linkwork.spatial import Pose, Rotation, Vec3

__all__ = ["NO_LIMIT", "OLDEST", "Release", "SdfReader", "version_text"]

Release = tuple[int, int]
OLDEST, NEWEST = (1, 4), (1, 12)
_VERSION = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})")
_SWITCHES = {"true": True, "1": True, "false": False, "0": False}
_ZEROS = (0.0, 0.0, 0.0)
NO_LIMIT = 1e16  # value that SDF files have for a missing limit


class SdfReader(Reader):
    """Reader of the elements of one SDF document; ``release`` is the version of SDF that the document declares.

    Values are the text of child elements.  Where the schema has a default, a missing element is not an error.
    """

    def __init__(self, file: str | None, findings: Findings, root: Element) -> None:
        super().__init__(file, findings, root.attributes.get("version", "").strip())
        self.release = self._release(root)

    def _release(self, root: Element) -> Release:
        match = _VERSION.fullmatch(self.version)
        if "version" not in root.attributes:
            message = f"<sdf> without version: read as {version_text(NEWEST)}"
            self.warn(root, "VERSION", message, f'write version="{version_text(NEWEST)}"')
        elif match is None:
            self.error(root, "VERSION", f"expected a version of SDF such as 1.9, got {quoted(self.version)}")
        elif not OLDEST <= (int(match[1]), int(match[2])) <= NEWEST:
            release = OLDEST if (int(match[1]), int(match[2])) < OLDEST else NEWEST
            known = f"{version_text(OLDEST)} to {version_text(NEWEST)} are known"
            self.warn(root, "VERSION", f"version {self.version} of SDF: {known}: read as {version_text(release)}")
            return release
        else:
            return int(match[1]), int(match[2])
        return NEWEST

    # -- text

    def string(self, parent: Element, tag: str) -> str | None:
        """Return the text of a child; None, with the error ELEMENT_MISSING, if it is missing or empty."""
        child = self.required(parent, tag)
        if child is None:
            return None
        text = child.text.strip()
        if not text:
            self.error(child, "ELEMENT_MISSING", f"<{tag}> is empty")
            return None
        return text

    def flag(self, parent: Element, tag: str, default: bool = False) -> bool:
        """Return the bool in a child's text; ``default`` if the child is missing."""
        child = parent.first(tag)
        return default if child is None else self._switch(child, f"<{tag}>", child.text, default)

    def flag_attribute(self, element: Element, attribute: str) -> bool:
        """Return the bool in an attribute; False if it is missing."""
        text = element.attributes.get(attribute)
        return text is not None and self._switch(element, attribute, text, False)

    def _switch(self, element: Element, label: str, text: str, default: bool) -> bool:
        value = _SWITCHES.get(text.strip().lower())
        if value is None:
            self.error(element, "BOOLEAN", f"{label}: expected true or false, got {quoted(text.strip())}")
            return default
        return value

    # -- numbers

    def value(self, parent: Element | None, tag: str, default: float | None = None, largest: float = LARGEST) -> float:
        """Return the number in a child's text; ``default`` if the child is missing.

        Without a default a missing child is the error ELEMENT_MISSING.

        A number beyond ``largest`` is the error MAGNITUDE.
        """
        child = None if parent is None else parent.first(tag)
        if child is None:
            if default is None and parent is not None:
                self.required(parent, tag)
            return 0.0 if default is None else default
        try:
            number = parse_number(child.text)
        except BadNumber as bad:
            self.error(child, bad.code, f"<{tag}>: {bad.message}", bad.hint)
            return 0.0 if default is None else default
        if abs(number) > largest:
            self._too_large(child, largest)
            return 0.0 if default is None else default
        return number

    def _too_large(self, element: Element, largest: float) -> None:
        shown = f"<{element.tag}>: {quoted(element.text.strip())} is beyond {largest:.0e}"
        self.error(element, "MAGNITUDE", f"{shown}: products of such values overflow")

    def value_at_least_zero(self, parent: Element | None, tag: str) -> float:
        """Return the number in a child's text, or 0.0; a number below zero is the error NEGATIVE."""
        number = self.value(parent, tag, 0.0)
        if number < 0.0 and parent is not None:
            self.error(parent.first(tag) or parent, "NEGATIVE", f"<{tag}> must not be negative, got {number!r}")
            return 0.0
        return number

    def values(
        self, element: Element, count: int, default: Iterable[float] = (), largest: float = LARGEST
    ) -> tuple[float, ...]:
        """Return the ``count`` numbers in an element's text; after an error ``default``, or zeros without a default."""
        fallback = tuple(default) or (0.0,) * count
        try:
            result = parse_number_list(element.text, count)
        except BadNumber as bad:
            self.error(element, bad.code, f"<{element.tag}>: {bad.message}", bad.hint)
            return fallback
        if max(map(abs, result)) > largest:
            self._too_large(element, largest)
            return fallback
        return result

    def bound(self, parent: Element | None, tag: str, default: float, positive: bool = False) -> float:
        """Return a limit in a child's text, which may be infinite; 1e16, as SDF writes it, is infinite.

        If ``positive``, a negative value means that there is no limit.  Errors: NUMBER, and LIMIT_FINITE for nan.
        """
        child = None if parent is None else parent.first(tag)
        if child is None:
            return default
        try:
            value = parse_number(child.text, infinite=True)
        except BadNumber as bad:
            if bad.code == "NOT_FINITE" and not bad.is_word:  # beyond float64, as 1.8e308
                return -math.inf if child.text.lstrip().startswith("-") else math.inf
            self.error(child, "LIMIT_FINITE" if bad.is_word else bad.code, f"<{tag}>: {bad.message}", bad.hint)
            return default
        if positive and value < 0.0:
            return math.inf
        return math.copysign(math.inf, value) if abs(value) >= NO_LIMIT else value

    # -- poses

    def pose_in(self, parent: Element) -> tuple[Pose, str]:
        """Return the pose in the child `<pose>`, and the name of its reference frame ("" for the default).

        Without the child it is the identity.
        """
        element = parent.first("pose")
        return (Pose.identity(), "") if element is None else self.pose_of(element)

    def pose_of(self, element: Element) -> tuple[Pose, str]:
        """Return the pose in a `<pose>`, and the name of its reference frame ("" for the default).

        The rotation is stated by roll, pitch and yaw [rad, or deg], or by a unit quaternion (QUAT_NORM).
        """
        frame = element.attributes.get("relative_to", "").strip()
        if not frame and self.release < (1, 7):
            frame = element.attributes.get("frame", "").strip()
        style, degrees = element.attributes.get("rotation_format", "euler_rpy"), self.flag_attribute(element, "degrees")
        if style not in ("euler_rpy", "quat_xyzw"):
            message = f"rotation_format: expected euler_rpy or quat_xyzw, got {quoted(style)}"
            self.error(element, "ROTATION", message)
            return Pose.identity(), frame
        if style == "quat_xyzw" and degrees:
            self.error(element, "ROTATION", "degrees: a quaternion has no unit", "remove degrees")
        if not element.text.strip():
            return Pose.identity(), frame
        zero = (*_ZEROS, *_ZEROS, 1.0) if style == "quat_xyzw" else (*_ZEROS, *_ZEROS)
        elements = self.values(element, len(zero), zero)
        if elements == (*_ZEROS, *_ZEROS):
            return Pose.identity(), frame
        if style == "quat_xyzw":
            rotation = self.rotation_of(element, "the rotation", elements[3:])
        elif elements[3:] == _ZEROS:
            rotation = Rotation.identity()
        else:
            rotation = Rotation.from_rpy(*(map(math.radians, elements[3:]) if degrees else elements[3:]))
        return Pose(rotation, Vec3.of(elements[:3])), frame


def version_text(release: Release) -> str:
    """Return a version of SDF as text, such as "1.9"."""
    return f"{release[0]}.{release[1]}"
