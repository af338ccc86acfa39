"""From a program to machine code in this process.

A program's code is one module of LLVM IR or, if it is long, several, which are compiled at the same time on the
processors there are.  What LLVM makes of a module is an object file, which can be kept and linked into another
process: addresses of this one are in none (see `fastcall`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ffi

from .._workers import run
from . import fastcall
from .held import held
from .ir import Text
from .llvm_lock import LLVM_LOCK, without_lock
from .loops import loop_function
from .program import Program
from .real import DOUBLE, Real
from .segments import plan
from .straight import Layout, block_function, sample_function, segment_function
from .target import Target

__all__ = ["MachineCode", "assembly", "emit", "link", "module_texts"]

_ONE_MODULE = 600  # instructions; of a longer program the code for vectors and that for one sample are two modules
_QUICKLY = 4_000_000  # characters of LLVM IR; more is compiled with fewer attempts to improve it, in half of the time


@dataclass(frozen=True)
class MachineCode:
    """Code in memory: the addresses of its entries hold as long as its owner lives."""

    loop: int  # NumPy's inner-loop function
    sample: int  # one sample of contiguous arrays
    fast: int  # the single call from Python, and the table of addresses it uses; 0 where there is none
    python_table: int
    size: int  # bytes of the processor's instructions
    owner: Any  # see `held`
    cached: bool = False  # whether it comes from the cache on disk
    seconds: float = 0.0  # that it took to trace and compile, perhaps in another process


def module_texts(program: Program, target: Target, real: Real = DOUBLE) -> list[str]:
    """The LLVM IR of everything that the program's kernel needs, a text for each module."""
    cut = plan(program)
    vectors, scalar = (Layout(cut, target, real, lanes) for lanes in (target.lanes_of(real), 1))
    main, texts = Text(), []
    if cut.segmented:
        for layout in (vectors, scalar):
            for k in range(len(cut.segments)):
                texts.append(Text())
                segment_function(texts[-1], layout, k)
    block_function(main, vectors)
    beside = main
    if len(program.instructions) > _ONE_MODULE and not cut.segmented:
        texts.append(beside := Text())
        arrays = len(program.inputs) + len(program.outputs)
        main.declare(f"declare i32 @sample({', '.join(['ptr'] * arrays)})")
    sample_function(beside, scalar)
    loop_function(main, vectors)
    if fastcall.available() and real is DOUBLE:
        fastcall.fast_function(main, program)
    return [_module(text, target) for text in (main, *texts)]


def _module(text: Text, target: Target) -> str:
    attributes = f'nounwind "prefer-vector-width"="{64 * target.lanes}" "probe-stack"="inline-asm"'
    return (
        f'target triple = "{target.triple}"\n{text}\n'
        f"attributes #0 = {{ {attributes} }}\nattributes #1 = {{ noinline cold {attributes} }}\n!0 = !{{}}\n"
    )


def emit(texts: Sequence[str], target: Target) -> list[bytes]:
    """An object file for each module."""
    return _all_emitted(texts, target, assembly=False)


def assembly(texts: Sequence[str], target: Target) -> str:
    """The processor's instructions, as text."""
    return "\n".join(text.decode() for text in _all_emitted(texts, target, assembly=True))


def _all_emitted(texts: Sequence[str], target: Target, *, assembly: bool) -> list[bytes]:
    """What LLVM makes of every module, several at a time."""
    level = 1 if sum(map(len, texts)) > _QUICKLY else 2
    return run([partial(_emitted, text, target, level, assembly=assembly) for text in texts])


def _emitted(text: str, target: Target, level: int, *, assembly: bool) -> bytes:
    """What LLVM makes of a module, in a context of its own, so that others may do the same at the same time."""
    with LLVM_LOCK:
        machine = target.machine(level)
        context = llvm.create_context()
        module = llvm.parse_assembly(text, context)
        module.data_layout = str(machine.target_data)
    try:
        with ffi.OutputString() as error:
            with without_lock():
                buffer = _emit_without_lock()(machine, module, int(not assembly), error)
            if not buffer:
                raise RuntimeError(f"LLVM could not compile a module: {error}")
        try:
            start, size = ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer)
            return ctypes.string_at(start, size)
        finally:
            ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)
    finally:
        module.close()
        context.close()


@cache
def _emit_without_lock() -> Any:
    """llvmlite's function that compiles a module, without the lock that llvmlite holds while it calls LLVM.

    LLVM itself compiles modules of different contexts at the same time; where llvmlite should come to look different,
    one waits for the other.
    """
    locked = ffi.lib.LLVMPY_TargetMachineEmitToMemory
    return getattr(locked, "_cfn", locked)


def link(objects: Sequence[bytes], target: Target, *, fast_call: bool) -> MachineCode:
    """Load object files; ``fast_call`` says whether the single call is among their functions."""
    with LLVM_LOCK:
        # an engine that compiles a module keeps it, and megabytes of what that took; one that links an object does not
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target.machine())
        size = 0
        for code in objects:
            file = llvm.ObjectFileRef.from_data(code)
            size += sum(section.size() for section in file.sections() if section.is_text())
            engine.add_object_file(file)
        engine.finalize_object()
        loop, sample = engine.get_function_address("loop"), engine.get_function_address("sample")
        table = engine.get_global_value_address("python") if fast_call else 0
        fast = engine.get_function_address("fast") if fast_call else 0
    return MachineCode(loop, sample, fast, table, size, held(engine))
