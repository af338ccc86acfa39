"""Outlined programs as code: every way to call them gives the same bits, and what the straight line gives."""

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
    """The recursion, with a truth value and the greatest number on the way, two outputs and a guard."""

    def function(x, y):
        found = np.array(recursion(x, y), dtype=object)
        table = np.array([[np.where(a < b, a * b, b) for a in found] for b in found[::3]], dtype=object)
        return found, table, [np.maximum(x[0], 0.0) - 10.0]

    program = trace(function, "recursion", {"x": (2,), "y": (5,)})
    starts = [k for k, i in enumerate(program.instructions) if i.operation.name in ("sin", "lt")]
    return replace(program, outputs=program.outputs[:2], guards=1, marks=tuple(starts))


def samples(count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(4)
    return [rng.normal(size=(count, 2)), rng.normal(size=(count, 5))]


@pytest.mark.slow(every=9)
def test_every_way_to_call_gives_the_same_bits(marked: Program) -> None:
    for target in TARGETS.values():
        with outlining():
            kernel = Kernel(marked, backend=CPUBackend(target))
            make_ready(kernel)
        assert any(i.operation is OUTLINED_CALLS for i in kernel.program.instructions)
        check(kernel, samples(40), sizes=range(1, 41, 3))
    straight = Kernel(marked)
    for one, other in zip(kernel(*samples(40)), straight(*samples(40)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)


def test_threads(marked: Program) -> None:
    with outlining(), sizes(worth=1.0):
        kernel = Kernel(marked)
    given = samples(3000)
    alone = kernel(*given)
    with num_threads(4):
        for one, other in zip(kernel(*given), alone, strict=True):
            np.testing.assert_array_equal(one, other)


def test_guards_are_looked_at(marked: Program) -> None:
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


def test_the_cache_keeps_them(marked: Program, cache_folder: Path) -> None:
    with outlining(cache=str(cache_folder)):
        first, second = Kernel(marked), Kernel(marked)
        make_ready(first)
        make_ready(second)
        given = samples(20)
        assert any(i.operation is OUTLINED_CALLS for i in first.program.instructions)
        for one, other in zip(first(*given), second(*given), strict=True):
            np.testing.assert_array_equal(one, other)
        assert source_and_code(second)[1].cached and not source_and_code(first)[1].cached
