"""Piecewise kernels: each position is evaluated with its row of the table, for all lanes, threads and orders."""

from unittest import mock

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler.codegen.target import levels
from linkwork.compiler.runtime import piecewise_kernel as along_calls
from linkwork.compiler.runtime.piecewise_kernel import PiecewiseKernel, compile_piecewise
from linkwork.expr.scalar import functions as f


def two(*, t, start, common, column):
    """Two outputs, one of them of a function that is code of our own."""
    u = t - start
    return column[0] + column[1] * u, common[0] * f.sin(u) + column[1]


def expected(t, s, starts, table, common):
    rows = np.maximum(np.searchsorted(starts, s, side="right") - 1, 0)
    u, (a, b) = (t - starts[rows])[:, None], np.moveaxis(table[rows], -1, 0)
    return a + b * u, common[0] * np.sin(u) + b


@pytest.mark.parametrize("level", levels())
def test_piecewise_kernels_evaluate_each_position_with_its_table_row(level, monkeypatch):
    monkeypatch.setenv("LINKWORK_SIMD", level)
    kernel, rng = compile_piecewise(two, "two", 1, 2), np.random.default_rng(0)
    for columns, rows in ((1, 1), (7, 2), (7, 33), (8, 100), (13, 5)):
        starts, table = np.cumsum(rng.uniform(0.1, 1.0, rows)), rng.normal(size=(rows, columns, 2))
        common = rng.normal(size=1)
        along = PiecewiseKernel(kernel, starts, table, common)
        for count in (0, 1, 2, 7, 8, 513, 2000):
            s = rng.uniform(starts[0] - 0.5, starts[-1] + 0.5, count)
            s[: min(rows, count)] = starts[:count]  # where a row begins it holds already
            for positions in (s, np.sort(s), np.sort(s)[::-1]):
                t = 2.0 * positions
                values = along(t, positions)
                for x, y in zip(values, expected(t, positions, starts, table, common), strict=True):
                    assert x.shape == (count, columns) and np.allclose(x, y, rtol=1e-12, atol=1e-12)
                for k in range(0, count, 97):  # alone as among others, to the bit
                    alone = along(t[k : k + 1], positions[k : k + 1])
                    assert all(np.array_equal(x[k], y[0]) for x, y in zip(values, alone, strict=True))


def test_piecewise_kernels_write_no_memory_beyond_their_results():
    kernel, rng = compile_piecewise(two, "two", 1, 2), np.random.default_rng(0)
    for columns in (1, 3, 5, 7):
        along = PiecewiseKernel(kernel, np.array([0.0, 0.5]), rng.normal(size=(2, columns, 2)), np.ones(1))
        t = rng.random(5)
        whole = along(np.append(t, 0.25), np.append(t, 0.25))
        bases = [np.full((8, columns), 7.0) for _ in range(2)]
        with mock.patch.object(along_calls, "empty", side_effect=[base[:5] for base in bases]):
            values = along(t, t)
        for x, base, expected in zip(values, bases, whole, strict=True):
            assert np.array_equal(x, expected[:5]) and (base[5:] == 7.0).all()


def test_piecewise_kernels_give_equal_bits_with_several_threads():
    kernel, rng = compile_piecewise(two, "two", 1, 2), np.random.default_rng(0)
    along = PiecewiseKernel(kernel, np.arange(50.0), rng.normal(size=(50, 3, 2)), np.ones(1))
    t = rng.uniform(0.0, 50.0, 400_001)
    before = lw.get_num_threads()
    try:
        results = []
        for count in (1, 3):
            lw.set_num_threads(count)
            results.append(along(t, t))
    finally:
        lw.set_num_threads(before)
    assert all(np.array_equal(x, y) for x, y in zip(*results, strict=True))
