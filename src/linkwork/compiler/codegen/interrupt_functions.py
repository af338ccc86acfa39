"""Compiled functions that check for signals and release the GIL: see `linkwork.compiler.runtime.interrupts`."""

from __future__ import annotations

from linkwork.compiler.codegen.llvm_ir import IrFunction
from linkwork.compiler.codegen.target_system import System
from linkwork.compiler.runtime.interrupts import YIELD, Interrupts
from linkwork.compiler.runtime.loop_state import REMEMBERED, State
from linkwork.compiler.runtime.threads import MAX_THREADS

__all__ = [
    "attend_function",
    "begin_function",
    "ended_function",
    "enlist_function",
    "failed_function",
    "is_main_function",
]


class _Code:
    """Builder of a compiled function whose first argument points to the `Interrupts` of this process."""

    def __init__(self, system: System, head: str, end: str, *parameters: str) -> None:
        self.system = system
        arguments = ", ".join(["ptr %interrupts", *parameters])
        self.f = IrFunction(f"define internal {head}({arguments})", "noinline #0", end=end)

    def at(self, name: str) -> str:
        return self.f.at("%interrupts", getattr(Interrupts, name).offset)

    def load(self, name: str, kind: str = "i64") -> str:
        return self.f.load(kind, self.at(name))

    def call(self, result: str, name: str, *arguments: str) -> str:
        """Emit a call of one of Python's functions and return its result."""
        return self.f.let(f"call {result} {self.load(name, 'ptr')}({', '.join(arguments)})")

    def do(self, name: str, *arguments: str) -> None:
        self.f.do(f"call void {self.load(name, 'ptr')}({', '.join(arguments)})")

    def thread(self) -> str:
        """Emit a call that returns Python's number of this thread, an unsigned long."""
        bits = self.system.long_bits
        number = self.call(f"i{bits}", "PyThread_get_thread_ident")
        return number if bits == 64 else self.f.let(f"zext i{bits} {number} to i64")

    def only_main(self, otherwise: str) -> None:
        """Emit a branch to ``otherwise`` unless this is the thread that checks for signals."""
        thread = self.thread()
        self.f.require(self.f.let(f"icmp eq i64 {thread}, {self.load('main')}"), otherwise)


def begin_function(system: System) -> IrFunction:
    """Return the LLVM function ``@begin(interrupts)``, which begins the wait for a check for signals.

    A long batch calls it at its start, just after Python itself has checked for signals.
    """
    code = _Code(system, "void @.begin", "ret void")
    code.only_main("end")
    code.f.store("i64", _clock(code), code.at("checked"))
    code.f.do("br label %end")
    code.f.label("end")
    return code.f


def attend_function(system: System) -> IrFunction:
    """Return the LLVM function ``@attend(interrupts)``, which checks for signals at intervals.

    It also lets other threads have the GIL at intervals.  It returns true if the work has to end.
    """
    code = _Code(system, "i1 @.attend", "ret i1 false")
    f = code.f
    f.needs.append(called_off_function(system))
    now = _clock(code)
    with f.when(_is_due(code, "released", now, str(YIELD))):
        _release_lock(code, now)
    f.refuse(f.let("call i1 @.called_off(ptr %interrupts)"), "ended")
    code.only_main("no")
    f.require(_is_due(code, "checked", now, code.load("interval")), "no")
    f.store("i64", now, code.at("checked"))
    gil_state = code.call("i32", "PyGILState_Ensure")
    f.require(f.let(f"icmp ne i32 {code.call('i32', 'PyErr_CheckSignals')}, 0"), "release")
    error = [f"ptr {code.at(name)}" for name in ("type", "error", "traceback")]
    code.do("PyErr_Fetch", *error)
    code.do("PyErr_NormalizeException", *error)
    f.store("i64", "1", code.at("pending"))
    _raise_later(code)
    code.do("PyGILState_Release", f"i32 {gil_state}")
    f.do("br label %ended")
    f.label("release")
    code.do("PyGILState_Release", f"i32 {gil_state}")
    f.do("br label %no")
    f.label("ended")
    f.do("ret i1 true")
    f.label("no")
    return f


def _raise_later(code: _Code) -> None:
    """Emit a request that Python raises the pending error when it executes the next bytecode."""
    truth, raiser = code.load("PyObject_IsTrue", "ptr"), code.load("raiser", "ptr")
    code.call("i32", "Py_AddPendingCall", f"ptr {truth}", f"ptr {raiser}")


def called_off_function(system: System) -> IrFunction:
    """Return the LLVM function ``@called_off(interrupts)``: true if an error ends this thread's work.

    A pending error ends the work of the main thread, and of the threads that share a batch with it.
    """
    code = _Code(system, "i1 @.called_off", "ret i1 false")
    f = code.f
    f.require(f.let(f"icmp ne i64 {code.load('pending')}, 0"), "no")
    thread = code.thread()
    f.refuse(f.let(f"icmp eq i64 {thread}, {code.load('main')}"), "yes")
    with f.loop(MAX_THREADS) as k:
        worker = f.load("i64", f.at(code.at("workers"), f.let(f"shl i64 {k}, 3")))
        f.refuse(f.let(f"icmp eq i64 {worker}, {thread}"), "yes")
    f.do("br label %no")
    f.label("yes")
    f.do("ret i1 true")
    f.label("no")
    return f


