"""How many threads a call may share a large batch between.

LLVM's lock, compilation without it, and forks, which wait until no other thread is in LLVM.

A fork copies only the thread that forks.  If another thread were in LLVM or held a lock of it, the forked process would
wait for that lock for ever, or find LLVM's data half changed.  So a fork acquires the locks first, and waits for the
modules that are being compiled, which takes a second or so.

A signal handler may raise between any two bytecodes.  The locks are therefore acquired and released by methods that are
written in C, and a thread is counted out in a `finally` whose `try` it was counted in: Ctrl-C leaves nothing held.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
import warnings
from collections.abc import Callable
from typing import TypeVar

from llvmlite.binding import ffi

from linkwork._util.checked_arguments import public, unchecked
from linkwork._util.validation import integer

__all__ = [
    "LLVM_LOCK",
    "MOST_THREADS",
    "VARIABLE",
    "get_num_threads",
    "run_without_lock",
    "set_num_threads",
    "setting_address",
]


VARIABLE = "LINKWORK_NUM_THREADS"
MOST_THREADS = 256  # that share a call: their handles are on its stack


def _available() -> int:
    """The processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return max(len(os.sched_getaffinity(0)), 1)
    return os.cpu_count() or 1


def _from_environment() -> int:
    asked = os.environ.get(VARIABLE, "")
    if asked:
        try:
            count = int(asked)
        except ValueError:
            count = 0
        if 1 <= count <= MOST_THREADS:
            return count
        warnings.warn(
            f"{VARIABLE}: expected an integer from 1 to {MOST_THREADS}, got {asked!r}; using the processors there are",
            RuntimeWarning,
            stacklevel=2,
        )
    return min(_available(), MOST_THREADS)


_setting = ctypes.c_int64(_from_environment())


@public(count=unchecked)
def set_num_threads(count: int) -> None:
    """Let calls share large batches between so many threads, from now on and in every kernel of this process.

    At first there are as many as processors that this process may run on, or what the environment variable
    LINKWORK_NUM_THREADS says.  A batch that is too small for a thread to be worth its start stays on one.  Results do
    not depend on the number, to the last bit.  On Windows batches stay on one thread.

    Raises TypeError where ``count`` is no whole number, ValueError where it is not from 1 to 256.
    """
    asked = integer("set_num_threads", "count", count, least=1, most=MOST_THREADS, what="a number of threads")
    _setting.value = asked


def get_num_threads() -> int:
    """How many threads a call may share a large batch between: see `set_num_threads`."""
    return _setting.value


def setting_address() -> int:
    """Where the number stands in memory, as an int64, for as long as the process lives."""
    return ctypes.addressof(_setting)


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
