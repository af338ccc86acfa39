"""Code for callers other than Python: no external calls, equal bits, and a status and counters for each call."""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from compiler.knobs import LEVELS
from compiler.support import bits_equal
from linkwork.compiler.backend import symbol_prefix
from linkwork.compiler.codegen.cpu_backend import CPUBackend
from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE, FloatType
from linkwork.compiler.codegen.runtimes import ENDED, NO_MEMORY, OFF
from linkwork.compiler.codegen.target import Target, host
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.program import Port, Program
from linkwork.compiler.runtime.loop_state import Call
from linkwork.compiler.trace.trace import trace
from linkwork.expr.scalar.symbol import Graph

pytestmark = [
    pytest.mark.skipif((sys.platform, platform.machine()) != ("linux", "x86_64"), reason="for Linux on x86-64"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler"),
]

# A C program without a library: it computes with flushed denormal numbers, as XLA's threads do, and notes its setting.
CALLER = """
typedef int (*loop)(void **, const long *, const long *, void *);
unsigned call(loop function, int *status, void **arrays, const long *sizes, const long *steps, void *record) {
    unsigned setting = 0x9fc0, after;
    __asm__ volatile("ldmxcsr %0" : : "m"(setting));
    *status = function(arrays, sizes, steps, record);
    __asm__ volatile("stmxcsr %0" : "=m"(after));
    setting = 0x1f80;
    __asm__ volatile("ldmxcsr %0" : : "m"(setting));
    return after;
}
"""


class Library:
    """A shared library of a program's code for any caller, linked without other libraries."""

    def __init__(self, program: Program, target: Target, folder: Path, real: FloatType = DOUBLE) -> None:
        from linkwork.compiler.passes import optimize

        backend = CPUBackend(replace(target, runtime="plain"))
        lowered = backend.lower(optimize(program, without=backend.without_passes), real)
        files = [folder / "caller.c"]
        files[0].write_text(CALLER)
        for k, code in enumerate(backend.emit(lowered.texts(["sample", "loop"]))):
            files.append(folder / f"{k}.o")
            files[-1].write_bytes(code)
        options = ["-shared", "-fPIC", "-O2", "-nostdlib", "-Wl,--no-undefined"]
        subprocess.run(["cc", *options, "-o", folder / "code.so", *files], check=True)
        self.program, self.real = program, real
        self.code, self.prefix = ctypes.CDLL(str(folder / "code.so")), symbol_prefix(program.name)

    @property
    def memory(self) -> int:
        """The size of a batch's memory [bytes], which is enough for a sample too."""
        return sum(
            ctypes.c_int64.in_dll(self.code, f"{self.prefix}.{part}.memory").value for part in ("sample", "loop")
        )

    def sample(self, inputs: Sequence[Any], memory: Any) -> tuple[int, list[np.ndarray]]:
        """Call ``@sample``; return its status and the results."""
        arrays = [np.ascontiguousarray(x, self.real.dtype) for x in inputs]
        outputs = [np.full(port.shape, 7.0, self.real.dtype) for port in self.program.outputs]
        status = self.code[f"{self.prefix}.sample"](*(ctypes.c_void_p(x.ctypes.data) for x in arrays + outputs), memory)
        return status, outputs

    def batch(self, inputs: Sequence[np.ndarray], call: Call) -> tuple[int, list[np.ndarray]]:
        """Call ``@loop``; return its status and the results."""
        arrays = [np.ascontiguousarray(x, self.real.dtype) for x in inputs]
        outputs = [np.full((len(arrays[0]), *port.shape), 7.0, self.real.dtype) for port in self.program.outputs]
        arrays += outputs
        sizes = [len(arrays[0]), *(n for x in arrays for n in x.shape[1:])]
        steps = [*(x.strides[0] for x in arrays), *(n for x in arrays for n in x.strides[1:])]
        addresses = (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays))
        integers = [(ctypes.c_long * len(row))(*row) for row in (sizes, steps)]
        status = ctypes.c_int(-1)
        function = ctypes.cast(self.code[f"{self.prefix}.loop"], ctypes.c_void_p)
        after = self.code["call"](function, ctypes.byref(status), addresses, *integers, ctypes.byref(call))
        assert after == 0x9FC0  # neither the setting nor the flags have changed
        return status.value, outputs


