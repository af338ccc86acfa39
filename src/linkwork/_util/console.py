"""Text streams with any encoding, and the announcement of a compilation that takes long."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

__all__ = ["CompileNotice", "Stream", "backslashed", "log_compilation", "shown_elsewhere"]


class Stream:
    """A stream of lines.  Characters that its encoding lacks are written in ASCII; None discards the text."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._encoding = getattr(stream, "encoding", None) or "utf-8"

    @property
    def is_terminal(self) -> bool:
        """True if the stream is a terminal."""
        return self._stream is not None and self._stream.isatty()

    @property
    def is_notebook(self) -> bool:
        """True if the stream is shown in a notebook, below the cell that writes."""
        return type(self._stream).__module__.startswith("ipykernel.")

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
        """Return the text with each character that the stream cannot encode replaced by ASCII."""
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


_LONG = 1.0  # [s] after which a compilation is announced
_INFO = 20  # `logging.INFO`
_PAGE = "(see docs/first_calls.md)"
_clock = time.monotonic
_elsewhere: set[object] = set()  # a token for each task that shows its own progress
_announced: list[str] = []  # the kernel that was announced in this process


class CompileNotice:
    """Announcement of a compilation that takes more than a second.

    While it runs, one line is printed on standard error, once in a process, if that is a terminal or a notebook.  At
    the end, the logger "linkwork" gets a record of level INFO; a higher level of this logger suppresses the line also.
    """

    def __init__(self, kernel: str, stored: bool) -> None:
        self._kernel, self._stored, self._begin = kernel, stored, _clock()

    def __call__(self) -> float | None:
        """Print the announcement if it is due.  Return the time until it is due [s]; None if no more calls help."""
        stream = Stream(sys.stderr)
        if _announced or _elsewhere or _is_silenced() or not (stream.is_terminal or stream.is_notebook):
            return None
        left = self._begin + _LONG - _clock()
        if left > 0.0:
            return left
        _announced.append(self._kernel)
        storage = "; the cache stores it for later processes" if self._stored else ""
        stream.line(f"linkwork: compiling {self._kernel} to machine code takes more than a second{storage} {_PAGE}")
        stream.flush()
        return None

    def end(self) -> None:
        """Log the compilation if it took more than a second."""
        log_compilation(self._kernel, _clock() - self._begin)


def log_compilation(kernel: str, seconds: float) -> None:
    """Log a compilation that took more than a second, at level INFO of the logger "linkwork"."""
    if seconds > _LONG:
        import logging

        logging.getLogger("linkwork").info("compiled %s to machine code in %.1f s", kernel, seconds)


def _is_silenced() -> bool:
    """Return True if the logger "linkwork" is disabled, or its own level is above INFO."""
    logging = sys.modules.get("logging")  # without it, nothing was configured
    get_logger = getattr(logging, "getLogger", None)  # None also while another thread is importing the module
    logger = get_logger("linkwork") if get_logger is not None else None
    return logger is not None and (logger.disabled or logger.level > _INFO)


@contextmanager
def shown_elsewhere() -> Iterator[None]:
    """Suppress announcements of compilations in the ``with`` block: the caller reports progress, or wants no output."""
    token = object()
    try:
        _elsewhere.add(token)
        yield
    finally:
        _elsewhere.discard(token)
