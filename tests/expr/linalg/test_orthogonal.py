"""QR, symmetric eigenvalues and singular values: orthonormal factors, products, and numpy.linalg's values."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from helpers.matrices import check_derivatives, hilbert, objects, on_symbols, positive, random
from linkwork.expr import jacobian
from linkwork.expr.linalg import eigh, eigvalsh, qr, svd, svdvals
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph


def transposed(a: np.ndarray) -> np.ndarray:
    return a.swapaxes(-1, -2)


def assert_orthonormal(columns: np.ndarray, bound: float = 1e-14) -> None:
    product = transposed(columns) @ columns
    np.testing.assert_allclose(product, np.broadcast_to(np.eye(columns.shape[-1]), product.shape), rtol=0.0, atol=bound)


def test_qr_factorizations_equal_numpys() -> None:
    cases = [random(1, 4, m, n) for m, n in ((3, 3), (5, 2), (2, 5), (1, 1), (4, 1), (0, 2), (2, 0))]
    cases += [np.eye(3), np.diag([-1.0, 2.0, -3.0]), np.zeros((3, 2)), np.triu(random(2, 4, 4)), np.ones((3, 3))]
    for a in cases:
        q, r = qr(a)
        expected = np.linalg.qr(a)
        assert q.shape == expected.Q.shape and r.shape == expected.R.shape
        assert_orthonormal(q)
        np.testing.assert_allclose(q @ r, a, rtol=0.0, atol=1e-14)
        np.testing.assert_allclose(r, expected.R, rtol=0.0, atol=1e-14)
        assert (np.tril(r, -1) == 0.0).all()
    a = random(3, 4, 3)
    np.testing.assert_allclose(on_symbols(qr, a), [*np.ravel(qr(a)[0]), *np.ravel(qr(a)[1])], rtol=0.0, atol=1e-14)
    for shape in ((3, 2), (2, 3)):
        check_derivatives(qr, random(4, *shape))


def spectra(n: int, size: int = 40) -> dict[str, np.ndarray]:
    """Symmetric matrices of many kinds."""
    rng = np.random.default_rng(n)
    turn = np.linalg.qr(rng.standard_normal((size, n, n)))[0]
    values = {
        "graded": 10.0 ** rng.uniform(-12.0, 3.0, (size, n)),
        "clustered": 1.0 + 1e-8 * rng.standard_normal((size, n)),
        "multiple": rng.choice([1.0, 2.0], (size, n)),
        "of rank one": (np.arange(n) == 0) * np.ones((size, 1)),
    }
    matrices = {name: turn * w[:, None, :] @ transposed(turn) for name, w in values.items()}
    a = rng.standard_normal((size, n, n))
    matrices |= {"random": a + transposed(a), "ones": np.ones((1, n, n)), "Hilbert": hilbert(n)[None]}
    return matrices | {"diagonal": np.diag(rng.standard_normal(n))[None], "zero": np.zeros((1, n, n))}


@pytest.mark.slow(every=5)
def test_eigenvalues_and_singular_values_of_special_spectra_equal_numpys() -> None:
    """‖A V − V diag(w)‖ and the distance from numpy.linalg's values are some 1e-14 ‖A‖."""
    for n in (0, 1, 2, 3, 5, 8):
        for name, a in spectra(n).items():
            size = np.abs(a).max(axis=(-2, -1), initial=1e-300)[:, None]
            a = np.tril(a) + transposed(np.tril(a, -1))
            w, v = eigh(np.where(np.tri(n, dtype=bool), a, np.nan))
            assert_orthonormal(v)
            error = np.abs(a @ v - v * w[:, None, :]) / size[..., None]
            assert error.max(initial=0.0) <= 3e-14, (n, name)
            assert (np.abs(w - np.linalg.eigvalsh(a)) / size).max(initial=0.0) <= 3e-14, (n, name)
            assert (np.diff(w) >= 0.0).all()
            np.testing.assert_array_equal(eigvalsh(a), w)
            u, s, vt = svd(a)
            assert_orthonormal(u, 3e-14)
            assert_orthonormal(transposed(vt), 3e-14)
            assert (np.abs(u * s[:, None, :] @ vt - a) / size[..., None]).max(initial=0.0) <= 5e-14, (n, name)
            assert (np.abs(s - np.linalg.svdvals(a)) / size).max(initial=0.0) <= 3e-14, (n, name)
            assert (np.diff(s) <= 1e-14 * size).all() and (s >= 0.0).all()


