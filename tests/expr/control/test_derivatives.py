"""Derivatives through loops, branches, calls and tables, against differences, dual numbers and each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from expr.control.cases import CASES
from linkwork.errors import NotDifferentiableError
from linkwork.expr import adjoint, fori_loop, jacobian, scan, sin, tangent, while_loop
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph

H = 1e-6


def values(outputs: Sequence[Any], inputs: Sequence[Any], point: np.ndarray) -> np.ndarray:
    return np.array(evaluate(outputs, dict(zip(inputs, point, strict=True))))


def differences(outputs: Sequence[Any], inputs: Sequence[Any], at: np.ndarray, direction: np.ndarray) -> np.ndarray:
    ahead, behind = (values(outputs, inputs, at + s * H * direction) for s in (1.0, -1.0))
    return (ahead - behind) / (2.0 * H)


@pytest.mark.slow(every=5)
def test_forward_derivatives_of_control_flow_equal_finite_differences_and_dual_numbers() -> None:
    for name, case in CASES.items():
        outputs, inputs = case.traced()
        rng = np.random.default_rng(2)
        at, direction = rng.normal(size=(2, len(inputs)))
        rates = values(tangent(outputs, inputs, list(direction)), inputs, at)
        rows = np.array([values(row, inputs, at) for row in jacobian(outputs, inputs)])
        np.testing.assert_allclose(rows @ direction, rates, rtol=1e-11, atol=1e-12, err_msg=name)
        expected = differences(outputs, inputs, at, direction)
        np.testing.assert_allclose(rates, expected, rtol=1e-6, atol=1e-7, err_msg=name)
        duals = case.of(seeded(at.tolist(), direction.tolist()))
        np.testing.assert_allclose([parts(x)[1] for x in duals], rates, rtol=1e-11, atol=1e-12, err_msg=name)


def test_reverse_and_second_derivatives_of_control_flow_equal_finite_differences() -> None:
    for name, case in CASES.items():
        if not case.reverse:
            continue
        outputs, inputs = case.traced()
        rng = np.random.default_rng(3)
        at, direction = rng.normal(size=(2, len(inputs)))
        weights = rng.normal(size=len(outputs)).tolist()
        forward = tangent(outputs, inputs, list(direction))
        gradient = adjoint(outputs, inputs, weights)
        slope = values(forward, inputs, at) @ weights
        np.testing.assert_allclose(
            values(gradient, inputs, at) @ direction, slope, rtol=1e-11, atol=1e-12, err_msg=name
        )
        second = values(tangent(gradient, inputs, list(direction)), inputs, at)
        np.testing.assert_allclose(
            second, differences(gradient, inputs, at, direction), rtol=1e-5, atol=1e-6, err_msg=name
        )
        for second_order in (adjoint(gradient, inputs, list(direction)), adjoint(forward, inputs, weights)):
            np.testing.assert_allclose(values(second_order, inputs, at), second, rtol=1e-10, atol=1e-12, err_msg=name)


def test_gradients_of_nested_scans_do_not_depend_on_segments() -> None:
    def cost(x: Any, u: np.ndarray, segments: int | None) -> Any:
        def inner(s, v):
            return ((0.8 * s + v * s * s * 0.1), s * v)

        def outer(s, row):
            return (lambda computed_values: (computed_values[0] + s, computed_values[1].sum() * s))(scan(inner, s, row))

        last, products = scan(outer, x, u, segments=segments)
        return last * last + (products * products).sum()

    graph = Graph()
    x, u = graph.input("x"), graph.inputs("u", (7, 3))
    at = np.random.default_rng(4).normal(size=22)
    computed_values = []
    for segments in (None, 1, 3, 7):
        total = cost(x, np.array(u, dtype=object).reshape(7, 3), segments)
        computed_values.append(values(adjoint([total], [x, *u], [1.0]), [x, *u], at))
        np.testing.assert_allclose(computed_values[-1], computed_values[0], rtol=1e-12)
    directions = np.eye(22)
    expected = [differences([total], [x, *u], at, d)[0] for d in directions]
    np.testing.assert_allclose(computed_values[0], expected, rtol=1e-6, atol=1e-7)


def test_constant_gradients_of_short_loops_are_folded_at_trace_time() -> None:
    """Gradients of long loops are computed when the code runs."""
    for steps in (50, 5000):
        graph = Graph()
        x = graph.input("x")
        last = fori_loop(0, steps, lambda k, s: 0.999 * s + k, x)
        (gradient,) = adjoint([last], [x], [1.0])
        assert isinstance(gradient, float) == (steps == 50)
        for derivative in (gradient, *tangent([last], [x], [1.0])):
            (value,) = evaluate([derivative], {x: 2.0})
            np.testing.assert_allclose(value, 0.999**steps, rtol=1e-11)


def test_reverse_derivatives_of_while_loops_raise_an_error() -> None:
    graph = Graph()
    x = graph.input("x")
    loop = while_loop(lambda s: s < 9.0, lambda s: s * s, x, max_iterations=5)
    with pytest.raises(NotDifferentiableError, match=r"no reverse-mode gradient: use scan or fori_loop, .* root"):
        adjoint([loop.state], [x], [1.0])
    inside = fori_loop(0, 2, lambda k, s: while_loop(lambda t: t < 9.0, lambda t: t * s, s, max_iterations=5).state, x)
    with pytest.raises(NotDifferentiableError, match="forward derivatives"):
        adjoint([inside], [x], [1.0])
    assert tangent([loop.iterations, loop.status], [x], [1.0]) == [0.0, 0.0]


def test_gradients_of_fori_loops_do_not_depend_on_segments() -> None:
    def cost(x: Any, segments: int | None) -> Any:
        return fori_loop(0, 11, lambda k, s: 0.9 * sin(s) + x * k, x, segments=segments)

    whole, cut, single_steps = (
        lw.compile(lambda x, n=n: adjoint([cost(x, n)], [x], [1.0])[0], x=()) for n in (None, 3, 11)
    )
    h = 1e-6
    for x in (0.3, -0.7):
        assert whole(x) == pytest.approx((cost(x + h, 4) - cost(x - h, 4)) / (2 * h), rel=1e-8)
        assert cut(x) == pytest.approx(whole(x), rel=1e-14) and single_steps(x) == pytest.approx(whole(x), rel=1e-14)
    with pytest.raises(ValueError, match="segments"):
        cost(0.3, 12)
