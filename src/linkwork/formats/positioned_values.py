"""Documents of plain data (JSON, YAML) as a light tree of values that know where each stands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NoReturn

from linkwork._util.messages import printable, quoted
from linkwork.errors import Findings, Issue, Location, ModelError
from linkwork.formats.number_text import BadNumber, number
from linkwork.formats.xml_document import Budget

__all__ = ["Builder", "Value", "decoded", "fail"]


@dataclass(slots=True, eq=False)
class Value:
    """A value of a document: ``content`` is None, a truth value, a float, a text, a list or a dict of values."""

    content: Any
    line: int | None
    column: int | None
    parent: Value | None = None
    step: str | int = ""  # the key or the place under which the parent has it

    @property
    def path(self) -> str:
        """Where it stands, for messages: ``loops[pin]/axis``, things in lists by their names or places."""
        steps: list[str] = []
        value: Value = self
        while value.parent is not None:
            steps.append(f"[{value._called()}]" if isinstance(value.step, int) else f"/{printable(value.step)}")
            value = value.parent
        return "".join(reversed(steps)).lstrip("/")

    def _called(self) -> str:
        name = self.content.get("name") if isinstance(self.content, dict) else None
        return printable(name.content) if name is not None and isinstance(name.content, str) else str(self.step)

    @property
    def kind(self) -> str:
        """What it is, for messages."""
        match self.content:
            case None:
                return "nothing (null)"
            case bool():
                return "true" if self.content else "false"
            case float():
                return f"the number {self.content!r}"
            case str():
                return f"the text {quoted(self.content)}"
            case list():
                return f"a list of {len(self.content)}"
            case _:
                return "an object with keys"


class Builder:
    """Makes values, and looks after what they may be: keys once, numbers finite, no more values and depth than allowed.

    What is wrong with a value is collected in ``findings``; beyond the budget reading ends at once.
    """

    def __init__(self, file: str | None, findings: Findings, budget: Budget) -> None:
        self.file, self.findings, self.budget = file, findings, budget
        self.count = 0

    def value(self, content: Any, line: int, column: int, depth: int) -> Value:
        self.count += 1
        if self.count > self.budget.max_elements:
            fail("TOO_LARGE", f"more than {self.budget.max_elements} values", Location(self.file, line, column))
        if depth > self.budget.max_depth:
            message = f"values nested more than {self.budget.max_depth} deep"
            fail("DATA_DEPTH", message, Location(self.file, line, column))
        return Value(content, line, column)

    def put(self, inside: Value, key: str | None, value: Value, line: int, column: int) -> None:
        """Puts a value into a list, or under a key into a dict."""
        value.parent = inside
        if isinstance(inside.content, list):
            value.step = len(inside.content)
            inside.content.append(value)
            return
        assert key is not None
        value.step = key
        first = inside.content.setdefault(key, value)
        if first is not value:
            message = f"key {quoted(key)} is given twice; the first is on line {first.line}"
            self.findings.error(Issue("DUPLICATE_KEY", message, Location(self.file, line, column, value.path)))

    def number(self, text: str, line: int, column: int) -> float:
        try:
            return number(text)
        except BadNumber as bad:
            self.findings.error(Issue(bad.code, bad.message, Location(self.file, line, column), bad.hint))
            return 0.0


def decoded(document: bytes | str, file: str | None, budget: Budget) -> str:
    """The text of a document in UTF-8, without its byte-order mark.  Raises ModelError: TOO_LARGE, DATA_ENCODING,
    DATA_EMPTY."""
    size = len(document) if isinstance(document, bytes) else len(document.encode("utf-8", "surrogatepass"))
    if size > budget.max_bytes:
        fail("TOO_LARGE", f"{size} bytes, more than the limit of {budget.max_bytes} bytes", Location(file))
    text = document
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            line = document[: error.start].count(b"\n") + 1  # type: ignore[arg-type]
            shown = document[error.start : error.start + 4].hex(" ")  # type: ignore[union-attr]
            fail("DATA_ENCODING", f"not valid UTF-8: bytes {shown}", Location(file, line), "save the file as UTF-8")
    text = text.removeprefix("\ufeff")
    if found := _NO_TEXT.search(text):
        line = text.count("\n", 0, found.start()) + 1
        fail("DATA_ENCODING", f"the text contains {found[0]!r}", Location(file, line), "save the file as UTF-8")
    if not text.strip():
        fail("DATA_EMPTY", "the file is empty", Location(file))
    return text


def fail(code: str, message: str, where: Location, hint: str | None = None) -> NoReturn:
    raise ModelError(Issue(code, message, where, hint))


_NO_TEXT = re.compile("[\\0\\ud800-\\udfff]")
