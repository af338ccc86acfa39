"""Exponential, hyperbolic functions, logarithms and x^y, in float64.

Exponential: e^x = 2^n e^r with n the integer nearest to x / ln 2.  The remainder r = x - n ln 2 is a sum of two numbers
(Cody and Waite), and e^r = 1 + r + r^2 Q(r) with a minimax polynomial Q.  2^n is a product of two powers of two, so
that infinite and subnormal results are rounded once.

Logarithm: x = 2^k m with m between sqrt(1/2) and sqrt(2); with f = m - 1 and s = f / (2 + f), log m = 2 artanh s = f -
f^2/2 + s (f^2/2 + R(s^2)), where R is a minimax polynomial; and log x = k ln 2 + log m. The large terms are added with
the rounding errors of their sums. Logarithms to other bases multiply log m by a sum of two numbers; their error before
the last rounding is far below half a unit in the last place, so that exact powers give integers. log(1 + x) = log u +
c/u, with the rounded sum u = 1 + x and its rounding error c; for small x it is x - x^2/2.

Power: e^(y log x), with a relative error of the logarithm of about 2^-68: s, s^2, the first terms of the series, and
the product with y are sums of two numbers.  The exponential above accepts a sum of two numbers. Special cases are those
of C99, Annex F.

`docs/mathematics.md` has the errors.
"""

from __future__ import annotations

import math

from linkwork.compiler.codegen.simd_values import FloatLanes, IntLanes, LaneBuilder, LaneMask
from linkwork.compiler.codegen.vector_math.double_double import (
    Pair,
    add_fast,
    add_pairs,
    divide,
    multiply,
    multiply_pairs,
    two_sum,
)

__all__ = [
    "LN2",
    "LN2_HIGH",
    "LN2_LOW",
    "SINH",
    "Q",
    "R",
    "cosh",
    "decomposed",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "log_above_one",
    "reduced",
    "scaled",
    "sinh",
    "tanh",
    "with_edges",
    "with_special_cases",
]

# log((1 + s)/(1 - s)) = 2 s + s (R0 z + R1 z^2 + ...), z = s^2.  Found with the Remez exchange algorithm in 300-bit
# arithmetic on 0 <= z <= 0.0294373 (s^2 for m = sqrt(2), and 2^-20 more), the error taken relative to 2 s.  Each
# coefficient was rounded to double, lowest first, and the exchange repeated for those after it.  Largest error with
# them: 2^-59.4.
R = (
    0.6666666666666734,
    0.3999999999941666,
    0.2857142874205835,
    0.2222219859786805,
    0.1818356343257319,
    0.15314064982556982,
    0.14795878466573667,
)
_ROOT_HALF = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)
_ONE_BITS = 1023 << 52
_TWO_52 = 0x433 << 52  # the bits of 2^52


# ln 2 = LN2_HIGH + LN2_LOW to 2^-99.  The first has 42 bits, so that its product with n (11 bits) is exact.
LN2_HIGH, LN2_LOW = 0.6931471805598903, 5.497923018708371e-14
LN2 = math.log(2), 2.3190468138462996e-17  # a sum of two doubles
_ROUNDER = 1.5 * 2.0**52  # rounds to the nearest integer, as in `argument_reduction`

# e^r = 1 + r + r^2 (Q0 + Q1 r + ...).  Found with the Remez exchange algorithm in 300-bit arithmetic on
# |r| <= ln(2)/2 (1 + 2^-20) for the least error relative to r, and rounded to double together.  Largest error with the
# rounded coefficients: 2^-60.5, relative to r.
Q = (
    0.5,
    0.16666666666666677,
    0.0416666666666667,
    0.008333333333321626,
    0.0013888888888866704,
    0.00019841269886131094,
    2.4801587360769392e-05,
    2.755724421235753e-06,
    2.7557242611221094e-07,
    2.5109033384341442e-08,
    2.0924480747495222e-09,
)

# sinh x = x + x^3 (S0 + S1 x^2 + ...) on |x| <= 1, found likewise, but each coefficient rounded, lowest first, and the
# exchange repeated for those after it.  Largest error, relative to sinh x: 2^-61.7.
SINH = (
    0.16666666666666669,
    0.008333333333332912,
    0.00019841269841593408,
    2.7557319106758163e-06,
    2.5052130998410417e-08,
    1.6056659195368124e-10,
    7.776599342115542e-13,
)


