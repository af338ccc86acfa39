"""Roots and fixed points on all scalars: solutions, statuses, and derivatives without iterations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import TraceWarning
from linkwork.expr import (
    adjoint,
    array,
    call,
    cond,
    cos,
    exp,
    fixed_point,
    jacobian,
    root,
    scan,
    sin,
    sqrt,
    tangent,
    tanh,
)
from linkwork.expr.arrays.symbol_array import object_array
from linkwork.expr.autodiff.dual_numbers import Dual, parts, seeded
from linkwork.expr.equations.root_finding import monotone_root, nearby_fixed_point
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.multi_result import MultiResult
from linkwork.expr.scalar.symbol import Graph

A = np.array([[3.0, 0.5, 0.0], [-0.4, 2.5, 0.3], [0.2, 0.0, 4.0]])


def equations(p: Any) -> Any:
    """Three equations of x with parameters: A x + p0 sin(x) = (p1, p2, p0 p1)."""
    right = [p[1], p[2], p[0] * p[1]]

    def residual(x: Any) -> Any:
        x = x.tolist()
        rows = [sum(float(a) * b for a, b in zip(row, x, strict=True)) for row in A]
        return object_array((3,), [row + p[0] * sin(b) - r for row, b, r in zip(rows, x, right, strict=True)])

    return residual


def solution(p: Any, start: Any = (0.0, 0.0, 0.0)) -> Any:
    return root(equations(p), array(list(start))).value


def values(outputs: Sequence[Any], inputs: Sequence[Any], point: Any) -> np.ndarray:
    return np.array(evaluate(outputs, dict(zip(inputs, point, strict=True))), dtype=float)


def test_roots_satisfy_their_equation_on_floats_batches_symbols_and_in_kernels() -> None:
    rng = np.random.default_rng(0)
    p = rng.normal(size=(20, 3))
    kernel = lw.compile(lambda p: root(equations(p), array([0.0, 0.0, 0.0])), p=(3,))
    solution = kernel(p)
    interpreted = kernel.interpret(p)
    batch = root(equations(list(p.T)), array([0.0, 0.0, 0.0]))
    together = np.stack([np.asarray(x.item()) for x in batch.value], axis=-1)
    assert not solution.status.any() and not interpreted.status.any() and not batch.status.any()
    for k in range(20):
        alone = root(equations(p[k]), np.zeros(3))
        assert alone.value.dtype == float and type(alone.value) is np.ndarray
        np.testing.assert_allclose(equations(p[k])(np.array(alone.value, dtype=float)).astype(float), 0.0, atol=1e-14)
        for x in (solution.value[k], interpreted.value[k], together[k], kernel(p[k]).value):
            np.testing.assert_allclose(x, alone.value.astype(float), rtol=1e-14, atol=1e-14)
        assert alone.status == 0 and alone.iterations == solution.iterations[k] == batch.iterations[k] < 9
    single = kernel(p.astype(np.float32))
    assert not single.status.any() and single.iterations.max() < 12
    np.testing.assert_allclose(single.value, solution.value, atol=2e-6)


def test_root_accepts_nested_unknowns_and_broadcasts_batches() -> None:
    c = np.linspace(1.0, 3.0, 7)
    solution = root(lambda x: {"p": x["a"] * x["a"] - c, "q": x["b"] + x["a"] - 4.0}, {"a": 1.0, "b": 0.0})
    np.testing.assert_allclose(solution.value["a"], np.sqrt(c), rtol=1e-14)
    np.testing.assert_allclose(solution.value["b"], 4.0 - np.sqrt(c), rtol=1e-14)
    rows = fixed_point(lambda x: np.tile([0.5, 3.0], (7, 1)) + np.zeros((7, 1)), np.ones(2))
    np.testing.assert_allclose(np.stack(rows.value.tolist()), [[0.5] * 7, [3.0] * 7], rtol=1e-14)
    assert root(lambda x: x, ()) == ((), 0, 0)
    point = fixed_point(lambda x: (cos(x[0]), 0.5 * x[1] + c), (1.0, 0.0))
    np.testing.assert_allclose(point.value[0], 0.7390851332151607, rtol=1e-11)
    np.testing.assert_allclose(point.value[1], 2.0 * c, rtol=1e-11)


def test_root_returns_the_status_of_solved_and_unsolved_equations() -> None:
    cases: list[tuple[Any, float, float, Any]] = [
        (lambda x: x * x - 2.0, 1.0, 0, 2.0**0.5),
        (lambda x: x * x + 1.0, 2.0, 1, None),
        (lambda x: sqrt(x - 5.0), 2.0, 2, 2.0),
        (lambda x: x * 0.0 + 1.0, 2.0, 3, 2.0),
        (lambda x: x * x - 1.0, 0.0, 3, 0.0),
        (lambda x: exp(-x), 750.0, 3, 750.0),
        (lambda x: x - 1.0, np.nan, 2, np.nan),
        (lambda x: 3.0 * x - 1.5, 1e300, 0, 0.5),
    ]
    for residual, start, status, value in cases:
        kernel = lw.compile(lambda s, f=residual: root(f, s), s=())
        batch = kernel(np.array([start, start, start, start, 1.0, start, start, start, start]))
        for result in (root(residual, start), kernel(start), kernel.interpret(start)):
            assert result.status == status
            assert value is None or result.value == pytest.approx(value, rel=1e-12, nan_ok=True)
        assert (np.delete(batch.status, 4) == status).all() and batch.status[4] == kernel(1.0).status
        assert batch.value[4] == kernel(1.0).value or np.isnan(batch.value[4])
    assert root(lambda x: x - 3.0, 1.0, max_iterations=0) == (1.0, 0, 1)
    singular = root(lambda x: array([x[0] + x[1] - 1.0, 2.0 * x[0] + 2.0 * x[1]]), np.zeros(2))
    assert singular.status == 3 and np.array_equal(singular.value.astype(float), [0.0, 0.0])
    assert fixed_point(lambda x: 2.0 * x, 1.0, max_iterations=5) == (32.0, 5, 1)
    assert fixed_point(lambda x: sqrt(x - 3.0), 1.0) == (1.0, 1, 2)


def test_nearby_fixed_points_are_exact_after_fewer_iterations() -> None:
    """Newton's method with the Jacobian of x = 0 for x + x² = s, as floats and code: x = (√(1 + 4 s) − 1)/2."""
    sizes = np.array([1e-7, *np.geomspace(1e-4, 0.05, 12), 0.2])
    exact = 2.0 * sizes / (np.sqrt(1.0 + 4.0 * sizes) + 1.0)
    limits: Any = {"max_iterations": 90, "tolerance": 1e-14}
    results = []
    for solve in (fixed_point, nearby_fixed_point):
        kernel = lw.compile(lambda s, solve=solve: solve(lambda x: s - x * x, 0.0, **limits), s=())
        result = kernel(sizes)
        np.testing.assert_allclose(result.value, exact, rtol=0.0, atol=2e-14)
        for k, s in enumerate(sizes):
            alone = solve(lambda x, s=s: s - x * x, 0.0, **limits)
            assert alone.iterations == result.iterations[k] and alone.value == result.value[k]
        assert not result.status.any()
        results.append(result.iterations)
    assert (results[1] <= results[0]).all() and (results[1] < results[0]).sum() >= 5
    # a mode that converges slowly beside one that has converged at once: the rate of the last steps alone misses it
    start = array([0.0, 0.0])
    slow = nearby_fixed_point(lambda x: array([0.3 + 1e-6 * x[0], 1e-10 + 0.3 * x[1]]), start, **limits)
    assert abs(slow.value[1] - 1e-10 / 0.7) <= 2e-14


