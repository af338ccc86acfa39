"""What people hand to constraints, looked at: names, lengths."""

from __future__ import annotations

from typing import Any

from ..spatial.given import LARGEST, given_numbers

__all__ = ["given_length", "name_or"]


def given_length(kind: str, what: str, value: Any) -> float:
    """A length above 0 [m].  Raises ValueError."""
    expected = f"{kind}: {what}: expected a length above 0 [m]"
    number = float(given_numbers(value, expected, ()))
    if not 0.0 < number <= LARGEST:
        raise ValueError(f"{expected}, got {value!r}")
    return number


def name_or(name: str, default: str) -> str:
    """The name that a constraint was given, or what it is called where it was given none."""
    return default if name == "" else name
