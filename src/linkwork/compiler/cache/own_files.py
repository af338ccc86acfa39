"""The state of linkwork's own files, which is part of the name of cached code.

Code of another version, or of a changed source file, has another name and is not loaded.  A name has the paths, sizes
and modification times of the files, with times in whole seconds, as images of containers keep them.  A second change
within one second may leave size and time unchanged.  So a process that read the files in the same second as the last
change, or shortly after, uses names that no other process uses.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from linkwork._util.lazy_imports import START

__all__ = ["state_of_process", "wait_for_shared_state"]

_States = list[tuple[str, os.stat_result]]  # paths of files, and what the system knows of them

_SECOND = 10**9  # [ns]
_CLOCK_ERROR = _SECOND // 10  # [ns] by which times of files may lag behind the clock
_STATE_LIFETIME = 5.0  # [s]


def state_of_process() -> str:
    """Return a digest of the files that this process runs, or a unique one if the files are uncertain.

    The files are uncertain after a change, since each module is imported at its first use, before or after the change.
    """
    files, read_at = _recent_state()
    if files != _FILES_WHEN_IMPORTED or _CHANGED_BEFORE or read_at < _SETTLED:
        return _digest(f"{files} {_THIS_PROCESS}")
    return _SHARED_DIGEST


def wait_for_shared_state() -> None:
    """Wait until other processes use the same names as this process: at most a second after a change of the files."""
    remaining = _SETTLED - time.time_ns()
    if 0 < remaining <= _SECOND + _CLOCK_ERROR:
        time.sleep(remaining / _SECOND)


def _recent_state() -> tuple[str, int]:
    """Return the state of linkwork's files (see `_own_files`) and the time [ns] at which it was read.

    The files are read at most once in five seconds, since that takes some 5 ms, longer than to load code from the
    cache.  If a file changes in between, new code is stored under the name for the old files.  No later process looks
    for this name.
    """
    global _last_state
    reader, then, read_at, result = _last_state
    now, clock = time.monotonic(), time.time_ns()
    if reader is not _own_files or not 0.0 <= now - then < _STATE_LIFETIME or read_at < _SETTLED <= clock:
        read_at, result = clock, _own_files()
        _last_state = _own_files, now, read_at, result
    return result, read_at


def _own_files() -> str:
    """Return a text of the paths, sizes and modification times [ns] of linkwork's files."""
    return _text_of(_states_of_own_files())


def _text_of(states: _States, unit: int = 1) -> str:
    """Return a text of the paths, sizes and modification times of files; times are in multiples of ``unit`` [ns]."""
    return repr(sorted((path, state.st_size, state.st_mtime_ns // unit) for path, state in states))


def _states_of_own_files() -> _States:
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    states = []
    folders = [package]
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as result:
            for file in result:
                try:
                    if file.is_dir():
                        if file.name != "__pycache__":
                            folders.append(file.path)
                    elif file.name.endswith((".py", ".pyc", ".so", ".pyd")):
                        states.append((file.path, file.stat()))
                except OSError:  # an editor's lock is a link to nowhere
                    continue
    if not states:  # linkwork is inside an archive, or a program
        for path in (package, *map(str, Path(package).parents), sys.executable):
            with contextlib.suppress(OSError):
                if os.path.isfile(path):
                    states.append((path, os.stat(path)))
    return states


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _changed_after(states: _States, start: int) -> bool:
    """Return True if one of the files was changed after the time ``start`` [ns since 1970]."""
    return any(max(state.st_mtime_ns, state.st_ctime_ns) > start for _, state in states)


def _settled(states: _States) -> int:
    """Return the time [ns] from which a change of any file is visible in its modification time in whole seconds."""
    last = max((state.st_mtime_ns for _, state in states), default=0)
    return (last // _SECOND + 1) * _SECOND + _CLOCK_ERROR


_THIS_PROCESS = os.urandom(16).hex()
_READ_AT = time.time_ns()
_WHEN_IMPORTED = _states_of_own_files()
_CHANGED_BEFORE = _changed_after(_WHEN_IMPORTED, START)  # modules that were imported earlier may have had other files
_SETTLED = _settled(_WHEN_IMPORTED)
_FILES_WHEN_IMPORTED = _text_of(_WHEN_IMPORTED)
_SHARED_DIGEST = _digest(_text_of(_WHEN_IMPORTED, _SECOND))
_last_state: tuple[Callable[[], str], float, int, str] = (
    _own_files,
    time.monotonic(),
    _READ_AT,
    _FILES_WHEN_IMPORTED,
)
