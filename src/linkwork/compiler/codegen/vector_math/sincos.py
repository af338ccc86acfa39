"""Sine, cosine and tangent, in float64.

The argument minus its multiple n of pi/2 is r - c (`argument_reduction`); minimax polynomials give sin(r - c) and cos(r
- c) on |r| <= pi/4; n mod 4 selects which of the two is the sine, and the signs. The error is below 0.75 units in the
last place for every finite argument; infinities and NaN give NaN.

The tangent is the quotient of sine and cosine, each as a sum of two numbers; `docs/mathematics.md` has its error.

sinc x = sin(pi x) / (pi x): the reduction of x to a quarter is exact, so sinc is 0 at integers.
"""

from __future__ import annotations

import math

from linkwork.compiler.codegen.simd_values import FloatLanes, IntLanes, LaneBuilder
from linkwork.compiler.codegen.vector_math.argument_reduction import ROUNDER, reduce
from linkwork.compiler.codegen.vector_math.double_double import Pair, add_fast, divide, multiply

__all__ = ["COS", "PI", "SIN", "sinc", "sincos", "to_quadrant"]

PI = math.pi, 1.2246467991473532e-16  # a sum of two doubles


# sin r = r - r^3 (S0 + S1 z + ...),  cos r = 1 - z/2 + z^2 (C0 + C1 z + ...),  z = r^2.
#
# Found with the Remez exchange algorithm in 300-bit arithmetic on 0 <= z <= (pi/4)^2 (1 + 2^-19), the error taken
# relative to sin r and cos r.  Each coefficient was rounded to double, lowest first, and the exchange repeated for
# those after it.  Largest relative error with the rounded coefficients: 2^-57.8 (sine), 2^-63.9 (cosine).
# The digits are those that give the very doubles back.
SIN, COS = zip(
    (0.1666666666666663, 0.041666666666666595),
    (-0.00833333333332184, -0.0013888888888873342),
    (0.00019841269829358522, 2.48015872890021e-05),
    (-2.7557313538511096e-06, -2.755731421705157e-07),
    (2.5050734388646776e-08, 2.087570539866113e-09),
    (-1.5895433249017288e-10, -1.1358749419769863e-11),
    strict=True,
)


def sincos(code: LaneBuilder, x: FloatLanes) -> tuple[FloatLanes, FloatLanes]:
    """Return the pair sin x, cos x."""
    r, c, n = reduce(code, x)
    z, z2, h, h_rest = half_square(code, r, c)
    cosine = h + parts_of_cosine(code, z, z2, h_rest)
    sine = r - parts_of_sine(code, r, c, z, z2, h)
    return to_quadrant(sine, cosine, n)


def half_square(
    code: LaneBuilder, r: FloatLanes, c: FloatLanes
) -> tuple[FloatLanes, FloatLanes, FloatLanes, FloatLanes]:
    """Return r^2, r^4, and 1 - (r - c)^2/2 as a sum of two numbers.

    The sum is accurate for |r| <= pi/4 and c at most half a unit in the last place of r. The rounding error of the
    first number is computed to twofold precision; without fma this uses the leading 26 bits of r, whose square is
    exact.
    """
    z = r * r
    z2 = z * z
    if code.fused:
        half_r = r * -0.5
        h = code.fma(half_r, r, 1.0)
        return z, z2, h, code.fma(r, c, code.fma(half_r, r, 1.0 - h))
    head = (r.to_bits() & (-1 << 27)).to_real()
    half = (head * 0.5) * head
    h = 1.0 - half
    tail = (r - head) - c
    return z, z2, h, ((1.0 - h) - half) - tail * (head + tail * 0.5)


def parts_of_cosine(code: LaneBuilder, z: FloatLanes, z2: FloatLanes, h_rest: FloatLanes) -> FloatLanes:
    """Return cos(r - c) minus h, where h is 1 - (r - c)^2/2 as rounded: the error of h, plus r^4 C.

    `z` is r^2, `z2` is r^4, `h_rest` is the rounding error of h, and C is the polynomial of `COS` in r^2.
    """
    return code.fma(z2, code.polynomial(z, COS, z2), h_rest)


