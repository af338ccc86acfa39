"""Small dense linear algebra over any scalar: arrays of floats, batches, symbols, dual numbers.

docs/linear_algebra.md has the equations, the choices, the accuracy and the cost of each function.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.expr.linalg.householder_qr import QRResult, qr
    from linkwork.expr.linalg.jacobi_eigen import EighResult, eigh, eigvalsh
    from linkwork.expr.linalg.least_squares import lstsq
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

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(
        __name__,
        __all__,
        {
            "linkwork.expr.linalg.householder_qr": "QRResult qr",
            "linkwork.expr.linalg.jacobi_eigen": "EighResult eigh eigvalsh",
            "linkwork.expr.linalg.least_squares": "lstsq",
            "linkwork.expr.linalg.linear_solve": "SlogdetResult det inv slogdet solve solve_triangular",
            "linkwork.expr.linalg.singular_values": "SVDResult pinv svd svdvals",
            "linkwork.expr.linalg.triangular_factors": "cholesky ldl ltdl lu",
        },
    )
