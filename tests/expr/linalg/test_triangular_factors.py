"""LU factors of large symbolic matrices in loops over rows, without compilation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from helpers.scalars import on_symbols
from linkwork.expr.linalg import lu, triangular_factors


def factored(x: list[Any]) -> list[Any]:
    n = round(len(x) ** 0.5)
    A = np.empty((n, n), dtype=object)
    A[...] = np.reshape(np.array([*x, None], dtype=object)[:-1], (n, n))
    return [*(y for part in lu(A) for y in part.ravel())]


@pytest.mark.parametrize(("n", "looped", "unrolled"), [(5, 3, 2), (5, 3, 4), (18, 16, 12)])
def test_lu_factors_computed_in_loops_equal_those_of_unrolled_code(
    n: int, looped: int, unrolled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order of the rows is that of the pivots, and their product the matrix in that order."""
    rng = np.random.default_rng(n)
    A = rng.normal(size=(2 if n < 9 else 1, n, n))
    A[0, 0, 0] = 0.0  # a row exchange from the first step on
    samples = A.reshape(len(A), n * n)
    monkeypatch.setattr(triangular_factors, "_LOOPED", looped)
    monkeypatch.setattr(triangular_factors, "_UNROLLED", unrolled)
    results = on_symbols(factored, samples)
    for a, result in zip(A, results, strict=True):
        lower, upper, order = result[: n * n].reshape(n, n), result[n * n : -n].reshape(n, n), result[-n:].astype(int)
        assert lower @ upper == pytest.approx(a[order], abs=1e-13)
        assert (np.tril(upper, -1) == 0.0).all() and (np.triu(lower) == np.eye(n)).all()
        assert np.abs(lower).max() <= 1.0 and sorted(order) == [*range(n)] and order[0] != 0
    monkeypatch.setattr(triangular_factors, "_LOOPED", n)
    assert np.array_equal(on_symbols(factored, samples)[:, -n:], results[:, -n:])
