"""Small dense linear algebra over any scalar: arrays of floats, batches, symbols, dual numbers.

docs/linear_algebra.md has the equations, the choices, the accuracy and what each function costs.
"""

from .cholesky import cholesky
from .determinant import det, slogdet
from .eigen import eigh, eigvalsh
from .inverse import inv
from .ldl import ldl, ltdl
from .least_squares import lstsq
from .lu import lu
from .pseudoinverse import pinv
from .qr import qr
from .singular import svd, svdvals
from .solving import solve, solve_triangular

__all__ = [
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
    """The documented names."""
    return sorted(__all__)
