"""Ctrl-C, and Python's other threads, while compiled code works for long.

Python's own handler of a signal only notes that it came; what the user wants done (to raise KeyboardInterrupt, as a
rule) is done by the main thread when it is next in Python, and that may be minutes away.  So a batch on the main thread
is computed in parts of about a millisecond, and loops that may run long ask now and then (see `interrupt_functions`).
Where the last look is `INTERVAL` ago, ``PyErr_CheckSignals`` is called.  It runs handlers as Python would, those of
other signals too; where they return, the work goes on.  Where one raises, the work ends and its results are not to be
used.  The error is raised as soon as the call is back in Python: by a pending call of Python's, since NumPy does not
ask its loops for errors.

Other threads of Python compute as if nothing had happened: Python gives signals to the main thread alone.  In other
interpreters than the first nothing is looked for, since they cannot be entered from here.

A call of one sample holds Python's global lock (GIL).  Where it takes long, it releases the lock for a moment every
`YIELD` nanoseconds, as Python does between bytecodes, so that the other threads go on.
"""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any

from linkwork.compiler.runtime.cpython import in_main_interpreter
from linkwork.compiler.runtime.threads import MOST_THREADS

__all__ = ["INTERVAL", "YIELD", "Interrupts", "interrupts_address"]

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
    result = ctypes.cast(address, ctypes.py_object)
    value = result.value
    ctypes.pythonapi.Py_DecRef(result)
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
