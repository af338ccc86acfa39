"""Machine code in this process: valid modules, large programs, large arrays, memory."""

from __future__ import annotations

import gc
import mmap
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from compiler.passes.samples import SAMPLES, sample
from compiler.support import bits_equal, every_target
from linkwork.compiler.backend import symbol_prefix
from linkwork.compiler.codegen.cpu_backend import CPUBackend
from linkwork.compiler.codegen.entry_points import ENTRIES, available
from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE
from linkwork.compiler.codegen.jit import emit, link, text_bytes
from linkwork.compiler.codegen.part_code import PARTS, CodegenOptions
from linkwork.compiler.codegen.target import Target, host
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.passes import optimize
from linkwork.compiler.program import CONSTANT, INPUT, Instruction, Port, Program
from linkwork.compiler.trace.trace import compile, trace
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.operations import BY_NAME

MEMORY = Path("/proc/self/statm")


@every_target
@pytest.mark.parametrize("name", SAMPLES)
def test_llvm_accepts_the_modules_of_all_entry_points(name: str, target: Target) -> None:
    for real in (DOUBLE, SINGLE):
        texts = CodegenOptions(optimize(sample(name)), target, real).texts(PARTS)
        assert texts == CodegenOptions(optimize(sample(name)), target, real).texts(PARTS)
        for text in texts:
            llvm.parse_assembly(text).verify()


def test_llvm_accepts_modules_of_empty_programs() -> None:
    host()
    for inputs in ((), (Port("x", (0,)),), (Port("x", (3, 0)), Port("y", ()))):
        for outputs in ((Port("z", (0,)),), (Port("z", (0, 2)), Port("w", ()))):
            constants = (Instruction(CONSTANT, (), 1.0),)
            program = Program("empty", inputs, outputs, constants, (0,) * sum(port.size for port in outputs))
            for text in CodegenOptions(program, host()).texts(PARTS):
                llvm.parse_assembly(text).verify()


@every_target
def test_exported_symbols_begin_with_the_kernels_name(target: Target) -> None:
    host()
    visible = set()
    program = replace(optimize(sample("chain of rotations")), name="größe")
    for text in CodegenOptions(program, target).texts(PARTS):
        functions = llvm.parse_assembly(text).functions
        visible |= {f.name for f in functions if not f.is_declaration and f.linkage == llvm.Linkage.external}
    assert visible == {"gr__e.loop", "gr__e.few", "gr__e.block", "gr__e.sample", "gr__e.fast"}


@pytest.mark.slow(every=3)
def test_kernel_names_do_not_collide_with_names_of_llvm() -> None:
    assert symbol_prefix("llvm") == "llvm_" and symbol_prefix("llvm1") == "llvm1"
    for name in ("llvm", "lw", "größe", "_"):
        kernel = compile(lambda x: f.sin(x) + x, x=2, name=name)
        for x in (np.ones(2), np.ones((9, 2))):
            assert np.allclose(kernel(x), np.sin(1.0) + 1.0)


@pytest.mark.parametrize("name", ENTRIES)
def test_entry_point_is_compiled_from_only_the_parts_it_needs(name: str) -> None:
    if not available(name, DOUBLE):
        pytest.skip("not to be had here")
    design, entry = CodegenOptions(optimize(sample("horner")), host()), ENTRIES[name]
    objects = emit(design.texts(entry.parts), host())
    table = entry.table and f"{design.prefix}.{entry.table}"
    (code,) = link(objects, host(), [(f"{design.prefix}.{name}", table)])
    assert code.address and bool(code.table) == bool(entry.table)
    assert 0 < sum(map(text_bytes, objects)) < sum(map(len, objects))


@pytest.mark.slow(every=3)
def test_machine_code_uses_no_registers_wider_than_the_target() -> None:
    program = optimize(sample("chain of rotations"))
    for lanes, cpu, wide in ((2, "x86-64", "ymm"), (4, "x86-64-v3", "zmm")):
        if not host().triple.startswith("x86_64"):
            pytest.skip("registers of x86")
        target = Target(host().triple, cpu, "", lanes, fma=lanes > 2)
        for text in CodegenOptions(program, target).texts(PARTS):
            assert wide not in target.machine().emit_assembly(llvm.parse_assembly(text))


