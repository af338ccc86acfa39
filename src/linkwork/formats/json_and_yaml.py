"""Strict reading of JSON (RFC 8259) into values that know where each stands.

Texts are the standard library's; what is around them is read here, because its reader knows no lines.

Strict reading of YAML into values that know where each stands, by PyYAML's events.

Plain scalars are what YAML 1.2 says, so that ``on`` is a text and ``1e-3`` a number.  Anchors, aliases, tags and
several documents are refused: nothing is made but plain data.
"""

from __future__ import annotations

import re
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any, NoReturn

from linkwork._util.messages import printable
from linkwork.errors import Findings, Location
from linkwork.formats.positioned_values import Builder, Value, decoded, fail
from linkwork.formats.xml_document import Budget

__all__ = ["parse_json", "parse_yaml"]


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


_NULL, _TRUE, _FALSE = ("", "~", "null", "Null", "NULL"), ("true", "True", "TRUE"), ("false", "False", "FALSE")
_NUMBER_YAML_TEXT = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_WORDS = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


def parse_yaml(document: bytes | str, file: str | None, findings: Findings, budget: Budget) -> Value:
    """The value of a YAML document.  Raises ImportError without PyYAML; ModelError: DATA_EMPTY, DATA_SYNTAX,
    DATA_ENCODING, DATA_DEPTH, TOO_LARGE, DATA_ALIAS.

    Findings are DUPLICATE_KEY and NOT_FINITE.
    """
    try:
        import yaml
    except ImportError as error:
        raise ImportError(
            'reading YAML takes PyYAML, which is not installed: pip install "linkwork[yaml]", or write JSON instead'
        ) from error
    text = decoded(document, file, budget)
    builder = Builder(file, findings, budget)
    try:
        return _built(yaml, text, builder)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark is not None else (None, None)
        message = printable(" ".join(filter(None, (error.context, error.problem))))
        fail(
            "DATA_SYNTAX",
            f"not well-formed YAML: {message}",
            Location(file, *place),
            _TABS if "\\t" in message else None,
        )
    except yaml.YAMLError as error:
        at = getattr(error, "position", 0)  # of a character that YAML does not allow
        message = f"not well-formed YAML: {getattr(error, 'reason', error)}, {text[at : at + 1]!r}"
        fail("DATA_SYNTAX", message, Location(file, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)))


def _built(yaml: Any, text: str, builder: Builder) -> Value:
    root: Value | None = None
    open_: list[Value] = []
    keys: list[tuple[str, int, int] | None] = []  # of the open ones: the key that waits for its value
    documents = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        where = Location(builder.file, line, column)
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                fail("DATA_SYNTAX", "a second document in the file, which may have one", where)
        elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            open_.pop()
            keys.pop()
        elif isinstance(event, yaml.NodeEvent):
            _refuse_references(yaml, event, where)
            scalar = isinstance(event, yaml.ScalarEvent)
            if open_ and isinstance(open_[-1].content, dict) and keys[-1] is None:
                if not scalar:
                    fail("DATA_SYNTAX", "expected a text as a key, got a list or an object", where)
                keys[-1] = event.value, line, column
                continue
            content = _scalar(builder, event, line, column) if scalar else _empty(yaml, event)
            value = builder.value(content, line, column, len(open_) + 1)
            if not open_:
                root = value
            else:
                key, line, column = keys[-1] or (None, line, column)
                builder.put(open_[-1], key, value, line, column)
                keys[-1] = None
            if not scalar:
                open_.append(value)
                keys.append(None)
    if root is None:
        fail("DATA_EMPTY", "the document is empty", Location(builder.file))
    return root


def _empty(yaml: Any, event: Any) -> list[Any] | dict[str, Any]:
    return [] if isinstance(event, yaml.SequenceStartEvent) else {}


def _scalar(builder: Builder, event: Any, line: int, column: int) -> Any:
    text: str = event.value
    if event.style is not None:  # quoted, or a block of text
        return text
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _WORDS.fullmatch(text):
        fail("NOT_FINITE", f"expected a finite number, got {text!r}", Location(builder.file, line, column))
    return builder.number(text, line, column) if _NUMBER_YAML_TEXT.fullmatch(text) else text


def _refuse_references(yaml: Any, event: Any, where: Location) -> None:
    if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
        fail("DATA_ALIAS", "anchors (&) and aliases (*) are not allowed", where, "write the values out")
    if getattr(event, "tag", None) not in (None, "!"):
        fail("DATA_ALIAS", f"tags are not allowed, got {printable(str(event.tag))}", where, "leave the tag out")
    return


_TABS = "indent by spaces, not by tabs"
