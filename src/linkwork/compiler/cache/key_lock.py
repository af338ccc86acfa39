"""Locks by name in the cache's directory: one process compiles an entry, and the others wait for it.

The lock is a record lock of the system on a file, which the system releases when the process ends, however it ends.
Where the file system has no locks (some network file systems), work goes on without.  A wait ends, with a warning, when
the other process has made no progress for a minute, and after five minutes in any case.  Then an entry may be compiled
twice, which costs time and is never wrong.  Progress means that processor time is used, which is known of processes on
Linux alone: elsewhere, and for threads of this process, a wait ends after a minute.

Record locks belong to a process, so a table has the locks of its threads; a forked process begins without locks.
"""

from __future__ import annotations

import contextlib
import errno
import os
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from linkwork._util.fork_safe_lock import Lock
from linkwork.compiler.cache.secure_directory import opened

__all__ = ["LOCK_SUFFIX", "LONGEST_WAIT", "KeyLock"]

LOCK_SUFFIX = ".linkwork-lock"
LONGEST_WAIT = 300.0  # [s] wait for a process that compiles: longer than nearly all kernels take
_STALLED = 60.0  # [s] without progress, after which a wait ends
_LOOK = 1.0  # [s] between two looks at the progress
_FIRST_POLL, _LAST_POLL = 2e-3, 5e-2  # [s] between two attempts
_BUSY = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)

_held: dict[str, tuple[int, int]] = {}  # path -> the file's number, and the thread that acquired the lock
_table = Lock()


class _BusyError(Exception):
    """Another process has the lock."""


class KeyLock:
    """The lock of a name in a directory; it is used in a ``with`` statement, or by `attempt` and `release`.

    ``waited`` is True after a wait for another thread or process, which may have done the work meanwhile.  ``warn`` is
    called with a message if the wait ends without the lock.
    """

    def __init__(self, folder: Path, name: str, warn: Callable[[str], object] = lambda message: None) -> None:
        self.waited, self._warn = False, warn
        self._folder, self._name = folder, f"{name}{LOCK_SUFFIX}"
        self._path = str(folder / self._name)
        self._process = os.getpid()
        self._acquired = False

    def __enter__(self) -> Self:
        begin = progress = look = time.monotonic()
        pause, owner = _FIRST_POLL, (0, 0)
        while not self.attempt():
            self.waited, now = True, time.monotonic()
            if self._is_ours():
                break
            if now >= look:
                before, owner, look = owner, self._owner(), now + _LOOK
                progress = now if owner != before else progress
            if now >= min(progress + _STALLED, begin + LONGEST_WAIT):
                who = f"process {owner[0]}" if owner[0] else "another thread or process"
                self._warn(
                    f"{who} has compiled the same code for more than {now - begin:.0f} s; it is compiled here too"
                )
                break
            time.sleep(pause)
            pause = min(2.0 * pause, _LAST_POLL)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()

    def attempt(self) -> bool:
        """Acquire the lock unless another thread or process has it; return True where locks do not work."""
        with _table:
            if self._path in _held:
                return False
            try:
                number = self._open()
            except _BusyError:
                return False
            except OSError:  # no locks here, or a folder that this process cannot write to
                return True
            _held[self._path] = number, threading.get_ident()
            self._acquired, self._process = True, os.getpid()
            return True

    def release(self) -> None:
        """Release the lock, if this object has acquired it."""
        with _table:
            if self._acquired and self._process == os.getpid():
                number, _ = _held.pop(self._path)
                with contextlib.suppress(OSError), opened(self._folder) as here:
                    here.remove(self._name)  # before the lock is released: see `_open`
                os.close(number)
            self._acquired = False

    def _is_ours(self) -> bool:
        """Return True if this thread has the lock already, by another object: it must not wait for itself."""
        with _table:
            return _held.get(self._path, (0, 0))[1] == threading.get_ident()

    def _owner(self) -> tuple[int, int]:
        """Return the process that has the lock, and the ticks of processor time that it has used; 0 if unknown."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            process = self._owner_process()
            return process, sum(map(_ticks, [process, *_children(process)]))
        return 0, 0

    def _owner_process(self) -> int:
        """Return the other process that has the lock; 0 if unknown.  Raises OSError."""
        with _table:
            if sys.platform != "linux" or self._path in _held:  # closing a file releases this process's own locks of it
                return 0
            with opened(self._folder) as here:
                number = here.open_lock(self._name, create=False)
            try:
                answer = fcntl.fcntl(number, fcntl.F_GETLK, _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
            finally:
                os.close(number)
            return int(_FLOCK.unpack(answer)[-1])

    def _open(self) -> int:
        """Return the number of the locked file.  Raises _BusyError if another process has the lock.

        The file is removed with the lock, so it may be another one than that which was opened.
        """
        while True:
            with opened(self._folder) as here:
                number = here.open_lock(self._name)
                try:
                    self._lock(number)
                    if here.is_same(self._name, number):
                        return number
                except BaseException:
                    os.close(number)
                    raise
            os.close(number)

    def _lock(self, number: int) -> None:
        try:
            _lock(number)
        except OSError as error:
            if error.errno in _BUSY:
                raise _BusyError from None
            raise


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
    """Return the processor time that a process on Linux has used, in ticks.  Raises OSError if there is none."""
    with open(f"/proc/{process}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    return int(fields[11]) + int(fields[12])


def _children(process: int) -> list[int]:
    """Return the processes that a process on Linux has started, one of which may compile for it."""
    result: list[int] = []
    for thread in os.listdir(f"/proc/{process}/task"):
        with contextlib.suppress(OSError), open(f"/proc/{process}/task/{thread}/children", encoding="ascii") as file:
            result += map(int, file.read().split())
    return result


def _forget() -> None:
    """Forget the locks of the process that forked, which this process does not have."""
    numbers = [number for number, _ in _held.values()]
    _held.clear()
    for number in numbers:
        with contextlib.suppress(OSError):
            os.close(number)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
