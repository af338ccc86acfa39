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
from linkwork.compiler.jit import generate, module_text
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.passes import optimize
from linkwork.compiler.program import CONSTANT, INPUT, Instruction, Port, Program
from linkwork.compiler.target import Target, host
from linkwork.compiler.trace import compile
from linkwork.expr import functions as f
from linkwork.expr.operations import BY_NAME

MEMORY = Path("/proc/self/statm")


@every_target
@pytest.mark.parametrize("name", SAMPLES)
def test_llvm_finds_the_module_well_formed(name: str, target: Target) -> None:
    text = module_text(optimize(sample(name)), target)
    assert text == module_text(optimize(sample(name)), target)
    llvm.parse_assembly(text).verify()


def test_empty_modules_are_well_formed() -> None:
    host()
    for inputs in ((), (Port("x", (0,)),), (Port("x", (3, 0)), Port("y", ()))):
        for outputs in ((Port("z", (0,)),), (Port("z", (0, 2)), Port("w", ()))):
            one = (Instruction(CONSTANT, (), 1.0),)
            program = Program("empty", inputs, outputs, one, (0,) * sum(port.size for port in outputs))
            llvm.parse_assembly(module_text(program, host())).verify()


@every_target
def test_only_the_entries_are_visible(target: Target) -> None:
    host()
    module = llvm.parse_assembly(module_text(optimize(sample("chain of rotations")), target))
    visible = {g.name for g in module.functions if not g.is_declaration and g.linkage == llvm.Linkage.external}
    assert visible == {"loop", "sample"} | ({"fast"} if fastcall.available() else set())


def test_addresses_and_time() -> None:
    code = generate(optimize(sample("horner")), host())
    assert code.loop and code.sample and code.seconds > 0.0
    assert bool(code.fast) == bool(code.python_table) == fastcall.available()


def test_code_uses_no_registers_wider_than_the_target() -> None:
    program = optimize(sample("chain of rotations"))
    for lanes, cpu, wide in ((2, "x86-64", "ymm"), (4, "x86-64-v3", "zmm")):
        if not host().triple.startswith("x86_64"):
            pytest.skip("registers of x86")
        target = Target(host().triple, cpu, "", lanes, fma=lanes > 2)
        module = llvm.parse_assembly(module_text(program, target))
        assembly = target.machine().emit_assembly(module)
        assert wide not in assembly


def long_program(length: int) -> Program:
    """Values within [-1, 1], each made of three before it, not far back."""
    rng = np.random.default_rng(0)
    size = 40
    instructions = [Instruction(INPUT, (), k) for k in range(size)] + [Instruction(CONSTANT, (), 0.5)]
    mul, add, sub = BY_NAME["mul"], BY_NAME["add"], BY_NAME["sub"]
    values = list(range(size))
    while len(instructions) < length:
        a, b, c = (values[-k] for k in rng.integers(1, 40, size=3))
        start = len(instructions)
        instructions.append(Instruction(mul, (a, b)))
        instructions.append(Instruction(add if start % 2 else sub, (start, c)))
        instructions.append(Instruction(mul, (size, start + 1)))
        values.append(start + 2)
    results = tuple(values[-100:])
    return Program("long", (Port("x", (size,)),), (Port("y", (10, 10)),), tuple(instructions), results)


def test_a_program_of_twenty_thousand_instructions() -> None:
    program = long_program(20_000)
    kernel = Kernel(program, without_passes=["fuse", "dead_code"])
    assert len(kernel.program.instructions) >= 20_000
    x = np.random.default_rng(1).uniform(-1.0, 1.0, size=(host().lanes + 1, 40))
    expected = kernel.interpret(x)
    assert bits_equal(kernel(x), expected)
    assert bits_equal(kernel(x[0]), expected[0])


@every_target
def test_large_arrays_need_no_large_stack(target: Target) -> None:
    """Megabytes of vectors, in a thread whose stack has less."""
    function = compile(lambda x: np.array([x[0] + x[-1], x[1], x[20_000]]), x=40_001)
    kernel = Kernel(function.program, target=target)
    x = np.arange(9.0)[:, np.newaxis] + np.arange(40_001.0)
    results: list[Any] = []

    def work() -> None:
        results.extend([kernel(x), kernel(x[:2]), kernel(x[:, ::-1]), kernel(x[4])])

    before = threading.stack_size(1 << 19)
    try:
        thread = threading.Thread(target=work)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    expected = np.stack([x[:, 0] + x[:, -1], x[:, 1], x[:, 20_000]], axis=-1)
    turned = np.stack([x[:, 0] + x[:, -1], x[:, -2], x[:, 20_000]], axis=-1)
    for got, wanted in zip(results, (expected, expected[:2], turned, expected[4]), strict=True):
        assert np.array_equal(got, wanted)


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
