"""Table of scalar operations: functions over any scalar, one entry each, with all their properties.

``sin(x)`` dispatches on the type of ``x``: Python floats, NumPy arrays (a batch), linkwork's symbols, CasADi's, JAX
arrays.  Algorithms written with these functions and ``+ - * /`` therefore run on all of these types, and are traced by
running them on symbols.  Object arrays, which a traced function receives, are processed element by element.

An entry has the operation's implementation on NumPy arrays and on floats, its partial derivatives by each argument
(over any scalar; they receive the arguments and the result), its lowering to machine code, and the further properties
of `linkwork.expr.scalar.operations.Operation`.  To add an operation, add an entry.

Functions without an entry are compositions of these (`expm1`, `log1p`, the inverse hyperbolic functions, `fmod`, ...).
Each is accurate where the plain formula is not: near zero, where digits cancel, and at extreme arguments, where
intermediate results overflow.  The stated errors are relative and in units of eps = 2⁻⁵², measured against exact
values.  All functions follow IEEE 754 and C at the special values: signed zeros, infinities, NaN, and arguments outside
the domain, which give NaN.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from linkwork.expr.scalar.operations import Lowering, Operation, f, operation
from linkwork.expr.scalar.operations import add as _add

__all__ = ["ceil", "remainder"]


Scalar = Any  # any scalar type, which no static type expresses


def _zeros(*arguments: Any) -> tuple[Any, ...]:
    return (0.0,) * (len(arguments) - 1)


def _complement(x: Any) -> Any:
    return f.sqrt((1.0 - x) * (1.0 + x))  # √(1 − x²), accurate near ±1


# -- leaves: inputs and constants
for _leaf in ("input", "constant"):
    _add(Operation(_leaf, 0, _zeros, _zeros, None, Lowering("none")))


# -- arithmetic, written with Python's operators; on floats IEEE 754 (1/0 is infinite)
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


# -- piecewise functions; at a kink the derivative is between those of the two sides
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
    """Largest integer <= ``x``."""


@operation(np.copysign, math.copysign, lambda x, y, r: (f.sign(x) * f.copysign(1.0, y), 0.0), "llvm.copysign")
def copysign(x: Scalar, y: Scalar) -> Scalar:
    """Magnitude of ``x`` with the sign of ``y``."""


@operation(
    np.fmin,
    lambda x, y: float(np.fmin(x, y)),
    lambda x, y, r: (f.where(x <= y, 1.0, 0.0), f.where(x <= y, 0.0, 1.0)),
    "llvm.minnum",
    commutative=True,
    selects=True,
)
def fmin(x: Scalar, y: Scalar) -> Scalar:
    """Smaller of two numbers; for a number and NaN, the number."""


@operation(
    np.fmax,
    lambda x, y: float(np.fmax(x, y)),
    lambda x, y, r: (f.where(y <= x, 1.0, 0.0), f.where(y <= x, 0.0, 1.0)),
    "llvm.maxnum",
    commutative=True,
    selects=True,
)
def fmax(x: Scalar, y: Scalar) -> Scalar:
    """Larger of two numbers; for a number and NaN, the number."""


# -- truth values, and selection between two numbers
@operation(np.equal, operator.eq, None, "fcmp oeq", gives="t", commutative=True)
def eq(x: Scalar, y: Scalar) -> Scalar:
    """True where ``x == y``."""


@operation(np.less, operator.lt, None, "fcmp olt", gives="t")
def lt(x: Scalar, y: Scalar) -> Scalar:
    """True where ``x < y``."""


@operation(np.less_equal, operator.le, None, "fcmp ole", gives="t")
def le(x: Scalar, y: Scalar) -> Scalar:
    """True where ``x <= y``."""


@operation(
    np.logical_and, lambda x, y: x and y, None, "and", kinds="tt", gives="t", commutative=True, casadi="logic_and"
)
def and_(x: Scalar, y: Scalar) -> Scalar:
    """True where both truth values are true."""


@operation(np.logical_or, lambda x, y: x or y, None, "or", kinds="tt", gives="t", commutative=True, casadi="logic_or")
def or_(x: Scalar, y: Scalar) -> Scalar:
    """True where at least one truth value is true."""


@operation(np.logical_not, operator.not_, None, "@not", kinds="t", gives="t", casadi="logic_not")
def not_(x: Scalar) -> Scalar:
    """Negation of a truth value."""


@operation(
    np.where,
    lambda condition, x, y: x if condition else y,
    lambda condition, x, y, r: (0.0, f.where(condition, 1.0, 0.0), f.where(condition, 0.0, 1.0)),
    "@where",
    kinds="tnn",
    selects=True,
    casadi="if_else",
)
def where(condition: Scalar, x: Scalar, y: Scalar) -> Scalar:
    """``x`` where the condition is true, else ``y``.

    Both are evaluated, so both must be defined everywhere.
    """


_LARGE = 2.0**28  # 1 + x² rounds to x² beyond
_MAX_QUOTIENT = 2.0**53  # quotients below are integers exact in float64
_LOG2 = math.log(2.0)


def ceil(x: Any) -> Any:
    """Return the smallest integer >= ``x``."""
    return -floor(-x)


def log1p(x: Any) -> Any:
    """Return log(1 + x), within 2 eps.

    log(u)·x/(u − 1) corrects the rounding of u = 1 + x.
    """
    u = 1.0 + x
    part = u - 1.0
    corrected = log(u) * div(x, part)
    return where(eq(u, 1.0), x, where(eq(part, x), log(u), corrected))


def expm1(x: Any) -> Any:
    """Return exp(x) − 1, within 2 eps; near zero as (u − 1)·x/log(u) with the rounded u = exp(x)."""
    u = exp(x)
    part = u - 1.0
    corrected = part * div(x, log(u))
    return where(lt(0.5, fabs(x)), part, where(eq(u, 1.0), x, corrected))


def asinh(x: Any) -> Any:
    """Inverse hyperbolic sine, within 3 eps."""
    a = fabs(x)
    near = log1p(a + div(a * a, 1.0 + sqrt(1.0 + a * a)))
    return copysign(where(lt(a, _LARGE), near, log(a) + _LOG2), x)


def acosh(x: Any) -> Any:
    """Inverse hyperbolic cosine, within 3 eps."""
    t = x - 1.0
    near = log1p(t + sqrt(t) * sqrt(t + 2.0))
    return where(lt(x, _LARGE), near, log(x) + _LOG2)


def atanh(x: Any) -> Any:
    """Inverse hyperbolic tangent, within 3 eps."""
    a = fabs(x)
    return copysign(0.5 * log1p(div(2.0 * a, 1.0 - a)), x)


def fmod(x: Any, y: Any) -> Any:
    """Return the remainder of ``x / y`` with the sign of ``x``, as C's fmod.

    Exact for |x/y| < 2⁵³, and NaN beyond, where neighbouring values of ``x`` are further apart than ``y``.
    """
    return copysign(_rest(fabs(x), fabs(y)), x)


def remainder(x: Any, y: Any) -> Any:
    """Return ``x`` minus the nearest multiple of ``y``, the even one for a tie: IEEE 754's remainder.

    Exact for |x/y| < 2⁵⁴, and NaN beyond.
    """
    b = fabs(y)
    rest = _rest(fabs(x), b + b)  # in [0, 2b], where the differences below are exact
    once = rest - b
    twice = where(le(b - once, once), once - b, once)
    # for an infinite b the first condition below is false, so nothing is subtracted
    return copysign(1.0, x) * where(lt(b - rest, rest), twice, rest)


def _rest(a: Any, b: Any) -> Any:
    """Return the remainder of a / b for a, b >= 0, as C's fmod.

    The quotient q, rounded and floored, is correct or one too large.  q·b is a sum of four exact products of halves,
    and subtracting them one after the other is exact as well.
    """
    large = lt(2.0**900, a)
    scale = where(large, 2.0**-100, 1.0)
    dividend, divisor = a * scale, b * scale  # avoids overflow below
    q = floor(div(dividend, divisor))
    q1, q2 = _halves(q)
    b1, b2 = _halves(divisor)
    rest = dividend - q1 * b1 - q1 * b2 - q2 * b1 - q2 * b2
    rest = where(lt(rest, 0.0), rest + divisor, rest)
    rest = where(large, rest * 2.0**100, rest)
    return where(lt(a, b), a, where(lt(q, _MAX_QUOTIENT), rest, math.nan))


def _halves(x: Any) -> tuple[Any, Any]:
    """Return two summands of ``x`` with at most 26 bits each.

    The scaled number is exact before ``x`` is added, so fusing product and sum does not change the rounding.
    """
    shifted = x * 2.0**27 + x
    upper = shifted - (shifted - x)
    return upper, x - upper
