"""Cholesky, LDLᵀ, LᵀDL and LU: products of factors, and numpy.linalg's factors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.matrices import EPS, check_derivatives, hilbert, positive, random
from linkwork.errors import SingularMatrixError
from linkwork.expr.linalg import cholesky, ldl, ltdl, lu, solve
from linkwork.expr.linalg.triangular_factors import SymmetricFactors


def transposed(a: np.ndarray) -> np.ndarray:
    return a.swapaxes(-1, -2)


def test_products_of_cholesky_and_ldl_factors_equal_the_matrix() -> None:
    for n in (0, 1, 2, 3, 6):
        for a in (positive(n, 4, n=n), positive(n, n=n), hilbert(n)):
            bound = 10 * max(n, 1) * EPS * np.abs(a).max(initial=1.0)
            lower = cholesky(a)
            np.testing.assert_allclose(lower @ transposed(lower), a, rtol=0.0, atol=bound)
            assert (np.triu(lower, 1) == 0.0).all()
            for factored, product in (
                (ldl(a), lambda lower, d: lower * d[..., None, :] @ transposed(lower)),
                (ltdl(a), lambda lower, d: transposed(lower) * d[..., None, :] @ lower),
            ):
                lower, d = factored
                np.testing.assert_allclose(product(lower, d), a, rtol=0.0, atol=bound)
                np.testing.assert_array_equal(np.triu(lower), np.broadcast_to(np.eye(n), a.shape))
    a = positive(9, n=5)
    np.testing.assert_allclose(cholesky(a), np.linalg.cholesky(a), rtol=1e-13, atol=1e-15)


def test_lu_factorization_pivots_matrices_with_zero_leading_entries() -> None:
    zeros_first = np.array([[0.0, 0.0, 2.0], [0.0, 3.0, 1.0], [4.0, 5.0, 6.0]])
    for a in (random(1, 3, 5, 5), random(2, 4, 4), zeros_first, np.eye(3)[::-1], np.ones((1, 1)), np.zeros((0, 0))):
        lower, upper, p = lu(a)
        order = p.astype(int)
        moved = np.take_along_axis(a, order[..., None], axis=-2)
        np.testing.assert_allclose(lower @ upper, moved, rtol=0.0, atol=1e-14)
        assert np.abs(lower).max(initial=0.0) <= 1.0
        assert (np.tril(upper, -1) == 0.0).all()
        np.testing.assert_array_equal(np.triu(lower), np.broadcast_to(np.eye(a.shape[-1]), a.shape))
        assert (np.sort(order, axis=-1) == np.arange(a.shape[-1])).all()


@pytest.mark.parametrize("factored", [cholesky, ldl, ltdl, lu], ids=lambda f: f.__name__)
def test_derivatives_of_matrix_factors_equal_finite_differences(factored: Callable[..., Any]) -> None:
    check_derivatives(factored, positive(3, n=3))


def test_failed_pivots_of_factorizations_raise_an_error_or_set_the_status() -> None:
    not_positive = np.diag([1.0, 2.0, -3.0])
    with pytest.raises(SingularMatrixError, match="cholesky: the matrix is not positive definite: pivot 2"):
        cholesky(not_positive)
    batch = np.stack([np.eye(3), not_positive, np.diag([0.0, 1.0, 0.0])])
    assert cholesky(batch, status=True)[1].tolist() == [0.0, 3.0, 1.0]
    assert ldl(batch, status=True)[2].tolist() == [0.0, 0.0, 1.0]
    assert ltdl(batch, status=True)[2].tolist() == [0.0, 0.0, 3.0]  # the last comes first
    assert lu(batch, status=True)[3].tolist() == [0.0, 0.0, 1.0]
    for factored in (ldl, ltdl, lu):
        with pytest.raises(SingularMatrixError, match=rf"{factored.__name__}: matrix \[2\] of the batch"):
            factored(batch)
    kernel = lw.compile(lambda a: cholesky(a, status=True), name="kernel", a=(3, 3))
    assert kernel(batch)[1].tolist() == [0.0, 3.0, 1.0]


def test_ltdl_factors_of_a_branched_mass_matrix_have_no_fill_in() -> None:
    """Two arms of three joints on one joint: LᵀDL has no fill-in, and LDLᵀ fills the block between them."""
    parent = [-1, 0, 1, 2, 0, 4, 5]
    ancestors = [[k] for k in range(7)]
    for k in range(7):
        if parent[k] >= 0:
            ancestors[k] += ancestors[parent[k]]
    coupled = np.array([[j in ancestors[i] or i in ancestors[j] for j in range(7)] for i in range(7)])

    def branched(factored: Callable[..., Any]) -> Any:
        return lw.compile(lambda a: factored(np.where(coupled, a, 0.0))[:2], name="branched", a=(7, 7))

    small, large = branched(ltdl).operations["mul"], branched(ldl).operations["mul"]
    # each joint: one product for a pair of its ancestors, and one to scale each
    assert small == sum(d * (d + 1) // 2 + d for d in (len(a) - 1 for a in ancestors))
    assert large > 1.5 * small
    a = positive(5, n=7) * coupled + 3.0 * np.eye(7)
    lower, d = branched(ltdl)(a)
    np.testing.assert_allclose(lower.T * d @ lower, a, rtol=0.0, atol=1e-13)
    assert (lower[~np.tril(coupled)] == 0.0).all()


def test_solving_with_a_factored_mass_matrix_equals_forward_dynamics() -> None:
    """Solving with the mass matrix is forward dynamics at rest without gravity's and velocity's share."""
    for name in lw.robots.names()[:3]:
        robot = lw.load(name)
        q = robot.random_configuration(seed=1, size=4)
        m, force = robot.mass_matrix(q), random(2, 4, robot.nv)
        for assume in ("pos", "gen", "sym"):
            x = solve(m, force, assume=assume)
            residual = np.einsum("bij,bj->bi", m, x) - force
            size = np.abs(m).max() * np.abs(x).max() + np.abs(force).max()
            assert np.abs(residual).max() <= 20 * robot.nv * EPS * size, (name, assume)
        np.testing.assert_allclose(cholesky(m), np.linalg.cholesky(m), rtol=0.0, atol=1e-12 * np.abs(m).max())


def test_pivots_of_indefinite_factorizations_may_change_sign_or_be_dropped() -> None:
    """Unchanged pivots solve indefinite equations; a dropped pivot removes its row."""
    A, b = random(5, 5, 5) + transposed(random(5, 5, 5)), np.arange(1.0, 6.0)
    rows = [row[: i + 1].tolist() for i, row in enumerate(A)]
    factors = SymmetricFactors(rows, lambda _, pivot: 1.0 / pivot)
    np.testing.assert_allclose(A @ factors.solved(b), b, rtol=1e-10)
    lower = np.array([[*row[:i], 1.0, *[0.0] * (4 - i)] for i, row in enumerate(factors.lower)])
    np.testing.assert_allclose(lower / np.array(factors.inverse) @ lower.T, A, rtol=0.0, atol=1e-12)
    downhill = SymmetricFactors(rows, lambda _, pivot: 1.0 / max(abs(pivot), 1e-3)).solved(b)
    assert b @ downhill > 0.0
    left = SymmetricFactors(rows, lambda k, pivot: 0.0 if k == 2 else 1.0 / pivot).solved(b)
    remaining = [0, 1, 3, 4]
    assert left[2] == 0.0
    np.testing.assert_allclose(
        np.array(left)[remaining], np.linalg.solve(A[np.ix_(remaining, remaining)], b[remaining]), rtol=1e-9
    )
