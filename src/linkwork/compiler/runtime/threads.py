"""Threads of large batches, LLVM's lock, and forks, which wait until no other thread is in LLVM.

A fork copies only the thread that forks. If another thread were in LLVM or held one of its locks, the forked process
would wait for that lock forever, or find inconsistent data in LLVM. So a fork acquires the locks first, and waits for
the modules that are being compiled, which takes a second or so.

A signal handler may raise between any two bytecodes. So locks of a kind are used that no interrupt leaves acquired, and
a thread is registered and unregistered in one `try` statement: Ctrl-C leaves nothing locked.

A worker process shares the processors with other workers.  Libraries that start workers are recognized by the modules
that a worker has imported; this module imports none of them.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from linkwork._util.checked_arguments import public, unchecked
from linkwork._util.lazy_imports import wait_for_imports
from linkwork._util.thread_safety import InterruptSafeLock
from linkwork._util.thread_tasks import available_processors
from linkwork._util.validation import integer

__all__ = [
    "LLVM_LOCK",
    "MAX_THREADS",
    "VARIABLE",
    "acquire_at_fork",
    "get_num_threads",
    "run_without_lock",
    "set_num_threads",
    "setting_address",
    "worker_of",
]


VARIABLE = "LINKWORK_NUM_THREADS"
MAX_THREADS = 256  # that share a call: their handles are on its stack


def worker_of() -> str | None:
    """Return the library that started this process as a worker, such as "multiprocessing"; None for other processes."""
    return next((name for name, test in _TESTS.items() if test()), None)


def _module(name: str) -> Any:
    return sys.modules.get(name)


def _is_of_ray() -> bool:
    worker = getattr(_module("ray._private.worker"), "global_worker", None)
    return getattr(worker, "mode", None) == 1  # ray's WORKER_MODE


def _is_of_dask() -> bool:
    return bool(getattr(_module("distributed.worker"), "_global_workers", None))


def _is_of_loky() -> bool:
    process = getattr(_module("multiprocessing.process"), "current_process", lambda: None)()
    return ".loky." in f".{type(process).__module__}."


def _is_of_multiprocessing() -> bool:
    """Return True for a process of multiprocessing and concurrent.futures, also while its arguments are unpickled."""
    process = _module("multiprocessing.process")
    parent, current = (getattr(process, name, lambda: None)() for name in ("parent_process", "current_process"))
    return parent is not None or bool(getattr(current, "_inheriting", False))


_TESTS: dict[str, Callable[[], bool]] = {
    "Ray": _is_of_ray,
    "Dask": _is_of_dask,
    "loky": _is_of_loky,
    "multiprocessing": _is_of_multiprocessing,
}


def when_forked_by_multiprocessing(function: Callable[[], None]) -> None:
    """Call a function in each process that multiprocessing forks from this one."""

    def after_fork() -> None:
        util = _module("multiprocessing.util")
        if util is not None:  # it calls the function once it has made the process one of its own
            util.register_after_fork(function, lambda function: function())

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=after_fork)


def _from_environment() -> int | None:
    """Return the number of threads that the environment sets; None if it sets none."""
    setting = os.environ.get(VARIABLE, "")
    if setting:
        try:
            count = int(setting)
        except ValueError:
            count = 0
        if 1 <= count <= MAX_THREADS:
            return count
        warnings.warn(
            f"{VARIABLE}: expected an integer from 1 to {MAX_THREADS}, got {setting!r}; using the default",
            RuntimeWarning,
            stacklevel=2,
        )
    return None


def _default() -> int:
    """Return the default number of threads: one in a worker process, since other workers use the other processors."""
    library = worker_of()
    if library is None:
        return min(available_processors(), MAX_THREADS)
    import logging

    logging.getLogger("linkwork").info(
        "this process is a worker of %s: batches use one thread; set_num_threads(n) or %s=n sets another number",
        library,
        VARIABLE,
    )
    return 1


_chosen = _from_environment()
_setting = ctypes.c_int64(_default() if _chosen is None else _chosen)


def _renew_in_worker() -> None:
    """Set, in a process that multiprocessing forked, a worker's default, unless the user has set a number."""
    if _chosen is None:
        _setting.value = _default()


when_forked_by_multiprocessing(_renew_in_worker)


@public(count=unchecked)
def set_num_threads(count: int) -> None:
    """Set the number of threads that share a large batch, for all kernels of this process.

    The default is the environment variable LINKWORK_NUM_THREADS, or else the number of processors that this process may
    run on; in worker processes (multiprocessing, joblib's loky, Dask, Ray) it is 1. A batch that is too small for
    another thread is computed on one thread. Results do not depend on the number of threads, to the last bit.

    Raises TypeError if ``count`` is not an integer, ValueError if it is not from 1 to 256.
    """
    global _chosen
    value = integer("set_num_threads", "count", count, least=1, most=MAX_THREADS, description="a number of threads")
    _setting.value = _chosen = value


def get_num_threads() -> int:
    """Return the number of threads that share a large batch: see `set_num_threads`."""
    return _setting.value


def setting_address() -> int:
    """Return the address of the number of threads, an int64 that lives as long as the process."""
    return ctypes.addressof(_setting)


T = TypeVar("T")
_IMPORT_WAIT = 1.0  # [s] for modules whose import began after the first wait, and may need one of the locks
_POLL = 1e-3  # [s] between two checks for other threads in LLVM
_LONGEST_EXIT = 60.0  # [s] that the exit of this process waits for LLVM after an interrupt
LLVM_LOCK = InterruptSafeLock()  # LLVM's global context allows one thread at a time
_entering = InterruptSafeLock()  # acquired while a fork waits: no thread enters LLVM then
_inside: dict[object, int] = {}  # thread of each running call of LLVM without its lock


def run_without_lock(function: Callable[[], T]) -> T:
    """Return ``function()``, called without LLVM's lock; it must use LLVM only in a context of this thread."""
    call = object()
    try:
        with _entering:
            _inside[call] = threading.get_ident()
        return function()
    finally:
        _inside.pop(call, None)


def _wait_for_others() -> None:
    """Wait until no other thread is in LLVM or imports modules; the caller holds `_entering`, so no thread enters."""
    thread = threading.get_ident()
    while any(owner != thread for owner in list(_inside.values())):
        time.sleep(_POLL)
    wait_for_imports(_IMPORT_WAIT)


def _finish() -> None:
    """Wait at the exit of the process until no thread is in LLVM, where it might crash the process."""
    end = time.monotonic() + _LONGEST_EXIT
    while _inside and time.monotonic() < end:
        time.sleep(_POLL)


def _leave_in_child() -> None:
    """Forget the calls of threads that a forked process does not have."""
    thread = threading.get_ident()
    for call, owner in list(_inside.items()):
        if owner != thread:
            del _inside[call]


def acquire_at_fork(*locks: Any) -> None:
    """Acquire reentrant locks before each fork, in this order, and before locks that were passed earlier."""
    if hasattr(os, "register_at_fork"):
        for lock in reversed(locks):  # functions registered last run first before a fork
            os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
        os.register_at_fork(before=wait_for_imports)  # before the locks are acquired, which an import may need


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_others, after_in_child=_leave_in_child)
acquire_at_fork(LLVM_LOCK, _entering)
atexit.register(_finish)
