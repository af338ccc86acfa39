"""Ctrl-C, and Python's other threads, while compiled code works for long.

Python's own handler of a signal only notes that it came; what the user wants done (to raise KeyboardInterrupt, as a
rule) is done by the main thread when it is next in Python, and that may be minutes away.  So a batch on the main thread
is computed in parts of about a millisecond, and loops that may run long ask now and then (see `attention`).  Where the
last look is `INTERVAL` ago, ``PyErr_CheckSignals`` is called.  It runs handlers as Python would, those of other signals
too; where they return, the work goes on.  Where one raises, the work ends and its results are not to be used.  The
error is raised as soon as the call is back in Python: by a pending call of Python's, since NumPy does not ask its loops
for errors.

Other threads of Python compute as if nothing had happened: Python gives signals to the main thread alone.  In other
interpreters than the first nothing is looked for, since they cannot be entered from here.

A call of one sample holds Python's global lock (GIL).  Where it takes long, it releases the lock for a moment every
`YIELD` nanoseconds, as Python does between bytecodes, so that the other threads go on.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from typing import Any

from linkwork.compiler.codegen.llvm_ir import Function
from linkwork.compiler.runtime.cpython import in_main_interpreter
from linkwork.compiler.runtime.threads import MOST_THREADS

__all__ = [
    "INTERVAL",
    "YIELD",
    "Interrupts",
    "attend_function",
    "begin_function",
    "ended_function",
    "enlist_function",
    "interrupts_address",
    "is_main_function",
]

INTERVAL = 50_000_000  # [ns] between two looks for signals: what takes less is not interrupted
YIELD = 5_000_000  # [ns] between two releases of the GIL: the interval at which Python's own threads take turns
_CURRENT = ("PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet")  # from Python 3.13 on, and until then
_FUNCTIONS = (
    "PyThread_get_thread_ident",
    "PyGILState_Ensure",
    "PyGILState_Release",
    "PyErr_CheckSignals",
    "PyErr_Fetch",
    "PyErr_NormalizeException",
    "Py_AddPendingCall",
    "PyObject_IsTrue",
    "PyGILState_GetThisThreadState",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
)


class Interrupts(ctypes.Structure):
    """What compiled code needs to look for signals, and leaves behind: one for the whole process."""

    _fields_ = [
        ("main", ctypes.c_uint64),  # the thread that looks; 0: none
        ("checked", ctypes.c_int64),  # when it last did [ns]
        ("interval", ctypes.c_int64),
        ("workers", ctypes.c_uint64 * MOST_THREADS),  # threads that share the main thread's batch; 0: a free place
        ("released", ctypes.c_int64),  # when compiled code last released the GIL [ns]
        ("pending", ctypes.c_int64),  # whether there is an error that is not raised yet
        ("type", ctypes.c_void_p),
        ("error", ctypes.c_void_p),
        ("traceback", ctypes.c_void_p),
        ("raiser", ctypes.c_void_p),
        ("current_state", ctypes.c_void_p),  # one of `_CURRENT`; null where there is none: the GIL is never released
        *((name, ctypes.c_void_p) for name in _FUNCTIONS),
    ]


class _Raiser:
    """Raises the error that is pending when Python asks whether this is true."""

    def __bool__(self) -> bool:
        if _interrupts.pending:
            _interrupts.pending = 0
            error = _taken(_interrupts.error)
            traceback = _taken(_interrupts.traceback) if _interrupts.traceback else None
            _taken(_interrupts.type)
            raise error.with_traceback(traceback)
        return False


def _taken(address: int) -> Any:
    """The object at an address, whose reference there is given up."""
    found = ctypes.cast(address, ctypes.py_object)
    value = found.value
    ctypes.pythonapi.Py_DecRef(found)
    return value


def _in_this_process() -> None:
    """The thread that forked is the main one of the new process, and has no workers."""
    _interrupts.workers[:] = [0] * MOST_THREADS
    _interrupts.main = threading.get_ident() if in_main_interpreter() else 0


_raiser = _Raiser()
_interrupts = Interrupts(interval=INTERVAL, raiser=id(_raiser))
for _name in _FUNCTIONS:
    setattr(_interrupts, _name, ctypes.cast(ctypes.pythonapi[_name], ctypes.c_void_p).value)
for _name in _CURRENT:
    if not _interrupts.current_state and hasattr(ctypes.pythonapi, _name):
        _interrupts.current_state = ctypes.cast(ctypes.pythonapi[_name], ctypes.c_void_p).value
if in_main_interpreter():
    _interrupts.main = threading.main_thread().ident or 0
for _kept in (_raiser, _interrupts):  # for good: compiled code may look at them as long as the process lives
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_kept))
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_this_process)


def interrupts_address() -> int:
    """Where compiled code finds all this, for as long as the process lives."""
    return ctypes.addressof(_interrupts)


class _Code:
    """A function of compiled code whose argument is `Interrupts`."""

    def __init__(self, head: str, end: str) -> None:
        self.f = Function(f"define internal {head}(ptr %interrupts)", "noinline #0", end=end)

    def at(self, name: str) -> str:
        return self.f.at("%interrupts", getattr(Interrupts, name).offset)

    def load(self, name: str, kind: str = "i64") -> str:
        return self.f.load(kind, self.at(name))

    def call(self, result: str, name: str, *arguments: str) -> str:
        """The value of one of Python's functions."""
        return self.f.let(f"call {result} {self.load(name, 'ptr')}({', '.join(arguments)})")

    def do(self, name: str, *arguments: str) -> None:
        self.f.do(f"call void {self.load(name, 'ptr')}({', '.join(arguments)})")

    def only_main(self, otherwise: str) -> None:
        """Go on only in the thread that looks for signals."""
        thread = self.call("i64", "PyThread_get_thread_ident")
        self.f.require(self.f.let(f"icmp eq i64 {thread}, {self.load('main')}"), otherwise)


