"""The reader process for untrusted files: its limits, errors, and data that cross the boundary."""

from __future__ import annotations

import errno
import json
import os
import platform
import signal
import subprocess
import sys
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from linkwork._util import reader_process
from linkwork._util.file_access import Budget
from linkwork._util.reader_process import Answer, ReaderEnded, ReaderError, read_isolated

TASKS = """
import ctypes, os, platform, socket, subprocess, sys, tempfile, threading
import numpy as np

def echo(request, data):
    return {"request": request, "size": len(data)}, {"a": np.frombuffer(data, np.uint8), "b": np.ones((2, 3))}

def attempt(request, data):
    found = {}
    def note(name, function):
        try:
            function()
            found[name] = "done"
        except OSError as error:
            found[name] = type(error).__name__
    note("inside", lambda: open(request["inside"], "rb").read())
    note("outside", lambda: open(request["outside"], "rb").read())
    note("outside, by C", lambda: by_c(request["outside"]))
    note("write", lambda: open(request["inside"] + ".new", "w"))
    note("list", lambda: os.listdir(os.path.dirname(request["outside"])))
    note("socket", lambda: socket.socket())
    note("program", lambda: subprocess.run([sys.executable, "-c", ""]))
    note("fork", lambda: os._exit(0) if os.fork() == 0 else None)
    note("signal", lambda: os.kill(os.getppid(), 0))
    note("process", lambda: os.pidfd_open(os.getppid()))
    note("pipe", lambda: os.mkfifo(os.path.join(tempfile.gettempdir(), "pipe")))
    note("mode", lambda: os.chmod(request["inside"], 0o777))
    note("time", lambda: os.utime(request["inside"]))
    note("attribute", lambda: os.setxattr(request["inside"], "user.a", b"x"))
    thread = threading.Thread(target=lambda: note("thread", lambda: None))
    thread.start()
    thread.join()
    return found, {}

def by_c(path):
    file = ctypes.CDLL(None, use_errno=True).open(path.encode(), os.O_RDONLY)
    if file < 0:
        raise OSError(ctypes.get_errno(), "open")

def calls(request, data):
    call = ctypes.CDLL(None, use_errno=True).syscall
    number, found = ["x86_64", "aarch64"].index(platform.machine()), {}
    for name, (numbers, arguments) in request.items():
        ctypes.set_errno(0)
        arguments = [x.encode() if isinstance(x, str) else ctypes.c_long(x) for x in arguments]
        found[name] = 0 if call(numbers[number], *arguments) >= 0 else ctypes.get_errno()
    return found, {}

def surroundings(request, data):
    return [os.getcwd(), os.environ.get("ROS_PACKAGE_PATH"), os.environ.get("OMP_NUM_THREADS")], {}

seen = []

def remember(request, data):
    seen.append(1)
    return [len(seen), os.getpid(), os.getppid()], {}

def crash(request, data):
    os.abort()

def endless(request, data):
    while True:
        pass

def asleep(request, data):
    threading.Event().wait()

def swollen(request, data):
    return np.ones(1 << 28).shape, {}

def wrong(request, data):
    raise ValueError("a wrong file")

def missing(request, data):
    open(request["inside"] + ".missing")

def objects(request, data):
    return None, {"a": np.array([1 + 2j])}

def long(request, data):
    while True:
        os.write(1, b"x" * (1 << 20))
"""
BUDGET = Budget(max_seconds=20.0, max_memory=100 << 20)


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "reader_tasks.py").write_text(TASKS, encoding="utf-8")
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside/file").write_text("x")
    (tmp_path / "outside").write_text("secret")
    monkeypatch.syspath_prepend(str(tmp_path))
    request = {"inside": str(tmp_path / "inside/file"), "outside": str(tmp_path / "outside")}

    def make_request(
        task: str, budget: Budget = BUDGET, data: bytes = b"", request: dict[str, Any] = request
    ) -> Answer:
        folders = [str(tmp_path / "inside")]
        return read_isolated(("numpy",), f"reader_tasks:{task}", request, budget=budget, data=data, folders=folders)

    return make_request


def test_reader_process_receives_and_returns_data_and_arrays_unchanged(call: Any) -> None:
    answer = call("echo", data=b"abc" * 1000)
    assert answer.data["size"] == 3000 and answer.data["request"]["inside"].endswith("file")
    assert answer.arrays["a"].tobytes() == b"abc" * 1000 and answer.arrays["b"].tolist() == np.ones((2, 3)).tolist()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems restrict the code of Python alone")
