"""Interrupts at chosen bytecodes of a function, at which signals of the system may arrive.

A tracer flags a signal before a chosen bytecode and takes itself away.  Python runs the handler where it would run it
for a signal that arrived then: at the next check for signals, never between the two bytecodes of a `with` statement
that acquires a lock.  An exception that a tracer raises itself would come at places where none can come.

``python -m compiler.interruptions [every]``, in the folder of the tests, tries every such place of all `SCENARIOS`.
"""

from __future__ import annotations

import _thread
import gc
import os
import signal
import sys
import tempfile
import threading
import types
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import linkwork as lw
from linkwork._util import thread_tasks
from linkwork._util.collection_pauses import _pauses, without_collections
from linkwork._util.console import _elsewhere, shown_elsewhere
from linkwork._util.thread_safety import Lock
from linkwork._util.thread_tasks import on_own_thread, run
from linkwork.compiler.cache.disk_cache import Cache, Entry
from linkwork.compiler.cache.key_lock import KeyLock
from linkwork.compiler.codegen import jit, llvm_binding
from linkwork.compiler.codegen.background_emit import Job, _Background
from linkwork.compiler.codegen.target import host
from linkwork.compiler.kernel import call_state, source_and_code
from linkwork.compiler.runtime import buffer_pool, threads
from linkwork.kernels.kernel_cache import LazyCache

__all__ = ["SCENARIOS", "Scenario", "interrupted", "tried"]

_LONGEST = 20.0  # [s] that a check waits
_ROOMS = ("linkwork/_util", "linkwork/compiler", "linkwork/kernels/kernel_cache", "llvmlite/")
_LIBRARY = ("threading", "contextlib", "weakref", "queue", "_weakrefset")


class _Trip:
    """An object whose negation flags SIGINT: no bytecode that checks for signals does so."""

    __neg__ = staticmethod(_thread.interrupt_main)


_trip: Any = _Trip()


@cache
def is_ours(code: types.CodeType) -> bool:
    """Return True for code of the rooms that have locks, and of Python's modules that they call."""
    path = code.co_filename.replace(os.sep, "/")
    return any(room in path for room in _ROOMS) or path.rpartition("/")[2].removesuffix(".py") in _LIBRARY


class _Countdown:
    """The flag of a signal before the bytecode of a number, counted from 0; ``left`` is below 0 afterwards."""

    def __init__(self, position: int) -> None:
        self.left = position

    def trace(self, frame: types.FrameType, event: str, value: Any) -> Any:
        if event == "call":
            if not is_ours(frame.f_code):
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif event == "opcode":
            self.left -= 1
            if self.left < 0:
                sys.settrace(None)
                _ = -_trip
                return None
        return self.trace

    def instruction(self, code: types.CodeType, offset: int) -> Any:
        if not is_ours(code):
            return sys.monitoring.DISABLE
        if threading.get_ident() == threading.main_thread().ident and self.left >= 0:
            self.left -= 1
            if self.left < 0:
                sys.monitoring.set_events(_TOOL, 0)
                _ = -_trip
        return None

    @contextmanager
    def watching(self) -> Iterator[None]:
        if sys.version_info < (3, 12):
            sys.settrace(self.trace)
            try:
                yield
            finally:
                sys.settrace(None)
            return
        sys.monitoring.use_tool_id(_TOOL, "interruptions")
        try:
            sys.monitoring.register_callback(_TOOL, sys.monitoring.events.INSTRUCTION, self.instruction)
            sys.monitoring.restart_events()
            sys.monitoring.set_events(_TOOL, sys.monitoring.events.INSTRUCTION)
            yield
        finally:
            sys.monitoring.set_events(_TOOL, 0)
            sys.monitoring.free_tool_id(_TOOL)


_TOOL = 4


def interrupted(function: Callable[[], Any], position: int) -> str | None:
    """Call a function with an interrupt before a bytecode; return the fault, or "".

    The result is None if the function ends before that.
    """
    countdown, lost, error = _Countdown(position), [], None
    before, sys.unraisablehook = sys.unraisablehook, lambda at: lost.append(at.exc_type)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        try:
            with countdown.watching():
                function()
            len(())  # a signal that was flagged at the end is handled here
        except BaseException as raised:
            error = type(raised)
        gc.collect(0)
    finally:
        signal.signal(signal.SIGINT, handler)
        sys.unraisablehook = before
    if countdown.left >= 0:
        return None if error is None and not lost else f"{error} without an interrupt"
    if error is not KeyboardInterrupt or lost:
        return "a file closed twice" if error is not None and issubclass(error, OSError) else "lost"
    return ""


def is_free(lock: Any) -> bool:
    """Return True if another thread can acquire the lock."""
    acquired: list[bool] = []
    done = threading.Event()

    def acquire() -> None:
        acquired.append(lock.acquire(timeout=_LONGEST))
        if acquired[0]:
            lock.release()
        done.set()

    _thread.start_new_thread(acquire, ())
    return done.wait(2 * _LONGEST) and acquired[0]


def open_files() -> int:
    """Return the number of open files; 0 where it is unknown."""
    return len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0


