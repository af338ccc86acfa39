"""Descriptions of kernels, new or from the cache, and the memory of kernels."""

from __future__ import annotations

import gc
import inspect
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork._util import own_code
from linkwork.compiler.codegen import cpu_backend
from linkwork.compiler.kernel import Kernel, call_state, source_and_code
from linkwork.compiler.prepared_code import make_ready
from linkwork.compiler.program import Port
from linkwork.compiler.runtime import fastcall
from linkwork.compiler.trace.trace import compile
from linkwork.expr.scalar import functions as f


def function(q: Any, A: Any) -> Any:
    """Purpose of the function."""
    return {"y": A @ f.sin(q) + q[0] * 2.0, "length": f.sqrt(q @ q), "none": np.zeros((0, 2))}


def example_kernel() -> Kernel:
    return compile(function, name="example", q=3, A=(2, 3))


def said(kernel: Kernel) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "inputs": kernel.inputs,
        "outputs": kernel.outputs,
        "signature": kernel.signature,
        "operations": dict(kernel.operations),
        "arithmetic": kernel.arithmetic,
        "llvm_ir": kernel.llvm_ir,
        "assembly": kernel.assembly,
        "program": kernel.program,
        "repr": repr(kernel),
        "python": inspect.signature(kernel),
        "doc": kernel.ufunc.__doc__,
        "ufunc": (kernel.ufunc.__name__, kernel.ufunc.signature, tuple(kernel.ufunc.types)),
    }


def test_kernel_describes_its_ports_signature_and_operations(cache_folder: Path) -> None:
    kernel = example_kernel()
    about = said(kernel)
    assert about["repr"] == "<Kernel example: q(3), A(2, 3) -> y(2), length(), none(0, 2)>"
    assert about["inputs"] == (Port("q", (3,)), Port("A", (2, 3)))
    assert about["signature"] == "(3),(2,3)->(2),(),(none,2)"
    assert str(about["python"]) == "(q, A, *, out=None)"
    assert about["python"].bind(np.zeros(3), A=np.zeros((2, 3)), out=None)
    assert about["ufunc"] == ("example", about["signature"], ("ff->fff", "dd->ddd"))
    assert about["doc"].endswith("Purpose of the function.")
    assert about["operations"]["sin"] == 3 and about["operations"]["sqrt"] == 1
    assert about["arithmetic"] == sum(
        about["operations"][name] for name in ("mul", "add", "sub") if name in about["operations"]
    )
    assert "define void @example.loop(" in about["llvm_ir"] and "define i32 @example.sample(" in about["llvm_ir"]
    assert ("define ptr @example.fast(" in about["llvm_ir"]) == fastcall.available()
    assert "ret" in about["assembly"] and "example.loop:" in about["assembly"]
    assert len(about["program"].instructions) > 10
    assert kernel.compile_time > 0.0


def test_kernel_loaded_from_the_cache_has_the_same_description(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = example_kernel()
    arguments = np.arange(3.0), np.arange(6.0).reshape(2, 3)
    make_ready(first)
    with monkeypatch.context() as patch:
        patch.setattr(cpu_backend, "emit", lambda *_: pytest.fail("compiled"))
        patch.setattr(own_code, "_replaced", {})  # the name in the cache stays that of the backend
        second = example_kernel()
        make_ready(second)
    assert said(second) == said(first)
    assert second.compile_time > 0.0
    for got, expected in zip(second(*arguments), first(*arguments), strict=True):
        assert np.array_equal(got, expected)
    for got, expected in zip(second.interpret(*arguments), first.interpret(*arguments), strict=True):
        assert np.array_equal(got, expected)
    assert source_and_code(second)[0].traced == source_and_code(first)[0].traced


def test_cached_robot_kernel_is_traced_only_when_its_program_is_read(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = lw.load("arm6").compile("mass_matrix")
    with monkeypatch.context() as patch:
        patch.setattr("linkwork.kernels.function_kernels.trace_requests", lambda *_: pytest.fail("traced"))
        patch.setattr(own_code, "_replaced", {})  # the name in the cache stays that of the function
        second = lw.load("arm6").compile("mass_matrix")
        assert repr(second) == repr(first) and second.signature == first.signature
        assert str(inspect.signature(second)) == "(q, *, out=None)"
    assert second.operations == first.operations and second.program == first.program
    assert second.llvm_ir == first.llvm_ir and second.assembly == first.assembly


def test_descriptive_attributes_of_a_kernel_are_read_only() -> None:
    kernel = example_kernel()
    for name in ("name", "inputs", "program", "llvm_ir", "compile_time", "signature", "operations", "ufunc"):
        with pytest.raises(AttributeError, match=f"property '{name}' of 'Kernel' object has no setter"):
            setattr(kernel, name, None)
    with pytest.raises(AttributeError, match="has no attribute 'extra'"):
        kernel.extra = 1  # type: ignore[attr-defined]


# -- life


@pytest.mark.parametrize("how", ["not called", "called", "float32", "failed", "inspected", "single", "several"])
def test_kernel_is_freed_without_the_garbage_collector(how: str) -> None:
    kernel = compile(lambda x: 2.0 * x, x=3) if how == "single" else example_kernel()
    arrays = (np.ones(3),) if how == "single" else (np.ones(3), np.ones((2, 3)))
    gc.collect()
    gc.disable()
    try:
        if how in ("called", "single", "several"):
            kernel(*arrays)
        if how == "single":
            kernel(*arrays, out=np.zeros(3))
        if how == "float32":
            kernel(*(x.astype(np.float32) for x in arrays))
        if how == "failed":
            with pytest.raises(ValueError, match=r"q: expected an array of shape \(\.\.\., 3\)"):
                kernel(np.ones(7), np.ones(7))
        if how == "inspected":
            said(kernel)
        if how == "several":
            kernel(*(np.stack([x] * 9) for x in arrays))
        gone = [weakref.ref(x) for x in (kernel, kernel._code, kernel._general)]
        del kernel
        assert [reference() for reference in gone] == [None] * 3
    finally:
        gc.enable()


def test_ufunc_computes_and_counts_nan_after_its_kernel_is_deleted() -> None:
    kernel = example_kernel()
    ufunc, state = kernel.ufunc, call_state(kernel)
    del kernel
    gc.collect()
    q = np.ones((5, 3), np.float32)
    assert (
        ufunc(q, np.ones((2, 3), np.float32), out=(None, None, np.zeros((5, 0, 2), np.float32)))[1].dtype == np.float32
    )
    assert state.not_finite_calls == 0
    ufunc(q * np.nan, np.ones((2, 3), np.float32), out=(None, None, np.zeros((5, 0, 2), np.float32)))
    assert state.not_finite_calls == 1


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no way to see the memory in use")
def test_two_hundred_kernels_of_both_float_types_leak_no_memory(cache_folder: Path) -> None:
    """Most of them come from the cache, since only the memory of kernels in use is measured."""

    def create_kernels(count: int) -> None:
        for k in range(count):
            kernel = compile(lambda x: (1.0 + k % 5) * x[::-1] + x @ x, x=4)  # noqa: B023
            for dtype in (np.float64, np.float32):
                kernel(np.ones((9, 4), dtype))

    create_kernels(30)
    gc.collect()
    before = resident()
    create_kernels(200)
    gc.collect()
    assert resident() - before < 200 * 20_000
