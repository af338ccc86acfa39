"""Loops that carry many numbers: those that wait in the frame are moved by a table."""

import numpy as np

import linkwork as lw

N = 700


def both(x, y):
    """Two arrays of which one is turned in pieces of straight-line code, and the other in a loop."""

    def step(state):
        first, second = state
        first = np.concatenate([first[1:] * 1.5 + y, first[:1] + 1.0])
        return first, lw.scan(lambda none, v: (none, v * 2.0), 0.0, second)[1]

    found = lw.while_loop(lambda state: state[0][0] < 5.0, step, (x, x * 0.5), at_most=9)
    return found.state[0], found.state[1], found.iterations, found.status


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