def begin_function() -> Function:
    """``@begin(interrupts)``: a long batch begins, before which Python has looked for signals itself."""
    code = _Code("void @.begin", "ret void")
    code.only_main("end")
    code.f.store("i64", _clock(code.f), code.at("checked"))
    code.f.do("br label %end")
    code.f.label("end")
    return code.f


def attend_function() -> Function:
    """``@attend(interrupts)``: let other threads have the GIL and look for signals, if it is time to.

    It returns whether the work is to end.
    """
    code = _Code("i1 @.attend", "ret i1 false")
    f = code.f
    f.needs.append(called_off_function())
    now = _clock(f)
    with f.when(_is_due(code, "released", now, str(YIELD))):
        _release_lock(code, now)
    f.refuse(f.let("call i1 @.called_off(ptr %interrupts)"), "ended")
    code.only_main("no")
    f.require(_is_due(code, "checked", now, code.load("interval")), "no")
    f.store("i64", now, code.at("checked"))
    held = code.call("i32", "PyGILState_Ensure")
    f.require(f.let(f"icmp ne i32 {code.call('i32', 'PyErr_CheckSignals')}, 0"), "release")
    error = [f"ptr {code.at(name)}" for name in ("type", "error", "traceback")]
    code.do("PyErr_Fetch", *error)
    code.do("PyErr_NormalizeException", *error)
    f.store("i64", "1", code.at("pending"))
    truth, raiser = code.load("PyObject_IsTrue", "ptr"), code.load("raiser", "ptr")
    code.call("i32", "Py_AddPendingCall", f"ptr {truth}", f"ptr {raiser}")
    code.do("PyGILState_Release", f"i32 {held}")
    f.do("br label %ended")
    f.label("release")
    code.do("PyGILState_Release", f"i32 {held}")
    f.do("br label %no")
    f.label("ended")
    f.do("ret i1 true")
    f.label("no")
    return f


