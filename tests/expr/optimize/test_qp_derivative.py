"""First and second derivatives of a quadratic program on symbols, without compilation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.expr import array
from linkwork.expr.autodiff.graph_derivative import adjoint, jacobian
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph

RNG = np.random.default_rng(3)
M = RNG.normal(size=(2, 3, 3))
H0, H1 = M[0] @ M[0].T + np.eye(3), 0.3 * (M[1] + M[1].T)
G, A, B = RNG.normal(size=(2, 3)), RNG.normal(size=(2, 2, 3)), RNG.normal(size=(2, 2))


def terms(t: Any) -> tuple[Any, Any, Any, Any]:
    return H0 + H1 * t, G[0] + G[1] * (t * t), A[0] + A[1] * t, B[0] + B[1] * (t * t)


def solution(t: Any) -> np.ndarray:
    """Return x and multipliers of the program whose first row is an equation and whose second row is not active."""
    H, g, rows, b = terms(t)
    system = np.block([[H, rows[:1].T], [rows[:1], np.zeros((1, 1))]])
    return np.linalg.solve(system, np.concatenate([-g, b[:1]]))


def test_second_derivatives_of_a_quadratic_program_equal_those_of_its_kkt_equations() -> None:
    (t,) = Graph().inputs("t", (1,))
    H, g, rows, b = terms(t)
    lower, upper = array([b[0], -1e3]), array([b[0], 1e3])
    result = lw.quadratic_program(array(H), array(g), array(rows), lower=lower, upper=upper)
    outputs = [*result.x, result.multipliers[0]]
    first = [row[0] for row in jacobian(outputs, [t])]
    second = [row[0] for row in jacobian(first, [t])]
    reverse = adjoint(first, [t], [0.3, -0.5, 0.7, 0.2])
    at, h = 0.2, 1e-4
    values = [[float(y) for y in evaluate(each, {t: at})] for each in (outputs, first, second, reverse)]
    exact = [solution(at + k * h) for k in (-2, -1, 0, 1, 2)]
    assert values[0] == pytest.approx(exact[2], abs=1e-12)
    assert values[1] == pytest.approx((exact[0] - 8 * exact[1] + 8 * exact[3] - exact[4]) / (12 * h), abs=1e-9)
    curvature = (-exact[0] + 16 * exact[1] - 30 * exact[2] + 16 * exact[3] - exact[4]) / (12 * h * h)
    assert values[2] == pytest.approx(curvature, abs=1e-5) and np.abs(curvature).min() > 0.05
    assert values[3] == pytest.approx([np.dot([0.3, -0.5, 0.7, 0.2], values[2])], abs=1e-11)
