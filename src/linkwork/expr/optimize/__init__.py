"""Optimization over any scalar: convex quadratic programs."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.expr.optimize.convex_qp import QuadraticSolution, quadratic_program

__all__ = ["QuadraticSolution", "quadratic_program"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(
        __name__,
        __all__,
        {
            "linkwork.expr.optimize.convex_qp": "QuadraticSolution quadratic_program",
        },
    )
