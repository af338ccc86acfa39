"""Streams that people read, whatever their encoding."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TextIO

__all__ = ["Stream", "backslashed"]


class Stream:
    """A stream of lines.  What its encoding lacks is written in ASCII; a closed stream takes nothing."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._encoding = getattr(stream, "encoding", None) or "utf-8"

    @property
    def is_terminal(self) -> bool:
        """Whether a person sees each character as it comes."""
        return self._stream is not None and self._stream.isatty()

    def line(self, text: str = "") -> None:
        self.write(text + "\n")

    def lines(self, texts: Sequence[str]) -> None:
        for text in texts:
            self.line(text)

    def write(self, text: str) -> None:
        if self._stream is not None:
            self._stream.write(self.fitting(text))

    def json(self, data: Any) -> None:
        """One JSON document, in ASCII.  NaN and infinity are errors: see `finite`."""
        self.line(json.dumps(data, indent=2, allow_nan=False))

    def flush(self) -> None:
        if self._stream is not None:
            self._stream.flush()

    def fitting(self, text: str) -> str:
        """The text in characters that the stream can encode."""
        if self._can(text):
            return text
        return "".join(c if self._can(c) else _PLAIN.get(c) or backslashed(c) for c in text)

    def _can(self, text: str) -> bool:
        try:
            text.encode(self._encoding)
        except UnicodeEncodeError:
            return False
        return True


def backslashed(c: str) -> str:
    """A character as a backslash escape."""
    return c.encode("unicode_escape").decode("ascii")


_PLAIN = dict(zip("├└│─█░…·×µ²", "|`|-#.~.xu2", strict=True))
