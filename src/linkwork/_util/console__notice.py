"""A line on a terminal where something takes long that nobody would expect to."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from linkwork._util.console import Stream

__all__ = ["Notice", "shown_elsewhere"]

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
