"""Loops with large states: values in the frame are moved by a table, or updated in place."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler.codegen.loops.basic_blocks import long_runs
from linkwork.expr.control.loops import watching_while_loop

N = 700


def both(x, y):
    """Two arrays, of which straight-line code rotates one and a loop the other."""

    def step(state):
        first, second = state
        first = np.concatenate([first[1:] * 1.5 + y, first[:1] + 1.0])
        return first, lw.scan(lambda state, v: (state, v * 2.0), 0.0, second)[1]

    while_loop = lw.while_loop(lambda state: state[0][0] < 5.0, step, (x, x * 0.5), max_iterations=9)
    return while_loop.state[0], while_loop.state[1], while_loop.iterations, while_loop.status


@pytest.mark.slow(every=9)
def test_loops_over_hundreds_of_state_values_are_correct_in_every_simd_lane():
    kernel = lw.compile(both, name="large_state", x=N, y=())
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.0, 2.0, (37, N)), rng.uniform(0.0, 2.0, 37)
    y[5], x[9, 300], x[11, 0] = np.nan, np.nan, 7.0
    values, expected = kernel(x, y), kernel.interpret(x, y)
    for a, b in zip(values, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)
    assert sorted(set(values[3].tolist())) == [0.0, 2.0] and len(set(values[2].tolist())) > 2
    for k in range(37):
        for a, b in zip(kernel(x[k], y[k]), values, strict=True):
            assert np.array_equal(a, b[k], equal_nan=True)
    single = kernel(x.astype(np.float32), y.astype(np.float32))
    np.testing.assert_array_equal(single[3], expected[3])


def test_copies_between_adjacent_state_slots_are_merged_into_block_copies():
    adjacent = [(500 + k, 20 + k) for k in range(100)]
    few = [(900 + k, 300 + k) for k in range(10)]
    runs, single_moves = long_runs([*few, *adjacent, (600, 121), *few])
    assert runs == [(500, 20, 100)] and single_moves == [*few, (600, 121), *few]


def turned(A, y):
    """A matrix that a loop updates in place, except for entries whose old values are needed later."""
    n = len(y)

    def step(state):
        y, count, A = state
        u = np.stack([sum((A[i, j] * y[j] for j in range(n)), 0.0 * y[i]) for i in range(n)])
        changed = A - np.outer(u, u) * 0.01
        changed[0, 1], changed[1, 0] = A[1, 0], A[0, 1]  # each in the place of the other
        changed[2, 2], changed[2, 3] = changed[3, 3] * 2.0, A[3, 2] + changed[3, 2]
        return y * 0.9 + u * 0.5, count + changed[4, 4] - A[4, 4], changed

    result = watching_while_loop(lambda s: s[0][0] < 3.0, step, (y, 0.0, A), 12, unwatched=n * n)
    return result.state[0], result.state[1], result.state[2], result.iterations, result.status


def test_loop_state_that_the_condition_does_not_read_is_updated_in_place():
    n = 11
    kernel = lw.compile(turned, name="turned", A=(n, n), y=n)
    rng = np.random.default_rng(1)
    A, y = rng.uniform(0.0, 0.3, (43, n, n)), rng.uniform(0.0, 1.0, (43, n))
    y[7, 0], y[3, 2], A[5, 8, 8] = 4.0, np.nan, np.nan
    values, expected = kernel(A, y), kernel.interpret(A, y)
    assert len(set(values[3].tolist())) > 3 and values[4][3] == 2.0
    for a, b in zip(values, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    for k in range(43):
        for a, b in zip(kernel(A[k], y[k]), values, strict=True):
            assert np.array_equal(a, b[k], equal_nan=True)
