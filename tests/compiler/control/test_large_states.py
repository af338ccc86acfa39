"""Loops that carry many numbers: those that wait in the frame are moved by a table, or are put where they stood."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler.codegen.loops.basic_blocks import long_runs
from linkwork.expr.control.loops import watching_while_loop

N = 700


def both(x, y):
    """Two arrays of which one is turned in pieces of straight-line code, and the other in a loop."""

    def step(state):
        first, second = state
        first = np.concatenate([first[1:] * 1.5 + y, first[:1] + 1.0])
        return first, lw.scan(lambda none, v: (none, v * 2.0), 0.0, second)[1]

    found = lw.while_loop(lambda state: state[0][0] < 5.0, step, (x, x * 0.5), max_iterations=9)
    return found.state[0], found.state[1], found.iterations, found.status


@pytest.mark.slow(every=9)
def test_many_numbers_are_carried_right_in_every_lane():
    kernel = lw.compile(both, name="large_state", x=N, y=())
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.0, 2.0, (37, N)), rng.uniform(0.0, 2.0, 37)
    y[5], x[9, 300], x[11, 0] = np.nan, np.nan, 7.0
    found, expected = kernel(x, y), kernel.interpret(x, y)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)
    assert sorted(set(found[3].tolist())) == [0.0, 2.0] and len(set(found[2].tolist())) > 2
    for k in range(37):
        for a, b in zip(kernel(x[k], y[k]), found, strict=True):
            assert np.array_equal(a, b[k], equal_nan=True)
    single = kernel(x.astype(np.float32), y.astype(np.float32))
    np.testing.assert_array_equal(single[3], expected[3])


def test_adjacent_moves_are_runs_and_the_others_stay():
    adjacent = [(500 + k, 20 + k) for k in range(100)]
    few = [(900 + k, 300 + k) for k in range(10)]
    runs, others = long_runs([*few, *adjacent, (600, 121), *few])
    assert runs == [(500, 20, 100)] and others == [*few, (600, 121), *few]


def turned(A, y):
    """A matrix that is changed where it stands, but for numbers whose old ones are needed later."""
    n = len(y)

    def step(state):
        y, count, A = state
        u = np.stack([sum((A[i, j] * y[j] for j in range(n)), 0.0 * y[i]) for i in range(n)])
        changed = A - np.outer(u, u) * 0.01
        changed[0, 1], changed[1, 0] = A[1, 0], A[0, 1]  # each in the place of the other
        changed[2, 2], changed[2, 3] = changed[3, 3] * 2.0, A[3, 2] + changed[3, 2]
        return y * 0.9 + u * 0.5, count + changed[4, 4] - A[4, 4], changed

    found = watching_while_loop(lambda s: s[0][0] < 3.0, step, (y, 0.0, A), 12, unwatched=n * n)
    return found.state[0], found.state[1], found.state[2], found.iterations, found.status


def test_numbers_that_nobody_looks_at_are_put_where_they_stood():
    n = 11
    kernel = lw.compile(turned, name="turned", A=(n, n), y=n)
    rng = np.random.default_rng(1)
    A, y = rng.uniform(0.0, 0.3, (43, n, n)), rng.uniform(0.0, 1.0, (43, n))
    y[7, 0], y[3, 2], A[5, 8, 8] = 4.0, np.nan, np.nan
    found, expected = kernel(A, y), kernel.interpret(A, y)
    assert len(set(found[3].tolist())) > 3 and found[4][3] == 2.0
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    for k in range(43):
        for a, b in zip(kernel(A[k], y[k]), found, strict=True):
            assert np.array_equal(a, b[k], equal_nan=True)
