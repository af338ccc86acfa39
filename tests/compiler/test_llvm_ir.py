"""Writer of LLVM IR: loops and branches."""

from __future__ import annotations

import ctypes
from typing import Any

import llvmlite.binding as llvm
import pytest

from linkwork.compiler.codegen.llvm_ir import IrFunction
from linkwork.compiler.codegen.target import host
from linkwork.compiler.runtime.threads import LLVM_LOCK


def run(f: IrFunction, *arguments: int) -> list[int]:
    """Call a function of (ptr %out, i64 %a, i64 %b); what it adds to %out counts."""
    text = f"{f}\nattributes #0 = {{ nounwind }}\n"
    with LLVM_LOCK:
        module = llvm.parse_assembly(text)
        module.verify()
        engine = llvm.create_mcjit_compiler(module, host().machine())
        engine.finalize_object()
        address = engine.get_function_address("f")
    out = (ctypes.c_int64 * 8)()
    kinds = [ctypes.c_void_p] + [ctypes.c_int64] * 2
    ctypes.CFUNCTYPE(None, *kinds)(address)(ctypes.addressof(out), *arguments)
    return list(out)


def function() -> IrFunction:
    return IrFunction("define void @f(ptr %out, i64 %a, i64 %b)")


def count(f: IrFunction, slot: int, by: str | int = 1) -> None:
    pointer = f.at("%out", 8 * slot)
    f.store("i64", f.let(f"add i64 {f.load('i64', pointer)}, {by}"), pointer)


@pytest.mark.parametrize(("stop", "step"), [(0, 1), (1, 1), (5, 1), (7, 2), (8, 2), (-3, 1), (9, 4)])
def test_emitted_llvm_loop_runs_up_to_its_stop_value(stop: int, step: int) -> None:
    for limit in ("%a", stop):
        f = function()
        with f.loop(limit, step=step) as index:
            count(f, 0)
            count(f, 1, index)
        assert run(f, stop, 0)[:2] == [len(range(0, stop, step)), sum(range(0, stop, step))]


def test_emitted_llvm_loop_starts_at_its_start_value() -> None:
    f = function()
    with f.loop("%a", start=3) as index:
        count(f, 0, index)
    assert run(f, 6, 0)[0] == 3 + 4 + 5
    assert run(f, 2, 0)[0] == 0


def test_emitted_llvm_loops_and_branches_can_be_nested() -> None:
    f = function()
    with f.loop("%a") as i:
        with f.when(f.let(f"icmp eq i64 {i}, 1")), f.loop("%b") as j, f.unless(f.let(f"icmp eq i64 {j}, 2")):
            count(f, 0)
            with f.loop(i):
                count(f, 1)
        with f.unless(f.let(f"icmp eq i64 {i}, 1")):
            count(f, 2)
    count(f, 3)
    assert run(f, 4, 5)[:4] == [4, 4, 3, 1]


@pytest.mark.parametrize("values", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_emitted_llvm_conditions_can_be_combined_by_and_and_or(values: tuple[int, int]) -> None:
    f = function()
    flags = [f.let(f"icmp ne i64 {name}, 0") for name in ("%a", "%b")]
    with f.when(f.all_of(flags)):
        count(f, 0)
    with f.when(f.any_of("i1", flags)):
        count(f, 1)
    with f.when(f.all_of([])):
        count(f, 2)
    assert run(f, *values)[:3] == [int(all(values)), int(any(values)), 1]


def test_failed_requirements_in_emitted_code_jump_to_their_label() -> None:
    def function_with_requirements() -> Any:
        f = IrFunction("define void @f(ptr %out, i64 %a, i64 %b)", end="ret void")
        f.require(f.let("icmp slt i64 %a, 10"), "other")
        f.require(f.let("icmp slt i64 %b, 10"), "other")
        count(f, 0)
        f.do("ret void")
        f.label("other")
        count(f, 1)
        return f

    assert run(function_with_requirements(), 1, 1)[:2] == [1, 0]
    assert run(function_with_requirements(), 10, 1)[:2] == [0, 1]
    assert run(function_with_requirements(), 1, 10)[:2] == [0, 1]
