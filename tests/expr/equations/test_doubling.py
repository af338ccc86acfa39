"""Lyapunov equations on symbols, without compilation: solutions, and derivatives by both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from helpers.scalars import on_symbols
from linkwork.expr.autodiff.graph_derivative import adjoint, tangent
from linkwork.expr.equations.doubling import solve_lyapunov
from linkwork.expr.linalg.sparse_dot import flat, rows_of
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph

N = 3


def data(continuous: bool) -> list[float]:
    """A stable A and a symmetric C, in general position."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(N, N))
    radius = np.abs(np.linalg.eigvals(A)).max()
    A = A - (radius + 0.3) * np.eye(N) if continuous else A * (0.7 / radius)
    C = rng.normal(size=(N, N))
    return [*A.ravel(), *(C + C.T).ravel()]


@pytest.mark.light
@pytest.mark.parametrize("continuous", [True, False])
def test_solutions_of_lyapunov_equations_and_their_derivatives_satisfy_the_equation(continuous: bool) -> None:
    """The derivative of X is the finite difference of solutions by Kronecker products."""

    def function(x: list[Any]) -> list[Any]:
        return flat(solve_lyapunov(rows_of(x[: N * N], N), rows_of(x[N * N :], N), continuous))

    def exact(x: Any) -> np.ndarray:
        A, C = (np.reshape(part, (N, N)) for part in (x[: N * N], x[N * N :]))
        eye = np.eye(N)
        system = np.kron(A.T, eye) + np.kron(eye, A.T) if continuous else np.kron(A.T, A.T) - np.eye(N * N)
        return np.linalg.solve(system, -0.5 * (C + C.T).ravel())

    x = np.array(data(continuous))
    assert on_symbols(function, x[None])[0] == pytest.approx(exact(x), abs=1e-12)
    differences = np.array([(exact(x + e) - exact(x - e)) / 2e-6 for e in 1e-6 * np.eye(len(x))]).T
    symbols = Graph().inputs("x", (len(x),))
    known = dict(zip(symbols, x.tolist(), strict=True))
    outputs = function(symbols)
    rng = np.random.default_rng(1)
    weights, direction = rng.normal(size=N * N), rng.normal(size=len(x))
    direction[N * N :] = (direction[N * N :].reshape(N, N) + direction[N * N :].reshape(N, N).T).ravel()
    rates = [float(y) for y in evaluate(tangent(outputs, symbols, direction.tolist()), known)]
    assert rates == pytest.approx(differences @ direction, abs=1e-7)
    gradient = np.array([float(y) for y in evaluate(adjoint(outputs, symbols, weights.tolist()), known)])
    assert gradient == pytest.approx(weights @ differences, abs=1e-7)
