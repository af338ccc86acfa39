"""Interface between compiled code and the program that calls it: requests to end, memory, and reports of failures.

`PythonRuntime` is for calls by NumPy and Python in this process: long work checks for signals, lets other threads have
the GIL, and shares a batch between threads; a kernel's `State` counts what went wrong.

`PlainRuntime` is for any caller, such as a C program or a handler of another framework.  The code calls nothing and has
no address of this process.  Each call has its own record, a `Call`, with counters, memory, and a flag by which the
caller can end a batch.  ``@sample`` and ``@loop`` return a status.  A sample's loop ends at the latest after its
maximum number of iterations.

`Target.runtime` names the version.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, ClassVar

from linkwork._util.thread_tasks import in_main_interpreter
from linkwork.compiler.codegen.interrupt_functions import (
    attend_function,
    begin_function,
    ended_function,
    enlist_function,
    failed_function,
    is_main_function,
)
from linkwork.compiler.codegen.llvm_ir import IrFunction, IrModule
from linkwork.compiler.codegen.target import Target
from linkwork.compiler.codegen.target_system import System
from linkwork.compiler.runtime.loop_state import Call, State

__all__ = [
    "ENDED",
    "NO_MEMORY",
    "OFF",
    "ON_STACK",
    "PlainRuntime",
    "PythonRuntime",
    "Runtime",
    "restore_flags",
    "runtime_of",
    "save_flags",
    "set_default_flags",
]

NO_MEMORY, OFF, ENDED = 1, 2, 3  # status: nothing was computed; a guard is greater than zero; the caller ended a batch
ON_STACK = 1 << 14  # [bytes] maximum on a thread's stack, whose total may be 128 KiB


class Runtime(ABC):
    """Interface between compiled code and its caller; each method emits the code of one service, such as memory.

    ``data`` is the last argument of ``@loop``: the address of a `Call`, or of a `State`, which begins with one.
    """

    result: ClassVar[str]  # the type that ``@loop`` returns
    sample_arguments: ClassVar[tuple[str, ...]]  # of ``@sample``, after the arrays
    attends: bool  # True if long loops of a sample call `linkwork.compiler.runtime.interrupts.SYMBOL`
    threads: bool  # True if a batch may be shared between threads

    def __init__(self, system: System) -> None:
        self.system = system

    @abstractmethod
    def functions(self) -> Sequence[IrFunction]:
        """Return the functions that a module with a batch loop needs."""

    @abstractmethod
    def begin_call(self, f: IrFunction, target: Target) -> Callable[[], None]:
        """Emit the beginning of a batch's call, with a branch to the label "end" if the caller has ended the work.

        Returns a function that emits the end of the call, after that label.
        """

    @abstractmethod
    def begin_work(self, f: IrFunction) -> str:
        """Emit the beginning of a long computation.

        Return the flag that is true in the thread whose work `attend` may end.
        """

    @abstractmethod
    def attend(self, f: IrFunction, data: str) -> str:
        """Emit a check of the caller's signals; return the flag that is true if the work has to end."""

    @abstractmethod
    def end_batch(self, f: IrFunction, count: str, longest: int) -> None:
        """Emit a check for the caller's signals at the end of a call, due after ``longest`` samples of all calls.

        ``count`` is the number of samples of this call.
        """

    @abstractmethod
    def add(self, f: IrFunction, address: str, number: str) -> str:
        """Emit the addition of a number to an integer in memory; return the integer's old value."""

    @abstractmethod
    def memory(self, f: IrFunction, size: int, lent: str) -> tuple[str, str]:
        """Emit code that provides ``size`` bytes of aligned memory; return its address, and a pointer for `release`.

        The pointer is null if no memory is available, and "" for memory on the stack.  ``lent`` is memory that the
        caller provides, if any.
        """

    @abstractmethod
    def release(self, f: IrFunction, taken: str) -> None:
        """Emit the release of memory, by the pointer that `memory` returned."""

    @abstractmethod
    def lent(self, f: IrFunction, used: int) -> tuple[str, ...]:
        """Emit and return the arguments by which a batch lends memory to ``@sample``; they follow the arrays.

        The batch itself uses the first ``used`` bytes of the caller's memory, so ``@sample`` gets the memory after
        them.
        """

    def count(self, f: IrFunction, field: Any) -> None:
        """Emit an increment of a counter of `Call`."""
        self.add(f, f.at("%data", field.offset), "1")

    def off(self, f: IrFunction) -> None:
        """Emit code that records that a guard is greater than zero in a sample."""
        self.count(f, Call.off_calls)

    @abstractmethod
    def failed(self, f: IrFunction) -> None:
        """Emit code that records once per call that its results are invalid."""

    @abstractmethod
    def clear(self, f: IrFunction, start: str, size: int, width: int) -> None:
        """Emit zeros in memory of ``size`` bytes, a multiple of ``width``."""

    @abstractmethod
    def state_memory(self, text: IrModule, part: str, size: int) -> None:
        """Declare the size of the memory that a caller lends to a part of the code, if there is any."""


