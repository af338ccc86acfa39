"""Guards: hidden results of which positive values are counted, for all kinds of calls."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from compiler.knobs import num_threads, sizes
from compiler.support import all_bits_equal, bits_equal, every_target
from linkwork.compiler.cache.program_digest import content
from linkwork.compiler.codegen.code_segments import plan
from linkwork.compiler.codegen.cpu_backend import CPUBackend
from linkwork.compiler.codegen.target import Target
from linkwork.compiler.kernel import Kernel, call_state, single_call
from linkwork.compiler.passes import optimize
from linkwork.compiler.program import InvalidProgramError, Port, Program, verify
from linkwork.compiler.runtime import fastcall
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.symbol import Graph

N = 5


def program(guarded: bool = True, steps: int = 3) -> Program:
    """A recursion over x and the square of x, with bounds of 1 on x·x and on the last value."""
    graph = Graph()
    x = graph.inputs("x", (N,))
    y = list(x)
    for k in range(steps):
        y = [f.sin(y[i] * y[(i + 1) % N] + x[(i + k) % N] * 0.5) for i in range(N)]
    square = sum(a * a for a in x)
    guards = [square - 1.0, f.exp(f.log(x[-1] * x[-1])) - 1.0, x[-1] * x[-1] - 1.0] if guarded else []
    return Program.of("watched", [(Port("x", (N,)), x)], [(Port("y", (N,)), y), (Port("square", ()), [square])], guards)


def samples(count: int) -> np.ndarray:
    x = np.random.default_rng(0).normal(size=(count, N))
    return x / np.linalg.norm(x, axis=-1, keepdims=True) * 0.9


def counted(kernel: Kernel, x: np.ndarray) -> tuple[bool, Any]:
    """Return True if a call counts a positive guard, and the call's result."""
    before = call_state(kernel).off_calls
    result = kernel(x)
    return call_state(kernel).off_calls != before, result


@pytest.mark.slow(every=9)
@every_target
@pytest.mark.parametrize("segmented", [False, True])
def test_guards_of_a_kernel_check_every_sample_and_leave_results_unchanged(target: Target, segmented: bool) -> None:
    with sizes(whole=30, most=20) if segmented else sizes():
        kernel, plain = (
            Kernel(program(), backend=CPUBackend(target)),
            Kernel(program(guarded=False), backend=CPUBackend(target)),
        )
        assert kernel.outputs == plain.outputs and kernel.signature == plain.signature
        for dtype in (np.float64, np.float32):
            for count in (1, 2, 3, 40, 41):
                right = samples(count).astype(dtype)
                off, results = counted(kernel, right)
                assert not off and all_bits_equal(results, plain(right))
                for index in {0, 1, count // 2, count - 1} & set(range(count)):
                    wrong = right.copy()
                    wrong[index] *= 1.2
                    spread_out = np.zeros((count, 2 * N), dtype)[:, ::2]
                    spread_out[:] = wrong
                    for x in (wrong, spread_out, wrong[::-1]):
                        off, results = counted(kernel, x)
                        assert off and all_bits_equal(results, plain(x))
    assert len(plan(kernel.program, 30, 20).segments) > 1 and kernel.program.guards == 3


def test_guards_of_a_kernel_are_counted_in_all_threads() -> None:
    with sizes(worth=1.0), num_threads(4):
        kernel = Kernel(program())
        x = samples(40_000)
        assert not counted(kernel, x)[0]
        for index in (0, 17_321, 39_999):
            wrong = x.copy()
            wrong[index] *= 2.0
            assert counted(kernel, wrong)[0]


def test_infinite_guard_values_count_as_violations_and_nan_and_zero_do_not() -> None:
    graph = Graph()
    inputs = [(Port("x", (1,)), graph.inputs("x", (1,)))]
    ((_, (x,)),) = inputs
    kernel = Kernel(Program.of("bound", inputs, [(Port("y", (1,)), [x])], [f.fabs(x) - 1.0]))
    for value, expected in ((1.0, False), (math.nextafter(1.0, 2.0), True), (math.inf, True), (math.nan, False)):
        for count in (1, 20):
            x = np.full((count, 1), value)
            off, y = counted(kernel, x)
            assert off == expected and bits_equal(y, x)


@pytest.mark.skipif(not fastcall.available(), reason="arrays do not look as expected here")
@pytest.mark.parametrize("segmented", [False, True])
def test_single_kernel_call_that_violates_a_guard_uses_the_general_call(segmented: bool) -> None:
    with sizes(whole=30, most=20) if segmented else sizes():
        kernel = Kernel(program())
    handed: list[tuple[np.ndarray, ...]] = []
    call = single_call(kernel, lambda *arrays, **named: handed.append((*arrays, *named.values())))
    right, wrong = samples(1)[0], samples(1)[0] * 1.2
    assert all_bits_equal(call(right), kernel(right)) and not handed
    assert call(wrong) is None and len(handed) == 1 and handed[0][0] is wrong
    assert all_bits_equal(kernel(wrong), Kernel(program(guarded=False))(wrong))


@pytest.mark.slow
@pytest.mark.skipif(not fastcall.available(), reason="arrays do not look as expected here")
@pytest.mark.parametrize("size", [3, 3000])
def test_output_arrays_are_unchanged_for_samples_that_violate_a_guard(size: int) -> None:
    graph = Graph()
    x = graph.inputs("x", (size,))
    traced = Program.of(
        "twice", [(Port("x", (size,)), x)], [(Port("y", (size,)), [2.0 * a for a in x])], [x[0] - 1.0, x[1] - 1.0]
    )
    handed: list[np.ndarray] = []
    call = single_call(Kernel(traced), lambda *arrays, **named: handed.append(named["out"]))
    for right in (np.zeros(size), np.ones(size)):
        out = np.full(size, 7.0)
        result = call(right, out=out)
        assert (result is out and np.array_equal(out, 2.0 * right)) if size == 3 else handed.pop() is out
    out = np.full(size, 7.0)
    call(np.full(size, 1.5), out=out)
    assert handed[0] is out and (out == 7.0).all()


def test_guards_do_not_appear_in_a_kernels_outputs_or_operation_counts() -> None:
    guarded, plain = program(), program(guarded=False)
    assert guarded.operations == plain.operations and guarded.arithmetic == plain.arithmetic
    assert guarded.unguarded == plain and plain.unguarded is plain
    x = samples(3)
    assert all_bits_equal(guarded.interpret(x), plain.interpret(x)) and len(guarded.interpret(x)) == 2
    kernel = Kernel(guarded)
    assert kernel.operations == plain.operations and kernel.arithmetic == plain.arithmetic
    assert type(kernel(x))._fields == ("y", "square") and kernel.ufunc.nout == 2
    optimized = optimize(guarded, debug=True)
    assert optimized.guards == 3
    assert optimized.unguarded.operations == optimize(plain).operations


def test_guards_are_verified_and_are_part_of_a_programs_digest() -> None:
    guarded = program()
    with pytest.raises(InvalidProgramError, match="outputs and 2 guards"):
        verify(replace(guarded, guards=2))
    verify(guarded)
    assert len({content(p) for p in (guarded, guarded.unguarded, replace(guarded, guards=2))}) == 3


def test_kernels_converted_to_casadi_have_no_guards() -> None:
    pytest.importorskip("casadi")
    function = Kernel(program()).to_casadi()
    assert function.n_out() == 2 and function.name_out(0) == "y"
    x = samples(1)[0]
    assert np.allclose(function(x)[0].full()[:, 0], program().interpret(x)[0])
