"""Inverse, pseudoinverse and determinant against numpy.linalg."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from helpers.matrices import EPS, check_derivatives, hilbert, on_symbols, positive, random
from linkwork.errors import SingularMatrixError
from linkwork.expr import adjoint
from linkwork.expr.linalg import det, inv, pinv, slogdet


def test_inverses_of_matrices_equal_numpys() -> None:
    for n in (0, 1, 2, 4, 7):
        for assume, a in (("gen", random(n, 5, n, n)), ("pos", positive(n, 5, n=n)), ("sym", positive(n, 5, n=n))):
            inverse, expected = inv(a, assume=assume), np.linalg.inv(a)
            bound = 50 * EPS * (np.linalg.cond(a).max() if n else 1.0) * np.abs(expected).max(initial=1.0)
            np.testing.assert_allclose(inverse, expected, rtol=0.0, atol=bound)
            np.testing.assert_allclose(inv(a[0], assume=assume), expected[0], rtol=0.0, atol=bound)
            alone = on_symbols(lambda a, assume=assume: inv(a, assume=assume), a[0]).reshape(n, n)
            np.testing.assert_allclose(alone, expected[0], rtol=0.0, atol=bound)
    symmetric = inv(positive(3, n=6), assume="pos")
    np.testing.assert_array_equal(symmetric, symmetric.T)
    with pytest.raises(SingularMatrixError, match=r"inv: the matrix is singular .*pivot 1"):
        inv(np.ones((2, 2)))
    assert inv(np.ones((2, 2)), status=True)[1] == 2.0


def test_determinants_of_matrices_equal_numpys() -> None:
    for n in (0, 1, 2, 3, 4, 6):
        a = np.concatenate([random(n, 4, n, n), np.zeros((1, n, n)), np.eye(n)[None, ::-1]])
        np.testing.assert_allclose(det(a), np.linalg.det(a), rtol=1e-12, atol=1e-15)
        for value, expected in zip(slogdet(a), np.linalg.slogdet(a), strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-14)
        s = positive(n, 4, n=n)
        np.testing.assert_allclose(det(s, assume="pos"), np.linalg.det(s), rtol=1e-12)
        np.testing.assert_allclose(slogdet(s, assume="sym")[1], np.linalg.slogdet(s)[1], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(det(s, assume="lower"), np.linalg.det(np.tril(s)), rtol=1e-12)
        np.testing.assert_allclose(on_symbols(det, a[0]), np.linalg.det(a[:1]), rtol=1e-12)
    singular = np.arange(16.0).reshape(4, 4)
    assert abs(det(singular)) < 1e-13
    assert det(np.ones((4, 4))) == 0.0
    kernel = lw.compile(lambda a: slogdet(a), name="kernel", a=(4, 4))
    assert [float(x) for x in kernel(np.ones((4, 4)))] == [0.0, -np.inf]


@pytest.mark.parametrize("assume", ["gen", "pos", "upper"])
def test_derivatives_of_inverses_and_determinants_equal_finite_differences(assume: str) -> None:
    for n in (2, 4):
        a = positive(4, n=n) if assume == "pos" else random(4, n, n) + 2.0 * np.eye(n)
        for function in (inv, det, slogdet):
            check_derivatives(lambda a, function=function: function(a, assume=assume), a, rtol=1e-7)


def test_derivative_of_a_zero_determinant_is_the_adjugate() -> None:
    """Explicit formulas and pivoting agree; with an assumption about the matrix it is not finite."""

    def gradient(a: np.ndarray, assume: str = "gen") -> np.ndarray:
        return np.array(adjoint([det(a, assume=assume)], a.ravel(), [1.0])).reshape(a.shape)

    np.testing.assert_array_equal(lw.compile(gradient, a=(2, 2))([[1.0, 2.0], [2.0, 4.0]]), [[4.0, -2.0], [-2.0, 1.0]])
    low = np.diag([1.0, 2.0, 0.0, 3.0])
    np.testing.assert_array_equal(lw.compile(gradient, a=(4, 4))(low), np.diag([0.0, 0.0, 6.0, 0.0]))
    assert np.isnan(lw.compile(lambda a: gradient(a, "pos"), a=(4, 4))(low)[2, 2])


def test_third_derivatives_of_determinants_are_finite_at_rank_n_minus_3() -> None:
    """det(A t + diag(0, 0, 0, 2)) begins with t³."""
    a, low = random(8, 4, 4), np.diag([0.0, 0.0, 0.0, 2.0])
    third = lw.compile(lambda t: det(a * t + low), t=()).jacobian().jacobian().jacobian()(0.0)
    np.testing.assert_allclose(third, 12.0 * np.linalg.det(a[:3, :3]), rtol=1e-12)


def test_pseudoinverses_of_matrices_equal_numpys() -> None:
    low = random(1, 5, 2) @ random(2, 2, 4)
    for a in (random(3, 4, 3), random(4, 3, 4), low, low.T, hilbert(4), np.zeros((2, 3)), np.ones((3, 3))):
        inverse, expected = pinv(a), np.linalg.pinv(a, rtol=1e-14)
        bound = 100 * EPS * max(1.0, np.abs(expected).max() ** 2) * np.abs(a).max()
        np.testing.assert_allclose(inverse, expected, rtol=0.0, atol=bound)
        np.testing.assert_allclose(on_symbols(pinv, a).reshape(inverse.shape), inverse, rtol=0.0, atol=bound)
    np.testing.assert_allclose(pinv(hilbert(5), rtol=1e-3), np.linalg.pinv(hilbert(5), rtol=1e-3), rtol=1e-10)
    assert pinv(np.zeros((0, 3))).shape == (3, 0)
    left, right = (np.linalg.qr(random(seed, n, n))[0] for seed, n in ((6, 4), (7, 3)))
    for dtype in (np.float64, np.float32):  # both sides of the default of rtol
        for factor, rank in ((0.2, 2), (5.0, 3)):
            least = factor * 10 * 4 * np.finfo(dtype).eps
            a = (left[:, :3] * [1.0, 0.5, least] @ right).astype(dtype)
            assert np.linalg.matrix_rank(pinv(a), tol=0.5) == rank, (dtype, factor)
    for shape in ((3, 2), (2, 3)):
        check_derivatives(pinv, random(5, *shape), rtol=1e-7)
    with pytest.raises(ValueError, match=r"pinv: rtol: expected .* got -1"):
        pinv(np.eye(2), rtol=-1)


def test_pseudoinverses_of_rank_one_matrices_can_be_differentiated() -> None:
    """u vᵀ keeps its rank when u and v change."""
    check_derivatives(lambda u, v: pinv(u[:, None] * v[None, :]), random(6, 3), random(7, 2), rtol=1e-7)
