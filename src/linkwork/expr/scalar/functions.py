"""The table of scalar operations, a row each: functions over any scalar, and all that is known of them.

``sin(x)`` looks at what ``x`` is and calls what that kind of number calls its sine: Python floats, NumPy arrays (a
batch), our symbols, CasADi's, JAX arrays.  Algorithms written with these functions and ``+ - * /`` therefore run on all
of them, and are traced by running them on symbols.  Arrays of objects, as a traced function gets them, are taken
element by element.

A row has the operation's value on NumPy arrays, its value on floats, its partial derivatives by each argument (over
any scalar; they receive the arguments and the result), and how it lowers to machine code; and further facts, which
`linkwork.expr.scalar.operations.Operation` lists.  To add an operation, add a row.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from linkwork.expr.scalar.operations import Lowering, Operation, f, operation
from linkwork.expr.scalar.operations import add as _add

Scalar = Any  # "any scalar": no static type says it


def _zeros(*arguments: Any) -> tuple[Any, ...]:
    return (0.0,) * (len(arguments) - 1)


def _complement(x: Any) -> Any:
    return f.sqrt((1.0 - x) * (1.0 + x))  # √(1 − x²), good to the last digits beside ±1 too


# -- leaves: no value of their own

for _leaf in ("input", "constant"):
    _add(Operation(_leaf, 0, _zeros, _zeros, None, Lowering("none")))


# -- arithmetic, which is written by Python's operators; on floats, these are IEEE's (1/0 is infinite)


@operation(np.negative, operator.neg, lambda x, r: (-1.0,), "fneg", composition=operator.neg)
def neg(x: Scalar) -> Scalar:
    """``-x``."""


@operation(np.add, operator.add, lambda x, y, r: (1.0, 1.0), "fadd", commutative=True, composition=operator.add)
def add(x: Scalar, y: Scalar) -> Scalar:
    """``x + y``."""


@operation(np.subtract, operator.sub, lambda x, y, r: (1.0, -1.0), "fsub", composition=operator.sub)
def sub(x: Scalar, y: Scalar) -> Scalar:
    """``x - y``."""


@operation(np.multiply, operator.mul, lambda x, y, r: (y, x), "fmul", commutative=True, composition=operator.mul)
def mul(x: Scalar, y: Scalar) -> Scalar:
    """``x * y``."""


@operation(
    np.divide,
    operator.truediv,
    lambda x, y, r: (1.0 / y, -r / y),
    "fdiv",
    composition=operator.truediv,
    domain=((-3.0, 3.0), (0.2, 3.0)),
)
def div(x: Scalar, y: Scalar) -> Scalar:
    """``x / y``."""


# -- roots, powers, exponentials


@operation(np.sqrt, math.sqrt, lambda x, r: (0.5 / r,), "llvm.sqrt", domain=((0.05, 9.0),))
def sqrt(x: Scalar) -> Scalar:
    """Square root."""


@operation(np.exp, math.exp, lambda x, r: (r,), "@exp", domain=((-5.0, 5.0),))
def exp(x: Scalar) -> Scalar:
    """Exponential."""


@operation(np.log, math.log, lambda x, r: (1.0 / x,), "@log", domain=((0.05, 9.0),))
def log(x: Scalar) -> Scalar:
    """Natural logarithm."""


@operation(
    np.power,
    math.pow,
    lambda x, y, r: (y * f.pow(x, y - 1.0), f.where(x > 0.0, r * f.log(f.where(x > 0.0, x, 1.0)), 0.0)),
    "@pow",
    casadi="power",
    domain=((0.1, 4.0), (-3.0, 3.0)),
)
def pow(x: Scalar, y: Scalar) -> Scalar:
    """``x`` to the power ``y``."""


@operation(
    np.hypot, math.hypot, lambda x, y, r: (x / r, y / r), "@hypot", commutative=True, domain=((-3.0, 3.0), (0.1, 3.0))
)
def hypot(x: Scalar, y: Scalar) -> Scalar:
    """Length of the vector (x, y), without overflow."""


# -- circular functions


@operation(np.sin, math.sin, lambda x, r: (f.cos(x),), "@sin", odd=True, domain=((-9.0, 9.0),))
def sin(x: Scalar) -> Scalar:
    """Sine of an angle [rad]."""


@operation(np.cos, math.cos, lambda x, r: (-f.sin(x),), "@cos", even=True, domain=((-9.0, 9.0),))
def cos(x: Scalar) -> Scalar:
    """Cosine of an angle [rad]."""


@operation(np.tan, math.tan, lambda x, r: (1.0 + r * r,), "@tan", odd=True, domain=((-1.4, 1.4),))
def tan(x: Scalar) -> Scalar:
    """Tangent of an angle [rad]."""


@operation(np.arcsin, math.asin, lambda x, r: (1.0 / _complement(x),), "@asin", odd=True, domain=((-0.9, 0.9),))
def asin(x: Scalar) -> Scalar:
    """Inverse sine [rad], in [-π/2, π/2]."""


@operation(np.arccos, math.acos, lambda x, r: (-1.0 / _complement(x),), "@acos", domain=((-0.9, 0.9),))
def acos(x: Scalar) -> Scalar:
    """Inverse cosine [rad], in [0, π]."""


@operation(np.arctan, math.atan, lambda x, r: (1.0 / (1.0 + x * x),), "@atan", odd=True, domain=((-5.0, 5.0),))
def atan(x: Scalar) -> Scalar:
    """Inverse tangent [rad], in [-π/2, π/2]."""


@operation(np.arctan2, math.atan2, lambda y, x, r: (x / (x * x + y * y), -y / (x * x + y * y)), "@atan2")
def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Angle [rad] of the point (x, y), in [-π, π]."""


