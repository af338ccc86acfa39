"""NumPy functions on object arrays of symbols: a function of arrays is traced by running it on them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from helpers.scalars import EPS
from linkwork import expr
from linkwork.expr.arrays.symbol_array import scalars
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph, Symbol

POINT = {"p": np.array([0.3, -0.7, 1.2]), "A": np.array([[0.5, -0.2, 0.9], [1.1, 0.4, -0.6], [0.3, 0.8, 0.7]])}

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sin": lambda p, A: np.sin(p),
    "cos, tan": lambda p, A: np.cos(p) + np.tan(p),
    "inverse circular": lambda p, A: np.arcsin(0.5 * p) + np.arccos(0.5 * p) * np.arctan(p),
    "arctan2": lambda p, A: np.arctan2(p, p[::-1] + 3.0),
    "hypot": lambda p, A: np.hypot(A, p),
    "exp, log": lambda p, A: np.exp(p) + np.log(p * p + 1.0),
    "hyperbolic": lambda p, A: np.sinh(p) * np.cosh(p) - np.tanh(p),
    "sqrt": lambda p, A: np.sqrt(p**2 + 1.0),
    "square": lambda p, A: np.square(p) - np.reciprocal(p),
    "abs": lambda p, A: np.abs(p) + np.absolute(p) + np.fabs(p) + abs(p),
    "negative": lambda p, A: -p + np.negative(A) - (+p),
    "power": lambda p, A: np.power(p, 3) + p**-1,
    "floor": lambda p, A: np.floor(p) + math.floor(p[0]),
    "matrix by vector": lambda p, A: A @ p,
    "matrix by matrix": lambda p, A: A @ A.T,
    "dot": lambda p, A: p @ p + np.dot(p, p) + np.inner(p, p),
    "outer": lambda p, A: np.outer(p, p),
    "sums": lambda p, A: A.sum(axis=0) + np.sum(p) + sum(p) + A.trace(),
    "mean, prod, cumsum": lambda p, A: p.mean() + np.prod(p) + np.cumsum(p),
    "norm": lambda p, A: np.linalg.norm(p),
    "cross": lambda p, A: np.cross(p, A[0]),
    "einsum": lambda p, A: np.einsum("ij,j->i", A, p),
    "stacking": lambda p, A: np.concatenate([p, A[0]]) * np.stack([p, p]).ravel(),
    "broadcasting": lambda p, A: A * p[:, None] / (2.0 + p * p) - np.arange(3.0),
    "numbers of NumPy on the left": lambda p, A: (
        np.float64(2.0) * p[0] - np.float64(1.0) / p[1] + np.array([1.0, 2.0]) * p[2]
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpy_functions_of_symbol_arrays_equal_those_of_float_arrays(name: str) -> None:
    graph = Graph()
    inputs = {key: np.array(graph.inputs(key, x.shape), dtype=object).reshape(x.shape) for key, x in POINT.items()}
    traced = np.array(FUNCTIONS[name](**inputs), dtype=object)
    values = {s: x for key in POINT for s, x in zip(inputs[key].ravel(), POINT[key].ravel(), strict=True)}
    result = np.array([float(v) for v in evaluate(list(traced.ravel()), values)]).reshape(traced.shape)
    expected = np.asarray(FUNCTIONS[name](**POINT))
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=16 * EPS, atol=16 * EPS)


@pytest.mark.parametrize("compare", [np.less, np.maximum, np.fmin, np.sign, np.sort])
def test_numpy_functions_that_branch_on_values_are_refused(compare: Any) -> None:
    p = np.array(Graph().inputs("p", (2,)), dtype=object)
    arguments = (p, p[::-1]) if getattr(compare, "nin", 1) == 2 else (p,)
    with pytest.raises(TypeError, match="no truth value"):
        compare(*arguments)


def test_comparing_a_numpy_scalar_with_a_symbol_gives_a_symbol() -> None:
    s = Graph().input("s")
    assert (np.float64(0.5) < s) is (s > 0.5)
    assert (np.float64(0.5) >= s) is (s <= 0.5)
    assert isinstance(np.float64(0.5) == s, Symbol)


def test_symbols_are_combined_with_arrays_element_by_element() -> None:
    s = Graph().input("s")
    array = np.array([2.0, 3.0])
    for result in (s * array, array * s):
        assert result[0] is s * 2.0
        assert result[1] is s * 3.0
    assert (s - array)[1] is s - 3.0
    assert (array / s)[0] is 2.0 / s
    assert (s**array)[0] is s * s


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("fmin", 2),
        ("fmax", 2),
        ("copysign", 2),
        ("atan2", 2),
        ("hypot", 2),
        ("pow", 2),
        ("sign", 1),
        ("floor", 1),
        ("fabs", 1),
        ("exp", 1),
    ],
)
def test_scalar_functions_broadcast_symbol_arrays_with_symbols_and_floats(name: str, arguments: int) -> None:
    """Arrays of symbols and numbers and single symbols broadcast together in any order."""
    function = getattr(expr, name)
    rng = np.random.default_rng(4)
    x, y, k = rng.uniform(0.5, 2.0, (2, 3)), rng.uniform(0.5, 2.0, 3), 1.25
    graph = Graph()
    symbols = np.array(graph.inputs("x", (2, 3)), dtype=object).reshape(2, 3)
    single = graph.input("k")
    values = {**dict(zip(symbols.ravel(), x.ravel(), strict=True)), single: k}
    second_arguments = [(), ()] if arguments == 1 else [(y,), (single,)]
    for second_argument, number in zip(second_arguments, [y, k], strict=True):
        expected = function(x, *((number,) if second_argument else ()))
        result = function(symbols, *second_argument)
        assert result.shape == (2, 3)
        assert np.allclose(np.array(evaluate(list(result.ravel()), values), float).reshape(2, 3), expected, rtol=1e-15)
    if arguments == 2:
        result = function(y, single)
        assert np.allclose(np.array(evaluate(list(result), values), float), function(y, k), rtol=1e-15)


def test_comparison_functions_accept_arrays_of_symbols() -> None:
    graph = Graph()
    symbols = np.array(graph.inputs("x", (4,)), dtype=object)
    values = dict(zip(symbols, [-1.0, 0.0, 1.0, 2.0], strict=True))
    for name, expected in (("lt", [-1.0, 9.0, 9.0, 9.0]), ("le", [-1.0, 0.0, 9.0, 9.0]), ("eq", [9.0, 0.0, 9.0, 9.0])):
        chosen = expr.where(getattr(expr, name)(symbols, 0.0), symbols, 9.0)
        assert [float(v) for v in evaluate(list(chosen), values)] == expected
    with pytest.raises(TypeError, match=r"linkwork\.expr\.array"):
        symbols < 0.0  # noqa: B015


@pytest.mark.light
def test_lists_of_symbols_are_arrays_of_symbols_without_nested_arrays() -> None:
    x, y = Graph().inputs("x", (2,))
    rows = [[x, 0.0], [2.0, y]]
    for values, elements, shape in (
        ([x, 0.0], [x, 0.0], (2,)),
        ((1.0, x), [1.0, x], (2,)),
        (rows, [x, 0.0, 2.0, y], (2, 2)),
        (x, [x], ()),
    ):
        result = scalars(values)
        assert result.shape == shape
        assert all(a is b or a == b for a, b in zip(result.ravel().tolist(), elements, strict=True))
        assert {type(a) for a in result.ravel().tolist()} <= {float, Symbol}
