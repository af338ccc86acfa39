"""Work of Python code: counts of executed lines, independent of the machine's speed and load."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from linkwork.errors import ModelError

__all__ = ["grows_in_proportion", "steps"]


def steps(work: Callable[[], object]) -> int:
    """The lines of Python that are run; a `ModelError` ends the work as well as its end does.

    Work inside one call of C, such as the parser's between two events, counts for nothing.
    """
    count = 0

    def each(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return each

    with _traced(each), contextlib.suppress(ModelError):
        work()
    return count


def grows_in_proportion(work: Callable[[int], Callable[[], object]], n: int) -> bool:
    """Return True if four times the size takes at most about four times the steps.

    ``work(n)`` prepares work of size n.  Sizes are large enough for a square to show: it would take sixteen times.
    """
    return steps(work(4 * n)) <= 5 * steps(work(n)) + 10_000


@contextlib.contextmanager
def _traced(function: Callable[..., Any]) -> Iterator[None]:
    before = sys.gettrace()
    sys.settrace(function)
    try:
        yield
    finally:
        sys.settrace(before)
