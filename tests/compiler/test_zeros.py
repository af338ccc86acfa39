"""Results that are constant zeros: written in runs, and not one by one."""

import numpy as np
import pytest

from compiler.knobs import sizes
from compiler.support import all_bits_equal
from linkwork.compiler.trace.trace import compile

ZERO_RUNS = ((0, 5), (7, 9), (9, 30), (31, 40))  # of 40 numbers: zeros in runs, at the start, and at the end


def scattered(x):
    """Zeros between numbers, an output of zeros alone, and zeros with a minus, which are others."""
    first = [x[k % 3] * (k + 1.0) for k in range(40)]
    for start, stop in ZERO_RUNS:
        first[start:stop] = [0.0] * (stop - start)
    first[20] = -0.0
    return np.array(first, dtype=object).reshape(8, 5), np.zeros((4, 4)), np.array([-0.0] * 6)


@pytest.mark.slow(every=3)
def test_constant_zeros_in_outputs_are_written_in_all_kinds_of_kernel_calls():
    x = np.random.default_rng(0).normal(size=(37, 3))
    for whole in (2000, 10):
        with sizes(whole=whole, most=10):
            kernel = compile(scattered, x=(3,))
        expected = kernel.interpret(x)
        assert np.signbit(expected[0].reshape(37, -1)[:, 20]).all() and np.signbit(expected[2]).all()
        dirty = [np.full(part.shape[1:], np.nan) for part in expected]
        for k, sample in enumerate(x):
            assert all_bits_equal(kernel(sample), [part[k] for part in expected])
            kernel(sample, out=tuple(dirty))
            assert all_bits_equal(dirty, [part[k] for part in expected])
        assert all_bits_equal(kernel(x), expected)
        single = kernel(x.astype(np.float32))
        assert all_bits_equal([part[3] for part in single], kernel(x[3].astype(np.float32)))


def test_thousands_of_constant_zeros_are_written_by_one_instruction():
    def corner(x):
        array = np.zeros((70, 70), dtype=object)
        array[0, 0] = x * 2.0
        return array

    kernel = compile(corner, x=())
    sample = kernel.llvm_ir.partition("@corner.sample(")[2].partition("\n}")[0]
    assert sample.count("store ") == 1 and sample.count("memset") == 1
    assert kernel(1.5)[0, 0] == 3.0 and np.count_nonzero(kernel(1.5)) == 1


def test_constant_zeros_between_values_are_written_by_one_instruction():
    def banded(x):
        array = np.zeros((40, 40), dtype=object)
        for k in range(40):
            array[k, k] = x * (k + 1.0)
            array[k, (k + 2) % 40] = -0.0
        return array

    kernel = compile(banded, x=())
    for whole in (2000, 10):
        with sizes(whole=whole, most=10):
            kernel = compile(banded, x=())
        dirty = np.full((40, 40), np.nan)
        kernel(1.5, out=dirty)
        assert all_bits_equal([dirty], [kernel.interpret(np.array([1.5]))[0]])
        assert all_bits_equal([kernel(np.array([1.5]))[0]], [dirty])
    assert kernel.llvm_ir.count("call void @llvm.memset") == 1


@pytest.mark.slow(every=9)
def test_repeated_output_values_are_copied_by_a_table():
    def repeated(x):
        rows = [[x[0] * x[1], x[1] * 3.0, 0.0, float(k % 7), x[2] * (k + 1.0)] for k in range(1000)]
        return np.array(rows, dtype=object), x * 2.0

    x = np.random.default_rng(1).normal(size=(19, 3))
    for whole in (2000, 10):
        with sizes(whole=whole, most=10):
            kernel = compile(repeated, x=(3,))
        sample = kernel.llvm_ir.partition("@repeated.sample(")[2].partition("\n}")[0]
        assert sample.count("@repeated.copies.out0") == 1
        expected = kernel.interpret(x)
        for k, point in enumerate(x):
            assert all_bits_equal(kernel(point), [part[k] for part in expected])
        assert all_bits_equal(kernel(x), expected)
