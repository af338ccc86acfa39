"""float32 functions in float64 arithmetic: no sums of two numbers, and shorter polynomials than float64 needs.

No intermediate value overflows or underflows, since the range of float32 is in the middle of float64's. The results
before their rounding to float32 are accurate to 2^-33 or better, so that their errors are hardly above 0.5 units in the
last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from linkwork.compiler.codegen.simd_values import FloatLanes, IntLanes, LaneBuilder, LaneMask
from linkwork.compiler.codegen.vector_math.exponential_and_logarithm import decomposed, with_edges, with_special_cases
from linkwork.compiler.codegen.vector_math.sincos_float32 import reduce32

__all__ = ["ASIN", "ATAN", "BODIES", "COS", "SIN", "Q", "R"]

# Determined as the coefficients of the float64 functions of the same form were, on the same ranges (SIN and COS up to
# pi/4 (1 + 2^-9)).  Largest relative errors: 2^-37.4 (Q), 2^-44.9 (R), 2^-40.1 (ATAN), 2^-39.8 (ASIN), 2^-37.4 (SIN),
# 2^-33.8 (COS).
# e^r = 1 + r + r^2 (Q0 + Q1 r + ...)
Q = (
    0.49999999999734157,
    0.16666666755002602,
    0.041666666956820815,
    0.008333288801779647,
    0.0013888808997912694,
    0.00019905070666879302,
    2.4882657452384275e-05,
)
# log((1 + s)/(1 - s)) = 2 s + s (R0 z + R1 z^2 + ...), z = s^2
R = (0.6666666667579972, 0.399999956225708, 0.28572109053696665, 0.22176194049928982, 0.19584061591456806)
# atan q = q + q^3 (A0 + A1 z + ...), z = q^2
ATAN = (
    -0.3333333329646216,
    0.19999994409796218,
    -0.1428542677495211,
    0.11104058646063042,
    -0.08997321214599996,
    0.0699329585175387,
    -0.03795942252327701,
)
# asin q = q + q^3 (B0 + B1 z + ...)
ASIN = (
    0.1666666662672609,
    0.07500005041992272,
    0.04464068772322807,
    0.030426842602804007,
    0.021863001078512086,
    0.020659078448259403,
    0.0019483444237186293,
    0.03294187535661974,
)
# sin r = r + r^3 (S0 + S1 z + ...),  cos r = 1 + z (C0 + C1 z + ...)
SIN = (-0.16666666640387678, 0.008333329257224503, -0.00019839296906011897, 2.7179747578259557e-06)
COS = (-0.49999999689548114, 0.0416666198007744, -0.0013886664084152883, 2.4381915825495094e-05)

_ROUNDER = 1.5 * 2.0**52  # rounds to the nearest integer, as in `argument_reduction`
_ONE_BITS = 1023 << 52


def _clamped(x: FloatLanes, bound: float) -> FloatLanes:
    """Return x limited to [-bound, bound]; NaN stays."""
    x = (x > bound).where(bound, x)
    return (x < -bound).where(-bound, x)


def _exp_parts(code: LaneBuilder, x: FloatLanes) -> tuple[FloatLanes, FloatLanes]:
    """Return 2^n and e^r - 1 for x = n ln 2 + r, so that e^x = 2^n + 2^n (e^r - 1)."""
    shifted = code.fma(x, 1 / math.log(2), _ROUNDER)
    n: IntLanes = shifted.to_bits()
    r = code.fma(-(shifted - _ROUNDER), math.log(2), x)
    z = r * r
    return ((n << 52) + _ONE_BITS).to_real(), code.fma(z, code.polynomial(r, Q, z), r)


def _exp_wide(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    power, more = _exp_parts(code, _clamped(x, 200.0))
    return code.fma(power, more, power)


def _exp_less_one(code: LaneBuilder, size: FloatLanes) -> FloatLanes:
    """Return e^x - 1 for x >= 0."""
    power, more = _exp_parts(code, (size > 200.0).where(200.0, size))
    return code.fma(power, more, power - 1.0)


def _log_wide(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    """Return the natural logarithm of a positive finite float32 number, in float64."""
    k, m = decomposed(x, subnormals=False)
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    return code.fma(k, math.log(2), code.fma(s * z, code.polynomial(z, R), s + s))


def _log_with_edges(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    return with_edges(x, _log_wide(code, x))


def _exp(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    return _exp_wide(code, x.widened()).narrowed()


def _log(code: LaneBuilder, x: FloatLanes, base: float = math.e) -> FloatLanes:
    wide = x.widened()
    logarithm = _log_wide(code, wide)
    return with_edges(wide, logarithm if base == math.e else logarithm * (1.0 / math.log(base))).narrowed()


def _log1p(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    wide = x.widened()
    near = code.fma(wide * -0.5, wide, wide)
    result = (abs(wide) < 2.0**-20).where(near, _log_with_edges(code, wide + 1.0))
    return code.with_sign(result.narrowed(), x)


def _asinh(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    a = abs(x).widened()
    result = _log_with_edges(code, a + code.fma(a, a, 1.0).sqrt())
    return code.with_sign((a < 2.0**-16).where(a, result).narrowed(), x)


def _acosh(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    wide = x.widened()
    result = _log_with_edges(code, wide + ((wide - 1.0) * (wide + 1.0)).sqrt())
    return (wide >= 1.0).where(result, math.nan).narrowed()


def _atanh(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    a = abs(x).widened()
    result = _log_with_edges(code, (1.0 + a) / (1.0 - a)) * 0.5
    return code.with_sign((a < 2.0**-16).where(a, result).narrowed(), x)


def _pow(code: LaneBuilder, x: FloatLanes, y: FloatLanes) -> FloatLanes:
    wide_x, wide_y = x.widened(), y.widened()
    # beyond 2^65 the result is constant, as |log x| is at least 2^-25 or else 0
    result = _exp_wide(code, _clamped(wide_y, 2.0**65) * _log_wide(code, abs(wide_x)))
    return with_special_cases(code, wide_x, wide_y, result).narrowed()


def _sinh(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    e = _exp_less_one(code, abs(x).widened())
    return code.with_sign(((e + e / (e + 1.0)) * 0.5).narrowed(), x)


def _cosh(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    e = _exp_wide(code, abs(x).widened())
    return ((e + 1.0 / e) * 0.5).narrowed()


def _tanh(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    size = abs(x).widened()
    e = _exp_less_one(code, size + size)
    return code.with_sign((e / (e + 2.0)).narrowed(), x)


def _tan(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    r, turns = reduce32(code, abs(x))
    sine, cosine = _sine_and_cosine(code, r)
    odd = (turns & 1).nonzero()
    tangent = (odd.where(cosine, sine) / odd.where(sine, cosine)).narrowed()
    signs = (turns << 31) ^ (x.to_bits() & (-1 << 31))
    return (tangent.to_bits() ^ signs).to_real()


def _sine_and_cosine(code: LaneBuilder, r: FloatLanes) -> tuple[FloatLanes, FloatLanes]:
    """Return the sine and cosine of an angle of at most pi/4."""
    z = r * r
    return code.fma(r * z, code.polynomial(z, SIN), r), code.fma(z, code.polynomial(z, COS), 1.0)


def _sinc(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    size = abs(x).widened()
    usual = (size > 2.0**-20) & (size < 2.0**24)  # below, sinc rounds to 1; beyond, all numbers are even integers
    a = usual.where(size, 1.0)
    shifted = code.fma(a, 2.0, _ROUNDER)
    sine, cosine = _sine_and_cosine(code, code.fma(shifted - _ROUNDER, -0.5, a) * math.pi)
    n = shifted.to_bits()
    sine = ((n & 1).nonzero().where(cosine, sine).to_bits() ^ ((n & 2) << 62)).to_real()
    return (size <= 2.0**-20).where(1.0, usual.where(sine / (a * math.pi), size - size)).narrowed()


def _angle(code: LaneBuilder, y: FloatLanes, x: FloatLanes, obtuse: LaneMask | None) -> FloatLanes:
    """Return the angle of (x, y) in the first quadrant, or where ``obtuse`` is true its supplement.

    Unlike the float64 function, this function does not correct rounding errors.
    """
    steep = y > x
    low, high = steep.where(x, y), steep.where(y, x)
    wide = low > high * 0.41421356237309503
    q = wide.where(low - high, low) / wide.where(high + low, high)
    k = wide.where(math.pi / 4, steep.where(math.pi / 2, code.number(0.0)))
    minus = steep
    if obtuse is not None:
        k = obtuse.where(math.pi - k, k)
        minus = steep ^ obtuse
    q = minus.where(-q, q)
    z = q * q
    return k + code.fma(q * z, code.polynomial(z, ATAN), q)


def _atan(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    return code.with_sign(_angle(code, abs(x).widened(), code.number(1.0), None).narrowed(), x)


def _atan2(code: LaneBuilder, y: FloatLanes, x: FloatLanes) -> FloatLanes:
    across, along = abs(y).widened(), abs(x).widened()
    both_infinite = across.equals(math.inf) & along.equals(math.inf)
    both_zero = across.equals(0.0) & along.equals(0.0)
    across = both_infinite.where(1.0, across)
    along = (both_infinite | both_zero).where(1.0, along)
    obtuse = (x.to_bits() & (-1 << 31)).nonzero()
    return code.with_sign(_angle(code, across, along, obtuse).narrowed(), y)


def _arc(code: LaneBuilder, size: FloatLanes) -> tuple[LaneMask, FloatLanes]:
    """Return the mask size <= 1/2, and asin(size) where it is true, asin(sqrt((1 - size)/2)) elsewhere."""
    small = size <= 0.5
    half = (1.0 - size) * 0.5
    z = small.where(size * size, half)
    t = small.where(size, half.sqrt())
    return small, code.fma(t * z, code.polynomial(z, ASIN), t)


def _asin(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    small, arc = _arc(code, abs(x).widened())
    return code.with_sign(small.where(arc, code.fma(arc, -2.0, math.pi / 2)).narrowed(), x)


def _acos(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    small, arc = _arc(code, abs(x).widened())
    negative = x < 0.0
    signed = negative.where(-arc, arc)
    beyond = negative.where(math.pi, code.number(0.0)) + (signed + signed)
    return small.where(math.pi / 2 - signed, beyond).narrowed()


def _hypot(code: LaneBuilder, x: FloatLanes, y: FloatLanes) -> FloatLanes:
    a, b = x.widened(), y.widened()
    length = code.fma(a, a, b * b).sqrt()
    infinite = abs(a).equals(math.inf) | abs(b).equals(math.inf)
    return infinite.where(math.inf, length).narrowed()


BODIES: dict[str, Callable[..., FloatLanes | tuple[FloatLanes, FloatLanes]]] = {
    "tan": _tan,
    "asin": _asin,
    "acos": _acos,
    "atan": _atan,
    "atan2": _atan2,
    "exp": _exp,
    "log": _log,
    "log2": partial(_log, base=2.0),
    "log10": partial(_log, base=10.0),
    "log1p": _log1p,
    "asinh": _asinh,
    "acosh": _acosh,
    "atanh": _atanh,
    "sinc": _sinc,
    "pow": _pow,
    "hypot": _hypot,
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
}
