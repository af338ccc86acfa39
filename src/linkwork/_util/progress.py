"""Progress of long computations: a bar on standard error, or a user's function that receives `Progress` values.

Every function with an argument ``progress`` passes it to a `Reporter`:

    with Reporter("plan", progress, "planning: seconds", time_limit) as report:
        report.advance(0.1)
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np

from linkwork._util.console import Stream, shown_elsewhere

__all__ = ["Progress", "ProgressBar", "Reporter"]

_WIDTH = 30  # [characters] of the bar
_PAUSE = 0.1  # [s] between two drawings in a terminal


class Progress(NamedTuple):
    """Progress of a long computation, the argument of a function that is passed as ``progress``.

    ``done`` and ``total`` are in the unit of the computation: time steps of `Robot.simulate`, seconds of `Robot.plan`,
    iterations of `TrajectoryProblem.solve`, functions of `Robot.precompile`, samples of
    `Robot.workspace_map`.  A computation may end before ``done`` reaches ``total``.

    >>> import linkwork as lw
    >>> robot = lw.load("double_pendulum")
    >>> last = []
    >>> moved = robot.simulate([0.3, 0.1], duration=0.01, progress=last.append)
    >>> last[-1].done, last[-1].total, last[-1].seconds > 0.0
    (10, 10, True)
    """

    done: float
    total: float
    seconds: float  # since the computation began


class Reporter(AbstractContextManager["Reporter"]):
    """Report progress to a bar, to a function or not at all, inside a ``with`` statement."""

    def __init__(self, caller: str, progress: Any, label: str, total: float, begun: float | None = None) -> None:
        """Read the option ``progress``: True for a bar, False for no output, None for a bar on a terminal, a function.

        ``begun`` is the start of the computation, a time of `time.perf_counter`; the default is the start of the
        ``with`` statement.  Raises TypeError for any other ``progress``.
        """
        self._function = read_progress(caller, progress)
        self._label, self._total, self._done = label, total, 0.0 if isinstance(total, float) else 0
        self._begun, self._begin = begun, 0.0
        self._bar: ProgressBar | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._begin = time.perf_counter() if self._begun is None else self._begun
        if self._function is True or (self._function is None and sys.stderr is not None and sys.stderr.isatty()):
            self._bar = self._stack.enter_context(ProgressBar(Stream(sys.stderr), self._label, self._total))
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.close()

    def hide_notices(self) -> Self:
        """Suppress the compiler's own notice of long work until the end, and return the reporter."""
        self._stack.enter_context(shown_elsewhere())
        return self

    @property
    def active(self) -> bool:
        """True if a bar or a function receives the progress; known once the ``with`` statement is entered."""
        return self._bar is not None or callable(self._function)

    def advance(self, amount: float = 1) -> None:
        """Increase the completed amount by ``amount``, and show the progress."""
        self._done = min(self._done + amount, self._total)
        if self._bar is not None:
            self._bar.advance(amount)
        elif callable(self._function):
            self._function(Progress(self._done, self._total, time.perf_counter() - self._begin))

    def reach(self, done: float) -> None:
        """Set the completed amount to ``done``, in the unit of ``total``, and show the progress."""
        self.advance(max(0.0, done - self._done))


def read_progress(caller: str, progress: Any) -> bool | Callable[[Progress], Any] | None:
    """Check the option ``progress`` of a public function, and return it: True, False, None or a function.

    Raises TypeError for other values.
    """
    if isinstance(progress, np.bool_):
        return bool(progress)
    if progress is None or isinstance(progress, bool):
        return progress
    if callable(progress):
        function: Callable[[Progress], Any] = progress
        return function
    expected = "expected True, False or a function of a linkwork.Progress"
    raise TypeError(f"{caller}: progress: {expected}, got {progress!r}")


class ProgressBar:
    """Display of the completed fraction of ``total``: a bar on a terminal, a few plain lines elsewhere."""

    def __init__(self, log: Stream, label: str, total: float) -> None:
        self._log, self._label, self._total = log, label, total
        self._bar = log.is_terminal and os.environ.get("TERM") != "dumb"
        self._done = 0.0
        self._quarter = 0
        self._drawn_at = -_PAUSE
        self._shown = 0  # characters on the line

    def __enter__(self) -> Self:
        self._show()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar:
            self._log.write("\r" + " " * self._shown + "\r")
            self._log.flush()

    def advance(self, amount: float) -> None:
        """Increase the completed amount by ``amount``, and redraw the bar if necessary."""
        self._done += amount
        self._show()

    @property
    def _share(self) -> float:
        return min(self._done / self._total, 1.0) if self._total > 0.0 else 1.0

    def _show(self) -> None:
        if self._bar:
            now = time.monotonic()
            if now - self._drawn_at >= _PAUSE or self._done >= self._total:
                self._drawn_at = now
                self._draw()
        elif (quarter := int(4.0 * self._share)) > self._quarter:
            self._quarter = quarter
            self._log.line(f"{self._label}: {25 * quarter} % of {self._total:g}")

    def _draw(self) -> None:
        full = round(_WIDTH * self._share)
        text = f"{self._label} {'█' * full}{'░' * (_WIDTH - full)} {100 * self._share:3.0f} %"
        import shutil

        text = self._log.fitting(text)[: max(shutil.get_terminal_size().columns - 1, 1)]
        self._log.write("\r" + text + " " * (self._shown - len(text)))
        self._log.flush()
        self._shown = len(text)
