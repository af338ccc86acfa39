"""XML text of elements with attributes: numbers exactly, names escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

from linkwork._util.messages import quoted

__all__ = ["Node", "document_text", "number_text"]


@dataclass(slots=True)
class Node:
    """An XML element to be written: its attributes in order, and either children or text."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)
    text: str | None = None

    def add(self, tag: str, text: str | None = None, /, **attributes: str) -> Node:
        """Add a child and return it."""
        child = Node(tag, attributes, text=text)
        self.children.append(child)
        return child


def number_text(values: float | Iterable[float]) -> str:
    """Return a number, or several separated by spaces, with the fewest digits that give the same floats."""
    if isinstance(values, (int, float)):
        return _shortest(float(values))
    return " ".join([_shortest(float(x)) for x in values])


def _shortest(x: float) -> str:
    return float.__repr__(x + 0.0).removesuffix(".0")


def document_text(root: Node) -> str:
    """Return the text of a document.  Raises ValueError for a name with a character that XML cannot represent."""
    return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', *_lines(root, "")]) + "\n"


def _lines(root: Node, indent: str) -> Iterator[str]:
    open_: list[Iterator[Node]] = [iter([root])]
    tags: list[str] = []
    while open_:
        node = next(open_[-1], None)
        indent = "  " * (len(open_) - 1)
        if node is None:
            open_.pop()
            if tags:
                yield f"{'  ' * (len(open_) - 1)}</{tags.pop()}>"
            continue
        start = "".join([node.tag, *(f" {key}={_attribute(value)}" for key, value in node.attributes.items())])
        if node.text is not None:
            yield f"{indent}<{start}>{_checked(escape(node.text))}</{node.tag}>"
        elif node.children:
            yield f"{indent}<{start}>"
            open_.append(iter(node.children))
            tags.append(node.tag)
        else:
            yield f"{indent}<{start}/>"


def _attribute(value: str) -> str:
    return _checked(quoteattr(value))


def _checked(text: str) -> str:
    if bad := _FORBIDDEN.search(text):
        raise ValueError(f"{quoted(text)} contains {bad[0]!r}, which XML cannot represent: rename it")
    return text


_FORBIDDEN = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
