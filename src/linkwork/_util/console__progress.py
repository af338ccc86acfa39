"""A progress bar on standard error: one line that fills in a terminal, a few plain lines elsewhere."""

from __future__ import annotations

import os
import shutil
import time
from types import TracebackType

from linkwork._util.console import Stream

__all__ = ["Progress"]

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