def test_derivatives_of_roots_equal_those_of_exact_solutions() -> None:
    """First and second order, forward and reverse; they do not depend on the start of the search."""
    graph = Graph()
    p, start = graph.inputs("p", (3,)), graph.inputs("start", (3,))
    rng = np.random.default_rng(1)
    at = np.concatenate([rng.normal(size=3), np.zeros(3)])
    inputs = [*p, *start]
    x = list(solution(p, start))
    root_value = values(x, inputs, at)
    J = A + at[0] * np.diag(np.cos(root_value))
    by_p = np.array([np.sin(root_value), [0.0] * 3, [0.0] * 3]).T - np.array([[0, 1, 0], [0, 0, 1], [at[1], at[0], 0]])
    exact = -np.linalg.solve(J, by_p)
    rows = jacobian(x, inputs)
    assert all(entry == 0.0 for row in rows for entry in row[3:] if isinstance(entry, float))
    np.testing.assert_allclose([values(row, inputs, at) for row in rows], np.hstack([exact, 0.0 * exact]), atol=1e-14)
    weights = rng.normal(size=3)
    gradient = adjoint(x, inputs, list(weights))
    np.testing.assert_allclose(values(gradient, inputs, at), [*(weights @ exact), 0.0, 0.0, 0.0], atol=1e-14)
    elsewhere = np.concatenate([at[:3], root_value + 1.0])
    np.testing.assert_allclose(values(gradient, inputs, elsewhere), values(gradient, inputs, at), atol=1e-13)
    direction = [*rng.normal(size=3), 0.0, 0.0, 0.0]
    h = 1e-6 * np.array(direction)
    expected = (values(gradient, inputs, at + h) - values(gradient, inputs, at - h)) / 2e-6
    for second in (
        tangent(gradient, inputs, direction),
        adjoint(gradient, inputs, direction),
        adjoint(tangent(x, inputs, direction), inputs, list(weights)),
    ):
        np.testing.assert_allclose(values(second, inputs, at), expected, atol=1e-8)


