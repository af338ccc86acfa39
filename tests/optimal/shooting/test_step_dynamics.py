"""Quadratic forms of linear steps: FᵀV F, unrolled and by large products."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.optimal.algorithms.shooting.step_dynamics import LinearStep


@pytest.mark.slow(every=3)
def test_hessians_of_linear_time_steps_equal_numpys_products():
    """Factors with sparse and dense rows, with dense rows only, and small ones."""
    rng = np.random.default_rng(1)
    for n, m, dense in ((3, 2, 2), (12, 8, 12), (24, 8, 12), (20, 12, 20)):
        first, second = np.eye(n), np.zeros((n, n + m))
        first[: n // 2, n // 2 :] = 0.1 * np.eye(n - n // 2)[: n // 2]
        second[:dense] = rng.normal(size=(dense, n + m))
        second[dense:, : n - dense] = np.eye(n - dense)
        step = LinearStep((first.tolist(), second.tolist()))
        A = rng.normal(size=(n, n))
        V = A @ A.T
        expected = second.T @ first.T @ V @ first @ second
        scale = np.abs(expected).max()

        def hessian(V, step=step):
            return np.array(step.hessian([list(row) for row in V]))

        compiled = lw.compile(hessian, V=(n, n))
        for product in (hessian(V), compiled(V)):
            assert np.abs(product - expected).max() <= 1e-13 * scale
            assert np.array_equal(product, product.T)
        traced = lw.compile(
            lambda V, F, first=first: np.array(
                LinearStep((first.tolist(), [list(row) for row in F])).hessian([list(row) for row in V])
            ),
            V=(n, n),
            F=second.shape,
        )
        assert np.abs(traced(V, second) - expected).max() <= 1e-13 * scale
