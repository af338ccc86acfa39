"""Numbers as text: the lexical forms of XML Schema's double, and nothing else.

Neither the locale nor Python's own extensions (``1_0``, other scripts' digits, ``0x10``) have a say.
"""

from __future__ import annotations

import math
import re

__all__ = ["BadNumber", "number", "numbers", "printable", "quoted"]


class BadNumber(ValueError):
    """Text that is not the number, or the numbers, it should be.  ``code``: NUMBER, NOT_FINITE or ARITY."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


def number(text: str, *, infinite: bool = False) -> float:
    """The number in a text, white space around it allowed; −0 is read as 0.

    Raises BadNumber: NUMBER, or NOT_FINITE for nan, for a number beyond float64, and for ±inf unless ``infinite``.
    """
    word = text.strip(_SPACE)
    if _DOUBLE.fullmatch(word):
        value = float(word)
        if math.isinf(value):
            raise BadNumber("NOT_FINITE", f"{quoted(word)} is beyond the range of float64")
        return value + 0.0
    bare = word.lstrip("+-").lower()
    if bare in ("inf", "infinity") and len(word) - len(bare) <= 1:
        if infinite:
            return -math.inf if word[0] == "-" else math.inf
        raise BadNumber("NOT_FINITE", f"expected a finite number, got {quoted(word)}")
    if bare == "nan":
        raise BadNumber("NOT_FINITE", f"expected a finite number, got {quoted(word)}")
    hint = "the decimal separator is a point" if _DECIMAL_COMMA.fullmatch(word) else None
    raise BadNumber("NUMBER", f"expected a number, got {quoted(word)}", hint)


def numbers(text: str, count: int) -> tuple[float, ...]:
    """So many numbers, with white space between them.  Raises BadNumber: ARITY, NUMBER or NOT_FINITE.

    Here the words nan and inf are no numbers (NUMBER).
    """
    words = text.strip(_SPACE)
    parts = _SPACES.split(words, maxsplit=count) if words else []
    values = []
    for part in parts:
        try:
            values.append(number(part) if len(values) < count else 0.0)
        except BadNumber as bad:
            is_word = bad.code == "NOT_FINITE" and not _DOUBLE.fullmatch(part)
            raise BadNumber("NUMBER" if is_word else bad.code, bad.message, bad.hint) from None
    if len(parts) != count:
        got = "more" if len(parts) > count else str(len(parts))
        raise BadNumber("ARITY", f"expected {count} numbers, got {got} in {quoted(text)}")
    return tuple(values)


def printable(text: str) -> str:
    """A text as messages print it: short, and with its control characters escaped."""
    text = text if len(text) <= 60 else text[:57] + "..."
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def quoted(text: str) -> str:
    """A text as messages quote it: short and escaped."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


_SPACE = " \t\r\n"
_SPACES = re.compile(r"[ \t\r\n]+")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
