"""Entry points of kernels: each is compiled once, at its first use, and failures are raised by the call."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from compiler.support import all_bits_equal, bits_equal
from linkwork.compiler import kernel_code
from linkwork.compiler.codegen import entry_points as entries
from linkwork.compiler.codegen.entry_points import ENTRIES, EntryPoint
from linkwork.compiler.codegen.float_type import DOUBLE, FloatType
from linkwork.compiler.codegen.llvm_ir import IrFunction, IrModule
from linkwork.compiler.codegen.part_code import PARTS, CodegenOptions
from linkwork.compiler.codegen.straight_line import sample_declaration
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.prepared_code import make_ready
from linkwork.compiler.runtime import fastcall
from linkwork.compiler.runtime.code_statistics import code_statistics
from linkwork.compiler.trace.trace import compile, trace
from linkwork.expr.scalar import functions as f

fast = pytest.mark.skipif(not fastcall.available(), reason="arrays do not look as expected here")


class Compiled:
    """Records the compiled parts and their types; with ``failing``, the parts of one type cannot be compiled."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.parts: list[str] = []
        self.failing: str | None = None
        self._compiled = kernel_code.compiled
        monkeypatch.setenv("LINKWORK_CACHE", "off")
        monkeypatch.setattr(kernel_code, "compiled", self)

    def __call__(self, source: kernel_code.Source, parts: Sequence[str], real: FloatType, best: bool) -> Any:
        if self.failing in parts:
            raise OSError("no room")
        self.parts += [f"{part} {real.name}" for part in parts]
        return self._compiled(source, parts, real, best)

    def since(self) -> set[str]:
        """Return the parts compiled since the last call, each at most once."""
        done, self.parts = self.parts, []
        assert len(set(done)) == len(done)
        return set(done)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Compiled:
    return Compiled(monkeypatch)


def example_kernel() -> Kernel:
    return compile(lambda x, y: (f.sin(x) * y, x @ y), name="waves", x=3, y=3)


X = np.linspace(-1.0, 1.0, 60).reshape(20, 3)


@fast
def test_each_kind_of_kernel_call_compiles_its_entry_point_once(compiled: Compiled) -> None:
    kernel = example_kernel()
    assert compiled.since() == {"fast double", "sample double"}
    alone = kernel(X[3], X[4])
    assert str(kernel.ufunc.signature) == kernel.signature and compiled.since() == set()
    batch = kernel(X[2:], X[1:-1])
    assert compiled.since() == {"loop double"}
    assert bits_equal(batch[0][1], kernel(X[3], X[2])[0]) and all_bits_equal(
        kernel(X[3:4], X[4:5]), [[x] for x in alone]
    )
    single = kernel(X.astype(np.float32), X.astype(np.float32))
    assert single[0].dtype == np.float32 and compiled.since() == {"loop float", "sample float"}
    kernel(list(X), X)
    kernel(X[0], X[0])
    assert compiled.since() == set()
    assert kernel._code._parts == {}  # object files are kept for entries still to come, and there are none


@pytest.mark.parametrize("kind", ["list", "number", "named", "float32", "ufunc"])
def test_first_kernel_call_may_be_single_batched_or_float32(compiled: Compiled, kind: str) -> None:
    kernel = compile(lambda x: 2.0 * x + 1.0, x=() if kind == "number" else 3)
    x = X.astype(np.float32) if kind == "float32" else X
    calls = {"list": lambda: kernel(x.tolist()), "named": lambda: kernel(x=x), "ufunc": lambda: kernel.ufunc(x)}
    result = calls.get(kind, lambda: kernel(x))()
    assert np.allclose(result, 2.0 * x + 1.0) and result.dtype == x.dtype
    assert ("loop float" in compiled.since()) == (kind == "float32")


