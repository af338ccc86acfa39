"""Linear equations of stages that hang together with the next ones alone, by orthogonal elimination, stage by stage.

Equations are as many as unknowns, or more: then their squares are least.  What no equation determines is least, too.

Source: Golub and Van Loan, Matrix Computations, 4th ed., 2013, section 5.3 (least squares), applied to a band.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

__all__ = ["StageRows", "stages_solved"]

Array = np.ndarray[Any, Any]

_DEPENDENT = 1e-12  # of the largest singular value of a stage: what determines nothing
_FINE = 1e-8  # what is left of equations, of their right sides


class StageRows(NamedTuple):
    """A (x_k; x_{k+1}; ...) = b from the unknowns of a stage on, of which A has as many columns as it needs."""

    first: int
    A: Array
    b: Array  # (rows, right sides)


def stages_solved(sizes: Sequence[int], rows: Sequence[StageRows]) -> list[Array]:
    """The unknowns of each stage (size, right sides).  Rows reach over three stages at most."""
    result = _eliminated(sizes, rows)
    scale = 1.0 + max((np.abs(row.b).max(initial=0.0) for row in rows), default=0.0)
    square = sum(len(row.A) for row in rows) == sum(sizes)
    if square and not _left(sizes, rows, result) <= _FINE * scale:
        result = _least(sizes, rows)
    return result


def _eliminated(sizes: Sequence[int], rows: Sequence[StageRows]) -> list[Array]:
    T, many = len(sizes), rows[0].b.shape[-1] if rows else 0
    carried, kept = np.zeros((0, many)), []
    for k in range(T):
        n, width = sizes[k], sum(sizes[k : k + 3])
        own = [_wide(carried, width, many)]
        own += [_wide(np.hstack([row.A, row.b]), width, many) for row in rows if row.first == k]
        R: Array = np.asarray(np.linalg.qr(np.vstack(own), mode="r"))
        R = np.vstack([R, np.zeros((max(n - len(R), 0), width + many))])
        kept.append((R[:n, :n], R[:n, n:width], R[:n, width:]))
        carried = R[n:width, n:]
    result: list[Array] = [np.zeros((0, many))] * T
    for k in reversed(range(T)):
        R, more, right = kept[k]
        later = np.vstack([np.zeros((0, many)), *result[k + 1 : k + 3]])
        result[k] = np.linalg.lstsq(R, right - more @ later, rcond=_DEPENDENT)[0]
    return result


def _wide(rows: Array, width: int, many: int) -> Array:
    """Rows with their right sides, of so many unknowns."""
    columns = rows.shape[1] - many
    result = np.zeros((len(rows), width + many))
    result[:, :columns], result[:, width:] = rows[:, :columns], rows[:, columns:]
    return result


def _left(sizes: Sequence[int], rows: Sequence[StageRows], result: Sequence[Array]) -> float:
    """What is left of the equations at most; infinite where unknowns are no numbers."""
    left = 0.0
    for first, A, b in rows:
        x = np.vstack([b[:0], *result[first : first + 3]])[: A.shape[1]]
        left = max(left, float(np.abs(A @ x - b).max(initial=0.0)))
    return left if np.isfinite(left) else np.inf


def _least(sizes: Sequence[int], rows: Sequence[StageRows]) -> list[Array]:
    """By all equations at once, where some depend on others."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    A, b = np.zeros((sum(len(row.A) for row in rows), starts[-1])), np.vstack([row.b for row in rows])
    start = 0
    for row in rows:
        A[start : start + len(row.A), starts[row.first] : starts[row.first] + row.A.shape[1]] = row.A
        start += len(row.A)
    x = np.linalg.lstsq(A, b, rcond=_DEPENDENT)[0]
    return [x[a:b] for a, b in pairwise(starts)]