def long_program(length: int) -> Program:
    """Values within [-1, 1], each computed from recent ones: 1 - 2 a², in which every bit counts, or (a + b) / 2."""
    rng = np.random.default_rng(0)
    sample_values = [Instruction(CONSTANT, (), value) for value in (0.5, 1.0, 2.0)]
    instructions = [*sample_values, *(Instruction(INPUT, (), k) for k in range(40))]
    mul, add, sub = BY_NAME["mul"], BY_NAME["add"], BY_NAME["sub"]
    half, unit, two, values = 0, 1, 2, list(range(3, 43))
    while len(instructions) < length:
        a, b = (values[-k] for k in rng.integers(1, 40, size=2))
        last = len(instructions)
        if rng.random() < 0.5:
            instructions += [
                Instruction(mul, (a, a)),
                Instruction(mul, (two, last)),
                Instruction(sub, (unit, last + 1)),
            ]
        else:
            instructions += [Instruction(add, (a, b)), Instruction(mul, (half, last))]
        values.append(len(instructions) - 1)
    return Program("long", (Port("x", (40,)),), (Port("y", (10, 10)),), tuple(instructions), tuple(values[-100:]))


@pytest.mark.slow(every=5)
def test_program_of_twenty_thousand_instructions_compiles() -> None:
    program = long_program(20_100)
    kernel = Kernel(program, without_passes=["fuse", "dead_code"])
    assert len(kernel.program.instructions) >= 20_000
    x = np.random.default_rng(1).uniform(-1.0, 1.0, size=(host().lanes + 1, 40))
    expected = kernel.interpret(x)
    assert np.abs(expected).max() <= 1.0 and np.unique(expected).size > 0.9 * expected.size
    assert bits_equal(kernel(x), expected)
    assert bits_equal(kernel(x[0]), expected[0])


@every_target
def test_kernels_with_megabytes_of_arrays_run_in_a_thread_with_a_small_stack(target: Target) -> None:
    """Megabytes of vectors, in a thread with a smaller stack."""

    def function(x: Any) -> Any:
        return x[..., [0, 1, 20_000]] + x[..., [-1, -2, 7]]

    kernel = Kernel(trace(function, "large", {"x": 40_007}), backend=CPUBackend(target))
    x = np.arange(9.0)[:, np.newaxis] + np.arange(40_007.0)
    inputs = x, x[:2], x[:, ::-1], x[4]
    results: list[Any] = []
    before = threading.stack_size(1 << 19)
    try:
        thread = threading.Thread(target=lambda: results.extend(kernel(array) for array in inputs))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    for array, got in zip(inputs, results, strict=True):
        assert np.array_equal(got, function(array))


@pytest.mark.slow
@pytest.mark.skipif(not MEMORY.exists(), reason="no way to see the memory in use")
def test_a_small_kernel_takes_less_than_500_kB() -> None:
    def resident() -> int:
        gc.collect()
        return int(MEMORY.read_text().split()[1]) * mmap.PAGESIZE

    kernels = [compile(lambda q: f.sin(q) * f.cos(q[::-1]) + q @ q, q=6) for _ in range(3)]
    before = resident()
    kernels += [compile(lambda q: f.sin(q) * f.cos(q[::-1]) + q @ q, q=6) for _ in range(20)]
    assert resident() - before < 20 * 500_000
    assert len(kernels) == 23


def test_batch_loop_allocates_its_working_memory_once_per_thread():
    program = optimize(trace(lambda x: 2.0 * x + 1.0, "wide", {"x": 2000}))
    (loop,) = (text for text in CodegenOptions(program, host()).texts(["loop"]) if ".range" in text or "range(" in text)
    functions = [text.partition("\n}")[0] for text in loop.split("\ndefine ")[1:]]
    allocating = [text.partition("(")[0] for text in functions if "@malloc" in text]
    assert len(allocating) == 2 and sum("shares" in name for name in allocating) == 1
    assert not any("range" in name for name in allocating)
    assert all(text.count("@malloc(") == text.count("@free(") == 1 for text in functions if "@malloc" in text)


def test_text_section_sizes_of_object_files_equal_those_reported_by_llvm() -> None:
    for target in (host(), replace(host(), effort=0)):
        for code in emit(CodegenOptions(optimize(sample("chain of rotations")), target).texts(PARTS), target):
            sections = llvm.ObjectFileRef.from_data(code).sections()
            assert text_bytes(code) == sum(section.size() for section in sections if section.is_text()) > 0
