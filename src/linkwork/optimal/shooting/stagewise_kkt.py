"""Banded linear equations of stages, solved by orthogonal (QR) elimination, stage by stage.

Overdetermined equations are solved in the least-squares sense; undetermined unknowns have least norm.

Source: Golub and Van Loan, Matrix Computations, 4th ed., 2013, section 5.3 (least squares), applied to a band.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

__all__ = ["StageRows", "solve_stages"]

Array = np.ndarray[Any, Any]

_DEPENDENT = 1e-12  # of the largest singular value of a stage: cutoff
_FINE = 1e-8  # residual of the equations, relative to their right sides


class StageRows(NamedTuple):
    """Linear equations A (x_k; x_{k+1}; ...) = b in the unknowns of successive stages from k = ``first`` on."""

    first: int
    A: Array
    b: Array  # (rows, right sides)


def solve_stages(sizes: Sequence[int], rows: Sequence[StageRows]) -> list[Array]:
    """Return the solution of banded equations: for each stage an array (size, right sides).

    ``sizes`` are the numbers of unknowns of each stage.  An equation involves at most three successive stages.
    """
    result = _eliminated(sizes, rows)
    scale = 1.0 + max((np.abs(row.b).max(initial=0.0) for row in rows), default=0.0)
    square = sum(len(row.A) for row in rows) == sum(sizes)
    if square and not _residual(sizes, rows, result) <= _FINE * scale:
        result = _least_squares(sizes, rows)
    return result


def _eliminated(sizes: Sequence[int], rows: Sequence[StageRows]) -> list[Array]:
    T, count = len(sizes), rows[0].b.shape[-1] if rows else 0
    carried, factors = np.zeros((0, count)), []
    for k in range(T):
        n, width = sizes[k], sum(sizes[k : k + 3])
        own = [_wide(carried, width, count)]
        own += [_wide(np.hstack([row.A, row.b]), width, count) for row in rows if row.first == k]
        R: Array = np.asarray(np.linalg.qr(np.vstack(own), mode="r"))
        R = np.vstack([R, np.zeros((max(n - len(R), 0), width + count))])
        factors.append((R[:n, :n], R[:n, n:width], R[:n, width:]))
        carried = R[n:width, n:]
    result: list[Array] = [np.zeros((0, count))] * T
    for k in reversed(range(T)):
        R, more, right = factors[k]
        later = np.vstack([np.zeros((0, count)), *result[k + 1 : k + 3]])
        result[k] = np.linalg.lstsq(R, right - more @ later, rcond=_DEPENDENT)[0]
    return result


def _wide(rows: Array, width: int, count: int) -> Array:
    """Return equations [A b] whose matrix A is padded with zeros to ``width`` unknowns.

    ``count`` is the number of right sides b.
    """
    columns = rows.shape[1] - count
    result = np.zeros((len(rows), width + count))
    result[:, :columns], result[:, width:] = rows[:, :columns], rows[:, columns:]
    return result


def _residual(sizes: Sequence[int], rows: Sequence[StageRows], result: Sequence[Array]) -> float:
    """Return the largest residual of the equations; infinite if an unknown is not finite."""
    largest = 0.0
    for first, A, b in rows:
        x = np.vstack([b[:0], *result[first : first + 3]])[: A.shape[1]]
        largest = max(largest, float(np.abs(A @ x - b).max(initial=0.0)))
    return largest if np.isfinite(largest) else np.inf


def _least_squares(sizes: Sequence[int], rows: Sequence[StageRows]) -> list[Array]:
    """Return the least-squares solution of all equations as one system, for each stage.

    It also solves dependent equations.
    """
    starts = np.concatenate([[0], np.cumsum(sizes)])
    A, b = np.zeros((sum(len(row.A) for row in rows), starts[-1])), np.vstack([row.b for row in rows])
    start = 0
    for row in rows:
        A[start : start + len(row.A), starts[row.first] : starts[row.first] + row.A.shape[1]] = row.A
        start += len(row.A)
    x = np.linalg.lstsq(A, b, rcond=_DEPENDENT)[0]
    return [x[a:b] for a, b in pairwise(starts)]
