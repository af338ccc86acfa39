"""Strict reading of JSON (RFC 8259) and YAML into a tree of values with their positions in the file.

JSON's strings and numbers are decoded by the standard library; the structure is parsed here, because the standard
parser reports no lines.  YAML is read from PyYAML's events.  Its plain scalars follow YAML 1.2, so that ``on`` is a
string and ``1e-3`` a number.  Anchors, aliases, tags and several documents are refused: the result is plain data.
"""

from __future__ import annotations

import re
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any, NoReturn

from linkwork._util.file_access import Budget
from linkwork._util.messages import printable
from linkwork.errors import Findings, Location
from linkwork.formats.data_values import NUMBER, Builder, Value, decoded, fail

__all__ = ["parse_json", "parse_yaml"]


_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER_LIST = re.compile(rf"\[(?>{NUMBER.pattern} *, *)*+{NUMBER.pattern}\]")  # a list of numbers on one line
_KEY = re.compile(r'"([^"\\\x00-\x1f]*)"[ \t\r\n]*:[ \t\r\n]*')  # without escapes
_AFTER = re.compile(r"[ \t\r\n]*(?:([,\]}])[ \t\r\n]*)?")  # a value: a comma or a closing bracket
_WORD = re.compile(r"[^\s,\]}:]{1,20}")
_LITERALS = {"true": True, "false": False, "null": None}


def parse_json(
    document: bytes | str, file: str | None, findings: Findings, budget: Budget, *, signed_zeros: bool = False
) -> Value:
    """Return the content of a JSON document as a tree of values with their positions.

    −0 is read as 0, unless ``signed_zeros``.

    Raises ModelError: DATA_EMPTY, DATA_SYNTAX, DATA_ENCODING, DATA_DEPTH, TOO_LARGE, and NOT_FINITE for the words nan
    and inf. The errors DUPLICATE_KEY, and NOT_FINITE for a number beyond float64, are added to ``findings``.
    """
    return _Reader(decoded(document, file, budget), Builder(file, findings, budget, signed_zeros)).read()


class _Reader:
    """Parser of JSON text from left to right, without recursion."""

    def __init__(self, text: str, builder: Builder) -> None:
        self.text, self.builder, self.at = text, builder, 0
        self.line, self.start = 1, 0  # a line, and its start
        self.end = text.find("\n") % (len(text) + 1)  # the end of this line

    def read(self) -> Value:
        root: Value | None = None
        open_: list[Value] = []
        key, key_position = None, (1, 1)
        self.skip()
        while True:
            line, column = self.position()
            value = self.begun(len(open_) + 1, line, column)
            if root is None:
                root = value
            if open_:
                self.builder.put(open_[-1], key, value, *(key_position if key is not None else (line, column)))
            key = None
            if isinstance(value.content, (list, dict)) and not value.content:
                open_.append(value)
                self.skip()
                if not self.closes(open_[-1]):
                    if isinstance(value.content, dict):
                        key, key_position = self.key()
                    continue
                open_.pop()
            while open_:  # after a value
                inside = open_[-1]
                after = _AFTER.match(self.text, self.at)
                assert after is not None  # it matches any text
                mark, end = after[1], "]" if isinstance(inside.content, list) else "}"
                if mark == end:
                    self.at = after.end(1)
                    open_.pop()
                    continue
                if mark != ",":
                    self.at = after.start(1) if mark else after.end()
                    self.refuse(f"expected ',', or '{end}' for the bracket opened on line {inside.line}")
                self.at = after.end()
                if isinstance(inside.content, dict):
                    key, key_position = self.key()
                elif self.peek() == "]":
                    self.refuse("expected a value after ','", "JSON has no comma after the last value")
                break
            if not open_:
                self.skip()
                if self.at < len(self.text):
                    self.refuse("the document ends before")
                return root

    def begun(self, depth: int, line: int, column: int) -> Value:
        """Return the value that begins at the current position, given as line and column.

        Only the opening bracket of an object or a list is read, unless it is a list of numbers on one line.
        """
        first = self.peek()
        if first == "[" and (number_list := _NUMBER_LIST.match(self.text, self.at)):
            whole = self.builder.value([], line, column, depth)
            if self.builder.set_float_list(whole, number_list[0], depth):
                self.at = number_list.end()
                return whole
        if first in "[{" and first:
            self.at += 1
            return self.builder.value([] if first == "[" else {}, line, column, depth)
        if first == '"':
            return self.builder.value(self.string(), line, column, depth)
        if result := NUMBER.match(self.text, self.at):
            self.at = result.end()
            if _WORD.match(self.text, self.at):
                self.at = result.start()
                self.refuse("expected a value")
            return self.builder.value(self.builder.number(result[0], line, column), line, column, depth)
        word = _WORD.match(self.text, self.at)
        if word is not None and word[0] in _LITERALS:
            self.at = word.end()
            return self.builder.value(_LITERALS[word[0]], line, column, depth)
        if word is not None and word[0].lstrip("+-").lower() in ("nan", "inf", "infinity"):
            fail("NOT_FINITE", f"expected a finite number, got {word[0]!r}", Location(self.builder.file, line, column))
        if first == "'":
            self.refuse("expected a value", 'write strings in double quotes: "..."')
        return self.refuse("expected a value", "JSON has no comments" if first in ("#", "/") else None)

    def key(self) -> tuple[str, tuple[int, int]]:
        position = self.position()
        if (plain := _KEY.match(self.text, self.at)) and plain[1].isascii():
            self.at = plain.end()
            return plain[1], position
        if self.peek() != '"':
            hint = "JSON has no comma after the last value" if self.peek() == "}" else 'write keys in quotes: "name"'
            self.refuse("expected a key", hint)
        key = self.string()
        self.skip()
        if self.peek() != ":":
            self.refuse(f"expected ':' after the key {key!r}")
        self.at += 1
        self.skip()
        return key, position

    def string(self) -> str:
        try:
            text, self.at = scanstring(self.text, self.at + 1, True)
        except JSONDecodeError as error:
            self.at = error.pos
            self.refuse(error.msg.lower())
        if not text.isascii() and _SURROGATE.search(text):
            self.refuse("a string with a surrogate code point")
        result: str = text
        return result

    def closes(self, inside: Value) -> bool:
        """Return True if the list or object ``inside`` ends at the current position, and skip its closing bracket."""
        ends = self.peek() == ("]" if isinstance(inside.content, list) else "}")
        self.at += ends
        return ends

    # -- position

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def skip(self) -> None:
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]

    def position(self) -> tuple[int, int]:
        """Return line and column of the current position.

        Lines are counted from the line of the last call, unless the reader went back.
        """
        if self.at < self.start:
            self.line, self.start, self.end = 1, 0, self.text.find("\n") % (len(self.text) + 1)
        while self.end < self.at:
            self.line, self.start = self.line + 1, self.end + 1
            self.end = self.text.find("\n", self.start) % (len(self.text) + 1)
        return self.line, self.at - self.start + 1

    def refuse(self, expected: str, hint: str | None = None) -> NoReturn:
        got = "the document ends" if self.at >= len(self.text) else f"got {self.text[self.at : self.at + 20]!r}"
        where = Location(self.builder.file, *self.position())
        fail("DATA_SYNTAX", f"not well-formed JSON: {expected}, {got}", where, hint)


