"""Strict reading of JSON (RFC 8259) into values that know where each stands.

Texts are the standard library's; what is around them is read here, because its reader knows no lines.
"""

from __future__ import annotations

import re
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import NoReturn

from linkwork.errors import Findings, Location
from linkwork.formats.positioned_values import Builder, Value, decoded, fail
from linkwork.formats.xml_document import Budget

__all__ = ["parse_json"]

_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[^\s,\]}:]{1,20}")
_LITERALS = {"true": True, "false": False, "null": None}


def parse_json(document: bytes | str, file: str | None, findings: Findings, budget: Budget) -> Value:
    """The value of a JSON document.  Raises ModelError: DATA_EMPTY, DATA_SYNTAX, DATA_ENCODING, DATA_DEPTH, TOO_LARGE.

    Findings are DUPLICATE_KEY and NOT_FINITE.
    """
    return _Reader(decoded(document, file, budget), Builder(file, findings, budget)).read()


class _Reader:
    """Reads a text from left to right, without recursion."""

    def __init__(self, text: str, builder: Builder) -> None:
        self.text, self.builder, self.at = text, builder, 0
        self.line, self.start = 1, 0  # the line that ``seen`` is in, and where that begins
        self.seen = 0  # the place that was asked for last

    def read(self) -> Value:
        root: Value | None = None
        open_: list[Value] = []
        key, key_place = None, (1, 1)
        self.skip()
        while True:
            line, column = self.place()
            value = self.begun(len(open_) + 1)
            if root is None:
                root = value
            if open_:
                self.builder.put(open_[-1], key, value, *(key_place if key is not None else (line, column)))
            key = None
            if isinstance(value.content, (list, dict)):
                open_.append(value)
                self.skip()
                if not self.closes(open_[-1]):
                    if isinstance(value.content, dict):
                        key, key_place = self.key()
                    continue
                open_.pop()
            while open_:  # what stands after a value
                self.skip()
                inside = open_[-1]
                if self.closes(inside):
                    open_.pop()
                    continue
                if self.peek() != ",":
                    end = "]" if isinstance(inside.content, list) else "}"
                    self.refuse(f"expected ',' or '{end}' of the one opened on line {inside.line}")
                self.at += 1
                self.skip()
                if isinstance(inside.content, dict):
                    key, key_place = self.key()
                elif self.peek() == "]":
                    self.refuse("expected a value after ','", "JSON has no comma after the last value")
                break
            if not open_:
                self.skip()
                if self.at < len(self.text):
                    self.refuse("the document ends before")
                return root

    def begun(self, depth: int) -> Value:
        """The value that begins here: of a list or an object, its opening bracket alone."""
        line, column = self.place()
        first = self.peek()
        if first in "[{" and first:
            self.at += 1
            return self.builder.value([] if first == "[" else {}, line, column, depth)
        if first == '"':
            return self.builder.value(self.string(), line, column, depth)
        if found := _NUMBER.match(self.text, self.at):
            self.at = found.end()
            if _WORD.match(self.text, self.at):
                self.at = found.start()
                self.refuse("expected a value")
            return self.builder.value(self.builder.number(found[0], line, column), line, column, depth)
        word = _WORD.match(self.text, self.at)
        if word is not None and word[0] in _LITERALS:
            self.at = word.end()
            return self.builder.value(_LITERALS[word[0]], line, column, depth)
        if word is not None and word[0].lstrip("+-").lower() in ("nan", "inf", "infinity"):
            fail("NOT_FINITE", f"expected a finite number, got {word[0]!r}", Location(self.builder.file, line, column))
        if first == "'":
            self.refuse("expected a value", 'texts stand in double quotes: "..."')
        return self.refuse("expected a value", "JSON has no comments" if first in ("#", "/") else None)

    def key(self) -> tuple[str, tuple[int, int]]:
        place = self.place()
        if self.peek() != '"':
            hint = "JSON has no comma after the last value" if self.peek() == "}" else 'keys stand in quotes: "name"'
            self.refuse("expected a key", hint)
        key = self.string()
        self.skip()
        if self.peek() != ":":
            self.refuse(f"expected ':' after the key {key!r}")
        self.at += 1
        self.skip()
        return key, place

    def string(self) -> str:
        try:
            text, self.at = scanstring(self.text, self.at + 1, True)
        except JSONDecodeError as error:
            self.at = error.pos
            self.refuse(error.msg.lower())
        if any("\ud800" <= c <= "\udfff" for c in text):
            self.refuse("a text with a surrogate code point")
        found: str = text
        return found

    def closes(self, inside: Value) -> bool:
        """Whether the innermost one ends here: then it is passed."""
        ends = self.peek() == ("]" if isinstance(inside.content, list) else "}")
        self.at += ends
        return ends

    # -- where it is

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def skip(self) -> None:
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]

    def place(self) -> tuple[int, int]:
        """Line and column.  Only what was passed since the last call is looked at, unless the reader went back."""
        if self.at < self.seen:
            self.line, self.start, self.seen = 1, 0, 0
        self.line += self.text.count("\n", self.seen, self.at)
        self.start = max(self.start, self.text.rfind("\n", self.seen, self.at) + 1)
        self.seen = self.at
        return self.line, self.at - self.start + 1

    def refuse(self, expected: str, hint: str | None = None) -> NoReturn:
        got = "the document ends" if self.at >= len(self.text) else f"got {self.text[self.at : self.at + 20]!r}"
        where = Location(self.builder.file, *self.place())
        fail("DATA_SYNTAX", f"not well-formed JSON: {expected}, {got}", where, hint)
