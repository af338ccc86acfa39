"""Text of XML documents: elements, written without recursion, and numbers, as XML Schema's double has them.

For numbers, neither the locale nor Python's extensions (``1_0``, digits of other scripts, ``0x10``) have an influence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from xml.sax.saxutils import escape, quoteattr

from linkwork._util.messages import quoted

__all__ = ["BadNumber", "Node", "number_list_text", "number_text", "parse_number", "parse_number_list", "xml_text"]


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
    """Return numbers as text, separated by spaces."""
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


class BadNumber(ValueError):
    """An error for text that is not the expected number or numbers.

    ``code`` is NUMBER, NOT_FINITE or ARITY; ``is_word`` marks the words nan and inf.
    """

    def __init__(self, code: str, message: str, hint: str | None = None, *, is_word: bool = False) -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.is_word = code, message, hint, is_word


def parse_number(text: str, *, infinite: bool = False) -> float:
    """Return the number in a text, with optional surrounding white space; −0 is read as 0.

    Raises BadNumber: NUMBER, or NOT_FINITE for nan, for a number beyond float64, and for ±inf unless ``infinite``.
    """
    word = text.strip(_SPACE)
    if _DOUBLE(word):
        value = float(word)
        if abs(value) == math.inf:
            raise BadNumber("NOT_FINITE", f"{quoted(word)} is beyond the range of float64")
        return value + 0.0
    if _INFINITE.fullmatch(word) and infinite:
        return -math.inf if word[0] == "-" else math.inf
    if _INFINITE.fullmatch(word) or word.lstrip("+-").lower() == "nan":
        raise BadNumber("NOT_FINITE", f"expected a finite number, got {quoted(word)}", is_word=True)
    hint = "the decimal separator is a point" if _DECIMAL_COMMA.fullmatch(word) else None
    raise BadNumber("NUMBER", f"expected a number, got {quoted(word)}", hint)


def parse_number_list(text: str, count: int) -> tuple[float, ...]:
    """Return ``count`` numbers separated by white space.  Raises BadNumber: ARITY, NUMBER or NOT_FINITE.

    Here the words nan and inf are not numbers (NUMBER).
    """
    parts = [*islice(_words(text), count + 1)]
    if len(parts) != count:
        number = sum(1 for _ in _words(text))
        raise BadNumber("ARITY", f"expected {count} numbers, got {number} in {quoted(text)}")
    try:
        return tuple([parse_number(part) for part in parts])
    except BadNumber as bad:
        code = "NUMBER" if bad.is_word else bad.code
        raise BadNumber(code, bad.message, bad.hint, is_word=bad.is_word) from None


def _words(text: str) -> Iterator[str]:
    """Yield the words of a text one by one; a list of all words would take fifty times the memory of the text."""
    return (word[0] for word in _WORDS.finditer(text))


_SPACE = " \t\r\n"
_WORDS = re.compile(r"[^ \t\r\n]+")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?").fullmatch
_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE | re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
