"""Functions of numpy.linalg on arrays of symbols, with NumPy's arguments.

Unsupported options raise an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.expr import linalg
from linkwork.expr.arrays.symbol_array import scalars
from linkwork.expr.linalg.householder_qr import QRResult
from linkwork.expr.linalg.jacobi_eigen import EighResult
from linkwork.expr.linalg.linear_solve import SlogdetResult
from linkwork.expr.linalg.singular_values import SVDResult

__all__ = ["cholesky", "det", "eigh", "eigvalsh", "inv", "pinv", "qr", "slogdet", "solve", "svd", "svdvals"]


def solve(a: Any, b: Any) -> Any:
    """Return the x of a x = b, as numpy.linalg.solve.

    A one-dimensional ``b`` is a vector. Any other one is a matrix, or a batch of matrices.
    """
    matrices, right = scalars(a), scalars(b)
    if (
        right.ndim > 1 and right.ndim == matrices.ndim - 1
    ):  # matrices for a batch, which `linalg.solve` would treat as vectors
        return linalg.solve(matrices, np.broadcast_to(right, (*matrices.shape[:-2], *right.shape[-2:])))
    return linalg.solve(matrices, right)


def inv(a: Any) -> Any:
    """Return the inverse of matrices, as numpy.linalg.inv."""
    return linalg.inv(a)


def det(a: Any) -> Any:
    """Return the determinant of matrices, as numpy.linalg.det."""
    return linalg.det(a)


def slogdet(a: Any) -> SlogdetResult:
    """Return the sign and the logarithm of the absolute value of the determinant, as numpy.linalg.slogdet."""
    return linalg.slogdet(a)


def cholesky(a: Any, *, upper: bool = False) -> Any:
    """Return the Cholesky factor of a symmetric positive definite matrix, as numpy.linalg.cholesky."""
    if not upper:
        return linalg.cholesky(a)
    return linalg.cholesky(scalars(a).swapaxes(-1, -2)).swapaxes(-1, -2)


def qr(a: Any, mode: str = "reduced") -> QRResult:
    """Return Q and R of a matrix, as numpy.linalg.qr with mode="reduced"."""
    _only("qr", mode=(mode, "reduced"))
    return linalg.qr(a)


def eigh(a: Any, UPLO: str = "L") -> EighResult:
    """Return the eigenvalues and eigenvectors of a symmetric matrix, as numpy.linalg.eigh."""
    return linalg.eigh(_lower(a, UPLO))


def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """Return the eigenvalues of a symmetric matrix, as numpy.linalg.eigvalsh."""
    return linalg.eigvalsh(_lower(a, UPLO))


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> SVDResult | Any:
    """Return numpy.linalg.svd; for matrices that are not square, with full_matrices=False only."""
    _only("svd", hermitian=(hermitian, False))
    if not compute_uv:
        return linalg.svdvals(a)
    shape = scalars(a).shape
    if shape[-2:-1] != shape[-1:]:
        _only("svd", full_matrices=(full_matrices, False))
    return linalg.svd(a)


def svdvals(x: Any, /) -> Any:
    """Return the singular values of a matrix, as numpy.linalg.svdvals."""
    return linalg.svdvals(x)


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """Return numpy.linalg.pinv, with the default tolerance of `linkwork.expr.linalg.pinv`."""
    _only("pinv", hermitian=(hermitian, False))
    return linalg.pinv(a, rtol=rcond if rtol is None else rtol)


def _lower(a: Any, half: str) -> Any:
    """Return a matrix whose lower triangle has the elements of one triangle of the symmetric matrix ``a``.

    ``half`` is the triangle that is read: "L" (lower) or "U" (upper).
    """
    if half.upper() not in ("L", "U"):
        raise ValueError(f"UPLO: expected 'L' or 'U', got {half!r}")
    return a if half.upper() == "L" else scalars(a).swapaxes(-1, -2)


def _only(function: str, **options: tuple[Any, Any]) -> None:
    """Raise TypeError if an option has an unsupported value."""
    for name, (got, known) in options.items():
        if got != known:
            raise TypeError(f"np.linalg.{function}: {name}: expected {known!r} on symbols, got {got!r}")
