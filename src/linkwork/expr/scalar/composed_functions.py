"""Functions that the table of operations has no row for, made of those it has, over any scalar.

Each is accurate where the plain formula is not: beside zero, where digits cancel, and at the far ends, where something
overflows.  The errors stated are relative and in units of eps = 2⁻⁵², measured against exact values.  All follow
IEEE 754 and C at the special values: signed zeros, infinities, NaN, and arguments outside the domain, which give NaN.
"""

from __future__ import annotations

import math
from typing import Any

from linkwork.expr.scalar import functions as f

__all__ = ["acosh", "asinh", "atanh", "ceil", "expm1", "fmod", "log1p", "remainder"]

_LARGE = 2.0**28  # the square of anything beyond hides 1
_MOST = 2.0**53  # the quotients below are whole numbers that a float holds
_LOG2 = math.log(2.0)


def ceil(x: Any) -> Any:
    """The smallest whole number that is not below ``x``."""
    return -f.floor(-x)


def log1p(x: Any) -> Any:
    """log(1 + x), within 2 eps: u = 1 + x is rounded, and log(u)·x/(u − 1) takes the rounding out again."""
    u = 1.0 + x
    part = u - 1.0
    corrected = f.log(u) * f.div(x, part)
    return f.where(f.eq(u, 1.0), x, f.where(f.eq(part, x), f.log(u), corrected))


def expm1(x: Any) -> Any:
    """exp(x) − 1, within 2 eps: beside zero (u − 1)·x/log(u), where u = exp(x) is rounded."""
    u = f.exp(x)
    part = u - 1.0
    corrected = part * f.div(x, f.log(u))
    return f.where(f.lt(0.5, f.fabs(x)), part, f.where(f.eq(u, 1.0), x, corrected))


def asinh(x: Any) -> Any:
    """Inverse hyperbolic sine, within 3 eps."""
    a = f.fabs(x)
    near = log1p(a + f.div(a * a, 1.0 + f.sqrt(1.0 + a * a)))
    return f.copysign(f.where(f.lt(a, _LARGE), near, f.log(a) + _LOG2), x)


def acosh(x: Any) -> Any:
    """Inverse hyperbolic cosine, within 3 eps."""
    t = x - 1.0
    near = log1p(t + f.sqrt(t) * f.sqrt(t + 2.0))
    return f.where(f.lt(x, _LARGE), near, f.log(x) + _LOG2)


def atanh(x: Any) -> Any:
    """Inverse hyperbolic tangent, within 3 eps."""
    a = f.fabs(x)
    return f.copysign(0.5 * log1p(f.div(2.0 * a, 1.0 - a)), x)


def fmod(x: Any, y: Any) -> Any:
    """What is left of ``x`` after a whole number of ``y``, with the sign of ``x``: C's fmod.

    Exact for |x/y| < 2⁵³, and NaN beyond, where neighbouring ``x`` lie further apart than ``y``.
    """
    return f.copysign(_rest(f.fabs(x), f.fabs(y)), x)


def remainder(x: Any, y: Any) -> Any:
    """``x`` minus the multiple of ``y`` nearest to it, the even one of two: IEEE 754's remainder.

    Exact for |x/y| < 2⁵⁴, and NaN beyond.
    """
    b = f.fabs(y)
    rest = _rest(f.fabs(x), b + b)  # between 0 and 2b, where all differences below are exact
    once = rest - b
    twice = f.where(f.le(b - once, once), once - b, once)
    # of an infinite b nothing is taken away, for nothing is greater than b − rest
    return f.copysign(1.0, x) * f.where(f.lt(b - rest, rest), twice, rest)


def _rest(a: Any, b: Any) -> Any:
    """fmod of numbers that are not negative.

    The quotient q, rounded and cut to a whole number, is right or one too large.  q·b is a sum of four products of
    halves, each exact, and so are the differences when they are taken away one after the other.
    """
    large = f.lt(2.0**900, a)
    scale = f.where(large, 2.0**-100, 1.0)
    dividend, divisor = a * scale, b * scale  # nothing below overflows
    q = f.floor(f.div(dividend, divisor))
    q1, q2 = _halves(q)
    b1, b2 = _halves(divisor)
    rest = dividend - q1 * b1 - q1 * b2 - q2 * b1 - q2 * b2
    rest = f.where(f.lt(rest, 0.0), rest + divisor, rest)
    rest = f.where(large, rest * 2.0**100, rest)
    return f.where(f.lt(a, b), a, f.where(f.lt(q, _MOST), rest, math.nan))


def _halves(x: Any) -> tuple[Any, Any]:
    """Two numbers of at most 26 bits whose sum is ``x``.

    The scaled number is exact before ``x`` is added, so that fusing product and sum rounds no differently.
    """
    shifted = x * 2.0**27 + x
    upper = shifted - (shifted - x)
    return upper, x - upper
