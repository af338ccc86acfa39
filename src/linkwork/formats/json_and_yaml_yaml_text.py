"""Strict reading of YAML into values that know where each stands, by PyYAML's events.

Plain scalars are what YAML 1.2 says, so that ``on`` is a text and ``1e-3`` a number.  Anchors, aliases, tags and
several documents are refused: nothing is made but plain data.
"""

from __future__ import annotations

import re
from typing import Any

from linkwork._util.messages import printable
from linkwork.errors import Findings, Location
from linkwork.formats.positioned_values import Builder, Value, decoded, fail
from linkwork.formats.xml_document import Budget

__all__ = ["parse_yaml"]

_NULL, _TRUE, _FALSE = ("", "~", "null", "Null", "NULL"), ("true", "True", "TRUE"), ("false", "False", "FALSE")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
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
    return builder.number(text, line, column) if _NUMBER.fullmatch(text) else text


def _refuse_references(yaml: Any, event: Any, where: Location) -> None:
    if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
        fail("DATA_ALIAS", "anchors (&) and aliases (*) are not allowed", where, "write the values out")
    if getattr(event, "tag", None) not in (None, "!"):
        fail("DATA_ALIAS", f"tags are not allowed, got {printable(str(event.tag))}", where, "leave the tag out")
    return


_TABS = "indent by spaces, not by tabs"