def test_singular_values_of_rectangular_matrices_equal_numpys() -> None:
    for m, n in ((5, 2), (2, 5), (4, 3), (1, 3), (3, 1), (0, 2), (2, 0)):
        a = random(m, 6, m, n)
        u, s, vt = svd(a)
        expected = np.linalg.svd(a, full_matrices=False)
        assert (u.shape, s.shape, vt.shape) == (expected.U.shape, expected.S.shape, expected.Vh.shape)
        np.testing.assert_allclose(s, expected.S, rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(u * s[:, None, :] @ vt, a, rtol=0.0, atol=1e-14)
        np.testing.assert_array_equal(svdvals(a), s)


def test_eigenvalues_on_symbols_and_in_kernels_equal_those_on_floats() -> None:
    a = positive(1, n=3)
    for function in (eigvalsh, svdvals):
        np.testing.assert_allclose(on_symbols(function, a), function(a), rtol=1e-14)
    kernel = lw.compile(lambda a: eigh(a), name="kernel", a=(3, 3))
    batch = spectra(3)["multiple"]
    w, v = kernel(batch)
    np.testing.assert_allclose(v * w[:, None, :] @ transposed(v), batch, rtol=0.0, atol=1e-14)


@pytest.mark.slow(every=3)
@pytest.mark.parametrize("n", [2, 3])
def test_derivatives_of_eigenvalues_and_singular_values_equal_finite_differences(n: int) -> None:
    for function in (eigh, eigvalsh):
        check_derivatives(function, positive(7, n=n), rtol=1e-7)
    for function in (svd, svdvals):
        check_derivatives(function, random(8, n, n), rtol=1e-7)
        check_derivatives(function, random(9, n + 1, 2), rtol=1e-7)
        check_derivatives(function, random(9, 2, n + 1), rtol=1e-7)


def test_derivatives_at_equal_eigenvalues_are_finite() -> None:
    graph = Graph()
    x = graph.inputs("x", (2, 2))
    values = dict(zip(x, [2.0, 0.0, 0.0, 2.0], strict=True))
    for function in (eigh, svd):
        outputs = [y for part in function(objects(x, (2, 2))) for y in np.ravel(part)]
        rows = evaluate([d for row in jacobian(outputs, x) for d in row], values)
        assert np.isfinite(np.array(rows, dtype=float)).all()
    sums = jacobian([eigvalsh(objects(x, (2, 2))).sum()], x)[0]
    assert evaluate(sums, values) == [1.0, 0.0, 0.0, 1.0]  # the trace's, in any direction


def test_forward_derivatives_of_eigenvalues_use_a_derivative_rule() -> None:
    graph = Graph()
    x = graph.inputs("x", (4, 4))
    values = list(eigvalsh(objects(x, (4, 4))))
    steps = len(graph.nodes)
    jacobian(values, x)
    assert len(graph.nodes) - steps < 0.5 * steps  # the sweeps' derivatives would be 20 times as many


def test_eigenvalues_alone_need_fewer_operations_than_with_eigenvectors() -> None:
    values = lw.compile(lambda a: eigvalsh(a), name="values", a=(3, 3))
    both = lw.compile(lambda a: eigh(a), name="both", a=(3, 3))
    assert sum(values.operations.values()) < 0.7 * sum(both.operations.values())
