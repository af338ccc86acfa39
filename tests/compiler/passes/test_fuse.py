"""Fused multiply-adds: which products are fused, and the effect on rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from compiler.passes.samples import sample
from compiler.support import programs
from helpers.examples import examples
from linkwork.compiler.codegen.target import host
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.passes import dead_code, fuse
from linkwork.compiler.program import Program
from linkwork.compiler.trace.trace import trace


def fused(function: Any, **shapes: Any) -> dict[str, int]:
    return dict(dead_code(fuse(trace(function, "f", shapes))).operations)


def test_products_in_sums_and_differences_are_compiled_to_fused_multiply_add() -> None:
    shapes = {"a": (), "b": (), "c": ()}
    assert fused(lambda a, b, c: a * b + c, **shapes) == {"fma": 1}
    assert fused(lambda a, b, c: c + a * b, **shapes) == {"fma": 1}
    assert fused(lambda a, b, c: a * b - c, **shapes) == {"fms": 1}
    assert fused(lambda a, b, c: c - a * b, **shapes) == {"fnma": 1}


def test_only_one_of_two_products_in_a_sum_is_fused() -> None:
    assert fused(lambda a, b: a[0] * b[0] + a[1] * b[1], a=2, b=2) == {"fma": 1, "mul": 1}
    assert fused(lambda a, b: a[0] * b[0] - a[1] * b[1], a=2, b=2) in ({"fms": 1, "mul": 1}, {"fnma": 1, "mul": 1})


def test_product_that_has_a_further_use_is_not_fused_into_a_sum() -> None:
    assert fused(lambda a, b: (a * b, a * b + 1.0), a=(), b=()) == {"add": 1, "mul": 1}
    assert fused(lambda a, b: (a * b) / (a * b + 1.0), a=(), b=()) == {"add": 1, "div": 1, "mul": 1}


def test_product_in_several_sums_is_fused_into_all_of_them_or_none() -> None:
    assert fused(lambda a, b, c: (a * b + c[0], a * b - c[1], c[2] - a * b), a=(), b=(), c=3) == {
        "fma": 1,
        "fms": 1,
        "fnma": 1,
    }
    five = fused(lambda a, b, c: tuple(a * b + x for x in c), a=(), b=(), c=5)
    assert five == {"add": 5, "mul": 1}


def test_product_on_both_sides_of_a_sum_is_not_fused() -> None:
    program = trace(lambda a, b, c: a * b + c, "f", {"a": (), "b": (), "c": ()})
    instructions = list(program.instructions)
    product = next(k for k, instruction in enumerate(instructions) if instruction.operation.name == "mul")
    total = next(k for k, instruction in enumerate(instructions) if instruction.operation.name == "add")
    instructions[total] = instructions[total]._replace(args=(product, product))  # a trace has twice the product instead
    twice = fuse(program.rebuilt(instructions, program.results))
    assert {"add": 1, "mul": 1}.items() <= dict(twice.operations).items()


def test_matrix_products_and_polynomials_are_compiled_to_fused_operations_completely() -> None:
    product = dead_code(fuse(sample("matrix product"))).operations
    assert product == {"fma": 180, "mul": 36}
    assert dead_code(fuse(sample("horner"))).operations == {"add": 1, "fma": 19}


@settings(max_examples=examples(60))
@given(programs())
def test_fusing_products_into_sums_adds_no_operations(program: Program) -> None:
    before = dead_code(program)
    after = dead_code(fuse(before))
    assert after.arithmetic == before.arithmetic
    assert len(after.instructions) <= len(before.instructions)


@pytest.mark.skipif(not host().fma, reason="no fused operations here")
@pytest.mark.parametrize("name", ["chain of rotations", "planar dynamics", "matrix product", "horner"])
def test_fused_and_unfused_code_differ_by_rounding_only(name: str) -> None:
    """The values are positive, so each omitted rounding changes a result by at most some units in the last place."""
    program = sample(name)
    rng = np.random.default_rng(3)
    arrays = [rng.uniform(0.1, 1.0, size=(50, *port.shape)) for port in program.inputs]
    fused, plain = Kernel(program), Kernel(program, without_passes=["fuse"])
    assert "fma" in fused.program.operations and "fma" not in plain.program.operations
    got, expected = (kernel(*arrays).reshape(50, -1) for kernel in (fused, plain))
    size = np.abs(expected).max(axis=-1, keepdims=True)
    assert np.all(np.abs(got - expected) <= 32 * np.finfo(float).eps * size)
    assert not np.array_equal(got, expected)
