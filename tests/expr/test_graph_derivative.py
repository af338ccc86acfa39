"""Derivatives of expressions: known formulas, structural zeros, and inputs."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from helpers.scalars import EPS
from linkwork.expr.autodiff.graph_derivative import adjoint, jacobian, tangent
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.interpreter import evaluate, reachable
from linkwork.expr.scalar.symbol import Graph, Symbol

# -- derivatives known by heart are found as expressions


def test_derivatives_of_simple_expressions_are_simple_expressions(x: Symbol, y: Symbol) -> None:
    assert jacobian([x + y, x - y, x * y, -x], [x, y]) == [[1.0, 1.0], [1.0, -1.0], [y, x], [-1.0, 0.0]]
    assert jacobian([f.sin(x)], [x])[0][0] is f.cos(x)
    assert jacobian([f.cos(x)], [x])[0][0] is -f.sin(x)
    assert jacobian([f.exp(x)], [x])[0][0] is f.exp(x)
    assert jacobian([f.log(x)], [x])[0][0] is 1.0 / x
    assert jacobian([f.tanh(x)], [x])[0][0] is 1.0 - f.tanh(x) * f.tanh(x)
    assert jacobian([3.0 * x], [x]) == [[3.0]]
    assert adjoint([x * y], [x, y], [1.0]) == [y, x]


def test_derivative_of_an_input_symbol_with_respect_to_itself_is_one(x: Symbol, y: Symbol) -> None:
    assert jacobian([x], [x]) == [[1.0]]
    assert tangent([x, y], [x, y], [2.0, 3.0]) == [2.0, 3.0]
    assert adjoint([x, y], [x, y], [2.0, 3.0]) == [2.0, 3.0]


def test_second_derivatives_of_a_known_expression_are_exact(x: Symbol, y: Symbol) -> None:
    gradient = jacobian([x * x * y + f.sin(x)], [x, y])[0]
    hessian = jacobian(gradient, [x, y])
    values = {x: 0.7, y: -1.3}
    result = [[float(v) for v in evaluate(row, values)] for row in hessian]
    np.testing.assert_allclose(result, [[2 * -1.3 - np.sin(0.7), 1.4], [1.4, 0.0]], rtol=4 * EPS)
    assert hessian[1][1] == 0.0
    third = jacobian([hessian[0][0]], [x, y])[0]
    np.testing.assert_allclose([float(v) for v in evaluate(third, values)], [-np.cos(0.7), 2.0], rtol=4 * EPS)


# -- structural zeros


def is_number(value: Any, number: float) -> bool:
    return type(value) is float and value == number


def test_expressions_independent_of_an_input_have_the_derivative_zero(graph: Graph, x: Symbol, y: Symbol) -> None:
    z = graph.input("z")
    outputs = [f.sin(x) * y, x + 2.0, 3.0, z, f.sign(x), f.floor(y), f.where(x < y, 1.0, 2.0)]
    pattern = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0]])
    rows = jacobian(outputs, [x, y, z])
    for row, expected in zip(rows, pattern, strict=True):
        assert [not is_number(d, 0.0) for d in row] == [bool(e) for e in expected]
    assert all(is_number(d, 0.0) for d in tangent(outputs, [x, y, z], [0.0, 0.0, 0.0]))
    assert all(is_number(d, 0.0) for d in adjoint(outputs, [x, y, z], [0.0] * len(outputs)))
    assert is_number(adjoint(outputs, [x, y, z], [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0])[2], 0.0)


def test_derivatives_of_comparison_expressions_are_zero(x: Symbol, y: Symbol) -> None:
    assert jacobian([x < y, f.eq(x, y), f.not_(x < y)], [x, y]) == [[0.0, 0.0]] * 3
    assert adjoint([x <= y], [x, y], [1.0]) == [0.0, 0.0]


def test_derivatives_of_cancelling_terms_are_exactly_zero(x: Symbol, y: Symbol) -> None:
    assert jacobian([x - x, x * 0.0, f.atan2(x, x) * 0.0], [x]) == [[0.0]] * 3
    assert jacobian([(x + y) - x], [x])[0] == [0.0]


def test_sparse_jacobian_of_a_long_chain_needs_few_nodes_for_each_entry(graph: Graph) -> None:
    """A chain of n links, each of two variables, has 2n entries, and they take some 3n nodes."""
    n = 200
    q = graph.inputs("q", (n,))
    outputs = [f.sin(a) * b for a, b in itertools.pairwise(q)]
    before = len(graph.nodes)
    rows = jacobian(outputs, q)
    assert len(graph.nodes) - before <= 3 * n
    assert sum(not is_number(d, 0.0) for row in rows for d in row) == 2 * len(outputs)


def test_gradient_needs_a_small_multiple_of_the_functions_operations(graph: Graph) -> None:
    n = 100
    q = graph.inputs("q", (n,))
    total: Any = 1.0
    for a in q:
        total = total * f.sin(a) + f.exp(a * 0.5)
    cost = len(reachable([total]))
    gradient = adjoint([total], q, [1.0])
    assert len(reachable([total, *gradient])) <= 4 * cost


# -- inputs, directions and weights


def test_tangent_directions_and_adjoint_weights_may_be_expressions(x: Symbol, y: Symbol) -> None:
    assert tangent([x * y], [x], [y])[0] is y * y
    assert tangent([x * y], [x, y], [2.0, f.sin(x)])[0] is y * 2.0 + x * f.sin(x)
    assert adjoint([x * y], [x, y], [f.sin(x)])[0] is y * f.sin(x)
    assert tangent([x + y], [x, y], [1, 2]) == [3.0]


def test_adjoint_of_an_output_listed_twice_counts_both_weights(x: Symbol) -> None:
    assert adjoint([x, x, f.sin(x)], [x], [1.0, 2.0, 0.0]) == [3.0]
    assert adjoint([f.sin(x), f.sin(x)], [x], [1.0, 1.0])[0] is f.cos(x) * 2.0
    assert jacobian([f.sin(x), f.sin(x)], [x]) == [[f.cos(x)]] * 2


def test_expressions_can_be_differentiated_with_respect_to_any_intermediate_node(x: Symbol, y: Symbol) -> None:
    """It is then an independent variable: forward, reverse and along a direction."""
    square = x * x
    output = f.sin(square) * y + x
    rows = jacobian([output], [x, square])
    assert rows[0][0] == 1.0
    assert rows[0][1] is f.cos(square) * y
    assert adjoint([output], [x, square], [1.0]) == rows[0]
    assert tangent([output], [x, square], [1.0, 0.0]) == [1.0]
    assert tangent([output], [x, square], [0.0, 1.0])[0] is rows[0][1]
    assert jacobian([square], [x, square]) == [[0.0, 1.0]]
    assert adjoint([square], [x, square], [1.0]) == [0.0, 1.0]


def test_expressions_have_zero_derivative_with_respect_to_inputs_created_later(graph: Graph, x: Symbol) -> None:
    output = f.sin(x)
    late = graph.input("late")
    assert jacobian([output], [late, x])[0][0] == 0.0
    assert adjoint([output], [late], [1.0]) == [0.0]


@pytest.mark.parametrize("differentiate", [tangent, adjoint])
def test_wrong_counts_of_tangent_directions_or_adjoint_weights_raise_an_error(
    x: Symbol, y: Symbol, differentiate: Any
) -> None:
    with pytest.raises(ValueError, match="argument 2 is longer"):
        differentiate([x * y], [x, y], [1.0, 2.0, 3.0])


def test_derivatives_without_inputs_and_outputs_are_empty(x: Symbol) -> None:
    assert jacobian([], [x]) == []
    assert jacobian([x], []) == [[]]
    assert tangent([], [x], [1.0]) == []
    assert adjoint([], [x], []) == [0.0]
    assert adjoint([x], [], [1.0]) == []


def test_differentiation_does_not_change_existing_graph_nodes(graph: Graph, x: Symbol, y: Symbol) -> None:
    output = f.hypot(x, y) / (x + 2.0)
    before = [(node.op.name, node.args) for node in graph.nodes]
    jacobian([output], [x, y])
    adjoint([output], [x, y], [1.0])
    assert [(node.op.name, node.args) for node in graph.nodes[: len(before)]] == before


@pytest.mark.parametrize("function", [f.fmin, f.fmax])
def test_forward_and_reverse_derivatives_of_fmin_and_fmax_choose_the_same_branch_at_a_tie(
    x: Symbol, y: Symbol, function: Any
) -> None:
    for a, b in ((x, y), (y, x), (x * y, x + y), (x, x)):
        output = function(a, b)
        values = {x: 2.0, y: 2.0}
        forward = [float(d) for d in evaluate(jacobian([output], [x, y])[0], values)]
        assert [float(d) for d in evaluate(adjoint([output], [x, y], [1.0]), values)] == forward
        assert forward in ([1.0, 0.0], [0.0, 1.0], [2.0, 2.0], [1.0, 1.0])


def test_derivatives_of_powers_with_zero_and_negative_bases_are_finite(x: Symbol, y: Symbol) -> None:
    """0^y does not change with y > 0, and (-2)^3 changes with the base."""
    derivatives = jacobian([f.pow(x, y)], [x, y])[0]
    assert [float(d) for d in evaluate(derivatives, {x: 0.0, y: 2.0})] == [0.0, 0.0]
    assert [float(d) for d in evaluate(derivatives, {x: -2.0, y: 3.0})] == [12.0, 0.0]


def test_constant_arguments_add_no_terms_to_derivatives(x: Symbol) -> None:
    """The logarithm in the derivative of a power is absent for a constant exponent."""
    derivative = jacobian([f.pow(x, 2.5)], [x])[0][0]
    assert {node.op.name for node in reachable([derivative])} == {"input", "constant", "pow", "mul"}
    derivative = jacobian([f.pow(2.0, x)], [x])[0][0]
    assert float(evaluate([derivative], {x: 1.5})[0]) == pytest.approx(2.0**1.5 * np.log(2.0), rel=4 * EPS)
    assert float(evaluate([jacobian([f.pow(x, 0.0)], [x])[0][0]], {x: 0.0})[0]) == 0.0
