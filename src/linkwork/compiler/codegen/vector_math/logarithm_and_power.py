"""The natural logarithm, in float64.

x = 2^k m with m between sqrt(1/2) and sqrt(2); with f = m - 1 and s = f / (2 + f), log m = 2 artanh s =
f - f^2/2 + s (f^2/2 + R(s^2)), where R is a minimax polynomial; and log x = k ln 2 + log m.  The large terms are added
with what their sums miss.  `docs/mathematics.md` has the error.
"""

from __future__ import annotations

import math

from linkwork.compiler.codegen.simd_values import Code, Number
from linkwork.compiler.codegen.vector_math.double_double import add_fast, multiply
from linkwork.compiler.codegen.vector_math.exponential import LN2_HIGH, LN2_LOW

__all__ = ["R", "decomposed", "log", "with_edges"]

# log((1 + s)/(1 - s)) = 2 s + s (R0 z + R1 z^2 + ...), z = s^2.  Found with the Remez exchange algorithm in 300-bit
# arithmetic on 0 <= z <= 0.0294373 (s^2 for m = sqrt(2), and 2^-20 more), the error taken relative to 2 s.  Each
# coefficient was rounded to double, lowest first, and the exchange repeated for those after it.  Largest error as they
# stand: 2^-59.4.
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
_ONE = 1023 << 52
_TWO_52 = 0x433 << 52  # the bits of 2^52


def decomposed(x: Number, subnormals: bool = True) -> tuple[Number, Number]:
    """k and m such that x = 2^k m, for positive finite x; for subnormal numbers only on request."""
    bias: Number | float = 2.0**52 + 1023
    if subnormals:
        subnormal = x < 2.0**-1022
        x = subnormal.where(x * 2.0**54, x)
        bias = subnormal.where(2.0**52 + 1023 + 54, 2.0**52 + 1023)
    bits = x.to_bits() + (_ONE - _ROOT_HALF)
    k = ((bits >> 52) | _TWO_52).to_real() - bias
    return k, ((bits & ((1 << 52) - 1)) + _ROOT_HALF).to_real()


def log(code: Code, x: Number) -> Number:
    """-inf for zeros, NaN below."""
    k, m = decomposed(x)
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    half, half_low = multiply(code, f * 0.5, f)
    head, left = add_fast(f, -half)
    tail = code.fma(s, code.fma(z, code.polynomial(z, R), half), left - half_low)
    total, missed = add_fast(k * LN2_HIGH, head)
    return with_edges(x, total + (missed + code.fma(k, LN2_LOW, tail)))


def with_edges(x: Number, result: Number) -> Number:
    """The logarithm of what is not positive and finite too."""
    result = x.equals(math.inf).where(math.inf, result)
    result = x.equals(0.0).where(-math.inf, result)
    return (x >= 0.0).where(result, math.nan)
