"""Least squares, damped and undamped, tall and wide, against numpy.linalg."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from helpers.matrices import EPS, check_derivatives, on_symbols, random
from linkwork.errors import SingularMatrixError
from linkwork.expr.linalg import lstsq, pinv

SHAPES = ((5, 3), (3, 5), (4, 4), (1, 3), (3, 1), (0, 2), (2, 0))


def damped(a: np.ndarray, b: np.ndarray, damping: float) -> np.ndarray:
    """Solve damped least squares as least squares of the matrix stacked on the damping."""
    n = a.shape[1]
    below = np.zeros((n, *b.shape[1:]))
    return np.linalg.lstsq(np.vstack([a, damping * np.eye(n)]), np.concatenate([b, below]))[0]


def test_least_squares_solutions_equal_numpys() -> None:
    for m, n in SHAPES:
        a, b, c = random(m, 6, m, n), random(n + 9, 6, m), random(n + 19, 6, m, 2)
        solution, columns = lstsq(a, b), lstsq(a, c)
        soft, varied = lstsq(a, b, damping=0.3), lstsq(a, b, damping=np.linspace(0.1, 1.0, 6))
        for k in range(6):
            bound = 200 * EPS * (np.linalg.cond(a[k]) ** 2 if min(m, n) else 1.0)
            np.testing.assert_allclose(solution[k], np.linalg.lstsq(a[k], b[k])[0], rtol=bound, atol=bound)
            np.testing.assert_allclose(columns[k], np.linalg.lstsq(a[k], c[k])[0], rtol=bound, atol=bound)
            np.testing.assert_allclose(soft[k], damped(a[k], b[k], 0.3), rtol=1e-12, atol=1e-12)
            step = np.linspace(0.1, 1.0, 6)[k]
            np.testing.assert_allclose(varied[k], damped(a[k], b[k], step), rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(lstsq(a[k], b[k]), solution[k], rtol=1e-12, atol=1e-13)
        for damping in (0.0, 0.3):
            alone = on_symbols(lambda a, b, damping=damping: lstsq(a, b, damping=damping), a[0], b[0])
            expected = soft[0] if damping else solution[0]
            np.testing.assert_allclose(alone, expected, rtol=1e-12, atol=1e-13)


def test_derivatives_of_least_squares_solutions_equal_finite_differences() -> None:
    for m, n in ((3, 2), (2, 3)):
        check_derivatives(lstsq, random(1, m, n), random(2, m), rtol=1e-7)
        check_derivatives(lstsq, random(1, m, n), random(3, m, 2), rtol=1e-7)
        check_derivatives(
            lambda a, b, damping: lstsq(a, b, damping=damping[0]), random(4, m, n), random(5, m, 2), np.array([0.4])
        )


def test_rank_deficient_least_squares_need_damping_or_the_pseudoinverse() -> None:
    """Without damping they are refused."""
    a, b = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]), np.array([1.0, 2.0, 2.0])
    for matrix, side in ((a, b), (a.T, b[:2])):
        with pytest.raises(SingularMatrixError, match="lstsq: the matrix is singular to this factorization: pivot 1"):
            lstsq(matrix, side)
        assert lstsq(matrix, side, status=True)[1] == 2.0
        np.testing.assert_allclose(lstsq(matrix, side, damping=0.5), damped(matrix, side, 0.5), atol=1e-14)
        np.testing.assert_allclose(pinv(matrix) @ side, np.linalg.lstsq(matrix, side)[0], atol=1e-14)
    with pytest.raises(SingularMatrixError, match=r"lstsq: matrix \[0\] of the batch is not positive definite"):
        lstsq(a[None], b[None], damping=np.zeros(1))


def test_least_squares_solutions_of_ill_conditioned_matrices_lose_few_digits() -> None:
    """QR: the error grows with the condition number, not with its square, where the residual is small."""
    a = np.vander(np.linspace(0.0, 1.0, 12), 7)
    x = np.ones(7)
    assert np.abs(lstsq(a, a @ x) - x).max() <= 50 * EPS * np.linalg.cond(a)


def test_damped_least_squares_factor_the_smaller_gram_matrix() -> None:
    tall = lw.compile(lambda a, b: lstsq(a, b, damping=0.1), name="tall", a=(8, 2), b=8)
    wide = lw.compile(lambda a, b: lstsq(a, b, damping=0.1), name="wide", a=(2, 8), b=2)
    assert tall.operations["div"] == wide.operations["div"] == 2


def test_lstsq_refuses_wrong_shapes_and_wrong_damping() -> None:
    with pytest.raises(ValueError, match=r"lstsq: b: expected .* 3 rows.* got the shape \(2,\)"):
        lstsq(np.ones((3, 2)), np.ones(2))
    with pytest.raises(ValueError, match=r"lstsq: A: expected a matrix.* got the shape \(3,\)"):
        lstsq(np.ones(3), np.ones(3))
    with pytest.raises(TypeError, match="lstsq: damping: expected"):
        lstsq(np.eye(2), np.ones(2), damping="much")
