"""Reading of untrusted files in another process, with limits of memory, time and files and without network.

A program imports the modules of a kind of reader (`reader_child`).  On Linux it forks a process for each request, and
waits for the next one for a minute; after a crash a new program starts.  Elsewhere it serves one request, and the next
program starts in advance.  Plain data cross the boundary: JSON, and bytes of arrays.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from linkwork._util.file_access import Budget
from linkwork._util.messages import printable

__all__ = ["Answer", "ReaderEnded", "ReaderError", "end_waiting", "read_isolated", "start_reader"]

_IDLE_SECONDS = 60.0  # after which a waiting process ends by itself
_USABLE_SECONDS = 50.0  # after which a waiting process is not used any more
_START_SECONDS = 120.0  # for the imports of a process, on a busy machine
_MOST_JSON = 1 << 24  # [bytes] of the JSON data of an answer; arrays may have the rest of the memory
_MOST_TEXT = 400  # characters of the standard error that a message shows
_TYPES = ("<f8", "<f4", "<i8", "<u8", "<i4", "<u4", "|u1", "|b1")  # of arrays


class ReaderEnded(Exception):
    """The process ended without an answer: it crashed or exceeded its limits."""


class ReaderError(Exception):
    """An error that the reader raised: its class's name, its arguments, and a ModelError's issues and warnings."""

    def __init__(
        self, kind: str, arguments: Sequence[Any], issues: Sequence[Sequence[Any]], warnings: Sequence[Sequence[Any]]
    ) -> None:
        super().__init__(*arguments)
        self.kind, self.issues, self.warnings = kind, issues, warnings

    def of(self, *kinds: type[Exception]) -> Exception:
        """Return the error as an instance of one of the listed classes, or else as ValueError."""
        kind = next((kind for kind in kinds if kind.__name__ == self.kind), ValueError)
        return kind(*self.args)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a reader: JSON data and arrays by name, of checked types and sizes."""

    data: Any
    arrays: dict[str, np.ndarray]


@dataclass(slots=True)
class _Process:
    """A program that has imported, or imports, the modules of a kind of reader."""

    owner: int  # process that started it
    modules: tuple[str, ...]
    path: tuple[str, ...]
    popen: subprocess.Popen[bytes]
    errors: IO[bytes]
    used: float  # time of the clock when it was last used

    def is_usable(self) -> bool:
        """Return True if the program can serve a request of this process.

        This process started it with the present search path of modules, it runs, and it has not been idle for long.
        """
        is_own = self.owner == os.getpid() and self.path == tuple(sys.path)
        return is_own and self.popen.poll() is None and time.monotonic() - self.used < _USABLE_SECONDS

    def send(self, message: Mapping[str, Any], data: bytes = b"") -> None:
        """Send a request to the program; a program that has ended is ignored here, since its output reports it."""
        assert self.popen.stdin is not None
        text = json.dumps(message).encode()
        with contextlib.suppress(BrokenPipeError):
            self.popen.stdin.write(len(text).to_bytes(8, "big") + text + data)
            self.popen.stdin.flush()

    def begin(self, request: Mapping[str, Any], data: bytes) -> bool:
        """Return True if the program begins to serve a request.  Raises ReaderEnded if that takes too long."""
        with self.deadline(_START_SECONDS, "begin"):
            self.send(request, data)
            return bool(self.line())

    def line(self) -> bytes:
        """Return a line of the program's output; it is empty if the program has closed its output."""
        assert self.popen.stdout is not None
        return self.popen.stdout.readline()

    @contextmanager
    def deadline(self, seconds: float, action: str) -> Iterator[None]:
        """Stop the program if a block takes longer than ``seconds`` [s].  Raises ReaderEnded then."""
        late = threading.Event()

        def stop() -> None:
            late.set()
            self.popen.kill()

        timer = threading.Timer(seconds, stop)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
        if late.is_set():
            raise ReaderEnded(f"it did not {action} within {seconds:g} s")

    def close(self) -> None:
        """End the program, unless another process, from which this process was forked, started it."""
        if self.owner != os.getpid():
            return
        self.popen.kill()
        for pipe in (self.popen.stdin, self.popen.stdout, self.errors):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()
        self.popen.wait()


_LOCK = threading.Lock()
_waiting: dict[tuple[str, ...], _Process] = {}  # by modules


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
    process = _exchanged(tuple(modules), None)
    has_waited = process is not None and process.is_usable()
    if process is None or not has_waited:
        process = _started(tuple(modules), process)
    code = 1
    with tempfile.TemporaryDirectory(prefix="linkwork-", ignore_cleanup_errors=True) as folder:
        head = {
            "task": task,
            "request": dict(request),
            "bytes": len(data),
            "folder": folder,
            "folders": [*folders],
            "directory": _directory(),
            "environment": _environment(),
            "memory": budget.max_memory,
            "seconds": math.ceil(budget.max_seconds),
        }
        try:
            with open(os.path.join(folder, "answer"), "x+b") as output:  # the process cannot exchange an opened file
                if has_waited and not _begins(process, head, data):
                    process, has_waited = _started(process.modules, process), False
                if not has_waited:
                    process.begin(head, data)
                code = _exit_code(process, budget)
                return _answer(process, output, code, budget)
        finally:
            _keep(process, code)


