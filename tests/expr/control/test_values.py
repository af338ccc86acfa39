"""What loops, choices, calls and tables compute, on every kind of number that runs in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from expr.control.cases import CASES
from linkwork.compiler.trace.trace import trace
from linkwork.expr import cond, fori_loop, lt, scan, take, where, while_loop
from linkwork.expr.arrays.symbol_array import object_array
from linkwork.expr.autodiff.dual_numbers import Dual, parts

MANY = 40


@pytest.mark.slow(every=3)
def test_floats_batches_and_the_interpreter_agree() -> None:
    for name, case in CASES.items():
        samples = case.samples(np.random.default_rng(1), MANY)
        program = trace(case.function, name, case.shapes)
        found = dict(zip([port.name for port in program.outputs], program.interpret(*samples), strict=True))
        one_by_one = [case.function(*(float(x[j]) if x.ndim == 1 else x[j] for x in samples)) for j in range(MANY)]
        for output, values in found.items():
            alone = np.array([np.asarray(sample[output], dtype=float) for sample in one_by_one])
            np.testing.assert_allclose(alone, values, rtol=1e-12, atol=1e-12, err_msg=f"{name}: {output}")
        if case.batches:
            batch = case.function(*(np.moveaxis(x, 0, -1) for x in samples))
            for output, values in found.items():
                columns = np.moveaxis(values, 0, -1)
                together = np.broadcast_to(batch[output], columns.shape)
                np.testing.assert_allclose(together, columns, rtol=1e-12, atol=1e-12, err_msg=f"{name}: {output}")


def test_how_a_while_loop_ends_on_floats_and_batches() -> None:
    def halve(x):
        return while_loop(lambda s: s > 1.0, lambda s: 0.5 * s, x, max_iterations=8)

    given = [0.3, 100.0, 1e9, np.nan, 256.0, 257.0]
    expected = [(0.3, 0, 0), (0.78125, 7, 0), (1e9 / 256, 8, 1), (np.nan, 0, 2), (1.0, 8, 0), (257 / 256, 8, 1)]
    np.testing.assert_array_equal([halve(x) for x in given], expected)
    np.testing.assert_array_equal(np.stack(halve(np.array(given)), axis=-1), expected)


def test_nan_in_one_sample_ends_that_one_alone() -> None:
    def step(s: Any) -> Any:
        return {"x": where(lt(s["n"], 2.5), s["x"] - 1.0, np.nan * s["x"]), "n": s["n"] + 1.0}

    def run(x):
        return while_loop(lambda s: s["x"] > 0.0, step, {"x": x, "n": 0.0 * x}, max_iterations=9)

    for x in (2.5, 9.0):
        alone, together = run(x), run(np.array([2.5, 9.0]))
        k = int(x > 5.0)
        assert alone.status == together.status[k] == (2 if k else 0)
        assert alone.iterations == together.iterations[k] == (4 if k else 3)
        assert np.isnan(alone.state["x"]) == np.isnan(together.state["x"][k]) == bool(k)


def test_states_of_arrays_with_samples_in_leading_dimensions() -> None:
    def grow(x):
        return while_loop(lambda s: (s * s).sum(-1) < 50.0, lambda s: 1.5 * s, x, max_iterations=30)

    x = np.random.default_rng(0).normal(size=(6, 3))
    together = grow(x)
    for k in range(6):
        alone = grow(x[k])
        np.testing.assert_array_equal(alone.state, together.state[k])
        assert alone.iterations == together.iterations[k]


def test_outputs_of_no_steps_are_nested_as_those_of_one() -> None:
    step = lambda s, u: (s + u[0], {"row": u, "both": (s, u[1] > 0.0)})  # noqa: E731
    last, outputs = scan(step, 1.0, np.zeros((0, 3)))
    assert last == 1.0 and outputs["row"].shape == (0, 3) and outputs["both"][0].shape == (0,)
    assert scan(lambda s, u: (s, None), 2.0, np.zeros((0,))) == (2.0, None)


def test_batches_in_the_elements_of_arrays() -> None:
    """What a loop or a choice gives beside its state is a batch as the state is, so they go on being combined."""
    functions: list[Any] = [
        lambda x, u: while_loop(lambda s: s < x, lambda s: s + 1.0, 0.0, max_iterations=9).iterations * x,
        lambda x, u: while_loop(lambda s: s < x, lambda s: s + u[0], 0.0, max_iterations=9).state * x,
        lambda x, u: fori_loop(
            0, 3, lambda k, s: s - while_loop(lambda t: t > 0.1, lambda t: 0.5 * t, s, max_iterations=9).status, x
        ),
        lambda x, u: cond(x > 0.0, lambda: 1.0, lambda: 2.0) * x,
        lambda x, u: cond(x > 0.0, lambda: (np.zeros(3), u), lambda: (2.0 * u, np.ones(3)))[0] * x,
        lambda x, u: take([1.0, 2.0, 3.0], x) * x + take(np.arange(6.0).reshape(3, 2), x)[1],
    ]
    x, u = np.linspace(-3.0, 3.0, 5), np.random.default_rng(0).normal(size=(5, 3))
    for function in functions:
        (alone,) = trace(function, "f", {"x": (), "u": (3,)}).interpret(x, u)
        batch = function(object_array((), [x]), object_array((3,), list(u.T)))
        together = np.stack([np.broadcast_to(y, x.shape) for y in batch.ravel().tolist()], axis=-1)
        np.testing.assert_allclose(together.reshape(alone.shape), alone, rtol=1e-14, atol=1e-14)


def test_what_a_step_writes_to_is_its_own() -> None:
    def count(s: Any) -> Any:
        s[..., 0] += 1.0
        return s

    def add(s: Any, u: Any) -> Any:
        s += u
        u *= 0.0
        return s, s

    x, u = np.array([[0.0, 2.0], [4.0, 2.0], [1.0, 4.0]]), np.ones((3, 2))
    found = while_loop(lambda s: s[..., 0] < s[..., 1], count, x, max_iterations=9).state
    np.testing.assert_array_equal(found, [[2.0, 2.0], [4.0, 2.0], [4.0, 4.0]])
    last, sums = scan(add, x[0], u)
    np.testing.assert_array_equal(sums, [[1.0, 3.0], [2.0, 4.0], [3.0, 5.0]])
    np.testing.assert_array_equal(last, sums[-1])
    np.testing.assert_array_equal(x, [[0.0, 2.0], [4.0, 2.0], [1.0, 4.0]])
    np.testing.assert_array_equal(u, np.ones((3, 2)))
    np.testing.assert_array_equal(scan(lambda s, u: (np.sqrt(s + u), None), [3.0, 8.0], np.ones((1, 2)))[0], [2.0, 3.0])


def test_a_loop_of_no_state_whose_condition_is_from_outside() -> None:
    def f(x: Any) -> Any:
        return {"n": while_loop(lambda s: x < 0.0, lambda s: s, (), max_iterations=5).iterations}

    (found,) = trace(f, "f", {"x": ()}).interpret(np.array([-1.0, 1.0]))
    np.testing.assert_array_equal(found, [5.0, 0.0])


def test_many_truth_values_from_outside_of_a_loop() -> None:
    def f(x: Any) -> Any:
        one, other, low = x > 0.0, x > 1.0, x > -1.0
        for k in range(60):  # of each, both are made: 2^60 ways to the first
            one, other = one & other | (x > k), one | other
        for k in range(2000):
            low = low & (x > -1.0 - k)
        return while_loop(lambda s: one & low & (s < 5.0), lambda s: s + 1.0, x, max_iterations=10).state

    (found,) = trace(f, "f", {"x": ()}).interpret(np.array([-1.0, 0.5, 2.0]))
    np.testing.assert_array_equal(found, [-1.0, 5.5, 5.0])


def test_a_table_takes_the_nearest_row_there_is() -> None:
    table = np.array([2.0, 3.0, 5.0])
    assert take([[1, 2], [3, 4]], 1).dtype == float
    index = np.array([-np.inf, -1.0, -0.5, 0.0, 0.99, 1.0, 2.5, 3.0, 1e300, np.inf])
    expected = [2.0, 2.0, 2.0, 2.0, 2.0, 3.0, 5.0, 5.0, 5.0, 5.0]
    assert take(table, index).tolist() == expected == [take(table, x) for x in index]
    assert np.isnan(take(table, np.nan)) and take(table, True) == 3.0
    rows = take(np.arange(12.0).reshape(3, 2, 2), index)
    assert rows.shape == (10, 2, 2) and np.array_equal(rows[5], [[4.0, 5.0], [6.0, 7.0]])


def test_loops_go_through_dual_numbers_in_conditions_and_choices() -> None:
    x = Dual(3.0, 1.0)
    found = cond(x > 2.0, lambda: fori_loop(0, 2, lambda k, s: s * x, x), lambda: x)
    assert parts(found) == (27.0, 27.0)
    assert parts(while_loop(lambda s: s < 50.0, lambda s: s * x, x, max_iterations=9).state) == (81.0, 108.0)
