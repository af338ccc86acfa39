"""Content of XML documents that a reader does not use: unknown, without effect, or not supported.

Each kind of element or attribute is reported once, with its number, so that nothing is dropped silently and a long file
has a short report.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field

from linkwork._util.lazy_dataclass import dataclass
from linkwork._util.messages import nearest, quoted
from linkwork.errors import Issue
from linkwork.formats.xml_attributes import Reader
from linkwork.formats.xml_document import Element

__all__ = ["Kind", "Unused", "kind", "walk"]


@dataclass(frozen=True)
class Kind:
    """Kind of element: attributes and children that are read, and known ones that are not read."""

    attributes: frozenset[str] = frozenset()  # names, and "text()" for an element with text
    once: dict[str, str] = field(default_factory=dict)  # children that may occur once: tag -> kind
    many: dict[str, str] = field(default_factory=dict)  # children that may occur any number of times
    ignored: frozenset[str] = frozenset()  # irrelevant to the model: tags, and attributes as "@name"
    unsupported: frozenset[str] = frozenset()  # relevant, but not read


def kind(attributes: str = "", once: str = "", many: str = "", ignored: str = "", unsupported: str = "") -> Kind:
    """Create a kind of element from names of attributes and children, separated by spaces."""
    return Kind(
        frozenset(attributes.split()),
        {tag: tag for tag in once.split()},
        {tag: tag for tag in many.split()},
        frozenset(ignored.split()),
        frozenset(unsupported.split()),
    )


_MOST_KINDS = 200  # of unknown items with separate warnings


@dataclass
class _Omission:
    """Unused elements or attributes of one kind: the message for the first of them, and their number."""

    first: Element
    code: str
    message: str
    hint: str | None = None
    count: int = 1


class Unused:
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

    def add_foreign(self, kind: Kind, name: str, item: str, element: Element, message: str) -> None:
        """Record an attribute ("@name") or a child that the reader does not use, found in an element of ``kind``."""
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

    def add_unknown_name(self, element: Element, code: str, title: str, name: str, known: Collection[str]) -> None:
        """Record an element, by its ``title``, that refers to a link or joint that the robot does not have."""
        if (code, name) in self.omissions:
            self.omissions[code, name].count += 1  # without searching the nearest name again
            return
        hint = nearest(name, known) if len(self.omissions) < _MOST_KINDS else None
        self.add((code, name), element, code, f"{title} of {quoted(name)}, which the robot does not have,", hint)

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
                message = item.message if item.code == "VERSION" else f"{item.message} is ignored"
                findings.warn(Issue(item.code, message + times, where, item.hint))


def walk(
    log: Unused,
    root: Element,
    name: str,
    schema: Mapping[str, Kind],
    check_element: Callable[[Element, str], None],
    check_foreign: Callable[[Element, str], None],
) -> None:
    """Check an element and its descendants against ``schema``; ``name`` is the kind of the root.

    ``check_element`` is called with each element that the schema has, and ``check_foreign`` with each child that it
    does not have; both get the kind of the element or of the child's parent. Records text where none is read, and the
    error DUPLICATE_ELEMENT.
    """
    stack = [(root, name)]
    while stack:
        element, name = stack.pop()
        kind = schema[name]
        check_element(element, name)
        if element.text and "text()" not in kind.attributes:
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
                    log.reader.error(child, "DUPLICATE_ELEMENT", f"{message}{first_children[tag].line}")
                first_children.setdefault(tag, child)
            else:
                check_foreign(child, name)
        stack.extend(reversed(inner))
