"""Streams that people read, whatever their encoding.

A line on a terminal where something takes long that nobody would expect to.

A progress bar on standard error: one line that fills in a terminal, a few plain lines elsewhere.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TextIO

__all__ = ["Notice", "Progress", "Stream", "backslashed", "shown_elsewhere"]


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


_WIDTH = 30  # of the bar
_PAUSE = 0.1  # seconds between two drawings in a terminal


class Progress:
    """Shows how much of ``total`` is done, from its `with` statement's beginning to its end."""

    def __init__(self, log: Stream, label: str, total: int) -> None:
        self._log, self._label, self._total = log, label, total
        self._bar = log.is_terminal and os.environ.get("TERM") != "dumb"
        self._done = 0
        self._quarter = 0
        self._drawn_at = -_PAUSE
        self._shown = 0  # characters on the line

    def __enter__(self) -> Progress:
        self._show()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar:
            self._log.write("\r" + " " * self._shown + "\r")
            self._log.flush()

    def advance(self, count: int) -> None:
        """So many more are done."""
        self._done += count
        self._show()

    def _show(self) -> None:
        if self._bar:
            now = time.monotonic()
            if now - self._drawn_at >= _PAUSE or self._done >= self._total:
                self._drawn_at = now
                self._draw()
        elif (quarter := 4 * self._done // self._total) > self._quarter:
            self._quarter = quarter
            self._log.line(f"{self._label}: {25 * quarter} % of {self._total}")

    def _draw(self) -> None:
        share = min(self._done / self._total, 1.0)
        full = round(_WIDTH * share)
        text = f"{self._label} {'█' * full}{'░' * (_WIDTH - full)} {100 * share:3.0f} %"
        text = self._log.fitting(text)[: max(shutil.get_terminal_size().columns - 1, 1)]
        self._log.write("\r" + text + " " * (self._shown - len(text)))
        self._log.flush()
        self._shown = len(text)
