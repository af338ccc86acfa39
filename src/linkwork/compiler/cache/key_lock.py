"""Locks by name in the cache's directory: one process compiles an entry, and the others wait for it.

The lock is a record lock of the system on a file, which the system releases when the process ends, however it ends.  On
file systems without locks (some network file systems), work continues without the lock.  A wait ends, with a warning,
when the other process has made no progress for a minute, and after five minutes in any case.  Then an entry may be
compiled twice, which costs time but is never wrong.  Progress means use of processor time, which is known only for
processes on Linux.  On other systems, and for threads of this process, a wait ends after a minute.

Record locks belong to a process, so a table has the locks of its threads; a forked process begins without locks.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from linkwork._util.thread_safety import Lock
from linkwork.compiler.cache.secure_directory import OpenFiles, opened

__all__ = ["LOCK_SUFFIX", "LONGEST_WAIT", "KeyLock"]

LOCK_SUFFIX = ".linkwork-lock"
LONGEST_WAIT = 300.0  # [s] wait for a process that compiles: longer than nearly all kernels take
_STALLED = 60.0  # [s] without progress, after which a wait ends
_LOOK = 1.0  # [s] between two looks at the progress
_FIRST_POLL, _LAST_POLL = 2e-3, 5e-2  # [s] between two attempts
_BUSY = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)

_locked_files: dict[str, tuple[OpenFiles, int]] = {}  # path -> the file, locked while it is open, and the thread
_table = Lock()
T = TypeVar("T")
_NO_ACTION: Callable[[], object] = partial(deque, (), 0)


class _BusyError(Exception):
    """Another process has the lock."""


class KeyLock(io.IOBase):
    """Lock between threads and processes, by a file of this name in a directory: `run`, or `attempt` and `release`.

    Another thread or process may have done the work before this lock was acquired, even if there was no wait.  So a
    caller that has acquired the lock first checks whether the work is still needed.  ``warn`` is called with a message
    if the wait ends without the lock.

    A ``with`` statement does not acquire the lock; its end releases a lock that was acquired inside.  An exception of
    a signal handler cannot prevent that: the methods of ``with`` and ``close``, which closes the file, are in C.
    """

    def __init__(self, folder: Path, name: str, warn: Callable[[str], object] = lambda message: None) -> None:
        self._warn = warn
        self._folder, self._name = folder, f"{name}{LOCK_SUFFIX}"
        self._path = str(folder / self._name)
        self.close = _NO_ACTION  # type: ignore[method-assign,assignment]

    def run(self, work: Callable[[], T]) -> T:
        """Return ``work()``, called with the lock, or without the lock if the wait for it has ended."""
        with self:
            try:
                self.wait()
                return work()
            finally:
                self.release()

    def wait(self) -> None:
        """Acquire the lock, or end the wait with a warning."""
        begin = progress = look = time.monotonic()
        pause, owner = _FIRST_POLL, (0, 0)
        while not self.attempt():
            now = time.monotonic()
            if self._is_ours():
                break
            if now >= look:
                before, owner, look = owner, self._owner(), now + _LOOK
                progress = now if owner != before else progress
            if now >= min(progress + _STALLED, begin + LONGEST_WAIT):
                who = f"process {owner[0]}" if owner[0] else "another thread or process"
                self._warn(
                    f"{who} has compiled the same code for more than {now - begin:.0f} s; this process compiles it, too"
                )
                break
            time.sleep(pause)
            pause = min(2.0 * pause, _LAST_POLL)

    def attempt(self) -> bool:
        """Try to acquire the lock; return False if another thread or process has it, True if locks do not work."""
        with _table:
            if self._thread():
                return False
            try:
                self._open()
            except _BusyError:
                return False
            except OSError:  # no locks here, or a folder that this process cannot write to
                return True
            return True

    def release(self) -> None:
        """Release the lock, if this object has acquired it."""
        with _table:
            if self.is_acquired:
                if os.name == "nt":  # where no open file is removed, neither this one nor that of a waiting process
                    self.close()
                with contextlib.suppress(OSError), opened(self._folder) as directory:
                    directory.remove(self._name)  # elsewhere before the lock is released: see `_open`
                self.close()
                del _locked_files[self._path]
            self.close = _NO_ACTION  # type: ignore[method-assign,assignment]

    @property
    def is_acquired(self) -> bool:
        """True while this object has the lock."""
        file, _ = _locked_files.get(self._path, _NO_OWNER)
        return file.is_open and file.close is self.close

    def _thread(self) -> int:
        """Return the number of the thread of this process that has the lock; 0 if no thread has it."""
        file, thread = _locked_files.get(self._path, _NO_OWNER)
        return thread if file.is_open else 0

    def _is_ours(self) -> bool:
        """Return True if this thread has the lock through another `KeyLock`, so that a wait would never end."""
        with _table:
            return self._thread() == threading.get_ident()

    def _owner(self) -> tuple[int, int]:
        """Return the id of the process that has the lock, and its used processor time in ticks; (0, 0) if unknown."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            process = self._owner_process()
            return process, sum(map(_ticks, [process, *_children(process)]))
        return 0, 0

    def _owner_process(self) -> int:
        """Return the id of another process that has the lock; 0 if unknown.  Raises OSError."""
        with _table:
            if sys.platform != "linux" or self._thread():  # closing a file releases this process's own locks of it
                return 0
            with opened(self._folder) as directory, OpenFiles() as file:
                directory.open_lock(file, self._name, create=False)
                answer = fcntl.fcntl(file.number, fcntl.F_GETLK, _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
            return int(_FLOCK.unpack(answer)[-1])

    def _open(self) -> None:
        """Open and lock the file.  Raises _BusyError if another process has the lock.

        A release of the lock removes the file, so a new file may have replaced the opened file; then the new file is
        opened.
        """
        is_same = False
        while not is_same:
            with opened(self._folder) as directory:
                file = OpenFiles()
                try:
                    directory.open_lock(file, self._name)
                    self._lock(file.number)
                    is_same = directory.is_same(self._name, file.number)
                    if is_same:
                        self.close = file.close  # type: ignore[method-assign]
                        _locked_files[self._path] = file, threading.get_ident()
                except BaseException:
                    file.close()
                    raise
                if not is_same:
                    file.close()

    def _lock(self, number: int) -> None:
        try:
            _lock(number)
        except OSError as error:
            if error.errno in _BUSY:
                raise _BusyError from None
            raise


_NO_OWNER = OpenFiles(), 0

if os.name == "nt":
    import msvcrt

    def _lock(number: int) -> None:
        """Lock an open file for this process.  Raises OSError if another has locked it."""
        msvcrt.locking(number, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
else:
    import fcntl

    _FLOCK = struct.Struct("@hhqqi")  # struct flock of Linux: type, origin, start, length, process

    def _lock(number: int) -> None:
        """Lock an open file for this process.  Raises OSError if another has locked it."""
        fcntl.lockf(number, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _ticks(process: int) -> int:
    """Return the processor time that a process on Linux has used, in ticks.  Raises OSError without such a process."""
    with open(f"/proc/{process}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    return int(fields[11]) + int(fields[12])


def _children(process: int) -> list[int]:
    """Return the ids of the child processes of a process on Linux; a child process may compile for its parent."""
    result: list[int] = []
    for thread in os.listdir(f"/proc/{process}/task"):
        with contextlib.suppress(OSError), open(f"/proc/{process}/task/{thread}/children", encoding="ascii") as file:
            result += map(int, file.read().split())
    return result


def _forget() -> None:
    """Clear the table of locks in a forked process, since the locks belong to its parent process."""
    for file, _ in _locked_files.values():
        with contextlib.suppress(OSError):
            file.close()
    _locked_files.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
