"""Failures found by a fuzzer."""

from __future__ import annotations

__all__ = ["Find", "expect"]


class Find(AssertionError):
    """Input with a wrong result.  Failures with one cause usually have the same ``kind``."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def expect(condition: object, kind: str, shown: object) -> None:
    """Raise Find, which shows the input, unless the condition holds."""
    if not condition:
        raise Find(kind, f"{kind}\n{shown}")