_NULL, _TRUE, _FALSE = ("", "~", "null", "Null", "NULL"), ("true", "True", "TRUE"), ("false", "False", "FALSE")
_NUMBER_YAML_TEXT = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_WORDS = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


def parse_yaml(document: bytes | str, file: str | None, findings: Findings, budget: Budget) -> Value:
    """Return the content of a YAML document as a tree of values with their positions.

    Raises ImportError without PyYAML; ModelError: DATA_EMPTY, DATA_SYNTAX, DATA_ENCODING, DATA_DEPTH, TOO_LARGE,
    DATA_ALIAS, and NOT_FINITE for .nan and .inf. The errors DUPLICATE_KEY, and NOT_FINITE for a number beyond float64,
    are added to ``findings``.
    """
    try:
        import yaml
    except ImportError as error:
        raise ImportError(
            'reading YAML needs PyYAML, which is not installed: pip install "linkwork[yaml]", or use JSON'
        ) from error
    text = decoded(document, file, budget)
    builder = Builder(file, findings, budget)
    try:
        return _build(yaml, text, builder)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        position = (mark.line + 1, mark.column + 1) if mark is not None else (None, None)
        message = printable(" ".join(filter(None, (error.context, error.problem))))
        fail(
            "DATA_SYNTAX",
            f"not well-formed YAML: {message}",
            Location(file, *position),
            _TABS if "\\t" in message else None,
        )
    except yaml.YAMLError as error:
        at = getattr(error, "position", 0)  # position of an invalid character
        message = f"not well-formed YAML: {getattr(error, 'reason', error)}, {text[at : at + 1]!r}"
        fail("DATA_SYNTAX", message, Location(file, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)))


def _build(yaml: Any, text: str, builder: Builder) -> Value:
    root: Value | None = None
    open_: list[Value] = []
    keys: list[tuple[str, int, int] | None] = []  # the pending key of each open value
    documents = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        where = Location(builder.file, line, column)
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                fail("DATA_SYNTAX", "a second document in the file; only one is permitted", where)
        elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            open_.pop()
            keys.pop()
        elif isinstance(event, yaml.NodeEvent):
            _refuse_references(yaml, event, where)
            scalar = isinstance(event, yaml.ScalarEvent)
            if open_ and isinstance(open_[-1].content, dict) and keys[-1] is None:
                if not scalar:
                    fail("DATA_SYNTAX", "expected a string as a key, got a list or an object", where)
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
    if event.style is not None:  # a quoted or block scalar
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


_TABS = "indent with spaces, not tabs"
_SURROGATE = re.compile("[\ud800-\udfff]")
