"""Vector functions as machine code that runs over arrays."""

from __future__ import annotations

import ctypes
import functools
import platform
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np

from linkwork.compiler.codegen.llvm_ir import IrModule
from linkwork.compiler.codegen.vector_math import LANES, vector_function

__all__ = [
    "IS_X86",
    "TWO_ARGUMENTS",
    "Arrays",
    "Compiled",
    "Variant",
    "compile_text",
    "compiled",
    "host_fuses",
    "loop_text",
    "module_text",
    "real",
]

TWO_ARGUMENTS = ("atan2", "pow", "hypot", "fmod", "mod")
IS_X86 = platform.machine().lower() in ("x86_64", "amd64")

Arrays = tuple[np.ndarray, ...]


class Variant(NamedTuple):
    fma: bool
    plain: bool  # the baseline of the architecture instead of the processor at hand


def host_fuses() -> bool:
    return llvm.get_host_cpu_features().get("fma", False) if IS_X86 else platform.machine() in ("arm64", "aarch64")


@dataclass(frozen=True)
class Compiled:
    """A function per lane count, from arrays to a tuple of arrays (two for sincos), and the assembly of all.

    `loops` are the addresses of the loops over arrays.  Their arguments are two inputs and two outputs (unused ones:
    any address), and the number of elements, a multiple of the lanes.
    """

    functions: dict[int, Callable[..., Arrays]]
    loops: dict[int, Callable[..., None]]
    text: str  # LLVM IR
    plain: bool  # compiled for the baseline of the architecture

    @functools.cached_property
    def assembly(self) -> str:
        """The processor's instructions, which take as long to write as the code."""
        text: str = _target_machine(self.plain, codemodel="small").emit_assembly(llvm.parse_assembly(self.text))
        return text


def real(bits: int) -> type[np.float64] | type[np.float32]:
    return np.float64 if bits == 64 else np.float32


def module_text(code: str, bits: int, fma: bool) -> str:
    """All lane counts in one module: every function and every declaration once, and loops over arrays."""
    text = IrModule()
    loops = []
    for lanes in LANES:
        function = vector_function(code, lanes, bits, fma)
        text.add(function)
        loops.append(loop_text(code, bits, lanes, function.name))
    return "\n".join([str(text), *loops])


def loop_text(code: str, bits: int, lanes: int, name: str) -> str:
    scalar = "double" if bits == 64 else "float"
    kind = scalar if lanes == 1 else f"<{lanes} x {scalar}>"
    align = bits // 8
    inputs = "xy" if code in TWO_ARGUMENTS else "x"
    outputs = "pq" if code == "sincos" else "p"
    returned = f"{{ {kind}, {kind} }}" if code == "sincos" else kind
    positions = [f"%{p}.at = getelementptr {scalar}, ptr %{p}, i64 %i" for p in inputs + outputs]
    loads = [f"%{p}.in = load {kind}, ptr %{p}.at, align {align}" for p in inputs]
    call = f"%r = call {returned} {name}({', '.join(f'{kind} %{p}.in' for p in inputs)})"
    if code == "sincos":
        results = ["%r0", "%r1"]
        parts = [f"{r} = extractvalue {returned} %r, {i}" for i, r in enumerate(results)]
    else:
        results, parts = ["%r"], []
    stores = [f"store {kind} {r}, ptr %{p}.at, align {align}" for r, p in zip(results, outputs, strict=True)]
    body = "\n  ".join([*positions, *loads, call, *parts, *stores])
    return f"""
define void @run{lanes}(ptr %x, ptr %y, ptr %p, ptr %q, i64 %count) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  {body}
  %next = add i64 %i, {lanes}
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


@functools.cache
def compiled(code: str, bits: int, variant: Variant) -> Compiled:
    """A function of `linkwork.compiler.codegen.vector_math` for every lane count."""
    return compile_text(module_text(code, bits, variant.fma), code, bits, variant, LANES)


def compile_text(text: str, code: str, bits: int, variant: Variant, lanes: Iterable[int]) -> Compiled:
    """A module with a loop `run{lanes}` for each lane count."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, _target_machine(variant.plain, opt=2))
    engine.finalize_object()
    pointer = ctypes.c_void_p
    signature = ctypes.CFUNCTYPE(None, pointer, pointer, pointer, pointer, ctypes.c_int64)
    loops = {count: signature(engine.get_function_address(f"run{count}")) for count in lanes}
    functions = {count: _over_arrays(engine, run, code, bits, count) for count, run in loops.items()}
    return Compiled(functions, loops, text, variant.plain)


def _target_machine(plain: bool, **options: Any) -> Any:
    features = str(llvm.get_host_cpu_features().flatten())
    cpu, features = ("x86-64", "") if plain else (llvm.get_host_cpu_name(), features)
    return llvm.Target.from_default_triple().create_target_machine(cpu=cpu, features=features, **options)


def _over_arrays(engine: Any, run: Callable[..., None], code: str, bits: int, lanes: int) -> Callable[..., Arrays]:
    def call(*arguments: np.ndarray) -> Arrays:
        count = len(arguments[0])
        padded = [np.concatenate([a.astype(real(bits)), np.zeros(-count % lanes, real(bits))]) for a in arguments]
        results = np.empty_like(padded[0]), np.empty_like(padded[0])
        run(*(a.ctypes.data for a in (padded[0], padded[-1], *results)), len(padded[0]))
        return tuple(r[:count] for r in results[: 2 if code == "sincos" else 1])

    call.engine = engine  # type: ignore[attr-defined]  # the code lives as long as the engine
    return call
