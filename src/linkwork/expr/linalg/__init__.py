"""Small dense linear algebra over any scalar: arrays of floats, batches, symbols, dual numbers.

docs/linear_algebra.md has the equations, the choices, the accuracy and the cost of each function.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.expr.linalg.householder_qr import QRResult as QRResult
    from linkwork.expr.linalg.householder_qr import qr as qr
    from linkwork.expr.linalg.jacobi_eigen import EighResult as EighResult
    from linkwork.expr.linalg.jacobi_eigen import eigh as eigh
    from linkwork.expr.linalg.jacobi_eigen import eigvalsh as eigvalsh
    from linkwork.expr.linalg.least_squares import lstsq as lstsq
    from linkwork.expr.linalg.linear_solve import SlogdetResult as SlogdetResult
    from linkwork.expr.linalg.linear_solve import det as det
    from linkwork.expr.linalg.linear_solve import inv as inv
    from linkwork.expr.linalg.linear_solve import slogdet as slogdet
    from linkwork.expr.linalg.linear_solve import solve as solve
    from linkwork.expr.linalg.linear_solve import solve_triangular as solve_triangular
    from linkwork.expr.linalg.singular_values import SVDResult as SVDResult
    from linkwork.expr.linalg.singular_values import pinv as pinv
    from linkwork.expr.linalg.singular_values import svd as svd
    from linkwork.expr.linalg.singular_values import svdvals as svdvals
    from linkwork.expr.linalg.triangular_factors import cholesky as cholesky
    from linkwork.expr.linalg.triangular_factors import ldl as ldl
    from linkwork.expr.linalg.triangular_factors import ltdl as ltdl
    from linkwork.expr.linalg.triangular_factors import lu as lu


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.expr.linalg.householder_qr": "QRResult qr",
            "linkwork.expr.linalg.jacobi_eigen": "EighResult eigh eigvalsh",
            "linkwork.expr.linalg.least_squares": "lstsq",
            "linkwork.expr.linalg.linear_solve": "SlogdetResult det inv slogdet solve solve_triangular",
            "linkwork.expr.linalg.singular_values": "SVDResult pinv svd svdvals",
            "linkwork.expr.linalg.triangular_factors": "cholesky ldl ltdl lu",
        },
    )
