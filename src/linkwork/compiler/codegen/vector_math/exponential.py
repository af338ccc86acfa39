"""The exponential and the hyperbolic functions, in float64.

n = the integer next to x / ln 2; the rest  x - n ln 2  as a sum of two numbers, as for circular functions (Cody and
Waite); e^rest = 1 + r + r^2 Q(r) with a minimax polynomial Q; and 2^n as a product of two powers of two, so that
results reach infinity or fade into the subnormal numbers with one rounding.  `docs/mathematics.md` has the errors.
"""

from __future__ import annotations

import math

from linkwork.compiler.codegen.simd_values import FloatLanes, IntLanes, LaneBuilder
from linkwork.compiler.codegen.vector_math.double_double import add_fast, divide, multiply, two_sum

__all__ = [
    "LN2",
    "LN2_HIGH",
    "LN2_LOW",
    "SINH",
    "Q",
    "cosh",
    "exp",
    "exp2",
    "expm1",
    "reduced",
    "scaled",
    "sinh",
    "tanh",
]

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

_ONE_BITS = 1023 << 52  # the bits of 1.0


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
    """Return value 2^n, or half of it, rounded once; |n| < 2000."""
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
