"""Batches that are shared between threads, in LLVM IR.

The threads live as long as the call. Each thread takes the next few samples that no other thread has taken, so a busy
core delays the other cores little.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from linkwork.compiler.codegen.llvm_ir import IrFunction
from linkwork.compiler.codegen.runtimes import ON_STACK, Runtime
from linkwork.compiler.codegen.target_system import System
from linkwork.compiler.runtime.loop_state import Call, State
from linkwork.compiler.runtime.threads import MAX_THREADS

__all__ = ["begin_notes", "has_failed", "note_failure", "range_memory", "sharing_functions"]

_SHARES = 8  # of a thread, in sequence
_STACK = 1 << 20  # [bytes] stack of a started thread: a system's default may be too small for the code
_RESERVED = 0x10000  # STACK_SIZE_PARAM_IS_A_RESERVATION: the size of the stack is its maximum
_ATTRIBUTES_BYTES = 256  # upper bound of the size of C's pthread_attr_t: 64 on Linux and macOS

# Offsets in the description of a batch that is shared between threads [bytes].
_ARGS, _STEPS, _N, _NEXT, _SHARE, _DATA, _NAN, _FAILED, _STREAMED, _OF_MAIN, _JOB_BYTES = (
    *(0, 8, 16, 24, 32, 40),
    *(48, 49, 50, 51, 64),
)


def sharing_functions(tile: int, longest: int, size: int, runtime: Runtime) -> tuple[IrFunction, ...]:
    """Return the LLVM functions by which ``@spread`` processes a long batch on several threads.

    The number of samples that a thread takes at once, a share, is a multiple of ``tile`` and at most ``longest``.
    ``size`` is the memory of a thread [bytes].
    """
    work = (_work(runtime.system),) if runtime.threads else ()
    return _shares(size, runtime), *work, _spread(tile, longest, runtime)


@contextmanager
def range_memory(f: IrFunction, size: int, data: str, runtime: Runtime) -> Iterator[str]:
    """Emit the allocation of a thread's memory for ``@range``, and its release after the body; yield its address.

    If no memory is available, the body is skipped, and the call is recorded as failed.
    """
    lent = f.load("ptr", f.at(data, Call.memory.offset)) if size > ON_STACK and runtime.sample_arguments else ""
    start, taken = runtime.memory(f, size, lent)
    if not taken:
        yield start
        return
    exists = f.let(f"icmp ne ptr {taken}, null")
    with f.when(exists):
        yield start
        runtime.release(f, taken)
    with f.unless(exists):
        note_failure(f)


def begin_notes(f: IrFunction) -> None:
    """Emit ``%nan``: two bytes that are set if an input is not finite, and if the call has failed."""
    f.do("%nan = alloca [2 x i8], align 8")
    f.store("i8", "0", "%nan")
    f.store("i8", "0", f.at("%nan", 1), 1)


def note_failure(f: IrFunction) -> None:
    """Emit code that records that the results of this call are invalid."""
    f.store("i8", "1", f.at("%nan", 1), 1)


def has_failed(f: IrFunction) -> str:
    """Emit the flag that `note_failure` sets."""
    return f.let(f"icmp ne i8 {f.load('i8', f.at('%nan', 1), 1)}, 0")


def _spread(tile: int, longest: int, runtime: Runtime) -> IrFunction:
    """Return the LLVM function ``@spread``, which processes a long batch in shares on several threads.

    There are up to ``wanted`` threads including the calling one. No other thread may be available. The calling thread
    checks for signals after each of its shares.
    """
    f = IrFunction(
        "define internal void @.spread(ptr %args, ptr %steps, i64 %n, i64 %wanted, ptr %data, ptr %nan, i1 %streamed)",
        "noinline #0",
    )
    job = f.let(f"alloca [{_JOB_BYTES} x i8], align 64")
    for kind, value, offset in (("ptr", "%args", _ARGS), ("ptr", "%steps", _STEPS), ("i64", "%n", _N)):
        f.store(kind, value, f.at(job, offset))
    f.store("i64", "0", f.at(job, _NEXT))
    f.store("ptr", "%data", f.at(job, _DATA))
    f.store("i8", "0", f.at(job, _NAN))
    f.store("i8", "0", f.at(job, _FAILED), 1)
    f.store("i8", f.let("zext i1 %streamed to i8"), f.at(job, _STREAMED), 1)
    shares = f.let(f"mul i64 %wanted, {_SHARES}")
    share = f.let(f"udiv i64 {f.let(f'udiv i64 %n, {shares}')}, {tile}")  # in tiles, so that none is split
    share = f.let(f"mul i64 {f.let(f'add i64 {share}, 1')}, {tile}")
    f.store("i64", f.let(f"call i64 @llvm.umin.i64(i64 {share}, i64 {longest // tile * tile})"), f.at(job, _SHARE))
    f.declare("declare i64 @llvm.umin.i64(i64, i64)")
    f.store("i8", f.let(f"zext i1 {runtime.begin_work(f)} to i8"), f.at(job, _OF_MAIN), 1)
    if runtime.threads:
        _with_threads(f, job, _Threads(runtime.system, f))
    else:
        f.do(f"call void @.shares(ptr {job}, i1 true)")
    with f.when(f.let(f"icmp ne i8 {f.load('i8', f.at(job, _NAN))}, 0")):
        f.store("i1", "true", "%nan")
    with f.when(f.let(f"icmp ne i8 {f.load('i8', f.at(job, _FAILED), 1)}, 0")):
        note_failure(f)
    return f


def _with_threads(f: IrFunction, job: str, threads: _Threads) -> None:
    """Emit the start of additional threads, the work, and the wait for them."""
    handles = f.let(f"alloca [{MAX_THREADS} x i64], align 8")
    started = f.let("alloca i64, align 8")
    f.store("i64", "0", started)
    few = f.let(f"icmp ult i64 %wanted, {MAX_THREADS}")
    extra_threads = f.let(f"sub i64 {f.let(f'select i1 {few}, i64 %wanted, i64 {MAX_THREADS}')}, 1")
    with f.loop(extra_threads):
        count = f.load("i64", started)
        with f.when(threads.start(f.at(handles, f.let(f"shl i64 {count}, 3")), job)):
            f.store("i64", f.let(f"add i64 {count}, 1"), started)
    threads.started()
    f.do(f"call void @.shares(ptr {job}, i1 true)")
    with f.loop(f.load("i64", started)) as k:
        threads.wait(f.load("i64", f.at(handles, f.let(f"shl i64 {k}, 3"))))


class _Threads:
    """Functions of the system that start threads, each with a handle of eight bytes, and wait for them."""

    def __init__(self, system: System, f: IrFunction) -> None:
        self._f, self._is_windows, self._attributes = f, system.name == "windows", ""
        if self._is_windows:
            f.declare("declare i64 @CreateThread(ptr, i64, ptr, ptr, i32, ptr)")
            f.declare("declare i32 @WaitForSingleObject(i64, i32)", "declare i32 @CloseHandle(i64)")
            return
        f.declare("declare i32 @pthread_create(ptr, ptr, ptr, ptr)", "declare i32 @pthread_join(i64, ptr)")
        f.declare("declare i32 @pthread_attr_init(ptr)", "declare i32 @pthread_attr_destroy(ptr)")
        f.declare("declare i32 @pthread_attr_setstacksize(ptr, i64)")
        self._attributes = f.let(f"alloca [{_ATTRIBUTES_BYTES} x i8], align 16")
        f.let(f"call i32 @pthread_attr_init(ptr {self._attributes})")
        f.let(f"call i32 @pthread_attr_setstacksize(ptr {self._attributes}, i64 {_STACK})")

    def start(self, handle: str, job: str) -> str:
        """Emit the start of a thread that works on ``job``; its handle is stored.  Return the flag of success."""
        f = self._f
        if self._is_windows:
            size = f"i64 {_STACK}, ptr @.work, ptr {job}, i32 {_RESERVED}"
            value = f.let(f"call i64 @CreateThread(ptr null, {size}, ptr null)")
            f.store("i64", value, handle)
            return f.let(f"icmp ne i64 {value}, 0")
        status = f.let(f"call i32 @pthread_create(ptr {handle}, ptr {self._attributes}, ptr @.work, ptr {job})")
        return f.let(f"icmp eq i32 {status}, 0")

    def started(self) -> None:
        """Emit the release of the resources that starting threads needed."""
        if not self._is_windows:
            self._f.let(f"call i32 @pthread_attr_destroy(ptr {self._attributes})")

    def wait(self, handle: str) -> None:
        """Emit the wait for the end of a thread, and the release of its handle."""
        if self._is_windows:
            self._f.let(f"call i32 @WaitForSingleObject(i64 {handle}, i32 -1)")
            self._f.let(f"call i32 @CloseHandle(i64 {handle})")
        else:
            self._f.let(f"call i32 @pthread_join(i64 {handle}, ptr null)")


def _work(system: System) -> IrFunction:
    """Return the LLVM function ``@work``, which an additional thread runs.

    The function's result, the exit code of a thread on Windows, has no meaning.

    The thread is registered, so that an error that ends the main thread's work ends its work too.
    """
    result, value = ("i32", "0") if system.name == "windows" else ("ptr", "null")
    f = IrFunction(f"define internal {result} @.work(ptr %job)", "noinline #0", end=f"ret {result} {value}")
    of_main = f.let(f"icmp ne i8 {f.load('i8', f.at('%job', _OF_MAIN), 1)}, 0")
    noted = f.let("alloca ptr, align 8")
    f.store("ptr", "null", noted)
    with f.when(of_main):
        interrupts = f.load("ptr", f.at(f.load("ptr", f.at("%job", _DATA)), State.interrupts.offset))
        f.store("ptr", f.let(f"call ptr @.enlist(ptr {interrupts})"), noted)
    f.do("call void @.shares(ptr %job, i1 false)")
    offset = f.load("ptr", noted)
    with f.unless(f.let(f"icmp eq ptr {offset}, null")):
        f.do(f"store atomic i64 0, ptr {offset} monotonic, align 8")
    return f


def _shares(size: int, runtime: Runtime) -> IrFunction:
    """Return the LLVM function ``@shares``, which processes shares of the samples until all are taken.

    A thread takes a share that no other thread has taken. The argument ``leads`` is true in the caller's thread. This
    thread checks for signals after each share, and marks all samples as taken if the work must end.
    """
    f = IrFunction("define internal void @.shares(ptr %job, i1 %leads)", "noinline #0")
    begin_notes(f)
    args, steps, data = (f.load("ptr", f.at("%job", offset)) for offset in (_ARGS, _STEPS, _DATA))
    n, share = (f.load("i64", f.at("%job", offset)) for offset in (_N, _SHARE))
    streamed = f.let(f"icmp ne i8 {f.load('i8', f.at('%job', _STREAMED), 1)}, 0")
    with range_memory(f, size, data, runtime) as memory_of_thread:
        _take_shares(f, (args, steps, data), n, share, f"i1 {streamed}, ptr {memory_of_thread}", runtime)
    for flag, offset in ((f.load("i1", "%nan"), _NAN), (has_failed(f), _FAILED)):
        with f.when(flag):
            f.do(f"store atomic i8 1, ptr {f.at('%job', offset)} monotonic, align 1")
    return f


def _take_shares(f: IrFunction, arrays: tuple[str, str, str], n: str, share: str, last: str, runtime: Runtime) -> None:
    """Emit the loop over shares; ``arrays`` and ``last`` are the first and the last arguments of ``@range``."""
    args, steps, data = arrays
    following = f.at("%job", _NEXT)
    f.do("br label %again")
    f.label("again")
    first = runtime.add(f, following, share)
    f.require(f.let(f"icmp slt i64 {first}, {n}"), "done")
    end = f.let(f"add i64 {first}, {share}")
    inside = f.let(f"icmp slt i64 {end}, {n}")
    stop = f.let(f"select i1 {inside}, i64 {end}, i64 {n}")
    f.do(f"call void @.range(ptr {args}, ptr {steps}, i64 {first}, i64 {stop}, ptr {data}, ptr %nan, {last})")
    f.require("%leads", "again")
    f.require(runtime.attend(f, data), "again")
    runtime.add(f, following, n)
    f.do("br label %again")
    f.label("done")