class PythonRuntime(Runtime):
    """Interface between compiled code and NumPy and Python, which call it in this process."""

    result, sample_arguments, threads = "void", (), True

    @property
    def attends(self) -> bool:  # type: ignore[override]  # C code cannot enter other interpreters
        return in_main_interpreter()

    def functions(self) -> Sequence[IrFunction]:
        signals = begin_function, attend_function, ended_function, is_main_function, enlist_function, failed_function
        return [function(self.system) for function in signals]

    def begin_call(self, f: IrFunction, target: Target) -> Callable[[], None]:
        flags = save_flags(f, target)
        ended = f.let(f"call i1 @.ended(ptr {self.interrupts(f)})")
        f.require(f.let(f"icmp eq i1 {ended}, false"), "end")
        return lambda: restore_flags(f, target, flags)

    def begin_work(self, f: IrFunction) -> str:
        interrupts = self.interrupts(f)
        f.do(f"call void @.begin(ptr {interrupts})")
        return f.let(f"call i1 @.is_main(ptr {interrupts})")

    def attend(self, f: IrFunction, data: str) -> str:
        return f.let(f"call i1 @.attend(ptr {self.interrupts(f, data)})")

    def end_batch(self, f: IrFunction, count: str, longest: int) -> None:
        at = f.at("%data", State.done.offset)  # NumPy may call repeatedly
        done = f.let(f"add i64 {f.load('i64', at)}, {count}")
        much = f.let(f"icmp ugt i64 {done}, {longest}")
        f.store("i64", f.let(f"select i1 {much}, i64 0, i64 {done}"), at)
        with f.when(much):
            self.attend(f, "%data")

    def failed(self, f: IrFunction) -> None:
        f.do(f"call void @.failed(ptr {self.interrupts(f)}, ptr %data)")

    def add(self, f: IrFunction, address: str, number: str) -> str:
        return f.let(f"atomicrmw add ptr {address}, i64 {number} monotonic")

    def memory(self, f: IrFunction, size: int, lent: str) -> tuple[str, str]:
        if size <= ON_STACK:
            return f.let(f"alloca [{size} x i8], align 64"), ""
        f.declare("declare ptr @malloc(i64)", "declare void @free(ptr)")
        taken = f.let(f"call ptr @malloc(i64 {size + 63})")
        return _aligned(f, taken), taken

    def release(self, f: IrFunction, taken: str) -> None:
        if taken:
            f.do(f"call void @free(ptr {taken})")

    def lent(self, f: IrFunction, used: int) -> tuple[str, ...]:
        return ()

    def clear(self, f: IrFunction, start: str, size: int, width: int) -> None:
        f.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        f.do(f"call void @llvm.memset.p0.i64(ptr align {width} {start}, i8 0, i64 {size}, i1 false)")

    def state_memory(self, text: IrModule, part: str, size: int) -> None:
        pass

    def interrupts(self, f: IrFunction, data: str = "%data") -> str:
        """Emit a load of the address of `Interrupts`."""
        return f.load("ptr", f.at(data, State.interrupts.offset))


