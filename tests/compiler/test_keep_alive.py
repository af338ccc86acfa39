"""Lifetime of machine code and definitions under the garbage collector."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import weakref

import numpy as np
import pytest

from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE
from linkwork.compiler.runtime import fastcall
from linkwork.compiler.runtime.cpython import keep_alive
from linkwork.compiler.trace.trace import compile

_TP_CLEAR = 51  # in Python's table of slots

PLAIN = """
import gc, sys, threading
import numpy as np
import linkwork as lw

class Holder:
    pass

stop = threading.Event()

def others():
    while not stop.is_set():
        [bytearray(32) for _ in range(100)]

sys.setswitchinterval(2e-4)  # threads take turns often
threads = [threading.Thread(target=others, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
for k in range(10):
    h = Holder()
    h.robot = lw.load("double_pendulum")
    h.robot.gravity_force(np.zeros(2))
    h.kernel = h.robot.compile("mass_matrix")
    h.step = h.robot.gravity_force  # the usual cycle: an object that holds a robot and a bound method
    h.me = h
    h.call = h.kernel.__call__
    del h
    gc.collect()
stop.set()
print("done")
"""

AT_LAST = """
import gc, sys, threading
import numpy as np
import linkwork as lw

class Holder:
    def __init__(self):
        self.robot = lw.load("double_pendulum")
        self.kernel = self.robot.compile("mass_matrix")
        self.call, self.method, self.ufunc = self.kernel.__call__, self.robot.gravity_force, self.kernel.ufunc
        self.step = self.work
        self.work()

    def work(self):
        q = np.zeros(2)
        self.robot.gravity_force(q)
        self.robot.gravity_force(np.zeros((40, 2)))
        self.kernel(np.zeros((40, 2), np.float32))
        self.ufunc(np.zeros((40, 2), np.float32))
        return self.call(q)

class Parking(Holder):
    \"""Its last deed needs the robot.\"""

    def __del__(self):
        parked.append(self.work())

parked, stop = [], threading.Event()

def others():
    robot = lw.load("arm6")
    while not stop.is_set():
        robot.gravity_force(np.zeros(6))
        [bytearray(32) for _ in range(100)]

sys.setswitchinterval(2e-4)  # threads take turns often
threads = [threading.Thread(target=others, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
for k in range(5):
    for kind in (Holder, Parking):
        kind().me = 1
        gc.collect()
stop.set()
for thread in threads:
    thread.join()
assert len(parked) == 5 and all((one == parked[0]).all() for one in parked)
left = Parking()  # for the end of Python itself
print("done")
"""


DEBUG = {"PYTHONMALLOC": "debug"}
PERTURBED = {"PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": "2"}  # what is freed reads as flags that lead astray


@pytest.mark.parametrize(
    ("program", "memory"),
    [
        pytest.param(PLAIN, DEBUG, id="plain, debug", marks=pytest.mark.slow(every=3)),
        pytest.param(PLAIN, PERTURBED, id="plain, perturbed", marks=pytest.mark.slow),
        pytest.param(AT_LAST, DEBUG, id="called at last, debug", marks=pytest.mark.slow),
        pytest.param(AT_LAST, PERTURBED, id="called at last, perturbed", marks=pytest.mark.slow(every=9)),
    ],
)
def test_robot_in_cyclic_garbage_is_freed_without_a_crash(program: str, memory: dict[str, str]) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | memory | {"LINKWORK_EFFORT": "0"},
        capture_output=True,
        text=True,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "done\n", "")


@pytest.mark.skipif(not fastcall.available(), reason="kernels need built-in functions of CPython")
def test_garbage_collector_does_not_clear_the_owners_of_machine_code() -> None:
    """The collector ignores arrays, and clears no tuple, built-in function or ufunc."""
    kernel = compile(lambda q: 2.0 * q, q=3)
    assert not gc.is_tracked(keep_alive(object()))
    slot = ctypes.pythonapi["PyType_GetSlot"]
    slot.restype, slot.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_int]
    assert [slot(kind, _TP_CLEAR) for kind in (tuple, type(kernel.__call__), np.ufunc)] == [None] * 3
    assert slot(type(kernel._general), _TP_CLEAR)  # it would tell


def test_objects_referenced_through_keep_alive_live_as_long_as_the_referrer() -> None:
    class Thing:
        pass

    owner = Thing()
    gone = weakref.ref(owner)
    first = keep_alive(owner, 1)
    second = (first, 2)
    del owner, first
    gc.collect()
    assert gone() is not None
    del second
    assert gone() is None


def test_machine_code_is_freed_with_the_last_object_that_uses_it() -> None:
    kernel = compile(lambda q: 2.0 * q, q=3)
    kernel(np.ones((5, 3), np.float32))
    code = [weakref.ref(kernel._code.entry("loop", real).owner) for real in (DOUBLE, SINGLE)]
    call, ufunc = kernel.__call__, kernel.ufunc
    del kernel
    gc.collect()
    assert call(np.ones(3)).tolist() == [2.0] * 3 and all(reference() is not None for reference in code)
    del call
    gc.collect()
    for dtype in (np.float32, np.float64):
        assert ufunc(np.ones((5, 3), dtype)).dtype == dtype
    del ufunc
    gc.collect()
    assert [reference() for reference in code] == [None, None]
