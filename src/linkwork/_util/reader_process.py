"""Reading of untrusted files in another process, with limits of memory, time and files and without network.

A process serves one request.  After the first request of a kind, the next process of this kind starts in advance: it
imports its modules and waits for a minute.  Plain data cross the boundary: JSON, and bytes of arrays.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from linkwork._util.file_budget import Budget
from linkwork._util.messages import printable

__all__ = ["Answer", "ReaderEnded", "ReaderError", "read_isolated"]

_IDLE_SECONDS = 60.0  # after which a waiting process ends by itself
_USABLE_SECONDS = 50.0  # after which a waiting process is not used any more
_START_SECONDS = 120.0  # for the imports of a process, on a busy machine
_MOST_JSON = 1 << 24  # [bytes] of the JSON data of an answer; arrays may have the rest of the memory
_MOST_TEXT = 400  # characters of the standard error that a message shows
_TYPES = ("<f8", "<f4", "<i8", "<u8", "<i4", "<u4", "|u1", "|b1")  # of arrays


class ReaderEnded(Exception):
    """The process ended without an answer: it crashed or exceeded its limits."""


class ReaderError(Exception):
    """An error that the reader raised: the name of its class, its arguments, and the issues of a ModelError."""

    def __init__(self, kind: str, arguments: Sequence[Any], issues: Sequence[Sequence[Any]]) -> None:
        super().__init__(*arguments)
        self.kind, self.issues = kind, issues

    def of(self, *kinds: type[Exception]) -> Exception:
        """Return the error as one of some classes, and as ValueError if it is of another one."""
        kind = next((kind for kind in kinds if kind.__name__ == self.kind), ValueError)
        return kind(*self.args)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a reader: JSON data and arrays by name, of checked types and sizes."""

    data: Any
    arrays: dict[str, np.ndarray]


@dataclass(slots=True)
class _Process:
    """A process that has imported, or imports, the modules of a kind of reader."""

    owner: int  # process that started it
    modules: tuple[str, ...]
    path: tuple[str, ...]
    popen: subprocess.Popen[bytes]
    output: IO[bytes]
    errors: IO[bytes]
    folder: str
    begin: float

    def close(self) -> None:
        """End the process and delete its files, unless it is the process of one from which this one was forked."""
        if self.owner != os.getpid():
            return
        self.popen.kill()
        with contextlib.suppress(OSError):
            assert self.popen.stdin is not None
            self.popen.stdin.close()
        self.popen.wait()
        self.output.close()
        self.errors.close()
        shutil.rmtree(self.folder, ignore_errors=True)


_LOCK = threading.Lock()
_waiting: _Process | None = None  # started in advance


def read_isolated(
    modules: Sequence[str],
    task: str,
    request: Mapping[str, Any],
    *,
    budget: Budget,
    data: bytes = b"",
    folders: Sequence[str] = (),
) -> Answer:
    """Return the answer of a function to a request, from a process that can open files in ``folders`` only.

    ``task`` is "module:function"; the function takes the request and ``data``, and returns JSON data and arrays by
    name.  The process imports ``modules`` before it is restricted.  Raises ReaderEnded, and ReaderError for an error of
    the function.
    """
    process = _taken(tuple(modules))
    try:
        head = {
            "task": task,
            "request": dict(request),
            "bytes": len(data),
            "folders": [*folders],
            "memory": budget.max_memory,
            "seconds": math.ceil(budget.max_seconds),
        }
        assert process.popen.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the process has ended, as its output says
            process.popen.stdin.write(json.dumps(head).encode() + b"\n" + data)
            process.popen.stdin.close()
        _await(process, budget)
        return _answer(process, budget)
    finally:
        process.close()
        _prepare(tuple(modules))


def _await(process: _Process, budget: Budget) -> None:
    """Wait for the end of a process.  Raises ReaderEnded if it takes longer than the budget after its imports."""
    started, end = Path(process.folder, "restricted"), time.monotonic() + _START_SECONDS
    pause = 0.001
    while not started.exists() and process.popen.poll() is None and time.monotonic() < end:
        time.sleep(pause)
        pause = min(0.02, 1.5 * pause)
    try:
        process.popen.wait(budget.max_seconds)
    except subprocess.TimeoutExpired:
        message = f"it did not end within {budget.max_seconds:g} s"
        raise ReaderEnded(f"{message}; {budget.remedy('max_seconds', 'for a longer time')}") from None


