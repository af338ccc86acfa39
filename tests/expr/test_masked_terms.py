"""Branches that are not selected add zero to derivatives through rules, loops, calls and other branches."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.expr import array, call, cond, fori_loop, put, root, scan, take
from linkwork.expr.autodiff.custom_derivative import CustomDerivative, apply_rule
from linkwork.expr.autodiff.dual_numbers import SparseTangent, parts, seeded
from linkwork.expr.autodiff.graph_derivative import adjoint, jacobian, tangent
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph

where, sqrt = f.where, f.sqrt
UNITS = ([1.0, 0.0], [0.0, 1.0])
SMALL = lw.compile(lambda a: {"root": sqrt(a), "three": 3.0 * a}, a=(), name="small")


def positive(x: Any) -> Any:
    """Return x above 1 and 0 elsewhere: at x = 0 a constant."""
    return where(x > 1.0, x, 0.0)


def roots(x: Any) -> Any:
    return fori_loop(0, 3, lambda k, s: sqrt(s), x)


def matrix(x: Any) -> Any:
    return array([[x, 0.0], [x, x]])


def two_states(x: Any, y: Any) -> Any:
    first, second = fori_loop(0, 3, lambda k, s: (s[0] + y, sqrt(s[1])), (x, x))
    return first + where(x > 1.0, second, 0.0)


def two_outputs(x: Any, y: Any) -> Any:
    _, rows = scan(lambda c, k: (sqrt(c), c + k), x, array([y, y]))
    return rows[0] + where(x > 1.0, rows[1], 0.0)


def reset(x: Any, y: Any) -> Any:
    return fori_loop(0, 3, lambda k, s: sqrt(where(s > 1.0, s, 0.0)), x) + y


# Functions of x and y with the gradient at (0, 2), where the derivative of another branch is not finite.
CASES: dict[str, tuple[Callable[[Any, Any], Any], tuple[float, float]]] = {
    "solve": (lambda x, y: where(x > 1.0, lw.solve(matrix(x), array([y, 1.0]))[0], 3.0 * y), (0.0, 3.0)),
    "inv": (lambda x, y: where(x > 1.0, np.linalg.inv(matrix(x))[1, 0], 3.0 * y), (0.0, 3.0)),
    "root": (lambda x, y: where(x > 1.0, root(lambda z: z * z - x, y).value, 3.0 * y), (0.0, 3.0)),
    "loop": (lambda x, y: where(x > 1.0, roots(x) * y, 3.0 * y), (0.0, 3.0)),
    "two choices of a loop": (
        lambda x, y: where(x > 1.0, roots(x) * y, 3.0 * y) + where(y < 1.0, roots(x), x),
        (1.0, 3.0),
    ),
    "one of two states": (two_states, (1.0, 3.0)),
    "one of two outputs": (two_outputs, (1.0, 1.0)),
    "call": (lambda x, y: where(x > 1.0, call(sqrt, x) * y, 3.0 * y), (0.0, 3.0)),
    "kernel": (lambda x, y: where(x > 1.0, SMALL(x).root, SMALL(y).three), (0.0, 3.0)),
    "one of two results": (lambda x, y: (lambda s: s.three + where(x > 1.0, s.root, y))(call(SMALL, x)), (3.0, 1.0)),
    "branch that takes a root": (
        lambda x, y: cond(x > 1.0, lambda r: r * y, lambda r: 3.0 * y, sqrt(x)),
        (0.0, 3.0),
    ),
    "branch with a root": (lambda x, y: cond(x > 1.0, lambda: sqrt(x) * y, lambda: 3.0 * y), (0.0, 3.0)),
    "branch in a loop": (
        lambda x, y: fori_loop(0, 1, lambda k, s: cond(s > 1.0, lambda: sqrt(s), lambda: s + y), x),
        (1.0, 1.0),
    ),
    "branches of a branch": (
        lambda x, y: where(
            x > 1.0, cond(y > 1.0, lambda: sqrt(x), lambda: y), cond(y > 1.0, lambda: y, lambda: sqrt(x))
        ),
        (0.0, 1.0),
    ),
    "root of where": (lambda x, y: sqrt(positive(x)) + y, (0.0, 1.0)),
    "root of fmax": (lambda x, y: sqrt(f.fmax(x - 1.0, 0.0)) + y, (0.0, 1.0)),
    "root of fmin": (lambda x, y: sqrt(-f.fmin(1.0 - x, 0.0)) + y, (0.0, 1.0)),
    "fmax of root": (lambda x, y: f.fmax(sqrt(x), y), (0.0, 1.0)),
    "root of nested choices": (
        lambda x, y: sqrt(where(y > 1.0, positive(x), where(x > 2.0, y, x))) + where(x < 1.0, y, sqrt(x)),
        (0.0, 1.0),
    ),
    "quotient of choices": (lambda x, y: y / (1.0 + sqrt(positive(x))), (0.0, 1.0)),
    "length": (lambda x, y: f.hypot(positive(x), where(x > 1.0, y, 0.0)) + y, (0.0, 1.0)),
    "norm": (lambda x, y: np.linalg.norm(array([positive(x), where(x > 1.0, y, 0.0)])) + y, (0.0, 1.0)),
    "root of a branch": (lambda x, y: sqrt(cond(x > 1.0, lambda: x, lambda: 0.0)) + y, (0.0, 1.0)),
    "root of a call": (lambda x, y: sqrt(call(positive, x)) + y, (0.0, 1.0)),
    "root of a loop": (lambda x, y: sqrt(fori_loop(0, 2, lambda k, s: positive(s), x)) + y, (0.0, 1.0)),
    "where into a call": (lambda x, y: call(lambda a, b: sqrt(a) + b, positive(x), x + y), (1.0, 1.0)),
    "where into a loop": (lambda x, y: roots(positive(x)) + y, (0.0, 1.0)),
    "where into inputs of a loop": (
        lambda x, y: scan(lambda c, k: (c + sqrt(k), None), y, array([positive(x), x + 4.0]))[0],
        (0.25, 1.0),
    ),
    "choice in each step": (reset, (0.0, 1.0)),
    "loop from a number": (lambda x, y: fori_loop(0, 2, lambda k, s: sqrt(s) + y * y, 0.0) + x, (1.0, 5.0)),
    "entry that is not read": (lambda x, y: take(array([sqrt(x), y]), x + 1.0), (0.0, 1.0)),
    "root of an entry": (lambda x, y: sqrt(take(array([x, 0.0]), x + 1.0)) + y, (0.0, 1.0)),
    "entry that is replaced": (lambda x, y: put(array([sqrt(x), x]), x, y)[0] + y, (0.0, 2.0)),
    "new entry that is not stored": (lambda x, y: put(array([x, y]), x - 1.0, sqrt(x))[1] + y, (0.0, 2.0)),
    "root of entries after a replacement": (lambda x, y: sqrt(put(array([x, x]), x, 0.0)[0]) + y, (0.0, 1.0)),
    "quotient by zero": (lambda x, y: where(x > 1.0, x / 0.0, 2.0 * y), (0.0, 2.0)),
    "a selected branch without a derivative": (lambda x, y: where(x < 1.0, sqrt(x - 1.0), y), (np.nan, 0.0)),
}
# Python's floats raise an error themselves for these values
NOT_ON_FLOATS = ("solve", "inv", "quotient by zero")


def first_derivatives(function: Callable[[Any, Any], Any]) -> Iterator[list[Any]]:
    """Gradients at (0, 2): in traces by all modes, and of dual numbers whose components are symbols or batches."""
    for mode in range(5):
        graph = Graph()
        x, y = graph.inputs("x", (2,))
        output = function(x, y)
        if mode == 0:
            result = jacobian([output], [x, y])[0]
        elif mode == 1:
            result = [tangent([output], [x, y], unit)[0] for unit in UNITS]
        elif mode == 2:
            result = adjoint([output], [x, y], [1.0])
        elif mode == 3:
            result = [parts(function(*seeded([x, y], unit)))[1] for unit in UNITS]
        else:
            row = parts(function(*seeded([x, y], [SparseTangent({0: 1.0}), SparseTangent({1: 1.0})])))[1]
            result = [row.get(0), row.get(1)]
        yield evaluate(result, {x: np.array([0.0, 0.0, 4.0]), y: np.array([2.0, 2.0, 5.0])})


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_masked_terms_are_those_of_the_selected_branch_in_every_mode(name: str) -> None:
    function, gradient = CASES[name]
    for result in first_derivatives(function):
        for part, expected in zip(result, gradient, strict=True):
            np.testing.assert_array_equal(np.broadcast_to(part, 3)[:2], expected)
            assert np.isfinite(np.broadcast_to(part, 3)[2]) or np.isnan(expected) or name == "quotient by zero"
    scalar_types: list[Callable[[float], Any]] = [] if name in NOT_ON_FLOATS else [float]
    scalar_types += [] if name == "inv" else [lambda number: np.array([number])]
    for number in scalar_types:
        with np.errstate(all="ignore"):
            result = [parts(function(*seeded([number(0.0), number(2.0)], unit)))[1] for unit in UNITS]
        np.testing.assert_array_equal(np.array([float(np.squeeze(part)) for part in result]), gradient)


@pytest.mark.parametrize("name", CASES)
def test_second_derivatives_of_masked_terms_agree_and_are_finite(name: str) -> None:
    function, gradient = CASES[name]
    graph = Graph()
    x, y = graph.inputs("x", (2,))
    rows = jacobian([function(x, y)], [x, y])[0]
    weights = adjoint([function(x, y)], [x, y], [1.0])
    results = [
        [*itertools.chain(*jacobian(rows, [x, y]))],
        [*itertools.chain(*jacobian(weights, [x, y]))],
        [*itertools.chain(*(adjoint(weights, [x, y], unit) for unit in UNITS))],
    ]
    for result in results:
        values = np.array(evaluate(result, {x: 0.0, y: 2.0}))
        assert np.isnan(gradient[0]) or np.isfinite(values).all()
        np.testing.assert_allclose(values, evaluate(results[0], {x: 0.0, y: 2.0}), rtol=1e-14)


def test_cond_on_batches_can_be_differentiated() -> None:
    (x,) = seeded([np.array([0.25, 4.0])], [1.0])
    np.testing.assert_array_equal(parts(cond(x > 1.0, lambda: 3.0 * x, lambda: sqrt(x)))[1], [1.0, 3.0])


@dataclass(frozen=True)
class SquareAndRoot(CustomDerivative):
    """x² and √x, as a rule whose derivative multiplies its weights itself."""

    def compute(self, inputs: Any) -> Any:
        return [inputs[0] * inputs[0], sqrt(inputs[0])], []

    def tangent(self, inputs: Any, results: Any, extra: Any, direction: Any) -> Any:
        return [2.0 * inputs[0] * direction[0], 0.5 * direction[0] / results[1]]

    def cotangent(self, inputs: Any, results: Any, extra: Any, weights: Any) -> Any:
        return [2.0 * inputs[0] * weights[0] + 0.5 * weights[1] / results[1]]


def test_results_of_a_derivative_rule_are_masked_by_their_own_conditions() -> None:
    (x,) = Graph().inputs("x", (1,))
    square, root_of = apply_rule(SquareAndRoot(), [x])
    cases = ((square + where(x > 1.0, root_of, 2.0), [0.0, 8.25]), (where(x > 1.0, root_of, square), [0.0, 0.25]))
    for output, expected in cases:
        for result in (jacobian([output], [x])[0], adjoint([output], [x], [1.0])):
            np.testing.assert_array_equal(evaluate(result, {x: np.array([0.0, 4.0])})[0], expected)


@dataclass(frozen=True)
class Roots(CustomDerivative):
    """Square roots of all inputs."""

    def compute(self, inputs: Any) -> Any:
        return [sqrt(x) for x in inputs], []

    def tangent(self, inputs: Any, results: Any, extra: Any, direction: Any) -> Any:
        return [0.5 * d / r for d, r in zip(direction, results, strict=True)]

    def cotangent(self, inputs: Any, results: Any, extra: Any, weights: Any) -> Any:
        return [0.5 * w / r for w, r in zip(weights, results, strict=True)]


def test_results_of_a_derivative_rule_may_have_many_conditions() -> None:
    x = Graph().inputs("x", (6,))
    output = sum(where(y > 1.0, root_of, y) for y, root_of in zip(x, apply_rule(Roots(), x), strict=True))
    for result in (jacobian([output], x)[0], adjoint([output], x, [1.0])):
        np.testing.assert_array_equal(
            evaluate(result, dict(zip(x, [4.0, *[0.0] * 5], strict=True))), [0.25, *[1.0] * 5]
        )


def test_complementary_and_implied_mask_conditions_are_simplified() -> None:
    """A mask costs one selection where the conditions of two terms are complements, or one implies the other."""
    graph = Graph()
    x, y = graph.inputs("x", (2,))
    root_of = where(x > 1.0, sqrt(where(x > 1.0, x, 2.0 - y)), y)
    (result,) = adjoint([root_of], [x], [1.0])
    assert result.op.name == "where" and result.args[1].op.name == "div" and result.args[0] is (x > 1.0)
    both = sqrt(where(y > 1.0, where(x > 1.0, x, 0.0), where(x > 1.0, x * y, 0.0)))
    (result,) = jacobian([both], [x])[0]
    assert result.op.name == "where" and result.args[0] is (x > 1.0)


@pytest.mark.parametrize("method", ["jvp", "vjp", "jacobian"])
def test_derivative_kernels_of_a_linear_solve_in_the_branch_not_taken_are_finite(method: str) -> None:
    kernel = lw.compile(lambda x, b: where(x[0] > 1.0, lw.solve(matrix(x[0]), b)[1], x[1] * b[0]), x=2, b=2)
    x, b = np.array([[0.0, 2.0], [2.0, 0.5]]), np.array([3.0, 4.0])
    more = {"jvp": (np.array([0.0, 1.0]),), "vjp": (1.0,), "jacobian": ()}[method]
    result = getattr(kernel, method)("x")(x, b, *more)
    # x₁ of [[a, 0], [a, a]] x = b is (b₁ − b₀)/a
    expected = np.array([[0.0, 3.0], [-1.0 / 4.0, 0.0]])
    np.testing.assert_allclose(result, expected[:, 1] if method == "jvp" else expected, rtol=1e-15)
