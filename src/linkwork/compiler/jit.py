"""From a program to machine code in this process."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from . import fastcall
from .llvm import Text, block_function, sample_function
from .loops import loop_function
from .program import Program
from .target import LLVM_LOCK, Target

__all__ = ["MachineCode", "generate", "module_text"]


@dataclass(frozen=True)
class MachineCode:
    """Code in memory: the addresses of its entries live as long as this object."""

    loop: int  # NumPy's inner-loop function
    sample: int  # one sample of contiguous arrays
    fast: int  # the single call from Python, and the table of addresses it uses; 0 where there is none
    python_table: int
    seconds: float
    _engine: Any


def module_text(program: Program, target: Target) -> str:
    """The LLVM IR of everything that the program's kernel needs."""
    text = Text()
    block_function(text, program, target)
    sample_function(text, program, target)
    loop_function(text, program, target)
    if fastcall.available():
        fastcall.fast_function(text, program)
    attributes = f'nounwind "prefer-vector-width"="{64 * target.lanes}" "probe-stack"="inline-asm"'
    return (
        f'target triple = "{target.triple}"\n{text}\n'
        f"attributes #0 = {{ {attributes} }}\nattributes #1 = {{ noinline cold {attributes} }}\n"
    )


@cache
def _emitter(target: Target) -> Any:
    """The target machine that all kernels for a target are compiled with."""
    return target.machine()


def generate(program: Program, target: Target) -> MachineCode:
    """Machine code for the target, which must be able to run here."""
    start = time.perf_counter()
    text = module_text(program, target)
    with LLVM_LOCK:
        module = llvm.parse_assembly(text)
        emitter = _emitter(target)
        module.data_layout = str(emitter.target_data)
        # an engine that compiles a module keeps it, and megabytes of what that took; one that links an object does not
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target.machine())
        engine.add_object_file(llvm.ObjectFileRef.from_data(emitter.emit_object(module)))
        engine.finalize_object()
        loop, sample = engine.get_function_address("loop"), engine.get_function_address("sample")
        fast = table = 0
        if fastcall.available():
            fast, table = engine.get_function_address("fast"), engine.get_global_value_address("python")
    return MachineCode(loop, sample, fast, table, time.perf_counter() - start, engine)