def called_off_function() -> Function:
    """``@called_off(interrupts)``: whether an error is pending that ends what this thread works at.

    It ends the work of the main thread, and of those that share a batch with it.
    """
    code = _Code("i1 @.called_off", "ret i1 false")
    f = code.f
    f.require(f.let(f"icmp ne i64 {code.load('pending')}, 0"), "no")
    thread = code.call("i64", "PyThread_get_thread_ident")
    f.refuse(f.let(f"icmp eq i64 {thread}, {code.load('main')}"), "yes")
    with f.loop(MOST_THREADS) as k:
        worker = f.load("i64", f.at(code.at("workers"), f.let(f"shl i64 {k}, 3")))
        f.refuse(f.let(f"icmp eq i64 {worker}, {thread}"), "yes")
    f.do("br label %no")
    f.label("yes")
    f.do("ret i1 true")
    f.label("no")
    return f


def is_main_function() -> Function:
    """``@is_main(interrupts)``: whether this is the thread that looks for signals."""
    code = _Code("i1 @.is_main", "ret i1 false")
    code.only_main("no")
    code.f.do("ret i1 true")
    code.f.label("no")
    return code.f


def enlist_function() -> Function:
    """``@enlist(interrupts)``: note that this thread shares the main thread's batch; it returns where it is noted."""
    code = _Code("ptr @.enlist", "ret ptr %place")
    f = code.f
    found = f.let("alloca ptr, align 8")
    thread = code.call("i64", "PyThread_get_thread_ident")
    with f.loop(MOST_THREADS) as k:
        place = f.at(code.at("workers"), f.let(f"shl i64 {k}, 3"))
        taken = f.let(f"cmpxchg ptr {place}, i64 0, i64 {thread} monotonic monotonic, align 8")
        f.store("ptr", place, found)
        f.refuse(f.let(f"extractvalue {{ i64, i1 }} {taken}, 1"), "found")
    f.store("ptr", "null", found)
    f.do("br label %found")
    f.label("found")
    f.do(f"%place = load ptr, ptr {found}, align 8")
    return f


def _is_due(code: _Code, last: str, now: str, interval: str) -> str:
    """Whether so many nanoseconds have passed since a time that is noted."""
    since = code.f.let(f"sub i64 {now}, {code.load(last)}")
    return code.f.let(f"icmp sge i64 {since}, {interval}")


def _release_lock(code: _Code, now: str) -> None:
    """Release the GIL for a moment, if this thread holds it.

    It does where Python's current thread state is this thread's own.  Until Python 3.11 the current one is that of the
    thread which holds the lock, later there is none in a thread that does not hold it.
    """
    f = code.f
    with f.when(f.let(f"icmp ne ptr {code.load('current_state', 'ptr')}, null")):
        own = code.call("ptr", "PyGILState_GetThisThreadState")
        current = code.call("ptr", "current_state")
        known = f.let(f"icmp ne ptr {own}, null")
        with f.when(f.all_of([known, f.let(f"icmp eq ptr {own}, {current}")])):
            f.store("i64", now, code.at("released"))
            state = code.call("ptr", "PyEval_SaveThread")
            code.do("PyEval_RestoreThread", f"ptr {state}")


def ended_function() -> Function:
    """``@ended(interrupts)``: whether this call is over, by an error that is raised when Python has it back."""
    code = _Code("i1 @.ended", "ret i1 false")
    code.f.require(code.f.let(f"icmp ne i64 {code.load('pending')}, 0"), "no")
    code.only_main("no")
    code.f.do("ret i1 true")
    code.f.label("no")
    return code.f


def _clock(f: Function) -> str:
    """The time [ns] from some moment on."""
    if sys.platform == "win32":
        f.declare("declare i64 @GetTickCount64()")
        return f.let(f"mul i64 {f.let('call i64 @GetTickCount64()')}, 1000000")
    f.declare("declare i32 @clock_gettime(i32, ptr)")
    place = f.let("alloca [2 x i64], align 16")
    f.let(f"call i32 @clock_gettime(i32 {time.CLOCK_MONOTONIC}, ptr {place})")
    seconds = f.let(f"mul i64 {f.load('i64', place)}, 1000000000")
    return f.let(f"add i64 {seconds}, {f.load('i64', f.at(place, 8))}")
