"""Who is in LLVM: its lock, the threads that need none, and forks, which wait until nobody is.

A fork copies the thread that forks and no other.  If another one were in LLVM or had a lock of it, a forked process
would wait for it for ever, or find what it was about to change half changed.  So a fork takes the locks first, and
waits for the modules that are being compiled: a second or so.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from llvmlite.binding import ffi

__all__ = ["LLVM_LOCK", "without_lock"]

LLVM_LOCK = threading.RLock()  # LLVM's global context is not for two threads at once
_change = threading.Condition()
_inside: Counter[int] = Counter()  # how often each thread is in LLVM without the lock


@contextmanager
def without_lock() -> Iterator[None]:
    """LLVM works for this thread in a context of its own, as it may for others at the same time."""
    thread = threading.get_ident()
    with _change:
        _inside[thread] += 1
    try:
        yield
    finally:
        with _change:
            _inside[thread] -= 1
            if not _inside[thread]:
                del _inside[thread]
            _change.notify_all()


def _before_fork() -> None:
    LLVM_LOCK.acquire()
    _llvmlites_lock.__enter__()
    _change.acquire()  # nobody begins now
    thread = threading.get_ident()
    _change.wait_for(lambda: not (_inside.keys() - {thread}))


def _after_fork() -> None:
    _change.release()
    _llvmlites_lock.__exit__(None, None, None)
    LLVM_LOCK.release()


_llvmlites_lock = getattr(ffi.lib, "_lock", None) or threading.RLock()  # held during each call of LLVM by llvmlite
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
