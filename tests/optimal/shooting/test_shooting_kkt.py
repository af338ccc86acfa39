"""Equations of stages: elimination equals dense algebra, and undetermined components have least norm."""

from __future__ import annotations

import numpy as np

from linkwork.optimal.algorithms.shooting.shooting_kkt import StageRows, solve_stages


def _band(
    rng: np.random.Generator, sizes: list[int], many: int = 2, more: int = 0
) -> tuple[list[StageRows], np.ndarray]:
    """Rows of each stage, by it and its neighbours, and the whole matrix with right sides."""
    starts, rows, whole = np.concatenate([[0], np.cumsum(sizes)]), [], []
    for k, n in enumerate(sizes):
        first, last = max(k - 1, 0), min(k + 2, len(sizes))
        A, b = rng.normal(size=(n + more, starts[last] - starts[first])), rng.normal(size=(n + more, many))
        rows.append(StageRows(first, A, b))
        line = np.zeros((n + more, starts[-1] + many))
        line[:, starts[first] : starts[last]], line[:, starts[-1] :] = A, b
        whole.append(line)
    return rows, np.vstack(whole)


def test_stagewise_elimination_equals_dense_least_squares() -> None:
    rng, sizes = np.random.default_rng(0), [3, 1, 4, 2, 5, 3]
    for more in (0, 2):
        rows, whole = _band(rng, sizes, more=more)
        A, b = whole[:, :-2], whole[:, -2:]
        blocks = solve_stages(sizes, rows)
        assert [x.shape for x in blocks] == [(n, 2) for n in sizes]
        assert np.allclose(np.vstack(blocks), np.linalg.lstsq(A, b, rcond=None)[0], atol=1e-9)
    alone = solve_stages([2], [StageRows(0, np.diag([2.0, 4.0]), np.array([[2.0], [2.0]]))])
    assert np.allclose(alone[0][:, 0], [1.0, 0.5])


def test_undetermined_components_of_stagewise_elimination_have_least_norm() -> None:
    rng, sizes = np.random.default_rng(1), [3, 3, 3]
    rows, whole = _band(rng, sizes, many=1)
    A, x = whole[:, :-1].copy(), rng.normal(size=(9, 1))
    A[4] = A[3]  # the same twice
    b = A @ x
    rows = [StageRows(first, A[3 * k : 3 * k + 3, 3 * first : 3 * min(k + 2, 3)], b[3 * k : 3 * k + 3])
            for k, (first, *_) in enumerate(rows)]  # fmt: skip
    solution = np.vstack(solve_stages(sizes, rows))
    assert np.allclose(A @ solution, b, atol=1e-9)
    assert np.linalg.norm(solution) <= np.linalg.norm(x) + 1e-12
