"""Derivatives of a choice where the other branch has an infinite derivative: no NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.autodiff.graph_derivative import adjoint, jacobian, tangent
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph

# Functions of x and y, and the gradient at (0, 2), where √x, log x, hypot(x, 0) or 1/x misbehave in another branch.
CASES: dict[str, tuple[Callable[[Any, Any], Any], tuple[float, float]]] = {
    "a root": (lambda x, y: f.where(x > 1.0, f.sqrt(x), 3.0 * x), (3.0, 0.0)),
    "in the other place": (lambda x, y: f.where(x <= 1.0, y * x, f.sqrt(x)), (2.0, 0.0)),
    "a root times a function of it": (
        lambda x, y: f.where(x > 1.0, f.sqrt(x) * y + f.sqrt(x) * f.sin(f.sqrt(x)), 5.0 * x),
        (5.0, 0.0),
    ),
    "a root below other functions": (lambda x, y: f.where(x > 1.0, f.exp(2.0 * f.sqrt(x) + y), x), (1.0, 0.0)),
    "one branch inside another": (
        lambda x, y: f.where(y > 1.0, f.where(x > 1.0, f.sqrt(x) * y, x + y), f.sqrt(x)),
        (1.0, 1.0),
    ),
    "two choices of one root": (
        lambda x, y: f.where(x > 1.0, f.sqrt(x), x) + f.where(y < 1.0, 2.0 * f.sqrt(x), y * x),
        (3.0, 0.0),
    ),
    "three choices of one root": (
        lambda x, y: (
            f.where(x > 1.0, f.sqrt(x), 0.0) + f.where(y < 1.0, f.sqrt(x), 0.0) + f.where(x + y < 1.0, f.sqrt(x), x)
        ),
        (1.0, 0.0),
    ),
    "both branches of one choice": (
        lambda x, y: f.where(x > 1.0, f.where(y > 9.0, f.sqrt(x), 1.0), f.where(y > 8.0, 2.0 * f.sqrt(x), x * y)),
        (2.0, 0.0),
    ),
    "a nested condition": (
        lambda x, y: f.where(f.and_(x > 1.0, y > 1.0), f.sqrt(x), f.where(f.not_(y > 1.0), f.sqrt(x), 7.0 * x)),
        (7.0, 0.0),
    ),
    "a logarithm": (lambda x, y: f.where(x > 1.0, f.log(x) * y, x * y * y), (4.0, 0.0)),
    "a power": (lambda x, y: f.where(x > 1.0, f.pow(x, 0.3) * f.pow(x, 0.3), y), (0.0, 1.0)),
    "an inverse sine": (lambda x, y: f.where(x > 1.0, f.asin(1.0 - x) * f.sqrt(x), y * x), (2.0, 0.0)),
    "a length": (lambda x, y: f.where(x > 1.0, f.hypot(x, 0.0), x + y), (1.0, 1.0)),
    "chosen twice": (lambda x, y: f.where(x > 1.0, f.sqrt(f.where(x > 1.0, x, x * x)), y * x), (2.0, 0.0)),
}

every_case = pytest.mark.parametrize(("function", "gradient"), CASES.values(), ids=CASES.keys())


@every_case
@pytest.mark.parametrize("mode", ["jacobian", "tangent", "adjoint"])
def test_gradients_of_where_equal_those_of_the_selected_branch(
    function: Callable[[Any, Any], Any], gradient: tuple[float, float], mode: str
) -> None:
    graph = Graph()
    x, y = graph.inputs("x", (2,))
    output = function(x, y)
    if mode == "jacobian":
        result = jacobian([output], [x, y])[0]
    elif mode == "tangent":
        result = [tangent([output], [x, y], unit)[0] for unit in ([1.0, 0.0], [0.0, 1.0])]
    else:
        result = adjoint([output], [x, y], [1.0])
    assert tuple(float(v) for v in evaluate(result, {x: 0.0, y: 2.0})) == gradient
    batch = evaluate(result, {x: np.array([0.0, 0.0, 1.5]), y: np.array([2.0, 2.0, 2.0])})
    for part, expected in zip(batch, gradient, strict=True):
        column = np.broadcast_to(part, 3)
        assert column[0] == column[1] == expected
        assert np.isfinite(column[2])


@every_case
@pytest.mark.parametrize("number", [float, np.float64])
def test_dual_numbers_of_where_equal_those_of_the_selected_branch(
    function: Callable[[Any, Any], Any], gradient: tuple[float, float], number: Callable[[float], Any]
) -> None:
    with np.errstate(all="ignore"):
        for unit, expected in zip(np.eye(2).tolist(), gradient, strict=True):
            x, y = seeded([number(0.0), number(2.0)], unit)
            assert float(parts(function(x, y))[1]) == expected


@every_case
def test_second_derivatives_of_where_are_finite(
    function: Callable[[Any, Any], Any], gradient: tuple[float, float]
) -> None:
    graph = Graph()
    x, y = graph.inputs("x", (2,))
    forward = jacobian(jacobian([function(x, y)], [x, y])[0], [x, y])
    backward = [adjoint(adjoint([function(x, y)], [x, y], [1.0]), [x, y], w) for w in ([1.0, 0.0], [0.0, 1.0])]
    for first, second in zip(forward, backward, strict=True):
        values = [float(v) for v in evaluate(first, {x: 0.0, y: 2.0})]
        assert np.isfinite(values).all()
        assert [float(v) for v in evaluate(second, {x: 0.0, y: 2.0})] == values


def test_condition_of_where_has_no_derivative() -> None:
    x, y = Graph().inputs("x", (2,))
    output = f.where(f.sqrt(x) < 1.0, y, 2.0 * y)
    assert jacobian([output], [x])[0] == [0.0]
    assert adjoint([output], [x], [1.0]) == [0.0]


def test_gradient_of_where_with_a_common_factor_in_both_branches_needs_one_selection() -> None:
    """x in both branches costs one ``where`` in reverse as it does forward."""
    x, y = Graph().inputs("x", (2,))
    output = f.where(y < 0.0, f.sin(x), f.cos(x))
    assert adjoint([output], [x], [1.0])[0] is f.where(y < 0.0, f.cos(x), -f.sin(x))
    assert jacobian([output], [x])[0][0] is f.where(y < 0.0, f.cos(x), -f.sin(x))
