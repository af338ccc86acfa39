"""Signals during a batch: an exception of a handler ends it, and a handler that returns lets it finish."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler.runtime import interrupts

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="of POSIX systems")

# A batch of seconds.  Another thread of Python sends a signal when the first numbers are there.
COMMON = """
import os, signal, threading, time
from unittest import mock
import numpy as np
import linkwork as lw
from linkwork.compiler.runtime import interrupts
from linkwork.expr.scalar import functions as f

interrupts._interrupts.interval = 0
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests run in the background

def slow(x):
    y = x[0]
    for k in range(150):
        y = f.sin(y + x[k % 3])
    return y

kernel = lw.compile(slow, x=3)
whole = np.full((N, 3), 0.3)
expected = kernel(whole[0])

def sent(out, number=signal.SIGINT, times=1):
    '''Send a signal when some of the results are there, and again when more are.'''
    def send():
        for k in range(times):
            while not np.count_nonzero(out[:: max(out.size // 1000, 1)]) > 20 * k:
                time.sleep(0.0005)
            os.kill(os.getpid(), number)
    thread = threading.Thread(target=send)
    thread.start()
    return thread

def interrupted(call, out):
    out[...] = 0
    thread = sent(out)
    try:
        call()
    except KeyboardInterrupt:
        print("interrupted", bool(0 < np.count_nonzero(out) < out.size), interrupts._interrupts.pending)
    thread.join()
    assert np.array_equal(kernel(whole[:5]), np.full(5, expected))
"""


def printed(code: str, samples: int = 3_000_000) -> list[str]:
    folder = os.path.dirname(os.path.dirname(__file__))
    program = COMMON.replace("N,", f"{samples},") + textwrap.dedent(code)
    command = [sys.executable, "-W", "ignore:This process:DeprecationWarning", "-c", program]  # of a fork with threads
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    return ran.stdout.splitlines()


@pytest.mark.slow(every=5)
def test_ctrl_c_ends_a_batch_for_all_kinds_of_kernel_calls() -> None:
    code = """
    out = np.zeros(len(whole))
    for threads in (1, 3):
        lw.set_num_threads(threads)
        interrupted(lambda: kernel(whole, out=out), out)
    interrupted(lambda: kernel.ufunc(whole, out), out)
    single, results = whole.astype(np.float32), out.astype(np.float32)
    kernel(single[:5])
    interrupted(lambda: kernel(single, out=results), results)
    parts = out.reshape(-1, 2)[:, ::-1]  # NumPy calls the loop for two samples at a time
    interrupted(lambda: kernel(whole.reshape(-1, 2, 3)[:, ::-1], out=parts), parts)
    parts = np.zeros((len(whole) // 50, 100))[:, ::2]
    rows = np.broadcast_to(whole[::50, None], (*parts.shape, 3))
    interrupted(lambda: kernel(rows, out=parts), parts)
    """
    assert printed(code) == ["interrupted True 0"] * 6


@pytest.mark.slow(every=5)
def test_ctrl_c_ends_a_batch_of_a_robot_function() -> None:
    code = """
    robot = lw.load("arm7")
    q = np.zeros((2_000_000, 7))
    out = np.zeros_like(q)
    robot.gravity_force(q[:4])
    def call():
        try:
            robot.gravity_force(q, out=out)
        except (TypeError, ValueError):
            print("taken for wrong arguments")
    interrupted(call, out)
    """
    assert printed(code, 10) == ["interrupted True 0"]


@pytest.mark.slow(every=5)
def test_exception_raised_by_a_signal_handler_ends_a_batch_and_a_returning_handler_does_not() -> None:
    code = """
    class TooLong(Exception):
        pass

    seen = []

    def raises(number, frame):
        seen.append(number)
        raise TooLong("stop", 3)

    def returns(number, frame):
        seen.append(number)
        kernel(whole[:100])  # compiled code may run again in a handler

    out = np.zeros(len(whole))
    signal.signal(signal.SIGUSR1, raises)
    thread = sent(out, signal.SIGUSR1)
    try:
        kernel(whole, out=out)
    except TooLong as error:
        names = [frame.name for frame in __import__("traceback").extract_tb(error.__traceback__)]
        print(error.args, "raises" in names, bool(0 < np.count_nonzero(out) < out.size), len(seen))
    thread.join()
    signal.signal(signal.SIGUSR1, returns)
    out[:], seen[:] = 0.0, []
    thread = sent(out, signal.SIGUSR1, times=3)
    kernel(whole, out=out)
    print(np.array_equal(out, np.full(len(whole), expected)), bool(seen))
    thread.join()
    """
    assert printed(code) == ["('stop', 3) True True 1", "True True"]


@pytest.mark.slow(every=5)
def test_ctrl_c_ends_a_batch_with_several_threads_and_in_a_forked_process() -> None:
    code = """
    out = np.zeros(len(whole))
    worker = threading.Thread(target=lambda: kernel(whole, out=out))
    worker.start()
    try:
        sent(out).join()
        worker.join()
        time.sleep(600)
    except KeyboardInterrupt:
        worker.join()
        print(np.array_equal(out, np.full(len(whole), expected)), flush=True)

    def fork():
        if os.fork() == 0:
            interrupted(lambda: kernel(whole, out=out), out)
            sys.stdout.flush()
            os._exit(0)
        os.wait()

    forking = threading.Thread(target=fork)
    forking.start()
    forking.join()
    """
    assert printed("import sys\n" + textwrap.dedent(code)) == ["True", "interrupted True 0"]


def test_error_that_an_interrupt_suppressed_is_raised_after_the_next_call() -> None:
    """A second interrupt may end the Python code that raises the error of the first one."""
    kernel, state = lw.compile(lambda x: 2.0 * x, x=3), interrupts._interrupts
    assert np.array_equal(kernel(np.ones((5, 3))), np.full((5, 3), 2.0))
    error = LookupError("of a handler")
    for owned in (LookupError, error):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(owned))
    state.type, state.error, state.pending = id(LookupError), id(error), 1
    with pytest.raises(LookupError, match="of a handler"):
        kernel(np.ones((5, 3)))
    assert state.pending == 0 and np.array_equal(kernel(np.ones((5, 3))), np.full((5, 3), 2.0))


# Kernels whose loops end after minutes.  Another thread of Python counts, which it can where the GIL is released, and
# then sends a signal.
LOOPS = """
import os, signal, sys, threading, time
import numpy as np
import linkwork as lw

signal.signal(signal.SIGINT, signal.default_int_handler)
MANY = 10**11

def ended(call):
    begun = threading.Event()
    def send():
        begun.wait()
        for _ in range(20):
            time.sleep(1e-3)
        os.kill(os.getpid(), signal.SIGINT)
    thread = threading.Thread(target=send)
    thread.start()
    try:
        begun.set()
        call()
    except KeyboardInterrupt:
        thread.join()
        return True
    thread.join()
    return False
"""


@pytest.mark.slow(every=9)
def test_ctrl_c_ends_long_loops_of_single_samples_and_batches() -> None:
    code = """
    few = lambda s: [0.5 * s[0] + 1.0, s[1] + 1.0]
    many = lambda s: np.sin(s) + np.concatenate([s[1:], s[:1]])
    kernels = {
        "while in registers": lw.compile(lambda x: lw.while_loop(
            lambda s: s[0] < 1e9, few, [x, 0.0], max_iterations=MANY).state[0], x=()),
        "while": lw.compile(lambda x: lw.while_loop(
            lambda s: s[0] < 1e9, many, x + np.zeros(40), max_iterations=MANY).state[0], x=()),
        "fori in registers": lw.compile(lambda x: lw.fori_loop(0, MANY, lambda k, s: 0.5 * s + 1.0, x), x=()),
        "fori": lw.compile(lambda x: lw.fori_loop(0, MANY, lambda k, s: many(s), x + np.zeros(40))[0], x=()),
        "loop in loop": lw.compile(lambda x: lw.fori_loop(
            0, MANY, lambda k, s: lw.fori_loop(0, 50, lambda j, u: np.sin(u) + 1.0, s), x), x=()),
    }
    for name, kernel in kernels.items():
        print(name, [ended(lambda: kernel(np.full(shape, 0.3))) for shape in ((), 2, 100)])
    lw.set_num_threads(3)
    print([ended(lambda: kernel(np.full(1000, 0.3))) for kernel in kernels.values()])
    """
    ran = run_loops(code)
    assert ran == [
        "while in registers [True, True, True]",
        "while [True, True, True]",
        "fori in registers [True, True, True]",
        "fori [True, True, True]",
        "loop in loop [True, True, True]",
        "[True, True, True, True, True]",
    ]


@pytest.mark.slow(every=5)
def test_ctrl_c_ends_simulation_steps_and_keeps_the_simulators_state() -> None:
    code = """
    robot = lw.load("double_pendulum")
    simulator = lw.Simulator(robot)
    before = simulator.reset(robot.neutral() + 0.1)
    print(ended(lambda: simulator.step(np.zeros(2), count=10**9)))
    print(np.array_equal(simulator.state.q, before.q), float(simulator.time))
    after = simulator.step(np.zeros(2), count=1000)
    print(bool(np.isfinite(after.q).all()))
    """
    assert run_loops(code) == ["True", "True 0.0", "True"]


def run_loops(code: str) -> list[str]:
    ran = subprocess.run(
        [sys.executable, "-c", LOOPS + textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    return ran.stdout.splitlines()