def test_kernels_prepared_ahead_do_not_compile_when_called(compiled: Compiled) -> None:
    kernel = example_kernel()
    make_ready(kernel)
    robot = lw.load("double_pendulum")
    robot.precompile(["gravity_force"], progress=False)
    compiled.parts.clear()
    kernel(X, X)
    kernel(X[0], X[0])
    robot.gravity_force(X[:, :2])
    robot.gravity_force(X[0, :2])
    assert compiled.since() == set()


def test_code_statistics_of_a_kernel_cover_all_entry_points(compiled: Compiled) -> None:
    kernel = example_kernel()
    first = kernel.compile_time
    facts = code_statistics(kernel)
    assert {part.split()[0] for part in compiled.since()} == {part for name in ENTRIES for part in parts_of(name)}
    assert 0.0 < first < kernel.compile_time == facts.seconds
    assert facts.code_bytes == sum(kernel._code.sizes.values()) > 1000 and facts.compile_seconds > 0.0


def parts_of(name: str) -> tuple[str, ...]:
    return ENTRIES[name].parts if entries.available(name, DOUBLE) else ()


def test_failed_compilation_raises_at_the_kernels_call_and_is_retried(compiled: Compiled) -> None:
    compiled.failing = "sample"
    with pytest.raises(OSError, match="no room"):
        example_kernel()
    compiled.failing = None
    kernel = example_kernel()
    compiled.failing = "loop"
    for arrays in ((X, X), (X.tolist(), X.tolist()), (X.astype(np.float32), X.astype(np.float32))):
        with pytest.raises(OSError, match="no room"):
            kernel(*arrays)
    if fastcall.available():
        assert kernel(X[0], X[0])[0].shape == (3,)  # another entry, which is there
    robot = lw.load("double_pendulum")
    with pytest.raises(OSError, match="no room"):
        robot.gravity_force(X[:, :2])
    compiled.failing = None
    assert kernel(X, X)[0].shape == (20, 3) and robot.gravity_force(X[:, :2]).shape == (20, 2)


def test_batch_loop_is_compiled_at_once_if_the_fastcall_extension_is_missing(
    compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fastcall, "available", lambda: False)
    kernel = example_kernel()
    assert compiled.since() == {"loop double", "sample double"}
    assert kernel(X[0], X[0])[0].shape == (3,) and kernel(X, X)[0].shape == (20, 3)
    assert compiled.since() == set()


def test_several_threads_compile_an_entry_point_once(compiled: Compiled) -> None:
    kernel, together, wrong = example_kernel(), threading.Barrier(6), []
    compiled.since()
    expected = kernel.interpret(X, X)[1]

    def work() -> None:
        together.wait()
        if not np.allclose(kernel(X, X)[1], expected):
            wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong and compiled.since() - {"sample double"} == {"loop double"}


def test_additional_entry_point_needs_one_entry_in_the_table_of_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(design: CodegenOptions) -> list[IrModule]:
        """``@twice(in, out)``: one sample, and the same once more behind it."""
        text, program = design.text(), design.program
        call = IrFunction("define void @.twice(ptr %in, ptr %out)")
        call.declare(sample_declaration(program))
        call.let("call i32 @.sample(ptr %in, ptr %out)")
        call.let(f"call i32 @.sample(ptr %in, ptr {call.at('%out', 8 * program.outputs[0].size)})")
        text.add(call)
        return [text]

    monkeypatch.setitem(PARTS, "twice", twice)
    monkeypatch.setitem(ENTRIES, "twice", EntryPoint(("twice", "sample"), (DOUBLE,)))
    kernel = Kernel(trace(lambda x: f.exp(x), "grown", {"x": 3}))
    assert kernel._code.entry("twice") is kernel._code.entry("twice")
    out = np.zeros(6)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(kernel._code.entry("twice").address)
    call(X[5].ctypes.data, out.ctypes.data)
    assert bits_equal(out, np.tile(kernel(X[5]), 2))
    assert "@grown.twice(" in kernel.llvm_ir
