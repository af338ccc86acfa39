"""Rows of one sample side by side: the same to the bit as one after the other."""

from __future__ import annotations

import numpy as np

import linkwork as lw
from linkwork.compiler.control import abreast
from linkwork.expr import cond, exp, sin, sqrt, where, while_loop
from linkwork.expr.control.each import each


def rooted(row):
    """Something long, with a loop and a choice, of which the second row is a table of constants."""
    x, y, z = row
    found = while_loop(lambda s: abs(s * s - x) > 1e-13 * x, lambda s: 0.5 * (s + x / s), 1.0 + x, at_most=60)
    w = cond(y > 0.3, lambda a: sin(a) + exp(-a), lambda a: a * a, y * found.state)
    for k in range(40):
        w = where(w > float(k), sqrt(abs(w)) + z, w + x * float(k))
    return [found.state, found.iterations, w, w * z, x + y]


def test_rows_are_the_same_alone_and_in_batches():
    rng = np.random.default_rng(0)
    for n in (3, 8, 11, 67):

        def function(x, y, z, n=n):
            rows = [[x[k], y[2 * k], z] if n > 3 else [x[k], y[k] * 1.0, z] for k in range(n)]
            return np.array(each(rooted, rows, in_loops=True, alike=True), dtype=object)

        kernel = lw.compile(function, x=n, y=2 * n, z=())
        x, y, z = rng.uniform(0.1, 50.0, (5, n)), rng.uniform(-1.0, 1.0, (5, 2 * n)), rng.uniform(0.0, 1.0, 5)
        many = kernel(x, y, z)
        assert np.abs(many[..., 0] - np.sqrt(x)).max() < 1e-12
        assert len(np.unique(many[..., 1])) > 1, "lanes do not part"
        for k in range(5):
            assert np.array_equal(kernel(x[k], y[k], z[k]), many[k])
        assert abreast.worth_lanes(next(i.value for i in kernel.program.instructions if i.operation.name == "loop"))
