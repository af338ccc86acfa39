"""Machine code of every operation on every target, against the operation's definition.

What IEEE 754 defines exactly is compared bit for bit; functions that may round differently, with their true values.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import llvmlite.binding as llvm
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.support import (
    EXACT,
    OPERATIONS,
    SPECIAL,
    TRANSCENDENTAL,
    all_bits_equal,
    arrays_for,
    bits_equal,
    every_target,
    programs,
    sample_values,
)
from helpers.examples import examples
from helpers.precise import exactly
from linkwork.compiler.codegen.cpu_backend import CPUBackend
from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE
from linkwork.compiler.codegen.part_code import PARTS, CodegenOptions
from linkwork.compiler.codegen.target import Target, host
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.passes import optimize
from linkwork.compiler.program import CONSTANT, FMA, FMS, FNMA, INPUT, Instruction, Port, Program
from linkwork.expr.scalar.operations import BY_NAME, Lowering, Operation

by_name: Callable[[Any], str] = lambda operation: operation.name  # noqa: E731
WHERE, LT = BY_NAME["where"], BY_NAME["lt"]


def program_of(operation: Operation) -> Program:
    """The operation on elements of x; truth values are made of numbers by 0 < x, and made numbers of by ``where``."""
    instructions = [Instruction(INPUT, (), k) for k in range(operation.arity)]
    args = list(range(operation.arity))
    zero = len(instructions)
    instructions += [Instruction(CONSTANT, (), 0.0), Instruction(CONSTANT, (), 1.0)]
    for k in range(operation.kinds.count("t")):
        args[k] = len(instructions)
        instructions.append(Instruction(LT, (zero, k)))
    instructions.append(Instruction(operation, tuple(args)))
    if operation.logical:
        instructions.append(Instruction(WHERE, (len(instructions) - 1, zero + 1, zero)))
    ports = (Port("x", (operation.arity,)),), (Port("z", ()),)
    return Program(operation.name, *ports, tuple(instructions), (len(instructions) - 1,))


@functools.cache
def kernel_of(operation: Operation, target: Target | None = None) -> Kernel:
    return Kernel(program_of(operation), backend=None if target is None else CPUBackend(target))


def arguments(operation: Operation) -> np.ndarray:
    """Special values in all combinations, and random ones."""
    rng = np.random.default_rng(len(operation.name))
    special = np.array(list(itertools.product(SPECIAL, repeat=min(operation.arity, 2))))
    if operation.arity == 3:
        special = np.concatenate([special, special[:, ::-1]])[:, [0, 1, 0]]
    return np.concatenate([special, sample_values(rng, 501, operation.arity)])


@every_target
@pytest.mark.parametrize("operation", EXACT, ids=by_name)
def test_exact_operations_equal_the_interpreters_bit_for_bit_on_all_targets(
    operation: Operation, target: Target
) -> None:
    kernel = kernel_of(operation, target)
    x = arguments(operation)
    got, expected = kernel(x), kernel.interpret(x)
    if operation.name in ("fmin", "fmax"):  # of two zeros either may come
        zeros = (x == 0.0).all(axis=-1)
        assert np.array_equal(got[zeros], np.zeros(zeros.sum()))
        got, expected = np.where(zeros, 0.0, got), np.where(zeros, 0.0, expected)
    assert bits_equal(got, expected)


@every_target
@pytest.mark.parametrize("operation", TRANSCENDENTAL, ids=by_name)
def test_compiled_functions_have_numpys_infinities_zeros_and_nan(operation: Operation, target: Target) -> None:
    x = arguments(operation)
    got = kernel_of(operation, target)(x)
    with np.errstate(all="ignore"):
        expected = operation.value(*x.T)
    for kind in (np.isnan, np.isposinf, np.isneginf):
        assert np.array_equal(kind(got), kind(expected)), x[kind(got) != kind(expected)]
    zero = expected == 0.0
    if operation.name in ("sin", "cos"):
        zero &= x[:, 0] == 0.0
    assert bits_equal(got[zero], expected[zero])


RANGES: dict[str, tuple[tuple[float, float], ...]] = {
    "exp": ((-700.0, 700.0),),
    "exp2": ((-1000.0, 1000.0),),
    "log": ((1e-300, 10.0),),
    "log1p": ((-0.9, 10.0),),
    "log2": ((1e-300, 10.0),),
    "log10": ((1e-300, 10.0),),
    "pow": ((1e-3, 50.0), (-80.0, 80.0)),
    "asin": ((-1.0, 1.0),),
    "acos": ((-1.0, 1.0),),
    "sinh": ((-30.0, 30.0),),
    "cosh": ((-30.0, 30.0),),
    "tanh": ((-5.0, 5.0),),
    "acosh": ((1e9, 1e10),),
    "atanh": ((-1.0, 1.0),),
}


@pytest.mark.parametrize("operation", TRANSCENDENTAL, ids=by_name)
def test_compiled_functions_are_accurate_to_two_units_in_the_last_place(operation: Operation) -> None:
    rng = np.random.default_rng(5)
    ranges = RANGES.get(operation.name, ((-20.0, 20.0),) * operation.arity)
    x = np.stack([rng.uniform(low, high, 300) for low, high in ranges], axis=-1)
    x[::3] *= 10.0 ** rng.integers(-8, 0, size=(100, 1))
    got = kernel_of(operation)(x)
    with mpmath.workprec(200):
        for arguments, value in zip(x.tolist(), got.tolist(), strict=True):
            true = exactly(operation.name, *map(mpmath.mpf, arguments))
            assert abs(true - value) <= 2 * math.ulp(value), arguments


@pytest.mark.parametrize("operation", OPERATIONS, ids=by_name)
def test_sample_of_an_operation_has_the_same_bits_in_batches_of_all_sizes(operation: Operation) -> None:
    """The scalar code, full blocks and the last block of a batch agree, whatever their neighbours are."""
    kernel = kernel_of(operation)
    x = arguments(operation)
    together = kernel(x)
    every_seventh = np.arange(0, len(x), 7)
    assert bits_equal(np.array([kernel(x[k]) for k in every_seventh]), together[every_seventh])
    assert bits_equal(kernel(x[::-1])[::-1], together)
    assert bits_equal(kernel(x[3:]), together[3:])


@pytest.mark.skipif(not host().fma, reason="no fused operations here")
@pytest.mark.parametrize("operation", [FMA, FMS, FNMA], ids=by_name)
def test_fused_multiply_add_rounds_once(operation: Operation) -> None:
    kernel = kernel_of(operation)
    rng = np.random.default_rng(8)
    x = rng.normal(size=(301, 3))
    x[:, 2] = operation.value(x[:, 0], x[:, 1], 0.0) * (1.0 if operation is FMS else -1.0)  # all but cancels
    if operation is FNMA:
        x[:, 2] = x[:, 0] * x[:, 1]
    got = kernel(x)
    assert np.count_nonzero(got) > 150
    with mpmath.workprec(200):
        for (a, b, c), value in zip(x.tolist(), got.tolist(), strict=True):
            product = mpmath.mpf(a) * b
            true = {"fma": product + c, "fms": product - c, "fnma": c - product}[operation.name]
            assert value == float(true)


@pytest.mark.parametrize("operation", [FMA, FMS, FNMA], ids=by_name)
def test_fused_multiply_add_of_special_values_equals_the_interpreters(operation: Operation) -> None:
    x = np.array(list(itertools.product([0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan], repeat=3)))
    kernel = kernel_of(operation)
    assert bits_equal(kernel(x), kernel.interpret(x))


def outputs(kernel: Kernel, arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
    result = kernel(*arrays)
    return result if len(kernel.outputs) > 1 else (result,)


@pytest.mark.slow
@every_target
@settings(max_examples=20)
@given(program=programs(operations=EXACT, most=60), seed=st.integers(0, 1000))
def test_random_compiled_programs_equal_the_interpreter_bit_for_bit(
    target: Target, program: Program, seed: int
) -> None:
    kernel = Kernel(program, backend=CPUBackend(target), without_passes=["fuse"])
    arrays = arrays_for(program, seed, 2 * target.lanes + 1)
    assert all_bits_equal(outputs(kernel, arrays), program.interpret(*arrays))


@pytest.mark.slow
@settings(max_examples=25)
@given(program=programs(), seed=st.integers(0, 1000))
def test_random_compiled_programs_compute_every_sample_independently(program: Program, seed: int) -> None:
    kernel = Kernel(program)
    arrays = arrays_for(program, seed, 2 * host().lanes + 3)
    together = outputs(kernel, arrays)
    for k in (0, 1, host().lanes, -1):
        assert all_bits_equal(outputs(kernel, [a[k] for a in arrays]), [z[k] for z in together])


@every_target
@settings(max_examples=examples(30))
@given(program=programs())
def test_llvm_accepts_the_modules_of_random_programs(target: Target, program: Program) -> None:
    host()  # LLVM knows the target from here on
    names = set()
    for text in CodegenOptions(optimize(program), target).texts(PARTS):
        module = llvm.parse_assembly(text)
        module.verify()
        names |= {function.name for function in module.functions if not function.is_declaration}
    assert {"random.loop", "random.block", "random.sample", "random.fast"} <= names


@every_target
@pytest.mark.parametrize("operation", OPERATIONS, ids=by_name)
def test_emitted_llvm_instructions_have_no_fast_math_flags(operation: Operation, target: Target) -> None:
    words = set(" ".join(CodegenOptions(optimize(program_of(operation)), target).texts(PARTS)).split())
    assert not words & {"fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"}


@pytest.mark.parametrize("value", [0.0, -0.0, 1.5, math.pi, 5e-324, math.inf, -math.inf, math.nan])
def test_constants_are_compiled_bit_for_bit(value: float) -> None:
    program = Program("number", (), (Port("z", ()),), (Instruction(CONSTANT, (), value),), (0,))
    assert bits_equal(Kernel(program)(), np.float64(value))
    for real in (DOUBLE, SINGLE):
        assert real.literal(value, 4).count(real.name) in (1, 4) and real.name not in real.literal(value)


def test_operation_without_llvm_lowering_is_refused_with_its_name() -> None:
    unknown = Operation("gamma", 1, np.sin, math.sin, None, Lowering("vector", "gamma"))
    with pytest.raises(ValueError, match="no lowering for the operation <operation gamma>"):
        kernel_of(unknown)
