"""Text streams with any encoding, and the notice that an unexpectedly long computation prints on a terminal."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

__all__ = ["Notice", "Stream", "backslashed", "shown_elsewhere"]


class Stream:
    """A stream of lines.  Characters that its encoding lacks are written in ASCII; None discards the text."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._encoding = getattr(stream, "encoding", None) or "utf-8"

    @property
    def is_terminal(self) -> bool:
        """True if the stream is a terminal."""
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
        """Write one JSON document, in ASCII.  Raises ValueError for NaN and infinity."""
        self.line(json.dumps(data, indent=2, allow_nan=False))

    def flush(self) -> None:
        if self._stream is not None:
            self._stream.flush()

    def fitting(self, text: str) -> str:
        """Return the text in characters that the stream can encode."""
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
    """Return a character as a backslash escape."""
    return c.encode("unicode_escape").decode("ascii")


_PLAIN = dict(zip("├└│─█░…·×µ²", "|`|-#.~.xu2", strict=True))


_LONG = 1.0  # [s] after which a notice is printed
_clock = time.monotonic
_elsewhere: set[object] = set()  # a token for each task that shows its own progress


class Notice:
    """Print a text once on standard error, if that is a terminal, when a computation takes more than a second."""

    def __init__(self, text: str) -> None:
        self._text, self._begin, self._done = text, _clock(), False

    def __call__(self) -> float | None:
        """Print the text if it is due.  Returns the remaining time until then [s]; None if no more calls are needed."""
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
    """Suppress notices inside the ``with`` statement: the caller reports progress itself, or wants no output."""
    token = object()
    try:
        _elsewhere.add(token)
        yield
    finally:
        _elsewhere.discard(token)
