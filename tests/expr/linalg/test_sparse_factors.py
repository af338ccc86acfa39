"""Sparse factors that are one instruction, against NumPy and against unrolled operations."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.expr import adjoint, fori_loop, jacobian
from linkwork.expr.linalg import semidefinite_solve
from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_factors import SparseFactorization, column_pattern, runs


def sparse_matrix(n, seed=0, few=0.15):
    """Return a quasi-definite sparse matrix, and the indices of its nonzero elements on and below the diagonal."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n)) * (rng.random((n, n)) < few)
    A = A + A.T
    A[np.diag_indices(n)] = np.where(np.arange(n) < 2 * n // 3, 1.0, -1.0) * (1.0 + np.abs(A).sum(axis=0))
    return A, [(i, j) for i in range(n) for j in range(i + 1) if A[i, j] != 0.0]


def factors(n, indices, elements, order=None):
    A = [[0.0] * n for _ in range(n)]
    for (i, j), x in zip(indices, elements, strict=True):
        A[i][j] = x
    return Semidefinite.of(A, more=0.0, order=order)


@pytest.fixture(autouse=True)
def all_are_large(monkeypatch):
    monkeypatch.setattr(semidefinite_solve, "_MANY", 0)


@pytest.mark.costly
@pytest.mark.parametrize("n", [1, 6, 43])
def test_solutions_with_sparse_factors_equal_numpys(n):
    A, indices = sparse_matrix(n)
    order = np.random.default_rng(1).permutation(n).tolist()

    def solved(elements, b):
        whole = factors(n, indices, elements, order)
        return np.array(whole.once(list(b))), np.array(whole.rest(whole.half(list(b))))

    kernel = lw.compile(solved, name="solved", elements=(len(indices),), b=(n,))
    names = [i.operation.name for i in kernel.program.instructions]
    assert names.count("sparse_factors") == 1 and names.count("sparse_solution") == 3
    rng = np.random.default_rng(2)
    b = rng.normal(size=(21, n))
    scales = rng.uniform(0.5, 1.5, size=21)
    elements = scales[:, None] * np.array([A[i, j] for i, j in indices])
    expected = np.linalg.solve(A, (b / scales[:, None]).T).T
    both = kernel(elements, b)
    for batch in both:
        assert np.allclose(batch, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())
    for k in range(0, 21, 5):  # the same alone as beside others
        for alone, batch in zip(kernel(elements[k], b[k]), both, strict=True):
            assert np.array_equal(alone, batch[k])
    assert np.allclose(kernel.interpret(elements[0], b[0]), [x[0] for x in both], rtol=0.0, atol=1e-13)


def test_sparse_factorizations_can_be_used_in_loops():
    n, steps = 17, 3
    A, indices = sparse_matrix(n, seed=4)

    def repeated(elements, b):
        whole = factors(n, indices, elements)
        return fori_loop(0, steps, lambda _, x: np.array(whole.once(list(x))), b)

    kernel = lw.compile(repeated, name="repeated", elements=(len(indices),), b=(n,))
    x = b = np.random.default_rng(5).normal(size=n)
    for _ in range(steps):
        x = np.linalg.solve(A, x)
    assert np.allclose(kernel(np.array([A[i, j] for i, j in indices]), b), x, rtol=0.0, atol=1e-12)


def test_derivatives_of_solutions_with_sparse_factors_are_exact():
    n = 5
    A, indices = sparse_matrix(n, seed=6, few=0.4)
    weights = np.linspace(1.0, 2.0, n)

    def differentiated(elements, b):
        inputs = [*elements, *b]
        x = factors(n, indices, elements).once(list(b))
        return np.array(jacobian(x, inputs)), np.array(adjoint(x, inputs, weights.tolist()))

    rng = np.random.default_rng(7)
    b, of_elements, of_b = rng.normal(size=n), rng.normal(size=len(indices)), rng.normal(size=n)
    elements = np.array([A[i, j] for i, j in indices])
    J, gradient = lw.compile(differentiated, name="derived", elements=(len(indices),), b=(n,))(elements, b)
    dA = np.zeros((n, n))
    for (i, j), x in zip(indices, of_elements, strict=True):
        dA[i, j] = dA[j, i] = x
    expected = np.linalg.solve(A, of_b - dA @ np.linalg.solve(A, b))
    assert np.allclose(J @ np.concatenate([of_elements, of_b]), expected, rtol=0.0, atol=1e-12)
    assert np.allclose(gradient, weights @ J, rtol=0.0, atol=1e-12)


def test_compiled_sparse_factorization_counts_the_operations_of_unrolled_code():
    n = 12
    _, indices = sparse_matrix(n, seed=8)

    def solved(elements, b):
        return np.array(factors(n, indices, elements).once(list(b)))

    shapes = {"elements": (len(indices),), "b": (n,)}
    factored = lw.compile(solved, name="one", **shapes).operations
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(semidefinite_solve, "_MANY", 1 << 30)
        written = lw.compile(solved, name="written", **shapes).operations
    assert factored["mul"] == written["mul"] and factored["div"] == written["div"] == n
    assert factored["sub"] >= written["sub"]  # of zeros where the elimination fills in


def test_zero_pivots_of_sparse_factorizations_give_zero_solutions():
    pattern = SparseFactorization((0, 1, 2), *column_pattern((0, 1, 2), [[1], [], []]))
    kernel = lw.compile(lambda a: np.array(pattern(list(a))), name="factored", a=(pattern.taken,))
    for samples in (1, 9):
        values = kernel(np.array([[2.0, 3.0, 0.0, 1.0]] * samples))
        assert values.tolist() == [[0.5, 0.4, 0.0, 0.5]] * samples


def test_helpers_of_sparse_patterns_find_runs_of_adjacent_indices_and_columns():
    assert runs([0, 1, 2, 3, 5], [7, 8, 9, 10, 11], (4, 2, 1)) == [(0, 4), (4, 1)]
    assert runs([0, 1, 2], [0, 2, 3], (2, 1)) == [(0, 1), (1, 2)]
    assert column_pattern((2, 0, 1), [[0, 1], [], []]) == ((0, 2, 3, 3), (0, 1, 1))  # the elimination fills in (1, 0)
    valid = SparseFactorization((2, 0, 1), (0, 2, 3, 3), (0, 1, 1))
    assert valid.is_valid
    invalid = [((0, 2, 2, 2), (0, 1)), ((0, 2, 3, 3), (1, 0, 1)), ((0, 1, 3), (0, 1, 1)), ((0, 2, 3, 3), (0, 1, 2))]
    for starts, rows in invalid:
        assert not SparseFactorization((2, 0, 1), starts, rows).is_valid
