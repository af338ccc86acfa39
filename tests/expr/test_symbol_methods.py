"""Python's operators and rarer NumPy functions on symbols, without compilation: the values of NumPy on floats."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from helpers.scalars import on_symbols
from linkwork.expr import array, put, where
from linkwork.expr.scalar.symbol import Graph

X = np.array([[0.3, -0.7, 2.5], [-1.2, 0.4, -3.1], [4.0, 1.5, 0.25]])

FUNCTIONS = {
    "remainder of a number": lambda x, y, z: 7.3 % z,
    "remainder by a number": lambda x, y, z: x % 0.35,
    "floor division": lambda x, y, z: (x // 0.35, x // z),
    "floor division of a number": lambda x, y, z: 7.3 // y,
    "cube root": lambda x, y, z: (np.cbrt(x), np.cbrt(y * 1e-30), np.cbrt(z * 0.0)),
    "quotient of a number": lambda x, y, z: 0.0 / z + 2.5 / y,
    "difference from a number": lambda x, y, z: 0.0 - z + (2.5 - y),
}


@pytest.mark.light
@pytest.mark.parametrize("name", FUNCTIONS)
def test_operators_on_symbols_equal_those_on_floats(name: str) -> None:
    function = FUNCTIONS[name]

    def listed(x: Any) -> list[Any]:
        result = function(*x)
        return [*result] if isinstance(result, tuple) else [result]

    expected = np.array([[float(y) for y in listed([float(v) for v in row])] for row in X])
    assert on_symbols(listed, X) == pytest.approx(expected, rel=1e-14, abs=0.0)


def test_symbolic_truth_values_support_pythons_logical_operators() -> None:
    def function(x: Any) -> list[Any]:
        a, b = x[0] > 0.0, x[1] > 0.0
        return [where(c, 1.0, 0.0) for c in (a ^ b, ~a, a & b, a | b, a ^ True)]

    expected = [[(p > 0) ^ (q > 0), p <= 0, p > 0 and q > 0, p > 0 or q > 0, p <= 0] for p, q, _ in X]
    assert np.array_equal(on_symbols(function, X), np.array(expected, dtype=float))
    (symbol,) = Graph().inputs("x", (1,))
    assert copy.copy(symbol) is symbol and copy.deepcopy([symbol])[0] is symbol
    for operation, sign in (
        (lambda x: x ^ 2.0, r"\^"),
        (lambda x: 2 ^ x, r"\^"),
        (lambda x: x & (x > 0.0), "&"),
        (lambda x: (x > 0.0) | x, r"\|"),
        (lambda x: ~x, "~"),
    ):
        for x in (symbol, array([symbol, symbol])):
            with pytest.raises(TypeError, match=f"{sign}: expected truth values, such as results of comparisons, got"):
                operation(x)
    with pytest.raises(TypeError, match=r"got .*; a power is x \*\* y"):
        _ = symbol ^ symbol


def test_arrays_of_symbols_are_clipped_converted_and_assigned_like_numpy_arrays() -> None:
    def function(x: Any) -> list[Any]:
        a = array([*x])
        clipped = array([0.0, 0.0, 0.0]) + 0.0 * a
        returned = np.clip(a, -0.5, 0.45, out=clipped)
        assert returned is clipped
        positive = (a > 0.0).astype(float)
        changed = put(a, 1, 7.5)
        changed[2] = a[0] * 2.0
        total = np.zeros(3) * a
        assert np.add(a, 1.0, out=total) is total
        return [*clipped, *positive, *changed, *total, np.linalg.cholesky(_gram(a), upper=True)[0, 1]]

    def _gram(a: Any) -> Any:
        M = array([[1.0 + a[0] * a[0], a[0] * a[1]], [a[0] * a[1], 2.0 + a[1] * a[1]]])
        return M

    expected = []
    for row in X:
        M = np.eye(2) + np.diag([0.0, 1.0]) + np.outer(row[:2], row[:2])
        changed = [row[0], 7.5, 2.0 * row[0]]
        clipped = np.clip(row, -0.5, 0.45)
        expected.append([*clipped, *(row > 0.0), *changed, *(row + 1.0), np.linalg.cholesky(M).T[0, 1]])
    assert on_symbols(function, X) == pytest.approx(np.array(expected, dtype=float), abs=1e-14)
    a = array(Graph().inputs("x", (3,)))
    with pytest.raises(IndexError, match="out of bounds"):
        a[5] = 1.0


def test_solutions_for_a_batch_of_matrices_and_one_right_side_equal_numpys() -> None:
    A = np.random.default_rng(0).normal(size=(3, 2, 2)) + 2.0 * np.eye(2)
    b = np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 0.3]])

    def function(x: Any) -> list[Any]:
        return [*np.linalg.solve(array([*x]).reshape(3, 2, 2), b).ravel()]

    assert on_symbols(function, A.reshape(1, 12))[0] == pytest.approx(np.linalg.solve(A, b).ravel(), abs=1e-13)
