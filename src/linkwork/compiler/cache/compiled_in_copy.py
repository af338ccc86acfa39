"""Compilation in a copy of this process, which stores its results in the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from linkwork._util.console import CompileNotice
from linkwork._util.forked_tasks import do_without_copies, go_on_in_copy
from linkwork.compiler.cache.disk_cache import Cache

__all__ = ["result_of_copy"]

T = TypeVar("T")


def result_of_copy(cache: Cache | None, name: str, find: Callable[[], T | None]) -> T | None:
    """Return what a copy of this process has stored in the cache, before work whose result the cache lacks; else None.

    There is a copy only for tasks that allow it (see `go_on_in_copy`).  ``find`` looks for the result in the cache.
    ``name`` is the kernel's, for the announcement of a long compilation.
    """
    if cache is None:
        return None
    notice = CompileNotice(name, stored=True)
    if not go_on_in_copy(notice, cache.is_writable):
        return None
    notice.end()
    result = find()
    if result is None:
        do_without_copies()
    return result
