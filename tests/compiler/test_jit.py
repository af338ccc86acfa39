"""Machine code in this process: well-formed modules, large programs, large arrays, little memory."""

from __future__ import annotations

import gc
import mmap
import threading
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from compiler.passes.samples import SAMPLES, sample
from compiler.support import bits_equal, every_target
from linkwork.compiler import fastcall
from linkwork.compiler.jit import emit, link, module_texts
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.passes import optimize
from linkwork.compiler.program import CONSTANT, INPUT, Instruction, Port, Program
from linkwork.compiler.real import DOUBLE, SINGLE
from linkwork.compiler.target import Target, host
from linkwork.compiler.trace import compile, trace
from linkwork.expr import functions as f
from linkwork.expr.operations import BY_NAME

MEMORY = Path("/proc/self/statm")


@every_target
@pytest.mark.parametrize("name", SAMPLES)
def test_llvm_finds_the_module_well_formed(name: str, target: Target) -> None:
    for real in (DOUBLE, SINGLE):
        texts = module_texts(optimize(sample(name)), target, real)
        assert texts == module_texts(optimize(sample(name)), target, real)
        for text in texts:
            llvm.parse_assembly(text).verify()


def test_empty_modules_are_well_formed() -> None:
    host()
    for inputs in ((), (Port("x", (0,)),), (Port("x", (3, 0)), Port("y", ()))):
        for outputs in ((Port("z", (0,)),), (Port("z", (0, 2)), Port("w", ()))):
            one = (Instruction(CONSTANT, (), 1.0),)
            program = Program("empty", inputs, outputs, one, (0,) * sum(port.size for port in outputs))
            module = llvm.parse_assembly(*module_texts(program, host()))
            module.verify()
            assert module.get_function("loop").name == "loop"


@every_target
def test_only_the_entries_are_visible(target: Target) -> None:
    host()
    module = llvm.parse_assembly(*module_texts(optimize(sample("chain of rotations")), target))
    visible = {g.name for g in module.functions if not g.is_declaration and g.linkage == llvm.Linkage.external}
    assert visible == {"loop", "sample"} | ({"fast"} if fastcall.available() else set())


def test_addresses_and_time() -> None:
    objects = emit(module_texts(optimize(sample("horner")), host()), host())
    code = link(objects, host(), fast_call=fastcall.available())
    assert code.loop and code.sample
    assert bool(code.fast) == bool(code.python_table) == fastcall.available()


def test_code_uses_no_registers_wider_than_the_target() -> None:
    program = optimize(sample("chain of rotations"))
    for lanes, cpu, wide in ((2, "x86-64", "ymm"), (4, "x86-64-v3", "zmm")):
        if not host().triple.startswith("x86_64"):
            pytest.skip("registers of x86")
        target = Target(host().triple, cpu, "", lanes, fma=lanes > 2)
        module = llvm.parse_assembly(*module_texts(program, target))
        assembly = target.machine().emit_assembly(module)
        assert wide not in assembly


def long_program(length: int) -> Program:
    """Values within [-1, 1], each made of values not far back: 1 - 2 a², in which every bit counts, or (a + b) / 2."""
    rng = np.random.default_rng(0)
    numbers = [Instruction(CONSTANT, (), value) for value in (0.5, 1.0, 2.0)]
    instructions = [*numbers, *(Instruction(INPUT, (), k) for k in range(40))]
    mul, add, sub = BY_NAME["mul"], BY_NAME["add"], BY_NAME["sub"]
    half, one, two, values = 0, 1, 2, list(range(3, 43))
    while len(instructions) < length:
        a, b = (values[-k] for k in rng.integers(1, 40, size=2))
        last = len(instructions)
        if rng.random() < 0.5:
            instructions += [Instruction(mul, (a, a)), Instruction(mul, (two, last)), Instruction(sub, (one, last + 1))]
        else:
            instructions += [Instruction(add, (a, b)), Instruction(mul, (half, last))]
        values.append(len(instructions) - 1)
    return Program("long", (Port("x", (40,)),), (Port("y", (10, 10)),), tuple(instructions), tuple(values[-100:]))


def test_a_program_of_twenty_thousand_instructions() -> None:
    program = long_program(20_100)
    kernel = Kernel(program, without_passes=["fuse", "dead_code"])
    assert len(kernel.program.instructions) >= 20_000
    x = np.random.default_rng(1).uniform(-1.0, 1.0, size=(host().lanes + 1, 40))
    expected = kernel.interpret(x)
    assert np.abs(expected).max() <= 1.0 and np.unique(expected).size > 0.9 * expected.size
    assert bits_equal(kernel(x), expected)
    assert bits_equal(kernel(x[0]), expected[0])


@every_target
def test_large_arrays_need_no_large_stack(target: Target) -> None:
    """Megabytes of vectors, in a thread whose stack has less."""

    def function(x: Any) -> Any:
        return x[..., [0, 1, 20_000]] + x[..., [-1, -2, 7]]

    kernel = Kernel(trace(function, "large", {"x": 40_007}), target=target)
    x = np.arange(9.0)[:, np.newaxis] + np.arange(40_007.0)
    inputs = x, x[:2], x[:, ::-1], x[4]
    results: list[Any] = []
    before = threading.stack_size(1 << 19)
    try:
        thread = threading.Thread(target=lambda: results.extend(kernel(given) for given in inputs))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    for given, got in zip(inputs, results, strict=True):
        assert np.array_equal(got, function(given))


@pytest.mark.skipif(not MEMORY.exists(), reason="no way to see the memory in use")
def test_a_small_kernel_takes_little_memory() -> None:
    def resident() -> int:
        gc.collect()
        return int(MEMORY.read_text().split()[1]) * mmap.PAGESIZE

    kernels = [compile(lambda q: f.sin(q) * f.cos(q[::-1]) + q @ q, q=6) for _ in range(3)]
    before = resident()
    kernels += [compile(lambda q: f.sin(q) * f.cos(q[::-1]) + q @ q, q=6) for _ in range(20)]
    assert resident() - before < 20 * 500_000
    assert len(kernels) == 23
