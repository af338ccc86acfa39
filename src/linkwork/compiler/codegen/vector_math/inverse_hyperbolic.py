"""Inverse hyperbolic functions, in float64, as log(1 + u) with u as a sum of two numbers.

With a = |x|: asinh a = log(1 + a + a^2 / (1 + sqrt(1 + a^2))), acosh x = log(1 + t + sqrt(t (t + 2))) with t = x - 1,
and atanh a = log(1 + 2 a / (1 - a)) / 2. Beyond 2^28 the first two are log(2 x).

`docs/mathematics.md` has the errors.
"""

from __future__ import annotations

import math

from linkwork.compiler.codegen.simd_values import FloatLanes, LaneBuilder
from linkwork.compiler.codegen.vector_math.double_double import (
    Pair,
    add_fast,
    add_pairs,
    divide,
    multiply,
    multiply_pairs,
    remainder,
    two_sum,
)
from linkwork.compiler.codegen.vector_math.logarithm_and_power import log_above_one

__all__ = ["acosh", "asinh", "atanh"]

_LARGE = 2.0**28  # [1] 1 + x^2 rounds to x^2 beyond


def _root(code: LaneBuilder, x: Pair) -> Pair:
    """Return the square root of a sum of two numbers (a pair); zero for zero."""
    root = x[0].sqrt()
    return root, remainder(code, root, x, (root, code.number(0.0))) / (root + root + 2.0**-1000)


def asinh(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    """Return asinh x."""
    size = abs(x)
    large = size > _LARGE
    a = large.where(1.0, size)
    square = multiply(code, a, a)
    total, low = two_sum(1.0, square[0])
    root = _root(code, (total, low + square[1]))
    below, below_low = add_fast(root[0], code.number(1.0))
    quotient, correction = divide(code, square, (below, below_low + root[1]))
    more, low = add_fast(a, quotient)
    u = large.where(size, more), large.where(-1.0, low + correction)
    return code.with_sign(log_above_one(code, u, large), x)


def acosh(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    """Return acosh x; NaN below 1."""
    large = x > _LARGE
    a = large.where(2.0, x)
    t = two_sum(-1.0, a)
    more, low = add_pairs(_root(code, multiply_pairs(code, t, two_sum(1.0, a))), t)
    result = log_above_one(code, (large.where(x, more), large.where(-1.0, low)), large)
    return (x >= 1.0).where(result, math.nan)


def atanh(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    """Return atanh x; NaN beyond 1."""
    size = abs(x)
    quotient, correction = divide(code, (size + size, code.number(0.0)), two_sum(1.0, -size))
    inside = log_above_one(code, (quotient, correction)) * 0.5
    return code.with_sign(size.equals(1.0).where(math.inf, inside), x)
