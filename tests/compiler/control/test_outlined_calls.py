"""Outlined programs as machine code: all kinds of calls give equal bits, equal to those of the straight-line code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from compiler.control.test_kernels import check
from compiler.knobs import num_threads, outlining, sizes
from compiler.passes.test_outline import recursion
from compiler.support import TARGETS
from linkwork.compiler.codegen.cpu_backend import CPUBackend
from linkwork.compiler.kernel import Kernel, call_state, source_and_code
from linkwork.compiler.outlined_calls import OUTLINED_CALLS
from linkwork.compiler.prepared_code import make_ready
from linkwork.compiler.program import Program
from linkwork.compiler.trace.trace import trace


@pytest.fixture(scope="module")
def marked() -> Program:
    """The recursion with a comparison and a running maximum, two outputs and a guard."""

    def function(x, y):
        values = np.array(recursion(x, y), dtype=object)
        table = np.array([[np.where(a < b, a * b, b) for a in values] for b in values[::3]], dtype=object)
        return values, table, [np.maximum(x[0], 0.0) - 10.0]

    program = trace(function, "recursion", {"x": (2,), "y": (5,)})
    starts = [k for k, i in enumerate(program.instructions) if i.operation.name in ("sin", "lt")]
    return replace(program, outputs=program.outputs[:2], guards=1, marks=tuple(starts))


def samples(count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(4)
    return [rng.normal(size=(count, 2)), rng.normal(size=(count, 5))]


@pytest.mark.slow(every=9)
def test_outlined_code_gives_equal_bits_for_single_calls_batches_and_targets(marked: Program) -> None:
    for target in TARGETS.values():
        with outlining():
            kernel = Kernel(marked, backend=CPUBackend(target))
            make_ready(kernel)
        assert any(i.operation is OUTLINED_CALLS for i in kernel.program.instructions)
        check(kernel, samples(40), sizes=range(1, 41, 3))
    straight = Kernel(marked)
    for first, second in zip(kernel(*samples(40)), straight(*samples(40)), strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-13, atol=1e-13)


def test_outlined_code_gives_equal_bits_with_several_threads(marked: Program) -> None:
    with outlining(), sizes(worth=1.0):
        kernel = Kernel(marked)
    inputs = samples(3000)
    alone = kernel(*inputs)
    with num_threads(4):
        for first, second in zip(kernel(*inputs), alone, strict=True):
            np.testing.assert_array_equal(first, second)


def test_outlined_code_counts_samples_that_violate_guards(marked: Program) -> None:
    with outlining():
        kernel = Kernel(marked)
        x, y = samples(20)
        kernel(x, y)
        kernel(x[7], y[7])
        assert call_state(kernel).off_calls == 0
        x[7, 0] = 11.0
        kernel(x, y)
        assert call_state(kernel).off_calls == 1
        kernel(x[7], y[7])
        assert call_state(kernel).off_calls == 2


def test_outlined_code_is_loaded_from_the_cache(marked: Program, cache_folder: Path) -> None:
    with outlining(cache=str(cache_folder)):
        first, second = Kernel(marked), Kernel(marked)
        make_ready(first)
        make_ready(second)
        inputs = samples(20)
        assert any(i.operation is OUTLINED_CALLS for i in first.program.instructions)
        for left, right in zip(first(*inputs), second(*inputs), strict=True):
            np.testing.assert_array_equal(left, right)
        assert source_and_code(second)[1].cached and not source_and_code(first)[1].cached
