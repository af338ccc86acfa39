"""Optimization over any scalar: convex quadratic programs."""

from linkwork.expr.optimize.convex_qp import QuadraticSolution, quadratic_program

__all__ = ["QuadraticSolution", "quadratic_program"]


def __dir__() -> list[str]:
    """Return the documented names."""
    return sorted(__all__)
