"""Frontal elimination: leading unknowns of dense equations are eliminated, against NumPy and unrolled operations."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.expr import adjoint, jacobian
from linkwork.expr.linalg.frontal_elimination import AddedRow, eliminate_front

NAMES = ("A", "rows", "weights", "sides", "stretch", "counts")


def shapes(n, r):
    every = zip(NAMES, ((n, n + 1), (r, n), (r,), (r,), (), ()), strict=True)
    return {name: shape for name, shape in every if 0 not in shape}


def stated(n, pivots):
    """Return the front as a function of named arrays: U with y, the remaining equations, and the sign of pivots."""

    def square(lines, wide):
        padded = [[0.0] * (wide - len(line)) + line for line in lines]
        return np.array(padded, dtype=object).reshape(len(lines), wide)

    def eliminated(A, stretch, counts, rows=(), weights=(), sides=()):
        added = [AddedRow(c, f, list(j)) for c, f, j in zip(weights, sides, rows, strict=True)]
        lines = [list(A[i, i:]) for i in range(n)]
        front = eliminate_front(lines, pivots, added=added, stretch=stretch, counts=counts, least=1e-15)
        U, remaining = square(front.eliminated, n + 1), square(front.remainder, n + 1 - pivots)
        return {"U": U, "remainder": remaining, "positive": front.positive}

    return eliminated


def drawn(n, r, seed, size=()):
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(*size, n, n))
    A = np.concatenate([np.einsum("...ij,...kj->...ik", B, B) + np.eye(n), rng.normal(size=(*size, n, 1))], axis=-1)
    rows, weights = rng.normal(size=(*size, r, n)), rng.uniform(0.1, 2.0, (*size, r))
    arrays = A, rows, weights, rng.normal(size=(*size, r)), np.full(size, 1.25), np.ones(size)
    return {name: x for name, x in zip(NAMES, arrays, strict=True) if name in shapes(n, r)}


def known(pivots, A, stretch, counts, rows=None, weights=None, sides=None):
    """Eliminate by NumPy's Cholesky factors and a Schur complement."""
    n, b = len(A), A[:, -1]
    H = np.triu(A[:, :n]) + np.triu(A[:, :n], 1).T
    if rows is not None:
        J = rows.T @ (weights[:, None] * rows)
        H, b = H + J + (stretch - 1.0) * np.diag(np.diag(J)), b + rows.T @ sides
    U = np.linalg.cholesky(H[:pivots, :pivots]).T
    right = np.linalg.solve(U.T, np.c_[H[:pivots, pivots:], b[:pivots]])
    remaining = np.c_[H[pivots:, pivots:], b[pivots:]] - right[:, :-1].T @ right
    return np.c_[U, right], np.c_[np.triu(remaining[:, :-1]), remaining[:, -1]]


@pytest.mark.parametrize(("n", "pivots", "r"), [(23, 10, 6), (37, 37, 0), (9, 0, 5), (6, 3, 1)])
def test_solutions_of_frontal_elimination_equal_numpys(n, pivots, r):
    text = stated(n, pivots)
    kernel = lw.compile(lambda **arrays: text(**arrays), name="front", **shapes(n, r))
    arrays = drawn(n, r, 0, (21,))
    batch = kernel(**arrays)._asdict()
    for k in range(0, 21, 7):
        alone = {name: x[k] for name, x in arrays.items()}
        single_front = kernel(**alone)._asdict()
        for name, x in single_front.items():
            assert np.array_equal(x, batch[name][k])  # the same alone, in neighbours' company, and at the end
        U, remaining = known(pivots, **alone)
        diagonal = np.diag_indices(pivots)
        single_front["U"][diagonal] = 1.0 / single_front["U"][diagonal]
        assert np.allclose(single_front["U"], U, rtol=1e-10, atol=1e-11)
        assert np.allclose(single_front["remainder"], remaining, rtol=1e-10, atol=1e-10)
    assert batch["positive"].all()
    if n < 10:  # the same text on floats
        for name, x in text(**{name: x[0] for name, x in arrays.items()}).items():
            assert np.allclose(np.asarray(x, dtype=float), batch[name][0], rtol=1e-12, atol=1e-12)


def test_frontal_elimination_handles_nonpositive_pivots_and_ignored_rows():
    kernel = lw.compile(stated(20, 5), name="front", **shapes(20, 1))
    arrays = drawn(20, 1, 1)
    A = arrays["A"]
    arrays["weights"], arrays["sides"] = np.zeros(1), np.zeros(1)
    ignored = kernel(**(arrays | {"counts": 0.0}))
    assert np.array_equal(ignored.remainder, np.c_[np.triu(A[:, :20]), A[:, 20]][5:, 5:])
    assert float(ignored.positive) == 1.0
    for bad in (-1.0, np.nan):
        A[2, 2] = bad
        assert float(kernel(**arrays).positive) == 0.0


def test_derivatives_of_frontal_elimination_equal_finite_differences():
    n = 4
    text = stated(n, 2)
    arrays = drawn(n, 1, 2)
    del arrays["stretch"], arrays["counts"]

    def left(**arrays):
        front = text(stretch=1.5, counts=1.0, **arrays)
        return [*front["U"].ravel()[:3], *front["remainder"].ravel()]

    def differentiated(A, rows, weights, sides):
        values = left(A=A, rows=rows, weights=weights, sides=sides)
        inputs = [*A.ravel(), *rows.ravel(), *weights, *sides]
        return np.array(jacobian(values, inputs)), np.array(adjoint(values, inputs, [1.0] * len(values)))

    J, gradient = lw.compile(differentiated, name="derived", **{name: x.shape for name, x in arrays.items()})(**arrays)
    assert np.allclose(gradient, J.sum(0), atol=1e-12)
    rng = np.random.default_rng(3)
    directions = {name: rng.normal(size=x.shape) for name, x in arrays.items()}
    ahead, behind = (
        np.array(left(**{name: x + s * directions[name] for name, x in arrays.items()}), dtype=float)
        for s in (1e-6, -1e-6)
    )
    assert np.allclose(J @ np.concatenate([d.ravel() for d in directions.values()]), (ahead - behind) / 2e-6, atol=1e-7)
