"""Table of scalar operations: functions over any scalar, one entry each, with all their properties.

``sin(x)`` dispatches on the type of ``x``: Python floats, NumPy arrays (a batch), linkwork's symbols, CasADi's, JAX
arrays.  Algorithms written with these functions and ``+ - * /`` therefore run on all of these types, and are traced by
running them on symbols.  Object arrays, which a traced function receives, are processed element by element.

An entry has the operation's implementation on NumPy arrays and on floats, and its lowering to machine code.  It has a
partial derivative with respect to each argument, a function over any scalar of the arguments and the result.  It also
has the further properties of `linkwork.expr.scalar.operations.Operation`.  To add an operation, add an entry.

A partial derivative is finite, and differentiable again, wherever the function is.  It has no branch that applies only
at single points, such as x = 0, except at kinks.  docs/expressions.md lists the kinks.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.operations import Lowering, Operation, f, operation
from linkwork.expr.scalar.operations import add as _add

__all__ = ["ceil", "remainder"]


Scalar = Any  # any scalar type, which no static type expresses

_LN2, _LN10 = math.log(2.0), math.log(10.0)
_LARGEST = float(np.finfo(np.float64).max)


def _zeros(*arguments: Any) -> tuple[Any, ...]:
    return (0.0,) * (len(arguments) - 1)


def _complement(x: Any) -> Any:
    return f.sqrt((1.0 - x) * (1.0 + x))  # √(1 − x²), accurate near ±1


def _over(x: Any, length: Any) -> Any:
    """Return ``x / length``, or 0 for length 0, where a vector's length is not differentiable."""
    zero = f.eq(length, 0.0)
    return f.where(zero, 0.0, f.div(x, f.where(zero, 1.0, length)))


# -- leaves: inputs and constants
for _leaf in ("input", "constant"):
    _add(Operation(_leaf, 0, _zeros, _zeros, None, Lowering("none")))


# -- arithmetic, written with Python's operators; on floats IEEE 754 (1/0 is infinite)
@operation(np.negative, operator.neg, lambda x, r: (-1.0,), "fneg", composition=operator.neg, bounded=True)
def neg(x: Scalar) -> Scalar:
    """``-x``."""


@operation(
    np.add, operator.add, lambda x, y, r: (1.0, 1.0), "fadd", commutative=True, composition=operator.add, bounded=True
)
def add(x: Scalar, y: Scalar) -> Scalar:
    """``x + y``."""


@operation(np.subtract, operator.sub, lambda x, y, r: (1.0, -1.0), "fsub", composition=operator.sub, bounded=True)
def sub(x: Scalar, y: Scalar) -> Scalar:
    """``x - y``."""


@operation(
    np.multiply, operator.mul, lambda x, y, r: (y, x), "fmul", commutative=True, composition=operator.mul, bounded=True
)
def mul(x: Scalar, y: Scalar) -> Scalar:
    """``x * y``."""


@operation(
    np.divide,
    operator.truediv,
    lambda x, y, r: (f.div(1.0, y), f.div(-r, y)),
    "fdiv",
    composition=operator.truediv,
    domain=((-3.0, 3.0), (0.2, 3.0)),
    bounded=True,
)
def div(x: Scalar, y: Scalar) -> Scalar:
    """``x / y``."""


# -- roots, powers, exponentials
@operation(np.sqrt, math.sqrt, lambda x, r: (f.div(0.5, r),), "llvm.sqrt", domain=((0.05, 9.0),))
def sqrt(x: Scalar) -> Scalar:
    """Square root of x."""


@operation(np.exp, math.exp, lambda x, r: (r,), "@exp", domain=((-5.0, 5.0),), bounded=True)
def exp(x: Scalar) -> Scalar:
    """Exponential of x."""


@operation(
    np.exp2,
    math.exp2,
    lambda x, r: (r * _LN2,),
    "@exp2",
    casadi=lambda x: f.pow(2.0, x),
    domain=((-5.0, 5.0),),
    bounded=True,
)
def exp2(x: Scalar) -> Scalar:
    """Power of 2 with the exponent ``x``."""


@operation(np.expm1, math.expm1, lambda x, r: (f.exp(x),), "@expm1", bounded=True)
def expm1(x: Scalar) -> Scalar:
    """Exponential minus 1, accurate near 0."""


@operation(np.log, math.log, lambda x, r: (f.div(1.0, x),), "@log", domain=((0.05, 9.0),))
def log(x: Scalar) -> Scalar:
    """Natural logarithm of x."""


