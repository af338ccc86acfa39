"""Spans of vectors and their ranks, by the gap between what counts and what is rounding."""

from __future__ import annotations

import numpy as np

__all__ = ["complement", "independent", "rank_of", "reduced"]

_ROUNDING = 1e-9  # relative to the largest: what is less is rounding


def rank_of(A: np.ndarray, size: float = 0.0) -> tuple[int, float]:
    """The rank of a matrix, and the ratio of the last singular value that counts and the first that does not.

    ``size`` is how large the matrix could have been.
    """
    if not A.size:
        return 0, np.inf
    values = np.linalg.svd(A, compute_uv=False)
    largest = max(float(values[0]), size)
    rank = int((values > _ROUNDING * largest).sum())
    rest = float(values[rank]) if rank < len(values) else 0.0
    if rank == 0 or rest == 0.0:
        return rank, np.inf
    return rank, float(values[rank - 1]) / rest


def complement(A: np.ndarray, size: float = 0.0) -> np.ndarray:
    """An orthonormal basis of the vectors that the rows take to zero, as columns; ``size`` is as of `rank_of`."""
    if not A.size:
        return np.eye(A.shape[1])
    rank, _ = rank_of(A, size)
    basis: np.ndarray = np.linalg.svd(A)[2][rank:].T
    return basis


def independent(rows: np.ndarray) -> list[int]:
    """The first rows that do not depend on those before them."""
    chosen: list[int] = []
    basis = np.zeros((rows.shape[1], 0))
    largest = float(np.linalg.norm(rows, axis=1).max()) if rows.size else 0.0
    for k, row in enumerate(rows):
        rest = row - basis @ (basis.T @ row)
        rest -= basis @ (basis.T @ rest)
        if np.linalg.norm(rest) > _ROUNDING * largest:
            basis = np.column_stack([basis, rest / np.linalg.norm(rest)])
            chosen.append(k)
    return chosen


def reduced(rows: np.ndarray) -> np.ndarray:
    """The same span by rows in reduced echelon form: a unit vector that is in it is one of its rows."""
    A = np.array(rows, dtype=float)
    done = 0
    for column in range(A.shape[1]):
        if done == len(A):
            break
        pivot = done + int(np.argmax(np.abs(A[done:, column])))
        if abs(A[pivot, column]) < 1e-7:
            A[done:, column] = 0.0
            continue
        A[[done, pivot]] = A[[pivot, done]]
        A[done] /= A[done, column]
        others = np.arange(len(A)) != done
        A[others] -= np.outer(A[others, column], A[done])
        done += 1
    return np.where(np.abs(A) < 1e-9, 0.0, A)