class PlainRuntime(Runtime):
    """Interface between compiled code and any calling program, without Python; each call has its own record `Call`.

    Inside ``@loop`` the processor rounds to nearest and computes with denormal numbers, whatever the caller has set.
    Afterwards the caller's settings and flags are restored.
    """

    result, sample_arguments = "i32", ("%memory",)
    attends = threads = False

    def functions(self) -> Sequence[IrFunction]:
        return ()

    def begin_call(self, f: IrFunction, target: Target) -> Callable[[], None]:
        flags = save_flags(f, target)
        set_default_flags(f, target)
        for field in (Call.not_finite_calls, Call.off_calls, Call.failed_calls):
            f.store("i64", "0", f.at("%data", field.offset))

        def end() -> None:
            restore_flags(f, target, flags)
            status = "0"
            for field, value in ((Call.off_calls, OFF), (Call.failed_calls, NO_MEMORY)):
                is_set = f.let(f"icmp ne i64 {f.load('i64', f.at('%data', field.offset))}, 0")
                status = f.let(f"select i1 {is_set}, i32 {value}, i32 {status}")
            status = f.let(f"select i1 {self.attend(f, '%data')}, i32 {ENDED}, i32 {status}")
            f.end = f"ret i32 {status}"

        f.refuse(self.attend(f, "%data"), "end")
        return end

    def begin_work(self, f: IrFunction) -> str:
        return "false"

    def attend(self, f: IrFunction, data: str) -> str:
        stop = f.let(f"load volatile i64, ptr {f.at(data, Call.stop.offset)}, align 8")
        return f.let(f"icmp ne i64 {stop}, 0")

    def end_batch(self, f: IrFunction, count: str, longest: int) -> None:
        pass

    def failed(self, f: IrFunction) -> None:
        self.count(f, Call.failed_calls)

    def add(self, f: IrFunction, address: str, number: str) -> str:
        before = f.load("i64", address)
        f.store("i64", f.let(f"add i64 {before}, {number}"), address)
        return before

    def memory(self, f: IrFunction, size: int, lent: str) -> tuple[str, str]:
        if size <= ON_STACK:
            return f.let(f"alloca [{size} x i8], align 64"), ""
        return _aligned(f, lent), lent

    def release(self, f: IrFunction, taken: str) -> None:
        pass

    def lent(self, f: IrFunction, used: int) -> tuple[str, ...]:
        memory = f.load("ptr", f.at("%data", Call.memory.offset))
        is_null = f.let(f"icmp eq ptr {memory}, null")
        return (f.let(f"select i1 {is_null}, ptr null, ptr {f.at(memory, _lent_bytes(used))}"),)

    def clear(self, f: IrFunction, start: str, size: int, width: int) -> None:
        with f.loop(size, step=width) as offset:
            f.store(f"i{8 * width}", "0", f.at(start, offset), width)

    def state_memory(self, text: IrModule, part: str, size: int) -> None:
        text.declare(f"@.{part}.memory = constant i64 {_lent_bytes(size)}")


def _lent_bytes(size: int) -> int:
    """Return the number of bytes that a caller must lend, at any alignment, for aligned memory of ``size`` bytes."""
    return size + 63 if size > ON_STACK else 0


def _aligned(f: IrFunction, start: str) -> str:
    """Emit the first address from ``start`` on that is a multiple of 64."""
    minus = f.let(f"sub i64 0, {f.let(f'ptrtoint ptr {start} to i64')}")
    return f.at(start, f.let(f"and i64 {minus}, 63"))


_RUNTIMES: dict[str, type[Runtime]] = {"python": PythonRuntime, "plain": PlainRuntime}


def runtime_of(target: Target) -> Runtime:
    """Return the interface between compiled code and its caller that a target names, for its operating system."""
    return _runtime(target.runtime, target.system)


@cache
def _runtime(name: str, system: System) -> Runtime:
    return _RUNTIMES[name](system)


def save_flags(f: IrFunction, target: Target) -> str:
    """Save the processor's floating-point flags; has no effect on unknown processors."""
    if target.triple.startswith("x86_64"):
        f.declare("declare void @llvm.x86.sse.stmxcsr(ptr)", "declare void @llvm.x86.sse.ldmxcsr(ptr)")
        saved = f.let("alloca i32, align 4")
        f.do(f"call void @llvm.x86.sse.stmxcsr(ptr {saved})")
        return saved
    if target.triple.startswith(("aarch64", "arm64")):
        f.declare("declare i64 @llvm.aarch64.get.fpsr()", "declare void @llvm.aarch64.set.fpsr(i64)")
        return f.let("call i64 @llvm.aarch64.get.fpsr()")
    return ""


_DEFAULT_MXCSR = 0x1F80  # all exceptions masked, round to nearest, denormal numbers


def set_default_flags(f: IrFunction, target: Target) -> None:
    """Emit code that sets rounding to nearest and enables denormal numbers, the state in which C programs begin.

    It must follow `save_flags`.
    """
    if target.triple.startswith("x86_64"):
        setting = f.let("alloca i32, align 4")
        f.store("i32", str(_DEFAULT_MXCSR), setting, 4)
        f.do(f"call void @llvm.x86.sse.ldmxcsr(ptr {setting})")


def restore_flags(f: IrFunction, target: Target, saved: str) -> None:
    """Restore the flags that `save_flags` returned."""
    if target.triple.startswith("x86_64"):
        f.do(f"call void @llvm.x86.sse.ldmxcsr(ptr {saved})")
    elif saved:
        f.do(f"call void @llvm.aarch64.set.fpsr(i64 {saved})")