@operation(np.log1p, math.log1p, lambda x, r: (f.div(1.0, 1.0 + x),), "@log1p", domain=((-0.9, 9.0),), bounded=True)
def log1p(x: Scalar) -> Scalar:
    """Natural logarithm of ``1 + x``, accurate near 0."""


@operation(
    np.log2,
    math.log2,
    lambda x, r: (f.div(1.0, x * _LN2),),
    "@log2",
    casadi=lambda x: f.log(x) / _LN2,
    domain=((0.05, 9.0),),
)
def log2(x: Scalar) -> Scalar:
    """Logarithm to base 2."""


@operation(np.log10, math.log10, lambda x, r: (f.div(1.0, x * _LN10),), "@log10", domain=((0.05, 9.0),))
def log10(x: Scalar) -> Scalar:
    """Logarithm to base 10."""


def _power_slope(x: Any, y: Any) -> Any:
    """Return ∂xʸ/∂x = y xʸ⁻¹, which is 0 for y = 0, also at x = 0."""
    if isinstance(y, (int, float)):
        return y * f.pow(x, y - 1.0) if y else 0.0
    return f.where(f.and_(f.eq(x, 0.0), f.eq(y, 0.0)), 0.0, y * f.pow(x, y - 1.0))


def _power(x: Any, y: Any) -> Any:
    """Return xʸ as C's pow does.  For y = 0.5 NumPy's power is a square root, which differs at −∞ and −0."""
    result = np.power(x, y)
    root = np.where(np.equal(x, -math.inf), math.inf, result + 0.0)
    return np.where(np.equal(y, 0.5), root, result)[()]


@operation(
    _power,
    math.pow,
    lambda x, y, r: (_power_slope(x, y), f.where(x > 0.0, r * f.log(f.where(x > 0.0, x, 1.0)), 0.0)),
    "@pow",
    arrays=("power",),
    casadi="power",
    domain=((0.1, 4.0), (-3.0, 3.0)),
)
def pow(x: Scalar, y: Scalar) -> Scalar:
    """``x`` to the power ``y``."""


def _cube_root(x: Any) -> Any:
    """Return the cube root of x, by a power and one Newton step for the last digits."""
    a = f.abs(x)
    inside = f.and_(a > 0.0, a < math.inf)
    root = f.pow(a, 1.0 / 3.0)
    return f.copysign(f.where(inside, root - (root - a / (root * root)) / 3.0, a), x)


@operation(
    np.cbrt,
    math.cbrt,
    lambda x, r: (f.pow(f.abs(x), -2.0 / 3.0) / 3.0,),
    "@cbrt",
    odd=True,
    casadi=_cube_root,
    domain=((0.05, 9.0),),
)
def cbrt(x: Scalar) -> Scalar:
    """Cube root."""


@operation(
    np.hypot,
    math.hypot,
    lambda x, y, r: (_over(x, r), _over(y, r)),
    "@hypot",
    commutative=True,
    domain=((-3.0, 3.0), (0.1, 3.0)),
    bounded=True,
)
def hypot(x: Scalar, y: Scalar) -> Scalar:
    """Length of the vector (x, y), without overflow."""


# -- circular functions
@operation(np.sin, math.sin, lambda x, r: (f.cos(x),), "@sin", odd=True, domain=((-9.0, 9.0),), bounded=True)
def sin(x: Scalar) -> Scalar:
    """Sine of an angle x [rad]."""


@operation(np.cos, math.cos, lambda x, r: (-f.sin(x),), "@cos", even=True, domain=((-9.0, 9.0),), bounded=True)
def cos(x: Scalar) -> Scalar:
    """Cosine of an angle x [rad]."""


@operation(np.tan, math.tan, lambda x, r: (1.0 + r * r,), "@tan", odd=True, domain=((-1.4, 1.4),), bounded=True)
def tan(x: Scalar) -> Scalar:
    """Tangent of an angle x [rad]."""


@operation(np.arcsin, math.asin, lambda x, r: (f.div(1.0, _complement(x)),), "@asin", odd=True, domain=((-0.9, 0.9),))
def asin(x: Scalar) -> Scalar:
    """Inverse sine of x [rad], in [-π/2, π/2]."""


@operation(np.arccos, math.acos, lambda x, r: (f.div(-1.0, _complement(x)),), "@acos", domain=((-0.9, 0.9),))
def acos(x: Scalar) -> Scalar:
    """Inverse cosine of x [rad], in [0, π]."""


_STEEP = by_type(1e200)  # beyond, the derivative of atan is below all numbers