def parts_of_sine(
    code: LaneBuilder, r: FloatLanes, c: FloatLanes, z: FloatLanes, z2: FloatLanes, h: FloatLanes
) -> FloatLanes:
    """Return r minus sin(r - c), which is r^3 S + c h.

    `z` is r^2, `z2` is r^4, `h` is about the cosine, and S is the polynomial of `SIN` in r^2. S is close to 1/6, and
    an eighth of r^3, which is exact, is added separately.
    """
    r3 = r * z
    minor = code.fma(r3, code.polynomial(z, (SIN[0] - 0.125, *SIN[1:]), z2), c * h)
    return code.fma(r3, 0.125, minor)


def to_quadrant(sine: FloatLanes, cosine: FloatLanes, n: IntLanes) -> tuple[FloatLanes, FloatLanes]:
    """Return the sine and cosine of an angle plus n pi/2, from the sine and cosine of the angle.

    They are exchanged if n is odd, and negated by the second bits of n and of n + 1.
    """
    odd = (n & 1).nonzero()
    top = n.real.bits - 1
    turn = n << (top - 1)
    values = odd.where(cosine, sine), odd.where(sine, cosine)
    signs = turn & (-1 << top), (turn + (1 << (top - 1))) & (-1 << top)
    first, second = ((v.to_bits() ^ sign).to_real() for v, sign in zip(values, signs, strict=True))
    return first, second


def tan(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    """Return tan x."""
    r, c, n = reduce(code, abs(x))
    sine, cosine = _pairs(code, r, c)
    # odd n: tan(r + pi/2) = -cos r / sin r
    odd = (n & 1).nonzero()
    above = odd.where(cosine[0], sine[0]), odd.where(cosine[1], sine[1])
    below = odd.where(sine[0], cosine[0]), odd.where(sine[1], cosine[1])
    quotient, correction = divide(code, above, below)
    signs = (n << 63) ^ (x.to_bits() & (-1 << 63))
    return ((quotient + correction).to_bits() ^ signs).to_real()


def _pairs(code: LaneBuilder, r: FloatLanes, c: FloatLanes) -> tuple[Pair, Pair]:
    """Return sine and cosine of r - c, each as a sum of two numbers."""
    z, z2, h, h_rest = half_square(code, r, c)
    cosine = add_fast(h, parts_of_cosine(code, z, z2, h_rest))
    return add_fast(r, -parts_of_sine(code, r, c, z, z2, h)), cosine


def sinc(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    """Return sin(pi x) / (pi x): 1 for zeros, NaN for infinities."""
    size = abs(x)
    usual = (size > 2.0**-30) & (size < 2.0**53)  # below, sinc rounds to 1; beyond, all numbers are even integers
    a = usual.where(size, 1.0)
    turn = a - ((a * 0.5 + 2.0**52) - 2.0**52) * 2.0  # in [-1, 1]
    shifted = turn * 2.0 + ROUNDER
    angle, of_one = _times_pi(code, turn - (shifted - ROUNDER) * 0.5), _times_pi(code, a)
    sine, cosine = _pairs(code, angle[0], -angle[1])
    n = shifted.to_bits()
    odd = (n & 1).nonzero()
    quotient, correction = divide(code, (odd.where(cosine[0], sine[0]), odd.where(cosine[1], sine[1])), of_one)
    result = ((quotient + correction).to_bits() ^ ((n & 2) << 62)).to_real()
    return (size <= 2.0**-30).where(1.0, usual.where(result, size - size))


def _times_pi(code: LaneBuilder, x: FloatLanes) -> Pair:
    product, low = multiply(code, x, code.number(PI[0]))
    return add_fast(product, code.fma(x, PI[1], low))
