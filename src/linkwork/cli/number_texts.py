"""Numbers in the arguments of commands, also with a unit: 90deg, 500mm, 60rpm.

A unit after a number is converted to the SI unit of the value: rad, m, rad/s, m/s, kg, s.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

__all__ = ["DEGREES", "UNITS", "in_si", "is_number", "not_a_number", "number_of", "words_of"]

_DEGREE = math.pi / 180.0
UNITS: Mapping[str, tuple[str, float]] = {
    "rad": ("rad", 1.0),
    "deg": ("rad", _DEGREE),
    "°": ("rad", _DEGREE),
    "m": ("m", 1.0),
    "cm": ("m", 0.01),
    "mm": ("m", 0.001),
    "rad/s": ("rad/s", 1.0),
    "deg/s": ("rad/s", _DEGREE),
    "°/s": ("rad/s", _DEGREE),
    "rpm": ("rad/s", math.pi / 30.0),
    "m/s": ("m/s", 1.0),
    "mm/s": ("m/s", 0.001),
    "kg": ("kg", 1.0),
    "g": ("kg", 0.001),
    "s": ("s", 1.0),
    "ms": ("s", 0.001),
    "min": ("s", 60.0),
    "h": ("s", 3600.0),
}
"""Units after numbers, each with the SI unit and the factor to it."""

_QUANTITY = re.compile(rf"(.*?[\d.])({'|'.join(sorted(map(re.escape, UNITS), key=len, reverse=True))})")
DEGREES = re.compile(r"[-+]?[\d.]+(deg(rees?)?|°)", re.IGNORECASE)
"""An angle in degrees, with any form of the unit."""

_DECIMAL_COMMA = re.compile(r"((^|[=:])[-+]?|\d),\d")
_LAST = "0123456789."  # characters at the end of a number


def _parts(text: str) -> tuple[str, str]:
    """Split a text into number and unit; without a unit, into the text and ""."""
    match = _QUANTITY.fullmatch(text)
    return (match[1], match[2]) if match else (text, "")


def is_number(text: str) -> bool:
    """Return True for a number, with a unit or without, and for a unit alone."""
    if text in UNITS:
        return True
    try:
        float(_parts(text)[0])
    except ValueError:
        return False
    return True


def number_of(option: str, text: str, unit: str = "") -> float:
    """Return a finite number in SI units; ``unit`` is the expected SI unit. Raises ValueError for another unit."""
    try:
        result = in_si(text, unit)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None
    if not math.isfinite(result):
        raise ValueError(f"{option}: {not_a_number('a finite number', text)}")
    return result


def in_si(text: str, unit: str) -> float:
    """Return a number in the SI unit ``unit``; NaN for another text. Raises ValueError for another unit."""
    number, stated = _parts(text)
    try:
        result = float(number)
    except ValueError:
        return math.nan
    if not stated:
        return result
    kind, factor = UNITS[stated]
    if kind != unit:
        expected = f"a number in {unit}" if unit else "a number without a unit"
        raise ValueError(f"expected {expected}, got {text!r}")
    return result * factor


def not_a_number(expected: str, text: str) -> str:
    """Return the error message for a text that is not a number; it explains a decimal comma."""
    message = f"expected {expected}, got {text!r}"
    if DEGREES.fullmatch(text):
        message += "; angles are in rad, or in degrees as 90deg: 90° is 1.5708"
    elif _DECIMAL_COMMA.search(text):
        message += "; write a decimal point (0.1 instead of 0,1), and blanks between several numbers"
    return message


def words_of(option: str, texts: Sequence[str]) -> list[str]:
    """Split texts into words at blanks and commas, without brackets; a unit is joined to the number before it.

    Raises ValueError for a comma that may be a decimal point: a single comma in a word without points.
    """
    result: list[str] = []
    for word in (word for text in texts for word in text.split()):
        inner = word.strip("[]()")
        has_names = "=" in inner or ":" in inner
        is_list = inner != word or "." in inner or (inner.count(",") > 1 and not has_names)
        if not is_list and _DECIMAL_COMMA.search(inner):
            raise ValueError(f"{option}: {not_a_number('numbers', word)}")
        for part in filter(None, inner.split(",")):
            if result and part in UNITS and result[-1][-1] in _LAST:
                result[-1] += part
            else:
                result.append(part)
    return result