class Scenario:
    """A function that is interrupted, and a check of what it leaves, which returns what went wrong, or ""."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self) -> None:
        raise NotImplementedError

    def check(self) -> str:
        raise NotImplementedError


class Locks(Scenario):
    """Locks that are made, acquired, and deleted; pauses of the collector, and of notices."""

    lock = Lock()

    def run(self) -> None:
        Lock()
        with self.lock, self.lock:
            len(())
        with shown_elsewhere():
            without_collections(lambda: threads.run_without_lock(lambda: len(())))()

    def check(self) -> str:
        gc.collect(0)
        free = is_free(self.lock) and is_free(threads._entering) and not threads._inside
        return "" if free and gc.isenabled() and not _pauses and not _elsewhere else "a lock is held"


class Keys(Scenario):
    """The lock of a key whose object is made."""

    def run(self) -> None:
        self.once: LazyCache[int] = LazyCache()
        for k in range(2):
            self.once.get(("key", k % 2), lambda: 5)

    def check(self) -> str:
        free = is_free(self.once._lock) and all(is_free(key.lock) for key in self.once._key_locks.values())
        return "" if free else "a lock is held"


class Entries(Scenario):
    """Entries of the cache that are stored and read, and their locks."""

    def run(self) -> None:
        cache = Cache(self.folder, 1 << 20)
        lock = cache.lock("name")
        lock.run(lambda: cache.store("name", Entry({}, b"code")))
        assert cache.load("name") is not None
        cache.remove("name")

    def check(self) -> str:
        free_flags: list[bool] = []
        done = threading.Event()

        def attempt() -> None:
            with KeyLock(self.folder, "name") as lock:
                free_flags.append(lock.attempt())
                lock.release()
            done.set()

        before = open_files()
        _thread.start_new_thread(attempt, ())
        if not done.wait(_LONGEST) or free_flags != [True]:
            return "a lock is held"
        expected, self.files = getattr(self, "files", before), before
        return "" if before == expected else "files left open"


class OwnThread(Scenario):
    """Calls on linkwork's own thread, objects deleted there, and threads for tasks."""

    def run(self) -> None:
        assert on_own_thread(lambda: 5) == 5
        assert run([lambda: 1, lambda: 2]) == [1, 2]
        thread_tasks.deleted_on_own_thread([1])

    def check(self) -> str:
        free = is_free(thread_tasks._starting)
        return "" if free and on_own_thread(lambda: 6) == 6 and run([lambda: 3]) == [3] else "a thread hangs"


class Background(Scenario):
    """Jobs of the background, and the wait for them."""

    def run(self) -> None:
        self.background = _Background()
        for _ in range(2):
            self.background.submit(Job(lambda: ([], 0), True, host(), lambda objects: None, claim=lambda: "done"))
        assert self.background.wait(_LONGEST)

    def check(self) -> str:
        if not is_free(self.background.lock) or not self.background.wait(_LONGEST) or self.background.hurried:
            return "a job never ends"
        self.background.stop()
        return ""


class Buffers(Scenario):
    """Large results that are deleted."""

    def run(self) -> None:
        for size in (30_000, 40_000, 30_000):
            buffer_pool.empty((size,))

    def check(self) -> str:
        return "" if is_free(buffer_pool._pool._lock) and buffer_pool._pool.most_unused < 1 << 28 else "a lock is held"


class Machine(Scenario):
    """Machine code that is loaded, and deleted."""

    text = 'target triple = "{}"\ndefine i32 @f() {{\n ret i32 5\n}}\n'

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.objects = jit.emit([self.text.format(host().triple)], host())

    def run(self) -> None:
        for load in (jit.link, jit._load_by_llvm):
            load(self.objects, host(), [("f", "")])

    def check(self) -> str:
        self.run()
        locks = threads.LLVM_LOCK, threads._entering, llvm_binding.LLVMLITE_LOCK, jit._ATTENDING
        return "" if all(map(is_free, locks)) else "a lock is held"


class Kernels(Scenario):
    """Kernels that are made, called and deleted, with the cache."""

    def run(self) -> None:
        self.kernel = lw.compile(lambda x: 2.0 * x, name="twice", x=3)
        self.kernel([1.0, 2.0, 3.0])

    def check(self) -> str:
        source, code = source_and_code(self.kernel) if hasattr(self, "kernel") else (None, None)
        locks = [
            threads.LLVM_LOCK,
            threads._entering,
            llvm_binding.LLVMLITE_LOCK,
            thread_tasks._starting,
            jit._ATTENDING,
        ]
        locks += [x._lock for x in (source, code) if x is not None]
        if not all(map(is_free, locks)):
            return "a lock is held"
        self.run()
        return "" if not call_state(self.kernel).failed_calls else "a call failed"


SCENARIOS: dict[str, type[Scenario]] = {
    kind.__name__.lower(): kind for kind in (Locks, Keys, Entries, OwnThread, Background, Buffers, Machine, Kernels)
}


def tried(name: str, every: int = 1, first: int = 0, most: int | None = None) -> tuple[int, Counter[str]]:
    """Interrupt a scenario at every ``every``-th bytecode from ``first`` on; return how many, and the faults."""
    wrong: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        scenario = SCENARIOS[name](Path(folder))
        scenario.run()
        scenario.check()
        position, count = first, 0
        while most is None or count < most:
            fault = interrupted(scenario.run, position)
            if fault is None:
                break
            fault = fault or scenario.check()
            if fault:
                wrong[fault] += 1
                print(f"{name}: place {position}: {fault}", file=sys.stderr)
            position, count = position + every, count + 1
    return count, wrong


if __name__ == "__main__":
    total = 0
    for scenario in sys.argv[2:] or SCENARIOS:
        count, wrong = tried(scenario, int(sys.argv[1]) if sys.argv[1:] else 1)
        total += count
        print(f"{scenario}: {count} places, {dict(wrong) or 'nothing wrong'}", flush=True)
    print(f"{total} places")