def wide(x: Any) -> Any:
    """Zeros, and loops whose values do not fit on the stack."""

    def step(s: Any, _: Any) -> Any:
        return np.sin(3.0 * s) + x[0], s

    _, values = lw.scan(step, x[1], None, length=3000)
    return lw.scan(lambda s, y: (0.5 * s + y, None), 0.0, values)[0], np.concatenate([x, np.zeros(200)])


def until(x: Any) -> Any:
    """A loop that may run so long that Python looks for signals in it."""

    def further(s: Any) -> Any:
        return np.sin(s) + np.concatenate([s[1:], s[:1]])

    return lw.while_loop(lambda s: s[0] < x[1], further, x[0] + np.zeros(5), max_iterations=10**9).state * 1e-310


def guarded() -> Program:
    """The sum of x, with a guard that is greater than zero where x[0] is positive."""
    x = Graph().inputs("x", (2,))
    return Program.of("watched", [(Port("x", (2,)), x)], [(Port("y", ()), [x[0] + x[1]])], [x[0]])


PROGRAMS = {"wide": trace(wide, "wide", {"x": 2}), "until": trace(until, "until", {"x": 2})}


@pytest.mark.slow(every=3)
@pytest.mark.parametrize("level", [*LEVELS, "scalar"])
def test_exported_code_needs_no_library_and_gives_equal_bits(level: str, tmp_path: Path) -> None:
    vectors = LEVELS["sse2" if level == "scalar" else level]
    rng = np.random.default_rng(1)
    for name, program in PROGRAMS.items():
        folder = tmp_path / name
        folder.mkdir()
        library = Library(program, replace(vectors, lanes=1) if level == "scalar" else vectors, folder)
        kernel = Kernel(program, backend=CPUBackend(vectors))
        x = rng.uniform(0.5, 0.9, (11, 2))
        memory = ctypes.create_string_buffer(library.memory)
        assert library.memory or name != "wide"
        results = kernel(x) if len(program.outputs) > 1 else (kernel(x),)
        status, outputs = library.sample([x[0]], memory)
        assert status == 0 and all(bits_equal(a, b[0]) for a, b in zip(outputs, results, strict=True))
        for count in (1, 2, 11):  # samples one by one, and vectors of them
            call = Call(memory=ctypes.addressof(memory))
            status, outputs = library.batch([x[:count]], call)
            assert status == 0 and all(bits_equal(a, b[:count]) for a, b in zip(outputs, results, strict=True))
            assert (call.not_finite_calls, call.off_calls, call.failed_calls) == (0, 0, 0)


def test_each_call_of_exported_code_has_its_own_status_and_counters(tmp_path: Path) -> None:
    library = Library(PROGRAMS["wide"], host(), tmp_path)
    memory = ctypes.create_string_buffer(library.memory)
    x = np.ones((11, 2))
    assert library.sample([x[0]], None)[0] == NO_MEMORY
    for count in (1, 11):
        call = Call()
        status, results = library.batch([x[:count]], call)
        assert status == NO_MEMORY and call.failed_calls and np.all(results[0] == 7.0)
        ended = Call(memory=ctypes.addressof(memory), stop=1)
        status, results = library.batch([x[:count]], ended)
        assert status == ENDED and not ended.failed_calls and np.all(results[0] == 7.0)
        spoilt = Call(memory=ctypes.addressof(memory), not_finite_calls=5)
        assert library.batch([np.full((count, 2), np.nan)], spoilt)[0] == 0 and spoilt.not_finite_calls == 1


@pytest.mark.parametrize(("lanes", "real"), [(2, SINGLE), (2, DOUBLE), (1, DOUBLE)])
def test_guards_set_the_status_of_calls_of_exported_code(lanes: int, real: FloatType, tmp_path: Path) -> None:
    library = Library(guarded(), replace(LEVELS["sse2"], lanes=lanes), tmp_path, real)
    for count in (1, 40):
        for off in (False, True):
            call = Call()
            status, _ = library.batch([np.full((count, 2), -1.0 + 2.0 * off)], call)
            assert status == (OFF if off else 0) and bool(call.off_calls) == off