def test_derivatives_of_roots_on_nested_dual_numbers_and_symbols_are_exact() -> None:
    rng = np.random.default_rng(2)
    at, direction = rng.normal(size=(2, 3)).tolist()
    graph = Graph()
    p = graph.inputs("p", (3,))
    x = list(solution(p))
    first = tangent(x, p, direction)
    expected = [values(z, p, at) for z in (x, first, tangent(first, p, direction))]
    inner = seeded(at, direction)
    for twice in (seeded(inner, direction), seeded(np.array(inner, dtype=object), direction)):
        derivatives = [parts(z) for z in solution(twice)]
        for part, right in ((0, expected[:2]), (1, expected[1:])):
            for order in (0, 1):
                got = [parts(z[part])[order] for z in derivatives]
                np.testing.assert_allclose(got, right[order], rtol=1e-11, atol=1e-12)
    on_symbols = [parts(z)[1] for z in solution(seeded(p, direction))]
    np.testing.assert_allclose(values(on_symbols, p, at), expected[1], rtol=1e-12, atol=1e-14)
    columns = seeded([np.full(4, a) for a in at], direction)
    np.testing.assert_allclose(
        [parts(z)[1][3] for z in solution(columns).tolist()], expected[1], rtol=1e-12, atol=1e-14
    )
    point = fixed_point(lambda x: cos(x) * Dual(1.0, 1.0), Dual(1.0, 5.0)).value
    x0 = parts(point)[0]
    assert parts(point)[1] == pytest.approx(np.cos(x0) / (1.0 + np.sin(x0)), rel=1e-11)


def implicit_euler(x: Any, u: Any) -> Any:
    """A scan of implicit steps, each a root, in a branch and a call: the last state, and one stored state."""

    def step(s: Any, c: Any) -> Any:
        new = root(lambda y: y - s - 0.1 * (c - sin(y) * y), s).value
        called = call(lambda a, b: root(lambda y: y + 0.2 * y * y * y - a * b, 0.0).value, new, c)
        chosen = cond(new < 0.3, lambda: fixed_point(lambda y: 0.3 * cos(y) + new, new).value, lambda: called)
        return 0.5 * new + 0.3 * chosen, new * s

    last, states = scan(step, x, u)
    return last + states[1]


def test_roots_inside_loops_branches_and_calls_can_be_differentiated() -> None:
    graph = Graph()
    x, u = graph.input("x"), graph.inputs("u", (4,))
    inputs = [x, *u]
    total = [implicit_euler(x, array(u))]
    at = np.random.default_rng(3).normal(size=5)
    assert values(total, inputs, at)[0] == pytest.approx(implicit_euler(float(at[0]), at[1:]), rel=1e-13)
    gradient = adjoint(total, inputs, [1.0])
    derivatives = values(gradient, inputs, at)
    np.testing.assert_allclose(derivatives, values(jacobian(total, inputs)[0], inputs, at), rtol=1e-11)
    for k, e in enumerate(np.eye(5) * 1e-6):
        ahead, behind = (values(total, inputs, at + s * e)[0] for s in (1.0, -1.0))
        assert derivatives[k] == pytest.approx((ahead - behind) / 2e-6, rel=1e-6, abs=1e-8)
    kernel = lw.compile(lambda x, u: array(adjoint([implicit_euler(x, u)], [x, *u], [1.0])), x=(), u=(4,))
    batch = np.random.default_rng(4).normal(size=(19, 5))
    batch[7] = at
    together = kernel(batch[:, 0], batch[:, 1:])
    np.testing.assert_allclose(together[7], derivatives, rtol=1e-11)
    np.testing.assert_array_equal(kernel(at[0], at[1:]), together[7])


