"""Search of XML documents for content whose changes change neither the outcome of reading nor its report."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import NamedTuple

from linkwork.errors import Issue, ModelError
from linkwork.formats.unused_content import Kind

__all__ = ["content_outcomes", "described", "missing_content"]

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


def content_outcomes(
    text: str, read: Read, schema: Mapping[str, Kind], root: str, names: Sequence[str] = ()
) -> list[tuple[str, str, str, str]]:
    """Return the outcomes of changes of a document's content: kind of element, item, change, and outcome.

    `read` returns what it read and its report. Each number, switch and name of the document is changed alone; each
    empty element is removed; items that the schema ignores, and unknown ones, are inserted. `names` are further values
    of names. The outcome is "taken", "reported", "refused", or "silent" for a change that changes neither the result
    nor the report. An attribute that the report names is reported, and so is the content of an element that it names.
    """
    document = ET.fromstring(text)
    nodes = [*_nodes(Node(document, (), (document.tag,), root), schema)]
    return [*dict.fromkeys(_outcomes_of_changes(document, nodes, read, schema, names))]


def _items(kind: Kind) -> list[str]:
    return [*map("@{}".format, kind.attributes - {"text()"}), *kind.once, *kind.many]


def _outcomes_of_changes(
    document: ET.Element, nodes: list[Node], read: Read, schema: Mapping[str, Kind], names: Sequence[str]
) -> Iterator[tuple[str, str, str, str]]:
    first, issues = _outcome(document, read)
    notes = [(message, element) for code, message, element in issues if code in NOT_READ]

    def is_reported(steps: Sequence[str], pattern: str) -> bool:
        return any(re.search(pattern, message) and element == "/".join(steps) for message, element in notes)

    def outcome(path: Sequence[int], edit: Callable[[ET.Element], object], report_first: bool = False) -> str:
        changed = deepcopy(document)
        element = changed
        for k in path:
            element = element[k]
        edit(element)
        try:
            second, other_issues = _outcome(changed, read)
        except ModelError:
            return "refused"
        if second != first and not (report_first and other_issues != issues):
            return "taken"
        return "reported" if other_issues != issues else "silent"

    for element, path, steps, kind in nodes:
        shown, kind = "/".join(steps), kind or steps[-1]
        if any(is_reported(steps[: k + 1], f"^<{step}>") for k, step in enumerate(steps)):
            yield from ((kind, f"@{name}", f"{shown}@{name}", "reported") for name in element.attrib)
            continue
        for name, value in element.attrib.items():
            is_named = is_reported(steps, rf"^[^<]*\b{name}\b")
            is_named = (
                is_named or outcome(path, lambda x, name=name: x.attrib.pop(name), report_first=True) == "reported"
            )
            for new in _others(value, names):
                result = outcome(path, lambda x, name=name, new=new: x.set(name, new))
                result = "reported" if result == "silent" and is_named else result
                yield kind, f"@{name}", f"{shown}@{name}={new!r}", result
        content = (element.text or "").strip()
        for new in _others(content, names) if content else ():
            is_named = is_reported(steps[:-1], rf"^[^<]*\b{element.tag}\b")
            result = "reported" if is_named else outcome(path, lambda x, new=new: setattr(x, "text", new))
            yield steps[-2], element.tag, f"{shown}={new!r}", result
        if not (element.attrib or content or len(element)):
            yield steps[-2], element.tag, shown, outcome(path[:-1], lambda x, k=path[-1]: x.remove(x[k]))
        known = schema.get(kind, Kind())
        for item in ("unknown", "@unknown", *known.ignored, *known.unsupported):
            name, is_attribute = item.removeprefix("@"), item.startswith("@")
            if name in element.attrib or ":" in name:
                continue
            insert = (
                (lambda x, name=name: x.set(name, "1")) if is_attribute else (lambda x, n=name: ET.SubElement(x, n))
            )
            yield kind, item, f"{shown}/{item}: inserted", outcome(path, insert)


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


def _others(text: str, names: Sequence[str]) -> list[str]:
    """Other values: each number changed alone, a switch turned, or another name."""
    words = text.split()
    if text in ("true", "false"):
        return ["false" if text == "true" else "true"]
    if words and all(NUMBER.fullmatch(word) for word in words):
        return [" ".join([*words[:k], repr(float(x) * 0.75 + 0.015625), *words[k + 1 :]]) for k, x in enumerate(words)]
    return [text + "_other", *(name for name in names if name != text)]
