"""Machine code for Windows, executed on Linux: its results equal those of code for Linux to the bit.

Code for Windows refers to all else by 64-bit addresses, so Linux can load it.  Functions in between change the calling
convention: one that calls the code, and those that the code calls instead of functions of Windows.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from compiler.knobs import LEVELS
from compiler.passes.samples import SAMPLES, sample
from compiler.support import all_bits_equal
from linkwork.compiler.backend import symbol_prefix
from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE, FloatType
from linkwork.compiler.codegen.jit import MachineCode, emit
from linkwork.compiler.codegen.loops.interrupt_checks import attention_text
from linkwork.compiler.codegen.object_loader import _address_in_process, loaded
from linkwork.compiler.codegen.part_code import CodegenOptions
from linkwork.compiler.codegen.quick.machine_code import WrittenObject
from linkwork.compiler.codegen.target import Target, host
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.passes import optimize
from linkwork.compiler.program import Program
from linkwork.compiler.runtime.interrupts import ADDRESS, interrupts_address
from linkwork.compiler.runtime.loop_state import State
from linkwork.compiler.runtime.threads import setting_address

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or "avx2" not in LEVELS, reason="for Linux on x86-64 processors with AVX2"
)
WINDOWS = Target("x86_64-pc-windows-msvc", "x86-64-v3", "", lanes=4, fma=True)
CONVENTIONS = """
target triple = "{triple}"
declare win64cc void @{loop}(ptr, ptr, ptr, ptr)
define void @call(ptr %args, ptr %sizes, ptr %steps, ptr %data) nounwind {{
  call win64cc void @{loop}(ptr %args, ptr %sizes, ptr %steps, ptr %data)
  ret void
}}
define void @__chkstk() nounwind {{
  ret void
}}
define win64cc i64 @GetTickCount64() nounwind {{
  ret i64 0
}}
define win64cc i64 @CreateThread(ptr %0, i64 %1, ptr %2, ptr %3, i32 %4, ptr %5) nounwind {{
  ret i64 0
}}
define win64cc i32 @WaitForSingleObject(i64 %0, i32 %1) nounwind {{
  ret i32 0
}}
define win64cc i32 @CloseHandle(i64 %0) nounwind {{
  ret i32 1
}}
declare ptr @linux.malloc(i64)
define win64cc ptr @malloc(i64 %size) nounwind {{
  %result = call ptr @linux.malloc(i64 %size)
  ret ptr %result
}}
declare void @linux.free(ptr)
define win64cc void @free(ptr %memory) nounwind {{
  call void @linux.free(ptr %memory)
  ret void
}}
declare ptr @linux.memset(ptr, i32, i64)
define win64cc ptr @memset(ptr %to, i32 %value, i64 %size) nounwind {{
  %result = call ptr @linux.memset(ptr %to, i32 %value, i64 %size)
  ret ptr %result
}}
declare ptr @linux.memcpy(ptr, ptr, i64)
define win64cc ptr @memcpy(ptr %to, ptr %from, i64 %size) nounwind {{
  %result = call ptr @linux.memcpy(ptr %to, ptr %from, i64 %size)
  ret ptr %result
}}
"""


LIBC = "malloc", "free", "memset", "memcpy"


def modules(program: Program, real: FloatType, *, is_quick: bool) -> Sequence[Any]:
    """Return the modules of a batch loop for Windows: the best code, or quick code, partly written without LLVM."""
    lowered = CodegenOptions(program, replace(WINDOWS, effort=0) if is_quick else WINDOWS, real)
    return lowered.quick_texts(["sample", "loop"]) if is_quick else lowered.texts(["sample", "loop"])


def windows_results(texts: Sequence[Any], program: Program, real: FloatType, inputs: Sequence[np.ndarray]) -> list[Any]:
    """Load modules for Windows with the functions that change the convention, and return the results of a batch."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    conventions = CONVENTIONS.format(triple=host().triple, loop=f"{symbol_prefix(program.name)}.loop")
    files = [*emit(texts, WINDOWS), *emit([attention_text(WINDOWS)], WINDOWS), *emit([conventions], host())]
    library = loaded(files, {f"linux.{name}": _address_in_process(name) for name in LIBC})
    assert library is not None
    ctypes.c_void_p.from_address(library.addresses[ADDRESS]).value = interrupts_address()
    arrays = [np.ascontiguousarray(x, real.dtype) for x in inputs]
    outputs = [np.zeros((len(arrays[0]), *port.shape), real.dtype) for port in program.outputs]
    call_loop(MachineCode(library.addresses["call"], 0, library.owner), arrays, outputs)
    return outputs


def call_loop(code: MachineCode, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
    """Call an inner loop of NumPy with the arguments that NumPy passes."""
    arrays = [*inputs, *outputs]
    addresses = (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays))
    sizes = [len(arrays[0]), *(n for x in arrays for n in x.shape[1:])]
    strides = [*(x.strides[0] for x in arrays), *(step for x in arrays for step in x.strides[1:])]
    state = State(threads=setting_address(), interrupts=interrupts_address())
    extents = [(ctypes.c_ssize_t * len(row))(*row) for row in (sizes, strides)]
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(code.address)
    function(addresses, *extents, ctypes.addressof(state))
    assert state.failed_calls == 0


@pytest.mark.costly
@pytest.mark.parametrize("is_quick", [False, True], ids=["best code", "quick code"])
@pytest.mark.parametrize("name", SAMPLES)
def test_code_for_windows_computes_the_same_bits(name: str, is_quick: bool, drawn: Any) -> None:
    program, rng = optimize(sample(name)), np.random.default_rng(0)
    for real in drawn((DOUBLE, SINGLE)):
        inputs = [rng.uniform(0.1, 0.9, (7, *port.shape)).astype(real.dtype) for port in program.inputs]
        outputs = windows_results(modules(program, real, is_quick=is_quick), program, real, inputs)
        expected = Kernel(program)(*inputs)
        assert all_bits_equal(outputs, expected if isinstance(expected, tuple) else (expected,))


def test_quick_code_for_windows_is_partly_written_without_llvm() -> None:
    """Callers use the convention of Linux for functions that are written without LLVM, and for those that they call."""
    program = optimize(sample("chain of rotations"))
    texts = modules(program, DOUBLE, is_quick=True)
    assert sum(isinstance(text, WrittenObject) for text in texts) >= 1
    calls = [line for text in texts if isinstance(text, str) for line in text.split("\n") if "@lw.sin" in line]
    assert calls and all("x86_64_sysvcc" in line for line in calls)
