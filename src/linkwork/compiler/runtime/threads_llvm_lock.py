"""LLVM's lock, compilation without it, and forks, which wait until no other thread is in LLVM.

A fork copies only the thread that forks.  If another thread were in LLVM or held a lock of it, the forked process would
wait for that lock for ever, or find LLVM's data half changed.  So a fork acquires the locks first, and waits for the
modules that are being compiled, which takes a second or so.

A signal handler may raise between any two bytecodes.  The locks are therefore acquired and released by methods that are
written in C, and a thread is counted out in a `finally` whose `try` it was counted in: Ctrl-C leaves nothing held.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from llvmlite.binding import ffi

__all__ = ["LLVM_LOCK", "run_without_lock"]

T = TypeVar("T")

_POLL = 1e-3  # [s] between two looks whether another thread is still in LLVM

LLVM_LOCK = threading.RLock()  # LLVM's global context is not for two threads at once
_entering = threading.RLock()  # held while a fork waits: no thread enters LLVM then
_inside: dict[object, int] = {}  # for each call of LLVM without its lock, the thread that makes it


def run_without_lock(function: Callable[[], T]) -> T:
    """Return ``function()``, during which LLVM works for this thread in a context of its own, without LLVM's lock."""
    call = object()
    try:
        with _entering:
            _inside[call] = threading.get_ident()
        return function()
    finally:
        _inside.pop(call, None)


def _wait_for_others() -> None:
    """Wait until no other thread is in LLVM; `_entering` is held, so none enters."""
    thread = threading.get_ident()
    while any(other != thread for other in list(_inside.values())):
        time.sleep(_POLL)


def _leave_in_child() -> None:
    """Forget the calls of threads that a forked process does not have."""
    thread = threading.get_ident()
    for call, other in list(_inside.items()):
        if other != thread:
            del _inside[call]


# held during each call of LLVM by llvmlite, in an object whose own `__enter__` is written in Python
_llvmlites_lock = getattr(getattr(ffi.lib, "_lock", None), "_lock", None) or threading.RLock()
_locks = (LLVM_LOCK, _llvmlites_lock, _entering)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_others, after_in_child=_leave_in_child)
    for _lock in reversed(_locks):  # what is registered last runs first before a fork
        os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
