"""Mathematics over any scalar: the same functions work on symbols, floats and arrays.

docs/expressions.md explains the use, with a table of the functions.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.expr import linalg, optimize
    from linkwork.expr.arrays.symbol_array import array
    from linkwork.expr.autodiff.graph_derivative import adjoint, jacobian, tangent
    from linkwork.expr.control import WhileResult, call, cond, fori_loop, put, scan, take, while_loop
    from linkwork.expr.equations import Root, fixed_point, root
    from linkwork.expr.scalar.functions import (
        acos,
        and_,
        asin,
        atan,
        atan2,
        copysign,
        cos,
        cosh,
        eq,
        exp,
        fabs,
        floor,
        fmax,
        fmin,
        hypot,
        le,
        log,
        lt,
        not_,
        or_,
        pow,
        sign,
        sin,
        sinh,
        sqrt,
        tan,
        tanh,
        where,
    )

__all__ = [
    "Root",
    "WhileResult",
    "acos",
    "adjoint",
    "and_",
    "array",
    "asin",
    "atan",
    "atan2",
    "call",
    "cond",
    "copysign",
    "cos",
    "cosh",
    "eq",
    "exp",
    "fabs",
    "fixed_point",
    "floor",
    "fmax",
    "fmin",
    "fori_loop",
    "hypot",
    "jacobian",
    "le",
    "linalg",
    "log",
    "lt",
    "not_",
    "optimize",
    "or_",
    "pow",
    "put",
    "root",
    "scan",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "take",
    "tan",
    "tangent",
    "tanh",
    "where",
    "while_loop",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(
        __name__,
        __all__,
        {
            "linkwork.expr.arrays.symbol_array": "array",
            "linkwork.expr.autodiff.graph_derivative": "adjoint jacobian tangent",
            "linkwork.expr.control": "WhileResult call cond fori_loop put scan take while_loop",
            "linkwork.expr.equations": "Root fixed_point root",
            "linkwork.expr.scalar.functions": (
                "acos and_ asin atan atan2 copysign cos cosh eq exp fabs floor fmax fmin hypot le log lt "
                "not_ or_ pow sign sin sinh sqrt tan tanh where"
            ),
        },
        modules="linalg optimize",
    )
