"""Interpreter: values of expressions on floats and batches."""

from __future__ import annotations

import math

import numpy as np
import pytest

from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.autodiff.graph_derivative import adjoint, jacobian, tangent
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.interpreter import evaluate, instructions_of, reachable, run
from linkwork.expr.scalar.symbol import Graph


def test_expressions_evaluated_with_floats_give_scalars() -> None:
    x = Graph().input("x")
    outputs = [x, f.sin(x), f.where(x < 1.0, x, 2.0), x < 1.0, 3.0]
    values = evaluate(outputs, {x: 0.5})
    assert [float(v) for v in values] == [0.5, np.sin(0.5), 0.5, 1.0, 3.0]
    assert all(np.ndim(v) == 0 for v in values)


def test_expressions_evaluated_with_arrays_give_broadcast_batches() -> None:
    x, y = Graph().inputs("x", (2,))
    (value,) = evaluate([x * y + 1.0], {x: np.arange(3.0)[:, None], y: np.arange(4.0)})
    assert np.array_equal(value, np.arange(3.0)[:, None] * np.arange(4.0) + 1.0)
    (empty,) = evaluate([f.sin(x) + y], {x: np.zeros(0), y: 1.0})
    assert empty.shape == (0,)


def test_permuting_a_batch_permutes_the_values_of_an_expression() -> None:
    x, y = Graph().inputs("x", (2,))
    rng = np.random.default_rng(0)
    a, b, order = rng.normal(size=100), rng.normal(size=100), rng.permutation(100)
    expression = [f.hypot(x, y) / (x * x + 1.0) - f.where(x < y, x, y)]
    (original,) = evaluate(expression, {x: a, y: b})
    (permuted,) = evaluate(expression, {x: a[order], y: b[order]})
    assert np.array_equal(permuted, original[order])


def test_nan_sample_does_not_change_the_values_of_neighbouring_samples() -> None:
    x = Graph().input("x")
    expression = [f.sqrt(x) / (x - 1.0)]
    values = np.array([0.25, 4.0, 9.0])
    (alone,) = evaluate(expression, {x: values})
    (mixed,) = evaluate(expression, {x: np.array([np.nan, 0.25, -1.0, 4.0, np.inf, 9.0, 1.0])})
    assert np.array_equal(mixed[[1, 3, 5]], alone)
    assert np.isnan(mixed[[0, 2]]).all() and np.isinf(mixed[6])


def test_evaluation_of_expressions_follows_ieee_754() -> None:
    """Infinities and NaN appear where Python's floats would raise."""
    x = Graph().input("x")
    values = evaluate([1.0 / x, f.log(x), f.sqrt(x - 1.0), f.exp(1000.0 + x), x / x], {x: 0.0})
    assert values[0] == np.inf and values[1] == -np.inf and values[3] == np.inf
    assert np.isnan(values[2]) and np.isnan(values[4])


def test_evaluation_of_an_expression_requires_values_of_its_own_inputs_only() -> None:
    x, y = Graph().inputs("x", (2,))
    f.sin(y)
    assert float(evaluate([x + 1.0], {x: 1.0})[0]) == 2.0
    assert float(evaluate([x + 1.0], {x: 1.0, y: 5.0})[0]) == 2.0
    with pytest.raises(KeyError, match=r"expected a value for the input 'x\[1\]'"):
        evaluate([x + y], {x: 1.0})


def test_evaluation_of_an_expression_does_not_modify_its_inputs() -> None:
    x = Graph().input("x")
    a = np.arange(4.0)
    (same,) = evaluate([x], {x: a})
    evaluate([-x, x * 2.0, f.where(x < 1.0, x, 0.0)], {x: a})
    assert np.array_equal(a, np.arange(4.0)) and np.array_equal(same, a)


def test_reachable_graph_nodes_are_listed_once_after_their_arguments() -> None:
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


def test_instruction_list_can_be_evaluated_retraced_differentiated_and_counted() -> None:
    """The same instructions give values, another trace's nodes, derivatives and counts, as `apply` has it."""
    x, y = Graph().inputs("x", (2,))
    instructions, results = instructions_of([f.sin(x * y) / y, f.where(x < y, x, 2.0), 2.0], [x, y])
    values = run(instructions, [0.5, 3.0])
    assert [values[r] for r in results] == [math.sin(1.5) / 3.0, 0.5, 2.0]
    a, b = Graph().inputs("a", (2,))
    nodes = run(instructions, [a + b, b])
    assert nodes[results[0]] is f.sin((a + b) * b) / b
    assert nodes[results[1]] is f.where((a + b) < b, a + b, 2.0)
    again = run(instructions, [x, y])
    assert again[results[0]] is f.sin(x * y) / y  # its own trace gives its own nodes
    duals = run(instructions, seeded([0.5, 3.0], [1.0, 0.0]))
    assert parts(duals[results[0]])[1] == pytest.approx(math.cos(1.5), abs=1e-15)
    depth = run(instructions, [0, 0], lambda instruction, arguments: 1 + max(arguments), lambda number: 0)
    assert [depth[r] for r in results] == [3, 2, 0]


def test_instruction_lists_may_have_intermediate_nodes_as_inputs() -> None:
    x, y = Graph().inputs("x", (2,))
    u = x * x + y
    instructions, results = instructions_of([f.sin(u) * u], [u])
    assert run(instructions, [0.5])[results[0]] == math.sin(0.5) * 0.5
    (row, second_row) = jacobian([f.sin(u) * y, x], [u])
    assert row[0] is f.cos(u) * y and second_row == [0.0]
    assert tangent([u * x], [u], [2.0])[0] is adjoint([u * x], [u], [2.0])[0] is x * 2.0
