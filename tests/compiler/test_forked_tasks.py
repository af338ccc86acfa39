"""Tasks that go on in a copy of their process: it stores what the process then finds, and leaves nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from linkwork._util import forked_tasks
from linkwork._util.forked_tasks import do_afterwards, go_on_in_copy, has_copies, is_copy
from linkwork._util.thread_pool import beside, run

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="copies are made on Linux")


@pytest.fixture(autouse=True)
def two_processors(monkeypatch):
    monkeypatch.delenv(forked_tasks.VARIABLE, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})
    monkeypatch.setattr(sys, "gettrace", lambda: None)  # a measurement of coverage sets a function
    yield
    while has_copies():
        time.sleep(0.01)


def stored_by(folder, work=lambda: None):
    """Return a task that stores the number of the process that ran it, after some ``work``, and returns it."""
    result = folder / "result"

    def task():
        if not go_on_in_copy():
            work()
            result.write_text(str(os.getpid()))
        return int(result.read_text())

    return task


def by_run(task):
    """Return the result of a task that runs beside another one."""
    ended = threading.Event()

    def ending():
        try:
            return task()
        finally:
            ended.set()

    return run([ended.wait, ending], forks=True)[1]


def by_beside(task):
    found = []
    with beside([lambda: found.append(task())]):
        pass
    return found[0]


@pytest.mark.parametrize("result_of", [by_run, by_beside])
def test_a_task_finds_what_its_copy_has_stored(tmp_path, result_of):
    assert result_of(stored_by(tmp_path)) not in (os.getpid(), 0)
    assert not is_copy()


def test_the_first_task_and_all_without_forks_stay_in_this_process(tmp_path):
    assert run([stored_by(tmp_path)], forks=True) == [os.getpid()]
    assert run([int, stored_by(tmp_path)]) == [0, os.getpid()]


def test_a_task_that_runs_alone_stays_in_this_process(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # one task after the other
    assert run([int, stored_by(tmp_path)], forks=True) == [0, os.getpid()]


def test_where_a_copy_gains_nothing_or_is_unsafe_none_is_made(tmp_path, monkeypatch):
    def made():
        return by_run(stored_by(tmp_path)) != os.getpid()

    changes = [
        lambda m: m.setenv(forked_tasks.VARIABLE, "off"),
        lambda m: m.setattr(os, "sched_getaffinity", lambda process: {0}),
        lambda m: m.setitem(sys.modules, "jax", sys),
        lambda m: m.setattr(sys, "gettrace", lambda: print),
        lambda m: m.setattr(forked_tasks, "_LARGEST", 1 << 20),
        lambda m: m.setattr(forked_tasks, "worker_of", lambda: "Dask"),
        lambda m: m.setattr(forked_tasks, "_is_in_vain", True),
        lambda m: m.setattr(os, "fork", unavailable),
        lambda m: m.setattr(os, "pipe", unavailable),
    ]
    for change in changes:
        with monkeypatch.context() as changed:
            change(changed)
            assert not made()
    assert made()


def unavailable():
    raise BlockingIOError("no more processes")


def test_a_task_whose_copy_ends_early_or_does_nothing_is_done_here(tmp_path, monkeypatch):
    monkeypatch.setattr(forked_tasks, "_STALLED", 0.3)

    def raising():
        raise ValueError("in the copy")

    endings = {
        "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
        "exits": lambda: os._exit(0),
        "fails": raising,
        "waits for what never comes": lambda: threading.Event().wait(),
    }
    for name, ending in endings.items():
        assert by_run(stored_by(tmp_path, lambda ending=ending: is_copy() and ending())) == os.getpid(), name


def test_an_error_is_raised_here():
    def task():
        go_on_in_copy()
        raise KeyError("as ever")

    with pytest.raises(KeyError, match="as ever"):
        by_run(task)


def test_an_error_of_another_task_ends_the_copy(tmp_path):
    begun = tmp_path / "begun"

    def endless():
        if not go_on_in_copy():
            begun.write_text(str(os.getpid()))
            while is_copy():
                time.sleep(0.001)

    def failing():
        while not (begun.exists() and begun.read_text()):
            time.sleep(0.001)
        raise ValueError("of the other task")

    with pytest.raises(ValueError, match="of the other task"):
        run([failing, endless], forks=True)
    assert not has_copies()
    with pytest.raises(ProcessLookupError):
        os.kill(int(begun.read_text()), 0)


def test_after_an_error_no_task_begins_long_work():
    failed, ended = threading.Event(), []

    def failing():
        failed.set()
        raise ValueError("of the other task")

    def working():
        failed.wait()
        end = time.monotonic() + 60.0
        while time.monotonic() < end:
            go_on_in_copy()
        ended.append(True)

    with pytest.raises(ValueError, match="of the other task"):
        run([failing, working], forks=True)
    assert not ended


def test_tasks_of_a_copy_stay_in_the_copy(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()

    def work():
        (tmp_path / "numbers").write_text(" ".join(map(str, run([os.getpid, stored_by(inner)], forks=True))))

    copy = by_run(stored_by(tmp_path, work))
    assert (tmp_path / "numbers").read_text() == f"{copy} {copy}"


PROGRAM = """
import os, sys, threading, time
from pathlib import Path
from linkwork._util.forked_tasks import do_afterwards, go_on_in_copy, has_copies, is_copy
from linkwork._util.thread_pool import run
os.sched_getaffinity = lambda process: {0, 1}
here = Path(sys.argv[1])
log = open(here / "log", "w")
log.write("written once")
print("printed once")