def reduced(code: LaneBuilder, x: FloatLanes, low: FloatLanes | None = None) -> tuple[IntLanes, FloatLanes, FloatLanes]:
    """Return n in the lowest bits of an integer, and r and t with e^(x + low) = 2^n (1 + r + t), t about r^2/2.

    `low` is at most half a unit in the last place of x.
    """
    shifted = code.fma(x, 1 / math.log(2), _ROUNDER)
    n = shifted - _ROUNDER
    remainder = code.fma(-n, LN2_HIGH, x)
    small = code.fma(-n, LN2_LOW, low) if low is not None else -n * LN2_LOW
    r, left = add_fast(remainder, small)
    square = r * r
    return shifted.to_bits(), r, code.fma(square, code.polynomial(r, Q, square), code.fma(left, r, left))


def scaled(value: FloatLanes, n: IntLanes, half: bool = False) -> FloatLanes:
    """Return value 2^n, or value 2^(n-1) with ``half``, rounded once; |n| < 2000."""
    first = n >> 1
    factors = [((part << 52) + _ONE_BITS).to_real() for part in (first, n - first)]
    return value * (factors[0] * 0.5 if half else factors[0]) * factors[1]


def _clamped(x: FloatLanes, low: float, high: float) -> FloatLanes:
    """Return x limited to the bounds; NaN stays."""
    x = (x > high).where(high, x)
    return (x < low).where(low, x)


