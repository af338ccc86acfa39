"""Readers of XML attributes: names, numbers and poses, with errors at their position.

A value that cannot be read is recorded as an error, which is raised at the end; a harmless value replaces it until
then, so that one pass finds as many errors of a file as possible.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from linkwork._util.messages import nearest
from linkwork.errors import Findings, Issue, Location
from linkwork.formats.xml_document import Element
from linkwork.formats.xml_text import BadNumber, parse_number, parse_number_list
from linkwork.spatial import Pose, Rotation, Vec3

__all__ = ["Reader"]


class Reader:
    """Reader of the attributes of XML elements, which collects errors and warnings in ``findings``.

    ``version`` is the version of the format that the document declares.
    """

    def __init__(self, file: str | None, findings: Findings, version: str = "1.0") -> None:
        self.file, self.findings, self.version = file, findings, version

    def where(self, element: Element) -> Location:
        return Location(self.file, element.line, element.column, element.path)

    def error(self, element: Element, code: str, message: str, hint: str | None = None) -> None:
        self.findings.error(Issue(code, message, self.where(element), hint))

    def warn(self, element: Element, code: str, message: str, hint: str | None = None) -> None:
        self.findings.warn(Issue(code, message, self.where(element), hint))

    def note(self, element: Element, code: str, message: str, hint: str | None = None) -> None:
        self.findings.note(Issue(code, message, self.where(element), hint))

    # -- elements

    def required(self, element: Element, tag: str) -> Element | None:
        """Return the first child with this tag; None, with the error ELEMENT_MISSING, if there is none."""
        child = element.first(tag)
        if child is None:
            self.error(element, "ELEMENT_MISSING", f"<{element.tag}> needs a <{tag}>")
        return child

    def shape(self, geometry: Element, shapes: Collection[str], others: Collection[str] = ()) -> Element | None:
        """Return the shape of a `<geometry>`: its first child with a tag of ``shapes`` or ``others``.

        It is None after an error: ELEMENT_MISSING, whose message names ``shapes``, or DUPLICATE_ELEMENT.
        """
        stated = [child for child in geometry.children if child.tag in (*shapes, *others)]
        if len(kinds := {child.tag: None for child in stated}) > 1:
            tags = " and ".join(f"<{tag}>" for tag in kinds)
            self.error(stated[1], "DUPLICATE_ELEMENT", f"expected one shape in <geometry>, got {tags}")
            return None
        if not stated:
            allowed = ", ".join(f"<{tag}>" for tag in shapes)
            hint = nearest(geometry.children[0].tag, shapes) if geometry.children else None
            self.error(geometry, "ELEMENT_MISSING", f"<geometry> needs one of {allowed}", hint)
            return None
        return stated[0]

    # -- text

    def text(self, element: Element, attribute: str) -> str | None:
        """Return the attribute's text; None, with the error ATTRIBUTE_MISSING, if it is missing."""
        text = element.attributes.get(attribute)
        if text is None:
            hint = f'write <{element.tag} {attribute}="..."/>' if element.text else None
            self.error(element, "ATTRIBUTE_MISSING", f"<{element.tag}> needs the attribute {attribute!r}", hint)
        return text

    def name(self, element: Element, attribute: str = "name") -> str | None:
        """Return a name, verbatim; None, with the error BAD_NAME, if it is missing or empty."""
        name = element.attributes.get(attribute)
        if name is None or not name.strip():
            got = "has none" if name is None else f"it is {name!r}"
            self.error(element, "BAD_NAME", f"<{element.tag}> needs a name in its attribute {attribute!r}: {got}")
            return None
        return name

    # -- numbers

    def number(self, element: Element, attribute: str, default: float | None = None) -> float:
        """Return the attribute's number, or the default if it is missing.

        Without a default a missing attribute is the error ATTRIBUTE_MISSING.
        """
        if attribute not in element.attributes and default is not None:
            return default
        text = self.text(element, attribute)
        if text is None:
            return 0.0
        try:
            return parse_number(text)
        except BadNumber as bad:
            self.bad_number(element, attribute, bad)
            return 0.0 if default is None else default

    def at_least_zero(self, element: Element, attribute: str, default: float) -> float:
        """Return the attribute's number, or ``default`` if it is missing; a number below zero is the error NEGATIVE."""
        value = self.number(element, attribute, default)
        if value < 0.0:
            self.error(element, "NEGATIVE", f"{attribute} must not be negative, got {value!r}")
            return default
        return value

    def number_list(
        self, element: Element, attribute: str, count: int, default: Sequence[float] | None = None
    ) -> tuple[float, ...]:
        """Return the attribute's ``count`` numbers, or the default if it is missing.

        Without a default a missing attribute is the error ATTRIBUTE_MISSING.
        """
        fallback = tuple(default) if default is not None else (0.0,) * count
        if attribute not in element.attributes and default is not None:
            return fallback
        text = self.text(element, attribute)
        if text is None:
            return fallback
        try:
            return parse_number_list(text, count)
        except BadNumber as bad:
            self.bad_number(element, attribute, bad)
            return fallback

    def bad_number(self, element: Element, attribute: str, bad: BadNumber, code: str | None = None) -> None:
        self.error(element, code or bad.code, f"{attribute}: {bad.message}", bad.hint)

    # -- poses

    def pose(self, element: Element | None) -> Pose:
        """Return the pose of an ``<origin xyz rpy>``; the identity without one.

        Instead of rpy it may have ``quat_xyzw`` (URDF 1.1), which must be a unit quaternion (QUAT_NORM). In a document
        of an older version it is the warning VERSION.
        """
        if element is None:
            return Pose.identity()
        translation = Vec3.of(self.number_list(element, "xyz", 3, _ZEROS))
        if "quat_xyzw" in element.attributes:
            return Pose(self._quaternion(element), translation)
        rpy = self.number_list(element, "rpy", 3, _ZEROS)
        if rpy == _ZEROS and tuple(translation) == _ZEROS:
            return Pose.identity()
        return Pose(Rotation.from_rpy(*rpy), translation)

    def _quaternion(self, element: Element) -> Rotation:
        if "rpy" in element.attributes:
            self.error(element, "DUPLICATE_ELEMENT", "the rotation is stated twice, as rpy and as quat_xyzw")
        if self.version in ("1", "1.0"):
            message = (
                "quat_xyzw requires URDF 1.1, but this file declares 1.0: read anyway, unlike in some other readers"
            )
            self.warn(element, "VERSION", message, 'write version="1.1" in <robot>')
        return self.rotation_of(element, "quat_xyzw", self.number_list(element, "quat_xyzw", 4, (0.0, 0.0, 0.0, 1.0)))

    def rotation_of(self, element: Element, label: str, xyzw: Sequence[float]) -> Rotation:
        """Return the rotation of a quaternion (x, y, z, w), called ``label`` in messages.

        A norm that differs from 1 by 1e-3 is the error QUAT_NORM, one that differs by more than 1e-6 a warning.
        """
        x, y, z, w = xyzw
        largest = max(abs(x), abs(y), abs(z), abs(w))
        norm = sum((a / largest) ** 2 for a in (w, x, y, z)) ** 0.5 * largest if largest else 0.0
        if abs(norm - 1.0) >= 1e-3:
            self.error(element, "QUAT_NORM", f"{label} must be a unit quaternion, its norm is {norm:.6g}")
            return Rotation.identity()
        if abs(norm - 1.0) > 1e-6:
            self.warn(element, "QUAT_NORM", f"the norm of {label} is {norm:.9g}, not 1: normalised")
        return Rotation.from_quaternion(w / norm, x / norm, y / norm, z / norm)


_ZEROS = (0.0, 0.0, 0.0)
