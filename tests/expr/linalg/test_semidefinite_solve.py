"""Semidefinite equations against NumPy's least squares, for dependent and independent rows."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.expr.linalg.semidefinite_solve import Semidefinite


def case(rng, rows, rank, columns=8):
    """A = U Uᵀ of a rank, and a consistent right-hand side."""
    U = rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, columns))
    return U @ U.T, U @ rng.normal(size=columns)


@pytest.mark.parametrize(("rows", "rank"), [(1, 1), (5, 5), (5, 2), (6, 3), (12, 6), (4, 0)])
def test_solutions_of_semidefinite_systems_have_the_least_norm(rows, rank):
    rng = np.random.default_rng(rows + rank)
    for _ in range(5):
        A, b = case(rng, rows, rank)
        solver = Semidefinite.of(A.tolist())
        x = np.array(solver.solved(b.tolist()))
        assert np.abs(A @ x - b).max() <= 1e-12 * max(1.0, np.abs(b).max())
        least = np.array(solver.least(x.tolist()))
        scale = np.sqrt(np.where(np.diag(A) > 0, np.diag(A), 1.0))  # least Σ A_ii x_i²
        expected = np.linalg.pinv(A / scale / scale[:, None], rcond=1e-9, hermitian=True) @ (b / scale) / scale
        np.testing.assert_allclose(least, expected, rtol=0, atol=1e-9 * max(1.0, np.abs(expected).max()))


def test_semidefinite_factorization_leaves_out_zero_rows():
    A = [[2.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 3.0, 0.0], [1.0, 0.0, 0.0, 2.0]]
    solver = Semidefinite.of(A)
    assert sorted(solver.order) == [0, 2, 3] and sum(map(len, solver.L)) == 1
    x = solver.solved([3.0, 7.0, 3.0, 3.0])
    assert x[1] == 0.0
    np.testing.assert_allclose(np.delete(x, 1), 1.0, rtol=1e-15)


def test_semidefinite_solution_is_zero_for_vanishing_rows():
    batch = [np.array([1.0, 0.0, 4.0]), np.array([0.0, 0.0, 1.0]), np.array([2.0, 2.0, 2.0])]
    solver = Semidefinite.of([[batch[0], 0.0], [batch[1], batch[2]]])
    x, y = solver.solved([batch[0] * 3.0, batch[2] * 0.5])
    np.testing.assert_allclose(x[:2], [3.0, 0.0], rtol=1e-12)
    np.testing.assert_allclose(y[:2], [0.5, 0.5], rtol=1e-12)
    assert np.isfinite(x).all() and np.isfinite(y).all()


def test_semidefinite_solutions_near_a_singularity_have_the_stated_accuracy():
    """The error in a direction of relative eigenvalue σ is (μ/(μ + σ))³, or rounding over σ."""
    for sine in (1e-1, 1e-2, 1e-3, 1e-4):
        U = np.array([[1.0, 0.0], [np.sqrt(1.0 - sine * sine), sine]])
        A = U @ U.T
        expected = np.array([1.0, -2.0])
        x = Semidefinite.of(A.tolist()).solved((A @ expected).tolist())
        assert np.abs(x - expected).max() < 1e-15 / sine**2 + 10.0 * (1e-9 / (1e-9 + 0.5 * sine**2)) ** 3


def test_semidefinite_elimination_in_a_loop_gives_equal_bits():
    A, b = case(np.random.default_rng(5), 14, 9)
    results = []
    for in_loop in (False, True):

        def solved(A, b, in_loop=in_loop):
            rows = [list(row) for row in A]
            return lw.expr.array(Semidefinite.of(rows).solved(list(b), in_loop=in_loop))

        kernel = lw.compile(solved, A=(14, 14), b=(14,))
        results.append((kernel.interpret(A, b), kernel(A, b)))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_allclose(results[1][1], results[0][1], rtol=1e-9, atol=1e-9 * np.abs(results[0][1]).max())


def test_least_norm_solutions_have_no_component_in_the_null_space() -> None:
    """b may have components out of range; sizes of rows are the weights of the norm."""
    rng = np.random.default_rng(0)
    for n, rank in ((6, 4), (5, 5)):
        B = rng.normal(size=(n, rank))
        A, D = B @ B.T, np.linalg.norm(B, axis=1)
        inverse = np.linalg.pinv(A / D[:, None] / D, rcond=1e-9, hermitian=True) / D[:, None] / D
        factors = Semidefinite.of([row[: k + 1].tolist() for k, row in enumerate(A)])
        b = rng.normal(size=n)
        for right, removals, error in ((b, 2, 1e-9), (A @ b, 0, 1e-11)):
            x = np.array(factors.solved_nearly(right, removals, least=True))
            np.testing.assert_allclose(x, inverse @ right, rtol=0, atol=error * (1.0 + np.abs(x).max()))
            x = np.array(factors.solved_nearly(right, removals))
            np.testing.assert_allclose(A @ x, A @ inverse @ right, rtol=0, atol=1e-11 * (1.0 + np.abs(A).max()))