def test_reader_process_can_open_only_the_files_passed_to_it(call: Any) -> None:
    result = call("attempt").data
    allowed = {"inside", "thread"}
    assert {name for name, outcome in result.items() if outcome == "done"} == allowed, result
    assert len(result) == 15


_NAME = {  # numbers of system calls on x86-64 and AArch64
    "setpriority": (141, 140),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "ioprio_set": (251, 30),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "truncate": (76, 45),
    "openat2": (437, 437),
}


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"), reason="it has no filter of calls"
)
def test_reader_process_cannot_signal_other_processes_or_exceed_its_memory_limit(call: Any, tmp_path: Path) -> None:
    file = str(tmp_path / "inside/file")
    prlimit, fcntl, openat, mmap = (302, 261), (72, 25), (257, 56), (9, 222)
    refused = {name: (values, [0] * 6) for name, values in _NAME.items()}
    refused["prlimit64"] = prlimit, [os.getpid(), 7, 0, 0]
    refused |= {f"fcntl {command}": (fcntl, [1, command, 0]) for command in (8, 10, 15, 1024)}
    refused |= {f"openat {flags}": (openat, [-100, file, flags]) for flags in (os.O_TRUNC, os.O_TRUNC | 3)}
    refused["mmap"] = mmap, [0, 4096, 3, 0x21, -1, 0]
    assert set(call("calls", request=refused).data.values()) == {errno.EPERM}
    allowed = {
        "prlimit64": (prlimit, [0, 7, 0, 0]),
        "fcntl": (fcntl, [1, 3]),
        "openat": (openat, [-100, file, os.O_RDONLY]),
        "mmap": (mmap, [0, 4096, 3, 0x22, -1, 0]),
    }
    assert set(call("calls", request=allowed).data.values()) == {0}
    assert Path(file).read_text() == "x"


def test_reader_process_has_the_callers_working_directory_and_environment_variables(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (tmp_path / "inside", tmp_path):
        monkeypatch.chdir(folder)
        monkeypatch.setenv("ROS_PACKAGE_PATH", str(folder))
        assert call("surroundings").data == [os.path.realpath(folder), str(folder), "1"]
    monkeypatch.delenv("ROS_PACKAGE_PATH")
    assert call("surroundings").data == [os.path.realpath(tmp_path), None, "1"]


@pytest.mark.slow(every=5)
@pytest.mark.skipif(sys.platform != "linux", reason="it stops a program by a signal")
def test_idle_reader_process_that_was_killed_or_stopped_is_replaced(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (signal.SIGKILL, signal.SIGSTOP):
        program = call("remember").data[2]
        os.kill(program, number)
        monkeypatch.setattr(reader_process._Process, "is_usable", lambda process: True)  # it ends after this check
        with monkeypatch.context() as patch:
            begin, seconds = reader_process._Process.begin, iter([0.5, reader_process._START_SECONDS])

            def limited(process: Any, *arguments: Any, begin: Any = begin, seconds: Any = seconds) -> bool:
                patch.setattr(reader_process, "_START_SECONDS", next(seconds))
                return bool(begin(process, *arguments))

            patch.setattr(reader_process._Process, "begin", limited)
            assert call("remember", data=b"x" * (1 << 20)).data[2] != program


@pytest.mark.slow(every=5)
def test_errors_and_crashes_of_the_reader_process_are_errors_of_the_file_read(call: Any) -> None:
    with pytest.raises(ReaderError, match=r"^a wrong file$") as caught:
        call("wrong")
    assert isinstance(caught.value.of(TypeError), ValueError)
    with pytest.raises(ReaderError, match=r"file.missing") as caught:
        call("missing")
    assert isinstance(caught.value.of(FileNotFoundError), FileNotFoundError)
    with pytest.raises(ReaderEnded, match=r"it crashed, with code -(6|11)"):
        call("crash")
    with pytest.raises(ReaderEnded, match=r"an array of type '<c16'"):
        call("objects")


@pytest.mark.slow(every=5)
@pytest.mark.skipif(sys.platform != "linux", reason="other systems start a program for each request")
def test_concurrent_requests_to_reader_processes_do_not_affect_each_other(call: Any) -> None:
    """Two programs have separate processes, and a crash ends the program that owns the process."""
    (count, first, program), (again, second, same) = (call("remember").data for _ in range(2))
    assert count == again == 1 and first != second and program == same != os.getpid()
    with pytest.raises(ReaderEnded, match="it crashed"):
        call("crash")
    assert call("remember").data[2] != program


@pytest.mark.slow(every=5)
@pytest.mark.skipif(sys.platform == "win32", reason="processes of Windows have a limit of time alone")
def test_reader_process_ends_at_its_limits_of_memory_and_output(call: Any) -> None:
    with pytest.raises(ReaderEnded, match=r"more than 104857600 bytes of memory; .*max_memory="):
        call("swollen")
    with pytest.raises(ReaderError, match=r"too large"):
        call("long")


@pytest.mark.slow(every=5)
def test_reader_process_ends_at_its_limit_of_time(call: Any) -> None:
    short = replace(BUDGET, max_seconds=0.5)
    for task in ("endless", "asleep"):
        with pytest.raises(ReaderEnded, match=r"did not end within 0.5 s|was stopped.*max_seconds="):
            call(task, short)


@pytest.mark.slow(every=9)
def test_audit_hook_blocks_opening_other_files_on_systems_without_landlock(tmp_path: Path) -> None:
    """Other systems than Linux have no Landlock: there, the code of Python cannot open other files."""
    (tmp_path / "outside").write_text("secret")
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside/file").write_text("x")
    code = f"""
import socket, subprocess, sys
from linkwork._util.sandbox import _watch_python
_watch_python([{str(tmp_path / "inside")!r}], [])
open({str(tmp_path / "inside/file")!r}).read()
for refused in (
    lambda: open({str(tmp_path / "outside")!r}),
    lambda: open({str(tmp_path / "inside/../outside")!r}),
    lambda: socket.socket(),
    lambda: subprocess.run(["true"]),
):
    try:
        refused()
    except PermissionError:
        continue
    sys.exit("not refused")
"""
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ})


