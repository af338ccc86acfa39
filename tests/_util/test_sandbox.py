"""Restrictions of the process that reads untrusted files, with the system's answers stated instead of asked for."""

from __future__ import annotations

import os
import struct
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from linkwork._util import own_code, reader_process, sandbox
from linkwork._util.reader_child import _error
from linkwork._util.reader_process import ReaderEnded

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such system calls")
Patch = pytest.MonkeyPatch


class System:
    """The C library: system calls answer with the next of some values, and are recorded."""

    def __init__(self, *answers: int, prctl: int = 0) -> None:
        self.answers, self.calls, self.denied = list(answers), [], prctl

    def syscall(self, *arguments: Any) -> int:
        self.calls.append(arguments)
        return self.answers.pop(0)

    def prctl(self, *arguments: Any) -> int:
        self.calls.append(("prctl", *arguments))
        return self.denied


def with_system(patch: Patch, system: System) -> System:
    patch.setattr(own_code, "_replaced", {})
    library = SimpleNamespace(
        CDLL=lambda *_, **__: system,
        c_char_p=lambda data: data,
        c_size_t=lambda size: size,
        create_string_buffer=lambda data: data,
        addressof=lambda data: 0,
    )
    patch.setattr(sandbox, "ctypes", library)
    return system


@pytest.mark.skipif(sys.platform != "linux", reason="Landlock is of Linux")
def test_file_access_is_restricted_with_the_access_rights_that_the_linux_kernel_supports(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    """Versions of Landlock add rights to files, then the network, then signals; all that exist are restricted."""

    def opened() -> int:
        return os.open(tmp_path, os.O_RDONLY)

    for version, words in ((1, 1), (3, 1), (4, 2), (5, 2), (6, 3), (9, 3)):
        system = with_system(monkeypatch, System(version, opened(), 0, 0, 0))
        assert sandbox._confine_files([str(tmp_path), str(tmp_path / "none")], [str(tmp_path)])
        _, (_, data, size, flags), *rules, _, last = system.calls
        assert size == len(data) == 8 * words and flags == 0 and len(rules) == 2
        rights, *further = struct.unpack(f"{words}Q", data)
        assert rights == (1 << max(n for since, n in sandbox._RIGHTS if version >= since)) - 1
        assert further == [3] * (words - 1) and last[0] == sandbox._RESTRICT_SELF
        reading, writing = (struct.unpack("=Qi", rule[3])[0] for rule in rules)
        assert reading & ~writing == 0 and reading == rights & (sandbox._READ_FILE | sandbox._READ_FOLDER)
        assert writing == rights & ~sandbox._DEVICES


@pytest.mark.skipif(sys.platform != "linux", reason="Landlock is of Linux")
def test_file_access_is_not_restricted_if_the_linux_kernel_refuses(tmp_path: Path, monkeypatch: Patch) -> None:
    for answers, prctl, count in (
        ((0,), 0, 1),
        ((-1,), 0, 1),
        ((3, -1), 0, 2),
        ((3, None, -1), 0, 4),
        ((3, None), 1, 3),
    ):
        known = [os.open(tmp_path, os.O_RDONLY) if x is None else x for x in answers]
        system = with_system(monkeypatch, System(*known, prctl=prctl))
        assert not sandbox._confine_files([], []) and len(system.calls) == count and not system.answers


def test_system_calls_are_filtered_only_on_known_processors(monkeypatch: Patch) -> None:
    for machine, order, prctl, answer, done, count in (
        ("x86_64", "little", 0, 0, True, 2),
        ("x86_64", "little", 0, -1, False, 2),
        ("x86_64", "little", 1, 0, False, 1),
        ("x86_64", "big", 0, 0, False, 0),
        ("riscv64", "little", 0, 0, False, 0),
    ):
        system = with_system(monkeypatch, System(answer, prctl=prctl))
        monkeypatch.setattr(sandbox.platform, "machine", lambda machine=machine: machine)
        monkeypatch.setattr(sandbox, "sys", SimpleNamespace(byteorder=order))
        assert sandbox._filter_calls() is done and len(system.calls) == count


def test_audit_hook_is_installed_unless_the_system_restricts_files_and_system_calls(monkeypatch: Patch) -> None:
    monkeypatch.setattr(own_code, "_replaced", {})
    for system, confined, filtered, expected in (
        ("linux", True, True, ["limit", "confine", "filter"]),
        ("linux", False, True, ["limit", "confine", "filter", "watch"]),
        ("linux", True, False, ["limit", "confine", "filter", "watch"]),
        ("darwin", True, True, ["limit", "watch"]),
    ):
        done: list[str] = []
        monkeypatch.setattr(sandbox, "_restricted", False)
        monkeypatch.setattr(sandbox, "sys", SimpleNamespace(platform=system))
        monkeypatch.setattr(sandbox, "_limit", lambda *_, done=done: done.append("limit"))
        monkeypatch.setattr(sandbox, "_confine_files", lambda *_, x=confined, done=done: done.append("confine") or x)
        monkeypatch.setattr(sandbox, "_filter_calls", lambda *_, x=filtered, done=done: done.append("filter") or x)
        monkeypatch.setattr(sandbox, "_watch_python", lambda *_, done=done: done.append("watch"))
        sandbox.restrict(["/a"], ["/b"], 1 << 20, 3)
        assert done == expected and sandbox.is_restricted()


def test_audit_hook_permits_only_files_of_the_permitted_folders(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(own_code, "_replaced", {})
    hooks: list[Any] = []
    monkeypatch.setattr(sandbox, "sys", SimpleNamespace(addaudithook=hooks.append))
    inside = tmp_path / "inside"
    inside.mkdir()
    sandbox._watch_python([str(inside)], [])
    (watch,) = hooks
    for path in (inside, inside / "file", os.fsencode(inside / "file"), inside / "x" / ".." / "file"):
        watch("open", (path if isinstance(path, bytes) else str(path), "r", 0))
    watch("open", (3, "r", 0))  # a file that is open
    watch("import", ("socket",))
    for path in (tmp_path, tmp_path / "inside2", inside / ".." / "file", os.fsencode(tmp_path / "file")):
        with pytest.raises(PermissionError, match="is outside of the permitted folders"):
            watch("open", (path if isinstance(path, bytes) else str(path), "r", 0))
    for event in ("socket.connect", "subprocess.Popen", "os.exec", "os.fork"):
        with pytest.raises(PermissionError, match=f"{event} is not permitted"):
            watch(event, ())


def test_idle_reader_programs_are_used_within_a_time_limit_and_ended_only_by_their_owner() -> None:
    ended: list[str] = []
    program = SimpleNamespace(poll=lambda: None, kill=lambda: ended.append("killed"))

    def waiting(since: float, owner: int = os.getpid(), path: tuple[str, ...] = tuple(sys.path)) -> Any:
        used = time.monotonic() - since
        values = {"modules": ("m",), "owner": owner, "path": path, "popen": program, "errors": None, "used": used}
        return reader_process._Process(**values)

    assert waiting(1.0).is_usable() and waiting(45.0).is_usable() and not waiting(55.0).is_usable()
    assert not waiting(1.0, owner=os.getpid() + 1).is_usable() and not waiting(1.0, path=()).is_usable()
    waiting(1.0, owner=os.getpid() + 1).close()
    assert not ended


def test_program_that_exceeds_its_deadline_is_ended_and_reported() -> None:
    ended = threading.Event()
    program = SimpleNamespace(kill=ended.set)
    process = reader_process._Process(0, (), (), program, None, 0.0)  # type: ignore[arg-type]
    with process.deadline(60.0, "start"):
        assert not ended.is_set()
    with pytest.raises(ReaderEnded, match=r"it did not start within 0\.001 s"), process.deadline(0.001, "start"):
        assert ended.wait(10.0)


def test_errors_of_files_are_sent_with_their_reason_and_name() -> None:
    missing = _error(FileNotFoundError(2, "No such file", "a.usd"))
    assert (missing["error"], missing["arguments"]) == ("FileNotFoundError", [2, "No such file", "a.usd"])
    assert _error(PermissionError(13, "denied"))["arguments"] == [13, "denied", ""]
    assert _error(OSError("a text"))["arguments"] == ["a text"]
    assert _error(ValueError("wrong"))["arguments"] == ["wrong"]
