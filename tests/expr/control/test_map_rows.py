"""`map_rows`: one function of many rows; a list of results, and in a trace a loop."""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwork as lw
from linkwork.expr.control.loops import map_rows
from linkwork.expr.scalar import functions as f

COUNT = 300


def mixed(x: Any, y: Any) -> Any:
    """Rows of inputs, of what is computed, of zeros and of other constants."""
    rows = [[x[0] * k, x[1], 0.0 if k % 3 else f.sin(x[2]), 1.0 * k] for k in range(COUNT)]
    return map_rows(lambda r: [r[0] * y[0] + r[1], f.cos(r[2]) * y[1], r[3] * r[0]], rows, in_loops=True)


def test_map_rows_on_floats_calls_the_function_for_each_row() -> None:
    for in_loops in (False, True):
        assert map_rows(lambda row: [row[0] + row[1]], [[1.0, 2.0], [3.0, 4.0]], in_loops=in_loops) == [[3.0], [7.0]]
        assert map_rows(lambda row: row, [], in_loops=in_loops) == []


def test_map_rows_traces_one_loop_for_rows_with_equal_zero_entries() -> None:
    kernel = lw.compile(lambda x, y: np.array(mixed(x, y), dtype=object), x=(3,), y=(2,))
    assert [i.operation.name for i in kernel.program.instructions if i.operation.arity < 0] == ["loop"] * 2
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(21, 3)), rng.normal(size=(21, 2))
    results = kernel(x, y)
    expected = [mixed([np.float64(e) for e in a], [np.float64(e) for e in b]) for a, b in zip(x, y, strict=True)]
    np.testing.assert_allclose(results, expected, rtol=1e-14, atol=1e-14)
    for a, b, result in zip(x[:3], y, results, strict=False):
        np.testing.assert_array_equal(kernel(a, b), result)
    small = kernel(x.astype(np.float32), y.astype(np.float32))
    np.testing.assert_allclose(small, results, rtol=1e-3, atol=1e-3)
