"""Locks of the cache's entries: threads and processes that need the same code compile it once."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import linkwork as lw
from linkwork.compiler import code_parts
from linkwork.compiler.cache import key_lock, secure_directory
from linkwork.compiler.cache.key_lock import LOCK_SUFFIX, KeyLock

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    result = tmp_path / "cache"
    result.mkdir(mode=0o700)
    return result


@contextmanager
def locked(folder: Path, warn: Callable[[str], object] = lambda message: None) -> Iterator[KeyLock]:
    with KeyLock(folder, "name", warn) as lock:
        try:
            lock.wait()
            yield lock
        finally:
            lock.release()


def test_threads_wait_for_a_key_lock_of_another_thread(folder: Path) -> None:
    running, most, acquired = 0, 0, []

    def work() -> None:
        nonlocal running, most
        with locked(folder) as lock:
            running += 1
            most = max(most, running)
            threading.Event().wait(0.01)
            running -= 1
            acquired.append(lock.is_acquired)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1 and acquired == [True] * 6
    assert not any(folder.iterdir()) and not key_lock._locked_files


def test_thread_does_not_wait_for_its_own_key_lock(folder: Path) -> None:
    with locked(folder), locked(folder) as inner:
        assert not inner.is_acquired
    assert not key_lock._locked_files


@pytest.mark.parametrize("limit", ["LONGEST_WAIT", "_STALLED"])
def test_waiting_for_the_key_lock_of_a_stuck_thread_ends_with_a_message(
    limit: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_lock, limit, 0.02)
    stuck_lock, said = KeyLock(folder, "name"), []
    thread = threading.Thread(target=stuck_lock.attempt)
    thread.start()
    thread.join()
    with locked(folder, said.append) as lock:
        assert not lock.is_acquired
    assert len(said) == 1 and "another thread or process has compiled the same code" in said[0]
    stuck_lock.release()


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_threads_do_not_wait_for_key_locks_if_the_file_system_has_no_locks(
    number: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(file: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(key_lock, "_lock", refuse)
    monkeypatch.setattr(key_lock, "_FIRST_POLL", -1.0)  # a wait raises an error
    before = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    with locked(folder) as first, locked(folder) as second:
        assert not first.is_acquired and not second.is_acquired
    assert sys.platform != "linux" or len(os.listdir("/proc/self/fd")) == before


def test_key_locks_in_a_read_only_folder_do_not_wait(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Any, file: Any, name: str) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(secure_directory.TrustedDirectory, "open_lock", refuse)
    monkeypatch.setattr(key_lock, "_FIRST_POLL", -1.0)  # a wait raises an error
    with locked(folder) as lock:
        assert not lock.is_acquired


HOLDER = """
import sys, time
from pathlib import Path
from linkwork.compiler.cache.key_lock import KeyLock
lock = KeyLock(Path(sys.argv[1]), "name")
assert lock.attempt()
print("held", flush=True)
while sys.argv[2:] and time.monotonic() > 0.0:
    pass
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the progress of processes is known on Linux")
@pytest.mark.parametrize("works", [False, True])
def test_waiting_for_the_key_lock_of_a_process_without_progress_ends(
    works: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that uses processor time is waited for, up to the longest wait."""
    looks: list[tuple[int, int]] = []
    look = KeyLock._owner

    def watch_progress(lock: KeyLock) -> tuple[int, int]:
        looks.append(look(lock))
        if len(looks) == 8:  # more looks than those after which a process without progress is given up
            monkeypatch.setattr(key_lock, "LONGEST_WAIT", 0.0)
        return looks[-1]

    monkeypatch.setattr(KeyLock, "_owner", watch_progress)
    monkeypatch.setattr(key_lock, "_LOOK", 0.5 if works else 0.0)
    monkeypatch.setattr(key_lock, "_STALLED", 600.0 if works else 0.0)
    command, said = [sys.executable, "-c", HOLDER, str(folder), *["works"] * works], []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with locked(folder, said.append) as lock:
            assert not lock.is_acquired
        holder.kill()
    assert [f"process {holder.pid} has compiled" in text for text in said] == [True]
    assert {process for process, _ in looks} == {holder.pid}
    assert (len(looks) == 8) == works and (looks[0][1] < looks[-1][1]) == works


@posix
def test_killed_process_releases_its_key_lock(folder: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(folder)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        lock = KeyLock(folder, "name")
        assert not lock.attempt()
        holder.kill()
        holder.wait()
    with lock:
        lock.wait()
        assert lock.is_acquired
        lock.release()
    assert not any(folder.iterdir())


@posix
def test_forked_process_does_not_hold_its_parents_key_lock(folder: Path) -> None:
    lock = KeyLock(folder, "name")
    assert lock.attempt()
    child = os.fork()
    if child == 0:
        child_lock = KeyLock(folder, "name")
        attempt = child_lock.attempt()
        lock.release()  # not this process's lock
        os._exit(40 + attempt + 2 * (folder / f"name{LOCK_SUFFIX}").exists())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42
    assert lock.is_acquired
    lock.release()


@pytest.fixture
def emitted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the parts that are compiled from now on."""
    result: list[str] = []
    original = code_parts._emitted

    def counted(source: Any, backend: Any, texts: Any, stored: bool) -> Any:
        result.extend(texts)
        return original(source, backend, texts, stored)

    monkeypatch.setattr(code_parts, "_emitted", counted)
    return result


def test_threads_with_equal_kernels_compile_them_once(cache_folder: Path, emitted: list[str]) -> None:
    start = threading.Barrier(4)
    results = []

    def work() -> None:
        kernel = lw.Kernel(program, later=True)
        start.wait()
        results.append(float(kernel(0.5)))

    program = lw.compile(lambda x: x * 1.125 + 3.25, x=()).program
    emitted.clear()
    for file in cache_folder.iterdir():
        file.unlink()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [0.5 * 1.125 + 3.25] * 4
    assert emitted and max(Counter(emitted).values()) == 1


def test_code_that_another_thread_stores_just_before_the_lock_is_acquired_is_not_compiled_again(
    cache_folder: Path, emitted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = lw.compile(lambda x: x * 1.375 + 3.25, x=()).program
    emitted.clear()
    for file in cache_folder.iterdir():
        file.unlink()
    look = code_parts._cached

    def look_and_be_late(*arguments: Any) -> Any:
        result = look(*arguments)
        monkeypatch.setattr(code_parts, "_cached", look)
        assert not result and float(lw.Kernel(program, later=True)(0.5)) == 0.5 * 1.375 + 3.25
        return result

    monkeypatch.setattr(code_parts, "_cached", look_and_be_late)
    assert float(lw.Kernel(program, later=True)(0.5)) == 0.5 * 1.375 + 3.25
    assert emitted and max(Counter(emitted).values()) == 1


COUNTING = """
import json, sys
import numpy as np
import linkwork as lw
from linkwork.compiler import code_parts, kernel_code

emitted, improved = [], []
emit, store = code_parts._emitted, kernel_code.store_best

def emitting(source, backend, texts, stored):
    emitted.extend(f"{source.recipe.name} {part} {backend.target}" for part in texts)
    return emit(source, backend, texts, stored)

def storing(to, code):
    improved.append(to.name)
    store(to, code)

code_parts._emitted, kernel_code.store_best = emitting, storing
robot = lw.load(sys.argv[1])
q = np.linspace(0.1, 0.7, robot.nq)
results = [robot.forward_dynamics(q, q, q), robot.compile("mass_matrix").jacobian("q")(np.stack([q] * 5))]
assert lw.wait_for_compiler(timeout=300.0)
print(json.dumps([emitted, improved, [x.tolist() for x in results]]))
"""


def compiled_by(processes: int, robot: str, folder: Path) -> None:
    """Check that processes that start on an empty cache compile each part once and agree to the bit."""
    environment = {**os.environ, "LINKWORK_CACHE": str(folder)}
    environment.pop("LINKWORK_EFFORT", None)
    command = [sys.executable, "-c", COUNTING, robot]
    options: Any = {"env": environment, "stdout": subprocess.PIPE, "text": True}
    running = [subprocess.Popen(command, **options) for _ in range(processes)]
    outputs = [process.communicate()[0] for process in running]
    assert all(process.returncode == 0 for process in running)
    reports = [json.loads(output) for output in outputs]
    assert len({json.dumps(results) for _, _, results in reports}) == 1
    for emitted in (
        [name for names, _, _ in reports for name in names],
        [name for _, names, _ in reports for name in names],
    ):
        assert max(Counter(emitted).values(), default=1) == 1
    assert any(names for names, _, _ in reports)
    assert not [file for file in folder.iterdir() if file.name.endswith(LOCK_SUFFIX)]


@pytest.mark.slow(every=9)
def test_two_processes_compile_each_part_of_a_robots_code_once(tmp_path: Path) -> None:
    compiled_by(2, "double_pendulum", tmp_path / "cache")


@pytest.mark.slow
def test_eight_processes_compile_each_part_of_a_robots_code_once(tmp_path: Path) -> None:
    compiled_by(8, "arm7", tmp_path / "cache")


@pytest.mark.slow(every=5)
def test_first_batch_does_not_deadlock_with_the_background_job_of_its_kernel(tmp_path):
    """The first call makes quick code and a background job; the batch needs the entry point that the job compiles."""
    program = """
from linkwork.compiler.cache import key_lock
key_lock.LONGEST_WAIT = 1e9
import linkwork as lw
robot = lw.load("arm7")
print(robot.in_collision(robot.random_configuration(seed=0, size=4096)).shape)
"""
    environment = {**os.environ, "LINKWORK_CACHE": str(tmp_path)}
    environment.pop("LINKWORK_EFFORT", None)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=240, check=True)
    assert done.stdout == "(4096,)\n"
