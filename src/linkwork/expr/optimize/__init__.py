"""Optimization over any scalar: convex quadratic programs."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.expr.optimize.convex_qp import QuadraticSolution as QuadraticSolution
    from linkwork.expr.optimize.convex_qp import quadratic_program as quadratic_program


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.expr.optimize.convex_qp": "QuadraticSolution quadratic_program",
        },
    )