def test_root_of_a_function_that_contains_a_root_can_be_differentiated() -> None:
    def outer(c: Any) -> Any:
        inner: Any = lambda x: root(lambda y: y * y * y + y - x * c, 0.0).value  # noqa: E731
        return root(lambda x: inner(x) + x - 2.0, 1.0).value

    graph = Graph()
    c = graph.input("c")
    x = outer(1.5)
    y = 2.0 - x  # y³ + y = x c
    assert y**3 + y == pytest.approx(1.5 * x, rel=1e-12)
    slope = -x / (3.0 * y * y + 1.0 + 1.5)
    assert values(adjoint([outer(c)], [c], [1.0]), [c], [1.5])[0] == pytest.approx(slope, rel=1e-11)
    assert parts(outer(Dual(1.5, 1.0)))[1] == pytest.approx(slope, rel=1e-11)


def test_root_converges_from_far_away_for_strongly_curved_equations() -> None:
    """Newton's full steps would alternate: shortened steps converge, also with a similar Jacobian."""

    def left(w: Any, v: Any) -> Any:
        return array([0.5 * (w[0] - v[0]) + tanh(w[0] / 1e-3) + 0.1 * w[1], 2.0 * (w[1] - v[1]) + tanh(w[1] / 1e-4)])

    def monotone_solution(v: Any, like: Any = None) -> Any:
        return monotone_root(
            lambda w: left(w, v), v, max_iterations=60, tolerance=1e-12, like=like and (lambda w: like(w, v))
        )

    far = np.array([3.0, -0.4])
    assert root(lambda w: left(w, far), far).status != 0
    for like in (None, lambda w, v: left(w, 0.0 * v) + 0.01 * w):
        alone = monotone_solution(far, like)
        kernel = lw.compile(lambda v, like=like: monotone_solution(v, like).value, v=2)
        for w in (np.array(alone.value), kernel(far)):
            assert np.abs(np.array(left(w, far), float)).max() < 1e-9 and alone.status == 0
        near = far + 1e-5 * np.array([[1.0, 0.0], [-1.0, 0.0]])
        slope = np.diff(kernel(near)[::-1], axis=0)[0] / 2e-5
        assert np.allclose(kernel.jacobian()(far)[:, 0], slope, rtol=1e-4)

    v = array(Graph().inputs("v", (2,)))
    w = monotone_solution(v, lambda w, v: left(w, 0.0 * v) + 0.01 * w).value
    pulled = values(adjoint([w[0]], list(v), [1.0]), list(v), far)
    assert np.allclose(pulled, kernel.jacobian()(far)[0], rtol=1e-9)


def test_gradients_of_roots_are_computed_without_iterations() -> None:
    program = lw.compile(lambda p: array(adjoint(list(solution(p)), list(p), [1.0, 2.0, 3.0])), p=(3,)).program
    assert [i.operation.name for i in program.instructions if isinstance(i.value, MultiResult)] == ["loop"]


def test_root_refuses_invalid_functions_initial_values_and_tolerances() -> None:
    cases: list[tuple[Any, Any, type[Exception], str]] = [
        (
            lambda x: (x, x),
            1.0,
            TypeError,
            r"root: .*test_root_finding.py:\d+\) to return as many numbers as the start has, 1",
        ),
        (lambda x: x > 0.0, 1.0, TypeError, "to return as many numbers"),
        (lambda x: None, 1.0, TypeError, "root: result of .*: expected arrays and numbers, got None"),
        (lambda x: x, "a", TypeError, "root: start: expected arrays and numbers"),
        (lambda x: x, True, TypeError, "root: start: expected numbers, got a truth value"),
    ]
    for residual, start, kind, match in cases:
        with pytest.raises(kind, match=match):
            root(residual, start)
        with pytest.raises(kind, match=match):
            lw.compile(
                lambda c, f=residual, s=start: root(lambda x: f(x), s + c if s == 1.0 and s is not True else s), c=()
            )
    with pytest.raises(ValueError, match="root: max_iterations: expected an integer >= 0"):
        root(lambda x: x, 1.0, max_iterations=-1)
    for tolerance in (-1.0, np.nan, "a"):
        with pytest.raises(ValueError, match="tolerance: expected a number >= 0 that is known at trace time"):
            fixed_point(lambda x: x, 1.0, tolerance=tolerance)


def test_residual_function_of_root_is_traced_once():
    traced = count()

    def solution(start: Any, p: Any) -> Any:
        def step(x: Any) -> Any:
            next(traced)
            return array([cos(a) * p for a in x])

        return fixed_point(step, start).value

    with pytest.warns(TraceWarning, match="traced has advanced"):
        kernel = lw.compile(solution, start=(2,), p=())
    assert next(traced) == 1
    x = kernel(np.array([0.1, 0.9]), 0.8)
    np.testing.assert_allclose(x, 0.8 * np.cos(x), rtol=1e-11)
