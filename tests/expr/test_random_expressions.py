"""Random expressions: tracing and folding keep their value, and all derivatives agree.

Tolerances come from a running analysis of rounding errors, four times whose bound is allowed; the reference has 120
digits, for values and, by differences, for derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from helpers.examples import examples
from helpers.expressions import (
    CONSTANTS,
    KINKED,
    SMOOTH,
    Bounded,
    Recipe,
    UndecidedError,
    build,
    points,
    recipes,
    replay,
    rounding,
)
from helpers.precise import difference_jacobian, precisely
from helpers.scalars import EPS, dual_jacobian
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.autodiff.graph_derivative import adjoint, jacobian, tangent
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph, Symbol

N = 3
TIMES = 4.0

often = settings(max_examples=examples(120))
seldom = settings(max_examples=examples(60))


def bounds(outputs: list[Any], values: dict[Symbol, float]) -> np.ndarray:
    """Bounds on rounding errors; an example in which one decides a choice between branches is passed over."""
    try:
        bound = rounding(outputs, values)
    except UndecidedError:
        assume(False)
    assume(np.isfinite(bound).all())
    return bound


def floats(outputs: list[Any], values: dict[Symbol, float]) -> np.ndarray:
    return np.array([float(y) for y in evaluate(outputs, values)])


def assert_within(actual: np.ndarray, expected: np.ndarray, bound: np.ndarray) -> None:
    # 1e-45 is more than the error of the differences at 120 digits
    assert np.all(np.abs(actual - expected) <= TIMES * EPS * bound + 1e-45), (actual, expected, bound)


@often
@given(recipes(KINKED), points(N))
def test_tracing_and_constant_folding_preserve_the_value_of_random_expressions(recipe: Recipe, x: list[float]) -> None:
    try:
        direct = build(recipe, [Bounded(a) for a in x], [Bounded(c) for c in CONSTANTS])
    except UndecidedError:
        assume(False)
    symbols = Graph().inputs("x", (N,))
    values = dict(zip(symbols, x, strict=True))
    traced = [build(recipe, symbols)]
    exact = np.array([float(y) for y in precisely(lambda x: [build(recipe, x)], x)])
    error = float(direct.error) if isinstance(direct, Bounded) else 0.0
    assert_within(np.array([float(build(recipe, x))]), exact, np.array([error]))
    assert_within(floats(traced, values), exact, np.array([error]) + bounds(traced, values))


@often
@given(recipes(KINKED))
def test_random_expression_traced_twice_is_the_same_graph_node(recipe: Recipe) -> None:
    graph = Graph()
    symbols = graph.inputs("x", (N,))
    first = build(recipe, symbols)
    size = len(graph.nodes)
    second = build(recipe, symbols)
    assert len(graph.nodes) == size
    assert first is second if isinstance(first, Symbol) else first == second


@often
@given(recipes(KINKED))
def test_traces_of_random_expressions_contain_no_foldable_nodes(recipe: Recipe) -> None:
    """The graph has no nodes such as 2 + 3, x · 1 or −(−x), which folding replaces."""
    graph = Graph()
    build(recipe, graph.inputs("x", (N,)))
    for node in graph.nodes:
        constants = [a.value for a in node.args if a.op.name == "constant"]
        assert len(constants) < max(len(node.args), 1) or node.op.name == "le"
        if node.op.name == "mul":
            assert not {0.0, 1.0, -1.0} & set(constants)
        if node.op.name in ("add", "sub"):
            assert 0.0 not in constants
        if node.op.name in ("neg", "add", "mul", "div"):
            assert not any(a.op.name == "neg" for a in node.args)
        if node.op.name == "sub":
            assert node.args[0] is not node.args[1]


@seldom
@given(recipes(KINKED), st.lists(points(N), min_size=2, max_size=5))
def test_batch_values_of_random_expressions_equal_those_of_single_samples(
    recipe: Recipe, samples: list[list[float]]
) -> None:
    symbols = Graph().inputs("x", (N,))
    expression = [build(recipe, symbols)]
    rows = np.array(samples)
    batch = evaluate(expression, {s: rows[:, k] for k, s in enumerate(symbols)})[0]
    for y, x in zip(np.broadcast_to(batch, len(rows)), samples, strict=True):
        values = dict(zip(symbols, x, strict=True))
        assert_within(np.array([float(y)]), floats(expression, values), bounds(expression, values))


@seldom
@given(recipes(SMOOTH), points(N))
def test_first_derivatives_of_random_expressions_equal_finite_differences(recipe: Recipe, x: list[float]) -> None:
    symbols = Graph().inputs("x", (N,))
    values = dict(zip(symbols, x, strict=True))
    exact = difference_jacobian(lambda x: [build(recipe, x)], x)[0]
    (forward,) = jacobian([build(recipe, symbols)], symbols)
    backward = adjoint([build(recipe, symbols)], symbols, [1.0])
    for gradient in (forward, backward):
        assert_within(floats(gradient, values), exact, bounds(gradient, values))
    dual = dual_jacobian(lambda x: [build(recipe, x)], x)[0]
    assert_within(dual, exact, 2.0 * bounds(forward, values))


@seldom
@given(st.lists(recipes(KINKED, most=5), min_size=2, max_size=3), points(N), points(N), points(3))
def test_forward_and_reverse_derivatives_of_random_expressions_agree(
    several: list[Recipe], x: list[float], d: list[float], w: list[float]
) -> None:
    """Kinks, several outputs, and directions and weights that are expressions are included."""
    graph = Graph()
    symbols, along, weights = graph.inputs("x", (N,)), graph.inputs("d", (N,)), graph.inputs("w", (len(several),))
    outputs = [build(recipe, symbols) for recipe in several]
    values = dict(zip(symbols + along + weights, x + d + w[: len(several)], strict=True))
    rows = jacobian(outputs, symbols)
    by_rows = [sum(a * b for a, b in zip(row, along, strict=True)) for row in rows]
    by_columns = [sum(row[k] * weight for row, weight in zip(rows, weights, strict=True)) for k in range(N)]
    for derivatives, expected in (
        (tangent(outputs, symbols, along), by_rows),
        (adjoint(outputs, symbols, weights), by_columns),
    ):
        bound = bounds([*derivatives, *expected], values)
        assert_within(
            floats(derivatives, values), floats(expected, values), bound[: len(derivatives)] + bound[len(derivatives) :]
        )


@seldom
@given(recipes(KINKED, most=6), points(N), points(N))
def test_dual_numbers_of_random_expressions_equal_tangents(recipe: Recipe, x: list[float], d: list[float]) -> None:
    symbols = Graph().inputs("x", (N,))
    values = dict(zip(symbols, x, strict=True))
    expression = build(recipe, symbols)
    derivative = tangent([expression], symbols, d)
    bound = bounds([expression, *derivative], values)
    value, rate = parts(build(recipe, seeded(x, d)))
    assert_within(np.array([value, rate], dtype=float), floats([expression, *derivative], values), 2.0 * bound)
    batch = parts(build(recipe, seeded([np.array([a, a]) for a in x], d)))
    for part, expected, error in zip(batch, (value, rate), bound, strict=True):
        assert_within(np.broadcast_to(part, 2), np.array([expected] * 2, dtype=float), np.array([2.0 * error] * 2))
    traced = parts(build(recipe, seeded(symbols, d)))
    assert_within(floats(list(traced), values), np.array([value, rate], dtype=float), 2.0 * bound)


@seldom
@given(recipes(SMOOTH, most=5), points(N))
def test_second_derivatives_of_random_expressions_equal_finite_differences(recipe: Recipe, x: list[float]) -> None:
    symbols = Graph().inputs("x", (N,))
    values = dict(zip(symbols, x, strict=True))
    gradient = jacobian([build(recipe, symbols)], symbols)[0]
    rows = jacobian(gradient, symbols)
    exact = difference_jacobian(lambda x: replay(gradient, dict(zip(symbols, x, strict=True))), x)
    for k, row in enumerate(rows):
        assert_within(floats(row, values), exact[k], bounds(row, values))
        back = adjoint(gradient, symbols, [1.0 if i == k else 0.0 for i in range(N)])
        assert_within(floats(back, values), exact[k], bounds(back, values))


@seldom
@given(recipes(SMOOTH, most=5), points(N))
def test_nested_dual_numbers_of_random_expressions_give_second_derivatives(recipe: Recipe, x: list[float]) -> None:
    symbols = Graph().inputs("x", (N,))
    values = dict(zip(symbols, x, strict=True))
    rows = jacobian(jacobian([build(recipe, symbols)], symbols)[0], symbols)
    units = np.eye(N).tolist()
    for i in range(N):
        bound = bounds(rows[i], values)
        for j in range(N):
            inner = seeded(x, units[i])
            outer = seeded(inner, units[j])
            second = parts(parts(build(recipe, outer), outer[0].level)[1], inner[0].level)[1]
            expected = floats([rows[i][j]], values)
            assert_within(np.array([float(second)]), expected, np.array([4.0 * bound[j]]) + np.sum(bound))


@pytest.mark.parametrize("name", KINKED)
def test_random_expressions_of_the_tests_are_finite_in_their_domain(name: str) -> None:
    """They are finite at zero and at some large arguments."""
    arity, function = KINKED[name]
    for x in (0.0, 30.0, -30.0):
        assert np.isfinite(function(*[x] * arity))
