"""Processes that are forked while other threads compile: all locks are free."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from linkwork._util.cached_properties import cached_property
from linkwork._util.thread_safety import Lock

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

PROGRAM = """
import multiprocessing, os, sys, threading
import numpy as np
import linkwork as lw

def work(number):
    robot = shared if multiprocessing.get_start_method() == "fork" else lw.load("double_pendulum")
    kernel = lw.compile(lambda x: number * x, x=3)
    assert np.array_equal(kernel(np.ones(3)), np.full(3, float(number)))
    assert robot.mass_matrix(np.zeros(2)).shape == (2, 2)
    os._exit(7)

def compile_again_and_again():
    number = 0.0
    while not stop.is_set():
        number += 1.0
        lw.compile(lambda x: [number * x[k % 3] + k for k in range(50)], x=3)
        begun.set()

class Told:
    '''A lock's owner, who keeps it until told otherwise.'''

    def __init__(self, lock):
        self.lock, self.has, self.may_go = lock, threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        self.has.wait()

    def run(self):
        with self.lock:
            self.has.set()
            self.may_go.wait()

if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    shared, stop, begun = lw.load("double_pendulum"), threading.Event(), threading.Event()
    others = [threading.Thread(target=compile_again_and_again, daemon=True) for _ in range(2)]
    for other in others:
        other.start()
    begun.wait()
    owner = Told(shared._kernels._lock)  # what another thread may be at as well
    codes = []
    for number in range(2, 2 + int(sys.argv[2])):
        process = multiprocessing.Process(target=work, args=(number,))
        process.start()
        process.join()
        codes.append(process.exitcode)
    stop.set()
    owner.may_go.set()
    print(codes)
"""


@forks
@pytest.mark.slow
@pytest.mark.parametrize(("start_method", "count"), [("fork", 8), ("spawn", 1)])
def test_process_forked_during_compilation_can_compute(start_method: str, count: int, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = os.environ | {"LINKWORK_CACHE": "off"}
    ran = subprocess.run(
        [sys.executable, program, start_method, str(count)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout == f"{[7] * count}\n", ran.stderr


IMPORTING = """
import importlib, os, sys, threading, time
import linkwork

MODULE = "linkwork.identify.base_parameter_fit"

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == MODULE:
            begun.set()
            time.sleep(0.5)

linkwork.compile(lambda x: 2.0 * x, x=3)([1.0, 2.0, 3.0])
assert MODULE not in sys.modules
begun = threading.Event()
sys.meta_path.insert(0, Slow())
other = threading.Thread(target=importlib.import_module, args=(MODULE,))
other.start()
assert begun.wait(20.0)
child = os.fork()
if child == 0:
    importlib.import_module(MODULE)
    os._exit(7)
deadline = time.monotonic() + 20.0
while not (ended := os.waitpid(child, os.WNOHANG))[0]:
    if time.monotonic() > deadline:
        os.kill(child, 9)
        sys.exit("the forked process waits")
    time.sleep(0.01)
other.join()
print(os.waitstatus_to_exitcode(ended[1]))
"""


@pytest.mark.slow(every=5)
@forks
def test_process_forked_during_an_import_can_import_the_module() -> None:
    """Python's lock of a module is acquired forever in a process that is forked during its import."""
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", IMPORTING], capture_output=True, text=True, check=False)
    assert ran.stdout == "7\n" and "Exception ignored" not in ran.stderr, ran.stderr


def forked(work: Callable[[], None]) -> int:
    """Return the exit code of a forked process."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


@forks
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_locks_of_other_threads_are_free_in_a_forked_process() -> None:
    lock, own_lock = Lock(), Lock()
    has, may_go = threading.Event(), threading.Event()

    def keep() -> None:
        with lock:
            has.set()
            may_go.wait()

    thread = threading.Thread(target=keep)
    thread.start()
    has.wait()

    def work() -> None:
        with lock, lock, own_lock:
            pass
        assert own_lock._is_owned()

    with own_lock:
        assert forked(work) == 0
    assert not lock.acquire(blocking=False)  # here, it is still the other's
    may_go.set()
    thread.join()
    with lock, own_lock:
        pass


@forks
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_lock_of_a_cached_property_in_computation_is_free_in_a_forked_process() -> None:
    has, may_go = threading.Event(), threading.Event()

    class Keeper:
        @cached_property
        def value(self) -> int:
            has.set()
            may_go.wait()
            return 1

    thread = threading.Thread(target=lambda: Keeper().value)
    thread.start()
    has.wait()

    def work() -> None:
        may_go.set()
        assert Keeper().value == 1

    assert forked(work) == 0
    may_go.set()
