"""Matrices to try linear algebra on, and the ways to run a function of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.autodiff.graph_derivative import adjoint, jacobian, tangent
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph

EPS = float(np.finfo(float).eps)
Array = np.ndarray[Any, Any]


def random(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape)


def positive(seed: int, *batch: int, n: int) -> Array:
    """Symmetric positive definite matrices that are well conditioned."""
    a = random(seed, *batch, n, n)
    return a @ a.swapaxes(-1, -2) / max(n, 1) + 0.5 * np.eye(n)


def hilbert(n: int) -> Array:
    """Ill conditioned, and positive definite."""
    return 1.0 / (1.0 + np.arange(n)[:, None] + np.arange(n))


def objects(symbols: Sequence[Any], shape: tuple[int, ...]) -> Array:
    array = np.empty(len(symbols), dtype=object)
    array[:] = symbols
    return array.reshape(shape)


def flat(outputs: Any) -> list[Any]:
    """The elements of an array, or of several."""
    return [x for output in (outputs if isinstance(outputs, tuple) else (outputs,)) for x in np.ravel(output)]


def traced(function: Callable[..., Any], *arrays: Array) -> tuple[list[Any], list[Any]]:
    """The inputs' symbols and the outputs' expressions of a function of arrays of these shapes."""
    graph = Graph()
    inputs = [graph.inputs(f"x{k}", a.shape) for k, a in enumerate(arrays)]
    outputs = function(*(objects(x, a.shape) for x, a in zip(inputs, arrays, strict=True)))
    return [s for x in inputs for s in x], flat(outputs)


def on_symbols(function: Callable[..., Any], *arrays: Array) -> Array:
    inputs, outputs = traced(function, *arrays)
    return np.array(evaluate(outputs, dict(zip(inputs, flat(arrays), strict=True))), dtype=float)


def differences(function: Callable[..., Any], *arrays: Array, step: float = 1e-6) -> Array:
    """The Jacobian of the outputs by all inputs, by central differences: good to some 1e-9."""
    columns = []
    for k, array in enumerate(arrays):
        for index in np.ndindex(array.shape):
            ends = []
            for sign in (1.0, -1.0):
                moved = [a.copy() for a in arrays]
                moved[k][index] += sign * step
                ends.append(np.array(flat(function(*moved)), dtype=float))
            columns.append((ends[0] - ends[1]) / (2.0 * step))
    return np.array(columns).T


def check_derivatives(function: Callable[..., Any], *arrays: Array, rtol: float = 2e-8) -> None:
    """`jacobian`, `tangent`, `adjoint` and dual numbers against differences of floats, and second derivatives."""
    expected = differences(function, *arrays)
    size = max(1.0, float(np.abs(expected).max(initial=0.0)))
    inputs, outputs = traced(function, *arrays)
    values = dict(zip(inputs, map(float, flat(arrays)), strict=True))
    rows = np.array(evaluate(flat(jacobian(outputs, inputs)), values)).reshape(expected.shape)
    np.testing.assert_allclose(rows, expected, rtol=rtol, atol=rtol * size)
    direction, weights = random(1, len(inputs)), random(2, len(outputs))
    exact = 1e-11 * size * max(1, len(inputs), len(outputs))
    pushed = evaluate(tangent(outputs, inputs, list(direction)), values)
    np.testing.assert_allclose(pushed, rows @ direction, rtol=1e-11, atol=exact)
    gradient = adjoint(outputs, inputs, list(weights))
    np.testing.assert_allclose(evaluate(gradient, values), rows.T @ weights, rtol=1e-11, atol=exact)
    duals, start = seeded(list(map(float, flat(arrays))), list(map(float, direction))), 0
    gradients = []
    for array in arrays:
        gradients.append(objects(duals[start : start + array.size], array.shape))
        start += array.size
    level = duals[0].level
    results = [parts(x, level)[1] for x in flat(function(*gradients))]
    np.testing.assert_allclose(results, rows @ direction, rtol=1e-11, atol=exact)
    # reverse over forward and forward over reverse are the same Hessian, in one direction
    reverse_forward = evaluate(adjoint(tangent(outputs, inputs, list(direction)), inputs, list(weights)), values)
    forward_reverse = evaluate(tangent(gradient, inputs, list(direction)), values)
    bound = 1e-9 * max(1.0, float(np.abs(reverse_forward).max(initial=0.0)))
    np.testing.assert_allclose(reverse_forward, forward_reverse, rtol=1e-9, atol=bound)
