"""Loops over batches: arrays of all sizes and layouts, and overlapping arrays.

The function computes with whole numbers, exactly, so what is compared is only where numbers are read and written.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
import pytest

from compiler.support import TARGETS, every_target
from linkwork.compiler.codegen.cpu_backend import CPUBackend
from linkwork.compiler.codegen.float_type import SINGLE
from linkwork.compiler.codegen.register_loop import TWICE
from linkwork.compiler.codegen.target import Target, host
from linkwork.compiler.kernel import Kernel, call_state
from linkwork.compiler.trace.trace import trace

Shape = tuple[int, ...]
HOST = host()
UNTOUCHED = 0.125
BATCHES = [1, 2, 3, HOST.lanes - 1, HOST.lanes, HOST.lanes + 1, 2 * HOST.lanes, 3 * HOST.lanes + 2]


def permuted(x: np.ndarray, core: int, shape: Shape) -> np.ndarray:
    """y[j] = (j + 1) x[3 j + 1] + j, with cyclic indices in row-major order."""
    flat = x.reshape(*x.shape[: x.ndim - core], -1) if x.size else x.reshape(*x.shape[: x.ndim - core], 0)
    size = flat.shape[-1]
    sample_values = [
        (j + 1) * flat[..., (3 * j + 1) % size] + j if size else 0 * j + j for j in range(math.prod(shape))
    ]
    leading = flat.shape[:-1]
    columns = [np.broadcast_to(np.asarray(number), leading) for number in sample_values]
    return (np.stack(columns, axis=-1) if columns else np.zeros((*leading, 0))).reshape((*leading, *shape))


@functools.cache
def kernel_of(inside: Shape, outside: Shape, target: Target = HOST) -> Kernel:
    function = lambda x: permuted(np.array(x, dtype=object), len(inside), outside)  # noqa: E731
    return Kernel(trace(function, "permuted", {"x": inside}), backend=CPUBackend(target))


def integer_values(*shape: int) -> np.ndarray:
    return np.random.default_rng(math.prod(shape) + 1).integers(-9, 10, size=shape).astype(np.float64)


@every_target
@pytest.mark.parametrize("size", range(21))
def test_kernels_with_input_and_output_ports_of_all_sizes_compute_correct_results(size: int, target: Target) -> None:
    check(kernel_of((size,), (20 - size,), target))


@pytest.mark.slow(every=9)
@every_target
def test_kernels_with_large_ports_compute_correct_results_for_all_remainders_of_simd_lanes(target: Target) -> None:
    for size in range(150 - target.lanes, 151):
        check(kernel_of((size,), (298 - size,), target))


def check(kernel: Kernel) -> None:
    (size,), outside = kernel.inputs[0].shape, kernel.outputs[0].shape
    for batch in [(), (0,), *((n,) for n in range(1, 2 * HOST.lanes + 3))]:
        x = integer_values(*batch, size)
        assert np.array_equal(kernel(x), permuted(x, 1, outside))


@pytest.mark.parametrize("inside", [(), (1, 1), (1, 5), (5, 1), (3, 4), (4, 4), (0, 3), (2, 3, 4), (7, 1, 6)])
@pytest.mark.parametrize("outside", [(), (1, 7), (6, 3), (2, 2, 5), (3, 0)])
def test_kernels_with_matrix_ports_and_multidimensional_batches_compute_correct_results(
    inside: Shape, outside: Shape
) -> None:
    kernel = kernel_of(inside, outside)
    for batch in [(), *((n,) for n in BATCHES), (2, 3), (2, 0), (1, 1, 4)]:
        x = integer_values(*batch, *inside)
        result = kernel(x)
        assert result.shape == (*batch, *outside)
        assert np.array_equal(result, permuted(x, len(inside), outside))


def padded(a: np.ndarray) -> np.ndarray:
    wide = np.zeros((len(a), a[0].size + 3))
    wide[:, : a[0].size] = a.reshape(len(a), -1)
    return np.lib.stride_tricks.as_strided(wide, a.shape, (wide.strides[0], *a.strides[1:]))


def unaligned(a: np.ndarray, offset: int = 1) -> np.ndarray:
    raw = np.zeros(a.nbytes + 16, dtype=np.uint8)
    start = -raw.ctypes.data % 8 + offset
    array: np.ndarray = np.ndarray(a.shape, np.float64, raw, start)
    array[...] = a
    assert not array.flags.aligned
    return array


def spread(a: np.ndarray, axis: int) -> np.ndarray:
    """Every second element along an axis of a larger array."""
    shape = list(a.shape)
    shape[axis] *= 2
    large = np.full(shape, UNTOUCHED)
    view = large[(*[slice(None)] * axis, slice(None, None, 2))]
    view[...] = a
    return view


def backwards(a: np.ndarray, axis: int) -> np.ndarray:
    return np.flip(np.flip(a, axis).copy(), axis)


def samples_last(a: np.ndarray) -> np.ndarray:
    return np.moveaxis(np.moveaxis(a, 0, -1).copy(), -1, 0)


def read_only(a: np.ndarray) -> np.ndarray:
    a = a.copy()
    a.flags.writeable = False
    return a


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "contiguous": np.ascontiguousarray,
    "fortran": np.asfortranarray,
    "samples last": samples_last,
    "every second sample": lambda a: spread(a, 0),
    "every second row": lambda a: spread(a, 1),
    "every second column": lambda a: spread(a, 2),
    "samples backwards": lambda a: backwards(a, 0),
    "rows backwards": lambda a: backwards(a, 1),
    "columns backwards": lambda a: backwards(a, 2),
    "transposed": lambda a: a.swapaxes(1, 2).copy().swapaxes(1, 2),
    "padded": padded,
    "unaligned": unaligned,
    "unaligned by four": lambda a: unaligned(a, 4),
    "other byte order": lambda a: a.astype(np.dtype(np.float64).newbyteorder()),
    "float32": lambda a: a.astype(np.float32),
}
IN_LAYOUTS = LAYOUTS | {
    "read-only": read_only,
    "float16": lambda a: a.astype(np.float16),
    "int8": lambda a: a.astype(np.int8),
    "int64": lambda a: a.astype(np.int64),
    "list": lambda a: a.tolist(),
}
CORES: list[tuple[Shape, Shape]] = [((3, 5), (6, 2)), ((1, 9), (4, 1)), ((8, 2), (3, 8))]


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("layout", IN_LAYOUTS)
def test_kernels_compute_correct_results_for_inputs_of_all_memory_layouts(
    layout: str, core: tuple[Shape, Shape]
) -> None:
    kernel = kernel_of(*core)
    for n in BATCHES:
        x = integer_values(n, *core[0])
        expected = permuted(x, 2, core[1])
        assert np.array_equal(kernel(IN_LAYOUTS[layout](x)), expected)
        assert np.array_equal(kernel(IN_LAYOUTS[layout](x)[n - 1]), expected[n - 1])


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_kernels_write_correct_results_to_outputs_of_all_memory_layouts(layout: str, core: tuple[Shape, Shape]) -> None:
    kernel = kernel_of(*core)
    for n in BATCHES:
        x = integer_values(n, *core[0])
        out = LAYOUTS[layout](np.full((n, *core[1]), -1.0))
        assert kernel(x, out=out) is out
        assert np.array_equal(out, permuted(x, 2, core[1]))
        if layout.startswith("every second"):  # nothing is written in between
            assert np.count_nonzero(out.base == UNTOUCHED) == out.size


@every_target
def test_kernels_accept_unusual_memory_layouts_on_every_simd_target(target: Target) -> None:
    kernel = kernel_of((3, 5), (6, 2), target)
    for n in range(1, 2 * target.lanes + 2):
        x = integer_values(n, 3, 5)
        expected = permuted(x, 2, (6, 2))
        for layout in ("fortran", "samples last", "every second column", "padded", "rows backwards"):
            out = LAYOUTS[layout](np.zeros((n, 6, 2)))
            kernel(LAYOUTS[layout](x), out=out)
            assert np.array_equal(out, expected)


def test_kernel_inputs_of_bools_lists_and_ranges_are_converted_to_floats() -> None:
    kernel = kernel_of((4,), (5,))
    x = np.array([[True, False, True, True], [False, False, True, False]])
    assert np.array_equal(kernel(x), permuted(x.astype(float), 1, (5,)))
    assert np.array_equal(kernel([1, 2.5, True, 0]), permuted(np.array([1, 2.5, 1, 0]), 1, (5,)))
    assert np.array_equal(kernel(np.arange(4)), kernel(range(4)))


def test_broadcast_sample_of_a_kernel_input_is_not_copied() -> None:
    kernel = kernel_of((5,), (5,))
    sample = integer_values(5)
    for n in BATCHES:
        x = np.broadcast_to(sample, (n, 5))
        assert np.array_equal(kernel(x), permuted(x, 1, (5,)))
    x = np.broadcast_to(integer_values(7, 1), (7, 5))
    assert np.array_equal(kernel(x), permuted(x, 1, (5,)))


def test_leading_dimensions_of_several_kernel_inputs_broadcast() -> None:
    kernel = Kernel(trace(lambda a, b, c: (a * b[0] + b[1] - c, b * c), "three", {"a": (), "b": 2, "c": ()}))
    a, b, c = integer_values(3, 1, 4), integer_values(5, 1, 2), integer_values()
    first, second = kernel(a, b, c)
    assert np.array_equal(first, a * b[..., 0] + b[..., 1] - c)
    assert first.shape == (3, 5, 4)
    assert np.array_equal(second, np.broadcast_to(b * c, (3, 5, 4, 2)))


@pytest.mark.parametrize("batch", [(0,), (0, 3), (3, 0), (0, 0)])
def test_empty_batches_of_kernel_inputs_give_empty_results(batch: Shape) -> None:
    kernel = kernel_of((3,), (2, 2))
    assert kernel(np.zeros((*batch, 3))).shape == (*batch, 2, 2)
    assert kernel(np.zeros((*batch, 3)), out=np.zeros((*batch, 2, 2))).size == 0


@pytest.mark.parametrize("n", BATCHES)
@pytest.mark.parametrize("size", [1, 2, 5, 8, 11])
def test_kernel_output_array_may_be_or_overlap_its_input(n: int, size: int) -> None:
    kernel = kernel_of((size,), (size,))
    x = integer_values(n, size)
    expected = permuted(x, 1, (size,))
    for start in (0, 1, size, 2 * size + 1):  # where the output begins in the memory of the input
        memory = np.zeros((n + 3) * size + 2)
        source = memory[: x.size].reshape(x.shape)
        source[...] = x
        kernel(source, out=memory[start : start + x.size].reshape(x.shape))
        assert np.array_equal(memory[start : start + x.size].reshape(x.shape), expected)
    turned = x.copy()
    kernel(turned, out=turned[:, ::-1])
    assert np.array_equal(turned[:, ::-1], expected)
    turned = x.copy()
    kernel(turned[::-1], out=turned)
    assert np.array_equal(turned, expected[::-1])


def test_kernel_output_array_may_be_the_input_of_a_single_sample() -> None:
    kernel = kernel_of((7,), (7,))
    x = integer_values(7)
    expected = permuted(x, 1, (7,))
    assert kernel(x, out=x) is x
    assert np.array_equal(x, expected)


@every_target
def test_kernel_output_array_may_be_any_of_the_inputs(target: Target) -> None:
    function = lambda a, b, c: (a[::-1] + 2 * b, b[::-1] - c * a)  # noqa: E731
    kernel = Kernel(trace(function, "three", {"a": 5, "b": 5, "c": 5}), backend=CPUBackend(target))
    for n in (1, 2, 3, target.lanes, 2 * target.lanes + 1):
        arrays = [integer_values(n, 5) + k for k in range(3)]
        a, b, c = arrays
        expected = a[:, ::-1] + 2 * b, b[:, ::-1] - c * a
        for first in range(3):
            for second in range(3):
                if first != second:
                    copies = [x.copy() for x in arrays]
                    kernel(*copies, out=(copies[first], copies[second]))
                    assert np.array_equal(copies[first], expected[0])
                    assert np.array_equal(copies[second], expected[1])


def test_two_inputs_of_a_kernel_may_be_the_same_array() -> None:
    kernel = Kernel(trace(lambda a, b: a[::-1] * b, "twice", {"a": 3, "b": 3}))
    x = integer_values(11, 3)
    assert np.array_equal(kernel(x, x), x[:, ::-1] * x)


@pytest.mark.parametrize("shape", [(3, 5, 4), (5,), (), (3, 5, 1), (1, 3, 4), (3, 6), (5, 3)])
def test_kernel_inputs_of_wrong_core_shapes_are_refused(shape: Shape) -> None:
    with pytest.raises(ValueError, match=r"permuted: x: expected an array of shape \(\.\.\., 3, 5\), got shape"):
        kernel_of((3, 5), (6, 2))(np.zeros(shape))


def test_kernel_outputs_of_wrong_shapes_and_types_are_refused() -> None:
    kernel = kernel_of((3, 5), (6, 2))
    for shape in [(6,), (2, 6), (6, 3)]:
        with pytest.raises(ValueError, match=r"permuted: "):
            kernel(np.zeros((3, 5)), out=np.zeros(shape))
    with pytest.raises(ValueError, match=r"out: expected an array of shape \(4, 6, 2\) for output, got"):
        kernel(np.zeros((4, 3, 5)), out=np.zeros((3, 6, 2)))
    with pytest.raises(ValueError, match="read-only"):
        kernel(np.zeros((3, 5)), out=read_only(np.zeros((6, 2))))
    with pytest.raises(TypeError, match=r"out: .* got numbers of type int64"):
        kernel(np.zeros((3, 5)), out=np.zeros((6, 2), dtype=np.int64))


WIDE = [np.longdouble] if np.dtype(np.longdouble).itemsize > 8 else []  # float64 by another name on Windows


@pytest.mark.parametrize("dtype", [complex, object, "U3", *WIDE, "datetime64[s]"])
def test_kernel_inputs_of_types_without_safe_conversion_are_refused(dtype: object) -> None:
    with pytest.raises(TypeError, match=r"x: expected an array .* which NumPy does not convert to float64 safely"):
        kernel_of((3,), (2,))(np.zeros(3).astype(dtype))


@pytest.mark.slow(every=9)
@every_target
@pytest.mark.parametrize("batch", [1, 2, 9, 17])
def test_kernel_call_with_several_nan_inputs_is_counted_once(batch: int, target: Target) -> None:
    for size in [*range(1, 2 * target.lanes + 2), 127, 128, 129, 150]:
        kernel = kernel_of((size,), (size,), target)
        x = integer_values(batch, size)
        count_before = call_state(kernel).not_finite_calls
        kernel(x)
        kernel(np.where(x > 0, 1e97, x))  # the sum of magnitudes stays below 1e100
        assert call_state(kernel).not_finite_calls == count_before
        for sample in {0, batch // 2, batch - 1}:
            for element in {0, size // 2, size - 1}:
                for layout, value in (
                    (np.ascontiguousarray, np.nan),
                    (np.asfortranarray, -np.inf),
                    (np.ascontiguousarray, -1e101),  # so large that products overflow
                ):
                    spoilt = layout(x.copy())
                    spoilt[sample, element] = value
                    count_before = call_state(kernel).not_finite_calls
                    kernel(spoilt)
                    assert call_state(kernel).not_finite_calls == count_before + 1


def test_batch_loop_tests_cover_several_simd_vector_widths() -> None:
    assert {target.lanes for target in TARGETS.values()} >= {2, HOST.lanes} or HOST.triple.startswith(("aarch", "arm"))


@pytest.mark.slow(every=9)
@every_target
@pytest.mark.parametrize("steps", [0, 40], ids=["a vector", "two vectors"])
def test_register_loops_of_short_programs_give_equal_bits_for_all_layouts(steps: int, target: Target) -> None:
    """Contiguous vectors equal strided, broadcast and single samples; NaN in unused values is counted too."""

    def function(X: np.ndarray, p: np.ndarray, t: object) -> dict[str, object]:
        moved = [X[i, 3] / (p[0] * p[0] + 1.5) + X[i, 0] * p[i] for i in range(3)]
        for k in range(steps):
            moved[k % 3] = moved[(k + 1) % 3] * moved[k % 3] + X[1, k % 4]
        pair, six = [moved[2], X[0, 0]], [*moved, *p]
        arrays = {"moved": moved, "still": [t, 2.0], "pair": pair, "six": six}
        return {"d": moved[0] / (t * t + 0.3), **{name: np.array(x, dtype=object) for name, x in arrays.items()}}

    kernel = Kernel(trace(function, "short", {"X": (4, 4), "p": (3,), "t": ()}), backend=CPUBackend(target))
    assert (len(kernel.program.instructions) in TWICE) == bool(steps)
    rng = np.random.default_rng(0)
    for dtype in (np.float64, np.float32):
        X, p, t = (rng.normal(size=(37, *shape)).astype(dtype) for shape in ((4, 4), (3,), ()))
        alone = [np.stack(output) for output in zip(*(kernel(*row) for row in zip(X, p, t, strict=True)), strict=True)]
        for n in (3, target.lanes_of(SINGLE), 20, 36, 37):
            strided = (np.repeat(x, 2, axis=0)[::2] for x in (X, p, t))
            for arguments in ((X, p, t), tuple(strided), (np.asfortranarray(X), p[:, ::-1].copy()[:, ::-1], t)):
                for got, expected in zip(kernel(*(x[:n] for x in arguments)), alone, strict=True):
                    np.testing.assert_array_equal(got, expected[:n])
        shared, copied = kernel(X, p[0], t), kernel(X, np.tile(p[0], (37, 1)), t)
        for got, expected in zip(shared, copied, strict=True):
            np.testing.assert_array_equal(got, expected)
        for k in (0, 5, 36):
            bad = X.copy()
            bad[k, 3, 1] = np.nan
            before = call_state(kernel).not_finite_calls
            for got, expected in zip(kernel(bad, p, t), alone, strict=True):
                np.testing.assert_array_equal(got, expected)
            assert call_state(kernel).not_finite_calls == before + 1
