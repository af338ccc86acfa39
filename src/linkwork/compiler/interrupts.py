"""Ctrl-C while a long batch is computed: compiled code lets Python look for signals now and then.

Python's own handler of a signal only notes that it came; what the user wants done (to raise KeyboardInterrupt, as a
rule) is done by the main thread when it is next in Python, and that may be minutes away.  So a batch on the main thread
is computed in parts of about a millisecond, and between two of them, when the last look is `INTERVAL` ago,
``PyErr_CheckSignals`` is called.  It runs handlers as Python would, those of other signals too; where they return, the
batch goes on.  Where one raises, the batch ends, its results are not to be used, and the error is raised as soon as
NumPy's call is back in Python: a pending call of Python's does that, since NumPy does not ask its loops for errors.

Other threads of Python compute as if nothing had happened: Python gives signals to the main thread alone.  In other
interpreters than the first nothing is looked for, since they cannot be entered from here.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from typing import Any

from .interpreter import in_main_interpreter
from .ir import Function

__all__ = ["INTERVAL", "Interrupts", "attend_function", "begin_function", "ended_function", "interrupts_address"]

INTERVAL = 50_000_000  # nanoseconds between two looks: what takes less is not interrupted
_FUNCTIONS = (
    "PyThread_get_thread_ident",
    "PyGILState_Ensure",
    "PyGILState_Release",
    "PyErr_CheckSignals",
    "PyErr_Fetch",
    "PyErr_NormalizeException",
    "Py_AddPendingCall",
    "PyObject_IsTrue",
)


class Interrupts(ctypes.Structure):
    """What compiled code needs to look for signals, and leaves behind: one for the whole process."""

    _fields_ = [
        ("main", ctypes.c_uint64),  # the thread that looks; 0: none
        ("checked", ctypes.c_int64),  # when it last did [ns]
        ("interval", ctypes.c_int64),
        ("pending", ctypes.c_int64),  # whether there is an error that is not raised yet
        ("type", ctypes.c_void_p),
        ("error", ctypes.c_void_p),
        ("traceback", ctypes.c_void_p),
        ("raiser", ctypes.c_void_p),
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
    """The thread that forked is the main one of the new process."""
    _interrupts.main = threading.get_ident() if in_main_interpreter() else 0


_raiser = _Raiser()
_interrupts = Interrupts(interval=INTERVAL, raiser=id(_raiser))
for _name in _FUNCTIONS:
    setattr(_interrupts, _name, ctypes.cast(ctypes.pythonapi[_name], ctypes.c_void_p).value)
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
    """``@attend(interrupts)``: look for signals if it is time to, and whether the batch is to end."""
    code = _Code("i1 @.attend", "ret i1 false")
    f = code.f
    code.only_main("no")
    now = _clock(f)
    since = f.let(f"sub i64 {now}, {code.load('checked')}")
    f.require(f.let(f"icmp sge i64 {since}, {code.load('interval')}"), "no")
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
    f.do("ret i1 true")
    f.label("release")
    code.do("PyGILState_Release", f"i32 {held}")
    f.do("br label %no")
    f.label("no")
    return f


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
