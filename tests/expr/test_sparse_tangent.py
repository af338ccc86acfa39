"""Derivatives in many directions together, over floats, batches, symbols and dual numbers."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from helpers.precise import difference_jacobian
from linkwork.expr import linalg
from linkwork.expr.autodiff.dual_numbers import Dual, SparseTangent, is_same, parts, seeded
from linkwork.expr.autodiff.masked_terms import scaled
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph, Symbol

X = [0.6, 1.7, -0.4]


def smooth(x):
    return [x[0] * f.sin(x[1]) / (2.0 + x[2]), f.sqrt(x[0] / x[1]) - 3.0, 2.0 / x[0] - x[1] ** 3, f.atan2(x[0], x[2])]


def chosen(x):
    return [f.where(x[0] < x[1], x[0] * x[2], x[1]), f.where(x[0] < x[1], 1.0, x[1]), f.fmax(x[0], x[2]) - x[0]]


def looped(x):
    total = lw.fori_loop(0, 3, lambda k, s: [s[0] * x[1] + k, s[1] - s[0] * s[0]], [x[0], 1.0])
    return [*total]


def branched(x):
    return [lw.cond(x[0] < x[1], lambda a, b: a * b, lambda a, b: a + b, x[1], x[2])]


def solved(x):
    return [*linalg.solve(np.array([[x[0], x[1]], [x[2], 3.0]]), np.array([1.0, x[0]]))]


FUNCTIONS = pytest.mark.parametrize("function", [smooth, chosen, looped, branched, solved], ids=lambda g: g.__name__)


def rows(results, level, count):
    tangents = [parts(y, level)[1] for y in results]
    return [[t.get(k) if isinstance(t, SparseTangent) else t for k in range(count)] for t in tangents]


def moved(x):
    return seeded(x, [SparseTangent({k: 1.0}) for k in range(len(x))])


@FUNCTIONS
def test_sparse_tangents_of_all_inputs_equal_derivatives_in_single_directions(function):
    """Floats are compared with differences, and batches and symbols with floats."""
    inputs = moved(X)
    J = np.array(rows(function(inputs), inputs[0].level, 3), dtype=float)
    if function in (smooth, chosen):  # others take their own kinds of numbers
        np.testing.assert_allclose(J, difference_jacobian(function, X), rtol=1e-13, atol=1e-13)
    for k in range(3):
        single_direction = seeded(X, [float(j == k) for j in range(3)])
        column = [parts(y, single_direction[0].level)[1] for y in function(single_direction)]
        np.testing.assert_allclose(J[:, k], np.array(column, dtype=float), rtol=1e-14, atol=1e-14)
    batch = moved([] if function is branched else [np.array([x, x]) for x in X])
    for row, expected in zip(rows(function(batch), batch[0].level, 3) if batch else (), J, strict=False):
        for got, x in zip(row, expected, strict=True):
            np.testing.assert_allclose(np.broadcast_to(got, 2), [x, x], rtol=1e-14, atol=1e-14)
    graph = Graph()
    symbols = graph.inputs("x", (3,))
    traced = moved(symbols)
    flat = [y for row in rows(function(traced), traced[0].level, 3) for y in row]
    values = evaluate(flat, dict(zip(symbols, X, strict=True)))
    np.testing.assert_allclose(np.array(values, dtype=float).reshape(J.shape), J, rtol=1e-14, atol=1e-14)


@FUNCTIONS
def test_nested_dual_numbers_with_sparse_tangents_give_second_derivatives(function):
    """They are symmetric, and the differences of the first."""
    outer = moved(X)
    inner = moved(outer)
    first = rows(function(inner), inner[0].level, 3)
    H = np.array([rows(row, outer[0].level, 3) for row in first], dtype=float)
    np.testing.assert_allclose(H, H.swapaxes(1, 2), atol=1e-13)
    step = 1e-6
    for k in range(3):
        ahead, back = (moved([x + s * step * (j == k) for j, x in enumerate(X)]) for s in (1, -1))
        change = np.subtract(*(np.array(rows(function(x), x[0].level, 3), dtype=float) for x in (ahead, back)))
        np.testing.assert_allclose(H[:, :, k], change / (2.0 * step), rtol=1e-7, atol=1e-7)


def test_constants_and_comparisons_do_not_become_dual_numbers_with_sparse_tangents():
    graph = Graph()
    x, y = moved(graph.inputs("x", (2,)))
    assert isinstance(x - x, float)
    assert isinstance(x * 0.0, float)
    assert isinstance((x * y).value, Symbol)
    assert [*(x * 3.0).tangent] == [0]
    assert [*(x * y + y).tangent] == [0, 1]
    assert isinstance(f.sign(x), Symbol)  # whose derivative is zero everywhere
    assert isinstance(f.where(x < y, 1.0, 2.0), Symbol)


def test_sparse_tangents_are_added_and_scaled_as_vectors():
    d, e = SparseTangent({"a": 2.0, "b": 0.0}), SparseTangent({"b": 1.0})
    assert [*d] == ["a"]
    assert (d + e).row == {"a": 2.0, "b": 1.0}
    assert (d - e * 2.0).row == {"a": 2.0, "b": -2.0}
    assert (0.0 - d / 4.0 + 0.0).row == {"a": -0.5}
    assert not d - d
    assert (np.float64(2.0) * d).row == (d * np.float64(2.0)).row == {"a": 4.0}
    assert repr(d) == "SparseTangent({'a': 2.0})"
    np.testing.assert_array_equal((np.arange(3.0) * d).get("a"), [0.0, 2.0, 4.0])
    for wrong in (lambda: d * e, lambda: d / e, lambda: d + 1.0, lambda: 1.0 - d, lambda: f.sin(d)):
        with pytest.raises(TypeError, match=r"unsupported operand|sin: expected scalars"):
            wrong()
    with pytest.raises(TypeError, match="where: expected scalars"):
        f.where(True, d, 1.0)


def test_dual_numbers_compare_equal_for_equal_levels_values_and_sparse_tangents():
    graph = Graph()
    x, y = graph.inputs("x", (2,))
    first, second = Dual(x, SparseTangent({0: y}), 7), Dual(x * 1.0, SparseTangent({0: y}), 7)
    assert is_same(first, second)
    assert not is_same(first, Dual(x, SparseTangent({1: y}), 7))
    assert not is_same(first, Dual(x, SparseTangent({0: y}), 8))
    assert not is_same(first, x)
    assert is_same(1.0, 1.0)
    assert not is_same(1.0, 2.0)


def test_sparse_tangents_of_different_levels_can_be_multiplied_and_divided():
    """A term with derivatives in many directions is multiplied and divided by a value that varies at another level."""
    (inner,) = seeded([2.0], [3.0])
    (term,) = seeded([inner], [SparseTangent({"a": 5.0})])
    for by, expected in ((f.mul, [8.0, 12.0, 20.0]), (f.div, [0.5, 0.75, 1.25])):
        value, tangent = parts(scaled(term, 4.0, by), term.level)
        np.testing.assert_allclose([*parts(value, inner.level), tangent.get("a")], expected, rtol=1e-15)