def is_main_function(system: System) -> IrFunction:
    """Return the LLVM function ``@is_main(interrupts)``: true in the thread that checks for signals."""
    code = _Code(system, "i1 @.is_main", "ret i1 false")
    code.only_main("no")
    code.f.do("ret i1 true")
    code.f.label("no")
    return code.f


def enlist_function(system: System) -> IrFunction:
    """Return the LLVM function ``@enlist(interrupts)``, which registers a thread that shares the main thread's batch.

    ``@enlist`` returns the address of the thread's entry in the list of threads, or null if the list is full.
    """
    code = _Code(system, "ptr @.enlist", "ret ptr %position")
    f = code.f
    result = f.let("alloca ptr, align 8")
    thread = code.thread()
    with f.loop(MAX_THREADS) as k:
        entry = f.at(code.at("workers"), f.let(f"shl i64 {k}, 3"))
        exchange = f.let(f"cmpxchg ptr {entry}, i64 0, i64 {thread} monotonic monotonic, align 8")
        f.store("ptr", entry, result)
        f.refuse(f.let(f"extractvalue {{ i64, i1 }} {exchange}, 1"), "found")
    f.store("ptr", "null", result)
    f.do("br label %found")
    f.label("found")
    f.do(f"%position = load ptr, ptr {result}, align 8")
    return f


def failed_function(system: System) -> IrFunction:
    """Return the LLVM function ``@failed(interrupts, state)``, which counts a failed call and notes its thread."""
    code = _Code(system, "void @.failed", "ret void", "ptr %state")
    f = code.f
    count = f.let(f"atomicrmw add ptr {f.at('%state', State.failed_calls.offset)}, i64 1 monotonic")
    index = f.let(f"and i64 {count}, {REMEMBERED - 1}")
    f.store("i64", code.thread(), f.at(f.at("%state", State.failed_threads.offset), f.let(f"shl i64 {index}, 3")))
    return f


def _is_due(code: _Code, last: str, now: str, interval: str) -> str:
    """Emit a comparison of the time since ``last`` with an interval [ns]; return its flag.

    The flag is true if at least ``interval`` nanoseconds have passed since the stored time ``last``.
    """
    since = code.f.let(f"sub i64 {now}, {code.load(last)}")
    return code.f.let(f"icmp sge i64 {since}, {interval}")


def _release_lock(code: _Code, now: str) -> None:
    """Emit a short release of the GIL, if this thread holds it.

    A thread holds the GIL if Python's current thread state is that thread's own state. Until Python 3.11 the current
    state belongs to the thread that holds the GIL; in later versions a thread without the GIL has no current state.
    """
    f = code.f
    with f.when(f.let(f"icmp ne ptr {code.load('current_state', 'ptr')}, null")):
        thread_state = code.call("ptr", "PyGILState_GetThisThreadState")
        current = code.call("ptr", "current_state")
        known = f.let(f"icmp ne ptr {thread_state}, null")
        with f.when(f.all_of([known, f.let(f"icmp eq ptr {thread_state}, {current}")])):
            f.store("i64", now, code.at("released"))
            state = code.call("ptr", "PyEval_SaveThread")
            code.do("PyEval_RestoreThread", f"ptr {state}")


def ended_function(system: System) -> IrFunction:
    """Return the LLVM function ``@ended(interrupts)``: true if an error has ended the main thread's call.

    Python has not raised the error yet.  The function requests it again, because an interrupt may have ended the
    earlier attempt to raise it.
    """
    code = _Code(system, "i1 @.ended", "ret i1 false")
    code.f.require(code.f.let(f"icmp ne i64 {code.load('pending')}, 0"), "no")
    code.only_main("no")
    _raise_later(code)
    code.f.do("ret i1 true")
    code.f.label("no")
    return code.f


def _clock(code: _Code) -> str:
    """Emit the monotonic time [ns]."""
    f = code.f
    if code.system.name == "windows":
        f.declare("declare i64 @GetTickCount64()")
        return f.let(f"mul i64 {f.let('call i64 @GetTickCount64()')}, 1000000")
    f.declare("declare i32 @clock_gettime(i32, ptr)")
    entry = f.let("alloca [2 x i64], align 16")
    f.let(f"call i32 @clock_gettime(i32 {code.system.monotonic_clock}, ptr {entry})")
    seconds = f.let(f"mul i64 {f.load('i64', entry)}, 1000000000")
    return f.let(f"add i64 {seconds}, {f.load('i64', f.at(entry, 8))}")