def start_reader(modules: Sequence[str]) -> None:
    """Start a reader process, unless one is idle; its imports run while this process continues."""
    process = _exchanged(tuple(modules), None)
    if process is None or not process.is_usable():
        process = _started(tuple(modules), process)
    _exchanged(process.modules, process)


def _begins(process: _Process, request: Mapping[str, Any], data: bytes) -> bool:
    """Return True if a waiting program begins the request; False if it had ended before the request."""
    with contextlib.suppress(ReaderEnded):
        return process.begin(request, data)
    return False


def _exit_code(process: _Process, budget: Budget) -> int:
    """Return the exit code of the process that serves a request.  Raises ReaderEnded if it takes too long."""
    try:
        with process.deadline(budget.max_seconds, "end"):
            line = process.line()
            return int(line) if line else process.popen.wait()
    except ReaderEnded as late:
        raise ReaderEnded(f"{late}; {budget.remedy('max_seconds', 'for a longer time')}") from None


def _answer(process: _Process, output: IO[bytes], code: int, budget: Budget) -> Answer:
    line = output.readline(_MOST_JSON)
    if code != 0 or not line.endswith(b"\n"):
        raise ReaderEnded(_reason(process, code, budget))
    try:
        head = json.loads(line)
        if "error" in head:
            raise ReaderError(str(head["error"]), head["arguments"], head["issues"], head["warnings"])
        arrays = {}
        for name, kind, shape in head["arrays"]:
            count = math.prod(map(int, shape))
            if kind not in _TYPES or min(shape, default=0) < 0:
                raise ValueError(f"an array of type {kind!r}")
            content = output.read(count * np.dtype(kind).itemsize)
            arrays[str(name)] = np.frombuffer(content, kind, count).reshape(shape)
        return Answer(head["data"], arrays)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ReaderEnded(f"its answer does not have the expected form: {printable(str(error))[:_MOST_TEXT]}") from None


def _reason(process: _Process, code: int, budget: Budget) -> str:
    """Return the reason why a reader process ended, in words for a message."""
    process.errors.seek(max(0, process.errors.seek(0, os.SEEK_END) - 4 * _MOST_TEXT))
    lines = process.errors.read().decode("utf-8", "replace").splitlines()
    text = " ".join(line.strip() for line in lines if not line.startswith("#"))  # USD's notes about its settings
    text = printable(" ".join(text.split()))[-_MOST_TEXT:]
    if code in (-9, -24):  # SIGKILL, SIGXCPU
        seconds = f"more than {budget.max_seconds:g} s of processor time, or more memory than the system has"
        return f"it was stopped: {seconds}; {budget.remedy('max_seconds', 'for a longer time')}"
    if "MemoryError" in text or "bad_alloc" in text or "emory" in text:
        return f"it needs more than {budget.max_memory} bytes of memory; {budget.remedy('max_memory', 'for more')}"
    return f"it crashed, with code {code}" + (f": {text}" if text else "")


# -- programs in advance


def _exchanged(modules: tuple[str, ...], process: _Process | None) -> _Process | None:
    """Remove and return the idle program for these modules, or None; ``process`` becomes the idle program."""
    with _LOCK:
        waiting = _waiting.pop(modules, None)
        if process is not None:
            _waiting[modules] = process
    if process is not None and waiting is not None:  # of another thread
        waiting.close()
    return waiting


def _keep(process: _Process, code: int) -> None:
    """Store a program as the idle one for its next request; if it has ended or crashed, start a new one.

    ``code`` is the exit code of the process that served the last request; 0 is success.
    """
    with contextlib.suppress(OSError):
        if code != 0 or process.popen.poll() is not None:
            process = _started(process.modules, process)
        process.errors.truncate(0)
        process.used = time.monotonic()
        _exchanged(process.modules, process)


def _started(modules: tuple[str, ...], old: _Process | None) -> _Process:
    """Close an old program, and return a new one for these modules, which waits for a request."""
    if old is not None:
        old.close()
    errors = tempfile.TemporaryFile("a+b")  # noqa: SIM115 - `close` closes it
    command = [sys.executable, "-P", "-W", "ignore", str(Path(__file__).with_name("reader_child.py"))]
    pipe = subprocess.PIPE
    popen = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=errors, env=_environment())
    path = tuple(os.path.abspath(entry) for entry in sys.path)
    process = _Process(os.getpid(), modules, tuple(sys.path), popen, errors, time.monotonic())
    process.send({"path": path, "modules": modules, "idle": _IDLE_SECONDS})
    return process


def _directory() -> str:
    """Return the working directory, or "" if it was deleted."""
    with contextlib.suppress(OSError):
        return os.getcwd()
    return ""


def _environment() -> dict[str, str]:
    """Return the current environment variables, changed for a program that uses no threads and opens no windows."""
    return {**os.environ, **dict.fromkeys(_ONE_THREAD, "1"), "MUJOCO_GL": "disable"}


_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "PXR_WORK_THREAD_LIMIT")
"""Threads that libraries start would not be restricted, and each takes address space."""


@atexit.register
def end_waiting() -> None:
    """End all programs that wait for a request."""
    for modules in [*_waiting]:
        process = _exchanged(modules, None)
        if process is not None:
            process.close()
