"""Running one function of a list of scalars on every kind of scalar there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from helpers.precise import precisely
from linkwork.expr.autodiff.dual_numbers import Dual, parts, seeded
from linkwork.expr.autodiff.graph_derivative import jacobian
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph

EPS = float(np.finfo(float).eps)

Function = Callable[[list[Any]], Sequence[Any]]


def on_floats(function: Function, samples: np.ndarray) -> np.ndarray:
    return np.array([[float(y) for y in function([float(x) for x in row])] for row in samples])


def on_float64s(function: Function, samples: np.ndarray) -> np.ndarray:
    return np.array([[float(y) for y in function(list(row))] for row in samples])


def on_batches(function: Function, samples: np.ndarray) -> np.ndarray:
    outputs = function([samples[:, k] for k in range(samples.shape[1])])
    return _columns(outputs, len(samples))


def _columns(outputs: Sequence[Any], n: int) -> np.ndarray:
    """The outputs, each a number or one for every sample, as the columns of an array."""
    return np.array([np.broadcast_to(np.asarray(y, dtype=float), n) for y in outputs]).reshape(len(outputs), n).T


def on_symbols(function: Function, samples: np.ndarray) -> np.ndarray:
    inputs = Graph().inputs("x", (samples.shape[1],))
    outputs = evaluate(function(inputs), {s: samples[:, k] for k, s in enumerate(inputs)})
    return _columns(outputs, len(samples))


def on_casadi(function: Function, samples: np.ndarray) -> np.ndarray:
    casadi = pytest.importorskip("casadi")
    inputs = casadi.SX.sym("x", samples.shape[1])
    outputs = function([inputs[k] for k in range(samples.shape[1])])
    compiled = casadi.Function("f", [inputs], [casadi.vertcat(*(casadi.SX(y) for y in outputs))])
    return np.array([np.array(compiled(row)).ravel() for row in samples])


def on_duals(function: Function, samples: np.ndarray) -> np.ndarray:
    return np.array([[float(parts(y)[0]) for y in function([Dual(float(x), 1.0) for x in row])] for row in samples])


def on_precise(function: Function, samples: np.ndarray) -> np.ndarray:
    return np.array([[float(y) for y in precisely(function, [float(x) for x in row])] for row in samples])


RUNNERS: dict[str, Callable[[Function, np.ndarray], np.ndarray]] = {
    "float": on_floats,
    "float64": on_float64s,
    "batch": on_batches,
    "symbol": on_symbols,
    "casadi": on_casadi,
    "dual": on_duals,
    "precise": on_precise,
}

every_scalar = pytest.mark.parametrize("run", RUNNERS.values(), ids=RUNNERS.keys())


def symbolic_jacobian(function: Function, inputs: Sequence[float]) -> np.ndarray:
    """The Jacobian of a function of a list of scalars, by differentiating its expressions."""
    symbols = Graph().inputs("x", (len(inputs),))
    rows = jacobian(list(function(symbols)), symbols)
    flat = evaluate([x for row in rows for x in row], dict(zip(symbols, inputs, strict=True)))
    return np.array([float(x) for x in flat]).reshape(len(rows), len(inputs))


def dual_jacobian(function: Function, inputs: Sequence[float]) -> np.ndarray:
    """The Jacobian of a function of a list of scalars, by dual numbers of floats."""
    columns = []
    for unit in np.eye(len(inputs)):
        outputs = function(seeded([float(x) for x in inputs], [float(d) for d in unit]))
        columns.append([float(parts(y)[1]) for y in outputs])
    return np.array(columns).T


JACOBIANS = {"symbol": symbolic_jacobian, "dual": dual_jacobian}

every_jacobian = pytest.mark.parametrize("differentiate", JACOBIANS.values(), ids=JACOBIANS.keys())


def assert_near(actual: Any, expected: Any, times: float = 8.0, scale: float | None = None) -> None:
    """Equal within ``times`` roundings of the larger of 1 and the expected value's norm (or a scale that is given)."""
    actual, expected = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
    assert actual.shape == expected.shape
    assert np.isfinite(expected).all()
    size = max(1.0, float(np.linalg.norm(expected)) if scale is None else scale)
    error = float(np.max(np.abs(actual - expected), initial=0.0))
    assert error <= times * EPS * size, f"off by {error / (EPS * size):.3g} eps of {size:.3g}, more than {times:g}"
