"""Numbers in text: the lexical forms of XML Schema's double.

Neither the locale nor Python's extensions (``1_0``, digits of other scripts, ``0x10``) have an influence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import islice

from linkwork._util.messages import quoted

__all__ = ["BadNumber", "parse_number", "parse_number_list"]


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
    """Return the words of a text one after the other: a list of all would take fifty times the memory of the text."""
    return (word[0] for word in _WORDS.finditer(text))


_SPACE = " \t\r\n"
_WORDS = re.compile(r"[^ \t\r\n]+")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?").fullmatch
_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE | re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
