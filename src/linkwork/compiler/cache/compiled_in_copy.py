"""Compilation in a copy of this process, which stores its results in the cache."""

from __future__ import annotations

from linkwork._util.console import CompileNotice
from linkwork._util.forked_tasks import go_on_in_copy
from linkwork.compiler.cache.disk_cache import Cache

__all__ = ["compiled_in_copy"]


def compiled_in_copy(cache: Cache | None, name: str) -> bool:
    """Call this before work whose result the cache lacks; it returns True if a copy of this process has done the work.

    That happens only for tasks that allow it (see `go_on_in_copy`).  ``name`` is the kernel's, for the announcement of
    a long compilation.
    """
    if cache is None or not cache.is_writable():
        return False
    notice = CompileNotice(name, stored=True)
    if not go_on_in_copy(notice):
        return False
    notice.end()
    return True
