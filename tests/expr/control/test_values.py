"""Values of loops, branches, calls and tables on all scalars that run in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from expr.control.cases import CASES
from linkwork.compiler.trace.trace import trace
from linkwork.expr import cond, fori_loop, lt, scan, take, where, while_loop
from linkwork.expr.arrays.symbol_array import object_array
from linkwork.expr.autodiff.dual_numbers import Dual, parts
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph

MANY = 40


@pytest.mark.slow(every=3)
def test_control_flow_gives_equal_results_on_floats_batches_and_in_the_interpreter() -> None:
    for name, case in CASES.items():
        samples = case.samples(np.random.default_rng(1), MANY)
        program = trace(case.function, name, case.shapes)
        outputs = dict(zip([port.name for port in program.outputs], program.interpret(*samples), strict=True))
        one_by_one = [case.function(*(float(x[j]) if x.ndim == 1 else x[j] for x in samples)) for j in range(MANY)]
        for output, values in outputs.items():
            alone = np.array([np.asarray(sample[output], dtype=float) for sample in one_by_one])
            np.testing.assert_allclose(alone, values, rtol=1e-12, atol=1e-12, err_msg=f"{name}: {output}")
        if case.batches:
            batch = case.function(*(np.moveaxis(x, 0, -1) for x in samples))
            for output, values in outputs.items():
                columns = np.moveaxis(values, 0, -1)
                together = np.broadcast_to(batch[output], columns.shape)
                np.testing.assert_allclose(together, columns, rtol=1e-12, atol=1e-12, err_msg=f"{name}: {output}")


def test_while_loops_end_by_condition_by_iteration_limit_or_at_nan() -> None:
    def halve(x):
        return while_loop(lambda s: s > 1.0, lambda s: 0.5 * s, x, max_iterations=8)

    starts = [0.3, 100.0, 1e9, np.nan, 256.0, 257.0]
    expected = [(0.3, 0, 0), (0.78125, 7, 0), (1e9 / 256, 8, 1), (np.nan, 0, 2), (1.0, 8, 0), (257 / 256, 8, 1)]
    np.testing.assert_array_equal([halve(x) for x in starts], expected)
    np.testing.assert_array_equal(np.stack(halve(np.array(starts)), axis=-1), expected)
    symbol = Graph().inputs("x", ())[0]
    traced = [*halve(symbol)]
    np.testing.assert_array_equal([Region.of(traced, [symbol]).run([x]) for x in starts], expected)
    np.testing.assert_array_equal(np.stack(evaluate(traced, {symbol: np.array(starts)}), axis=-1), expected)


def test_nan_in_one_sample_ends_the_while_loop_of_that_sample_only() -> None:
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


def test_while_loops_over_batched_states_end_for_each_sample_independently() -> None:
    def grow(x):
        return while_loop(lambda s: (s * s).sum(-1) < 50.0, lambda s: 1.5 * s, x, max_iterations=30)

    x = np.random.default_rng(0).normal(size=(6, 3))
    together = grow(x)
    for k in range(6):
        alone = grow(x[k])
        np.testing.assert_array_equal(alone.state, together.state[k])
        assert alone.iterations == together.iterations[k]


def test_scan_outputs_of_zero_steps_have_the_structure_of_one_step() -> None:
    step = lambda s, u: (s + u[0], {"row": u, "both": (s, u[1] > 0.0)})  # noqa: E731
    last, outputs = scan(step, 1.0, np.zeros((0, 3)))
    assert last == 1.0 and outputs["row"].shape == (0, 3) and outputs["both"][0].shape == (0,)
    assert scan(lambda s, u: (s, None), 2.0, np.zeros((0,))) == (2.0, None)


def test_control_flow_accepts_object_arrays_of_batches() -> None:
    """Iterations and outputs of a loop or branch are batches as its state is, and combine with batches."""
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


def test_loop_step_may_write_to_its_state_in_place() -> None:
    def count(s: Any) -> Any:
        s[..., 0] += 1.0
        return s

    def add(s: Any, u: Any) -> Any:
        s += u
        u *= 0.0
        return s, s

    x, u = np.array([[0.0, 2.0], [4.0, 2.0], [1.0, 4.0]]), np.ones((3, 2))
    result = while_loop(lambda s: s[..., 0] < s[..., 1], count, x, max_iterations=9).state
    np.testing.assert_array_equal(result, [[2.0, 2.0], [4.0, 2.0], [4.0, 4.0]])
    last, sums = scan(add, x[0], u)
    np.testing.assert_array_equal(sums, [[1.0, 3.0], [2.0, 4.0], [3.0, 5.0]])
    np.testing.assert_array_equal(last, sums[-1])
    np.testing.assert_array_equal(x, [[0.0, 2.0], [4.0, 2.0], [1.0, 4.0]])
    np.testing.assert_array_equal(u, np.ones((3, 2)))
    np.testing.assert_array_equal(scan(lambda s, u: (np.sqrt(s + u), None), [3.0, 8.0], np.ones((1, 2)))[0], [2.0, 3.0])


def test_while_loop_without_state_may_have_a_condition_of_outer_values() -> None:
    def f(x: Any) -> Any:
        return {"n": while_loop(lambda s: x < 0.0, lambda s: s, (), max_iterations=5).iterations}

    (iterations,) = trace(f, "f", {"x": ()}).interpret(np.array([-1.0, 1.0]))
    np.testing.assert_array_equal(iterations, [5.0, 0.0])


def test_loops_may_use_thousands_of_outer_comparisons() -> None:
    def f(x: Any) -> Any:
        first, second, low = x > 0.0, x > 1.0, x > -1.0
        for k in range(60):  # of each, both are made: 2^60 ways to the first
            first, second = first & second | (x > k), first | second
        for k in range(2000):
            low = low & (x > -1.0 - k)
        return while_loop(lambda s: first & low & (s < 5.0), lambda s: s + 1.0, x, max_iterations=10).state

    (values,) = trace(f, "f", {"x": ()}).interpret(np.array([-1.0, 0.5, 2.0]))
    np.testing.assert_array_equal(values, [-1.0, 5.5, 5.0])


def test_take_clips_the_index_to_the_table() -> None:
    table = np.array([2.0, 3.0, 5.0])
    assert take([[1, 2], [3, 4]], 1).dtype == float
    index = np.array([-np.inf, -1.0, -0.5, 0.0, 0.99, 1.0, 2.5, 3.0, 1e300, np.inf])
    expected = [2.0, 2.0, 2.0, 2.0, 2.0, 3.0, 5.0, 5.0, 5.0, 5.0]
    assert take(table, index).tolist() == expected == [take(table, x) for x in index]
    assert np.isnan(take(table, np.nan)) and take(table, True) == 3.0
    rows = take(np.arange(12.0).reshape(3, 2, 2), index)
    assert rows.shape == (10, 2, 2) and np.array_equal(rows[5], [[4.0, 5.0], [6.0, 7.0]])


def test_dual_numbers_run_through_conditions_and_branches() -> None:
    x = Dual(3.0, 1.0)
    result = cond(x > 2.0, lambda: fori_loop(0, 2, lambda k, s: s * x, x), lambda: x)
    assert parts(result) == (27.0, 27.0)
    assert parts(while_loop(lambda s: s < 50.0, lambda s: s * x, x, max_iterations=9).state) == (81.0, 108.0)


def test_scans_over_symbols_that_are_truth_values_select_by_each_of_them() -> None:
    def count(x: Any) -> Any:
        return scan(lambda s, is_positive: (where(is_positive, s + 1.0, s), s), 0.0 * x[0], [a > 0.0 for a in x])[0]

    x = np.random.default_rng(0).normal(size=(5, 3))
    assert np.array_equal(lw.compile(count, x=3)(x), (x > 0.0).sum(axis=1))