def _angle_slope(x: Any) -> Any:
    """Return the derivative of atan x, 1/(1 + x²), in a form whose derivatives do not overflow."""
    x = f.where(f.lt(_STEEP, f.abs(x)), _STEEP, x)
    return f.div(0.5, 0.5 + 0.5 * x * x)


def _angle_slopes(y: Any, x: Any) -> tuple[Any, Any]:
    """Return the derivatives of atan2(y, x), x/(x² + y²) and −y/(x² + y²), without squares, which may overflow.

    They are 0 at (0, 0), which is a kink.  R. L. Smith, Algorithm 116: complex division, 1962.
    """
    steep = f.lt(f.abs(x), f.abs(y))
    large, small = f.where(steep, y, x), f.where(steep, x, y)
    zero = f.eq(large, 0.0)
    large = f.where(zero, 1.0, large)
    ratio = f.div(small, large)
    inverse = f.where(zero, 0.0, f.div(1.0, large + small * ratio))
    second_slope = ratio * inverse
    return f.where(steep, second_slope, inverse), -f.where(steep, inverse, second_slope)


@operation(
    np.arctan, math.atan, lambda x, r: (_angle_slope(x),), "@atan", odd=True, domain=((-5.0, 5.0),), bounded=True
)
def atan(x: Scalar) -> Scalar:
    """Inverse tangent of x [rad], in [-π/2, π/2]."""


@operation(np.arctan2, math.atan2, lambda y, x, r: _angle_slopes(y, x), "@atan2")
def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Angle [rad] of the point (x, y), in [-π, π]."""


def _sinc(x: Any) -> Any:
    """Return sin(πx)/(πx), accurate next to integers."""
    x = f.abs(x)
    nearest = f.floor(x) + f.floor(x - f.floor(x) + 0.5)  # x + 0.5 may be rounded
    odd = nearest - 2.0 * f.floor(0.5 * nearest)
    sine = (1.0 - 2.0 * odd) * f.sin(math.pi * (x - nearest))
    zero = f.eq(x, 0.0)
    return f.where(zero, 1.0, sine / math.pi / f.where(zero, 1.0, x))


def _sinc_slope(x: Any, r: Any) -> Any:
    """Return the derivative of sin(πx)/(πx): x times a polynomial of x² near 0, else (cos πx − r)/x."""
    near = f.lt(f.abs(x), 0.25)
    z = math.pi**2 * (x * x)
    series: Any = 0.0
    for k in range(11, 0, -1):  # the terms (−1)ᵏ 2k zᵏ / (2k + 1)!
        series = series * z + (-1.0) ** k * 2.0 * k / math.factorial(2 * k + 1)
    turn = x - 2.0 * f.floor(0.5 * x + 0.5)  # exact
    return f.where(near, math.pi**2 * x * series, (f.cos(math.pi * turn) - r) / f.where(near, 1.0, x))


@operation(
    _sinc,
    _sinc,
    lambda x, r: (_sinc_slope(x, r),),
    "@sinc",
    even=True,
    arrays=("sinc",),
    casadi=_sinc,
    domain=((-0.9, 0.9),),
    bounded=True,
)
def sinc(x: Scalar) -> Scalar:
    """sin(πx)/(πx), and 1 at 0."""


# -- hyperbolic functions
@operation(np.sinh, math.sinh, lambda x, r: (f.cosh(x),), "@sinh", odd=True, bounded=True)
def sinh(x: Scalar) -> Scalar:
    """Hyperbolic sine of x."""


@operation(np.cosh, math.cosh, lambda x, r: (f.sinh(x),), "@cosh", even=True, bounded=True)
def cosh(x: Scalar) -> Scalar:
    """Hyperbolic cosine of x."""


@operation(np.tanh, math.tanh, lambda x, r: (1.0 - r * r,), "@tanh", odd=True, bounded=True)
def tanh(x: Scalar) -> Scalar:
    """Hyperbolic tangent of x."""


@operation(np.arcsinh, math.asinh, lambda x, r: (1.0 / f.hypot(1.0, x),), "@asinh", odd=True, bounded=True)
def asinh(x: Scalar) -> Scalar:
    """Inverse hyperbolic sine."""


@operation(
    np.arccosh,
    math.acosh,
    lambda x, r: (f.div(1.0, f.sqrt(x - 1.0) * f.sqrt(x + 1.0)),),
    "@acosh",
    domain=((1.1, 9.0),),
)
def acosh(x: Scalar) -> Scalar:
    """Inverse hyperbolic cosine."""


@operation(
    np.arctanh,
    math.atanh,
    lambda x, r: (f.div(1.0, (1.0 - x) * (1.0 + x)),),
    "@atanh",
    odd=True,
    domain=((-0.9, 0.9),),
    bounded=True,
)
def atanh(x: Scalar) -> Scalar:
    """Inverse hyperbolic tangent."""


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
    bounded=True,
)
def fabs(x: Scalar) -> Scalar:
    """Absolute value of x."""


@operation(np.sign, lambda x: x if x != x else float((x > 0.0) - (x < 0.0)), _zeros, "@sign")
def sign(x: Scalar) -> Scalar:
    """Sign of x: -1 if ``x`` is negative, 0 if zero, 1 if positive."""


@operation(np.floor, lambda x: math.copysign(math.floor(x), x), _zeros, "llvm.floor")
def floor(x: Scalar) -> Scalar:
    """Largest integer <= ``x``."""


@operation(
    np.copysign, math.copysign, lambda x, y, r: (f.sign(x) * f.copysign(1.0, y), 0.0), "llvm.copysign", bounded=True
)
def copysign(x: Scalar, y: Scalar) -> Scalar:
    """Magnitude of ``x`` with the sign of ``y``."""


@operation(
    np.fmin,
    lambda x, y: float(np.fmin(x, y)),
    lambda x, y, r: (f.where(f.eq(r, x), 1.0, 0.0), f.where(f.eq(r, x), 0.0, 1.0)),
    "llvm.minnum",
    commutative=True,
    selects=True,
)
def fmin(x: Scalar, y: Scalar) -> Scalar:
    """Smaller of two numbers x and y; for a number and NaN, the number."""


@operation(
    np.fmax,
    lambda x, y: float(np.fmax(x, y)),
    lambda x, y, r: (f.where(f.eq(r, x), 1.0, 0.0), f.where(f.eq(r, x), 0.0, 1.0)),
    "llvm.maxnum",
    commutative=True,
    selects=True,
)
def fmax(x: Scalar, y: Scalar) -> Scalar:
    """Larger of two numbers x and y; for a number and NaN, the number."""


def _division_slopes(x: Any, y: Any, r: Any) -> tuple[Any, Any]:
    """Return the derivatives 1 and −n of r = x − n y, n = (x − r)/y, also at x where the integer n changes."""
    return 1.0, f.floor(f.div(r - x, y) + 0.5)


@operation(np.fmod, math.fmod, _division_slopes, "@fmod", domain=((-9.0, 9.0), (0.5, 3.0)))
def fmod(x: Scalar, y: Scalar) -> Scalar:
    """Remainder of ``x / y`` with the sign of ``x``, as C's fmod."""