def endless():
    (here / "number").write_text(str(os.getpid()))
    time.sleep(1000.0)

ended = threading.Event()

def task():
    if not go_on_in_copy():
        print("not printed by a copy")
        print("nor this", file=sys.stderr, flush=True)
        assert is_copy()
        do_afterwards(endless)
    ended.set()

run([ended.wait, task], forks=True)
assert has_copies()
while not (here / "number").exists() or not (here / "number").read_text():
    time.sleep(0.001)
"""


def test_a_copy_writes_nothing_of_the_others_and_ends_with_it(tmp_path):
    environment = {key: value for key, value in os.environ.items() if key != forked_tasks.VARIABLE}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, env=environment, check=True
    )
    assert (done.stdout, done.stderr) == ("printed once\n", "")
    assert Path(tmp_path / "log").read_text() == "written once"
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "number").read_text()), 0)


def test_what_is_left_to_do_comes_after_the_task(tmp_path):
    later = tmp_path / "later"

    def work():
        do_afterwards(lambda: later.write_text(str(os.getpid())))

    copy = by_run(stored_by(tmp_path, work))
    while has_copies():
        time.sleep(0.01)
    assert later.read_text() == str(copy)


KERNELS = """
import os
import numpy as np
import linkwork as lw
from linkwork._util.thread_pool import run
from linkwork.compiler.build import Source
os.sched_getaffinity = lambda process: {0, 1}
traced, of_source = set(), Source.traced
Source.traced = property(lambda source: traced.add(source.recipe.name) or of_source.fget(source))
robot = lw.load("arm7")
q, v, a = np.linspace(0.0, 1.0, 21).reshape(3, 7)
forward, inverse = (
    lambda: robot.forward_dynamics_derivatives(q, v, a)[0],
    lambda: robot.inverse_dynamics_derivatives(q, v, a)[0],
)
first = run([inverse, forward], forks=True)
quick = sorted(traced)
lw.wait_for_compiler()
assert np.array_equal([inverse(), forward()], first)
print(quick, sorted(traced), np.array(first).tobytes().hex())
"""


@pytest.mark.slow(every=3)
def test_kernels_of_two_tasks_are_traced_in_two_processes_with_the_same_results(tmp_path):
    def result(name, fork="on", size="64"):
        environment = {key: value for key, value in os.environ.items() if key != "LINKWORK_EFFORT"}
        environment |= {"LINKWORK_CACHE": str(tmp_path / name), "LINKWORK_CACHE_SIZE": size, "LINKWORK_FORK": fork}
        done = subprocess.run(
            [sys.executable, "-c", KERNELS], capture_output=True, text=True, env=environment, check=True
        )
        quick, best, numbers = done.stdout.split("] ")
        return quick, best, numbers

    both = "['forward_dynamics_derivatives', 'inverse_dynamics_derivatives'"
    here, copied, full = result("here", fork="off"), result("copied"), result("full", size="0.01")
    assert here[:2] == full[:2] == (both, both)  # a full cache stores nothing, so all is traced here
    inverse = "['inverse_dynamics_derivatives'"
    assert copied[:2] == (inverse, inverse)  # the copy has also written the source of the best code
    assert here[2] == copied[2] == full[2]
