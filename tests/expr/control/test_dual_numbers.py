"""Control flow on dual numbers of symbols."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import TraceWarning
from linkwork.expr import array, call, cond, cos, fori_loop, lt, scan, sin, sqrt, tangent, where, while_loop
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.control.conditional import call_once_traced
from linkwork.expr.scalar.precision import require_float64


def mixed(x: Any, u: Any) -> Any:
    """Every construct, with a state that becomes dual inside of the loop."""

    def step(s: Any, c: Any) -> Any:
        halved = while_loop(
            lambda t: abs(t[0]) > 0.2,
            lambda t: (t[0] * 0.5 + 0.01 * x * t[0], t[1] + 1.0),
            (s + c * x, 0.0),
            max_iterations=9,
        )
        z = cond(
            halved.state[0] < 0.05, lambda: sin(s) * x, lambda: fori_loop(0, 3, lambda j, y: y + cos(y) * j * x, s)
        )
        return s * 0.7 + z * 0.1 + call(lambda a, b: a * b, halved.state[0], c), z

    last, outputs = scan(step, 0.1, u)
    return last + outputs.sum()


def slope(x: Any, u: Any) -> Any:
    (dual,) = seeded([x], [1.0])
    return parts(mixed(dual, u), dual.level)[1]


def bend(x: Any, u: Any) -> Any:
    (outer,) = seeded([x], [1.0])
    (inner,) = seeded([outer], [1.0])
    return parts(parts(mixed(inner, u), inner.level)[1], outer.level)[1]


def test_dual_numbers_differentiate_control_flow_to_second_order() -> None:
    shapes: dict[str, Any] = {"x": (), "u": (5,)}
    first, second, graph = (
        lw.compile(function, **shapes) for function in (slope, bend, lambda x, u: tangent([mixed(x, u)], [x], [1.0])[0])
    )
    u, h = np.random.default_rng(0).normal(size=5), 1e-5
    for x in (0.7, -0.3):
        assert first(x, u) == pytest.approx(slope(x, u), rel=1e-13)  # on floats
        assert first(x, u) == pytest.approx(graph(x, u), rel=1e-13)
        assert first(x, u) == pytest.approx((mixed(x + h, u) - mixed(x - h, u)) / (2 * h), rel=1e-8)
        assert second(x, u) == pytest.approx((first(x + h, u) - first(x - h, u)) / (2 * h), rel=1e-8)


def test_nan_derivative_does_not_end_a_while_loop() -> None:
    """It is the state that is looked at: on floats, compiled, and by the derivative of the loop."""

    def a_nan_derivative_does_not_end_a_loop(x: Any) -> Any:
        """The loop's condition reads values alone: on floats, compiled, and by the derivative of the loop."""
        return while_loop(lambda s: s[1] < 3.0, lambda s: (0.5 * sqrt(s[0]), s[1] + 1.0), (x, 0.0), max_iterations=9)

    def by_duals(x: Any) -> Any:
        (dual,) = seeded([x], [1.0])
        result = a_nan_derivative_does_not_end_a_loop(dual * 0.0)  # √0, whose derivative is 0/0
        return parts(result.state[0], dual.level)[0], result.iterations, result.status

    assert [float(part) for part in by_duals(2.0)] == [0.0, 3.0, 0.0]
    assert [float(part) for part in lw.compile(by_duals, x=())(2.0)] == [0.0, 3.0, 0.0]
    assert np.isnan(
        lw.compile(lambda x: tangent([a_nan_derivative_does_not_end_a_loop(x * x).state[0]], [x], [1.0])[0], x=())(0.0)
    )


def test_shared_function_with_a_key_is_traced_once_for_all_kernels() -> None:
    """Its properties and its values are those of `call`; dual numbers are traced on their own."""
    counter = itertools.count()

    def function(x: Any, k: Any) -> Any:
        next(counter)
        require_float64([k])
        return k * (x[0] * x[0] + x[1] * x[1] + x[2] * x[2]), lt(x[0], k)

    def both(x: Any) -> Any:
        (first, less), (second, _) = (call_once_traced("test: squares", function, (*x,), k) for k in (2.0 * x[2], x[1]))
        return array([first + second, where(less, 1.0, 0.0)])

    def by_duals(x: Any) -> Any:
        dual = seeded([*x], [0.0, 1.0, 0.0])
        return parts(call_once_traced("test: squares", function, (*dual,), dual[1])[0])[1]

    x = np.array([0.5, 3.0, -1.0])
    expected, before = both(x), next(counter)
    with pytest.warns(TraceWarning, match="counter has advanced"):
        kernels = [lw.compile(both, x=3), lw.compile(lambda y: both(y[1:]), y=4)]
    assert next(counter) == before + 2  # one between the two numbers that this test takes
    assert np.array_equal(kernels[0](x), expected) and np.array_equal(kernels[1](np.array([7.0, *x])), expected)
    assert all(kernel.program.in_double for kernel in kernels)
    with pytest.warns(TraceWarning, match="counter has advanced"):
        rates = lw.compile(by_duals, x=3)
    assert rates(x) == pytest.approx(2.0 * x[1] * x[1] + x @ x)