# -- hyperbolic functions


@operation(np.sinh, math.sinh, lambda x, r: (f.cosh(x),), "@sinh", odd=True)
def sinh(x: Scalar) -> Scalar:
    """Hyperbolic sine."""


@operation(np.cosh, math.cosh, lambda x, r: (f.sinh(x),), "@cosh", even=True)
def cosh(x: Scalar) -> Scalar:
    """Hyperbolic cosine."""


@operation(np.tanh, math.tanh, lambda x, r: (1.0 - r * r,), "@tanh", odd=True)
def tanh(x: Scalar) -> Scalar:
    """Hyperbolic tangent."""


# -- piecewise functions; at a kink the derivative is one between those of the two sides


@operation(
    np.abs,
    abs,
    lambda x, r: (f.sign(x),),
    "llvm.fabs",
    name="abs",
    even=True,
    arrays=("abs", "absolute", "fabs"),
    casadi="fabs",
)
def fabs(x: Scalar) -> Scalar:
    """Absolute value."""


@operation(np.sign, lambda x: x if x != x else float((x > 0.0) - (x < 0.0)), _zeros, "@sign", odd=True)
def sign(x: Scalar) -> Scalar:
    """-1, 0 or 1, as ``x`` is negative, zero or positive."""


@operation(np.floor, lambda x: math.copysign(math.floor(x), x), _zeros, "llvm.floor")
def floor(x: Scalar) -> Scalar:
    """Largest whole number that is not above ``x``."""


@operation(np.copysign, math.copysign, lambda x, y, r: (f.sign(x) * f.copysign(1.0, y), 0.0), "llvm.copysign")
def copysign(x: Scalar, y: Scalar) -> Scalar:
    """The magnitude of ``x`` with the sign of ``y``."""


@operation(
    np.fmin,
    lambda x, y: float(np.fmin(x, y)),
    lambda x, y, r: (f.where(x <= y, 1.0, 0.0), f.where(x <= y, 0.0, 1.0)),
    "llvm.minnum",
    commutative=True,
)
def fmin(x: Scalar, y: Scalar) -> Scalar:
    """The smaller of two numbers; of a number and NaN, the number."""


@operation(
    np.fmax,
    lambda x, y: float(np.fmax(x, y)),
    lambda x, y, r: (f.where(y <= x, 1.0, 0.0), f.where(y <= x, 0.0, 1.0)),
    "llvm.maxnum",
    commutative=True,
)
def fmax(x: Scalar, y: Scalar) -> Scalar:
    """The larger of two numbers; of a number and NaN, the number."""


# -- truth values, and the choice between two numbers


@operation(np.equal, operator.eq, None, "fcmp oeq", gives="t", commutative=True)
def eq(x: Scalar, y: Scalar) -> Scalar:
    """Whether two numbers are equal."""


@operation(np.less, operator.lt, None, "fcmp olt", gives="t")
def lt(x: Scalar, y: Scalar) -> Scalar:
    """Whether ``x < y``."""


@operation(np.less_equal, operator.le, None, "fcmp ole", gives="t")
def le(x: Scalar, y: Scalar) -> Scalar:
    """Whether ``x <= y``."""


@operation(
    np.logical_and, lambda x, y: x and y, None, "and", kinds="tt", gives="t", commutative=True, casadi="logic_and"
)
def and_(x: Scalar, y: Scalar) -> Scalar:
    """Whether both truth values hold."""


@operation(np.logical_or, lambda x, y: x or y, None, "or", kinds="tt", gives="t", commutative=True, casadi="logic_or")
def or_(x: Scalar, y: Scalar) -> Scalar:
    """Whether one truth value, or both, holds."""


@operation(np.logical_not, operator.not_, None, "@not", kinds="t", gives="t", casadi="logic_not")
def not_(x: Scalar) -> Scalar:
    """Whether a truth value does not hold."""


@operation(
    np.where,
    lambda condition, x, y: x if condition else y,
    lambda condition, x, y, r: (0.0, f.where(condition, 1.0, 0.0), f.where(condition, 0.0, 1.0)),
    "@where",
    kinds="tnn",
    casadi="if_else",
)
def where(condition: Scalar, x: Scalar, y: Scalar) -> Scalar:
    """``x`` where the condition holds, else ``y``.  Both are evaluated, so both must be defined everywhere."""
