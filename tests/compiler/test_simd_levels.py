"""All SIMD levels of this processor, in float64 and float32, with whole and segmented programs.

Guard pages show that nothing is read or written beyond an array's end; layouts, that it is read and written in place.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from compiler.guarded import AVAILABLE, Guarded
from compiler.knobs import LEVELS, every_level, num_threads, sizes
from compiler.support import bits_equal
from compiler.test_batch_loop import LAYOUTS
from linkwork.compiler.codegen.cpu_backend import CPUBackend
from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE, FloatType
from linkwork.compiler.codegen.target import EFFORT, VARIABLE, host, levels
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.program import Program
from linkwork.compiler.trace.trace import trace
from linkwork.expr import while_loop
from linkwork.expr.scalar import functions as f

every_type = pytest.mark.parametrize("real", [DOUBLE, SINGLE], ids=["float64", "float32"])
cut_or_not = pytest.mark.parametrize("cut", [False, True], ids=["whole", "segments"])


def program_of(size: int) -> Program:
    """x (size,), s () -> y (size,), z (size, 2), of whole numbers."""

    def function(x: np.ndarray, s: object) -> tuple[np.ndarray, np.ndarray]:
        return x[::-1] + s, np.array([[element * 2.0, s] for element in x], dtype=object)

    return trace(function, "guarded", {"x": size, "s": ()})


@functools.cache
def kernel_of(size: int, level: str, cut: bool) -> Kernel:
    """A kernel whose loop over float32 has been compiled, too."""
    with sizes(whole=3 if cut else 2000, most=5 if cut else 600, worth=0.0):
        kernel = Kernel(program_of(size), backend=CPUBackend(LEVELS[level]))
        kernel(np.zeros((4, size), np.float32), np.float32(0.0))
    return kernel


@functools.cache
def areas() -> tuple[Guarded, ...]:
    return tuple(Guarded(pages) for pages in (8, 1, 8, 12))


def check(kernel: Kernel, batch: int, at_end: bool, dtype: Any) -> None:
    size = kernel.inputs[0].size
    shapes = (batch, size), (batch,), (batch, size), (batch, size, 2)
    x, s, y, z = (area.array(shape, at_end=at_end, dtype=dtype) for area, shape in zip(areas(), shapes, strict=True))
    x[...] = np.arange(x.size).reshape(x.shape) % 999
    s[...] = np.arange(batch)
    kernel.ufunc(x, s, out=(y, z))
    assert np.array_equal(y, x[:, ::-1] + s[:, np.newaxis])
    assert np.array_equal(z, np.stack([2.0 * x, np.broadcast_to(s[:, np.newaxis], x.shape)], axis=-1))


@pytest.mark.slow(every=9)
@pytest.mark.skipif(not AVAILABLE, reason="no mprotect here")
@every_level
@every_type
@cut_or_not
def test_kernels_at_all_simd_levels_do_not_access_memory_outside_arrays(level: str, real: FloatType, cut: bool) -> None:
    lanes = LEVELS[level].lanes_of(real)
    for size in sorted({1, 2, 3, 7, lanes - 1, lanes + 1, 2 * lanes + 3}):
        kernel = kernel_of(size, level, cut)
        for batch in [*range(1, 2 * lanes + 2), 8 * lanes - 1, 8 * lanes + 1]:
            for at_end in (False, True):
                with num_threads(1 + batch % 3):
                    check(kernel, batch, at_end, real.dtype)


@pytest.mark.skipif(not AVAILABLE, reason="no mprotect here")
def test_access_beyond_a_float32_array_before_a_guard_page_ends_the_process() -> None:
    code = (
        "import ctypes, numpy as np\nfrom compiler.guarded import Guarded\n"
        "a = Guarded().array((5,), at_end=True, dtype=np.float32)\na[:] = 1.0\nprint(a.sum(), flush=True)\n"
        "print(ctypes.c_float.from_address(a.ctypes.data + 20).value)\n"
    )
    folder = os.path.dirname(os.path.dirname(__file__))
    run = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert run.stdout == "5.0\n", run.stderr
    assert run.returncode < 0


@every_level
@every_type
@cut_or_not
@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name not in ("float32", "unaligned by four")])
def test_inputs_and_outputs_of_all_layouts_give_correct_results_at_all_simd_levels(
    layout: str, level: str, real: FloatType, cut: bool
) -> None:
    kernel = transposing(level, cut)
    lanes = LEVELS[level].lanes_of(real)
    for batch in (1, 3, lanes - 1, lanes + 1, 8 * lanes + 3):
        x = np.random.default_rng(batch).integers(-99, 99, size=(batch, 3, 5)).astype(real.dtype)
        out = LAYOUTS[layout](np.full((batch, 5, 3), 0.5)).astype(real.dtype)
        source = relaid(x, layout)
        target = relaid(out, layout)
        assert kernel(source, out=target) is target
        assert np.array_equal(target, expected(x))
        assert np.array_equal(kernel(source), expected(x))


def relaid(a: np.ndarray, layout: str) -> np.ndarray:
    """Return an array in the layout that `test_loops` makes for float64, with the strides of its own type."""
    if a.dtype == np.float64:
        return LAYOUTS[layout](a)
    if layout == "other byte order":
        return a.astype(a.dtype.newbyteorder())
    if layout == "unaligned":
        copied: np.ndarray = np.ndarray(a.shape, a.dtype, np.zeros(a.nbytes + 16, np.uint8), 1)
        copied[...] = a
        return copied
    wide = LAYOUTS[layout](a.astype(np.float64))
    strides = tuple(stride // 2 for stride in wide.strides)
    reach = sum(abs(stride) * (n - 1) for stride, n in zip(strides, a.shape, strict=True))
    start = sum(-stride * (n - 1) for stride, n in zip(strides, a.shape, strict=True) if stride < 0)
    copied = np.ndarray(a.shape, a.dtype, np.zeros(reach + 4, np.uint8), start, strides)
    copied[...] = a
    return copied


@functools.cache
def transposing(level: str, cut: bool) -> Kernel:
    with sizes(whole=3 if cut else 2000, most=6 if cut else 600, worth=0.0):
        kernel = Kernel(trace(lambda x: x.T * 2.0 + x[0, 0], "turn", {"x": (3, 5)}), backend=CPUBackend(LEVELS[level]))
        kernel(np.zeros((4, 3, 5), np.float32))
    return kernel


def expected(x: np.ndarray) -> np.ndarray:
    return x.swapaxes(1, 2) * 2.0 + x[:, :1, :1]


@every_level
@every_type
@cut_or_not
def test_outputs_may_overlap_inputs_at_all_simd_levels(level: str, real: FloatType, cut: bool) -> None:
    with sizes(whole=3 if cut else 2000, most=6 if cut else 600, worth=0.0):
        kernel = Kernel(
            trace(lambda a, b: (a[::-1] + 2.0 * b, b - a), "two", {"a": 5, "b": 5}), backend=CPUBackend(LEVELS[level])
        )
        lanes = LEVELS[level].lanes_of(real)
        for batch in (1, 2, 3, lanes + 1, 8 * lanes + 1, 40 * lanes + 1):
            rng = np.random.default_rng(batch)
            a, b = rng.integers(-99, 99, size=(2, batch, 5)).astype(real.dtype)
            right = a[:, ::-1] + 2.0 * b, b - a
            for shift in (0, 1, 5, 7):
                memory = np.zeros(5 * batch + shift, real.dtype)
                source, target = memory[: 5 * batch].reshape(batch, 5), memory[shift:].reshape(batch, 5)
                source[...] = a
                with num_threads(3):
                    first, second = kernel(source, b, out=(target, None))
                assert first is target
                assert np.array_equal(first, right[0]) and np.array_equal(second, right[1])
            swapped = a.copy(), b.copy()
            with num_threads(4):
                kernel(*swapped, out=swapped[::-1])
            assert np.array_equal(swapped[1], right[0]) and np.array_equal(swapped[0], right[1])


def test_kernel_output_may_overlap_an_input_of_another_rank() -> None:
    """Each sample of s reads all of m, and writes a row of it."""
    kernel = Kernel(trace(lambda m, s: m[0] * s + m[-1] + m[5], "rows", {"m": (40, 40), "s": ()}))
    m, s = np.arange(1600.0).reshape(40, 40), np.arange(40.0)
    right = kernel(m, s)
    over = m.copy()
    assert kernel(over, s, out=over) is over
    assert np.array_equal(over, right)
    over = m.copy()
    assert kernel(over, s, out=(over,))[3, 3] == right[3, 3]
    assert np.array_equal(over, right)


@pytest.mark.costly
@every_type
def test_simd_levels_agree_bit_for_bit_with_and_without_fused_multiply_add(real: FloatType) -> None:
    def function(x: Any) -> Any:
        return np.array([f.sin(x[0]) * x[1] + x[2], f.exp(-x[1] * x[1]) / x[2], f.atan2(x[0], x[1] * x[2] - x[0])])

    rng = np.random.default_rng(0)
    x = rng.normal(size=(301, 3)).astype(real.dtype)
    program = trace(function, "mixed", {"x": 3})
    for fma in (False, True):
        results = [Kernel(program, backend=CPUBackend(target))(x) for target in LEVELS.values() if target.fma is fma]
        assert all(r.dtype == real.dtype and bits_equal(r, results[0]) for r in results)


# -- which level


@pytest.mark.best_code
def test_environment_variable_chooses_the_simd_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    best = host()
    for level, target in levels().items():
        for spelled in (level, level.upper()):
            monkeypatch.setenv(VARIABLE, spelled)
            assert host() == target
            kernel = Kernel(program_of(3))
            assert f'"prefer-vector-width"="{64 * target.lanes}"' in kernel.llvm_ir
    monkeypatch.setenv(VARIABLE, "")
    assert host() == best
    for wrong in ("avx1024", "0", " sse2", "best"):
        monkeypatch.setenv(VARIABLE, wrong)
        with pytest.raises(ValueError, match=rf"LINKWORK_SIMD: expected one of {', '.join(levels())}.*{wrong}"):
            Kernel(program_of(3))


# -- how much LLVM does


@pytest.mark.slow(every=9)
@every_level
@every_type
def test_results_do_not_depend_on_the_compilation_effort(
    level: str, real: FloatType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors, remaining samples and single samples; straight-line code, and a loop with varying iterations."""

    def function(x: Any) -> Any:
        grown = while_loop(lambda r: r < 4.0, lambda r: r * 1.5 + 0.1, abs(x[0]), max_iterations=20).state
        return np.array([f.sin(x[0]) * x[1] + x[2], f.exp(-x[1] * x[1]) / x[2], f.where(x[0] < x[1], *x[1:]), grown])

    program = trace(function, "mixed", {"x": 3})
    x = np.random.default_rng(0).normal(size=(37, 3)).astype(real.dtype)
    monkeypatch.setenv(VARIABLE, level)
    results, code = [], set()
    for effort in "", "2", "1", "0":
        monkeypatch.setenv(EFFORT, effort)
        kernel = Kernel(program)
        results.append(np.vstack([kernel(x), kernel(x[:1]), kernel(x[0])[None]]))
        code.add(kernel.assembly)
    assert len(code) == 3  # none is left as it was
    assert all(bits_equal(r, results[0]) for r in results)


def test_unknown_compilation_effort_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EFFORT, "3")
    with pytest.raises(ValueError, match="LINKWORK_EFFORT: expected one of 0, 1, 2, got '3'"):
        Kernel(program_of(3))
