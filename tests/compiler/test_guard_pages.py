"""Protected pages around arrays: machine code reads and writes only inside of arrays.

Where a test fails, the process ends with a segmentation fault, and pytest's fault handler names the test.
"""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

from compiler.guarded import AVAILABLE, PAGE, Guarded
from compiler.support import every_target
from linkwork.compiler.codegen.cpu_backend import CPUBackend
from linkwork.compiler.codegen.target import Target
from linkwork.compiler.kernel import Kernel, single_call
from linkwork.compiler.trace.trace import trace

TESTS = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not AVAILABLE, reason="no mprotect here")

Drawn = Callable[[Iterable[int]], list[int]]


@functools.cache
def kernel_of(size: int, target: Target) -> Kernel:
    """x (size,), s () -> y (size,), z (size, 2)."""

    def function(x: np.ndarray, s: object) -> tuple[np.ndarray, np.ndarray]:
        return x[::-1] + s, np.array([[element * 2.0, s] for element in x], dtype=object)

    return Kernel(trace(function, "guarded", {"x": size, "s": ()}), backend=CPUBackend(target))


def check(kernel: Kernel, x: np.ndarray, s: np.ndarray, y: np.ndarray, z: np.ndarray) -> None:
    x[...] = np.arange(x.size).reshape(x.shape)
    s[...] = np.arange(s.size)
    kernel.ufunc(x, s, out=(y, z))
    assert np.array_equal(y, x[..., ::-1] + s[..., np.newaxis])
    assert np.array_equal(z[..., 0], np.broadcast_to(2.0 * x, y.shape))
    assert np.array_equal(z[..., 1], np.broadcast_to(s[..., np.newaxis], y.shape))


@functools.cache
def areas() -> tuple[Guarded, ...]:
    return tuple(Guarded(pages) for pages in (1, 1, 1, 2))


def cases(target: Target, drawn: Drawn) -> Iterator[tuple[int, int, bool]]:
    for size in drawn(range(1, 2 * target.lanes + 2)):
        for batch in range(1, 2 * target.lanes + 2):
            for at_end in (False, True):
                yield size, batch, at_end


@pytest.mark.parametrize("at_end", [True, False])
def test_access_beyond_an_array_before_a_guard_page_ends_the_process(at_end: bool) -> None:
    code = (
        "import ctypes\n"
        "from compiler.guarded import Guarded\n"
        f"a = Guarded().array((5,), at_end={at_end})\n"
        "a[:] = 1.0\n"
        "print(a.sum(), flush=True)\n"
        f"print(ctypes.c_double.from_address(a.ctypes.data + {40 if at_end else -8}).value)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=TESTS, capture_output=True, text=True, check=False)
    assert run.stdout == "5.0\n", run.stderr
    assert run.returncode < 0


@pytest.mark.costly
@every_target
def test_kernels_do_not_access_memory_outside_contiguous_arrays(target: Target, drawn: Drawn) -> None:
    for size, batch, at_end in cases(target, drawn):
        shapes = (batch, size), (batch,), (batch, size), (batch, size, 2)
        check(kernel_of(size, target), *(area.array(s, at_end=at_end) for area, s in zip(areas(), shapes, strict=True)))


@pytest.mark.costly
@every_target
def test_kernels_do_not_access_memory_outside_arrays_of_single_samples(target: Target, drawn: Drawn) -> None:
    for size in drawn(range(1, 2 * target.lanes + 2)):
        kernel = kernel_of(size, target)
        single = single_call(kernel, lambda *arrays: pytest.fail("the single call was not taken"))
        for at_end in (False, True):
            shapes = (size,), (), (size,), (size, 2)
            x, s, y, z = (area.array(shape, at_end=at_end) for area, shape in zip(areas(), shapes, strict=True))
            check(kernel, x, s, y, z)
            again = single(x, s)
            assert np.array_equal(again[0], y) and np.array_equal(again[1], z)


@pytest.mark.costly
@every_target
def test_kernels_do_not_access_memory_outside_arrays_of_spaced_and_reversed_samples(
    target: Target, drawn: Drawn
) -> None:
    """Rows are farther apart than they are long, or go down in memory; the last one still ends at the guard."""
    for size, batch, at_end in cases(target, drawn):
        for sign in (1, -1):
            row, pair = sign * 8 * (size + 3), sign * 8 * (2 * size + 1)
            shapes = (batch, size), (batch,), (batch, size), (batch, size, 2)
            strides = (row, 8), (sign * 16,), (row, 8), (pair, 16, 8)
            if batch * abs(pair) > 2 * PAGE:
                continue
            arrays = (a.array(s, t, at_end=at_end) for a, s, t in zip(areas(), shapes, strides, strict=True))
            check(kernel_of(size, target), *arrays)


@pytest.mark.costly
@every_target
def test_kernels_do_not_access_memory_outside_arrays_of_strided_samples(target: Target, drawn: Drawn) -> None:
    for size, batch, at_end in cases(target, drawn):
        shapes = (batch, size), (batch,), (batch, size), (batch, size, 2)
        strides = (8, 8 * batch), (-8,), (-8 * size, -8), (16, 16 * batch, 8)
        arrays = (a.array(s, t, at_end=at_end) for a, s, t in zip(areas(), shapes, strides, strict=True))
        check(kernel_of(size, target), *arrays)


@pytest.mark.costly
@every_target
def test_kernels_do_not_access_memory_outside_a_broadcast_input(target: Target, drawn: Drawn) -> None:
    for size, batch, at_end in cases(target, drawn):
        shapes = (size,), (batch,), (batch, size), (batch, size, 2)
        check(kernel_of(size, target), *(area.array(s, at_end=at_end) for area, s in zip(areas(), shapes, strict=True)))


@pytest.mark.costly
@every_target
def test_kernels_do_not_access_memory_outside_large_ports_transposed_in_blocks(target: Target) -> None:
    for size in (6 * target.lanes, 7 * target.lanes - 1, 8 * target.lanes + 1):
        kernel = kernel_of(size, target)
        for batch in (1, 2, 3, target.lanes, target.lanes + 1):
            for at_end in (False, True):
                shapes = (batch, size), (batch,), (batch, size), (batch, size, 2)
                check(kernel, *(Guarded(4).array(s, at_end=at_end) for s in shapes))
