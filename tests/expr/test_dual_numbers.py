"""Dual numbers: every operation against the expression's derivative, for all levels and scalars."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from helpers.precise import differences
from helpers.scalars import EPS, symbolic_jacobian
from linkwork.expr.autodiff.dual_numbers import Dual, parts, seeded
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph

X, Y = 0.6, 1.7

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "pow": operator.pow,
    "atan2": f.atan2,
    "hypot": f.hypot,
    "copysign": f.copysign,
    "fmin": f.fmin,
    "fmax": f.fmax,
    "where": lambda a, b: f.where(a < b, a * b, a / b),
}

UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": operator.neg,
    "pos": operator.pos,
    "abs": abs,
    "square": lambda a: a**2,
    "cube": lambda a: a**3,
    "reciprocal": lambda a: a**-1,
    "root": lambda a: a**0.5,
    "high power": lambda a: a**70,
    "sqrt": f.sqrt,
    "exp": f.exp,
    "log": f.log,
    "sin": f.sin,
    "cos": f.cos,
    "tan": f.tan,
    "asin": f.asin,
    "acos": f.acos,
    "atan": f.atan,
    "sinh": f.sinh,
    "cosh": f.cosh,
    "tanh": f.tanh,
    "fabs": f.fabs,
    "sign": f.sign,
    "floor": f.floor,
}


def assert_close(actual: Any, expected: Any) -> None:
    np.testing.assert_allclose(float(actual), float(expected), rtol=16 * EPS, atol=16 * EPS)


@pytest.mark.parametrize("name", BINARY)
def test_binary_operations_of_dual_numbers_equal_finite_differences(name: str) -> None:
    """Both arguments are dual, or one alone, in either order."""
    function = BINARY[name]
    by_x, by_y = symbolic_jacobian(lambda x: [function(x[0], x[1])], [X, Y])[0]
    value = function(X, Y)
    for result, slope in (
        (function(Dual(X, 3.0), Dual(Y, -2.0)), 3.0 * by_x - 2.0 * by_y),
        (function(Dual(X, 3.0), Y), 3.0 * by_x),
        (function(X, Dual(Y, -2.0)), -2.0 * by_y),
        (function(np.float64(X), Dual(Y, -2.0)), -2.0 * by_y),
        (function(Dual(X, 3.0), np.float64(Y)), 3.0 * by_x),
    ):
        assert isinstance(result, Dual)
        assert_close(result.value, value)
        assert_close(result.tangent, slope)


@pytest.mark.parametrize("name", UNARY)
def test_unary_operations_of_dual_numbers_equal_finite_differences(name: str) -> None:
    function = UNARY[name]
    (slope,) = differences(lambda x: [function(x[0])], [X], [1.0])
    result = function(Dual(X, 3.0))
    assert_close(result.value, function(X))
    assert_close(result.tangent, 3.0 * float(slope))


@pytest.mark.parametrize("name", [*BINARY, *UNARY])
def test_dual_numbers_of_batches_equal_single_dual_numbers(name: str) -> None:
    xs, ys, dx, dy = np.array([0.6, 0.3]), np.array([1.7, 0.2]), np.array([3.0, 1.0]), np.array([-2.0, 1.0])
    if name in BINARY:
        result = BINARY[name](Dual(xs, dx), Dual(ys, dy))
        expected = [BINARY[name](Dual(a, da), Dual(b, db)) for a, da, b, db in zip(xs, dx, ys, dy, strict=True)]
    else:
        result = UNARY[name](Dual(xs, dx))
        expected = [UNARY[name](Dual(a, da)) for a, da in zip(xs, dx, strict=True)]
    for k, single in enumerate(expected):
        assert_close(np.broadcast_to(result.value, 2)[k], single.value)
        assert_close(np.broadcast_to(result.tangent, 2)[k], single.tangent)


@pytest.mark.parametrize("name", [*BINARY, *UNARY])
def test_dual_numbers_of_symbols_equal_dual_numbers_of_floats(name: str) -> None:
    x, y, dx, dy = Graph().inputs("x", (4,))
    a, b, da, db = [X, Y, 3.0, -2.0]
    duals = (Dual(x, dx), Dual(y, dy)) if name in BINARY else (Dual(x, dx),)
    float_duals = (Dual(a, da), Dual(b, db))[: len(duals)]
    function = BINARY.get(name) or UNARY[name]
    value, slope = evaluate(list(parts(function(*duals))), {x: a, y: b, dx: da, dy: db})
    assert_close(value, function(*float_duals).value)
    assert_close(slope, function(*float_duals).tangent)


def test_dual_numbers_can_be_combined_with_symbols_arrays_and_casadi_scalars() -> None:
    s = Graph().input("s")
    for function in BINARY.values():
        assert isinstance(function(s, Dual(s, 1.0)), Dual)
        assert isinstance(function(Dual(s, 1.0), s), Dual)
    batch = np.array([1.0, 2.0])
    for result in (batch * Dual(3.0, 1.0), Dual(3.0, 1.0) * batch):
        assert np.array_equal(result.value, 3.0 * batch)
        assert np.array_equal(result.tangent, batch)
    casadi = pytest.importorskip("casadi")
    t = casadi.SX.sym("t")
    result = f.sin(Dual(t, 1.0)) / (Dual(t, 1.0) + 2.0) * t
    compiled = casadi.Function("f", [t], [result.value, result.tangent])
    for value, expected in zip(compiled(0.7), parts(f.sin(Dual(0.7, 1.0)) / (Dual(0.7, 1.0) + 2.0) * 0.7), strict=True):
        assert_close(value, expected)


def test_comparisons_of_dual_numbers_compare_values() -> None:
    a, b = Dual(1.0, 5.0), Dual(2.0, -5.0)
    assert (a < b, a <= b, a > b, a >= b, a == b, a != b) == (True, True, False, False, False, True)
    assert (a < 1.0, a <= 1.0, b > 1.0, b <= 1.0, a == 1.0, a != 1.0) == (False, True, True, False, True, False)
    assert [compare(1.0, b) for compare in (operator.lt, operator.ge, operator.eq)] == [True, False, False]
    assert bool(Dual(0.0, 1.0)) is False
    assert bool(Dual(0.1, 0.0)) is True
    assert np.array_equal(Dual(np.arange(3.0), 1.0) < 1.5, [True, True, False])
    s = Graph().input("s")
    assert (Dual(s, 1.0) < 2.0) is (s < 2.0)
    assert (Dual(s, 1.0) == 2.0) is (s == 2.0)
    with pytest.raises(TypeError, match="no truth value"):
        bool(Dual(s, 1.0))
    assert f.and_(a < b, True) is True
    assert len({a, a, b}) == 2


def test_where_of_dual_numbers_has_the_tangent_of_the_selected_branch() -> None:
    a, b = Dual(1.0, 5.0), Dual(2.0, -5.0)
    assert parts(f.where(True, a, b)) == (1.0, 5.0)
    assert parts(f.where(a < b, 7.0, b)) == (7.0, 0.0)
    assert parts(f.where(a > b, 7.0, b)) == (2.0, -5.0)
    chosen = f.where(np.array([True, False]), a, b)
    assert np.array_equal(chosen.value, [1.0, 2.0])
    assert np.array_equal(chosen.tangent, [5.0, -5.0])


def test_branch_of_where_not_selected_may_have_an_infinite_dual_number() -> None:
    for zero in (0.0, np.float64(0.0), np.zeros(2)):
        with np.errstate(all="ignore"):
            for function in (f.sqrt, f.log, lambda x: f.acos(1.0 - x), lambda x: f.hypot(x, 0.0)):
                result = f.where(zero > 1.0, function(Dual(zero, 1.0)), Dual(zero, 3.0))
                assert np.all(result.tangent == 3.0)
                nested = f.where(zero > 1.0, function(Dual(Dual(zero, 1.0), 1.0)), Dual(Dual(zero, 2.0), 3.0))
                assert np.all(parts(parts(nested, 2)[1], 1)[0] == 3.0)


def test_infinite_derivatives_of_dual_numbers_are_infinite_on_floats() -> None:
    assert f.sqrt(Dual(0.0, 1.0)).tangent == np.inf
    assert f.acos(Dual(1.0, 1.0)).tangent == -np.inf
    assert f.sqrt(Dual(0.0, 0.0)).tangent == 0.0


@pytest.mark.parametrize("zero", [0.0, np.float64(0.0)])
def test_integer_powers_of_a_zero_dual_number_have_exact_tangents(zero: float) -> None:
    for n, slope in ((0, 0.0), (1, 1.0), (2, 0.0), (3, 0.0)):
        assert parts(Dual(zero, 1.0) ** n) == (0.0**n, slope)


def test_integer_powers_of_negative_dual_numbers_are_real() -> None:
    result = Dual(-2.0, 1.0) ** 3
    assert parts(result) == (-8.0, 12.0)
    assert parts(Dual(-2.0, 1.0) ** -1) == (-0.5, -0.25)
    assert parts(2.0 ** Dual(3.0, 1.0)) == (8.0, 8.0 * np.log(2.0))


# -- levels


def derivative(function: Callable[[Any], Any], x: Any) -> Any:
    """The derivative of a function at a number of any kind, that of an outer derivative included."""
    (moving,) = seeded([x], [1.0])
    return parts(function(moving), moving.level)[1]


def test_nested_dual_numbers_do_not_confuse_their_perturbations() -> None:
    """d/dx (x · d/dy (x + y)) = 1 and not 2 (Siskind and Pearlmutter's example)."""
    assert derivative(lambda x: x * derivative(lambda y: x + y, 1.0), 1.0) == 1.0
    assert derivative(lambda x: x * derivative(lambda y: x * y, 2.0), 3.0) == 6.0
    assert derivative(lambda x: derivative(lambda y: x * x * y, x), 3.0) == 6.0
    assert derivative(lambda x: derivative(lambda y: x, 1.0), 1.0) == 0.0
    assert derivative(lambda x: derivative(lambda y: y, x), 1.0) == 0.0
    assert derivative(lambda x: f.sin(x) * derivative(lambda y: f.where(y < x, x, y), 5.0), 0.0) == 1.0


@pytest.mark.parametrize("x", [0.3, np.array([0.3, -1.2]), np.float64(0.3)])
def test_nested_dual_numbers_give_higher_derivatives(x: Any) -> None:
    assert np.allclose(derivative(lambda a: derivative(f.sin, a), x), -np.sin(x), rtol=4 * EPS, atol=0.0)
    third = derivative(lambda a: derivative(lambda b: derivative(lambda c: f.exp(2.0 * c), b), a), x)
    assert np.allclose(third, 8.0 * np.exp(2.0 * x), rtol=8 * EPS, atol=0.0)
    mixed = derivative(lambda a: derivative(lambda b: a * f.exp(a * b), 2.0), x)
    assert np.allclose(mixed, np.exp(2.0 * x) * (2.0 * x + 2.0 * x * x), rtol=8 * EPS, atol=0.0)


def test_combined_dual_numbers_have_the_higher_level() -> None:
    inner, two = Dual(2.0, 1.0), Dual(Dual(3.0, 0.0), Dual(1.0, 0.0))
    assert (inner.level, two.level) == (1, 2)
    for product in (inner * two, two * inner):
        assert product.level == 2
        assert product.tangent == 2.0
        assert parts(product.value) == (6.0, 3.0)
    assert f.hypot(inner, two).level == 2


def test_dual_numbers_seeded_together_have_an_equal_new_level() -> None:
    """The level is above all earlier ones, also where some values are dual already."""
    (outer,) = seeded([Dual(2.0, 1.0)], [1.0])
    for values, tangents in (([outer, 3.0], [1.0, 0.0]), ([3.0, 4.0], [outer, 0.0]), ([3.0, outer], [outer, outer])):
        first, second = seeded(values, tangents)
        assert first.level == second.level > outer.level > 1
    assert seeded([], []) == []
    with pytest.raises(ValueError, match="argument 2 is longer"):
        seeded([1.0], [1.0, 2.0])


def test_parts_of_a_nested_dual_number_are_value_and_tangent_of_the_requested_level() -> None:
    inner = Dual(2.0, 1.0)
    two = Dual(inner, 5.0)
    assert parts(3.0) == (3.0, 0.0)
    assert parts(inner) == (2.0, 1.0)
    assert parts(two, 2) == (inner, 5.0)
    assert parts(inner, 2) == (inner, 0.0)
    assert parts(3.0, 1) == (3.0, 0.0)
    assert repr(inner) == "Dual(2.0, 1.0)"


def test_casadi_scalars_can_be_differentiated_through_where() -> None:
    """Classes of other libraries have attributes of any name, such as ``row``."""
    casadi = pytest.importorskip("casadi")
    x = casadi.SX.sym("x")
    (moving,) = seeded([x], [1.0])
    for function, expected in (
        (lambda a: f.where(a < 1.0, f.sin(a), a * a), 3.0),
        (lambda a: f.fmax(a, a * a * a), 6.75),
        (lambda a: f.fmin(2.0, a) / a, 0.0),
    ):
        slope = casadi.Function("slope", [x], [parts(function(moving))[1]])
        assert float(slope(1.5)) == pytest.approx(expected, abs=1e-15)