def exp(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    """Return e^x.

    x is clipped to [-760, 720], beyond which e^x is 0 or infinite in float64.
    """
    n, r, t = reduced(code, _clamped(x, -760.0, 720.0))
    head, left = add_fast(1.0, r)
    return scaled(head + (left + t), n)


def exp2(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    """Return 2^x = 2^n e^(ln 2 (x - n)), where x - n is exact; integers x give powers of two."""
    x = _clamped(x, -1100.0, 1100.0)
    shifted = x + _ROUNDER
    fraction = x - (shifted - _ROUNDER)
    r, left = multiply(code, fraction, code.number(LN2[0]))
    left = code.fma(fraction, LN2[1], left)
    square = r * r
    t = code.fma(square, code.polynomial(r, Q, square), code.fma(left, r, left))
    head, left = add_fast(1.0, r)
    return scaled(head + (left + t), shifted.to_bits())


def expm1(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    """Return e^x - 1 as 2 (2^(n-1) - 1/2 + 2^(n-1) (e^r - 1)), which overflows where the result does."""
    n, r, t = reduced(code, _clamped(x, -60.0, 710.0))
    power = ((n << 52) + (_ONE_BITS - (1 << 52))).to_real()
    e, low = add_fast(power - 0.5, power * r)
    large = (e + code.fma(power, t, low)) * 2.0
    return code.with_sign((abs(x) < 0.25).where(r + t, large), x)  # below, n is 0 and r is x


def _both_exponentials(code: LaneBuilder, size: FloatLanes) -> tuple[IntLanes, FloatLanes, FloatLanes, FloatLanes]:
    """Return n, e^x 2^-n as a sum of two numbers, and e^-x 2^-n, for x >= 0."""
    n, r, t = reduced(code, (size > 720.0).where(720.0, size))
    head, left = add_fast(1.0, r)
    head, left = add_fast(head, left + t)
    first = n >> 1
    back = [(_ONE_BITS - (part << 52)).to_real() for part in (first, n - first)]
    down = back[0] * back[1]
    return n, head, left, 1.0 / head * down * down


def cosh(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    """Return (e^|x| + e^-|x|) / 2."""
    n, head, left, inverse = _both_exponentials(code, abs(x))
    total, low = add_fast(head, inverse)
    return scaled(total + (low + left), n, half=True)


def sinh(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    """Return (e^|x| - e^-|x|) / 2 with the sign of x, or a polynomial below 1."""
    size = abs(x)
    n, head, left, inverse = _both_exponentials(code, size)
    total, low = add_fast(head, -inverse)
    large = scaled(total + (low + left), n, half=True)
    z = size * size
    small = code.fma(size * z, code.polynomial(z, SINH), size)
    return code.with_sign((size < 1.0).where(small, large), x)


def tanh(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    """Return E / (E + 2) with E = e^(2|x|) - 1, with the sign of x; 1 beyond 22.

    E and E + 2 are computed as sums of two floats, for accuracy.
    """
    size = abs(x)
    size = (size > 22.0).where(22.0, size)
    n, r, t = reduced(code, size + size)
    power = ((n << 52) + _ONE_BITS).to_real()
    e, low = add_fast(power - 1.0, power * r)
    e, low = add_fast(e, code.fma(power, t, low))
    above, above_low = two_sum(2.0, e)
    quotient, correction = divide(code, (e, low), (above, above_low + low))
    return code.with_sign(quotient + correction, x)


def decomposed(x: FloatLanes, subnormals: bool = True) -> tuple[FloatLanes, FloatLanes]:
    """Return k and m with x = 2^k m and m between sqrt(1/2) and sqrt(2), for positive finite x.

    Subnormal numbers are correct only with ``subnormals``.
    """
    bias: FloatLanes | float = 2.0**52 + 1023
    if subnormals:
        subnormal = x < 2.0**-1022
        x = subnormal.where(x * 2.0**54, x)
        bias = subnormal.where(2.0**52 + 1023 + 54, 2.0**52 + 1023)
    bits = x.to_bits() + (_ONE_BITS - _ROOT_HALF)
    k = ((bits >> 52) | _TWO_52).to_real() - bias
    return k, ((bits & ((1 << 52) - 1)) + _ROOT_HALF).to_real()


def _log_parts(code: LaneBuilder, x: FloatLanes) -> tuple[FloatLanes, FloatLanes, FloatLanes]:
    """Return k, and log m as the sum of two numbers, for positive finite x = 2^k m.

    m is between sqrt(1/2) and sqrt(2).
    """
    k, m = decomposed(x)
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    half, half_low = multiply(code, f * 0.5, f)
    head, left = add_fast(f, -half)
    return k, head, code.fma(s, code.fma(z, code.polynomial(z, R), half), left - half_low)


def log(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    """Return log x: -inf for zeros, NaN for negative numbers."""
    k, head, tail = _log_parts(code, x)
    total, missed = add_fast(k * LN2_HIGH, head)
    return with_edges(x, total + (missed + code.fma(k, LN2_LOW, tail)))


def log1p(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    """Return log(1 + x), accurate also for small x."""
    return code.with_sign(log_above_one(code, (x, code.number(0.0))), x)


def log_above_one(code: LaneBuilder, x: Pair, doubled: LaneMask | None = None) -> FloatLanes:
    """Return log(1 + x), where x is a sum of two numbers, plus ln 2 in the lanes of the mask ``doubled``."""
    u, c = two_sum(1.0, x[0])
    k, head, tail = _log_parts(code, u)
    if doubled is not None:
        k = k + doubled.where(1.0, 0.0)
    total, missed = add_fast(k * LN2_HIGH, head)
    result = with_edges(u, total + (missed + (code.fma(k, LN2_LOW, tail) + (c + x[1]) / u)))
    return (abs(x[0]) < 2.0**-28).where(x[0] + code.fma(x[0] * -0.5, x[0], x[1]), result)


# log 2 and 1 / ln b for the bases b = 2 and 10, as sums of two doubles; the first of log 2 has 42 bits, as LN2_HIGH
BASE_2 = (1.0, 0.0), (1.4426950408889634, 2.0355273740931033e-17)
BASE_10 = (0.30102999566383914, 1.42050232272661e-13), (0.4342944819032518, 1.098319650216765e-17)


def log2(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    """Return the logarithm to base 2: -inf for zeros, NaN for negative numbers."""
    return _log_to_base(code, x, *BASE_2)


def log10(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    """Return the logarithm to base 10: -inf for zeros, NaN for negative numbers."""
    return _log_to_base(code, x, *BASE_10)


def _log_to_base(
    code: LaneBuilder, x: FloatLanes, of_two: tuple[float, float], factor: tuple[float, float]
) -> FloatLanes:
    k, head, tail = _log_parts(code, x)
    product, low = multiply(code, head, code.number(factor[0]))
    low = code.fma(head, factor[1], code.fma(tail, factor[0], low))
    total, missed = add_fast(k * of_two[0], product)
    return with_edges(x, total + (missed + code.fma(k, of_two[1], low)))


def with_edges(x: FloatLanes, result: FloatLanes) -> FloatLanes:
    """Return the logarithm of x: ``result`` for positive finite x, and corrected values for other x.

    These are -inf for zeros, inf for inf, and NaN for negative numbers.
    """
    result = x.equals(math.inf).where(math.inf, result)
    result = x.equals(0.0).where(-math.inf, result)
    return (x >= 0.0).where(result, math.nan)


# log((1 + s)/(1 - s)) = 2 s + s^3 (2/3 + z (2/5 + z (P0 + P1 z + ...))), z = s^2: as for `logarithm.R`, on the same
# range.  Largest error, relative to 2 s: 2^-80.
P = (
    0.2857142857142852,
    0.2222222222225288,
    0.18181818174450007,
    0.15384616333159506,
    0.13333261045156733,
    0.11768069369975974,
    0.10432654576536432,
    0.1094673188946827,
)
# 2/3 and 2/5: the error of the nearest double is a power of two times the double
_TWO_THIRDS = (2 / 3, 2 / 3 * 2.0**-54)
_TWO_FIFTHS = (2 / 5, -2 / 5 * 2.0**-54)


def _log(code: LaneBuilder, x: FloatLanes) -> Pair:
    """Return the logarithm of a positive finite number as a pair."""
    k, m = decomposed(x)
    f = m - 1.0
    s = divide(code, (f, code.number(0.0)), add_fast(2.0, f))
    z, z_low = multiply(code, s[0], s[0])
    z_pair = z, code.fma(s[0] + s[0], s[1], z_low)
    fifth, fifth_low = add_fast(_TWO_FIFTHS[0], z * code.polynomial(z, P))
    third = add_pairs(_TWO_THIRDS, multiply_pairs(code, z_pair, (fifth, fifth_low + _TWO_FIFTHS[1])))
    cubic = multiply_pairs(code, multiply_pairs(code, s, z_pair), third)
    log_m = add_pairs((s[0] + s[0], s[1] + s[1]), cubic)
    return add_pairs((k * LN2_HIGH, k * LN2_LOW), log_m)


def _is_integer(size: FloatLanes) -> LaneMask:
    """Return the mask of lanes with integers, for numbers >= 0; infinity counts as an integer."""
    return ((size + 2.0**52) - 2.0**52).equals(size) | (size >= 2.0**52)


def pow(code: LaneBuilder, x: FloatLanes, y: FloatLanes) -> FloatLanes:
    """Return x^y."""
    logarithm = _log(code, abs(x))
    # beyond 2^65 the result is constant, as |log x| is at least 2^-53 or else 0
    near = (y > 2.0**65).where(2.0**65, y)
    near = (near < -(2.0**65)).where(-(2.0**65), near)
    product, low = multiply(code, near, logarithm[0])
    low = code.fma(near, logarithm[1], low)
    over, under = product > 720.0, product < -760.0
    product = under.where(-760.0, over.where(720.0, product))
    n, r, t = reduced(code, product, (over | under).where(0.0, low))
    head, left = add_fast(1.0, r)
    return with_special_cases(code, x, y, scaled(head + (left + t), n))


def with_special_cases(code: LaneBuilder, x: FloatLanes, y: FloatLanes, result: FloatLanes) -> FloatLanes:
    """Return x^y from ``result``, which is |x|^y for finite nonzero x; add signs and special cases.

    For |y| beyond 2^65 it is enough if ``result`` is 0, 1 or infinite.
    """
    size, y_size = abs(x), abs(y)
    negative = y < 0.0
    edge = size.equals(0.0) | size.equals(math.inf)
    result = edge.where((size.equals(math.inf) ^ negative).where(math.inf, 0.0), result)
    integer = _is_integer(y_size)
    odd = integer & (_is_integer(y_size * 0.5) ^ integer)
    sign = odd.where(x, 0.0)
    result = code.with_sign(result, sign)
    no_root = (x < 0.0) & (size < math.inf) & (integer ^ (y_size >= 0.0))
    result = (no_root | x.unordered(y)).where(math.nan, result)
    return (y.equals(0.0) | x.equals(1.0)).where(1.0, result)
