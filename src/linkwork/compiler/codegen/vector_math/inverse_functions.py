"""Inverse circular and hyperbolic functions, and the length of a vector of two components (hypot), in float64.

atan(a/b) for 0 <= a <= b: if a/b exceeds tan(pi/8), it is pi/4 + atan((a - b)/(a + b)).  For arguments below tan(pi/8)
in magnitude atan is a minimax polynomial, with a correction for the rounding of the quotient.

asin and acos: a minimax polynomial up to 1/2, and beyond it asin x = pi/2 - 2 asin sqrt((1 - x)/2).

hypot: the components are scaled by a power of two if their squares could overflow or underflow; the sum of the squares
is computed with its rounding error, and the root corrected for that and for its own rounding.

With a = |x|: asinh a = log(1 + a + a^2 / (1 + sqrt(1 + a^2))), acosh x = log(1 + t + sqrt(t (t + 2))) with t = x - 1,
and atanh a = log(1 + 2 a / (1 - a)) / 2. Beyond 2^28 the first two are log(2 x).

Special cases are those of C99, Annex F; `docs/mathematics.md` has the errors.
"""

from __future__ import annotations

import math

from linkwork.compiler.codegen.simd_values import FloatLanes, LaneBuilder, LaneMask
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
from linkwork.compiler.codegen.vector_math.exponential_and_logarithm import log_above_one

