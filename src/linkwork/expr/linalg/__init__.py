"""Small dense linear algebra over any scalar: arrays of floats, batches, symbols, dual numbers.

docs/linear_algebra.md has the equations, the choices, the accuracy and the cost of each function.
"""

from linkwork.expr.linalg.jacobi_eigen import EighResult, eigh, eigvalsh
from linkwork.expr.linalg.least_squares import QRResult, lstsq, qr
from linkwork.expr.linalg.linear_solve import SlogdetResult, det, inv, slogdet, solve, solve_triangular
from linkwork.expr.linalg.singular_values import SVDResult, pinv, svd, svdvals
from linkwork.expr.linalg.triangular_factors import cholesky, ldl, ltdl, lu

__all__ = [
    "EighResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "det",
    "eigh",
    "eigvalsh",
    "inv",
    "ldl",
    "lstsq",
    "ltdl",
    "lu",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
]


def __dir__() -> list[str]:
    """Return the documented names."""
    return sorted(__all__)
