"""Text of XML documents: elements with attributes and children, written without recursion."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

from linkwork._util.messages import quoted

__all__ = ["Node", "number_list_text", "number_text", "xml_text"]


@dataclass(slots=True, eq=False)
class Node:
    """An XML element to be written: its tag, attributes, and either children or text."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)
    text: str | None = None

    def add(self, tag: str, text: str | None = None, /, **attributes: str | None) -> Node:
        """Append a child with these attributes, without those that are None, and return it."""
        stated = {key.rstrip("_"): value for key, value in attributes.items() if value is not None}
        child = Node(tag, stated, text=text)
        self.children.append(child)
        return child


def number_text(x: float) -> str:
    """Return the shortest decimal text that reads as the same number, and −0 as 0.

    Whole numbers have no decimal point.
    """
    return repr(float(x) + 0.0).removesuffix(".0")


def number_list_text(values: Iterable[float]) -> str:
    """Return numbers with spaces in between."""
    return " ".join(map(number_text, values))


def xml_text(root: Node) -> str:
    """Return the document of an element, with each element on its own line, indented by its depth up to 20.

    Raises ValueError for a text with a character that XML cannot represent.
    """
    lines, open_ = ['<?xml version="1.0" encoding="utf-8"?>'], [(root, False, 0)]
    while open_:
        node, ends, depth = open_.pop()
        indent = "  " * min(depth, 20)
        if ends:
            lines.append(f"{indent}</{node.tag}>")
            continue
        start = "".join(f" {key}={_checked(quoteattr(value))}" for key, value in node.attributes.items())
        if node.text is not None:
            lines.append(f"{indent}<{node.tag}{start}>{_checked(escape(node.text))}</{node.tag}>")
            continue
        if not node.children:
            lines.append(f"{indent}<{node.tag}{start}/>")
            continue
        lines.append(f"{indent}<{node.tag}{start}>")
        open_.append((node, True, depth))
        open_.extend((child, False, depth + 1) for child in reversed(node.children))
    return "\n".join(lines) + "\n"


def _checked(text: str) -> str:
    if bad := _FORBIDDEN.search(text):
        raise ValueError(f"{quoted(text)} contains {bad[0]!r}, which XML cannot represent: rename it")
    return text


_FORBIDDEN = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