__all__ = ["ASIN", "ATAN", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh"]

# atan q = q + q^3 (A0 + A1 z + ...), z = q^2 up to tan(pi/8)^2 (1 + 2^-20), and asin q = q + q^3 (B0 + B1 z + ...),
# z up to (1 + 2^-20)/4.  Found with the Remez exchange algorithm in 300-bit arithmetic, the error taken relative to q.
# Each coefficient was rounded to double, lowest first, and the exchange repeated for those after it.  Largest error
# with the rounded coefficients: 2^-59.2 (atan), 2^-59.3 (asin).
ATAN = (
    -0.333333333333332,
    0.19999999999953819,
    -0.14285714280220616,
    0.111111107846959,
    -0.09090897794157238,
    0.07692060852056876,
    -0.06663110717728689,
    0.058479303228945276,
    -0.05039442870808446,
    0.03806663172683891,
    -0.017907697887319142,
)
ASIN = (
    0.16666666666666763,
    0.07499999999970128,
    0.044642857175257025,
    0.030381942676726014,
    0.022372215863716637,
    0.01735159628243847,
    0.013981008572751025,
    0.011397384684559624,
    0.010788710907219081,
    0.0036750096875194844,
    0.02178219069252734,
    -0.021102191949842496,
    0.03269137305594229,
)
# pi/4, pi/2 and pi as sums of two doubles; the first ends in zeros, so that its multiples up to 4 are exact
_EIGHTH = (math.pi / 4, 3.061616997868383e-17)
_QUARTER = (math.pi / 2, 6.123233995736766e-17)
_HALF = (math.pi, 1.2246467991473532e-16)


def _angle(code: LaneBuilder, y: FloatLanes, x: FloatLanes, obtuse: LaneMask | None) -> FloatLanes:
    """Return the angle of (x, y) in the first quadrant, or its supplement where `obtuse` is true; not for (0, 0)."""
    steep = y > x
    low, high = steep.where(x, y), steep.where(y, x)
    wide = low > high * 0.41421356237309503
    up, up_low = add_fast(high, low)
    down, down_low = two_sum(low, -high)
    zero = code.number(0.0)
    q, correction = divide(
        code, (wide.where(down, low), wide.where(down_low, zero)), (wide.where(up, high), wide.where(up_low, zero))
    )
    # the angle is k pi/4 + atan q, or k pi/4 - atan q
    k = wide.where(1.0, steep.where(2.0, zero))
    minus = steep
    if obtuse is not None:
        k = obtuse.where(4.0 - k, k)
        minus = steep ^ obtuse
    z = q * q
    more = code.fma(q * z, code.polynomial(z, ATAN), correction)
    q, more = minus.where(-q, q), minus.where(-more, more)
    head, left = add_fast(k * _EIGHTH[0], q)
    return head + (left + code.fma(k, _EIGHTH[1], more))


def atan(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    """Return the angle of (1, |x|) with the sign of x; beyond 2^100 the result is constant."""
    size = abs(x)
    size = (size > 2.0**100).where(2.0**100, size)
    return code.with_sign(_angle(code, size, code.number(1.0), None), x)


def atan2(code: LaneBuilder, y: FloatLanes, x: FloatLanes) -> FloatLanes:
    """Return the angle of (|x|, |y|) in the quadrant of (x, y).

    x and y are scaled by a power of two, so that quotients of normal numbers are accurate.
    """
    across, along = abs(y), abs(x)
    largest = (across > along).where(across, along)
    scale = (largest > 2.0**900).where(2.0**-540, (largest < 2.0**100).where(2.0**540, code.number(1.0)))
    infinite, zero_vector = largest.equals(math.inf), largest.equals(0.0)
    scaled_x = infinite.where(along.equals(math.inf).where(1.0, code.number(0.0)), along * scale)
    scaled_y = infinite.where(across.equals(math.inf).where(1.0, code.number(0.0)), across * scale)
    scaled_x = zero_vector.where(1.0, scaled_x)
    obtuse = (x.to_bits() & (-1 << 63)).nonzero()
    angle = code.with_sign(_angle(code, scaled_y, scaled_x, obtuse), y)
    return x.unordered(y).where(math.nan, angle)


def _arc(code: LaneBuilder, size: FloatLanes) -> tuple[LaneMask, FloatLanes, FloatLanes]:
    """Return the mask size <= 1/2, and t and u with t + u = asin(size) there and asin(sqrt((1 - size)/2)) beyond."""
    small = size <= 0.5
    half = (1.0 - size) * 0.5
    root = half.sqrt()
    correction = remainder(code, root, (half, code.number(0.0)), (root, code.number(0.0))) / (root + root + 2.0**-200)
    z = small.where(size * size, half)
    t = small.where(size, root)
    return small, t, code.fma(t * z, code.polynomial(z, ASIN), small.where(0.0, correction))


def asin(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    """Return asin x; NaN beyond 1."""
    small, t, u = _arc(code, abs(x))
    head, left = add_fast(_QUARTER[0], t * -2.0)
    large = head + (left + code.fma(u, -2.0, _QUARTER[1]))
    return code.with_sign(small.where(t + u, large), x)


def acos(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    """Return acos x; NaN beyond 1."""
    small, t, u = _arc(code, abs(x))
    negative = x < 0.0
    t, u = negative.where(-t, t), negative.where(-u, u)
    right, right_left = add_fast(_QUARTER[0], -t)
    near_right = right + (right_left + (_QUARTER[1] - u))
    zero = code.number(0.0)
    head, left = add_fast(negative.where(_HALF[0], zero), t + t)
    large = head + (left + (negative.where(_HALF[1], zero) + (u + u)))
    return small.where(near_right, large)


def hypot(code: LaneBuilder, x: FloatLanes, y: FloatLanes) -> FloatLanes:
    """Return sqrt(x^2 + y^2); infinity if one of the two is infinite, even if the other is NaN."""
    a, b = abs(x), abs(y)
    swapped = a < b
    a, b = swapped.where(b, a), swapped.where(a, b)
    large, small = a > 2.0**500, a < 2.0**-450
    scale = large.where(2.0**-600, small.where(2.0**700, code.number(1.0)))
    back = large.where(2.0**600, small.where(2.0**-700, code.number(1.0)))
    a2, a2_low = multiply(code, a * scale, a * scale)
    b2, b2_low = multiply(code, b * scale, b * scale)
    square, left = add_fast(a2, b2)
    root = square.sqrt()
    root2, root2_low = multiply(code, root, root)
    missed = ((square - root2) - root2_low) + (left + (a2_low + b2_low))
    length = (root + missed / (root + root)) * back
    length = a.equals(0.0).where(b, length)
    infinite = a.equals(math.inf) | b.equals(math.inf)
    return infinite.where(math.inf, length)


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
