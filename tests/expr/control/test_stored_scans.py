"""Scans that store rows for later scans: equal to scans that pass arrays, as one value of a trace."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import NotDifferentiableError
from linkwork.expr import array, jacobian, scan, while_loop
from linkwork.expr.control.stored_scans import scan_stored, scan_storing

SHAPES = {"x": (4, 2), "y": (4,), "start": ()}


def back_and_forth(c, row):
    c = 0.5 * c + row.sum()
    return c, ((array([c, c * row[0] + 1.0]), 2.0 * row[1]), array([c * c]))


def back(c, row):
    (a, b), z = row
    c = c + a[0] * z + b * a[1]
    return c, 0.5 * c


def longer(c, row):
    ((a, _), (_, b)), z = row
    return c + a[1] * b + z, None


def swept(x, y, start):
    """Rows that are read backward, and those of two scans by more steps than there are rows."""

    def step(state):
        x, c, k = state
        c, (rows, squares) = scan_storing(back_and_forth, c, x)
        c, out = scan_stored(back, c, rows, y, reverse=True)
        c, _ = scan_stored(longer, c, (rows, rows), array([*y, 1.0, 2.0]))
        return x + 0.01 * array([out, squares[:, 0]]).T, 0.01 * c, k + 1.0

    return while_loop(lambda state: state[2] < 3.0, step, (x, start, 0.0), max_iterations=5).state[:2]


def test_rows_stored_by_a_scan_equal_passed_arrays_in_all_kinds_of_calls():
    kernel = lw.compile(swept, name="swept", **SHAPES)
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=(11, *shape)) for shape in SHAPES.values()]
    batch = kernel(*inputs)
    assert all(np.allclose(a, b, rtol=0.0, atol=1e-14) for a, b in zip(kernel.interpret(*inputs), batch, strict=True))
    for k in (0, 10):
        alone = [x[k] for x in inputs]
        single_result = kernel(*alone)
        assert all(np.array_equal(a, b[k]) for a, b in zip(single_result, batch, strict=True))
        known = swept(*alone)  # arrays of floats
        assert all(np.allclose(a, b, rtol=0.0, atol=1e-14) for a, b in zip(single_result, known, strict=True))


def test_scan_stores_rows_only_if_another_scan_reads_them():
    def sums(x, c):
        c, (rows, _) = scan_storing(lambda c, row: (c + row[0], (row * c, ())), c, x)
        return scan_stored(lambda c, row: (c + (row[0] * row[0]).sum(), None), c, rows)[0]

    def unread(x, c):
        return scan_storing(lambda c, row: (c + row[0], (row * c, ())), c, x)[0]

    traced = lw.compile(sums, name="sums", x=(9, 5), c=())
    assert sum(i.operation.name == "part" for i in traced.program.instructions) == 3
    (loop,) = (i.value for i in lw.compile(unread, name="unread", x=(9, 5), c=()).program.instructions
               if i.operation.name == "loop")  # fmt: skip
    assert loop.outputs == loop.stores == 0
    x = np.arange(45.0).reshape(9, 5)
    c = 1.0 + np.concatenate([[0.0], np.cumsum(x[:, 0])])  # carried before each step, and last
    assert np.isclose(traced(x, 1.0), c[-1] + ((x * c[:-1, None]) ** 2).sum(), rtol=1e-14, atol=0.0)


def test_rows_stored_by_a_scan_raise_errors_in_derivatives_and_inner_scans():
    def differentiated(x):
        c, (rows, _) = scan_storing(lambda c, row: (c + row, (array([row * c]), ())), 0.0, x)
        return np.array(jacobian([scan_stored(lambda c, row: (c + row[0][0], None), c, rows)[0]], list(x)))

    def within(x):
        c, (rows, _) = scan_storing(lambda c, row: (c + row, (array([row * c]), ())), 0.0, x)
        return scan(lambda c, y: (scan_stored(lambda c, row: (c + y * row[0][0], None), c, rows)[0], None), c, x)[0]

    with pytest.raises(NotDifferentiableError, match="a scan with stored outputs has no derivatives"):
        lw.compile(differentiated, name="differentiated", x=(3,))
    with pytest.raises(ValueError, match="scan_stored: expected outputs of a scan in the same loop"):
        lw.compile(within, name="within", x=(3,))
