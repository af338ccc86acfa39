"""What a fuzzer finds."""

from __future__ import annotations

__all__ = ["Find", "expect"]


class Find(AssertionError):
    """Input for which something else came out than may.  ``kind`` is the same for finds of one cause, as a rule."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def expect(condition: object, kind: str, shown: object) -> None:
    """Raises Find, which shows what was given, unless the condition holds."""
    if not condition:
        raise Find(kind, f"{kind}\n{shown}")
