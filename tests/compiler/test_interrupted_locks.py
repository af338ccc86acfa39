"""Signal handlers that raise: wherever one does, locks are free afterwards and the garbage collector runs.

A handler runs when a function begins and when a call of C code returns.  `sys.setprofile` calls back at the same
places, so each of them is tried in turn.
"""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import pytest

from linkwork._util.collection_pauses import _pauses, without_collections
from linkwork._util.console import _elsewhere, shown_elsewhere
from linkwork._util.fork_safe_lock import Lock
from linkwork.compiler.runtime import threads as llvm_lock
from linkwork.kernels.kernel_cache import LazyCache


def interrupted(function: Callable[[], Any], check: Callable[[], None]) -> int:
    """Call the function once for each place where a handler may raise, and check after each; return their number."""
    places = 0
    while True:
        left, raised = places, False

        def profile(frame: types.FrameType, event: str, value: Any) -> None:
            nonlocal left, raised
            if event in ("call", "c_return") and value is not sys.setprofile and is_ours(frame):
                if left == 0:
                    raised = True  # Python removes a profile function that raises
                    raise KeyboardInterrupt
                left -= 1

        with contextlib.suppress(KeyboardInterrupt):
            sys.setprofile(profile)
            function()
        sys.setprofile(None)
        check()  # the traceback, which refers to the frames, is gone
        if not raised:
            return places
        places += 1


def is_ours(frame: types.FrameType) -> bool:
    """Return True for frames of the package and of this file."""
    return frame.f_code.co_filename == __file__ or frame.f_globals.get("__name__", "").startswith("linkwork")


def is_free(lock: Any) -> bool:
    """Return True if another thread can acquire the lock."""
    acquired: list[bool] = []

    def acquire() -> None:
        acquired.append(lock.acquire(blocking=False))
        if acquired[0]:
            lock.release()

    thread = threading.Thread(target=acquire)
    thread.start()
    thread.join()
    return acquired[0]


def test_a_handler_that_raises_leaves_no_lock_held() -> None:
    lock = Lock()

    def use() -> None:
        with lock, lock:
            len(())

    def check() -> None:
        assert is_free(lock)

    assert interrupted(use, check) >= 2


def test_a_handler_that_raises_leaves_nothing_in_llvm_no_pause_and_no_notice() -> None:
    def use() -> None:
        with shown_elsewhere():
            without_collections(lambda: llvm_lock.run_without_lock(lambda: len(())))()

    def check() -> None:
        assert gc.isenabled() and not _pauses and not llvm_lock._inside and is_free(llvm_lock._entering)

    gc.collect()
    assert interrupted(use, check) >= 6
    gc.collect()
    assert not _elsewhere


def test_once_releases_the_key_of_what_could_not_be_made() -> None:
    once: LazyCache[int] = LazyCache()

    def fail() -> int:
        raise LookupError("cannot be made")

    for k in range(3):
        with pytest.raises(LookupError):
            once.get(("key", k), fail)
    assert not len(once) and not len(once._key_locks)
    assert once.get(("key", 0), lambda: 5) == 5 and not len(once._key_locks)

    def use() -> None:
        once.get(("another", len(once)), lambda: 7)

    def check() -> None:
        assert is_free(once._lock) and not len(once._key_locks)

    assert interrupted(use, check) >= 3


FORKS = """
import os, sys, threading
import linkwork as lw
from linkwork._util import collection_pauses as collector
from linkwork.compiler.runtime import threads as llvm_lock
from compiler.test_interrupted_locks import interrupted, is_free

sys.unraisablehook = lambda error: None  # Python prints what hooks of a fork raise

def fork():
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)

def check():
    assert all(is_free(lock) for lock in llvm_lock._locks)

fork_only = interrupted(fork, check)

# a fork while other threads pause the collector and are in LLVM
paused, go_on = threading.Event(), threading.Event()

def pause():
    paused.set()
    go_on.wait()

other = threading.Thread(target=collector.without_collections(pause), daemon=True)
other.start()
paused.wait()
import gc
assert not gc.isenabled()
child = os.fork()
if child == 0:
    os._exit(0 if gc.isenabled() and not collector._pauses else 1)
code = os.waitpid(child, 0)[1]
assert not gc.isenabled()
go_on.set()
other.join()
print(fork_only >= 1, code, gc.isenabled())
"""


@pytest.mark.slow(every=3)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forks_leave_locks_free_and_the_collector_running() -> None:
    folder = os.path.dirname(os.path.dirname(__file__))
    ran = subprocess.run([sys.executable, "-c", FORKS], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.stdout == "True 0 True\n", ran.stderr