@operation(
    np.remainder,
    operator.mod,
    _division_slopes,
    "@mod",
    casadi=lambda x, y: f.fmod(x, y) + f.where(f.fmod(x, y) * y < 0.0, y, 0.0),
    domain=((-9.0, 9.0), (0.5, 3.0)),
)
def mod(x: Scalar, y: Scalar) -> Scalar:
    """Remainder of ``x / y`` with the sign of ``y``."""


@operation(
    np.nan_to_num,
    lambda x: float(np.nan_to_num(x)),
    lambda x, r: (f.where(f.eq(r, x), 1.0, 0.0),),
    "@nan_to_num",
    casadi=lambda x: f.where(f.or_(x <= 0.0, x >= 0.0), f.fmax(f.fmin(x, _LARGEST), -_LARGEST), 0.0),
)
def nan_to_num(x: Scalar) -> Scalar:
    """``x`` if finite; for an infinity the finite number next to it, and 0 for NaN."""


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
    """True where both truth values x and y are true."""


@operation(np.logical_or, lambda x, y: x or y, None, "or", kinds="tt", gives="t", commutative=True, casadi="logic_or")
def or_(x: Scalar, y: Scalar) -> Scalar:
    """True where at least one of the truth values x and y is true."""


@operation(np.logical_not, operator.not_, None, "@not", kinds="t", gives="t", casadi="logic_not")
def not_(x: Scalar) -> Scalar:
    """Negation of a truth value x."""


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


def ceil(x: Any) -> Any:
    """Return the smallest integer >= ``x``."""
    return -floor(-x)


def remainder(x: Any, y: Any) -> Any:
    """Return ``x`` minus the nearest multiple of ``y``, the even one for a tie: IEEE 754's remainder."""
    reduced = fmod(x, y + y)
    a, b = fabs(reduced), fabs(y)
    once = a - b  # exact where it is selected, and so is the next difference
    nearest = where(le(b - once, once), once - b, once)
    # for an infinite b the condition is false, so nothing is subtracted
    return where(lt(b - a, a), copysign(1.0, x) * nearest, reduced)
