"""Small dense linear algebra over any scalar: arrays of floats, batches, symbols, dual numbers.

docs/linear_algebra.md has the equations, the choices, the accuracy and what each function costs.
"""

from .cholesky import cholesky
from .ldl import ldl, ltdl
from .lu import lu
from .solving import solve, solve_triangular

__all__ = ["cholesky", "ldl", "ltdl", "lu", "solve", "solve_triangular"]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
