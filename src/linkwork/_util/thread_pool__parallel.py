"""Doing several things at once, with progress shown on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from linkwork._util.console import Stream
from linkwork._util.console__notice import shown_elsewhere
from linkwork._util.console__progress import Progress
from linkwork._util.thread_pool import run

__all__ = ["in_parallel"]


def in_parallel(tasks: Sequence[Callable[[], Any]], label: str, progress: bool | None) -> None:
    """Call every task, as many at a time as there are processors.

    ``progress`` says whether it shows; None: where standard error is a terminal.  The first error is raised when the
    tasks that had begun are done.
    """
    if not tasks:
        return
    log = Stream(sys.stderr)
    show = log.is_terminal if progress is None else progress
    with shown_elsewhere(), Progress(log if show else Stream(None), label, len(tasks)) as bar:
        run(tasks, done=lambda: bar.advance(1))
