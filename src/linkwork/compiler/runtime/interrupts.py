"""Handling of Ctrl-C, and of Python's other threads, during long compiled code.

Python's own signal handler only records a signal; the user's handler (which usually raises KeyboardInterrupt) runs when
the main thread is next in Python, possibly minutes later. So a batch on the main thread is computed in chunks of about
a millisecond, and long loops check from time to time (see `interrupt_functions`). If the last check was at least
`INTERVAL` ago, ``PyErr_CheckSignals`` is called. It runs handlers of all signals as Python would; if they return, the
work continues. If one raises, the work ends and its results are invalid. The error is raised as soon as the call is
back in Python: by a pending call of Python's, since NumPy does not check its loops for errors.

Other threads of Python compute without checks: Python delivers signals to the main thread only. In interpreters other
than the first there are no checks, since C code cannot enter them.

A call of one sample holds Python's global lock (GIL). A long call releases the lock for a moment every `YIELD`
nanoseconds, as Python does between bytecodes, so that the other threads can run.
"""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any

from linkwork.compiler.runtime.cpython import in_main_interpreter
from linkwork.compiler.runtime.threads import MAX_THREADS

__all__ = ["ADDRESS", "INTERVAL", "SYMBOL", "YIELD", "Interrupts", "interrupts_address"]

SYMBOL = "linkwork_attend"  # the function that code of long loops calls
ADDRESS = f"{SYMBOL}.interrupts"  # the variable of this function that has the address of `Interrupts`
INTERVAL = 50_000_000  # [ns] between two checks for signals: shorter work is not interrupted
YIELD = 5_000_000  # [ns] between two releases of the GIL: the interval at which Python's own threads take turns
_CURRENT = ("PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet")  # from Python 3.13 on, and before
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
    """State of the signal checks of compiled code, shared by the whole process."""

    _fields_ = [
        ("main", ctypes.c_uint64),  # the thread that checks for signals; 0: none
        ("checked", ctypes.c_int64),  # time of its last check [ns]
        ("interval", ctypes.c_int64),
        ("workers", ctypes.c_uint64 * MAX_THREADS),  # threads that share the main thread's batch; 0: unused entry
        ("released", ctypes.c_int64),  # time of the last release of the GIL [ns]
        ("pending", ctypes.c_int64),  # 1 if there is an error that is not raised yet
        ("type", ctypes.c_void_p),
        ("error", ctypes.c_void_p),
        ("traceback", ctypes.c_void_p),
        ("raiser", ctypes.c_void_p),
        ("current_state", ctypes.c_void_p),  # one of `_CURRENT`; null if neither exists: the GIL is then never released
        *((name, ctypes.c_void_p) for name in _FUNCTIONS),
    ]


class _Raiser:
    """An object that raises the pending error when Python evaluates its truth value."""

    def __bool__(self) -> bool:
        if _interrupts.pending:
            _interrupts.pending = 0
            error = _release(_interrupts.error)
            traceback = _release(_interrupts.traceback) if _interrupts.traceback else None
            _release(_interrupts.type)
            raise error.with_traceback(traceback)
        return False


def _release(address: int) -> Any:
    """Return the object at an address and release the reference."""
    result = ctypes.cast(address, ctypes.py_object)
    value = result.value
    ctypes.pythonapi.Py_DecRef(result)
    return value


def _after_fork() -> None:
    """Register the calling thread as the main thread of a forked process, and no other threads."""
    _interrupts.workers[:] = [0] * MAX_THREADS
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
for _object in (_raiser, _interrupts):  # never deleted: compiled code may read them as long as the process lives
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_object))
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def interrupts_address() -> int:
    """Return the address of the process's `Interrupts`, which lives as long as the process."""
    return ctypes.addressof(_interrupts)
