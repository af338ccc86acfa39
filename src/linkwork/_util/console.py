"""Streams that people read, whatever their encoding.

A line on a terminal where something takes long that nobody would expect to.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

__all__ = ["Notice", "Stream", "backslashed", "shown_elsewhere"]


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


_LONG = 1.0  # seconds
_clock = time.monotonic
_elsewhere: set[object] = set()  # a token for each task that shows its own progress


class Notice:
    """Says once, on standard error and where that is a terminal, that something takes more than a second."""

    def __init__(self, text: str) -> None:
        self._text, self._begin, self._done = text, _clock(), False

    def __call__(self) -> float | None:
        """Say it if it is time.  Returns after how many more seconds it may be; None: not any more."""
        log = Stream(sys.stderr)
        if self._done or _elsewhere or not log.is_terminal:
            return None
        left = self._begin + _LONG - _clock()
        if left > 0.0:
            return left
        self._done = True
        log.line(self._text)
        log.flush()
        return None


@contextmanager
def shown_elsewhere() -> Iterator[None]:
    """What takes long in here is shown by others, or not to be shown."""
    token = object()
    try:
        _elsewhere.add(token)
        yield
    finally:
        _elsewhere.discard(token)
