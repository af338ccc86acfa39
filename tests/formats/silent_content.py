"""Search of XML documents for content whose changes change neither the outcome of reading nor its report."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import NamedTuple

from linkwork.errors import Issue, ModelError
from linkwork.formats.unused_content import Kind

__all__ = ["described", "missing_content", "silent_content"]

Read = Callable[[str], tuple[object, Sequence[Issue]]]

NOT_READ = ("IGNORED", "UNSUPPORTED", "UNKNOWN_TAG", "NOT_DRAWN", "MIMIC_FREE")
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
LOCATION = re.compile(r"Location\([^()]*\)")
NAME = re.compile(r"\[[^]]*\]")  # of an element, in its path


class Node(NamedTuple):
    """An element, its index path in the document, its tags from the root, and its kind in the schema."""

    element: ET.Element
    path: tuple[int, ...]
    steps: tuple[str, ...]
    kind: str | None


def described(value: object) -> str:
    """The text of a description without positions in its file."""
    return LOCATION.sub("", repr(value))


def missing_content(documents: Sequence[str], schema: Mapping[str, Kind], root: str) -> list[str]:
    """Return the elements and attributes of a schema that no document contains."""
    missing = {f"{name}/{item}" for name, kind in schema.items() for item in _items(kind)}
    for text in documents:
        document = ET.fromstring(text)
        for node in _nodes(Node(document, (), (document.tag,), root), schema):
            present = {*(child.tag for child in node.element), *map("@{}".format, node.element.attrib)}
            missing -= {f"{node.kind}/{item}" for item in present}
    return sorted(missing)


def silent_content(text: str, read: Read, schema: Mapping[str, Kind], root: str) -> list[str]:
    """Return the content of a document that changes neither the outcome of `read` nor its report.

    `read` returns what it read and its report. Each number, switch and name of the document is changed alone; each
    empty element is removed; items that the schema ignores, and unknown ones, are inserted. An attribute that the
    report names is not silent, nor is the content of an element that it names.
    """
    document = ET.fromstring(text)
    nodes = [*_nodes(Node(document, (), (document.tag,), root), schema)]
    return [*dict.fromkeys(_silent_changes(document, nodes, read, schema))]


def _items(kind: Kind) -> list[str]:
    return [*map("@{}".format, kind.attributes - {"text()"}), *kind.once, *kind.many]


def _silent_changes(document: ET.Element, nodes: list[Node], read: Read, schema: Mapping[str, Kind]) -> Iterator[str]:
    first, issues = _outcome(document, read)
    notes = [(message, element) for code, message, element in issues if code in NOT_READ]

    def is_reported(steps: Sequence[str], pattern: str) -> bool:
        return any(re.search(pattern, message) and element == "/".join(steps) for message, element in notes)

    def changes(path: Sequence[int], edit: Callable[[ET.Element], object], report_only: bool = False) -> bool:
        changed = deepcopy(document)
        element = changed
        for k in path:
            element = element[k]
        edit(element)
        try:
            second, other_issues = _outcome(changed, read)
        except ModelError:
            return not report_only
        return other_issues != issues or (second != first and not report_only)

    for element, path, steps, kind in nodes:
        if any(is_reported(steps[: k + 1], f"^<{step}>") for k, step in enumerate(steps)):
            continue
        shown = "/".join(steps)
        for name, value in element.attrib.items():
            if is_reported(steps, rf"^[^<]*\b{name}\b") or changes(path, lambda x, name=name: x.attrib.pop(name), True):
                continue
            for new in _others(value):
                if not changes(path, lambda x, name=name, new=new: x.set(name, new)):
                    yield f"{shown}@{name}={new!r}"
        content = (element.text or "").strip()
        for new in _others(content) if content and not is_reported(steps[:-1], rf"^[^<]*\b{element.tag}\b") else ():
            if not changes(path, lambda x, new=new: setattr(x, "text", new)):
                yield f"{shown}={new!r}"
        if not (element.attrib or content or len(element)) and not changes(
            path[:-1], lambda x, k=path[-1]: x.remove(x[k])
        ):
            yield shown
        known = schema.get(kind or "", Kind())
        for item in ("unknown", "@unknown", *known.ignored, *known.unsupported):
            name, is_attribute = item.removeprefix("@"), item.startswith("@")
            if name in element.attrib or ":" in name:
                continue
            insert = (
                (lambda x, name=name: x.set(name, "1")) if is_attribute else (lambda x, n=name: ET.SubElement(x, n))
            )
            if not changes(path, insert):
                yield f"{shown}/{item}: inserted"


def _outcome(root: ET.Element, read: Read) -> tuple[object, tuple[tuple[str, str, str], ...]]:
    result, issues = read(ET.tostring(root, encoding="unicode"))
    where = [NAME.sub("", str(issue.where.element if issue.where else None)) for issue in issues]
    return result, tuple((issue.code, issue.message, element) for issue, element in zip(issues, where, strict=True))


def _nodes(node: Node, schema: Mapping[str, Kind]) -> Iterator[Node]:
    yield node
    known = schema.get(node.kind or "", Kind())
    for k, child in enumerate(node.element):
        kind = known.once.get(child.tag) or known.many.get(child.tag)
        yield from _nodes(Node(child, (*node.path, k), (*node.steps, child.tag), kind), schema)


def _others(text: str) -> list[str]:
    """Other values: each number changed alone, a switch turned, or another name."""
    words = text.split()
    if text in ("true", "false"):
        return ["false" if text == "true" else "true"]
    if words and all(NUMBER.fullmatch(word) for word in words):
        return [" ".join([*words[:k], repr(float(x) * 0.75 + 0.015625), *words[k + 1 :]]) for k, x in enumerate(words)]
    return [text + "_other"]
