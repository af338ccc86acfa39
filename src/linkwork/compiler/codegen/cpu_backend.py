"""The CPU's backend: LLVM IR, object files linked into this process, entries for NumPy and CPython."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from linkwork._util.lazy_dataclass import dataclass
from linkwork.compiler.backend import Backend, Claim, Module, symbol_prefix
from linkwork.compiler.codegen import background_emit, entry_points
from linkwork.compiler.codegen.background_emit import Job
from linkwork.compiler.codegen.background_emit import wait_for_compiler as wait_for_compiler
from linkwork.compiler.codegen.float_type import FloatType
from linkwork.compiler.codegen.jit import MachineCode, assembly, emit, link, text_bytes
from linkwork.compiler.codegen.target import EFFORT, Target, host, processor
from linkwork.compiler.codegen.target_system import is_object_file
from linkwork.compiler.runtime import fastcall
from linkwork.compiler.runtime.interrupts import interrupts_address
from linkwork.compiler.runtime.loop_state import State
from linkwork.compiler.runtime.threads import setting_address

if TYPE_CHECKING:
    from linkwork.compiler.codegen.loops.execution_plan import Scope
    from linkwork.compiler.codegen.part_code import CodegenOptions
    from linkwork.compiler.program import Program

__all__ = ["CPUBackend", "host_backend", "wait_for_compiler"]

_LOOP = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


@dataclass(frozen=True, repr=False)
class CPUBackend(Backend[MachineCode]):
    """The backend of the CPU, whose vector registers hold several samples.

    Compiled code has the functions ``loop`` (NumPy's inner loop over a batch), ``few`` (a loop without vector code, for
    calls with few samples) and ``fast`` (CPython's call with one sample).
    """

    processor: Target
    has_quick: bool = False  # True if first calls use code that LLVM optimizes less, until better code is compiled

    name = "cpu"
    batch_entry = "loop"
    few_entry = "few"

    @property
    def target(self) -> tuple[str, ...]:
        host = processor()
        return repr(self.processor), host.llvmlite, host.llvm, repr(fastcall.available())

    @property
    def without_passes(self) -> tuple[str, ...]:
        return () if self.processor.fma else ("fuse",)

    def lanes(self, real: FloatType) -> int:
        return self.processor.lanes_of(real)

    @property
    def entries(self) -> tuple[str, ...]:
        return tuple(entry_points.ENTRIES)

    def parts(self, entry: str, real: FloatType) -> tuple[str, ...]:
        return entry_points.entry_point(entry).parts if entry_points.available(entry, real) else ()

    def all_parts(self, real: FloatType) -> tuple[str, ...]:
        from linkwork.compiler.codegen.part_code import parts_here

        return tuple(parts_here(real))

    def lower(self, program: Program, real: FloatType) -> CodegenOptions:
        from linkwork.compiler.codegen.part_code import CodegenOptions

        return CodegenOptions(program, self.processor, real)

    def emit(self, texts: Sequence[Module], waiting: Callable[[], float | None] = lambda: None) -> list[bytes]:
        return emit(texts, self.processor, waiting)

    @property
    def is_quick(self) -> bool:
        return self.processor.effort == 0

    @property
    def quick(self) -> CPUBackend | None:
        return CPUBackend(replace(self.processor, effort=0)) if self.has_quick else None

    def emit_later(
        self,
        modules: Callable[[], tuple[Sequence[bytes], int]],
        is_written: bool,
        done: Callable[[list[bytes]], None],
        urgent: bool = False,
        claim: Callable[[], Claim] = lambda: "now",
        release: Callable[[], None] = lambda: None,
    ) -> None:
        background_emit.submit(Job(modules, is_written, self.processor, done, urgent, claim, release))

    def is_object(self, code: bytes) -> bool:
        return is_object_file(code, self.processor.triple)

    def code_bytes(self, code: bytes) -> int:
        return text_bytes(code)

    def listing(self, texts: Sequence[str]) -> str:
        return assembly(texts, self.processor)

    def segments(self, program: Program) -> int:
        from linkwork.compiler.codegen.code_segments import plan
        from linkwork.compiler.codegen.loops import has_control, plan_program

        return _block_count(plan_program(program)[0]) if has_control(program) else len(plan(program).segments)

    def load(self, objects: Sequence[bytes], name: str, entry: str) -> MachineCode:
        # callees come before callers: see `link`
        (code,) = link([*reversed(objects)], self.processor, [_symbols(name, entry)])
        return code

    def load_together(
        self, objects: Mapping[str, Sequence[bytes]], name: str, entries: Mapping[str, Sequence[str]]
    ) -> list[MachineCode]:
        if len(entries) < 2:
            return super().load_together(objects, name, entries)
        callees_first = dict.fromkeys(part for parts in entries.values() for part in reversed(parts))
        codes = [code for part in callees_first for code in reversed(objects[part])]
        return link(codes, self.processor, [_symbols(name, entry) for entry in entries])

    def call(
        self, code: MachineCode, program: Program, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]
    ) -> None:
        """Call a loaded function with the arguments that NumPy passes to an inner loop of a generalized ufunc.

        The arguments are the arrays' addresses, sizes and strides. The sizes are the number of samples, then the port
        shapes.  The strides are first those from sample to sample, then those inside a sample.
        """
        arrays = [*inputs, *outputs]
        addresses = (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays))
        sizes = [len(arrays[0]), *(n for x in arrays for n in x.shape[1:])]
        strides = [*(x.strides[0] for x in arrays), *(step for x in arrays for step in x.strides[1:])]
        state = State(threads=setting_address(), interrupts=interrupts_address())
        lists = [(ctypes.c_ssize_t * len(row))(*row) for row in (sizes, strides)]
        _LOOP(code.address)(addresses, *lists, ctypes.addressof(state))
        if state.failed_calls:
            raise MemoryError(f"{program.name}: out of memory for a batch of {len(arrays[0])}")


def _symbols(name: str, entry: str) -> tuple[str, str]:
    """Return the linker symbols of the function ``entry`` of a kernel, and of its data table ("" if it has none)."""
    prefix, table = symbol_prefix(name), entry_points.entry_point(entry).table
    return f"{prefix}.{entry}", table and f"{prefix}.{table}"


def host_backend() -> CPUBackend:
    """Return the CPU backend for this machine, or for the SIMD level that the environment sets (see `host`).

    Unless the environment sets an optimization level, first calls use code of low optimization.
    """
    return CPUBackend(host(), has_quick=not os.environ.get(EFFORT) and background_emit.is_available())


def _block_count(scope: Scope) -> int:
    """Return the number of blocks of straight-line code in a scope and its inner scopes."""
    from linkwork.compiler.codegen.loops.execution_plan import BasicBlock

    total = 0
    called: set[int] = set()
    waiting = [scope]
    while waiting:
        for step in waiting.pop().steps:
            if isinstance(step, BasicBlock):
                total += step.stop > step.start
            else:
                waiting += [inner for inner in step.scopes if id(inner) not in called]
                called.update(map(id, step.scopes))
    return total
