"""Text of XML documents: elements with attributes and children, written without recursion."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from xml.sax.saxutils import quoteattr

__all__ = ["Node", "number_text", "numbers_text", "xml_text"]


@dataclass(slots=True, eq=False)
class Node:
    """An XML element to be written: its tag, attributes and children."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)

    def add(self, tag: str, **attributes: str | None) -> Node:
        """Append a child with these attributes, without those that are None, and return it."""
        child = Node(tag, {key.rstrip("_"): text for key, text in attributes.items() if text is not None})
        self.children.append(child)
        return child


def number_text(x: float) -> str:
    """Return the shortest decimal text that reads as the same number; whole numbers have no decimal point."""
    return repr(float(x)).removesuffix(".0")


def numbers_text(values: Iterable[float]) -> str:
    """Return numbers with spaces in between."""
    return " ".join(map(number_text, values))


def xml_text(root: Node) -> str:
    """Return the document of an element, with each element on its own line, indented by its depth up to 20."""
    lines, open_ = ['<?xml version="1.0" encoding="utf-8"?>'], [(root, False, 0)]
    while open_:
        node, ends, depth = open_.pop()
        indent = "  " * min(depth, 20)
        if ends:
            lines.append(f"{indent}</{node.tag}>")
            continue
        start = "".join(f" {key}={quoteattr(value)}" for key, value in node.attributes.items())
        if not node.children:
            lines.append(f"{indent}<{node.tag}{start}/>")
            continue
        lines.append(f"{indent}<{node.tag}{start}>")
        open_.append((node, True, depth))
        open_.extend((child, False, depth + 1) for child in reversed(node.children))
    return "\n".join(lines) + "\n"