def _answer(process: _Process, budget: Budget) -> Answer:
    process.output.seek(0)
    line = process.output.readline(_MOST_JSON)
    if process.popen.returncode != 0 or not line.endswith(b"\n"):
        raise ReaderEnded(_reason(process, budget))
    try:
        head = json.loads(line)
        if "error" in head:
            raise ReaderError(str(head["error"]), head["arguments"], head["issues"])
        arrays = {}
        for name, kind, shape in head["arrays"]:
            count = math.prod(map(int, shape))
            if kind not in _TYPES or min(shape, default=0) < 0:
                raise ValueError(f"an array of type {kind!r}")
            content = process.output.read(count * np.dtype(kind).itemsize)
            arrays[str(name)] = np.frombuffer(content, kind, count).reshape(shape)
        return Answer(head["data"], arrays)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ReaderEnded(f"it wrote another answer: {printable(str(error))[:_MOST_TEXT]}") from None


def _reason(process: _Process, budget: Budget) -> str:
    """Return the reason for the end of a process, in words."""
    process.errors.seek(0, os.SEEK_END)
    process.errors.seek(max(0, process.errors.tell() - 4 * _MOST_TEXT))
    lines = process.errors.read().decode("utf-8", "replace").splitlines()
    text = " ".join(line.strip() for line in lines if not line.startswith("#"))  # USD's notes about its settings
    text = printable(" ".join(text.split()))[-_MOST_TEXT:]
    code = process.popen.returncode
    if code in (-9, -24):  # SIGKILL, SIGXCPU
        seconds = f"more than {budget.max_seconds:g} s of processor time, or more memory than the system has"
        return f"it was stopped: {seconds}; {budget.remedy('max_seconds', 'for a longer time')}"
    if "MemoryError" in text or "bad_alloc" in text or "emory" in text:
        return f"it needs more than {budget.max_memory} bytes of memory; {budget.remedy('max_memory', 'for more')}"
    return f"it crashed, with code {code}" + (f": {text}" if text else "")


# -- processes in advance


def _taken(modules: tuple[str, ...]) -> _Process:
    """Return the waiting process if it is of this kind, else a new one."""
    found = _exchanged(None)
    if found is not None:
        usable = found.owner == os.getpid() and found.modules == modules and found.path == tuple(sys.path)
        if usable and found.popen.poll() is None and time.monotonic() - found.begin < _USABLE_SECONDS:
            return found
        found.close()
    return _started(modules)


def _exchanged(process: _Process | None) -> _Process | None:
    """Return the process that waits, which another one replaces."""
    global _waiting
    with _LOCK:
        found, _waiting = _waiting, process
    return found


def _prepare(modules: tuple[str, ...]) -> None:
    """Start the next process of a kind, which waits for a request."""
    with contextlib.suppress(OSError):
        old = _exchanged(_started(modules))
        if old is not None:
            old.close()


def _started(modules: tuple[str, ...]) -> _Process:
    folder = tempfile.mkdtemp(prefix="linkwork-")
    output, errors = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - `close` closes them
    environment = {**os.environ, **dict.fromkeys(_ONE_THREAD, "1")}
    command = [sys.executable, "-P", "-W", "ignore", str(Path(__file__).with_name("reader_child.py"))]
    popen = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=errors, env=environment)
    path = [os.path.abspath(entry) for entry in sys.path]
    first = {"path": path, "modules": modules, "folder": folder, "idle": _IDLE_SECONDS}
    assert popen.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        popen.stdin.write(json.dumps(first).encode() + b"\n")
        popen.stdin.flush()
    return _Process(os.getpid(), modules, tuple(sys.path), popen, output, errors, folder, time.monotonic())


_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "PXR_WORK_THREAD_LIMIT")
"""Threads that libraries start would not be restricted, and each takes address space."""


@atexit.register
def _end_waiting() -> None:
    process = _exchanged(None)
    if process is not None:
        process.close()
