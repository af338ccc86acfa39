"""The interpreter: values of expressions on floats and on batches."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.expr import functions as f
from linkwork.expr.interpret import evaluate, reachable
from linkwork.expr.symbol import Graph


def test_floats_give_single_numbers() -> None:
    x = Graph().input("x")
    outputs = [x, f.sin(x), f.where(x < 1.0, x, 2.0), x < 1.0, 3.0]
    values = evaluate(outputs, {x: 0.5})
    assert [float(v) for v in values] == [0.5, np.sin(0.5), 0.5, 1.0, 3.0]
    assert all(np.ndim(v) == 0 for v in values)


def test_arrays_give_batches_that_broadcast() -> None:
    x, y = Graph().inputs("x", (2,))
    (value,) = evaluate([x * y + 1.0], {x: np.arange(3.0)[:, None], y: np.arange(4.0)})
    assert np.array_equal(value, np.arange(3.0)[:, None] * np.arange(4.0) + 1.0)
    (empty,) = evaluate([f.sin(x) + y], {x: np.zeros(0), y: 1.0})
    assert empty.shape == (0,)


def test_permuting_the_batch_permutes_the_result() -> None:
    x, y = Graph().inputs("x", (2,))
    rng = np.random.default_rng(0)
    a, b, order = rng.normal(size=100), rng.normal(size=100), rng.permutation(100)
    expression = [f.hypot(x, y) / (x * x + 1.0) - f.where(x < y, x, y)]
    (there,) = evaluate(expression, {x: a, y: b})
    (permuted,) = evaluate(expression, {x: a[order], y: b[order]})
    assert np.array_equal(permuted, there[order])


def test_a_bad_sample_does_not_touch_its_neighbours() -> None:
    x = Graph().input("x")
    expression = [f.sqrt(x) / (x - 1.0)]
    good = np.array([0.25, 4.0, 9.0])
    (alone,) = evaluate(expression, {x: good})
    (mixed,) = evaluate(expression, {x: np.array([np.nan, 0.25, -1.0, 4.0, np.inf, 9.0, 1.0])})
    assert np.array_equal(mixed[[1, 3, 5]], alone)
    assert np.isnan(mixed[[0, 2]]).all() and np.isinf(mixed[6])


def test_arithmetic_is_that_of_ieee_754() -> None:
    """No exception and no warning where Python's floats would raise: infinities and NaN."""
    x = Graph().input("x")
    values = evaluate([1.0 / x, f.log(x), f.sqrt(x - 1.0), f.exp(1000.0 + x), x / x], {x: 0.0})
    assert values[0] == np.inf and values[1] == -np.inf and values[3] == np.inf
    assert np.isnan(values[2]) and np.isnan(values[4])


def test_only_what_is_needed_needs_values() -> None:
    x, y = Graph().inputs("x", (2,))
    f.sin(y)
    assert float(evaluate([x + 1.0], {x: 1.0})[0]) == 2.0
    assert float(evaluate([x + 1.0], {x: 1.0, y: 5.0})[0]) == 2.0
    with pytest.raises(KeyError, match=r"no value given for the input 'x\[1\]'"):
        evaluate([x + y], {x: 1.0})


def test_inputs_are_not_modified() -> None:
    x = Graph().input("x")
    a = np.arange(4.0)
    (same,) = evaluate([x], {x: a})
    evaluate([-x, x * 2.0, f.where(x < 1.0, x, 0.0)], {x: a})
    assert np.array_equal(a, np.arange(4.0)) and np.array_equal(same, a)


def test_reachable_nodes_come_once_and_arguments_first() -> None:
    graph = Graph()
    x, y = graph.inputs("x", (2,))
    product = x * y
    idle = f.cos(x)
    output = f.sin(product) + product
    nodes = reachable([output, product, 2.0])
    assert [node.index for node in nodes] == sorted({node.index for node in nodes})
    assert not any(node is idle for node in nodes)
    assert {node.op.name for node in nodes} == {"input", "mul", "sin", "add"}
    assert reachable([1.0]) == []
    assert reachable([]) == []
