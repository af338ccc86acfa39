"""Batches that are shared between threads, in LLVM IR.

The threads live as long as the call. Each takes the next few samples that no thread has taken, so that a busy core
delays the others little.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from linkwork.compiler.codegen.llvm_ir import IrFunction
from linkwork.compiler.codegen.straight_line import memory
from linkwork.compiler.runtime.loop_state import State
from linkwork.compiler.runtime.threads import MAX_THREADS

__all__ = ["count_call", "range_memory", "sharing_functions", "threads_available"]

_SHARES = 8  # of a thread, in sequence
_STACK = 1 << 20  # [bytes] stack of a started thread: a system's default may be too small for the code
_ATTRIBUTES_BYTES = 256  # upper bound of the size of C's pthread_attr_t: 64 on Linux and macOS

# Offsets in the description of a batch that is shared between threads [bytes].
_ARGS, _STEPS, _N, _NEXT, _SHARE, _DATA, _NAN, _STREAMED, _OF_MAIN, _JOB_BYTES = 0, 8, 16, 24, 32, 40, 48, 49, 50, 64


def threads_available() -> bool:
    """Return True if the loops can start threads: the C library has POSIX threads."""
    return sys.platform != "win32"


def sharing_functions(tile: int, longest: int, size: int) -> tuple[IrFunction, ...]:
    """Return the LLVM functions by which ``@spread`` processes a long batch on several threads.

    A share is a multiple of ``tile`` samples, and at most ``longest``.  ``size`` is the memory of a thread [bytes].
    """
    return _shares(size), _work(), _spread(tile, longest)


@contextmanager
def range_memory(f: IrFunction, size: int, data: str) -> Iterator[str]:
    """Emit the allocation of a thread's memory for ``@range``, and its release after the body; yield its address.

    If there is no memory, the body is skipped, and a counter of the state ``data`` is incremented.
    """
    start, taken = memory(f, size)
    if not taken:
        yield start
        return
    exists = f.let(f"icmp ne ptr {taken}, null")
    with f.when(exists):
        yield start
        f.do(f"call void @free(ptr {taken})")
    with f.unless(exists):
        count_call(f, State.failed_calls, data)


def count_call(f: IrFunction, field: Any, data: str = "%data") -> None:
    """Emit an increment of a field of the state."""
    f.let(f"atomicrmw add ptr {f.at(data, field.offset)}, i64 1 monotonic")


def _spread(tile: int, longest: int) -> IrFunction:
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
    f.store("i8", f.let("zext i1 %streamed to i8"), f.at(job, _STREAMED), 1)
    shares = f.let(f"mul i64 %wanted, {_SHARES}")
    share = f.let(f"udiv i64 {f.let(f'udiv i64 %n, {shares}')}, {tile}")  # in tiles, so that none is split
    share = f.let(f"mul i64 {f.let(f'add i64 {share}, 1')}, {tile}")
    f.store("i64", f.let(f"call i64 @llvm.umin.i64(i64 {share}, i64 {longest // tile * tile})"), f.at(job, _SHARE))
    f.declare("declare i64 @llvm.umin.i64(i64, i64)")
    interrupts = f.load("ptr", f.at("%data", State.interrupts.offset))
    f.do(f"call void @.begin(ptr {interrupts})")
    f.store("i8", f.let(f"zext i1 {f.let(f'call i1 @.is_main(ptr {interrupts})')} to i8"), f.at(job, _OF_MAIN), 1)
    if threads_available():
        _with_threads(f, job)
    else:
        f.do(f"call void @.shares(ptr {job}, i1 true)")
    with f.when(f.let(f"icmp ne i8 {f.load('i8', f.at(job, _NAN))}, 0")):
        f.store("i1", "true", "%nan")
    return f


def _with_threads(f: IrFunction, job: str) -> None:
    """Emit the start of additional threads, the work, and the wait for them."""
    f.declare("declare i32 @pthread_create(ptr, ptr, ptr, ptr)", "declare i32 @pthread_join(i64, ptr)")
    f.declare("declare i32 @pthread_attr_init(ptr)", "declare i32 @pthread_attr_destroy(ptr)")
    f.declare("declare i32 @pthread_attr_setstacksize(ptr, i64)")
    handles = f.let(f"alloca [{MAX_THREADS} x i64], align 8")
    started = f.let("alloca i64, align 8")
    f.store("i64", "0", started)
    attributes = f.let(f"alloca [{_ATTRIBUTES_BYTES} x i8], align 16")
    f.let(f"call i32 @pthread_attr_init(ptr {attributes})")
    f.let(f"call i32 @pthread_attr_setstacksize(ptr {attributes}, i64 {_STACK})")
    few = f.let(f"icmp ult i64 %wanted, {MAX_THREADS}")
    others = f.let(f"sub i64 {f.let(f'select i1 {few}, i64 %wanted, i64 {MAX_THREADS}')}, 1")
    with f.loop(others):
        count = f.load("i64", started)
        handle = f.at(handles, f.let(f"shl i64 {count}, 3"))
        status = f.let(f"call i32 @pthread_create(ptr {handle}, ptr {attributes}, ptr @.work, ptr {job})")
        with f.when(f.let(f"icmp eq i32 {status}, 0")):
            f.store("i64", f.let(f"add i64 {count}, 1"), started)
    f.let(f"call i32 @pthread_attr_destroy(ptr {attributes})")
    f.do(f"call void @.shares(ptr {job}, i1 true)")
    with f.loop(f.load("i64", started)) as k:
        handle = f.load("i64", f.at(handles, f.let(f"shl i64 {k}, 3")))
        f.let(f"call i32 @pthread_join(i64 {handle}, ptr null)")


def _work() -> IrFunction:
    """Return the LLVM function ``@work``, which an additional thread runs.

    The thread is registered, so that an error that ends the main thread's work ends its work too.
    """
    f = IrFunction("define internal ptr @.work(ptr %job)", "noinline #0", end="ret ptr null")
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


def _shares(size: int) -> IrFunction:
    """Return the LLVM function ``@shares``, which processes shares of the samples until all are taken.

    A thread takes a share that no other thread has taken. The thread that ``leads`` is the caller's. It checks for
    signals after each share, and marks all samples as taken if the work has to end.
    """
    f = IrFunction("define internal void @.shares(ptr %job, i1 %leads)", "noinline #0")
    f.do("%nan = alloca i1, align 8")
    f.store("i1", "false", "%nan")
    args, steps, data = (f.load("ptr", f.at("%job", offset)) for offset in (_ARGS, _STEPS, _DATA))
    n, share = (f.load("i64", f.at("%job", offset)) for offset in (_N, _SHARE))
    streamed = f.let(f"icmp ne i8 {f.load('i8', f.at('%job', _STREAMED), 1)}, 0")
    with range_memory(f, size, data) as memory_of_thread:
        _take_shares(f, (args, steps, data), n, share, f"i1 {streamed}, ptr {memory_of_thread}")
    with f.when(f.load("i1", "%nan")):
        f.do(f"store atomic i8 1, ptr {f.at('%job', _NAN)} monotonic, align 1")
    return f


def _take_shares(f: IrFunction, arrays: tuple[str, str, str], n: str, share: str, last: str) -> None:
    """Emit the loop over shares; ``arrays`` and ``last`` are the first and the last arguments of ``@range``."""
    args, steps, data = arrays
    following = f.at("%job", _NEXT)
    f.do("br label %again")
    f.label("again")
    first = f.let(f"atomicrmw add ptr {following}, i64 {share} monotonic")
    f.require(f.let(f"icmp slt i64 {first}, {n}"), "done")
    end = f.let(f"add i64 {first}, {share}")
    inside = f.let(f"icmp slt i64 {end}, {n}")
    stop = f.let(f"select i1 {inside}, i64 {end}, i64 {n}")
    f.do(f"call void @.range(ptr {args}, ptr {steps}, i64 {first}, i64 {stop}, ptr {data}, ptr %nan, {last})")
    f.require("%leads", "again")
    ended = f.let(f"call i1 @.attend(ptr {f.load('ptr', f.at(data, State.interrupts.offset))})")
    f.require(ended, "again")
    f.do(f"store atomic i64 {n}, ptr {following} monotonic, align 8")
    f.do("br label %again")
    f.label("done")