def test_answers_of_a_reader_process_are_checked_and_its_end_has_a_reason() -> None:
    """Answers are bytes here: a line of JSON, then the arrays."""

    def answer(head: object, content: bytes = b"", code: int = 0, said: bytes = b"") -> Answer:
        process: Any = SimpleNamespace(errors=BytesIO(said))
        line = head if isinstance(head, bytes) else json.dumps(head).encode() + b"\n"
        return reader_process._answer(process, BytesIO(line + content), code, BUDGET)

    valid = answer({"data": [1], "arrays": [["x", "<f8", [2, 1]], ["n", "|u1", [3]]]}, b"\0" * 19)
    assert valid.data == [1] and valid.arrays["x"].tolist() == [[0.0], [0.0]] and valid.arrays["n"].dtype == np.uint8
    arrays = lambda kind, shape: {"data": 1, "arrays": [["x", kind, shape]]}  # noqa: E731
    for call, message in (
        (
            lambda: answer(arrays("<c16", [1]), b"\0" * 16),
            "its answer does not have the expected form: an array of type '<c16'",
        ),
        (
            lambda: answer(arrays("<f8", [-1, -1]), b"\0" * 8),
            "its answer does not have the expected form: an array of type '<f8'",
        ),
        (lambda: answer(arrays("<f8", [2]), b"\0" * 15), "its answer does not have the expected form: "),
        (lambda: answer(b"[]\n"), "its answer does not have the expected form: "),
        (lambda: answer(b"{}"), "it crashed, with code 0$"),
        (lambda: answer({}, code=-11, said=b"# note\nfault\n at 3"), "it crashed, with code -11: fault at 3"),
        (lambda: answer({}, code=1, said=b"std::bad_alloc"), r"more than \d+ bytes of memory; .*max_memory="),
        (lambda: answer({}, code=-9), "it was stopped: more than .* s of processor time, .*max_seconds="),
        (lambda: answer({}, code=-24), "it was stopped: more than .* s of processor time, .*max_seconds="),
        (lambda: answer({}, code=-25), "it crashed, with code -25"),
    ):
        with pytest.raises(ReaderEnded, match=message):
            call()
    with pytest.raises(ReaderError, match=r"^no such body$") as caught:
        answer({"error": "KeyError", "arguments": ["no such body"], "issues": [], "warnings": []})
    assert type(caught.value.of(TypeError, KeyError)) is KeyError and type(caught.value.of(TypeError)) is ValueError
