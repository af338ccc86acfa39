"""Vector functions as machine code that runs over arrays, arguments to try them on, and errors in last places."""

from __future__ import annotations

import ctypes
import functools
import platform
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import mpmath
import numpy as np
import pytest

from linkwork.compiler.vector_math import Definition, vector_function

LANES = (1, 2, 4, 8, 16)
TWO_ARGUMENTS = ("atan2", "pow", "hypot")
IS_X86 = platform.machine().lower() in ("x86_64", "amd64")

Arrays = tuple[np.ndarray, ...]


class Variant(NamedTuple):
    fma: bool
    plain: bool  # the baseline of the architecture instead of the processor at hand


def host_fuses() -> bool:
    return llvm.get_host_cpu_features().get("fma", False) if IS_X86 else platform.machine() in ("arm64", "aarch64")


VARIANTS = {"fma": Variant(True, False), "no-fma": Variant(False, False), "sse2": Variant(False, True)}
SKIPS = {"fma": not host_fuses(), "no-fma": False, "sse2": not IS_X86}
every_variant = pytest.mark.parametrize(
    "variant",
    [
        pytest.param(variant, id=name, marks=pytest.mark.skipif(SKIPS[name], reason=f"no {name} here"))
        for name, variant in VARIANTS.items()
    ],
)
FIRST = VARIANTS["no-fma" if SKIPS["fma"] else "fma"]


@dataclass(frozen=True)
class Compiled:
    """A function for each lane count, from arrays to a tuple of arrays (two for sincos), and the assembly of all."""

    functions: dict[int, Callable[..., Arrays]]
    assembly: str


def real(bits: int) -> type[np.float64] | type[np.float32]:
    return np.float64 if bits == 64 else np.float32


def definitions(code: str, bits: int, fma: bool, lanes: Iterable[int] = LANES) -> dict[int, tuple[Definition, ...]]:
    return {count: vector_function(code, count, bits, fma) for count in lanes}


def module_text(code: str, bits: int, fma: bool) -> str:
    """All lane counts in one module: every definition and every declaration once, and loops over arrays."""
    made = definitions(code, bits, fma)
    every = [d for group in made.values() for d in group]
    declarations = dict.fromkeys(text for d in every for text in d.declarations)
    functions = {d.name: d.ir for d in every}
    loops = [_loop(code, bits, lanes, group[-1].name) for lanes, group in made.items()]
    return "\n".join([*declarations, *functions.values(), *loops])


def _loop(code: str, bits: int, lanes: int, name: str) -> str:
    scalar = "double" if bits == 64 else "float"
    kind = scalar if lanes == 1 else f"<{lanes} x {scalar}>"
    align = bits // 8
    inputs = "xy" if code in TWO_ARGUMENTS else "x"
    outputs = "pq" if code == "sincos" else "p"
    returned = f"{{ {kind}, {kind} }}" if code == "sincos" else kind
    places = [f"%{p}.at = getelementptr {scalar}, ptr %{p}, i64 %i" for p in inputs + outputs]
    loads = [f"%{p}.in = load {kind}, ptr %{p}.at, align {align}" for p in inputs]
    call = f"%r = call {returned} {name}({', '.join(f'{kind} %{p}.in' for p in inputs)})"
    if code == "sincos":
        results = ["%r0", "%r1"]
        parts = [f"{r} = extractvalue {returned} %r, {i}" for i, r in enumerate(results)]
    else:
        results, parts = ["%r"], []
    stores = [f"store {kind} {r}, ptr %{p}.at, align {align}" for r, p in zip(results, outputs, strict=True)]
    body = "\n  ".join([*places, *loads, call, *parts, *stores])
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
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(module_text(code, bits, variant.fma))
    module.verify()
    features = str(llvm.get_host_cpu_features().flatten())
    cpu, features = ("x86-64", "") if variant.plain else (llvm.get_host_cpu_name(), features)
    target = llvm.Target.from_default_triple()
    assembly = target.create_target_machine(cpu=cpu, features=features, codemodel="small").emit_assembly(module)
    engine = llvm.create_mcjit_compiler(module, target.create_target_machine(cpu=cpu, features=features, opt=2))
    engine.finalize_object()
    return Compiled({lanes: _callable(engine, code, bits, lanes) for lanes in LANES}, assembly)


def _callable(engine: Any, code: str, bits: int, lanes: int) -> Callable[..., Arrays]:
    pointer = ctypes.c_void_p
    signature = ctypes.CFUNCTYPE(None, pointer, pointer, pointer, pointer, ctypes.c_int64)
    run = signature(engine.get_function_address(f"run{lanes}"))

    def call(*arguments: np.ndarray) -> Arrays:
        count = len(arguments[0])
        padded = [np.concatenate([a.astype(real(bits)), np.zeros(-count % lanes, real(bits))]) for a in arguments]
        results = np.empty_like(padded[0]), np.empty_like(padded[0])
        run(*(a.ctypes.data for a in (padded[0], padded[-1], *results)), len(padded[0]))
        return tuple(r[:count] for r in results[: 2 if code == "sincos" else 1])

    call.engine = engine  # type: ignore[attr-defined]  # the code lives as long as the engine
    return call


def integers(x: np.ndarray) -> np.ndarray:
    return x.view(np.int64 if x.dtype == np.float64 else np.int32)


def same_bits(a: Arrays, b: Arrays) -> bool:
    return all(np.array_equal(integers(p), integers(q)) for p, q in zip(a, b, strict=True))


def error_in_ulp(value: float, true: mpmath.mpf, bits: int = 64) -> float:
    """How far a result is from the true value, in units of the last place that float64 or float32 has there."""
    digits, lowest, highest = (53, -1074, 1024) if bits == 64 else (24, -149, 128)
    if true == 0:
        return 0.0 if value == 0 else float("inf")
    exponent = mpmath.frexp(true)[1]
    place = mpmath.ldexp(1, max(min(exponent, highest) - digits, lowest))
    if np.isinf(value):  # as if the numbers went on
        value = mpmath.ldexp(1, highest) * (1 if value > 0 else -1)
        true = min(true, value) if value > 0 else max(true, value)
    return float(abs(mpmath.mpf(value) - true) / place)


def neighbours(x: Iterable[float], steps: int, bits: int = 64) -> np.ndarray:
    """Each number with the numbers up to `steps` away on both sides."""
    near = np.array(list(x), dtype=real(bits))
    return (integers(near)[:, None] + np.arange(-steps, steps + 1, dtype=integers(near).dtype)).ravel().view(near.dtype)


def both_signs(x: np.ndarray) -> np.ndarray:
    return np.where(np.arange(len(x)) % 2, -x, x)


def of_every_exponent(rng: np.random.Generator, count: int, bits: int = 64) -> np.ndarray:
    """Log-uniform: every pattern of bits that stands for a finite number is as likely as any other."""
    if bits == 64:
        return both_signs(rng.integers(0, 0x7FF0000000000000, count).view(np.float64))
    return both_signs(rng.integers(0, 0x7F800000, count).astype(np.int32).view(np.float32))


def log_uniform(rng: np.random.Generator, low: float, high: float, count: int) -> np.ndarray:
    return both_signs(np.exp(rng.uniform(np.log(low), np.log(high), count)))
