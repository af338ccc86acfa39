"""Mathematics over any scalar: the same functions work on symbols, floats and arrays.

docs/expressions.md explains the use, with a table of the functions.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.expr import linalg as linalg
    from linkwork.expr import optimize as optimize
    from linkwork.expr.arrays.symbol_array import array as array
    from linkwork.expr.autodiff.graph_derivative import adjoint as adjoint
    from linkwork.expr.autodiff.graph_derivative import jacobian as jacobian
    from linkwork.expr.autodiff.graph_derivative import tangent as tangent
    from linkwork.expr.control import WhileResult as WhileResult
    from linkwork.expr.control import call as call
    from linkwork.expr.control import cond as cond
    from linkwork.expr.control import fori_loop as fori_loop
    from linkwork.expr.control import put as put
    from linkwork.expr.control import scan as scan
    from linkwork.expr.control import take as take
    from linkwork.expr.control import while_loop as while_loop
    from linkwork.expr.equations import Root as Root
    from linkwork.expr.equations import fixed_point as fixed_point
    from linkwork.expr.equations import root as root
    from linkwork.expr.scalar.functions import acos as acos
    from linkwork.expr.scalar.functions import and_ as and_
    from linkwork.expr.scalar.functions import asin as asin
    from linkwork.expr.scalar.functions import atan as atan
    from linkwork.expr.scalar.functions import atan2 as atan2
    from linkwork.expr.scalar.functions import copysign as copysign
    from linkwork.expr.scalar.functions import cos as cos
    from linkwork.expr.scalar.functions import cosh as cosh
    from linkwork.expr.scalar.functions import eq as eq
    from linkwork.expr.scalar.functions import exp as exp
    from linkwork.expr.scalar.functions import fabs as fabs
    from linkwork.expr.scalar.functions import floor as floor
    from linkwork.expr.scalar.functions import fmax as fmax
    from linkwork.expr.scalar.functions import fmin as fmin
    from linkwork.expr.scalar.functions import hypot as hypot
    from linkwork.expr.scalar.functions import le as le
    from linkwork.expr.scalar.functions import log as log
    from linkwork.expr.scalar.functions import lt as lt
    from linkwork.expr.scalar.functions import not_ as not_
    from linkwork.expr.scalar.functions import or_ as or_
    from linkwork.expr.scalar.functions import pow as pow
    from linkwork.expr.scalar.functions import sign as sign
    from linkwork.expr.scalar.functions import sin as sin
    from linkwork.expr.scalar.functions import sinh as sinh
    from linkwork.expr.scalar.functions import sqrt as sqrt
    from linkwork.expr.scalar.functions import tan as tan
    from linkwork.expr.scalar.functions import tanh as tanh
    from linkwork.expr.scalar.functions import where as where


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
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
