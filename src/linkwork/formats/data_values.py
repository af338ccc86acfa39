"""Values of data files with their positions in the file, and checks of the number of values, nesting and encoding."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from linkwork._util.file_access import Budget
from linkwork._util.messages import printable, quoted
from linkwork.errors import Findings, Issue, Location, ModelError
from linkwork.formats.xml_text import BadNumber, parse_number

__all__ = ["NUMBER", "Builder", "NumberList", "Value", "decoded", "fail", "values_of"]

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")  # as in JSON


class NumberList(list[float]):
    """List of numbers that a document states on one line, with its source text.

    It saves a `Value` object for each number; `Value.items` creates them.
    """

    __slots__ = ("text",)

    text: str


@dataclass(slots=True, eq=False)
class Value:
    """A value of a document: ``content`` is None, a bool, a float, a string, a list or a dict of values.

    A list of numbers that is written on one line may be a `NumberList`, whose entries are floats instead of `Value`
    objects.
    """

    content: Any
    line: int | None
    column: int | None
    parent: Value | None = None
    step: str | int = ""  # its key or index in the parent

    @property
    def items(self) -> list[Value]:
        """The entries of a list, each with its position in the file."""
        content = self.content
        if type(content) is not NumberList:
            return content  # type: ignore[no-any-return]
        line, column = self.line, self.column or 1
        columns = [column + number.start() for number in NUMBER.finditer(content.text)] or [column] * len(content)
        return [Value(x, line, at, self, k) for k, (x, at) in enumerate(zip(content, columns, strict=True))]

    @property
    def path(self) -> str:
        """Path in the document, for messages: ``loops[pin]/axis``, with names or indices of list entries."""
        steps: list[str] = []
        value: Value = self
        while value.parent is not None:
            steps.append(f"[{value._label()}]" if isinstance(value.step, int) else f"/{printable(value.step)}")
            value = value.parent
        return "".join(reversed(steps)).lstrip("/")

    def _label(self) -> str:
        name = self.content.get("name") if isinstance(self.content, dict) else None
        return printable(name.content) if name is not None and isinstance(name.content, str) else str(self.step)

    @property
    def kind(self) -> str:
        """Description of the value for messages: "null", "a list of 3", "the number 2.0"."""
        match self.content:
            case None:
                return "null"
            case bool():
                return "true" if self.content else "false"
            case float():
                return f"the number {self.content!r}"
            case str():
                return f"the string {quoted(self.content)}"
            case list():
                return f"a list of {len(self.content)}"
            case _:
                return "an object with keys"


class Builder:
    """Builder of a tree of values, which checks for unique keys, finite numbers, and limits of size and depth.

    Problems of a value are collected in ``findings``; exceeding the ``budget`` raises ModelError immediately.
    """

    def __init__(self, file: str | None, findings: Findings, budget: Budget, signed_zeros: bool = False) -> None:
        self.file, self.findings, self.budget = file, findings, budget
        self.count = 0
        self.zero = -0.0 if signed_zeros else 0.0  # its sum with −0 is −0 or 0

    def value(self, content: Any, line: int, column: int, depth: int) -> Value:
        self.count += 1
        if self.count > self.budget.max_elements:
            message, hint = f"more than {self.budget.max_elements} values", self.budget.remedy("max_elements")
            fail("TOO_LARGE", message, Location(self.file, line, column), hint)
        if depth > self.budget.max_depth:
            message = f"values nested more than {self.budget.max_depth} deep"
            fail("DATA_DEPTH", message, Location(self.file, line, column), self.budget.remedy("max_depth"))
        return Value(content, line, column)

    def put(self, inside: Value, key: str | None, value: Value, line: int, column: int) -> None:
        """Add ``value`` to ``inside``: at the end of a list, or under ``key`` of a dict.

        The position is its place in the file.
        """
        value.parent = inside
        if isinstance(inside.content, list):
            value.step = len(inside.content)
            inside.content.append(value)
            return
        assert key is not None
        value.step = key
        first = inside.content.setdefault(key, value)
        if first is not value:
            message = f"key {quoted(key)} is stated twice; the first is on line {first.line}"
            self.findings.error(Issue("DUPLICATE_KEY", message, Location(self.file, line, column, value.path)))

    def set_float_list(self, inside: Value, text: str, depth: int) -> bool:
        """Set the content of ``inside`` to the numbers in ``text``, such as "[1, 2]"; return False if any is infinite.

        In the limit on the number of values, four numbers count as one value, because they take as much memory.
        """
        zero = self.zero
        self.count += text.count(",") // 4
        self.value(None, inside.line or 1, inside.column or 1, depth + 1)  # checks the limits
        elements = NumberList([float(x) + zero for x in text[1:-1].split(",")])
        if not all(map(math.isfinite, elements)):
            return False
        elements.text = text
        inside.content = elements
        return True

    def number(self, text: str, line: int, column: int) -> float:
        try:
            value = parse_number(text)
            return value or float(text) + self.zero
        except BadNumber as bad:
            self.findings.error(Issue(bad.code, bad.message, Location(self.file, line, column), bad.hint))
            return 0.0


def decoded(document: bytes | str, file: str | None, budget: Budget) -> str:
    """Return the text of a UTF-8 document, without its byte-order mark.

    Raises ModelError: TOO_LARGE, DATA_ENCODING, DATA_EMPTY.
    """
    size = len(document) if isinstance(document, bytes) else len(document.encode("utf-8", "surrogatepass"))
    if size > budget.max_bytes:
        message = f"{size} bytes, more than the limit of {budget.max_bytes} bytes"
        fail("TOO_LARGE", message, Location(file), budget.remedy("max_bytes"))
    text = document
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            line = document[: error.start].count(b"\n") + 1  # type: ignore[arg-type]
            shown = document[error.start : error.start + 4].hex(" ")  # type: ignore[union-attr]
            fail("DATA_ENCODING", f"not valid UTF-8: bytes {shown}", Location(file, line), "save the file as UTF-8")
    text = text.removeprefix("\ufeff")
    if result := _NO_TEXT.search(text):
        line = text.count("\n", 0, result.start()) + 1
        fail("DATA_ENCODING", f"the text contains {result[0]!r}", Location(file, line), "save the file as UTF-8")
    if not text.strip():
        fail("DATA_EMPTY", "the file is empty", Location(file))
    return text


def fail(code: str, message: str, where: Location, hint: str | None = None) -> NoReturn:
    raise ModelError(Issue(code, message, where, hint))


def values_of(data: Any, file: str | None, findings: Findings, budget: Budget) -> Value:
    """Convert plain data, as from `json.loads`, to a tree of `Value` objects, which have no positions in a file.

    Raises ModelError: DATA_DEPTH, TOO_LARGE.
    """
    builder = Builder(file, findings, budget)
    root = Value(None, None, None)
    open_ = [(root, data, 1)]
    while open_:
        value, content, depth = open_.pop()
        items: Any = ()
        if type(content) is dict:
            value.content, items = {}, content.items()
        elif type(content) is list and content and all(type(x) is float for x in content):
            value.content = NumberList(content)
            value.content.text = ""
            builder.count += len(content)
            depth += 1
        elif type(content) is list:
            value.content, items = [], enumerate(content)
        else:
            value.content = float(content) if type(content) is int else content
        builder.value(None, 0, 0, depth)  # checks the limits
        inner = [(Value(None, None, None, value, key), item, depth + 1) for key, item in items]
        if type(content) is dict:
            value.content.update({member.step: member for member, _, _ in inner})
        elif inner:
            value.content.extend([member for member, _, _ in inner])
        open_ += inner
    return root


_NO_TEXT = re.compile("[\\0\\ud800-\\udfff]")
